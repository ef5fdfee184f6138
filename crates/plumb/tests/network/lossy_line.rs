//! A line that loses packets, and what a run over it says of that.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::time::Duration;

use kit::lossy_line::LossyLine;
use kit::namespace::{ENDS, allowed};
use serde_json::Value;
use tempfile::tempdir;

/// Losses of the test are drawn from here.
const SEED: u64 = 20_261_122;
/// Round trips, each of at least two packets.
const ROUND_TRIPS: u64 = 500;

/// The only result of `plumb net ping` over `line`.
fn pinged(line: &LossyLine, words: &[&str]) -> Value {
    let folder = tempdir().expect("a temporary folder");
    let [here, there] = line.ends();
    let any = format!("{}:0", ENDS[1]);
    let echo = there.start(&["net", "serve", "--listen", &any, "--quiet"], folder.path());
    let said = echo.line();
    let target = said.strip_prefix("listening on ").expect("an address");
    let words = [&["net", "ping", target, "--warmup", "0s", "--json"], words].concat();
    let record = here.start(&words, folder.path()).wait().with(0).json();
    record["results"][0].clone()
}

fn findings(result: &Value) -> Vec<(&str, &str)> {
    let reasons = result["validity"]["reasons"].as_array().expect("a list");
    reasons
        .iter()
        .map(|it| (it["kind"].as_str().expect("a word"), it["text"].as_str().expect("a sentence")))
        .collect()
}

#[test]
fn a_line_that_loses_nothing_is_clean() {
    let Some(line) = allowed(LossyLine::start(0.0, SEED)) else { return };
    let result = pinged(&line, &["--count", &ROUND_TRIPS.to_string()]);
    assert_eq!(result["operations"], ROUND_TRIPS, "{result}");
    assert_eq!(result["tcp"]["retransmits"], 0, "{result}");
    assert!(!findings(&result).iter().any(|(kind, _)| kind.contains("retransmission")), "{result}");
    assert_eq!(line.dropped(), [0, 0]);
    assert!(line.passed().iter().all(|passed| *passed >= ROUND_TRIPS), "{line:?}");
}

#[test]
fn segments_that_are_lost_are_counted_and_the_stalls_they_make_are_named() {
    let Some(line) = allowed(LossyLine::start(0.02, SEED)) else { return };
    let count = ROUND_TRIPS.to_string();
    let result = pinged(&line, &["--count", &count, "--connections", "4", "--timeout", "25s"]);
    assert_eq!(result["operations"], ROUND_TRIPS, "TCP sends again what is lost: {result}");
    assert!(line.dropped().iter().all(|dropped| *dropped > 0), "{line:?}");
    assert!(result["tcp"]["retransmits"].as_u64() > Some(0), "{result}");
    let slowest = result["slowest"].as_array().expect("a list");
    let sent_again = |slow: &&Value| slow["tcp"]["retransmits"].as_u64() > Some(0);
    assert!(slowest.iter().any(|slow| sent_again(&slow)), "{result}");
    let named = findings(&result);
    let named = named.iter().find(|(kind, _)| *kind == "retransmission");
    let (_, text) = named.unwrap_or_else(|| panic!("no stall is named: {result}"));
    assert!(text.contains("waited until a lost segment was sent again"), "{text}");
}

#[test]
fn a_line_that_is_late_adds_its_delay_both_ways() {
    let Some(line) = allowed(LossyLine::late(Duration::from_millis(3))) else { return };
    let result = pinged(&line, &["--count", "20"]);
    // what is shorter than the delays was never on the line
    assert!(result["service_ns"]["min"].as_u64() >= Some(6_000_000), "{result}");
    assert!(result["tcp"]["rtt_min_ns"].as_u64() >= Some(6_000_000), "{result}");
    assert_eq!(line.dropped(), [0, 0]);
}
