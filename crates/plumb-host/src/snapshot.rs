//! Everything that was read at one moment, as the kernel counts it.

use plumb_procfs::kernel::{
    Diskstats, FileNr, Interrupts, Loadavg, Meminfo, NetDev, Netstat, Pressure, Snmp, Softirqs,
    Softnet, Stat, Vmstat,
};
use plumb_procfs::process::ProcessCounters;
use plumb_procfs::rdma::RdmaPorts;

use crate::smc::SmcCounters;

/// The counters of one source, and when they were read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part<T> {
    /// When, nanoseconds on the monotonic clock; `None` when there was nothing to read.
    pub(crate) at_ns: Option<u64>,
    pub(crate) counters: T,
}

impl<T> Part<T> {
    /// Counters read at `at_ns` on the monotonic clock.
    #[must_use]
    pub fn new(at_ns: u64, counters: T) -> Self {
        Self { at_ns: Some(at_ns), counters }
    }

    /// The counters; `None` when there was nothing to read.
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        self.at_ns.map(|_| &self.counters)
    }

    /// True when this was read after the snapshot `earlier` was complete: what is read more seldom
    /// than snapshots are taken stands in several of them.
    pub(crate) fn is_newer_than(&self, earlier: &Snapshot) -> bool {
        self.at_ns.is_some_and(|at_ns| at_ns > earlier.end_ns)
    }

    /// The counters of an earlier part and of this one, and the nanoseconds between them; `None`
    /// unless both were read, the earlier one first.
    pub(crate) fn since<'a>(&'a self, earlier: &'a Self) -> Option<(&'a T, &'a T, u64)> {
        let interval_ns = self.at_ns?.checked_sub(earlier.at_ns?).filter(|ns| *ns > 0)?;
        Some((&earlier.counters, &self.counters, interval_ns))
    }
}

/// Everything that was read at one moment. Each part carries a time stamp of its own: a thread
/// that is put aside between two files falsifies no rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// When it was begun, nanoseconds since 1970-01-01T00:00:00Z.
    pub wall_ns: u64,
    /// When it was begun, nanoseconds on the monotonic clock.
    pub at_ns: u64,
    /// When it was complete, nanoseconds on the monotonic clock.
    pub end_ns: u64,
    /// Processor time that the sampling thread has used so far, nanoseconds.
    pub thread_cpu_ns: u64,
    /// The kernel's clock ticks a second.
    pub ticks_per_s: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// `/proc/stat`.
    pub stat: Part<Stat>,
    /// `/proc/loadavg`.
    pub loadavg: Part<Loadavg>,
    /// `/proc/meminfo`.
    pub meminfo: Part<Meminfo>,
    /// `/proc/vmstat`.
    pub vmstat: Part<Vmstat>,
    /// `/proc/diskstats`.
    pub diskstats: Part<Diskstats>,
    /// `/proc/net/dev`.
    pub net_dev: Part<NetDev>,
    /// `/proc/net/snmp`.
    pub snmp: Part<Snmp>,
    /// `/proc/net/netstat`.
    pub netstat: Part<Netstat>,
    /// `/proc/softirqs`.
    pub softirqs: Part<Softirqs>,
    /// `/proc/net/softnet_stat`.
    pub softnet: Part<Softnet>,
    /// `/proc/interrupts`.
    pub interrupts: Part<Interrupts>,
    /// `/proc/sys/fs/file-nr`.
    pub file_nr: Part<FileNr>,
    /// `/proc/pressure/cpu`, `memory` and `io`.
    pub pressure: [Part<Pressure>; 3],
    /// Ports of RDMA devices.
    pub rdma: Part<RdmaPorts>,
    /// Shared memory communications.
    pub smc: Part<SmcCounters>,
    /// The processes that were asked for.
    pub chosen: Part<Vec<ProcessCounters>>,
    /// Every process, read at a slower pace.
    pub everyone: Part<Vec<ProcessCounters>>,
}
