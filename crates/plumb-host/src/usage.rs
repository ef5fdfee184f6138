//! What a machine did over the time of a run, summed up from its samples.

mod link;

use std::collections::BTreeMap;

use plumb_procfs::counter::{float, percent};
use plumb_procfs::kernel::DiskKind;
use serde::Serialize;

use crate::sample::{InterfaceSample, RdmaSample, Sample};
use crate::spread::ReceiveSpread;

pub use link::LinkUsage;

/// Reasons of fallbacks that are told apart.
const REASONS_MAX: usize = 64;

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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_pct: Option<Range>,
    /// Soft interrupts, percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub softirq_pct: Option<Range>,
    /// Soft interrupts of receiving, a count.
    pub net_rx: u64,
}

/// One disk over a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DiskUsage {
    /// Bytes read and written a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<Range>,
    /// Share of the time with a request under way, percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_pct: Option<Range>,
    /// Requests under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Range>,
}

/// One network interface over a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct InterfaceUsage {
    /// Bytes received a second.
    pub received_bytes_per_s: Option<Range>,
    /// Bytes sent a second.
    pub sent_bytes_per_s: Option<Range>,
    /// Packets received and sent a second.
    pub packets_per_s: Option<Range>,
    /// The busier direction as a share of the link's speed, percent; absent where it tells none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_pct: Option<Range>,
    /// The same of each direction; absent where the link tells no speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkUsage>,
    /// Packets with an error.
    pub errors: u64,
    /// Packets thrown away.
    pub drops: u64,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_busy_pct: Option<Range>,
    /// Programs, percent of all processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_user_pct: Option<Range>,
    /// The kernel on behalf of programs, percent of all processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_system_pct: Option<Range>,
    /// Interrupts and soft interrupts, percent of all processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_interrupt_pct: Option<Range>,
    /// Idle while a disk was waited for, percent of all processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_iowait_pct: Option<Range>,
    /// Taken by the hypervisor for other machines, percent of all processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_pct: Option<Range>,
    /// Each processor, by number.
    pub cpus: BTreeMap<u32, CpuUsage>,
    /// Threads that run or could run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<Range>,
    /// Memory that programs may still take, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_bytes: Option<Range>,
    /// Pages brought back from the swap space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swapped_in: Option<u64>,
    /// Pages written to the swap space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swapped_out: Option<u64>,
    /// Page faults that waited for a disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub major_faults: Option<u64>,
    /// Pages that were evicted and needed again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refaults: Option<u64>,
    /// Processes killed for want of memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oom_kills: Option<u64>,
    /// Each disk that worked, by name; whole disks only.
    pub disks: BTreeMap<String, DiskUsage>,
    /// Each network interface that ever carried anything, by name.
    pub interfaces: BTreeMap<String, InterfaceUsage>,
    /// Received over the network, RDMA included, bytes a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_bytes_per_s: Option<Range>,
    /// Sent over the network, RDMA included, bytes a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_bytes_per_s: Option<Range>,
    /// The fullest link, percent of its speed; absent where no link tells its speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_used_pct: Option<Range>,
    /// Errors and drops of interfaces and RDMA ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_trouble: Option<u64>,
    /// TCP segments sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmitted: Option<u64>,
    /// Of these, requests to connect and what answers them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmitted_connects: Option<u64>,
    /// Connections turned away because nobody took them fast enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen_overflows: Option<u64>,
    /// Packets thrown away because the queue of a processor was full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub softnet_dropped: Option<u64>,
    /// Times that the receive budget of a processor ran out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub softnet_squeezed: Option<u64>,
    /// Connections that really used SMC; absent without SMC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smc_connections: Option<u64>,
    /// Connections that fell back from SMC to TCP; absent without SMC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smc_fallbacks: Option<u64>,
    /// The same by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub smc_fallback_reasons: BTreeMap<String, u64>,
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
        self.own_cost_pct = percent(self.own_cost_ns, self.covered_ns);
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
            dropped: self.softnet_dropped.unwrap_or(0),
            squeezed: self.softnet_squeezed.unwrap_or(0),
            ..ReceiveSpread::of(&work)?
        })
    }

    /// The interface that carried most packets.
    #[must_use]
    pub fn busiest_interface(&self) -> Option<&str> {
        let packets = |usage: &InterfaceUsage| usage.packets_per_s.map_or(0.0, |range| range.mean);
        let busiest =
            self.interfaces.iter().max_by(|one, other| packets(one.1).total_cmp(&packets(other.1)));
        busiest.map(|(name, _)| name.as_str())
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
            count(&mut self.softnet_dropped, receive.dropped);
            count(&mut self.softnet_squeezed, receive.squeezed);
        }
    }

    fn add_memory(&mut self, sample: &Sample, ns: u64) {
        if let Some(available) = sample.memory.and_then(|memory| memory.available_bytes) {
            Range::take(&mut self.available_bytes, float(available), ns);
        }
        if let Some(paging) = &sample.paging {
            let refaults = paging.refaults_anonymous.saturating_add(paging.refaults_file);
            count(&mut self.swapped_in, Some(paging.swapped_in));
            count(&mut self.swapped_out, Some(paging.swapped_out));
            count(&mut self.major_faults, Some(paging.major_faults));
            count(&mut self.refaults, Some(refaults));
            count(&mut self.oom_kills, Some(paging.oom_kills));
        }
    }

    fn add_network(&mut self, sample: &Sample, ns: u64) {
        // where nobody looked at interfaces, nothing is known of their traffic
        if !(sample.interfaces.is_empty() && sample.rdma.is_empty()) {
            let traffic = sample.traffic();
            Range::take(&mut self.received_bytes_per_s, traffic.received_bytes_per_s, ns);
            Range::take(&mut self.sent_bytes_per_s, traffic.sent_bytes_per_s, ns);
            count(&mut self.network_trouble, Some(traffic.trouble));
        }
        for interface in &sample.interfaces {
            let usage = match self.interfaces.get_mut(interface.name.as_str()) {
                Some(usage) => usage,
                None => self.interfaces.entry(interface.name.to_string()).or_default(),
            };
            usage.add(interface, &sample.rdma, ns);
        }
        if let Some(used) =
            sample.interfaces.iter().filter_map(|each| each.used_pct).reduce(f64::max)
        {
            Range::take(&mut self.link_used_pct, used, ns);
        }
        if let Some(tcp) = &sample.tcp {
            count(&mut self.retransmitted, Some(tcp.retransmitted));
            count(&mut self.retransmitted_connects, tcp.syn_retransmits);
            count(&mut self.listen_overflows, tcp.listen_overflows);
        }
        if let Some(smc) = &sample.smc {
            let connections = smc.smc_r.connections.saturating_add(smc.smc_d.connections);
            count(&mut self.smc_connections, Some(connections));
            count(&mut self.smc_fallbacks, Some(smc.fallbacks));
            for fallback in &smc.reasons {
                let seen = self.smc_fallback_reasons.len();
                match self.smc_fallback_reasons.get_mut(&fallback.reason) {
                    Some(sum) => raise(sum, fallback.count),
                    // another machine may send any number of them
                    None if seen >= REASONS_MAX => {}
                    None => {
                        self.smc_fallback_reasons.insert(fallback.reason.clone(), fallback.count);
                    }
                }
            }
        }
    }
}

