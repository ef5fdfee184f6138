//! What a connection really uses: read back from its socket, never taken from what was asked for.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use plumb_measure::{Network, Transport, Transports};
use plumb_netlink::smc::{self, Carriage, SmcSockets};
use rustix::net::{
    AddressFamily, Protocol, SocketAddrAny, getpeername, getsockname, ipproto, sockopt,
};

use crate::address::{Endpoint, show_address};

/// `IPPROTO_SMC` of the kernel: SMC on a socket of an IP family.
const PROTOCOL_SMC: u32 = 256;

/// What the `socket` uses that was connected to `endpoint`; `tls` is what the TLS library says of its
/// session.
///
/// # Errors
/// When the kernel does not tell, as of a socket whose peer is gone already.
pub fn proven(
    socket: impl AsFd,
    endpoint: &Endpoint,
    tls: Option<String>,
) -> io::Result<Transport> {
    proven_of(socket.as_fd(), Asked::of(endpoint), tls)
}

/// The same of a socket that was `asked` for.
pub(crate) fn proven_of(
    socket: BorrowedFd<'_>,
    asked: Asked,
    tls: Option<String>,
) -> io::Result<Transport> {
    Ok(TransportTraits::on(socket, asked, tls)?.transport(getsockname(socket)?))
}

/// What was asked for. A socket of SMC that fell back is one of TCP in every respect, so that no
/// socket can tell it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Asked {
    /// SMC.
    Smc,
    /// Something that a socket tells itself.
    #[default]
    Else,
}

impl Asked {
    pub(crate) fn of(endpoint: &Endpoint) -> Self {
        if matches!(endpoint, Endpoint::Smc(_)) { Self::Smc } else { Self::Else }
    }
}

/// The proofs of many connections, each asked as it stands.
#[derive(Debug, Default)]
pub struct Proofs {
    asked: Asked,
    transports: Transports,
    /// The connection before: those that are alike are only counted.
    before: Option<(TransportTraits, Transport)>,
    /// Connections over SMC that stood, by the number of the file of each, to be asked once more.
    over_smc: HashMap<u64, Carriage>,
}

impl Proofs {
    /// Of connections to `endpoint`; there is none yet.
    #[must_use]
    pub fn of(endpoint: &Endpoint) -> Self {
        Self { asked: Asked::of(endpoint), ..Self::default() }
    }

    /// Adds a connection that stands, with `tls` of its session. One whose peer is gone already has
    /// carried nothing, and is left out.
    pub fn note(&mut self, socket: BorrowedFd<'_>, tls: Option<String>) {
        let Ok(seen) = TransportTraits::on(socket, self.asked, tls) else { return };
        if let (Some(carriage), Ok(inode)) = (&seen.carriage, smc::inode(socket)) {
            self.over_smc.insert(inode, carriage.clone());
        }
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

    /// Asks once more what moves the bytes of those of `sockets` that were noted as over SMC: one
    /// that uses something else by now counts as not proven.
    pub fn confirm<'a>(&mut self, sockets: &mut dyn Iterator<Item = BorrowedFd<'a>>) {
        if self.over_smc.is_empty() {
            return;
        }
        let now = SmcSockets::ask();
        for socket in sockets {
            let Ok(inode) = smc::inode(socket) else { continue };
            let Some(before) = self.over_smc.get(&inode) else { continue };
            let now = match &now {
                Ok(sockets) => sockets.of(inode),
                Err(why) => Carriage::unknown(why.as_str()),
            };
            if now == *before || matches!(before, Carriage::NotProven(_)) {
                continue;
            }
            let cause = format!("{} when it was made, {} at the end", before.kind(), now.kind());
            let Ok(traits) = TransportTraits::on(socket, self.asked, None) else { continue };
            let traits = TransportTraits { carriage: Some(Carriage::unknown(cause)), ..traits };
            let Ok(local) = getsockname(socket) else { continue };
            self.transports.add(&traits.transport(local), 1);
        }
    }

    /// What the connections used so far.
    #[must_use]
    pub fn transports(&self) -> &Transports {
        &self.transports
    }

