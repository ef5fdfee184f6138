//! What a machine did over the time of a run, summed up from its samples.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::counter::float;
use crate::kernel::DiskKind;
use crate::sample::Sample;
use crate::spread::ReceiveSpread;

/// A figure over a window. The mean weighs each sample by the length of its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    /// Smallest sample.
    pub min: f64,
    /// Mean over time.
    pub mean: f64,
    /// Largest sample.
    pub max: f64,
    #[serde(skip)]
    weight_ns: u64,
}

impl Range {
    /// Takes a value that held for `interval_ns`.
    fn take(range: &mut Option<Self>, value: f64, interval_ns: u64) {
        let Some(range) = range else {
            *range = Some(Self { min: value, mean: value, max: value, weight_ns: interval_ns });
            return;
        };
        range.min = range.min.min(value);
        range.max = range.max.max(value);
        range.weight_ns = range.weight_ns.saturating_add(interval_ns).max(1);
        range.mean += (value - range.mean) * float(interval_ns) / float(range.weight_ns);
    }
}

/// One processor over a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CpuUsage {
    /// Work of any kind, percent.
    pub busy_pct: Option<Range>,
    /// Soft interrupts, percent.
    pub softirq_pct: Option<Range>,
    /// Soft interrupts of receiving, a count.
    pub net_rx: u64,
}

/// One disk over a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DiskUsage {
    /// Bytes read and written a second.
    pub bytes_per_s: Option<Range>,
    /// Share of the time with a request under way, percent.
    pub busy_pct: Option<Range>,
    /// Requests under way.
    pub queue: Option<Range>,
}

/// What a machine did over a window. Figures that no sample had are absent; counts are over the
/// whole window.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Usage {
    /// Samples in it.
    pub samples: u64,
    /// Time that they cover, nanoseconds.
    pub covered_ns: u64,
    /// Clock ticks behind the shares of the processors: few ticks, rough shares.
    pub ticks: u64,
    /// Work of any kind, percent of all processors.
    pub cpu_busy_pct: Option<Range>,
    /// Programs, percent of all processors.
    pub cpu_user_pct: Option<Range>,
    /// The kernel on behalf of programs, percent of all processors.
    pub cpu_system_pct: Option<Range>,
    /// Interrupts and soft interrupts, percent of all processors.
    pub cpu_interrupt_pct: Option<Range>,
    /// Idle while a disk was waited for, percent of all processors.
    pub cpu_iowait_pct: Option<Range>,
    /// Taken by the hypervisor for other machines, percent of all processors.
    pub steal_pct: Option<Range>,
    /// Each processor, by number.
    pub cpus: BTreeMap<u32, CpuUsage>,
    /// Threads that run or could run.
    pub running: Option<Range>,
    /// Memory that programs may still take, bytes.
    pub available_bytes: Option<Range>,
    /// Pages brought back from the swap space.
    pub swapped_in: u64,
    /// Pages written to the swap space.
    pub swapped_out: u64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Pages that were evicted and needed again.
    pub refaults: u64,
    /// Processes killed for want of memory.
    pub oom_kills: u64,
    /// Each disk that worked, by name; whole disks only.
    pub disks: BTreeMap<String, DiskUsage>,
    /// Received over the network, RDMA included, bytes a second.
    pub received_bytes_per_s: Option<Range>,
    /// Sent over the network, RDMA included, bytes a second.
    pub sent_bytes_per_s: Option<Range>,
    /// The fullest link, percent of its speed; absent where no link tells its speed.
    pub link_used_pct: Option<Range>,
    /// Errors and drops of interfaces and RDMA ports.
    pub network_trouble: u64,
    /// TCP segments sent again.
    pub retransmitted: u64,
    /// Connections turned away because nobody took them fast enough.
    pub listen_overflows: u64,
    /// Packets thrown away because the queue of a processor was full.
    pub softnet_dropped: u64,
    /// Times that the receive budget of a processor ran out.
    pub softnet_squeezed: u64,
    /// Connections that really used SMC; absent without SMC.
    pub smc_connections: Option<u64>,
    /// Connections that fell back from SMC to TCP; absent without SMC.
    pub smc_fallbacks: Option<u64>,
    /// Share of one processor that the sampling itself used, percent.
    pub own_cost_pct: f64,
    #[serde(skip)]
    own_cost_ns: u64,
}

