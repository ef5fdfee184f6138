//! Runs become the steps of a ladder.

mod machine;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use plumb_folder::{Found, read_record};
use plumb_measure::statistics::half_width;
use plumb_measure::{
    AcceptedLoad, Distribution, Finding, FindingKind, ForeignLook, HostUse, PartRecord,
    ResultRecord, RunRecord, Status, counted, hdr, real, times_that_add_up,
};
use plumb_size::ladder::{FailedStep, Ladder, LadderError, Step};
use serde::Serialize;

use self::machine::{Machine, busy_pct, is_of_server, shared};
use crate::declared::{Declared, Repeated};
use crate::figures::seconds;
use crate::recorded::{Recorded, StepUse};
use crate::sales::{self, SalesStep};

/// What was read.
#[derive(Debug, Serialize)]
pub(crate) struct Read {
    /// Folders of the runs.
    pub(crate) runs: Vec<String>,
    /// The version of plumb that measured.
    pub(crate) version: String,
    /// The machine under test.
    pub(crate) machine: String,
    /// Its processors; 0 where nobody watched them.
    pub(crate) cores: u32,
    /// The processor time that a control group leaves of them, in processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) quota: Option<f64>,
    /// The same of the server alone, where the load generator left it less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_quota: Option<f64>,
    /// True when the load generator ran on it, too.
    pub(crate) shared: bool,
    /// What was asked of whom.
    pub(crate) target: String,
    /// Places of the pools that the ladder names.
    pub(crate) pools: BTreeMap<String, u32>,
    /// Servers of the parts of the server's account that it names.
    pub(crate) servers: BTreeMap<String, u32>,
    /// What of each ladder was taken twice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) repeated: Vec<Repeated>,
    /// The memory limit around the server, bytes; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory_limit_bytes: Option<u64>,
    /// The recording of the machine under test by another instrument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recorded: Option<Recorded>,
    /// The limit of foreign load that was raised for steps, and what others took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) accepted_load: Option<AcceptedLoad>,
    /// Steps that were left out because they are not valid, and why.
    pub(crate) left_out: Vec<String>,
    /// The valid steps as those of the scenario of sales, or why they are of none.
    #[serde(skip)]
    pub(crate) sales: Result<Vec<SalesStep>, String>,
}

/// What helps where work began too late.
const LATE: &str = "; measure on a machine that is less busy, or accept that work begins late with the \
                    load's --lag, such as --lag 5ms";

/// What all runs of a ladder have in common.
#[derive(Debug, PartialEq, Eq)]
struct Origin {
    version: String,
    machine: String,
    kernel: String,
    cores: u64,
    target: String,
    server: Option<String>,
    scenario: String,
    url: String,
}

