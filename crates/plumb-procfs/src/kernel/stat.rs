//! `/proc/stat`: the time of the processors, context switches, interrupts, forks.

use super::{Counters, Unreadable};
use crate::fields::{Words, lines, number, numbered};

/// What processors did, in clock ticks (100 a second on nearly every machine) since the start.
///
/// # Source
/// proc_stat(5). `user` contains `guest`, and `nice` contains `guest_nice`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    /// Programs.
    pub user: u64,
    /// Programs of low priority.
    pub nice: u64,
    /// The kernel on behalf of programs.
    pub system: u64,
    /// Nothing to do.
    pub idle: u64,
    /// Nothing to do, while a disk was waited for.
    pub iowait: u64,
    /// Interrupts.
    pub irq: u64,
    /// Soft interrupts: the receiving side of the network above all.
    pub softirq: u64,
    /// Taken by the hypervisor for other machines.
    pub steal: u64,
    /// Given to virtual machines of this one, of any priority; part of `user` and `nice`.
    pub guest: u64,
    /// Columns that the kernel wrote; old ones know no steal (8) or guest (9).
    pub columns: u8, // in [4, 10]
}

/// The ticks of one processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// Its number. The numbers of processors that are switched off are missing.
    pub number: u32,
    /// What it did.
    pub ticks: Ticks,
}

/// The counters of `/proc/stat`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// All processors together.
    pub total: Ticks,
    /// Each processor that is switched on.
    pub cpus: Vec<CpuTicks>,
    /// Interrupts of any kind.
    pub interrupts: u64,
    /// Context switches.
    pub context_switches: u64,
    /// Processes and threads begun.
    pub forks: u64,
    /// Threads that run or could run, now.
    pub running: u64,
    /// Threads that wait for a disk, now.
    pub blocked: u64,
}

impl Counters for Stat {
    fn parse(&mut self, text: &[u8]) -> Result<(), Unreadable> {
        self.cpus.clear();
        let mut total = None;
        for line in lines(text) {
            let mut words = Words::of(line);
            let Some(name) = words.next() else { continue };
            match name {
                b"cpu" => total = ticks(words),
                b"intr" => self.interrupts = words.number().unwrap_or(0),
                b"ctxt" => self.context_switches = words.number().unwrap_or(0),
                b"processes" => self.forks = words.number().unwrap_or(0),
                b"procs_running" => self.running = words.number().unwrap_or(0),
                b"procs_blocked" => self.blocked = words.number().unwrap_or(0),
                _ => {
                    if let (Some(number), Some(ticks)) = (numbered(name, b"cpu"), ticks(words)) {
                        self.cpus.push(CpuTicks { number, ticks });
                    }
                }
            }
        }
        self.total = total.ok_or(Unreadable("line `cpu` with four numbers"))?;
        Ok(())
    }
}

fn ticks(words: Words<'_>) -> Option<Ticks> {
    let mut columns = [0; 10];
    let mut count = 0;
    for (column, word) in columns.iter_mut().zip(words) {
        *column = number(word)?;
        count += 1;
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice] = columns;
    (count >= 4).then_some(Ticks {
        user,
        nice,
        system,
        idle,
        iowait,
        irq,
        softirq,
        steal,
        guest: guest.saturating_add(guest_nice),
        columns: count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::parsed;

    #[test]
    fn processors_that_are_switched_off_leave_a_gap() {
        let stat: Stat = parsed(
            "cpu  10 1 4 100 3 2 6 5 0 0\ncpu0 5 1 2 50 1 1 3 2 0 0\ncpu3 5 0 2 50 2 1 3 3 0 0\n\
             intr 77 1 2 3\nctxt 88\nbtime 1\nprocesses 99\nprocs_running 2\nprocs_blocked 1\n",
        );
        assert_eq!(stat.cpus.iter().map(|cpu| cpu.number).collect::<Vec<_>>(), [0, 3]);
        assert_eq!((stat.total.softirq, stat.total.steal, stat.total.columns), (6, 5, 10));
        assert_eq!((stat.interrupts, stat.context_switches, stat.forks), (77, 88, 99));
        assert_eq!((stat.running, stat.blocked), (2, 1));
    }

    #[test]
    fn an_old_kernel_has_fewer_columns() {
        let stat: Stat = parsed("cpu 1 2 3 4\ncpu0 1 2 3 4\n");
        assert_eq!(
            stat.total,
            Ticks { user: 1, nice: 2, system: 3, idle: 4, columns: 4, ..Ticks::default() }
        );
    }

    #[test]
    fn what_is_no_stat_says_what_is_missing() {
        let error = Stat::default().parse(b"cpu 1 2 3\n").unwrap_err();
        assert!(error.to_string().contains("line `cpu`"), "{error}");
    }
}
