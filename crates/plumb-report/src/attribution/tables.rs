//! The tables behind the sentence.

use plumb_measure::{
    Attribution, Calls, Distribution, Estimate, PartKind, ResultRecord, RunRecord, TimePart,
    show_ns,
};

use super::{high_ns, name, spread};
use crate::figures::{ABSENT, Pick, grouped};
use crate::points::Points;
use crate::table::{Column, Table};
use crate::trust::Trust;

/// The results that were looked into.
fn looked_into<'a>(points: &Points<'a>) -> Vec<(&'a ResultRecord, &'a Attribution)> {
    let all = points.results.iter();
    all.filter_map(|result| Some((*result, result.attribution.as_ref()?))).collect()
}

/// The kinds of parts that any result has.
pub(super) fn kinds(record: &RunRecord) -> Vec<PartKind> {
    let has = |kind: &PartKind| {
        let parts = record.results.iter().filter_map(|it| it.attribution.as_ref());
        parts.flat_map(every_part).any(|part| part.kind == *kind)
    };
    PartKind::ALL.into_iter().filter(has).collect()
}

/// The parts of all calls, and those of the faster ones.
pub(super) fn every_part(attribution: &Attribution) -> impl Iterator<Item = &TimePart> {
    attribution.parts.iter().chain(attribution.faster.iter().flat_map(|faster| &faster.parts))
}

/// The means of the parts, a row a result, and one more where only the faster calls are told;
/// `None` when nothing was looked into.
pub(crate) fn parts(record: &RunRecord) -> Option<Table> {
    let points = Points::of(record);
    let kinds = kinds(record);
    let any_faster = any_faster(record);
    let mut columns = points.columns();
    if any_faster {
        columns.push(Column::words("calls"));
    }
    columns.push(Column::latency("client"));
    columns.extend(kinds.iter().map(|kind| Column::latency(name(*kind))));
    let mut table = Table::new(columns);
    for (result, attribution) in looked_into(&points) {
        for means in MeanRow::of(attribution) {
            let mut row = points.cells(result);
            if any_faster {
                row.push(means.calls.into());
            }
            row.push(spread(means.client));
            row.extend(kinds.iter().map(|kind| means.cell(*kind)));
            table.push_trusted(row, Trust::of(&result.validity));
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

/// True when a result tells of its faster calls only.
pub(super) fn any_faster(record: &RunRecord) -> bool {
    let mut all = record.results.iter().filter_map(|result| result.attribution.as_ref());
    all.any(|attribution| MeanRow::of_the_faster(attribution).is_some())
}

/// A row of means.
struct MeanRow<'a> {
    calls: &'static str,
    client: Estimate,
    parts: &'a [TimePart],
    /// What the parts leave; `None` where the time cannot be split.
    rest: Option<Estimate>,
}

impl<'a> MeanRow<'a> {
    fn of(attribution: &'a Attribution) -> Vec<Self> {
        let account = attribution.account().ok().filter(|account| account.of.are_all());
        let all = Self {
            calls: "all",
            client: attribution.client,
            parts: &attribution.parts,
            rest: account.map(|account| account.split.rest.time),
        };
        std::iter::once(all).chain(Self::of_the_faster(attribution)).collect()
    }

    fn of_the_faster(attribution: &'a Attribution) -> Option<Self> {
        let account = attribution.account().ok().filter(|account| account.of == Calls::Faster)?;
        let faster = attribution.faster.as_ref()?;
        Some(Self {
            calls: "faster nine tenths",
            client: faster.client,
            parts: &faster.parts,
            rest: Some(account.split.rest.time),
        })
    }

    fn cell(&self, kind: PartKind) -> String {
        if kind == PartKind::Rest {
            return self.rest.map_or_else(|| ABSENT.into(), rest);
        }
        let part = self.parts.iter().find(|part| part.kind == kind);
        part.map_or_else(|| ABSENT.into(), |part| spread(part.time))
    }
}

/// What the parts leave, its bound where it may be zero.
fn rest(time: Estimate) -> String {
    match time.low_ns() {
        Some(low_ns) if low_ns > 0 => spread(time),
        _ => format!("at most {}", show_ns(high_ns(time).unsigned_abs())),
    }
}

/// What further sources say of the server's own time, a row a source, and what each of them says;
/// `None` without any.
pub(crate) fn readings(record: &RunRecord) -> Option<(Table, Vec<(&str, &str)>)> {
    let points = Points::of(record);
    let mut columns = points.columns();
    columns.push(Column::words("source"));
    columns.push(Column::latency("mean"));
    columns.push(Column::figure("executions"));
    let mut table = Table::new(columns);
    let mut sources: Vec<(&str, &str)> = Vec::new();
    for (result, attribution) in looked_into(&points) {
        for reading in &attribution.readings {
            let mut row = points.cells(result);
            row.push(reading.source.clone());
            row.push(reading.mean_ns.map_or_else(|| ABSENT.into(), show_ns));
            let counted = reading.mean_ns.is_some() || reading.count > 0;
            row.push(if counted { grouped(reading.count) } else { ABSENT.into() });
            table.push_trusted(row, Trust::of(&result.validity));
            let said = (reading.source.as_str(), reading.about.as_str());
            if !sources.contains(&said) {
                sources.push(said);
            }
        }
    }
    (!table.rows.is_empty()).then_some((table, sources))
}

/// The distributions behind the parts, a row each; `None` without any.
pub(crate) fn times(record: &RunRecord) -> Option<Table> {
    const PICKS: [(&str, Pick); 5] = [
        ("p50", |times| times.p50),
        ("p90", |times| times.p90),
        ("p99", |times| times.p99),
        ("max", |times| times.max),
        ("mean", |times| times.mean),
    ];
    let points = Points::of(record);
    let mut columns = points.columns();
    columns.push(Column::words("time"));
    columns.push(Column::figure("count"));
    columns.extend(PICKS.map(|(title, _)| Column::latency(title)));
    let mut table = Table::new(columns);
    for (result, attribution) in looked_into(&points) {
        for (what, times) in &attribution.times {
            let mut row = points.cells(result);
            row.push(what.clone());
            row.push(grouped(times.count));
            row.extend(
                PICKS.map(|(_, pick): (&str, fn(&Distribution) -> u64)| show_ns(pick(times))),
            );
            table.push_trusted(row, Trust::of(&result.validity));
        }
    }
    (!table.rows.is_empty()).then_some(table)
}
