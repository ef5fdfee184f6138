//! `/proc/softirqs`: which processor does the work behind interrupts.

use super::{Counters, Unreadable};
use crate::fields::{Words, lines, numbered};

/// The kinds, in the kernel's order.
pub const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// The counters of `/proc/softirqs`, of 32 bits each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Softirqs {
    /// Number of each processor that there may be, switched on or not.
    pub cpus: Vec<u32>,
    /// Soft interrupts by kind, as in [`SOFTIRQS`], each over all processors.
    pub totals: [u64; SOFTIRQS.len()],
    /// Receiving (`NET_RX`) by processor, in the order of `cpus`.
    pub receive: Vec<u64>,
    /// Sending (`NET_TX`) by processor, in the order of `cpus`.
    pub send: Vec<u64>,
}

impl Counters for Softirqs {
    fn parse(&mut self, text: &[u8]) -> Result<(), Unreadable> {
        self.totals = [0; SOFTIRQS.len()];
        self.receive.clear();
        self.send.clear();
        let mut lines = lines(text);
        read_cpus(lines.next().unwrap_or_default(), &mut self.cpus)?;
        for line in lines {
            let mut words = Words::of(line);
            let Some(name) = words.next().and_then(|name| name.strip_suffix(b":")) else {
                continue;
            };
            let Some(kind) = SOFTIRQS.iter().position(|known| known.as_bytes() == name) else {
                continue;
            };
            let counts = std::iter::from_fn(|| words.number()).take(self.cpus.len());
            let each = match name {
                b"NET_RX" => Some(&mut self.receive),
                b"NET_TX" => Some(&mut self.send),
                _ => None,
            };
            self.totals[kind] = match each {
                Some(each) => {
                    each.clear();
                    each.extend(counts);
                    each.resize(self.cpus.len(), 0); // a line that was cut
                    each.iter().fold(0, |sum, count| sum.saturating_add(*count))
                }
                None => counts.fold(0, u64::saturating_add),
            };
        }
        let complete = self.receive.len() == self.cpus.len() && self.send.len() == self.cpus.len();
        if complete { Ok(()) } else { Err(Unreadable("lines `NET_RX` and `NET_TX`")) }
    }
}

/// The processors of a heading `CPU0 CPU1 CPU3`.
pub(super) fn read_cpus(line: &[u8], cpus: &mut Vec<u32>) -> Result<(), Unreadable> {
    cpus.clear();
    cpus.extend(Words::of(line).map_while(|word| numbered(word, b"CPU")));
    if cpus.is_empty() { Err(Unreadable("heading of processors")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::parsed;

    #[test]
    fn receiving_is_kept_by_processor() {
        let softirqs: Softirqs = parsed(
            "                    CPU0       CPU2       \n          HI:          1          2\n\
             \x20     NET_TX:         33          7\n      NET_RX:  339625059  339360782\n",
        );
        assert_eq!(softirqs.cpus, [0, 2]);
        assert_eq!(softirqs.receive, [339_625_059, 339_360_782]);
        assert_eq!(softirqs.send, [33, 7]);
        assert_eq!(softirqs.totals[0], 3);
        assert_eq!(softirqs.totals[3], 678_985_841);
    }
}
