//! What the columns of a section mean, where that is known, and the figures made from them.

use crate::disk::{Counted, Disks, Multipath};
use crate::facts::System;
use crate::gauge::{Gauge, Join, Share, joined};
use crate::section::Section;

/// The figures that are put together from several cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// 100 - idle - wait of `CPU_ALL`, percent.
    Busy,
    /// Processors busy by `CPU_ALL`.
    Cores,
    /// Memory free, cached and in buffers, MB.
    Available,
    /// Pages swapped in and out a second.
    Paging,
    /// Page faults that read from disk, a second.
    MajorFaults,
    NetRead,
    NetWrite,
    RdmaRead,
    RdmaWrite,
    DiskRead,
    DiskWrite,
    DiskTransfers,
    /// The busiest disk, percent.
    DiskBusy,
    /// Requests under way at all disks, mean over the interval.
    DiskQueue,
    /// TCP segments sent again, a second.
    SentAgain,
}

const NAMES: usize = 15;

/// All gauges of a recording.
#[derive(Clone, Debug)]
pub(crate) struct Gauges([Gauge; NAMES]);

impl Gauges {
    pub(crate) fn new() -> Self {
        let mut gauges = std::array::from_fn(|_| Gauge::new(Join::Sum));
        gauges[Name::DiskBusy as usize] = Gauge::new(Join::Max);
        Self(gauges)
    }

    pub(crate) fn get(&self, name: Name) -> &Gauge {
        &self.0[name as usize]
    }

    fn of(&mut self, name: Name) -> &mut Gauge {
        &mut self.0[name as usize]
    }

    pub(crate) fn close(&mut self) {
        self.0.iter_mut().for_each(Gauge::close);
    }
}

/// What a section feeds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Role {
    processors: Option<Processors>,
    feeds: Vec<Feed>,
    /// nmon on Linux writes zero for rates of which it has no first reading yet.
    first_is_zero: Vec<usize>,
}

/// Columns of a section that are summed (or of which the largest counts).
#[derive(Clone, Debug)]
struct Feed {
    name: Name,
    join: Join,
    columns: Vec<Counted>,
    /// The figures are counts of an interval, not rates.
    counts: bool,
}

/// Columns of `CPU_ALL`.
#[derive(Clone, Copy, Debug)]
struct Processors {
    user: usize,
    system: usize,
    wait: usize,
    idle: usize,
    steal: Option<usize>,
    count: Option<usize>,
    /// Processors when no column counts them.
    known: Option<f64>,
    aix: bool,
}

impl Role {
    /// The meaning of `section`, and the gauges told to expect it.
    pub(crate) fn of(
        section: &Section,
        system: System,
        cpus: Option<u32>,
        disks: &Disks<'_>,
        gauges: &mut Gauges,
    ) -> Self {
        let mut role = Self::default();
        let all = |names: &[&str]| -> Vec<usize> {
            let found: Vec<usize> = names.iter().filter_map(|name| section.place(name)).collect();
            if found.len() == names.len() { found } else { Vec::new() }
        };
        let name = section.name.trim_end_matches(|c: char| c.is_ascii_digit());
        match name {
            "CPU_ALL" => role.processors = Processors::of(section, system, cpus),
            "MEM" => role.sum(Name::Available, all(&["memfree", "cached", "buffers"])),
            "VM" => {
                role.count(Name::Paging, all(&["pswpin", "pswpout"]));
                role.count(Name::MajorFaults, all(&["pgmajfault"]));
            }
            "PAGE" => role.sum(Name::Paging, all(&["pgsin", "pgsout"])),
            "NET" => {
                role.sum(Name::NetRead, ends(section, READ, &counted_interfaces(section)));
                role.sum(Name::NetWrite, ends(section, WRITE, &counted_interfaces(section)));
            }
            "IBREAD" => role.sum(Name::RdmaRead, (0..section.columns.len()).collect()),
            "IBWRITE" => role.sum(Name::RdmaWrite, (0..section.columns.len()).collect()),
            "DISKREAD" => role.feed(Name::DiskRead, Join::Sum, disks.counted(section)),
            "DISKWRITE" => role.feed(Name::DiskWrite, Join::Sum, disks.counted(section)),
            "DISKXFER" => role.feed(Name::DiskTransfers, Join::Sum, disks.counted(section)),
            "DISKBUSY" => role.feed(Name::DiskBusy, Join::Max, disks.counted(section)),
            "QUEUE" => role.feed(Name::DiskQueue, Join::Sum, disks.counted(section)),
            "TCP" => role.count(Name::SentAgain, all(&["sent-again"])),
            "PROC" if system == System::Linux => {
                role.first_is_zero =
                    ["pswitch", "fork"].iter().filter_map(|name| section.place(name)).collect();
            }
            _ => {}
        }
        role.feeds.retain(|feed| !feed.columns.is_empty());
        for feed in &role.feeds {
            gauges.of(feed.name).expect();
        }
        if role.processors.is_some() {
            for name in [Name::Busy, Name::Cores] {
                gauges.of(name).expect();
            }
        }
        role
    }