/// Reads the runs below `paths`, and what was `recorded` of the machine under test meanwhile.
pub(crate) fn read(
    paths: &[PathBuf],
    recorded: Option<Recorded>,
) -> anyhow::Result<(Read, Ladder)> {
    let declared = Declared::at(paths)?;
    let paths = &declared.paths(paths);
    let found = Found::at(paths)?;
    if let Some(unread) = found.unread.first() {
        bail!("{} cannot be read: {}; {}", unread.place, unread.reason, unread.remedy);
    }
    if let Some(one) = found.experiments.iter().find(|it| it.variants.len() > 1) {
        bail!(
            "{} compares {} variants: a ladder is of one; name the runs of one of them",
            one.folder.display(),
            one.variants.len()
        );
    }
    let records = records(&found, &declared)?;
    let machine = Machine::of(&records, recorded.as_ref());
    let machine = machine.context("there is no run at these paths")?;
    let (mut steps, mut left_out, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    let (mut sales, mut late, mut looks) = (Ok(Vec::new()), false, Vec::new());
    for record in &records {
        if let Err(error) = sales::check(record) {
            sales = Err(error.to_string());
        }
        for result in &record.results {
            let Some(users) = users(result) else { continue };
            if is_usable(result) {
                let tested = recorded.as_ref().map(|it| it.during(record, result));
                steps.extend(step(record, result, users, tested.transpose()?, &machine));
                looks.extend(ForeignLook::of(record, Some(result)));
                if let Ok(sales) = &mut sales {
                    sales.extend(SalesStep::of(result, users, begun_within_s(record, result)));
                }
            } else {
                let failure = failed_step(record, result, users);
                let first = result.validity.reasons.first();
                late |= left_out.is_empty() && failure.is_none() && began_late(first);
                let first = first.map(|it| it.text.as_str());
                let why = failure.as_ref().map(|it| it.what.as_str()).or(first);
                let users = counted(u64::from(users), "user");
                left_out.push(format!("{users}: {}", why.unwrap_or_default()));
                failed.extend(failure);
            }
        }
    }
    let first = &records[0];
    let read = Read {
        pools: declared.pools,
        servers: declared.servers,
        repeated: declared.repeated,
        memory_limit_bytes: memory_limit_bytes(&records),
        runs: found.runs.iter().map(|run| run.path.display().to_string()).collect(),
        version: first.plumb.version.clone(),
        machine: machine.name,
        cores: machine.cores,
        quota: machine.quota,
        server_quota: machine.server_quota,
        shared: machine.shared,
        target: first.target.address.clone(),
        recorded,
        accepted_load: AcceptedLoad::of_looks(looks),
        left_out,
        sales,
    };
    if steps.is_empty() && !read.left_out.is_empty() {
        let remedy = if late { LATE } else { "" };
        bail!("no step is valid; the first: {}{remedy}", read.left_out[0]);
    }
    let ladder = match Ladder::of(steps) {
        // more steps like those that were left out would help nothing
        Err(error @ LadderError::Steps { .. }) if !read.left_out.is_empty() => {
            let left_out = counted(read.left_out.len() as u64, "step");
            bail!("{error}; not valid: {left_out}, the first of {}", read.left_out[0]);
        }
        ladder => ladder?,
    };
    Ok((read, ladder.with_failed(failed)))
}

/// The smallest memory limit around the server in these runs.
fn memory_limit_bytes(records: &[RunRecord]) -> Option<u64> {
    let hosts = records.iter().flat_map(|it| &it.results).filter_map(|it| it.host.as_ref());
    hosts.filter_map(|host| host.tested_memory_limit_bytes).min()
}

/// The records of the runs, which must be of one ladder.
fn records(found: &Found, declared: &Declared) -> anyhow::Result<Vec<RunRecord>> {
    let mut records = Vec::new();
    let mut first: Option<(Origin, &Path)> = None;
    for run in &found.runs {
        let record = read_record(&run.path)?;
        check_kind(&record, &run.path)?;
        let mut origin = Origin::of(&record);
        if let Some(ladder) = declared.ladder_of(&run.path) {
            // its servers are started for it, at whatever address is free
            origin.target = format!("the ladder {}", ladder.display());
            origin.url = String::new();
        }
        match &first {
            Some((before, path)) => origin.check_alike(&run.path, before, path)?,
            None => first = Some((origin, &run.path)),
        }
        records.push(record);
    }
    Ok(records)
}

/// Rates are no users, and of an unfinished run nothing is known.
fn check_kind(record: &RunRecord, path: &Path) -> anyhow::Result<()> {
    let open = record.results.iter().flat_map(|it| &it.scenarios).any(|it| it.load == "open");
    ensure!(
        record.plan.load == "closed" && !open,
        "{} is a load at a rate: its users are not known; measure with --users",
        path.display()
    );
    ensure!(
        record.results.iter().any(|it| users(it).is_some()),
        "{} has no steps of users: measure with `plumb http load --users 1,2,4,...`",
        path.display()
    );
    Ok(())
}

impl Origin {
    fn of(record: &RunRecord) -> Self {
        let option =
            |name: &str| record.plan.options.get(name).map(ToString::to_string).unwrap_or_default();
        let (machine, kernel, cores) = match &record.far {
            Some(far) => (far.name.clone(), far.kernel.clone(), far.cpus),
            None => (record.host.name.clone(), record.host.kernel.clone(), record.host.cpus),
        };
        Self {
            version: record.plumb.version.clone(),
            machine,
            kernel,
            cores,
            target: record.target.address.clone(),
            server: record.target.server.clone(),
            scenario: option("scenario-text"),
            url: option("url"),
        }
    }

    fn check_alike(&self, path: &Path, other: &Self, other_path: &Path) -> anyhow::Result<()> {
        let differ = [
            ("plumb", &self.version, &other.version),
            ("machine", &self.machine, &other.machine),
            ("kernel", &self.kernel, &other.kernel),
            ("target", &self.target, &other.target),
            ("scenario", &self.scenario, &other.scenario),
            ("address", &self.url, &other.url),
        ];
        if let Some((what, one, two)) = differ.iter().find(|(_, one, two)| one != two) {
            let short = |text: &str| text.chars().take(60).collect::<String>();
            bail!(
                "{} and {} are of different landscapes: {what} `{}` and `{}`; a ladder is of one",
                path.display(),
                other_path.display(),
                short(one),
                short(two)
            );
        }
        ensure!(
            self == other,
            "{} and {} are of different landscapes: processors or server differ; a ladder is of one",
            path.display(),
            other_path.display()
        );
        Ok(())
    }
}

/// True of a result that may be a step. What was turned away asked for less than its users would.
fn is_usable(result: &ResultRecord) -> bool {
    let validity = &result.validity;
    validity.valid && validity.latency_valid && result.dropped == 0 && result.refused == 0
}

/// True where the reason that is told of a step is that its work began too late.
fn began_late(reason: Option<&Finding>) -> bool {
    reason.is_some_and(|it| it.kind == FindingKind::SchedulingLag)
}

/// The step that a result of `record` is in which operations failed or were turned away; `None` of one
/// that was left out for what the load generator or the machine did, or that ended before it began.
fn failed_step(record: &RunRecord, result: &ResultRecord, users: u32) -> Option<FailedStep> {
    use FindingKind::{Failures, NoOperations, Refused, UnexpectedStatus};
    let ended_early = record.status == Status::Interrupted && result.failures.is_empty();
    let is_failure = |kind: FindingKind| match kind {
        UnexpectedStatus | Failures | Refused => true,
        NoOperations => !ended_early,
        _ => false,
    };
    let found = result.validity.reasons.iter().find(|it| is_failure(it.kind))?;
    Some(FailedStep { users: f64::from(users), what: found.text.clone() })
}

fn users(result: &ResultRecord) -> Option<u32> {
    let label = ["users", "connections"].iter().find_map(|name| result.labels.get(*name));
    label?.parse().ok().filter(|it| *it > 0)
}

/// The step that `result` of `record` is, of a ladder at `machine`; `tested` is what another instrument
/// recorded meanwhile.
fn step(
    record: &RunRecord,
    result: &ResultRecord,
    users: u32,
    tested: Option<StepUse>,
    machine: &Machine,
) -> Option<Step> {
    let response = result.response_ns.as_ref()?;
    let far = record.far.as_ref().and(result.far.as_ref());
    let is_here = record.far.is_none() && is_of_server(result);
    let host = far.or(result.host.as_ref().filter(|_| is_here));
    let cores = record.far.as_ref().map_or(record.host.cpus, |far| far.cpus);
    let begun_s = begun_within_s(record, result);
    let throughput_per_s = real(result.operations) / begun_s;
    let mean_s = seconds(response.mean);
    let server_s = result.cpu.and_then(|cpu| cpu.server_ns_per_op).map(seconds);
    // what was under way when recording began was worked on, too, and is no operation of the record
    let worked = real(result.operations) + throughput_per_s * mean_s;
    let per_operation = real(result.operations) / begun_s / (worked / seconds(result.duration_ns));
    let while_asked = per_operation.min(1.2);
    let busy_cores = match tested {
        Some(tested) => Some(tested.busy_cores * while_asked),
        None if machine.is_of_server_alone => server_s.map(|it| it * throughput_per_s),
        None => host.and_then(|host| busy(host, cores)).map(|busy| busy * while_asked),
    };
    let of_host = |host: &HostUse| host.tested_memory_bytes.or(host.memory_used_bytes).map(real);
    let memory_bytes = match tested {
        Some(tested) => tested.memory_bytes,
        None => host.and_then(of_host),
    };
    let elsewhere = tested.is_some_and(|it| it.elsewhere);
    let is_watched = is_here || tested.is_some();
    let is_in = is_watched && shared(record) && !machine.is_of_server_alone && !elsewhere;
    Some(Step {
        users: f64::from(users),
        throughput_per_s,
        operations: real(result.operations),
        mean_s,
        mean_half_s: half(result).or_else(|| half_of(response)),
        p95_s: seconds(response.p95),
        busy_cores,
        server_s,
        generator_s: result.cpu.filter(|_| is_in).map(|cpu| seconds(cpu.client_ns_per_op)),
        memory_bytes,
        parts: told(&result.parts),
    })
}

/// The time within which the operations of a result began, seconds; a scenario has its length in its text.
fn begun_within_s(record: &RunRecord, result: &ResultRecord) -> f64 {
    let of_scenario = || {
        let text = record.plan.options.get("scenario-text")?.as_str()?;
        let scenario: toml::Table = text.parse().ok()?;
        scenario.get("for")?.as_str()?.parse().ok()
    };
    seconds(result.begun_within_ns(record.asked_for().or_else(of_scenario)))
}

/// Half the interval of the mean, from the means of batches.
fn half(result: &ResultRecord) -> Option<f64> {
    let means: Vec<f64> = result.batches.as_ref()?.mean_ns.iter().map(|ns| seconds(*ns)).collect();
    half_width(&means)
}

/// The same from the spread of all times, as if each were independent of the others.
fn half_of(response: &Distribution) -> Option<f64> {
    let times = hdr::decode(&response.histogram).ok()?;
    let (n, mean) = (real(times.count()), times.mean());
    let square = |(value, many): (u64, u64)| (real(value) - mean).powi(2) * real(many);
    let variance = times.buckets().map(square).sum::<f64>() / (n - 1.0).max(1.0);
    (n > 1.0).then(|| 1.96 * (variance / n).sqrt() / 1e9)
}

/// Processors that were busy, without other programs.
fn busy(host: &HostUse, cores: u64) -> Option<f64> {
    Some(busy_pct(host)? / 100.0 * real(cores))
}

/// The time of a server's account in which an operation holds no place of its pool.
const FRONT: &str = "front";

/// The parts of the server's account that are the wait for a place or the work in it, an average over
/// all operations. None of them lies within another.
fn told(parts: &[PartRecord]) -> Vec<(String, f64)> {
    let mut sums: Vec<(String, f64)> = Vec::new();
    let operations: u64 = parts.iter().map(|it| it.operations).sum();
    for part in parts {
        let names: Vec<String> = part.told_ns.keys().cloned().collect();
        let in_pool = times_that_add_up(&names).into_iter();
        for name in in_pool.filter(|name| !name.eq_ignore_ascii_case(FRONT)) {
            let all_s = total_s(&part.told_ns[name]);
            match sums.iter_mut().find(|(it, _)| it == name) {
                Some((_, sum)) => *sum += all_s,
                None => sums.push((name.to_owned(), all_s)),
            }
        }
    }
    sums.into_iter().map(|(name, sum)| (name, sum / real(operations.max(1)))).collect()
}

fn total_s(distribution: &Distribution) -> f64 {
    seconds(distribution.mean) * real(distribution.count)
}

#[cfg(test)]
mod tests;
