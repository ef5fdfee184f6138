//! The block of figures that niping prints.

use std::fmt::Write as _;

use plumb_measure::NipingFigures;

/// The block that ends niping's client output, byte for byte, with a line end after its last line.
///
/// Times are milliseconds, rates kB/s of 1,024 bytes counting both directions. Below three
/// messages niping's `av2` and `tr2` have no value, which the block says in their place.
///
/// # Source
/// The output published with SAP Note 500235.
#[must_use]
pub fn block(figures: &NipingFigures) -> String {
    let mut text = format!(
        "------- times -----\n\
         avg  {:.3} ms\n\
         max  {:.3} ms\n\
         min  {:.3} ms\n\
         tr   {:.3} kB/s\n\
         excluding max and min:\n",
        figures.avg_ms, figures.max_ms, figures.min_ms, figures.tr_kb_s
    );
    push_excluding(&mut text, "av2", figures.av2_ms, "ms");
    push_excluding(&mut text, "tr2", figures.tr2_kb_s, "kB/s");
    text
}

fn push_excluding(text: &mut String, name: &str, value: Option<f64>, unit: &str) {
    // writing to a String does not fail
    let _ = match value {
        Some(value) => writeln!(text, "{name}  {value:.3} {unit}"),
        None => writeln!(text, "{name}  - (needs 3 messages)"),
    };
}
