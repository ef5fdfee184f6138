//! Which processor does the work of the network, and which device interrupts it.

use plumb_procfs::Label;
use plumb_procfs::counter::{moved_32, per_s, ratio, sum_moved_32};
use plumb_procfs::kernel::{Interrupt, SOFTIRQS, SoftnetLine};
use serde::{Deserialize, Serialize};

use super::earlier;
use crate::snapshot::Snapshot;

/// Lines of interrupts that a sample holds.
const LINES_MAX: usize = 16;

/// Soft interrupts of all processors, a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SoftirqSample {
    /// Timers.
    pub timer_per_s: f64,
    /// Sending.
    pub net_tx_per_s: f64,
    /// Receiving.
    pub net_rx_per_s: f64,
    /// Disks.
    pub block_per_s: f64,
    /// Small work of drivers.
    pub tasklet_per_s: f64,
    /// Balancing work between processors.
    pub sched_per_s: f64,
    /// Freeing what nobody reads any more.
    pub rcu_per_s: f64,
}

/// The work of receiving and sending that one processor did, as counts within the interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveSample {
    /// Number of the processor.
    pub cpu: u32,
    /// Soft interrupts of receiving.
    pub net_rx: u64,
    /// Soft interrupts of sending.
    pub net_tx: u64,
    /// Packets taken from its queue; absent where it is not told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// Packets thrown away because its queue was full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<u64>,
    /// Times that its budget ran out before its queue was empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub squeezed: Option<u64>,
    /// Packets handed to it by another processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steered: Option<u64>,
}

/// One line of interrupts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InterruptSample {
    /// Its number, or the kernel's letters for those that are no device's.
    pub line: Label,
    /// Whose it is.
    pub name: Label,
    /// Interrupts a second, over all processors.
    pub per_s: f64,
    /// The processor that took most of them.
    pub cpu: u32,
    /// The share that it took.
    pub cpu_pct: f64,
}

pub(super) fn softirqs(before: &Snapshot, now: &Snapshot) -> Option<SoftirqSample> {
    let (before, now, interval_ns) = now.softirqs.since(&before.softirqs)?;
    let rate = |name: &str| {
        let kind = SOFTIRQS.iter().position(|known| *known == name)?;
        Some(per_s(sum_moved_32(now.totals[kind], before.totals[kind])?, interval_ns))
    };
    Some(SoftirqSample {
        timer_per_s: rate("TIMER")?,
        net_tx_per_s: rate("NET_TX")?,
        net_rx_per_s: rate("NET_RX")?,
        block_per_s: rate("BLOCK")?,
        tasklet_per_s: rate("TASKLET")?,
        sched_per_s: rate("SCHED")?,
        rcu_per_s: rate("RCU")?,
    })
}

pub(super) fn each(before: &Snapshot, now: &Snapshot, samples: &mut Vec<ReceiveSample>) {
    samples.clear();
    let softnet = now.softnet.since(&before.softnet);
    let online = now.stat.get();
    let Some((before, now, _)) = now.softirqs.since(&before.softirqs) else { return };
    for (place, cpu) in now.cpus.iter().enumerate() {
        // the kernel lists every processor that there could be; hundreds on some machines
        let is_online =
            |cpu: u32| online.is_none_or(|stat| stat.cpus.iter().any(|each| each.number == cpu));
        let moved = |now: &[u64], earlier: &[u64]| {
            let there = before.cpus.get(place) == Some(cpu);
            moved_32(*now.get(place)?, *earlier.get(place).filter(|_| there)?)
        };
        let (Some(net_rx), Some(net_tx)) =
            (moved(&now.receive, &before.receive), moved(&now.send, &before.send))
        else {
            continue;
        };
        if net_rx == 0 && net_tx == 0 && !is_online(*cpu) {
            continue;
        }
        let mut sample = ReceiveSample { cpu: *cpu, net_rx, net_tx, ..ReceiveSample::default() };
        if let Some((before, now, _)) = softnet {
            let is_this = |line: &&SoftnetLine| line.cpu == *cpu;
            let line = now.cpus.get(place).filter(is_this);
            let line = line.or_else(|| now.cpus.iter().find(is_this));
            let from = earlier(&before.cpus, place, |line| line.cpu == *cpu);
            if let (Some(line), Some(from)) = (line, from) {
                sample.packets = moved_32(line.processed, from.processed);
                sample.dropped = moved_32(line.dropped, from.dropped);
                sample.squeezed = moved_32(line.squeezed, from.squeezed);
                sample.steered = moved_32(line.steered, from.steered);
            }
        }
        samples.push(sample);
    }
}

