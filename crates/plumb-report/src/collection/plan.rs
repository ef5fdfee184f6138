//! What was asked, of whom, from where: what makes one run a repetition of another.

use std::collections::BTreeMap;

use plumb_folder::Block;
use plumb_measure::RunRecord;

use crate::facts;

/// A plan, the circumstances included under which it was carried out. Runs of one plan are
/// repetitions of each other; runs of two are not, whatever they have in common.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) layer: String,
    pub(super) verb: String,
    /// `closed` or `open`.
    pub(super) load: String,
    /// The variant of an experiment, which may differ in nothing that a record knows.
    pub(super) variant: Option<(usize, usize)>,
    /// Options and circumstances by name.
    pub(super) facts: BTreeMap<String, String>,
    /// The command line of the first run.
    pub(super) command: String,
    /// Facts of the machine of the first run; those of others may differ.
    pub(super) machine: BTreeMap<String, String>,
    /// Seeds of the order of the results, each once, the first few.
    pub(super) seeds: Vec<u64>,
    /// Runs that carried it out.
    pub(super) runs: u64,
}

/// Seeds that a plan keeps.
const SEEDS_MAX: usize = 8;

impl Plan {
    /// The plan of a record.
    pub(super) fn of(record: &RunRecord, block: Option<Block>) -> Self {
        // a whole text is no value of a table
        let named = record.plan.distinctive().filter(|(name, _)| *name != "scenario-text");
        let mut known: BTreeMap<String, String> =
            named.map(|(name, value)| (format!("--{name}"), facts::option(&value))).collect();
        let mut put = |name: &str, value: String| known.insert(name.into(), value);
        let (host, target) = (&record.host, &record.target);
        put("target", target.address.clone());
        if let Some(transport) = &target.transport {
            put("transport proven", transport.kind.clone());
            put("TLS", transport.tls.clone().unwrap_or_else(|| "none".into()));
        }
        put("host", host.name.clone());
        put("kernel", host.kernel.clone());
        put("processors", host.cpus.to_string());
        put("placement", host.placement.clone());
        put("clock", host.clock.clone());
        put("plumb", record.plumb.version.clone());
        if let Some(far) = &record.far {
            put("far host", far.name.clone());
        }
        if let Some(machines) = machines_of_remotes(record) {
            put("remotes", machines);
        }
        let drivers = record.results.iter().filter_map(|result| result.driver.name.clone());
        if let Some(driver) = drivers.into_iter().next() {
            put("driver", driver);
        }
        if let Some(ticks) = record.results.iter().find_map(|result| result.driver.tick) {
            put("tick", ticks.name().into());
        }
        Self {
            layer: record.plan.layer.clone(),
            verb: record.plan.verb.clone(),
            load: record.plan.load.clone(),
            variant: block.map(|block| (block.experiment, block.variant)),
            facts: known,
            command: facts::command(record),
            machine: machine(record),
            seeds: Vec::new(),
            runs: 0,
        }
    }

    /// What the plan is told apart by.
    pub(super) fn key(&self) -> String {
        format!(
            "{}\n{}\n{}\n{:?}\n{:?}",
            self.layer, self.verb, self.load, self.variant, self.facts
        )
    }

    /// Counts one more run.
    pub(super) fn count(&mut self, seed: u64) {
        self.runs += 1;
        if self.seeds.len() < SEEDS_MAX && !self.seeds.contains(&seed) {
            self.seeds.push(seed);
        }
    }

    /// What runs are called that can stand in one chart: `net ping`.
    pub(super) fn kind(&self) -> (&str, &str, &str) {
        (&self.layer, &self.verb, &self.load)
    }
}

/// Name, host, kernel and processors of each remote that drove the load; `None` where there was none.
fn machines_of_remotes(record: &RunRecord) -> Option<String> {
    let remotes = record.plan.options.get("remotes")?.as_array()?;
    let known = ["name", "host", "kernel", "cpus"];
    let machine = |remote: &serde_json::Value| {
        let found = known.iter().filter_map(|fact| remote.get(fact));
        found.map(facts::option).collect::<Vec<_>>().join(" ")
    };
    let machines: Vec<String> = remotes.iter().map(machine).collect();
    (!machines.is_empty()).then(|| machines.join(", "))
}

/// What is known of the machine that drove the load beside what stands in the plan.
fn machine(record: &RunRecord) -> BTreeMap<String, String> {
    let mut known = record.host.facts.clone();
    known.insert("reading the clock".into(), plumb_measure::show_ns(record.host.clock_read_ns));
    if let Some(server) = &record.target.server {
        known.insert("server".into(), server.clone());
    }
    known
}

/// The facts in which plans differ: the names, each with the number of plans for every value.
pub(super) fn differences(plans: &[&Plan]) -> Vec<(String, BTreeMap<String, u64>)> {
    let mut values: BTreeMap<&str, BTreeMap<String, u64>> = BTreeMap::new();
    for name in plans.iter().flat_map(|plan| plan.facts.keys()) {
        values.entry(name).or_default();
    }
    for plan in plans {
        for (name, counts) in &mut values {
            let value = plan.facts.get(*name).map_or("-", String::as_str);
            *counts.entry(value.to_owned()).or_default() += plan.runs;
        }
    }
    let differing = values.into_iter().filter(|(_, counts)| counts.len() > 1);
    differing.map(|(name, counts)| (name.to_owned(), counts)).collect()
}

/// The facts that all plans share.
pub(super) fn shared(plans: &[&Plan]) -> Vec<(String, String)> {
    let [first, rest @ ..] = plans else { return Vec::new() };
    let alike = |(name, value): &(&String, &String)| {
        rest.iter().all(|plan| plan.facts.get(*name) == Some(*value))
    };
    let facts = first.facts.iter().filter(alike);
    facts.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Characters of a value in a label.
const VALUE_MAX: usize = 48;

/// A fact of a plan as a label; `None` where the plan has no such fact.
pub(super) fn label(plan: &Plan, name: &str) -> Option<(String, String)> {
    let value = plan.facts.get(name)?;
    Some((name.trim_start_matches("--").to_owned(), shortened(value)))
}

/// A value that suits a label: of a long one its beginning.
fn shortened(value: &str) -> String {
    if value.chars().count() <= VALUE_MAX {
        return value.to_owned();
    }
    let kept: String = value.chars().take(VALUE_MAX - 1).collect();
    format!("{kept}\u{2026}")
}
