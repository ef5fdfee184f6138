//! Removals that take many turns: what they have done is told, whoever waits for it, and answers
//! nothing else.

use std::sync::Mutex;

use plumb_engine::{Ended, Service as _};
use plumb_lock_pair::replication::Without;
use plumb_lock_server::{Event, ReplicationPlan, ServerPlan};
use plumb_lock_table::journal::{Notes, Restored};
use plumb_lock_table::table::Limits;

use crate::pair::Pair;
use crate::waiting::{Bench, Still, plan};

/// More than one turn looks at.
const LOCKS: u64 = 25_000;
const LIMITS: Limits = Limits { rows: 30_000, scan: 1_000 };

/// Takes a lock in the first of many places, and one in the last; the fence number of the first.
fn fill(bench: &mut Bench<'_>, client: usize) -> String {
    let first = bench.say(client, "ENQ first KEEP E T first");
    for at in 0..LOCKS {
        bench.say(client, &format!("ENQ big KEEP SCOPE 3 E T {at}"));
    }
    first.trim().trim_start_matches(':').to_owned()
}

fn figure(bench: &mut Bench<'_>, client: usize, name: &str) -> u64 {
    let said = bench.say(client, "INFO");
    let line = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|text| text.parse().ok()).expect("a figure")
}

#[test]
fn what_was_removed_for_a_client_that_hung_up_is_written_down_and_counted() {
    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let (clock, mut tell) = (Still::default(), |event: Event<'_>| {
        if let Event::Audited(audited) = event {
            TOLD.lock().expect("one test").push(audited.to_string());
        }
    });
    let mut bench = Bench::new(plan(), LIMITS, &clock, &mut tell);
    let (one, two, ear) = (bench.client(), bench.client(), bench.client());
    let fence = fill(&mut bench, one);
    bench.say(ear, "SUBSCRIBE lock:lost:first");
    assert_eq!(bench.say(two, &format!("REMOVE FENCE {fence}")), "", "it waits");
    bench.server.close(two, Ended::ByClient);
    assert!(bench.server.message(&mut Vec::new()).is_some(), "who lost it is told");
    assert_eq!(bench.say(one, "COUNT first"), ":0\r\n");
    assert_eq!(figure(&mut bench, one, "removals"), 1);
    let told = TOLD.lock().expect("one test").clone();
    let text = format!(" from unix: REMOVE FENCE {fence}: 1 lock in a part of the table");
    assert!(told.len() == 1 && told[0].ends_with(&text), "{told:?}");
}

#[test]
fn an_empty_text_of_a_listing_is_one_and_no_leave_to_show_everything() {
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), LIMITS, &clock, &mut tell);
    let client = bench.client();
    bench.say(client, "ENQ ann USER ann E T 1");
    bench.say(client, "ENQ nobody E T 2");
    bench.say(client, "SET key value NX");
    let mut shown = |filter: &str| {
        let said = bench.say(client, &format!("LOCKS{filter}"));
        ["T\r\n$1\r\n1", "T\r\n$1\r\n2", "key"].map(|lock| said.contains(lock))
    };
    assert_eq!(shown(""), [true, true, true]);
    assert_eq!(shown(" NAME "), [false, false, true]);
    assert_eq!(shown(" USER "), [false, true, true]);
    assert_eq!(shown(" OWNER "), [false, false, false]);
    let digest = format!("DIGEST {:032} NAME ", 7);
    assert!(bench.say(client, &digest).starts_with("*3\r\n:0\r\n:1\r\n"));
}

#[test]
fn a_removal_that_was_refused_while_it_went_on_answers_no_other() {
    let mut pair = Pair::new(LIMITS);
    let without = Without::Stop;
    let replication = ReplicationPlan { without, ..ReplicationPlan::default() };
    let start = (Restored::empty(LIMITS), Notes::none());
    let stops = ServerPlan { replication, ..plan() };
    pair.primary = Bench::restored(stops, start, pair.primary.clock, crate::pair::quiet());
    let (one, two) = (pair.primary.client(), pair.primary.client());
    pair.connect();
    pair.join();
    let fence = fill(&mut pair.primary, one);
    pair.join();
    assert_eq!(pair.primary.say(two, &format!("REMOVE FENCE {fence}")), "", "it waits");
    assert_eq!(pair.primary.say(one, "DEQALL big SCOPE 1"), "", "it waits");
    pair.cut();
    pair.primary.rest();
    assert_eq!(pair.primary.late.len(), 2);
    for (_, said) in pair.primary.late.drain(..) {
        assert!(said.starts_with(b"-NOREPLICAS "), "{:?}", String::from_utf8_lossy(&said));
    }
    pair.connect();
    pair.join();
    assert_eq!(figure(&mut pair.primary, one, "removals"), 1, "it was done all the same");
    let other = pair.primary.say(one, "ENQ other KEEP SCOPE 3 E T other");
    let other = other.trim().trim_start_matches(':');
    assert_eq!(pair.primary.say(one, "DEQALL other SCOPE 1"), ":0\r\n");
    assert!(pair.primary.say(one, "LOCKS OWNER other").contains("\r\n:0\r\n:1\r\n"));
    assert_eq!(pair.primary.say(two, &format!("REMOVE FENCE {other}")), "", "it is looked for");
    pair.primary.rest();
    assert_eq!(pair.primary.late.pop(), Some((two, b":1\r\n".to_vec())));
}
