//! In what runs differ beside their figures, and what they share.

use std::collections::{BTreeMap, BTreeSet};

use plumb_comparison::Difference;
use plumb_measure::{RunRecord, Transport, show_ns};
use serde_json::Value;

use crate::LabError;
use crate::driver::driver;
use crate::tick;

/// A run and whose it is.
pub(super) type Named<'a> = (&'a str, &'a RunRecord);

/// Refuses to compare things of different kinds.
pub(super) fn same_kind(one: Named<'_>, other: Named<'_>) -> Result<(), LabError> {
    let kind = |(_, record): Named<'_>| {
        format!("{} {} under {} load", record.plan.layer, record.plan.verb, record.plan.load)
    };
    if kind(one) == kind(other) {
        return Ok(());
    }
    Err(LabError::Mismatch(format!(
        "{} is {}, and {} is {}",
        one.0,
        kind(one),
        other.0,
        kind(other)
    )))
}

/// Options and facts of the hosts in which the runs differ that there are.
pub(super) fn differences(runs: &[Option<&RunRecord>]) -> Vec<Difference> {
    let facts: Vec<Option<BTreeMap<String, String>>> =
        runs.iter().map(|run| run.map(facts)).collect();
    let known = || facts.iter().flatten();
    let names: BTreeSet<&String> = known().flat_map(BTreeMap::keys).collect();
    let differs = |name: &&String| {
        let mut values = known().map(|facts| facts.get(*name));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let value = |facts: &Option<BTreeMap<String, String>>, name: &String| {
        facts.as_ref().and_then(|facts| facts.get(name)).cloned().unwrap_or_else(|| "-".into())
    };
    names
        .into_iter()
        .filter(differs)
        .map(|name| Difference {
            name: name.clone(),
            values: facts.iter().map(|facts| value(facts, name)).collect(),
        })
        .collect()
}

/// The circumstances that all `runs` share, and what the tool itself cost in them.
pub(super) fn shared(runs: &[&RunRecord]) -> BTreeMap<String, String> {
    let Some((first, rest)) = runs.split_first() else { return BTreeMap::new() };
    let mut shared = circumstances(first);
    for run in rest {
        let own = circumstances(run);
        shared.retain(|name, value| own.get(name) == Some(value));
    }
    let floors = || runs.iter().filter_map(|run| run.floor.as_ref()).map(|it| it.service_ns.p50);
    if let (Some(low), Some(high)) = (floors().min(), floors().max()) {
        let words = match low == high {
            true => format!("{} at the median", show_ns(low)),
            false => format!("{} to {} at the median", show_ns(low), show_ns(high)),
        };
        shared.insert("tool's floor".into(), words);
    }
    shared
}

fn facts(run: &RunRecord) -> BTreeMap<String, String> {
    let mut facts: BTreeMap<String, String> = run
        .plan
        .options
        .iter()
        .filter(|(name, _)| *name != "seed") // of the order of the points only
        .map(|(name, value)| (format!("option {name}"), shown(value)))
        .collect();
    facts.extend(circumstances(run));
    facts.insert("target".into(), run.target.address.clone());
    facts.insert("plumb".into(), run.plumb.version.clone());
    facts
}

/// The value of an option: a text as it is, and of others what they hold, without quotation marks.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string().replace('"', "")
        }
    }
}

/// Where a run was made, and how it reached its target.
fn circumstances(run: &RunRecord) -> BTreeMap<String, String> {
    let host = &run.host;
    let known = host.facts.iter().map(|(name, value)| (format!("host {name}"), value.clone()));
    let mut facts: BTreeMap<String, String> = known.collect();
    let mut put = |name: &str, value: &str| facts.insert(name.into(), value.into());
    let transport = run.target.transport.as_ref().map(Transport::kind_with_tls);
    put("target transport", transport.as_deref().unwrap_or("-"));
    put("driver", driver(run));
    put("tick", tick::ticks(run).map_or("-", |ticks| ticks.name()));
    put("host name", &host.name);
    put("host kernel", &host.kernel);
    put("host processors", &host.cpus.to_string());
    put("host placement", &host.placement);
    put("host clock", &host.clock);
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn run(options: &[(&str, Value)]) -> RunRecord {
        let mut run = fixture::run("closed", 1_000, None);
        let options = options.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        run.plan.options = options.collect();
        run
    }

    fn names(runs: &[Option<&RunRecord>]) -> Vec<String> {
        differences(runs).into_iter().map(|it| it.name).collect()
    }

    #[test]
    fn a_run_that_is_not_there_differs_in_nothing() {
        let one = run(&[("size", 1.into()), ("count", 5.into())]);
        let other = run(&[("size", 2.into())]);
        assert_eq!(names(&[Some(&one), None]), [""; 0]);
        assert_eq!(names(&[None, None]), [""; 0]);
        assert_eq!(names(&[Some(&one), Some(&one), None]), [""; 0]);
        assert_eq!(names(&[Some(&one), Some(&other)]), ["option count", "option size"]);
        let all = differences(&[Some(&one), None, Some(&other)]);
        assert_eq!(all[0].values, ["5", "-", "-"]);
        assert_eq!(all[1].values, ["1", "-", "2"]);
    }

    #[test]
    fn a_text_of_several_lines_is_shown_as_it_is() {
        let scenario = |think: &str| {
            run(&[("scenario", format!("name = \"three\"\nthink = \"{think}\"\n").into())])
        };
        let all = differences(&[Some(&scenario("1s")), Some(&scenario("2s"))]);
        assert_eq!(all[0].values[1], "name = \"three\"\nthink = \"2s\"\n");
        let list = |last: &str| run(&[("urls", vec!["a", last].into())]);
        let all = differences(&[Some(&list("b")), Some(&list("c"))]);
        assert_eq!(all[0].values, ["[a,b]", "[a,c]"]);
    }

    #[test]
    fn whether_a_target_was_reached_over_tls_is_a_difference() {
        let reached = |tls: Option<&str>| {
            let mut run = run(&[]);
            run.target.transport = Some(Transport {
                kind: "tcp".into(),
                network: None,
                local: "a:1".into(),
                peer: "b:2".into(),
                tls: tls.map(Into::into),
                smc: None,
            });
            run
        };
        let (plain, secured) = (reached(None), reached(Some("TLSv1.3 X")));
        let found = differences(&[Some(&plain), Some(&secured)]);
        let [only] = &found[..] else { panic!("{found:?}") };
        assert_eq!(only.name, "target transport");
        assert_eq!(only.values, ["tcp", "tcp+TLSv1.3 X"]);
        assert_eq!(shared(&[&plain, &secured]).get("target transport"), None);
    }
}
