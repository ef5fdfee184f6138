//! What servers share that must be rich rather than fast: they stand on tokio and hyper, limit
//! who comes in and how much, prove themselves with TLS, know their users, keep connections to
//! other servers, and have sessions with databases.
//!
//! A server is a [`HttpService`] behind an [`HttpServer`]. What it measures of itself, and what it does
//! with a request, is its own.

pub mod accept;
mod acceptor;
pub mod accounts;
mod counters;
pub mod database;
mod error;
mod heard;
pub mod link;
mod server;
mod temporary;
mod tls;

pub use acceptor::{ConnectionLimits, HttpService};
pub use counters::{ConnectionFigures, Counters, Gauge};
pub use error::ServeError;
pub use server::HttpServer;
pub use temporary::TemporaryFolder;
pub use tls::{TlsFiles, acceptor};
