//! Requests that wait until arguments are in order, and then for a lock, are requests like any other.

use plumb_lock_server::Event;
use plumb_lock_table::table::Limits;

use crate::waiting::{Bench, Still, plan};

const LIMITS: Limits = Limits { rows: 20_000, scan: 20_000 };
const MS: u64 = 1_000_000;

/// Locks enough of one name that its arguments have to be put in order, and one of `other` behind
/// which requests for `zz@` wait.
fn fill(bench: &mut Bench<'_>) -> usize {
    let client = bench.client();
    for at in 0..6_000 {
        bench.say(client, &format!("ENQ big E T {at}"));
    }
    assert!(bench.say(client, "ENQ other E T zz1").starts_with(':'));
    bench.rest();
    client
}

#[test]
fn who_waits_for_order_and_then_for_a_lock_is_told_that_its_own_locks_are_lost() {
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), LIMITS, &clock, &mut tell);
    let other = fill(&mut bench);
    let waits = bench.client();
    assert!(bench.say(waits, "ENQ a LEASE 1000 E U 1").starts_with(':'));
    assert_eq!(bench.say(waits, "ENQ a WAIT 10000 E T zz@"), "", "not in order yet");
    bench.rest();
    assert!(bench.late.is_empty(), "it waits for the lock");
    assert!(bench.say(other, "LOCKSTAT").contains("waits\r\n:1\r\n"), "and is counted");
    bench.pass(1_000 * MS);
    bench.rest();
    let (who, said) = bench.late.pop().expect("it is told");
    assert!(who == waits && said.starts_with(b"-LOST "), "{:?}", String::from_utf8_lossy(&said));
    assert_eq!(bench.say(other, "DEQALL other"), ":1\r\n");
    bench.rest();
    assert!(bench.late.is_empty(), "nothing is granted to it");
}

#[test]
fn who_loses_its_locks_while_arguments_are_put_in_order_is_told_so() {
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), LIMITS, &clock, &mut tell);
    let other = fill(&mut bench);
    let (waits, asks) = (bench.client(), bench.client());
    assert!(bench.say(waits, "ENQ a KEEP E U 1").starts_with(':'));
    assert!(bench.say(asks, "ENQ b KEEP E U 2").starts_with(':'));
    assert_eq!(bench.say(waits, "ENQ a E T yy@"), "", "not in order yet");
    assert_eq!(bench.say(asks, "CHECK b E T yy@"), "", "not in order yet");
    bench.say(other, "REMOVE OWNER a");
    bench.say(other, "REMOVE OWNER b");
    bench.rest();
    bench.late.sort();
    let said: Vec<_> = bench.late.iter().map(|(who, said)| (*who, said[0])).collect();
    assert_eq!(said, [(waits, b'-'), (asks, b':')], "who only asks has lost nothing by it");
}

#[test]
fn a_wait_is_as_long_as_it_says_whatever_has_to_be_put_in_order_meanwhile() {
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), LIMITS, &clock, &mut tell);
    let other = fill(&mut bench);
    let waits = bench.client();
    assert!(bench.say(other, "ENQ first E U 1").starts_with(':'));
    assert_eq!(bench.say(waits, "ENQ a WAIT 5000 E U 1 E T zz@"), "", "the first is held");
    bench.pass(4_000 * MS);
    assert_eq!(bench.say(other, "DEQALL first"), ":1\r\n");
    bench.rest();
    assert!(bench.late.is_empty(), "now it waits for the second");
    assert!(bench.say(other, "LOCKSTAT").contains("waits\r\n:1\r\n"), "it is one request");
    bench.pass(999 * MS);
    bench.rest();
    assert!(bench.late.is_empty());
    bench.pass(MS);
    bench.rest();
    let (who, said) = bench.late.pop().expect("its time is over");
    assert!(who == waits && said.starts_with(b"*8\r\n$4\r\nHELD"), "{said:?}");
}
