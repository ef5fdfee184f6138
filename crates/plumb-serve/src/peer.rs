//! Who asks.

use std::net::IpAddr;

/// The other side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Where it connects from; `None` over a socket file.
    pub address: Option<IpAddr>,
    /// True when the connection is encrypted.
    pub tls: bool,
    /// The number of the connection, which no other one of the server has.
    pub connection: u64,
}

impl Peer {
    /// True for a client on this machine: over a socket file, or from an address of loopback. What a
    /// proxy on this machine passes on looks the same.
    #[must_use]
    pub fn is_local(&self) -> bool {
        // 127.0.0.1 in the form of IPv6 is the same address
        self.address.is_none_or(|address| address.to_canonical().is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_and_socket_files_are_of_this_machine() {
        let local = |address: Option<&str>| {
            let address = address.map(|text| text.parse().unwrap());
            Peer { address, tls: false, connection: 0 }.is_local()
        };
        assert!(local(None));
        for address in ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"] {
            assert!(local(Some(address)), "{address}");
        }
        for address in ["10.0.0.1", "0.0.0.0", "fe80::1", "::ffff:10.0.0.1"] {
            assert!(!local(Some(address)), "{address}");
        }
    }
}
