//! The parts of a check in a table.

use plumb_measure::{PartOutcome, PathCheck, PathPart, show_count, show_ns};

use crate::figures::{ABSENT, grouped};
use crate::table::{Column, Table};
use crate::verdict::Trust;

/// A line for each part.
pub(super) fn parts(check: &PathCheck) -> Table {
    let mut table = Table::new(vec![
        Column::words("test"),
        Column::figure("size"),
        Column::figure("messages"),
        Column::figure("failed"),
        Column::figure("p50"),
        Column::figure("max"),
        Column::figure("kB/s"),
        Column::words("run"),
    ]);
    for part in &check.parts {
        let (cells, trust) = match &part.outcome {
            Some(outcome) => (measured(part, outcome), trust(outcome)),
            None => (row(part, [ABSENT; 5].map(String::from), "not measured"), Trust::Full),
        };
        table.push_trusted(cells, trust);
    }
    table
}

fn measured(part: &PathPart, outcome: &PartOutcome) -> Vec<String> {
    let time = |ns: Option<u64>| ns.map_or_else(|| ABSENT.into(), show_ns);
    let figures = [
        grouped(outcome.operations),
        grouped(outcome.failed()),
        time(outcome.p50_ns),
        time(outcome.max_ns),
        outcome.kb_per_s.map_or_else(|| ABSENT.into(), show_count),
    ];
    let place = outcome.folder.as_deref().or(outcome.error.as_deref()).unwrap_or(ABSENT);
    row(part, figures, place)
}

fn row(part: &PathPart, figures: [String; 5], place: &str) -> Vec<String> {
    let mut cells = vec![part.test.name().to_owned(), format!("{}B", part.size_bytes)];
    cells.extend(figures);
    cells.push(place.to_owned());
    cells
}

fn trust(outcome: &PartOutcome) -> Trust {
    if outcome.valid { Trust::Full } else { Trust::Nothing }
}
