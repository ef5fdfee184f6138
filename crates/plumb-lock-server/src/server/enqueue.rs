//! Taking, checking, promoting and giving back locks.

use plumb_lock_table::journal::Lasting;
use plumb_lock_table::table::{
    Answer, Ask, Elements as _, Inherited, Lock, OwnerId, Request, Rules,
};
use plumb_measure::Clock;
use plumb_wire::resp;

use super::connection::Waits;
use super::lives::Life;
use super::refusal::Refusal;
use super::terms::{Form, Promise, Terms, lease};
use super::waiters::{Met, Wish};
use super::words::{Command, Locks};
use super::{After, LockServer};

const MS: u64 = 1_000_000;

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    pub(super) fn enq(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<After, Refusal> {
        let terms = self.terms(client, command, &Form::ENQ)?;
        let locks = command.locks(terms.first, Form::ENQ.name)?;
        self.take(client, &terms, &locks, out)
    }

    pub(super) fn promote(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<After, Refusal> {
        let terms = self.terms(client, command, &Form::PROMOTE)?;
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
        self.may_lock(client, locks)?;
        self.may_let_live(client, terms.owner, terms.life)?;
        let request = Request {
            owner: terms.owner,
            user: terms.user,
            since_ms: self.wall_ms(),
            scope: terms.scope,
            elements: locks,
        };
        self.clear_the_way(&request)?;
        let answer = self.table.enqueue(&request, &mut self.notes)?;
        let Answer::Granted { fence, newcomer } = answer else {
            if let Answer::Unordered = answer {
                return Ok(self.wait_for_order(client, terms.wait_ns));
            }
            if let Answer::Held { id, lock, own, .. } = answer
                && terms.wait_ns > 0
            {
                let holder = (!own).then(|| number_of(lock.owner));
                let met = Met { lock: id, holder };
                self.wish =
                    Some(Wish { locks: request_text(locks), owner: number_of(terms.owner), met });
                self.wait_for_lock(client, terms.wait_ns);
                return Ok(After::Wait);
            }
            self.counts.rejected += 1;
            if let Answer::Full { part } = answer {
                return Err(self.full(part));
            }
            push_rejection(out, &answer);
            if let Answer::Held { id, own: false, .. } = answer {
                self.await_after_refusal(id);
            }
            return Ok(After::Next);
        };
        self.counts.granted += 1;
        resp::push_integer(out, fence);
        if newcomer.is_some() || terms.life.is_some() || self.lives.any_grace() {
            self.let_live(client, terms, newcomer);
        }
        Ok(After::Next)
    }

    /// An owner is new, or the request says how long it lives.
    fn let_live(&mut self, client: usize, terms: &Terms<'_>, newcomer: Option<OwnerId>) {
        let Some(id) = newcomer.or_else(|| self.table.owner(terms.owner)) else {
            return; // nothing was kept
        };
        let new = newcomer.is_some();
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

    /// Refuses what would let an owner that is there live otherwise, which is to change all its
    /// locks: to what was promised, or with its connection where it has but some grace.
    fn may_let_live(
        &self,
        client: usize,
        owner: &[u8],
        promise: Option<Promise>,
    ) -> Result<(), Refusal> {
        if self.plan.users.is_none() {
            return Ok(());
        }
        let Some(id) = self.table.owner(owner) else {
            return Ok(());
        };
        match (promise, self.lives.of(id)) {
            (Some(Promise::Keep), Life::Kept) => Ok(()),
            (Some(_), _) | (None, Life::Grace(_)) => self.may_change_all(client, owner),
            (None, Life::Connection | Life::Lease { .. } | Life::Kept) => Ok(()),
        }
    }

    fn set_life(&mut self, id: OwnerId, owner: &[u8], life: Life) {
        if life == Life::Connection {
            self.notes.life_with_connection(owner);
        }
        let known = self.lives.knows(id).then(|| self.lives.of(id));
        let before = known.and_then(Life::promised);
        self.lives.set(id, life);
        if let Some(ms) = life.promised()
            && before != Some(ms)
        {
            self.notes.life(Lasting::Owner(owner), ms);
        }
    }

    /// The client waits for a lock: for so long from now on, unless it does already.
    fn wait_for_lock(&mut self, client: usize, wait_ns: u64) {
        let from_now = self.clock.now_ns().saturating_add(wait_ns);
        if let Some(client) = &mut self.clients[client] {
            self.counts.waited += u64::from(!std::mem::replace(&mut client.has_waited, true));
            client.waits = Waits::Until(client.waits.deadline().unwrap_or(from_now));
        }
    }

    /// The client waits until the arguments that it asks for are in order; for a lock then no longer
    /// than from now on.
    fn wait_for_order(&mut self, client: usize, wait_ns: u64) -> After {
        self.wish = None;
        let from_now = self.clock.now_ns().saturating_add(wait_ns);
        if let Some(client) = &mut self.clients[client] {
            client.waits = Waits::Order(client.waits.deadline().unwrap_or(from_now));
        }
        After::Wait
    }

    pub(super) fn check(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<After, Refusal> {
        let terms = Terms::read(command, &Form::CHECK, self.plan.epoch)?;
        let locks = command.locks(terms.first, Form::CHECK.name)?;
        self.may_lock(client, &locks)?;
        let request = Request {
            owner: terms.owner,
            user: b"",
            since_ms: 0,
            scope: terms.scope,
            elements: &locks,
        };
        self.clear_the_way(&request)?;
        match self.table.check(&request)? {
            Answer::Granted { fence, .. } => resp::push_integer(out, fence),
            Answer::Unordered => {
                self.wish = None;
                if let Some(client) = &mut self.clients[client] {
                    client.waits = Waits::Slices; // who only asks has nothing to lose
                }
                return Ok(After::Wait);
            }
            answer => push_rejection(out, &answer),
        }
        self.counts.reports += 1;
        Ok(After::Next)
    }

    pub(super) fn deq(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let terms = Terms::read(command, &Form::DEQ, self.plan.epoch)?;
        let locks = command.locks(terms.first, Form::DEQ.name)?;
        self.may_lock(client, &locks)?;
        let Terms { owner, scope, fence, .. } = terms;
        let lowered = self.table.dequeue(owner, scope, &locks, fence, &mut self.notes)?;
        self.counts.dequeues += 1;
        resp::push_integer(out, u64::from(lowered));
        Ok(())
    }

    pub(super) fn deqall(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<After, Refusal> {
        let terms = Terms::read(command, &Form::DEQALL, self.plan.epoch)?;
        if terms.first < command.len() {
            return Err(Refusal::Arity(Form::DEQALL.name));
        }
        self.may_change_all(client, terms.owner)?;
        if self.takes_slices(client, terms.owner, terms.scope) {
            return Ok(self.clear_scope(client, (terms.owner, terms.scope), out));
        }
        let gone = self.table.clear(terms.owner, terms.scope, &mut self.notes)?;
        self.counts.clears += 1;
        resp::push_integer(out, u64::from(gone));
        Ok(After::Next)
    }

    pub(super) fn inherit(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        command.exactly(3, "inherit")?;
        let (from, to) = (command.get(1), command.get(2));
        self.may_change_all(client, from)?;
        self.may_let_live(client, to, Some(Promise::Keep))?;
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
            Inherited::Full { part } => Err(self.full(part)),
            Inherited::Counter => Err(Refusal::Counter),
        }
    }

    pub(super) fn renew(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let terms = Terms::read(command, &Form::RENEW, self.plan.epoch)?;
        if terms.first + 1 != command.len() {
            return Err(Refusal::Arity(Form::RENEW.name));
        }
        let ms = lease(command, terms.first)?;
        self.may_change_all(client, terms.owner)?;
        self.end_owner_if_over(terms.owner);
        let found = self.table.owner(terms.owner);
        if let Some(id) = found {
            let at = self.clock.now_ns() + ms * MS;
            self.set_life(id, terms.owner, Life::Lease { at, ms });
        }
        resp::push_integer(out, u64::from(found.is_some()));
        Ok(())
    }

    /// The terms of a request that may wait.
    fn terms<'w>(
        &self,
        client: usize,
        command: Command<'w>,
        form: &Form,
    ) -> Result<Terms<'w>, Refusal> {
        let mut terms = Terms::read(command, form, self.plan.epoch)?;
        terms.wait_ns = terms.wait_ns.min(self.plan.wait_ns_max);
        let deadline = self.clients[client].as_ref().and_then(|client| client.waits.deadline());
        if deadline.is_some_and(|until| until <= self.now) {
            terms.wait_ns = 0; // it has waited for long enough
        }
        Ok(terms)
    }
}

/// A number that is the same for the same owner.
fn number_of(owner: &[u8]) -> u64 {
    // of two owners with the same number one is looked at once too often
    let mut hash = std::hash::DefaultHasher::new();
    std::hash::Hasher::write(&mut hash, owner);
    std::hash::Hasher::finish(&hash)
}

/// A text that is the same for the same locks in the same modes; `None` when whoever names them
/// has to hold something else, too.
fn request_text(locks: &Locks<'_>) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    for index in 0..locks.count() {
        let element = locks.at(index);
        if element.mode.ask() == Ask::R {
            return None;
        }
        text.push(element.mode.letter());
        for part in [element.name, element.argument] {
            text.push(u8::try_from(part.len()).unwrap_or(u8::MAX)); // none is longer
            text.extend_from_slice(part);
        }
    }
    Some(text)
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
        Answer::Full { .. } | Answer::Granted { .. } | Answer::Unordered => return,
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
