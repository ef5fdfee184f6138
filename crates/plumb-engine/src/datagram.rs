//! Sockets of UDP: whoever serves datagrams, sends streams of them, or asks by one.

mod serve;

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use plumb_link::{Link, Plain, Received};
use plumb_measure::{Span, Transport};
use plumb_socket::{Address, Endpoint, Family, SocketOptions, show_address, start_connect};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, bind, getsockname, recv, recvfrom, send,
    sendto,
};

pub use serve::{DatagramPlan, DatagramService, serve_datagrams};

use crate::{EngineError, proven};

/// Room that is asked for, so that what comes while nobody reads is not lost at once; the kernel
/// gives what it allows (`net.core.rmem_max`).
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;
/// The heads of UDP and of IP of either version, bytes.
const HEADS_V4: u32 = 8 + 20;
const HEADS_V6: u32 = 8 + 40;

/// A socket of UDP whose calls block: bound where a server listens, or connected to one.
#[derive(Debug)]
pub struct DatagramSocket {
    socket: OwnedFd,
}

impl DatagramSocket {
    /// Listens on every address of `listen` that is one of UDP (`udp:HOST:PORT`); a port that is not
    /// written is `default_port`.
    ///
    /// # Errors
    /// [`EngineError`] names the address that cannot be listened on.
    pub fn bind_all(listen: &[String], default_port: u16) -> Result<Vec<Self>, EngineError> {
        let mut sockets = Vec::new();
        for text in listen {
            for endpoint in
                Endpoint::resolve_any(&Address::parse(text, default_port)?, Family::Any)?
            {
                let Endpoint::Udp(address) = endpoint else { continue };
                let socket = Self::bind(address)
                    .map_err(|cause| EngineError::listen(endpoint.to_string(), &cause))?;
                sockets.push(socket);
            }
        }
        Ok(sockets)
    }

    /// Listens on `address`; port 0 lets the kernel choose one.
    ///
    /// # Errors
    /// What the kernel says: in use, no permission, no such address.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let endpoint = Endpoint::Udp(address);
        let socket = endpoint.socket(SocketFlags::CLOEXEC)?;
        if endpoint.family() == AddressFamily::INET6 {
            sockopt::set_ipv6_v6only(&socket, true)?;
        }
        sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER_BYTES)?;
        bind(&socket, &address)?;
        Ok(Self { socket })
    }

    /// A socket whose datagrams go to `endpoint`, and that takes none from elsewhere.
    ///
    /// # Errors
    /// [`EngineError::Connect`] when there is no way there.
    pub fn connect(endpoint: &Endpoint) -> Result<Self, EngineError> {
        let connect = || {
            let socket = start_connect(endpoint, &SocketOptions::default())?;
            sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER_BYTES)?;
            ioctl_fionbio(&socket, false)?;
            Ok(Self { socket })
        };
        connect().map_err(|error| EngineError::connect(endpoint.to_string(), &error))
    }

    /// From now on a receive that takes longer than `limit` brings nothing.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn limit_receives(&self, limit: Span) -> io::Result<()> {
        let limit = Duration::from_nanos(limit.ns()).max(Duration::from_micros(1));
        Ok(sockopt::set_socket_timeout(&self.socket, sockopt::Timeout::Recv, Some(limit))?)
    }

    /// Receives one datagram and says how long it is; `None` when none came in time.
    ///
    /// # Errors
    /// What the kernel says, as that nobody listens on the other side.
    pub fn receive(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match recv(&self.socket, into, RecvFlags::empty()) {
            Ok((bytes, _)) => Ok(Some(bytes)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The same of a socket that takes datagrams from everywhere; with who sent it.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn receive_from(&self, into: &mut [u8]) -> io::Result<Option<(usize, SocketAddr)>> {
        self.take(into, RecvFlags::empty())
    }

    fn take(&self, into: &mut [u8], flags: RecvFlags) -> io::Result<Option<(usize, SocketAddr)>> {
        match recvfrom(&self.socket, into, flags) {
            Ok((bytes, _, from)) => {
                let from = from.and_then(|from| SocketAddr::try_from(from).ok());
                Ok(from.map(|from| (bytes, from)))
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends one datagram to where the socket is connected to.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn send(&self, datagram: &[u8]) -> io::Result<()> {
        send(&self.socket, datagram, SendFlags::empty())?;
        Ok(())
    }

    /// Sends one datagram to `to`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn send_to(&self, datagram: &[u8], to: SocketAddr) -> io::Result<()> {
        sendto(&self.socket, datagram, SendFlags::empty(), &to)?;
        Ok(())
    }

    /// The address of this side, as clients of a server reach it: `udp:HOST:PORT`.
    #[must_use]
    pub fn local(&self) -> String {
        getsockname(&self.socket)
            .map_or_else(|_| "udp".into(), |it| format!("udp:{}", show_address(it)))
    }

    /// What it really uses.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn transport(&self, endpoint: &Endpoint) -> io::Result<Transport> {
        proven(&self.socket, endpoint, None)
    }

    /// Datagrams that came and were dropped because nobody had read those before; `None` when the
    /// kernel does not tell.
    #[must_use]
    pub fn overflowed(&self) -> Option<u64> {
        drops(self.socket.as_fd())
    }

    /// From now on no datagram is cut into fragments, here or on the way: one that is too long for
    /// the path is refused, or lost.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn never_fragment(&self) -> io::Result<()> {
        never_fragment(self.socket.as_fd())
    }

    /// The longest packet that goes to the other side in one piece, as far as this machine knows.
    #[must_use]
    pub fn path_mtu(&self) -> Option<PathMtu> {
        let (bytes, heads) = match sockopt::socket_domain(&self.socket).ok()? {
            AddressFamily::INET6 => (sockopt::ipv6_mtu(&self.socket).ok()?, HEADS_V6),
            _ => (sockopt::ip_mtu(&self.socket).ok()?, HEADS_V4),
        };
        Some(PathMtu { bytes, content: bytes.saturating_sub(heads) })
    }
}

impl AsFd for DatagramSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Datagrams of a load as they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Datagrams {
    /// None is cut into fragments; see [`DatagramSocket::never_fragment`].
    pub never_fragment: bool,
}

impl Link for Datagrams {
    const BLOCKS: bool = Plain::BLOCKS;

    fn handshake(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        if self.never_fragment { never_fragment(socket) } else { Ok(()) }
    }

    #[inline]
    fn recv(&mut self, socket: BorrowedFd<'_>, into: &mut Vec<u8>) -> io::Result<Received> {
        Plain::default().recv(socket, into)
    }

    #[inline]
    fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
        Plain::default().send(socket, bytes)
    }
}

/// The longest packet that a path takes in one piece, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMtu {
    /// Bytes of the IP packet.
    pub bytes: u32,
    /// Bytes that a datagram in it can hold.
    pub content: u32,
}

