//! What happened between two snapshots: percent, rates and bytes, over the true interval.
//!
//! A figure that could not be measured is absent, never zero: the source was missing, the device
//! appeared within the interval, or its counters began again. So are those of what is read about
//! once a second, in samples of a finer pace for which it was not read: load averages, memory,
//! paging, open files, lines of interrupts, TCP and UDP; their counts and rates reach back to
//! their last reading. Names carry the unit: `_pct` is
//! percent, `_per_s` a rate, `_bytes` bytes, `_ms` milliseconds; a plain plural is a count within
//! the interval.

mod cpu;
mod disk;
mod line;
mod memory;
mod network;
mod process;
mod receive;
mod system;
mod transport;

use serde::{Deserialize, Serialize};

pub use cpu::{CpuSample, CpuShare};
pub use disk::DiskSample;
pub use line::Line;
pub use memory::{MemorySample, PagingSample};
pub(crate) use network::link_used_pct;
pub use network::{InterfaceSample, TcpSample, Traffic};
pub use process::ProcessSample;
pub use receive::{InterruptSample, ReceiveSample, SoftirqSample};
pub use system::{FilesSample, LoadSample, PressureSample};
pub use transport::{FallbackSample, RdmaSample, SmcSample, SmcTrafficSample};

use crate::snapshot::Snapshot;

/// Name and version of one line of `plumb host watch --json`.
pub const SCHEMA: &str = "plumb.sample/1";

/// What happened in one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// End of the interval, nanoseconds since 1970-01-01T00:00:00Z.
    pub wall_ns: u64,
    /// End of the interval, nanoseconds on the monotonic clock.
    pub monotonic_ns: u64,
    /// Length of the interval, nanoseconds: as it was, not as it was meant to be.
    pub interval_ns: u64,
    /// Processor time of the sampling thread in the interval, nanoseconds.
    pub cost_ns: u64,
    /// All processors together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuSample>,
    /// Each processor.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub cpus: Vec<CpuShare>,
    /// Load averages and threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadSample>,
    /// Memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemorySample>,
    /// Paging.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paging: Option<PagingSample>,
    /// Each disk.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub disks: Vec<DiskSample>,
    /// Each network interface.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub interfaces: Vec<InterfaceSample>,
    /// TCP and UDP; about once a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpSample>,
    /// Soft interrupts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub softirqs: Option<SoftirqSample>,
    /// The work of receiving, by processor.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub receive: Vec<ReceiveSample>,
    /// The busiest lines of interrupts, the busiest first; about once a second.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub interrupts: Vec<InterruptSample>,
    /// Time in which tasks waited for something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pressure: Option<PressureSample>,
    /// Open files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<FilesSample>,
    /// Each port of an RDMA device.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub rdma: Vec<RdmaSample>,
    /// Shared memory communications.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smc: Option<SmcSample>,
    /// The processes that were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub processes: Vec<ProcessSample>,
    /// The processes that used most, the busiest first; only in samples for which all were looked
    /// at.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub top: Vec<ProcessSample>,
}

impl Sample {
    /// What happened from `before` to `now`.
    #[must_use]
    pub fn between(before: &Snapshot, now: &Snapshot) -> Self {
        let mut sample = Self::default();
        sample.fill(before, now);
        sample
    }

    /// The same into this sample's own storage.
    pub fn fill(&mut self, before: &Snapshot, now: &Snapshot) {
        self.wall_ns = now.wall_ns;
        self.monotonic_ns = now.at_ns;
        self.interval_ns = now.at_ns.saturating_sub(before.at_ns);
        self.cost_ns = now.thread_cpu_ns.saturating_sub(before.thread_cpu_ns);
        self.cpu = cpu::total(before, now);
        cpu::each(before, now, &mut self.cpus);
        self.load = system::load(before, now);
        self.memory = memory::memory(before, now);
        self.paging = memory::paging(before, now);
        disk::each(before, now, &mut self.disks);
        network::each(before, now, &mut self.interfaces);
        self.tcp = network::tcp(before, now);
        self.softirqs = receive::softirqs(before, now);
        receive::each(before, now, &mut self.receive);
        receive::interrupts(before, now, &mut self.interrupts);
        self.pressure = system::pressure(before, now);
        self.files = system::files(before, now);
        transport::rdma(before, now, &mut self.rdma);
        network::share_links(&mut self.interfaces, &self.rdma);
        self.smc = transport::smc(before, now);
        process::chosen(before, now, &mut self.processes);
        process::top(before, now, &mut self.top);
    }

    /// Traffic of the network: hardware where there is any, else all but loopback; and RDMA, which
    /// the interfaces do not count.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        network::sum(&self.interfaces, &self.rdma)
    }
}

#[cfg(test)]
fn parsed<T: plumb_procfs::kernel::Counters>(text: &str) -> T {
    let mut counters = T::default();
    counters.parse(text.as_bytes()).expect("a text that is well formed");
    counters
}

/// The earlier row of the same name: at the same place as a rule.
fn earlier<T>(before: &[T], place: usize, is_same: impl Fn(&T) -> bool) -> Option<&T> {
    match before.get(place) {
        Some(row) if is_same(row) => Some(row),
        _ => before.iter().find(|row| is_same(row)),
    }
}
