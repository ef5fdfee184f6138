//! What a host did at one moment, as the [`Writer`](crate::Writer) takes it.
//!
//! A figure that is not known is `None`, never zero. Rates are over the interval that ends at the
//! snapshot. KB and MB are of 1024 and 1048576 bytes, as in every nmon file.

use jiff::civil::DateTime;

/// The host and the recording, as they stand at the top of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Name of the host. One that starts with `T` and a digit would be taken for a snapshot by
    /// readers, so it gets a `_` in front.
    pub name: String,
    /// `Linux` and its release, version and architecture.
    pub system: Vec<String>,
    /// The command that records.
    pub command: String,
    /// Version of the program that records.
    pub version: String,
    /// When the recording began, by the host's own wall clock.
    pub started: DateTime,
    /// Seconds between two snapshots, at least 1: an nmon file has no finer time.
    pub interval_s: u32,
    /// Snapshots planned; `None` when the end is open.
    pub snapshots: Option<u64>,
    /// Processors online.
    pub cpus: u32,
    /// Lines of text about the host, by the name of the command or file they come from.
    pub notes: Vec<(String, Vec<String>)>,
}

/// One snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// When it was taken, by the host's own wall clock; fractions of a second are cut.
    pub time: DateTime,
    /// All processors together.
    pub cpu: CpuShares,
    /// Every processor by its number in the system, from 0.
    pub cpus: Vec<(u32, CpuShares)>,
    /// Processors online.
    pub cpus_online: u32,
    /// Memory.
    pub memory: Memory,
    /// Counts of the interval (not rates) from `/proc/vmstat`, by name.
    pub paging: Vec<(String, Option<f64>)>,
    /// Processes and switches between them.
    pub processes: Processes,
    /// Network interfaces.
    pub interfaces: Vec<Interface>,
    /// Disks.
    pub disks: Vec<Disk>,
    /// File systems.
    pub mount_points: Vec<MountPoint>,
    /// The processes that used most.
    pub top: Vec<TopProcess>,
    /// Sections of our own, which other readers pass over: RDMA ports, SMC, softirq.
    pub tables: Vec<Table>,
}

/// Shares of processor time, percent; together 100.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuShares {
    /// In programs, nice ones included.
    pub user: Option<f64>,
    /// In the kernel, interrupts included.
    pub system: Option<f64>,
    /// Idle while a disk worked.
    pub wait: Option<f64>,
    /// Idle.
    pub idle: Option<f64>,
    /// Taken by the hypervisor.
    pub steal: Option<f64>,
}

/// Memory, MB.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory {
    /// All of it.
    pub total: Option<f64>,
    /// Unused.
    pub free: Option<f64>,
    /// Shared between processes.
    pub shared: Option<f64>,
    /// Holds files.
    pub cached: Option<f64>,
    /// Used lately.
    pub active: Option<f64>,
    /// Not used lately.
    pub inactive: Option<f64>,
    /// Holds blocks of devices.
    pub buffers: Option<f64>,
    /// Swap space.
    pub swap_total: Option<f64>,
    /// Unused swap space.
    pub swap_free: Option<f64>,
    /// In swap space and in memory.
    pub swap_cached: Option<f64>,
}

/// Processes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Processes {
    /// Running or ready to run, at the moment of the snapshot.
    pub runnable: Option<f64>,
    /// Waiting for a disk, at the moment of the snapshot.
    pub blocked: Option<f64>,
    /// Switches a second.
    pub switches_per_s: Option<f64>,
    /// New processes a second.
    pub forks_per_s: Option<f64>,
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Received, KB/s.
    pub read_kb_per_s: Option<f64>,
    /// Sent, KB/s.
    pub write_kb_per_s: Option<f64>,
    /// Packets received a second.
    pub read_packets_per_s: Option<f64>,
    /// Packets sent a second.
    pub write_packets_per_s: Option<f64>,
}

/// A disk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disk {
    /// Its name.
    pub name: String,
    /// Share of the interval with a transfer under way, percent.
    pub busy_percent: Option<f64>,
    /// Read, KB/s.
    pub read_kb_per_s: Option<f64>,
    /// Written, KB/s.
    pub write_kb_per_s: Option<f64>,
    /// Transfers a second.
    pub transfers_per_s: Option<f64>,
    /// KB a transfer.
    pub block_kb: Option<f64>,
}

/// A file system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MountPoint {
    /// Where it is mounted.
    pub path: String,
    /// Share that is used, percent.
    pub used_percent: Option<f64>,
}

/// A process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopProcess {
    /// Its number.
    pub pid: u32,
    /// Its command.
    pub command: String,
    /// Processor time, percent of one processor.
    pub cpu_percent: Option<f64>,
    /// The part of it in programs.
    pub user_percent: Option<f64>,
    /// The part of it in the kernel.
    pub system_percent: Option<f64>,
    /// Address space, KB.
    pub size_kb: Option<f64>,
    /// In memory, KB.
    pub resident_kb: Option<f64>,
    /// Page faults of the interval that needed no disk.
    pub minor_faults: Option<f64>,
    /// Page faults of the interval that read from disk.
    pub major_faults: Option<f64>,
    /// Threads.
    pub threads: Option<f64>,
    /// Seconds for which its figures stand; `None`: for those of the snapshot.
    pub seconds: Option<f64>,
}

/// A section: one line a snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Its name, capitals and digits: `IBREAD`, `SMCR`.
    pub section: String,
    /// What its header says: `InfiniBand Read KB/s`. Must not start with `T`.
    pub title: String,
    /// Titles of the columns with their units: `tx-KB/s`.
    pub columns: Vec<String>,
    /// One figure a column.
    pub figures: Vec<Option<f64>>,
}
