//! `/proc/vmstat`: paging.

use super::{Counters, Unreadable};
use crate::fields::{Words, lines};

/// Counters of `/proc/vmstat` since the start; pages are those of the processor (4 KiB on most).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vmstat {
    /// kB read from any block device; not paging.
    pub block_in_kb: u64,
    /// kB written to any block device; not paging.
    pub block_out_kb: u64,
    /// Pages brought back from the swap space.
    pub swapped_in: u64,
    /// Pages written to the swap space.
    pub swapped_out: u64,
    /// Page faults of any kind.
    pub faults: u64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Pages of programs that were evicted and needed again.
    pub refaults_anonymous: u64,
    /// Pages of files that were evicted and needed again; all of them before Linux 5.9.
    pub refaults_file: u64,
    /// Times that a program had to free memory itself before it got any.
    pub direct_reclaims: u64,
    /// Processes killed for want of memory.
    pub oom_kills: u64,
}

impl Counters for Vmstat {
    fn parse(&mut self, text: &[u8]) -> Result<(), Unreadable> {
        *self = Self::default();
        let mut found = false;
        for line in lines(text) {
            // most of the two hundred lines are of no interest here: told by their first letters
            let Some(b"pgpg" | b"pswp" | b"pgfa" | b"pgma" | b"work" | b"oom_" | b"allo") =
                line.first_chunk()
            else {
                continue;
            };
            let mut words = Words::of(line);
            let Some(name) = words.next() else { continue };
            let place = match name {
                b"pgpgin" => &mut self.block_in_kb,
                b"pgpgout" => &mut self.block_out_kb,
                b"pswpin" => &mut self.swapped_in,
                b"pswpout" => &mut self.swapped_out,
                b"pgfault" => &mut self.faults,
                b"pgmajfault" => &mut self.major_faults,
                b"workingset_refault_anon" => &mut self.refaults_anonymous,
                b"workingset_refault_file" | b"workingset_refault" => &mut self.refaults_file,
                b"oom_kill" => &mut self.oom_kills,
                _ if name.starts_with(b"allocstall") => {
                    let zone = words.number().unwrap_or(0);
                    self.direct_reclaims = self.direct_reclaims.saturating_add(zone);
                    continue;
                }
                _ => continue,
            };
            *place = words.number().unwrap_or(0);
            found = true;
        }
        if found { Ok(()) } else { Err(Unreadable("counter of paging")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::parsed;

    #[test]
    fn paging_of_a_new_and_of_an_old_kernel() {
        let new: Vmstat = parsed(
            "nr_free_pages 9\nworkingset_refault_anon 1\nworkingset_refault_file 2\npswpin 3\n\
             pswpout 4\nallocstall_dma 5\nallocstall_normal 6\npgmajfault 7\n",
        );
        assert_eq!((new.refaults_anonymous, new.refaults_file), (1, 2));
        assert_eq!((new.swapped_in, new.swapped_out, new.major_faults), (3, 4, 7));
        assert_eq!(new.direct_reclaims, 11);
        let old: Vmstat = parsed("workingset_refault 8\npswpin 3\n");
        assert_eq!(old.refaults_file, 8);
    }
}
