//! Times as the kernel takes them, and timers that are set to one.

use std::io;
use std::os::fd::OwnedFd;

use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};

/// Lets `timer` go off once, at nanoseconds of the monotonic clock.
pub(crate) fn set_timer(timer: &OwnedFd, at_ns: u64) -> io::Result<()> {
    let time = Itimerspec { it_interval: timespec(0), it_value: timespec(at_ns) };
    timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &time)?;
    Ok(())
}

/// A span of `ns` nanoseconds.
pub(crate) fn timespec(ns: u64) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(ns % 1_000_000_000).unwrap_or(0),
    }
}
