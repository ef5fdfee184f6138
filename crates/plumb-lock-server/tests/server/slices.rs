//! However much there is to be done, a turn of the server does a bounded part of it; what is seen
//! meanwhile is what would be seen if all were done at once.

use plumb_engine::{Ended, Service as _};
use plumb_lock_server::Event;
use plumb_lock_table::journal::{Notes, Policy, Restored};
use plumb_lock_table::table::Limits;

use crate::waiting::{Bench, Still, plan};

/// The most work of one turn that is not asked for by a command: owners and keys that end, rows
/// that are given back, looked through or listed, requests that are tried again.
const WORK_MAX: u64 = 12_000;
const LIMITS: Limits = Limits { rows: 200_000, scan: 20_000 };

/// Says many lines, with a turn behind each hundred.
fn say_all(bench: &mut Bench<'_>, client: usize, lines: impl Iterator<Item = String>) {
    for (at, line) in lines.enumerate() {
        let said = bench.say(client, &line);
        assert!(said.starts_with(':') || said.starts_with('+'), "{line}: {said}");
        if at % 100 == 99 {
            bench.turn();
        }
    }
    bench.rest();
}

/// Runs turns until nothing is left, each within its bounds; how many.
fn bounded(bench: &mut Bench<'_>) -> usize {
    let mut turns = 0;
    loop {
        let before = bench.server.work();
        bench.turn();
        let work = bench.server.work() - before;
        assert!(work <= WORK_MAX, "{work} in one turn");
        turns += 1;
        if bench.rest_is_over() {
            return turns;
        }
    }
}

/// Says one line, which may do no more than a turn does.
fn say_bounded(bench: &mut Bench<'_>, client: usize, line: &str) -> String {
    let before = bench.server.work();
    let said = bench.say(client, line);
    let work = bench.server.work() - before;
    assert!(work <= 20_300, "{work} for {line}");
    said
}

#[test]
fn a_release_of_everything_is_seen_at_once_and_done_in_slices() {
    const LOCKS: u64 = 50_000;
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), LIMITS, &clock, &mut tell);
    for command in ["DEQALL big", "REMOVE OWNER big"] {
        let (one, two) = (bench.client(), bench.client());
        say_all(&mut bench, one, (0..LOCKS).map(|at| format!("ENQ big E T {at}")));
        let free = bench.client();
        assert_eq!(bench.say(free, "ENQ next WAIT 600000 X T 7"), "");
        assert_eq!(say_bounded(&mut bench, one, command), format!(":{LOCKS}\r\n"));
        // nobody meets what is gone, whatever of it still takes room
        assert_eq!(bench.say(two, "COUNT big"), ":0\r\n");
        assert!(bench.say(two, "ENQ other X T 40000").starts_with(':'));
        assert!(bench.say(one, "ENQ big X T 40001").starts_with(':'), "the name is free");
        assert_eq!(bench.say(two, "COUNT big"), ":1\r\n");
        assert!(bench.say(two, "LOCKSTAT").contains("$5\r\nlocks\r\n:2\r\n"));
        assert!(bench.say(two, "LOCKS").ends_with("\r\n*0\r\n"), "none is shown");
        assert!(bounded(&mut bench) >= 5, "not in one go");
        assert_eq!(bench.late.pop().map(|it| it.0), Some(free), "who waited has it");
        for owner in ["other", "big", "next"] {
            assert_eq!(bench.say(one, &format!("DEQALL {owner}")), ":1\r\n");
        }
        assert!(bench.say(two, "LOCKSTAT").contains("$5\r\nlocks\r\n:0\r\n"));
        assert!(bench.say(two, "LOCKSTAT").contains("$9\r\narguments\r\n:0\r\n"));
    }
}

