//! Whoever listens is told at once that locks were lost, by whom, or that one could be had.

use plumb_engine::{Ended, Service as _};
use plumb_lock_server::Event;
use plumb_lock_table::table::Limits;

use crate::keys::{FORCE_RELEASE, HOLD, RELEASE_HOLD, eval};
use crate::waiting::{Bench, Still, plan};

const LIMITS: Limits = Limits { rows: 1_000, scan: 1_000 };
const S: u64 = 1_000_000_000;

/// What is said to this client without its asking, of messages in RESP 2 the last words.
fn heard(bench: &mut Bench<'_>) -> Vec<String> {
    bench.turn();
    let mut heard = Vec::new();
    let mut out = Vec::new();
    while bench.server.message(&mut out).is_some() {
        let text = String::from_utf8(std::mem::take(&mut out)).expect("text");
        let words: Vec<&str> = text.split("\r\n").filter(|word| !word.is_empty()).collect();
        assert!(words[0] == "*3" && words[2] == "message", "{text}");
        heard.push(format!("{} {}", words[4], words[6]));
    }
    heard
}

#[test]
fn who_lost_locks_is_told_and_why() {
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), LIMITS, &clock, &mut tell);
    let (one, two, ear) = (bench.client(), bench.client(), bench.client());
    bench.say(ear, "SUBSCRIBE lock:lost:a lock:events");
    bench.say(one, "ENQ a LEASE 1000 E T 1 E T 2");
    bench.say(one, "SET key value NX PX 1000");
    bench.say(two, "ENQ b KEEP E T 3 E T 4");
    bench.say(two, "ENQ c E T 5");
    assert!(heard(&mut bench).is_empty());
    bench.pass(2 * S);
    let mut told = heard(&mut bench);
    told.sort();
    assert_eq!(
        told,
        ["lock:events expired 1 value", "lock:events expired 2 a", "lock:lost:a expired 2"]
    );
    bench.say(one, "REMOVE LOCK T 3");
    assert_eq!(heard(&mut bench), ["lock:events removed 1 b"]);
    bench.say(one, "REMOVE OWNER b");
    assert_eq!(heard(&mut bench), ["lock:events removed 1 b"]);
    bench.server.close(two, Ended::ByClient);
    assert_eq!(heard(&mut bench), ["lock:events connection 1 c"]);
    // what somebody releases is no loss
    bench.say(one, "ENQ d E T 6");
    bench.say(one, "DEQALL d");
    assert!(heard(&mut bench).is_empty());
}

#[test]
fn who_was_refused_is_told_when_the_lock_could_be_had() {
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), LIMITS, &clock, &mut tell);
    let (one, two, ear) = (bench.client(), bench.client(), bench.client());
    bench.say(ear, "SUBSCRIBE lock:free:T:1");
    assert_eq!(heard(&mut bench), ["lock:free:T:1 free"], "it is free now");
    bench.say(one, "ENQ a S T 1");
    bench.say(two, "ENQ b S T 1");
    assert!(bench.say(two, "ENQ c X T 1").starts_with("*8"), "refused");
    bench.say(one, "DEQALL a");
    assert!(heard(&mut bench).is_empty(), "b has it still");
    bench.say(two, "DEQALL b");
    assert_eq!(heard(&mut bench), ["lock:free:T:1 free"]);
    bench.say(one, "ENQ a S T 1");
    bench.say(one, "DEQALL a");
    assert!(heard(&mut bench).is_empty(), "nobody was refused since");
    bench.say(ear, "UNSUBSCRIBE");
    bench.say(one, "ENQ a X T 1");
    bench.say(two, "ENQ c X T 1");
    bench.say(one, "DEQALL a");
    assert!(heard(&mut bench).is_empty(), "nobody listens");
}

#[test]
fn no_script_speaks_on_the_channels_of_the_server() {
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), LIMITS, &clock, &mut tell);
    let (client, ear) = (bench.client(), bench.client());
    bench.say(client, "ENQ a X T 1");
    bench.say(ear, "SUBSCRIBE lock:events lock:lost:a lock:free:T:1 lock:mine");
    for channel in ["lock:events", "lock:lost:a", "lock:free:T:1", "lock:mine"] {
        eval(&mut bench, client, HOLD, "1 k 30000 me");
        let words = format!("3 k {channel} latch-{channel} free 30000 me PUBLISH 1000");
        assert_eq!(eval(&mut bench, client, RELEASE_HOLD, &words), ":1\r\n", "{channel}");
        eval(&mut bench, client, HOLD, "1 k 30000 me");
        let words = format!("2 k {channel} free PUBLISH");
        assert_eq!(eval(&mut bench, client, FORCE_RELEASE, &words), ":1\r\n", "{channel}");
    }
    let mut heard = heard(&mut bench);
    heard.sort();
    heard.dedup();
    assert_eq!(heard, ["lock:events removed 1 me", "lock:mine free"]);
}
