//! The sections of a snapshot in nmon's order and with nmon's titles.

use crate::snapshot::{CpuShares, Disk, Snapshot, Table};

/// nmon starts a new section after so many disks.
const DISKS_A_SECTION: usize = 150;

/// Every section of `snapshot`; those without columns are left out.
pub(crate) fn of(snapshot: &Snapshot, host: &str) -> Vec<Table> {
    let mut tables = processors(snapshot, host);
    tables.push(memory(snapshot, host));
    tables.push(paging(snapshot));
    tables.push(processes(snapshot, host));
    tables.extend(network(snapshot, host));
    tables.extend(disks(&snapshot.disks, host));
    tables.push(table(
        "JFSFILE",
        format!("JFS Filespace %Used {host}"),
        snapshot.mount_points.iter().map(|mount| (mount.path.clone(), mount.used_percent)),
    ));
    tables.extend(snapshot.tables.iter().cloned());
    tables.retain(|table| !table.columns.is_empty());
    tables
}

fn table(
    section: impl Into<String>,
    title: String,
    cells: impl Iterator<Item = (impl Into<String>, Option<f64>)>,
) -> Table {
    let (columns, figures) = cells.map(|(column, figure)| (column.into(), figure)).unzip();
    Table { section: section.into(), title, columns, figures }
}

fn processors(snapshot: &Snapshot, host: &str) -> Vec<Table> {
    let shares = |cpu: &CpuShares| {
        [
            ("User%", cpu.user),
            ("Sys%", cpu.system),
            ("Wait%", cpu.wait),
            ("Idle%", cpu.idle),
            ("Steal%", cpu.steal),
        ]
    };
    let mut tables: Vec<Table> = snapshot
        .cpus
        .iter()
        .map(|(number, cpu)| {
            let number = number.saturating_add(1); // nmon counts from 1
            let title = format!("CPU {number} {host}");
            table(format!("CPU{number:03}"), title, shares(cpu).into_iter())
        })
        .collect();
    let count = [(BUSY, None), ("CPUs", Some(f64::from(snapshot.cpus_online)))];
    let cells = shares(&snapshot.cpu).into_iter().chain(count);
    tables.push(table("CPU_ALL", format!("CPU Total {host}"), cells));
    tables
}

/// The column that nmon always leaves empty.
pub(crate) const BUSY: &str = "Busy";

fn memory(snapshot: &Snapshot, host: &str) -> Table {
    let memory = &snapshot.memory;
    let cells = [
        ("memtotal", memory.total),
        ("hightotal", None),
        ("lowtotal", None),
        ("swaptotal", memory.swap_total),
        ("memfree", memory.free),
        ("highfree", None),
        ("lowfree", None),
        ("swapfree", memory.swap_free),
        ("memshared", memory.shared),
        ("cached", memory.cached),
        ("active", memory.active),
        ("bigfree", None),
        ("buffers", memory.buffers),
        ("swapcached", memory.swap_cached),
        ("inactive", memory.inactive),
    ];
    table("MEM", format!("Memory MB {host}"), cells.into_iter())
}

fn paging(snapshot: &Snapshot) -> Table {
    let title = "Paging and Virtual Memory".to_owned();
    table("VM", title, snapshot.paging.iter().map(|(name, count)| (name.clone(), *count)))
}

fn processes(snapshot: &Snapshot, host: &str) -> Table {
    let processes = &snapshot.processes;
    let cells = [
        ("Runnable", processes.runnable),
        ("Blocked", processes.blocked),
        ("pswitch", processes.switches_per_s),
        ("syscall", None),
        ("read", None),
        ("write", None),
        ("fork", processes.forks_per_s),
        ("exec", None),
        ("sem", None),
        ("msg", None),
    ];
    table("PROC", format!("Processes {host}"), cells.into_iter())
}

fn network(snapshot: &Snapshot, host: &str) -> [Table; 2] {
    let all = &snapshot.interfaces;
    let read = all.iter().map(|one| (format!("{}-read-KB/s", one.name), one.read_kb_per_s));
    let write = all.iter().map(|one| (format!("{}-write-KB/s", one.name), one.write_kb_per_s));
    let reads = all.iter().map(|one| (format!("{}-read/s", one.name), one.read_packets_per_s));
    let writes = all.iter().map(|one| (format!("{}-write/s", one.name), one.write_packets_per_s));
    [
        table("NET", format!("Network I/O {host}"), read.chain(write)),
        table("NETPACKET", format!("Network Packets {host}"), reads.chain(writes)),
    ]
}

fn disks(disks: &[Disk], host: &str) -> Vec<Table> {
    type Figure = fn(&Disk) -> Option<f64>;
    let kinds: [(&str, &str, Figure); 5] = [
        ("DISKBUSY", "Disk %Busy", |disk| disk.busy_percent),
        ("DISKREAD", "Disk Read KB/s", |disk| disk.read_kb_per_s),
        ("DISKWRITE", "Disk Write KB/s", |disk| disk.write_kb_per_s),
        ("DISKXFER", "Disk transfers per second", |disk| disk.transfers_per_s),
        ("DISKBSIZE", "Disk Block Size", |disk| disk.block_kb),
    ];
    let mut tables = Vec::new();
    for (section, title, figure) in kinds {
        for (number, part) in disks.chunks(DISKS_A_SECTION).enumerate() {
            let section =
                if number == 0 { section.to_owned() } else { format!("{section}{number}") };
            let cells = part.iter().map(|disk| (disk.name.clone(), figure(disk)));
            tables.push(table(section, format!("{title} {host}"), cells));
        }
    }
    tables
}
