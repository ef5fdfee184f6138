//! What is drawn in pages holds what the figures hold.

use plumb_report::{comparison, html};

use crate::page::assert_balanced;
use crate::{comparisons, records};

/// Bytes of the page of one run, at most.
const PAGE_MAX: usize = 300_000;

/// The widths of the parts of each stacked bar, percent.
fn bars(page: &str) -> Vec<Vec<f64>> {
    let bars = page.split("class=\"stack-bar\"").skip(1);
    let width = |part: &str| {
        let (value, _) = part.split_once("style=\"width:")?.1.split_once('%')?;
        value.parse().ok()
    };
    bars.map(|bar| bar.split("</div>").next().unwrap_or_default())
        .map(|bar| bar.split("<span").skip(1).filter_map(width).collect())
        .collect()
}

#[test]
fn stacked_parts_never_exceed_their_whole() {
    let pages = records::all().into_iter().map(|(_, record)| html::render(&record));
    let bars: Vec<Vec<f64>> = pages.flat_map(|page| bars(&page)).collect();
    assert!(bars.iter().any(|bar| bar.len() > 1), "no bar was drawn");
    for bar in bars {
        // each width is rounded to a hundredth of a percent
        assert!(bar.iter().sum::<f64>() <= 100.1, "{bar:?}");
        assert!(bar.iter().all(|part| *part >= 0.0), "{bar:?}");
    }
}

#[test]
fn the_page_of_a_run_is_small_and_shows_pictures_before_tables() {
    for (name, record) in records::all() {
        let page = html::render(&record);
        assert!(page.len() < PAGE_MAX, "{name}: {} bytes", page.len());
        if let (Some(chart), Some(table)) = (page.find("class=\"chart\""), page.find(">Results<")) {
            assert!(chart < table, "{name}");
        }
    }
}

#[test]
fn pairs_that_have_no_place_in_a_picture_are_counted_below_it() {
    let mut record = comparisons::better();
    let endpoint = &mut record.contrasts[0].endpoints[0];
    // a change without a percentage: the verdict stands on p alone
    (endpoint.ratio, endpoint.interval) = (None, None);
    for block in &mut endpoint.blocks[..2] {
        block.baseline = Some(0.0);
    }
    // nothing on both sides is no change, and has no ratio either
    (endpoint.blocks[2].baseline, endpoint.blocks[2].candidate) = (Some(0.0), Some(0.0));
    let page = comparison::html(&record);
    assert_balanced(&page);
    assert!(page.contains("Not drawn: 3 pairs with a figure of 0."));
    assert!(!comparison::html(&comparisons::better()).contains("Not drawn: "));
}
