//! The tables of a recording, the same in every format.

use plumb_page::figures::{ABSENT, grouped};
use plumb_page::table::{Column, Table};

use super::{Recording, Together};

/// Commands that are shown; a host has hundreds.
const COMMANDS_MAX: usize = 10;

/// One row a counter.
pub(super) fn counters(recording: &Recording) -> Table {
    let gaps = recording.counters.iter().any(|counter| counter.missing > 0);
    let mut columns = vec![Column::words("counter")];
    columns.extend(["average", "minimum", "maximum"].map(Column::figure));
    columns.push(Column::words("unit"));
    if gaps {
        columns.push(Column::figure("missing"));
    }
    columns.push(Column::words("from"));
    let mut table = Table::new(columns);
    for counter in &recording.counters {
        let mut cells = vec![counter.name.clone()];
        cells.extend([counter.average, counter.min, counter.max].map(figure));
        cells.push(counter.unit.clone());
        if gaps {
            cells.push(grouped(counter.missing));
        }
        cells.push(counter.source.clone());
        table.push(cells);
    }
    table
}

/// Average, minimum and maximum of each counter, a column a recording. All but the first give way.
pub(crate) fn together(together: &Together) -> Table {
    let mut columns = ["counter", "unit", ""].map(Column::words).to_vec();
    let rank = |at| u8::from(at > 0);
    let figures = together.names.iter().enumerate();
    columns.extend(figures.map(|(at, name)| Column::figure(name).giving_way(rank(at))));
    let mut table = Table::new(columns);
    for row in &together.rows {
        for (at, what) in ["average", "minimum", "maximum"].into_iter().enumerate() {
            let mut cells = vec![row.name.clone(), row.unit.clone(), what.to_owned()];
            cells.extend(row.figures.iter().map(|of| figure(of.and_then(|of| of[at]))));
            table.push(cells);
        }
    }
    table
}

/// The commands that used most processor time.
pub(super) fn commands(recording: &Recording) -> Table {
    let memory = recording.commands.iter().any(|command| command.resident_max_kib.is_some());
    let mut columns = vec![
        Column::words("command"),
        Column::figure("processor time"),
        Column::figure("most of one processor"),
    ];
    if memory {
        columns.push(Column::figure("most memory of one process"));
    }
    let mut table = Table::new(columns);
    for command in recording.commands.iter().take(COMMANDS_MAX) {
        let mut cells = vec![
            command.name.clone(),
            format!("{} s", figure(Some(command.cpu_s))),
            format!("{} %", figure(Some(command.cpu_max_percent))),
        ];
        if memory {
            let mib = command.resident_max_kib.map(|kib| figure(Some(kib / 1024.0)));
            cells.push(mib.map_or_else(|| ABSENT.into(), |mib| format!("{mib} MiB")));
        }
        table.push(cells);
    }
    table
}

/// Two decimals, so that the figures of a column stand by their points.
fn figure(value: Option<f64>) -> String {
    /// Above, a figure is told by its power of ten.
    const LONGEST: f64 = 1e15;
    let Some(value) = value.filter(|value| value.is_finite()) else { return ABSENT.into() };
    if value.abs() >= LONGEST {
        return format!("{value:.2e}");
    }
    let text = format!("{:.2}", value.abs());
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, "00"));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), grouped);
    let sign = if value < 0.0 && text != "0.00" { "-" } else { "" };
    format!("{sign}{whole}.{decimals}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_column_have_two_decimals() {
        let shown = [0.0, -0.001, 12.345, 1_234_567.0, -9.5, 1e18].map(|value| figure(Some(value)));
        assert_eq!(shown, ["0.00", "0.00", "12.35", "1,234,567.00", "-9.50", "1.00e18"]);
        assert_eq!([figure(None), figure(Some(f64::NAN))], [ABSENT, ABSENT]);
    }
}
