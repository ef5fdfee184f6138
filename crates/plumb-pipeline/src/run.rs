//! The cases of a run.

use plumb_measure::{
    AcceptedLoad, Finding, FindingKind, ResultRecord, RunRecord, Scope, Status, ThresholdRecord,
    show_ns,
};
use plumb_page::figures::{per_second, with_unit};
use plumb_page::threshold;
use plumb_page::trust::Trust;

use crate::{Case, Grade, Remark, Verdict};

/// What the case of the figures of a result is called, where the result has no labels.
const FIGURES: &str = "figures";

impl Verdict {
    /// The cases of `record`: whether the figures of each result may be used, each threshold, and
    /// whether the run came to its end. `sentence` is its answer, to which a raised limit of foreign load
    /// is added, `everything` the whole report as Markdown.
    #[must_use]
    pub fn of_run(record: &RunRecord, sentence: String, everything: String) -> Self {
        let title = format!("{} {} {}", record.plan.layer, record.plan.verb, record.target.address);
        let mut cases: Vec<Case> =
            record.results.iter().flat_map(|result| cases_of(result, &title)).collect();
        // what is said of the whole run alone
        let ended = record.validity.reasons.iter().filter(|it| it.kind == FindingKind::CutShort);
        let told = |finding: &&Finding| {
            !record.results.iter().any(|result| result.validity.reasons.contains(finding))
        };
        let ended: Vec<Remark> = ended.filter(told).map(remark_of).collect();
        if !ended.is_empty() {
            cases.push(Case {
                group: title.clone(),
                name: "completion".into(),
                found: String::new(),
                remarks: ended,
                duration_ns: None,
            });
        }
        let stands = Trust::of_run(record).leaves_any();
        let accepted_load = AcceptedLoad::of([record]).filter(|_| stands);
        let verdict = Self {
            title,
            sentence: match accepted_load {
                Some(accepted) => accepted.beside(&sentence),
                None => sentence,
            },
            started: record.started.clone(),
            version: record.plumb.version.clone(),
            command: record.plan.command.clone(),
            record: None,
            accepted_load: accepted_load.map(|it| it.words()),
            cases,
            everything,
        };
        match record.status {
            Status::Interrupted | Status::Running => verdict.interrupted(),
            Status::Complete | Status::Broken => verdict,
        }
    }
}

fn cases_of(result: &ResultRecord, group: &str) -> Vec<Case> {
    let name = if result.labels.is_empty() { FIGURES.to_owned() } else { result.name() };
    let mut cases = vec![Case {
        group: group.to_owned(),
        name: name.clone(),
        found: found(result),
        // a missed threshold is a case of its own
        remarks: result
            .validity
            .reasons
            .iter()
            .filter(|finding| finding.kind != FindingKind::ThresholdMissed)
            .map(remark_of)
            .collect(),
        duration_ns: Some(result.duration_ns),
    }];
    let several = !result.labels.is_empty();
    cases.extend(result.thresholds.iter().map(|threshold| {
        let point = if several { format!("{name}: ") } else { String::new() };
        case_of(threshold, group, format!("{point}{}", threshold.text))
    }));
    cases
}

fn case_of(threshold: &ThresholdRecord, group: &str, name: String) -> Case {
    let found = match threshold.found {
        Some(_) => format!("found {}", threshold::found(threshold)),
        None => "nothing to judge was found".into(),
    };
    let missed = || {
        let text = format!("threshold missed: {}, {found}", threshold.text);
        Remark::new("threshold-missed", Grade::Fails, text)
    };
    let remarks = (!threshold.met).then(missed).into_iter().collect();
    Case { group: group.to_owned(), name, found, remarks, duration_ns: None }
}

/// The figures of a result in a line.
fn found(result: &ResultRecord) -> String {
    let Some(times) = &result.response_ns else {
        return match result.figures.first() {
            Some(figure) if result.operations > 0 => {
                format!("{} {}", figure.name, with_unit(figure.value, &figure.unit))
            }
            _ => "nothing was measured".into(),
        };
    };
    let rate = per_second(result.throughput_per_s);
    format!("median {}, 99 % within {}, {rate}", show_ns(times.p50), show_ns(times.p99))
}

pub(crate) fn remark_of(finding: &Finding) -> Remark {
    let grade = match finding.scope {
        Scope::Everything => Grade::Fails,
        Scope::Unchecked => Grade::LeavesOpen,
        Scope::Latency => Grade::Warns,
        Scope::Nothing => Grade::Notes,
    };
    Remark::new(kind_of(finding.kind), grade, finding.text.clone())
}

/// The name of a kind of finding, as records have it.
pub(crate) fn kind_of(kind: impl serde::Serialize) -> String {
    let name = serde_json::to_value(kind).ok();
    name.and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_has_the_unit_that_the_report_has() {
        let case = |text: &str, found: f64, unit: &str| {
            let (text, unit) = (text.to_owned(), unit.to_owned());
            let threshold = ThresholdRecord { text, found: Some(found), unit, met: false };
            case_of(&threshold, "g", "n".into()).remarks[0].text.clone()
        };
        assert_eq!(case("failures < 5", 7.0, "1"), "threshold missed: failures < 5, found 7");
        assert_eq!(
            case("throughput > 300000/s", 237_123.0, "1/s"),
            "threshold missed: throughput > 300000/s, found 237 k/s"
        );
        assert_eq!(
            case("p95 < 200ms", 200.3e6, "ns"),
            "threshold missed: p95 < 200ms, found 200.3 ms"
        );
    }
}
