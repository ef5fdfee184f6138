//! Waiting for sockets and for time, together.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use plumb_measure::{Clock, Tick};
use rustix::event::epoll;
use rustix::time::{TimerfdClockId, TimerfdFlags, Timespec, timerfd_create};

use crate::clock::{MonotonicClock, set_timer, timespec};
use crate::stop::Stop;
use crate::tick::HeldTick;

/// Events taken from the kernel at once.
const EVENTS_MAX: usize = 512;
/// A wait that ends within this is timed by the wait itself; a longer one by an alarm that stays
/// set from wait to wait, because a timer set and cancelled around every message would cost more
/// than all else the loop does for it.
const ALARM_NS: u64 = 50_000;
/// For a deadline farther away than this it is enough to know about what time it is.
const FAR_NS: u64 = 10_000_000;
/// The token of the alarm and of a request to stop: they are no sockets of anybody.
const NOBODY: Token = Token { index: u32::MAX as usize, generation: u32::MAX };

/// A connection or listener is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// Whom the event is for.
    pub token: Token,
    /// There is something to read, or an error to be read.
    pub readable: bool,
    /// There is room to write, or an error to be met.
    pub writable: bool,
    /// The other side will send nothing more, or the connection broke.
    pub hangup: bool,
    /// Nothing was said but that there is an error. A connection that broke says more, so where
    /// packets are stamped this is their queue, and no end.
    pub only_error: bool,
}

/// Whom an event is for. The generation tells a connection from its predecessor at the same
/// index, whose last events may still be under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Of the connection or listener, below 2^32 - 1.
    pub index: usize,
    /// Which of those that were at this index.
    pub generation: u32,
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
    alarm: OwnedFd,
    /// When the alarm goes off or went off.
    alarm_at: u64,
    /// None where the processor's tick is left alone.
    tick: Option<HeldTick>,
}

impl std::fmt::Debug for Poll {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poll").field("found", &self.events.len()).finish_non_exhaustive()
    }
}

impl Poll {
    /// An empty set, whose waits end when `stop` is asked and do what `tick` says.
    ///
    /// # Errors
    /// When the kernel gives no descriptors for it.
    pub fn new(stop: &Stop, tick: Tick) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let alarm = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        epoll::add(&epoll, stop.socket(), NOBODY.pack(), epoll::EventFlags::IN)?;
        // told once when it goes off, it need not be silenced
        let once = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &alarm, NOBODY.pack(), once)?;
        Ok(Self {
            epoll,
            events: Vec::with_capacity(EVENTS_MAX),
            alarm,
            alarm_at: 0,
            tick: HeldTick::of(tick)?,
        })
    }

    /// Adds a connection: edge-triggered, and for writing too, once and for all. Arming the
    /// writing side on demand is one system call more and one more thing to forget.
    ///
    /// # Errors
    /// When the kernel refuses, such as for one that is in the set.
    pub fn add_connection(&self, socket: BorrowedFd<'_>, token: Token) -> io::Result<()> {
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

    /// Takes a socket out of the set.
    ///
    /// # Errors
    /// When it is not in the set.
    pub fn remove(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, socket)?)
    }

    /// What the last wait found, of [`found`](Self::found) events the one `at`, from 0.
    ///
    /// # Panics
    /// When it found fewer.
    #[must_use]
    #[inline]
    pub fn ready(&self, at: usize) -> Readiness {
        let event = self.events[at];
        let flags = event.flags;
        let hangup = flags
            .intersects(epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        Readiness {
            token: Token::unpack(event.data),
            readable: hangup || flags.contains(epoll::EventFlags::IN),
            writable: hangup || flags.contains(epoll::EventFlags::OUT),
            hangup,
            only_error: flags.contains(epoll::EventFlags::ERR)
                && !flags.intersects(epoll::EventFlags::RDHUP | epoll::EventFlags::HUP),
        }
    }

    /// How many events the last wait found.
    #[must_use]
    #[inline]
    pub fn found(&self) -> usize {
        self.events.len()
    }

    /// Waits until `timeout` has passed, or for ever. An interrupting signal, or the alarm of an
    /// earlier wait, ends it early.
    ///
    /// # Errors
    /// When the kernel refuses to wait.
    pub fn wait(&mut self, timeout: Option<Timespec>) -> io::Result<()> {
        self.events.clear();
        let spare = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.epoll, spare, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        self.events.retain(|event| Token::unpack(event.data) != NOBODY);
        Ok(())
    }

    /// Looks without waiting.
    ///
    /// # Errors
    /// When the kernel refuses to look.
    pub fn look(&mut self) -> io::Result<()> {
        self.wait(Some(Timespec { tv_sec: 0, tv_nsec: 0 }))
    }

    /// Call it at `now`, before a receive that blocks: holds the tick where that was asked for.
    #[inline]
    pub fn hold_tick(&mut self, now: u64) {
        if let Some(tick) = &mut self.tick {
            tick.hold(now);
        }
    }

    /// Waits until `deadline` on the monotonic clock, which is at `now`; or for ever.
    pub(crate) fn wait_until(&mut self, now: u64, deadline: Option<u64>) -> io::Result<()> {
        self.hold_tick(now);
        let Some(deadline) = deadline else {
            return self.wait(None);
        };
        let left_ns = deadline.saturating_sub(now);
        if left_ns <= ALARM_NS {
            return self.wait(Some(timespec(left_ns)));
        }
        let set_in_time = self.alarm_at > now && self.alarm_at <= deadline;
        if !set_in_time {
            set_timer(&self.alarm, deadline)?;
            self.alarm_at = deadline;
        }
        self.wait(None)
    }
}

