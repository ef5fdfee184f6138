//! Processors: shares of their time.

use plumb_procfs::counter::{float, per_s, percent, rise};
use plumb_procfs::kernel::{CpuTicks, Ticks};
use serde::{Deserialize, Serialize};

use super::earlier;
use crate::snapshot::Snapshot;

/// All processors together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuSample {
    /// Shares of the time of all processors.
    #[serde(flatten)]
    pub share: CpuShare,
    /// Processors that are switched on.
    pub online: u64,
    /// Processors' worth of work: `online x busy / 100`.
    pub busy_cores: f64,
    /// Context switches a second.
    pub context_switches_per_s: f64,
    /// Interrupts a second.
    pub interrupts_per_s: f64,
    /// Processes and threads begun a second.
    pub forks_per_s: f64,
    /// Threads that run or could run, at the end of the interval.
    pub running: u64,
    /// Threads that wait for a disk, at the end of the interval.
    pub blocked: u64,
}

/// Shares of the time of one processor, or of all, in percent. They add up to 100 with `idle` and
/// `iowait`.
///
/// The kernel counts in ticks: below some hundred of them (`ticks`) a share is rough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuShare {
    /// Number of the processor; 0 for all together.
    #[serde(rename = "cpu")]
    pub number: u32,
    /// Work of any kind: user, nice, system, irq and softirq. What the hypervisor took is none.
    pub busy_pct: f64,
    /// Programs; with virtual machines.
    pub user_pct: f64,
    /// Programs of low priority; with virtual machines.
    pub nice_pct: f64,
    /// The kernel on behalf of programs.
    pub system_pct: f64,
    /// Nothing to do.
    pub idle_pct: f64,
    /// Nothing to do, while a disk was waited for.
    pub iowait_pct: f64,
    /// Interrupts.
    pub irq_pct: f64,
    /// Soft interrupts: the receiving side of the network above all.
    pub softirq_pct: f64,
    /// Taken by the hypervisor for other machines; absent where the kernel does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_pct: Option<f64>,
    /// Given to virtual machines of this one; absent where the kernel does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guest_pct: Option<f64>,
    /// Clock ticks behind these shares.
    pub ticks: u64,
}

pub(super) fn total(before: &Snapshot, now: &Snapshot) -> Option<CpuSample> {
    let (before, now, interval_ns) = now.stat.since(&before.stat)?;
    let share = share(0, &before.total, &now.total)?;
    let online = now.cpus.len() as u64;
    let rate = |now, before| per_s(rise(now, before), interval_ns);
    Some(CpuSample {
        share,
        online,
        busy_cores: float(online) * share.busy_pct / 100.0,
        context_switches_per_s: rate(now.context_switches, before.context_switches),
        interrupts_per_s: rate(now.interrupts, before.interrupts),
        forks_per_s: rate(now.forks, before.forks),
        running: now.running,
        blocked: now.blocked,
    })
}

pub(super) fn each(before: &Snapshot, now: &Snapshot, shares: &mut Vec<CpuShare>) {
    shares.clear();
    let Some((before, now, _)) = now.stat.since(&before.stat) else { return };
    for (place, CpuTicks { number, ticks }) in now.cpus.iter().enumerate() {
        // a processor that was switched on within the interval has nothing to compare with
        let earlier = earlier(&before.cpus, place, |cpu| cpu.number == *number);
        shares.extend(earlier.and_then(|earlier| share(*number, &earlier.ticks, ticks)));
    }
}

/// The parts of an interval; `None` when no tick fell into it.
fn share(number: u32, before: &Ticks, now: &Ticks) -> Option<CpuShare> {
    // single parts may fall by a tick or two (idle and iowait do), which is no time at all
    let user = rise(now.user, before.user);
    let nice = rise(now.nice, before.nice);
    let system = rise(now.system, before.system);
    let idle = rise(now.idle, before.idle);
    let iowait = rise(now.iowait, before.iowait);
    let irq = rise(now.irq, before.irq);
    let softirq = rise(now.softirq, before.softirq);
    let steal = rise(now.steal, before.steal);
    let busy = user + nice + system + irq + softirq;
    let ticks = busy + idle + iowait + steal;
    let part = |ticks_of_it| percent(ticks_of_it, ticks);
    (ticks > 0).then(|| CpuShare {
        number,
        busy_pct: part(busy),
        user_pct: part(user),
        nice_pct: part(nice),
        system_pct: part(system),
        idle_pct: part(idle),
        iowait_pct: part(iowait),
        irq_pct: part(irq),
        softirq_pct: part(softirq),
        steal_pct: (now.columns >= 8).then(|| part(steal)),
        guest_pct: (now.columns >= 9).then(|| part(rise(now.guest, before.guest))),
        ticks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::parsed;
    use crate::snapshot::Part;
    use plumb_procfs::kernel::Stat;

    fn snapshot(at_ns: u64, text: &str) -> Snapshot {
        Snapshot { stat: Part::new(at_ns, parsed::<Stat>(text)), ..Snapshot::default() }
    }

    const S: u64 = 1_000_000_000;

    #[test]
    fn shares_add_up_and_steal_stands_apart() {
        let before = snapshot(S, "cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nctxt 100\n");
        let now = snapshot(
            3 * S,
            "cpu 14 6 10 140 10 2 8 10 5 6\ncpu0 14 6 10 140 10 2 8 10 5 6\nctxt 300\n",
        );
        let cpu = total(&before, &now).unwrap();
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        close(cpu.share.busy_pct, 20.0);
        close(cpu.share.steal_pct.unwrap(), 5.0);
        close(cpu.share.idle_pct + cpu.share.iowait_pct, 75.0);
        close(cpu.share.guest_pct.unwrap(), 5.5);
        close(cpu.context_switches_per_s, 100.0);
        close(cpu.busy_cores, 0.2);
        assert_eq!(cpu.share.ticks, 200);
    }

    #[test]
    fn a_processor_that_comes_back_waits_for_the_next_interval() {
        let before = snapshot(S, "cpu 9 0 9 9\ncpu0 0 0 0 0\ncpu1 0 0 0 0\ncpu3 0 0 0 0\n");
        let now = snapshot(2 * S, "cpu 9 0 9 99\ncpu0 5 0 0 5\ncpu2 5 0 0 5\ncpu3 1 0 0 9\n");
        let mut shares = Vec::new();
        each(&before, &now, &mut shares);
        let seen: Vec<u32> = shares.iter().map(|share| share.number).collect();
        assert_eq!(seen, [0, 3], "1 is gone, 2 is new");
        assert!(shares[0].steal_pct.is_none(), "this kernel does not tell");
    }

    #[test]
    fn idle_time_that_falls_is_no_time() {
        let before = snapshot(S, "cpu 0 0 0 100 50\n");
        let now = snapshot(2 * S, "cpu 50 0 0 150 49\n");
        let share = total(&before, &now).unwrap().share;
        assert!((share.busy_pct - 50.0).abs() < 1e-9, "{share:?}");
        assert!(share.iowait_pct.abs() < 1e-9);
    }
}
