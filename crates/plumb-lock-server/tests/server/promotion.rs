//! A replica that takes over, and a primary that is told so.

use plumb_engine::{ConnectionId, Ended, Service as _};
use plumb_lock_server::ServerPlan;
use plumb_lock_table::journal::{Notes, Origin, Policy, Restored};
use plumb_lock_table::table::Limits;

use crate::pair::{Pair, quiet};
use crate::waiting::{Bench, Still, plan};
use crate::whose::hello;

/// A primary that was started under epoch 100 with locks of the epoch `origin`.
pub(crate) fn primary(origin: u64) -> Bench<'static> {
    primary_of(Origin::own(origin))
}

/// The same; the locks are of this origin.
pub(crate) fn primary_of(origin: Origin) -> Bench<'static> {
    let clock: &'static Still = Box::leak(Box::new(Still::default()));
    let mut restored = Restored::empty(Limits::of_kib(64));
    restored.origin = origin;
    let plan = ServerPlan { epoch: 100, ..plan() };
    Bench::restored(plan, (restored, Notes::none()), clock, quiet())
}

/// True when a figure of the server is 1.
pub(crate) fn is(bench: &mut Bench<'_>, figure: &str) -> bool {
    let client = bench.client();
    let info = bench.say(client, "INFO");
    bench.server.close(client, Ended::ByClient);
    info.contains(&format!("\r\n{figure}:1\r\n"))
}

#[test]
fn a_primary_that_only_began_a_newer_epoch_gives_way_to_a_server_that_was_promoted() {
    for origin in [0, 40] {
        let mut bench = primary(origin);
        let client = bench.client();
        assert!(bench.say(client, "ENQ a KEEP X T 1").starts_with(':'));
        for _ in 0..2 {
            assert_eq!(bench.say(client, "REPLICA FENCE 50"), ":100\r\n");
            assert!(is(&mut bench, "replaced") && !is(&mut bench, "contested"));
        }
        assert!(bench.say(client, "ENQ b X T 2").starts_with("-READONLY"));
    }
}

#[test]
fn a_primary_whose_epoch_others_decided_for_does_not_give_way_and_both_say_so() {
    let mut kept = primary(60);
    let mut pair = Pair::under(100, Limits::of_kib(64));
    pair.connect();
    pair.join();
    for bench in [&mut kept, &mut pair.primary] {
        let client = bench.client();
        let refused = bench.say(client, "REPLICA FENCE 50");
        assert!(refused.starts_with("-CONTESTED") && refused.contains("epoch 100"), "{refused}");
        assert!(is(bench, "contested") && !is(bench, "replaced"));
        assert!(bench.say(client, "ENQ b X T 2").starts_with(':'));
        bench.pass(6_000_000_000);
        bench.turn();
        assert!(!is(bench, "contested"), "it is not said any more");
    }
    // it gave that epoch up once, and was decided for since
    let client = pair.primary.client();
    assert!(pair.primary.say(client, "REPLICA FENCE 50 100").starts_with("-CONTESTED"));
    assert!(!is(&mut pair.primary, "replaced"));
    // where a replica is in sync, force changes nothing
    assert_eq!(pair.primary.say(client, "REPLICA PROMOTE FORCE"), ":100\r\n");
    // one that gave this epoch up may have kept it in its journal
    let client = kept.client();
    kept.say(client, "REPLICA FENCE 50 100");
    assert!(is(&mut kept, "replaced"));
}

#[test]
fn a_primary_that_is_promoted_by_force_has_an_epoch_that_counts_over_earlier_promotions() {
    // under what it was started with, a server that was promoted at 70 would take its place
    for origin in [0, 60, 100] {
        let mut bench = primary(origin);
        let client = bench.client();
        assert!(bench.say(client, "ENQ a KEEP X T 1").starts_with(':'));
        assert_eq!(bench.say(client, "REPLICA PROMOTE FORCE"), ":101\r\n");
        for by in [70, 100] {
            let said = bench.say(client, &format!("REPLICA FENCE {by} 100"));
            assert!(said.starts_with("-REPLACED 101 is"), "{said}");
            let client = bench.client();
            assert!(bench.say(client, &hello(by)).starts_with("+OK"), "it gives up what it has");
            bench.server.close(client, Ended::ByClient);
        }
        assert!(!is(&mut bench, "replaced") && !is(&mut bench, "contested"));
        let client = bench.client();
        assert!(bench.say(client, "ENQ b X T 1").contains("HELD"), "nothing is lost");
    }
}

