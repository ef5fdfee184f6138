//! What a plumb server says of itself: what it has served, and what that cost.

use plumb_engine::clock::MonotonicClock;
use plumb_engine::{Endpoint, Stop, reachable};
use plumb_measure::{
    Clock as _, CpuSplit, CpuUse, FindingKind, ResultRecord, Span, Tick, counts_differ,
};
use plumb_wire::extension::{Answer, Request, StampTerms, TickState, Totals};

use crate::talk::{Talk, TalkError};

/// A server that says nothing of itself is not waited for any longer.
const PATIENCE: Span = Span::from_ms(1_000);
/// How often it is asked whether its clients are gone, and how long is waited in between.
const ASKED_MAX: u64 = 20;
const ASK_AGAIN: Span = Span::from_ms(5);
/// The kernel splits processor time by ticks; the fewest a second of any kernel are assumed.
const TICK_NS: u64 = 10_000_000;
/// Below this number of ticks a split is a guess.
const TICKS_MIN: u64 = 200;
/// With fewer messages a connection, what connecting costs would be taken for theirs.
const MESSAGES_A_CLIENT_MIN: u64 = 200;

/// The first of `candidates` that takes a connection. Whoever only asks may be where none does: all
/// of them together are tried for no longer than a single one is waited for.
pub(crate) fn reached(candidates: &[Endpoint], stop: &Stop) -> Option<Endpoint> {
    let each = Span::from_ns(PATIENCE.ns() / (candidates.len() as u64).max(1));
    reachable(candidates, each, stop).ok()
}

/// The totals of the server at `endpoint`, asked over a connection of their own; `None` when it is
/// no plumb server.
pub(crate) fn totals(endpoint: &Endpoint) -> Option<Totals> {
    ask_totals(endpoint).ok()
}

/// The totals once `connections` more clients than `before` are gone, or after a while with what
/// there is then: a server hears of an end when it gets to it.
pub(crate) fn totals_after(
    endpoint: &Endpoint,
    before: &Totals,
    connections: u64,
) -> Option<Totals> {
    let pause = Stop::new().ok()?;
    // with those of the load goes the one that `before` was asked over, and each that asks again
    let gone = before.gone + connections + 1;
    for asked in 0..ASKED_MAX {
        let now = totals(endpoint)?;
        if now.gone >= gone + asked {
            return Some(now);
        }
        pause.wait_until(MonotonicClock.now_ns() + ASK_AGAIN.ns()).ok()?;
    }
    totals(endpoint)
}

/// What the server at `endpoint` does about its tick, asked over a connection of its own; `None`
/// when it does not say, as no plumb server would.
pub(crate) fn tick(endpoint: &Endpoint) -> Option<Tick> {
    let mut talk = Talk::open(endpoint, PATIENCE).ok()?;
    match talk.ask(Request::Tick).ok()? {
        Answer::Tick(TickState::Free) => Some(Tick::Free),
        Answer::Tick(TickState::Held) => Some(Tick::Held),
        _ => None,
    }
}

/// True when the server at `endpoint` tells how long it has single messages, asked over a connection
/// of its own.
pub(crate) fn tells_stamps(endpoint: &Endpoint, terms: StampTerms) -> bool {
    let answer = Talk::open(endpoint, PATIENCE).and_then(|mut it| it.ask(Request::Stamps(terms)));
    matches!(answer, Ok(Answer::Stamps(agreed)) if agreed == terms)
}

fn ask_totals(endpoint: &Endpoint) -> Result<Totals, TalkError> {
    match Talk::open(endpoint, PATIENCE)?.ask(Request::Totals)? {
        Answer::Totals(totals) => Ok(totals),
        _ => Err(TalkError::PlainEcho),
    }
}

