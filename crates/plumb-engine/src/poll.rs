//! Waiting for sockets and for time, together.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use plumb_measure::Clock;
use rustix::event::epoll;
use rustix::time::Timespec;

use crate::clock::MonotonicClock;

/// Events taken from the kernel at once.
const EVENTS_MAX: usize = 512;

/// A connection or listener is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Readiness {
    pub(crate) token: Token,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// The other side will send nothing more, or the connection broke.
    pub(crate) hangup: bool,
}

/// Whom an event is for. The generation tells a connection from its predecessor at the same
/// index, whose last events may still be under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) index: usize,
    pub(crate) generation: u32,
}

impl Token {
    fn pack(self) -> epoll::EventData {
        epoll::EventData::new_u64(u64::from(self.generation) << 32 | self.index as u64)
    }

    #[expect(clippy::cast_possible_truncation, reason = "both halves are 32 bits")]
    fn unpack(data: epoll::EventData) -> Self {
        Self { index: data.u64() as u32 as usize, generation: (data.u64() >> 32) as u32 }
    }
}

/// A set of sockets that are waited for.
pub struct Poll {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

impl std::fmt::Debug for Poll {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poll").field("found", &self.events.len()).finish_non_exhaustive()
    }
}

impl Poll {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, events: Vec::with_capacity(EVENTS_MAX) })
    }

    /// Adds a connection: edge-triggered, and for writing too, once and for all. Arming the
    /// writing side on demand is one system call more and one more thing to forget.
    pub(crate) fn add_connection(&self, socket: BorrowedFd<'_>, token: Token) -> io::Result<()> {
        let flags = epoll::EventFlags::IN
            | epoll::EventFlags::OUT
            | epoll::EventFlags::RDHUP
            | epoll::EventFlags::ET;
        Ok(epoll::add(&self.epoll, socket, token.pack(), flags)?)
    }

    /// Adds a listener: level-triggered, so that what one wake leaves is offered again.
    pub(crate) fn add_listener(&self, socket: BorrowedFd<'_>, token: Token) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, token.pack(), epoll::EventFlags::IN)?)
    }

    pub(crate) fn remove(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, socket)?)
    }

    /// What the last wait found.
    pub(crate) fn ready(&self, at: usize) -> Readiness {
        let event = self.events[at];
        let flags = event.flags;
        let hangup = flags
            .intersects(epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        Readiness {
            token: Token::unpack(event.data),
            readable: hangup || flags.contains(epoll::EventFlags::IN),
            writable: hangup || flags.contains(epoll::EventFlags::OUT),
            hangup,
        }
    }

    pub(crate) fn found(&self) -> usize {
        self.events.len()
    }

    /// Waits at most `timeout_ns`. An interrupting signal ends the wait early.
    ///
    /// # Errors
    /// When the kernel refuses to wait.
    pub fn wait(&mut self, timeout_ns: u64) -> io::Result<()> {
        self.events.clear();
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout_ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(timeout_ns % 1_000_000_000).unwrap_or(0),
        };
        let spare = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.epoll, spare, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The clock of a loop, and how it waits: real, or held still by a test.
pub trait Time: Clock {
    /// Waits for sockets for at most `timeout_ns`.
    ///
    /// # Errors
    /// When the kernel refuses to wait.
    fn wait(&mut self, poll: &mut Poll, timeout_ns: u64) -> io::Result<()>;
}

impl Time for MonotonicClock {
    fn wait(&mut self, poll: &mut Poll, timeout_ns: u64) -> io::Result<()> {
        poll.wait(timeout_ns)
    }
}
