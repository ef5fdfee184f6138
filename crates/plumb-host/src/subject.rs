//! What can be watched, and what of it is not.

use std::fmt;

use clap::ValueEnum;
use plumb_procfs::State;
use serde::Serialize;

/// What is watched, each by a sampler of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Time of the processors, context switches
    Cpu,
    /// Load averages, threads
    Load,
    /// Memory
    Memory,
    /// Swapping, major faults, refaults
    Paging,
    /// Disks
    Disks,
    /// Network interfaces
    Network,
    /// Counters of TCP and UDP
    Tcp,
    /// Linux's own counters of TCP
    TcpExtra,
    /// Soft interrupts by processor
    Softirqs,
    /// Packet queues by processor
    Softnet,
    /// Interrupts by device
    Interrupts,
    /// Open files
    Files,
    /// Time in which tasks waited for a processor
    PressureCpu,
    /// Time in which tasks waited for memory
    PressureMemory,
    /// Time in which tasks waited for disks
    PressureIo,
    /// Ports of RDMA devices
    Rdma,
    /// Shared memory communications
    Smc,
    /// The processes named with --process
    Processes,
    /// The processes that use most
    Top,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_possible_value() {
            Some(value) => f.write_str(value.get_name()),
            None => Ok(()),
        }
    }
}

/// What is not watched although nobody left it out, each with the reason.
#[must_use]
pub fn not_watched(states: &[(Subject, State)]) -> Vec<String> {
    let lacking = states.iter().filter(|(_, state)| {
        matches!(state, State::Unsupported(_) | State::Failed(_)) // the others are as wanted
    });
    lacking.map(|(subject, state)| format!("{subject}: {state}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_out_on_purpose_is_not_lacking() {
        let states = [
            (Subject::Cpu, State::Active),
            (Subject::Top, State::Disabled),
            (Subject::Smc, State::Unsupported("no".into())),
            (Subject::Rdma, State::Failed("oh".into())),
        ];
        assert_eq!(not_watched(&states), ["smc: unsupported: no", "rdma: failed: oh"]);
    }
}
