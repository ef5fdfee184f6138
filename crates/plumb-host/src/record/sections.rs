//! The sections of an nmon file that nmon itself does not have. Other readers pass over them.

use plumb_nmon::Table;
use plumb_procfs::kernel::DiskKind;

use super::unit::{kb, mb, whole};
use crate::sample::{RdmaSample, Sample};

/// A figure and the title of its column.
type Cell = (String, Option<f64>);

/// Every section for which `sample` has a figure.
pub(super) fn of(sample: &Sample) -> Vec<Table> {
    let all = [
        table("NETRX", "Soft interrupts of receiving by CPU", receiving(sample)),
        table("AVAIL", "Memory available MB", available(sample)),
        table("QUEUE", "Disk queue length", queues(sample)),
        table("SYSTEM", "System threads and open files", system(sample)),
        table("IRQ", "Interrupts a second", interrupts(sample)),
        table("TCP", "Network TCP of the interval", tcp(sample)),
        table("PRESSURE", "Pressure % of time", pressure(sample)),
        table(
            "IBREAD",
            "InfiniBand Read KB/s",
            ports(sample, "read", |it| it.received_bytes_per_s),
        ),
        table("IBWRITE", "InfiniBand Write KB/s", ports(sample, "write", |it| it.sent_bytes_per_s)),
        table("SMC", "SMC connections and fallbacks", smc(sample)),
    ];
    all.into_iter().filter(|table| !table.columns.is_empty()).collect()
}

fn table(section: &str, title: &str, cells: Vec<Cell>) -> Table {
    let (columns, figures) = cells.into_iter().unzip();
    Table { section: section.into(), title: title.into(), columns, figures }
}

fn cell(name: &str, value: f64) -> Cell {
    (name.to_owned(), Some(value))
}

fn receiving(sample: &Sample) -> Vec<Cell> {
    let each = sample.receive.iter();
    each.map(|each| (format!("CPU{:03}", each.cpu), Some(whole(each.net_rx)))).collect()
}

fn available(sample: &Sample) -> Vec<Cell> {
    let available = sample.memory.and_then(|memory| memory.available_bytes);
    available.map(|bytes| cell("available", mb(bytes))).into_iter().collect()
}

/// Requests under way, as the mean over the interval.
fn queues(sample: &Sample) -> Vec<Cell> {
    let disks = sample.disks.iter().filter(|disk| disk.kind == DiskKind::Whole);
    disks.map(|disk| cell(disk.name.as_str(), disk.queue_mean)).collect()
}

fn system(sample: &Sample) -> Vec<Cell> {
    let threads = sample.load.map(|load| cell("threads", whole(load.threads)));
    let files = sample.files.map(|files| cell("open-files", whole(files.open)));
    threads.into_iter().chain(files).collect()
}

fn interrupts(sample: &Sample) -> Vec<Cell> {
    sample.cpu.map(|cpu| cell("interrupts/s", cpu.interrupts_per_s)).into_iter().collect()
}

/// Counts of the interval, not rates.
fn tcp(sample: &Sample) -> Vec<Cell> {
    let Some(tcp) = &sample.tcp else { return Vec::new() };
    let absent = |name: &str, count: Option<u64>| (name.to_owned(), count.map(whole));
    vec![
        cell("sent-again", whole(tcp.retransmitted)),
        cell("resets", whole(tcp.resets)),
        absent("listen-overflows", tcp.listen_overflows),
        absent("listen-drops", tcp.listen_drops),
    ]
}

fn pressure(sample: &Sample) -> Vec<Cell> {
    let Some(pressure) = &sample.pressure else { return Vec::new() };
    vec![
        ("cpu-some%".to_owned(), pressure.cpu_some_pct),
        ("memory-some%".to_owned(), pressure.memory_some_pct),
        ("io-some%".to_owned(), pressure.io_some_pct),
    ]
}

fn ports(sample: &Sample, way: &str, of: fn(&RdmaSample) -> Option<f64>) -> Vec<Cell> {
    let ports = sample.rdma.iter();
    ports.map(|port| (format!("{}-{way}-KB/s", port.name), of(port).map(kb))).collect()
}

fn smc(sample: &Sample) -> Vec<Cell> {
    let Some(smc) = &sample.smc else { return Vec::new() };
    vec![
        cell("r-connections", whole(smc.smc_r.connections)),
        cell("r-read-KB/s", kb(smc.smc_r.received_bytes_per_s)),
        cell("r-write-KB/s", kb(smc.smc_r.sent_bytes_per_s)),
        cell("d-connections", whole(smc.smc_d.connections)),
        cell("fallbacks", whole(smc.fallbacks)),
    ]
}
