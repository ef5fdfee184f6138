//! Network interfaces, TCP.

use plumb_nmon::InterfaceRank;
use plumb_procfs::Label;
use plumb_procfs::counter::{float, moved, moved_32, per_s, percent};
use plumb_procfs::kernel::{Interface, InterfaceKind};
use serde::{Deserialize, Serialize};

use super::earlier;
use super::transport::RdmaSample;
use crate::snapshot::Snapshot;

/// One network interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InterfaceSample {
    /// Its name.
    pub name: Label,
    /// What it stands for; sums are made over hardware where there is any.
    pub kind: InterfaceKind,
    /// Bytes received a second.
    pub received_bytes_per_s: f64,
    /// Bytes sent a second.
    pub sent_bytes_per_s: f64,
    /// Packets received a second.
    pub received_packets_per_s: f64,
    /// Packets sent a second.
    pub sent_packets_per_s: f64,
    /// Packets received with an error, and packets that could not be sent.
    pub errors: u64,
    /// Packets thrown away in either direction.
    pub drops: u64,
    /// Speed of the link, Mbit/s; absent when it tells none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_mbit: Option<u64>,
    /// The busier direction as a share of the link's speed, with the RDMA traffic that goes over
    /// the same link and stands in no other figure of the interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_pct: Option<f64>,
}

/// Traffic of the whole machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Bytes received a second.
    pub received_bytes_per_s: f64,
    /// Bytes sent a second.
    pub sent_bytes_per_s: f64,
    /// Of both, bytes a second over RDMA.
    pub rdma_bytes_per_s: f64,
    /// Packets received a second, without RDMA.
    pub received_packets_per_s: f64,
    /// Packets sent a second, without RDMA.
    pub sent_packets_per_s: f64,
    /// Errors and drops, RDMA included.
    pub trouble: u64,
}

/// TCP and UDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TcpSample {
    /// Segments received a second.
    pub received_per_s: f64,
    /// Segments sent a second, those sent again not counted.
    pub sent_per_s: f64,
    /// Segments sent again.
    pub retransmitted: u64,
    /// The same as a share of all segments sent.
    pub retransmitted_pct: f64,
    /// Connections made from here a second.
    pub opened_per_s: f64,
    /// Connections taken a second.
    pub accepted_per_s: f64,
    /// Connections that were reset.
    pub resets: u64,
    /// Connections that stand, at the end of the interval.
    pub established: u64,
    /// Connections turned away because nobody took them fast enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen_overflows: Option<u64>,
    /// Connections turned away for that and any other reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen_drops: Option<u64>,
    /// Retransmission timers that ran out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<u64>,
    /// Requests to connect that were sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syn_retransmits: Option<u64>,
    /// Datagrams received a second.
    pub udp_received_per_s: f64,
    /// Datagrams sent a second.
    pub udp_sent_per_s: f64,
    /// Datagrams thrown away because nobody read fast enough.
    pub udp_overflows: u64,
}

pub(super) fn each(before: &Snapshot, now: &Snapshot, samples: &mut Vec<InterfaceSample>) {
    samples.clear();
    let Some((before, now, interval_ns)) = now.net_dev.since(&before.net_dev) else { return };
    for (place, interface) in now.interfaces.iter().enumerate() {
        let earlier = earlier(&before.interfaces, place, |earlier| earlier.name == interface.name);
        samples.extend(earlier.and_then(|earlier| between(earlier, interface, interval_ns)));
    }
}

/// `None` when the counters began again: bytes alone may wrap at 32 bits in old drivers, packets
/// that fall with them tell of a new device.
fn between(before: &Interface, now: &Interface, interval_ns: u64) -> Option<InterfaceSample> {
    let packets_in = moved(now.received_packets, before.received_packets)?;
    let packets_out = moved(now.sent_packets, before.sent_packets)?;
    let bytes_in = moved_32(now.received_bytes, before.received_bytes)?;
    let bytes_out = moved_32(now.sent_bytes, before.sent_bytes)?;
    let errors = moved(now.receive_errors, before.receive_errors)?
        .saturating_add(moved(now.send_errors, before.send_errors)?);
    let drops = moved(now.receive_drops, before.receive_drops)?
        .saturating_add(moved(now.send_drops, before.send_drops)?);
    let received_bytes_per_s = per_s(bytes_in, interval_ns);
    let sent_bytes_per_s = per_s(bytes_out, interval_ns);
    Some(InterfaceSample {
        name: now.name,
        kind: now.kind,
        received_bytes_per_s,
        sent_bytes_per_s,
        received_packets_per_s: per_s(packets_in, interval_ns),
        sent_packets_per_s: per_s(packets_out, interval_ns),
        errors,
        drops,
        speed_mbit: now.speed_mbit,
        used_pct: None, // what ports of RDMA carry over the same link is not known yet
    })
}