impl Usage {
    /// Sums up `samples`.
    #[must_use]
    pub fn of<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> Self {
        let mut usage = Self::default();
        samples.into_iter().for_each(|sample| usage.add(sample));
        usage
    }

    /// Takes one more sample.
    pub fn add(&mut self, sample: &Sample) {
        let ns = sample.interval_ns;
        raise(&mut self.samples, 1);
        raise(&mut self.covered_ns, ns);
        raise(&mut self.own_cost_ns, sample.cost_ns);
        self.own_cost_pct = crate::counter::percent(self.own_cost_ns, self.covered_ns);
        self.add_cpu(sample, ns);
        self.add_memory(sample, ns);
        self.add_network(sample, ns);
        for disk in sample.disks.iter().filter(|disk| disk.kind == DiskKind::Whole) {
            let usage = match self.disks.get_mut(disk.name.as_str()) {
                Some(usage) => usage,
                None => self.disks.entry(disk.name.to_string()).or_default(),
            };
            let bytes = disk.read_bytes_per_s + disk.write_bytes_per_s;
            Range::take(&mut usage.bytes_per_s, bytes, ns);
            Range::take(&mut usage.busy_pct, disk.busy_pct, ns);
            Range::take(&mut usage.queue, disk.queue_mean, ns);
        }
    }

    /// How the work of receiving was spread; `None` when nothing was received.
    #[must_use]
    pub fn receive(&self) -> Option<ReceiveSpread> {
        let work = self.receive_work();
        let softirq = self.cpus.values().filter_map(|each| each.softirq_pct);
        Some(ReceiveSpread {
            softirq_pct_max: softirq.map(|range| range.mean).reduce(f64::max),
            dropped: self.softnet_dropped,
            squeezed: self.softnet_squeezed,
            ..ReceiveSpread::of(&work)?
        })
    }

    /// Soft interrupts of receiving by processor.
    #[must_use]
    pub fn receive_work(&self) -> Vec<(u32, u64)> {
        self.cpus.iter().map(|(cpu, each)| (*cpu, each.net_rx)).collect()
    }

    fn add_cpu(&mut self, sample: &Sample, ns: u64) {
        if let Some(cpu) = &sample.cpu {
            let share = &cpu.share;
            raise(&mut self.ticks, share.ticks);
            Range::take(&mut self.cpu_busy_pct, share.busy_pct, ns);
            Range::take(&mut self.cpu_user_pct, share.user_pct + share.nice_pct, ns);
            Range::take(&mut self.cpu_system_pct, share.system_pct, ns);
            Range::take(&mut self.cpu_interrupt_pct, share.irq_pct + share.softirq_pct, ns);
            Range::take(&mut self.cpu_iowait_pct, share.iowait_pct, ns);
            Range::take(&mut self.running, float(cpu.running), ns);
            if let Some(steal) = share.steal_pct {
                Range::take(&mut self.steal_pct, steal, ns);
            }
        }
        for share in &sample.cpus {
            let usage = self.cpus.entry(share.number).or_default();
            Range::take(&mut usage.busy_pct, share.busy_pct, ns);
            Range::take(&mut usage.softirq_pct, share.softirq_pct, ns);
        }
        for receive in &sample.receive {
            raise(&mut self.cpus.entry(receive.cpu).or_default().net_rx, receive.net_rx);
            raise(&mut self.softnet_dropped, receive.dropped.unwrap_or(0));
            raise(&mut self.softnet_squeezed, receive.squeezed.unwrap_or(0));
        }
    }

