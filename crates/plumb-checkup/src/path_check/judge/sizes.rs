//! Messages of every size: which get through, and which wait.

use super::again::{self, Filling};
use super::failures::Failed;
use super::{RETRANSMISSION_NS, as_for, at_least, at_once, stalled};
use crate::path_check::carried::Carried;
use crate::path_check::{Judgement, PartOutcome, PathPart};

/// A size this much slower than its neighbours waits with every message, as for a delayed
/// acknowledgement.
const SLOW_FACTOR: u64 = 3;
const SLOW_NS: u64 = 30_000_000;
/// Of fewer messages one that was lost is enough to make their median slow.
const FEW: u64 = 5;
/// Messages that fill packets of every usual MTU, bytes: a path that lets them through drops none for their
/// length.
const LONGEST_PACKET: u64 = 9_000;

/// The judgement of all sizes, and its sentence.
pub(super) fn judge(
    measured: &[(&PathPart, &PartOutcome)],
    carried: Option<Carried>,
) -> (Judgement, String) {
    if let Some(verdict) = unanswered(measured, carried).or_else(|| failing(measured)) {
        return verdict;
    }
    let sizes = measured.iter().map(|(part, _)| part.size_bytes);
    let (smallest, largest) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
    let through =
        format!("{} sizes from {smallest} to {largest} bytes get through", measured.len());
    let (judgement, text) = waiting(measured, &through);
    at_least(again::judge(outcomes(measured), Filling::May), (judgement, text))
}

fn outcomes<'a>(
    which: &[(&'a PathPart, &'a PartOutcome)],
) -> impl Iterator<Item = &'a PartOutcome> + Clone {
    which.iter().map(|(_, outcome)| *outcome)
}

/// What sizes that got no right answer at all say, on a line of which is known what it `carried`; `None`
/// where every size got one.
fn unanswered(
    measured: &[(&PathPart, &PartOutcome)],
    carried: Option<Carried>,
) -> Option<(Judgement, String)> {
    let (dead, alive): (Vec<_>, Vec<_>) =
        measured.iter().copied().partition(|(_, outcome)| outcome.silent());
    if dead.is_empty() {
        return None;
    }
    let Some(alive_bytes) = alive.iter().map(|(part, _)| part.size_bytes).max() else {
        let conclusions = Failed::of(outcomes(&dead)).conclusions(timeout_ns(&dead));
        return Some((Judgement::Bad, format!("no size got any right answer.{conclusions}")));
    };
    let too_slow = |(part, outcome): (&PathPart, &PartOutcome)| {
        carried.filter(|_| is_silence(outcome))?.too_slow_for(part)
    };
    let (slow, broken): (Vec<_>, Vec<_>) =
        dead.iter().copied().partition(|size| too_slow(*size).is_some());
    if let Some(text) = slow.first().filter(|_| broken.is_empty()).and_then(|size| too_slow(*size))
    {
        let text = format!("messages up to {alive_bytes} bytes come back; {text}");
        let lossy = again::judge(outcomes(&alive), Filling::May);
        let looked_at = || at_least(lossy, (Judgement::Look, text));
        return Some(failing(&alive).unwrap_or_else(looked_at));
    }
    Some((Judgement::Bad, broken_at(&broken, alive_bytes)))
}

/// True where no answer came in time, and nothing else is known of it.
fn is_silence(outcome: &PartOutcome) -> bool {
    outcome.unanswered || outcome.failures.contains_key("timed-out")
}

