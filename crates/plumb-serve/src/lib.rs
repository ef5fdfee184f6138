//! What servers share that must be rich rather than fast: they stand on tokio and hyper, limit
//! who comes in and how much, prove themselves with TLS, know their users, keep connections to
//! other servers, and have sessions with databases.
//!
//! A server is a [`HttpService`] behind an [`HttpServer`]. A request says whom it is for before the
//! service sees it ([`HttpService::answer`]), comes in whole as a [`Request`] of a [`Peer`], and is
//! answered by a [`Body`] that is there already or made piece by piece. What a server measures of
//! itself, where its paths lead, and what it does with a request, is its own.

pub mod accept;
mod acceptor;
pub mod accounts;
mod arrivals;
mod body;
mod boxed_stream;
mod client_socket;
pub mod conditional;
mod counters;
pub mod database;
mod error;
mod heard;
mod held_folder;
mod host;
pub mod link;
mod log;
pub mod memory;
pub mod negotiation;
pub mod nodes;
mod peer;
mod request;
mod reserve;
mod server;
mod service;
pub mod settings;
mod socket;
mod stamped_socket;
mod stamping;
mod stream;
mod taken;
mod temporary;
mod tls;

pub use arrivals::{Arrivals, StampedCall, StampedCalls};
pub use body::{Body, CutOff, Gone, Pieces};
pub use boxed_stream::{BoxedStream, ByteStream};
pub use client_socket::ClientSocket;
pub use counters::{ConnectionFigures, Counters, Gauge};
pub use error::{ServeError, SettingError};
pub use held_folder::{HeldFolder, HoldError};
pub use log::Log;
pub use peer::Peer;
pub use request::{ReadError, Request, cookie};
pub use server::HttpServer;
pub use service::{ConnectionLimits, HttpService};
pub use socket::{SmcStream, Socket};
pub use stamped_socket::StampedSocket;
pub use temporary::TemporaryFolder;
pub use tls::{TlsFiles, acceptor};
