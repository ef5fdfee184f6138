//! What is said of a server below its table: a name and a text each.

use plumb_checkup::{
    Checkup, CheckupLayer, CheckupPart, LayerState, LayerVerdict, OwnTime, PartRole,
};
use plumb_measure::{
    Estimate, Finding, FindingKind, PairDifference, Split, counted, rounded, show_ns,
};

use super::Server;
use plumb_page::figures::share;
use plumb_report::is_told_apart;
use plumb_report::reason;

/// Findings of one part that are spelled out; more are counted.
const FINDINGS_MAX: usize = 3;

/// The name of why a server is not judged.
pub(super) const NOT_JUDGED: &str = "not judged";
/// The name of what a server adds to a round trip.
pub(super) const ADDS: &str = "adds";
/// The name of what a server says of its own time.
pub(super) const ACCOUNT: &str = "its account";

/// Everything there is to say of `server`.
pub(super) fn of<'a>(server: &Server<'a>) -> Vec<(&'a str, String)> {
    let mut remarks: Vec<(&str, String)> = Vec::new();
    if let Some(text) = added(server) {
        remarks.push((ADDS, text));
        remarks.extend(server.verdict.and_then(account).map(|text| (ACCOUNT, text)));
    }
    remarks.extend(not_judged(server).map(|text| (NOT_JUDGED, text)));
    for (at, part) in server.parts.iter().enumerate() {
        remarks.extend(processing(part).map(|text| ("processing", text)));
        remarks.extend(taken_apart(part).map(|text| ("parts", text)));
        // a server that is not there fails all its parts alike
        let said = server.parts[..at].iter().any(|earlier| failed_alike(earlier, part));
        remarks.extend(if said { Vec::new() } else { trouble(part, server.busy.is_some()) });
    }
    remarks
}

/// Why a server is not judged all of whose figures are valid: no finding of a part says it.
fn not_judged(server: &Server<'_>) -> Option<String> {
    let verdict = server.verdict.filter(|it| it.state == LayerState::NotValid)?;
    let yardsticks = server.parts.iter().filter(|part| part.role == PartRole::Yardstick);
    let mut outcomes = yardsticks.filter_map(|part| part.outcome.as_ref());
    let sound = outcomes.all(|it| it.stands() && it.validity.latency_valid);
    verdict.why.clone().filter(|_| sound)
}

/// What a server that is judged adds to a round trip.
pub(super) fn added(server: &Server<'_>) -> Option<String> {
    let verdict = server.verdict?;
    Some(adds(server.layer, verdict.own?, verdict.operation.as_deref()?))
}

/// The same where the definitions say what is meant; a network adds what its row shows.
pub(super) fn added_briefly(server: &Server<'_>) -> Option<String> {
    let verdict = server.verdict.filter(|_| server.layer != CheckupLayer::Network)?;
    let (own, operation) = (verdict.own?, verdict.operation.as_deref()?);
    if let Some(less) = less_than_a_round_trip(own, operation) {
        return Some(less);
    }
    let way = if own.floor_ns.is_none() { ", the way through the network included" } else { "" };
    Some(format!("adds {} to {operation}{way}", known(own)))
}

/// What is said of the whole.
pub(super) fn around(checkup: &Checkup) -> Vec<(&str, String)> {
    let remarks = checkup.verdict.remarks.iter().map(|it| (it.name.as_str(), it.text.clone()));
    let left_out = checkup.left_out.iter().map(|left| ("not measured", left.why.clone()));
    let troubles = checkup.troubles.iter().map(|text| ("trouble", text.clone()));
    let idle = checkup.idle.iter().map(|cost| ("idle", cost.sentence.clone()));
    remarks.chain(left_out).chain(troubles).chain(idle).collect()
}

/// What is said in the place of a time below zero: the round trip of that host carries more, or goes
/// another way than the operation.
fn less_than_a_round_trip(own: OwnTime, operation: &str) -> Option<String> {
    let floor_ns = own.floor_ns.filter(|_| own.high_ns < 0)?;
    Some(format!(
        "what it adds cannot be told: {operation} takes {} less than a round trip to the same host, {}, \
         which carries more or goes another way",
        show_ns(own.ns.unsigned_abs()),
        show_ns(floor_ns)
    ))
}

fn adds(layer: CheckupLayer, own: OwnTime, operation: &str) -> String {
    if let Some(less) = less_than_a_round_trip(own, operation) {
        return less;
    }
    let added = known(own);
    match own.floor_ns {
        Some(floor_ns) => format!(
            "{added} to {operation}: its median less that of a round trip to the same host, {}",
            show_ns(floor_ns)
        ),
        None if layer == CheckupLayer::Network => format!("{added}: the median of {operation}"),
        None => format!(
            "{added} to {operation}, the way through the network included: no round trip to its \
             host is known"
        ),
    }
}

