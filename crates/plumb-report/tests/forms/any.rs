//! Whatever a record holds, every format renders it, and nothing of it becomes markup.

use crate::comparisons;
use crate::page;
use crate::records;

use std::collections::BTreeMap;

use page::{assert_balanced, assert_self_contained};
use plumb_comparison::{Better, BlockFigures, Comparison, FigureUnit, LeftOut, Role, Verdict};
use plumb_measure::{
    Distribution, FarHost, Finding, FindingKind, Histogram, Interval, PartRecord, RunRecord, Scope,
    StepRecord,
};
use plumb_page::wrap::WIDTH;
use plumb_report::{comparison, html, markdown, terminal};
use proptest::prelude::*;

const HOSTILE: &str = "<script>alert(1)</script>\"'&\u{1b}[31m";

#[test]
fn a_page_fetches_nothing_and_runs_nothing() {
    for page in pages() {
        assert_self_contained(&page);
        assert!(!page.contains("href="), "a link");
    }
}

#[test]
fn every_element_of_a_page_is_ended_in_its_place() {
    pages().iter().for_each(|page| assert_balanced(page));
}

fn pages() -> Vec<String> {
    let runs = records::all().into_iter().map(|(_, record)| html::render(&record));
    let comparisons = comparisons::all().into_iter().map(|(_, record)| comparison::html(&record));
    runs.chain(comparisons).collect()
}

#[test]
fn text_of_a_record_never_becomes_markup_or_steers_a_terminal() {
    let mut record = records::far_host();
    record.target.address = HOSTILE.into();
    record.target.server = Some(HOSTILE.into());
    record.far = Some(FarHost {
        name: HOSTILE.into(),
        address: HOSTILE.into(),
        facts: BTreeMap::from([(HOSTILE.into(), HOSTILE.into())]),
        ..FarHost::default()
    });
    record.host.placement = HOSTILE.into();
    record.plan.command = vec![HOSTILE.into()];
    record.plan.options.insert(HOSTILE.into(), HOSTILE.into());
    record.results[0].labels.insert(HOSTILE.into(), HOSTILE.into());
    record.results[0].figures[0].name = HOSTILE.into();
    record.results[0].driver.wait = HOSTILE.into();
    record.results[0].parts = vec![PartRecord {
        name: HOSTILE.into(),
        codes: BTreeMap::from([(HOSTILE.into(), 1)]),
        told_ns: record.results[0]
            .response_ns
            .iter()
            .map(|it| (HOSTILE.into(), it.clone()))
            .collect(),
        steps: vec![StepRecord { status: 302, text: HOSTILE.into() }],
        ..PartRecord::default()
    }];
    record.results[0].unexpected_codes = BTreeMap::from([(HOSTILE.into(), 1)]);
    record.validity.reasons.push(Finding {
        kind: FindingKind::Failures,
        scope: Scope::Nothing,
        text: HOSTILE.into(),
    });
    let mut found = records::database().results.remove(0).attribution.unwrap();
    found.parts[0].how = HOSTILE.into();
    found.advice[0].finding = HOSTILE.into();
    found.readings[0].about = HOSTILE.into();
    record.results[0].attribution = Some(found);
    record.results[0].driver.name = Some(HOSTILE.into());
    let page = html::render(&record);
    assert!(page.matches("<script").count() == 1);
    assert_balanced(&page);
    assert!(!terminal::render(&record, WIDTH).contains('\u{1b}'));
    let text = markdown::render(&record);
    let (_, prose) = text.split_once("```\n").unwrap(); // a fence shows its text as it is
    let (_, prose) = prose.split_once("```\n").unwrap();
    assert!(!prose.contains(" <script"), "{prose}");
}

#[test]
fn pages_are_judged_by_their_first_byte_and_kinds_of_operations_by_the_whole() {
    let find = |(name, record)| (name == "pages").then_some(record);
    let mut record = records::all().into_iter().find_map(find).unwrap();
    assert!(html::render(&record).contains("First byte by percentile"));
    record.plan.layer = "lock".into();
    let page = html::render(&record);
    assert!(
        page.contains("Service time by percentile") && !page.contains("First byte by percentile")
    );
}

