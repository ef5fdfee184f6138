//! Where clients pause until all of them do, and somebody has looked at what happened meanwhile.

use std::sync::{Condvar, Mutex};

#[derive(Debug, Default)]
struct State {
    waiting: usize,
    round: u64,
    over: bool,
}

#[derive(Debug, Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    opens: Condvar,
}

impl Gate {
    /// Waits for the next round; false when there is none.
    pub(super) fn enter(&self) -> bool {
        let mut state = self.state.lock().expect("nobody panics with it");
        let round = state.round;
        state.waiting += 1;
        while state.round == round && !state.over {
            state = self.opens.wait(state).expect("nobody panics with it");
        }
        !state.over
    }

    pub(super) fn waiting(&self) -> usize {
        self.state.lock().expect("nobody panics with it").waiting
    }

    pub(super) fn open(&self) {
        let mut state = self.state.lock().expect("nobody panics with it");
        (state.round, state.waiting) = (state.round + 1, 0);
        self.opens.notify_all();
    }

    pub(super) fn end(&self) {
        self.state.lock().expect("nobody panics with it").over = true;
        self.opens.notify_all();
    }

    pub(super) fn is_over(&self) -> bool {
        self.state.lock().expect("nobody panics with it").over
    }
}
