//! One recording of one host, and the figures derived from it.

use std::collections::HashSet;
use std::fmt;

use crate::disk::{Counted, Disks};
use crate::document::Document;
use crate::doubt::Doubts;
use crate::facts::{Facts, System};
use crate::outline::RecordingOutline;
use crate::perfmon;
use crate::process::{Commands, Process};
use crate::role::{Gauges, Name, STEAL, counted_interfaces, interfaces};
use crate::section::{Column, Section};
use crate::stamp::Timeline;
use crate::stat::Stat;

/// Bytes of nmon's KB.
const KB_BYTES: f64 = 1024.0;

/// What one host did while it was recorded.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The first line of it in the file, from 1.
    pub line: u64,
    /// What the recorder says of the host.
    pub facts: Facts,
    /// Output of commands that the recorder ran.
    pub documents: Vec<Document>,
    /// The snapshots and their times.
    pub timeline: Timeline,
    /// Every section in the order of the file, known or not.
    pub sections: Vec<Section>,
    /// Processes by command, the most processor time first.
    pub processes: Vec<Process>,
    /// Figures that cannot be true beside the others of their snapshot.
    pub doubts: Doubts,
    pub(crate) gauges: Gauges,
}

/// How processors busy were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusyRule {
    /// `LPAR.PhysicalCPU`: in a shared partition the percentages of `CPU_ALL` hold unused
    /// entitlement, so that only this column counts processors.
    SharedPartition,
    /// `(User% + Sys%) / 100 x PhysicalCPUs` of `CPU_ALL`, for AIX with processors of its own.
    Dedicated,
    /// `(100 - Idle% - Wait%) / 100 x CPUs` of `CPU_ALL`, for Linux, where nobody says what the
    /// hypervisor took: that counts as busy.
    NotIdle,
    /// `(100 - Idle% - Wait% - Steal%) / 100 x CPUs` of `CPU_ALL`, for Linux: what the hypervisor took
    /// was used by others.
    NotIdleNorStolen,
}

impl fmt::Display for BusyRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SharedPartition => "LPAR.PhysicalCPU (shared LPAR)",
            Self::Dedicated => "(User% + Sys%) / 100 x PhysicalCPUs (AIX, dedicated)",
            Self::NotIdle => "(100 - Idle% - Wait%) / 100 x CPUs (Linux)",
            Self::NotIdleNorStolen => "(100 - Idle% - Wait% - Steal%) / 100 x CPUs (Linux)",
        })
    }
}

/// Processors busy.
///
/// # Source
/// IBM, "Processor statistics" (AIX 7.2) and the rule of IBM's `nsum` for nmon files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoresBusy {
    /// The rule by which they were counted.
    pub rule: BusyRule,
    /// Processors busy, as statistics over the snapshots.
    pub stat: Stat,
}

impl CoresBusy {
    /// Processor time over the recording, seconds: processors busy x seconds, summed up.
    #[must_use]
    pub fn cpu_s(&self) -> f64 {
        self.stat.integral()
    }
}

/// What went one way and the other over a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// Read or received, KB/s of 1024 bytes.
    pub read: Stat,
    /// Written or sent, KB/s of 1024 bytes.
    pub write: Stat,
    /// Interfaces or disks whose figures were added up.
    pub counted: Vec<String>,
    /// Those that were left out because their traffic stays on the host or is counted already.
    pub left_out: Vec<String>,
}

impl Traffic {
    /// Bytes read or received over the recording.
    #[must_use]
    pub fn read_bytes(&self) -> f64 {
        self.read.integral() * KB_BYTES
    }

    /// Bytes written or sent over the recording.
    #[must_use]
    pub fn write_bytes(&self) -> f64 {
        self.write.integral() * KB_BYTES
    }
}

