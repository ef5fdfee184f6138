//! A comparison as plain text.

use plumb_comparison::{Comparison, Contrast, DesignKind, Role};

use super::contrasts::Contrasts;
use super::figures::{good, verdict};
use super::{checks, design, grid, tables};
use crate::table::Table;
use crate::wrap::{fact, harmless, paragraph};

/// How far the numbers of a figure stand below its name.
const INDENT: usize = 2;
/// Contrasts that are shown one by one at most; of more there is the grid.
const SINGLY_MAX: usize = 6;

/// The comparison as text of `width` columns. Ends with a line end.
#[must_use]
pub fn render(comparison: &Comparison, width: usize) -> String {
    let contrasts = Contrasts::of(comparison);
    let mut out = answers(&contrasts, width);
    if !comparison.warnings.is_empty() {
        out.push('\n');
        for warning in &comparison.warnings {
            out.push_str(&fact("warning", warning, width));
        }
    }
    out.push_str(&grids(&contrasts, width));
    if singly(&contrasts) {
        for contrast in contrasts.all {
            out.push('\n');
            out.push_str(&one(&contrasts, contrast, width));
        }
    } else {
        out.push_str("\nEvery figure of each stands in the report, and in Markdown.\n");
    }
    if !contrasts.all.is_empty() && singly(&contrasts) {
        let legend = match comparison.design.kind {
            DesignKind::Interleaved => tables::LEGEND,
            DesignKind::Separate => tables::LEGEND_SEPARATE,
        };
        out.push('\n');
        out.push_str(&paragraph("", legend, width));
    }
    out.push_str(&differences(comparison, width));
    out.push_str(&setting(comparison, width));
    harmless(&out)
}

fn answers(contrasts: &Contrasts<'_>, width: usize) -> String {
    match contrasts.all {
        [] => "Nothing was compared.\n".into(),
        [only] => paragraph("", &contrasts.sentence(only), width),
        _ if !singly(contrasts) => paragraph("", &contrasts.counted(), width),
        several => {
            let lines = several.iter();
            lines.map(|contrast| paragraph("- ", &contrasts.sentence(contrast), width)).collect()
        }
    }
}

/// True when there is room to show every contrast by itself.
fn singly(contrasts: &Contrasts<'_>) -> bool {
    contrasts.all.len() <= SINGLY_MAX || contrasts.points().len() < 2
}

fn grids(contrasts: &Contrasts<'_>, width: usize) -> String {
    let grids = grid::within(contrasts, width);
    let mut out = String::new();
    for grid in &grids {
        out.push_str(&format!("\n{}\n{}", grid.title, grid.table.text(width).0));
    }
    if !grids.is_empty() {
        out.push('\n');
        out.push_str(&paragraph("", tables::GRID, width));
    }
    out
}

fn one(contrasts: &Contrasts<'_>, contrast: &Contrast, width: usize) -> String {
    let mut out = paragraph("", &contrasts.title(contrast), width);
    out.push_str(&figures(contrast, width));
    if let Some(tails) = tables::tails(&[contrast]) {
        out.push('\n');
        out.push_str(&tails.text(width).0);
    }
    let checks = checks::of(contrast);
    if !checks.is_empty() {
        out.push('\n');
        out.push_str(&listed("checks", &checks, width));
    }
    out
}

/// Two lines a figure: what it is and what follows, and below it the numbers.
fn figures(contrast: &Contrast, width: usize) -> String {
    let numbers = numbers(contrast);
    let (text, dropped) = numbers.text(width.saturating_sub(INDENT));
    let mut lines = text.lines().map(|line| format!("{:INDENT$}{line}\n", ""));
    let mut out = lines.next().unwrap_or_default();
    for (endpoint, line) in contrast.endpoints.iter().zip(lines) {
        let primary = if endpoint.role == Role::Primary { ", primary" } else { "" };
        let name = format!("{} ({} is good){primary}", endpoint.name, good(endpoint.better));
        out.push_str(&flush(&name, &verdict(endpoint), width));
        out.push_str(&line);
    }
    if !dropped.is_empty() {
        let note = format!("not shown for width: {} (--markdown has them)", dropped.join(", "));
        out.push_str(&paragraph("", &note, width));
    }
    out
}

/// The numbers within the width: percents are named once, and if that is not enough the plain p
/// gives way to the adjusted one.
fn numbers(contrast: &Contrast) -> Table {
    let mut table = Table::new(tables::number_columns());
    contrast.endpoints.iter().for_each(|endpoint| table.push(tables::numbers(endpoint)));
    for (at, column) in table.columns.iter_mut().enumerate() {
        match column.title.as_str() {
            "interval" => {
                column.title = "interval, %".into();
                for row in &mut table.rows {
                    let short = row.cells[at].trim_end_matches(" %").len();
                    row.cells[at].truncate(short);
                }
            }
            "p" => column.rank = 1,
            _ => {}
        }
    }
    table
}

/// Words on the left and words on the right of a line, or below where they have no room.
fn flush(left: &str, right: &str, width: usize) -> String {
    let used = left.chars().count() + right.chars().count();
    if used + 2 > width {
        let wrapped = paragraph("", left, width);
        return format!("{wrapped}{right:>width$}\n");
    }
    format!("{left}{}{right}\n", " ".repeat(width - used))
}

/// Several things under one name.
fn listed(name: &str, texts: &[String], width: usize) -> String {
    let names = std::iter::once(name).chain(std::iter::repeat(""));
    names.zip(texts).map(|(name, text)| fact(name, text, width)).collect()
}

/// What differs between the variants: a table, or a list where a value is too long for one.
fn differences(comparison: &Comparison, width: usize) -> String {
    let Some(table) = tables::differences(comparison) else { return String::new() };
    if table.width() <= width {
        return format!("\n{}", table.text(width).0);
    }
    let mut out = String::from("\nwhat differs\n");
    for row in &table.rows {
        let (name, values) = row.cells.split_first().map_or(("", &[][..]), |(n, v)| (n, v));
        out.push_str(&paragraph("", name, width));
        for (variant, value) in comparison.variants.iter().zip(values) {
            out.push_str(&fact(&format!("  {}", variant.name), value, width));
        }
    }
    out
}

/// How the blocks were taken, which were left out, and what was run.
fn setting(comparison: &Comparison, width: usize) -> String {
    let mut out = String::from("\n");
    if let Some(table) = tables::left_out(comparison) {
        let reasons: Vec<String> = table
            .rows
            .iter()
            .map(|row| format!("round {}, {}: {}", row.cells[0], row.cells[1], row.cells[2]))
            .collect();
        out.push_str(&listed("left out", &reasons, width));
    }
    for known in design::facts(comparison) {
        out.push_str(&fact(&known.name, &known.value, width));
    }
    let around = design::circumstances(comparison);
    if !around.is_empty() {
        let words = around.iter().map(|known| format!("{} {}", known.name, known.value));
        out.push_str(&fact("measured on", &words.collect::<Vec<_>>().join("; "), width));
    }
    for variant in &comparison.variants {
        let text = format!("{}: {}", design::variant(variant), variant.command);
        out.push_str(&fact(&variant.name, &text, width));
    }
    out
}
