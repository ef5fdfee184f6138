//! Telling a loop to stop, so that it hears it while it waits.

use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use plumb_measure::{Clock as _, Span};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;

use crate::clock::{MonotonicClock, timespec};

/// A request to stop. Every loop that waits is woken by it, and stays awake.
#[derive(Debug)]
pub struct Stop {
    asked: Arc<AtomicBool>,
    /// Readable from the moment on at which somebody asks; never read.
    woken: UnixStream,
    waker: UnixStream,
}

impl Stop {
    /// Nobody has asked yet.
    ///
    /// # Errors
    /// When no descriptors are left.
    pub fn new() -> io::Result<Self> {
        let (woken, waker) = UnixStream::pair()?;
        waker.set_nonblocking(true)?;
        Ok(Self { asked: Arc::default(), woken, waker })
    }

    /// Asks every loop to stop.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
        // a pipe that is full has woken everybody already
        let _ = (&self.waker).write(b"x");
    }

    /// True once somebody has asked.
    #[must_use]
    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Waits until somebody asks, or until `deadline_ns` on the monotonic clock; true when somebody
    /// has asked. For whoever does something at times of its own and has no sockets to wait for.
    ///
    /// # Errors
    /// When the kernel refuses to wait.
    pub fn wait_until(&self, deadline_ns: u64) -> io::Result<bool> {
        loop {
            if self.asked() {
                return Ok(true);
            }
            let left_ns = deadline_ns.saturating_sub(MonotonicClock.now_ns());
            if left_ns == 0 {
                return Ok(false);
            }
            wait_for([self.socket()], Span::from_ns(left_ns))?;
        }
    }

    /// The flag behind [`asked`](Self::asked), for a signal handler: set it, then write a byte to
    /// the [`waker`](Self::waker).
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.asked)
    }

    /// What a signal handler writes to, to wake the loops.
    ///
    /// # Errors
    /// When no descriptors are left.
    pub fn waker(&self) -> io::Result<UnixStream> {
        self.waker.try_clone()
    }

    /// Waits until `event` is readable, for at most `time`, or until somebody asks.
    ///
    /// # Errors
    /// When the kernel refuses to wait.
    pub fn wait_for(&self, event: BorrowedFd<'_>, time: Span) -> io::Result<()> {
        wait_for([self.socket(), event], time)
    }

    /// The same for any of `events`.
    ///
    /// # Errors
    /// When the kernel refuses to wait.
    pub fn wait_for_any(&self, events: &[BorrowedFd<'_>], time: Span) -> io::Result<()> {
        let all = events.iter().copied().chain([self.socket()]);
        let of = |event| PollFd::from_borrowed_fd(event, PollFlags::IN);
        wait(&mut all.map(of).collect::<Vec<_>>(), time)
    }

    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }
}

/// Waits until one of `events` is readable, for at most `time`.
///
/// # Errors
/// When the kernel refuses to wait.
pub fn wait_for<const N: usize>(events: [BorrowedFd<'_>; N], time: Span) -> io::Result<()> {
    wait(&mut events.map(|event| PollFd::from_borrowed_fd(event, PollFlags::IN)), time)
}

fn wait(events: &mut [PollFd<'_>], time: Span) -> io::Result<()> {
    let limit = timespec(time.ns());
    retry_on_intr(|| poll(events, Some(&limit)))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll::Poll;

    #[test]
    fn a_request_wakes_whoever_waits_then_or_later() {
        let stop = Stop::new().unwrap();
        let mut poll = Poll::new(&stop, plumb_measure::Tick::Free).unwrap();
        stop.ask();
        assert!(stop.asked());
        poll.wait(None).unwrap(); // returns
        poll.wait(None).unwrap(); // and again
        assert!(stop.wait_until(u64::MAX).unwrap());
    }

    #[test]
    fn a_time_that_is_past_is_not_waited_for() {
        assert!(!Stop::new().unwrap().wait_until(0).unwrap());
    }
}
