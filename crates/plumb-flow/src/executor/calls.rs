//! Synchronous calls that wait for a thread.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::Outcome;
use crate::live::Version;
use plumb_queue::Message;

/// A call that somebody waits for.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) message: Message,
    pub(super) version: Arc<Version>,
    /// On the monotonic clock.
    pub(super) arrived_ns: u64,
    /// It found no thread free.
    pub(super) waits: bool,
    pub(super) reply: oneshot::Sender<Outcome>,
}

/// Calls in the order in which they came, up to a limit.
#[derive(Debug)]
pub(super) struct Calls {
    limit: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Call>,
    closed: bool,
}

impl Calls {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Puts `call` at the end; false when as many wait as may.
    pub(super) fn put(&self, call: Call) -> bool {
        let mut state = self.lock();
        if state.closed || state.waiting.len() >= self.limit {
            return false;
        }
        state.waiting.push_back(call);
        drop(state);
        self.changed.notify_one();
        true
    }

    /// Waits for the next call; `None` when there is none any more. Whoever does not wait for its
    /// answer any more is passed over.
    pub(super) fn take(&self) -> Option<Call> {
        let mut state = self.lock();
        loop {
            while let Some(call) = state.waiting.pop_front() {
                if !call.reply.is_closed() {
                    return Some(call);
                }
            }
            if state.closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
