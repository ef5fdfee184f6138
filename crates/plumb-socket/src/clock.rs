//! The one place that reads time, and sets timers of the kernel.

use std::io;
use std::os::fd::OwnedFd;

use plumb_measure::Clock;
use rustix::time::{
    ClockId, Itimerspec, TimerfdTimerFlags, Timespec, clock_gettime, timerfd_settime,
};

/// Nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        nanoseconds(clock_gettime(ClockId::Monotonic))
    }
}

/// Nanoseconds of `CLOCK_BOOTTIME`: as the monotonic clock, with the time in which the machine was suspended.
#[must_use]
pub fn boot_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Boottime))
}

/// A seed for whoever names none: of the wall clock as much as every reader of JSON keeps exact,
/// below 2^53.
#[must_use]
pub fn seed() -> u64 {
    wall_ns() & ((1 << 53) - 1)
}

/// Nanoseconds since 1970-01-01T00:00:00Z by the wall clock, which may be set while we run: for
/// time stamps, never for durations.
#[must_use]
pub fn wall_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Realtime))
}

/// One moment by both clocks, nanoseconds: the monotonic one and the wall clock. Whoever is
/// interrupted between two readings would take them for one moment; of several pairs of readings
/// this is the one that took the least time.
#[must_use]
pub fn both_ns() -> (u64, u64) {
    const TRIES: u32 = 5;
    let reading = || {
        let before = MonotonicClock.now_ns();
        let wall = wall_ns();
        let took = MonotonicClock.now_ns() - before;
        (took, before + took / 2, wall)
    };
    let best = (1..TRIES).fold(reading(), |best, _| best.min(reading()));
    (best.1, best.2)
}

/// The wall clock as RFC 3339 in UTC, to the second.
#[must_use]
pub fn utc(wall_ns: u64) -> String {
    let seconds = i64::try_from(wall_ns / 1_000_000_000).unwrap_or(0);
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

/// The wall clock as RFC 3339 in UTC, to the millisecond: `2011-03-20T15:13:33.999Z`.
#[must_use]
pub fn utc_ms(wall_ns: u64) -> String {
    let milliseconds = i64::try_from(wall_ns / 1_000_000).unwrap_or(0);
    let time = jiff::Timestamp::from_millisecond(milliseconds).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// The wall clock as the `ctime` of C prints it, in local time: `Sun Mar 20 15:13:33 2011`.
#[must_use]
pub fn ctime(wall_ns: u64) -> String {
    let seconds = i64::try_from(wall_ns / 1_000_000_000).unwrap_or(0);
    let local = jiff::Timestamp::from_second(seconds)
        .unwrap_or_default()
        .to_zoned(jiff::tz::TimeZone::system());
    local.strftime("%a %b %e %H:%M:%S %Y").to_string()
}

/// Processor time of the calling thread, nanoseconds.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// Processor time of this process, all its threads together, nanoseconds.
#[must_use]
pub fn process_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

/// What one reading of the clock costs, nanoseconds: the mean of 10,000.
#[must_use]
pub fn read_cost_ns(clock: &impl Clock) -> u64 {
    const READS: u64 = 10_000;
    let start = clock.now_ns();
    (1..READS).for_each(|_| {
        std::hint::black_box(clock.now_ns());
    });
    (clock.now_ns() - start) / READS
}

#[expect(clippy::cast_sign_loss, reason = "these clocks count up from zero")]
#[inline]
fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_never_goes_back() {
        let clock = MonotonicClock;
        let first = clock.now_ns();
        assert!(clock.now_ns() >= first);
    }

    #[test]
    fn the_wall_clock_is_written_for_machines_and_for_people() {
        assert_eq!(utc(1_300_634_013_999_000_000), "2011-03-20T15:13:33Z");
        assert_eq!(utc_ms(1_300_634_013_999_000_000), "2011-03-20T15:13:33.999Z");
        assert_eq!(utc_ms(1_300_634_013_000_999_999), "2011-03-20T15:13:33.000Z");
        let text = ctime(1_300_634_013_000_000_000);
        assert!(text.starts_with("Sun Mar 20 ") && text.ends_with(":13:33 2011"), "{text}");
    }
}
