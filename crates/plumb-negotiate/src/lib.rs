//! Negotiate: who asks is proved to a server by a ticket of Kerberos, and the server proves who it is
//! (RFC 4559, SPNEGO of RFC 4178), over the GSS-API library of the system.
//!
//! An [`Initiator`] is who asks for a service, known once; each request that a server challenges has a
//! [`Context`] of its own. Credentials are never delegated. The library is shared, which a static
//! program cannot load: without the feature `gssapi` no initiator can be made.

#[cfg(not(feature = "gssapi"))]
mod absent;
#[cfg(feature = "gssapi")]
mod gssapi;
mod trouble;

#[cfg(not(feature = "gssapi"))]
pub use absent::{Context, Initiator};
#[cfg(feature = "gssapi")]
pub use gssapi::{Context, Initiator};
pub use trouble::NegotiateError;

/// Who asks. It is never shown, not even for debugging.
#[derive(Clone, PartialEq, Eq)]
pub enum Who {
    /// Whoever has the tickets at hand: of `kinit`, or by the keytab that `KRB5_CLIENT_KTNAME` names.
    Tickets,
    /// A user, `NAME` or `NAME@REALM`, who gets a ticket with a password.
    Password {
        /// The name.
        user: String,
        /// The password.
        password: String,
    },
}

impl std::fmt::Debug for Who {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Who(..)")
    }
}
