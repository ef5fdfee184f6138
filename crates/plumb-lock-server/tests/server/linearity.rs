//! Clients of a lock server that ask at the same time see what one table would have said to them
//! one after the other; and a server whose table makes a mistake is found out by what they see.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::clients;
use crate::linear;
use crate::model;

use linear::call::{Call, Reply};
use linear::{Event, contradiction};
use model::Want;
use plumb_lock_table::table::{Fault, Mode, Scope};

/// Tables with more room than is needed, and with less.
const ROOMS: [u32; 2] = [1_000, 6];
/// Histories of a sound server, and the most it takes to find a mistake.
const SOUND: u64 = 10;
const ATTEMPTS: u64 = 60;

fn found(seed: u64, fault: Option<Fault>) -> Option<String> {
    let room = ROOMS[usize::try_from(seed % 2).expect("zero or one")];
    let (events, ledger) = clients::history(seed, room, fault);
    assert!(events.len() > 300, "that was no history");
    contradiction(&events, room as usize, &ledger)
}

#[test]
fn what_clients_see_at_the_same_time_has_an_order() {
    for seed in 0..SOUND {
        if let Some(contradiction) = found(seed, None) {
            panic!("seed {seed}: {contradiction}");
        }
    }
}

#[test]
fn every_mistake_of_a_server_is_found_by_its_clients() {
    for fault in Fault::ALL {
        let caught = (0..ATTEMPTS).find_map(|seed| found(seed, Some(fault)));
        assert!(caught.is_some(), "{fault:?} was not noticed in {ATTEMPTS} histories");
    }
}

/// An exclusive lock for `owner` on the same argument, asked for and answered at these moments.
fn taken(client: usize, owner: &str, (asked, answered): (u64, u64), fence: u64) -> Event {
    let want = Want { mode: Mode::E, name: b"T".to_vec(), argument: b"a".to_vec() };
    let (owner, scope) = (owner.into(), Scope::Update);
    let call = Call::Enqueue { owner, scope, wait_ms: 0, wants: vec![want] };
    Event { client, call, reply: Reply::Number(fence), asked, answered }
}

fn cleared(client: usize, owner: &str, (asked, answered): (u64, u64)) -> Event {
    let call = Call::Clear { owner: owner.into(), scope: Scope::Both };
    Event { client, call, reply: Reply::Number(1), asked, answered }
}

#[test]
fn an_order_is_looked_for_within_time_and_not_against_it() {
    // b may have been judged behind the release of a, although it asked before that
    let fine = [taken(0, "a", (1, 2), 1), taken(1, "b", (3, 6), 2), cleared(0, "a", (4, 5))];
    let held = [model_row("b", 2)];
    assert_eq!(contradiction(&fine, 9, &held), None);
    // it was answered before the release began
    let bad = [taken(0, "a", (1, 2), 1), taken(1, "b", (3, 4), 2), cleared(0, "a", (5, 6))];
    assert!(contradiction(&bad, 9, &held).is_some_and(|it| it.contains("no order")));
    // an older fence number behind a newer one
    let back = [taken(0, "a", (1, 2), 2), cleared(0, "a", (3, 4)), taken(1, "b", (5, 6), 1)];
    assert!(contradiction(&back, 9, &[model_row("b", 1)]).is_some());
    // the answers are right, and what is held in the end is not
    assert!(contradiction(&fine, 9, &[]).is_some_and(|it| it.contains("held are")));
}

fn model_row(owner: &str, fence: u64) -> model::Row {
    let mut model = model::Model::new(9);
    model.next_fence = fence;
    let want = Want { mode: Mode::E, name: b"T".to_vec(), argument: b"a".to_vec() };
    model.enqueue(owner.as_bytes(), Scope::Update, &[want]);
    model.rows.remove(0)
}
