//! A comparison as Markdown, to paste into a ticket.

use plumb_comparison::{Comparison, DesignKind};

use super::contrasts::{self, Contrasts};
use super::{checks, definitions, design, grid, tables};
use crate::table::{Column, Table, escaped, fenced};

/// The comparison as Markdown: the answer, the figures, and what it takes to repeat it.
#[must_use]
pub fn render(comparison: &Comparison) -> String {
    let contrasts = Contrasts::of(comparison);
    let mut out = format!("## {}\n\n", escaped(&contrasts::title(comparison)));
    out += &answers(&contrasts);
    out += &listed(&comparison.warnings, "**Warning**: ");
    out += &grids(&contrasts);
    out += &points(comparison, &contrasts);
    for (title, table) in [
        ("What differs", tables::differences(comparison)),
        ("Blocks left out", tables::left_out(comparison)),
    ] {
        if let Some(table) = table {
            out += &format!("### {title}\n\n{}\n", table.markdown());
        }
    }
    out += "### Method\n\n";
    for known in definitions::of(comparison) {
        out += &format!("- **{}**: {}\n", escaped(known.term), escaped(known.meaning));
    }
    out += &repeat(comparison);
    out
}

fn answers(contrasts: &Contrasts<'_>) -> String {
    let answer = |contrast| {
        let word = contrasts::heading(contrast);
        format!("**{word}**: {}", escaped(&contrasts.sentence(contrast)))
    };
    match contrasts.all {
        [] => "Nothing was compared.\n\n".into(),
        [only] => {
            let meaning = contrasts::meaning(only, contrasts.kind);
            format!("{}\n\n{meaning}\n\n", answer(only))
        }
        several => {
            let lines: String =
                several.iter().map(|contrast| format!("- {}\n", answer(contrast))).collect();
            format!("{}\n\n{lines}\n", contrasts.counted())
        }
    }
}

fn grids(contrasts: &Contrasts<'_>) -> String {
    let grids = grid::of(contrasts);
    let mut out = String::new();
    for grid in &grids {
        out += &format!("### {}\n\n{}\n", escaped(&grid.title), grid.table.markdown());
    }
    if !grids.is_empty() {
        out += &format!("{}\n\n", tables::GRID);
    }
    out
}

fn points(comparison: &Comparison, contrasts: &Contrasts<'_>) -> String {
    let mut out = String::new();
    let shared = contrasts.shared();
    for point in contrasts.points() {
        let title = if point.name.is_empty() { "Figures" } else { &point.name };
        out += &format!("### {}\n\n", escaped(title));
        out += &tables::figures(&point.contrasts, contrasts.several_candidates).markdown();
        if let Some(tails) = tables::tails(&point.contrasts) {
            out += &format!("\n{}", tails.markdown());
        }
        out.push('\n');
        for contrast in &point.contrasts {
            let checks = checks::of(contrast);
            if contrasts.several_candidates && !checks.is_empty() {
                out += &format!("Checks of {}:\n\n", escaped(&contrast.candidate));
            }
            out += &listed(&checks, "");
        }
    }
    if contrasts.all.is_empty() {
        return out;
    }
    if !shared.is_empty() {
        out += &format!("Every point with {}. ", escaped(&shared));
    }
    let legend = match comparison.design.kind {
        DesignKind::Interleaved => tables::LEGEND,
        DesignKind::Separate => tables::LEGEND_SEPARATE,
    };
    out += &format!("{legend} {}\n\n", tables::TAILS);
    out
}

/// A list and an empty line; nothing for nothing.
fn listed(texts: &[String], before: &str) -> String {
    let mut out: String =
        texts.iter().map(|text| format!("- {before}{}\n", escaped(text))).collect();
    if !texts.is_empty() {
        out.push('\n');
    }
    out
}

fn repeat(comparison: &Comparison) -> String {
    let commands = fenced(&design::commands(comparison));
    let mut out = format!("\n### To repeat it\n\n{commands}\n");
    let mut table = Table::new(vec![Column::words("what"), Column::words("value")]);
    for known in design::facts(comparison).into_iter().chain(design::circumstances(comparison)) {
        table.push(vec![known.name.into_owned(), known.value]);
    }
    for variant in &comparison.variants {
        table.push(vec![variant.name.clone(), design::variant(variant)]);
    }
    out += &table.markdown();
    out
}
