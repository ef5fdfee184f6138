//! From what was measured to a sentence.

use super::{Judgement, NOT_VALID, PartOutcome, PathPart, PathTest, datagrams};
use plumb_measure::{Span, counted, grouped, show_ns, show_plain};

/// Orders of magnitude of `tr2`, kB/s: what is usual over an Ethernet of that speed. No limits.
///
/// # Source
/// SAP Note 500235, which adds that no test should be judged by them alone.
const GIGABIT_KB_S: f64 = 100_000.0;
const FAST_ETHERNET_KB_S: f64 = 10_000.0;
/// A third of an order of magnitude is still that order.
const WITHIN: f64 = 0.3;
/// Kilometres that light in fibre goes there and back in a millisecond.
const FIBRE_KM_PER_MS: f64 = 100.0;
/// No retransmission time-out is shorter than this on usual systems.
const RETRANSMISSION_NS: u64 = 200_000_000;
/// A message this much slower than the median of its size waited for something.
const STALL_FACTOR: u64 = 10;
/// A size this much slower than its neighbours waits with every message, as for a delayed
/// acknowledgement.
const SLOW_FACTOR: u64 = 3;
const SLOW_NS: u64 = 30_000_000;
/// Medians of two sizes that are this much apart, as a share of them, may be the same.
const SAME_WITHIN: u64 = 10;
/// Of fewer messages one that was lost is enough to make their median slow.
const FEW: u64 = 5;

/// What the parts of one test say; at least one part. `round_trip_ns` is the median of the smallest
/// message, if it is known.
pub(super) fn judge(
    test: PathTest,
    parts: &[&PathPart],
    round_trip_ns: Option<u64>,
) -> (Judgement, String) {
    let measured: Vec<(&PathPart, &PartOutcome)> =
        parts.iter().filter_map(|part| Some((*part, part.outcome.as_ref()?))).collect();
    if measured.len() < parts.len() {
        let text = format!("{} of {} parts are measured", measured.len(), parts.len());
        return (Judgement::Open, text);
    }
    if test == PathTest::Sizes {
        return sizes(&measured);
    }
    let Some((part, outcome)) = measured.first().copied() else {
        return (Judgement::Open, "nothing is measured".into());
    };
    if test == PathTest::Datagrams {
        return datagrams::judge(part, outcome);
    }
    if let Some(error) = &outcome.error {
        return (Judgement::Bad, format!("could not be measured: {error}"));
    }
    match test {
        PathTest::Throughput => throughput(part, outcome, round_trip_ns),
        PathTest::RoundTrip => round_trip(outcome),
        PathTest::Idle => idle(part, outcome),
        PathTest::Stability | PathTest::Sizes | PathTest::Datagrams => stability(part, outcome),
    }
}

fn throughput(
    part: &PathPart,
    outcome: &PartOutcome,
    round_trip_ns: Option<u64>,
) -> (Judgement, String) {
    let Some(kb_s) = outcome.kb_per_s else {
        return lost(outcome);
    };
    let order = match kb_s {
        v if v > GIGABIT_KB_S / WITHIN => "more than Gigabit Ethernet reaches (about 100,000 kB/s)",
        v if v >= GIGABIT_KB_S * WITHIN => "of the order of Gigabit Ethernet (about 100,000 kB/s)",
        v if v >= FAST_ETHERNET_KB_S * WITHIN => {
            "of the order of Fast Ethernet (about 10,000 kB/s)"
        }
        _ => "below the order of Fast Ethernet (about 10,000 kB/s)",
    };
    let mut sentence = format!(
        "messages of {} bytes carry {} kB/s (tr2, both directions): {order}.",
        part.size_bytes,
        show_plain(kb_s)
    );
    if let (Some(p50_ns), Some(max_ns)) = (outcome.p50_ns, outcome.max_ns)
        && stalled(p50_ns, max_ns)
    {
        sentence += &format!(
            " A message takes {} at the median and {} at most: at least one waited, {}.",
            show_ns(p50_ns),
            show_ns(max_ns),
            as_for([outcome])
        );
        return looked_at(judged(outcome, sentence));
    }
    if let (Some(shortest), Some(p50)) = (round_trip_ns, outcome.p50_ns)
        && shortest > p50 / 2
        && shortest <= p50 + p50 / SAME_WITHIN
    {
        sentence += &format!(
            " {} of the {} that a message takes are the round trip itself: the distance is the \
             limit here, and the line may carry far more over several connections.",
            show_ns(shortest.min(p50)),
            show_ns(p50)
        );
    }
    judged(outcome, sentence)
}

