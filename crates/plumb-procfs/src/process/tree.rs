//! Processes and their children.

use std::collections::{BTreeMap, BTreeSet};

use super::ProcessStat;
use super::cpu_clock::cpu_clock_ns;
use super::everyone::each_stat;
use crate::root::Root;

/// What every process said of itself at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processes {
    by_pid: BTreeMap<u32, ProcessStat>,
    /// Their processor time by their clocks, nanoseconds, threads that ended included.
    clocks: BTreeMap<u32, u64>,
    tick_ns: u64,
}

/// Processor time of processes with their children, clock ticks since they were begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeCpu {
    /// Of their own code.
    pub user_ticks: u64,
    /// Of the kernel on their behalf.
    pub system_ticks: u64,
    /// How many they are, now.
    pub processes: usize,
}

impl Processes {
    /// Looks at every process once.
    #[must_use]
    pub fn read(root: &Root) -> Self {
        let mut by_pid = BTreeMap::new();
        each_stat(root, |stat| {
            by_pid.insert(stat.pid, *stat);
        });
        let mut processes = Self { by_pid, ..Self::default() };
        processes.tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        processes.read_clocks(root);
        processes
    }

    /// Reads the clocks of all processes, one right after the other: opening the files takes much
    /// longer, and what runs meanwhile must not look as if it ran in one process and not in all.
    fn read_clocks(&mut self, root: &Root) {
        let clocks = self.by_pid.keys().filter_map(|pid| Some((*pid, cpu_clock_ns(root, *pid)?)));
        self.clocks = clocks.collect();
    }

    /// Everybody.
    pub fn all(&self) -> impl Iterator<Item = &ProcessStat> {
        self.by_pid.values()
    }

    /// The process `pid`.
    #[must_use]
    pub fn get(&self, pid: u32) -> Option<&ProcessStat> {
        self.by_pid.get(&pid)
    }

    /// A clock tick, nanoseconds.
    #[must_use]
    pub fn tick_ns(&self) -> u64 {
        self.tick_ns
    }

    /// The process with the number of `process`, if it is still the one that was begun at that time.
    #[must_use]
    pub fn same(&self, process: &ProcessStat) -> Option<&ProcessStat> {
        self.by_pid.get(&process.pid).filter(|other| other.begun == process.begun)
    }

    /// True when the processes of the whole machine are seen: neither only those of a container, nor
    /// only those of one user.
    #[must_use]
    pub fn are_all(&self) -> bool {
        // the parent of the kernel's threads has this number nowhere but in the first name space
        self.by_pid.get(&2).is_some_and(|it| it.parent == 0 && it.name.as_str() == "kthreadd")
    }

    /// Processor time of a process by its clock, nanoseconds, without children; by its clock ticks
    /// where there is no such clock.
    #[must_use]
    pub fn own_ns(&self, process: &ProcessStat) -> u64 {
        let ticks = process.user_ticks.saturating_add(process.system_ticks);
        let of_ticks = || ticks.saturating_mul(self.tick_ns);
        self.clocks.get(&process.pid).copied().unwrap_or_else(of_ticks)
    }

    /// The same of the process `pid`; 0 when there is none.
    #[must_use]
    pub fn own_ns_of(&self, pid: u32) -> u64 {
        self.by_pid.get(&pid).map_or(0, |process| self.own_ns(process))
    }

    /// Processor time of the children of a process that ended and were waited for, nanoseconds. The
    /// kernel keeps it exactly and tells it in whole clock ticks.
    #[must_use]
    pub fn ended_children_ns(&self, process: &ProcessStat) -> u64 {
        let ticks = process.children_user_ticks.saturating_add(process.children_system_ticks);
        ticks.saturating_mul(self.tick_ns)
    }

    /// Processor time of `heads` and everybody who descends from them, nanoseconds, children that
    /// ended included. Without `but`, if that is among them.
    #[must_use]
    pub fn ns_of_trees(&self, heads: &[u32], but: Option<u32>) -> u64 {
        let tree = self.tree(heads);
        let members = tree.iter().filter(|pid| Some(**pid) != but);
        let members = members.filter_map(|pid| self.by_pid.get(pid));
        members.map(|it| self.own_ns(it).saturating_add(self.ended_children_ns(it))).sum()
    }

