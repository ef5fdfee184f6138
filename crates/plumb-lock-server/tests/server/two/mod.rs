//! Two servers, their clients and what happens to all of them, in a world without time of its own:
//! what clients saw has an order within time in which one table would have said the same.
//!
//! Both servers are the real ones; sockets, the clock and chance are the world's. A server is
//! killed, stopped for a while, or cut off from the other in one direction or both, also at the
//! same time; somebody promotes the replica when that is in sync.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

mod elected;
mod node;
mod player;
mod trouble;
mod world;

use crate::linear::contradiction;
use std::ops::Range;

use plumb_lock_table::table::Fault;
use world::World;

/// Histories of sound servers, and the most it takes to find a mistake.
const SOUND: u64 = 200;
/// Those of the tests that take minutes.
const MANY: Range<u64> = SOUND..5_500;
const ATTEMPTS: u64 = 300;

/// What is wrong with the history of this seed; and how often a server was promoted in it.
fn found(seed: u64, fault: Option<Fault>, witnesses: usize) -> (Option<String>, u64) {
    let mut world = World::new(seed, fault, witnesses);
    if let Err(stuck) = world.play() {
        assert!(fault.is_some(), "seed {seed}: {stuck}");
        return (None, 0);
    }
    let (events, ledger) = world.history();
    (contradiction(&events, world::ROOM as usize, &ledger), world.promotions)
}

/// Plays histories of two servers without witnesses.
fn promoted(seeds: Range<u64>) {
    let (mut promotions, count) = (0, seeds.end - seeds.start);
    for seed in seeds {
        let (contradiction, promoted) = found(seed, None, 0);
        promotions += promoted;
        if let Some(contradiction) = contradiction {
            panic!("seed {seed}: {contradiction}");
        }
    }
    assert!(promotions > count / 2, "{promotions} promotions are no test of them");
}

#[test]
fn what_clients_of_two_servers_see_has_an_order_whatever_happens_to_one_of_them() {
    promoted(0..SOUND);
}

#[test]
#[ignore = "takes minutes: some 25 times as many histories"]
fn what_clients_of_two_servers_see_has_an_order_in_many_more_histories() {
    promoted(MANY);
}

#[test]
fn every_mistake_of_two_servers_is_found_by_their_clients() {
    for fault in Fault::OF_TWO {
        let caught = (0..ATTEMPTS).find(|seed| found(*seed, Some(fault), 0).0.is_some());
        assert!(caught.is_some(), "{fault:?} was not noticed in {ATTEMPTS} histories");
    }
}

/// Plays histories of two servers among one witness or three.
fn elected(seeds: Range<u64>) {
    let (mut promotions, count) = (0, seeds.end - seeds.start);
    for seed in seeds {
        let witnesses = if seed % 3 == 0 { 1 } else { 3 };
        let (contradiction, promoted) = found(seed, None, witnesses);
        promotions += promoted;
        if let Some(contradiction) = contradiction {
            panic!("seed {seed}: {contradiction}");
        }
    }
    assert!(promotions > count / 2, "{promotions} elections are no test of them");
}

#[test]
fn what_clients_see_has_an_order_whatever_happens_to_two_servers_and_their_witnesses() {
    elected(0..SOUND);
}

#[test]
#[ignore = "takes minutes: some 25 times as many histories"]
fn what_clients_see_has_an_order_in_many_more_histories_among_witnesses() {
    elected(MANY);
}

#[test]
fn every_mistake_of_two_servers_among_witnesses_is_found_by_their_clients() {
    for fault in Fault::OF_ELECTED {
        let caught = (0..ATTEMPTS).find(|seed| found(*seed, Some(fault), 3).0.is_some());
        assert!(caught.is_some(), "{fault:?} was not noticed in {ATTEMPTS} histories");
    }
}
