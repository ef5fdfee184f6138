//! How bytes cross a connection: as they are ([`Plain`]) or through TLS ([`Tls`]), and stamped by the
//! kernel ([`Stamps`]); or one way or another ([`Either`]).
//!
//! A [`Link`] is all that the loops know of it. Nothing here knows a protocol, or when anything is due.

mod either;
mod link;
mod stamps;
pub mod tls;

pub use either::Either;
pub use link::{Link, Plain, Received};
pub use stamps::{Stamps, StampsInForce};
pub use tls::{Tls, TlsAcceptor, TlsConnector};