    fn sum(&mut self, name: Name, columns: Vec<usize>) {
        self.feed(name, Join::Sum, all_of(columns));
    }

    fn count(&mut self, name: Name, columns: Vec<usize>) {
        self.feeds.push(Feed { name, join: Join::Sum, columns: all_of(columns), counts: true });
    }

    fn feed(&mut self, name: Name, join: Join, columns: Vec<Counted>) {
        self.feeds.push(Feed { name, join, columns, counts: false });
    }

    /// Columns in which the zero of the first snapshot means that nothing is known.
    pub(crate) fn unknown_at_first(&self) -> &[usize] {
        &self.first_is_zero
    }

    /// Books a row of snapshot `id`, whose interval is `seconds` long.
    pub(crate) fn row(&self, figures: &[f64], id: u64, seconds: f64, gauges: &mut Gauges) {
        if let Some(processors) = self.processors {
            processors.row(figures, id, seconds, gauges);
        }
        for feed in &self.feeds {
            let mut share = feed.share(figures);
            if feed.counts {
                share.value = share.value.map(|count| count / seconds);
            }
            gauges.of(feed.name).offer(id, seconds, share);
        }
    }
}

fn all_of(columns: Vec<usize>) -> Vec<Counted> {
    columns.into_iter().map(|column| Counted { column, multipath: None }).collect()
}

impl Feed {
    /// What a row says.
    fn share(&self, figures: &[f64]) -> Share {
        let mut share = Share::from(self.join.of_nothing());
        for Counted { column, multipath } in &self.columns {
            let figure = figure(figures, *column);
            match multipath {
                Some(Multipath::Path(disk)) => {
                    share.paths.push((*disk, figure));
                    continue;
                }
                Some(Multipath::Disk(disk)) if figure.is_some_and(|it| it > 0.0) => {
                    share.used.push(*disk);
                }
                Some(Multipath::Disk(_)) | None => {}
            }
            share.value = joined(self.join, share.value, figure);
        }
        share
    }
}

impl Processors {
    fn of(section: &Section, system: System, cpus: Option<u32>) -> Option<Self> {
        let physical = section.place("PhysicalCPUs");
        Some(Self {
            user: section.place("User%")?,
            system: section.place("Sys%")?,
            wait: section.place("Wait%")?,
            idle: section.place("Idle%")?,
            steal: section.place(STEAL),
            count: section.place("CPUs").or(physical),
            known: cpus.map(f64::from),
            aix: system == System::Aix || physical.is_some(),
        })
    }

