//! Recordings as tables of text.

use plumb_check::Report;
use plumb_measure::counted;
use plumb_nmon::{Recording, Row};
use std::io::{self, Write};

use crate::{Shown, figures};

/// Writes all files, and before them what several have side by side.
///
/// # Errors
/// When `out` takes no more.
pub fn files(out: &mut impl Write, files: &[Shown]) -> io::Result<()> {
    together(out, files)?;
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
fn together(out: &mut impl Write, files: &[Shown]) -> io::Result<()> {
    let Some(together) = crate::together::of(files) else { return Ok(()) };
    let table = crate::recording::side_by_side(&together);
    for doubt in &together.doubts {
        writeln!(out, "{doubt}")?;
    }
    let lines = table.in_parts(usize::MAX);
    lines.lines().try_for_each(|line| writeln!(out, "  {}", line.trim_end()))?;
    writeln!(out)
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
