//! What a run proves, in words.

use std::collections::BTreeMap;

use plumb_measure::{
    FailureKind, Finding, FindingKind, ForeignLimit, ResultRecord, RunRecord, Scope, Status,
    Validity, attempts_to_connect, show_count, show_ns,
};

use crate::attribution;
use crate::figures::{failures_of, grouped, per_second, total, with_unit};
use crate::noun::{Noun, capitalised};
use crate::parts;
use crate::points::Points;
use crate::streams;
use crate::trust::Trust;

/// What was run against what: `net ping 10.0.0.5:3298`.
pub(crate) fn title(record: &RunRecord) -> String {
    format!("{} {} {}", record.plan.layer, record.plan.verb, record.target.address)
}

/// The verdict and how the run ended: `INVALID, interrupted`.
pub(crate) fn heading(record: &RunRecord) -> String {
    let word = word_of(record);
    match record.status {
        Status::Complete => word,
        Status::Interrupted => format!("{word}, interrupted"),
        Status::Running => format!("{word}, not finished"),
        Status::Broken => format!("{word}, broken off"),
    }
}

/// The word for the verdict, with the limit that was raised for it.
pub(crate) fn word(record: &RunRecord) -> String {
    Trust::of_run(record).word().to_owned() + &under(record)
}

/// The word over a report; with what it was mostly refused, or what it missed, is said at once.
fn word_of(record: &RunRecord) -> String {
    let word = word(record);
    let wrong = record.results.iter().flat_map(|result| &result.unexpected_codes);
    match wrong.max_by_key(|(_, n)| **n).filter(|_| is_mostly_refused(record)) {
        Some((code, _)) => format!("{word}: unexpected status {code}"),
        None => word + &missed(record),
    }
}

/// True when no other kind of failure is as frequent as a status that was not expected.
fn is_mostly_refused(record: &RunRecord) -> bool {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for (kind, n) in record.results.iter().flat_map(|result| &result.failures) {
        *kinds.entry(kind).or_default() += n;
    }
    let refused = kinds.remove(FailureKind::UnexpectedStatus.name()).unwrap_or_default();
    kinds.into_values().all(|n| n < refused)
}

/// The raised limit under which figures stand, behind a comma; nothing when none was raised, or
/// nothing stands.
fn under(record: &RunRecord) -> String {
    match raised(&record.validity) {
        Some(limit) => format!(", limit raised to {limit}"),
        None => String::new(),
    }
}

/// The limit of foreign load that was raised for a verdict that leaves figures.
pub(crate) fn raised(validity: &Validity) -> Option<ForeignLimit> {
    let raised = validity.foreign_limit.filter(|limit| limit.is_raised());
    raised.filter(|_| Trust::of(validity).leaves_any())
}

/// What a raised limit means, behind the meaning of the verdict.
fn under_which_limit(record: &RunRecord) -> String {
    let Some(limit) = raised(&record.validity) else { return String::new() };
    let shares = record.results.iter().filter_map(|result| result.host.as_ref()?.foreign_pct);
    let took = match shares.reduce(f64::max) {
        Some(most) => format!("Others took up to {most:.1} % of all processors"),
        // each of them watched its own machine
        None if record.plan.options.contains_key("remotes") => {
            "What others took is in the record of each remote (remotes/NAME.json)".into()
        }
        None => "What others took is not known".into(),
    };
    format!(
        " {took}: the limit was raised from {} to {limit} ({}).",
        ForeignLimit::default(),
        limit.source.setter()
    )
}

/// How many thresholds were missed, behind a comma; nothing when none was.
fn missed(record: &RunRecord) -> String {
    let thresholds = record.results.iter().flat_map(|result| &result.thresholds);
    match thresholds.filter(|threshold| !threshold.met).count() {
        0 => String::new(),
        1 => ", 1 threshold missed".into(),
        missed => format!(", {missed} thresholds missed"),
    }
}