    fn row(self, figures: &[f64], id: u64, seconds: f64, gauges: &mut Gauges) {
        let at = |column| figure(figures, column);
        let (user, system) = (at(self.user), at(self.system));
        let (wait, idle) = (at(self.wait), at(self.idle));
        let sum = |parts: &[Option<f64>]| parts.iter().copied().sum::<Option<f64>>();
        // where the hypervisor says nothing it is taken to have taken nothing
        let stolen = self.steal.and_then(at).unwrap_or(0.0);
        let busy = sum(&[idle, wait]).map(|free| (100.0 - free - stolen).clamp(0.0, 100.0));
        let used = if self.aix { sum(&[user, system]) } else { busy };
        let count = self.count.and_then(at).or(self.known);
        let cores = used.zip(count).map(|(percent, count)| percent / 100.0 * count);
        gauges.of(Name::Busy).offer(id, seconds, busy.into());
        gauges.of(Name::Cores).offer(id, seconds, cores.into());
    }
}

fn figure(figures: &[f64], column: usize) -> Option<f64> {
    figures.get(column).copied().filter(|figure| !figure.is_nan())
}

/// The column of what the hypervisor took.
pub(crate) const STEAL: &str = "Steal%";
pub(crate) const READ: &str = "-read-KB/s";
pub(crate) const WRITE: &str = "-write-KB/s";

/// The places of the columns of `names` that end with `ending`.
fn ends(section: &Section, ending: &str, names: &[&str]) -> Vec<usize> {
    let belongs =
        |title: &str| title.strip_suffix(ending).is_some_and(|name| names.contains(&name));
    (0..section.columns.len()).filter(|at| belongs(&section.columns[*at].name)).collect()
}

/// The interfaces whose traffic leaves the host, as far as their names tell: those of the lowest rank
/// that is there.
pub(crate) fn counted_interfaces(section: &Section) -> Vec<&str> {
    let names = interfaces(section);
    let ranked = || names.iter().filter_map(|name| Some((InterfaceRank::by_name(name)?, *name)));
    let lowest = ranked().map(|(rank, _)| rank).min();
    ranked().filter(|(rank, _)| Some(*rank) == lowest).map(|(_, name)| name).collect()
}

/// How surely the traffic of an interface leaves the host, the surest first. Those of the first rank
/// that is there are counted: what is built upon other interfaces would count their traffic twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InterfaceRank {
    /// A device.
    Device,
    /// Neither called like a device nor like what is built upon others.
    Other,
    /// Built upon others, or ending in this host: bonds, bridges, tunnels, VLANs, ends of veth.
    Built,
}

impl InterfaceRank {
    /// What a name tells; `None` of what never leaves the host, or stands for another interface: the
    /// loopback, `ifb0`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "lo" | "lo0" => None,
            _ if name.starts_with("ifb") => None,
            _ if is_device(name) => Some(Self::Device),
            _ if is_built(name) => Some(Self::Built),
            _ => Some(Self::Other),
        }
    }
}

/// True for names that kernels, udev and AIX give to devices: `eth0`, `ens1f0`, `em1`, `p2p1`,
/// `en0`, `ib0`.
fn is_device(name: &str) -> bool {
    const STARTS: [&str; 7] = ["en", "eth", "em", "ib", "wl", "hsi", "ww"];
    let slot = || {
        let port = name.strip_prefix('p')?.trim_start_matches(|c: char| c.is_ascii_digit());
        port.strip_prefix('p')?.chars().next()
    };
    let known = STARTS.iter().any(|start| name.starts_with(start));
    (known || slot().is_some_and(|c| c.is_ascii_digit())) && !is_vlan(name)
}

/// True for names of what is built upon other interfaces, or ends in this host.
fn is_built(name: &str) -> bool {
    const STARTS: [&str; 20] = [
        "bond", "team", "br", "virbr", "docker", "podman", "lxcbr", "lxdbr", "cni", "flannel",
        "cali", "veth", "vnet", "tun", "tap", "vlan", "vxlan", "dummy", "sit", "wg",
    ];
    STARTS.iter().any(|start| name.starts_with(start)) || is_vlan(name)
}

fn is_vlan(name: &str) -> bool {
    name.contains(['.', '@'])
}

