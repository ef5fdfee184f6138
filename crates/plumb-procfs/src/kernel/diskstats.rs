//! `/proc/diskstats`: disks and partitions.

use super::{Counters, Unreadable};
use crate::fields::{Words, lines};
use crate::label::Label;

/// What a block device stands for. Sums are made over whole disks only: a partition and a device
/// on top of others repeat what their disk counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskKind {
    /// A disk.
    #[default]
    Whole,
    /// A part of one.
    Partition,
    /// On top of others: device mapper, RAID, loop; or a path to a disk that counts itself.
    Stacked,
    /// Memory: ram, zram.
    Memory,
}

/// Counters of one block device since it appeared.
///
/// # Source
/// Documentation/admin-guide/iostats.rst of the kernel. Times are milliseconds in 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// Its name.
    pub name: Label,
    /// What it stands for.
    pub kind: DiskKind,
    /// Reads completed.
    pub reads: u64,
    /// Sectors of 512 bytes read.
    pub sectors_read: u64,
    /// Sum of the times of all reads, ms.
    pub read_ms: u64,
    /// Writes completed.
    pub writes: u64,
    /// Sectors of 512 bytes written.
    pub sectors_written: u64,
    /// Sum of the times of all writes, ms.
    pub write_ms: u64,
    /// Requests under way, now.
    pub in_flight: u64,
    /// Time with a request under way, ms.
    pub busy_ms: u64,
    /// Sum over time of the requests under way, ms.
    pub queue_ms: u64,
}

/// The counters of `/proc/diskstats`; devices that never did anything are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diskstats {
    /// The devices, in the kernel's order.
    pub disks: Vec<Disk>,
}

impl Counters for Diskstats {
    fn parse(&mut self, text: &[u8]) -> Result<(), Unreadable> {
        self.disks.clear();
        let mut lines = lines(text).filter(|line| !line.is_empty()).peekable();
        let some = lines.peek().is_some();
        let mut known = false;
        for line in lines {
            let Some((disk, used)) = disk(line) else { continue };
            known = true;
            if used {
                self.disks.push(disk);
            }
        }
        if some && !known { Err(Unreadable("line with eleven counters")) } else { Ok(()) }
    }
}

/// The device of a line, and whether it ever did anything. Partitions of kernels before 2.6.25,
/// with four counters, are left out.
fn disk(line: &[u8]) -> Option<(Disk, bool)> {
    let mut words = Words::of(line);
    let (_major, _minor, name) = (words.number()?, words.number()?, words.next()?);
    let mut disk = Disk { name: Label::new(name), ..Disk::default() };
    let (mut merged_reads, mut merged_writes) = (0, 0); // joined to others, and not used
    for column in [
        &mut disk.reads,
        &mut merged_reads,
        &mut disk.sectors_read,
        &mut disk.read_ms,
        &mut disk.writes,
        &mut merged_writes,
        &mut disk.sectors_written,
        &mut disk.write_ms,
        &mut disk.in_flight,
        &mut disk.busy_ms,
        &mut disk.queue_ms,
    ] {
        *column = words.number()?;
    }
    let was_used = disk.reads > 0 || disk.writes > 0 || disk.in_flight > 0;
    Some((disk, was_used))
}

impl DiskKind {
    /// What a name stands for where nothing else tells.
    pub(crate) fn by_name(name: &str) -> Self {
        const STACKED: [&str; 8] = ["dm-", "md", "loop", "drbd", "bcache", "nbd", "emcpower", "zd"];
        const NUMBERED: [&str; 2] = ["nvme", "mmcblk"]; // disks end with a number, parts with pN
        const LETTERED: [&str; 4] = ["sd", "vd", "hd", "xvd"]; // disks end with a letter, parts with N
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let ends_with_number = stem.len() < name.len();
        let is_part =
            ends_with_number && (begins(&LETTERED) || (begins(&NUMBERED) && stem.ends_with('p')));
        match name {
            _ if begins(&STACKED) => Self::Stacked,
            _ if begins(&["ram", "zram"]) => Self::Memory,
            _ if is_part => Self::Partition,
            _ => Self::Whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::parsed;

    #[test]
    fn columns_of_three_ages_are_read() {
        let disks: Diskstats = parsed(
            "   8       0 sda 10 1 80 5 20 2 160 9 3 12 14\n\
             259       0 nvme0n1 1 0 8 1 2 0 16 2 0 3 3 0 0 0 0 7 8\n\
             \x20  7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n   8       1 sda1 1 2 3 4\n",
        );
        let names: Vec<&str> = disks.disks.iter().map(|disk| disk.name.as_str()).collect();
        assert_eq!(names, ["sda", "nvme0n1"], "loop0 did nothing, sda1 is of an old kernel");
        let sda = disks.disks[0];
        assert_eq!((sda.reads, sda.sectors_read, sda.read_ms), (10, 80, 5));
        assert_eq!((sda.writes, sda.sectors_written, sda.write_ms), (20, 160, 9));
        assert_eq!((sda.in_flight, sda.busy_ms, sda.queue_ms), (3, 12, 14));
    }

    #[test]
    fn a_name_tells_disks_from_their_parts() {
        for (name, kind) in [
            ("sda", DiskKind::Whole),
            ("sda12", DiskKind::Partition),
            ("vda1", DiskKind::Partition),
            ("nvme0n1", DiskKind::Whole),
            ("nvme0n1p2", DiskKind::Partition),
            ("mmcblk0p1", DiskKind::Partition),
            ("dm-0", DiskKind::Stacked),
            ("md127", DiskKind::Stacked),
            ("emcpowera", DiskKind::Stacked),
            ("zd16", DiskKind::Stacked),
            ("zram0", DiskKind::Memory),
            ("sr0", DiskKind::Whole),
        ] {
            assert_eq!(DiskKind::by_name(name), kind, "{name}");
        }
    }

    #[test]
    fn a_machine_without_disks_is_no_error() {
        assert!(parsed::<Diskstats>("").disks.is_empty());
    }
}
