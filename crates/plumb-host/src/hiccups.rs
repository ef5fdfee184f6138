//! Whether this process ran whenever its time had come.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plumb_engine::Stop;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_measure::Clock as _;

/// Time between two beats, nanoseconds.
const BEAT_NS: u64 = 50_000_000;
/// A beat that comes as late is a hiccup, nanoseconds.
const HICCUP_NS: u64 = 250_000_000;
/// The same where the kernel does not tell how long a thread waits for a processor.
const UNTOLD_NS: u64 = 1_000_000_000;
/// Hiccups that are kept, the last ones.
const KEPT_MAX: usize = 1_000;
/// How long it is waited for a beat that is overdue.
const OVERDUE_MAX: Duration = Duration::from_secs(5);
/// The kernel's account of the thread that reads it.
const ACCOUNT: &str = "/proc/thread-self/schedstat";

/// Notices when this process stood still: it was stopped, or its control group frozen, or its machine
/// suspended or paused. A thread that sleeps finds its beat late then. Waiting for a processor that others
/// have is no hiccup: it is taken off.
///
/// # Source
/// jHiccup, Gil Tene, <https://github.com/giltene/jHiccup>
#[derive(Debug)]
pub struct HiccupMeter {
    stop: Arc<Stop>,
    kept: Arc<Kept>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread that beats tells the others.
#[derive(Debug)]
struct Kept {
    beats: Mutex<Beats>,
    came: Condvar,
}

#[derive(Debug)]
struct Beats {
    last: Beat,
    /// The newest first.
    hiccups: VecDeque<Hiccup>,
}

/// A time in which this process stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hiccup {
    /// Its place on the monotonic clock, which does not count while a machine is suspended.
    from_ns: u64,
    to_ns: u64,
    /// Its length, a suspension included.
    length_ns: u64,
}

/// What the clocks say at a beat.
#[derive(Clone, Copy, Debug)]
struct Beat {
    monotonic_ns: u64,
    /// By the clock that goes on while the machine is suspended.
    boot_ns: u64,
    /// How long the thread has waited for a processor; `None` where the kernel does not tell.
    waited_ns: Option<u64>,
}

impl HiccupMeter {
    /// Begins to beat.
    ///
    /// # Errors
    /// When there is no thread or descriptor left.
    pub fn start() -> io::Result<Self> {
        let stop = Arc::new(Stop::new()?);
        let beats = Mutex::new(Beats { last: Beat::now(None), hiccups: VecDeque::new() });
        let kept = Arc::new(Kept { beats, came: Condvar::new() });
        let (until, told) = (stop.clone(), kept.clone());
        let beats = move || beat(&until, &told);
        let thread = thread::Builder::new().name("plumb-beat".into()).spawn(beats)?;
        Ok(Self { stop, kept, thread: Some(thread) })
    }

    /// How long this process stood still, each time, between two moments of the monotonic clock;
    /// nanoseconds. Whoever goes on first behind such a time asks before the beat has come that tells of it: one
    /// that is overdue is waited for.
    #[must_use]
    pub fn between(&self, from_ns: u64, to_ns: u64) -> Vec<u64> {
        let is_overdue = |beats: &mut Beats| {
            clock::boot_ns().saturating_sub(beats.last.boot_ns) >= BEAT_NS + HICCUP_NS
        };
        let beats = self.kept.lock();
        let waited = self.kept.came.wait_timeout_while(beats, OVERDUE_MAX, is_overdue);
        let (beats, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let within = beats.hiccups.iter().filter(|it| it.from_ns < to_ns && it.to_ns > from_ns);
        within.map(|it| it.length_ns).collect()
    }
}

impl Drop for HiccupMeter {
    fn drop(&mut self) {
        self.stop.ask();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // it has nothing to say
        }
    }
}

impl Kept {
    fn lock(&self) -> MutexGuard<'_, Beats> {
        self.beats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Beats until somebody asks it to stop.
fn beat(stop: &Stop, kept: &Kept) {
    let account = File::open(ACCOUNT).ok();
    let mut next_ns = MonotonicClock.now_ns() + BEAT_NS;
    while let Ok(false) = stop.wait_until(next_ns) {
        let now = Beat::now(account.as_ref());
        let mut beats = kept.lock();
        if let Some(hiccup) = now.hiccup_since(beats.last) {
            beats.hiccups.truncate(KEPT_MAX - 1);
            beats.hiccups.push_front(hiccup);
        }
        beats.last = now;
        drop(beats);
        kept.came.notify_all();
        next_ns = now.monotonic_ns + BEAT_NS;
    }
}

impl Beat {
    fn now(account: Option<&File>) -> Self {
        Self {
            monotonic_ns: MonotonicClock.now_ns(),
            boot_ns: clock::boot_ns(),
            waited_ns: account.and_then(waited_ns),
        }
    }

