//! Addresses as users write them, as the resolver answers them, and as sockets report them.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use plumb_netlink::smc;
use rustix::net::{
    AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, socket_with,
};

use crate::Error;
use crate::clock::MonotonicClock;
use crate::name_lookup::timed;

/// An address as a user writes it: `HOST`, `HOST:PORT`, `[V6]:PORT`, one of these behind `smc:` or
/// `udp:`, or `unix:PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A host by name or number.
    Host {
        /// Name or number, without brackets.
        host: String,
        /// Port.
        port: u16,
    },
    /// A host that is spoken to over SMC.
    Smc {
        /// Name or number, without brackets.
        host: String,
        /// Port.
        port: u16,
    },
    /// A host that is sent datagrams over UDP.
    Udp {
        /// Name or number, without brackets.
        host: String,
        /// Port.
        port: u16,
    },
    /// A unix socket.
    Unix(PathBuf),
}

/// In front of an address that is spoken to over SMC.
const SMC: &str = "smc:";
/// In front of an address that is sent datagrams.
const UDP: &str = "udp:";

impl Address {
    /// Reads an address; a port that is not written is `default_port`. `smc:4000` is the port 4000 of
    /// a host called smc.
    ///
    /// # Errors
    /// [`Error::Address`] says what was expected.
    pub fn parse(text: &str, default_port: u16) -> Result<Self, Error> {
        let wrong = |expected| Error::Address { text: text.to_owned(), expected };
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() {
                Err(wrong("a path after `unix:`"))
            } else {
                Ok(Self::Unix(path.into()))
            };
        }
        if text.contains("://") {
            return Err(wrong("HOST or HOST:PORT, not a URL"));
        }
        if let Some(rest) = behind(text, SMC) {
            return match Self::parse(rest, default_port)?.over_smc() {
                Some(address) if !rest.starts_with(SMC) => Ok(address),
                _ => Err(wrong("HOST or HOST:PORT after `smc:`")),
            };
        }
        if let Some(rest) = behind(text, UDP) {
            return match Self::parse(rest, default_port)?.over_udp() {
                Some(address) if !rest.starts_with(UDP) => Ok(address),
                _ => Err(wrong("HOST or HOST:PORT after `udp:`")),
            };
        }
        let (host, port) = split_port(text).ok_or_else(|| wrong("`]` after an IPv6 address"))?;
        // the resolver takes it for an IPv4 address: 4000 is 0.0.15.160 there, 10.4000 is 10.0.15.160
        if is_a_number(host) {
            return Err(wrong(
                "HOST or HOST:PORT, an IPv4 address with its four numbers; for a port of this machine, \
                 127.0.0.1:PORT",
            ));
        }
        let port = match port {
            None => default_port,
            Some(digits) => digits.parse().map_err(|_| wrong("a port from 0 to 65535"))?,
        };
        if host.is_empty() {
            return Err(wrong("a host before the port, as in 127.0.0.1:PORT"));
        }
        Ok(Self::Host { host: host.to_owned(), port })
    }

    /// The same host, spoken to over SMC; `None` for a socket file.
    #[must_use]
    pub fn over_smc(self) -> Option<Self> {
        match self {
            Self::Host { host, port } | Self::Smc { host, port } => Some(Self::Smc { host, port }),
            Self::Udp { .. } | Self::Unix(_) => None,
        }
    }

    /// The same host, sent datagrams over UDP; `None` for one over SMC and for a socket file.
    #[must_use]
    pub fn over_udp(self) -> Option<Self> {
        match self {
            Self::Host { host, port } | Self::Udp { host, port } => Some(Self::Udp { host, port }),
            Self::Smc { .. } | Self::Unix(_) => None,
        }
    }
}

/// What stands behind `prefix`; `udp:4000` is a port of a host of that name.
fn behind<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    text.strip_prefix(prefix).filter(|rest| rest.parse::<u64>().is_err())
}

/// True of numbers, decimal or hexadecimal, that are no IPv4 address as people write it.
fn is_a_number(host: &str) -> bool {
    let is_hex = |digits: &str| u64::from_str_radix(digits, 16).is_ok();
    let is_number = |part: &str| match part.strip_prefix("0x").or_else(|| part.strip_prefix("0X")) {
        Some(digits) => is_hex(digits),
        None => part.parse::<u64>().is_ok(),
    };
    host.parse::<Ipv4Addr>().is_err() && host.split('.').all(is_number)
}

