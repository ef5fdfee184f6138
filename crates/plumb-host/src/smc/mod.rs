//! Shared memory communications: what was really carried by SMC, and what fell back to TCP.

mod counters;
mod reason;
mod socket;

pub use counters::{Fallback, SmcCounters, SmcTraffic};
pub(crate) use reason::words;
pub(crate) use socket::Smc;
