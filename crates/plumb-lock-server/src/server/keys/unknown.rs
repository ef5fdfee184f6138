//! Scripts that are not known, called for locks: those end with their time.

use plumb_lock_table::table::Rules;
use plumb_measure::Clock;

use super::call::Call;
use super::known::digest;
use crate::server::words::Command;
use crate::server::{Event, LockServer};

/// Scripts that the operator is told of.
const TOLD_MAX: usize = 100;

/// What is remembered of scripts that are not known.
#[derive(Debug, Default)]
pub(in crate::server) struct UnknownScripts {
    /// The last that was called by its digest, and the lock with a time that it was called for.
    called: Option<([u8; 40], Vec<u8>)>,
    /// Those that the operator was told of.
    told: Vec<[u8; 40]>,
}

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// `EVALSHA` named a script that nobody has loaded: its text may follow in a command without keys.
    pub(super) fn note_unknown(&mut self, command: Command<'_>) {
        let digest: Option<[u8; 40]> = command.get(1).try_into().ok();
        if let (Some(digest), Some(lock)) = (digest, self.lock_with_a_time(command)) {
            self.unknown_scripts.called =
                Some((digest.map(|byte| byte.to_ascii_lowercase()), lock));
        }
    }

    /// Tells the operator, once for each script, that the lock which it was called for ends with its time: a
    /// library that cannot renew it does not know that.
    pub(super) fn tell_of_unknown(&mut self, text: &[u8], command: Command<'_>) {
        let digest = digest(text);
        let called =
            self.unknown_scripts.called.take_if(|(of, _)| *of == digest).map(|(_, lock)| lock);
        let lock = if command.is(0, "EVAL") { self.lock_with_a_time(command) } else { called };
        let UnknownScripts { told, .. } = &mut self.unknown_scripts;
        let Some(lock) = lock.filter(|_| told.len() < TOLD_MAX && !told.contains(&digest)) else {
            return;
        };
        told.push(digest);
        let script = String::from_utf8_lossy(&digest);
        (self.tell)(Event::UnknownScript(&script, &String::from_utf8_lossy(&lock)));
    }

    /// The first key of a call whose lock ends by itself.
    fn lock_with_a_time(&mut self, command: Command<'_>) -> Option<Vec<u8>> {
        let call = Call::read(command).ok()?;
        let mut ends = |key: &&[u8]| {
            let lock = self.standing(key);
            lock.is_some_and(|lock| self.left_ms(lock).is_some())
        };
        (0..call.keys).map(|at| call.key(at)).find(&mut ends).map(<[u8]>::to_vec)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use plumb_engine::clock::MonotonicClock;
    use plumb_engine::{Ended, Peer, Service as _};
    use plumb_lock_table::journal::{Notes, Restored};
    use plumb_lock_table::table;
    use plumb_wire::resp::{self, Words};

    use super::super::script::tests::{LIMITS, plan};
    use super::*;

    #[test]
    fn a_lock_that_a_script_cannot_renew_is_told_of_once() {
        let renewal = "return redis.call('lpush', KEYS[1], ARGV[1])";
        let of_renewal = String::from_utf8_lossy(&digest(renewal.as_bytes())).into_owned();
        let told = Mutex::new(Vec::new());
        let mut tell = |event: Event<'_>| told.lock().unwrap().push(event.to_string());
        let restored: Restored = Restored::empty(table::Limits { rows: 20, scan: 10 });
        let mut server =
            LockServer::new(plan(), (restored, Notes::none()), MonotonicClock, &mut tell);
        let client = server.open(&Peer::Unix).expect("everybody is taken");
        let mut say = |words: &[&str]| {
            let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
            let (mut bytes, mut read) = (Vec::new(), Words::default());
            resp::push_command(&mut bytes, &words);
            resp::command(&bytes, &LIMITS, &mut read).expect("sound").expect("complete");
            let command = Command { bytes: &bytes, words: &read };
            let said = match words[0] {
                b"SET" => server.set(client, command, &mut Vec::new()),
                b"SCRIPT" => server.script(command, &mut Vec::new()),
                _ => server.eval(client, command, &mut Vec::new()),
            };
            let _ = said; // what is refused is tested elsewhere
            told.lock().unwrap().len()
        };
        assert_eq!(say(&["EVAL", renewal, "1", "k", "1"]), 0, "nobody has the lock");
        say(&["SET", "for-ever", "me", "NX"]);
        assert_eq!(say(&["EVAL", renewal, "1", "for-ever", "1"]), 0, "it does not end");
        say(&["SET", "k", "me", "NX", "PX", "60000"]);
        assert_eq!(say(&["SCRIPT", "LOAD", renewal]), 0, "of no lock");
        assert_eq!(say(&["EVALSHA", &of_renewal.to_uppercase(), "1", "k", "1"]), 0);
        assert_eq!(say(&["SCRIPT", "LOAD", "return 1"]), 0, "another");
        for _ in 0..2 {
            say(&["EVALSHA", &of_renewal, "1", "k", "1"]);
            assert_eq!(say(&["SCRIPT", "LOAD", renewal]), 1);
            assert_eq!(say(&["EVAL", renewal, "1", "k", "1"]), 1);
        }
        assert_eq!(say(&["EVAL", "return 2", "2", "none", "k", "1"]), 2);
        server.close(client, Ended::ByClient);
        drop(server);
        let told = told.into_inner().unwrap();
        assert!(told[0].contains(&of_renewal) && told[0].contains("the lock `k`"), "{told:?}");
    }
}