#[test]
fn a_primary_with_no_more_than_the_epoch_of_the_promoted_one_gives_way() {
    // it followed that one once, and was started as a primary again
    for (origin, by) in [(100, 100), (60, 60)] {
        let mut bench = primary(origin);
        let client = bench.client();
        assert_eq!(bench.say(client, &format!("REPLICA FENCE {by}")), ":100\r\n");
        assert!(is(&mut bench, "replaced"), "{origin}");
    }
}

#[test]
fn a_primary_with_locks_of_an_epoch_that_gave_way_gives_way_under_its_next_one() {
    let mut bench = primary(60);
    let client = bench.client();
    assert_eq!(bench.say(client, "REPLICA FENCE 50 60"), ":100\r\n");
    assert!(is(&mut bench, "replaced"));
}

#[test]
fn a_server_that_was_replaced_is_promoted_by_force_alone_and_keeps_to_that() {
    let mut bench = primary(0);
    let client = bench.client();
    assert!(bench.say(client, "ENQ a KEEP X T 1").starts_with(':'));
    bench.say(client, "REPLICA FENCE 500");
    let refused = bench.say(client, "REPLICA PROMOTE");
    assert!(refused.starts_with("-ERR") && refused.contains("by force only"), "{refused}");
    assert_eq!(bench.say(client, "REPLICA PROMOTE FORCE"), ":501\r\n");
    assert!(bench.say(client, "ENQ b X T 1").contains("HELD"));
    // it cannot tell that one, which does not know where it was promoted
    assert!(bench.say(client, "REPLICA FENCE 500").starts_with("-REPLACED 501 is"));
}

#[test]
fn a_promoted_server_names_the_epoch_that_was_given_up_for_it_and_says_who_does_not_give_way() {
    let mut pair = Pair::new(Limits::of_kib(64));
    pair.connect();
    pair.join();
    pair.cut();
    let replica = &mut pair.replica;
    let operator = replica.client();
    let epoch = replica.say(operator, "REPLICA PROMOTE");
    let epoch = epoch.trim_start_matches(':').trim_end();
    let mut greeted = |answer: &str| {
        replica.pass(1_000_000_000);
        replica.turn();
        let (_, mut there) = replica.server.dial().expect("it wants to tell");
        let id = ConnectionId::new(there, 1);
        replica.server.accepted(&mut there, id);
        let mut greeting = Vec::new();
        replica.server.connected(&mut there, &mut greeting);
        replica.server.serve(&mut there, answer.as_bytes(), &mut Vec::new());
        replica.server.close(there, Ended::ByService);
        let contested = is(replica, "contested");
        (String::from_utf8_lossy(&greeting).into_owned(), contested)
    };
    let (said, contested) = greeted(":1\r\n");
    assert!(said.starts_with("*3\r\n") && said.contains(epoch) && !contested, "{said}");
    let (said, contested) = greeted("-CONTESTED this server gives locks out, too\r\n");
    assert!(said.starts_with("*3\r\n") && contested, "it was not given up: {said}");
    greeted(":9000000000000\r\n");
    let (said, _) = greeted(":9000000000000\r\n");
    assert!(said.starts_with("*4\r\n") && said.contains("9000000000000"), "{said}");
    let fence = replica.say(operator, "ENQ a X T 1");
    let fence: u64 = fence.trim_start_matches(':').trim_end().parse().expect("a fence number");
    assert!(fence > 9_000_000_000_000, "above what was given out there: {fence}");
}

/// A replica that was promoted, and its epoch.
fn promoted() -> (Bench<'static>, u64) {
    let mut pair = Pair::new(Limits::of_kib(64));
    pair.connect();
    pair.join();
    pair.cut();
    let operator = pair.replica.client();
    let epoch = pair.replica.say(operator, "REPLICA PROMOTE");
    let epoch = epoch.trim_start_matches(':').trim_end().parse().expect("an epoch");
    (pair.replica, epoch)
}

/// Connects a server that was promoted to that whose place it took, which answers this.
fn answered(bench: &mut Bench<'_>, answer: &str) {
    bench.pass(1_000_000_000);
    bench.turn();
    let (_, mut there) = bench.server.dial().expect("it wants to tell");
    let id = ConnectionId::new(there, 1);
    bench.server.accepted(&mut there, id);
    bench.server.connected(&mut there, &mut Vec::new());
    bench.server.serve(&mut there, answer.as_bytes(), &mut Vec::new());
    bench.server.close(there, Ended::ByService);
}

