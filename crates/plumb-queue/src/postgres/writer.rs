//! The one thread of a runtime that writes into the shared queue.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use plumb_serve::database::{Database, DatabaseError, Value};

use super::super::inbox::{Change, Group};
use super::asked::Asked;
use super::records::{Effects, Writing};
use super::rows::int;
use super::schema::{DEAD, WAITING};
use super::{Shared, lock, runtimes, store};

/// How often leases are renewed, what is kept too long is cleaned, and others' messages are counted.
const BEAT: Duration = Duration::from_secs(1);
/// So many things that are refused one after the other, and nothing taken between: whatever is written
/// is refused, and no more of a group is tried.
const REFUSED_MAX: u32 = 16;
/// Cleaning takes so much of it at most, so that messages do not wait for it.
const CLEANING_NS: u64 = 200_000_000;

/// The writer.
#[derive(Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
    database: Database,
    /// Changes that the server has not taken.
    put_by: Vec<Change>,
    /// What somebody waits for.
    asked: VecDeque<Asked>,
    beat_at_ns: u64,
    /// What was refused by itself since something was taken.
    refused: u32,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, database: Database) -> Self {
        let (put_by, asked) = (Vec::new(), VecDeque::new());
        Self { shared, database, put_by, asked, beat_at_ns: 0, refused: 0 }
    }

    /// Counts what is there already.
    pub(super) fn begin(&mut self) -> Result<(), DatabaseError> {
        self.count()
    }

    /// Writes until the queue is closed and all is written, or cannot be.
    pub(super) fn run(mut self) {
        loop {
            let patience = if self.asked.is_empty() { BEAT } else { Duration::ZERO };
            let (group, more) = self.shared.intake.next_group(patience);
            let nothing = group.accepts.is_empty() && group.changes.is_empty();
            self.work(group);
            // what somebody waits for is done between the groups: it holds up none of them for long
            self.next_slice();
            if nothing && !more && self.asked.is_empty() {
                break;
            }
        }
        // whoever closes an orderly runtime leaves its messages to the others at once
        let free = "UPDATE plumb_queue_message SET leased_until_ms = 0, runtime = 0
                    WHERE state = 0 AND runtime = $1";
        let _ = self.database.rows(free, &[Value::Int(self.shared.runtime)]);
        let _ = runtimes::leave(&mut self.database, self.shared.runtime);
    }

    fn work(&mut self, mut group: Group) {
        self.asked.append(&mut Asked::out_of(&mut group.changes));
        let mut changes = std::mem::take(&mut self.put_by);
        changes.append(&mut group.changes);
        if !group.accepts.is_empty() || !changes.is_empty() {
            group.changes = changes;
            self.refused = 0;
            self.write(group);
        }
        self.beat_when_due();
    }

    /// Does the next slice of what somebody waits for; each of them has its turn.
    fn next_slice(&mut self) {
        let Some(mut asked) = self.asked.pop_front() else { return };
        let (now_ms, room) = (self.shared.clock.wall_ms(), lock(&self.shared.intake.inbox).room());
        match asked.next(&mut self.database, now_ms, room) {
            Ok(slice) if slice.is_full => {
                let inbox = lock(&self.shared.intake.inbox);
                asked.refuse(|retried| inbox.full(retried));
            }
            Ok(slice) => {
                let mut inbox = lock(&self.shared.intake.inbox);
                inbox.entered(slice.entered.0, slice.entered.1);
                inbox.left(slice.left.0, slice.left.1);
                drop(inbox);
                self.shared.wake();
                if slice.is_last() {
                    let _ = self.count(); // an old count is put right a beat later
                }
                self.asked.extend(asked.done(&slice));
            }
            Err(error) => asked.refuse_for_server(&error),
        }
    }

    fn beat_when_due(&mut self) {
        let now_ns = self.shared.clock.now_ns();
        if now_ns >= self.beat_at_ns {
            self.beat_at_ns = now_ns + 1_000_000_000;
            let _ = self.beat(); // what the server does not take now it takes a beat later
        }
    }

    /// Writes a group in one transaction. When the server refuses something of it, the others go in
    /// without that: the group is written in halves, until it is clear that the server refuses all.
    fn write(&mut self, mut group: Group) {
        let error = match self.commit(&group) {
            Ok(effects) => {
                self.refused = 0;
                return self.answer(group, effects);
            }
            Err(error) => error,
        };
        let is_refused = matches!(error, DatabaseError::Refused(_) | DatabaseError::Nul);
        if is_refused && self.refused < REFUSED_MAX {
            if let Some(rest) = group.split() {
                self.write(group);
                self.beat_when_due(); // halves may take longer than a lease
                self.write(rest);
                return;
            }
            if !matches!(error, DatabaseError::Nul) {
                self.refused += 1;
            }
            return self.give_up(group, &error, is_refused);
        }
        self.give_up(group, &error, false);
    }

    /// Ends what was not written. Settlements are written later, unless they are to blame themselves.
    fn give_up(&mut self, group: Group, error: &DatabaseError, is_to_blame: bool) {
        let (messages, bytes) = group.size();
        lock(&self.shared.intake.inbox).left(messages, bytes);
        for accept in group.accepts {
            let _ = accept.answer.send(Err(store(error))); // it may be gone
        }
        let mut running = lock(&self.shared.running);
        for change in group.changes {
            match change {
                // the lease ends, and the message is given out again
                Change::Settle(outcome) if is_to_blame => drop(running.remove(&outcome.id)),
                // it is tried again when the server takes it
                Change::Settle(_) => self.put_by.push(change),
                // what did not come through the queue is not kept then
                Change::Note(..) | Change::Rebase | Change::Retry(..) | Change::Forget(..) => {}
            }
        }
    }

    fn commit(&mut self, group: &Group) -> Result<Effects, DatabaseError> {
        let (now_ms, runtime) = (self.shared.clock.wall_ms(), self.shared.runtime);
        let began_ns = self.shared.clock.now_ns();
        let effects = self.database.transaction(|database| {
            let effects = Effects::default();
            let mut writing = Writing { database, runtime, now_ms, effects };
            writing.accept(&group.accepts)?;
            group.changes.iter().try_for_each(|change| writing.change(change))?;
            Ok::<_, DatabaseError>(writing.effects)
        })?;
        let took_ns = self.shared.clock.now_ns().saturating_sub(began_ns);
        lock(&self.shared.cost).flushed(took_ns);
        Ok(effects)
    }

    fn answer(&mut self, group: Group, effects: Effects) {
        let Group { accepts, .. } = group;
        let mut running = lock(&self.shared.running);
        effects.settled.iter().for_each(|id| {
            running.remove(id);
        });
        drop(running);
        let mut inbox = lock(&self.shared.intake.inbox);
        let mut fresh = 0;
        for (accept, accepted) in accepts.iter().zip(&effects.accepted) {
            if accepted.repeated {
                inbox.left(1, accept.message.body.len() as u64);
            } else {
                fresh += 1;
            }
        }
        inbox.left(effects.left.0, effects.left.1);
        drop(inbox);
        lock(&self.shared.cost).counted(fresh, effects.dead);
        self.shared.wake();
        for (accept, accepted) in accepts.into_iter().zip(effects.accepted) {
            let _ = accept.answer.send(Ok(accepted)); // it may be gone
        }
    }

    /// Renews the leases of what is under way, and looks after the rest.
    fn beat(&mut self) -> Result<(), DatabaseError> {
        let (now_ms, runtime) = (self.shared.clock.wall_ms(), self.shared.runtime);
        let ids = self.shared.running();
        if !ids.is_empty() {
            let until = Value::Int(int(now_ms + self.shared.lease_ms));
            let renew = "UPDATE plumb_queue_message SET leased_until_ms = $1
                 WHERE state = 0 AND runtime = $2
                 AND id IN (SELECT unnest(string_to_array($3, ',')::bigint[]))";
            self.database.rows(renew, &[until, Value::Int(runtime), Value::Text(ids)])?;
        }
        runtimes::seen(&mut self.database, runtime, now_ms)?;
        let effects = Effects::default();
        let database = &mut self.database;
        let mut writing = Writing { database, runtime, now_ms, effects };
        let window_ms = self.shared.limits.idempotency.ns() / 1_000_000;
        let until_ns = self.shared.clock.now_ns().saturating_add(CLEANING_NS);
        while writing.clean(window_ms)? && self.shared.clock.now_ns() < until_ns {}
        self.count()
    }

    /// How many wait, those of other runtimes among them.
    fn count(&mut self) -> Result<(), DatabaseError> {
        // one index each: what is kept of done ones is not gone through
        let statement = format!(
            "SELECT count(*), coalesce(sum(octet_length(body)), 0)::bigint,
             (SELECT count(*) FROM plumb_queue_message WHERE state = {DEAD} AND noted = 0)
             FROM plumb_queue_message WHERE state = {WAITING}"
        );
        if let Some(row) = self.database.row(&statement, &[])? {
            let number = |column| u64::try_from(row.int(column)).unwrap_or(0);
            lock(&self.shared.intake.inbox).recounted(number(0), number(1));
            lock(&self.shared.cost).dead_are(number(2));
        }
        Ok(())
    }
}
