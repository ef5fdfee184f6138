//! From what was measured to a sentence.

mod again;
mod failures;
mod sizes;

use super::carried::Carried;
use super::{Judgement, NOT_VALID, PartOutcome, PathPart, PathTest, connects, datagrams};
use again::Filling;
use failures::Failed;
use plumb_measure::{PartKind, Span, counted, grouped, may_be_delayed, real, show_ns, show_plain};

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
/// Medians of two sizes that are this much apart, as a share of them, may be the same.
const SAME_WITHIN: u64 = 10;

/// What other tests of a check know.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known<'a> {
    /// What came of the round trip of the smallest message.
    pub(super) round_trip: Option<&'a PartOutcome>,
    /// What messages carried.
    pub(super) carried: Option<Carried>,
}

/// What the parts of one test say; at least one part.
pub(super) fn judge(test: PathTest, parts: &[&PathPart], known: Known<'_>) -> (Judgement, String) {
    let measured: Vec<(&PathPart, &PartOutcome)> =
        parts.iter().filter_map(|part| Some((*part, part.outcome.as_ref()?))).collect();
    if measured.len() < parts.len() && test != PathTest::Connects {
        let text = format!("{} of {} parts are measured", measured.len(), parts.len());
        return (Judgement::Open, text);
    }
    let Some((part, outcome)) = measured.first().copied() else {
        return (Judgement::Open, "nothing is measured".into());
    };
    match test {
        PathTest::Sizes => return sizes::judge(&measured, known.carried),
        PathTest::Datagrams => return datagrams::judge(part, outcome),
        PathTest::Connects => return connects::judge(measured.iter().map(|(_, it)| *it)),
        PathTest::Throughput | PathTest::RoundTrip | PathTest::Idle | PathTest::Stability => {}
    }
    if let Some(error) = &outcome.error {
        let slow = known.carried.filter(|_| outcome.unanswered);
        return match slow.and_then(|carried| carried.too_slow_for(part)) {
            Some(text) => (Judgement::Look, text),
            None => (Judgement::Bad, format!("could not be measured: {error}")),
        };
    }
    match test {
        PathTest::Throughput => throughput(part, outcome, known.round_trip),
        PathTest::RoundTrip => round_trip(part, outcome),
        PathTest::Idle => idle(part, outcome),
        _ => stability(part, outcome, known.round_trip),
    }
}

fn throughput(
    part: &PathPart,
    outcome: &PartOutcome,
    round_trip: Option<&PartOutcome>,
) -> (Judgement, String) {
    let Some(kb_s) = outcome.kb_per_s else {
        return lost(part, outcome);
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
    let lossy = again::judge([outcome], Filling::May);
    if let (Some(p50_ns), Some(max_ns)) = (outcome.p50_ns, outcome.max_ns)
        && stalled(p50_ns, max_ns)
    {
        sentence += &format!(
            " A message takes {} at the median and {} at most: at least one waited, {}.",
            show_ns(p50_ns),
            show_ns(max_ns),
            as_for([outcome])
        );
        return at_least(lossy, looked_at(judged(part, outcome, sentence)));
    }
    let Some((trip, p50_ns)) = round_trip.zip(outcome.p50_ns) else {
        return at_least(lossy, judged(part, outcome, sentence));
    };
    if trip.delayed_acknowledgement.is_some() && may_be_delayed(p50_ns) {
        sentence += &format!(
            " They take {} at the median, as the smallest message does, which waits for a delayed \
             acknowledgement, or for a server that works for so long: this is how fast that is, and not \
             the line.",
            show_ns(p50_ns)
        );
        return at_least(lossy, looked_at(judged(part, outcome, sentence)));
    }
    if let Some(shortest_ns) = trip.way_ns()
        && shortest_ns > p50_ns / 2
        && shortest_ns <= p50_ns + p50_ns / SAME_WITHIN
    {
        sentence += &format!(
            " {} of the {} that a message takes are the round trip itself: {}.",
            show_ns(shortest_ns.min(p50_ns)),
            show_ns(p50_ns),
            limit(trip)
        );
    }
    at_least(lossy, judged(part, outcome, sentence))
}

/// What the limit is where most of the time of a large message is that of the smallest, `trip`.
fn limit(trip: &PartOutcome) -> &'static str {
    let parts = trip.round_trip;
    match parts.and_then(|parts| Some((parts.ns(PartKind::Wire)?, parts.whole_ns()))) {
        Some((wire_ns, whole_ns)) if wire_ns > whole_ns / 2 => {
            "the distance is the limit here, and the line may carry far more over several connections"
        }
        Some(_) => {
            "what both machines do is the limit here, and the line may carry far more over several \
             connections"
        }
        None => {
            "the distance, or the server, is the limit here, and the line may carry far more over \
             several connections"
        }
    }
}

fn round_trip(part: &PathPart, outcome: &PartOutcome) -> (Judgement, String) {
    let (Some(average_ms), Some(p50_ns)) = (outcome.average_ms, outcome.p50_ns) else {
        return lost(part, outcome);
    };
    let takes = format!(
        "the smallest message takes {average_ms:.3} ms on average (av2), {} at the median",
        show_ns(p50_ns)
    );
    let lossy = again::judge([outcome], Filling::Not);
    if let Some(max_ns) = outcome.max_ns.filter(|max_ns| stalled(p50_ns, *max_ns)) {
        // then the average is that of the waiting, and no distance
        let sentence = format!(
            "{takes}, {} at most: at least one waited, {}.",
            show_ns(max_ns),
            as_for([outcome])
        );
        return at_least(lossy, looked_at(judged(part, outcome, sentence)));
    }
    if outcome.delayed_acknowledgement.is_some() {
        return at_least(lossy, judged(part, outcome, takes + ".")); // as above
    }
    let parts = outcome.round_trip.map(|it| [Some(it.finding()), it.stamp_cost()]);
    let parts = parts.into_iter().flatten().flatten().map(|text| format!(" {text}"));
    let sentence = format!("{takes}: {}.{}", reach(outcome, average_ms), parts.collect::<String>());
    at_least(lossy, judged(part, outcome, sentence))
}