#[test]
fn one_scope_of_many_locks_and_a_fence_number_in_a_large_table_are_released_in_slices() {
    const LOCKS: u64 = 30_000;
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), LIMITS, &clock, &mut tell);
    let (one, two) = (bench.client(), bench.client());
    say_all(&mut bench, one, (0..LOCKS).map(|at| format!("ENQ big SCOPE {} E T {at}", 1 + at % 3)));
    assert_eq!(say_bounded(&mut bench, one, "DEQALL big SCOPE 1"), "", "it waits");
    bench.turn();
    // one that was to be looked at goes meanwhile, and one comes
    assert_eq!(bench.say(two, "DEQ big SCOPE 3 E T 1"), ":1\r\n");
    assert!(bench.say(two, "ENQ big SCOPE 2 E T more").starts_with(':'));
    assert!(bounded(&mut bench) > 10, "not in one go");
    let (who, said) = bench.late.pop().expect("it was answered");
    assert_eq!((who, &*said), (one, &format!(":{}\r\n", LOCKS / 3).into_bytes()[..]));
    assert_eq!(bench.say(two, "COUNT big"), format!(":{}\r\n", LOCKS / 3 * 2));
    let fence = bench.say(two, "ENQ other E T last").trim().trim_start_matches(':').to_owned();
    assert_eq!(say_bounded(&mut bench, one, &format!("REMOVE FENCE {fence}")), "", "it waits");
    bounded(&mut bench);
    assert_eq!(bench.late.pop(), Some((one, b":1\r\n".to_vec())));
    assert_eq!(bench.say(two, "COUNT other"), ":0\r\n");
}

#[test]
fn leases_that_end_together_end_in_slices_and_nobody_meets_one_that_is_over() {
    const OWNERS: u64 = 20_000;
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), LIMITS, &clock, &mut tell);
    let (one, two) = (bench.client(), bench.client());
    say_all(&mut bench, one, (0..OWNERS).map(|at| format!("ENQ o{at} LEASE 1000 E T {at}")));
    say_all(&mut bench, one, (0..OWNERS).map(|at| format!("SET k{at} v{at} NX PX 1000")));
    bench.pass(1_000_000_000);
    bench.turn();
    // its turn has not come, and its time is over
    let last = OWNERS - 1;
    assert!(bench.say(two, &format!("ENQ other X T {last}")).starts_with(':'));
    let before_last = OWNERS - 2;
    assert_eq!(bench.say(two, &format!("RENEW o{before_last} 1000")), ":0\r\n", "too late");
    assert_eq!(bench.say(two, &format!("GET k{last}")), "$-1\r\n");
    assert_eq!(bench.say(two, &format!("SET k{before_last} w NX PX 90000")), "+OK\r\n");
    // the same owner, with a lock of its own that is new: it does not end with the old ones
    let third = OWNERS - 3;
    assert!(bench.say(two, &format!("ENQ o{third} E T new")).starts_with(':'));
    assert!(bounded(&mut bench) > 20, "not in one go");
    assert_eq!(bench.say(two, &format!("COUNT o{third}")), ":1\r\n");
    assert!(bench.say(two, "LOCKSTAT").contains("$5\r\nlocks\r\n:3\r\n"));
}

#[test]
fn owners_of_a_connection_that_is_gone_end_in_slices() {
    const OWNERS: u64 = 20_000;
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), LIMITS, &clock, &mut tell);
    let (one, two) = (bench.client(), bench.client());
    say_all(&mut bench, one, (0..OWNERS).map(|at| format!("ENQ o{at} E T {at}")));
    bench.server.close(one, Ended::ByClient);
    assert!(bounded(&mut bench) > 20, "not in one go");
    assert!(bench.say(two, "LOCKSTAT").contains("$5\r\nlocks\r\n:0\r\n"));
}