/// What the verdict means for the reader.
pub(crate) fn meaning(record: &RunRecord) -> String {
    let all = record.results.len();
    let touched = |trust| {
        let found = record.results.iter().filter(|r| Trust::of(&r.validity) == trust).count();
        (found < all && found > 0).then_some(found)
    };
    let meaning = match Trust::of_run(record) {
        Trust::Full => "Every figure may be quoted.".into(),
        Trust::Throughput => match touched(Trust::Throughput) {
            None => "Throughput stands as a lower bound; no latency may be quoted.".into(),
            Some(some) => format!(
                "In {some} of {all} results throughput is a lower bound and no latency may be \
                 quoted; the others stand."
            ),
        },
        Trust::Unchecked => match touched(Trust::Unchecked) {
            None => "It is not known whether its figures may be quoted.".into(),
            Some(some) => format!(
                "It is not known whether the figures of {some} of {all} results may be quoted."
            ),
        },
        Trust::Nothing => match touched(Trust::Nothing) {
            None => "No figure of this run may be quoted.".into(),
            Some(some) => {
                format!("No figure of {some} of {all} results may be quoted, nor of their sum.")
            }
        },
    };
    meaning + &under_which_limit(record)
}

/// What a run that did not come to its end leaves; `None` when it did.
pub(crate) fn ending(record: &RunRecord) -> Option<&'static str> {
    match record.status {
        Status::Complete => None,
        Status::Interrupted => Some("The run was interrupted before its plan ended."),
        Status::Running => Some("The run has not ended yet, or its process died."),
        Status::Broken => Some("It ended before its plan did; what was measured stands."),
    }
}

/// What a finding takes away: the word before it, and its text.
#[must_use]
pub fn reason(finding: &Finding) -> (&'static str, &str) {
    let word = match finding.scope {
        Scope::Everything => "invalid",
        Scope::Unchecked => "not checked",
        Scope::Latency => "no latency",
        Scope::Nothing => "remark",
    };
    (word, &finding.text)
}

/// How many operations were measured and how many were not: `10,000 round trips, none failed`.
pub(crate) fn counts(record: &RunRecord) -> String {
    let operations = total(record.results.iter().map(|result| result.operations));
    let failures = total(record.results.iter().map(failures_of));
    let dropped = total(record.results.iter().map(|result| result.dropped));
    let mut text = Noun::of(record).count(operations);
    text += &match failures {
        // what was only accepted may have failed since
        0 if only_accepted(record) => ", all accepted".into(),
        0 => ", none failed".into(),
        n => format!(", {} failed", grouped(n)),
    };
    let attempts = total(record.results.iter().map(|result| result.connect_failures));
    if let Some(attempts) = attempts_to_connect(attempts, failures) {
        text += &format!(" ({attempts})");
    }
    let refused = total(record.results.iter().map(|result| result.refused));
    if refused > 0 {
        text += &format!(", {} refused", grouped(refused));
    }
    if dropped > 0 {
        text += &format!(", {} dropped", grouped(dropped));
    }
    text
}

/// True of messages that were answered before they were done.
fn only_accepted(record: &RunRecord) -> bool {
    let accepted = |result: &ResultRecord| result.codes.contains_key("202");
    record.plan.layer == "flow" && record.results.iter().any(accepted)
}

/// The run in one or two sentences.
#[must_use]
pub fn sentence(record: &RunRecord) -> String {
    let said = match Trust::of_run(record) {
        Trust::Full => measured(record),
        Trust::Throughput => lower_bound(record),
        Trust::Unchecked => not_checked(record),
        Trust::Nothing => nothing_proven(record),
    };
    match ending(record) {
        Some(ending) => format!("{ending} {said}"),
        None => said,
    }
}

fn measured(record: &RunRecord) -> String {
    if let Some(said) = streams::sentence(record) {
        return said;
    }
    let points = Points::of(record);
    let said = match points.results[..] {
        [only] => measured_once(record, only),
        _ => measured_often(record, &points),
    };
    match attribution::headline(record) {
        Some(answer) => format!("{answer} {said}"),
        None => said,
    }
}

/// True of a result that is a figure of its own, without times: what a command printed.
pub(crate) fn is_figure(result: &ResultRecord) -> bool {
    result.response_ns.is_none() && result.operations > 0 && !result.figures.is_empty()
}

