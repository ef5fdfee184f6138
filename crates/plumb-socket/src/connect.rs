//! Making connections: every connection that is begun anywhere begins here.
//!
//! Whoever has a loop or a runtime starts a connect, waits until the socket is writable, and
//! finishes it. Whoever has none opens a [`Connection`], which waits itself and then blocks.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use plumb_measure::{ByteSize, Clock as _, Span, Transport};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, connect, getsockname,
    recv, send, socket_with, sockopt,
};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::address::Endpoint;
use crate::clock::{MonotonicClock, timespec};
use crate::interrupted::Interrupted;
use crate::name_lookup::keep_dead;
use crate::proof::{Asked, proven_of};
use crate::reach;
use crate::stop::Stop;

pub(crate) const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);
/// The shortest limit that the kernel takes for one.
const LIMIT_MIN: Duration = Duration::from_micros(1);

/// Whether the kernel may hold back a small segment while an earlier one is not acknowledged
/// (Nagle's algorithm).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nagle {
    /// Every write goes out at once (`TCP_NODELAY`).
    #[default]
    Off,
    /// As the kernel does unless it is told otherwise.
    On,
}

impl From<bool> for Nagle {
    /// An option that asks for it.
    fn from(on: bool) -> Self {
        if on { Self::On } else { Self::Off }
    }
}

/// How a socket is set before it is connected. Buffers and source are those that the kernel chooses
/// unless they are given; a unix socket has none of all that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// Whether the kernel may hold back small segments.
    pub nagle: Nagle,
    /// Room for what is sent and not acknowledged; the kernel keeps as much again for itself.
    pub send_buffer: Option<ByteSize>,
    /// Room for what has come and is not read; the kernel keeps as much again for itself.
    pub receive_buffer: Option<ByteSize>,
    /// The address of this side, of the same version of IP as the other.
    pub source: Option<IpAddr>,
}

impl SocketOptions {
    fn set(&self, socket: &OwnedFd) -> io::Result<()> {
        let bytes = |size: ByteSize| usize::try_from(size.bytes()).unwrap_or(usize::MAX);
        sockopt::set_tcp_nodelay(socket, self.nagle == Nagle::Off)?;
        if let Some(size) = self.send_buffer {
            sockopt::set_socket_send_buffer_size(socket, bytes(size))?;
        }
        if let Some(size) = self.receive_buffer {
            sockopt::set_socket_recv_buffer_size(socket, bytes(size))?;
        }
        if let Some(source) = self.source {
            bind(socket, &SocketAddr::new(source, 0))?;
        }
        Ok(())
    }
}

/// Has the kernel acknowledge what has come over `socket` now (`TCP_QUICKACK`). It goes back to its own
/// ways by itself, so this is said anew after every read; a socket that is none of TCP has nothing to acknowledge.
pub fn acknowledge_at_once(socket: BorrowedFd<'_>) {
    let _ = sockopt::set_tcp_quickack(socket, true);
}

