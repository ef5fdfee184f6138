//! A timer of the kernel's own resolution: that of the runtime counts whole milliseconds.

use std::io;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;

/// Wakes its owner at a moment.
#[derive(Debug)]
pub(crate) struct Alarm {
    /// A timer is read as a pipe is: eight bytes, once it has expired.
    timer: Receiver,
}

impl Alarm {
    /// An alarm that is not set. Made within the runtime.
    ///
    /// # Errors
    /// When no descriptors are left.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self { timer: Receiver::from_owned_fd_unchecked(timer)? })
    }

    /// Waits until `moment_ns` on the monotonic clock; a moment that is past is not waited for.
    ///
    /// # Errors
    /// When the kernel refuses to wait.
    pub(crate) async fn wait_until(&mut self, moment_ns: u64) -> io::Result<()> {
        if moment_ns <= MonotonicClock.now_ns() {
            return Ok(());
        }
        let once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let setting = Itimerspec { it_interval: once, it_value: timespec(moment_ns) };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &setting)?;
        let mut expirations = [0; 8];
        self.timer.read_exact(&mut expirations).await?;
        Ok(())
    }
}

fn timespec(ns: u64) -> Timespec {
    const SECOND: u64 = 1_000_000_000;
    Timespec {
        tv_sec: i64::try_from(ns / SECOND).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(ns % SECOND).unwrap_or(0),
    }
}