fn round_trip(outcome: &PartOutcome) -> (Judgement, String) {
    let (Some(average_ms), Some(p50_ns)) = (outcome.average_ms, outcome.p50_ns) else {
        return lost(outcome);
    };
    let takes = format!(
        "the smallest message takes {average_ms:.3} ms on average (av2), {} at the median",
        show_ns(p50_ns)
    );
    if let Some(max_ns) = outcome.max_ns.filter(|max_ns| stalled(p50_ns, *max_ns)) {
        // then the average is that of the waiting, and no distance
        let sentence = format!(
            "{takes}, {} at most: at least one waited, {}.",
            show_ns(max_ns),
            as_for([outcome])
        );
        return looked_at(judged(outcome, sentence));
    }
    if outcome.delayed_acknowledgement.is_some() {
        return judged(outcome, takes + "."); // as above
    }
    let reach = match average_ms {
        v if v < 1.0 => "as within a building or a city".into(),
        v => format!(
            "light in fibre would go {:.0} km far and back in that time",
            v * FIBRE_KM_PER_MS
        ),
    };
    let parts = outcome.round_trip.map(|it| [Some(it.finding()), it.stamp_cost()]);
    let parts = parts.into_iter().flatten().flatten().map(|text| format!(" {text}"));
    judged(outcome, format!("{takes}: {reach}.{}", parts.collect::<String>()))
}

fn idle(part: &PathPart, outcome: &PartOutcome) -> (Judgement, String) {
    let silence = Span::from_ns(part.silence_ns);
    let timeout = Span::from_ns(part.timeout_ns);
    // first: what failed later failed on another connection
    if outcome.quiet_closes > 0 {
        let text = format!(
            "the connection was ended within {silence} of silence, by the server or by something \
             on the way: raise its time-out, or use keep-alives."
        );
        return (Judgement::Bad, text);
    }
    if outcome.failures.contains_key("timed-out") {
        let text = format!(
            "after {silence} of silence the connection was dead and neither side was told: no answer \
             within {timeout}. Something on the way, a firewall most likely, forgets silent \
             connections: raise its time-out, or use keep-alives that are more frequent."
        );
        return (Judgement::Bad, text);
    }
    if outcome.failed() > 0 {
        let kinds: Vec<&str> = outcome.failures.keys().map(String::as_str).collect();
        let text = format!(
            "after {silence} of silence the next message failed ({}): something on the way, or the \
             server, ended the connection. Raise its time-out, or use keep-alives.",
            kinds.join(", ")
        );
        return (Judgement::Bad, text);
    }
    match outcome.operations {
        2.. => {
            let text = format!("a connection that was silent for {silence} still works.");
            (Judgement::Fine, text)
        }
        _ => lost(outcome),
    }
}

fn stability(part: &PathPart, outcome: &PartOutcome) -> (Judgement, String) {
    let (Some(p50_ns), Some(max_ns)) = (outcome.p50_ns, outcome.max_ns) else {
        return lost(outcome);
    };
    let lasted = show_ns(outcome.duration_ns);
    if outcome.failed() > 0 || outcome.quiet_closes > 0 {
        let text = format!(
            "{} of {} messages of {} bytes failed in {lasted}, and connections were ended {} in \
             between: the path, or the server, does not hold a connection.",
            outcome.failed(),
            outcome.failed() + outcome.operations,
            part.size_bytes,
            counted(outcome.quiet_closes, "time")
        );
        return (Judgement::Bad, text);
    }
    let text = format!(
        "{} messages of {} bytes in {lasted}, none failed; {} at the median, {} at most",
        outcome.operations,
        part.size_bytes,
        show_ns(p50_ns),
        show_ns(max_ns)
    );
    if stalled(p50_ns, max_ns) {
        let text = format!("{text}: at least one waited, {}.", as_for([outcome]));
        return (Judgement::Look, text);
    }
    unless_delayed(outcome, text + ".")
}

