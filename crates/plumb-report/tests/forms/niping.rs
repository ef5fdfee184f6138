//! niping's own block of figures.

use plumb_measure::NipingFigures;
use plumb_report::niping::block;

use crate::records;

fn published() -> NipingFigures {
    records::published().results[0].niping.expect("a run of messages of one size")
}

#[test]
fn the_published_block_comes_out_again() {
    let expected = "------- times -----\navg  1.904 ms\nmax  9.982 ms\nmin  1.656 ms\n\
                    tr   51287.892 kB/s\nexcluding max and min:\nav2  1.896 ms\n\
                    tr2  51500.092 kB/s\n";
    assert_eq!(block(&published()), expected);
}

#[test]
fn below_three_messages_the_block_says_what_is_needed() {
    let few = NipingFigures { av2_ms: None, tr2_kb_s: None, left_out: 0, ..published() };
    let text = block(&few);
    assert!(text.ends_with("av2  - (needs 3 messages)\ntr2  - (needs 3 messages)\n"), "{text}");
}
