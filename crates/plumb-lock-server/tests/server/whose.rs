//! Whose locks a server has: what a replica says of them, and which primary takes it.

use std::path::Path;

use plumb_engine::{ConnectionId, Endpoint, Service as _};
use plumb_lock_pair::replication::Frame;
use plumb_lock_server::{ReplicationPlan, ServerPlan};
use plumb_lock_table::journal::{Notes, Origin, Policy, Restored};
use plumb_lock_table::table::Limits;

use crate::pair::{Pair, quiet};
use crate::promotion::{is, primary, primary_of};
use crate::waiting::{Bench, Still, plan};

/// What a replica says first that has locks of this epoch.
pub(crate) fn hello(epoch: u64) -> String {
    let rows = Limits::of_kib(64).rows;
    format!("REPLICA STREAM {} {rows} 7 {epoch} 0 0", plumb_lock_pair::replication::VERSION)
}

#[test]
fn a_replica_with_locks_that_are_missing_here_is_refused_and_may_be_what_took_this_ones_place() {
    // the primary's epoch is 100; where nobody decided for any, an older one may have been its own
    for (origin, epoch, expected) in [
        (60, 0, "+OK"),
        (60, 60, "+OK"),
        (60, 100, "+OK"),
        (60, 70, "replaced"),
        (60, 101, "replaced"),
        (0, 100, "+OK"),
        (0, 70, "refused"),
        (0, 101, "replaced"),
    ] {
        let mut bench = primary(origin);
        let client = bench.client();
        let said = bench.say(client, &hello(epoch));
        assert_eq!(said.starts_with("+OK"), expected == "+OK", "{origin} {epoch}: {said}");
        if expected != "+OK" {
            assert!(said.starts_with("-ERR the replica has locks of epoch"), "{said}");
        }
        assert_eq!(is(&mut bench, "replaced"), expected == "replaced", "{origin} {epoch}");
        let client = bench.client();
        let given = bench.say(client, "ENQ a X T 1").starts_with("-READONLY");
        assert_eq!(given, expected == "replaced", "{origin} {epoch}");
    }
}

#[test]
fn a_replica_of_another_pair_does_not_take_a_pair_down() {
    let mut pair = Pair::under(100, Limits::of_kib(64));
    pair.connect();
    pair.join();
    let stranger = pair.primary.client();
    let said = pair.primary.say(stranger, &hello(9_000));
    assert!(said.contains("another replica follows already"), "{said}");
    assert!(!is(&mut pair.primary, "replaced") && is(&mut pair.primary, "in_sync"));
    // once its own one is away, that may be it
    pair.cut();
    let said = pair.primary.say(stranger, &hello(9_000));
    assert!(said.contains("locks of epoch 9000") && is(&mut pair.primary, "replaced"), "{said}");
}

#[test]
fn a_primary_whose_journal_lost_something_gives_way_to_a_replica_that_has_it() {
    // what it lost may be that somebody decided for an epoch
    for (origin, epoch) in [(Origin::own(60).lossy(), 60), (Origin::default().lossy(), 60)] {
        let mut bench = primary_of(origin);
        let client = bench.client();
        let said = bench.say(client, &hello(epoch));
        assert!(said.contains("locks of epoch 60, which may be missing here"), "{said}");
        assert!(is(&mut bench, "replaced"));
    }
}

#[test]
fn a_server_with_a_part_of_the_locks_of_another_gives_none_out_as_a_primary() {
    let mut bench = primary_of(Origin::of_replica(0));
    let client = bench.client();
    let said = bench.say(client, "ENQ a X T 1");
    assert!(said.starts_with("-READONLY this server has a part"), "{said}");
    assert!(bench.say(client, &hello(70)).starts_with("-READONLY this server has a part"));
    assert_eq!(bench.say(client, "REPLICA FENCE 70"), ":100\r\n");
    assert!(is(&mut bench, "replaced"));
    let said = bench.say(client, "REPLICA PROMOTE");
    assert!(said.starts_with("-ERR this server has a part"), "{said}");
    assert_eq!(bench.say(client, "REPLICA PROMOTE FORCE"), ":101\r\n");
    assert!(bench.say(client, "ENQ a X T 1").starts_with(':'));
}