    /// What the connections used.
    #[must_use]
    pub fn into_transports(self) -> Transports {
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
    /// What moves the bytes of a socket of SMC.
    carriage: Option<Carriage>,
}

impl TransportTraits {
    fn on(socket: BorrowedFd<'_>, asked: Asked, tls: Option<String>) -> io::Result<Self> {
        let domain = sockopt::socket_domain(socket)?;
        let protocol = sockopt::socket_protocol(socket)?;
        Ok(Self {
            domain,
            protocol,
            peer: getpeername(socket)?,
            tls,
            carriage: carriage(socket, asked, domain, protocol)?,
        })
    }

    fn transport(&self, local: SocketAddrAny) -> Transport {
        let ip = self.peer.clone().and_then(|peer| SocketAddr::try_from(peer).ok());
        Transport {
            kind: match &self.carriage {
                Some(carriage) => carriage.kind().into(),
                None => kind(self.domain, self.protocol).into_owned(),
            },
            network: ip.map(|peer| {
                if peer.ip().to_canonical().is_ipv4() { Network::Ipv4 } else { Network::Ipv6 }
            }),
            local: show_address(local),
            peer: self.peer.clone().map_or_else(|| "unix".into(), show_address),
            tls: self.tls.clone(),
            smc: self.carriage.as_ref().and_then(Carriage::lack).cloned(),
        }
    }
}

/// What moves the bytes of a socket of SMC; `None` for one that is none and was not asked for as such.
fn carriage(
    socket: BorrowedFd<'_>,
    asked: Asked,
    domain: AddressFamily,
    protocol: Option<Protocol>,
) -> io::Result<Option<Carriage>> {
    let number = protocol.map_or(0, |it| it.as_raw().get());
    if domain != smc::FAMILY && asked == Asked::Else {
        let of_ip = of_ip(domain) && number == PROTOCOL_SMC;
        return Ok(of_ip.then(|| Carriage::unknown("the kernel does not tell it of such sockets")));
    }
    let inode = smc::inode(socket)?;
    Ok(Some(match SmcSockets::ask() {
        Ok(sockets) => sockets.of(inode),
        Err(why) => Carriage::unknown(why),
    }))
}

fn of_ip(domain: AddressFamily) -> bool {
    domain == AddressFamily::INET || domain == AddressFamily::INET6
}

/// The name of the transport in the run record.
fn kind(domain: AddressFamily, protocol: Option<Protocol>) -> Cow<'static, str> {
    let number = protocol.map_or(0, |it| it.as_raw().get());
    let of_ip = of_ip(domain);
    match protocol {
        _ if domain == AddressFamily::UNIX => "unix".into(),
        Some(ipproto::TCP) if of_ip => "tcp".into(),
        Some(ipproto::MPTCP) if of_ip => "mptcp".into(),
        Some(ipproto::UDP) if of_ip => "udp".into(),
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
        let transport = proven(&socket, &Endpoint::Tcp(to), None).unwrap();
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
        let socket = UnixStream::connect(&path).unwrap();
        let transport = proven(socket, &Endpoint::Unix(path.clone()), None).unwrap();
        assert_eq!((transport.kind.as_str(), transport.network), ("unix", None));
        assert_eq!(transport.peer, format!("unix:{}", path.display()));
    }

    #[test]
    fn what_has_the_addresses_of_tcp_is_not_taken_for_it() {
        let named = |domain, protocol| kind(AddressFamily::from_raw(domain), protocol);
        let inet = AddressFamily::INET.as_raw();
        let number = |number: u32| Protocol::from_raw(number.try_into().unwrap());
        assert_eq!(named(inet, Some(ipproto::MPTCP)), "mptcp");
        assert_eq!(named(inet, Some(ipproto::UDP)), "udp");
        assert_eq!(named(inet, Some(number(132))), "family 2 protocol 132");
        assert_eq!(named(40, None), "family 40 protocol 0");
    }

    #[test]
    fn a_socket_of_tcp_that_was_asked_for_over_smc_is_no_proof() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let socket = TcpStream::connect(to).unwrap();
        let transport = proven(&socket, &Endpoint::Smc(to), None).unwrap();
        assert!(transport.smc.is_some(), "{transport:?}");
        let mut proofs = Proofs::of(&Endpoint::Smc(to));
        proofs.note(socket.as_fd(), None);
        proofs.confirm(&mut [socket.as_fd()].into_iter());
        assert!(proofs.into_transports().not_smc().is_some());
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
