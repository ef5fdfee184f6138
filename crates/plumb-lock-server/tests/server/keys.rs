//! Keys of clients of Redis that are set again.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use plumb_engine::Service as _;
use plumb_lock_server::{Event, ServerPlan};
use plumb_lock_table::table::Limits;

use crate::waiting::{Bench, Still, plan};

/// What Redisson says to take a lock and to release it once, to end it whoever has it, and to set
/// times to live.
pub(crate) const HOLD: &str = "if ((redis.call('exists', KEYS[1]) == 0) or \
    (redis.call('hexists', KEYS[1], ARGV[2]) == 1)) then redis.call('hincrby', KEYS[1], ARGV[2], 1); \
    redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; return redis.call('pttl', KEYS[1]);";
pub(crate) const RELEASE_HOLD: &str = "local val = redis.call('get', KEYS[3]); if val ~= false then \
    return tonumber(val);end; if (redis.call('hexists', KEYS[1], ARGV[3]) == 0) then return nil;end; \
    local counter = redis.call('hincrby', KEYS[1], ARGV[3], -1); if (counter > 0) then \
    redis.call('pexpire', KEYS[1], ARGV[2]); redis.call('set', KEYS[3], 0, 'px', ARGV[5]); return 0; \
    else redis.call('del', KEYS[1]); redis.call(ARGV[4], KEYS[2], ARGV[1]); \
    redis.call('set', KEYS[3], 1, 'px', ARGV[5]); return 1; end; ";
pub(crate) const FORCE_RELEASE: &str = "if (redis.call('del', KEYS[1]) == 1) then \
    redis.call(ARGV[2], KEYS[2], ARGV[1]); return 1 else return 0 end";
const EXPIRE_EACH: &str = "local result = 0;for j = 1, #KEYS, 1 do local expireSet; \
    if ARGV[2] ~= '' then expireSet = redis.call('pexpire', KEYS[j], ARGV[1], ARGV[2]); else \
    expireSet = redis.call('pexpire', KEYS[j], ARGV[1]); end; \
    if expireSet == 1 then result = expireSet;end; end; return result; ";

/// Calls a script, which is the same without white space, with these words.
pub(crate) fn eval(bench: &mut Bench<'_>, client: usize, script: &str, words: &str) -> String {
    bench.say(client, &format!("EVAL {} {words}", script.replace(' ', "")))
}

#[test]
fn a_value_that_is_refused_leaves_the_key_as_it_was() {
    // as many keys as the table has room for
    let limits = Limits { rows: 2, scan: 10 };
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), limits, &clock, &mut tell);
    let (one, two) = (bench.client(), bench.client());
    assert_eq!(bench.say(one, "SET k1 v NX PX 600000"), "+OK\r\n");
    assert_eq!(bench.say(one, "SET k2 v NX PX 600000"), "+OK\r\n");
    for value in ["", &"x".repeat(65)] {
        let said = bench.say(one, &format!("SET k1 {value} XX PX 1000"));
        assert!(said.starts_with("-ERR the owner must have 1 to 64 bytes"), "{said}");
        assert_eq!(bench.say(two, "GET k1"), "$1\r\nv\r\n");
        assert_eq!(bench.say(two, "PTTL k1"), ":600000\r\n");
        assert_eq!(bench.say(two, "SET k1 other NX"), "$-1\r\n");
    }
    // another value takes the place of the old one where there is no other
    assert_eq!(bench.say(one, "SET k1 w XX PX 1000"), "+OK\r\n");
    assert_eq!(bench.say(one, "SET k2 u XX PX 1000"), "+OK\r\n");
    assert_eq!(bench.say(two, "GET k1"), "$1\r\nw\r\n");
    assert_eq!(bench.say(two, "PTTL k2"), ":1000\r\n");
}

#[test]
fn a_time_that_ends_sooner_is_for_the_connection_that_took_the_key() {
    let limits = Limits { rows: 9, scan: 10 };
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), limits, &clock, &mut tell);
    let (one, two) = (bench.client(), bench.client());
    bench.say(one, "SET k mine NX PX 30000");
    bench.say(one, "SET endless mine NX");
    for line in ["PEXPIRE k 1", "EXPIRE k 29", "EXPIRE k 29 LT", "PEXPIRE k 0", "EXPIRE endless 9"]
    {
        assert_eq!(bench.say(two, line), ":0\r\n", "{line}");
    }
    assert_eq!(bench.say(two, "PTTL k"), ":30000\r\n");
    assert_eq!(bench.say(two, "PTTL endless"), ":-1\r\n");
    assert_eq!(bench.say(two, "EXPIRE k 40"), ":1\r\n", "it ends later");
    assert_eq!(bench.say(one, "PEXPIRE k 1"), ":1\r\n", "its own");
    assert_eq!(bench.say(one, "PTTL k"), ":1\r\n");
}