/// How far light would come in the time on the wire; where nobody told that, in all of the time.
fn reach(outcome: &PartOutcome, average_ms: f64) -> String {
    let wire_ns = outcome.round_trip.and_then(|parts| parts.ns(PartKind::Wire));
    let (ms, time) = match wire_ns {
        Some(ns) => (real(ns) / 1e6, "in the time on the wire"),
        None => (average_ms, "in that time, less what the server takes of it"),
    };
    if ms < 1.0 {
        return "as within a building or a city".into();
    }
    format!("light in fibre would go {:.0} km far and back {time}", ms * FIBRE_KM_PER_MS)
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
    let failed = Failed::of([outcome]);
    if failed.tells_of_silence() {
        let text = match outcome.failures.contains_key("timed-out") {
            true => format!(
                "after {silence} of silence the connection was dead and neither side was told: no answer \
                 within {timeout}. Something on the way, a firewall most likely, forgets silent \
                 connections: raise its time-out, or use keep-alives that are more frequent."
            ),
            false => format!(
                "after {silence} of silence the next message failed ({}): something on the way, or the \
                 server, ended the connection. Raise its time-out, or use keep-alives.",
                failed.kinds()
            ),
        };
        return (Judgement::Bad, text);
    }
    if outcome.failed() > 0 {
        return (Judgement::Bad, failing(part, outcome, ""));
    }
    match outcome.operations {
        2.. => {
            let text = format!("a connection that was silent for {silence} still works.");
            (Judgement::Fine, text)
        }
        _ => lost(part, outcome),
    }
}

fn stability(
    part: &PathPart,
    outcome: &PartOutcome,
    round_trip: Option<&PartOutcome>,
) -> (Judgement, String) {
    let (Some(p50_ns), Some(max_ns)) = (outcome.p50_ns, outcome.max_ns) else {
        return lost(part, outcome);
    };
    let lasted = show_ns(outcome.duration_ns);
    if outcome.failed() > 0 || outcome.quiet_closes > 0 {
        return (Judgement::Bad, failing(part, outcome, &format!(" in {lasted}")));
    }
    let text = format!(
        "{} messages of {} bytes in {lasted}, none failed; {} at the median, {} at most",
        outcome.operations,
        part.size_bytes,
        show_ns(p50_ns),
        show_ns(max_ns)
    );
    let lossy = again::judge([outcome], Filling::of(outcome, round_trip));
    if stalled(p50_ns, max_ns) {
        let text = format!("{text}: at least one waited, {}.", as_for([outcome]));
        return at_least(lossy, (Judgement::Look, text));
    }
    at_least(lossy, unless_delayed(part, outcome, text + "."))
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

/// The graver of two judgements, with both sentences.
fn at_least(
    lossy: Option<(Judgement, String)>,
    (judgement, text): (Judgement, String),
) -> (Judgement, String) {
    match lossy {
        Some((least, why)) => (judgement.max(least), format!("{text} {why}")),
        None => (judgement, text),
    }
}

fn lost(part: &PathPart, outcome: &PartOutcome) -> (Judgement, String) {
    let failed = Failed::of([outcome]);
    let kinds = failed.kinds();
    let why = if kinds.is_empty() { "nothing came back".into() } else { kinds };
    let conclusions = failed.conclusions(part.timeout_ns);
    (Judgement::Bad, format!("no message came back as it should: {why}.{conclusions}"))
}

/// How many messages failed `meanwhile`, how, and what that says.
fn failing(part: &PathPart, outcome: &PartOutcome, meanwhile: &str) -> String {
    let failed = Failed::of([outcome]);
    let messages = failed.messages();
    let kinds = match messages {
        0 => String::new(), // what was wrong is in the conclusions
        _ => format!(" ({})", failed.kinds_of_messages()),
    };
    format!(
        "{} of {} of {} bytes failed{meanwhile}{kinds}.{}",
        if messages == 0 { "none".into() } else { grouped(messages) },
        counted(messages + outcome.operations, "message"),
        part.size_bytes,
        failed.conclusions(part.timeout_ns)
    )
}

/// Figures that may not be used are looked at; those with failures are bad.
fn judged(part: &PathPart, outcome: &PartOutcome, sentence: String) -> (Judgement, String) {
    if outcome.failed() > 0 {
        let text = format!("{sentence} In all, {}", failing(part, outcome, ""));
        (Judgement::Bad, text)
    } else if outcome.valid {
        unless_delayed(part, outcome, sentence)
    } else {
        (Judgement::Look, sentence + NOT_VALID)
    }
}

/// What is fine but for messages that waited for an acknowledgement.
fn unless_delayed(part: &PathPart, outcome: &PartOutcome, sentence: String) -> (Judgement, String) {
    match &outcome.delayed_acknowledgement {
        Some(stall) => (Judgement::Look, format!("{sentence} {stall} ({}).", at_once(part))),
        None => (Judgement::Fine, sentence),
    }
}

/// The command that measures the messages of `part` with acknowledgements that are sent at once.
fn at_once(part: &PathPart) -> String {
    format!("plumb net ping HOST --size {}B --quick-ack", part.size_bytes)
}

#[cfg(test)]
mod tests;
