//! Columns of the CSV: each name stands with what is written below it, so none moves alone.

use super::followed::Together;
use super::row::Cell;
use crate::sample::{
    CpuSample, CpuShare, DiskSample, FilesSample, InterfaceSample, LoadSample, MemorySample,
    PagingSample, PressureSample, RdmaSample, ReceiveSample, Sample, SmcSample, TcpSample,
};

/// A name, and the cell of a `T` below it.
pub(super) type Column<T> = (&'static str, fn(&T) -> Cell);

/// When a sample was taken, and how long after the one before.
pub(super) const TIMES: &[Column<Sample>] = &[
    ("monotonic_s", |it| Cell::Seconds(it.monotonic_ns)),
    ("interval_s", |it| Cell::Seconds(it.interval_ns)),
];

/// What all processors together dropped and left for later, and what sampling itself took.
pub(super) const RECEIVE_AND_COST: &[Column<Sample>] = &[
    ("softnet_dropped", |it| of_all(it, |each| each.dropped).into()),
    ("softnet_squeezed", |it| of_all(it, |each| each.squeezed).into()),
    ("own_cost_us", |it| (it.cost_ns / 1000).into()),
];

fn of_all(sample: &Sample, of: fn(&ReceiveSample) -> Option<u64>) -> Option<u64> {
    sample.receive.iter().filter_map(of).reduce(u64::saturating_add)
}

/// What one processor did, and what it received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cpu {
    pub(super) share: Option<CpuShare>,
    pub(super) net_rx: Option<u64>,
}

/// Of one processor.
pub(super) const CPU: &[Column<Cpu>] = &[
    ("busy_pct", |it| it.share.map(|share| share.busy_pct).into()),
    ("softirq_pct", |it| it.share.map(|share| share.softirq_pct).into()),
    ("net_rx", |it| it.net_rx.into()),
];

/// Of all processors together.
pub(super) const CPU_ALL: &[Column<CpuSample>] = &[
    ("cpu_busy_pct", |it| it.share.busy_pct.into()),
    ("cpu_user_pct", |it| it.share.user_pct.into()),
    ("cpu_nice_pct", |it| it.share.nice_pct.into()),
    ("cpu_system_pct", |it| it.share.system_pct.into()),
    ("cpu_iowait_pct", |it| it.share.iowait_pct.into()),
    ("cpu_irq_pct", |it| it.share.irq_pct.into()),
    ("cpu_softirq_pct", |it| it.share.softirq_pct.into()),
    ("cpu_steal_pct", |it| it.share.steal_pct.into()),
    ("cpu_guest_pct", |it| it.share.guest_pct.into()),
    ("context_switches_per_s", |it| it.context_switches_per_s.into()),
    ("interrupts_per_s", |it| it.interrupts_per_s.into()),
    ("forks_per_s", |it| it.forks_per_s.into()),
    ("running", |it| it.running.into()),
    ("blocked", |it| it.blocked.into()),
];

/// Of the load.
pub(super) const LOAD: &[Column<LoadSample>] = &[
    ("load_1", |it| it.load_1.into()),
    ("load_5", |it| it.load_5.into()),
    ("load_15", |it| it.load_15.into()),
    ("threads", |it| it.threads.into()),
];

/// Of the memory.
pub(super) const MEMORY: &[Column<MemorySample>] = &[
    ("memory_total_bytes", |it| it.total_bytes.into()),
    ("memory_available_bytes", |it| it.available_bytes.into()),
    ("memory_free_bytes", |it| it.free_bytes.into()),
    ("memory_cached_bytes", |it| it.cached_bytes.into()),
    ("memory_anonymous_bytes", |it| it.anonymous_bytes.into()),
    ("memory_dirty_bytes", |it| it.dirty_bytes.into()),
    ("swap_used_bytes", |it| it.swap_used_bytes.into()),
];

/// Of paging.
pub(super) const PAGING: &[Column<PagingSample>] = &[
    ("swapped_in", |it| it.swapped_in.into()),
    ("swapped_out", |it| it.swapped_out.into()),
    ("major_faults", |it| it.major_faults.into()),
    ("faults_per_s", |it| it.faults_per_s.into()),
    ("refaults_anonymous", |it| it.refaults_anonymous.into()),
    ("refaults_file", |it| it.refaults_file.into()),
    ("direct_reclaims", |it| it.direct_reclaims.into()),
    ("oom_kills", |it| it.oom_kills.into()),
];

