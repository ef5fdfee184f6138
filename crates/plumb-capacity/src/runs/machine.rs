//! The machine under test, as the runs of a ladder know it.

use plumb_measure::{CpuQuota, HostUse, ResultRecord, RunRecord};
use serde_json::Value;

use super::{Origin, is_usable};
use crate::recorded::Recorded;

/// Processors of a machine are full from this busy share on, percent.
const FULL_PCT: f64 = 95.0;

/// The machine under test, as far as it is known.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Machine {
    pub(super) name: String,
    /// 0 where nobody watched them.
    pub(super) cores: u32,
    /// What a control group leaves of them, in processors.
    pub(super) quota: Option<f64>,
    /// What one leaves to the server alone, where the load generator left it less.
    pub(super) server_quota: Option<f64>,
    /// True when its processor time has that of the load generator in it.
    pub(super) shared: bool,
    /// True when the processors are those of the server alone: its own clock says how busy they are.
    pub(super) is_of_server_alone: bool,
}

impl Machine {
    /// That of `records`, of which one may know what others do not: in a run the server's processes may
    /// have been gone when somebody looked for them.
    pub(super) fn of(records: &[RunRecord], recorded: Option<&Recorded>) -> Option<Self> {
        let first = records.first()?;
        if let Some(recorded) = recorded {
            let shared = shared(first) && !recorded.is_elsewhere(first);
            let name = recorded.machine.clone();
            return Some(Self { name, cores: recorded.cores, shared, ..Self::default() });
        }
        let is_known = |it: &&RunRecord| it.far.is_some() || it.results.iter().any(is_of_server);
        let Some(record) = records.iter().find(is_known) else {
            let name = format!("that of {}", first.target.address);
            return Some(Self { name, ..Self::default() });
        };
        let Origin { machine: name, cores, .. } = Origin::of(record);
        let cores = u32::try_from(cores).unwrap_or(u32::MAX);
        let shared = shared(record);
        if record.far.is_some() {
            return Some(Self { name, cores, shared, ..Self::default() });
        }
        let bounds = Bounds::of(records, shared);
        let alone = bounds.of_server_alone();
        let allowed = alone.into_iter().chain(bounds.quota).reduce(f64::min);
        Some(Self {
            name,
            cores: allowed.map_or(cores, whole),
            quota: allowed.filter(|it| it.fract() > 0.0),
            server_quota: bounds.server_quota.filter(|_| bounds.is_contended),
            shared: shared && alone.is_none(),
            is_of_server_alone: alone.is_some(),
        })
    }
}

/// What keeps the server from using all processors of the machine.
struct Bounds {
    /// Those that it may run on.
    cpus: Option<f64>,
    /// What a control group leaves to it alone, in processors.
    server_quota: Option<f64>,
    /// What one leaves to it and the load generator together.
    quota: Option<f64>,
    /// True when the server and the load generator kept all processors busy, so that the server had less
    /// than its quota.
    is_contended: bool,
}

impl Bounds {
    fn of(records: &[RunRecord], shared: bool) -> Self {
        let results = || records.iter().flat_map(|it| &it.results);
        let hosts = || results().filter_map(|it| it.host.as_ref());
        let cpus = hosts().find_map(|it| it.tested_cpus).map(f64::from);
        let quota: Option<CpuQuota> = hosts().find_map(|it| it.tested_quota);
        let of = |with_client| quota.filter(|it| it.with_client == with_client);
        let is_full = |host: &HostUse| busy_pct(host).is_some_and(|it| it >= FULL_PCT);
        let was_full =
            results().filter(|it| is_usable(it)).filter_map(|it| it.host.as_ref()).any(is_full);
        Self {
            cpus,
            server_quota: of(false).map(|it| it.processors),
            quota: of(true).map(|it| it.processors),
            // on processors that are named for the server it is alone
            is_contended: shared && cpus.is_none() && was_full,
        }
    }

    /// The processors that the server alone may use; `None` where it may use all, or the load generator
    /// was in its way on them.
    fn of_server_alone(&self) -> Option<f64> {
        let quota = self.server_quota.filter(|_| !self.is_contended);
        self.cpus.into_iter().chain(quota).reduce(f64::min)
    }
}

/// How busy the processors were without other programs, percent.
pub(super) fn busy_pct(host: &HostUse) -> Option<f64> {
    Some((host.busy_pct? - host.foreign_pct.unwrap_or(0.0)).max(0.0))
}

/// True when the load generator ran on the machine that was watched: this program, or remotes that it
/// started itself. Other remotes are elsewhere, or are programs of their own there, whose processor
/// time is left out as that of any other.
pub(super) fn shared(record: &RunRecord) -> bool {
    let remotes = record.plan.options.get("remotes").and_then(Value::as_array);
    let is_own = |remote: &Value| {
        let is_local = remote["name"].as_str().is_some_and(|name| name.starts_with("local-"));
        is_local && remote["host"] == record.host.name.as_str()
    };
    record.far.is_none() && remotes.is_none_or(|all| all.iter().all(is_own))
}

/// True when the machine that drove the load is that of the server: its processes were found there.
pub(super) fn is_of_server(result: &ResultRecord) -> bool {
    result.host.as_ref().is_some_and(|host| !host.tested.is_empty())
}

/// The processors of which `allowed` is what a quota leaves.
#[expect(clippy::cast_possible_truncation, reason = "no more than a machine has")]
#[expect(clippy::cast_sign_loss, reason = "a quota is above 0")]
fn whole(allowed: f64) -> u32 {
    allowed.ceil() as u32
}