/// What a server says first that has one lock in this journal and is started as a replica.
fn hello_of(folder: &Path, policy: Policy) -> String {
    let clock: &'static Still = Box::leak(Box::new(Still::default()));
    let start = Notes::open(folder, policy, Limits::of_kib(64), 1_000).expect("it is sound");
    let (notes, restored) = start;
    let mut bench = Bench::restored(crate::pair::of_a_replica(), (restored, notes), clock, quiet());
    bench.turn();
    let (_, mut there) = bench.server.dial().expect("it wants to follow");
    let id = ConnectionId::new(there, 1);
    bench.server.accepted(&mut there, id);
    let mut greeting = Vec::new();
    bench.server.connected(&mut there, &mut greeting);
    let said = String::from_utf8_lossy(&greeting).into_owned();
    let words: Vec<&str> = said.split("\r\n").skip(2).step_by(2).collect();
    format!("REPLICA STREAM {}", words[2..].join(" "))
}

#[test]
fn locks_that_a_server_gave_out_itself_are_not_given_up_for_a_server_without_any() {
    for (policy, decided, expected) in [
        (Policy::Always, None, "-ERR the replica has locks that it gave out itself"),
        (Policy::Interval(1_000_000), None, "-ERR the replica has locks that it gave out itself"),
        (Policy::Always, Some(500), "-ERR the replica has locks of epoch 500"),
        // what it gave out is gone
        (Policy::Inherited, None, "+OK"),
        (Policy::Inherited, Some(500), "+OK"),
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let clock: &'static Still = Box::leak(Box::new(Still::default()));
        let start = Notes::open(folder.path(), policy, Limits::of_kib(64), 100);
        let (mut notes, restored) = start.expect("it is sound");
        if let Some(epoch) = decided {
            notes.decide_for(epoch);
        }
        let mut bench = Bench::restored(plan(), (restored, notes), clock, quiet());
        let client = bench.client();
        assert!(bench.say(client, "ENQ a KEEP X T 1").starts_with(':'));
        bench.turn();
        drop(bench);
        let asks = hello_of(folder.path(), policy);
        let mut empty = primary(0);
        let client = empty.client();
        let said = empty.say(client, &asks);
        assert!(said.starts_with(expected), "{policy:?} {decided:?}: {said}");
        assert_eq!(is(&mut empty, "replaced"), decided == Some(500) && !said.starts_with("+OK"));
        // of somebody who was decided for it takes them
        let mut elsewhere = primary(600);
        let client = elsewhere.client();
        assert!(elsewhere.say(client, &asks).starts_with("+OK"), "{policy:?} {decided:?}");
    }
}

#[test]
fn a_primary_that_was_not_elected_takes_no_replica() {
    let clock: &'static Still = Box::leak(Box::new(Still::default()));
    let witnesses = vec![vec![Endpoint::Tcp(([127, 0, 0, 1], 2).into())]];
    let replication = ReplicationPlan { witnesses, ..ReplicationPlan::default() };
    let plan = ServerPlan { epoch: 100, replication, ..plan() };
    let start = (Restored::empty(Limits::of_kib(64)), Notes::none());
    let mut bench = Bench::restored(plan, start, clock, quiet());
    let client = bench.client();
    let said = bench.say(client, &hello(0));
    assert!(said.starts_with("-NOREPLICAS"), "{said}");
    assert!(!is(&mut bench, "replica_seen"));
}

#[test]
fn a_replica_that_is_started_again_says_of_which_epoch_its_locks_are() {
    let clock: &'static Still = Box::leak(Box::new(Still::default()));
    let mut restored = Restored::empty(Limits::of_kib(64));
    restored.origin = Origin::own(4_711);
    let plan = crate::pair::of_a_replica();
    let mut bench = Bench::restored(plan, (restored, Notes::none()), clock, quiet());
    bench.turn();
    let (_, mut there) = bench.server.dial().expect("it wants to follow");
    let id = ConnectionId::new(there, 1);
    bench.server.accepted(&mut there, id);
    let mut greeting = Vec::new();
    bench.server.connected(&mut there, &mut greeting);
    let said = String::from_utf8_lossy(&greeting).into_owned();
    assert!(said.contains("\r\n4711\r\n"), "{said}");
    // and gives them up for no older primary, whatever that one says
    let mut bytes = b"+OK\r\n".to_vec();
    Frame::Snapshot { epoch: 4_710, stream: 1, position: 0, fence: 1 }.push(&mut bytes);
    let served = bench.server.serve(&mut there, &bytes, &mut Vec::new());
    assert!(served.close, "it is left");
}
