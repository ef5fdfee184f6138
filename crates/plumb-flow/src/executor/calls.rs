//! Synchronous calls that wait for a thread.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::Outcome;
use crate::live::Version;
use plumb_queue::Message;

/// A call that somebody waits for.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) message: Message,
    /// The `traceparent` of whoever asked.
    pub(super) trace: Option<String>,
    pub(super) version: Arc<Version>,
    /// On the monotonic clock.
    pub(super) arrived_ns: u64,
    /// It found no thread free.
    pub(super) waits: bool,
    pub(super) reply: oneshot::Sender<Outcome>,
    /// The memory that is set aside for its document; none where nobody counts it.
    pub(super) memory: Option<OwnedSemaphorePermit>,
}

/// The answer to a call. Whoever drops it first gives the call up, which then waits no more.
#[derive(Debug)]
pub(crate) struct Reply {
    outcome: oneshot::Receiver<Outcome>,
    calls: Arc<Calls>,
    has_come: bool,
}

impl Reply {
    pub(super) fn new(outcome: oneshot::Receiver<Outcome>, calls: Arc<Calls>) -> Self {
        Self { outcome, calls, has_come: false }
    }

    /// How the call went; `None`: the executor closed before.
    pub(crate) async fn outcome(mut self) -> Option<Outcome> {
        let outcome = (&mut self.outcome).await;
        self.has_come = true;
        outcome.ok()
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.has_come {
            self.outcome.close();
            self.calls.drop_given_up();
        }
    }
}

/// What somebody waits for, or does not any more.
pub(super) trait Awaited {
    /// Nobody waits for its answer.
    fn is_given_up(&self) -> bool;
}

impl Awaited for Call {
    fn is_given_up(&self) -> bool {
        self.reply.is_closed()
    }
}

/// Calls in the order in which they came, up to a limit.
///
/// A thread is woken only for a processor that has nothing to compute: those that compute take the
/// calls that came meanwhile, which are then committed together, instead of one thread for each.
#[derive(Debug)]
pub(super) struct Calls<C = Call> {
    limit: usize,
    processors: usize,
    state: Mutex<State<C>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<C> {
    waiting: VecDeque<C>,
    closed: bool,
    /// Threads that wait for a call.
    idle: usize,
    /// Of them, those that have been woken and have not looked yet.
    woken: usize,
    /// Threads that compute and wait for nothing outside.
    computing: usize,
}

/// A thread that computes, until this is dropped. Then a thread that waits may have its processor.
#[derive(Debug)]
pub(super) struct Computing<C: Awaited = Call>(Arc<Calls<C>>);

impl<C: Awaited> Drop for Computing<C> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.computing -= 1;
        self.0.wake(&mut state);
    }
}

impl<C: Awaited> Calls<C> {
    /// For `limit` calls that wait, on a machine of so many processors.
    pub(super) fn new(limit: usize, processors: usize) -> Self {
        let waiting = VecDeque::new();
        let state = State { waiting, closed: false, idle: 0, woken: 0, computing: 0 };
        Self { limit, processors, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Puts `call` at the end; false when as many wait as may.
    pub(super) fn put(&self, call: C) -> bool {
        let mut state = self.lock();
        if state.closed || state.waiting.len() >= self.limit {
            return false;
        }
        state.waiting.push_back(call);
        self.wake(&mut state);
        true
    }

    /// Waits for the next call; `None` when there is none any more. Whoever does not wait for its
    /// answer any more is passed over.
    pub(super) fn take(self: &Arc<Self>) -> Option<(C, Computing<C>)> {
        let mut state = self.lock();
        loop {
            while let Some(call) = state.waiting.pop_front() {
                if !call.is_given_up() {
                    state.computing += 1;
                    self.wake(&mut state);
                    return Some((call, Computing(Arc::clone(self))));
                }
            }
            if state.closed {
                return None;
            }
            state.idle += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
            state.woken = state.woken.saturating_sub(1);
        }
    }

    /// Wakes a thread, if a call waits, and a processor has nothing to compute.
    fn wake(&self, state: &mut State<C>) {
        let computing = state.computing + state.woken;
        if !state.waiting.is_empty() && state.idle > state.woken && computing < self.processors {
            state.woken += 1;
            self.changed.notify_one();
        }
    }

    /// The next call, if there is one now and it `fits`.
    pub(super) fn take_if(&self, fits: impl Fn(&C) -> bool) -> Option<C> {
        let mut state = self.lock();
        while state.waiting.front().is_some_and(|call| call.is_given_up()) {
            state.waiting.pop_front();
        }
        if state.waiting.front().is_some_and(fits) { state.waiting.pop_front() } else { None }
    }

    /// Drops calls that nobody waits for: they keep their documents, and the place of others.
    fn drop_given_up(&self) {
        self.lock().waiting.retain(|call| !call.is_given_up());
    }

    /// Calls that wait.
    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// No more calls come.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    impl Awaited for u32 {
        fn is_given_up(&self) -> bool {
            *self == u32::MAX
        }
    }

    #[test]
    fn whoever_computes_leaves_the_others_asleep_until_it_waits() {
        let calls = Arc::new(Calls::new(8, 1));
        assert!(calls.put(1));
        let (first, computing) = calls.take().unwrap();
        assert_eq!(first, 1);
        thread::scope(|scope| {
            let other = scope.spawn(|| calls.take().map(|(call, _)| call));
            while calls.lock().idle == 0 {
                thread::yield_now();
            }
            assert!(calls.put(2) && calls.put(3));
            assert_eq!(calls.lock().woken, 0);
            assert_eq!(calls.take_if(|_| true), Some(2), "it is there for the one that computes");
            drop(computing);
            assert_eq!(other.join().unwrap(), Some(3));
        });
    }

    #[test]
    fn no_call_is_forgotten_however_many_threads_take_them() {
        for processors in [1, 2, 16] {
            let calls = Arc::new(Calls::new(usize::MAX, processors));
            let (done, seen) = mpsc::channel();
            thread::scope(|scope| {
                for _ in 0..8 {
                    let done = done.clone();
                    scope.spawn(|| {
                        let done = done;
                        while let Some((call, computing)) = calls.take() {
                            let more = calls.take_if(|call| call % 3 > 0);
                            drop(computing);
                            done.send(call).unwrap();
                            more.into_iter().for_each(|call| done.send(call).unwrap());
                        }
                    });
                }
                for call in 0..3_000 {
                    assert!(calls.put(call) && calls.put(u32::MAX));
                }
                let mut found: Vec<u32> = seen.iter().take(3_000).collect();
                calls.close();
                found.sort_unstable();
                assert!(found.into_iter().eq(0..3_000));
            });
        }
    }

    #[test]
    fn beyond_the_limit_and_behind_the_end_nothing_is_taken() {
        let calls = Arc::new(Calls::new(1, 1));
        assert!(calls.put(1) && !calls.put(2));
        calls.close();
        assert_eq!(calls.take().map(|(call, _)| call), Some(1));
        assert!(calls.take().is_none() && !calls.put(3));
    }
}
