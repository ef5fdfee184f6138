//! RDMA and shared memory communications.

use plumb_netlink::smc::reason_in_words;
use plumb_procfs::Label;
use plumb_procfs::counter::{float, moved, per_s};
use plumb_procfs::rdma::{Counter, RdmaPort, WORD};
use serde::{Deserialize, Serialize};

use crate::smc::{Fallback, LinkGroups, SmcCounters, SmcTraffic};
use crate::snapshot::Snapshot;

/// One port of an RDMA device. `/proc/net/dev` sees nothing of this traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RdmaSample {
    /// Device and port: `mlx5_0/1`.
    pub name: Label,
    /// The network interface of a RoCE port; empty for InfiniBand.
    pub interface: Label,
    /// Bytes received a second; absent where the driver does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_bytes_per_s: Option<f64>,
    /// Bytes sent a second; absent where the driver does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_bytes_per_s: Option<f64>,
    /// Packets received a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_packets_per_s: Option<f64>,
    /// Packets sent a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_packets_per_s: Option<f64>,
    /// Packets with an error, thrown away or out of order.
    pub trouble: u64,
    /// Packets that a switch marked as congested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_marks: Option<u64>,
}

/// Connections that fell back to TCP for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FallbackSample {
    /// True when this machine was the server.
    pub server: bool,
    /// The kernel's number of the reason, and what it means: `0x03010000: the peer has no SMC`.
    pub reason: String,
    /// How many.
    pub count: u64,
}

/// Shared memory communications.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SmcSample {
    /// Over RDMA.
    pub smc_r: SmcTrafficSample,
    /// Within a machine.
    pub smc_d: SmcTrafficSample,
    /// Handshakes that failed.
    pub handshake_errors: u64,
    /// Connections that fell back to TCP, of both sides. Above zero, `SMC is on` was not true for
    /// all of them.
    pub fallbacks: u64,
    /// The same by reason; empty as long as none fell back.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub reasons: Vec<FallbackSample>,
    /// Link groups of SMC-R that stand.
    #[serde(default)]
    pub link_groups: LinkGroups,
}

/// One technology of SMC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SmcTrafficSample {
    /// Connections that really used it.
    pub connections: u64,
    /// Bytes received a second.
    pub received_bytes_per_s: f64,
    /// Bytes sent a second.
    pub sent_bytes_per_s: f64,
    /// Times that a buffer was full, here or at the peer.
    pub buffer_full: u64,
}

pub(super) fn rdma(before: &Snapshot, now: &Snapshot, samples: &mut Vec<RdmaSample>) {
    samples.clear();
    let Some((before, now, interval_ns)) = now.rdma.since(&before.rdma) else { return };
    for (place, port) in now.ports.iter().enumerate() {
        let earlier = super::earlier(&before.ports, place, |earlier| earlier.name == port.name);
        samples.extend(earlier.map(|earlier| port_between(earlier, port, interval_ns)));
    }
}

fn port_between(before: &RdmaPort, now: &RdmaPort, interval_ns: u64) -> RdmaSample {
    let count = |counter| moved(now.get(counter)?, before.get(counter)?);
    let rate = |counter| count(counter).map(|count| per_s(count, interval_ns));
    let bytes = |counter| rate(counter).map(|words| words * float(WORD));
    let trouble = [Counter::ReceiveErrors, Counter::SendDiscards, Counter::OutOfSequence];
    RdmaSample {
        name: now.name,
        interface: now.interface,
        received_bytes_per_s: bytes(Counter::ReceivedWords),
        sent_bytes_per_s: bytes(Counter::SentWords),
        received_packets_per_s: rate(Counter::ReceivedPackets),
        sent_packets_per_s: rate(Counter::SentPackets),
        trouble: trouble.into_iter().filter_map(count).sum(),
        congestion_marks: count(Counter::CongestionMarks),
    }
}

