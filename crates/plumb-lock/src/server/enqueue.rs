//! Taking, checking, promoting and giving back locks.

use plumb_measure::Clock;
use plumb_wire::resp;

use super::lives::Life;
use super::refusal::Refusal;
use super::words::{Command, Locks};
use super::{After, Event, LockServer};
use crate::journal::Lasting;
use crate::table::{Answer, Inherited, Lock, LockId, OwnerId, Request, Rules, Scope, Selector};

const MS: u64 = 1_000_000;
/// The longest lease, milliseconds: a year.
const LEASE_MS_MAX: u64 = 366 * 24 * 3_600_000;

/// What a request says besides its locks.
struct Terms<'a> {
    owner: &'a [u8],
    user: &'a [u8],
    scope: Scope,
    life: Option<Promise>,
    wait_ns: u64,
    fence: Option<u64>,
    /// Where the locks begin.
    first: usize,
}

/// How long an owner is to live, as asked.
#[derive(Clone, Copy)]
enum Promise {
    Lease(u64),
    Keep,
}

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    pub(super) fn enq(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<After, Refusal> {
        let terms = self.terms(client, command, Scope::Update, "enq")?;
        let locks = command.locks(terms.first, "enq")?;
        self.take(client, &terms, &locks, out)
    }

    pub(super) fn promote(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<After, Refusal> {
        let terms = self.terms(client, command, Scope::Update, "promote")?;
        let locks = Locks::promotions(command, terms.first)?;
        self.take(client, &terms, &locks, out)
    }

    fn take(
        &mut self,
        client: usize,
        terms: &Terms<'_>,
        locks: &Locks<'_>,
        out: &mut Vec<u8>,
    ) -> Result<After, Refusal> {
        let request = Request {
            owner: terms.owner,
            user: terms.user,
            since_ms: self.wall_ms(),
            scope: terms.scope,
            elements: locks,
        };
        let seen = self.table.owners_seen();
        let answer = self.table.enqueue(&request, &mut self.notes)?;
        let Answer::Granted { fence } = answer else {
            self.counts.rejected += 1;
            if let Answer::Held { id, .. } = answer
                && may_wait(&mut self.clients, client, (terms.wait_ns, id), &self.clock)
            {
                return Ok(After::Wait);
            }
            if let Answer::Full { part } = answer {
                if self.counts.rejected.is_power_of_two() {
                    (self.tell)(Event::Full(part.name())); // seldom enough for a log
                }
                return Err(Refusal::Full(part));
            }
            push_rejection(out, &answer);
            return Ok(After::Next);
        };
        self.counts.granted += 1;
        resp::push_integer(out, fence);
        let new = self.table.owners_seen() != seen;
        if new || terms.life.is_some() || self.lives.any_grace() {
            self.let_live(client, terms, new);
        }
        Ok(After::Next)
    }

    /// An owner is new, or the request says how long it lives.
    fn let_live(&mut self, client: usize, terms: &Terms<'_>, new: bool) {
        let Some(id) = self.table.owner(terms.owner) else {
            return; // nothing was kept
        };
        let before = if new { Life::Connection } else { self.lives.of(id) };
        let life = match (terms.life, before) {
            (Some(Promise::Lease(ms)), _) => Life::Lease { at: self.clock.now_ns() + ms * MS, ms },
            (Some(Promise::Keep), _) => Life::Kept,
            (None, Life::Grace(_)) => Life::Connection,
            (None, _) if new => Life::Connection,
            (None, _) => return,
        };
        self.set_life(id, terms.owner, life);
        let Self { clients, table, .. } = self;
        if life == Life::Connection
            && let Some(client) = &mut clients[client]
        {
            client.adopt(id, |id| table.owner_name(id).is_some());
        }
    }

    fn set_life(&mut self, id: OwnerId, owner: &[u8], life: Life) {
        let promised = |life| match life {
            Life::Lease { ms, .. } => Some(ms),
            Life::Kept => Some(0),
            Life::Connection | Life::Grace(_) => None,
        };
        if life == Life::Connection {
            self.notes.life_with_connection(owner);
        }
        let known = self.lives.knows(id).then(|| self.lives.of(id));
        let before = known.and_then(promised);
        self.lives.set(id, life);
        if let Some(ms) = promised(life)
            && before != Some(ms)
        {
            self.notes.life(Lasting::Owner(owner), ms);
        }
    }

    pub(super) fn check(&mut self, command: Command<'_>, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let terms = self.terms_of_nobody(command, Scope::Update, "check")?;
        let locks = command.locks(terms.first, "check")?;
        let request = Request {
            owner: terms.owner,
            user: b"",
            since_ms: 0,
            scope: terms.scope,
            elements: &locks,
        };
        match self.table.check(&request)? {
            Answer::Granted { fence } => resp::push_integer(out, fence),
            answer => push_rejection(out, &answer),
        }
        self.counts.reports += 1;
        Ok(())
    }

    pub(super) fn deq(&mut self, command: Command<'_>, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let terms = self.terms_of_nobody(command, Scope::Both, "deq")?;
        let locks = command.locks(terms.first, "deq")?;
        let Terms { owner, scope, fence, .. } = terms;
        let lowered = self.table.dequeue(owner, scope, &locks, fence, &mut self.notes)?;
        self.counts.dequeues += 1;
        resp::push_integer(out, u64::from(lowered));
        Ok(())
    }

    pub(super) fn deqall(
        &mut self,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let terms = self.terms_of_nobody(command, Scope::Both, "deqall")?;
        if terms.first < command.len() {
            return Err(Refusal::Arity("deqall"));
        }
        let gone = self.table.clear(terms.owner, terms.scope, &mut self.notes)?;
        self.counts.clears += 1;
        resp::push_integer(out, u64::from(gone));
        Ok(())
    }

    pub(super) fn inherit(
        &mut self,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        if command.len() != 3 {
            return Err(Refusal::Arity("inherit"));
        }
        let (from, to) = (command.get(1), command.get(2));
        let wall_ms = self.wall_ms();
        match self.table.inherit(from, to, wall_ms, &mut self.notes)? {
            Inherited::Passed { locks } => {
                if let Some(id) = self.table.owner(to)
                    && locks > 0
                {
                    self.set_life(id, to, Life::Kept); // an update does not end with a client
                }
                self.counts.inherits += 1;
                resp::push_integer(out, u64::from(locks));
                Ok(())
            }
            Inherited::Full { part } => Err(Refusal::Full(part)),
            Inherited::Counter => Err(Refusal::Counter),
        }
    }

    pub(super) fn renew(&mut self, command: Command<'_>, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let terms = self.terms_of_nobody(command, Scope::Both, "renew")?;
        if terms.first + 1 != command.len() {
            return Err(Refusal::Arity("renew"));
        }
        let ms = lease(command, terms.first)?;
        let found = self.table.owner(terms.owner);
        if let Some(id) = found {
            let at = self.clock.now_ns() + ms * MS;
            self.set_life(id, terms.owner, Life::Lease { at, ms });
        }
        resp::push_integer(out, u64::from(found.is_some()));
        Ok(())
    }

    pub(super) fn remove(
        &mut self,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let remedy = "REMOVE OWNER owner, REMOVE FENCE number, or REMOVE LOCK name argument";
        let selector = match command.len() {
            3 if command.is(1, "OWNER") => Selector::Owner(command.get(2)),
            3 if command.is(1, "FENCE") => Selector::Fence(command.number(2, remedy)?),
            4 if command.is(1, "LOCK") => {
                Selector::Object { name: command.get(2), argument: command.get(3) }
            }
            _ => return Err(Refusal::Word(command.text(1), remedy)),
        };
        let gone = self.table.remove(selector, &mut self.notes);
        self.counts.removals += u64::from(gone);
        resp::push_integer(out, u64::from(gone));
        Ok(())
    }

    fn terms<'w>(
        &self,
        client: usize,
        command: Command<'w>,
        scope: Scope,
        name: &'static str,
    ) -> Result<Terms<'w>, Refusal> {
        let mut terms = self.terms_of_nobody(command, scope, name)?;
        let waited = self.clients[client].as_ref().and_then(|client| client.waits);
        if waited.is_some_and(|(until, _)| until <= self.now) {
            terms.wait_ns = 0; // it has waited for long enough
        }
        Ok(terms)
    }

    /// The owner and the words behind it, up to the first that is none of ours.
    fn terms_of_nobody<'w>(
        &self,
        command: Command<'w>,
        scope: Scope,
        name: &'static str,
    ) -> Result<Terms<'w>, Refusal> {
        if command.len() < 2 {
            return Err(Refusal::Arity(name));
        }
        let owner = command.get(1);
        let mut terms =
            Terms { owner, user: b"", scope, life: None, wait_ns: 0, fence: None, first: 2 };
        while command.get(terms.first).len() > 2 {
            let value = terms.first + 1;
            let mut taken = 2;
            if command.is(terms.first, "SCOPE") {
                terms.scope = Scope::parse(command.get(value)).ok_or_else(|| {
                    Refusal::Word(command.text(value), "a scope is 1 dialog, 2 update or 3 both")
                })?;
            } else if command.is(terms.first, "USER") {
                terms.user = command.get(value);
            } else if command.is(terms.first, "LEASE") {
                terms.life = Some(Promise::Lease(lease(command, value)?));
            } else if command.is(terms.first, "KEEP") {
                terms.life = Some(Promise::Keep);
                taken = 1;
            } else if command.is(terms.first, "WAIT") {
                let ms = command.number(value, "WAIT takes milliseconds")?;
                terms.wait_ns = ms.saturating_mul(MS).min(self.plan.wait_ns_max);
            } else if command.is(terms.first, "FENCE") {
                terms.fence = Some(command.number(value, "FENCE takes a fence number")?);
            } else if command.is(terms.first, "EPOCH") {
                if command.number(value, "EPOCH takes a number")? != self.plan.epoch {
                    return Err(Refusal::Lost(self.plan.epoch));
                }
            } else {
                break;
            }
            terms.first += taken;
        }
        Ok(terms)
    }
}