/// Every interface of a NET section.
pub(crate) fn interfaces(section: &Section) -> Vec<&str> {
    section.columns.iter().filter_map(|column| column.name.strip_suffix(READ)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::tests::section;

    fn role_of(section: &Section, system: System, gauges: &mut Gauges) -> Role {
        Role::of(section, system, None, &Disks::of([section]), gauges)
    }

    #[test]
    fn a_path_counts_where_its_disk_does_not() {
        let disks = section("DISKREAD", &["nvme0c0n1", "nvme0n1", "nvme0c1n1", "sda"]);
        for (row, sum) in [([5.0, 8.0, 3.0, 1.0], 9.0), ([5.0, 0.0, 3.0, 1.0], 9.0)] {
            let mut gauges = Gauges::new();
            let role = role_of(&disks, System::Linux, &mut gauges);
            role.row(&row, 1, 1.0, &mut gauges);
            assert_eq!(gauges.get(Name::DiskRead).stat.max(), Some(sum), "{row:?}");
        }
    }

    #[test]
    fn only_traffic_that_leaves_the_host_is_counted() {
        let titles = ["lo", "bond0", "eth0", "eth1", "eth0.7", "br0"].map(|n| format!("{n}{READ}"));
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        assert_eq!(counted_interfaces(&section("NET", &titles)), ["eth0", "eth1"]);
        let counted = |names: &[&str]| {
            let titles: Vec<String> = names.iter().map(|name| format!("{name}{READ}")).collect();
            let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
            let section = section("NET", &titles);
            counted_interfaces(&section).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(counted(&["lo", "net1"]), ["net1"]);
        assert_eq!(counted(&["bond0", "em1", "p2p1", "virbr0"]), ["em1", "p2p1"]);
        assert_eq!(counted(&["docker0", "net1", "net1.7"]), ["net1"]);
        assert_eq!(counted(&["lo", "tun0"]), ["tun0"], "there is nothing else");
        assert_eq!(counted(&["wg0", "net1", "vxlan7"]), ["net1"]);
        assert!(counted(&["lo", "ifb0"]).is_empty());
    }

    #[test]
    fn processors_busy_follow_the_rule_of_the_system() {
        let columns = ["User%", "Sys%", "Wait%", "Idle%", "Steal%", "Busy", "CPUs"];
        let mut gauges = Gauges::new();
        let cpu = section("CPU_ALL", &columns);
        let role = role_of(&cpu, System::Linux, &mut gauges);
        role.row(&[10.0, 5.0, 20.0, 60.0, 5.0, f64::NAN, 4.0], 1, 1.0, &mut gauges);
        assert_eq!(gauges.get(Name::Cores).stat.max(), Some(0.6), "what was stolen is not busy");
        assert_eq!(gauges.get(Name::Busy).stat.max(), Some(15.0));
        role.row(&[10.0, 5.0, 20.0, 60.0, f64::NAN, f64::NAN, 4.0], 2, 1.0, &mut gauges);
        assert_eq!(gauges.get(Name::Cores).stat.max(), Some(0.8), "nobody says what was");

        let mut gauges = Gauges::new();
        let cpu = section("CPU_ALL", &["User%", "Sys%", "Wait%", "Idle%", "Busy", "PhysicalCPUs"]);
        let role = role_of(&cpu, System::Aix, &mut gauges);
        role.row(&[50.0, 25.0, 5.0, 20.0, f64::NAN, 2.0], 1, 1.0, &mut gauges);
        assert_eq!(gauges.get(Name::Cores).stat.max(), Some(1.5));
    }

    #[test]
    fn counts_of_an_interval_become_rates() {
        let mut gauges = Gauges::new();
        let vm = section("VM", &["pswpin", "pswpout", "pgmajfault"]);
        let role = role_of(&vm, System::Linux, &mut gauges);
        role.row(&[10.0, 20.0, f64::NAN], 1, 10.0, &mut gauges);
        assert_eq!(gauges.get(Name::Paging).stat.max(), Some(3.0));
        assert_eq!(gauges.get(Name::MajorFaults).stat.missing(), 1);
    }
}
