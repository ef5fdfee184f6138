//! `/proc/meminfo`: where the memory is.

use super::{Counters, Unreadable};
use crate::fields::{Words, lines};

/// The figures of `/proc/meminfo` in kB (of 1,024 bytes) unless said otherwise.
///
/// # Source
/// proc_meminfo(5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meminfo {
    /// All of it.
    pub total: u64,
    /// Used for nothing.
    pub free: u64,
    /// What programs may still take without paging; absent before Linux 3.14.
    pub available: Option<u64>,
    /// Buffers of block devices.
    pub buffers: u64,
    /// Pages of files.
    pub cached: u64,
    /// Pages that lie in memory and in the swap space.
    pub swap_cached: u64,
    /// Used lately.
    pub active: u64,
    /// Not used lately.
    pub inactive: u64,
    /// Memory of programs that no file stands behind.
    pub anonymous: u64,
    /// Shared memory and tmpfs.
    pub shared: u64,
    /// The kernel's caches of its objects.
    pub slab: u64,
    /// Of these, what can be taken back.
    pub slab_reclaimable: u64,
    /// Pages that wait to be written.
    pub dirty: u64,
    /// Pages that are being written.
    pub writeback: u64,
    /// Swap space.
    pub swap_total: u64,
    /// Swap space that is free.
    pub swap_free: u64,
    /// High memory (32-bit machines).
    pub high_total: u64,
    /// High memory that is free.
    pub high_free: u64,
    /// Low memory (32-bit machines).
    pub low_total: u64,
    /// Low memory that is free.
    pub low_free: u64,
    /// Memory promised to programs.
    pub committed: u64,
    /// Huge pages reserved, a count.
    pub huge_pages: u64,
    /// Of these free, a count.
    pub huge_pages_free: u64,
    /// Size of one huge page.
    pub huge_page: u64,
}

impl Counters for Meminfo {
    fn parse(&mut self, text: &[u8]) -> Result<(), Unreadable> {
        *self = Self::default();
        let mut total = None;
        for line in lines(text) {
            let mut words = Words::of(line);
            let Some(name) = words.next() else { continue };
            let place = match name {
                b"MemTotal:" => {
                    total = words.number();
                    continue;
                }
                b"MemAvailable:" => {
                    self.available = words.number();
                    continue;
                }
                b"MemFree:" => &mut self.free,
                b"Buffers:" => &mut self.buffers,
                b"Cached:" => &mut self.cached,
                b"SwapCached:" => &mut self.swap_cached,
                b"Active:" => &mut self.active,
                b"Inactive:" => &mut self.inactive,
                b"AnonPages:" => &mut self.anonymous,
                b"Shmem:" => &mut self.shared,
                b"Slab:" => &mut self.slab,
                b"SReclaimable:" => &mut self.slab_reclaimable,
                b"Dirty:" => &mut self.dirty,
                b"Writeback:" => &mut self.writeback,
                b"SwapTotal:" => &mut self.swap_total,
                b"SwapFree:" => &mut self.swap_free,
                b"HighTotal:" => &mut self.high_total,
                b"HighFree:" => &mut self.high_free,
                b"LowTotal:" => &mut self.low_total,
                b"LowFree:" => &mut self.low_free,
                b"Committed_AS:" => &mut self.committed,
                b"HugePages_Total:" => &mut self.huge_pages,
                b"HugePages_Free:" => &mut self.huge_pages_free,
                b"Hugepagesize:" => &mut self.huge_page,
                _ => continue,
            };
            *place = words.number().unwrap_or(0);
        }
        self.total = total.ok_or(Unreadable("line `MemTotal:`"))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::parsed;

    #[test]
    fn memory_of_a_new_and_of_an_old_kernel() {
        let new: Meminfo = parsed("MemTotal: 100 kB\nMemFree:  40 kB\nMemAvailable: 70 kB\n");
        assert_eq!((new.total, new.free, new.available), (100, 40, Some(70)));
        let old: Meminfo = parsed("MemTotal: 100 kB\nMemFree:  40 kB\nHugePages_Total:    3\n");
        assert_eq!((old.available, old.huge_pages), (None, 3));
    }
}
