//! On which processors threads ran.

use std::collections::BTreeMap;
use std::fs;

use super::chosen::numbers_in;
use super::stat::{ProcessStat, processor_of};
use crate::counter::{float, rise};
use crate::fields::Words;
use crate::root::{Root, listed};

/// Threads of one process that are looked at; of one with more nothing is said.
const THREADS_MAX: usize = 1_024;
/// Of less processor time, clock ticks, nothing is said: it may all have been that of threads that
/// were gone before they were looked at.
const TICKS_MIN: u64 = 20;
/// So much of the processor time must have been booked, percent.
const BOOKED_MIN_PCT: f64 = 80.0;

/// On which processors the threads of some processes ran: what each ran since the last look is
/// booked on the processor where it ran last. Exact for threads that stay where they are; of those
/// that move, the more often they are looked at the closer.
#[derive(Clone, Debug)]
pub struct ThreadPlacement {
    root: Root,
    processes: Vec<u32>,
    /// Run time so far by thread, nanoseconds.
    threads: BTreeMap<u32, u64>,
    /// Run time by processor, nanoseconds.
    by_cpu: BTreeMap<u32, u64>,
    /// Processor time of the processes when the first look was taken, clock ticks.
    ticks: u64,
}

impl ThreadPlacement {
    /// Begins to look at these processes.
    #[must_use]
    pub fn of(root: &Root, processes: Vec<u32>) -> Self {
        let mut seats = Self {
            root: root.clone(),
            processes,
            threads: BTreeMap::new(),
            by_cpu: BTreeMap::new(),
            ticks: 0,
        };
        seats.ticks = seats.ticks_so_far();
        seats.look();
        seats.by_cpu.clear(); // what they ran before is of no interest
        seats
    }

    /// Books what ran since the last look.
    pub fn look(&mut self) {
        for pid in &self.processes {
            let tasks = format!("{pid}/task");
            for thread in numbers_in(&self.root, &tasks).into_iter().take(THREADS_MAX) {
                let read =
                    |file| fs::read(self.root.proc(&format!("{tasks}/{thread}/{file}"))).ok();
                let run = read("schedstat").and_then(|text| Words::of(&text).number());
                let cpu = read("stat").and_then(|text| processor_of(&text));
                let (Some(run_ns), Some(cpu)) = (run, cpu) else { continue };
                // a thread that was begun since the last look ran all of it since
                let before_ns = self.threads.insert(thread, run_ns).unwrap_or(0);
                *self.by_cpu.entry(cpu).or_default() += rise(run_ns, before_ns);
            }
        }
    }

    /// Processor time of the processes, threads that ended included, clock ticks.
    fn ticks_so_far(&self) -> u64 {
        let stat = |pid: &u32| {
            let text = fs::read(self.root.proc(&format!("{pid}/stat"))).ok()?;
            ProcessStat::parse(&text)
        };
        self.processes.iter().filter_map(stat).map(|it| it.user_ticks + it.system_ticks).sum()
    }

    /// The processors, with the share of the run time that each had, percent; the busiest first.
    /// None when there was too little of it, or when too much was that of threads that came and
    /// went between two looks.
    #[must_use]
    pub fn shares(&self) -> Vec<(u32, f64)> {
        let used = rise(self.ticks_so_far(), self.ticks);
        let used_ns = float(used) * 1e9 / float(rustix::param::clock_ticks_per_second());
        let booked_ns: f64 = self.by_cpu.values().map(|ns| float(*ns)).sum();
        if used < TICKS_MIN || booked_ns * 100.0 < used_ns * BOOKED_MIN_PCT {
            return Vec::new();
        }
        shares(&self.by_cpu.iter().map(|(cpu, ns)| (*cpu, *ns)).collect::<Vec<_>>())
    }
}

/// The share of the sum that each processor had, percent; the largest first, without those that had
/// nothing.
#[must_use]
pub fn shares(by_cpu: &[(u32, u64)]) -> Vec<(u32, f64)> {
    let sum: f64 = by_cpu.iter().map(|(_, part)| float(*part)).sum();
    let mut busy: Vec<(u32, u64)> = by_cpu.iter().copied().filter(|(_, part)| *part > 0).collect();
    busy.sort_by_key(|(cpu, part)| (std::cmp::Reverse(*part), *cpu));
    busy.into_iter().map(|(cpu, part)| (cpu, float(part) / sum * 100.0)).collect()
}

/// True when two processors are one core: the same, or its two threads.
#[must_use]
pub fn share_a_core(root: &Root, one: u32, other: u32) -> bool {
    let siblings = format!("devices/system/cpu/cpu{one}/topology/thread_siblings_list");
    one == other || root.sys_line(&siblings).is_some_and(|list| listed(&list).contains(&other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn thread(folder: &Path, thread: u32, cpu: u32, run_ns: u64) {
        let task = folder.join(format!("proc/7/task/{thread}"));
        fs::create_dir_all(&task).unwrap();
        fs::write(task.join("schedstat"), format!("{run_ns} 12 3\n")).unwrap();
        let zeros = "0 ".repeat(35);
        fs::write(task.join("stat"), format!("{thread} (a b) S {zeros}{cpu} 0 0\n")).unwrap();
    }

    fn process(folder: &Path, ticks: u64) {
        let zeros = "0 ".repeat(30);
        let text = format!("7 (a b) S 1 7 7 0 -1 0 0 0 0 0 {ticks} 0 {zeros}\n");
        fs::write(folder.join("proc/7/stat"), text).unwrap();
    }

    #[test]
    fn run_time_is_booked_where_it_was_seen_last() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        thread(at, 7, 0, 1_000);
        process(at, 10);
        let mut seats = ThreadPlacement::of(&Root::below(at), vec![7]);
        assert!(seats.shares().is_empty());
        thread(at, 7, 2, 1_000 + 30 * tick_ns);
        thread(at, 8, 1, 10 * tick_ns);
        process(at, 50);
        seats.look();
        assert_eq!(seats.shares(), [(2, 75.0), (1, 25.0)]);
        seats.look();
        assert_eq!(seats.shares(), [(2, 75.0), (1, 25.0)], "nothing ran meanwhile");
        process(at, 70);
        assert!(seats.shares().is_empty(), "a third was that of threads nobody saw");
    }

    #[test]
    fn of_little_nothing_is_said() {
        let folder = tempfile::tempdir().unwrap();
        thread(folder.path(), 7, 0, 0);
        process(folder.path(), 0);
        let mut seats = ThreadPlacement::of(&Root::below(folder.path()), vec![7]);
        thread(folder.path(), 7, 0, 150_000_000);
        process(folder.path(), TICKS_MIN - 1);
        seats.look();
        assert!(seats.shares().is_empty());
    }

    #[test]
    fn two_threads_of_a_core_share_it() {
        let folder = tempfile::tempdir().unwrap();
        let topology = folder.path().join("sys/devices/system/cpu/cpu1/topology");
        fs::create_dir_all(&topology).unwrap();
        fs::write(topology.join("thread_siblings_list"), "1,5-6\n").unwrap();
        let root = Root::below(folder.path());
        let shared = [1, 5, 6, 2].map(|other| share_a_core(&root, 1, other));
        assert_eq!(shared, [true, true, true, false]);
        assert!(!share_a_core(&root, 0, 4));
    }
}
