//! Time held still: a loop runs under it as fast as it can, on one thread with the peers that a test
//! plays.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::{fmt, io};

use plumb_measure::Clock;

use crate::poll::{Poll, Time};

/// A clock that moves only when everybody waits: then by as much as the first of them waits for.
#[derive(Clone)]
pub struct HeldTime {
    now: Rc<Cell<u64>>,
    /// Plays the other side; says when it wants to be called next.
    peer: Rc<RefCell<dyn FnMut(u64) -> Option<u64>>>,
}

impl fmt::Debug for HeldTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HeldTime").field(&self.now.get()).finish()
    }
}

impl HeldTime {
    /// Time with a peer, which is called with the moment and says when it wants to be called next.
    pub fn with(peer: impl FnMut(u64) -> Option<u64> + 'static) -> Self {
        Self { now: Rc::new(Cell::new(1_000_000_000)), peer: Rc::new(RefCell::new(peer)) }
    }

    /// The moment, nanoseconds.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now.get()
    }
}

impl Clock for HeldTime {
    fn now_ns(&self) -> u64 {
        self.now.get()
    }
}

impl Time for HeldTime {
    fn wait(&mut self, poll: &mut Poll, _: u64, deadline: Option<u64>) -> io::Result<()> {
        let wants = (self.peer.borrow_mut())(self.now.get());
        poll.look()?;
        let now = self.now.get();
        if poll.found() == 0 && deadline.is_none_or(|at| at > now) {
            let next = [wants, deadline].into_iter().flatten().filter(|at| *at > now).min();
            let Some(next) = next else {
                return Err(io::Error::other(
                    "a loop that waits for ever under a clock held still",
                ));
            };
            self.now.set(next);
            (self.peer.borrow_mut())(self.now.get());
            poll.look()?;
        }
        Ok(())
    }
}
