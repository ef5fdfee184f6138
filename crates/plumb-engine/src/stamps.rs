//! Whose messages the kernel stamps, and what the other side is asked about them.

mod client;
mod requests;

pub use client::ClientStamps;
pub use requests::StampedRequests;
