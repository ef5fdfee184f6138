//! What is drawn in pages holds what the figures hold.

use plumb_checkup::{Checkup, CheckupLayer, CheckupOutcome, CheckupPart, Middle, PartRole};
use plumb_measure::{Distribution, Histogram, Program};
use plumb_report::checkup::{CheckupRun, html_with_runs};
use plumb_report::{comparison, html};

use crate::page::{assert_balanced, assert_self_contained};
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
fn a_checkup_that_holds_its_runs_links_nothing_outside() {
    let runs: Vec<CheckupRun> = records::all()
        .into_iter()
        .map(|(name, record)| CheckupRun { folder: name.into(), record, tracks: Vec::new() })
        .collect();
    let mut parts: Vec<CheckupPart> = runs.iter().map(|run| part(&run.folder)).collect();
    parts.push(part("lost"));
    let plumb = Program { version: "0.0.0".into() };
    let mut checkup = Checkup::begun(plumb, "2026-11-21T08:30:48Z".into(), parts);
    checkup.judge();
    let page = html_with_runs(&checkup, &runs);
    let links: Vec<&str> =
        page.split("href=\"").skip(1).filter_map(|it| it.split('"').next()).collect();
    assert_eq!(links.len(), runs.len(), "the run that is not there has no link: {links:?}");
    for link in links {
        let id = link.strip_prefix('#').expect("a link within the page");
        assert_eq!(page.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
    }
    assert_balanced(&page);
    assert_self_contained(&page);
}

#[test]
fn a_checkup_draws_the_distribution_of_each_measurement_that_kept_one() {
    let mut kept = part("kept");
    let mut histogram = Histogram::new();
    (0..1_000).for_each(|at| histogram.record(18_000 + 5 * at));
    if let Some(outcome) = &mut kept.outcome {
        outcome.service_ns = Distribution::of(&histogram);
    }
    let plumb = Program { version: "0.0.0".into() };
    let checkup = Checkup::begun(plumb, "2026-11-21T08:30:48Z".into(), vec![kept, part("older")]);
    let page = plumb_report::checkup::html(&checkup);
    assert_eq!(page.matches("class=\"mound\"").count(), 1, "of the one that kept it");
    let read = Checkup::from_json(&checkup.to_json()).unwrap();
    assert_eq!(plumb_report::checkup::html(&read), page);
    assert_balanced(&page);
}

fn part(folder: &str) -> CheckupPart {
    CheckupPart {
        layer: CheckupLayer::Network,
        server: "network".into(),
        operation: "a round trip".into(),
        how: folder.into(),
        role: PartRole::Beside,
        users: 1,
        expected_ns: 1_000_000_000,
        words: vec!["net".into(), "ping".into()],
        outcome: Some(CheckupOutcome {
            folder: Some(folder.into()),
            median: Some(Middle { ns: 20_000, low_ns: 19_000, high_ns: 21_000, intervals: 20 }),
            p99_ns: Some(90_000),
            ..CheckupOutcome::default()
        }),
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
