//! Whose work it was: ours, that of what is under test, or foreign.

mod inherited;

use std::collections::BTreeSet;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, ForeignSource};
use plumb_procfs::counter::{percent, rise};
use plumb_procfs::kernel::{Counters as _, Stat, Ticks};
use plumb_procfs::process::{ProcessStat, Processes, TreeCpu};
use plumb_procfs::{Label, MachineTime, Root};
use serde::Serialize;

use inherited::{Inherited, is_first};

/// Below so many clock ticks a share says nothing: their number is uncertain by its root.
pub const TICKS_MIN: u64 = 200;

/// In a shorter window the clocks say nothing: that of a task that is running lags by up to a clock
/// tick of 1 to 10 ms.
pub const WINDOW_MIN_NS: u64 = 20_000_000;

/// In a shorter window run queues say nothing: they book a task when it leaves its processor.
const RUN_QUEUE_WINDOW_MIN_NS: u64 = 1_000_000_000;

/// Of less processor time nothing is said of an operation: its clock lags by up to a tick of 10 ms
/// when it is begun and when it is ended, 8 % of this.
const CPU_MIN_NS: u64 = 250_000_000;

/// The processor time of everybody, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    at_ns: u64,
    cpus: u64,
    total: Ticks,
    machine: MachineTime,
    processes: Processes,
    ticks_per_s: u64,
    /// Where more is read of single processes, when it is asked for.
    root: Option<Root>,
}

/// Work of the machine in a window by whose it was, in nanoseconds.
///
/// `foreign = all that tasks ran - ours - tested - soft interrupts`, never below zero. Soft
/// interrupts that have a thread of the kernel (`ksoftirqd`) belong to no process: they are mostly
/// caused by the load itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ForeignLoad {
    /// Of what measures and of what is under test, children included.
    pub known_ns: u64,
    /// Of all other processes; `None` when nothing tells.
    pub foreign_ns: Option<u64>,
    /// By what; `None` when nothing tells.
    pub source: Option<ForeignSource>,
    /// The other processes that ran, the busiest first.
    pub processes: Vec<ForeignWork>,
    /// Of interrupts and soft interrupts, clock ticks.
    pub interrupt_ticks: u64,
    /// That all processors had, idle or not.
    pub all_ns: u64,
}

/// What a process that was not part of the measurement used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ForeignWork {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: Label,
    /// Its processor time in the window, with that of its children that ended, nanoseconds.
    pub ns: u64,
}

impl ForeignLoad {
    /// Foreign work as a share of all processors, percent; `None` when nothing tells.
    #[must_use]
    pub fn share_pct(&self) -> Option<f64> {
        self.foreign_ns.map(|ns| percent(ns, self.all_ns).min(100.0))
    }

    /// The `most` busiest foreign processes with the share of all processors that each took,
    /// percent.
    pub fn busiest(&self, most: usize) -> impl Iterator<Item = (&ForeignWork, f64)> {
        self.processes.iter().take(most).map(|it| (it, percent(it.ns, self.all_ns)))
    }
}

/// Processor time that one side used for one operation, split by clock ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CpuPerOperation {
    /// Of its own code, nanoseconds.
    pub user_ns: u64,
    /// Of the kernel on its behalf, nanoseconds; without soft interrupts, which belong to no
    /// process.
    pub system_ns: u64,
    /// Clock ticks behind both figures.
    pub ticks: u64,
}

/// Whose processor time is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side<'a> {
    /// One process with all its threads, without its children.
    Process(u32),
    /// Processes and everybody who descends from them, without the one process `but`, if that is
    /// among them: the program that measures is not under test, even if it began the server.
    Trees {
        /// Their numbers.
        heads: &'a [u32],
        /// Who is left out.
        but: u32,
    },
}

/// Why processor time was not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotMeasured {
    /// The clocks of processes are too coarse for what they used.
    #[error("not measured: {0} clock ticks, fewer than {TICKS_MIN}; measure longer")]
    TooFewTicks(u64),
    /// Nothing was done.
    #[error("not measured: no operation was done")]
    NoOperations,
}

