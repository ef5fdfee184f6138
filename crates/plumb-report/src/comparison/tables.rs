//! The tables of a comparison, the same in every format.

use plumb_comparison::{Comparison, Contrast, Endpoint, Role};
use plumb_measure::show_ns;

use super::figures::{change, good, interval, level, probability, share, value, verdict};
use crate::figures::{ABSENT, grouped};
use crate::table::{Column, ColumnKind, Table};

/// The figures of one endpoint, as far as they are numbers.
pub(super) fn number_columns() -> Vec<Column> {
    let columns = ["baseline", "candidate", "change", "interval", "level", "p", "adj. p"];
    columns.map(Column::figure).into()
}

/// The cells of [`number_columns`].
pub(super) fn numbers(endpoint: &Endpoint) -> Vec<String> {
    vec![
        value(&endpoint.unit, endpoint.baseline),
        value(&endpoint.unit, endpoint.candidate),
        change(endpoint),
        interval(endpoint),
        level(endpoint),
        probability(endpoint.p),
        probability(endpoint.p_adjusted),
    ]
}

/// One row a figure and a candidate; the candidate has a column where there are several.
pub(super) fn figures(contrasts: &[&Contrast], several_candidates: bool) -> Table {
    let mut columns = Vec::new();
    if several_candidates {
        columns.push(Column::words("variant"));
    }
    columns.push(Column::words("figure"));
    columns.push(Column::words("good"));
    columns.extend(number_columns());
    columns.push(Column::new(ColumnKind::Verdict, "verdict"));
    let mut table = Table::new(columns);
    for contrast in contrasts {
        for endpoint in &contrast.endpoints {
            let mut cells = Vec::new();
            if several_candidates {
                cells.push(contrast.candidate.clone());
            }
            cells.push(endpoint.name.clone());
            cells.push(good(endpoint.better).into());
            cells.extend(numbers(endpoint));
            let primary = endpoint.role == Role::Primary;
            let word = verdict(endpoint);
            cells.push(if primary { format!("{word} (primary)") } else { word });
            table.push_main(cells, primary);
        }
    }
    table
}

/// What the cells of a grid need said.
pub(super) const GRID: &str = "Each cell is the change against the baseline in percent (+ is better), its interval and what \
     follows. Verdicts use p adjusted (Holm) over all primary figures.";

/// What the columns of [`figures`] and [`numbers`] need said.
pub(super) const LEGEND: &str = "A change is an improvement in percent of the baseline: + is better, for times and for rates. \
     Baseline and candidate are medians over the blocks, of an approximate figure those of all \
     blocks together; the change is estimated from the pairs \
     and need not be their quotient. Only the primary figure is tested. Intervals have the level \
     stated; they are not adjusted for several tests, the adjusted p (Holm) is.";

/// The same where there are no pairs.
pub(super) const LEGEND_SEPARATE: &str = "A change is an improvement in percent of the baseline: + is better, for times and for rates. \
     Baseline and candidate are those of the whole runs, and the change is their quotient. Its \
     interval tells how well that is known from the intervals of time of both runs, to about the level \
     stated; it is not adjusted for several figures.";

/// The tails of both sides; `None` without any.
pub(super) fn tails(contrasts: &[&Contrast]) -> Option<Table> {
    let columns = ["operations", "longest", "beyond ten medians"].map(Column::figure);
    let mut table = Table::new([Column::words("variant")].into_iter().chain(columns).collect());
    for tail in contrasts.iter().flat_map(|contrast| &contrast.tails) {
        let cells = vec![
            tail.variant.clone(),
            grouped(tail.operations),
            show_ns(tail.max_ns),
            share(tail.beyond_ten_medians),
        ];
        // the baseline is in the contrast of every candidate
        if !table.rows.iter().any(|row| row.cells == cells) {
            table.push(cells);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

/// What the last column of [`tails`] means.
pub(super) const TAILS: &str = "Beyond ten medians: the share of all response time that was spent \
                                in operations of more than ten times the median. Nothing is \
                                deleted from the samples.";

/// What differs between the variants; `None` when nothing does.
pub(super) fn differences(comparison: &Comparison) -> Option<Table> {
    let names = comparison.variants.iter().map(|variant| Column::words(variant.name.clone()));
    let mut table = Table::new([Column::words("what")].into_iter().chain(names).collect());
    for difference in &comparison.differences {
        let values = difference.values.iter().cloned().chain(std::iter::repeat(ABSENT.into()));
        let values = values.take(comparison.variants.len());
        table.push([difference.name.clone()].into_iter().chain(values).collect());
    }
    (!table.rows.is_empty()).then_some(table)
}

/// The blocks that do not count; `None` when all do.
pub(super) fn left_out(comparison: &Comparison) -> Option<Table> {
    let columns = vec![
        Column::figure("round"),
        Column::words("variant"),
        Column::words("why it does not count"),
    ];
    let mut rows: Vec<(u64, Vec<String>)> = Vec::new();
    for variant in &comparison.variants {
        for block in &variant.left_out {
            let cells = vec![grouped(block.round), variant.name.clone(), block.reason.clone()];
            rows.push((block.round, cells));
        }
    }
    rows.sort_by_key(|(round, _)| *round);
    let mut table = Table::new(columns);
    rows.into_iter().for_each(|(_, cells)| table.push(cells));
    (!table.rows.is_empty()).then_some(table)
}
