//! Whatever a record holds, every format renders it, and nothing of it becomes markup.

mod records;

use plumb_measure::{Distribution, Finding, FindingKind, Interval, Scope};
use plumb_report::{html, markdown, terminal};
use proptest::prelude::*;

const HOSTILE: &str = "<script>alert(1)</script>\"'&\u{1b}[31m";

/// Elements that have no end tag.
const VOID: [&str; 2] = ["!DOCTYPE", "meta"];

#[test]
fn a_page_fetches_nothing_and_runs_nothing() {
    for (_, record) in records::all() {
        let page = html::render(&record);
        for loader in ["<script", "<link", "<iframe", "<img", "src=", "href=", "url(", "@import"] {
            assert!(!page.contains(loader), "{loader}");
        }
        assert!(page.contains("default-src 'none'"));
    }
}

#[test]
fn every_element_of_a_page_is_ended_in_its_place() {
    for (_, record) in records::all() {
        assert_balanced(&html::render(&record));
    }
}

fn assert_balanced(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    for part in page.split('<').skip(1) {
        let (tag, _) = part.split_once('>').expect("a tag ends");
        let name = tag.split([' ', '\n']).next().unwrap_or_default();
        if let Some(ended) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(ended), "before {}", &part[..part.len().min(60)]);
        } else if !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn text_of_a_record_never_becomes_markup_or_steers_a_terminal() {
    let mut record = records::single_ping();
    record.target.address = HOSTILE.into();
    record.target.server = Some(HOSTILE.into());
    record.host.placement = HOSTILE.into();
    record.plan.command = vec![HOSTILE.into()];
    record.plan.options.insert(HOSTILE.into(), HOSTILE.into());
    record.results[0].labels.insert(HOSTILE.into(), HOSTILE.into());
    record.results[0].figures[0].name = HOSTILE.into();
    record.results[0].driver.wait = HOSTILE.into();
    record.validity.reasons.push(Finding {
        kind: FindingKind::Failures,
        scope: Scope::Nothing,
        text: HOSTILE.into(),
    });
    let page = html::render(&record);
    assert!(!page.contains("<script"));
    assert_balanced(&page);
    assert!(!terminal::render(&record).contains('\u{1b}'));
    let text = markdown::render(&record);
    let (_, prose) = text.split_once("```\n").unwrap(); // a fence shows its text as it is
    let (_, prose) = prose.split_once("```\n").unwrap();
    assert!(!prose.contains(" <script"), "{prose}");
}

#[test]
fn text_for_a_terminal_is_plain_and_keeps_its_width() {
    for (_, record) in records::all() {
        let several = record.results.len() > 1;
        let text = terminal::render(&record);
        assert!(text.is_ascii());
        for line in text.lines() {
            let most = if several { 100 } else { 80 };
            assert!(line.len() <= most, "{} columns: {line}", line.len());
            assert_eq!(line, line.trim_end());
        }
    }
}

#[test]
fn what_is_not_drawn_is_said_and_stands_in_the_table() {
    let mut record = records::sweep();
    let result = record.results.remove(0);
    record.results.clear();
    for connections in 1..=6 {
        for size in 1..=8 {
            let mut next = result.clone();
            next.labels.insert("connections".into(), connections.to_string());
            next.labels.insert("size".into(), format!("{}B", size * 100));
            record.results.push(next);
        }
    }
    let page = html::render(&record);
    assert!(page.contains("4 of 6 groups of curves are drawn"));
    assert!(page.contains("6 of 8 curves are drawn"));
    let (_, table) = page.split_once("<tbody>").unwrap();
    assert_eq!(table.split_once("</tbody>").unwrap().0.matches("<tr").count(), 48);
}

#[test]
fn an_invalid_run_says_so_first_in_every_format() {
    let record = records::open_with_drops();
    assert!(terminal::render(&record).lines().next().unwrap().ends_with("INVALID"));
    assert!(markdown::render(&record).lines().nth(2).unwrap().starts_with("**INVALID**"));
    let page = html::render(&record);
    assert!(page.find("INVALID").unwrap() < page.find("<table").unwrap());
}

prop_compose! {
    fn distribution()(n in any::<[u64; 11]>(), whole in any::<bool>()) -> Distribution {
        let [count, min, p25, p50, p75, p90, p95, p99, p999, max, mean] = n;
        let sample = records::single_ping().floor.expect("a floor").service_ns.histogram;
        let histogram = if whole { sample } else { "damaged".into() };
        Distribution {
            count, min, p25, p50, p75, p90, p95, p99, p999, max, mean, histogram,
        }
    }
}

prop_compose! {
    fn interval()(n in any::<[u64; 7]>()) -> Interval {
        let [start_ns, duration_ns, operations, failures, p50, p99, max] = n;
        Interval { start_ns, duration_ns, operations, failures, p50, p99, max }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_figures_are_rendered_without_a_coordinate_that_is_none(
        times in prop::collection::vec(prop::option::of(distribution()), 1..4),
        intervals in prop::collection::vec(interval(), 0..4),
        rate in prop_oneof![Just(0.0), Just(f64::MAX), -1e9..1e12f64],
        sizes in prop::collection::vec("[0-9]{1,3}(B|KiB|s|/s|e300)?", 4),
        counts in any::<[u64; 6]>(),
    ) {
        let mut record = records::single_ping();
        let result = record.results.remove(0);
        for (at, times) in times.iter().enumerate() {
            let mut next = result.clone();
            next.labels.insert("size".into(), sizes[at].clone());
            next.response_ns.clone_from(times);
            next.service_ns.clone_from(&times.clone());
            next.throughput_per_s = rate;
            next.operations = counts[0];
            next.dropped = counts[1];
            next.failures.insert("closed".into(), counts[2]);
            next.driver.passes = counts[3];
            next.driver.idle_passes = counts[4];
            next.driver.quiet_closes = counts[5];
            next.intervals.clone_from(&intervals);
            record.results.push(next);
        }
        let page = html::render(&record);
        prop_assert!(!page.contains("NaN") && !page.contains("inf\"") && !page.contains("inf "));
        assert_balanced(&page);
        prop_assert!(terminal::render(&record).ends_with('\n'));
        prop_assert!(markdown::render(&record).ends_with('\n'));
    }
}
