//! The tables of a report over many runs, the same in every format.

use plumb_measure::{show_count, show_ns};

use super::cell::{Cell, rounded};
use super::entry::Measure;
use super::kind::RunGroup;
use super::plan::{self, Plan};
use super::{Collection, counted};
use crate::figures::{ABSENT, grouped, milliseconds, with_unit};
use crate::labels::{Labels, by_value};
use crate::points::spread;
use crate::table::{Column, ColumnKind, Table};
use crate::trust::Trust;

/// Rows of a table that a reader still goes through; of more, so many are shown evenly spread.
pub(super) const ROWS_MAX: usize = 1_000;
/// Figures of a layer that have a column each.
const MEASURES_MAX: usize = 6;
/// Values of a fact that are named; of more their number is told.
const VALUES_MAX: usize = 6;
/// Seeds of a plan that are named.
const SEEDS_SHOWN: usize = 4;

/// A table, and how many rows it would have had.
pub(super) struct Cut {
    pub(super) table: Table,
    pub(super) whole: usize,
}

impl Cut {
    /// What is left out, in words; empty when nothing is.
    pub(super) fn note(&self) -> String {
        let shown = self.table.rows.len();
        if shown == self.whole {
            return String::new();
        }
        format!(
            "{} of {} rows, evenly spread; --json has all.",
            grouped(shown as u64),
            grouped(self.whole as u64)
        )
    }
}

/// One row a run, in order of time.
pub(super) fn runs(collection: &Collection) -> Cut {
    let several = collection.kinds.len() > 1;
    let plans = collection.plans.len() > 1;
    let mut columns = vec![Column::words("started").giving_way(6), Column::words("run")];
    columns.extend(several.then(|| Column::words("what").giving_way(4)));
    columns.extend(plans.then(|| Column::figure("plan").giving_way(3)));
    columns.push(Column::new(ColumnKind::Verdict, "verdict"));
    columns.push(Column::figure("results").giving_way(5));
    columns.push(Column::figure("operations").giving_way(2));
    columns.push(Column::figure("failed").giving_way(1));
    let single = collection.entries.iter().all(|run| run.points.len() <= 1);
    if single {
        columns.push(Column::new(ColumnKind::Rate, "a second").giving_way(3));
        columns.extend(["p50", "p99"].map(Column::latency));
    }
    let mut table = Table::new(columns);
    for at in spread(collection.entries.len(), ROWS_MAX) {
        let run = &collection.entries[at];
        let plan = &collection.plans[run.plan];
        let mut cells = vec![run.started.clone(), run.name()];
        cells.extend(several.then(|| format!("{} {}", plan.layer, plan.verb)));
        cells.extend(plans.then(|| grouped(run.plan as u64 + 1)));
        cells.push(verdict_of(&run.heading));
        cells.push(grouped(run.points.len() as u64));
        cells.push(grouped(run.operations()));
        cells.push(grouped(run.failures()));
        if single {
            let point = run.points.first();
            let times = point.and_then(|point| point.times);
            let time = |ns: Option<u64>| ns.map_or_else(|| ABSENT.into(), show_ns);
            let rate = point.map(|point| point.throughput_per_s).filter(|rate| *rate > 0.0);
            cells.push(rate.map_or_else(|| ABSENT.into(), show_count));
            cells.push(time(times.map(|times| times.p50)));
            cells.push(time(times.map(|times| times.p99)));
        }
        table.push_trusted(cells, run.trust);
    }
    Cut { table, whole: collection.entries.len() }
}

/// The heading over a run in small letters, as tables have it.
fn verdict_of(heading: &str) -> String {
    heading.to_lowercase().replace("latency not valid", "no latency")
}

