//! The parts of a server in a table.

use plumb_checkup::{CheckupOutcome, CheckupPart};
use plumb_measure::show_ns;

use plumb_page::figures::{ABSENT, grouped, per_second, with_unit};
use plumb_page::table::{Column, ColumnKind, Table, end_of};
use plumb_page::trust::Trust;

/// Characters of an operation in a table: that of a page is its path.
const NAME_MAX: usize = 40;

/// A line for each part that left a record.
pub(super) fn parts(parts: &[&CheckupPart]) -> Table {
    let failed = |part: &&&CheckupPart| part.outcome.as_ref().is_some_and(|it| it.failed > 0);
    let failed = parts.iter().any(|part| failed(&part));
    let mut columns = vec![
        Column::words("asked for"),
        Column::latency("median"),
        Column::latency("p99"),
        Column::new(ColumnKind::Rate, "rate"),
    ];
    columns.extend(failed.then(|| Column::figure("failed")));
    columns.push(Column::new(ColumnKind::Verdict, "verdict"));
    let mut table = Table::new(columns);
    for part in parts {
        let mut cells = vec![end_of(&format!("{}, {}", part.operation, part.how), NAME_MAX)];
        let outcome = part.outcome.as_ref().filter(|outcome| outcome.error.is_none());
        cells.extend(outcome.map_or_else(|| [ABSENT; 3].map(String::from), figures));
        cells.extend(
            failed
                .then(|| outcome.map_or_else(|| ABSENT.into(), |outcome| grouped(outcome.failed))),
        );
        let trust = outcome.map_or(Trust::Full, |outcome| Trust::of(&outcome.validity));
        cells.push(word(part).unwrap_or(trust.short()).into());
        table.push_trusted(cells, trust);
    }
    table
}

/// The same with what the machine that asked did meanwhile, where there is room for it.
pub(super) fn watched(parts: &[&CheckupPart]) -> Table {
    let busy = |part: &CheckupPart| part.outcome.as_ref().and_then(|outcome| outcome.busy_pct);
    let mut table = self::parts(parts);
    if parts.iter().all(|part| busy(part).is_none()) {
        return table;
    }
    let last = table.columns.len() - 1; // the verdict stays at the end
    table.columns.insert(last, Column::figure("machine busy"));
    for (row, part) in table.rows.iter_mut().zip(parts) {
        let shown = busy(part).map(|percent| format!("{percent:.0} %"));
        row.cells.insert(last, shown.unwrap_or_else(|| ABSENT.into()));
    }
    table
}

fn figures(outcome: &CheckupOutcome) -> [String; 3] {
    let time = |ns: Option<u64>| ns.map_or_else(|| ABSENT.into(), show_ns);
    [time(outcome.median.map(|median| median.ns)), time(outcome.p99_ns), rate(outcome)]
}

/// What was carried, or how many operations a second.
pub(super) fn rate(outcome: &CheckupOutcome) -> String {
    match outcome.bits_per_s {
        Some(bits) => with_unit(bits, "bit/s"),
        None => per_second(outcome.throughput_per_s),
    }
}

/// Why a part has no figures.
fn word(part: &CheckupPart) -> Option<&'static str> {
    match &part.outcome {
        None => Some("not finished"),
        Some(outcome) if outcome.not_offered => Some("not offered"),
        Some(outcome) => outcome.error.as_ref().map(|_| "not measured"),
    }
}