pub(super) fn interrupts(before: &Snapshot, now: &Snapshot, samples: &mut Vec<InterruptSample>) {
    samples.clear();
    if !now.interrupts.is_newer_than(before) {
        return; // they were not looked at
    }
    let Some((before, now, interval_ns)) = now.interrupts.since(&before.interrupts) else { return };
    if before.cpus != now.cpus {
        return; // the columns stand for other processors
    }
    for (place, interrupt) in now.interrupts.iter().enumerate() {
        let same = |each: &Interrupt| each.line == interrupt.line;
        let from = match before.interrupts.get(place) {
            Some(each) if same(each) => Some(place),
            _ => before.interrupts.iter().position(same),
        };
        let Some(from) = from else { continue };
        let mut sum = 0;
        let mut most = (0, 0);
        for ((now, before), cpu) in now.counts(place).iter().zip(before.counts(from)).zip(&now.cpus)
        {
            let count = moved_32(*now, *before).unwrap_or(0);
            sum += count;
            if count > most.0 {
                most = (count, *cpu);
            }
        }
        if sum == 0 {
            continue;
        }
        let sample = InterruptSample {
            line: interrupt.line,
            name: interrupt.name,
            per_s: per_s(sum, interval_ns),
            cpu: most.1,
            cpu_pct: ratio(most.0, sum) * 100.0,
        };
        // kept in order, the busiest first: there are few, and nothing is allocated
        let rank = samples.iter().position(|each| each.per_s < sample.per_s);
        let rank = rank.unwrap_or(samples.len());
        if rank < LINES_MAX {
            samples.truncate(LINES_MAX - 1);
            samples.insert(rank.min(samples.len()), sample);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::parsed;
    use crate::snapshot::Part;
    use plumb_procfs::kernel::{Interrupts, Softirqs, Softnet, Stat};

    #[test]
    fn processors_that_are_not_there_are_left_out() {
        let at = |at_ns: u64, rx: [u32; 3], processed: &str| Snapshot {
            stat: Part::new(at_ns, parsed::<Stat>("cpu 1 1 1 1\ncpu0 1 1 1 1\ncpu1 1 1 1 1\n")),
            softirqs: Part::new(
                at_ns,
                parsed::<Softirqs>(&format!(
                    " CPU0 CPU1 CPU2\nNET_TX: 0 0 0\nNET_RX: {} {} {}\n",
                    rx[0], rx[1], rx[2]
                )),
            ),
            softnet: Part::new(
                at_ns,
                parsed::<Softnet>(&format!("{processed} 0 0\n{processed} 0 1\n")),
            ),
            ..Snapshot::default()
        };
        let before = at(1, [u32::MAX, 5, 0], "ffffffff");
        let now = at(2, [9, 5, 0], "00000001");
        let mut samples = Vec::new();
        each(&before, &now, &mut samples);
        assert_eq!(samples.len(), 2, "{samples:?}");
        assert_eq!((samples[0].cpu, samples[0].net_rx, samples[0].packets), (0, 10, Some(2)));
        assert_eq!((samples[1].cpu, samples[1].net_rx), (1, 0));
    }

    #[test]
    fn the_busiest_lines_come_first() {
        let at = |at_ns: u64, text: &str| Snapshot {
            interrupts: Part::new(at_ns, parsed::<Interrupts>(text)),
            ..Snapshot::default()
        };
        let before = at(0, " CPU0 CPU1\n 1: 0 0  a\n 2: 0 0  b\n 3: 0 0  c\n");
        let now = at(1_000_000_000, " CPU0 CPU1\n 1: 1 3  a\n 3: 9 0  c\n");
        let mut samples = Vec::new();
        interrupts(&before, &now, &mut samples);
        let seen: Vec<_> = samples.iter().map(|each| (each.name.as_str(), each.cpu)).collect();
        assert_eq!(seen, [("c", 0), ("a", 1)]);
        assert!((samples[1].cpu_pct - 75.0).abs() < 1e-9);
        interrupts(&before, &at(2, " CPU0\n 1: 1  a\n"), &mut samples);
        assert!(samples.is_empty(), "a processor was switched off");
    }
}
