//! Any words make a command that has exactly one answer.

use plumb_engine::clock::MonotonicClock;
use plumb_engine::{Ended, Peer, Service as _};
use plumb_lock_server::{Event, LockServer, ServerPlan};
use plumb_lock_table::journal::{Notes, Restored};
use plumb_lock_table::table::Limits;
use plumb_wire::resp::{self, Reply, ReplyLimits};
use proptest::prelude::*;

use crate::cases::cases;
use crate::waiting;

/// Every command, and two that there are not.
const VERBS: [&str; 45] = [
    "ENQ",
    "PROMOTE",
    "CHECK",
    "DEQ",
    "DEQALL",
    "INHERIT",
    "RENEW",
    "REMOVE",
    "LOCKS",
    "DIGEST",
    "COUNT",
    "LOCKSTAT",
    "METRICS",
    "EPOCH",
    "SET",
    "DEL",
    "UNLINK",
    "GET",
    "EXISTS",
    "PTTL",
    "EVAL",
    "EVALSHA",
    "SCRIPT",
    "PING",
    "ECHO",
    "HELLO",
    "AUTH",
    "SELECT",
    "CLIENT",
    "COMMAND",
    "CONFIG",
    "INFO",
    "SETNX",
    "TTL",
    "HGET",
    "HEXISTS",
    "EXPIRE",
    "PEXPIRE",
    "SUBSCRIBE",
    "UNSUBSCRIBE",
    "QUIT",
    "POST",
    "Host:",
    "NONSENSE",
    "",
];

/// A script that is known.
const COMPARE_AND_DELETE: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

/// Words that mean something somewhere, and some that never do.
const WORDS: [&str; 55] = [
    "a",
    "b",
    "E",
    "S",
    "X",
    "O",
    "R",
    "U",
    "V",
    "W",
    "C",
    "e",
    "Q",
    "EX",
    "MARA",
    "VBAK",
    "1",
    "001",
    "0@",
    "@@",
    "",
    "0",
    "2",
    "-1",
    "18446744073709551615",
    "18446744073709551616",
    "31622400001",
    "SCOPE",
    "USER",
    "LEASE",
    "KEEP",
    "WAIT",
    "FENCE",
    "EPOCH",
    "OWNER",
    "NAME",
    "CURSOR",
    "COUNT",
    "LOCK",
    "NX",
    "PX",
    "GET",
    "XX",
    "KEEPTTL",
    "PXAT",
    "GT",
    COMPARE_AND_DELETE,
    "e9f69f2beb755be68b5e456ee2ce9aadfbc4ebf4",
    "LOAD",
    "SETNAME",
    "OVERFLOWS",
    "\r\n",
    "\u{ff}",
    "000102030405060708090a0b0c0d0e0f",
    "HTTP/1.1",
];

const LIMITS: ReplyLimits = ReplyLimits { bytes: 1 << 20, items: 100_000 };

fn command() -> impl Strategy<Value = Vec<String>> {
    let word = prop_oneof![
        20 => prop::sample::select(&WORDS[..]).prop_map(str::to_owned),
        1 => prop::sample::select(vec![31, 33, 65, 256, 4_096]).prop_map(|n| "x".repeat(n)),
    ];
    let words = prop::collection::vec(word, 0..9);
    (prop::sample::select(&VERBS[..]), words)
        .prop_map(|(verb, words)| std::iter::once(verb.to_owned()).chain(words).collect())
}

fn plan(password: Option<&str>) -> ServerPlan {
    ServerPlan {
        wait_ns_max: 1_000_000_000_000,
        password: password.map(|text| text.as_bytes().to_vec()),
        ..waiting::plan()
    }
}

/// Says all commands to a server, on connections that are made anew when it ends one.
fn say(commands: &[Vec<String>], password: Option<&str>) {
    let mut tell = |_: Event<'_>| {};
    let restored: Restored = Restored::empty(Limits { rows: 20, scan: 10 });
    let notes = Notes::none();
    let mut server = LockServer::new(plan(password), (restored, notes), MonotonicClock, &mut tell);
    let mut client = server.open(&Peer::Unix).expect("everybody is taken");
    for command in commands {
        let words: Vec<&[u8]> = command.iter().map(String::as_bytes).collect();
        let (mut bytes, mut out) = (Vec::new(), Vec::new());
        resp::push_command(&mut bytes, &words);
        let served = server.serve(&mut client, &bytes, &mut out);
        assert_eq!(served.consumed, bytes.len(), "{command:?}");
        let waits = server.waits(&client);
        let several = command[0].ends_with("SUBSCRIBE"); // an answer for each channel
        if waits {
            assert!(out.is_empty(), "{command:?}");
        } else if command[0] != "HELLO" {
            // it may have asked for another version, which this side does not read
            let (reply, mut taken) =
                resp::reply(&out, &LIMITS).expect("it is sound").expect("it is complete");
            while several && taken < out.len() {
                let rest = resp::reply(&out[taken..], &LIMITS).expect("it is sound");
                taken += rest.expect("it is complete").1;
            }
            assert_eq!(taken, out.len(), "{command:?} has one answer");
            let known = password.is_none() || matches!(reply, Reply::Error(_));
            assert!(known || command[0] == "QUIT", "{command:?} before the password: {reply:?}");
        }
        if waits || served.close || command[0] == "HELLO" {
            server.close(client, Ended::ByClient);
            client = server.open(&Peer::Unix).expect("everybody is taken");
        }
    }
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn any_words_have_one_answer(commands in prop::collection::vec(command(), 1..40)) {
        say(&commands, None);
    }

    #[test]
    fn nothing_is_served_before_the_password(
        commands in prop::collection::vec(command(), 1..10),
    ) {
        say(&commands, Some("open sesame"));
    }
}
