//! `SET` and `SETNX`.

use plumb_lock_table::table::{LockId, Mode, Rules};
use plumb_measure::Clock;
use plumb_wire::resp;

use super::{TTL_MS_MAX, TTL_REMEDY, key, request};
use crate::server::LockServer;
use crate::server::refusal::Refusal;
use crate::server::words::Command;

/// When a key is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// It is not there.
    Absent,
    /// It is there.
    Present,
}

/// How long a key lives that is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    Endless,
    Ms(u64),
    /// As before.
    Kept,
}

/// What a `SET` says behind key and value.
#[derive(Clone, Copy, Debug)]
struct Terms {
    when: When,
    time: Time,
    /// The value before is answered, instead of whether the key was set.
    tells_old: bool,
}

impl Terms {
    /// `wall_ms` is the wall clock, milliseconds since 1970, for times to live that end by it.
    fn read(command: Command<'_>, wall_ms: u64) -> Result<Self, Refusal> {
        command.at_least(3, "set")?;
        let (mut when, mut time, mut tells_old) = (None, Time::Endless, false);
        let mut at = 3;
        while at < command.len() {
            let step = time == Time::Endless;
            if command.is(at, "NX") && when != Some(When::Present) {
                when = Some(When::Absent);
            } else if command.is(at, "XX") && when != Some(When::Absent) {
                when = Some(When::Present);
            } else if command.is(at, "GET") {
                tells_old = true;
            } else if command.is(at, "KEEPTTL") && step {
                time = Time::Kept;
            } else if step
                && at + 1 < command.len()
                && let Some((unit, from)) = unit(command, at, wall_ms)
            {
                at += 1;
                time = Time::Ms(ttl_ms(command, at, unit, from)?);
            } else {
                return Err(Refusal::Set);
            }
            at += 1;
        }
        Ok(Self { when: when.ok_or(Refusal::Set)?, time, tells_old })
    }
}

/// The milliseconds in a unit of the time to live that follows, and what it is counted from.
fn unit(command: Command<'_>, at: usize, wall_ms: u64) -> Option<(u64, u64)> {
    let known = [("PX", 1, 0), ("EX", 1_000, 0), ("PXAT", 1, wall_ms), ("EXAT", 1_000, wall_ms)];
    let found = known.into_iter().find(|(word, ..)| command.is(at, word));
    found.map(|(_, unit, from)| (unit, from))
}