fn sizes(measured: &[(&PathPart, &PartOutcome)]) -> (Judgement, String) {
    let of = |test: fn(&PartOutcome) -> bool| {
        measured.iter().filter(|(_, outcome)| test(outcome)).collect::<Vec<_>>()
    };
    let dead = of(PartOutcome::silent);
    let first_dead = dead.iter().map(|(part, _)| part.size_bytes).min();
    let largest_alive = measured
        .iter()
        .filter(|(_, outcome)| !outcome.silent())
        .map(|(part, _)| part.size_bytes)
        .max();
    match (first_dead, largest_alive) {
        (Some(_), None) => return (Judgement::Bad, "no size got any answer.".into()),
        (Some(dead_bytes), Some(alive)) => {
            let unanswered = dead.iter().all(|(_, it)| it.unanswered || it.failed() > 0);
            let cause = dead.iter().find_map(|(_, outcome)| outcome.error.as_deref());
            let text = if dead_bytes > alive && unanswered {
                format!(
                    "messages up to {alive} bytes come back, those from {dead_bytes} bytes on do \
                     not: full packets are dropped without a word (a path MTU black hole). Let \
                     ICMP \"fragmentation needed\" through, or lower the MTU or the MSS."
                )
            } else {
                format!(
                    "messages of {} bytes got no answer{}",
                    names(&dead),
                    cause.map_or_else(|| ".".into(), |cause| format!(": {cause}"))
                )
            };
            return (Judgement::Bad, text);
        }
        (None, _) => {}
    }
    let failing = of(|outcome| outcome.failed() > 0);
    if !failing.is_empty() {
        let text = format!("some messages of {} bytes failed.", names(&failing));
        return (Judgement::Bad, text);
    }
    let sizes = measured.iter().map(|(part, _)| part.size_bytes);
    let (smallest, largest) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
    let through =
        format!("{} sizes from {smallest} to {largest} bytes get through", measured.len());
    waiting(measured, &through)
}

/// `500, 520`.
fn names(which: &[&(&PathPart, &PartOutcome)]) -> String {
    let names: Vec<String> = which.iter().map(|(part, _)| part.size_bytes.to_string()).collect();
    names.join(", ")
}

/// What sizes that all get through, as `through` says, waited for.
fn waiting(measured: &[(&PathPart, &PartOutcome)], through: &str) -> (Judgement, String) {
    let of = |test: fn(&PartOutcome) -> bool| {
        measured.iter().filter(|(_, outcome)| test(outcome)).collect::<Vec<_>>()
    };
    let delayed = of(|outcome| outcome.delayed_acknowledgement.is_some());
    if let [(part, outcome), ..] = &delayed[..]
        && let Some(stall) = &outcome.delayed_acknowledgement
    {
        let (which, bytes) = (names(&delayed), part.size_bytes);
        let text =
            format!("{through}, but those of {which} bytes stall. At {bytes} bytes, {stall}.");
        return (Judgement::Look, text);
    }
    let slower = (0..measured.len()).filter(|at| slower_than_neighbours(measured, *at));
    let slower = slower.map(|at| &measured[at]);
    let (lost, slow): (Vec<_>, Vec<_>) = slower.partition(|(_, outcome)| {
        outcome.operations < FEW && outcome.max_ns.is_some_and(|max| max >= RETRANSMISSION_NS)
    });
    let mut stalling = of(|outcome| {
        outcome.p50_ns.zip(outcome.max_ns).is_some_and(|(p50, max)| stalled(p50, max))
    });
    stalling.extend(lost);
    stalling.sort_by_key(|(part, _)| part.size_bytes);
    match (slow.is_empty(), stalling.is_empty()) {
        (true, true) => (Judgement::Fine, format!("{through}, none of them stalls.")),
        (false, _) => {
            let text = format!(
                "{through}, but those of {} bytes take far longer than their neighbours, as when \
                 every message waits for a delayed acknowledgement.",
                names(&slow)
            );
            (Judgement::Look, text)
        }
        (true, false) => {
            let text = format!(
                "{through}, but at {} bytes single messages waited, {}.",
                names(&stalling),
                as_for(stalling.iter().map(|(_, outcome)| *outcome))
            );
            (Judgement::Look, text)
        }
    }
}

