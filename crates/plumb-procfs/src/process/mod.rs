//! Processes: those that were asked for, those that use most, and those under test.

mod chosen;
mod cpu_clock;
mod everyone;
mod groups;
mod memory;
mod owner;
mod seats;
mod stat;
mod tree;

pub use chosen::{Chosen, Wanted, WantedError, kept_name};
pub use everyone::Everyone;
pub use groups::{HeldBack, Quota, Throttled, Throttling, quota_of, that_ran, workers};
pub use memory::{memory_limit_of, memory_of, processors_of};
pub use owner::{Owners, owners_of_tcp, owners_of_udp, owners_of_unix};
pub use seats::{ThreadPlacement, share_a_core, shares};
pub use stat::ProcessStat;
pub use tree::{Processes, TreeCpu};

use crate::label::Label;

/// Counters of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessCounters {
    /// Its number.
    pub pid: u32,
    /// Its name, as the kernel keeps it: up to fifteen bytes.
    pub name: Label,
    /// When it was begun, clock ticks after the machine; tells it from an earlier one of that
    /// number.
    pub begun: u64,
    /// Processor time of its own code, clock ticks.
    pub user_ticks: u64,
    /// Processor time of the kernel on its behalf, clock ticks.
    pub system_ticks: u64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Memory that it occupies, pages.
    pub resident_pages: u64,
    /// Its threads, now.
    pub threads: u64,
    /// Its open files, now; absent when not looked at.
    pub files: Option<u64>,
    /// Context switches of all its threads when they were last counted; absent when they cannot
    /// be.
    pub switches: Option<Switches>,
}

/// Context switches of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// When they were read, nanoseconds on the monotonic clock.
    pub at_ns: u64,
    /// It waited for something.
    pub voluntary: u64,
    /// It was made to wait.
    pub involuntary: u64,
}

impl ProcessCounters {
    fn of(stat: &ProcessStat) -> Self {
        Self {
            pid: stat.pid,
            name: stat.name,
            begun: stat.begun,
            user_ticks: stat.user_ticks,
            system_ticks: stat.system_ticks,
            major_faults: stat.major_faults,
            resident_pages: stat.resident_pages,
            threads: stat.threads,
            files: None,
            switches: None,
        }
    }
}