fn measured_once(record: &RunRecord, result: &ResultRecord) -> String {
    if let Some(figure) = result.figures.first().filter(|_| is_figure(result)) {
        let value = with_unit(figure.value, &figure.unit);
        return format!("{}: {value}, {}.", capitalised(&figure.name), figure.formula);
    }
    let Some(times) = &result.response_ns else { return "Nothing was measured.".into() };
    let said = format!(
        "Half of the {} to {} took at most {}, 99 % at most {}; the longest took {}. {}, at {}.",
        Noun::of(record).many,
        record.target.address,
        show_ns(times.p50),
        show_ns(times.p99),
        show_ns(times.max),
        capitalised(&counts(record)),
        per_second(result.throughput_per_s),
    );
    match parts::pair::sentence(result) {
        Some(pair) => format!("{pair} {said}"),
        None => said,
    }
}

fn measured_often(record: &RunRecord, points: &Points<'_>) -> String {
    let medians = points.medians();
    let (Some((fastest, least)), Some((slowest, longest)), Some(most)) =
        (medians.first(), medians.last(), points.highest_throughput())
    else {
        return "Nothing was measured.".into();
    };
    format!(
        "The median {} to {} took from {} ({}) to {} ({}). The highest throughput was {} ({}). \
         {} results: {}.",
        Noun::of(record).one,
        record.target.address,
        show_ns(*least),
        points.name(fastest),
        show_ns(*longest),
        points.name(slowest),
        per_second(most.throughput_per_s),
        points.name(most),
        points.results.len(),
        counts(record),
    )
}

fn lower_bound(record: &RunRecord) -> String {
    let points = Points::of(record);
    let rate = points.highest_throughput().map_or(0.0, |result| result.throughput_per_s);
    let touched = record.results.iter().filter(|r| !r.validity.latency_valid).count();
    let whose = match (touched, record.results.len()) {
        (_, 1) => "no latency of this run may be quoted".into(),
        (0, _) => "the latencies may not be quoted".to_owned(),
        (some, all) if some == all => "no latency of this run may be quoted".into(),
        (some, all) => format!("the latencies of {some} of {all} results may not be quoted"),
    };
    format!(
        "At least {} {} were carried a second; {whose}.",
        show_count(rate),
        Noun::of(record).many
    )
}

fn nothing_proven(record: &RunRecord) -> String {
    if record.results.is_empty() {
        return "Nothing was measured.".into();
    }
    let proves_nothing = |it: &&ResultRecord| Trust::of(&it.validity) == Trust::Nothing;
    let touched = record.results.iter().filter(proves_nothing).count();
    let whose = if record.results.len() > 1 && touched > 0 && touched < record.results.len() {
        let are = if touched == 1 { "is" } else { "are" };
        format!(
            "{touched} of {} results {are} invalid, so the run as a whole",
            record.results.len()
        )
    } else {
        "This run".into()
    };
    let said = format!("{whose} proves nothing.");
    // how the run ended is said already
    let gravest = record.validity.reasons.iter().find(|finding| {
        finding.scope == Scope::Everything && finding.kind != FindingKind::CutShort
    });
    match gravest {
        Some(finding) => format!("{said} {}.", capitalised(finding.text.trim_end_matches('.'))),
        None => said,
    }
}

/// What could not be checked, and what to do.
fn not_checked(record: &RunRecord) -> String {
    let touched = record.results.iter().filter(|it| Trust::of(&it.validity) == Trust::Unchecked);
    let said = match (touched.count(), record.results.len()) {
        (some, all) if some > 0 && some < all => {
            let are = if some == 1 { "is" } else { "are" };
            format!("{some} of {all} results {are} not checked, so the run as a whole is not.")
        }
        _ => "Whether this run is valid could not be checked.".into(),
    };
    let cause = record.validity.reasons.iter().find(|it| it.scope == Scope::Unchecked);
    match cause {
        Some(finding) => format!("{said} {}.", capitalised(finding.text.trim_end_matches('.'))),
        None => said,
    }
}