/// Of TCP and UDP.
pub(super) const TCP: &[Column<TcpSample>] = &[
    ("tcp_received_per_s", |it| it.received_per_s.into()),
    ("tcp_sent_per_s", |it| it.sent_per_s.into()),
    ("tcp_retransmitted", |it| it.retransmitted.into()),
    ("tcp_opened_per_s", |it| it.opened_per_s.into()),
    ("tcp_accepted_per_s", |it| it.accepted_per_s.into()),
    ("tcp_resets", |it| it.resets.into()),
    ("tcp_established", |it| it.established.into()),
    ("tcp_listen_overflows", |it| it.listen_overflows.into()),
    ("tcp_listen_drops", |it| it.listen_drops.into()),
    ("tcp_timeouts", |it| it.timeouts.into()),
    ("tcp_syn_retransmits", |it| it.syn_retransmits.into()),
    ("udp_received_per_s", |it| it.udp_received_per_s.into()),
    ("udp_sent_per_s", |it| it.udp_sent_per_s.into()),
    ("udp_overflows", |it| it.udp_overflows.into()),
];

/// Of open files.
pub(super) const FILES: &[Column<FilesSample>] = &[("open_files", |it| it.open.into())];

/// Of stalls for want of something.
pub(super) const PRESSURE: &[Column<PressureSample>] = &[
    ("pressure_cpu_pct", |it| it.cpu_some_pct.into()),
    ("pressure_memory_pct", |it| it.memory_some_pct.into()),
    ("pressure_io_pct", |it| it.io_some_pct.into()),
];

/// Of one disk.
pub(super) const DISK: &[Column<DiskSample>] = &[
    ("reads_per_s", |it| it.reads_per_s.into()),
    ("writes_per_s", |it| it.writes_per_s.into()),
    ("read_bytes_per_s", |it| it.read_bytes_per_s.into()),
    ("write_bytes_per_s", |it| it.write_bytes_per_s.into()),
    ("read_ms", |it| it.read_ms.into()),
    ("write_ms", |it| it.write_ms.into()),
    ("queue_mean", |it| it.queue_mean.into()),
    ("queue_now", |it| it.queue_now.into()),
    ("busy_pct", |it| it.busy_pct.into()),
];

/// Of one interface.
pub(super) const INTERFACE: &[Column<InterfaceSample>] = &[
    ("received_bytes_per_s", |it| it.received_bytes_per_s.into()),
    ("sent_bytes_per_s", |it| it.sent_bytes_per_s.into()),
    ("received_packets_per_s", |it| it.received_packets_per_s.into()),
    ("sent_packets_per_s", |it| it.sent_packets_per_s.into()),
    ("errors", |it| it.errors.into()),
    ("drops", |it| it.drops.into()),
    ("used_pct", |it| it.used_pct.into()),
];

/// Of one port.
pub(super) const PORT: &[Column<RdmaSample>] = &[
    ("received_bytes_per_s", |it| it.received_bytes_per_s.into()),
    ("sent_bytes_per_s", |it| it.sent_bytes_per_s.into()),
    ("trouble", |it| it.trouble.into()),
    ("congestion_marks", |it| it.congestion_marks.into()),
];

/// Of SMC.
pub(super) const SMC: &[Column<SmcSample>] = &[
    ("r_connections", |it| it.smc_r.connections.into()),
    ("r_received_bytes_per_s", |it| it.smc_r.received_bytes_per_s.into()),
    ("r_sent_bytes_per_s", |it| it.smc_r.sent_bytes_per_s.into()),
    ("d_connections", |it| it.smc_d.connections.into()),
    ("d_received_bytes_per_s", |it| it.smc_d.received_bytes_per_s.into()),
    ("d_sent_bytes_per_s", |it| it.smc_d.sent_bytes_per_s.into()),
    ("r_buffer_full", |it| it.smc_r.buffer_full.into()),
    ("d_buffer_full", |it| it.smc_d.buffer_full.into()),
    ("link_groups_as_client", |it| it.link_groups.as_client.into()),
    ("link_groups_as_server", |it| it.link_groups.as_server.into()),
    ("fallbacks", |it| it.fallbacks.into()),
    ("handshake_errors", |it| it.handshake_errors.into()),
];

/// Of processes that share their columns.
pub(super) const PROCESSES: &[Column<Together>] = &[
    ("processes", |it| it.processes.into()),
    ("cpu_pct", |it| it.cpu_pct.into()),
    ("user_pct", |it| it.user_pct.into()),
    ("system_pct", |it| it.system_pct.into()),
    ("resident_bytes", |it| it.resident_bytes.into()),
    ("threads", |it| it.threads.into()),
    ("files", |it| it.files.into()),
    ("voluntary_switches_per_s", |it| it.voluntary_switches_per_s.into()),
    ("involuntary_switches_per_s", |it| it.involuntary_switches_per_s.into()),
];
