//! Telling a loop to stop, so that it hears it while it waits.

use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{panic, thread};

use plumb_measure::{Clock as _, Span};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;

use crate::Error;
use crate::clock::{MonotonicClock, timespec};
use crate::interrupted::Interrupted;

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

    /// What `work` comes to, whose calls block without hearing of this. It has a thread of its own, which
    /// nobody waits for once somebody has asked.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when somebody asks first, [`Error::System`] without a thread.
    ///
    /// # Panics
    /// When `work` does.
    pub fn unless_asked<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        if self.asked() {
            return Err(Interrupted.into());
        }
        let begin = Error::system("start another thread");
        // its other end is closed when the work is over, however it ends
        let started = UnixStream::pair().and_then(|(over, ends)| {
            let work = move || {
                let _ends = ends;
                work()
            };
            Ok((over, thread::Builder::new().spawn(work)?))
        });
        let (over, working) = started.map_err(begin)?;
        self.wait_for(over.as_fd(), Span::from_ns(u64::MAX)).map_err(Error::system("wait"))?;
        // what has come meanwhile is taken all the same
        if self.asked() && !is_over(&over).map_err(Error::system("wait"))? {
            return Err(Interrupted.into());
        }
        Ok(working.join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
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

/// True once the other end of `socket`, over which nothing is sent, is closed.
fn is_over(socket: &UnixStream) -> io::Result<bool> {
    let mut events = [PollFd::new(socket, PollFlags::IN)];
    wait(&mut events, Span::from_ns(0))?;
    Ok(!events[0].revents().is_empty())
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
    fn work_that_hears_of_nothing_is_waited_for_until_somebody_asks() {
        let stop = Arc::new(Stop::new().unwrap());
        assert_eq!(stop.unless_asked(|| 7).unwrap(), 7);
        let (silent, _open) = UnixStream::pair().unwrap();
        let asks = Arc::clone(&stop);
        let read = stop.unless_asked(move || {
            asks.ask();
            io::Read::read(&mut &silent, &mut [0]) // for ever
        });
        let error = read.unwrap_err();
        assert!(Interrupted::is_behind(&error), "{error}");
        assert!(!Interrupted::is_behind(&Error::Plan("no plan".into())));
    }

    #[test]
    fn a_time_that_is_past_is_not_waited_for() {
        assert!(!Stop::new().unwrap().wait_until(0).unwrap());
    }
}