#[test]
fn a_server_that_was_promoted_tells_one_that_was_promoted_before_it_and_hears_itself_without_harm()
{
    let (mut bench, epoch) = promoted();
    let client = bench.client();
    // its address may have moved to itself
    assert_eq!(bench.say(client, &format!("REPLICA FENCE {epoch}")), format!(":{epoch}\r\n"));
    let said = bench.say(client, &format!("REPLICA FENCE {}", epoch - 1));
    assert!(said.starts_with(&format!("-REPLACED {epoch} ")), "{said}");
    assert!(!is(&mut bench, "replaced") && !is(&mut bench, "contested"));
    assert!(bench.say(client, "ENQ a X T 1").starts_with(':'));
}

#[test]
fn a_server_gives_way_to_one_that_was_promoted_later_though_that_one_cannot_reach_it() {
    let (mut later, newest) = promoted();
    let client = later.client();
    let said = later.say(client, "REPLICA FENCE 1");
    let (mut bench, _) = promoted();
    // of an older promotion than its own it hears nothing new
    answered(&mut bench, "-REPLACED 1 is the epoch of another\r\n");
    assert!(!is(&mut bench, "replaced"));
    let newer = said.replace(&newest.to_string(), "9000000000000");
    assert!(newer.starts_with("-REPLACED 9000000000000 is"), "{newer}");
    answered(&mut bench, &newer);
    assert!(is(&mut bench, "replaced"));
    let client = bench.client();
    assert!(bench.say(client, "ENQ a X T 1").contains("epoch 9000000000000"));
}

#[test]
fn a_server_that_was_told_that_it_is_replaced_keeps_that_in_its_journal() {
    for policy in [Policy::Always, Policy::Interval(1_000_000)] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let start = |wall_us| {
            let clock: &'static Still = Box::leak(Box::new(Still::default()));
            let limits = Limits::of_kib(64);
            let opened = Notes::open(folder.path(), policy, limits, wall_us);
            let (notes, restored) = opened.expect("it is sound");
            let plan = ServerPlan { epoch: restored.epoch, ..plan() };
            Bench::restored(plan, (restored, notes), clock, quiet())
        };
        let mut bench = start(100);
        let client = bench.client();
        assert!(bench.say(client, "ENQ a KEEP X T 1").starts_with(':'));
        assert!(bench.say(client, "REPLICA FENCE 500").starts_with(':'));
        bench.turn();
        for wall_us in [200, 300] {
            drop(bench);
            bench = start(wall_us);
            let client = bench.client();
            assert!(bench.say(client, "ENQ b X T 2").contains("epoch 500"), "{policy:?}");
        }
        let client = bench.client();
        assert_eq!(bench.say(client, "REPLICA PROMOTE FORCE"), ":501\r\n");
        bench.turn();
        drop(bench);
        bench = start(400);
        let client = bench.client();
        assert!(bench.say(client, "ENQ b X T 1").contains("HELD"), "{policy:?}");
        // what was decided for stays so
        assert!(bench.say(client, "REPLICA FENCE 500").starts_with("-CONTESTED"), "{policy:?}");
    }
}

#[test]
fn a_connection_that_is_being_made_at_a_promotion_tells_the_old_primary() {
    let mut pair = Pair::new(Limits::of_kib(64));
    pair.connect();
    pair.join();
    pair.cut();
    let replica = &mut pair.replica;
    replica.pass(1_000_000_000);
    replica.turn();
    let (_, mut there) = replica.server.dial().expect("it wants to follow again");
    let id = ConnectionId::new(there, 1);
    replica.server.accepted(&mut there, id);
    let operator = replica.client();
    assert!(replica.say(operator, "REPLICA PROMOTE").starts_with(':'));
    let mut greeting = Vec::new();
    replica.server.connected(&mut there, &mut greeting);
    assert!(String::from_utf8_lossy(&greeting).contains("FENCE"), "{greeting:?}");
}

#[test]
fn an_old_primary_whose_host_does_not_answer_is_told_again_and_again() {
    let mut pair = Pair::new(Limits::of_kib(64));
    pair.connect();
    pair.join();
    pair.cut();
    let replica = &mut pair.replica;
    let operator = replica.client();
    assert!(replica.say(operator, "REPLICA PROMOTE").starts_with(':'));
    for _ in 0..3 {
        replica.pass(1_000_000_000);
        replica.turn();
        let (_, mut there) = replica.server.dial().expect("it wants to tell");
        let id = ConnectionId::new(there, 1);
        replica.server.accepted(&mut there, id);
        replica.turn();
        assert!(replica.server.push(&mut Vec::new()).is_none());
        assert!(replica.server.drop_next().is_none(), "it may still be answered");
        let late = replica.server.wake_at().expect("it does not wait for ever");
        replica.clock.set(late);
        replica.turn();
        assert!(replica.server.push(&mut Vec::new()).is_none());
        assert!(replica.server.drop_next() == Some(id), "nobody has answered");
        replica.server.close(there, Ended::ByService);
    }
}
