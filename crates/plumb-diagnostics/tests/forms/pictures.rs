//! What is drawn in the page of a checkup holds what its figures hold.

use plumb_checkup::{Checkup, CheckupLayer, CheckupOutcome, CheckupPart, Middle, PartRole};
use plumb_diagnostics::checkup::{CheckupRun, html, html_with_runs};
use plumb_measure::{Distribution, Histogram, Program};

use crate::page::{assert_balanced, assert_self_contained};
use crate::records;

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
    let page = html(&checkup);
    assert_eq!(page.matches("class=\"mound\"").count(), 1, "of the one that kept it");
    let read = Checkup::from_json(&checkup.to_json()).unwrap();
    assert_eq!(html(&read), page);
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
        connections: None,
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
