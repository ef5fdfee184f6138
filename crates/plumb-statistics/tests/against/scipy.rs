//! The statistics against scipy, over the vectors in `vectors/statistics.json` that
//! `vectors/make.py` wrote.
#![allow(clippy::unwrap_used, reason = "a vector that is not there should end the test")]

use plumb_statistics::{drift, hodges_lehmann, interval, wilcoxon};
use serde_json::Value;

const TOLERANCE: f64 = 1e-9;

fn vectors(name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../vectors/statistics.json")).unwrap();
    let these = all[name].as_array().unwrap().clone();
    assert!(!these.is_empty());
    these
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect()
}

fn agrees(found: f64, vector: &Value, key: &str) {
    let expected = vector[key].as_f64().unwrap();
    assert!(
        (found - expected).abs() <= TOLERANCE * expected.abs().max(1.0),
        "{key}: found {found}, scipy says {expected}: {vector}"
    );
}

#[test]
fn signed_ranks_agree_with_and_without_ties() {
    for vector in vectors("signed_rank").iter().chain(&vectors("signed_rank_tied")) {
        let found = wilcoxon(&floats(&vector["effects"])).unwrap();
        agrees(found.statistic, vector, "statistic");
        agrees(found.p, vector, "p");
    }
}

#[test]
fn estimates_and_intervals_agree_with_their_definition() {
    for vector in vectors("intervals") {
        let effects = floats(&vector["effects"]);
        let found = interval(&effects, 0.95).unwrap();
        agrees(hodges_lehmann(&effects).unwrap(), &vector, "estimate");
        agrees(found.low, &vector, "low");
        agrees(found.high, &vector, "high");
        agrees(found.level, &vector, "level");
    }
}

#[test]
fn drifts_agree() {
    for vector in vectors("drifts") {
        let found = drift(&floats(&vector["series"])).unwrap();
        agrees(found.correlation, &vector, "correlation");
        agrees(found.change, &vector, "change");
    }
}
