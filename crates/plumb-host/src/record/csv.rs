//! Fine samples as CSV: one line a sample, one column a figure.

use std::fmt::Write as _;

use super::followed::{self, Group};
use super::row::Row;
use crate::kernel::DiskKind;
use crate::label::Label;
use crate::process::Wanted;
use crate::sample::{ProcessSample, Sample};

/// Columns of one device each: a disk, an interface, a port, the processes of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Columns {
    cpus: Vec<u32>,
    disks: Vec<Label>,
    interfaces: Vec<Label>,
    ports: Vec<Label>,
    processes: Vec<Group>,
    smc: bool,
}

const GENERAL: &str = "time,monotonic_s,interval_s,cpu_busy_pct,cpu_user_pct,cpu_nice_pct,\
    cpu_system_pct,cpu_iowait_pct,cpu_irq_pct,cpu_softirq_pct,cpu_steal_pct,cpu_guest_pct,\
    context_switches_per_s,interrupts_per_s,forks_per_s,running,blocked,load_1,load_5,load_15,\
    threads,memory_total_bytes,memory_available_bytes,memory_free_bytes,memory_cached_bytes,\
    memory_anonymous_bytes,memory_dirty_bytes,swap_used_bytes,swapped_in,swapped_out,\
    major_faults,faults_per_s,refaults_anonymous,refaults_file,direct_reclaims,oom_kills,\
    tcp_received_per_s,tcp_sent_per_s,tcp_retransmitted,tcp_opened_per_s,tcp_accepted_per_s,\
    tcp_resets,tcp_established,tcp_listen_overflows,tcp_listen_drops,tcp_timeouts,\
    tcp_syn_retransmits,udp_received_per_s,udp_sent_per_s,udp_overflows,open_files,\
    pressure_cpu_pct,pressure_memory_pct,pressure_io_pct,softnet_dropped,softnet_squeezed,\
    own_cost_us";

impl Columns {
    /// Columns for the devices of a first sample, and for the processes that are `followed`. A
    /// table cannot grow to the right while it is written, so what appears later has none.
    pub(crate) fn of(sample: &Sample, followed: &[Wanted]) -> Self {
        let disks = sample.disks.iter().filter(|disk| disk.kind == DiskKind::Whole);
        Self {
            cpus: sample.cpus.iter().map(|cpu| cpu.number).collect(),
            disks: disks.map(|disk| disk.name).collect(),
            interfaces: sample.interfaces.iter().map(|each| each.name).collect(),
            ports: sample.rdma.iter().map(|port| port.name).collect(),
            processes: Group::all(followed, sample),
            smc: sample.smc.is_some(),
        }
    }

    /// Names of devices in `sample` that have no column.
    pub(crate) fn missing(&self, sample: &Sample) -> Vec<String> {
        let cpus = sample.cpus.iter().filter(|cpu| !self.cpus.contains(&cpu.number));
        let disks = sample
            .disks
            .iter()
            .filter(|disk| disk.kind == DiskKind::Whole && !self.disks.contains(&disk.name));
        let interfaces =
            sample.interfaces.iter().filter(|each| !self.interfaces.contains(&each.name));
        let known = |process: &ProcessSample| self.processes.iter().any(|it| it.has(process));
        let processes = sample.processes.iter().filter(|process| !known(process));
        cpus.map(|cpu| format!("cpu{}", cpu.number))
            .chain(disks.map(|disk| disk.name.to_string()))
            .chain(interfaces.map(|each| each.name.to_string()))
            .chain(processes.map(|process| format!("process {} {}", process.pid, process.name)))
            .collect()
    }

    /// The first line.
    pub(crate) fn header(&self) -> String {
        let mut line = GENERAL.to_owned();
        let mut add = |device: &str, figures: &[&str]| {
            let device = device.replace([',', '"'], "_");
            figures.iter().for_each(|figure| line += &format!(",{device}:{figure}"));
        };
        for cpu in &self.cpus {
            add(&format!("cpu{cpu}"), &["busy_pct", "softirq_pct", "net_rx"]);
        }
        for disk in &self.disks {
            let figures = [
                "reads_per_s",
                "writes_per_s",
                "read_bytes_per_s",
                "write_bytes_per_s",
                "read_ms",
                "write_ms",
                "queue_mean",
                "queue_now",
                "busy_pct",
            ];
            add(disk.as_str(), &figures);
        }
        for interface in &self.interfaces {
            let figures = [
                "received_bytes_per_s",
                "sent_bytes_per_s",
                "received_packets_per_s",
                "sent_packets_per_s",
                "errors",
                "drops",
                "used_pct",
            ];
            add(interface.as_str(), &figures);
        }
        for port in &self.ports {
            let figures =
                ["received_bytes_per_s", "sent_bytes_per_s", "trouble", "congestion_marks"];
            add(port.as_str(), &figures);
        }
        if self.smc {
            let figures = [
                "r_connections",
                "r_received_bytes_per_s",
                "r_sent_bytes_per_s",
                "d_connections",
                "d_received_bytes_per_s",
                "d_sent_bytes_per_s",
                "fallbacks",
                "handshake_errors",
            ];
            add("smc", &figures);
        }
        for group in &self.processes {
            add(&group.title(), &followed::FIGURES);
        }
        line.push('\n');
        line
    }

