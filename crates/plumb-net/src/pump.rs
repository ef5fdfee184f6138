//! One stream's bytes: sent until it is over, received to the end. The same on both sides.
//!
//! Each direction has a thread and blocks; no clock is read while bytes flow.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_engine::tcp_info;
use plumb_measure::{Clock as _, Span};
use plumb_wire::extension::{Cpu, noise};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown, sockopt};

use crate::account;

/// Bytes that one receive asks for.
const RECEIVE_BYTES: usize = 256 << 10;
/// No more than these are taken of a stream that nobody reads yet: buffers hold them.
const UNREAD_BYTES_MAX: u64 = 8 << 20;

/// What one stream has carried so far, for whoever looks on.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    came: AtomicU64,
    /// Of these, before this side began.
    early: AtomicU64,
    sent: AtomicU64,
    first_ns: AtomicU64,
    last_ns: AtomicU64,
    over: AtomicBool,
}

/// What a side of a stream does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamSide {
    /// It sends, so many bytes at once.
    pub(crate) sends: Option<usize>,
    /// The other side sends more than the end of the stream.
    pub(crate) receives: bool,
    /// Silences, each as long as a call on the socket blocks, that end it before the other side has begun
    /// to carry; later one does.
    pub(crate) first_silences: u32,
}

/// How one side of a stream ended.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    pub(crate) cpu: Cpu,
    pub(crate) retransmits: u64,
    pub(crate) trouble: Option<io::Error>,
}

impl Gauge {
    /// A stream of which `bytes` have come already.
    pub(crate) fn with(bytes: u64) -> Self {
        let gauge = Self::default();
        if bytes > 0 {
            gauge.came.store(bytes, Ordering::Relaxed);
            gauge.first_ns.store(MonotonicClock.now_ns(), Ordering::Relaxed);
        }
        gauge
    }

    /// Leaves out what has come over `socket` and was not read, before anything is.
    pub(crate) fn leave_out_unread(&self, socket: impl AsFd) -> io::Result<()> {
        self.early.store(rustix::io::ioctl_fionread(socket)?, Ordering::Relaxed);
        Ok(())
    }

    /// Bytes that came before this side began, and are left out of those that it received.
    pub(crate) fn early(&self) -> u64 {
        self.early.load(Ordering::Relaxed)
    }

    /// Bytes that came.
    pub(crate) fn received(&self) -> u64 {
        self.came.load(Ordering::Relaxed).saturating_sub(self.early())
    }

    /// Bytes that the kernel took.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// When the first byte came, nanoseconds on the monotonic clock; 0 before.
    pub(crate) fn first_ns(&self) -> u64 {
        self.first_ns.load(Ordering::Relaxed)
    }

    /// When the end came, or it broke, nanoseconds on the monotonic clock; 0 before.
    pub(crate) fn last_ns(&self) -> u64 {
        self.last_ns.load(Ordering::Relaxed)
    }