/// How full the two directions of a link were, percent of its speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LinkUsed {
    pub(crate) received: f64,
    pub(crate) sent: f64,
}

/// What an interface carried as a share of a link of so many Mbit/s, with the traffic of RDMA ports that
/// goes over it.
pub(crate) fn link_used_pct(
    speed_mbit: u64,
    interface: &InterfaceSample,
    rdma: &[RdmaSample],
) -> LinkUsed {
    let (mut received, mut sent) = (interface.received_bytes_per_s, interface.sent_bytes_per_s);
    for port in rdma.iter().filter(|port| port.interface == interface.name) {
        received += port.received_bytes_per_s.unwrap_or(0.0);
        sent += port.sent_bytes_per_s.unwrap_or(0.0);
    }
    let share = |bytes_per_s: f64| bytes_per_s * 8.0 / (float(speed_mbit) * 1e6) * 100.0;
    LinkUsed { received: share(received), sent: share(sent) }
}

/// Says of each interface how full its link was.
pub(super) fn share_links(interfaces: &mut [InterfaceSample], rdma: &[RdmaSample]) {
    for interface in interfaces {
        let used = interface.speed_mbit.map(|mbit| link_used_pct(mbit, interface, rdma));
        interface.used_pct = used.map(|it| it.received.max(it.sent));
    }
}

pub(super) fn tcp(before: &Snapshot, now: &Snapshot) -> Option<TcpSample> {
    if !now.snmp.is_newer_than(before) {
        return None;
    }
    let is_new = now.netstat.is_newer_than(before);
    let extra = now.netstat.since(&before.netstat).filter(|_| is_new);
    let (before, now, interval_ns) = now.snmp.since(&before.snmp)?;
    let rate = |now, before| Some(per_s(moved(now, before)?, interval_ns));
    let sent = moved(now.sent, before.sent)?;
    let retransmitted = moved(now.retransmitted, before.retransmitted)?;
    let mut sample = TcpSample {
        received_per_s: rate(now.received, before.received)?,
        sent_per_s: per_s(sent, interval_ns),
        retransmitted,
        retransmitted_pct: percent(retransmitted, sent.saturating_add(retransmitted)),
        opened_per_s: rate(now.active_opens, before.active_opens)?,
        accepted_per_s: rate(now.passive_opens, before.passive_opens)?,
        resets: moved(now.resets, before.resets)?,
        established: now.established,
        udp_received_per_s: rate(now.udp_received, before.udp_received)?,
        udp_sent_per_s: rate(now.udp_sent, before.udp_sent)?,
        udp_overflows: moved(now.udp_receive_overflows, before.udp_receive_overflows)?,
        ..TcpSample::default()
    };
    if let Some((before, now, _)) = extra {
        let count = |now: Option<u64>, before: Option<u64>| moved(now?, before?);
        sample.listen_overflows = count(now.listen_overflows, before.listen_overflows);
        sample.listen_drops = count(now.listen_drops, before.listen_drops);
        sample.timeouts = count(now.timeouts, before.timeouts);
        sample.syn_retransmits = count(now.syn_retransmits, before.syn_retransmits);
    }
    Some(sample)
}

/// Where the traffic of a machine is counted, the surest first. Of what is there only the surest is
/// added up: the others count the same traffic again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    /// Adapters.
    Hardware,
    /// In a container: interfaces of software, as their names tell, by the rule of `plumb host show`.
    Named(InterfaceRank),
    /// Interfaces upon others where those are not seen.
    Stacked,
}

impl Source {
    fn of(interface: &InterfaceSample) -> Option<Self> {
        match interface.kind {
            InterfaceKind::Hardware => Some(Self::Hardware),
            InterfaceKind::Virtual => {
                InterfaceRank::by_name(interface.name.as_str()).map(Self::Named)
            }
            InterfaceKind::Stacked => Some(Self::Stacked),
            InterfaceKind::Lower | InterfaceKind::Loopback => None,
        }
    }
}