impl Recording {
    pub(crate) fn of(
        part: RecordingOutline,
        gauges: Gauges,
        commands: Commands,
        doubts: Doubts,
    ) -> Self {
        let mut processes = commands.list;
        processes.sort_by(|one, other| {
            other.cpu_s.total_cmp(&one.cpu_s).then_with(|| one.command.cmp(&other.command))
        });
        Self {
            line: part.line,
            facts: part.facts,
            documents: part.documents.list,
            timeline: part.timeline,
            sections: part.drafts.into_iter().map(|draft| draft.section).collect(),
            processes,
            gauges,
            doubts,
        }
    }

    /// The section of this name.
    #[must_use]
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// A column of a section.
    #[must_use]
    pub fn column(&self, section: &str, column: &str) -> Option<&Column> {
        self.section(section)?.column(column)
    }

    /// The operating system: what the facts say, or else what the columns tell.
    #[must_use]
    pub fn system(&self) -> System {
        match self.facts.system() {
            System::Unknown if self.column("CPU_ALL", "PhysicalCPUs").is_some() => System::Aix,
            known => known,
        }
    }

    /// Processors busy; `None` without `CPU_ALL` and `LPAR`.
    #[must_use]
    pub fn cores_busy(&self) -> Option<CoresBusy> {
        let shared = ["SharedCPU", "shared_processor_mode"]
            .iter()
            .find_map(|name| self.column("LPAR", name))
            .is_none_or(|column| column.stat.max().is_some_and(|shared| shared > 0.0));
        let physical = self.column("LPAR", "PhysicalCPU").map(|column| column.stat);
        if let Some(stat) = physical.filter(|stat| shared && stat.count() > 0) {
            return Some(CoresBusy { rule: BusyRule::SharedPartition, stat });
        }
        let stat = self.gauge(Name::Cores);
        let rule = match self.system() {
            System::Aix => BusyRule::Dedicated,
            System::Linux | System::Windows | System::Unknown if self.tells_steal() => {
                BusyRule::NotIdleNorStolen
            }
            System::Linux | System::Windows | System::Unknown => BusyRule::NotIdle,
        };
        (stat.count() > 0).then_some(CoresBusy { rule, stat })
    }

    /// True where the recording says what the hypervisor took.
    pub(crate) fn tells_steal(&self) -> bool {
        self.column("CPU_ALL", STEAL).is_some_and(|column| column.stat.count() > 0)
    }

    /// Processors of which [`cores_busy`](Self::cores_busy) could have been busy, counted as those are:
    /// in a shared partition virtual processors, and not their threads. `None` where the file does not
    /// say.
    #[must_use]
    pub fn processors(&self) -> Option<f64> {
        let most = |section: &str, names: &[&str]| {
            let column = names.iter().find_map(|name| self.column(section, name))?;
            column.stat.max().filter(|most| *most > 0.0)
        };
        match self.cores_busy().map(|busy| busy.rule) {
            Some(BusyRule::SharedPartition) => {
                let told = most("LPAR", &["virtualCPUs", "partition_active_processors"]);
                let is_linux = self.system() == System::Linux;
                told.or_else(|| self.facts.cores().filter(|_| is_linux).map(f64::from))
            }
            Some(BusyRule::Dedicated | BusyRule::NotIdle | BusyRule::NotIdleNorStolen) => {
                most("CPU_ALL", &["CPUs", "PhysicalCPUs"]).or(self.facts.cpus().map(f64::from))
            }
            None => self.facts.cpus().map(f64::from),
        }
    }

    /// The processors that a shared partition is entitled to, where it gets no more than these however
    /// many are idle (capped); `None` of every other.
    #[must_use]
    pub fn capped_at(&self) -> Option<f64> {
        let max =
            |names: [&str; 2]| names.iter().find_map(|name| self.column("LPAR", name))?.stat.max();
        let shared = self.cores_busy()?.rule == BusyRule::SharedPartition;
        let capped = shared && max(["Capped", "capped"]).is_some_and(|it| it > 0.0);
        max(["entitled", "partition_entitled_capacity"]).filter(|_| capped)
    }

