//! What the machine that drove a load did meanwhile, and a far one that was recorded with it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::counted;
use crate::{Finding, FindingKind, Scope, Seats};

/// What a machine did while a result was recorded: the one that drove the load, or a far one, of
/// whose processes (`foreign_pct`, `tested`) nothing is known. Percentages of processor
/// time are of all processors together, averaged over the result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostUse {
    /// Samples behind the figures.
    pub samples: u64,
    /// Time that they cover, nanoseconds.
    pub covered_ns: u64,
    /// Processors that were not idle and did not wait for disks, percent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busy_pct: Option<f64>,
    /// The busiest sample, percent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busy_max_pct: Option<f64>,
    /// Interrupts, hard and soft, percent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interrupt_pct: Option<f64>,
    /// Waiting for disks, percent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub iowait_pct: Option<f64>,
    /// Taken by the hypervisor, percent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steal_pct: Option<f64>,
    /// Taken by processes that are neither ours nor under test, percent; absent with too few
    /// clock ticks to say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub foreign_pct: Option<f64>,
    /// The processes that took most of that, the largest share first, at most
    /// [`FOREIGN_MAX`](Self::FOREIGN_MAX).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub foreign: Vec<ForeignProcess>,
    /// Processes under test that were found at the other end of the connection.
    pub tested: Vec<u32>,
    /// Pages swapped in or out; absent when nobody counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub swapped_pages: Option<u64>,
    /// Faults that had to wait for a disk; absent when nobody counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub major_faults: Option<u64>,
    /// TCP segments sent again; absent when nobody counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmitted: Option<u64>,
    /// How the work of receiving was spread; absent when nothing was received.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receive: Option<ReceiveUse>,
    /// On which processors the work was done; absent when nobody looked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seats: Option<Seats>,
    /// Processor time that this watching took, percent of one processor.
    pub watching_pct: f64,
}

/// A process that was not part of the measurement and took processor time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ForeignProcess {
    /// Its number.
    pub pid: u32,
    /// Its name, as the kernel keeps it: up to fifteen characters.
    pub name: String,
    /// Its share of all processors, percent.
    pub share_pct: f64,
}

/// How the work of receiving was spread over the processors: `effective = (sum x)^2 / sum x^2`,
/// where `x` is the number of soft interrupts of receiving that one processor handled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReceiveUse {
    /// As many processors of equal share would do the work in the same way.
    pub effective_cpus: f64,
    /// Processors that could take part.
    pub cpus: u64,
    /// The processor that did most of it.
    pub hottest_cpu: u32,
    /// What is wrong with it, in sentences.
    pub findings: Vec<String>,
}

/// A far machine that was recorded with the one that drove the load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarHost {
    /// Its name.
    pub name: String,
    /// Where it answered, as the user named it.
    pub address: String,
    /// Kernel name, release, version and architecture.
    pub kernel: String,
    /// Its processors.
    pub cpus: u64,
    /// Time of a question and its answer when the run began, nanoseconds: its samples are placed
    /// to half of that.
    pub round_trip_ns: u64,
    /// Its wall clock before that of the machine that drove the load when the run began,
    /// nanoseconds. Its samples carry the time of the machine that drove the load.
    pub clock_ahead_ns: i64,
    /// What else is known of it, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub facts: BTreeMap<String, String>,
}

impl HostUse {
    /// Foreign processes that are named at most.
    pub const FOREIGN_MAX: usize = 3;

    /// What takes figures away: `limit` is the share of all processors, from 0 to 1, that others or
    /// the hypervisor may take. `whose` stands before each text.
    pub(crate) fn disturbances(&self, limit: f64, whose: &str) -> Vec<Finding> {
        let percent = 100.0 * limit;
        let mut found = Vec::new();
        let mut add = |kind, scope, text| {
            found.push(Finding { kind, scope, text: format!("{whose}{text}") });
        };
        if let Some(foreign) = self.foreign_pct.filter(|foreign| *foreign > percent) {
            let text = format!(
                "foreign load: processes that were not part of the measurement took {foreign:.1} % \
                 of all processors, more than the {percent:.0} % allowed"
            );
            add(FindingKind::ForeignLoad, Scope::Everything, text);
        }
        if let Some(steal) = self.steal_pct.filter(|steal| *steal > percent) {
            let text = format!(
                "steal: the hypervisor took {steal:.1} % of all processors, more than the \
                 {percent:.0} % allowed"
            );
            add(FindingKind::Steal, Scope::Everything, text);
        }
        if let Some(pages) = self.swapped_pages.filter(|pages| *pages > 0) {
            let text = format!("paging: {} swapped in or out", counted(pages, "page"));
            add(FindingKind::Paging, Scope::Latency, text);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Validity;

    #[test]
    fn a_far_host_that_is_robbed_or_lost_is_named() {
        let far = HostUse { steal_pct: Some(9.0), swapped_pages: Some(3), ..HostUse::default() };
        let validity = Validity::of_all([]);
        let robbed = validity.clone().with_far(&far, 0.05, "db7");
        assert!(!robbed.valid);
        assert!(robbed.reasons.iter().all(|it| it.text.starts_with("far host db7: ")));
        let lost = validity.without_far("db7", "closed the connection");
        assert!(lost.valid && lost.latency_valid);
        let [remark] = lost.reasons.as_slice() else { panic!("one remark") };
        assert_eq!((remark.kind, remark.scope), (FindingKind::FarHostLost, Scope::Nothing));
    }
}
