//! Disks.

use plumb_procfs::Label;
use plumb_procfs::counter::{float, moved, moved_32, per_s, percent, ratio};
use plumb_procfs::kernel::{Disk, DiskKind};
use serde::{Deserialize, Serialize};

use super::earlier;
use crate::snapshot::Snapshot;

/// Bytes of a sector in `/proc/diskstats`, whatever the disk's own are.
const SECTOR: f64 = 512.0;

/// One block device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskSample {
    /// Its name.
    pub name: Label,
    /// What it stands for; sums are made over whole disks only.
    pub kind: DiskKind,
    /// Reads completed a second.
    pub reads_per_s: f64,
    /// Writes completed a second.
    pub writes_per_s: f64,
    /// Bytes read a second.
    pub read_bytes_per_s: f64,
    /// Bytes written a second.
    pub write_bytes_per_s: f64,
    /// Mean time of a read, queue included; absent without reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_ms: Option<f64>,
    /// Mean time of a write, queue included; absent without writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_ms: Option<f64>,
    /// Requests under way, mean over the interval (perfmon: Avg. Disk Queue Length).
    pub queue_mean: f64,
    /// Requests under way at the end of the interval.
    pub queue_now: u64,
    /// Share of the interval with a request under way. A disk that serves many at once has room
    /// left even at 100.
    pub busy_pct: f64,
}

pub(super) fn each(before: &Snapshot, now: &Snapshot, samples: &mut Vec<DiskSample>) {
    samples.clear();
    let Some((before, now, interval_ns)) = now.diskstats.since(&before.diskstats) else { return };
    for (place, disk) in now.disks.iter().enumerate() {
        let earlier = earlier(&before.disks, place, |earlier| earlier.name == disk.name);
        samples.extend(earlier.and_then(|earlier| between(earlier, disk, interval_ns)));
    }
}

/// `None` when any counter began again: another disk has taken the name.
fn between(before: &Disk, now: &Disk, interval_ns: u64) -> Option<DiskSample> {
    let reads = moved(now.reads, before.reads)?;
    let writes = moved(now.writes, before.writes)?;
    let sectors_read = moved(now.sectors_read, before.sectors_read)?;
    let sectors_written = moved(now.sectors_written, before.sectors_written)?;
    // the times are milliseconds in 32 bits, which are through after 49 days
    let read_ms = moved_32(now.read_ms, before.read_ms)?;
    let write_ms = moved_32(now.write_ms, before.write_ms)?;
    let busy_ms = moved_32(now.busy_ms, before.busy_ms)?;
    let queue_ms = moved_32(now.queue_ms, before.queue_ms)?;
    let mean = |ms: u64, count: u64| (count > 0).then(|| ratio(ms, count));
    Some(DiskSample {
        name: now.name,
        kind: now.kind,
        reads_per_s: per_s(reads, interval_ns),
        writes_per_s: per_s(writes, interval_ns),
        read_bytes_per_s: per_s(sectors_read, interval_ns) * SECTOR,
        write_bytes_per_s: per_s(sectors_written, interval_ns) * SECTOR,
        read_ms: mean(read_ms, reads),
        write_ms: mean(write_ms, writes),
        queue_mean: float(queue_ms) * 1e6 / float(interval_ns),
        queue_now: now.in_flight,
        // the kernel counts in its ticks, so a busy interval may seem longer than it was
        busy_pct: percent(busy_ms.saturating_mul(1_000_000), interval_ns).min(100.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_wrap_after_49_days() {
        let before =
            Disk { reads: 10, read_ms: 4_294_967_290, busy_ms: 4_294_967_000, ..Disk::default() };
        let now =
            Disk { reads: 14, sectors_read: 8, read_ms: 6, busy_ms: 204, queue_ms: 500, ..before };
        let seen = between(&before, &now, 1_000_000_000).unwrap();
        assert!((seen.read_ms.unwrap() - 3.0).abs() < 1e-9);
        assert!((seen.busy_pct - 50.0).abs() < 1e-9);
        assert!((seen.queue_mean - 0.5).abs() < 1e-9);
        assert!((seen.read_bytes_per_s - 4096.0).abs() < 1e-9);
        assert_eq!(seen.write_ms, None);
    }

    #[test]
    fn another_disk_of_the_name_is_not_compared() {
        let before = Disk { reads: 1000, writes: 5, ..Disk::default() };
        let now = Disk { reads: 3, writes: 6, ..Disk::default() };
        assert_eq!(between(&before, &now, 1), None);
    }
}
