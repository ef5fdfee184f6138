//! The parts of a load: its URLs, one row each.

mod name;
pub(crate) mod pair;
mod table;
pub(crate) mod waterfall;

use plumb_measure::{Distribution, PartRecord, RunRecord, show_ns};

pub(crate) use name::names;
use table::{bytes, failures, finish, first_hits, groups, hits, split, times, told};

use crate::facts::Fact;
use crate::figures::{Pick, grouped, time_of};
use crate::merged::Merged;
use crate::noun::capitalised;
use crate::points::Points;
use crate::scenarios;
use crate::section::Section;
use crate::table::{Column, Table};
use crate::trust::Trust;

/// Parts named in one note; more are counted.
const NAMED_MAX: usize = 3;

/// What the pages as they come tell, too.
const STAGES: &str = "Where the time goes";
const FIRST_HIT: &str = "First hit";

/// True of a section that says what is drawn, where pages are.
pub(crate) fn is_drawn(record: &RunRecord, section: &Section) -> bool {
    [STAGES, FIRST_HIT].contains(&section.title) && waterfall::is_for(record)
}

/// The time by which the parts of a load are judged, and what it is called: of pages the first
/// byte, of kinds of operations the whole.
fn judged_by(record: &RunRecord) -> (&'static str, fn(&PartRecord) -> Option<&Distribution>) {
    match record.plan.layer.as_str() {
        "http" => ("first byte", |part| part.first_byte_ns.as_ref()),
        _ => ("service time", |part| part.service_ns.as_ref()),
    }
}

/// Every table of the parts, as far as there is something to show.
pub(crate) fn sections(record: &RunRecord) -> Vec<Section> {
    if record.plan.layer != "http" {
        return of_kinds(record);
    }
    let before = if scenarios::are_in(record) { scenarios::sections(record) } else { Vec::new() };
    let all = [
        Section {
            title: "Time to first and last byte",
            about: "From the send to the first byte of the answer: the network and the server's \
                    work, where it answers with complete pages. To the last byte: the round trip \
                    of the page. From due time: whether or not a connection was free, what a \
                    user waits for.",
            table: bytes(record),
        },
        Section {
            title: "Groups",
            about: "Several requests of one user as one: their times from the send to the last \
                    byte added up, think times left out. A group with a failure has failed.",
            table: groups(record),
        },
        Section {
            title: "When the load was over",
            about: "The finish steps of the scenario: from the send to the last byte. They are in no \
                    other figure.",
            table: finish(record),
        },
        Section {
            title: "Hits",
            about: "Correct answers, failures, statuses, and the length of the content in bytes.",
            table: hits(record),
        },
        Section {
            title: STAGES,
            about: "Means. Connect and TLS are of a connection, the others of a correct answer. \
                    Wait: from the send, the sending included, to the first byte. Receive: from \
                    the first byte to the last; none when one read brought both.",
            table: split(record),
        },
        Section {
            title: FIRST_HIT,
            about: "The very first answer, on a fresh connection before the warm-up, beside the \
                    median of the warm ones; it stands in no other figure.",
            table: first_hits(record),
        },
        Section {
            title: "What the server says of its own time",
            about: "The times in the answers' Server-Timing and sap-statistics lines, to a \
                    microsecond.",
            table: told(record),
        },
    ];
    let all = before.into_iter().chain(all);
    all.filter(|section| !section.table.rows.is_empty()).collect()
}

/// True where all operations are of one kind, whose times are those of the result itself.
fn are_of_one_kind(record: &RunRecord) -> bool {
    record.plan.layer != "http" && record.results.iter().all(|result| result.parts.len() <= 1)
}

/// The tables where the parts are kinds of operations.
fn of_kinds(record: &RunRecord) -> Vec<Section> {
    if are_of_one_kind(record) {
        return Vec::new();
    }
    let open = record.plan.load == "open";
    let all = [
        Section {
            title: "Service time by kind",
            about: "From the send to the end of the answer.",
            table: times(record, |part| part.service_ns.as_ref()),
        },
        Section {
            title: "Response time by kind",
            about: "From the moment the operation was due to the end of the answer.",
            table: times(record, |part| part.response_ns.as_ref().filter(|_| open)),
        },
        Section {
            title: "Kinds with failures",
            about: "Correct answers, failures, and what those were.",
            table: failures(record),
        },
    ];
    all.into_iter().filter(|section| !section.table.rows.is_empty()).collect()
}

/// The times of failed answers, and what the figures would be with them; `None` without failures
/// that took time.
pub(crate) fn errors(record: &RunRecord) -> Option<Section> {
    let points = Points::of(record);
    let mut columns = points.columns();
    columns.push(Column::words("answers"));
    columns.push(Column::figure("count"));
    columns.extend(["min", "p50", "p99", "max", "mean"].map(Column::figure));
    let mut table = Table::new(columns);
    for result in &points.results {
        let Some(failed) = &result.failed_ns else { continue };
        let correct = result.response_ns.as_ref();
        let both = with(correct, failed);
        for (name, times) in
            [("correct", correct), ("failed", Some(failed)), ("both together", both.as_ref())]
        {
            const PICKS: [Pick; 5] = [|t| t.min, |t| t.p50, |t| t.p99, |t| t.max, |t| t.mean];
            let mut row = points.cells(result);
            row.push(name.into());
            row.push(grouped(times.map_or(0, |times| times.count)));
            row.extend(PICKS.map(|pick| time_of(times, pick)));
            table.push(row);
        }
    }
    (!table.rows.is_empty()).then_some(Section {
        title: "Figures with and without failures",
        about: "Response times. Every other figure of this report is of correct answers only.",
        table,
    })
}