    /// Those of `pids` that descend from no other of them. The first process of the machine, which
    /// everybody descends from, is none.
    #[must_use]
    pub fn heads(&self, pids: &[u32]) -> Vec<u32> {
        let all: BTreeSet<u32> = pids.iter().copied().filter(|pid| *pid > 1).collect();
        let heads =
            all.iter().filter(|pid| self.ancestors(**pid).all(|above| !all.contains(&above)));
        heads.copied().collect()
    }

    /// `heads` that are there, and everybody who descends from them.
    #[must_use]
    pub fn tree(&self, heads: &[u32]) -> Vec<u32> {
        let within = |pid: &u32| {
            heads.contains(pid) || self.ancestors(*pid).any(|above| heads.contains(&above))
        };
        self.by_pid.keys().copied().filter(within).collect()
    }

    /// The processor time of `heads` and everybody who descends from them, children that ended
    /// included. Without `but`, if that is among them (the program that measures is not under
    /// test, even if it began the server).
    #[must_use]
    pub fn cpu_of_trees(&self, heads: &[u32], but: Option<u32>) -> TreeCpu {
        let mut sum = TreeCpu::default();
        for pid in self.tree(heads) {
            let Some(stat) = self.by_pid.get(&pid).filter(|_| Some(pid) != but) else { continue };
            sum.user_ticks += stat.user_ticks.saturating_add(stat.children_user_ticks);
            sum.system_ticks += stat.system_ticks.saturating_add(stat.children_system_ticks);
            sum.processes += 1;
        }
        sum
    }

    /// The processor time of one process, without children.
    #[must_use]
    pub fn cpu_of(&self, pid: u32) -> TreeCpu {
        self.by_pid.get(&pid).map_or_else(TreeCpu::default, |stat| TreeCpu {
            user_ticks: stat.user_ticks,
            system_ticks: stat.system_ticks,
            processes: 1,
        })
    }

    /// The parent of a process, its parent, and so on.
    pub fn ancestors(&self, pid: u32) -> impl Iterator<Item = u32> {
        let parent =
            |pid: &u32| self.by_pid.get(pid).map(|stat| stat.parent).filter(|pid| *pid > 0);
        // a tree is never as deep; numbers that are given anew while we look could make a ring
        std::iter::successors(parent(&pid), move |above| parent(above)).take(1_000)
    }
}

impl TreeCpu {
    /// Both together.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        self.user_ticks + self.system_ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processes(all: &[(u32, u32, u64, u64)]) -> Processes {
        let stat = |(pid, parent, own, children): &(u32, u32, u64, u64)| {
            let stat = ProcessStat {
                pid: *pid,
                parent: *parent,
                user_ticks: *own,
                children_user_ticks: *children,
                ..ProcessStat::default()
            };
            (*pid, stat)
        };
        Processes { by_pid: all.iter().map(stat).collect(), ..Processes::default() }
    }

    #[test]
    fn a_tree_is_its_head_with_all_below() {
        let all = processes(&[
            (1, 0, 9, 0),
            (10, 1, 1, 4),
            (11, 10, 2, 0),
            (12, 11, 3, 0),
            (20, 1, 7, 0),
        ]);
        assert_eq!(all.tree(&[10]), [10, 11, 12]);
        assert_eq!(all.heads(&[12, 10, 20, 1]), [10, 20]);
        assert_eq!(all.cpu_of_trees(&[10], None).ticks(), 10);
        assert_eq!(all.cpu_of_trees(&[10], Some(12)).ticks(), 7);
        assert_eq!(all.cpu_of(20).ticks(), 7);
        assert_eq!(all.cpu_of(99), TreeCpu::default());
    }

    #[test]
    fn a_ring_ends() {
        assert_eq!(processes(&[(5, 6, 1, 0), (6, 5, 1, 0)]).tree(&[7]), [] as [u32; 0]);
    }
}
