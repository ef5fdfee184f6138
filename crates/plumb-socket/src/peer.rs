//! Who is at the other end of a connection that was accepted.

use std::fmt;

use plumb_wire::cidr::Cidr;

/// The other end of an accepted connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// An address of IPv4 or IPv6.
    Ip(std::net::SocketAddr),
    /// A process of this machine, over a unix socket.
    Unix,
}

impl Peer {
    /// True when the peer is in one of the blocks of `allowed`, or that is empty. A process of
    /// this machine always is.
    #[must_use]
    pub fn is_among(&self, allowed: &[Cidr]) -> bool {
        match self {
            Self::Unix => true,
            Self::Ip(peer) => {
                allowed.is_empty() || allowed.iter().any(|block| block.contains(peer.ip()))
            }
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => write!(f, "{address}"),
            Self::Unix => f.write_str("unix"),
        }
    }
}
