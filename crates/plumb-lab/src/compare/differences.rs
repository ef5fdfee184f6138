//! In what else two runs differ.

use std::collections::{BTreeMap, BTreeSet};

use plumb_measure::{Difference, RunRecord};

use crate::LabError;
use crate::driver::driver;

/// Refuses to compare things of different kinds.
pub(super) fn same_kind(one: &RunRecord, other: &RunRecord) -> Result<(), LabError> {
    let kind = |record: &RunRecord| {
        format!("{} {} under {} load", record.plan.layer, record.plan.verb, record.plan.load)
    };
    if kind(one) == kind(other) {
        return Ok(());
    }
    Err(LabError::Mismatch(format!("{} against {}", kind(one), kind(other))))
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

fn facts(run: &RunRecord) -> BTreeMap<String, String> {
    let mut facts: BTreeMap<String, String> = run
        .plan
        .options
        .iter()
        .filter(|(name, _)| *name != "seed") // of the order of the points only
        .map(|(name, value)| (format!("option {name}"), value.to_string().replace('"', "")))
        .collect();
    let host = &run.host;
    facts.extend(host.facts.iter().map(|(name, value)| (format!("host {name}"), value.clone())));
    let mut put = |name: &str, value: &str| facts.insert(name.into(), value.into());
    put("target", &run.target.address);
    put("target transport", run.target.transport.as_ref().map_or("-", |it| &it.kind));
    put("driver", driver(run));
    put("host name", &host.name);
    put("host kernel", &host.kernel);
    put("host processors", &host.cpus.to_string());
    put("host placement", &host.placement);
    put("host clock", &host.clock);
    put("plumb", &run.plumb.version);
    facts
}