/// What the sizes of `dead`, at least one, say, beside those of at most `alive_bytes`, which came back.
fn broken_at(dead: &[(&PathPart, &PartOutcome)], alive_bytes: u64) -> String {
    let dead_bytes = dead.iter().map(|(part, _)| part.size_bytes).min().unwrap_or(0);
    let from_there_on = dead_bytes > alive_bytes && alive_bytes < LONGEST_PACKET;
    if from_there_on && outcomes(dead).all(is_silence) {
        return format!(
            "messages up to {alive_bytes} bytes come back, those from {dead_bytes} bytes on do \
             not: full packets are dropped without a word (a path MTU black hole). Let \
             ICMP \"fragmentation needed\" through, or lower the MTU or the MSS."
        );
    }
    let (wrong, unheard): (Vec<_>, Vec<_>) =
        dead.iter().copied().partition(|(_, outcome)| outcome.failed() > 0);
    let wrong_text = (!wrong.is_empty()).then(|| {
        let failed = Failed::of(outcomes(&wrong));
        format!(
            "no message of {} bytes came back as it should ({}).{}",
            names(&wrong),
            failed.kinds(),
            failed.conclusions(timeout_ns(&wrong))
        )
    });
    let unheard_text = (!unheard.is_empty()).then(|| {
        let cause = outcomes(&unheard).find_map(|outcome| outcome.error.as_deref());
        format!(
            "messages of {} bytes got no answer{}",
            names(&unheard),
            cause.map_or_else(|| ".".into(), |cause| format!(": {cause}"))
        )
    });
    let both: Vec<String> = wrong_text.into_iter().chain(unheard_text).collect();
    both.join(" And ")
}

/// What sizes of which some messages failed say; `None` where none did.
fn failing(measured: &[(&PathPart, &PartOutcome)]) -> Option<(Judgement, String)> {
    let failing: Vec<_> =
        measured.iter().copied().filter(|(_, outcome)| outcome.failed() > 0).collect();
    if failing.is_empty() {
        return None;
    }
    let failed = Failed::of(outcomes(&failing));
    let text = format!(
        "messages of {} bytes do not all come back as they should ({}).{}",
        names(&failing),
        failed.kinds(),
        failed.conclusions(timeout_ns(&failing))
    );
    Some((Judgement::Bad, text))
}

fn timeout_ns(which: &[(&PathPart, &PartOutcome)]) -> u64 {
    which.iter().map(|(part, _)| part.timeout_ns).max().unwrap_or(0)
}

/// `500, 520`.
fn names(which: &[(&PathPart, &PartOutcome)]) -> String {
    let names: Vec<String> = which.iter().map(|(part, _)| part.size_bytes.to_string()).collect();
    names.join(", ")
}

/// What sizes that all get through, as `through` says, waited for.
fn waiting(measured: &[(&PathPart, &PartOutcome)], through: &str) -> (Judgement, String) {
    let of = |test: fn(&PartOutcome) -> bool| {
        measured.iter().copied().filter(|(_, outcome)| test(outcome)).collect::<Vec<_>>()
    };
    let delayed = of(|outcome| outcome.delayed_acknowledgement.is_some());
    if let [(part, outcome), ..] = &delayed[..]
        && let Some(stall) = &outcome.delayed_acknowledgement
    {
        let (which, bytes) = (names(&delayed), part.size_bytes);
        let text = format!(
            "{through}, but those of {which} bytes stall. At {bytes} bytes, {stall} ({}).",
            at_once(part)
        );
        return (Judgement::Look, text);
    }
    let slower = (0..measured.len()).filter(|at| slower_than_neighbours(measured, *at));
    let slower = slower.map(|at| measured[at]);
    let (lost, slow): (Vec<_>, Vec<_>) = slower.partition(|(_, outcome)| waited_once(outcome));
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
                as_for(outcomes(&stalling))
            );
            (Judgement::Look, text)
        }
    }
}

/// True of so few messages that one of them, which waited, may be why their median is slow.
fn waited_once(outcome: &PartOutcome) -> bool {
    let for_loss = outcome.max_ns.is_some_and(|max| max >= RETRANSMISSION_NS)
        || outcome.retransmits.is_some_and(|again| again > 0);
    outcome.operations == 1 || outcome.operations < FEW && for_loss
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
