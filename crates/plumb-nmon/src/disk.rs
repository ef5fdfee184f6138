//! Disks, each of which is counted once.

use std::collections::{HashMap, HashSet};

use crate::section::Section;

/// The names of the disks of a recording. nmon splits many of them over several sections, so that
/// only all of these together tell what a name stands for.
pub(crate) struct Disks<'a> {
    /// By what is told of them, `DISKREAD` with all its numbered sections for example.
    names: HashMap<&'a str, HashSet<&'a str>>,
}

/// A disk that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) column: usize,
    /// The column of the disk to which this is a path: where that one has done anything, it has
    /// counted this one's as well.
    pub(crate) path_to: Option<usize>,
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
        Self { names }
    }

    /// The disks of `section` whose transfers are counted once: no partitions where their disk is
    /// there, and nothing that is built upon other disks (LVM, RAID, multipath) where those are
    /// there.
    pub(crate) fn counted(&self, section: &Section) -> Vec<Counted> {
        let Some(names) = self.names.get(kind(section)) else { return Vec::new() };
        let any = names.iter().any(|name| is_whole(name, names));
        let columns = section.columns.iter().enumerate();
        let counted = columns.filter(|(_, column)| !any || is_whole(&column.name, names));
        let head = |path: &str| section.columns.iter().position(|it| is_path_to(path, &it.name));
        counted.map(|(column, it)| Counted { column, path_to: head(&it.name) }).collect()
    }
}

/// The name of a section without the number that it has where there are several of its kind.
fn kind(section: &Section) -> &str {
    section.name.trim_end_matches(|c: char| c.is_ascii_digit())
}

fn is_whole(name: &str, names: &HashSet<&str>) -> bool {
    const BUILT_UPON_OTHERS: [&str; 7] =
        ["dm-", "md", "loop", "zram", "ram", "hdiskpower", "vpath"];
    let built = BUILT_UPON_OTHERS.iter().any(|start| name.starts_with(start));
    let disk = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_there = |disk: &str| disk.len() < name.len() && names.contains(disk);
    let partition = is_there(disk) || disk.strip_suffix('p').is_some_and(is_there);
    !built && !partition
}

/// True for `nvme0c1n2` and `nvme0n2`: a path of NVMe multipath, and its disk. Linux counts at both
/// since 6.4, and at the paths alone before.
fn is_path_to(path: &str, disk: &str) -> bool {
    let parts = || {
        let (subsystem, rest) = path.strip_prefix("nvme")?.split_once('c')?;
        Some((subsystem, rest.split_once('n')?.1))
    };
    let of_disk = || disk.strip_prefix("nvme")?.split_once('n');
    parts().is_some_and(|parts| of_disk() == Some(parts))
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
    fn a_path_knows_its_disk() {
        let names = ["nvme0c0n1", "nvme0n1", "nvme0c1n1", "nvme1n1", "nvme0n1p1", "nvme2c2n1"];
        let sections = [section("DISKXFER", &names)];
        let paths: Vec<_> = Disks::of(&sections)
            .counted(&sections[0])
            .iter()
            .map(|it| (it.column, it.path_to))
            .collect();
        assert_eq!(
            paths,
            [(0, Some(1)), (1, None), (2, Some(1)), (3, None), (5, None)],
            "the disk of the last is not among them"
        );
        assert!(!is_path_to("nvme1c0n1", "nvme11n1") && !is_path_to("sdc", "sdc1"));
    }
}
