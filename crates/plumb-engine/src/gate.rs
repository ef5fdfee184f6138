//! When a load begins: its threads together, once all their connections stand and, where somebody
//! outside has a say, once that gate is open.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use plumb_measure::Clock as _;
use plumb_socket::Stop;

use crate::EngineError;
use crate::clock::{self, MonotonicClock};

/// How often a load that waits outside of this engine's loop looks whether its gate is decided,
/// nanoseconds.
const LOOK_EVERY_NS: u64 = 1_000_000;

/// A load waits at its gate with all its connections until somebody outside opens it, so that many
/// loads, on many machines, begin at one moment. What was decided first stands.
#[derive(Debug, Default)]
pub struct Gate {
    /// When it opens, on the monotonic clock, or why it never will.
    decided: OnceLock<Result<u64, String>>,
    waited_for: AtomicBool,
    /// When the last thread went through, on the monotonic clock; 0 as long as none has.
    passed_ns: AtomicU64,
    /// Whoever waits until the load does is woken through these.
    looking: Mutex<()>,
    arrived: Condvar,
}

impl Gate {
    /// A gate that is closed.
    #[must_use]
    pub fn closed() -> Self {
        Self::default()
    }

    /// Opens it at `at_ns` on the monotonic clock, or at once when that is past. False when it was
    /// decided before.
    pub fn open_at(&self, at_ns: u64) -> bool {
        self.decided.set(Ok(at_ns)).is_ok()
    }

    /// Opens it at `wall_ns`, nanoseconds since 1970-01-01T00:00:00Z, as the wall clock stands now:
    /// whoever sets it meanwhile moves nothing. False when it was decided before.
    pub fn open_at_wall(&self, wall_ns: u64) -> bool {
        let (now, wall) = clock::both_ns();
        self.open_at(now.saturating_add(wall_ns).saturating_sub(wall))
    }

    /// Sends everybody home, because of `cause`: there is no load, and no record. False when it was
    /// decided before.
    pub fn fail(&self, cause: impl Into<String>) -> bool {
        self.decided.set(Err(cause.into())).is_ok()
    }

    /// True once every connection of the load stands.
    #[must_use]
    pub fn is_waited_for(&self) -> bool {
        self.waited_for.load(Ordering::Acquire)
    }

    /// When the last thread went through, on the monotonic clock: later than it was opened by what
    /// this machine took to wake it. `None` as long as none has.
    #[must_use]
    pub fn passed_ns(&self) -> Option<u64> {
        Some(self.passed_ns.load(Ordering::Acquire)).filter(|passed_ns| *passed_ns > 0)
    }

    /// Waits until every connection of the load stands, for `patience` at most; true when they do.
    pub fn until_waited_for(&self, patience: Duration) -> bool {
        let looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = |(): &mut ()| !self.is_waited_for();
        drop(self.arrived.wait_timeout_while(looking, patience, missing));
        self.is_waited_for()
    }

    /// Waits until it is open, for a load whose loop is not this engine's and whose connections all
    /// stand: the moment at which it began.
    ///
    /// # Errors
    /// [`EngineError::NotStarted`] when it never opens, or `stop` is asked before.
    pub fn pass(&self, stop: &Stop) -> Result<u64, EngineError> {
        self.arrive();
        let not_started = |cause: String| EngineError::NotStarted { cause };
        loop {
            let now = MonotonicClock.now_ns();
            let look_ns = match self.decided.get() {
                Some(Ok(opens)) if now >= *opens => {
                    self.passed_ns.fetch_max(now, Ordering::AcqRel);
                    return Ok(*opens);
                }
                Some(Err(cause)) => return Err(not_started(cause.clone())),
                Some(Ok(opens)) => *opens,
                None => now + LOOK_EVERY_NS,
            };
            match stop.wait_until(look_ns) {
                Ok(true) => return Err(not_started("it was stopped before it began".into())),
                Ok(false) => {}
                Err(error) => return Err(not_started(error.to_string())),
            }
        }
    }

    /// A load with all its connections is here.
    fn arrive(&self) {
        if !self.waited_for.swap(true, Ordering::AcqRel) {
            drop(self.looking.lock().unwrap_or_else(PoisonError::into_inner));
            self.arrived.notify_all();
        }
    }
}

/// Where the threads of a load wait for each other without blocking.
#[derive(Debug)]
pub(crate) struct StartLine<'a> {
    missing: AtomicUsize,
    /// The moment at which the first saw that everybody was there.
    complete: OnceLock<u64>,
    gate: Option<&'a Gate>,
    aborted: AtomicBool,
}