/// Adds to `cpu` what a message cost the server between `before` and `after`: its processor time by
/// the clock of its process, over all messages that came to it meanwhile, whoever sent them.
pub(crate) fn add_cost(cpu: &mut CpuUse, before: &Totals, after: &Totals) {
    let Some(messages) = after.served.messages_in.checked_sub(before.served.messages_in) else {
        return; // another server has taken its place
    };
    let clients = after.clients.saturating_sub(before.clients);
    if messages < clients.saturating_mul(MESSAGES_A_CLIENT_MIN) {
        return;
    }
    let spent = |of: fn(&Totals) -> u64| of(after).checked_sub(of(before));
    let (Some(user), Some(system)) =
        (spent(|totals| totals.cpu.user_ns), spent(|totals| totals.cpu.system_ns))
    else {
        return;
    };
    cpu.server_ns_per_op = (user + system).checked_div(messages);
    let ticks = (user + system) / TICK_NS;
    if let (Some(user_ns_per_op), Some(system_ns_per_op)) =
        (user.checked_div(messages), system.checked_div(messages))
        && ticks >= TICKS_MIN
    {
        cpu.server = Some(CpuSplit { user_ns_per_op, system_ns_per_op, ticks });
    }
}

/// What both sides counted between `before` and `after`, where nothing leaves open how much was sent.
pub(crate) fn compare_counts(result: &mut ResultRecord, before: &Totals, after: &Totals) {
    let counted = after.served.messages_in.checked_sub(before.served.messages_in);
    let whole = result.failures.is_empty()
        && result.driver.quiet_closes == 0
        && result.validity.reasons.iter().all(|found| found.kind != FindingKind::CutShort);
    if let (Some(counted), true) = (counted, whole) {
        let sent = result.clients.iter().map(|client| client.messages_sent).sum();
        result.validity = std::mem::take(&mut result.validity).with(counts_differ(sent, counted));
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;
    use crate::scripted::{answer, request};
    use plumb_wire::extension::{Cpu, Traffic};

    fn totals(messages_in: u64, user_ns: u64, system_ns: u64) -> Totals {
        let served = Traffic { messages_in, ..Traffic::default() };
        Totals { cpu: Cpu { user_ns, system_ns }, served, ..Totals::default() }
    }

    fn cost(before: &Totals, after: &Totals) -> (Option<u64>, Option<CpuSplit>) {
        let mut cpu = CpuUse::default();
        add_cost(&mut cpu, before, after);
        (cpu.server_ns_per_op, cpu.server)
    }

    #[test]
    fn the_cost_of_a_message_is_exact_and_its_split_needs_ticks() {
        let before = totals(100, 5_000, 7_000);
        let short = totals(300, 205_000, 607_000);
        assert_eq!(cost(&before, &short), (Some(4_000), None));
        let long = totals(1_000_100, 1_000_005_000, 3_000_007_000);
        let split = CpuSplit { user_ns_per_op: 1_000, system_ns_per_op: 3_000, ticks: 400 };
        assert_eq!(cost(&before, &long), (Some(4_000), Some(split)));
    }

    #[test]
    fn whoever_only_asks_is_none_of_those_that_are_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
        // that of the load goes last
        let goes = thread::spawn(move || {
            for gone in [6, 7, 9] {
                let (mut connection, _) = listener.accept().unwrap();
                assert_eq!(request(&mut connection), Some(Request::Totals));
                answer(&mut connection, &Answer::Totals(Totals { gone, ..Totals::default() }));
            }
        });
        let before = Totals { gone: 5, ..Totals::default() };
        assert_eq!(totals_after(&endpoint, &before, 1).map(|it| it.gone), Some(9));
        goes.join().unwrap();
    }

    #[test]
    fn connecting_is_not_taken_for_messages() {
        let after = |clients| Totals { clients, ..totals(1_000, 9_000, 9_000) };
        assert_eq!(cost(&Totals::default(), &after(5)).0, Some(18));
        assert_eq!(cost(&Totals::default(), &after(6)).0, None);
    }

    #[test]
    fn a_server_that_was_replaced_or_idle_has_no_cost() {
        let before = totals(100, 5_000, 7_000);
        assert_eq!(cost(&before, &before), (None, None));
        assert_eq!(cost(&before, &totals(10, 9_000, 9_000)), (None, None));
        assert_eq!(cost(&before, &totals(110, 1_000, 9_000)), (None, None));
    }
}