/// A time and how well it is known, such as `24.0 us (+- 284 ns)`, or the most that it may be.
fn known(own: OwnTime) -> String {
    own.at_most().unwrap_or_else(|| format!("{} {}", time(own.ns), doubt(own)))
}

/// How well a time is known: `(+- 284 ns)`, or how far it may lie below and above.
fn doubt(own: OwnTime) -> String {
    let (below, above) = (own.ns.saturating_sub(own.low_ns), own.high_ns.saturating_sub(own.ns));
    if below == above {
        format!("(+- {})", time(below))
    } else {
        format!("(- {}, + {})", time(below), time(above))
    }
}

/// A difference of times.
pub(super) fn time(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{}", show_ns(ns.unsigned_abs()))
}

/// What the server says of its own time.
fn account(verdict: &LayerVerdict) -> Option<String> {
    let (mean_ns, of) = verdict.accounted().filter(|_| !verdict.told_ns.is_empty())?;
    let told: Vec<(&str, u64)> = verdict.told_parts().filter(|(_, ns)| *ns > 0).collect();
    let times = told.iter().map(|(name, ns)| (*name, Estimate::exact(*ns, 1)));
    // times that contain each other have no shares
    let apart = Split::of(Estimate::exact(mean_ns, 1), times, "rest").is_ok();
    let part = |(name, ns): &(&str, u64)| match apart {
        true => format!("{name} {} ({})", show_ns(*ns), share(*ns, mean_ns)),
        false => format!("{name} {}", show_ns(*ns)),
    };
    let parts: Vec<String> = told.iter().map(part).collect();
    let more = if apart { "" } else { "; they add up to more" };
    let (mean, whose, untold) = (show_ns(mean_ns), of.whose(), of.untold());
    Some(format!("means{whose}, of a mean of {mean}: {}{more}{untold}", parts.join(", ")))
}

/// Where the time of a round trip went.
fn taken_apart(part: &CheckupPart) -> Option<String> {
    let outcome = part.outcome.as_ref().filter(|outcome| outcome.stands())?;
    let means = outcome.round_trip?;
    let cost = means.stamp_cost().map_or_else(String::new, |cost| format!(" {cost}"));
    Some(format!("{}. {}{cost}", means.line(), means.finding()))
}

/// What a page takes longer than one that is ready.
fn processing(part: &CheckupPart) -> Option<String> {
    let outcome = part.outcome.as_ref()?;
    let pair = outcome.pair.as_ref()?;
    let last = pair.last_byte.filter(|_| outcome.stands())?;
    let (difference, fixed) = (difference(&last), &pair.fixed);
    Some(match is_told_apart(&last) {
        true => format!("{difference} longer than {fixed}"),
        false => format!("not told apart from {fixed}: {difference}"),
    })
}

fn difference(found: &PairDifference) -> String {
    let time = |ns: f64| {
        let sign = if ns < 0.0 { "-" } else { "" };
        format!("{sign}{}", show_ns(rounded(ns.abs())))
    };
    match (found.low_ns, found.high_ns) {
        (Some(low), Some(high)) => {
            format!("{} ({} to {})", time(found.ns), time(low), time(high))
        }
        _ => time(found.ns),
    }
}

/// Why there is no record of a part, or what was found of it; on a `busy` machine without that, and never the
/// names that took long.
fn trouble(part: &CheckupPart, busy: bool) -> Vec<(&'static str, String)> {
    let Some(outcome) = &part.outcome else { return Vec::new() };
    let name = format!("{}, {}", part.operation, part.how);
    if let Some(error) = &outcome.error {
        let word = if outcome.not_offered { "not offered" } else { "not measured" };
        return vec![(word, format!("{name}: {error}"))];
    }
    let reasons = outcome.validity.reasons.iter();
    let is_said = |kind: FindingKind| match kind {
        FindingKind::ForeignLoad => busy,
        FindingKind::SlowName => true, // once for the whole checkup
        _ => false,
    };
    let reasons: Vec<&Finding> = reasons.filter(|it| !is_said(it.kind)).collect();
    let mut said: Vec<(&str, String)> = reasons
        .iter()
        .take(FINDINGS_MAX)
        .map(|finding| reason(finding))
        .map(|(word, text)| (word, format!("{name}: {text}")))
        .collect();
    if reasons.len() > FINDINGS_MAX {
        let more = counted((reasons.len() - FINDINGS_MAX) as u64, "more finding");
        said.push(("", format!("and {more} in its own report")));
    }
    said
}

fn failed_alike(one: &CheckupPart, other: &CheckupPart) -> bool {
    let error = |part: &CheckupPart| part.outcome.as_ref().and_then(|it| it.error.clone());
    error(one).is_some() && error(one) == error(other)
}
