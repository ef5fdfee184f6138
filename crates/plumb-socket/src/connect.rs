//! Making connections: every connection that is begun anywhere begins here.
//!
//! Whoever has a loop or a runtime starts a connect, waits until the socket is writable, and
//! finishes it. Whoever has none opens a [`Connection`], which waits itself and then blocks.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use plumb_measure::{ByteSize, Clock, Span, Transport};
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
    let options = SocketOptions::default();
    let connect = |it: &Endpoint| connect_within(it, patience, &options, Some(stop));
    let first = first_of(candidates, patience, Some(stop), &MonotonicClock, connect)?;
    let endpoint = first.endpoint;
    let dead = candidates.iter().take_while(|it| *it != endpoint).map(ToString::to_string);
    let dead: Vec<String> = dead.collect();
    if !dead.is_empty() {
        keep_dead(format!("{}, tried before {endpoint},", dead.join(", ")), first.in_vain_ns);
    }
    Ok(endpoint.clone())
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
        let connect = |it: &Endpoint| connect_within(it, limit, options, None);
        let First { endpoint, connected: socket, .. } =
            first_of(candidates, limit, None, &MonotonicClock, connect)?;
        rustix::io::ioctl_fionbio(&socket, false)
            .map_err(|error| Error::connect_within(endpoint.to_string(), &error.into(), limit))?;
        Ok(Self { socket, asked: Asked::of(endpoint) })
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

/// The first of some addresses that takes a connection.
struct First<'a, T> {
    endpoint: &'a Endpoint,
    connected: T,
    /// How long those before it were tried.
    in_vain_ns: u64,
}

/// The first of `candidates` with which `connect` works, which takes no longer than `limit`.
fn first_of<'a, T>(
    candidates: &'a [Endpoint],
    limit: Span,
    stop: Option<&Stop>,
    clock: &impl Clock,
    mut connect: impl FnMut(&Endpoint) -> io::Result<T>,
) -> Result<First<'a, T>, Error> {
    let mut failures = Vec::new();
    let began_ns = clock.now_ns();
    let mut in_vain_ns = 0;
    for endpoint in candidates {
        match connect(endpoint) {
            Ok(connected) => return Ok(First { endpoint, connected, in_vain_ns }),
            Err(error) => failures.push(Error::connect_within(endpoint.to_string(), &error, limit)),
        }
        in_vain_ns = clock.now_ns().saturating_sub(began_ns);
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
mod tests;