#[test]
fn no_script_ends_a_key_that_another_connection_has_set_to_a_value() {
    let limits = Limits { rows: 9, scan: 10 };
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), limits, &clock, &mut tell);
    let (one, two) = (bench.client(), bench.client());
    bench.say(one, "SET k mine NX PX 30000");
    assert_eq!(eval(&mut bench, two, FORCE_RELEASE, "2 k channel 0 PUBLISH"), ":0\r\n");
    for ms in ["1", "29999", "0"] {
        assert_eq!(eval(&mut bench, two, EXPIRE_EACH, &format!("1 k {ms} ")), ":0\r\n", "{ms}");
    }
    assert_eq!(bench.say(two, "PTTL k"), ":30000\r\n");
    assert_eq!(eval(&mut bench, two, EXPIRE_EACH, "1 k 40000 "), ":1\r\n", "it ends later");
    assert_eq!(eval(&mut bench, one, EXPIRE_EACH, "1 k 20000 "), ":1\r\n", "its own");
    assert_eq!(eval(&mut bench, one, FORCE_RELEASE, "2 k channel 0 PUBLISH"), ":1\r\n");
    assert_eq!(bench.say(two, "EXISTS k"), ":0\r\n");
}

#[test]
fn a_lock_that_counts_its_holds_is_ended_by_force_and_that_is_written_down() {
    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let limits = Limits { rows: 9, scan: 10 };
    let (clock, mut tell) = (Still::default(), |event: Event<'_>| {
        if let Event::Audited(audited) = event {
            TOLD.lock().expect("one test").push(audited.to_string());
        }
    });
    let mut bench = Bench::new(plan(), limits, &clock, &mut tell);
    let (one, two, ear) = (bench.client(), bench.client(), bench.client());
    bench.say(ear, "SUBSCRIBE lock:lost:me");
    assert_eq!(eval(&mut bench, one, HOLD, "1 k 30000 me"), "$-1\r\n");
    assert_eq!(eval(&mut bench, two, EXPIRE_EACH, "1 k 9000 "), ":1\r\n", "as a multi-lock does");
    assert_eq!(eval(&mut bench, two, FORCE_RELEASE, "2 k channel 0 PUBLISH"), ":1\r\n");
    assert_eq!(eval(&mut bench, two, FORCE_RELEASE, "2 k channel 0 PUBLISH"), ":0\r\n");
    let mut heard = Vec::new();
    assert!(bench.server.message(&mut heard).is_some(), "who lost it is told");
    assert!(heard.ends_with(b"lock:lost:me\r\n$9\r\nremoved 1\r\n"), "{heard:?}");
    let told = TOLD.lock().expect("one test").clone();
    assert_eq!(told, ["somebody from unix: EVAL forceUnlock k: 1 lock"]);
}

#[test]
fn times_by_the_wall_clock_are_counted_from_what_it_was_set_to() {
    static OFFSET_NS: AtomicU64 = AtomicU64::new(1_000_000_000_000);
    let limits = Limits { rows: 9, scan: 10 };
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let plan = ServerPlan { wall_offset: || OFFSET_NS.load(Ordering::Relaxed), ..plan() };
    let mut bench = Bench::new(plan, limits, &clock, &mut tell);
    let client = bench.client();
    assert_eq!(bench.say(client, "SET k1 v NX PXAT 1005000"), "+OK\r\n");
    assert_eq!(bench.say(client, "PTTL k1"), ":5000\r\n");
    for offset_s in [2_000, 500] {
        OFFSET_NS.store(offset_s * 1_000_000_000, Ordering::Relaxed);
        bench.pass(1_000_000_000);
        bench.turn();
        let at = (offset_s * 1_000_000_000 + clock.now_ns_now()) / 1_000_000 + 5_000;
        assert_eq!(bench.say(client, &format!("SET k{offset_s} v NX PXAT {at}")), "+OK\r\n");
        assert_eq!(bench.say(client, &format!("PTTL k{offset_s}")), ":5000\r\n");
    }
}
