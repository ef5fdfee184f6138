//! What the writer and everybody else share.

use std::sync::{Arc, Condvar, Mutex};

use rusqlite::Connection;

use super::super::cost::Cost;
use super::super::ids::Ids;
use super::super::intake::{Intake, lock};
use super::super::{QueueClock, QueueError, QueueId, QueueLimits};
use super::board::Board;
use super::group::Moment;

/// What the writer and everybody else share. Whoever takes more than one of the locks takes them in
/// this order.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) id: QueueId,
    /// For whoever looks.
    pub(super) viewer: Mutex<Connection>,
    pub(super) board: Mutex<Board>,
    /// Reads what is claimed; only under the lock of the board.
    pub(super) reader: Mutex<Connection>,
    pub(super) intake: Intake,
    pub(super) ids: Mutex<Ids>,
    pub(super) cost: Mutex<Cost>,
    /// There may be a message to be given out.
    pub(super) ready: Condvar,
    pub(super) clock: Arc<dyn QueueClock>,
    pub(super) limits: QueueLimits,
}

impl Shared {
    /// The time, and the room there is.
    pub(super) fn moment(&self) -> Moment {
        Moment {
            now_ms: self.clock.wall_ms(),
            window_ms: self.limits.idempotency.ns() / 1_000_000,
            room: lock(&self.intake.inbox).room(),
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
        // after such an error the writer is gone: nobody else is left to answer those that wait
        let writer_is_gone = matches!(why, QueueError::Store(_));
        self.intake.end(why, writer_is_gone);
    }
}