/// See [`DatagramSocket::never_fragment`].
pub(crate) fn never_fragment(socket: BorrowedFd<'_>) -> io::Result<()> {
    match sockopt::socket_domain(socket)? {
        AddressFamily::INET6 => {
            sockopt::set_ipv6_mtu_discover(socket, Ipv6PathMtuDiscovery::DO)?;
        }
        _ => sockopt::set_ip_mtu_discover(socket, Ipv4PathMtuDiscovery::DO)?,
    }
    Ok(())
}

/// Where the kernel counts what a socket dropped, among the numbers of `SO_MEMINFO`
/// (`linux/sock_diag.h`).
const MEMINFO_DROPS: usize = 8;

#[expect(unsafe_code, reason = "no safe crate reads this option")]
fn drops(socket: BorrowedFd<'_>) -> Option<u64> {
    let mut numbers = [0_u32; MEMINFO_DROPS + 1];
    let mut length = libc::socklen_t::try_from(size_of_val(&numbers)).ok()?;
    // SAFETY: the descriptor is open as long as it is borrowed; the kernel writes at most `length`
    // bytes to `numbers`, which is as long, and the number it wrote to `length`
    let refused = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            numbers.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    let whole = usize::try_from(length).ok()? == size_of_val(&numbers);
    (refused == 0 && whole).then(|| u64::from(numbers[MEMINFO_DROPS]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound() -> (DatagramSocket, Endpoint) {
        let socket = DatagramSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let local = socket.local();
        let address = local.strip_prefix("udp:").unwrap().parse().unwrap();
        (socket, Endpoint::Udp(address))
    }

    #[test]
    fn a_datagram_arrives_whole_with_who_sent_it_and_is_answered() {
        let (server, endpoint) = bound();
        let client = DatagramSocket::connect(&endpoint).unwrap();
        client.send(b"hello").unwrap();
        let mut buffer = [0; 16];
        let (bytes, from) = server.receive_from(&mut buffer).unwrap().unwrap();
        assert_eq!(&buffer[..bytes], b"hello");
        assert_eq!(format!("udp:{from}"), client.local());
        server.send_to(b"you", from).unwrap();
        assert_eq!(client.receive(&mut buffer).unwrap(), Some(3));
        assert_eq!(client.transport(&endpoint).unwrap().kind, "udp");
    }

    #[test]
    fn what_nobody_reads_is_counted_by_the_kernel() {
        let (server, endpoint) = bound();
        let client = DatagramSocket::connect(&endpoint).unwrap();
        assert_eq!(server.overflowed(), Some(0));
        let datagram = [0; 60_000];
        // far more than any buffer that the kernel gives
        for _ in 0..2_000 {
            client.send(&datagram).unwrap();
        }
        assert!(server.overflowed().unwrap() > 0);
    }

    #[test]
    fn what_may_not_be_cut_into_fragments_is_refused_when_it_is_too_long() {
        let (_server, endpoint) = bound();
        let client = DatagramSocket::connect(&endpoint).unwrap();
        let mtu = client.path_mtu().unwrap();
        assert_eq!(mtu.bytes - mtu.content, 28);
        let content = usize::try_from(mtu.content).unwrap();
        if content >= 65_507 {
            return; // a loopback that takes every datagram whole
        }
        client.send(&vec![0; content + 1]).unwrap();
        client.never_fragment().unwrap();
        client.send(&vec![0; content]).unwrap();
        assert!(client.send(&vec![0; content + 1]).is_err());
    }
}