pub(super) fn sum(interfaces: &[InterfaceSample], rdma: &[RdmaSample]) -> Traffic {
    let surest = interfaces.iter().filter_map(Source::of).min();
    let mut traffic = Traffic::default();
    for each in
        interfaces.iter().filter(|each| Source::of(each).is_some_and(|it| Some(it) == surest))
    {
        traffic.received_bytes_per_s += each.received_bytes_per_s;
        traffic.sent_bytes_per_s += each.sent_bytes_per_s;
        traffic.received_packets_per_s += each.received_packets_per_s;
        traffic.sent_packets_per_s += each.sent_packets_per_s;
        let trouble = each.errors.saturating_add(each.drops);
        traffic.trouble = traffic.trouble.saturating_add(trouble);
    }
    for port in rdma {
        let (received, sent) = (port.received_bytes_per_s, port.sent_bytes_per_s);
        traffic.received_bytes_per_s += received.unwrap_or(0.0);
        traffic.sent_bytes_per_s += sent.unwrap_or(0.0);
        traffic.rdma_bytes_per_s += received.unwrap_or(0.0) + sent.unwrap_or(0.0);
        traffic.trouble = traffic.trouble.saturating_add(port.trouble);
    }
    traffic
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(bytes: u64, packets: u64) -> Interface {
        Interface {
            received_bytes: bytes,
            received_packets: packets,
            speed_mbit: Some(1000),
            ..Interface::default()
        }
    }

    #[test]
    fn bytes_may_wrap_alone() {
        let before = interface(u64::from(u32::MAX) - 999, 500);
        let seen = between(&before, &interface(124_999_000, 600), 1_000_000_000).unwrap();
        assert!((seen.received_bytes_per_s - 125e6).abs() < 1.0, "{seen:?}");
        let mut interfaces = [seen];
        share_links(&mut interfaces, &[]);
        assert!((interfaces[0].used_pct.unwrap() - 100.0).abs() < 1e-6);
        assert_eq!(between(&before, &interface(10, 1), 1), None, "it is a new device");
    }

    #[test]
    fn rdma_fills_the_link_that_it_shares() {
        let second = 1_000_000_000;
        let seen = between(&interface(0, 0), &interface(25_000_000, 100), second).unwrap();
        let port = |interface: &str| RdmaSample {
            interface: Label::new(interface.as_bytes()),
            received_bytes_per_s: Some(50e6),
            ..RdmaSample::default()
        };
        let mut interfaces = [seen];
        share_links(&mut interfaces, &[port("another")]);
        assert!((interfaces[0].used_pct.unwrap() - 20.0).abs() < 1e-9);
        share_links(&mut interfaces, &[port("another"), port(seen.name.as_str())]);
        assert!((interfaces[0].used_pct.unwrap() - 60.0).abs() < 1e-9);
    }

    #[test]
    fn a_bond_is_not_added_to_its_hardware() {
        let of = |kind, rate| InterfaceSample {
            kind,
            received_bytes_per_s: rate,
            ..InterfaceSample::default()
        };
        let bonded = [of(InterfaceKind::Hardware, 5.0), of(InterfaceKind::Virtual, 5.0)];
        assert!((sum(&bonded, &[]).received_bytes_per_s - 5.0).abs() < 1e-9);
        let lower = [of(InterfaceKind::Hardware, 5.0), of(InterfaceKind::Lower, 5.0)];
        assert!((sum(&lower, &[]).received_bytes_per_s - 5.0).abs() < 1e-9);
        let container = [of(InterfaceKind::Virtual, 7.0), of(InterfaceKind::Loopback, 9.0)];
        assert!((sum(&container, &[]).received_bytes_per_s - 7.0).abs() < 1e-9);
    }

    #[test]
    fn without_hardware_a_bridge_is_not_added_to_its_ports() {
        use InterfaceKind::{Stacked, Virtual};
        let received = |all: &[(&str, InterfaceKind, f64)]| {
            let of = |(name, kind, rate): &(&str, InterfaceKind, f64)| InterfaceSample {
                name: Label::new(name.as_bytes()),
                kind: *kind,
                received_bytes_per_s: *rate,
                ..InterfaceSample::default()
            };
            let all: Vec<_> = all.iter().map(of).collect();
            sum(&all, &[]).received_bytes_per_s
        };
        let bridged = received(&[("br0", Stacked, 5.0), ("u9v0", Virtual, 5.0)]);
        assert!((bridged - 5.0).abs() < 1e-9, "{bridged}");
        // docker in docker
        let inner = [("eth0", Virtual, 5.0), ("docker0", Stacked, 5.0), ("veth1a2b", Virtual, 5.0)];
        assert!((received(&inner) - 5.0).abs() < 1e-9);
        // a container without root: there is nothing below the tap
        let alone = received(&[("tap0", Stacked, 3.0), ("ifb0", Virtual, 3.0)]);
        assert!((alone - 3.0).abs() < 1e-9, "{alone}");
    }
}