impl InterfaceUsage {
    fn add(&mut self, sample: &InterfaceSample, rdma: &[RdmaSample], ns: u64) {
        Range::take(&mut self.received_bytes_per_s, sample.received_bytes_per_s, ns);
        Range::take(&mut self.sent_bytes_per_s, sample.sent_bytes_per_s, ns);
        let packets = sample.received_packets_per_s + sample.sent_packets_per_s;
        Range::take(&mut self.packets_per_s, packets, ns);
        if let Some(used) = sample.used_pct {
            Range::take(&mut self.used_pct, used, ns);
        }
        LinkUsage::take(&mut self.link, sample, rdma, ns);
        raise(&mut self.errors, sample.errors);
        raise(&mut self.drops, sample.drops);
    }
}

/// Adds to a sum. Samples of another machine may hold anything.
fn raise(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

/// Adds what was counted, if anything was, to a sum that is absent until then.
fn count(sum: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        raise(sum.get_or_insert(0), more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{CpuSample, CpuShare, PagingSample, ReceiveSample};
    use plumb_procfs::Label;

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

    #[test]
    fn what_nobody_looked_at_is_absent_and_never_zero() {
        let usage = Usage::of(&[Sample { interval_ns: 1_000, ..Sample::default() }]);
        assert_eq!((usage.received_bytes_per_s, usage.swapped_in), (None, None));
        assert_eq!((usage.retransmitted, usage.softnet_dropped), (None, None));
        let json = serde_json::to_value(&usage).unwrap();
        assert!(json.get("swapped_in").is_none() && json.get("steal_pct").is_none(), "{json}");
        let looked =
            Usage::of(&[Sample { paging: Some(PagingSample::default()), ..Sample::default() }]);
        assert_eq!(looked.swapped_in, Some(0));
    }

    #[test]
    fn the_busiest_interface_is_that_of_most_packets() {
        let interface = |name: &str, received_packets_per_s| InterfaceSample {
            name: Label::new(name.as_bytes()),
            received_packets_per_s,
            ..InterfaceSample::default()
        };
        let interfaces = vec![interface("eth0", 10.0), interface("lo", 90.0)];
        let usage = Usage::of(&[Sample { interval_ns: 5, interfaces, ..Sample::default() }]);
        assert_eq!(usage.busiest_interface(), Some("lo"));
        assert_eq!(Usage::default().busiest_interface(), None);
    }
}
