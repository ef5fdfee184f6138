//! Locks as clients of Redis take them: a key is set if it is not there, its value is the owner,
//! and whoever knows the value may delete it.
//!
//! A key is an X under the empty name, where `@` is an ordinary character.

use plumb_measure::Clock;
use plumb_wire::resp;

use super::LockServer;
use super::lives::{Key, Life, NEVER};
use super::refusal::Refusal;
use super::script::{self, Script};
use super::words::Command;
use crate::journal::Lasting;
use crate::table::{Answer, Element, LockId, Mode, Request, Rules, Scope};

const MS: u64 = 1_000_000;
/// Times to live end at a year.
const TTL_MS_MAX: u64 = 366 * 24 * 3_600_000;

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    pub(super) fn set(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let ttl_ms = ttl(command)?;
        let element = Element { mode: Mode::X, name: b"", argument: command.get(1) };
        let request = Request {
            owner: command.get(2),
            user: b"",
            since_ms: self.wall_ms(),
            scope: Scope::Dialog,
            elements: &[element][..],
        };
        self.clear_the_way(&request)?;
        let seen = self.table.owners_seen();
        match self.table.enqueue(&request, &mut self.notes)? {
            Answer::Granted { .. } => {}
            Answer::Full { part } => {
                self.counts.rejected += 1;
                return Err(self.full(part));
            }
            _ => {
                self.counts.rejected += 1;
                resp::push_null(out, self.version(client));
                return Ok(());
            }
        }
        self.counts.granted += 1;
        if self.table.owners_seen() != seen
            && let Some(owner) = self.table.owner(request.owner)
        {
            self.lives.set(owner, Life::Kept); // the key has a time of its own
            self.notes.life(Lasting::Owner(request.owner), 0);
        }
        if let Some((lock, _)) = self.table.holder(b"", command.get(1)) {
            let connection = self.clients[client].as_ref().map_or(0, |client| client.id);
            let until = ttl_ms.map_or(NEVER, |ms| self.clock.now_ns() + ms * MS);
            self.lives.set_key(Key { lock, until, connection });
            self.notes.life(Lasting::Key(command.get(1)), ttl_ms.unwrap_or(0));
        }
        resp::push_simple(out, "OK");
        Ok(())
    }

    pub(super) fn del(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        if command.len() < 2 {
            return Err(Refusal::Arity("del"));
        }
        let connection = self.clients[client].as_ref().map_or(0, |client| client.id);
        let mut gone = 0;
        for at in 1..command.len() {
            if let Some(lock) = self.standing(command.get(at))
                && self.lives.key(lock).is_some_and(|key| key.connection == connection)
            {
                gone += u64::from(self.end_key(lock));
            }
        }
        resp::push_integer(out, gone);
        Ok(())
    }

    fn end_key(&mut self, lock: LockId) -> bool {
        self.lives.forget_key(lock);
        self.counts.dequeues += 1;
        self.table.end(lock, &mut self.notes)
    }

    pub(super) fn get(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        if command.len() != 2 {
            return Err(Refusal::Arity("get"));
        }
        match self.standing(command.get(1)).and_then(|lock| self.table.by_id(lock)) {
            Some(lock) => resp::push_bulk(out, lock.owner),
            None => resp::push_null(out, self.version(client)),
        }
        Ok(())
    }

    pub(super) fn exists(
        &mut self,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        if command.len() < 2 {
            return Err(Refusal::Arity("exists"));
        }
        let there =
            (1..command.len()).filter(|at| self.standing(command.get(*at)).is_some()).count();
        resp::push_integer(out, there as u64);
        Ok(())
    }

    pub(super) fn pttl(&mut self, command: Command<'_>, out: &mut Vec<u8>) -> Result<(), Refusal> {
        if command.len() != 2 {
            return Err(Refusal::Arity("pttl"));
        }
        match self.standing(command.get(1)).map(|lock| self.left_ms(lock)) {
            None => resp::push_signed(out, -2),
            Some(None) => resp::push_signed(out, -1),
            Some(Some(ms)) => resp::push_integer(out, ms),
        }
        Ok(())
    }

    /// The lock of a key whose time is not over.
    fn standing(&mut self, key: &[u8]) -> Option<LockId> {
        let (lock, _) = self.table.holder(b"", key)?;
        if self.end_if_over(lock) { None } else { Some(lock) }
    }

    fn left_ms(&self, lock: LockId) -> Option<u64> {
        let key = self.lives.key(lock).filter(|key| key.until != NEVER)?;
        Some(key.until.saturating_sub(self.clock.now_ns()) / MS)
    }

    /// `EVAL script 1 key value ...` and `EVALSHA digest 1 key value ...`.
    pub(super) fn eval(&mut self, command: Command<'_>, out: &mut Vec<u8>) -> Result<(), Refusal> {
        if command.len() < 3 {
            return Err(Refusal::Arity("eval"));
        }
        let script = if command.is(0, "EVAL") {
            self.scripts
                .load(command.get(1))
                .map(|(script, _)| script)
                .ok_or_else(|| Refusal::Script(text(&script::digest(command.get(1)))))?
        } else {
            self.scripts.find(command.get(1)).ok_or(Refusal::NoScript)?
        };
        let keys = command.number(2, "one key is expected")?;
        let words = match script {
            Script::Release | Script::ReleaseTold => 5,
            Script::Renew => 6,
            Script::Extend => 7,
        };
        if keys != 1 || command.len() < words {
            return Err(Refusal::Arity("eval"));
        }
        let absent = if script == Script::ReleaseTold { -1 } else { 0 };
        resp::push_signed(out, self.run(script, command)?.map_or(absent, i64::from));
        Ok(())
    }

    /// True when the script did something; `None` when there is no such key.
    fn run(&mut self, script: Script, command: Command<'_>) -> Result<Option<bool>, Refusal> {
        let (key, value) = (command.get(3), command.get(4));
        let Some(lock) = self.standing(key) else {
            return Ok(None);
        };
        if self.table.by_id(lock).is_none_or(|held| held.owner != value) {
            return Ok(Some(false));
        }
        if matches!(script, Script::Release | Script::ReleaseTold) {
            return Ok(Some(self.end_key(lock)));
        }
        let mut ms = command.number(5, "a time to live in milliseconds")?;
        if script == Script::Extend {
            let Some(left) = self.left_ms(lock) else {
                return Ok(Some(false));
            };
            if command.get(6) == b"0" {
                ms = ms.saturating_add(left);
            }
        }
        let Some(known) = self.lives.key(lock) else {
            return Ok(Some(false));
        };
        let ms = ms.clamp(1, TTL_MS_MAX);
        let until = self.clock.now_ns() + ms * MS;
        self.notes.life(Lasting::Key(key), ms);
        self.lives.set_key(Key { until, ..known });
        Ok(Some(true))
    }

    /// `SCRIPT LOAD script`, `SCRIPT EXISTS digest ...`.
    pub(super) fn script(
        &mut self,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        if command.is(1, "LOAD") && command.len() == 3 {
            let (_, digest) = self
                .scripts
                .load(command.get(2))
                .ok_or_else(|| Refusal::Script(text(&script::digest(command.get(2)))))?;
            resp::push_bulk(out, &digest);
        } else if command.is(1, "EXISTS") {
            resp::push_array(out, command.len() - 2);
            for at in 2..command.len() {
                let known = self.scripts.find(command.get(at)).is_some();
                resp::push_integer(out, u64::from(known));
            }
        } else {
            return Err(Refusal::Word(command.text(1), "LOAD and EXISTS are known"));
        }
        Ok(())
    }
}

/// The time to live of `SET key value NX ...`, milliseconds.
fn ttl(command: Command<'_>) -> Result<Option<u64>, Refusal> {
    if command.len() < 3 {
        return Err(Refusal::Arity("set"));
    }
    let (mut if_absent, mut ttl) = (false, None);
    let mut at = 3;
    while at < command.len() {
        let remedy = "a time to live is at least 1 ms and at most a year";
        if command.is(at, "NX") {
            if_absent = true;
            at += 1;
            continue;
        }
        let unit = if command.is(at, "PX") {
            1
        } else if command.is(at, "EX") {
            1000
        } else {
            return Err(Refusal::Set);
        };
        let ms = command.number(at + 1, remedy)?.saturating_mul(unit);
        if ms == 0 || ms > TTL_MS_MAX {
            return Err(Refusal::Number(command.text(at + 1), remedy));
        }
        ttl = Some(ms);
        at += 2;
    }
    if if_absent { Ok(ttl) } else { Err(Refusal::Set) }
}

fn text(digest: &[u8]) -> String {
    String::from_utf8_lossy(digest).into_owned()
}
