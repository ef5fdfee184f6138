//! One transaction of the disk: what a group asks for, and what has changed when it is done.

use std::sync::Arc;

use super::super::inbox::{Accept, Change};
use super::super::{Accepted, ExecutionId};
use super::asked::{Asked, AskedFor, Slice, Table};
use super::board::{Board, Move};
use super::records::{Moved, Records};

/// What is to be written, beside what was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) now_ms: u64,
    /// How long idempotency keys are remembered at least.
    pub(super) window_ms: u64,
    /// Messages for which there is room.
    pub(super) room: u64,
}

/// What has changed once the transaction is on disk.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// In the order of the accepts.
    pub(super) accepted: Vec<Accepted>,
    pub(super) moves: Vec<Move>,
    /// What was done of what somebody asked for.
    pub(super) slice: Slice,
    /// Messages that wait or run no longer, and their bytes.
    pub(super) left: (u64, u64),
    /// Messages that wait again, and their bytes.
    pub(super) entered: (u64, u64),
    /// More dead messages, or fewer.
    pub(super) dead: i64,
    /// Those that were accepted, repeated ones left out.
    pub(super) arrived: u64,
}

/// The transaction under way.
pub(super) struct Writing<'a> {
    pub(super) records: &'a mut Records,
    /// Where nobody claims meanwhile; there when something is forgotten.
    pub(super) board: Option<&'a Board>,
    pub(super) moment: Moment,
    pub(super) effects: Effects,
}

impl Writing<'_> {
    /// Accepts a message under `id`, unless its key is known; true when `id` is used.
    pub(super) fn accept(&mut self, accept: &Accept, id: u64) -> rusqlite::Result<bool> {
        let message = &accept.message;
        let lane = self.lane(&message.transaction)?;
        let known = match &message.idempotency_key {
            Some(key) => self.records.known(lane, key)?,
            None => None,
        };
        if let Some(first) = known {
            self.effects.left.0 += 1;
            self.effects.left.1 += message.body.len() as u64;
            let accepted = Accepted { id: ExecutionId(first), repeated: true };
            self.effects.accepted.push(accepted);
            return Ok(false);
        }
        self.records.insert(lane, id, message, self.moment.now_ms)?;
        self.effects.moves.push(Move::Arrived { lane, id });
        self.effects.accepted.push(Accepted { id: ExecutionId(id), repeated: false });
        self.effects.arrived += 1;
        Ok(true)
    }

    /// Writes one change down.
    pub(super) fn change(&mut self, change: &Change) -> rusqlite::Result<()> {
        let now_ms = self.moment.now_ms;
        match change {
            Change::Settle(outcome) => {
                let due_ms = self.records.settle(outcome, now_ms)?;
                self.settled(outcome, due_ms);
            }
            Change::Note(message, settled) => {
                let lane = self.lane(&message.transaction)?;
                self.records.note(lane, message, settled, now_ms)?;
            }
            Change::Rebase => {
                self.records.rebase(now_ms)?;
                self.effects.moves.push(Move::Rebased);
            }
            // they come as what is asked for
            Change::Retry(..) | Change::Forget(..) => {}
        }
        Ok(())
    }

    /// Does a slice of what somebody asked for.
    pub(super) fn asked(&mut self, asked: &Asked) -> rusqlite::Result<()> {
        let is_running = |id| self.board.is_some_and(|board| board.is_running(id));
        let slice = self.records.slice(asked, self.moment.room, is_running)?;
        match (asked.what, slice.table) {
            (AskedFor::Retry, _) => {
                self.records.revive(&slice.found)?;
                slice.found.iter().for_each(|moved| self.revived(moved));
            }
            (AskedFor::Drop, Some(table)) => {
                self.records.forget(table, &slice.found)?;
                slice.found.iter().for_each(|moved| self.forgotten(table, moved));
            }
            (AskedFor::Drop, None) => {}
        }
        self.effects.slice = slice;
        Ok(())
    }

    fn revived(&mut self, moved: &Moved) {
        self.effects.entered.0 += 1;
        self.effects.entered.1 += moved.bytes;
        if moved.noted {
            self.effects.arrived += 1;
        } else {
            self.effects.dead -= 1;
        }
        let (lane, id, order_key) = (moved.lane, moved.id, moved.order_key.clone());
        self.effects.moves.push(Move::Revived { lane, id, order_key });
    }

    fn forgotten(&mut self, table: Table, moved: &Moved) {
        match table {
            Table::Done => {}
            Table::Dead => self.effects.dead -= i64::from(!moved.noted),
            Table::Waiting(_) => {
                self.effects.left.0 += 1;
                self.effects.left.1 += moved.bytes;
                let (lane, id, order_key) = (moved.lane, moved.id, moved.order_key.clone());
                self.effects.moves.push(Move::Forgotten { lane, id, order_key });
            }
        }
    }

    fn settled(&mut self, outcome: &super::super::inbox::Outcome, due_ms: Option<u64>) {
        let id = outcome.id;
        if let Some(due_ms) = due_ms {
            self.effects.moves.push(Move::Again { id, at_ms: self.moment.now_ms, due_ms });
            return;
        }
        self.effects.moves.push(Move::Ended { id });
        self.effects.left.0 += 1;
        self.effects.left.1 += outcome.bytes;
        if matches!(outcome.ending, super::super::Ending::Dead { .. }) {
            self.effects.dead += 1;
        }
    }

    fn lane(&mut self, name: &Arc<str>) -> rusqlite::Result<i64> {
        let (lane, new) = self.records.lane(name)?;
        if new {
            self.effects.moves.push(Move::Lane(name.clone()));
        }
        Ok(lane)
    }
}
