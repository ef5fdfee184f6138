//! What the machine that drove a load did meanwhile.

use serde::{Deserialize, Serialize};

/// What the machine that drove the load did while a result was recorded. Percentages of processor
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
    /// Processes under test that were found at the other end of the connection.
    pub tested: Vec<u32>,
    /// Pages swapped in or out.
    pub swapped_pages: u64,
    /// Faults that had to wait for a disk.
    pub major_faults: u64,
    /// TCP segments sent again.
    pub retransmitted: u64,
    /// How the work of receiving was spread; absent when nothing was received.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receive: Option<ReceiveUse>,
    /// Processor time that this watching took, percent of one processor.
    pub watching_pct: f64,
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

impl HostUse {
    /// What takes figures away, in words: `limit` is the share of all processors, from 0 to 1, that
    /// others or the hypervisor may take.
    pub(crate) fn disturbances(&self, limit: f64) -> Vec<(Disturbance, String)> {
        let percent = 100.0 * limit;
        let mut found = Vec::new();
        if let Some(foreign) = self.foreign_pct.filter(|foreign| *foreign > percent) {
            let text = format!(
                "foreign load: processes that were not part of the measurement took {foreign:.1} % \
                 of all processors, more than the {percent:.0} % allowed"
            );
            found.push((Disturbance::Foreign, text));
        }
        if let Some(steal) = self.steal_pct.filter(|steal| *steal > percent) {
            let text = format!(
                "steal: the hypervisor took {steal:.1} % of all processors, more than the \
                 {percent:.0} % allowed"
            );
            found.push((Disturbance::Steal, text));
        }
        if self.swapped_pages > 0 {
            let text = format!("paging: {} pages were swapped in or out", self.swapped_pages);
            found.push((Disturbance::Paging, text));
        }
        found
    }
}

/// What disturbed a measurement from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disturbance {
    Foreign,
    Steal,
    Paging,
}
