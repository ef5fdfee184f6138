//! What a connection really uses: read back from its socket, never taken from what was asked for.

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use plumb_measure::{Network, Transport, Transports};
use rustix::net::{
    AddressFamily, Protocol, SocketAddrAny, getpeername, getsockname, ipproto, sockopt,
};

use crate::address::show;

/// `AF_SMC` of the kernel.
const FAMILY_SMC: u16 = 43;
/// `IPPROTO_SMC` of the kernel: SMC on a socket of an IP family.
const PROTOCOL_SMC: u32 = 256;

/// What the connected `socket` uses; `tls` is what the TLS library says of its session.
///
/// # Errors
/// When the kernel does not tell, as of a socket whose peer is gone already.
pub fn proven(socket: impl AsFd, tls: Option<String>) -> io::Result<Transport> {
    let socket = socket.as_fd();
    Ok(TransportTraits::on(socket, tls)?.transport(getsockname(socket)?))
}

/// The proofs of many connections, each asked as it stands.
#[derive(Debug, Default)]
pub(crate) struct Proofs {
    transports: Transports,
    /// The connection before: those that are alike are only counted.
    before: Option<(TransportTraits, Transport)>,
}

impl Proofs {
    /// Adds a connection that stands, with `tls` of its session. One whose peer is gone already has
    /// carried nothing, and is left out.
    pub(crate) fn note(&mut self, socket: BorrowedFd<'_>, tls: Option<String>) {
        let Ok(seen) = TransportTraits::on(socket, tls) else { return };
        let transport = match self.before.take() {
            Some((before, transport)) if before == seen => transport,
            _ => match getsockname(socket) {
                Ok(local) => seen.transport(local),
                Err(_) => return,
            },
        };
        self.transports.add(&transport, 1);
        self.before = Some((seen, transport));
    }

    pub(crate) fn transports(&self) -> &Transports {
        &self.transports
    }

    pub(crate) fn into_transports(self) -> Transports {
        self.transports
    }
}

/// What tells one transport from another.
#[derive(Debug, PartialEq, Eq)]
struct TransportTraits {
    domain: AddressFamily,
    protocol: Option<Protocol>,
    peer: Option<SocketAddrAny>,
    tls: Option<String>,
}

impl TransportTraits {
    fn on(socket: BorrowedFd<'_>, tls: Option<String>) -> io::Result<Self> {
        Ok(Self {
            domain: sockopt::socket_domain(socket)?,
            protocol: sockopt::socket_protocol(socket)?,
            peer: getpeername(socket)?,
            tls,
        })
    }

    fn transport(&self, local: SocketAddrAny) -> Transport {
        let ip = self.peer.clone().and_then(|peer| SocketAddr::try_from(peer).ok());
        Transport {
            kind: kind(self.domain, self.protocol).into_owned(),
            network: ip.map(|peer| {
                if peer.ip().to_canonical().is_ipv4() { Network::Ipv4 } else { Network::Ipv6 }
            }),
            local: show(local),
            peer: self.peer.clone().map_or_else(|| "unix".into(), show),
            tls: self.tls.clone(),
        }
    }
}

/// The name of the transport in the run record.
fn kind(domain: AddressFamily, protocol: Option<Protocol>) -> Cow<'static, str> {
    let number = protocol.map_or(0, |it| it.as_raw().get());
    let of_ip = domain == AddressFamily::INET || domain == AddressFamily::INET6;
    match protocol {
        _ if domain == AddressFamily::UNIX => "unix".into(),
        _ if domain.as_raw() == FAMILY_SMC || of_ip && number == PROTOCOL_SMC => "smc".into(),
        Some(ipproto::TCP) if of_ip => "tcp".into(),
        Some(ipproto::MPTCP) if of_ip => "mptcp".into(),
        _ => format!("family {} protocol {number}", domain.as_raw()).into(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::{UnixListener, UnixStream};

    use rustix::net::{SocketType, connect, socket};

    use super::*;

    /// Kind and network of a connection of `domain` and `protocol` to `listener`.
    fn told(
        domain: AddressFamily,
        protocol: Option<Protocol>,
        to: SocketAddr,
    ) -> (String, Option<Network>) {
        let socket = socket(domain, SocketType::STREAM, protocol).unwrap();
        connect(&socket, &to).unwrap();
        let transport = proven(&socket, None).unwrap();
        assert_eq!(transport.peer, to.to_string());
        (transport.kind, transport.network)
    }

    #[test]
    fn the_socket_tells_what_it_is() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let plain = listener.local_addr().unwrap();
        let mapped: SocketAddr = format!("[::ffff:127.0.0.1]:{}", plain.port()).parse().unwrap();
        let (v4, v6) = (Some(Network::Ipv4), Some(Network::Ipv6));
        assert_eq!(told(AddressFamily::INET, None, plain), ("tcp".into(), v4));
        assert_eq!(told(AddressFamily::INET6, None, mapped), ("tcp".into(), v4), "on the wire");
        let listener = TcpListener::bind("[::1]:0").unwrap();
        let sixth = listener.local_addr().unwrap();
        assert_eq!(told(AddressFamily::INET6, None, sixth), ("tcp".into(), v6));
    }

    #[test]
    fn a_unix_socket_names_the_file_of_its_peer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let _listener = UnixListener::bind(&path).unwrap();
        let transport = proven(UnixStream::connect(&path).unwrap(), None).unwrap();
        assert_eq!((transport.kind.as_str(), transport.network), ("unix", None));
        assert_eq!(transport.peer, format!("unix:{}", path.display()));
    }

    #[test]
    fn what_has_the_addresses_of_tcp_is_not_taken_for_it() {
        let named = |domain, protocol| kind(AddressFamily::from_raw(domain), protocol);
        let inet = AddressFamily::INET.as_raw();
        let number = |number: u32| Protocol::from_raw(number.try_into().unwrap());
        assert_eq!(named(inet, Some(ipproto::MPTCP)), "mptcp");
        assert_eq!(named(inet, Some(number(256))), "smc");
        assert_eq!(named(43, None), "smc");
        assert_eq!(named(inet, Some(number(132))), "family 2 protocol 132");
        assert_eq!(named(40, None), "family 40 protocol 0");
    }

    #[test]
    fn connections_of_several_kinds_are_counted_apart() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tcp = || TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let sockets = [tcp(), tcp(), tcp()];
        let (unix, _other) = UnixStream::pair().unwrap();
        let mut proofs = Proofs::default();
        proofs.note(sockets[0].as_fd(), None);
        proofs.note(sockets[1].as_fd(), None);
        proofs.note(unix.as_fd(), None);
        proofs.note(sockets[2].as_fd(), None);
        let all = proofs.into_transports();
        let counts: Vec<(&str, u64)> =
            all.uses().iter().map(|it| (it.transport.kind.as_str(), it.connections)).collect();
        assert_eq!(counts, [("tcp", 3), ("unix", 1)]);
        assert_eq!(all.first().unwrap().local, sockets[0].local_addr().unwrap().to_string());
        assert!(all.mixed().is_some());
    }
}