/// True when the size at `at` takes far longer than both its neighbours, each of which may take less by
/// as much as it is smaller: that is the time of the bytes on a slow line.
fn slower_than_neighbours(measured: &[(&PathPart, &PartOutcome)], at: usize) -> bool {
    let of =
        |at: usize| measured.get(at).and_then(|(part, it)| Some((part.size_bytes, it.p50_ns?)));
    let Some((bytes, here)) = of(at) else {
        return false;
    };
    let as_large = |(other, p50): (u64, u64)| {
        let larger = u128::from(bytes.max(other)) * u128::from(p50) / u128::from(other.max(1));
        u64::try_from(larger).unwrap_or(u64::MAX)
    };
    let beside = [at.checked_sub(1).and_then(of), of(at + 1)];
    let neighbour = beside.into_iter().flatten().map(as_large).max();
    neighbour.is_some_and(|it| {
        here > it.saturating_mul(SLOW_FACTOR) && here > it.saturating_add(SLOW_NS)
    })
}

fn stalled(p50_ns: u64, max_ns: u64) -> bool {
    max_ns >= RETRANSMISSION_NS && max_ns >= STALL_FACTOR * p50_ns
}

/// What messages of `waiting` parts may have waited for. What this side did not send again was lost on
/// the way back, if at all.
fn as_for<'a>(waiting: impl IntoIterator<Item = &'a PartOutcome>) -> String {
    let counts = waiting.into_iter().map(|outcome| outcome.retransmits);
    match counts.sum::<Option<u64>>() {
        None => "as for a packet that was lost".into(),
        Some(0) => {
            "as for a packet that was lost on the way back, or for a server that stood still \
                    (this side sent none again)"
                .into()
        }
        Some(again) => format!(
            "as for a packet that was lost (this side sent {} again)",
            counted(again, "segment")
        ),
    }
}

/// Nothing that waited is fine.
fn looked_at((judgement, text): (Judgement, String)) -> (Judgement, String) {
    match judgement {
        Judgement::Fine => (Judgement::Look, text),
        judgement => (judgement, text),
    }
}

fn lost(outcome: &PartOutcome) -> (Judgement, String) {
    let kinds: Vec<String> =
        outcome.failures.iter().map(|(kind, n)| format!("{} {kind}", grouped(*n))).collect();
    let why = if kinds.is_empty() { "nothing came back".into() } else { kinds.join(", ") };
    (Judgement::Bad, format!("no message came back: {why}."))
}

/// Figures that may not be used are looked at; those with failures are bad.
fn judged(outcome: &PartOutcome, sentence: String) -> (Judgement, String) {
    if outcome.failed() > 0 {
        let text = format!("{sentence} {} failed.", counted(outcome.failed(), "message"));
        (Judgement::Bad, text)
    } else if outcome.valid {
        unless_delayed(outcome, sentence)
    } else {
        (Judgement::Look, sentence + NOT_VALID)
    }
}

/// What is fine but for messages that waited for an acknowledgement.
fn unless_delayed(outcome: &PartOutcome, sentence: String) -> (Judgement, String) {
    match &outcome.delayed_acknowledgement {
        Some(stall) => (Judgement::Look, format!("{sentence} {stall}.")),
        None => (Judgement::Fine, sentence),
    }
}

#[cfg(test)]
mod tests;
