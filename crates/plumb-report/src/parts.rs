//! The parts of a load: its URLs, one row each.

pub(crate) mod pair;

use plumb_measure::{Distribution, PartRecord, ResultRecord, RunRecord, show_count, show_ns};

use crate::facts::Fact;
use crate::figures::{ABSENT, Pick, grouped, time_of, total};
use crate::merged::Merged;
use crate::points::Points;
use crate::scenarios;
use crate::table::{Column, Kind, Table, end_of};
use crate::tables::{label_cells, label_columns};
use crate::verdict::{Noun, Trust, capitalised};

/// Characters of a URL in a table.
const NAME_MAX: usize = 32;
/// Parts named in one note; more are counted.
const NAMED_MAX: usize = 3;

/// A table with what it shows.
pub(crate) struct Section {
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
    pub(crate) table: Table,
}

/// The times of the tables: the quartiles that a page is judged by, and the tail.
const PICKS: [(&str, Pick, u8); 8] = [
    ("min", |times| times.min, 4),
    ("p25", |times| times.p25, 0),
    ("p50", |times| times.p50, 0),
    ("p75", |times| times.p75, 0),
    ("p90", |times| times.p90, 5),
    ("p99", |times| times.p99, 0),
    ("max", |times| times.max, 1),
    ("mean", |times| times.mean, 3),
];

/// The time by which the parts of a load are judged, and what it is called: of pages the first
/// byte, of kinds of operations the whole.
fn judged_by(record: &RunRecord) -> (&'static str, fn(&PartRecord) -> Option<&Distribution>) {
    match record.plan.layer.as_str() {
        "http" => ("first byte", |part| part.first_byte_ns.as_ref()),
        _ => ("service time", |part| part.service_ns.as_ref()),
    }
}

/// Those of steps, whose answers are judged by their 95th percentile.
const STEP_PICKS: [(&str, Pick, u8); 8] = [
    ("min", |times| times.min, 4),
    ("p25", |times| times.p25, 6),
    ("p50", |times| times.p50, 0),
    ("p75", |times| times.p75, 5),
    ("p95", |times| times.p95, 0),
    ("p99", |times| times.p99, 0),
    ("max", |times| times.max, 1),
    ("mean", |times| times.mean, 3),
];

fn picks(record: &RunRecord) -> &'static [(&'static str, Pick, u8); 8] {
    if scenarios::are_in(record) { &STEP_PICKS } else { &PICKS }
}