/// The clock of a loop, and how it waits: real, or held still by a test.
pub trait Time: Clock {
    /// Waits for sockets until `deadline`, or for ever; a deadline that is past only looks. The clock
    /// was read last at `now`, and is read again where that could matter.
    ///
    /// # Errors
    /// When the kernel refuses to wait.
    fn wait(&mut self, poll: &mut Poll, now: u64, deadline: Option<u64>) -> io::Result<()>;

    /// Looks for what is ready again and again, until there is something or it is `until`. Where time is
    /// held still it looks once.
    ///
    /// # Errors
    /// When the kernel refuses to look.
    fn look_until(&mut self, poll: &mut Poll, until: u64) -> io::Result<()> {
        let _ = until;
        poll.look()
    }
}

impl Time for MonotonicClock {
    fn wait(&mut self, poll: &mut Poll, now: u64, deadline: Option<u64>) -> io::Result<()> {
        if deadline == Some(0) {
            return poll.look();
        }
        let far = deadline.is_none_or(|deadline| deadline > now + FAR_NS);
        let now = if far && poll.tick.is_none() { now } else { self.now_ns() };
        poll.wait_until(now, deadline)
    }

    fn look_until(&mut self, poll: &mut Poll, until: u64) -> io::Result<()> {
        loop {
            poll.look()?;
            if poll.found() > 0 || self.now_ns() >= until {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn no_wait_touches_the_tick_unless_it_is_held() {
        let stop = Stop::new().unwrap();
        stop.ask();
        for (tick, timers) in [(Tick::Free, 0), (Tick::Held, 1)] {
            let mut poll = Poll::new(&stop, tick).unwrap();
            poll.hold_tick(1);
            poll.wait_until(1, None).unwrap();
            assert_eq!(poll.tick.iter().count(), timers, "{tick:?}");
        }
    }

    #[test]
    fn a_look_ends_with_what_is_ready_and_with_its_time() {
        let stop = Stop::new().unwrap();
        let mut poll = Poll::new(&stop, Tick::Free).unwrap();
        let (near, mut far) = UnixStream::pair().unwrap();
        let token = Token { index: 3, generation: 5 };
        poll.add_connection(near.as_fd(), token).unwrap();
        let mut look = |until: u64| {
            MonotonicClock.look_until(&mut poll, until).unwrap();
            (0..poll.found()).map(|at| poll.ready(at)).collect::<Vec<_>>()
        };
        let writable = look(u64::MAX); // which is told once
        assert_eq!((writable[0].token, writable[0].writable), (token, true));
        assert_eq!(look(MonotonicClock.now_ns() + 1_000), []);
        far.write_all(b"x").unwrap();
        assert!(look(u64::MAX)[0].readable);
    }
}