fn lease(command: Command<'_>, at: usize) -> Result<u64, Refusal> {
    let remedy = "a lease is 1 to 31622400000 milliseconds";
    let ms = command.number(at, remedy)?;
    if ms == 0 || ms > LEASE_MS_MAX {
        return Err(Refusal::Number(command.text(at), remedy));
    }
    Ok(ms)
}

/// True when the client waits from now on, or goes on waiting.
fn may_wait(
    clients: &mut [Option<super::Client>],
    client: usize,
    (wait_ns, met): (u64, LockId),
    clock: &impl Clock,
) -> bool {
    let Some(client) = &mut clients[client] else {
        return false;
    };
    let until = match client.waits {
        Some((until, _)) => until,
        None => clock.now_ns() + wait_ns,
    };
    client.waits = (wait_ns > 0).then_some((until, met));
    wait_ns > 0
}

/// A rejection: what it is, the index of the element, and the lock that was met.
fn push_rejection(out: &mut Vec<u8>, answer: &Answer<'_>) {
    let (kind, index) = match answer {
        Answer::Held { index, lock, own, .. } => {
            resp::push_array(out, 8);
            resp::push_bulk(out, if *own { b"OWN" } else { b"HELD" });
            resp::push_integer(out, *index as u64);
            return push_holder(out, lock);
        }
        Answer::Itself { index } => (&b"ITSELF"[..], *index),
        Answer::NotHeld { index } => (&b"NOTHELD"[..], *index),
        Answer::Counter { index } => (&b"COUNTER"[..], *index),
        Answer::TooBroad { index } => (&b"BROAD"[..], *index),
        Answer::Full { .. } | Answer::Granted { .. } => return,
    };
    resp::push_array(out, 2);
    resp::push_bulk(out, kind);
    resp::push_integer(out, index as u64);
}

fn push_holder(out: &mut Vec<u8>, lock: &Lock<'_>) {
    resp::push_bulk(out, lock.owner);
    resp::push_bulk(out, lock.user);
    resp::push_bulk(out, &[lock.mode.letter()]);
    resp::push_bulk(out, lock.name);
    resp::push_bulk(out, lock.argument);
    resp::push_integer(out, lock.fence);
}
