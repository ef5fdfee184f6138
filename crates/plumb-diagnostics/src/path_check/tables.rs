//! The parts of a check in a table.

use plumb_checkup::{PartOutcome, PathCheck, PathPart};
use plumb_measure::{show_ns, show_plain};

use plumb_page::figures::{ABSENT, grouped};
use plumb_page::table::{Column, Table};
use plumb_page::trust::Trust;

/// Where the errors stand: before the run.
const ERROR_AT: usize = 8;

/// A line for each part, with the errors of those that left no figures.
pub(super) fn parts(check: &PathCheck) -> Table {
    let mut table = figures_of_parts(check);
    if errors(check).next().is_some() {
        table.columns.insert(ERROR_AT, Column::words("error"));
        for (row, part) in table.rows.iter_mut().zip(&check.parts) {
            row.cells.insert(ERROR_AT, error(part).unwrap_or(ABSENT).to_owned());
        }
    }
    table
}

/// A line for each part.
pub(super) fn figures_of_parts(check: &PathCheck) -> Table {
    let columns = vec![
        Column::figure("part"),
        Column::words("test"),
        Column::figure("size"),
        Column::figure("messages"),
        Column::figure("failed"),
        Column::figure("p50"),
        Column::figure("max"),
        Column::figure("kB/s"),
        // the number and the name of its part say which folder it is
        Column::words("run").giving_way(1),
    ];
    let mut table = Table::new(columns);
    for (number, part) in (1_u32..).zip(&check.parts) {
        let outcome = part.outcome.as_ref();
        let mut cells =
            vec![number.to_string(), part.test.name().to_owned(), format!("{}B", part.size_bytes)];
        cells.extend(outcome.map_or_else(|| [ABSENT; 5].map(String::from), figures));
        cells.push(place(part).to_owned());
        table.push_trusted(cells, outcome.map_or(Trust::Full, trust));
    }
    table
}

/// The parts that left no figures, by their numbers, and why.
pub(super) fn errors(check: &PathCheck) -> impl Iterator<Item = (u32, &str)> {
    (1_u32..).zip(&check.parts).filter_map(|(number, part)| Some((number, error(part)?)))
}

fn figures(outcome: &PartOutcome) -> [String; 5] {
    let time = |ns: Option<u64>| ns.map_or_else(|| ABSENT.into(), show_ns);
    [
        grouped(outcome.operations),
        grouped(outcome.failed()),
        time(outcome.p50_ns),
        time(outcome.max_ns),
        outcome.kb_per_s.map_or_else(|| ABSENT.into(), show_plain),
    ]
}

/// Why a part left no figures.
fn error(part: &PathPart) -> Option<&str> {
    part.outcome.as_ref()?.error.as_deref()
}

/// The folder of the run of a part.
fn place(part: &PathPart) -> &str {
    match &part.outcome {
        Some(outcome) => outcome.folder.as_deref().unwrap_or(ABSENT),
        None => "not measured",
    }
}

pub(super) fn trust(outcome: &PartOutcome) -> Trust {
    if outcome.valid { Trust::Full } else { Trust::Nothing }
}
