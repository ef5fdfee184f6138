//! Times to live that are set anew.

use plumb_lock_table::table::{LockId, Rules};
use plumb_measure::Clock;
use plumb_wire::resp;

use super::call::Call;
use super::{TTL_MS_MAX, TTL_REMEDY};
use crate::server::LockServer;
use crate::server::lives::Key;
use crate::server::refusal::Refusal;
use crate::server::words::Command;

/// Under which condition a time to live is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Condition {
    /// There is none.
    endless: bool,
    /// There is one.
    ending: bool,
    /// It becomes longer, or shorter.
    longer: bool,
    shorter: bool,
}

impl Condition {
    fn read(command: Command<'_>, first: usize) -> Result<Self, Refusal> {
        let mut condition = Self::default();
        for at in first..command.len() {
            let flags = [
                ("NX", &mut condition.endless),
                ("XX", &mut condition.ending),
                ("GT", &mut condition.longer),
                ("LT", &mut condition.shorter),
            ];
            let Some((_, flag)) = flags.into_iter().find(|(word, _)| command.is(at, word)) else {
                return Err(Refusal::Word(command.text(at), "NX, XX, GT and LT are known"));
            };
            *flag = true;
        }
        let Self { endless, ending, longer, shorter } = condition;
        if (endless && (ending || longer || shorter)) || (longer && shorter) {
            let remedy = "NX stands alone, and GT and LT exclude each other";
            return Err(Refusal::Word(command.text(first), remedy));
        }
        Ok(condition)
    }

    /// True when a time of `ms` may follow one of which so much is `left`; `None`: no end.
    fn holds(self, left: Option<u64>, ms: i64) -> bool {
        let left = left.map(|left| i64::try_from(left).unwrap_or(i64::MAX));
        !(self.endless && left.is_some()
            || self.ending && left.is_none()
            || self.longer && left.is_none_or(|left| ms <= left)
            || self.shorter && left.is_some_and(|left| ms >= left))
    }
}

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// `EXPIRE key seconds`, `PEXPIRE key ms`, each with `NX`, `XX`, `GT` or `LT`.
    pub(super) fn expire_command(
        &mut self,
        client: usize,
        command: Command<'_>,
        unit_ms: i64,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        command.at_least(3, if unit_ms == 1 { "pexpire" } else { "expire" })?;
        let ms = time_ms(command, 2, unit_ms)?;
        let condition = Condition::read(command, 3)?;
        // a shorter time takes a lock from its holder as a deletion does, which is for the
        // connection that took it
        let lock = self.standing(command.get(1));
        let lock = lock.filter(|lock| self.took(client, *lock) || self.prolongs(*lock, ms));
        let set = lock.is_some_and(|lock| self.expire_key(lock, command.get(1), condition, ms));
        resp::push_integer(out, u64::from(set));
        Ok(())
    }

    /// The same for each key of a script; true when one time was set.
    pub(super) fn expire_each(&mut self, client: usize, call: Call<'_>) -> Result<bool, Refusal> {
        let ms = time_ms(call.command, call.arg_at(0), 1)?;
        let condition = match call.arg(1) {
            b"" => Condition::default(),
            _ => Condition::read(call.command, call.arg_at(1))?,
        };
        let mut one = false;
        for at in 0..call.keys {
            // its library calls it on any connection, for keys that count their holds; whatever
            // else ends sooner, or at once, is for the one that took it
            let lock = self.standing(call.key(at)).filter(|lock| {
                self.took(client, *lock)
                    || self.prolongs(*lock, ms)
                    || ms > 0 && self.counts_holds(*lock)
            });
            one |= lock.is_some_and(|lock| self.expire_key(lock, call.key(at), condition, ms));
        }
        Ok(one)
    }

    /// True when a key with this time to live ends later than as it is.
    fn prolongs(&self, lock: LockId, ms: i64) -> bool {
        let left = self.left_ms(lock).map(|left| i64::try_from(left).unwrap_or(i64::MAX));
        left.is_some_and(|left| ms > left)
    }

    fn expire_key(&mut self, lock: LockId, key: &[u8], condition: Condition, ms: i64) -> bool {
        let set = condition.holds(self.left_ms(lock), ms);
        if set {
            self.live_on(lock, key, ms);
        }
        set
    }

    /// The lock of a key lives so long from now on; no time ends it.
    pub(super) fn live_on(&mut self, lock: LockId, key: &[u8], ms: i64) {
        match (u64::try_from(ms), self.lives.key(lock)) {
            (Ok(ms @ 1..), Some(known)) => {
                self.let_key_live(Key { ..known }, key, Some(ms.min(TTL_MS_MAX)));
            }
            _ => drop(self.end_key(lock)),
        }
    }
}

/// The time that the word at `at` says, milliseconds; one that is over may be below zero.
pub(super) fn time_ms(command: Command<'_>, at: usize, unit_ms: i64) -> Result<i64, Refusal> {
    let word = std::str::from_utf8(command.get(at)).ok();
    let ms = word.and_then(|word| word.parse::<i64>().ok()?.checked_mul(unit_ms));
    let most = i64::try_from(TTL_MS_MAX).unwrap_or(i64::MAX);
    ms.filter(|ms| *ms <= most).ok_or_else(|| Refusal::Number(command.text(at), TTL_REMEDY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_looks_at_what_is_left() {
        let endless = Condition { endless: true, ..Condition::default() };
        assert!(endless.holds(None, 5) && !endless.holds(Some(5), 5));
        let ending = Condition { ending: true, ..Condition::default() };
        assert!(ending.holds(Some(5), 5) && !ending.holds(None, 5));
        let longer = Condition { longer: true, ..Condition::default() };
        assert!(longer.holds(Some(5), 6) && !longer.holds(Some(5), 5) && !longer.holds(None, 6));
        let shorter = Condition { shorter: true, ..Condition::default() };
        assert!(shorter.holds(Some(5), 4) && !shorter.holds(Some(5), 5) && shorter.holds(None, 4));
    }
}
