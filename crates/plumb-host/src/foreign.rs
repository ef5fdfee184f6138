//! Whose work it was: ours, that of what is under test, or foreign.

use serde::Serialize;

use crate::counter::{percent, rise};
use crate::kernel::{Counters as _, Stat, Ticks};
use crate::process::{Processes, TreeCpu};
use crate::root::Root;

/// Below so many clock ticks a share says nothing: their number is uncertain by its root.
pub const TICKS_MIN: u64 = 200;

/// The processor time of everybody, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    total: Ticks,
    processes: Processes,
    ticks_per_s: u64,
}

/// Work of the machine in a window by whose it was, in clock ticks.
///
/// `foreign = (user + nice + system) - ours - tested`, never below zero, from the ticks of all
/// processors and of the processes. Interrupts belong to no process: the network's part of them is
/// mostly caused by the load itself, so they stand apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ForeignLoad {
    /// Of the process that measures.
    pub ours_ticks: u64,
    /// Of what is under test, children included.
    pub tested_ticks: u64,
    /// Of all other processes.
    pub foreign_ticks: u64,
    /// Of interrupts and soft interrupts.
    pub interrupt_ticks: u64,
    /// That all processors had, idle or not.
    pub all_ticks: u64,
}

impl ForeignLoad {
    /// Foreign work as a share of all processors, percent; `None` when the window was too short to
    /// say so (fewer than [`TICKS_MIN`] ticks of all processors).
    #[must_use]
    pub fn share_pct(&self) -> Option<f64> {
        (self.all_ticks >= TICKS_MIN).then(|| percent(self.foreign_ticks, self.all_ticks))
    }
}

