//! Recordings as tables of text.

use plumb_check::Report;
use plumb_measure::counted;
use plumb_nmon::{Recording, Row};
use std::io::{self, Write};

use crate::recording::Together;
use crate::{Shown, figures};

/// Recordings that stand side by side in text, which stands before everything else.
const TOGETHER_MAX: usize = 6;
/// Counters of these.
const COUNTERS_MAX: usize = 40;
/// Before each line.
const INDENT: &str = "  ";

/// Writes all files, and before them what several have side by side, within `width` columns of text as far as
/// the names of counters and files leave room.
///
/// # Errors
/// When `out` takes no more.
pub fn files(out: &mut impl Write, files: &[Shown], width: usize) -> io::Result<()> {
    together(out, files, width)?;
    files.iter().try_for_each(|one| file(out, one))
}

/// Writes one file with all its recordings.
fn file(out: &mut impl Write, shown: &Shown) -> io::Result<()> {
    let Shown { path, read, .. } = shown;
    for (recording, checked) in shown.recordings() {
        writeln!(out, "{}", path.display())?;
        facts(out, recording)?;
        counters(out, &recording.summary())?;
        totals(out, recording)?;
        processes(out, recording)?;
        check(out, checked)?;
    }
    for trouble in read.troubles.list() {
        writeln!(out, "{}: {trouble}", path.display())?;
    }
    match read.troubles.left_out() {
        0 => Ok(()),
        more => writeln!(out, "{}: and {}", path.display(), counted(more, "more message")),
    }
}

/// Writes the counters that several of `files` have, beside each other; nothing where there are none.
fn together(out: &mut impl Write, files: &[Shown], width: usize) -> io::Result<()> {
    let Some(mut together) = crate::together::of(files) else { return Ok(()) };
    for doubt in &together.doubts {
        writeln!(out, "{doubt}")?;
    }
    let left_out = shorten(&mut together);
    if !together.rows.is_empty() {
        let table = crate::recording::side_by_side(&together);
        let lines = table.in_parts(width.saturating_sub(INDENT.len()));
        lines
            .lines()
            .try_for_each(|line| writeln!(out, "{}", format!("{INDENT}{line}").trim_end()))?;
    }
    if let Some(left_out) = left_out {
        writeln!(out, "{INDENT}Left out here, but not with --html or --markdown: {left_out}")?;
    }
    writeln!(out)
}

/// Leaves as many recordings and counters as people read in text, and says how many are left out.
fn shorten(together: &mut Together) -> Option<String> {
    let (recordings, counters) = (together.names.len(), together.rows.len());
    together.names.truncate(TOGETHER_MAX);
    for row in &mut together.rows {
        row.figures.truncate(TOGETHER_MAX);
    }
    together.rows.retain(|row| row.figures.iter().flatten().count() >= 2);
    together.rows.truncate(COUNTERS_MAX);
    let left = [
        (recordings - together.names.len(), "further recording"),
        (counters - together.rows.len(), "further counter"),
    ];
    let left = left.into_iter().filter(|(count, _)| *count > 0);
    let left: Vec<String> = left.map(|(count, what)| counted(count as u64, what)).collect();
    (!left.is_empty()).then(|| left.join(" and "))
}

fn facts(out: &mut impl Write, recording: &Recording) -> io::Result<()> {
    writeln!(out, "  {}, {}", figures::host(recording), figures::recorded(recording))?;
    writeln!(out, "  {}", figures::span(recording))
}

fn counters(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let words: Vec<[String; 6]> = rows
        .iter()
        .map(|row| {
            let [average, min, max] =
                [row.stat.average(), row.stat.min(), row.stat.max()].map(figures::figure);
            let missing = match row.stat.missing() {
                0 => String::new(),
                missing => format!("; {missing} missing"),
            };
            let source = format!("{}{missing}", row.source);
            [row.counter.clone(), row.unit.to_owned(), average, min, max, source]
        })
        .collect();
    let titles = ["counter", "unit", "average", "min", "max", "from"].map(str::to_owned);
    let all: Vec<&[String; 6]> = std::iter::once(&titles).chain(&words).collect();
    let width = |at: usize| all.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    writeln!(out)?;
    for [counter, unit, average, min, max, source] in all {
        writeln!(
            out,
            "  {counter:<c$}  {unit:<u$}  {average:>a$}  {min:>l$}  {max:>h$}  {source}",
            c = widths[0],
            u = widths[1],
            a = widths[2],
            l = widths[3],
            h = widths[4],
        )?;
    }
    writeln!(out)
}

fn totals(out: &mut impl Write, recording: &Recording) -> io::Result<()> {
    for (name, value) in figures::totals(recording) {
        writeln!(out, "  {name:<14}  {value}")?;
    }
    Ok(())
}

/// The commands that used most processor time.
fn processes(out: &mut impl Write, recording: &Recording) -> io::Result<()> {
    for process in recording.processes.iter().take(5) {
        let (cpu_s, command) = (process.cpu_s, &process.command);
        writeln!(out, "  process         {cpu_s:.1} s of processor time: {command}")?;
    }
    Ok(())
}

/// Whether the figures agree with each other, and those that cannot be true.
fn check(out: &mut impl Write, checked: &Report) -> io::Result<()> {
    let findings = checked.findings().len() as u64 + checked.left_out();
    match (checked.checks(), findings) {
        (0, 0) => writeln!(out, "  check           no figures that must agree were recorded")?,
        (checks, 0) => {
            writeln!(out, "  check           {}, nothing found", counted(checks, "comparison"))?;
        }
        (checks, findings) => {
            writeln!(
                out,
                "  check           {} cannot be true beside the others, in {}",
                counted(findings, "figure"),
                counted(checks, "comparison")
            )?;
        }
    }
    for finding in checked.findings() {
        writeln!(out, "  finding         {finding}")?;
    }
    match checked.left_out() {
        0 => Ok(()),
        more => writeln!(out, "  finding         and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::JoinedCounter;

    fn together(recordings: usize, counters: usize) -> Together {
        let row = |at| JoinedCounter {
            name: format!("counter {at}"),
            unit: "%".into(),
            figures: vec![Some([Some(1_234.5); 3]); recordings],
        };
        Together {
            names: (0..recordings).map(|at| format!("host{at}_261128_1000.nmon")).collect(),
            rows: (0..counters).map(row).collect(),
            doubts: Vec::new(),
        }
    }

    #[test]
    fn what_stands_side_by_side_in_text_is_bounded_in_width_and_length() {
        let mut few = together(6, 40);
        assert_eq!((shorten(&mut few), &few), (None, &together(6, 40)));
        let mut many = together(30, 5_000);
        let left_out = shorten(&mut many).unwrap();
        assert_eq!(left_out, "24 further recordings and 4,960 further counters");
        let text = crate::recording::side_by_side(&many).in_parts(78);
        assert!(text.lines().all(|line| line.chars().count() <= 78), "{text}");
        assert_eq!(text.lines().count(), 3 * (1 + 3 * 40) + 2, "two recordings beside each other");
        // what no two of those that are left have
        let mut later = together(8, 1);
        later.rows[0].figures[..5].fill(None);
        assert_eq!(shorten(&mut later).unwrap(), "2 further recordings and 1 further counter");
        assert!(later.rows.is_empty());
    }
}
