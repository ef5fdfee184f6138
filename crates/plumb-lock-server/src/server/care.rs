//! What ends without being asked for, and what is done in slices.

use plumb_lock_table::table::{
    Answer, Elements, LockId, Malformed, OwnerId, Request, Rules, Scope,
};
use plumb_measure::Clock;

use super::LockServer;
use super::lives::{Life, Over};
use super::notices::Loss;

/// Owners and keys whose time is over, and locks of theirs, with which a slice of endings is over.
const ENDS_A_SLICE: u64 = 500;
/// Rows of released locks that are given back in one turn.
const REAPED_A_TURN: u32 = 1_000;
/// Rows that are looked through in one turn for arguments to put in order.
const ORDERED_A_TURN: u32 = 4_000;
/// Rows that are looked through in one turn for those who filled the table.
const SURVEYED_A_TURN: u32 = 4_000;
/// Waiting requests whose time is over that become ready in one turn.
const LATE_A_TURN: usize = 500;

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// A slice of everything that is to be done. Called twice a turn at most.
    pub(super) fn care(&mut self) {
        self.expire();
        self.end_those_left();
        if self.table.is_reaping() {
            self.table.reap(REAPED_A_TURN);
        }
        if self.table.is_ordering() && self.table.put_in_order(ORDERED_A_TURN) {
            self.waiters.resume();
        }
        if self.go_on_searching() {
            self.waiters.resume();
        }
        if self.table.is_surveying() {
            self.table.go_on_surveying(SURVEYED_A_TURN);
        }
        self.waiters.late(self.now, LATE_A_TURN);
    }

    /// True when [`care`](Self::care) has more to do at once.
    pub(super) fn has_more_to_do(&self) -> bool {
        self.behind
            || self.table.has_ended()
            || !self.left.is_empty()
            || self.is_searching()
            || self.table.is_busy()
    }

    /// The work of a turn is over.
    pub(super) fn end_turn(&mut self) {
        let work = self.work_of_turn();
        self.turn.peak = self.turn.peak.max(work);
        self.turn.began += work;
    }

    /// Ends what lived until now, as far as there is time.
    fn expire(&mut self) {
        let until = self.work() + ENDS_A_SLICE;
        while self.work() < until {
            let Some(over) = self.lives.over(self.now) else {
                self.behind = false;
                return;
            };
            self.counts.cared += 1;
            let ended = match over {
                Over::Key(lock) => self.end_key_over(lock),
                Over::Owner(id) => self.end_owner(id, Loss::Expired),
            };
            self.counts.expired += u64::from(ended);
        }
        self.behind = self.lives.next().is_some_and(|at| at <= self.now);
    }

    /// Ends owners whose connections are gone.
    fn end_those_left(&mut self) {
        let until = self.work() + ENDS_A_SLICE;
        while self.work() < until {
            let Some(owners) = self.left.last_mut() else {
                return;
            };
            match owners.pop() {
                Some(id) => self.end_with_connection(id),
                None => drop(self.left.pop()),
            }
        }
    }

    /// Ends an owner that lives with a connection that is gone, unless it lives otherwise by now.
    pub(super) fn end_with_connection(&mut self, id: OwnerId) {
        self.counts.cared += 1;
        if self.lives.of(id) == Life::Connection {
            self.counts.expired += u64::from(self.end_owner(id, Loss::Connection));
        }
    }

    /// What an owner holds is about to end without its asking: its requests that wait are not
    /// granted any more. Whoever reads of a grant takes the rest for held, too.
    pub(super) fn lose(&mut self, id: OwnerId) {
        self.waiters.lose(id);
    }

    /// Ends what an owner holds without its asking; false when it holds nothing.
    pub(super) fn end_owner(&mut self, id: OwnerId, loss: Loss) -> bool {
        let Some(owner) = self.table.owner_name(id).map(<[u8]>::to_vec) else {
            return false;
        };
        self.lose(id);
        let gone = self.table.clear(&owner, Scope::Both, &mut self.notes).unwrap_or(0);
        self.tell_loss(&owner, loss, gone);
        gone > 0
    }

    /// Ends a key whose time is over.
    fn end_key_over(&mut self, lock: LockId) -> bool {
        let owner = self.table.by_id(lock).map(|lock| lock.owner.to_vec());
        let ended = self.table.end(lock, &mut self.notes);
        if let Some(owner) = owner.filter(|_| ended) {
            self.tell_loss(&owner, Loss::Expired, 1);
        }
        ended
    }

    /// Ends what is in the way of a request although its time is over, because its turn has not
    /// come yet.
    pub(super) fn clear_the_way<E: Elements + ?Sized>(
        &mut self,
        request: &Request<'_, E>,
    ) -> Result<(), Malformed> {
        const ENDS_MAX: u32 = 256;
        if !self.behind {
            return Ok(());
        }
        self.end_owner_if_over(request.owner);
        for _ in 0..ENDS_MAX {
            let met = match self.table.check(request)? {
                Answer::Held { id, .. } => id,
                _ => break,
            };
            if !self.end_if_over(met) {
                break;
            }
        }
        Ok(())
    }

    /// Ends an owner whose time is over and whose turn has not come yet: nobody may find it alive.
    pub(super) fn end_owner_if_over(&mut self, owner: &[u8]) {
        if self.behind
            && let Some(id) = self.table.owner(owner)
            && self.lives.is_over(id, self.now)
        {
            self.lives.forget(id);
            self.counts.expired += u64::from(self.end_owner(id, Loss::Expired));
        }
    }

    /// Ends a lock whose time, or whose owner's, is over and whose turn has not come yet; false
    /// when it stays.
    pub(super) fn end_if_over(&mut self, lock: LockId) -> bool {
        if !self.behind {
            return false;
        }
        if self.lives.key(lock).is_some_and(|key| key.until <= self.now) {
            self.lives.forget_key(lock);
            let ended = self.end_key_over(lock);
            self.counts.expired += u64::from(ended);
            return ended;
        }
        let Some(id) = self.table.who_holds(lock).filter(|id| self.lives.is_over(*id, self.now))
        else {
            return false;
        };
        self.lives.forget(id);
        let ended = self.end_owner(id, Loss::Expired);
        self.counts.expired += u64::from(ended);
        ended
    }
}