/// One row a cell: the figures over the runs that repeat it.
pub(super) fn cells(kind: &RunGroup) -> Cut {
    let labels = kind.labels();
    let any = |which: fn(&Cell) -> bool| kind.cells.iter().any(which);
    let doubted =
        any(|cell| cell.trust() != Trust::Full || cell.figures.timed < cell.members.len());
    let repeated = kind.repeats();
    let dropped = any(|cell| cell.figures.dropped > 0);
    let timed = any(|cell| cell.figures.times.is_some());
    let server = any(|cell| cell.figures.server_cpu_ns.is_some());
    let measures = measures(kind);
    let mut columns: Vec<Column> = labels.varying.iter().copied().map(Column::words).collect();
    columns.extend(repeated.then(|| Column::figure("runs")));
    columns.extend(doubted.then(|| Column::new(ColumnKind::Verdict, "verdict")));
    columns.push(Column::figure("failed").giving_way(5));
    columns.extend(dropped.then(|| Column::figure("dropped").giving_way(4)));
    columns.push(Column::new(ColumnKind::Rate, kind.noun().rate));
    if timed {
        columns.push(Column::latency("p50"));
        columns.extend(repeated.then(|| Column::latency("p50 of the runs").giving_way(4)));
        columns.push(Column::latency("p90").giving_way(7));
        columns.push(Column::latency("p99").giving_way(1));
        columns.push(Column::latency("p99.9").giving_way(6));
        columns.push(Column::latency("max").giving_way(3));
    }
    columns.push(Column::figure("client CPU/op").giving_way(8));
    columns.extend(server.then(|| Column::figure("server CPU/op").giving_way(8)));
    columns.extend(measures.iter().map(|measure| {
        let shape = if measure.of_times { ColumnKind::Latency } else { ColumnKind::Rate };
        Column::new(shape, &measure.name).giving_way(2)
    }));
    let mut table = Table::new(columns);
    for at in spread(kind.cells.len(), ROWS_MAX) {
        let cell = &kind.cells[at];
        let figures = &cell.figures;
        let mut row = label_cells(&labels, cell);
        row.extend(repeated.then(|| used(cell)));
        row.extend(doubted.then(|| cell.trust().short().to_owned()));
        row.push(grouped(figures.failures));
        row.extend(dropped.then(|| grouped(figures.dropped)));
        row.push(figures.rate.map_or_else(|| ABSENT.into(), show_count));
        if timed {
            let time = |ns: Option<u64>| ns.map_or_else(|| ABSENT.into(), show_ns);
            let times = figures.times;
            row.push(time(times.map(|times| times.p50)));
            row.extend(repeated.then(|| match figures.medians {
                Some((low, high)) => format!("{} to {}", show_ns(low), show_ns(high)),
                None => ABSENT.into(),
            }));
            row.push(time(times.map(|times| times.p90)));
            row.push(time(times.map(|times| times.p99)));
            row.push(time(times.map(|times| times.p999)));
            row.push(time(times.map(|times| times.max)));
        }
        let cpu = |ns: Option<f64>| ns.map_or_else(|| ABSENT.into(), |ns| show_ns(rounded(ns)));
        row.push(cpu(figures.client_cpu_ns));
        row.extend(server.then(|| cpu(figures.server_cpu_ns)));
        row.extend(measures.iter().map(|known| measure(cell, &known.name, &known.unit)));
        table.push_trusted(row, cell.trust());
    }
    Cut { table, whole: kind.cells.len() }
}

/// `9 of 10` where not all runs may be used, else their number.
fn used(cell: &Cell) -> String {
    let (all, valid) = (cell.members.len(), cell.figures.timed.max(cell.figures.rated));
    let valid = if cell.figures.times.is_some() { cell.figures.timed } else { valid };
    if valid == all {
        grouped(all as u64)
    } else {
        format!("{} of {}", grouped(valid as u64), grouped(all as u64))
    }
}

/// The figures of the layer that have a column, each as the first cell has it.
fn measures(kind: &RunGroup) -> Vec<&Measure> {
    let mut found: Vec<&Measure> = Vec::new();
    for figure in kind.cells.iter().flat_map(|cell| &cell.figures.measures) {
        let known = |it: &&Measure| (&it.name, &it.unit) == (&figure.name, &figure.unit);
        if found.len() < MEASURES_MAX && !found.iter().any(known) {
            found.push(figure);
        }
    }
    found
}

fn measure(cell: &Cell, name: &str, unit: &str) -> String {
    let mut found = cell.figures.measures.iter();
    let found = found.find(|figure| figure.name == name && figure.unit == unit);
    found.map_or_else(
        || ABSENT.into(),
        |figure| match unit {
            "ms" if figure.value >= 0.0 => milliseconds(figure.value),
            _ => with_unit(figure.value, unit),
        },
    )
}

