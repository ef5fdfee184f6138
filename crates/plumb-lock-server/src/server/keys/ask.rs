//! What clients ask about keys.

use plumb_lock_table::table::{Held, LockId, Rules};
use plumb_measure::Clock;
use plumb_wire::resp;

use crate::server::LockServer;
use crate::server::refusal::Refusal;
use crate::server::words::Command;

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    pub(super) fn get(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        command.exactly(2, "get")?;
        if let Some(token) = self.token(command.get(1)) {
            resp::push_bulk(out, token.to_string().as_bytes());
            return Ok(());
        }
        let lock = self.standing_value(command.get(1))?;
        match lock.and_then(|lock| self.table.by_id(lock)) {
            Some(lock) => resp::push_bulk(out, lock.owner),
            None => resp::push_null(out, self.version(client)),
        }
        Ok(())
    }

    /// The fence number of the lock whose token Redisson asks for: `redisson_lock_token:{key}`.
    fn token(&mut self, asked: &[u8]) -> Option<u64> {
        let key = asked.strip_prefix(b"redisson_lock_token:{")?.strip_suffix(b"}")?;
        let lock = self.standing(key)?;
        self.table.by_id(lock).map(|lock| lock.fence)
    }

    pub(super) fn exists(
        &mut self,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        command.at_least(2, "exists")?;
        let there =
            (1..command.len()).filter(|at| self.standing(command.get(*at)).is_some()).count();
        resp::push_integer(out, there as u64);
        Ok(())
    }

    pub(super) fn pttl(&mut self, command: Command<'_>, out: &mut Vec<u8>) -> Result<(), Refusal> {
        command.exactly(2, "pttl")?;
        resp::push_signed(out, self.time_left(command.get(1), |ms| ms));
        Ok(())
    }

    /// In seconds, to the nearest.
    pub(super) fn ttl(&mut self, command: Command<'_>, out: &mut Vec<u8>) -> Result<(), Refusal> {
        command.exactly(2, "ttl")?;
        resp::push_signed(out, self.time_left(command.get(1), |ms| (ms + 500) / 1_000));
        Ok(())
    }

    /// -2 without a key, -1 without an end.
    fn time_left(&mut self, key: &[u8], unit: impl Fn(i64) -> i64) -> i64 {
        match self.standing(key).map(|lock| self.left_or_endless(lock)) {
            None => -2,
            Some(-1) => -1,
            Some(ms) => unit(ms),
        }
    }

    /// `HGET key holder`: how often the holder has the key.
    pub(super) fn hget(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        command.exactly(3, "hget")?;
        match self.times_held(command)? {
            0 => resp::push_null(out, self.version(client)),
            times => resp::push_bulk(out, times.to_string().as_bytes()),
        }
        Ok(())
    }

    /// `HEXISTS key holder`: does the holder have the key?
    pub(super) fn hexists(
        &mut self,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        command.exactly(3, "hexists")?;
        let times = self.times_held(command)?;
        resp::push_integer(out, u64::from(times > 0));
        Ok(())
    }

    fn times_held(&mut self, command: Command<'_>) -> Result<u16, Refusal> {
        let lock = self.standing_held(command.get(1))?;
        let lock = lock.and_then(|lock| self.table.by_id(lock));
        Ok(lock.filter(|lock| lock.owner == command.get(2)).map_or(0, |lock| lock.dialog))
    }

    /// The lock of a key that counts its holds, whose time is not over.
    pub(super) fn standing_held(&mut self, key: &[u8]) -> Result<Option<LockId>, Refusal> {
        self.standing_as(Held::E, key)
    }
}