/// Host and port of `HOST`, `HOST:PORT`, `[V6]`, `[V6]:PORT` or a bare V6 address.
fn split_port(text: &str) -> Option<(&str, Option<&str>)> {
    if let Some(inner) = text.strip_prefix('[') {
        let (host, behind) = inner.split_once(']')?;
        return match behind.strip_prefix(':') {
            Some(port) => Some((host, Some(port))),
            None => behind.is_empty().then_some((host, None)),
        };
    }
    match text.split_once(':') {
        Some((_, port)) if port.contains(':') => Some((text, None)),
        Some((host, port)) => Some((host, Some(port))),
        None => Some((text, None)),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host { host, port } => write_host(f, host, *port),
            Self::Smc { host, port } => {
                f.write_str(SMC)?;
                write_host(f, host, *port)
            }
            Self::Udp { host, port } => {
                f.write_str(UDP)?;
                write_host(f, host, *port)
            }
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

fn write_host(f: &mut fmt::Formatter<'_>, host: &str, port: u16) -> fmt::Result {
    if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
}

/// Which version of IP may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// Whatever the name resolves to, in the resolver's order.
    #[default]
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

impl Family {
    fn takes(self, address: &SocketAddr) -> bool {
        match self {
            Self::Any => true,
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }
}

/// Where a socket can be connected to or bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// TCP over IPv4 or IPv6.
    Tcp(SocketAddr),
    /// SMC over IPv4 or IPv6; its connections fall back to TCP where the peer has no SMC.
    Smc(SocketAddr),
    /// Datagrams over UDP and IPv4 or IPv6.
    Udp(SocketAddr),
    /// A unix stream socket.
    Unix(PathBuf),
    /// A socket that answers to itself: what is sent comes back. It costs what the tool and two
    /// system calls cost, and nothing else.
    Own,
}

impl Endpoint {
    /// Everything `address` may stand for that takes connections, in the resolver's order.
    ///
    /// # Errors
    /// [`Error::Resolve`] when the name has no address of that family;
    /// [`Error::Address`] of UDP, which knows no connections.
    pub fn resolve(address: &Address, family: Family) -> Result<Vec<Self>, Error> {
        if let Address::Udp { .. } = address {
            let expected = "one that takes connections: over UDP go only `plumb net ping`, `stream`, \
                            `serve` and `delay`";
            return Err(Error::Address { text: address.to_string(), expected });
        }
        Self::resolve_any(address, family)
    }

    /// The same, of UDP too: for whoever sends datagrams.
    ///
    /// # Errors
    /// [`Error::Resolve`] when the name has no address of that family.
    pub fn resolve_any(address: &Address, family: Family) -> Result<Vec<Self>, Error> {
        let (host, port, endpoint): (_, _, fn(SocketAddr) -> Self) = match address {
            Address::Unix(path) => return Ok(vec![Self::Unix(path.clone())]),
            Address::Host { host, port } => (host, *port, Self::Tcp),
            Address::Smc { host, port } => (host, *port, Self::Smc),
            Address::Udp { host, port } => (host, *port, Self::Udp),
        };
        let failed = |cause: String| Error::Resolve { host: host.clone(), cause };
        let mut found: Vec<SocketAddr> = match host.parse::<IpAddr>() {
            Ok(ip) => vec![SocketAddr::new(ip, port)],
            Err(_) => timed(host, &MonotonicClock, || (host.as_str(), port).to_socket_addrs())
                .map_err(|error| failed(error.to_string()))?
                .collect(),
        };
        found.retain(|address| family.takes(address));
        if found.is_empty() {
            return Err(failed("it has no address of the family asked for".into()));
        }
        Ok(found.into_iter().map(endpoint).collect())
    }

    /// True where only this machine reaches it: on loopback, or in a file.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) | Self::Smc(address) | Self::Udp(address) => {
                address.ip().to_canonical().is_loopback()
            }
            Self::Unix(_) | Self::Own => true,
        }
    }

    /// The family of its addresses.
    #[must_use]
    pub fn family(&self) -> AddressFamily {
        match self {
            Self::Tcp(ip) | Self::Smc(ip) | Self::Udp(ip) if ip.is_ipv4() => AddressFamily::INET,
            Self::Tcp(_) | Self::Smc(_) | Self::Udp(_) => AddressFamily::INET6,
            Self::Unix(_) | Self::Own => AddressFamily::UNIX,
        }
    }

    /// A new socket that can be connected to it, or bound.
    ///
    /// # Errors
    /// When the kernel makes none: no descriptor is left, or it does not know the protocol.
    pub fn socket(&self, flags: SocketFlags) -> io::Result<OwnedFd> {
        let kind = match self {
            Self::Own | Self::Udp(_) => SocketType::DGRAM,
            Self::Tcp(_) | Self::Smc(_) | Self::Unix(_) => SocketType::STREAM,
        };
        match self {
            Self::Smc(_) => smc::socket(self.family(), flags),
            Self::Tcp(_) | Self::Udp(_) | Self::Unix(_) | Self::Own => {
                Ok(socket_with(self.family(), kind, flags, None)?)
            }
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Smc(address) => write!(f, "{SMC}{address}"),
            Self::Udp(address) => write!(f, "{UDP}{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Own => f.write_str("a socket that answers to itself"),
        }
    }
}