impl Ledger {
    /// Looks at every process once; `None` when `/proc/stat` cannot be read.
    #[must_use]
    pub fn take(root: &Root) -> Option<Self> {
        let processes = Processes::read(root);
        let machine = MachineTime::read(root);
        let at_ns = MonotonicClock.now_ns();
        let mut stat = Stat::default();
        stat.parse(&std::fs::read(root.proc("stat")).ok()?).ok()?;
        Some(Self {
            at_ns,
            cpus: (stat.cpus.len() as u64).max(1),
            total: stat.total,
            machine,
            processes,
            ticks_per_s: rustix::param::clock_ticks_per_second().max(1),
            root: Some(root.clone()),
        })
    }

    /// Everybody who was there.
    #[must_use]
    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// Whose work it was from `self` to `after`: of the processes `known` with their children (what
    /// measures, and what is under test), or of others.
    #[must_use]
    pub fn foreign_until(&self, after: &Self, known: &[u32]) -> ForeignLoad {
        let window_ns = rise(after.at_ns, self.at_ns);
        let work = Work::between(self, after, known);
        let told = self.told_until(after, window_ns, &work);
        let not_foreign_ns = work.known_ns.saturating_add(work.soft_interrupts_ns);
        let (now, before) = (&after.total, &self.total);
        ForeignLoad {
            known_ns: work.known_ns,
            foreign_ns: told.map(|(source, ns)| match source {
                ForeignSource::Processes => ns,
                _ => ns.saturating_sub(not_foreign_ns),
            }),
            source: told.map(|(source, _)| source),
            processes: work.others,
            interrupt_ticks: rise(now.irq, before.irq) + rise(now.softirq, before.softirq),
            all_ns: window_ns.saturating_mul(after.cpus),
        }
    }

    /// The best that this machine tells: what all tasks ran, or what the other processes did.
    fn told_until(
        &self,
        after: &Self,
        window_ns: u64,
        work: &Work,
    ) -> Option<(ForeignSource, u64)> {
        if window_ns < WINDOW_MIN_NS {
            return None;
        }
        if let Some(ns) = self.machine.control_groups_until(&after.machine) {
            return Some((ForeignSource::ControlGroups, ns));
        }
        if self.processes.are_all() && after.processes.are_all() {
            return Some((ForeignSource::Processes, work.foreign_ns));
        }
        if window_ns >= RUN_QUEUE_WINDOW_MIN_NS
            && let Some(ns) = self.machine.run_queues_until(&after.machine, window_ns)
        {
            return Some((ForeignSource::RunQueues, ns));
        }
        let (now, before) = (&after.total, &self.total);
        let tasks = rise(now.user, before.user)
            + rise(now.nice, before.nice)
            + rise(now.system, before.system);
        let rest = rise(now.idle, before.idle)
            + rise(now.iowait, before.iowait)
            + rise(now.steal, before.steal)
            + rise(now.irq, before.irq)
            + rise(now.softirq, before.softirq);
        let ns = tasks.saturating_mul(1_000_000_000 / after.ticks_per_s.max(1));
        (tasks + rest >= TICKS_MIN).then_some((ForeignSource::Ticks, ns))
    }

    /// Processor time for one of `operations` that `side` used from `self` to `after`, split.
    ///
    /// # Errors
    /// [`NotMeasured`] when the clock ticks of processes are too coarse for it.
    pub fn cpu_per_operation(
        &self,
        after: &Self,
        side: Side<'_>,
        operations: u64,
    ) -> Result<CpuPerOperation, NotMeasured> {
        let (before, now) = (self.ticks_of(side), after.ticks_of(side));
        let user_ticks = rise(now.user_ticks, before.user_ticks);
        let system_ticks = rise(now.system_ticks, before.system_ticks);
        let ticks = user_ticks.saturating_add(system_ticks);
        if operations == 0 {
            return Err(NotMeasured::NoOperations);
        }
        if ticks < TICKS_MIN {
            return Err(NotMeasured::TooFewTicks(ticks));
        }
        let ns = |ticks: u64| {
            let ns = u128::from(ticks) * 1_000_000_000 / u128::from(self.ticks_per_s.max(1));
            u64::try_from(ns / u128::from(operations)).unwrap_or(u64::MAX)
        };
        Ok(CpuPerOperation { user_ns: ns(user_ticks), system_ns: ns(system_ticks), ticks })
    }

