//! What the writer and everybody else share.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use super::super::cost::Cost;
use super::super::ids::Ids;
use super::super::inbox::{Group, Inbox};
use super::super::{QueueClock, QueueError, QueueLimits};
use super::board::Board;
use super::group::Moment;

/// What the writer and everybody else share. Whoever takes more than one of the locks takes them in
/// this order.
#[derive(Debug)]
pub(super) struct Shared {
    /// For whoever looks.
    pub(super) viewer: Mutex<Connection>,
    pub(super) board: Mutex<Board>,
    /// Reads what is claimed; only under the lock of the board.
    pub(super) reader: Mutex<Connection>,
    pub(super) inbox: Mutex<Inbox>,
    pub(super) ids: Mutex<Ids>,
    pub(super) cost: Mutex<Cost>,
    /// There may be a message to be given out.
    pub(super) ready: Condvar,
    /// There is something to be written.
    pub(super) work: Condvar,
    pub(super) clock: Arc<dyn QueueClock>,
    pub(super) limits: QueueLimits,
}

impl Shared {
    /// What is to be written next, waited for as long as `patience`; and whether more may come.
    pub(super) fn next_group(&self, patience: Duration) -> (Group, bool) {
        let inbox = lock(&self.inbox);
        let waits = |inbox: &mut Inbox| inbox.is_empty() && !inbox.has_ended();
        let waited = self.work.wait_timeout_while(inbox, patience, waits);
        let (mut inbox, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (inbox.take(), !inbox.has_ended())
    }

    /// The time, and the room there is.
    pub(super) fn moment(&self) -> Moment {
        Moment {
            now_ms: self.clock.wall_ms(),
            window_ms: self.limits.idempotency.ns() / 1_000_000,
            room: lock(&self.inbox).room(),
        }
    }

    /// Has whoever waits for a message look again: one when there is something to be given out, who
    /// wakes the next while there is more; all when they have to wait for another time.
    pub(super) fn wake(&self, board: &Board, all: bool) {
        if board.waiters == 0 {
            return;
        }
        if all {
            self.ready.notify_all();
            return;
        }
        let (now_ms, now_ns) = (self.clock.wall_ms(), self.clock.now_ns());
        if board.turn(now_ms, now_ns, self.limits.given_out_per_transaction).is_some() {
            self.ready.notify_one();
        }
    }

    /// Takes and gives nothing any more.
    pub(super) fn end(&self, why: QueueError) {
        let mut board = lock(&self.board);
        board.ended.get_or_insert(why.clone());
        self.ready.notify_all();
        drop(board);
        let mut inbox = lock(&self.inbox);
        let broken = matches!(why, QueueError::Store(_));
        inbox.end(why);
        // the writer is gone: nobody is left to answer those
        while broken && !inbox.is_empty() {
            let group = inbox.take();
            for accept in group.accepts {
                let text = "its writer has ended".into();
                let _ = accept.answer.send(Err(QueueError::Store(text)));
            }
        }
        drop(inbox);
        self.work.notify_all();
    }
}

/// A lock is never held where something may panic but for a bug, after which what it holds is as
/// good as before.
pub(super) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
