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

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLISHED: NipingFigures = NipingFigures {
        avg_ms: 1.904_083,
        max_ms: 9.982,
        min_ms: 1.656,
        tr_kb_s: 51_287.892,
        av2_ms: Some(1.896),
        tr2_kb_s: Some(51_500.092),
        left_out: 2,
    };

    #[test]
    fn the_published_block_comes_out_again() {
        let expected = "------- times -----\navg  1.904 ms\nmax  9.982 ms\nmin  1.656 ms\n\
                        tr   51287.892 kB/s\nexcluding max and min:\nav2  1.896 ms\n\
                        tr2  51500.092 kB/s\n";
        assert_eq!(block(&PUBLISHED), expected);
    }

    #[test]
    fn below_three_messages_the_block_says_what_is_needed() {
        let few = NipingFigures { av2_ms: None, tr2_kb_s: None, left_out: 0, ..PUBLISHED };
        let text = block(&few);
        assert!(text.ends_with("av2  - (needs 3 messages)\ntr2  - (needs 3 messages)\n"), "{text}");
    }
}