    /// Processor time for one of `operations` that `side` used from `self` to `after` by its clock,
    /// nanoseconds; `None` below a quarter of a second of it.
    #[must_use]
    pub fn cpu_ns_per_operation(
        &self,
        after: &Self,
        side: Side<'_>,
        operations: u64,
    ) -> Option<u64> {
        let ns = rise(after.ns_of(side), self.ns_of(side));
        (ns >= CPU_MIN_NS).then(|| ns.checked_div(operations)).flatten()
    }

    /// Processor time that `heads` and everybody who descends from them used from `self` to `after`, each
    /// process by its clock, nanoseconds; without the process `but`.
    #[must_use]
    pub fn used_until(&self, after: &Self, heads: &[u32], but: u32) -> Vec<(u32, u64)> {
        let (before, now) = (&self.processes, &after.processes);
        let members = now.tree(heads).into_iter().filter(|pid| *pid != but);
        let used = members.filter_map(|pid| {
            let process = now.get(pid)?;
            let earlier = before.same(process).map_or(0, |it| before.own_ns(it));
            Some((pid, rise(now.own_ns(process), earlier)))
        });
        used.collect()
    }

    /// Processor time of interrupts an operation, nanoseconds; `None` with fewer than
    /// [`TICKS_MIN`] ticks of them.
    #[must_use]
    pub fn interrupt_ns_per_operation(&self, load: &ForeignLoad, operations: u64) -> Option<u64> {
        let ticks = load.interrupt_ticks;
        let ns = u128::from(ticks) * 1_000_000_000 / u128::from(self.ticks_per_s.max(1));
        (ticks >= TICKS_MIN)
            .then(|| ns.checked_div(u128::from(operations)))
            .flatten()
            .and_then(|ns| u64::try_from(ns).ok())
    }

    fn ticks_of(&self, side: Side<'_>) -> TreeCpu {
        match side {
            Side::Process(pid) => self.processes.cpu_of(pid),
            Side::Trees { heads, but } => self.processes.cpu_of_trees(heads, Some(but)),
        }
    }

    fn ns_of(&self, side: Side<'_>) -> u64 {
        match side {
            Side::Process(pid) => self.processes.own_ns_of(pid),
            Side::Trees { heads, but } => self.processes.ns_of_trees(heads, Some(but)),
        }
    }
}

/// What everybody did in a window, nanoseconds.
#[derive(Debug, Default)]
struct Work {
    /// Of the known processes.
    known_ns: u64,
    /// Of all others.
    foreign_ns: u64,
    /// Those of them that ran for sure, the busiest first.
    others: Vec<ForeignWork>,
    /// Of the kernel's threads that serve soft interrupts.
    soft_interrupts_ns: u64,
}

impl Work {
    fn between(earlier: &Ledger, later: &Ledger, known: &[u32]) -> Self {
        let (before, now) = (&earlier.processes, &later.processes);
        let mut ours: BTreeSet<u32> = before.tree(known).into_iter().collect();
        ours.extend(now.tree(known));
        // what is known is given no less than it did for what nobody may have waited for
        let is_stranger = |pid: u32| {
            !ours.contains(&pid) && later.root.as_ref().is_some_and(|root| is_first(root, pid))
        };
        let inherited = Inherited::between(before, now, is_stranger);
        let mut work = Self::default();
        for process in now.all() {
            let (own_ns, [ns, sure_ns]) = match before.same(process) {
                Some(earlier) => (
                    rise(now.own_ns(process), before.own_ns(earlier)),
                    [inherited.run_ns(process), inherited.surely_run_ns(process)],
                ),
                None => (now.own_ns(process), [now.ended_children_ns(process); 2]),
            };
            let ns = own_ns.saturating_add(ns);
            if ours.contains(&process.pid) {
                work.known_ns += ns;
            } else if serves_soft_interrupts(process) {
                work.soft_interrupts_ns += ns;
            } else {
                work.foreign_ns += ns;
                let ns = own_ns.saturating_add(sure_ns);
                work.others.push(ForeignWork { pid: process.pid, name: process.name, ns });
            }
        }
        work.others.retain(|other| other.ns > 0);
        work.others.sort_by_key(|other| (std::cmp::Reverse(other.ns), other.pid));
        work
    }
}

/// True of a thread of the kernel that serves soft interrupts in the name of nobody.
fn serves_soft_interrupts(process: &ProcessStat) -> bool {
    process.parent == 2 && process.name.as_str().starts_with("ksoftirqd/")
}

#[cfg(test)]
mod tests;
