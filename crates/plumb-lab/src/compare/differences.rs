//! In what runs differ beside their figures, and what they share.

use std::collections::{BTreeMap, BTreeSet};

use plumb_comparison::Difference;
use plumb_measure::{RunRecord, show_ns};

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

/// Options and facts of the hosts in which the runs differ.
pub(super) fn differences(runs: &[Option<&RunRecord>]) -> Vec<Difference> {
    let facts: Vec<BTreeMap<String, String>> =
        runs.iter().map(|run| run.map_or_else(BTreeMap::new, facts)).collect();
    let names: BTreeSet<&String> = facts.iter().flat_map(BTreeMap::keys).collect();
    names
        .into_iter()
        .map(|name| Difference {
            name: name.clone(),
            values: facts
                .iter()
                .map(|facts| facts.get(name).cloned().unwrap_or_else(|| "-".into()))
                .collect(),
        })
        .filter(|difference| difference.values.windows(2).any(|pair| pair[0] != pair[1]))
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
        .map(|(name, value)| (format!("option {name}"), value.to_string().replace('"', "")))
        .collect();
    facts.extend(circumstances(run));
    facts.insert("target".into(), run.target.address.clone());
    facts.insert("plumb".into(), run.plumb.version.clone());
    facts
}

/// Where a run was made, and how it reached its target.
fn circumstances(run: &RunRecord) -> BTreeMap<String, String> {
    let host = &run.host;
    let known = host.facts.iter().map(|(name, value)| (format!("host {name}"), value.clone()));
    let mut facts: BTreeMap<String, String> = known.collect();
    let mut put = |name: &str, value: &str| facts.insert(name.into(), value.into());
    put("target transport", run.target.transport.as_ref().map_or("-", |it| &it.kind));
    put("driver", driver(run));
    put("tick", tick::ticks(run).map_or("-", |ticks| ticks.name()));
    put("host name", &host.name);
    put("host kernel", &host.kernel);
    put("host processors", &host.cpus.to_string());
    put("host placement", &host.placement);
    put("host clock", &host.clock);
    facts
}