/// How each URL was resolved, and what the pair says.
pub(crate) fn facts(record: &RunRecord) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(result) = record.results.first() {
        for part in result.parts.iter().filter(|part| !part.steps.is_empty()) {
            let steps: Vec<String> =
                part.steps.iter().map(|step| format!("{} {}", step.status, step.text)).collect();
            facts.push(Fact::new("resolved", format!("{}: {}", part.name, steps.join("; "))));
        }
    }
    let points = Points::of(record);
    for result in &points.results {
        let Some(pair) = &result.pair else { continue };
        let whose = if points.results.len() > 1 {
            format!(" ({})", points.name(result))
        } else {
            String::new()
        };
        let times = [("first byte", pair.first_byte), ("last byte", pair.last_byte)];
        let said: Vec<String> = times
            .iter()
            .filter_map(|(name, times)| {
                Some(match pair::difference(times.as_ref()?) {
                    (Some(verb), size) => format!("its {name} {verb} by {size}"),
                    (None, size) => format!("its {name} is not told apart: {size}"),
                })
            })
            .collect();
        let said = if said.is_empty() {
            "no block in which both were answered".into()
        } else {
            said.join("; ")
        };
        facts.push(Fact::new(
            "processing",
            format!(
                "{}{whose} against {}: {said}. {} blocks: {}.",
                pair.dynamic,
                pair.fixed,
                grouped(pair.blocks),
                pair.method
            ),
        ));
    }
    facts
}

/// What a reader should know of the parts beside the findings.
pub(crate) fn notes(record: &RunRecord) -> Vec<String> {
    if are_of_one_kind(record) {
        return Vec::new(); // what is to be said of them is said of the result
    }
    if scenarios::are_in(record) {
        return Vec::new(); // think times and users make first bytes differ
    }
    let apart = |larger: u64, smaller: u64| u128::from(larger) * 4 > u128::from(smaller) * 5;
    let quartiles = listed(record, |times| {
        apart(times.p75, times.p50)
            .then(|| format!("p50 {}, p75 {}", show_ns(times.p50), show_ns(times.p75)))
    });
    // where the 75th percentile is near the median, fewer than a quarter of the times are long
    let means = listed(record, |times| {
        (apart(times.mean, times.p50) && !apart(times.p75, times.p50))
            .then(|| format!("mean {}, median {}", show_ns(times.mean), show_ns(times.p50)))
    });
    let (what, _) = judged_by(record);
    let mut notes = Vec::new();
    if let Some(list) = quartiles {
        notes.push(format!(
            "The median and the 75th percentile of the {what} part ({list}): repeat it longer \
             (--for) before the median is quoted."
        ));
    }
    if let Some(list) = means {
        notes.push(format!(
            "Mean and median of the {what} part ({list}): a few long times pull the mean up; \
             quote the median."
        ));
    }
    notes.extend(record.results.iter().find_map(pair::lengths));
    notes
}

/// A chart's title, and its curves: one a part of the only result, of the time by which the parts
/// are judged. None for a single part, whose times are those of the result.
pub(crate) fn curves(record: &RunRecord) -> (String, Vec<(String, &Distribution, Trust)>) {
    let (what, time) = judged_by(record);
    let title = format!("{} by percentile", capitalised(what));
    let [only] = &record.results[..] else { return (title, Vec::new()) };
    if only.parts.len() < 2 {
        return (title, Vec::new());
    }
    let trust = Trust::of(&only.validity);
    let names = names(&only.parts);
    let both = names.into_iter().zip(&only.parts);
    (title, both.filter_map(|(name, part)| Some((name, time(part)?, trust))).collect())
}

fn listed(record: &RunRecord, say: impl Fn(&Distribution) -> Option<String>) -> Option<String> {
    let (_, time) = judged_by(record);
    let mut found: Vec<String> = Vec::new();
    for result in &record.results {
        for (name, part) in names(&result.parts).into_iter().zip(&result.parts) {
            if let Some(text) = time(part).and_then(&say) {
                found.push(format!("{name}: {text}"));
            }
        }
    }
    let more = found.len().saturating_sub(NAMED_MAX);
    found.truncate(NAMED_MAX);
    if more > 0 {
        found.push(format!("and {more} more"));
    }
    (!found.is_empty()).then(|| found.join("; "))
}

/// The correct and the failed answers together; `None` where a histogram cannot be read.
fn with(correct: Option<&Distribution>, failed: &Distribution) -> Option<Distribution> {
    let mut both = Merged::new();
    let whole = both.add(failed) && correct.is_none_or(|times| both.add(times));
    both.distribution().filter(|_| whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_measure::Histogram;

    #[test]
    fn failed_answers_change_the_figures_when_they_are_counted_in() {
        let of = |ns: u64, n: u64| {
            let mut times = Histogram::new();
            times.record_n(ns, n);
            Distribution::of(&times).unwrap()
        };
        let both = with(Some(&of(1_000_000, 10)), &of(100, 90)).unwrap();
        assert_eq!((both.count, both.p50, both.min, both.max), (100, 100, 100, 1_000_000));
        assert_eq!(with(None, &of(5, 2)).unwrap().count, 2);
    }
}
