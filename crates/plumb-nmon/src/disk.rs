//! Disks, each of which is counted once.

use std::collections::{HashMap, HashSet};

use crate::section::Section;

/// The names of the disks of a recording. nmon splits many of them over several sections, so that
/// only all of these together tell what a name stands for.
pub(crate) struct Disks<'a> {
    /// By what is told of them, `DISKREAD` with all its numbered sections for example.
    names: HashMap<&'a str, HashSet<&'a str>>,
    /// The disks to which there are paths, numbered.
    multipath: HashMap<&'a str, usize>,
}

/// A disk that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) column: usize,
    /// Its place in NVMe multipath, where it has one.
    pub(crate) multipath: Option<Multipath>,
}

/// A disk that is reached by several paths, or one of these, with the number of the disk. Where the
/// disk has done anything, it has counted what its paths did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Multipath {
    /// The disk itself.
    Disk(usize),
    /// A path to it, which may stand in another section.
    Path(usize),
}

impl<'a> Disks<'a> {
    pub(crate) fn of(sections: impl IntoIterator<Item = &'a Section>) -> Self {
        let mut names: HashMap<&str, HashSet<&str>> = HashMap::new();
        for section in sections {
            let kind = kind(section);
            if kind.starts_with("DISK") || kind == "QUEUE" {
                let disks = section.columns.iter().map(|column| column.name.as_str());
                names.entry(kind).or_default().extend(disks);
            }
        }
        let mut multipath = HashMap::new();
        for names in names.values() {
            let disks = names.iter().filter_map(|name| names.get(disk_of(name)?.as_str()));
            for disk in disks {
                let number = multipath.len();
                multipath.entry(*disk).or_insert(number);
            }
        }
        Self { names, multipath }
    }

    /// The disks of `section` whose transfers are counted once: no partitions where their disk is
    /// there, and nothing that is built upon other disks (LVM, RAID, multipath) where those are
    /// there.
    pub(crate) fn counted(&self, section: &Section) -> Vec<Counted> {
        let Some(names) = self.names.get(kind(section)) else { return Vec::new() };
        let any = names.iter().any(|name| is_whole(name, names));
        let columns = section.columns.iter().enumerate();
        let counted = columns.filter(|(_, column)| !any || is_whole(&column.name, names));
        let multipath = |name: &str| match self.multipath.get(name) {
            Some(number) => Some(Multipath::Disk(*number)),
            None => self.path_to(section, name).map(|disk| Multipath::Path(self.multipath[disk])),
        };
        counted.map(|(column, it)| Counted { column, multipath: multipath(&it.name) }).collect()
    }

    /// The disk to which `name` in `section` is a path, where that is in it or in one of its kind.
    pub(crate) fn path_to(&self, section: &Section, name: &str) -> Option<&'a str> {
        let disk = disk_of(name)?;
        self.names.get(kind(section))?.get(disk.as_str()).copied()
    }
}

/// The name of a section without the number that it has where there are several of its kind.
fn kind(section: &Section) -> &str {
    section.name.trim_end_matches(|c: char| c.is_ascii_digit())
}

fn is_whole(name: &str, names: &HashSet<&str>) -> bool {
    const BUILT_UPON_OTHERS: [&str; 11] = [
        "dm-",
        "md",
        "loop",
        "drbd",
        "bcache",
        "emcpower",
        "zd",
        "zram",
        "ram",
        "hdiskpower",
        "vpath",
    ];
    let built = BUILT_UPON_OTHERS.iter().any(|start| name.starts_with(start));
    let disk = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_there = |disk: &str| disk.len() < name.len() && names.contains(disk);
    let partition = is_there(disk) || disk.strip_suffix('p').is_some_and(is_there);
    !built && !partition
}

/// `nvme0n2` for `nvme0c1n2`: the disk of a path of NVMe multipath. Linux counts at both since 6.4, and
/// at the paths alone before.
fn disk_of(path: &str) -> Option<String> {
    let (subsystem, rest) = path.strip_prefix("nvme")?.split_once('c')?;
    let (_, namespace) = rest.split_once('n')?;
    Some(format!("nvme{subsystem}n{namespace}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::tests::section;

    fn counted(sections: &[Section]) -> Vec<Vec<usize>> {
        let disks = Disks::of(sections);
        let columns = |section| disks.counted(section).iter().map(|it| it.column).collect();
        sections.iter().map(columns).collect()
    }

    #[test]
    fn partitions_and_volumes_are_not_counted_again() {
        let disks = ["sda", "sda1", "sda2", "dm-0", "nvme0n1", "nvme0n1p1", "vdb"];
        assert_eq!(counted(&[section("DISKREAD", &disks)]), [[0, 4, 6]]);
        assert_eq!(counted(&[section("DISKREAD", &["hdisk0", "hdisk1"])]), [[0, 1]]);
        let disks = ["sda", "sdb", "drbd0", "bcache0", "emcpowera", "emcpowera1", "zd0", "zd16p1"];
        assert_eq!(counted(&[section("DISKWRITE", &disks)]), [[0, 1]]);
        assert_eq!(counted(&[section("DISKREAD", &["dm-0", "dm-1"])]), [[0, 1]]);
    }

    #[test]
    fn the_sections_of_many_disks_are_looked_at_together() {
        let sections = [
            section("DISKREAD", &["sda", "sda1", "sdbx"]),
            section("DISKREAD1", &["sdbx1", "sdby", "dm-0"]),
            section("DISKREAD2", &["dm-1", "dm-2"]),
            section("DISKWRITE", &["dm-1", "dm-2"]),
        ];
        assert_eq!(counted(&sections), [vec![0, 2], vec![1], vec![], vec![0, 1]]);
    }

    #[test]
    fn a_path_knows_its_disk_whatever_section_that_is_in() {
        let sections = [
            section("DISKXFER", &["nvme0c0n1", "nvme0n1", "nvme1n1"]),
            section("DISKXFER1", &["nvme0c1n1", "nvme0n1p1", "nvme2c2n1", "sdc"]),
            section("DISKREAD", &["nvme2n1"]),
        ];
        let disks = Disks::of(&sections);
        let found = |section| -> Vec<_> {
            disks.counted(section).iter().map(|it| (it.column, it.multipath)).collect()
        };
        let (disk, path) = (Some(Multipath::Disk(0)), Some(Multipath::Path(0)));
        assert_eq!(found(&sections[0]), [(0, path), (1, disk), (2, None)]);
        assert_eq!(
            found(&sections[1]),
            [(0, path), (2, None), (3, None)],
            "the disk of the second is not among those whose transfers are told"
        );
        assert_eq!(disks.path_to(&sections[1], "nvme0c1n1"), Some("nvme0n1"));
        assert_eq!(disk_of("nvme1c0n11").as_deref(), Some("nvme1n11"));
    }
}