#[test]
fn text_for_a_terminal_is_plain_and_keeps_its_width() {
    // the names and the main figures of these need more
    const WIDER: [&str; 4] = ["interrupted", "pages", "scenario", "refused"];
    for (name, record) in records::all() {
        for width in [60, WIDTH, 120, 160].into_iter().skip(WIDER.contains(&name).into()) {
            let text = terminal::render(&record, width);
            assert!(text.is_ascii());
            let wide: Vec<_> = text.lines().filter(|line| line.len() > width).collect();
            assert!(wide.is_empty(), "{width} columns: {wide:#?}");
            assert!(text.lines().all(|line| line == line.trim_end()));
        }
    }
}

#[test]
fn what_has_room_in_a_wide_terminal_is_not_left_out_for_width() {
    let shown = |width| terminal::summary(&records::sweep(), width);
    assert!(shown(WIDTH).contains("not shown for width: "));
    assert!(!shown(160).contains("not shown for width: "), "{}", shown(160));
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let record = records::all().remove(0).1;
    let [narrow, wide] = [WIDTH, 160].map(|width| terminal::render(&record, width));
    assert_eq!(words(&narrow), words(&wide), "nothing but blanks and line ends differs");
    assert!(narrow.lines().count() > wide.lines().count());
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
    let first =
        |record: &RunRecord| terminal::render(record, WIDTH).lines().next().unwrap().to_owned();
    let mut refused = records::all().pop().unwrap().1;
    assert!(first(&refused).ends_with("INVALID: unexpected status 401"));
    // a server that is gone is no question of passwords
    refused.results[0].failures.insert("connect-refused".into(), 1_000_000_000);
    assert!(first(&refused).ends_with("INVALID"), "{}", first(&refused));
    let record = records::open_with_drops();
    assert!(terminal::render(&record, WIDTH).lines().next().unwrap().ends_with("INVALID"));
    assert!(markdown::render(&record).lines().nth(2).unwrap().starts_with("**INVALID**"));
    let page = html::render(&record);
    assert!(page.find("INVALID").unwrap() < page.find("<table").unwrap());
}

#[test]
fn text_of_a_comparison_never_becomes_markup_or_steers_a_terminal() {
    let mut record = comparisons::several();
    record.differences[0].name = HOSTILE.into();
    record.differences[0].values = vec![HOSTILE.into()];
    record.warnings.push(HOSTILE.into());
    record.design.cut_short = Some(HOSTILE.into());
    for variant in &mut record.variants {
        variant.name = HOSTILE.into();
        variant.command = HOSTILE.into();
        variant.left_out.push(LeftOut { round: 1, reason: HOSTILE.into() });
    }
    for contrast in &mut record.contrasts {
        contrast.candidate = HOSTILE.into();
        contrast.baseline = HOSTILE.into();
        contrast.sentence = HOSTILE.into();
        contrast.labels.insert(HOSTILE.into(), HOSTILE.into());
        contrast.checks.remarks.push(HOSTILE.into());
        contrast.tails[0].variant = HOSTILE.into();
        contrast.endpoints[0].name = HOSTILE.into();
    }
    let page = comparison::html(&record);
    assert!(page.matches("<script").count() == 1);
    assert_balanced(&page);
    assert!(!comparison::terminal(&record, WIDTH).contains('\u{1b}'));
    let text = comparison::markdown(&record);
    let (before, rest) = text.split_once("```\n").unwrap(); // a fence shows its text as it is
    let (_, after) = rest.split_once("```\n").unwrap();
    assert!(!unescaped(before, "<script") && !unescaped(after, "<script"), "{text}");
}

/// True when `text` holds `what` without a backslash before it.
fn unescaped(text: &str, what: &str) -> bool {
    text.match_indices(what).any(|(at, _)| !text[..at].ends_with('\\'))
}

#[test]
fn a_comparison_for_a_terminal_keeps_80_columns() {
    for (name, record) in comparisons::all() {
        let text = comparison::terminal(&record, WIDTH);
        assert!(text.is_ascii());
        for line in text.lines() {
            assert!(line.len() <= 80, "{name}, {} columns: {line}", line.len());
            assert_eq!(line, line.trim_end());
        }
    }
}