/// What the machine that drove the load did, one row a cell; `None` when it was not watched.
pub(super) fn machine(kind: &RunGroup) -> Option<Cut> {
    let watched = |cell: &&Cell| cell.figures.busy_pct.is_some();
    let cells: Vec<&Cell> = kind.cells.iter().filter(watched).collect();
    if cells.is_empty() {
        return None;
    }
    let labels = kind.labels();
    let mut columns: Vec<Column> = labels.varying.iter().copied().map(Column::words).collect();
    let titles = ["busy", "interrupts", "swapped", "sent again"];
    columns.extend(titles.map(Column::figure));
    let mut table = Table::new(columns);
    for at in spread(cells.len(), ROWS_MAX / 2) {
        let (cell, figures) = (cells[at], &cells[at].figures);
        let percent = |share: Option<f64>| {
            share.map_or_else(|| ABSENT.into(), |share| format!("{share:.1} %"))
        };
        let mut row = label_cells(&labels, cell);
        row.push(percent(figures.busy_pct));
        row.push(percent(figures.interrupt_pct));
        let counts = [figures.swapped_pages, figures.retransmitted];
        row.extend(counts.map(|count| count.map_or_else(|| ABSENT.into(), grouped)));
        table.push_trusted(row, cell.trust());
    }
    Some(Cut { table, whole: cells.len() })
}

fn label_cells(labels: &Labels<'_>, cell: &Cell) -> Vec<String> {
    let value = |label: &&str| cell.labels.get(*label).map_or(ABSENT, String::as_str).to_owned();
    labels.varying.iter().map(value).collect()
}

/// What the plans of a kind differ in, with the runs that have each value.
pub(super) fn differences(plans: &[&Plan]) -> Option<Table> {
    let found = plan::differences(plans);
    let mut table =
        Table::new(vec![Column::words("what"), Column::words("values, and their runs")]);
    for (name, counts) in found {
        let mut ordered: Vec<(&String, &u64)> = counts.iter().collect();
        ordered.sort_by(|(a, _), (b, _)| by_value(a, b));
        let mut words: Vec<String> = ordered
            .iter()
            .take(VALUES_MAX)
            .map(|(value, runs)| format!("{value} ({})", grouped(**runs)))
            .collect();
        if counts.len() > VALUES_MAX {
            words.push(format!("and {} more", grouped((counts.len() - VALUES_MAX) as u64)));
        }
        table.push(vec![name, words.join("; ")]);
    }
    (!table.rows.is_empty()).then_some(table)
}

/// What carried out each plan, one row a plan.
pub(super) fn plans(collection: &Collection) -> Cut {
    let columns = vec![
        Column::figure("plan"),
        Column::figure("runs"),
        Column::words("seeds"),
        Column::words("command"),
    ];
    let mut table = Table::new(columns);
    for at in spread(collection.plans.len(), ROWS_MAX / 2) {
        let plan = &collection.plans[at];
        let mut seeds: Vec<String> =
            plan.seeds.iter().take(SEEDS_SHOWN).map(u64::to_string).collect();
        if plan.seeds.len() > SEEDS_SHOWN {
            seeds.push("...".into());
        }
        let number = grouped(at as u64 + 1);
        table.push(vec![number, grouped(plan.runs), seeds.join(", "), plan.command.clone()]);
    }
    Cut { table, whole: collection.plans.len() }
}

/// What could not be shown, and what to do about it.
pub(super) fn unread(collection: &Collection) -> Option<Cut> {
    let columns = ["place", "why it is not shown", "what to do"].map(Column::words).into();
    let mut table = Table::new(columns);
    for at in spread(collection.unread.len(), ROWS_MAX / 2) {
        let one = &collection.unread[at];
        table.push(vec![one.place.clone(), one.reason.clone(), one.remedy.to_owned()]);
    }
    (!table.rows.is_empty()).then_some(Cut { table, whole: collection.unread.len() })
}

/// A line on a kind: its runs, plans and what all its points share.
pub(super) fn about(kind: &RunGroup, collection: &Collection) -> String {
    let plans: Vec<&Plan> = kind.plans.iter().map(|at| &collection.plans[*at]).collect();
    let runs: u64 = plans.iter().map(|plan| plan.runs).sum();
    let mut words = vec![
        counted(usize::try_from(runs).unwrap_or(usize::MAX), "run"),
        counted(plans.len(), "plan"),
        counted(kind.cells.len(), "point"),
    ];
    let shared = kind.labels().shared();
    if !shared.is_empty() && kind.cells.len() > 1 {
        words.push(format!("every point: {shared}"));
    }
    words.join(", ")
}