/// A socket's own or its peer's address, as the kernel reports it.
#[must_use]
pub fn show_address(address: SocketAddrAny) -> String {
    if let Ok(ip) = SocketAddr::try_from(address.clone()) {
        return ip.to_string();
    }
    match SocketAddrUnix::try_from(address) {
        Ok(unix) => match unix.path() {
            Some(path) => format!("unix:{}", path.to_string_lossy()),
            None => "unix".into(),
        },
        Err(_) => "unknown".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        Address::parse(text, 3298).unwrap().to_string()
    }

    #[test]
    fn every_way_to_write_an_address_is_read() {
        assert_eq!(shown("dbhost"), "dbhost:3298");
        assert_eq!(shown("dbhost:4000"), "dbhost:4000");
        assert_eq!(shown("10.0.0.1:80"), "10.0.0.1:80");
        assert_eq!(shown("10.db"), "10.db:3298");
        assert_eq!(shown("::1"), "[::1]:3298");
        assert_eq!(shown("[::1]:4000"), "[::1]:4000");
        assert_eq!(shown("[fe80::1%eth0]"), "[fe80::1%eth0]:3298");
        assert_eq!(shown("unix:/tmp/a:b"), "unix:/tmp/a:b");
        assert_eq!(shown("smc:dbhost"), "smc:dbhost:3298");
        assert_eq!(shown("smc:[::1]:4000"), "smc:[::1]:4000");
        assert_eq!(shown("smc:4000"), "smc:4000", "a host of that name");
        assert_eq!(shown("smc"), "smc:3298", "a host of that name");
        assert_eq!(shown("udp:dbhost:4000"), "udp:dbhost:4000");
        assert_eq!(shown("udp:[::1]"), "udp:[::1]:3298");
        assert_eq!(shown("udp:4000"), "udp:4000", "a host of that name");
    }

    #[test]
    fn what_is_no_address_says_what_was_expected() {
        for (text, expected) in [
            ("host:port", "a port from 0 to 65535"),
            ("host:70000", "a port from 0 to 65535"),
            ("http://host", "HOST or HOST:PORT, not a URL"),
            ("[::1", "`]` after an IPv6 address"),
            (":3298", "a host before the port, as in 127.0.0.1:PORT"),
            ("3298", "for a port of this machine, 127.0.0.1:PORT"),
            ("4000:80", "an IPv4 address with its four numbers"),
            ("10.4000:80", "an IPv4 address with its four numbers"),
            ("0xfa0", "an IPv4 address with its four numbers"),
            ("010.0.0.1:80", "an IPv4 address with its four numbers"),
            ("unix:", "a path after `unix:`"),
            ("smc:", "a host before the port"),
            ("smc:unix:/tmp/s", "HOST or HOST:PORT after `smc:`"),
            ("smc:smc:host", "HOST or HOST:PORT after `smc:`"),
            ("udp:unix:/tmp/s", "HOST or HOST:PORT after `udp:`"),
            ("udp:smc:host", "HOST or HOST:PORT after `udp:`"),
            ("smc:udp:host", "HOST or HOST:PORT after `smc:`"),
            ("udp:udp:host", "HOST or HOST:PORT after `udp:`"),
        ] {
            let error = Address::parse(text, 1).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_number_needs_no_resolver_and_must_fit_the_family() {
        let address = Address::parse("127.0.0.1", 7).unwrap();
        let found = Endpoint::resolve(&address, Family::Any).unwrap();
        assert_eq!(found, [Endpoint::Tcp("127.0.0.1:7".parse().unwrap())]);
        assert!(Endpoint::resolve(&address, Family::V6).is_err());
        let found = Endpoint::resolve(&address.over_smc().unwrap(), Family::V4).unwrap();
        assert_eq!(found[0].to_string(), "smc:127.0.0.1:7");
        assert!(found[0].is_local());
    }
}