#[test]
fn wildcards_are_bounded_over_all_elements_and_a_large_name_is_put_in_order_in_slices() {
    const LOCKS: u64 = 60_000;
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), LIMITS, &clock, &mut tell);
    let (one, two) = (bench.client(), bench.client());
    say_all(&mut bench, one, (0..LOCKS).map(|at| format!("ENQ big E T {at:06}")));
    let asking = bench.client();
    assert_eq!(say_bounded(&mut bench, asking, "CHECK other V T 0000@@"), "", "not in order yet");
    // what comes and goes meanwhile is found, or not
    bench.turn();
    assert_eq!(bench.say(two, "DEQ big E T 000000"), ":1\r\n");
    assert!(bench.say(two, "ENQ third KEEP E T 00007x").starts_with(':'));
    bounded(&mut bench);
    let (who, said) = bench.late.pop().expect("it was answered");
    assert!(who == asking && said.starts_with(b"*8\r\n$4\r\nHELD"), "{said:?}");
    // one's own locks are all looked at: a thousand for each of 256 elements are too many
    let wide = (0..256).map(|at| format!(" E T 0{:02}@@@", 1 + at % 59)).collect::<String>();
    let said = say_bounded(&mut bench, two, &format!("CHECK big{wide}"));
    assert!(said.starts_with("*2\r\n$5\r\nBROAD"), "{said}");
    let said = say_bounded(&mut bench, two, "CHECK big E T 001@@@");
    assert_eq!(said, ":0\r\n", "a thousand are few");
    assert!(say_bounded(&mut bench, two, "ENQ x E T 00007@").contains("big"), "held");
    assert!(say_bounded(&mut bench, two, "CHECK big E T 00007@").contains("third"));
}

#[test]
fn pages_and_digests_look_at_a_bounded_part() {
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), LIMITS, &clock, &mut tell);
    let (one, two) = (bench.client(), bench.client());
    say_all(&mut bench, one, (0..60_000).map(|at| format!("ENQ big E T {at}")));
    for line in ["LOCKS COUNT 10000", "LOCKS NAME none", "DIGEST 000102030405060708090a0b0c0d0e0f"]
    {
        let before = bench.server.work();
        let said = bench.say(two, line);
        assert!(bench.server.work() - before <= 10_001, "{line}");
        assert!(said.len() < 1 << 20, "{} bytes for {line}", said.len());
        assert!(!said.contains("\r\n:0\r\n*0"), "there is more to come");
    }
}

#[test]
fn a_client_that_pipelines_has_its_turn_like_everybody() {
    use plumb_wire::resp;
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), LIMITS, &clock, &mut tell);
    let mut one = bench.client();
    let (mut bytes, mut out) = (Vec::new(), Vec::new());
    for _ in 0..10_000 {
        resp::push_command(&mut bytes, &[b"PING"]);
    }
    let served = bench.server.serve(&mut one, &bytes, &mut out);
    assert!(bench.server.yields(&one));
    assert!(served.consumed < bytes.len() / 2, "{} of {}", served.consumed, bytes.len());
    bench.turn();
    let more = bench.server.serve(&mut one, &bytes[served.consumed..], &mut out);
    assert!(more.consumed > 0, "it goes on in the next turn");
}

#[test]
fn half_of_a_long_pipeline_is_answered_before_the_rest_is_served() {
    use plumb_wire::resp;
    let folder = tempfile::tempdir().unwrap();
    let mut notes = vec![Notes::none()];
    for policy in [Policy::Interval(1_000_000_000), Policy::Always] {
        let path = folder.path().join(format!("{policy:?}"));
        notes.push(Notes::open(&path, policy, LIMITS, 1).unwrap().0);
    }
    for notes in notes {
        let whole = notes.syncs_every_turn(); // two waits for the disk would take longer
        let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
        let start = (Restored::empty(LIMITS), notes);
        let mut bench = Bench::restored(plan(), start, &clock, &mut tell);
        let mut one = bench.client();
        let (mut bytes, mut out, mut consumed) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..64 {
            let argument = format!("800000000000000000{number:010}");
            resp::push_command(&mut bytes, &[b"ENQ", b"owner", b"E", b"VBAK", argument.as_bytes()]);
        }
        let mut at = 0;
        while at < bytes.len() {
            let served = bench.server.serve(&mut one, &bytes[at..], &mut out);
            at += served.consumed;
            assert!(at == bytes.len() || bench.server.yields(&one), "it goes on in a turn");
            consumed.push(served.consumed * 100 / bytes.len());
            bench.turn();
        }
        assert_eq!(out.iter().filter(|byte| **byte == b':').count(), 64);
        assert_eq!(consumed, if whole { vec![100] } else { vec![50, 50] });
    }
}
