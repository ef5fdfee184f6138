//! Memory and paging.

use plumb_procfs::counter::{moved, per_s};
use serde::{Deserialize, Serialize};

use crate::snapshot::Snapshot;

/// Where the memory is, at the end of the interval, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemorySample {
    /// All of it.
    pub total_bytes: u64,
    /// Used for nothing.
    pub free_bytes: u64,
    /// What programs may still take without paging; absent before Linux 3.14.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_bytes: Option<u64>,
    /// Pages of files, and what the kernel can free of its caches of objects.
    pub cached_bytes: u64,
    /// Of this, what the kernel can free of its caches of objects.
    #[serde(default)]
    pub slab_reclaimable_bytes: u64,
    /// Buffers of block devices.
    pub buffers_bytes: u64,
    /// Memory of programs that no file stands behind.
    pub anonymous_bytes: u64,
    /// Shared memory and tmpfs.
    pub shared_bytes: u64,
    /// The kernel's caches of its objects.
    pub slab_bytes: u64,
    /// Pages that wait to be written.
    pub dirty_bytes: u64,
    /// Used lately.
    pub active_bytes: u64,
    /// Not used lately.
    pub inactive_bytes: u64,
    /// Swap space.
    pub swap_total_bytes: u64,
    /// Swap space that is used.
    pub swap_used_bytes: u64,
    /// Pages that lie in memory and in the swap space.
    pub swap_cached_bytes: u64,
    /// Memory reserved as huge pages.
    pub huge_bytes: u64,
    /// Of this, what nobody uses.
    pub huge_free_bytes: u64,
}

impl MemorySample {
    /// Memory that programs cannot have: all of it but what is available, or but what is free or
    /// caches files where the kernel does not tell.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        let reclaimable = self.free_bytes + self.cached_bytes + self.buffers_bytes;
        self.total_bytes.saturating_sub(self.available_bytes.unwrap_or(reclaimable))
    }
}

/// Paging. What counts is `swapped_in` and `swapped_out` together with `major_faults`; reading and
/// writing files is no paging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PagingSample {
    /// Pages brought back from the swap space.
    pub swapped_in: u64,
    /// Pages written to the swap space.
    pub swapped_out: u64,
    /// Both, a second (perfmon: Memory\Pages/sec).
    pub swapped_per_s: f64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Page faults of any kind, a second.
    pub faults_per_s: f64,
    /// Pages of programs that were evicted and needed again.
    pub refaults_anonymous: u64,
    /// Pages of files that were evicted and needed again.
    pub refaults_file: u64,
    /// Times that a program had to free memory itself before it got any.
    pub direct_reclaims: u64,
    /// Processes killed for want of memory.
    pub oom_kills: u64,
    /// Read from all block devices, bytes a second.
    pub block_in_bytes_per_s: f64,
    /// Written to all block devices, bytes a second.
    pub block_out_bytes_per_s: f64,
}

pub(super) fn memory(before: &Snapshot, now: &Snapshot) -> Option<MemorySample> {
    let memory = now.meminfo.get().filter(|_| now.meminfo.is_newer_than(before))?;
    let bytes = |kb: u64| kb.saturating_mul(1024);
    let huge = |pages: u64| bytes(memory.huge_page.saturating_mul(pages));
    Some(MemorySample {
        total_bytes: bytes(memory.total),
        free_bytes: bytes(memory.free),
        available_bytes: memory.available.map(bytes),
        cached_bytes: bytes(memory.cached.saturating_add(memory.slab_reclaimable)),
        slab_reclaimable_bytes: bytes(memory.slab_reclaimable),
        buffers_bytes: bytes(memory.buffers),
        anonymous_bytes: bytes(memory.anonymous),
        shared_bytes: bytes(memory.shared),
        slab_bytes: bytes(memory.slab),
        dirty_bytes: bytes(memory.dirty),
        active_bytes: bytes(memory.active),
        inactive_bytes: bytes(memory.inactive),
        swap_total_bytes: bytes(memory.swap_total),
        swap_used_bytes: bytes(memory.swap_total.saturating_sub(memory.swap_free)),
        swap_cached_bytes: bytes(memory.swap_cached),
        huge_bytes: huge(memory.huge_pages),
        huge_free_bytes: huge(memory.huge_pages_free),
    })
}

pub(super) fn paging(before: &Snapshot, now: &Snapshot) -> Option<PagingSample> {
    let is_new = now.vmstat.is_newer_than(before);
    let (before, now, interval_ns) = now.vmstat.since(&before.vmstat).filter(|_| is_new)?;
    let swapped_in = moved(now.swapped_in, before.swapped_in)?;
    let swapped_out = moved(now.swapped_out, before.swapped_out)?;
    let kb_per_s = |now, before| Some(per_s(moved(now, before)?.saturating_mul(1024), interval_ns));
    Some(PagingSample {
        swapped_in,
        swapped_out,
        swapped_per_s: per_s(swapped_in.saturating_add(swapped_out), interval_ns),
        major_faults: moved(now.major_faults, before.major_faults)?,
        faults_per_s: per_s(moved(now.faults, before.faults)?, interval_ns),
        refaults_anonymous: moved(now.refaults_anonymous, before.refaults_anonymous)?,
        refaults_file: moved(now.refaults_file, before.refaults_file)?,
        direct_reclaims: moved(now.direct_reclaims, before.direct_reclaims)?,
        oom_kills: moved(now.oom_kills, before.oom_kills)?,
        block_in_bytes_per_s: kb_per_s(now.block_in_kb, before.block_in_kb)?,
        block_out_bytes_per_s: kb_per_s(now.block_out_kb, before.block_out_kb)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::parsed;
    use crate::snapshot::Part;
    use plumb_procfs::kernel::{Meminfo, Vmstat};

    #[test]
    fn an_old_kernel_leaves_available_absent() {
        let meminfo: Meminfo = parsed("MemTotal: 100 kB\nMemFree: 20 kB\nCached: 30 kB\n");
        let now = Snapshot { meminfo: Part::new(1, meminfo), ..Snapshot::default() };
        let memory = memory(&Snapshot::default(), &now).unwrap();
        assert_eq!((memory.available_bytes, memory.used_bytes()), (None, 50 * 1024));
    }

    #[test]
    fn counters_that_begin_again_leave_the_interval_out() {
        let at = |at_ns: u64, text: &str| Snapshot {
            vmstat: Part::new(at_ns, parsed::<Vmstat>(text)),
            ..Snapshot::default()
        };
        let before = at(0, "pswpin 10\npswpout 10\npgmajfault 5\n");
        let now = at(2_000_000_000, "pswpin 30\npswpout 10\npgmajfault 6\n");
        let paging_seen = paging(&before, &now).unwrap();
        assert_eq!((paging_seen.swapped_in, paging_seen.major_faults), (20, 1));
        assert!((paging_seen.swapped_per_s - 10.0).abs() < 1e-9);
        assert_eq!(paging(&now, &at(3_000_000_000, "pswpin 1\npswpout 1\n")), None);
    }
}