    fn add_memory(&mut self, sample: &Sample, ns: u64) {
        if let Some(available) = sample.memory.and_then(|memory| memory.available_bytes) {
            Range::take(&mut self.available_bytes, float(available), ns);
        }
        if let Some(paging) = &sample.paging {
            raise(&mut self.swapped_in, paging.swapped_in);
            raise(&mut self.swapped_out, paging.swapped_out);
            raise(&mut self.major_faults, paging.major_faults);
            raise(
                &mut self.refaults,
                paging.refaults_anonymous.saturating_add(paging.refaults_file),
            );
            raise(&mut self.oom_kills, paging.oom_kills);
        }
    }

    fn add_network(&mut self, sample: &Sample, ns: u64) {
        let traffic = sample.traffic();
        Range::take(&mut self.received_bytes_per_s, traffic.received_bytes_per_s, ns);
        Range::take(&mut self.sent_bytes_per_s, traffic.sent_bytes_per_s, ns);
        raise(&mut self.network_trouble, traffic.trouble);
        if let Some(used) =
            sample.interfaces.iter().filter_map(|each| each.used_pct).reduce(f64::max)
        {
            Range::take(&mut self.link_used_pct, used, ns);
        }
        if let Some(tcp) = &sample.tcp {
            raise(&mut self.retransmitted, tcp.retransmitted);
            raise(&mut self.listen_overflows, tcp.listen_overflows.unwrap_or(0));
        }
        if let Some(smc) = &sample.smc {
            let connections = smc.smc_r.connections.saturating_add(smc.smc_d.connections);
            raise(self.smc_connections.get_or_insert(0), connections);
            raise(self.smc_fallbacks.get_or_insert(0), smc.fallbacks);
        }
    }
}

/// Adds to a sum. Samples of another machine may hold anything.
fn raise(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{CpuSample, CpuShare, ReceiveSample};

    fn sample(interval_ns: u64, busy_pct: f64, net_rx: [u64; 2]) -> Sample {
        let share =
            CpuShare { busy_pct, softirq_pct: busy_pct / 2.0, ticks: 100, ..CpuShare::default() };
        let each = |number| CpuShare { number, ..share };
        let receive = |(cpu, net_rx)| ReceiveSample {
            cpu,
            net_rx,
            squeezed: Some(1),
            ..ReceiveSample::default()
        };
        Sample {
            interval_ns,
            cost_ns: interval_ns / 1000,
            cpu: Some(CpuSample { share, ..CpuSample::default() }),
            cpus: (0..2).map(each).collect(),
            receive: (0..).zip(net_rx).map(receive).collect(),
            ..Sample::default()
        }
    }

    #[test]
    fn a_long_interval_weighs_more() {
        let usage = Usage::of(&[sample(3_000, 10.0, [5, 0]), sample(1_000, 50.0, [5, 0])]);
        let busy = usage.cpu_busy_pct.unwrap();
        assert!((busy.mean - 20.0).abs() < 1e-9, "{busy:?}");
        assert!((busy.min - 10.0).abs() < 1e-9 && (busy.max - 50.0).abs() < 1e-9);
        assert_eq!((usage.samples, usage.covered_ns, usage.ticks), (2, 4_000, 200));
        assert!((usage.own_cost_pct - 0.1).abs() < 1e-9);
        assert_eq!(usage.steal_pct, None);
        let receive = usage.receive().unwrap();
        assert_eq!(receive.to_string(), "receive work is handled by 1.0 of 2 CPUs");
        assert_eq!(receive.squeezed, 4);
        assert!((receive.softirq_pct_max.unwrap() - 10.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_is_no_usage() {
        let usage = Usage::default();
        assert_eq!((usage.cpu_busy_pct, usage.receive()), (None, None));
    }
}
