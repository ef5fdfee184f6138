//! What can be watched.

use std::fmt;

use clap::ValueEnum;
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
