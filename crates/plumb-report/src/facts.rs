//! Under which circumstances a run was made, and what it takes to repeat it.

use std::borrow::Cow;

use plumb_measure::{FarHost, RunRecord, counted, show_ns};
use serde_json::Value;

use crate::figures::grouped;
use crate::points::Points;
use crate::{http2, placement};

/// A name and what is known under it.
pub(crate) struct Fact {
    pub(crate) name: Cow<'static, str>,
    pub(crate) value: String,
}

impl Fact {
    /// What is known under `name`.
    pub(crate) fn new(name: impl Into<Cow<'static, str>>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// What stands beside every figure: placement, processors that were seen, clock, floor and the
/// transport proven.
pub(crate) fn setting(record: &RunRecord) -> Vec<Fact> {
    let mut facts = vec![Fact::new("placement", &record.host.placement)];
    facts.extend(placement::all(record).map(|cores| Fact::new("cores", cores)));
    facts.extend([
        Fact::new("clock", clock(record)),
        Fact::new("floor", floor(record)),
        Fact::new("transport", transport(record)),
    ]);
    facts.extend(http2::words(record).map(|words| Fact::new("HTTP/2", words)));
    facts
}

/// Everything needed to make the run again, beside the command line and its options.
pub(crate) fn repeat(record: &RunRecord) -> Vec<Fact> {
    let mut facts = vec![
        Fact::new("started", &record.started),
        Fact::new("plumb", format!("{} ({})", record.plumb.version, record.schema)),
        Fact::new("target", &record.target.address),
    ];
    if let Some(server) = &record.target.server {
        facts.push(Fact::new("server", server));
    }
    facts.push(Fact::new("load", load(record)));
    facts.push(Fact::new("seed", record.plan.seed.to_string()));
    facts.push(Fact::new("order", order(record)));
    facts.push(Fact::new("host", &record.host.name));
    facts.push(Fact::new("kernel", &record.host.kernel));
    facts.push(Fact::new("processors", grouped(record.host.cpus)));
    facts.extend(setting(record));
    facts.retain(|fact| !fact.value.is_empty());
    facts
}

/// What is known of the machines: long, and rarely what somebody looks for.
pub(crate) fn machines(record: &RunRecord) -> Vec<Fact> {
    let known = record.host.facts.iter();
    let known = known.map(|(name, value)| Fact::new(name.clone(), value));
    let mut facts: Vec<Fact> = known.chain(record.far.iter().flat_map(far)).collect();
    facts.retain(|fact| !fact.value.is_empty());
    facts
}

/// The far machine that was recorded too.
fn far(far: &FarHost) -> Vec<Fact> {
    let clock = format!(
        "{} {} ours, to {}",
        show_ns(far.clock_ahead_ns.unsigned_abs()),
        if far.clock_ahead_ns < 0 { "behind" } else { "ahead of" },
        show_ns(far.round_trip_ns / 2)
    );
    let mut facts = vec![
        Fact::new("far host", format!("{} at {}", far.name, far.address)),
        Fact::new("far kernel", &far.kernel),
        Fact::new("far processors", grouped(far.cpus)),
        Fact::new("far clock", clock),
    ];
    let known = far.facts.iter();
    facts.extend(known.map(|(name, value)| Fact::new(format!("far {name}"), value)));
    facts
}

/// The command line, quoted so that a shell takes it as it was given.
pub(crate) fn command(record: &RunRecord) -> String {
    let words: Vec<String> = record.plan.command.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

/// Every option in force with its value.
pub(crate) fn options(record: &RunRecord) -> Vec<(&str, String)> {
    // a whole text is no value of a table
    let named = record.plan.options.iter().filter(|(name, _)| *name != "scenario-text");
    named.map(|(name, value)| (name.as_str(), option(value))).collect()
}

/// The value of an option.
pub(crate) fn option(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => "none".into(),
        Value::Array(values) => values.iter().map(option).collect::<Vec<_>>().join(", "),
        Value::Null => "not set".into(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

fn clock(record: &RunRecord) -> String {
    format!("{}, one reading costs {}", record.host.clock, show_ns(record.host.clock_read_ns))
}

/// What the tool itself costs, and how that was measured.
pub(crate) fn floor(record: &RunRecord) -> String {
    match &record.floor {
        None => "not measured".into(),
        Some(floor) => format!(
            "{} at the median, {} at p99, {}: {}",
            show_ns(floor.service_ns.p50),
            show_ns(floor.service_ns.p99),
            counted(floor.service_ns.count, "sample"),
            floor.method
        ),
    }
}

fn transport(record: &RunRecord) -> String {
    match &record.target.transport {
        None => "not proven: no connection could be read back".into(),
        Some(proven) => format!(
            "{} {} -> {}, read back from the socket",
            proven.kind_with_tls(),
            proven.local,
            proven.peer
        ),
    }
}

fn load(record: &RunRecord) -> String {
    match record.plan.load.as_str() {
        "closed" => "closed: the next operation waits for the answer".into(),
        "open" => "open: work is due at a rate, whatever the target does".into(),
        other => other.into(),
    }
}

/// The order in which the points were measured; empty for a single one.
fn order(record: &RunRecord) -> String {
    if record.results.len() < 2 {
        return String::new();
    }
    let points = Points::of(record);
    let words: Vec<String> = record.results.iter().map(|result| points.name(result)).collect();
    words.join("; ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_a_quoted_word_as_it_was() {
        assert_eq!(quoted("127.0.0.1:3298"), "127.0.0.1:3298");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's $1"), r"'it'\''s $1'");
    }
}
