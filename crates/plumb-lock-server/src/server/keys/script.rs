//! `EVAL`, `EVALSHA` and `SCRIPT`: what the scripts of lock libraries do, done without running
//! them.

use plumb_lock_table::table::{Element, LockId, Mode, Rules};
use plumb_measure::Clock;
use plumb_wire::resp;

use super::call::Call;
use super::expire::time_ms;
use super::known::{self, Script};
use super::{TTL_MS_MAX, TTL_REMEDY, key};
use crate::server::LockServer;
use crate::server::refusal::Refusal;
use crate::server::words::Command;

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// `EVAL script keys key ... argument ...`, and `EVALSHA` with the digest of a script.
    pub(in crate::server) fn eval(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        command.at_least(3, "eval")?;
        let script = if command.is(0, "EVAL") {
            self.known_script(command, 1)?.0
        } else {
            let known = self.scripts.find(command.get(1));
            if known.is_none() {
                self.note_unknown(command);
            }
            known.ok_or(Refusal::NoScript)?
        };
        self.call(client, script, Call::read(command)?, out)
    }

    fn call(
        &mut self,
        client: usize,
        script: Script,
        call: Call<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let (keys, args) = script.takes();
        if !keys.contains(&call.keys) || call.args() < args {
            return Err(Refusal::Arity("eval"));
        }
        let answer = match script {
            Script::TakeOrReplace => return self.take_or_replace(client, call, out),
            Script::Hold => return self.hold(client, call, out),
            Script::HoldWithToken => return self.hold_with_token(client, call, out),
            Script::ReleaseHold { tells, latched } => {
                return self.release_hold(client, call, (tells, latched), out);
            }
            Script::RenewHolds => return self.renew_holds(call, out),
            Script::RenewHold => i64::from(self.renew_hold(call, 0)?),
            Script::ForceRelease { tells } => {
                self.force_release(client, call, tells, out);
                return Ok(());
            }
            Script::Release { absent } => match self.standing_value(call.key(0))? {
                None => absent,
                Some(lock) if self.is_of(lock, call.arg(0)) => i64::from(self.end_key(lock)),
                Some(_) => 0,
            },
            Script::Renew => i64::from(self.renew_value(call)?),
            Script::RenewOrTake => {
                i64::from(self.renew_value(call)? || self.take_one(client, call)?)
            }
            Script::Extend => i64::from(self.extend(call)?),
            Script::Left { least, other } => match self.own(call, 0)? {
                Some(lock) => self.left_or_endless(lock).max(least),
                None => other,
            },
            Script::TakeAll => self.take_all(client, call)?,
            Script::ReleaseAll => self.release_all(call)?,
            Script::ExtendAll => self.extend_all(call)?,
            Script::ExpireEach => i64::from(self.expire_each(client, call)?),
        };
        resp::push_signed(out, answer);
        Ok(())
    }

    /// The lock of the key at `at`, when its value is the first argument.
    fn own(&mut self, call: Call<'_>, at: usize) -> Result<Option<LockId>, Refusal> {
        let lock = self.standing_value(call.key(at))?;
        Ok(lock.filter(|lock| self.is_of(*lock, call.arg(0))))
    }

    fn renew_value(&mut self, call: Call<'_>) -> Result<bool, Refusal> {
        let Some(lock) = self.own(call, 0)? else {
            return Ok(false);
        };
        let ms = time_ms(call.command, call.arg_at(1), 1)?;
        self.live_on(lock, call.key(0), ms);
        Ok(true)
    }

    fn take_one(&mut self, client: usize, call: Call<'_>) -> Result<bool, Refusal> {
        let ttl_ms = ttl_ms(call, 1)?;
        self.take_keys(client, call.arg(0), &[key(Mode::X, call.key(0))], Some(ttl_ms))
    }

    fn extend(&mut self, call: Call<'_>) -> Result<bool, Refusal> {
        let Some(lock) = self.own(call, 0)? else {
            return Ok(false);
        };
        let Some(left) = self.left_ms(lock) else {
            return Ok(false);
        };
        let ms = time_ms(call.command, call.arg_at(1), 1)?;
        let more = if call.arg(2) == b"0" { i64::try_from(left).unwrap_or(i64::MAX) } else { 0 };
        self.live_on(lock, call.key(0), ms.saturating_add(more));
        Ok(true)
    }

    /// Takes the key, or gives it the new value where the old one begins with the same token.
    fn take_or_replace(
        &mut self,
        client: usize,
        call: Call<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let (name, value) = (call.key(0), call.arg(0));
        let ttl_ms = ttl_ms(call, 2)?;
        let token = call.command.number(call.arg_at(1), "the bytes of the token")?;
        let token = usize::try_from(token).unwrap_or(usize::MAX).min(value.len());
        let set = match self.standing_value(name)? {
            None => self.take_keys(client, value, &[key(Mode::X, name)], Some(ttl_ms))?,
            Some(lock) => {
                let held = self.table.by_id(lock).map(|lock| lock.owner);
                let same = held.is_some_and(|held| held.get(..token) == Some(&value[..token]));
                same && token > 0 && self.replace(client, (lock, name), value, Some(ttl_ms))?
            }
        };
        if set {
            resp::push_simple(out, "OK");
        } else {
            resp::push_null(out, self.version(client));
        }
        Ok(())
    }

    /// Takes all keys, or none when one is there; how many.
    fn take_all(&mut self, client: usize, call: Call<'_>) -> Result<i64, Refusal> {
        let ttl_ms = ttl_ms(call, 1)?;
        let keys: Vec<Element<'_>> =
            call.distinct().into_iter().map(|name| key(Mode::X, name)).collect();
        let taken = self.take_keys(client, call.arg(0), &keys, Some(ttl_ms))?;
        Ok(if taken { count(call.keys) } else { 0 })
    }

    /// Releases those keys that have the value; how many.
    fn release_all(&mut self, call: Call<'_>) -> Result<i64, Refusal> {
        let mut gone = 0;
        for at in 0..call.keys {
            if let Some(lock) = self.own(call, at)? {
                gone += usize::from(self.end_key(lock));
            }
        }
        Ok(count(gone))
    }

    /// Gives all keys a new time to live, or none when one has another value; how many.
    fn extend_all(&mut self, call: Call<'_>) -> Result<i64, Refusal> {
        let ttl_ms = ttl_ms(call, 1)?;
        let mut locks = Vec::with_capacity(call.keys);
        for at in 0..call.keys {
            let Some(lock) = self.own(call, at)? else {
                return Ok(0);
            };
            locks.push((lock, call.key(at)));
        }
        for (lock, name) in locks {
            if let Some(known) = self.lives.key(lock) {
                self.let_key_live(known, name, Some(ttl_ms));
            }
        }
        Ok(count(call.keys))
    }

    /// `SCRIPT LOAD script`, `SCRIPT EXISTS digest ...`.
    pub(super) fn script(
        &mut self,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        if command.is(1, "LOAD") && command.len() == 3 {
            let (_, digest) = self.known_script(command, 2)?;
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

    /// The script whose text is the word at `at`.
    fn known_script(
        &mut self,
        command: Command<'_>,
        at: usize,
    ) -> Result<(Script, [u8; 40]), Refusal> {
        let text = command.get(at);
        let loaded = self.scripts.load(text);
        if loaded.is_none() {
            self.tell_of_unknown(text, command);
        }
        let digest = || String::from_utf8_lossy(&known::digest(text)).into_owned();
        loaded.ok_or_else(|| Refusal::Script(digest()))
    }
}

/// The time to live that `ARGV[at + 1]` says.
fn ttl_ms(call: Call<'_>, at: usize) -> Result<u64, Refusal> {
    let at = call.arg_at(at);
    let ms = call.command.number(at, TTL_REMEDY)?;
    if ms == 0 || ms > TTL_MS_MAX {
        return Err(Refusal::Number(call.command.text(at), TTL_REMEDY));
    }
    Ok(ms)
}

fn count(keys: usize) -> i64 {
    i64::try_from(keys).unwrap_or(i64::MAX)
}

#[cfg(test)]
pub(super) mod tests {
    use plumb_engine::clock::MonotonicClock;
    use plumb_engine::{Ended, Peer, Service as _};
    use plumb_measure::Tick;
    use plumb_wire::resp::{Limits, Reply, ReplyLimits, Words};
    use proptest::prelude::*;

    use super::*;
    use crate::server::{Event, ServerPlan};
    use plumb_lock_table::journal::{Notes, Restored};
    use plumb_lock_table::table;

    pub(in crate::server::keys) const LIMITS: Limits =
        Limits { words: 40, word_bytes: 400, command_bytes: 4_000 };
    const REPLIES: ReplyLimits = ReplyLimits { bytes: 1 << 16, items: 100 };

    /// Of a server that anybody may ask.
    pub(in crate::server::keys) fn plan() -> ServerPlan {
        ServerPlan {
            limits: LIMITS,
            wait_ns_max: 0,
            password: None,
            users: None,
            epoch: 1,
            grace_ns: 0,
            wall_offset: || 0,
            tick: Tick::default(),
            replication: crate::server::ReplicationPlan::default(),
        }
    }

    /// Has one client call scripts, each with its words; what was answered to each.
    fn said(calls: &[(Script, Vec<&str>)]) -> Vec<String> {
        let mut tell = |_: Event<'_>| {};
        let restored: Restored = Restored::empty(table::Limits { rows: 20, scan: 10 });
        let (notes, clock) = (Notes::none(), MonotonicClock);
        let mut server = LockServer::new(plan(), (restored, notes), clock, &mut tell);
        let client = server.open(&Peer::Unix).expect("everybody is taken");
        let answers = calls.iter().map(|(script, words)| {
            let words: Vec<&[u8]> =
                ["EVAL", ""].into_iter().chain(words.iter().copied()).map(str::as_bytes).collect();
            let (mut bytes, mut read, mut out) = (Vec::new(), Words::default(), Vec::new());
            resp::push_command(&mut bytes, &words);
            resp::command(&bytes, &LIMITS, &mut read).expect("sound").expect("complete");
            let command = Command { bytes: &bytes, words: &read };
            let answered =
                Call::read(command).and_then(|call| server.call(client, *script, call, &mut out));
            if let Err(refusal) = answered {
                assert!(out.is_empty(), "{script:?} {words:?} is answered and refused");
                return refusal.to_string();
            }
            let (reply, taken) = resp::reply(&out, &REPLIES).expect("sound").expect("complete");
            assert_eq!(taken, out.len(), "{script:?} {words:?} has one answer");
            match reply {
                Reply::Integer(number) => number.to_string(),
                Reply::Null => "nothing".to_owned(),
                Reply::Array(items) => format!("{:?}", items.collect::<Vec<_>>()),
                other => format!("{other:?}"),
            }
        });
        let answers = answers.collect();
        server.close(client, Ended::ByClient);
        answers
    }

    #[test]
    fn a_release_that_is_repeated_releases_once() {
        let hold = || (Script::Hold, vec!["1", "k", "60000", "me"]);
        let give = |latch| {
            let words = vec!["3", "k", "channel", latch, "0", "60000", "me", "PUBLISH", "10000"];
            (Script::ReleaseHold { tells: true, latched: true }, words)
        };
        let calls = [hold(), hold(), give("a"), give("a"), give("b"), give("b"), give("c")];
        let expected = ["nothing", "nothing", "0", "0", "1", "1", "nothing"];
        assert_eq!(said(&calls), expected);
    }

    #[test]
    fn a_hold_is_renewed_for_its_holder_and_given_back_without_a_name_for_the_answer() {
        let renew = |holder| (Script::RenewHold, vec!["1", "k", "60000", holder]);
        let give = |holder| {
            let words = vec!["2", "k", "channel", "0", "60000", holder];
            (Script::ReleaseHold { tells: true, latched: false }, words)
        };
        let spin =
            (Script::ReleaseHold { tells: false, latched: false }, vec!["1", "k", "60000", "me"]);
        let hold = || (Script::Hold, vec!["1", "k", "60000", "me"]);
        let calls = [renew("me"), hold(), hold(), renew("me"), renew("other"), give("other")];
        assert_eq!(said(&calls), ["0", "nothing", "nothing", "1", "0", "nothing"]);
        let calls = [hold(), hold(), give("me"), give("me"), give("me"), hold(), spin, hold()];
        let gone = ["nothing", "nothing", "0", "1", "nothing", "nothing", "1", "nothing"];
        assert_eq!(said(&calls), gone);
        let force = (Script::ForceRelease { tells: false }, vec!["1", "k"]);
        assert_eq!(said(&[hold(), force.clone(), force]), ["nothing", "1", "0"]);
    }

    #[test]
    fn a_key_with_a_value_is_no_count_of_holds() {
        let calls = [
            (Script::TakeAll, vec!["2", "a", "b", "me", "60000"]),
            (Script::Hold, vec!["1", "a", "60000", "me"]),
            (Script::Hold, vec!["1", "c", "60000", "me"]),
            (Script::Release { absent: -1 }, vec!["1", "c", "me"]),
            (Script::ReleaseAll, vec!["2", "a", "b", "me"]),
        ];
        let wrong = Refusal::WrongType.to_string();
        assert_eq!(said(&calls), ["2", &wrong, "nothing", &wrong, "2"]);
    }

    #[test]
    fn several_keys_are_taken_and_extended_all_or_none() {
        let calls = [
            (Script::TakeAll, vec!["1", "b", "other", "60000"]),
            (Script::TakeAll, vec!["3", "a", "b", "c", "me", "60000"]),
            (Script::TakeAll, vec!["3", "a", "c", "a", "me", "60000"]),
            (Script::ExtendAll, vec!["2", "a", "b", "me", "1"]),
            (Script::Left { least: 0, other: -3 }, vec!["1", "b", "me"]),
            (Script::ReleaseAll, vec!["3", "a", "b", "c", "me"]),
        ];
        assert_eq!(said(&calls), ["1", "0", "3", "0", "-3", "2"]);
    }

    #[test]
    fn a_value_that_is_too_long_leaves_the_key_as_it_was() {
        let long = format!("token{}", "x".repeat(60));
        let replace = |value| (Script::TakeOrReplace, vec!["1", "k", value, "5", "60000"]);
        let calls = [
            replace("token-a"),
            replace(&long),
            (Script::Release { absent: -1 }, vec!["1", "k", "token-a"]),
        ];
        let refused = Refusal::from(table::Malformed::Owner).to_string();
        assert_eq!(said(&calls)[1..], [refused, "1".to_owned()]);
    }

    fn script() -> impl Strategy<Value = Script> {
        prop::sample::select(vec![
            Script::Release { absent: -1 },
            Script::Renew,
            Script::RenewOrTake,
            Script::Extend,
            Script::Left { least: -1, other: -3 },
            Script::TakeOrReplace,
            Script::TakeAll,
            Script::ReleaseAll,
            Script::ExtendAll,
            Script::ExpireEach,
            Script::Hold,
            Script::HoldWithToken,
            Script::ReleaseHold { tells: true, latched: true },
            Script::ReleaseHold { tells: true, latched: false },
            Script::ReleaseHold { tells: false, latched: true },
            Script::ReleaseHold { tells: false, latched: false },
            Script::RenewHolds,
            Script::RenewHold,
            Script::ForceRelease { tells: true },
            Script::ForceRelease { tells: false },
        ])
    }

    proptest! {
        #[test]
        fn any_words_have_one_answer_or_are_refused(
            calls in prop::collection::vec(
                (script(), prop::sample::select(vec!["0", "1", "1", "2", "3", "9", "x", "-1"]),
                 prop::collection::vec(prop::sample::select(vec![
                    "a", "b", "me", "other", "0", "1", "60000", "-5", "9999999999999999999",
                    "GT", "", "9223372036854775807",
                 ]), 0..9)),
                1..30,
            ),
        ) {
            let calls: Vec<(Script, Vec<&str>)> = calls
                .into_iter()
                .map(|(script, keys, words)| (script, [&[keys][..], &words].concat()))
                .collect();
            prop_assert_eq!(said(&calls).len(), calls.len());
        }
    }
}
