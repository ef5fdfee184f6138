//! Waits that keep the processor's tick, for whoever asks for them.
//!
//! A processor without work puts off its tick, and takes it up again as soon as it is woken. In a
//! virtual machine each of these is a write to a timer that the hypervisor must emulate, charged to
//! whoever waits and part of every time that is measured. While some timer is to go off before the
//! tick, the kernel has nothing to write. An ordinary program sets no such timer: what is measured
//! with one is a floor, not what an ordinary program meets.

use std::io;
use std::os::fd::OwnedFd;

use plumb_measure::Tick;
use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};

use crate::clock::set_timer;

/// How far ahead the timer is set: well below the 4 ms of a tick at 250 Hz. Where the tick comes a
/// thousand times a second, it is often the earlier of the two.
const AHEAD_NS: u64 = 1_000_000;

/// What a server that holds the tick says when it starts.
pub const HELD_TICK: &str = "holds the processor's tick while it waits (--hold-tick): its clients \
    measure a floor, not what an ordinary server would give";

/// A timer that nobody waits for. It is set at most once a wait, so that whoever waits for long
/// pays for one expiry.
#[derive(Debug)]
pub struct HeldTick {
    timer: OwnedFd,
    until: u64,
}

impl HeldTick {
    /// A timer that is not set.
    ///
    /// # Errors
    /// When no descriptors are left.
    pub fn new() -> io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        Ok(Self { timer, until: 0 })
    }

    /// The timer where `tick` is to be held, and none where it is left alone.
    ///
    /// # Errors
    /// When no descriptors are left.
    pub fn of(tick: Tick) -> io::Result<Option<Self>> {
        match tick {
            Tick::Free => Ok(None),
            Tick::Held => Self::new().map(Some),
        }
    }

    /// Call before a wait that may be short, with the nanoseconds of the monotonic clock.
    #[inline]
    pub fn hold(&mut self, now: u64) {
        if self.until < now + AHEAD_NS / 2 {
            self.until = now + AHEAD_NS;
            // without it a wait costs more, and that is all
            let _ = set_timer(&self.timer, self.until);
        }
    }
}

#[cfg(test)]
mod tests {
    use plumb_measure::Clock as _;
    use rustix::time::timerfd_gettime;

    use super::*;
    use crate::clock::MonotonicClock;

    fn is_set(tick: &HeldTick) -> bool {
        let left = timerfd_gettime(&tick.timer).unwrap().it_value;
        (left.tv_sec, left.tv_nsec) != (0, 0)
    }

    #[test]
    fn the_timer_is_set_before_a_wait_and_not_again_before_each() {
        let mut tick = HeldTick::new().unwrap();
        assert!(!is_set(&tick));
        // a day ahead, so that nothing goes off while this test is held up
        let now = MonotonicClock.now_ns() + 86_400_000_000_000;
        tick.hold(now);
        assert!(is_set(&tick));
        assert_eq!(tick.until, now + AHEAD_NS);
        tick.hold(now + AHEAD_NS / 2);
        assert_eq!(tick.until, now + AHEAD_NS, "set again too early");
        tick.hold(now + AHEAD_NS / 2 + 1);
        assert_eq!(tick.until, now + AHEAD_NS / 2 + 1 + AHEAD_NS);
    }

    #[test]
    fn a_tick_that_is_left_alone_has_no_timer() {
        assert!(HeldTick::of(Tick::Free).unwrap().is_none());
        assert!(HeldTick::of(Tick::Held).unwrap().is_some());
    }
}