#[test]
fn a_comparison_begins_with_its_answer_in_every_format() {
    let record = comparisons::no_difference();
    let sentence = record.contrasts[0].sentence.as_str();
    let first = comparison::terminal(&record, WIDTH).lines().next().unwrap().to_owned();
    assert!(sentence.starts_with(&first), "{first}");
    let text = comparison::markdown(&record);
    assert!(text.lines().nth(2).unwrap().starts_with("**NO DIFFERENCE SHOWN**"), "{text}");
    assert!(text.contains("That is not equality"));
    let page = comparison::html(&record);
    assert!(page.find("NO DIFFERENCE SHOWN").unwrap() < page.find("<table").unwrap());
}

#[test]
fn of_a_page_one_thing_is_said_to_do_about_its_median() {
    let notes = |long: u64| {
        let all = records::all();
        let mut record = all.into_iter().find(|(name, _)| *name == "pages").unwrap().1;
        let mut histogram = Histogram::new();
        (0..100).for_each(|at| histogram.record(if at < long { 10_000_000 } else { 1_000_000 }));
        let times = Distribution::of(&histogram);
        for part in &mut record.results[0].parts {
            part.first_byte_ns.clone_from(&times);
        }
        markdown::render(&record)
    };
    let [longer, few] = ["repeat it longer", "a few long times"];
    // of 100 times 10 are long, or 49
    assert!(notes(10).contains(few) && !notes(10).contains(longer), "{}", notes(10));
    assert!(notes(49).contains(longer) && !notes(49).contains(few), "{}", notes(49));
}

#[test]
fn a_limit_of_foreign_load_that_was_raised_stands_in_every_form_of_a_comparison() {
    let limit = plumb_measure::ForeignLimit {
        share: "100%".parse().expect("a share"),
        source: plumb_measure::LimitSource::Environment,
    };
    let mut record = comparisons::cells();
    let accepted = plumb_measure::AcceptedLoad {
        limit,
        most_pct: Some(84.0),
        known: plumb_measure::Known::All,
    };
    record.accepted_load = Some(accepted);
    for form in [|it: &_| comparison::terminal(it, WIDTH), comparison::markdown, comparison::html] {
        let text = form(&record).split_whitespace().collect::<Vec<_>>().join(" ");
        let verdict = "; limit of foreign load raised to 100 %, others took up to 84.0 %.";
        let around =
            "limit raised from 5 % to 100 % (the environment, PLUMB_FOREIGN_LIMIT), others took";
        assert!(text.contains(verdict) && text.contains(around), "{text}");
    }
}

#[test]
fn what_was_not_tested_has_no_p_and_too_few_pairs_have_no_whisker() {
    let page = comparison::html(&comparisons::too_few());
    assert!(!page.contains("class=\"whisker\"") && !page.contains("class=\"band\""));
    assert!(page.contains("CANNOT BE TESTED"));
    let text = comparison::markdown(&comparisons::better());
    let described = text.lines().find(|line| line.starts_with("| av2 |")).unwrap();
    assert!(described.ends_with("| - | - | not tested |"), "{described}");
    let approximate = text.lines().find(|line| line.starts_with("| 99th")).unwrap();
    assert!(approximate.contains("approximate, k = 12 pairs"), "{approximate}");
}

#[test]
fn separate_runs_have_no_pairs_to_draw() {
    let page = comparison::html(&comparisons::separate());
    assert!(!page.contains("Effect of every pair") && !page.contains("class=\"link\""));
    assert!(page.contains("cannot be told from the change"));
}

#[test]
fn many_pairs_are_drawn_evenly_and_one_pair_stands_alone() {
    let mut record = comparisons::better();
    let block = record.contrasts[0].endpoints[0].blocks[0];
    let many = (1..=500).map(|round| BlockFigures { round, ..block });
    record.contrasts[0].endpoints[0].blocks = many.collect();
    let page = comparison::html(&record);
    assert!(page.contains("400 of 500 places are drawn"));
    assert_eq!(page.matches("class=\"link\"").count(), 400);

    record.contrasts[0].endpoints[0].blocks = vec![block];
    assert_eq!(comparison::html(&record).matches("class=\"link\"").count(), 1);
    record.contrasts[0].endpoints[0].blocks.clear();
    assert!(!comparison::html(&record).contains("Both of every pair"));
}