    /// Nothing more is to be sent.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Nothing more is sent, or the other side has ended the stream.
    pub(crate) fn over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

/// Makes the calls on a socket block, each for at most `patience`.
pub(crate) fn make_patient(socket: &OwnedFd, patience: Span) -> io::Result<()> {
    let patience = Duration::from_nanos(patience.ns().max(1_000)); // none would be for ever
    rustix::io::ioctl_fionbio(socket, false)?;
    sockopt::set_socket_timeout(socket, sockopt::Timeout::Recv, Some(patience))?;
    Ok(sockopt::set_socket_timeout(socket, sockopt::Timeout::Send, Some(patience))?)
}

/// Carries one stream over a socket that blocks, to its end: this side sends until the gauge says
/// that it is [over](Gauge::end), and receives until the other side has sent all.
pub(crate) fn carry(socket: &OwnedFd, part: StreamSide, gauge: &Gauge) -> Carried {
    let mut carried = Carried::default();
    thread::scope(|scope| {
        let sender = part.sends.map(|bytes| {
            scope.spawn(move || {
                let sent = send_until_over(socket, (bytes, part.first_silences), gauge);
                if sent.is_err() {
                    // the receiver must not wait for a peer that takes nothing any more
                    let _ = shutdown(socket, Shutdown::Both);
                }
                (sent, account::of_thread())
            })
        });
        let before = account::of_thread();
        let received = receive_all(socket, part, gauge);
        carried.cpu = since(before);
        gauge.end(); // whoever has sent all, or is gone, wants nothing more
        let sent = sender.map(|sender| sender.join());
        if let Some(Ok((sent, cpu))) = sent {
            carried.cpu.user_ns += cpu.user_ns;
            carried.cpu.system_ns += cpu.system_ns;
            carried.trouble = sent.err();
        }
        carried.trouble = received.err().or(carried.trouble.take());
    });
    carried.retransmits = tcp_info::read(socket.as_fd()).map_or(0, |tcp| tcp.retransmits);
    // a peer that is gone already needs no farewell
    let _ = shutdown(socket, Shutdown::Write);
    carried
}

fn since(before: Cpu) -> Cpu {
    let now = account::of_thread();
    Cpu {
        user_ns: now.user_ns.saturating_sub(before.user_ns),
        system_ns: now.system_ns.saturating_sub(before.system_ns),
    }
}

/// Sends `bytes` at once. So many silences end it before the other side can be known to read, later one
/// does.
fn send_until_over(
    socket: &OwnedFd,
    (bytes, first_silences): (usize, u32),
    gauge: &Gauge,
) -> io::Result<()> {
    let buffer: Vec<u8> = noise().take(bytes).collect();
    let (mut total, mut silences) = (0, 0);
    while !gauge.over() {
        match send(socket, &buffer, SendFlags::NOSIGNAL) {
            Ok(count) => {
                total += count as u64;
                gauge.sent.store(total, Ordering::Relaxed);
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                silences += 1;
                if total > UNREAD_BYTES_MAX || silences >= first_silences {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(shutdown(socket, Shutdown::Write)?)
}

/// Reads to the end, and notes when that was. Where nothing but the end is expected, silence is no
/// trouble until this side has sent all.
fn receive_all(socket: impl AsFd, part: StreamSide, gauge: &Gauge) -> io::Result<()> {
    let received = receive_until_end(&socket, part, gauge);
    let mut last_ns = MonotonicClock.now_ns();
    if received.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
        // what came came before the silence
        let silent = sockopt::socket_timeout(&socket, sockopt::Timeout::Recv).ok().flatten();
        let silent_ns = silent.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(0));
        last_ns = last_ns.saturating_sub(silent_ns).max(gauge.first_ns());
    }
    gauge.last_ns.store(last_ns, Ordering::Relaxed);
    received
}

fn receive_until_end(socket: impl AsFd, part: StreamSide, gauge: &Gauge) -> io::Result<()> {
    let mut buffer = vec![0; RECEIVE_BYTES];
    let (mut total, early) = (gauge.came.load(Ordering::Relaxed), gauge.early());
    let (mut was_over, mut silences) = (false, 0);
    loop {
        match recv(&socket, &mut buffer[..], RecvFlags::empty()) {
            Ok((0, _)) => return Ok(()),
            Ok((count, _)) => {
                if total <= early && total + count as u64 > early {
                    gauge.first_ns.store(MonotonicClock.now_ns(), Ordering::Relaxed);
                }
                total += count as u64;
                gauge.came.store(total, Ordering::Relaxed);
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if !part.receives && !was_over => was_over = gauge.over(),
            Err(Errno::AGAIN) => {
                silences += 1;
                if !part.receives || total > 0 || silences >= part.first_silences {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    const SILENCE: Span = Span::from_ms(50);
    const PART: StreamSide = StreamSide { sends: None, receives: true, first_silences: 3 };

    #[test]
    fn a_stream_that_falls_silent_has_ended_with_its_last_bytes() {
        let (mut sender, receiver) = UnixStream::pair().unwrap();
        let receiver = OwnedFd::from(receiver);
        make_patient(&receiver, SILENCE).unwrap();
        sender.write_all(b"bytes").unwrap();
        let gauge = Gauge::default();
        let before_ns = MonotonicClock.now_ns();
        let ended = receive_all(&receiver, PART, &gauge);
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(gauge.received(), 5);
        assert!(before_ns <= gauge.first_ns() && gauge.first_ns() <= gauge.last_ns());
        assert!(gauge.last_ns() <= MonotonicClock.now_ns() - SILENCE.ns());
    }

    #[test]
    fn a_stream_that_has_not_begun_may_pause_for_longer() {
        let (here, _there) = UnixStream::pair().unwrap();
        let here = OwnedFd::from(here);
        make_patient(&here, SILENCE).unwrap();
        let gauge = Gauge::default();
        let send = || send_until_over(&here, (4 << 10, PART.first_silences), &gauge);
        let receive = || receive_all(&here, PART, &gauge);
        for wait in [&send as &dyn Fn() -> io::Result<()>, &receive] {
            let before_ns = MonotonicClock.now_ns();
            assert_eq!(wait().unwrap_err().kind(), io::ErrorKind::TimedOut);
            // a time-out of the kernel may be a tick shorter
            assert!(MonotonicClock.now_ns() - before_ns > 2 * SILENCE.ns());
        }
    }
}
