//! What servers share that must be rich rather than fast: they stand on tokio and hyper, limit
//! who comes in and how much, prove themselves with TLS, know their users, keep connections to
//! other servers, and have sessions with databases.
//!
//! A server is a [`Site`] behind an [`HttpServer`]. What it measures of itself, and what it does
//! with a request, is its own.

pub mod accept;
pub mod accounts;
mod counters;
pub mod database;
mod doors;
mod error;
mod heard;
pub mod link;
mod server;
mod temporary;
mod tls;

pub use counters::{ConnectionFigures, Counters, Gauge};
pub use doors::{DoorLimits, Site};
pub use error::ServeError;
pub use server::HttpServer;
pub use temporary::TemporaryFolder;
pub use tls::{TlsFiles, acceptor};
