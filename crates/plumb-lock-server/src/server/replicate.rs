//! The server as one of two: what its replica is sent, and what clients may be told meanwhile.
//!
//! What a replica does is in `follow.rs`, who is what in `role.rs`.

use plumb_engine::ConnectionId;
use plumb_lock_pair::replication::{Frame, Hello, State};
use plumb_lock_table::journal::Record;
use plumb_lock_table::table::{Change, Fault, Rules, Table};
use plumb_measure::Clock;
use plumb_wire::resp;

use super::connection::Purpose;
use super::lives::{Life, Lives, NEVER};
use super::mark::Mark;
use super::refusal::Refusal;
use super::role::Role;
use super::told::{Alone, Told};
use super::words::Command;
use super::{Event, LockServer};

/// Places of the table that go into one slice of a snapshot. A lock with its life takes at most
/// 900 bytes, so that a slice keeps to the maximum of a frame.
const PLACES_A_SLICE: u32 = 1_000;
/// Commands of fewer bytes are not worth a turn of their own.
const PIECE_BYTES_MIN: usize = 2 << 10;
/// The same with a replica: what as many bytes of single locks change fits in one packet, which TCP need
/// not acknowledge by itself.
const REPLICATED_BYTES_MIN: usize = 1_400;
/// With a replica longer pipelines are served in halves, too: each turn costs a packet there and back.
const QUARTERED_BYTES_MAX: usize = 8 << 10;
const MS: u64 = 1_000_000;

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// `REPLICA STREAM version rows id epoch stream position`: the client is a replica from now on.
    pub(super) fn take_replica(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        command.exactly(8, "replica")?;
        let number = |at| command.number(at, "a replica of plumb says eight numbers at most");
        let hello = Hello {
            version: number(2)?,
            rows: number(3)?,
            id: number(4)?,
            epoch: number(5)?,
            stream: number(6)?,
            position: number(7)?,
        };
        self.seal();
        let (now, covered) = (self.now, self.replicated.origin);
        let elected = self.is_elected();
        let Role::Primary(primary) = &mut self.replicated.role else {
            return Err(self.no_primary());
        };
        if !elected {
            // another one may have taken its place, and the replica have what that gave out
            return Err(Refusal::NoMajority);
        }
        let attached = match primary.attach(now, &hello, covered) {
            Ok(attached) => attached,
            Err(refused) => {
                self.give_way_to_replica(client, &refused);
                return Err(refused.into());
            }
        };
        self.notes.note_batches(true);
        let former = self.replicated.link.take();
        self.replicated.drops.extend(former);
        if let Some(client) = &mut self.clients[client] {
            client.purpose = Purpose::Replica;
            self.replicated.link = client.connection_id;
            let peer = client.peer.clone();
            (self.tell)(Event::Replication(Told::Follows(&peer, attached)));
        }
        resp::push_simple(out, "OK");
        Ok(())
    }

    /// Bytes of a replica; how many were taken, or `None` when it is to be dropped.
    pub(super) fn hear_replica(&mut self, client: usize, bytes: &[u8]) -> Option<usize> {
        let now = self.now;
        let mut taken = 0;
        loop {
            match Frame::read(&bytes[taken..]) {
                Ok(None) => {
                    if let Role::Primary(primary) = &mut self.replicated.role {
                        primary.note_told(); // it goes before anybody else is served
                    }
                    return Some(taken);
                }
                Ok(Some((frame, length))) => {
                    let here = self.is_link(client);
                    if let Role::Primary(primary) = &mut self.replicated.role
                        && here
                        && !primary.heard(now, &frame)
                    {
                        self.lose_replica("said what it cannot have");
                        return None;
                    }
                    taken += length;
                }
                Err(broken) => {
                    self.lose_replica(&broken.to_string());
                    return None;
                }
            }
        }
    }

    fn is_link(&self, client: usize) -> bool {
        let id = self.clients[client].as_ref().and_then(|client| client.connection_id);
        id.is_some() && id == self.replicated.link
    }

    /// The connection of a replica is gone.
    pub(super) fn replica_left(&mut self, id: Option<ConnectionId>) {
        if id.is_some() && id == self.replicated.link {
            self.lose_replica("hung up");
        }
    }

    pub(super) fn lose_replica(&mut self, why: &str) {
        let link = self.replicated.link.take();
        self.replicated.drops.extend(link);
        if let Role::Primary(primary) = &mut self.replicated.role
            && primary.detach()
        {
            let then = match (primary.may_serve(), primary.wants_to_go_on()) {
                (true, _) => Alone::GoesOn,
                (false, true) => Alone::AsksWitnesses,
                (false, false) => Alone::Waits,
            };
            (self.tell)(Event::Replication(Told::Suspended { why, then }));
            self.pass_election(); // it goes on alone once the witnesses keep that
        }
    }

    /// What was changed since the last time is a batch.
    pub(super) fn seal(&mut self) {
        if self.notes.batch_bytes() > 0
            && let Role::Primary(primary) = &mut self.replicated.role
        {
            let mut batch = self.notes.take_batch();
            if primary.state() == State::Filling {
                add_lives(&self.table, &self.lives, &mut batch);
            }
            primary.seal(self.now, batch);
        }
    }

    /// What the replica is told now.
    pub(super) fn push_to_replica(&mut self, out: &mut Vec<u8>) -> Option<ConnectionId> {
        self.seal();
        let Self { replicated, table, lives, clock, now, .. } = self;
        let Role::Primary(primary) = &mut replicated.role else {
            return None;
        };
        if primary.is_overdue(*now) {
            self.lose_replica("was silent for too long");
            return None;
        }
        // one slice of a snapshot a turn
        let link = replicated.link.filter(|_| !std::mem::replace(&mut replicated.said, true))?;
        let (cursor, time) = (&mut replicated.cursor, clock.now_ns());
        let joined = primary.say((*now, table.next_fence()), out, |begins, records| {
            let from = if begins { 0 } else { *cursor };
            let next = slice(table, lives, (from, time), records);
            *cursor = next.unwrap_or(0);
            next.is_none()
        });
        if joined {
            self.decide_for(self.plan.epoch); // two servers have what it has
            (self.tell)(Event::Replication(Told::InSync));
        }
        (!out.is_empty()).then_some(link)
    }

    /// Behind a round of serving.
    pub(super) fn settle_replication(&mut self) {
        self.replicated.said = false;
        self.turn.number += 1;
        if let Role::Primary(primary) = &mut self.replicated.role
            && primary.streams()
        {
            primary.note_told();
            primary.tidy();
        }
    }

    /// So many bytes of a client's commands are served in a turn. Of a long pipeline that is half: the
    /// client reads these replies while the rest is served. With a replica a short one is served in four
    /// pieces: some wait for the replica, and the client reads others, while the rest is served.
    pub(super) fn piece_of(&self, commands: &[u8]) -> usize {
        let replica = match &self.replicated.role {
            Role::Primary(primary) => primary.replica().is_some(),
            Role::Replica(_) | Role::Fenced { .. } | Role::Witness(_) => false,
        };
        let syncs = self.notes.syncs_every_turn();
        let quarters = replica && !syncs && commands.len() < QUARTERED_BYTES_MAX;
        let (parts, least) =
            if quarters { (4, REPLICATED_BYTES_MIN) } else { (2, PIECE_BYTES_MIN) };
        // where nothing but the disk is waited for, a turn more is a wait more
        let whole = commands.len() < 2 * least || syncs && !replica;
        if whole { usize::MAX } else { (commands.len() / parts).max(least) }
    }

    /// On what that depends what a client was answered in this turn.
    pub(super) fn mark_of(&self, client: usize) -> Mark {
        let client = self.clients[client].as_ref();
        let shown = client.filter(|client| client.shown_in == self.turn.number);
        shown.map_or(Mark::NOTHING, |client| client.mark)
    }

    /// True when a client may be told what depends on this.
    pub(super) fn may_be_told(&self, client: usize, mark: Mark) -> bool {
        let purpose = self.clients[client].as_ref().map(|client| client.purpose);
        if purpose != Some(Purpose::Client) || mark == Mark::NOTHING {
            return true;
        }
        match &self.replicated.role {
            Role::Primary(_) => {
                let tellable = self.primary_that_streams().map_or(u64::MAX, |(at, _)| at);
                mark.is_behind(tellable) && self.is_let()
            }
            Role::Replica(_) | Role::Witness(_) => true,
            Role::Fenced { .. } => false,
        }
    }

    /// The client was answered with what there is now.
    pub(super) fn answered_with_locks(&mut self, client: usize) {
        if !self.replicated.shows {
            return;
        }
        let end = self.primary_that_streams().map_or(0, |(_, end)| end);
        if let Some(client) = &mut self.clients[client] {
            client.mark = Mark::at(end);
            client.shown_in = self.turn.number;
        }
    }

    /// Up to where clients may be told, and where what is there now will end.
    fn primary_that_streams(&self) -> Option<(u64, u64)> {
        let Role::Primary(primary) = &self.replicated.role else {
            return None;
        };
        if !primary.streams() {
            return None;
        }
        let early = R::makes(Fault::AcknowledgesBeforeReplica);
        let tellable = if early { u64::MAX } else { primary.tellable() };
        let earlier = R::makes(Fault::DependsOnEarlierBatch);
        let batch = if earlier { 0 } else { self.notes.batch_bytes() as u64 };
        Some((tellable, primary.end() + batch))
    }
}