    /// Appends the line of `sample` to `line`.
    pub(crate) fn row(&self, sample: &Sample, line: &mut String) {
        let time = i128::from(sample.wall_ns);
        let time = jiff::Timestamp::from_nanosecond(time).unwrap_or_default();
        let _ = write!(line, "{time:.3}"); // writing to a string cannot fail
        let mut row = Row::new(line);
        row.seconds(sample.monotonic_ns);
        row.seconds(sample.interval_ns);
        general(sample, &mut row);
        for number in &self.cpus {
            let share = sample.cpus.iter().find(|share| share.number == *number);
            row.float(share.map(|share| share.busy_pct));
            row.float(share.map(|share| share.softirq_pct));
            let receive = sample.receive.iter().find(|each| each.cpu == *number);
            row.count(receive.map(|each| each.net_rx));
        }
        for name in &self.disks {
            let disk = sample.disks.iter().find(|disk| disk.name == *name);
            row.float(disk.map(|disk| disk.reads_per_s));
            row.float(disk.map(|disk| disk.writes_per_s));
            row.float(disk.map(|disk| disk.read_bytes_per_s));
            row.float(disk.map(|disk| disk.write_bytes_per_s));
            row.float(disk.and_then(|disk| disk.read_ms));
            row.float(disk.and_then(|disk| disk.write_ms));
            row.float(disk.map(|disk| disk.queue_mean));
            row.count(disk.map(|disk| disk.queue_now));
            row.float(disk.map(|disk| disk.busy_pct));
        }
        for name in &self.interfaces {
            let interface = sample.interfaces.iter().find(|each| each.name == *name);
            row.float(interface.map(|each| each.received_bytes_per_s));
            row.float(interface.map(|each| each.sent_bytes_per_s));
            row.float(interface.map(|each| each.received_packets_per_s));
            row.float(interface.map(|each| each.sent_packets_per_s));
            row.count(interface.map(|each| each.errors));
            row.count(interface.map(|each| each.drops));
            row.float(interface.and_then(|each| each.used_pct));
        }
        for name in &self.ports {
            let port = sample.rdma.iter().find(|port| port.name == *name);
            row.float(port.and_then(|port| port.received_bytes_per_s));
            row.float(port.and_then(|port| port.sent_bytes_per_s));
            row.count(port.map(|port| port.trouble));
            row.count(port.and_then(|port| port.congestion_marks));
        }
        if self.smc {
            smc(sample, &mut row);
        }
        self.processes.iter().for_each(|group| group.cells(sample, &mut row));
        line.push('\n');
    }
}