    /// The share of all processors that was busy, percent, without what the hypervisor took: of
    /// `CPU_ALL`, or what Windows calls the
    /// processor time of all of them; `None` without either.
    #[must_use]
    pub fn busy_pct(&self) -> Option<Stat> {
        let stat = self.gauge(Name::Busy);
        if stat.count() > 0 {
            return Some(stat);
        }
        let mut columns = self.sections.iter().flat_map(|section| {
            section.columns.iter().map(|column| (section.title.as_str(), column))
        });
        let found = columns.find(|(title, column)| perfmon::is_busy_share(title, &column.name));
        found.map(|(_, column)| column.stat)
    }

    /// Memory in use, MB on average: what is there less what a program could get; `None` where one
    /// of the two is not recorded.
    #[must_use]
    pub fn memory_used_mb(&self) -> Option<f64> {
        let total = self.column("MEM", "memtotal")?.stat.average()?;
        let available = self.column("AVAIL", "available").map(|column| column.stat);
        let available = available.unwrap_or_else(|| self.gauge(Name::Available));
        Some((total - available.average()?).max(0.0))
    }

    /// Traffic over the network interfaces; RDMA is apart ([`rdma`](Self::rdma)).
    #[must_use]
    pub fn network(&self) -> Option<Traffic> {
        let section = self.section("NET")?;
        let counted = counted_interfaces(section);
        let all = interfaces(section).into_iter();
        let left_out = all.filter(|name| !counted.contains(name)).map(str::to_owned).collect();
        let counted = counted.into_iter().map(str::to_owned).collect();
        self.traffic(Name::NetRead, Name::NetWrite, counted, left_out)
    }

    /// Traffic over RDMA devices, which no interface counts; only files of this program have it.
    #[must_use]
    pub fn rdma(&self) -> Option<Traffic> {
        let section = self.section("IBREAD")?;
        let counted = section.columns.iter().map(|column| column.name.clone()).collect();
        self.traffic(Name::RdmaRead, Name::RdmaWrite, counted, Vec::new())
    }

    /// Traffic of the disks; partitions, volumes on other disks and paths to a disk that counts
    /// itself are left out.
    #[must_use]
    pub fn disks(&self) -> Option<Traffic> {
        let mut counted = Vec::new();
        let mut left_out = Vec::new();
        let disks = Disks::of(&self.sections);
        for section in self.sections.iter().filter(|section| is_numbered(&section.name, "DISKREAD"))
        {
            let is_added = |it: &Counted| {
                let disk = disks.path_to(section, &section.columns[it.column].name);
                disk.is_none_or(|disk| !self.has_used(disk))
            };
            let added: HashSet<usize> = disks
                .counted(section)
                .iter()
                .filter(|it| is_added(it))
                .map(|it| it.column)
                .collect();
            for (at, column) in section.columns.iter().enumerate() {
                let names = if added.contains(&at) { &mut counted } else { &mut left_out };
                names.push(column.name.clone());
            }
        }
        self.traffic(Name::DiskRead, Name::DiskWrite, counted, left_out)
    }

    /// True when anything was read from or written to a disk.
    fn has_used(&self, disk: &str) -> bool {
        let of_disks = self.sections.iter().filter(|section| section.name.starts_with("DISK"));
        let mut columns = of_disks.filter_map(|section| section.column(disk));
        columns.any(|column| column.stat.max().is_some_and(|most| most > 0.0))
    }

    fn traffic(
        &self,
        read: Name,
        write: Name,
        counted: Vec<String>,
        left_out: Vec<String>,
    ) -> Option<Traffic> {
        let (read, write) = (self.gauge(read), self.gauge(write));
        let known = read.count() + write.count() > 0;
        known.then_some(Traffic { read, write, counted, left_out })
    }

    pub(crate) fn gauge(&self, name: Name) -> Stat {
        self.gauges.get(name).stat
    }
}

/// True for `name` and for it with digits behind: nmon splits many disks over several sections.
fn is_numbered(section: &str, name: &str) -> bool {
    section.strip_prefix(name).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}