/// Adds to a batch how long the owners live whose locks stand in it. The changes themselves say that
/// where it is new: a replica that is being filled may have no other lock of such an owner yet, and
/// get none with a slice.
fn add_lives<R: Rules>(table: &Table<R>, lives: &Lives, batch: &mut Vec<u8>) {
    let (mut at, mut more, mut last_owner) = (0, Vec::new(), &[][..]);
    while let Ok((record, length)) = Record::read_bare(&batch[at..]) {
        at += length;
        if let Record::Change(Change::Lock(lock)) = record
            && (lock.dialog, lock.update) != (0, 0)
            && lock.owner != last_owner
        {
            last_owner = lock.owner;
            push_life(table, lives, lock.owner, &mut more);
        }
    }
    batch.append(&mut more);
}

/// Appends how long an owner lives, where that was promised.
fn push_life<R: Rules>(table: &Table<R>, lives: &Lives, owner: &[u8], out: &mut Vec<u8>) {
    let life = table.owner(owner).map(|id| lives.of(id));
    if let Some(ms) = life.and_then(Life::promised) {
        Record::Life { owner, ms }.push_bare(out);
    }
}

/// Appends the locks of the next places with the lives of their owners and keys; where to go on.
fn slice<R: Rules>(
    table: &Table<R>,
    lives: &Lives,
    (from, now): (u32, u64),
    out: &mut Vec<u8>,
) -> Option<u32> {
    let mut last_owner = Vec::new();
    let page = table.page(from, PLACES_A_SLICE, |lock| {
        Record::Change(Change::Lock(*lock)).push_bare(out);
        if last_owner != lock.owner {
            last_owner = lock.owner.to_vec();
            push_life(table, lives, lock.owner, out);
        }
        if lock.name.is_empty()
            && let Some((id, _)) = table.holder(b"", lock.argument)
            && let Some(key) = lives.key(id)
        {
            // what is left of its time begins anew with a promotion, and so ends no earlier
            let left = key.until.saturating_sub(now).div_ceil(MS).max(1);
            let ms = if key.until == NEVER { 0 } else { left };
            Record::Key { key: lock.argument, ms }.push_bare(out);
        }
        true
    });
    page.next
}