/// Everything that every machine has, in the order of [`GENERAL`].
fn general(sample: &Sample, row: &mut Row<'_>) {
    let cpu = sample.cpu.as_ref();
    let share = cpu.map(|cpu| &cpu.share);
    row.float(share.map(|share| share.busy_pct));
    row.float(share.map(|share| share.user_pct));
    row.float(share.map(|share| share.nice_pct));
    row.float(share.map(|share| share.system_pct));
    row.float(share.map(|share| share.iowait_pct));
    row.float(share.map(|share| share.irq_pct));
    row.float(share.map(|share| share.softirq_pct));
    row.float(share.and_then(|share| share.steal_pct));
    row.float(share.and_then(|share| share.guest_pct));
    row.float(cpu.map(|cpu| cpu.context_switches_per_s));
    row.float(cpu.map(|cpu| cpu.interrupts_per_s));
    row.float(cpu.map(|cpu| cpu.forks_per_s));
    row.count(cpu.map(|cpu| cpu.running));
    row.count(cpu.map(|cpu| cpu.blocked));
    row.float(sample.load.map(|load| load.load_1));
    row.float(sample.load.map(|load| load.load_5));
    row.float(sample.load.map(|load| load.load_15));
    row.count(sample.load.map(|load| load.threads));
    let memory = sample.memory.as_ref();
    row.count(memory.map(|memory| memory.total_bytes));
    row.count(memory.and_then(|memory| memory.available_bytes));
    row.count(memory.map(|memory| memory.free_bytes));
    row.count(memory.map(|memory| memory.cached_bytes));
    row.count(memory.map(|memory| memory.anonymous_bytes));
    row.count(memory.map(|memory| memory.dirty_bytes));
    row.count(memory.map(|memory| memory.swap_used_bytes));
    let paging = sample.paging.as_ref();
    row.count(paging.map(|paging| paging.swapped_in));
    row.count(paging.map(|paging| paging.swapped_out));
    row.count(paging.map(|paging| paging.major_faults));
    row.float(paging.map(|paging| paging.faults_per_s));
    row.count(paging.map(|paging| paging.refaults_anonymous));
    row.count(paging.map(|paging| paging.refaults_file));
    row.count(paging.map(|paging| paging.direct_reclaims));
    row.count(paging.map(|paging| paging.oom_kills));
    let tcp = sample.tcp.as_ref();
    row.float(tcp.map(|tcp| tcp.received_per_s));
    row.float(tcp.map(|tcp| tcp.sent_per_s));
    row.count(tcp.map(|tcp| tcp.retransmitted));
    row.float(tcp.map(|tcp| tcp.opened_per_s));
    row.float(tcp.map(|tcp| tcp.accepted_per_s));
    row.count(tcp.map(|tcp| tcp.resets));
    row.count(tcp.map(|tcp| tcp.established));
    row.count(tcp.and_then(|tcp| tcp.listen_overflows));
    row.count(tcp.and_then(|tcp| tcp.listen_drops));
    row.count(tcp.and_then(|tcp| tcp.timeouts));
    row.count(tcp.and_then(|tcp| tcp.syn_retransmits));
    row.float(tcp.map(|tcp| tcp.udp_received_per_s));
    row.float(tcp.map(|tcp| tcp.udp_sent_per_s));
    row.count(tcp.map(|tcp| tcp.udp_overflows));
    row.count(sample.files.map(|files| files.open));
    row.float(sample.pressure.and_then(|pressure| pressure.cpu_some_pct));
    row.float(sample.pressure.and_then(|pressure| pressure.memory_some_pct));
    row.float(sample.pressure.and_then(|pressure| pressure.io_some_pct));
    let sum = |of: fn(&crate::sample::ReceiveSample) -> Option<u64>| {
        sample.receive.iter().filter_map(of).reduce(u64::saturating_add)
    };
    row.count(sum(|each| each.dropped));
    row.count(sum(|each| each.squeezed));
    row.count(Some(sample.cost_ns / 1000));
}

fn smc(sample: &Sample, row: &mut Row<'_>) {
    let smc = sample.smc.as_ref();
    for traffic in [smc.map(|smc| smc.smc_r), smc.map(|smc| smc.smc_d)] {
        row.count(traffic.map(|traffic| traffic.connections));
        row.float(traffic.map(|traffic| traffic.received_bytes_per_s));
        row.float(traffic.map(|traffic| traffic.sent_bytes_per_s));
    }
    row.count(smc.map(|smc| smc.fallbacks));
    row.count(smc.map(|smc| smc.handshake_errors));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{CpuShare, DiskSample};

    fn sample() -> Sample {
        Sample {
            wall_ns: 1_300_634_013_250_000_000,
            monotonic_ns: 12_000_345_000,
            interval_ns: 100_000_000,
            cpus: vec![CpuShare { number: 3, busy_pct: 12.5, ..CpuShare::default() }],
            disks: vec![DiskSample { name: Label::new(b"s,da"), ..DiskSample::default() }],
            ..Sample::default()
        }
    }

    #[test]
    fn every_line_has_a_cell_for_every_column() {
        let sample = sample();
        let columns = Columns::of(&sample, &[]);
        let header = columns.header();
        assert!(header.ends_with("s_da:busy_pct\n"), "{header}");
        let mut line = String::new();
        columns.row(&sample, &mut line);
        assert!(line.starts_with("2011-03-20T15:13:33.250Z,12.000345,0.100000,,"), "{line}");
        assert_eq!(line.matches(',').count(), header.matches(',').count());
        line.clear();
        columns.row(&Sample::default(), &mut line);
        assert_eq!(line.matches(',').count(), header.matches(',').count(), "devices are gone");
    }

    #[test]
    fn a_device_without_a_column_is_named() {
        let columns = Columns::of(&Sample::default(), &[]);
        assert_eq!(columns.missing(&sample()), ["cpu3", "s,da"]);
        assert!(Columns::of(&sample(), &[]).missing(&sample()).is_empty());
    }
}
