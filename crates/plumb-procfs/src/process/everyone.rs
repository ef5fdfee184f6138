//! Every process, looked at seldom: a walk over /proc costs three calls a process.

use std::fs::File;
use std::io::Read as _;

use super::chosen::numbers_in;
use super::{ProcessCounters, ProcessStat};
use crate::root::Root;

const SECOND_NS: u64 = 1_000_000_000;

/// Reads every process.
#[derive(Debug)]
pub struct Everyone {
    root: Root,
    every_ns: u64,
    read_at_ns: Option<u64>,
    looks: u64,
}

impl Everyone {
    /// Reads no more often than every `every_ns`.
    #[must_use]
    pub fn new(root: Root, every_ns: u64) -> Self {
        Self { root, every_ns, read_at_ns: None, looks: 0 }
    }

    /// True when it is time to read again.
    #[must_use]
    pub fn is_due(&self, at_ns: u64) -> bool {
        // the second look is soon, so that whoever waits for it sees something
        let every_ns = if self.looks < 2 { self.every_ns.min(SECOND_NS) } else { self.every_ns };
        // a sample that comes a little early is meant
        let least_ns = every_ns - every_ns / 10;
        self.read_at_ns.is_none_or(|at| at_ns.saturating_sub(at) >= least_ns)
    }

    /// Reads the counters of every process, in the order of their numbers.
    pub fn read(&mut self, at_ns: u64, counters: &mut Vec<ProcessCounters>) {
        self.read_at_ns = Some(at_ns);
        self.looks += 1;
        counters.clear();
        each_stat(&self.root, |stat| counters.push(ProcessCounters::of(stat)));
        counters.sort_unstable_by_key(|process| process.pid);
    }
}

/// Hands over what every process says of itself.
pub(super) fn each_stat(root: &Root, mut take: impl FnMut(&ProcessStat)) {
    let mut text = [0; 1024]; // 52 numbers and a short name
    for pid in numbers_in(root, "") {
        let Ok(mut file) = File::open(root.proc(&format!("{pid}/stat"))) else { continue };
        let Ok(length) = file.read(&mut text) else { continue };
        if let Some(stat) = ProcessStat::parse(&text[..length]) {
            take(&stat);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_there_and_so_are_we() {
        let mut everyone = Everyone::new(Root::default(), 5 * SECOND_NS);
        let mut counters = Vec::new();
        assert!(everyone.is_due(0));
        everyone.read(SECOND_NS, &mut counters);
        assert!(counters.iter().any(|process| process.pid == std::process::id()));
        assert!(!everyone.is_due(SECOND_NS + 800_000_000));
        assert!(everyone.is_due(2 * SECOND_NS), "the second look is soon");
        everyone.read(2 * SECOND_NS, &mut counters);
        assert!(!everyone.is_due(6 * SECOND_NS));
        assert!(everyone.is_due(7 * SECOND_NS - 1_000));
    }
}
