//! `/proc/interrupts`: which device interrupts which processor.

use super::softirqs::read_cpus;
use super::{Counters, Unreadable};
use crate::fields::{Words, lines};
use crate::label::Label;

/// One line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interrupt {
    /// Its number, or the kernel's letters for those that are no device's.
    pub line: Label,
    /// Whose it is.
    pub name: Label,
}

/// The counters of `/proc/interrupts`, of 32 bits each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupts {
    /// Number of each processor that is switched on.
    pub cpus: Vec<u32>,
    /// The lines.
    pub interrupts: Vec<Interrupt>,
    /// Counts of every line in turn, one a processor.
    counts: Vec<u64>,
}

impl Interrupts {
    /// The counts of a line, in the order of `cpus`.
    #[must_use]
    pub fn counts(&self, line: usize) -> &[u64] {
        let width = self.cpus.len();
        self.counts.get(line * width..(line + 1) * width).unwrap_or_default()
    }
}

impl Counters for Interrupts {
    fn parse(&mut self, text: &[u8]) -> Result<(), Unreadable> {
        self.interrupts.clear();
        self.counts.clear();
        let mut lines = lines(text);
        read_cpus(lines.next().unwrap_or_default(), &mut self.cpus)?;
        for line in lines {
            let mut words = Words::of(line);
            let Some(id) = words.next().and_then(|id| id.strip_suffix(b":")) else { continue };
            let start = self.counts.len();
            for _ in &self.cpus {
                // ERR and MIS have one count for all processors
                let mut ahead = words;
                let Some(count) = ahead.number() else { break };
                words = ahead;
                self.counts.push(count);
            }
            self.counts.resize(start + self.cpus.len(), 0);
            let name = last_column(words.rest());
            self.interrupts.push(Interrupt { line: Label::new(id), name: Label::new(name) });
        }
        Ok(())
    }
}

/// What stands behind the last wide gap: the device's name, behind its controller and trigger.
fn last_column(text: &[u8]) -> &[u8] {
    let gap = text.windows(2).rposition(|pair| pair == b"  ");
    gap.map_or(text, |gap| &text[gap + 2..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::parsed;

    #[test]
    fn lines_of_devices_and_of_the_kernel() {
        let all: Interrupts = parsed(
            "           CPU0       CPU1       \n 36:          0     401477 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n\
             NMI:          1          2   Non-maskable interrupts\nERR:          9\n",
        );
        assert_eq!(all.cpus, [0, 1]);
        let names: Vec<&str> = all.interrupts.iter().map(|each| each.name.as_str()).collect();
        assert_eq!(names, ["virtio1-req.0", "Non-maskable interrupts", ""]);
        assert_eq!(all.counts(0), [0, 401_477]);
        assert_eq!(all.counts(2), [9, 0]);
        assert!(all.counts(3).is_empty());
    }
}