impl<'a> StartLine<'a> {
    /// A line for so many `threads`, behind `gate`; without one they begin once all are there.
    pub(crate) fn new(threads: usize, gate: Option<&'a Gate>) -> Self {
        Self {
            missing: AtomicUsize::new(threads),
            complete: OnceLock::new(),
            gate,
            aborted: AtomicBool::new(false),
        }
    }

    /// True when somebody outside says when it begins.
    pub(crate) fn is_gated(&self) -> bool {
        self.gate.is_some()
    }

    /// One thread more is ready. Called once by each.
    pub(crate) fn arrive(&self) {
        self.missing.fetch_sub(1, Ordering::AcqRel);
    }

    /// The common start, once everybody has arrived and the gate is open: the moment at which the
    /// last of both was so, the same for all who ask.
    pub(crate) fn start(&self, now: u64) -> Option<u64> {
        let complete = self.complete(now)?;
        let Some(gate) = self.gate else { return Some(complete) };
        gate.arrive();
        let opens = self.opens_at().filter(|opens| now >= *opens)?;
        gate.passed_ns.fetch_max(now, Ordering::AcqRel);
        Some(opens.max(complete))
    }

    /// When the gate opens; `None` without one, and as long as it is not decided.
    pub(crate) fn opens_at(&self) -> Option<u64> {
        self.gate?.decided.get()?.as_ref().ok().copied()
    }

    /// Why the gate never opens.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.gate?.decided.get()?.as_ref().err().map(String::as_str)
    }

    /// Sends everybody home: a thread could not make its connections.
    pub(crate) fn abort(&self) {
        self.aborted.store(true, Ordering::Relaxed);
    }

    /// True when nobody is to begin or go on.
    pub(crate) fn given_up(&self) -> bool {
        self.aborted.load(Ordering::Relaxed) || self.failure().is_some()
    }

    fn complete(&self, now: u64) -> Option<u64> {
        (self.missing.load(Ordering::Acquire) == 0).then(|| *self.complete.get_or_init(|| now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_starts_at_the_same_moment_once_all_are_there() {
        let line = StartLine::new(2, None);
        line.arrive();
        assert_eq!(line.start(5), None);
        line.arrive();
        assert_eq!(line.start(7), Some(7));
        assert_eq!(line.start(9), Some(7));
    }

    #[test]
    fn a_gate_holds_those_who_are_there_until_the_time_it_was_opened_for() {
        let gate = Gate::closed();
        assert!(!gate.until_waited_for(Duration::ZERO));
        let line = StartLine::new(1, Some(&gate));
        assert_eq!((line.start(5), gate.is_waited_for()), (None, false));
        line.arrive();
        assert_eq!((line.start(6), gate.is_waited_for()), (None, true));
        assert!(gate.open_at(100));
        assert_eq!(line.opens_at(), Some(100));
        assert_eq!(line.start(99), None);
        assert_eq!(gate.passed_ns(), None);
        assert_eq!(line.start(103), Some(100), "whoever looks later begins at the same moment");
        assert_eq!(gate.passed_ns(), Some(103), "but is as late as it is");
        assert!(!gate.open_at(7) && !gate.fail("too late"), "what was decided first stands");
        assert!(!line.given_up());
    }

    #[test]
    fn who_comes_after_the_gate_was_opened_begins_at_once() {
        let gate = Gate::closed();
        let line = StartLine::new(1, Some(&gate));
        gate.open_at(100);
        assert_eq!(line.start(200), None);
        line.arrive();
        assert_eq!(line.start(205), Some(205));
        assert_eq!(line.start(210), Some(205));
    }

    #[test]
    fn behind_a_gate_that_failed_nobody_begins() {
        let gate = Gate::closed();
        let line = StartLine::new(1, Some(&gate));
        line.arrive();
        assert!(gate.fail("the controller is gone"));
        assert_eq!((line.start(5), line.failure()), (None, Some("the controller is gone")));
        assert!(line.given_up() && !gate.open_at(5));
    }

    #[test]
    fn a_time_of_the_wall_clock_is_one_of_the_monotonic_clock() {
        let gate = Gate::closed();
        let line = StartLine::new(1, Some(&gate));
        line.arrive();
        gate.open_at_wall(0); // long past
        assert!(line.start(MonotonicClock.now_ns()).is_some());
        let later = Gate::closed();
        later.open_at_wall(u64::MAX / 2);
        let line = StartLine::new(1, Some(&later));
        line.arrive();
        assert_eq!(line.start(MonotonicClock.now_ns()), None);
    }
}