    /// The hiccup that made this beat late, if there was one behind the `last`.
    fn hiccup_since(self, last: Self) -> Option<Hiccup> {
        let passed_ns = self.boot_ns.saturating_sub(last.boot_ns);
        let late_ns = passed_ns.saturating_sub(BEAT_NS);
        let both = self.waited_ns.zip(last.waited_ns);
        let waited_ns = both.map(|(now, before)| now.saturating_sub(before));
        let length_ns = late_ns.saturating_sub(waited_ns.unwrap_or(0));
        let least_ns = if waited_ns.is_some() { HICCUP_NS } else { UNTOLD_NS };
        let (from_ns, to_ns) = (last.monotonic_ns, self.monotonic_ns);
        (length_ns >= least_ns).then_some(Hiccup { from_ns, to_ns, length_ns })
    }
}

/// How long the thread of `account` has waited for a processor.
fn waited_ns(account: &File) -> Option<u64> {
    let mut text = [0; 64];
    let read = account.read_at(&mut text, 0).ok()?;
    waited_in(std::str::from_utf8(&text[..read]).ok()?)
}

/// The second number of an account. The third says how often the thread was given a processor: of a thread that
/// runs it is 0 where the kernel keeps no such account, and then the second says nothing.
///
/// # Source
/// Linux, `fs/proc/base.c`, `proc_pid_schedstat`
fn waited_in(account: &str) -> Option<u64> {
    let mut numbers = account.split_whitespace().skip(1).map(|it| it.parse().ok());
    let (waited_ns, times) = (numbers.next()??, numbers.next()??);
    (times > 0).then_some(waited_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(monotonic_ms: u64, boot_ms: u64, waited_ms: Option<u64>) -> Beat {
        let waited_ns = waited_ms.map(|ms| ms * MS);
        Beat { monotonic_ns: monotonic_ms * MS, boot_ns: boot_ms * MS, waited_ns }
    }

    #[test]
    fn a_process_that_was_stopped_has_stood_still_and_one_without_a_processor_has_not() {
        let last = at(1_000, 9_000, Some(7));
        assert_eq!(at(1_051, 9_051, Some(8)).hiccup_since(last), None);
        let stopped = at(2_550, 10_550, Some(7)).hiccup_since(last).unwrap();
        let expected = Hiccup { from_ns: 1_000 * MS, to_ns: 2_550 * MS, length_ns: 1_500 * MS };
        assert_eq!(stopped, expected);
        assert_eq!(at(2_550, 10_550, Some(1_500)).hiccup_since(last), None, "others had it");
    }

    #[test]
    fn a_machine_that_slept_shows_by_the_clock_that_went_on() {
        let slept = at(1_050, 3_609_050, Some(7)).hiccup_since(at(1_000, 9_000, Some(7))).unwrap();
        assert_eq!(slept.length_ns, 3_600_000 * MS);
    }

    #[test]
    fn where_waiting_is_not_told_only_what_is_long_is_believed() {
        let last = at(0, 0, None);
        assert_eq!(at(900, 900, None).hiccup_since(last), None);
        assert!(at(1_100, 1_100, None).hiccup_since(last).is_some());
    }

    #[test]
    fn hiccups_are_those_of_the_time_that_is_asked_for() {
        let meter = HiccupMeter::start().unwrap();
        let one = Hiccup { from_ns: 100, to_ns: 200, length_ns: 70 };
        meter.kept.lock().hiccups.push_front(one);
        assert_eq!(meter.between(150, 160), [70]);
        assert_eq!(meter.between(0, 100), [0; 0]);
        assert_eq!(meter.between(200, 300), [0; 0]);
    }

    #[test]
    fn a_beat_that_is_overdue_is_waited_for() {
        let meter = HiccupMeter::start().unwrap();
        let mut beats = meter.kept.lock();
        beats.last.boot_ns = beats.last.boot_ns.saturating_sub(100 * UNTOLD_NS);
        drop(beats);
        let stood = meter.between(0, u64::MAX);
        assert!(stood.iter().any(|ns| *ns > 50 * UNTOLD_NS), "{stood:?}");
    }

    #[test]
    fn an_account_that_the_kernel_does_not_keep_says_nothing() {
        assert_eq!(waited_in("4112 77 3\n"), Some(77));
        for nothing in ["0 0 0\n", "4112 77", "", "4112 x 3"] {
            assert_eq!(waited_in(nothing), None, "{nothing:?}");
        }
    }
}
