//! What makes runs a series, and how series are called.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use plumb_measure::{RunRecord, without_picked_port};
use ring::digest::{SHA256, digest};
use serde_json::Value;

/// Characters of the value of an option in the name of a series.
const VALUE_MAX: usize = 60;
/// Characters of it that are kept, so that it is told from others.
const KEPT_MAX: usize = 2_000;

/// Options that make another plan, and no other series: they say how long something is measured, not
/// what.
const MANNER: [&str; 6] = ["count", "for", "pin", "scenario-text", "timeout", "warmup"];
/// The option that names a file of who asks: a checkup writes one into a folder of its own.
const CREDENTIALS: &str = "credentials";

/// A series of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Series {
    /// What tells it from others; empty for none.
    pub(crate) id: String,
    /// What its runs have in common, in words: command, target and machine.
    pub(crate) name: String,
    /// The options of its runs by name, as JSON.
    pub(crate) options: String,
}

impl Series {
    /// That of `record`. Versions of plumb and of the kernel tell none apart: what they change is to
    /// be seen.
    pub(super) fn of(record: &RunRecord) -> Self {
        let plan = &record.plan;
        let target = without_picked_port(&record.target.address);
        let options = plan.distinctive().filter(|(name, _)| !MANNER.contains(name));
        let known: BTreeMap<&str, Value> =
            options.map(|(name, value)| (name, of_series(name, &value))).collect();
        // whether a database is asked over TLS stands in its URL alone, which is no option of a
        // record; of everything else an option or the target says it, in runs without any
        // connection, too
        let is_secured = || record.target.transport.as_ref().is_some_and(|it| it.tls.is_some());
        let tls = if plan.layer == "db" && is_secured() { " over TLS" } else { "" };
        let written: BTreeMap<&str, String> =
            known.iter().map(|(name, value)| (*name, value.to_string())).collect();
        let text = format!(
            "{} {} {} {target}{tls} {} {written:?}",
            plan.layer, plan.verb, plan.load, record.host.name
        );
        let bytes = digest(&SHA256, text.as_bytes());
        let shown: BTreeMap<&str, String> =
            known.iter().map(|(name, value)| (*name, shown(value))).collect();
        Self {
            id: bytes.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect(),
            name: format!("{} {} {target}{tls}, from {}", plan.layer, plan.verb, record.host.name),
            options: serde_json::to_string(&shown).unwrap_or_default(),
        }
    }
}

/// The value of the option `name` without what each checkup has anew: ports in all its texts, and the
/// folder of the file that says who asks.
fn of_series(name: &str, value: &Value) -> Value {
    match value {
        Value::String(path) if name == CREDENTIALS => {
            Path::new(path).file_name().unwrap_or_default().to_string_lossy().into()
        }
        Value::String(text) => without_picked_port(text).into(),
        Value::Array(values) => values.iter().map(|value| of_series(name, value)).collect(),
        Value::Object(values) => {
            let each = values.iter().map(|(key, value)| (key.clone(), of_series(name, value)));
            Value::Object(each.collect())
        }
        other => other.clone(),
    }
}

/// The value of an option for people, on one line.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(","),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    };
    text.chars().take(KEPT_MAX).map(|it| if it.is_control() { ' ' } else { it }).collect()
}

/// Characters with which all of `values` begin, where several are others.
fn in_common(values: &BTreeSet<&String>) -> usize {
    let mut values = values.iter();
    let Some(first) = values.next() else { return 0 };
    let alike = |other: &&String| {
        first.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
    };
    values.map(alike).min().unwrap_or(0)
}

/// Some characters of a long `value`: its first ones, or those from shortly before where it differs from
/// others with which it has so many in `common`.
fn cut(value: &str, common: usize) -> String {
    let all = value.chars().count();
    if all <= VALUE_MAX {
        return value.into();
    }
    let from = if common < VALUE_MAX / 2 { 0 } else { common - VALUE_MAX / 4 };
    let some: String = value.chars().skip(from).take(VALUE_MAX).collect();
    let before = if from > 0 { "..." } else { "" };
    let behind = if from + VALUE_MAX < all { "..." } else { "" };
    format!("{before}{some}{behind}")
}

/// What series are called, of each its name and its options: by its name, and where several have that,
/// by the options in which these differ, too: `net ping db1:3298, from vm (connections 2)`.
pub(super) fn told_apart(all: &[(&str, &str)]) -> Vec<String> {
    let mut named: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, (name, _)) in all.iter().enumerate() {
        named.entry(name).or_default().push(at);
    }
    let mut called: Vec<String> = all.iter().map(|(name, _)| (*name).to_owned()).collect();
    for places in named.values().filter(|places| places.len() > 1) {
        let read = |at: &usize| serde_json::from_str(all[*at].1).unwrap_or_default();
        let options: Vec<BTreeMap<String, String>> = places.iter().map(read).collect();
        for (&at, words) in places.iter().zip(in_words(&options.iter().collect::<Vec<_>>())) {
            if !words.is_empty() {
                called[at] += &format!(" ({words})");
            }
        }
    }
    called
}

/// The options in which several differ, of each in words.
fn in_words(options: &[&BTreeMap<String, String>]) -> Vec<String> {
    let names: BTreeSet<&String> = options.iter().flat_map(|of| of.keys()).collect();
    let differs = |name: &&String| options.iter().any(|of| of.get(*name) != options[0].get(*name));
    let names: Vec<(&String, usize)> =
        names.into_iter().filter(differs).map(|name| (name, 0)).collect();
    of_each(options, &names)
}

/// The options of `names` of each of several, in words; with each name as many characters as its values have
/// in common that are alike here.
fn of_each(options: &[&BTreeMap<String, String>], names: &[(&String, usize)]) -> Vec<String> {
    let common = |(name, before): &(&'_ String, usize)| {
        let values: BTreeSet<&String> = options.iter().filter_map(|of| of.get(*name)).collect();
        if values.len() > 1 { in_common(&values) } else { *before }
    };
    let names: Vec<(&String, usize)> = names.iter().map(|it| (it.0, common(it))).collect();
    let words = options.iter().map(|of| {
        let words = names.iter().map(|(name, common)| match of.get(*name) {
            Some(value) => format!("{name} {}", cut(value, *common)),
            None => format!("no {name}"),
        });
        words.collect::<Vec<_>>().join(", ")
    });
    let words: Vec<String> = words.collect();
    // some may differ from each other only where that was cut off
    let mut alike: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, words) in words.iter().enumerate() {
        alike.entry(words).or_default().push(at);
    }
    let mut own = words.clone();
    for places in alike.into_values().filter(|it| (2..options.len()).contains(&it.len())) {
        let some: Vec<_> = places.iter().map(|at| options[*at]).collect();
        for (at, words) in places.into_iter().zip(of_each(&some, &names)) {
            own[at] = words;
        }
    }
    // and others only where that is cut off now
    let is_single =
        |at: usize| own[at] == words[at] || own.iter().filter(|it| **it == own[at]).count() < 2;
    let called = words.iter().enumerate().map(|(at, words)| match is_single(at) {
        true => own[at].clone(),
        false => format!("{words}: {}", own[at]),
    });
    called.collect()
}
