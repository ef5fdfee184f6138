//! The server as a replica: it does what its primary says.

use plumb_lock_pair::replication::{Frame, Task};
use plumb_lock_table::journal::{Lasting, Record};
use plumb_lock_table::table::{Change, Changes as _, Rules, Scope};
use plumb_measure::Clock;
use plumb_wire::resp;

use super::connection::Purpose;
use super::role::Role;
use super::told::Told;
use super::{Event, LockServer};

/// Replies to what is said before a stream begins.
const LIMITS: resp::ReplyLimits = resp::ReplyLimits { bytes: 4 << 10, items: 16 };

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// Bytes of the other server; how many were taken, or `None` when it is to be left.
    pub(super) fn hear_other(
        &mut self,
        client: usize,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let taken = self.hear_replies_and_frames(client, bytes, out);
        let purpose = self.clients[client].as_ref().map(|client| client.purpose);
        if taken.is_none() && matches!(purpose, Some(Purpose::Primary { .. })) {
            self.replicated.link = None; // why was said: that it ends is no news
        }
        taken
    }

    fn hear_replies_and_frames(
        &mut self,
        client: usize,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let mut taken = 0;
        while self.replies_left(client) > 0 {
            match resp::reply(&bytes[taken..], &LIMITS) {
                Ok(None) => return Some(taken),
                Ok(Some((resp::Reply::Error(text), _))) => {
                    let text = String::from_utf8_lossy(text).into_owned();
                    if self.is_contested(client, &text) || self.gives_way_to(client, &text) {
                        return None;
                    }
                    let text = format!("refuses: {}", crate::plain(&text));
                    self.complain_of(client, &text);
                    return None;
                }
                Ok(Some((reply, length))) => {
                    taken += length;
                    self.hear_of_fence(client, &reply);
                    self.reply_came(client);
                }
                Err(_) => {
                    self.complain_of(client, "does not answer as a lock server does");
                    return None;
                }
            }
        }
        let purpose = self.clients[client].as_ref().map(|client| client.purpose);
        if let Some(Purpose::Witness { at, .. }) = purpose {
            return self.hear_answers(at, bytes, taken);
        }
        if !matches!(purpose, Some(Purpose::Primary { .. })) {
            return None; // everything was said
        }
        let (before, mut ping) = (taken, None);
        loop {
            let rest = &bytes[taken..];
            match Frame::read(rest) {
                Ok(None) => break,
                Ok(Some((frame, length))) => {
                    if let Frame::Ping { at } = frame {
                        ping = Some(at);
                    }
                    if let Err(why) = self.follow(frame) {
                        self.complain(&format!("cannot be followed: {why}"));
                        return None;
                    }
                    taken += length;
                }
                Err(broken) => {
                    self.complain(&format!("cannot be followed: {broken}"));
                    return None;
                }
            }
        }
        if let Role::Replica(replica) = &self.replicated.role
            && taken > before
        {
            replica.received().push(out);
        }
        if let Some(at) = ping
            && self.promise()
        {
            Frame::Pong { at }.push(out);
        }
        Some(taken)
    }

    /// Answers of a witness; how many bytes were taken, or `None` when it is to be left.
    fn hear_answers(&mut self, at: usize, bytes: &[u8], mut taken: usize) -> Option<usize> {
        loop {
            match resp::reply(&bytes[taken..], &LIMITS) {
                Ok(None) => return Some(taken),
                Ok(Some((resp::Reply::Error(text), _))) => {
                    let text = crate::plain(&String::from_utf8_lossy(text));
                    self.complain_of_witness(at, &format!("refuses: {text}"));
                    return None;
                }
                Ok(Some((reply, length))) if self.hear_witness(at, reply) => taken += length,
                Ok(Some(_)) | Err(_) => {
                    self.complain_of_witness(at, "does not answer as a witness does");
                    return None;
                }
            }
        }
    }

    /// Says of another server what was not said last.
    pub(super) fn complain_of(&mut self, client: usize, why: &str) {
        match self.clients[client].as_ref().map(|client| client.purpose) {
            Some(Purpose::Witness { at, .. }) => self.complain_of_witness(at, why),
            _ => self.complain(why),
        }
    }

    fn replies_left(&self, client: usize) -> u8 {
        match self.clients[client].as_ref().map(|client| client.purpose) {
            Some(
                Purpose::Primary { replies }
                | Purpose::Herald { replies }
                | Purpose::Witness { replies, .. },
            ) => replies,
            Some(Purpose::Client | Purpose::Replica) | None => 0,
        }
    }

    fn reply_came(&mut self, client: usize) {
        if let Some(client) = &mut self.clients[client]
            && let Purpose::Primary { replies }
            | Purpose::Herald { replies }
            | Purpose::Witness { replies, .. } = &mut client.purpose
        {
            *replies -= 1;
        }
    }

    /// Does what one frame says.
    fn follow(&mut self, frame: Frame<'_>) -> Result<(), String> {
        let now = self.now;
        self.follow_on()?;
        let Role::Replica(replica) = &mut self.replicated.role else {
            return Err("this server is no replica any more".into());
        };
        match replica.take(now, frame).map_err(|gap| gap.to_string())? {
            Task::Nothing | Task::Ping { .. } => Ok(()),
            Task::Clear { epoch, fence } => {
                self.forget_everything();
                self.table.raise_fence(fence);
                self.plan.epoch = epoch;
                self.notes.begin_filling(epoch);
                Ok(())
            }
            Task::Slice(records) | Task::Batch(records) => self.apply(records),
            Task::Joined(records) => self.apply(&records),
            Task::InSync { epoch } => {
                self.notes.filled(epoch);
                self.replicated.complaint.clear();
                self.promise();
                (self.tell)(Event::Replication(Told::ReplicaInSync));
                Ok(())
            }
        }
    }

    fn forget_everything(&mut self) {
        let Self { table, notes, replicated, .. } = self;
        let mut owners: Vec<Vec<u8>> = table.locks().map(|lock| lock.owner.to_vec()).collect();
        owners.sort_unstable();
        owners.dedup();
        for owner in owners {
            // a name that the table has is none that it refuses
            let _ = table.clear(&owner, Scope::Both, notes);
            notes.life_with_connection(&owner); // one of its name may come again
        }
        table.reap(u32::MAX);
        replicated.lives = plumb_lock_table::journal::Lives::default();
    }

    /// Applies records of a batch, or of a slice, and notes them for the journal of this server.
    fn apply(&mut self, records: &[u8]) -> Result<(), String> {
        let mut rest = records;
        while !rest.is_empty() {
            let (record, length) = Record::read_bare(rest).map_err(|no| no.to_string())?;
            self.apply_record(&record)?;
            rest = &rest[length..];
        }
        self.table.apply([]).map_err(|impossible| impossible.to_string())
    }

    fn apply_record(&mut self, record: &Record<'_>) -> Result<(), String> {
        use plumb_lock_table::table::Impossible;
        let Self { table, notes, replicated, .. } = self;
        let lives = &mut replicated.lives;
        match *record {
            Record::Change(change) => {
                // room is looked at behind the batch
                if let Err(cause @ Impossible::TooLong) = table.apply([change]) {
                    return Err(cause.to_string());
                }
                notes.note(change);
                let (owner, key) = match change {
                    Change::Lock(lock) if (lock.dialog, lock.update) == (0, 0) => {
                        (lock.owner, lock.name.is_empty().then_some(lock.argument))
                    }
                    Change::Lock(_) => return Ok(()),
                    Change::Cleared { owner, .. } => (owner, None),
                };
                if let Some(key) = key {
                    lives.keys.remove(key);
                }
                if !lives.owners.is_empty()
                    && table.owner(owner).is_none()
                    && lives.owners.remove(owner).is_some()
                {
                    notes.life_with_connection(owner); // one of its name may come again
                }
            }
            Record::Life { owner, ms } => {
                lives.owners.insert(owner.to_vec(), ms);
                notes.life(Lasting::Owner(owner), ms);
            }
            Record::Key { key, ms } => {
                lives.keys.insert(key.to_vec(), ms);
                notes.life(Lasting::Key(key), ms);
            }
            Record::Start { .. }
            | Record::Fence(_)
            | Record::Before { .. }
            | Record::Replaced { .. }
            | Record::Mark
            | Record::Gap
            | Record::End => return Err("a record of a journal stands in it".into()),
        }
        Ok(())
    }
}
