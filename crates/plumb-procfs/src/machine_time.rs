//! How long all tasks of a machine ran, whoever they are.

use std::fs;

use crate::counter::rise;
use crate::fields::{Words, lines, number, numbered};
use crate::root::Root;

/// The time that tasks ran on all processors, nanoseconds since some moment, by what the kernel
/// counts it. Interrupts that were served on an idle processor are in none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineTime {
    /// Of the root of all control groups: exact, up to the last clock tick of what is running now,
    /// and with every process that has ended.
    pub(crate) control_groups_ns: Option<u64>,
    /// Of the run queue of each processor. A task is booked when it leaves its processor: one that
    /// has it to itself for a while is booked at the end of that while.
    pub(crate) run_queues_ns: Option<Vec<(u32, u64)>>,
}

impl MachineTime {
    /// Reads whatever this machine has.
    #[must_use]
    pub fn read(root: &Root) -> Self {
        Self { control_groups_ns: control_groups(root), run_queues_ns: run_queues(root) }
    }

    /// How long tasks ran until `after` by their control groups.
    #[must_use]
    pub fn control_groups_until(&self, after: &Self) -> Option<u64> {
        Some(rise(after.control_groups_ns?, self.control_groups_ns?))
    }

    /// How long tasks ran until `after` by the run queues, in a window of `window_ns`: no processor
    /// worked longer than that, whatever was booked in it.
    #[must_use]
    pub fn run_queues_until(&self, after: &Self, window_ns: u64) -> Option<u64> {
        let before = self.run_queues_ns.as_ref()?;
        let ran = after.run_queues_ns.as_ref()?.iter().filter_map(|(cpu, now)| {
            let (_, then) = before.iter().find(|(number, _)| number == cpu)?;
            Some(rise(*now, *then).min(window_ns))
        });
        Some(ran.sum())
    }
}

/// The group that everything descends from, in version 1 of control groups: version 2 counts that
/// of its root by clock ticks. In a container the uppermost group that is seen is only its own, and
/// lacks a file that only the real root has.
///
/// # Source
/// Linux's `Documentation/admin-guide/cgroup-v1/cpuacct.rst`; `root_cgroup_cputime()` in
/// `kernel/cgroup/rstat.c`.
fn control_groups(root: &Root) -> Option<u64> {
    let read = |path: &str| fs::read(root.sys(&format!("fs/cgroup/{path}"))).ok();
    ["cpuacct", "cpu,cpuacct"].into_iter().find_map(|folder| {
        read(&format!("{folder}/release_agent"))?;
        number(read(&format!("{folder}/cpuacct.usage"))?.trim_ascii())
    })
}

/// # Source
/// Linux's `Documentation/scheduler/sched-stats.rst`: the seventh number of a `cpu` line is the sum
/// of all time spent running by tasks on this processor, in nanoseconds.
fn run_queues(root: &Root) -> Option<Vec<(u32, u64)>> {
    let text = fs::read(root.proc("schedstat")).ok()?;
    let queues: Vec<(u32, u64)> = lines(&text)
        .filter_map(|line| {
            let mut words = Words::of(line);
            let cpu = numbered(words.next()?, b"cpu")?;
            Some((cpu, number(words.nth(6)?)?))
        })
        .collect();
    (!queues.is_empty()).then_some(queues)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn write(folder: &Path, path: &str, text: &str) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn run_queues_are_read_a_processor_each_and_never_worked_longer_than_the_window() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        assert_eq!(MachineTime::read(&Root::below(at)), MachineTime::default());
        let text = |one: u64, two: u64| {
            format!(
                "version 17\ntimestamp 4294892\ncpu0 0 0 9 9 9 9 {one} 77 8\ndomain0 MC 3 0 0\n\
                 cpu1 0 0 9 9 9 9 {two} 77 8\n"
            )
        };
        write(at, "proc/schedstat", &text(1_000, 5_000));
        let before = MachineTime::read(&Root::below(at));
        write(at, "proc/schedstat", &text(1_400, 905_000));
        let after = MachineTime::read(&Root::below(at));
        assert_eq!(before.run_queues_until(&after, 10_000), Some(10_400));
        assert_eq!(before.control_groups_until(&after), None);
    }

    #[test]
    fn only_the_root_of_all_groups_tells_of_the_machine() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        write(at, "sys/fs/cgroup/cpuacct/cpuacct.usage", "5000\n");
        assert_eq!(MachineTime::read(&Root::below(at)).control_groups_ns, None, "a container's");
        write(at, "sys/fs/cgroup/cpuacct/release_agent", "\n");
        assert_eq!(MachineTime::read(&Root::below(at)).control_groups_ns, Some(5_000));
    }
}
