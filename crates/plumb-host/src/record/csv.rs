//! Fine samples as CSV: one line a sample, one column a figure.

use std::fmt::Write as _;

use plumb_procfs::Label;
use plumb_procfs::kernel::DiskKind;
use plumb_procfs::process::Wanted;

use super::column::{self, Column, Cpu};
use super::followed::Group;
use super::row::{Cell, Row};
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

/// Whose columns they are, as it stands before their names.
enum Device<'a> {
    Machine,
    Cpu(u32),
    Named(&'a str),
    Processes(&'a Group),
}

impl Device<'_> {
    fn prefix(&self) -> String {
        let name = match self {
            Self::Machine => return String::new(),
            Self::Cpu(number) => format!("cpu{number}"),
            Self::Named(name) => (*name).to_owned(),
            Self::Processes(group) => group.title(),
        };
        format!("{}:", name.replace([',', '"'], "_"))
    }
}

/// Writes a line: the names of all columns, or the cells below them.
enum Pen<'a> {
    Names(&'a mut String),
    Cells(Row<'a>),
}

impl Pen<'_> {
    /// Writes `columns` of `device`, whose figures are those `of` something that may be gone.
    fn write<T>(&mut self, device: &Device<'_>, columns: &[Column<T>], of: Option<&T>) {
        match self {
            Self::Names(line) => {
                let prefix = device.prefix();
                columns.iter().for_each(|(name, _)| **line += &format!(",{prefix}{name}"));
            }
            Self::Cells(row) => {
                columns.iter().for_each(|(_, cell)| row.cell(of.map_or(Cell::Absent, cell)));
            }
        }
    }
}

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
    pub(crate) fn missing_devices(&self, sample: &Sample) -> Vec<String> {
        let cpus = sample.cpus.iter().filter(|cpu| !self.cpus.contains(&cpu.number));
        let disks = sample
            .disks
            .iter()
            .filter(|disk| disk.kind == DiskKind::Whole && !self.disks.contains(&disk.name));
        let interfaces =
            sample.interfaces.iter().filter(|each| !self.interfaces.contains(&each.name));
        cpus.map(|cpu| format!("cpu{}", cpu.number))
            .chain(disks.map(|disk| disk.name.to_string()))
            .chain(interfaces.map(|each| each.name.to_string()))
            .collect()
    }

    /// The processes in `sample` that have no column.
    pub(crate) fn missing_processes(&self, sample: &Sample) -> Vec<String> {
        let known = |process: &ProcessSample| self.processes.iter().any(|it| it.has(process));
        let processes = sample.processes.iter().filter(|process| !known(process));
        processes.map(|process| format!("process {} {}", process.pid, process.name)).collect()
    }

    /// The first line.
    pub(crate) fn header(&self) -> String {
        let mut line = "time".to_owned();
        self.write(&Sample::default(), &mut Pen::Names(&mut line));
        line.push('\n');
        line
    }

    /// Appends the line of `sample` to `line`.
    pub(crate) fn row(&self, sample: &Sample, line: &mut String) {
        let time = i128::from(sample.wall_ns);
        let time = jiff::Timestamp::from_nanosecond(time).unwrap_or_default();
        let _ = write!(line, "{time:.3}"); // writing to a string cannot fail
        self.write(sample, &mut Pen::Cells(Row::new(line)));
        line.push('\n');
    }

    /// All columns behind the first, in their order.
    fn write(&self, sample: &Sample, pen: &mut Pen<'_>) {
        machine(sample, pen);
        for number in &self.cpus {
            let receive = sample.receive.iter().find(|each| each.cpu == *number);
            let share = sample.cpus.iter().find(|share| share.number == *number);
            let cpu = Cpu { share: share.copied(), net_rx: receive.map(|each| each.net_rx) };
            pen.write(&Device::Cpu(*number), column::CPU, Some(&cpu));
        }
        for name in &self.disks {
            let disk = sample.disks.iter().find(|disk| disk.name == *name);
            pen.write(&Device::Named(name.as_str()), column::DISK, disk);
        }
        for name in &self.interfaces {
            let interface = sample.interfaces.iter().find(|each| each.name == *name);
            pen.write(&Device::Named(name.as_str()), column::INTERFACE, interface);
        }
        for name in &self.ports {
            let port = sample.rdma.iter().find(|port| port.name == *name);
            pen.write(&Device::Named(name.as_str()), column::PORT, port);
        }
        if self.smc {
            pen.write(&Device::Named("smc"), column::SMC, sample.smc.as_ref());
        }
        for group in &self.processes {
            let together = group.together(sample);
            pen.write(&Device::Processes(group), column::PROCESSES, Some(&together));
        }
    }
}

/// Everything that every machine has.
fn machine(sample: &Sample, pen: &mut Pen<'_>) {
    let of = &Device::Machine;
    pen.write(of, column::TIMES, Some(sample));
    pen.write(of, column::CPU_ALL, sample.cpu.as_ref());
    pen.write(of, column::LOAD, sample.load.as_ref());
    pen.write(of, column::MEMORY, sample.memory.as_ref());
    pen.write(of, column::PAGING, sample.paging.as_ref());
    pen.write(of, column::TCP, sample.tcp.as_ref());
    pen.write(of, column::FILES, sample.files.as_ref());
    pen.write(of, column::PRESSURE, sample.pressure.as_ref());
    pen.write(of, column::RECEIVE_AND_COST, Some(sample));
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
        assert_eq!(columns.missing_devices(&sample()), ["cpu3", "s,da"]);
        assert!(Columns::of(&sample(), &[]).missing_devices(&sample()).is_empty());
    }
}
