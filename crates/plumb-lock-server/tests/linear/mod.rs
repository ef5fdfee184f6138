//! Is there an order of the calls of several clients, each at some moment between its question and
//! its answer, in which the model gives every answer?
//!
//! A history is cut where no call is under way. Within such a window every order that respects
//! time is tried, as Wing and Gong do it; what is left of it, and the state it would lead from,
//! is never tried twice. A window may leave several states behind, the next one begins with all.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

pub(crate) mod call;
pub(crate) mod chooser;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::model::{Model, Row};
use call::{Call, Reply};

/// Calls of one window: more would be a history without a pause.
const WINDOW_MAX: usize = 31;
/// States that the search of one window may visit.
const VISITS_MAX: usize = 200_000;

/// A call of a client and its answer. Moments are numbers in the order in which things happened.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) client: usize,
    pub(crate) call: Call,
    pub(crate) reply: Reply,
    pub(crate) asked: u64,
    pub(crate) answered: u64,
}

impl Event {
    /// The fence number that the answer shows: of what was granted, or of what is in the way.
    #[allow(dead_code, reason = "only where it is not known when a server took over")]
    pub(crate) fn fence(&self) -> Option<u64> {
        match (&self.call, &self.reply) {
            (Call::Enqueue { .. }, Reply::Number(fence)) => Some(*fence),
            (_, Reply::Held { holder, .. }) => Some(holder.fence),
            _ => None,
        }
    }
}

/// What is wrong with the calls `events` of clients of a lock table that was empty and had `room`,
/// and in which `ledger` was held in the end; in words.
pub(crate) fn contradiction(events: &[Event], room: usize, ledger: &[Row]) -> Option<String> {
    let mut states = vec![Model::new(room)];
    for window in windows(events) {
        let after = states_after(&states, &window);
        if after.is_empty() {
            return Some(told(&states, &window));
        }
        states = after;
    }
    let held: Vec<_> = states.iter().map(sorted).collect();
    let ledger = ledger.to_vec();
    (!held.contains(&ledger)).then(|| format!("held are {ledger:#?}, should be one of {held:#?}"))
}

/// True when the history has pauses enough to be judged.
#[allow(dead_code, reason = "where time is not the test's own it may be too long")]
pub(crate) fn can_be_judged(events: &[Event]) -> bool {
    windows(events).iter().all(|window| window.len() <= WINDOW_MAX)
}

/// The calls between two moments at which none is under way.
fn windows(events: &[Event]) -> Vec<Vec<&Event>> {
    let mut sorted: Vec<&Event> = events.iter().collect();
    sorted.sort_by_key(|event| event.asked);
    let (mut windows, mut until) = (Vec::<Vec<&Event>>::new(), 0);
    for event in sorted {
        match windows.last_mut() {
            Some(window) if event.asked < until => window.push(event),
            _ => windows.push(vec![event]),
        }
        until = until.max(event.answered);
    }
    windows
}

/// Every state in which the model can be behind a window that begins in one of `states`.
fn states_after(states: &[Model], window: &[&Event]) -> Vec<Model> {
    assert!(window.len() <= WINDOW_MAX, "{} calls without a pause", window.len());
    let all = (1_u32 << window.len()) - 1;
    let mut visited = BTreeSet::new();
    let mut open: Vec<(u32, Model)> = states.iter().map(|state| (0, state.clone())).collect();
    let mut found = Vec::new();
    while let Some((done, state)) = open.pop() {
        if !visited.insert((done, state.next_fence, sorted(&state))) {
            continue;
        }
        assert!(visited.len() <= VISITS_MAX, "too many orders of {} calls", window.len());
        if done == all {
            found.push(state);
            continue;
        }
        let left = || window.iter().enumerate().filter(|(at, _)| done & (1 << at) == 0);
        // whoever was answered first was judged before everybody who asked only then
        let first = left().map(|(_, event)| event.answered).min().unwrap_or(u64::MAX);
        for (at, event) in left().filter(|(_, event)| event.asked < first) {
            let after = event.call.explains(&event.reply, &state);
            open.extend(after.into_iter().map(|after| (done | 1 << at, after)));
        }
    }
    found
}

fn sorted(model: &Model) -> Vec<Row> {
    let mut rows = model.rows.clone();
    rows.sort();
    rows
}

/// A window that no order explains.
fn told(states: &[Model], window: &[&Event]) -> String {
    let mut text = String::from("no order explains these calls:\n");
    for event in window {
        let Event { client, call, reply, asked, answered } = event;
        // a String takes everything
        let _ = writeln!(text, "{asked:>6}-{answered:<6} client {client}: {call}: {reply:?}");
    }
    let _ = writeln!(text, "from {states:#?}");
    text
}