fn ttl_ms(command: Command<'_>, at: usize, unit: u64, from: u64) -> Result<u64, Refusal> {
    let plain = matches!(command.get(at), [b'1'..=b'9', ..]); // as Redis writes numbers
    let number = if plain { command.number(at, TTL_REMEDY)? } else { 0 };
    let ms = number.saturating_mul(unit).saturating_sub(from);
    if ms == 0 || ms > TTL_MS_MAX {
        return Err(Refusal::Number(command.text(at), TTL_REMEDY));
    }
    Ok(ms)
}

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// `SET key value NX|XX [PX ms | EX s | PXAT ms | EXAT s | KEEPTTL] [GET]`.
    pub(in crate::server) fn set(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let terms = Terms::read(command, self.wall_ms())?;
        let (name, value) = (command.get(1), command.get(2));
        let old = if terms.tells_old { self.value_of(name)? } else { None };
        let set = match terms.when {
            When::Absent => {
                let ttl_ms = match terms.time {
                    Time::Ms(ms) => Some(ms),
                    Time::Endless | Time::Kept => None,
                };
                self.take_keys(client, value, &[key(Mode::X, name)], ttl_ms)?
            }
            When::Present => self.set_again(client, name, value, terms.time)?,
        };
        match (terms.tells_old, old) {
            (true, Some(old)) => resp::push_bulk(out, &old),
            (false, _) if set => resp::push_simple(out, "OK"),
            _ => resp::push_null(out, self.version(client)),
        }
        Ok(())
    }

    /// `SETNX key value`.
    pub(super) fn setnx(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        command.exactly(3, "setnx")?;
        let keys = [key(Mode::X, command.get(1))];
        let set = self.take_keys(client, command.get(2), &keys, None)?;
        resp::push_integer(out, u64::from(set));
        Ok(())
    }

    /// The value of a key that is there.
    fn value_of(&mut self, name: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
        let lock = self.standing_value(name)?;
        Ok(lock.and_then(|lock| self.table.by_id(lock)).map(|lock| lock.owner.to_vec()))
    }

    /// Sets a key that is there, if there is one: renews it when it has this value, or replaces
    /// it where it was taken. A value that somebody else has set stays: it is a lock.
    fn set_again(
        &mut self,
        client: usize,
        name: &[u8],
        value: &[u8],
        time: Time,
    ) -> Result<bool, Refusal> {
        let Some(lock) = self.standing_value(name)? else {
            return Ok(false);
        };
        if !self.is_of(lock, value) && !self.took(client, lock) {
            return Err(Refusal::OfAnother);
        }
        let ttl_ms = match time {
            Time::Ms(ms) => Some(ms),
            Time::Endless => None,
            Time::Kept => self.left_ms(lock).map(|ms| ms.max(1)),
        };
        self.replace(client, (lock, name), value, ttl_ms)
    }

    /// The lock of a key has this value and this time to live from now on, whatever it had.
    pub(super) fn replace(
        &mut self,
        client: usize,
        (lock, name): (LockId, &[u8]),
        value: &[u8],
        ttl_ms: Option<u64>,
    ) -> Result<bool, Refusal> {
        if let Some(known) = self.lives.key(lock)
            && self.is_of(lock, value)
        {
            self.let_key_live(known, name, ttl_ms);
            return Ok(true);
        }
        let keys = [key(Mode::X, name)];
        // a value that no key can have is refused before the old one is gone; room there is, for
        // the new lock takes the place of the old one
        self.table.check(&request(value, self.wall_ms(), &keys))?;
        self.end_key(lock);
        self.take_keys(client, value, &keys, ttl_ms)
    }
}

#[cfg(test)]
mod tests {
    use plumb_wire::resp::{self, Limits, Words};

    use super::*;

    fn terms(words: &str) -> Result<(When, Time, bool), String> {
        let line = format!("SET key value {words}\r\n");
        let limits = Limits { words: 20, word_bytes: 100, command_bytes: 1_000 };
        let mut read = Words::default();
        resp::command(line.as_bytes(), &limits, &mut read).unwrap().unwrap();
        let command = Command { bytes: line.as_bytes(), words: &read };
        let terms = Terms::read(command, 1_000_000).map_err(|refusal| refusal.to_string())?;
        Ok((terms.when, terms.time, terms.tells_old))
    }

    #[test]
    fn terms_come_in_any_order() {
        assert_eq!(terms("PX 5 nx"), Ok((When::Absent, Time::Ms(5), false)));
        assert_eq!(terms("GET XX EX 2"), Ok((When::Present, Time::Ms(2_000), true)));
        assert_eq!(terms("XX KEEPTTL"), Ok((When::Present, Time::Kept, false)));
        assert_eq!(terms("NX PXAT 1000250"), Ok((When::Absent, Time::Ms(250), false)));
        assert_eq!(terms("NX PX 5 nx"), Ok((When::Absent, Time::Ms(5), false)), "twice is once");
        assert_eq!(terms("NX EXAT 1001"), Ok((When::Absent, Time::Ms(1_000), false)));
    }

    #[test]
    fn terms_that_contradict_each_other_are_refused() {
        let contradict = ["", "PX 5", "NX XX", "XX NX", "NX PX 5 EX 5", "NX KEEPTTL PX 5"];
        for words in contradict.into_iter().chain(["NX NONSENSE", "NX PX", "EX 1 NX PX"]) {
            assert!(terms(words).unwrap_err().contains("syntax error"), "{words}");
        }
        let no_times = ["NX PX 0", "NX PX -1", "NX PX 05", "NX PX +5", "NX PX 31622400001"];
        for words in no_times.into_iter().chain(["NX PXAT 1000000"]) {
            assert!(terms(words).unwrap_err().contains("at most a year"), "{words}");
        }
    }
}
