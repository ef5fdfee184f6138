//! How bytes cross a connection: as they are ([`Plain`]) or through TLS ([`Tls`]), and stamped by the
//! kernel ([`Stamps`]).
//!
//! A [`Link`] is all that the loops know of it. Nothing here knows a protocol, or when anything is due.

mod link;
mod stamps;
pub mod tls;

pub use link::{Link, Plain, Received};
pub use stamps::{Stamps, StampsInForce};
pub use tls::{Tls, TlsAcceptor, TlsConnector};
