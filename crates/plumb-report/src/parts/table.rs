//! The tables of the parts, one row a part.

use plumb_measure::{
    Distribution, LengthFigures, PartRecord, ResultRecord, RunRecord, show_count, show_ns,
};

use super::name::names;
use crate::figures::{ABSENT, Pick, grouped, time_of, total};
use crate::noun::Noun;
use crate::points::Points;
use crate::scenarios;
use crate::table::{Column, ColumnKind, Table};
use crate::trust::Trust;

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

/// The rows that `cells` makes of each part; a part without is left out.
fn rows<R: IntoIterator<Item = Vec<String>>>(
    record: &RunRecord,
    columns: Vec<Column>,
    cells: impl Fn(&ResultRecord, &PartRecord) -> R,
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

/// The rows of each of `parts`; the first of `columns` is their name.
fn rows_of<R: IntoIterator<Item = Vec<String>>>(
    record: &RunRecord,
    columns: Vec<Column>,
    parts: impl Fn(&ResultRecord) -> &[PartRecord],
    cells: impl Fn(&ResultRecord, &PartRecord) -> R,
) -> Table {
    let points = Points::of(record);
    let mut all = points.columns();
    all.extend(columns);
    let mut table = Table::new(all);
    for result in &points.results {
        let parts = parts(result);
        for (name, part) in names(parts).into_iter().zip(parts) {
            for cells in cells(result, part) {
                let mut row = points.cells(result);
                row.push(name.clone());
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

pub(super) fn groups(record: &RunRecord) -> Table {
    counted(record, "group", |result| &result.groups)
}

/// What was asked for when the load was over.
pub(super) fn finish(record: &RunRecord) -> Table {
    counted(record, "step", |result| &result.finish)
}

/// How often, how often in vain, and how long.
fn counted(record: &RunRecord, what: &str, all: fn(&ResultRecord) -> &Vec<PartRecord>) -> Table {
    let mut columns = vec![Column::words(what), Column::figure("count"), Column::figure("failed")];
    columns.extend(time_columns(record));
    rows_of(
        record,
        columns,
        |result| all(result),
        |_, group| {
            let failed = grouped(total(group.failures.values().copied()));
            let mut cells = vec![grouped(group.operations), failed];
            let times = group.service_ns.as_ref();
            cells.extend(picks(record).map(|(_, pick, _)| time_of(times, pick)));
            Some(cells)
        },
    )
}

pub(super) fn times(
    record: &RunRecord,
    which: impl Fn(&PartRecord) -> Option<&Distribution>,
) -> Table {
    rows(record, time_columns(record), |_, part| {
        let times = which(part)?;
        Some(picks(record).map(|(_, pick, _)| time_of(Some(times), pick)).into())
    })
}

/// The times to the first byte and to the last, one below the other; where one read brought whole
/// answers there is one. Where work is due at a time its response from then on stands above them.
pub(super) fn bytes(record: &RunRecord) -> Table {
    let open = record.plan.load == "open";
    let mut columns = vec![Column::words("until")];
    columns.extend(time_columns(record));
    rows(record, columns, |_, part| {
        let due = part.response_ns.as_ref().filter(|_| open);
        let ends = match (part.first_byte_ns.as_ref(), part.service_ns.as_ref()) {
            (Some(first), Some(last)) if first == last => {
                vec![("first, last", Some(last))]
            }
            (first, last) => vec![("first byte", first), ("last byte", last)],
        };
        let row = |(end, times): (&str, Option<&Distribution>)| {
            let mut cells = vec![end.to_owned()];
            cells.extend(picks(record).map(|(_, pick, _)| time_of(times, pick)));
            times.is_some().then_some(cells)
        };
        let all = std::iter::once(("from due time", due)).chain(ends);
        all.filter_map(row).collect::<Vec<_>>()
    })
}

/// The parts that have failures.
pub(super) fn failures(record: &RunRecord) -> Table {
    let columns =
        vec![Column::figure("correct"), Column::figure("failed"), Column::words("failures")];
    rows(record, columns, |_, part| {
        let failed = total(part.failures.values().copied());
        let named = part.failures.iter().map(|(kind, n)| format!("{kind}: {}", grouped(*n)));
        let named = named.collect::<Vec<_>>().join(", ");
        (failed > 0).then(|| vec![grouped(part.operations), grouped(failed), named])
    })
}

pub(super) fn hits(record: &RunRecord) -> Table {
    let mut columns = vec![
        Column::figure("hits"),
        Column::figure("failed"),
        Column::new(ColumnKind::Rate, Noun::of(record).rate),
        Column::figure("statuses"),
    ];
    let lengths = lengths(record);
    columns.extend(lengths.iter().map(|(title, _, rank)| Column::figure(*title).giving_way(*rank)));
    rows(record, columns, |_, part| {
        let codes: Vec<String> =
            part.codes.iter().map(|(code, n)| format!("{code}: {}", grouped(*n))).collect();
        let mut cells = vec![
            grouped(part.operations),
            grouped(total(part.failures.values().copied())),
            show_count(part.throughput_per_s),
            if codes.is_empty() { ABSENT.into() } else { codes.join(", ") },
        ];
        cells.extend(lengths.iter().map(|(_, pick, _)| {
            part.length.as_ref().map_or_else(|| ABSENT.into(), |length| grouped(pick(length)))
        }));
        Some(cells)
    })
}

/// The rank at which the quartiles of lengths give way, before all else.
const QUARTILES: u8 = 3;

/// A figure of lengths, and when it gives way.
type LengthColumn = (&'static str, fn(&LengthFigures) -> u64, u8);

/// What is told of the lengths of the content, a figure a column; quartiles where any part has some.
fn lengths(record: &RunRecord) -> Vec<LengthColumn> {
    let has_quartiles = |part: &PartRecord| part.length.is_some_and(|length| length.p25.is_some());
    let vary = record.results.iter().flat_map(|result| &result.parts).any(has_quartiles);
    let all: [LengthColumn; 5] = [
        ("shortest", |length| length.min, 2),
        ("25 %", |length| length.p25.unwrap_or(length.p50), QUARTILES),
        ("median", |length| length.p50, 0),
        ("75 %", |length| length.p75.unwrap_or(length.p50), QUARTILES),
        ("longest", |length| length.max, 1),
    ];
    all.into_iter().filter(|(_, _, rank)| vary || *rank != QUARTILES).collect()
}

pub(super) fn split(record: &RunRecord) -> Table {
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

pub(super) fn first_hits(record: &RunRecord) -> Table {
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

pub(super) fn told(record: &RunRecord) -> Table {
    let points = Points::of(record);
    let mut columns = points.columns();
    columns.extend([Column::words("URL"), Column::words("time"), Column::figure("told")]);
    columns.extend(time_columns(record));
    let mut table = Table::new(columns);
    for result in &points.results {
        for (name, part) in names(&result.parts).into_iter().zip(&result.parts) {
            for (what, times) in &part.told_ns {
                let mut row = points.cells(result);
                row.extend([name.clone(), what.clone(), grouped(times.count)]);
                row.extend(picks(record).map(|(_, pick, _)| time_of(Some(times), pick)));
                table.push_trusted(row, Trust::of(&result.validity));
            }
        }
    }
    table
}
