//! One transaction of the disk: what a group asks for, and what has changed when it is done.

use std::sync::Arc;

use super::super::inbox::{Accept, Change};
use super::super::{Accepted, ExecutionId, Message};
use super::board::{Board, Move};
use super::records::Records;

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
    /// How many each change was about, in their order.
    pub(super) counts: Vec<u64>,
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
        let count = match change {
            Change::Settle(outcome) => {
                let due_ms = self.records.settle(outcome, now_ms)?;
                self.settled(outcome, due_ms);
                1
            }
            Change::Note(message, settled) => self.note(message, settled)?,
            Change::Retry(filter, _) => {
                let most = self.moment.room.min(filter.most as u64);
                let revived = self.records.revive(filter, most)?;
                let count = revived.len() as u64;
                for moved in revived {
                    self.effects.entered.0 += 1;
                    self.effects.entered.1 += moved.bytes;
                    self.moment.room = self.moment.room.saturating_sub(1);
                    if moved.noted {
                        self.effects.arrived += 1;
                    } else {
                        self.effects.dead -= 1;
                    }
                    let (lane, id, order_key) = (moved.lane, moved.id, moved.order_key);
                    self.effects.moves.push(Move::Revived { lane, id, order_key });
                }
                count
            }
            Change::Forget(filter, _) => self.forget(filter)?,
            Change::Rebase => {
                self.records.rebase(now_ms)?;
                self.effects.moves.push(Move::Rebased);
                0
            }
        };
        self.effects.counts.push(count);
        Ok(())
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

    fn note(
        &mut self,
        message: &Message,
        settled: &super::super::Settled,
    ) -> rusqlite::Result<u64> {
        let lane = self.lane(&message.transaction)?;
        self.records.note(lane, message, settled, self.moment.now_ms)?;
        Ok(1)
    }

    fn forget(&mut self, filter: &super::super::Filter) -> rusqlite::Result<u64> {
        let Some(board) = self.board else { return Ok(0) };
        let forgotten = self.records.forget(filter, |id| board.is_running(id))?;
        let count = forgotten.count();
        let dead = forgotten.dead.iter().filter(|moved| !moved.noted).count();
        self.effects.dead -= i64::try_from(dead).unwrap_or(i64::MAX);
        for moved in forgotten.waiting {
            self.effects.left.0 += 1;
            self.effects.left.1 += moved.bytes;
            let (lane, id, order_key) = (moved.lane, moved.id, moved.order_key);
            self.effects.moves.push(Move::Forgotten { lane, id, order_key });
        }
        Ok(count)
    }

    fn lane(&mut self, name: &Arc<str>) -> rusqlite::Result<i64> {
        let (lane, new) = self.records.lane(name)?;
        if new {
            self.effects.moves.push(Move::Lane(name.clone()));
        }
        Ok(lane)
    }
}