/// Processor time that a server used for one operation.
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
        let mut stat = Stat::default();
        stat.parse(&std::fs::read(root.proc("stat")).ok()?).ok()?;
        let ticks_per_s = rustix::param::clock_ticks_per_second();
        Some(Self { total: stat.total, processes: Processes::read(root), ticks_per_s })
    }

    /// Whose work it was from `self` to `after`: of the process `ours`, of the processes `tested`
    /// with their children, or of others.
    #[must_use]
    pub fn foreign_until(&self, after: &Self, ours: u32, tested: &[u32]) -> ForeignLoad {
        let (before, now) = (&self.total, &after.total);
        let processes = rise(now.user, before.user)
            + rise(now.nice, before.nice)
            + rise(now.system, before.system);
        let interrupt_ticks = rise(now.irq, before.irq) + rise(now.softirq, before.softirq);
        let rest = rise(now.idle, before.idle)
            + rise(now.iowait, before.iowait)
            + rise(now.steal, before.steal);
        let ours_ticks =
            rise(after.processes.cpu_of(ours).ticks(), self.processes.cpu_of(ours).ticks());
        let tested_ticks = self.tested_until(after, ours, tested).ticks();
        ForeignLoad {
            ours_ticks,
            tested_ticks,
            foreign_ticks: processes.saturating_sub(ours_ticks).saturating_sub(tested_ticks),
            interrupt_ticks,
            all_ticks: processes + interrupt_ticks + rest,
        }
    }

    /// Processor time for one of `operations` that the processes `tested` with their children used
    /// from `self` to `after`.
    ///
    /// # Errors
    /// [`NotMeasured`] when the clocks of processes are too coarse for it.
    pub fn cpu_per_operation(
        &self,
        after: &Self,
        ours: u32,
        tested: &[u32],
        operations: u64,
    ) -> Result<CpuPerOperation, NotMeasured> {
        let used = self.tested_until(after, ours, tested);
        if operations == 0 {
            return Err(NotMeasured::NoOperations);
        }
        if used.ticks() < TICKS_MIN {
            return Err(NotMeasured::TooFewTicks(used.ticks()));
        }
        let ns = |ticks: u64| {
            let ns = u128::from(ticks) * 1_000_000_000 / u128::from(self.ticks_per_s.max(1));
            u64::try_from(ns / u128::from(operations)).unwrap_or(u64::MAX)
        };
        Ok(CpuPerOperation {
            user_ns: ns(used.user_ticks),
            system_ns: ns(used.system_ticks),
            ticks: used.ticks(),
        })
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

    fn tested_until(&self, after: &Self, ours: u32, tested: &[u32]) -> TreeCpu {
        let before = self.processes.cpu_of_trees(tested, Some(ours));
        let now = after.processes.cpu_of_trees(tested, Some(ours));
        TreeCpu {
            user_ticks: rise(now.user_ticks, before.user_ticks),
            system_ticks: rise(now.system_ticks, before.system_ticks),
            processes: now.processes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A machine with `stat` and processes: number, parent, user, system, children's user ticks.
    fn ledger(stat: &str, processes: &[(u32, u32, u64, u64, u64)]) -> Ledger {
        let folder = tempfile::tempdir().unwrap();
        let proc = folder.path().join("proc");
        fs::create_dir_all(&proc).unwrap();
        fs::write(proc.join("stat"), stat).unwrap();
        for (pid, parent, user, system, children) in processes {
            fs::create_dir(proc.join(pid.to_string())).unwrap();
            let text = format!(
                "{pid} (x) S {parent} 0 0 0 0 0 0 0 0 0 {user} {system} {children} 0 20 0 1 0 7 0 9\n"
            );
            fs::write(proc.join(format!("{pid}/stat")), text).unwrap();
        }
        Ledger { ticks_per_s: 100, ..Ledger::take(&Root::below(folder.path())).unwrap() }
    }

    #[test]
    fn foreign_is_what_is_left() {
        let before = ledger(
            "cpu 0 0 0 0 0 0 0 0\n",
            &[(1, 0, 0, 0, 0), (10, 1, 5, 5, 0), (20, 1, 100, 0, 0)],
        );
        let after = ledger(
            "cpu 500 20 280 1000 0 0 200 0\n",
            &[
                (1, 0, 0, 0, 0),
                (10, 1, 105, 105, 0),
                (20, 1, 200, 50, 50),
                (21, 20, 80, 20, 0),
                (30, 1, 9, 9, 0),
            ],
        );
        let load = before.foreign_until(&after, 10, &[20]);
        assert_eq!(
            load,
            ForeignLoad {
                ours_ticks: 200,
                tested_ticks: 300,
                foreign_ticks: 300,
                interrupt_ticks: 200,
                all_ticks: 2000
            }
        );
        assert_eq!(load.share_pct(), Some(15.0));
        let per_operation = before.cpu_per_operation(&after, 10, &[20], 1000).unwrap();
        assert_eq!(
            per_operation,
            CpuPerOperation { user_ns: 2_300_000, system_ns: 700_000, ticks: 300 }
        );
    }

    #[test]
    fn a_server_within_this_process_is_ours() {
        let before = ledger("cpu 0 0 0 0\n", &[(10, 1, 0, 0, 0)]);
        let after = ledger("cpu 300 0 0 300\n", &[(10, 1, 290, 0, 0)]);
        let load = before.foreign_until(&after, 10, &[10]);
        assert_eq!((load.ours_ticks, load.tested_ticks, load.foreign_ticks), (290, 0, 10));
    }

    #[test]
    fn ticks_that_do_not_add_up_are_no_negative_load() {
        let before = ledger("cpu 0 0 0 0\n", &[(10, 1, 0, 0, 0)]);
        let after = ledger("cpu 100 0 0 200\n", &[(10, 1, 120, 0, 0)]);
        assert_eq!(before.foreign_until(&after, 10, &[]).foreign_ticks, 0);
    }

    #[test]
    fn too_few_ticks_are_not_measured() {
        let before = ledger("cpu 0 0 0 0\n", &[(10, 1, 0, 0, 0), (20, 1, 0, 0, 0)]);
        let after = ledger("cpu 100 0 0 99\n", &[(10, 1, 0, 0, 0), (20, 1, 199, 0, 0)]);
        let error = before.cpu_per_operation(&after, 10, &[20], 5).unwrap_err();
        assert_eq!(error, NotMeasured::TooFewTicks(199));
        assert_eq!(before.foreign_until(&after, 10, &[20]).share_pct(), None);
        let none = before.cpu_per_operation(&after, 10, &[20], 0).unwrap_err();
        assert_eq!(none, NotMeasured::NoOperations);
    }
}
