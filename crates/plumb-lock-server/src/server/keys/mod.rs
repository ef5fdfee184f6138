//! Locks as clients of Redis take them: a key is set if it is not there, its value is the owner,
//! and whoever knows the value may delete it.
//!
//! A key is a lock under the empty name, where `@` is an ordinary character: an X when it was set
//! to a value, an E when it counts how often its holder has it, as a hash with one field would.

mod ask;
mod call;
mod expire;
mod held;
mod known;
mod latch;
mod script;
mod set;
mod unknown;

pub(super) use known::Scripts;
pub(super) use latch::Latches;
pub(super) use unknown::UnknownScripts;

use plumb_lock_table::journal::Lasting;
use plumb_lock_table::table::{Answer, Element, Held, LockId, Mode, Request, Rules, Scope};
use plumb_measure::Clock;
use plumb_wire::resp;

use super::LockServer;
use super::lives::{Key, Life, NEVER};
use super::refusal::Refusal;
use super::words::Command;

const MS: u64 = 1_000_000;
/// Times to live end at a year.
const TTL_MS_MAX: u64 = 366 * 24 * 3_600_000;
/// What is said of a time to live that is not one.
const TTL_REMEDY: &str = "a time to live is at least 1 ms and at most a year";

/// How a key is held.
fn key(mode: Mode, key: &[u8]) -> Element<'_> {
    Element { mode, name: b"", argument: key }
}

/// What an owner asks for that wants keys, at this time of the wall clock, milliseconds since 1970.
fn request<'a>(
    owner: &'a [u8],
    since_ms: u64,
    keys: &'a [Element<'a>],
) -> Request<'a, [Element<'a>]> {
    Request { owner, user: b"", since_ms, scope: Scope::Dialog, elements: keys }
}

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// Commands about keys; others say nothing about locks.
    pub(super) fn about_keys(
        &mut self,
        client: usize,
        command: Command<'_>,
        verb: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        match verb {
            b"SETNX" => self.setnx(client, command, out),
            b"GET" => self.get(client, command, out),
            b"EXISTS" => self.exists(command, out),
            b"TTL" => self.ttl(command, out),
            b"PTTL" => self.pttl(command, out),
            b"HGET" => self.hget(client, command, out),
            b"HEXISTS" => self.hexists(command, out),
            b"EXPIRE" => self.expire_command(client, command, 1_000, out),
            b"PEXPIRE" => self.expire_command(client, command, 1, out),
            b"SCRIPT" => self.script(command, out),
            _ => self.courtesy(client, command, verb, out),
        }
    }

    pub(super) fn del(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        command.at_least(2, "del")?;
        let mut gone = 0;
        for at in 1..command.len() {
            if self.latches.forget(command.get(at)) {
                gone += 1;
            } else if let Some(lock) = self.standing(command.get(at))
                && self.took(client, lock)
            {
                gone += u64::from(self.end_key(lock));
            }
        }
        resp::push_integer(out, gone);
        Ok(())
    }

    /// True when this connection took the key of the lock.
    fn took(&self, client: usize, lock: LockId) -> bool {
        let connection = self.connection(client);
        self.lives.key(lock).is_some_and(|key| key.connection == connection)
    }

    fn connection(&self, client: usize) -> u64 {
        self.clients[client].as_ref().map_or(0, |client| client.id)
    }

    /// Takes keys for an owner, all or none, and lets each live so long; true when it has them.
    fn take_keys(
        &mut self,
        client: usize,
        owner: &[u8],
        keys: &[Element<'_>],
        ttl_ms: Option<u64>,
    ) -> Result<bool, Refusal> {
        let request = request(owner, self.wall_ms(), keys);
        self.clear_the_way(&request)?;
        let newcomer = match self.table.enqueue(&request, &mut self.notes)? {
            Answer::Granted { newcomer, .. } => newcomer,
            answer => {
                self.counts.rejected += 1;
                return match answer {
                    Answer::Full { part } => Err(self.full(part)),
                    Answer::Counter { .. } => Err(Refusal::HeldTooOften),
                    _ => Ok(false),
                };
            }
        };
        self.counts.granted += 1;
        if let Some(id) = newcomer {
            self.lives.set(id, Life::Kept); // each key has a time of its own
            self.notes.life(Lasting::Owner(owner), 0);
        }
        let connection = self.connection(client);
        for key in keys {
            if let Some((lock, _)) = self.table.holder(b"", key.argument) {
                self.let_key_live(Key { lock, until: NEVER, connection }, key.argument, ttl_ms);
            }
        }
        Ok(true)
    }

    /// From now on the key lives so long, or until it is deleted.
    fn let_key_live(&mut self, known: Key, key: &[u8], ttl_ms: Option<u64>) {
        let until = ttl_ms.map_or(NEVER, |ms| self.clock.now_ns() + ms * MS);
        self.lives.set_key(Key { until, ..known });
        self.notes.life(Lasting::Key(key), ttl_ms.unwrap_or(0));
    }

    fn end_key(&mut self, lock: LockId) -> bool {
        self.lives.forget_key(lock);
        self.counts.dequeues += 1;
        self.table.end(lock, &mut self.notes)
    }

    /// The lock of a key whose time is not over.
    fn standing(&mut self, key: &[u8]) -> Option<LockId> {
        let (lock, _) = self.table.holder(b"", key)?;
        if self.end_if_over(lock) { None } else { Some(lock) }
    }

    /// The lock of a key with a value, whose time is not over.
    fn standing_value(&mut self, key: &[u8]) -> Result<Option<LockId>, Refusal> {
        self.standing_as(Held::X, key)
    }

    fn standing_as(&mut self, mode: Held, key: &[u8]) -> Result<Option<LockId>, Refusal> {
        let Some(lock) = self.standing(key) else {
            return Ok(None);
        };
        match self.table.by_id(lock) {
            Some(held) if held.mode != mode => Err(Refusal::WrongType),
            _ => Ok(Some(lock)),
        }
    }

    /// True when the lock is of this owner.
    fn is_of(&self, lock: LockId, owner: &[u8]) -> bool {
        self.table.by_id(lock).is_some_and(|held| held.owner == owner)
    }

    /// How long the lock of a key lives yet, milliseconds; `None` when its time has no end.
    fn left_ms(&self, lock: LockId) -> Option<u64> {
        let key = self.lives.key(lock).filter(|key| key.until != NEVER)?;
        Some(key.until.saturating_sub(self.clock.now_ns()) / MS)
    }

    /// The same as Redis says it: -1 without an end.
    fn left_or_endless(&self, lock: LockId) -> i64 {
        self.left_ms(lock).map_or(-1, |ms| i64::try_from(ms).unwrap_or(i64::MAX))
    }
}