#[test]
fn a_comparison_of_nothing_says_so() {
    let mut record = comparisons::better();
    record.contrasts.clear();
    record.variants.clear();
    assert!(comparison::terminal(&record, WIDTH).starts_with("Nothing was compared."));
    assert!(comparison::markdown(&record).contains("Nothing was compared."));
    assert_balanced(&comparison::html(&record));
    record = comparisons::better();
    record.contrasts[0].endpoints.clear();
    assert_balanced(&comparison::html(&record));
    assert!(comparison::terminal(&record, WIDTH).ends_with('\n'));
}

/// Figures that a damaged or absurd experiment may hold.
fn figure() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(f64::MAX),
        Just(f64::MIN_POSITIVE),
        Just(1e-6),
        Just(1e6),
        -1e9..1e12f64,
        0.5..2.0f64,
    ]
}

prop_compose! {
    fn compared()(
        sides in prop::collection::vec((prop::option::of(figure()), prop::option::of(figure())), 0..5),
        ratio in prop::option::of(figure()),
        ends in prop::option::of((figure(), figure(), figure())),
        p in prop::option::of(figure()),
        margin in prop::option::of(figure()),
        shares in (figure(), figure(), figure()),
        role in prop::sample::select(vec![
            Role::Primary, Role::Tested, Role::Described, Role::Approximate,
        ]),
        unit in prop::sample::select(vec![
            FigureUnit::Ns, FigureUnit::PerSecond, FigureUnit::KbPerSecond, FigureUnit::Plain,
        ]),
        higher in any::<bool>(),
        counts in any::<[u64; 4]>(),
    ) -> Comparison {
        let mut record = comparisons::better();
        record.design.margin = margin;
        record.design.rounds = counts[0];
        let contrast = &mut record.contrasts[0];
        contrast.checks.effective_samples = Some(shares.0);
        contrast.checks.between_blocks = Some(shares.1);
        contrast.checks.within_blocks = Some(shares.2);
        contrast.checks.warm_up = Some(shares.0);
        contrast.checks.without_first = ratio;
        contrast.checks.pairs_for_one_percent = Some(counts[1]);
        contrast.tails[0].max_ns = counts[2];
        contrast.tails[0].beyond_ten_medians = shares.1;
        let endpoint = &mut contrast.endpoints[0];
        endpoint.role = role;
        endpoint.unit = unit;
        endpoint.better = if higher { Better::Higher } else { Better::Lower };
        endpoint.baseline = shares.0;
        endpoint.candidate = shares.1;
        endpoint.ratio = ratio;
        endpoint.interval =
            ends.map(|(low, high, level)| plumb_measure::statistics::Interval { low, high, level });
        endpoint.p = p;
        endpoint.p_adjusted = p;
        endpoint.verdict = p.map(|_| Verdict::Better);
        endpoint.blocks = sides
            .iter()
            .map(|(baseline, candidate)| BlockFigures {
                round: counts[3],
                baseline: *baseline,
                candidate: *candidate,
            })
            .collect();
        record
    }
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
        Interval { start_ns, duration_ns, operations, failures, p50, p99, max, users: p50 % 9 }
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
        prop_assert!(terminal::render(&record, WIDTH).ends_with('\n'));
        prop_assert!(markdown::render(&record).ends_with('\n'));
    }

    #[test]
    fn any_comparison_is_rendered_without_a_coordinate_that_is_none(record in compared()) {
        let page = comparison::html(&record);
        for none in ["NaN", "inf%", "inf\"", "inf ", "-inf"] {
            let near = page.find(none).map(|at| &page[at.saturating_sub(60)..at + 20]);
            prop_assert!(near.is_none(), "{:?}", near);
        }
        assert_balanced(&page);
        prop_assert!(!comparison::terminal(&record, WIDTH).contains("NaN"));
        prop_assert!(!comparison::markdown(&record).contains("NaN"));
    }
}
