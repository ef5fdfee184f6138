//! What was promised to an owner or a key lasts over a promotion and a start from the journal.

use std::path::Path;

use plumb_engine::{Ended, Service as _};
use plumb_lock_table::journal::{Notes, Policy, Restored};
use plumb_lock_table::table::Limits;

use crate::pair::{Pair, of_a_replica, quiet};
use crate::waiting::{Bench, Still, plan};

const LIMITS: Limits = Limits { rows: 10_000, scan: 1_000 };
const S: u64 = 1_000_000_000;

/// The replica takes the place of the primary, and whoever has but some grace is gone.
fn promoted(pair: &mut Pair<'static>) -> usize {
    pair.cut();
    let client = pair.replica.client();
    assert!(pair.replica.say(client, "REPLICA PROMOTE").starts_with(':'));
    wait(&mut pair.replica, S);
    client
}

/// Lets so much time pass, and what is over then end. A server that was promoted never rests: it
/// looks for the one whose place it took.
fn wait(server: &mut Bench<'_>, ns: u64) {
    server.pass(ns);
    (0..3).for_each(|_| {
        server.turn();
    });
}

#[test]
fn an_owner_that_promotes_its_only_lock_is_kept_on_the_replica() {
    for life in ["KEEP", "LEASE 600000"] {
        for promotes in ["PROMOTE o MARA 1", "ENQ o R MARA 1"] {
            let mut pair = Pair::new(LIMITS);
            let client = pair.primary.client();
            pair.connect();
            pair.join();
            assert!(pair.primary.say(client, &format!("ENQ o {life} O MARA 1")).starts_with(':'));
            pair.pass();
            assert!(pair.primary.say(client, promotes).starts_with(':'));
            pair.pass();
            let client = promoted(&mut pair);
            assert_eq!(pair.replica.say(client, "COUNT o"), ":1\r\n", "{life}, {promotes}");
        }
    }
}

#[test]
fn an_owner_that_ends_and_comes_again_in_one_turn_has_its_new_life_on_the_replica() {
    let mut pair = Pair::new(LIMITS);
    let client = pair.primary.client();
    pair.connect();
    pair.join();
    pair.primary.say(client, "ENQ o KEEP E T 1");
    pair.pass();
    pair.primary.say(client, "DEQALL o");
    pair.primary.say(client, "ENQ o E T 2");
    pair.pass();
    let client = promoted(&mut pair);
    assert_eq!(pair.replica.say(client, "COUNT o"), ":0\r\n", "it had some grace");
}

#[test]
fn what_is_taken_while_a_replica_is_filled_lives_there_as_long() {
    let mut pair = Pair::new(LIMITS);
    let client = pair.primary.client();
    // more places than go into one slice, of which those at the front are given again
    for at in 0..1_500 {
        pair.primary.say(client, &format!("ENQ fills KEEP E T {at}"));
    }
    for (owner, life) in [("kept", "KEEP"), ("leased", "LEASE 600000")] {
        pair.primary.say(client, &format!("ENQ {owner} {life} E T {owner}"));
    }
    pair.primary.say(client, "SET key value NX PX 600000");
    for at in 0..3 {
        pair.primary.say(client, &format!("DEQ fills E T {at}"));
    }
    pair.connect();
    pair.pass();
    for owner in ["kept", "leased"] {
        let said = pair.primary.say(client, &format!("ENQ {owner} E T other-{owner}"));
        assert!(said.starts_with(':'), "{said}");
    }
    for owner in ["kept", "leased"] {
        assert_eq!(pair.primary.say(client, &format!("DEQ {owner} E T {owner}")), ":1\r\n");
    }
    assert_eq!(pair.primary.say(client, "SET key another XX PX 600000"), "+OK\r\n");
    pair.join();
    let client = promoted(&mut pair);
    for owner in ["kept", "leased", "another"] {
        assert_eq!(pair.replica.say(client, &format!("COUNT {owner}")), ":1\r\n", "{owner}");
    }
}