/// Starts to connect, without waiting. The socket does not block; it is writable once it is decided
/// whether that worked, which [`finish_connect`] says.
///
/// # Errors
/// What the kernel says at once; [`PermissionDenied`](io::ErrorKind::PermissionDenied) when this
/// process was restricted to other targets.
pub fn start_connect(endpoint: &Endpoint, options: &SocketOptions) -> io::Result<OwnedFd> {
    reach::check(endpoint)?;
    let socket = endpoint.socket(FLAGS)?;
    let started = match endpoint {
        Endpoint::Tcp(address) | Endpoint::Smc(address) => {
            options.set(&socket)?;
            connect(&socket, address)
        }
        Endpoint::Udp(address) => connect(&socket, address),
        Endpoint::Unix(path) => connect(&socket, &SocketAddrUnix::new(path)?),
        Endpoint::Own => connect_to_itself(&socket),
    };
    match started {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

/// Whether a connect that was started has worked.
///
/// # Errors
/// Why it has not.
pub fn finish_connect(socket: impl AsFd) -> io::Result<()> {
    Ok(sockopt::socket_error(socket)??)
}

/// The first of `candidates` that takes a connection; a single one is not tried. Bounded by
/// `patience` a candidate.
///
/// # Errors
/// [`Error::Connect`] with the cause of each candidate when none does, [`Error::Interrupted`] when `stop`
/// is asked before.
pub fn reachable(candidates: &[Endpoint], patience: Span, stop: &Stop) -> Result<Endpoint, Error> {
    if let [only] = candidates {
        return Ok(only.clone());
    }
    let began_ns = MonotonicClock.now_ns();
    let (endpoint, _) = connect_first(candidates, patience, &SocketOptions::default(), Some(stop))?;
    let dead = candidates.iter().take_while(|it| **it != endpoint).map(ToString::to_string);
    let dead: Vec<String> = dead.collect();
    if !dead.is_empty() {
        let took_ns = MonotonicClock.now_ns().saturating_sub(began_ns);
        keep_dead(format!("{}, tried before {endpoint},", dead.join(", ")), took_ns);
    }
    Ok(endpoint)
}

/// A connection whose calls block.
#[derive(Debug)]
pub struct Connection {
    socket: OwnedFd,
    asked: Asked,
}

impl Connection {
    /// Connects to the first of `candidates` that takes a connection within `limit`.
    ///
    /// # Errors
    /// [`Error::Connect`] names each address with its cause, and what to try.
    pub fn open(
        candidates: &[Endpoint],
        limit: Span,
        options: &SocketOptions,
    ) -> Result<Self, Error> {
        let (endpoint, socket) = connect_first(candidates, limit, options, None)?;
        rustix::io::ioctl_fionbio(&socket, false)
            .map_err(|error| Error::connect_within(endpoint.to_string(), &error.into(), limit))?;
        Ok(Self { socket, asked: Asked::of(&endpoint) })
    }

    /// From now on a read or a write that takes longer than `limit` fails with
    /// [`io::ErrorKind::WouldBlock`].
    ///
    /// # Errors
    /// What the kernel says.
    pub fn limit_calls(&self, limit: Span) -> io::Result<()> {
        let limit = Some(duration(limit));
        sockopt::set_socket_timeout(&self.socket, sockopt::Timeout::Recv, limit)?;
        Ok(sockopt::set_socket_timeout(&self.socket, sockopt::Timeout::Send, limit)?)
    }

    /// False when the other side has closed it, or has said something that nobody asked for.
    #[must_use]
    pub fn stands(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        matches!(recv(&self.socket, &mut [0_u8; 1][..], flags), Err(Errno::AGAIN))
    }

    /// What it really uses.
    ///
    /// # Errors
    /// When the other side is gone already.
    pub fn transport(&self) -> io::Result<Transport> {
        proven_of(self.socket.as_fd(), self.asked, None)
    }

    /// The socket, for whoever goes on with it.
    #[must_use]
    pub fn into_socket(self) -> OwnedFd {
        self.socket
    }
}

impl Read for Connection {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let (_, count) = recv(&self.socket, bytes, RecvFlags::empty())?;
        Ok(count)
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(&self.socket, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Connects to the first of `candidates` that takes a connection within `limit`.
fn connect_first(
    candidates: &[Endpoint],
    limit: Span,
    options: &SocketOptions,
    stop: Option<&Stop>,
) -> Result<(Endpoint, OwnedFd), Error> {
    let mut failures = Vec::new();
    for endpoint in candidates {
        match connect_within(endpoint, limit, options, stop) {
            Ok(socket) => return Ok((endpoint.clone(), socket)),
            Err(error) => failures.push(Error::connect_within(endpoint.to_string(), &error, limit)),
        }
        if stop.is_some_and(Stop::asked) {
            return Err(Interrupted.into());
        }
    }
    Err(Error::none_connects(failures))
}

fn connect_within(
    endpoint: &Endpoint,
    limit: Span,
    options: &SocketOptions,
    stop: Option<&Stop>,
) -> io::Result<OwnedFd> {
    if let Endpoint::Unix(path) = endpoint {
        reach::check(endpoint)?;
        return connect_file(path, limit);
    }
    let socket = start_connect(endpoint, options)?;
    let mut events = vec![PollFd::new(&socket, PollFlags::OUT)];
    events.extend(stop.map(|stop| PollFd::from_borrowed_fd(stop.socket(), PollFlags::IN)));
    let most = timespec(limit.ns());
    retry_on_intr(|| poll(&mut events, Some(&most)))?;
    if events[0].revents().is_empty() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    finish_connect(&socket)?;
    Ok(socket)
}

/// A connect to a socket file is done at once, unless too many wait there already: then the kernel
/// waits, and there is nothing to poll.
fn connect_file(path: &Path, limit: Span) -> io::Result<OwnedFd> {
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(rustix::net::AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let wait = sockopt::Timeout::Send;
    sockopt::set_socket_timeout(&socket, wait, Some(duration(limit)))?;
    match retry_on_intr(|| connect(&socket, &address)) {
        Err(Errno::AGAIN) => return Err(io::ErrorKind::TimedOut.into()),
        connected => connected?,
    }
    sockopt::set_socket_timeout(&socket, wait, None)?;
    Ok(socket)
}

fn duration(limit: Span) -> Duration {
    Duration::from_nanos(limit.ns()).max(LIMIT_MIN)
}

/// A datagram socket of this machine that is its own peer.
fn connect_to_itself(socket: &OwnedFd) -> rustix::io::Result<()> {
    bind(socket, &SocketAddrUnix::new_unnamed())?; // the kernel chooses a name
    connect(socket, &getsockname(socket)?)
}

/// Lets the receives of a socket block, for at most `timeout`.
///
/// # Errors
/// What the kernel says.
pub fn make_blocking(socket: BorrowedFd<'_>, timeout: Duration) -> io::Result<()> {
    sockopt::set_socket_timeout(socket, sockopt::Timeout::Recv, Some(timeout))?;
    Ok(rustix::io::ioctl_fionbio(socket, false)?)
}

/// Makes all calls on a socket return at once again.
///
/// # Errors
/// What the kernel says.
pub fn make_nonblocking(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(socket, true)?)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use super::*;

    const LIMIT: Span = Span::from_ms(20_000);

    fn echo_once(from: impl FnOnce() -> OwnedFd + Send + 'static) -> std::thread::JoinHandle<()> {
        std::thread::spawn(move || {
            let mut taken = Connection { socket: from(), asked: Asked::Else };
            let mut bytes = [0; 4];
            taken.read_exact(&mut bytes).unwrap();
            taken.write_all(&bytes).unwrap();
        })
    }

    fn exchange(endpoint: Endpoint, options: &SocketOptions) -> Transport {
        let mut connection = Connection::open(&[endpoint], LIMIT, options).unwrap();
        connection.limit_calls(LIMIT).unwrap();
        let transport = connection.transport().unwrap();
        connection.write_all(b"ping").unwrap();
        let mut bytes = [0; 4];
        connection.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"ping");
        transport
    }

    #[test]
    fn tcp_and_files_are_connected_to_in_the_same_way() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tcp = Endpoint::Tcp(listener.local_addr().unwrap());
        let server = echo_once(move || listener.accept().unwrap().0.into());
        let source = "127.0.0.9".parse().unwrap();
        let options = SocketOptions { source: Some(source), ..SocketOptions::default() };
        let transport = exchange(tcp, &options);
        assert!(transport.local.starts_with("127.0.0.9:"), "{transport:?}");
        server.join().unwrap();

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let server = echo_once(move || listener.accept().unwrap().0.into());
        let transport = exchange(Endpoint::Unix(path), &SocketOptions::default());
        assert_eq!(transport.kind, "unix");
        server.join().unwrap();
    }

    #[test]
    fn options_are_those_of_the_socket() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
        let of = |options: &SocketOptions| {
            let socket =
                Connection::open(std::slice::from_ref(&endpoint), LIMIT, options).unwrap().socket;
            let buffers = sockopt::socket_send_buffer_size(&socket).unwrap()
                + sockopt::socket_recv_buffer_size(&socket).unwrap();
            (sockopt::tcp_nodelay(&socket).unwrap(), buffers)
        };
        let size = ByteSize::new;
        let small = SocketOptions {
            nagle: Nagle::On,
            send_buffer: size(8 << 10),
            receive_buffer: size(16 << 10),
            source: None,
        };
        assert_eq!(of(&small), (false, 2 * (24 << 10)), "the kernel doubles them");
        let (nodelay, buffers) = of(&SocketOptions::default());
        assert!(nodelay && buffers > 2 * (24 << 10));
    }

    #[test]
    fn the_first_that_answers_is_taken_and_who_does_not_is_named() {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap();
        let options = SocketOptions::default();
        let both = [Endpoint::Tcp(gone), Endpoint::Tcp(there)];
        let connection = Connection::open(&both, LIMIT, &options).unwrap();
        assert_eq!(connection.transport().unwrap().peer, there.to_string());
        drop(listener);
        let error = Connection::open(&both, LIMIT, &options).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "cannot connect to {gone}: connection refused, and to {there}: connection refused; \
                 is the server started, and is the port right?"
            )
        );
        let none = Connection::open(&[], LIMIT, &options).unwrap_err();
        assert_eq!(none.to_string(), "no address to connect to");
    }

    #[test]
    fn a_file_at_which_too_many_wait_is_waited_for_no_longer_than_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = socket_with(
            rustix::net::AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )
        .unwrap();
        bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let endpoint = [Endpoint::Unix(path)];
        let limit = Span::from_ms(1);
        let options = SocketOptions::default();
        let mut waiting = Vec::new();
        let error = loop {
            match Connection::open(&endpoint, limit, &options) {
                Ok(connection) => waiting.push(connection),
                Err(error) => break error.to_string(),
            }
            assert!(waiting.len() < 10, "a queue of none takes no more");
        };
        assert!(error.contains("no answer within 1ms"), "{error}");
    }
}
