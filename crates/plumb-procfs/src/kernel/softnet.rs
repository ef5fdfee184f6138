//! `/proc/net/softnet_stat`: packets that a processor took from its queues.

use super::{Counters, Unreadable};
use crate::fields::{Words, hexadecimal, lines};

/// Counters of one processor, of 32 bits each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoftnetLine {
    /// Its number; that of the line where the kernel does not write it (before 5.10).
    pub cpu: u32,
    /// Packets taken.
    pub processed: u64,
    /// Packets thrown away because the queue of this processor was full.
    pub dropped: u64,
    /// Times that the budget ran out before the queue was empty.
    pub squeezed: u64,
    /// Packets handed over by another processor (receive packet steering).
    pub steered: u64,
    /// Packets in the queue, now; absent where the kernel does not write it.
    pub backlog: Option<u64>,
}

/// The counters of `/proc/net/softnet_stat`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Softnet {
    /// Each processor that is switched on.
    pub cpus: Vec<SoftnetLine>,
}

impl Counters for Softnet {
    fn parse(&mut self, text: &[u8]) -> Result<(), Unreadable> {
        self.cpus.clear();
        for (place, line) in lines(text).filter(|line| !line.is_empty()).enumerate() {
            let mut columns = [None; 13];
            for (column, word) in columns.iter_mut().zip(Words::of(line)) {
                *column = hexadecimal(word);
            }
            let [Some(processed), Some(dropped), Some(squeezed), ..] = columns else {
                return Err(Unreadable("three hexadecimal numbers a line"));
            };
            let cpu = u32::try_from(columns[12].unwrap_or(place as u64)).unwrap_or(u32::MAX);
            self.cpus.push(SoftnetLine {
                cpu,
                processed,
                dropped,
                squeezed,
                steered: columns[9].unwrap_or(0),
                backlog: columns[11],
            });
        }
        if self.cpus.is_empty() { Err(Unreadable("line")) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::parsed;

    #[test]
    fn new_kernels_name_the_processor() {
        let new: Softnet = parsed(
            "14f2793d 00000131 00000005 00000000 00000000 00000000 00000000 00000000 00000000 00000002 00000000 00000007 00000003 00000000 00000000\n",
        );
        assert_eq!(
            new.cpus,
            [SoftnetLine {
                cpu: 3,
                processed: 351_435_069,
                dropped: 305,
                squeezed: 5,
                steered: 2,
                backlog: Some(7)
            }]
        );
        let old: Softnet = parsed("0000000a 00000000 00000001\n0000000b 00000000 00000001\n");
        assert_eq!(old.cpus[1].cpu, 1);
        assert_eq!(old.cpus[1].backlog, None);
    }
}