pub(super) fn smc(before: &Snapshot, now: &Snapshot) -> Option<SmcSample> {
    let (before, now, interval_ns) = now.smc.since(&before.smc)?;
    Some(SmcSample {
        smc_r: traffic_between(&before.smc_r, &now.smc_r, interval_ns)?,
        smc_d: traffic_between(&before.smc_d, &now.smc_d, interval_ns)?,
        handshake_errors: moved(now.handshake_errors, before.handshake_errors)?,
        fallbacks: moved(fallbacks(now), fallbacks(before))?,
        reasons: reasons(before, now),
        link_groups: now.link_groups,
    })
}

/// The reasons whose count moved.
fn reasons(before: &SmcCounters, now: &SmcCounters) -> Vec<FallbackSample> {
    let earlier = |now: &Fallback| {
        let same = |it: &&Fallback| (it.server, it.reason) == (now.server, now.reason);
        before.fallbacks.iter().find(same).map_or(0, |it| it.count)
    };
    let moved = now.fallbacks.iter().filter(|now| now.count != earlier(now));
    let moved = moved.map(|now| FallbackSample {
        server: now.server,
        reason: reason_in_words(now.reason),
        count: now.count.wrapping_sub(earlier(now)).into(),
    });
    moved.collect()
}

fn fallbacks(counters: &SmcCounters) -> u64 {
    counters.client_fallbacks.saturating_add(counters.server_fallbacks)
}

fn traffic_between(
    before: &SmcTraffic,
    now: &SmcTraffic,
    interval_ns: u64,
) -> Option<SmcTrafficSample> {
    let rate = |now, before| Some(per_s(moved(now, before)?, interval_ns));
    Some(SmcTrafficSample {
        connections: moved(now.connections, before.connections)?,
        received_bytes_per_s: rate(now.received_bytes, before.received_bytes)?,
        sent_bytes_per_s: rate(now.sent_bytes, before.sent_bytes)?,
        buffer_full: moved(now.buffer_full, before.buffer_full)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Part;

    #[test]
    fn data_is_counted_in_words() {
        let before = RdmaPort::default().with(Counter::SentWords, 1000);
        let now = before.with(Counter::SentWords, 1250).with(Counter::OutOfSequence, 3);
        let seen = port_between(&before, &now, 500_000_000);
        assert!((seen.sent_bytes_per_s.unwrap() - 2000.0).abs() < 1e-9);
        assert_eq!((seen.received_bytes_per_s, seen.trouble), (None, 0));
    }

    #[test]
    fn fallbacks_are_told_by_reason() {
        let of = |fallbacks: &[(bool, u32, u16)]| SmcCounters {
            fallbacks: fallbacks
                .iter()
                .map(|(server, reason, count)| Fallback {
                    server: *server,
                    reason: *reason,
                    count: *count,
                })
                .collect(),
            ..SmcCounters::default()
        };
        let before = of(&[(false, 0x0301_0000, 65_535), (true, 0x0303_0000, 4)]);
        let now = of(&[(true, 0x0303_0000, 4), (false, 0x0301_0000, 1), (true, 0x0301_0000, 3)]);
        let found = reasons(&before, &now);
        let seen: Vec<_> = found.iter().map(|it| (it.server, it.count)).collect();
        assert_eq!(seen, [(false, 2), (true, 3)], "a counter of 16 bits went through");
        assert_eq!(found[0].reason, "0x03010000: the peer has no SMC");
    }

    #[test]
    fn fallbacks_of_both_sides_count() {
        let at = |at_ns, client_fallbacks, server_fallbacks| Snapshot {
            smc: Part::new(
                at_ns,
                SmcCounters { client_fallbacks, server_fallbacks, ..SmcCounters::default() },
            ),
            ..Snapshot::default()
        };
        assert_eq!(smc(&at(0, 1, 2), &at(1, 3, 5)).unwrap().fallbacks, 5);
        assert_eq!(smc(&at(0, 1, 2), &at(1, 3, 5)).unwrap().reasons, []);
        assert_eq!(smc(&at(0, 1, 2), &at(1, 0, 0)), None, "the module was loaded anew");
    }
}