/// A server with the journal in `folder`, the replica of another if `replica`.
pub(crate) fn with_journal(
    folder: &Path,
    plan: plumb_lock_server::ServerPlan,
) -> (Bench<'static>, &'static Still) {
    let clock: &'static Still = Box::leak(Box::new(Still::default()));
    let (notes, restored) = Notes::open(folder, Policy::Always, LIMITS, 1).expect("it is sound");
    (Bench::restored(plan, (restored, notes), clock, quiet()), clock)
}

#[test]
fn a_replica_that_is_promoted_with_its_journal_alone_ends_what_was_to_end_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (mut before, _) = with_journal(folder.path(), plan());
    let client = before.client();
    before.say(client, "SET key value NX PX 30000");
    before.say(client, "ENQ kept KEEP E T 1");
    before.say(client, "ENQ leased LEASE 30000 E T 2");
    before.say(client, "ENQ short E T 3");
    before.turn();
    drop(before);
    let (mut replica, _) = with_journal(folder.path(), of_a_replica());
    let client = replica.client();
    replica.turn();
    assert!(replica.say(client, "REPLICA PROMOTE FORCE").starts_with(':'));
    wait(&mut replica, 29 * S);
    let counts = |replica: &mut Bench<'_>| {
        ["kept", "leased", "short", "value"].map(|it| replica.say(client, &format!("COUNT {it}")))
    };
    assert_eq!(counts(&mut replica), [":1\r\n", ":1\r\n", ":0\r\n", ":1\r\n"]);
    wait(&mut replica, S);
    assert_eq!(counts(&mut replica), [":1\r\n", ":0\r\n", ":0\r\n", ":0\r\n"]);
}

#[test]
fn a_replica_that_begins_again_keeps_no_life_of_what_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let (mut before, _) = with_journal(folder.path(), plan());
    let client = before.client();
    before.say(client, "ENQ o KEEP E T 1");
    before.turn();
    drop(before);
    let mut pair = Pair::new(LIMITS);
    let (notes, restored) =
        Notes::open(folder.path(), Policy::Always, LIMITS, 1).expect("it is sound");
    let clock = pair.replica.clock;
    pair.replica = Bench::restored(of_a_replica(), (restored, notes), clock, quiet());
    let client = pair.primary.client();
    pair.primary.say(client, "ENQ o E T 1");
    pair.connect();
    pair.join();
    pair.cut();
    pair.primary.server.close(client, Ended::ByClient);
    drop(pair);
    let (_, restored): (_, Restored) =
        Notes::open(folder.path(), Policy::Always, LIMITS, 1).expect("it is sound");
    assert!(restored.table.owner(b"o").is_some() && restored.lives.owners.is_empty());
}

#[test]
fn a_name_that_is_promoted_behind_the_word_lock_is_taken_for_no_term() {
    let clock = Still::default();
    let mut bench = Bench::new(plan(), LIMITS, &clock, quiet());
    let client = bench.client();
    bench.say(client, "ENQ o O LEASE 4711 O MARA 1 O LOCK 1");
    let said = bench.say(client, "PROMOTE o WAIT 1 LOCK LEASE 4711 MARA 1");
    assert!(said.starts_with(':'), "{said}");
    assert!(bench.say(client, "PROMOTE o LOCK 1").starts_with(':'), "a name like any other");
    assert!(
        bench.say(client, "PROMOTE o LOCK USER").starts_with('*'),
        "it holds none of LOCK USER"
    );
    assert!(bench.say(client, "PROMOTE o LOCK").starts_with("-ERR wrong number"));
    let said = bench.say(client, "LOCKS OWNER o");
    assert_eq!(said.matches("\r\n$1\r\nE\r\n").count(), 3, "{said}");
    wait(&mut bench, 60 * S);
    assert_eq!(bench.say(client, "COUNT o"), ":3\r\n", "it has no lease");
}