/// Every table of the parts, as far as there is something to show.
pub(crate) fn sections(record: &RunRecord) -> Vec<Section> {
    let open = record.plan.load == "open";
    if record.plan.layer != "http" {
        return of_kinds(record);
    }
    let before = if scenarios::are_in(record) { scenarios::sections(record) } else { Vec::new() };
    let all = [
        Section {
            title: "Time to first byte",
            about: "From the send to the first byte of the answer: the network and the server's \
                    work, where it answers with complete pages.",
            table: times(record, |part| part.first_byte_ns.as_ref()),
        },
        Section {
            title: "Time to last byte",
            about: "From the send to the last byte of the answer: the round trip of the page.",
            table: times(record, |part| part.service_ns.as_ref()),
        },
        Section {
            title: "Response time from the due time",
            about: "From the moment the request was due, whether or not a connection was free: \
                    what a user waits for.",
            table: times(record, |part| part.response_ns.as_ref().filter(|_| open)),
        },
        Section {
            title: "Groups",
            about: "Several requests of one user as one: their times from the send to the last \
                    byte added up, think times left out. A group with a failure has failed.",
            table: groups(record),
        },
        Section {
            title: "Hits",
            about: "Correct answers, failures, statuses, and the length of the content in bytes.",
            table: hits(record),
        },
        Section {
            title: "Where the time goes",
            about: "Means. Connect and TLS are of a connection, the others of a correct answer. \
                    Wait: from the send, the sending included, to the first byte. Receive: from \
                    the first byte to the last; none when one read brought both.",
            table: split(record),
        },
        Section {
            title: "First hit",
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

/// The tables where the parts are kinds of operations.
fn of_kinds(record: &RunRecord) -> Vec<Section> {
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
    ];
    all.into_iter().filter(|section| !section.table.rows.is_empty()).collect()
}

/// The times of failed answers, and what the figures would be with them; `None` without failures
/// that took time.
pub(crate) fn errors(record: &RunRecord) -> Option<Section> {
    let points = Points::of(record);
    let mut columns = label_columns(&points);
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
            let mut row = label_cells(&points, result);
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
                let (verb, size) = pair::difference(times.as_ref()?);
                Some(format!("its {name} {verb} by {size}"))
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
    if scenarios::are_in(record) {
        return Vec::new(); // think times and users make first bytes differ
    }
    let apart = |larger: u64, smaller: u64| u128::from(larger) * 4 > u128::from(smaller) * 5;
    let quartiles = listed(record, |times| {
        apart(times.p75, times.p50)
            .then(|| format!("p50 {}, p75 {}", show_ns(times.p50), show_ns(times.p75)))
    });
    let means = listed(record, |times| {
        apart(times.mean, times.p50)
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

/// One row a part, with the cells that `cells` makes of it; a part without is left out.
fn rows(
    record: &RunRecord,
    columns: Vec<Column>,
    cells: impl Fn(&ResultRecord, &PartRecord) -> Option<Vec<String>>,
) -> Table {
    let name = match record.plan.layer.as_str() {
        "http" if scenarios::are_in(record) => "step",
        "http" => "URL",
        _ => "kind",
    };
    let mut all = vec![Column::words(name)];
    all.extend(columns);
    rows_of(record, all, |result| &result.parts, cells)
}

/// A row for each of `parts`; the first of `columns` is their name.
fn rows_of(
    record: &RunRecord,
    columns: Vec<Column>,
    parts: impl Fn(&ResultRecord) -> &[PartRecord],
    cells: impl Fn(&ResultRecord, &PartRecord) -> Option<Vec<String>>,
) -> Table {
    let points = Points::of(record);
    let mut all = label_columns(&points);
    all.extend(columns);
    let mut table = Table::new(all);
    for result in &points.results {
        let parts = parts(result);
        for (name, part) in names(parts).into_iter().zip(parts) {
            if let Some(cells) = cells(result, part) {
                let mut row = label_cells(&points, result);
                row.push(name);
                row.extend(cells);
                table.push_trusted(row, Trust::of(&result.validity));
            }
        }
    }
    table
}

fn time_columns(record: &RunRecord) -> Vec<Column> {
    picks(record).map(|(title, _, rank)| Column::latency(title).giving_way(rank)).into()
}

fn groups(record: &RunRecord) -> Table {
    let mut columns =
        vec![Column::words("group"), Column::figure("count"), Column::figure("failed")];
    columns.extend(time_columns(record));
    rows_of(
        record,
        columns,
        |result| &result.groups,
        |_, group| {
            let failed = grouped(total(group.failures.values().copied()));
            let mut cells = vec![grouped(group.operations), failed];
            let times = group.service_ns.as_ref();
            cells.extend(picks(record).map(|(_, pick, _)| time_of(times, pick)));
            Some(cells)
        },
    )
}

fn times(record: &RunRecord, which: impl Fn(&PartRecord) -> Option<&Distribution>) -> Table {
    rows(record, time_columns(record), |_, part| {
        let times = which(part)?;
        Some(picks(record).map(|(_, pick, _)| time_of(Some(times), pick)).into())
    })
}

fn hits(record: &RunRecord) -> Table {
    let mut columns = vec![
        Column::figure("hits"),
        Column::figure("failed"),
        Column::new(Kind::Rate, Noun::of(record).rate),
        Column::figure("statuses"),
    ];
    let lengths = [("shortest", 2), ("median", 0), ("longest", 1)];
    columns.extend(lengths.map(|(title, rank)| Column::figure(title).giving_way(rank)));
    rows(record, columns, |_, part| {
        let codes: Vec<String> =
            part.codes.iter().map(|(code, n)| format!("{code}: {}", grouped(*n))).collect();
        let mut cells = vec![
            grouped(part.operations),
            grouped(total(part.failures.values().copied())),
            show_count(part.throughput_per_s),
            if codes.is_empty() { ABSENT.into() } else { codes.join(", ") },
        ];
        cells.extend(match part.length {
            None => [ABSENT; 3].map(str::to_owned),
            Some(length) => [length.min, length.p50, length.max].map(grouped),
        });
        Some(cells)
    })
}

fn split(record: &RunRecord) -> Table {
    let columns = ["connect", "TLS", "wait", "receive"].map(Column::latency).into();
    rows(record, columns, |result, part| {
        let (wait, whole) = (part.first_byte_ns.as_ref()?.mean, part.service_ns.as_ref()?.mean);
        Some(vec![
            time_of(result.connect_ns.as_ref(), |times| times.mean),
            time_of(result.tls_ns.as_ref(), |times| times.mean),
            show_ns(wait),
            show_ns(whole.saturating_sub(wait)),
        ])
    })
}

fn first_hits(record: &RunRecord) -> Table {
    let titles = [
        ("connect", 1),
        ("TLS", 2),
        ("first byte", 0),
        ("last byte", 0),
        ("warm first", 0),
        ("warm last", 0),
    ];
    let columns = titles.map(|(title, rank)| Column::figure(title).giving_way(rank)).into();
    rows(record, columns, |_, part| {
        let hit = part.first_hit?;
        Some(vec![
            show_ns(hit.connect_ns),
            hit.tls_ns.map_or_else(|| ABSENT.into(), show_ns),
            show_ns(hit.first_byte_ns),
            show_ns(hit.last_byte_ns),
            time_of(part.first_byte_ns.as_ref(), |times| times.p50),
            time_of(part.service_ns.as_ref(), |times| times.p50),
        ])
    })
}

fn told(record: &RunRecord) -> Table {
    let points = Points::of(record);
    let mut columns = label_columns(&points);
    columns.extend([Column::words("URL"), Column::words("time"), Column::figure("told")]);
    columns.extend(time_columns(record));
    let mut table = Table::new(columns);
    for result in &points.results {
        for (name, part) in names(&result.parts).into_iter().zip(&result.parts) {
            for (what, times) in &part.told_ns {
                let mut row = label_cells(&points, result);
                row.extend([name.clone(), what.clone(), grouped(times.count)]);
                row.extend(picks(record).map(|(_, pick, _)| time_of(Some(times), pick)));
                table.push_trusted(row, Trust::of(&result.validity));
            }
        }
    }
    table
}

/// The correct and the failed answers together; `None` where a histogram cannot be read.
fn with(correct: Option<&Distribution>, failed: &Distribution) -> Option<Distribution> {
    let mut both = Merged::new();
    let whole = both.add(failed) && correct.is_none_or(|times| both.add(times));
    both.distribution().filter(|_| whole)
}

/// The names of the parts: without the server, when all have the same.
fn names(parts: &[PartRecord]) -> Vec<String> {
    if let Some(names) = names_of_steps(parts) {
        return names;
    }
    let server = |name: &str| {
        let from = name.find("://").map_or(0, |at| at + 3);
        name[from..].find('/').map(|at| from + at)
    };
    let first = parts.first().and_then(|part| Some(part.name[..server(&part.name)?].to_owned()));
    let same = first.filter(|first| {
        parts.iter().all(|part| server(&part.name).is_some_and(|at| part.name[..at] == **first))
    });
    let skipped = same.map_or(0, |server| server.len());
    let short = parts.iter().map(|part| end_of(&part.name[skipped..], NAME_MAX));
    let short: Vec<String> = short.collect();
    let mut told_apart = short.clone();
    told_apart.sort();
    told_apart.dedup();
    if told_apart.len() == short.len() {
        return short;
    }
    // what looks alike when it is cut has its number
    short.into_iter().enumerate().map(|(at, name)| format!("{}. {name}", at + 1)).collect()
}

/// The names of steps, with their scenario where there are several; `None` of other parts.
fn names_of_steps(parts: &[PartRecord]) -> Option<Vec<String>> {
    let scenario = |part: &PartRecord| part.labels.get("scenario").cloned();
    let first = parts.first().and_then(scenario)?;
    let several = parts.iter().any(|part| scenario(part).is_some_and(|other| other != first));
    let name = |part: &PartRecord| match scenario(part) {
        Some(scenario) if several => end_of(&format!("{scenario}/{}", part.name), NAME_MAX),
        _ => end_of(&part.name, NAME_MAX),
    };
    Some(parts.iter().map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_measure::Histogram;

    fn named(names_: &[&str]) -> Vec<String> {
        let part = |name: &&str| PartRecord { name: (*name).into(), ..PartRecord::default() };
        names(&names_.iter().map(part).collect::<Vec<_>>())
    }

    #[test]
    fn pages_of_one_server_are_called_by_their_paths() {
        assert_eq!(named(&["http://a/x", "http://a/y?z"]), ["/x", "/y?z"]);
        assert_eq!(named(&["http://a/x", "http://b/x"]), ["http://a/x", "http://b/x"]);
        assert_eq!(named(&["odd", ""]), ["odd", ""]);
    }

    #[test]
    fn long_names_are_cut_and_still_told_apart() {
        let long = |c: char| format!("http://a/{c}{}", "x".repeat(60));
        let names = named(&[&long('a'), &long('b')]);
        assert!(names[0].starts_with("1. ...") && names[1].starts_with("2. ..."), "{names:?}");
        assert_eq!(end_of(&"y".repeat(50), NAME_MAX).chars().count(), NAME_MAX);
    }

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
