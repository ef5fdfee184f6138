//! The check of a path in its three forms, whatever stands in it.

use crate::page::assert_self_contained;
use plumb_checkup::{Judgement, PATH_CHECK_SCHEMA, PartOutcome, PathCheck, PathPart, PathTest};
use plumb_diagnostics::path_check::{html, markdown, terminal};
use plumb_measure::{ForeignLimit, LimitSource, Program};

const MS: u64 = 1_000_000;

fn part(test: PathTest, size_bytes: u64, outcome: Option<PartOutcome>) -> PathPart {
    PathPart {
        test,
        size_bytes,
        expected_ns: 2_000 * MS,
        silence_ns: if test == PathTest::Idle { 5_000 * MS } else { 0 },
        timeout_ns: 2_000 * MS,
        words: vec![format!("--size={size_bytes}B"), "--for=2s".into()],
        outcome,
    }
}

fn good(folder: &str) -> PartOutcome {
    PartOutcome {
        folder: Some(folder.into()),
        valid: true,
        operations: 1_200,
        duration_ns: 2_000 * MS,
        p50_ns: Some(2 * MS),
        max_ns: Some(9 * MS),
        average_ms: Some(2.25),
        kb_per_s: Some(86_805.5),
        ..PartOutcome::default()
    }
}

fn check(target: &str, parts: Vec<PathPart>) -> PathCheck {
    PathCheck {
        schema: PATH_CHECK_SCHEMA.into(),
        plumb: Program { version: "0.0.0".into() },
        started: "2026-11-21T08:30:48Z".into(),
        target: target.into(),
        parts,
    }
}

/// A path whose firewall forgets, before the long test.
fn forgetful() -> PathCheck {
    let forgotten = PartOutcome {
        failures: [("timed-out".to_owned(), 1)].into(),
        valid: false,
        operations: 1,
        ..good("parts/04-idle-1000B")
    };
    check(
        "db1",
        vec![
            part(PathTest::Throughput, 100_000, Some(good("parts/01-throughput-100000B"))),
            part(PathTest::RoundTrip, 1, Some(good("parts/02-round-trip-1B"))),
            part(PathTest::Sizes, 500, Some(good("parts/03-sizes-500B"))),
            part(PathTest::Idle, 1_000, Some(forgotten)),
            part(PathTest::Stability, 10_000, None),
        ],
    )
}

#[test]
fn text_says_the_sentences_first_and_then_the_figures() {
    let text = terminal(&forgetful(), 80);
    assert!(text.starts_with("net check db1: BAD\n\nthroughput     FINE: messages of 100000"));
    for words in [
        "idle           BAD: after 5s of silence the connection was dead",
        "stability      NOT MEASURED: ",
        "   1  throughput  100000B     1,200       0  2.00 ms  9.00 ms  86,806",
        "1 of 5 parts are not measured: plumb net check --resume DIR goes on with them.",
    ] {
        assert!(text.contains(words), "no `{words}` in {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_check_that_is_not_over_is_called_so() {
    let mut begun = forgetful();
    begun.parts[3].outcome = None;
    assert!(terminal(&begun, 80).starts_with("net check db1: NOT FINISHED\n"));
    begun.parts.iter_mut().for_each(|part| part.outcome = Some(good("parts/x")));
    assert!(terminal(&begun, 80).starts_with("net check db1: FINE\n"));
    assert_eq!((begun.worst(), begun.left_ns()), (Judgement::Fine, 0));
}

#[test]
fn markdown_has_a_line_for_each_test_and_a_table() {
    let text = markdown(&forgetful());
    assert!(text.starts_with("## net check db1: BAD\n\n- **throughput**: FINE: "), "{text}");
    assert!(text.contains("- **idle**: BAD: after 5s"), "{text}");
    assert!(text.contains("| part | test"), "{text}");
    assert!(text.contains("| parts/01-throughput-100000B |"), "{text}");
}

#[test]
fn the_page_loads_nothing_and_nothing_of_a_check_becomes_markup() {
    let hostile = "</style><script>alert(1)</script>\"'&";
    let refused = PartOutcome { error: Some(hostile.into()), ..PartOutcome::default() };
    let page = html(&check(hostile, vec![part(PathTest::Throughput, 1, Some(refused))]));
    assert_self_contained(&page);
    assert!(page.contains("&lt;script&gt;") && !page.contains("href="));
    assert!(page.contains("<li>part 1: ") && !page.contains(">error</th>"), "as long as it is");
    let page = html(&forgetful());
    assert!(page.contains("plumb net ping db1 --size=100000B --for=2s"), "{page}");
    assert!(page.contains("<strong>idle: BAD</strong>"), "{page}");
}

#[test]
fn a_limit_of_foreign_load_that_was_raised_stands_in_every_form() {
    let share = "100%".parse().expect("a share");
    let limit = Some(ForeignLimit { share, source: LimitSource::Option });
    let under = |valid| {
        let outcome = PartOutcome {
            valid,
            foreign_limit: limit,
            foreign_pct: Some(84.0),
            ..good("parts/01")
        };
        check("db1", vec![part(PathTest::RoundTrip, 1, Some(outcome))])
    };
    let (raised, nothing) = (under(true), under(false));
    assert_eq!(PathCheck::from_json(&raised.to_json()).expect("a check"), raised);
    let words = "limit of foreign load raised to 100 %, others took up to 84.0 %";
    for form in [|check: &_| terminal(check, 80), markdown, html] {
        let text = form(&raised).replace('\u{a0}', " ");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "{text}");
        assert!(!form(&nothing).contains("raised"), "no figure stands under it");
    }
}

#[test]
fn a_check_is_read_back_as_it_was_written() {
    let written = forgetful();
    assert_eq!(PathCheck::from_json(&written.to_json()).unwrap(), written);
    let other = written.to_json().replace("plumb.net-check/1", "plumb.net-check/2");
    assert!(PathCheck::from_json(&other).unwrap_err().to_string().contains("net-check/2"));
}
