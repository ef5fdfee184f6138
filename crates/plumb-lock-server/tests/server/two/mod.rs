//! Two servers, their clients and what happens to all of them, in a world without time of its own:
//! what clients saw has an order within time in which one table would have said the same.
//!
//! Both servers are the real ones; sockets, the clock and chance are the world's. A server is
//! killed, stopped for a while, or cut off from the other in one direction or both, also at the
//! same time; somebody promotes the replica when that is in sync. Where both keep journals, both are
//! killed, too, and started in the roles that they are configured with, whoever was promoted; a journal
//! loses something, a start is cut short, servers are started in each other's roles, and a server of another pair
//! asks to follow.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

mod elected;
mod kept;
mod mishaps;
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
/// Histories of servers that keep journals, which are made to last again and again.
const KEPT: u64 = 25;

/// What there is in a world beside two servers and their clients.
#[derive(Clone, Copy)]
struct Land {
    witnesses: usize,
    /// Both servers keep journals, and may be killed at the same time.
    journals: bool,
}

impl Land {
    const fn of(witnesses: usize) -> Self {
        Self { witnesses, journals: false }
    }
}

/// What came of a history.
struct Came {
    contradiction: Option<String>,
    /// How often a server was promoted.
    promotions: u64,
    /// How often both were killed behind a promotion.
    killed_promoted: u64,
}

/// What comes of the history of this seed.
fn found(seed: u64, fault: Option<Fault>, land: Land) -> Came {
    let mut world = World::new(seed, fault, land);
    if let Err(stuck) = world.play() {
        assert!(fault.is_some(), "seed {seed}: {stuck}");
        return Came { contradiction: None, promotions: 0, killed_promoted: 0 };
    }
    let (events, ledger) = world.history();
    Came {
        contradiction: contradiction(&events, world::ROOM as usize, &ledger),
        promotions: world.promotions,
        killed_promoted: world.kept.map_or(0, |kept| kept.killed_promoted),
    }
}

/// True when the clients of this history see the mistake.
fn is_caught(seed: u64, fault: Fault, land: Land) -> bool {
    found(seed, Some(fault), land).contradiction.is_some()
}

/// Plays histories of two servers without witnesses.
fn promoted(seeds: Range<u64>) {
    let (mut promotions, count) = (0, seeds.end - seeds.start);
    for seed in seeds {
        let came = found(seed, None, Land::of(0));
        promotions += came.promotions;
        if let Some(contradiction) = came.contradiction {
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
        let caught = (0..ATTEMPTS).find(|seed| is_caught(*seed, fault, Land::of(0)));
        assert!(caught.is_some(), "{fault:?} was not noticed in {ATTEMPTS} histories");
    }
}

/// Plays histories of two servers among one witness or three.
fn elected(seeds: Range<u64>) {
    let (mut promotions, count) = (0, seeds.end - seeds.start);
    for seed in seeds {
        let witnesses = if seed % 3 == 0 { 1 } else { 3 };
        let came = found(seed, None, Land::of(witnesses));
        promotions += came.promotions;
        if let Some(contradiction) = came.contradiction {
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
        let caught = (0..ATTEMPTS).find(|seed| is_caught(*seed, fault, Land::of(3)));
        assert!(caught.is_some(), "{fault:?} was not noticed in {ATTEMPTS} histories");
    }
}

/// Plays histories of two servers that keep journals, without witnesses, with one, and with three.
fn kept(seeds: Range<u64>) {
    for witnesses in [0, 1, 3] {
        let mut killed = 0;
        for seed in seeds.clone() {
            let came = found(seed, None, Land { witnesses, journals: true });
            killed += came.killed_promoted;
            if let Some(contradiction) = came.contradiction {
                panic!("{witnesses} witnesses, seed {seed}: {contradiction}");
            }
        }
        assert!(killed > 0, "{witnesses} witnesses: both were never killed behind a promotion");
    }
}

#[test]
fn what_clients_see_has_an_order_though_both_servers_are_killed_and_started_as_configured() {
    kept(0..KEPT);
}

#[test]
#[ignore = "takes minutes: some 80 times as many histories"]
fn what_clients_see_has_an_order_in_many_more_histories_of_servers_that_are_both_killed() {
    kept(KEPT..80 * KEPT);
}

#[test]
fn every_mistake_of_two_servers_that_are_both_killed_is_found_by_their_clients() {
    for fault in Fault::OF_TWO_KEPT {
        let land = Land { witnesses: 0, journals: true };
        let caught = (0..ATTEMPTS).find(|seed| is_caught(*seed, fault, land));
        assert!(caught.is_some(), "{fault:?} was not noticed in {ATTEMPTS} histories");
    }
}
