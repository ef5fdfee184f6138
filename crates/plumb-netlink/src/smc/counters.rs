//! The statistics of SMC, from dumps of its generic netlink family.

use crate::{Dump, attributes, each_payload, u16_at, u32_at, u64_at};

/// Reasons that the kernel keeps, for each side.
const REASONS_MAX: usize = 60;

/// Kinds of attributes.
///
/// # Source
/// include/uapi/linux/smc.h of Linux 6.12.
mod kind {
    pub(super) const LINK_GROUP: u16 = 2;
    pub(super) const STATS: u16 = 7;
    pub(super) const FALLBACKS: u16 = 8;

    pub(super) const SMC_D: u16 = 1;
    pub(super) const SMC_R: u16 = 2;
    pub(super) const CLIENT_ERRORS: u16 = 3;
    pub(super) const SERVER_ERRORS: u16 = 4;

    pub(super) const SEND_BUFFERS: u16 = 5;
    pub(super) const RECEIVE_BUFFERS: u16 = 6;
    pub(super) const SUCCESSES: [u16; 4] = [7, 8, 9, 10];
    pub(super) const RECEIVED_BYTES: u16 = 16;
    pub(super) const SENT_BYTES: u16 = 17;
    pub(super) const RECEIVES: u16 = 18;
    pub(super) const SENDS: u16 = 19;

    pub(super) const PEER_FULL: u16 = 3;
    pub(super) const FULL: u16 = 4;

    pub(super) const ROLE: u16 = 2;
    pub(super) const CONNECTIONS: u16 = 6;

    pub(super) const IS_SERVER: u16 = 1;
    pub(super) const SERVER_COUNT: u16 = 2;
    pub(super) const CLIENT_COUNT: u16 = 3;
    pub(super) const REASON: u16 = 4;
    pub(super) const REASON_COUNT: u16 = 5;
}

/// Counters of one technology: SMC-R (between machines) or SMC-D (within one).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SmcTraffic {
    /// Connections that really used it, of both sides and versions.
    pub connections: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Receive calls.
    pub receives: u64,
    /// Send calls.
    pub sends: u64,
    /// Times that a buffer of either direction was full, here or at the peer.
    pub buffer_full: u64,
}

/// Connections that fell back to TCP for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Fallback {
    /// True when this machine was the server.
    pub server: bool,
    /// Why, as the kernel's `smc_clc.h` numbers it.
    pub reason: u32,
    /// How many since the start.
    pub count: u16,
}

/// Link groups of SMC-R that stand: connections between the same two machines share one, as many as
/// `net.smc.smcr_max_conns_per_lgr` lets it have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct LinkGroups {
    /// Groups of which this machine was the client when they were made.
    pub as_client: u64,
    /// Groups of which it was the server.
    pub as_server: u64,
    /// Connections in all of them.
    pub connections: u64,
}

/// Counters of SMC in this network namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SmcCounters {
    /// Over RDMA.
    pub smc_r: SmcTraffic,
    /// Within a machine.
    pub smc_d: SmcTraffic,
    /// Handshakes that failed, of both sides.
    pub handshake_errors: u64,
    /// Connections made from here that fell back to TCP.
    pub client_fallbacks: u64,
    /// Connections taken that fell back to TCP.
    pub server_fallbacks: u64,
    /// The same by reason.
    pub fallbacks: Vec<Fallback>,
    /// Link groups that stand now.
    pub link_groups: LinkGroups,
}

impl SmcCounters {
    /// Forgets everything, before a dump.
    pub fn clear(&mut self) {
        let mut fallbacks = std::mem::take(&mut self.fallbacks);
        fallbacks.clear();
        *self = Self { fallbacks, ..Self::default() };
    }

    /// Takes what one receive brought of a dump of statistics or of fallbacks.
    pub fn take(&mut self, bytes: &[u8]) -> Dump {
        each_payload(bytes, |payload| {
            for (kind, nest) in attributes(payload) {
                match kind {
                    kind::LINK_GROUP => self.take_link_group(nest),
                    kind::STATS => self.take_statistics(nest),
                    kind::FALLBACKS => self.take_fallback(nest),
                    _ => {}
                }
            }
        })
    }

    fn take_link_group(&mut self, nest: &[u8]) {
        let groups = &mut self.link_groups;
        for (kind, value) in attributes(nest) {
            match kind {
                kind::ROLE if value.first() == Some(&0) => groups.as_client += 1,
                kind::ROLE => groups.as_server += 1,
                kind::CONNECTIONS => {
                    let connections = u32_at(value, 0).unwrap_or(0);
                    groups.connections = groups.connections.saturating_add(connections.into());
                }
                _ => {}
            }
        }
    }

    fn take_statistics(&mut self, nest: &[u8]) {
        for (kind, value) in attributes(nest) {
            match kind {
                kind::SMC_D => self.smc_d = traffic(value),
                kind::SMC_R => self.smc_r = traffic(value),
                kind::CLIENT_ERRORS | kind::SERVER_ERRORS => {
                    let errors = u64_at(value, 0).unwrap_or(0);
                    self.handshake_errors = self.handshake_errors.saturating_add(errors);
                }
                _ => {}
            }
        }
    }

    fn take_fallback(&mut self, nest: &[u8]) {
        let mut fallback = Fallback::default();
        for (kind, value) in attributes(nest) {
            match kind {
                kind::IS_SERVER => fallback.server = value.first().is_some_and(|byte| *byte != 0),
                kind::SERVER_COUNT => self.server_fallbacks = u64_at(value, 0).unwrap_or(0),
                kind::CLIENT_COUNT => self.client_fallbacks = u64_at(value, 0).unwrap_or(0),
                kind::REASON => fallback.reason = u32_at(value, 0).unwrap_or(0),
                kind::REASON_COUNT => fallback.count = u16_at(value, 0).unwrap_or(0),
                _ => {}
            }
        }
        if self.fallbacks.len() < REASONS_MAX {
            self.fallbacks.push(fallback);
        }
    }
}

fn traffic(nest: &[u8]) -> SmcTraffic {
    let mut traffic = SmcTraffic::default();
    for (kind, value) in attributes(nest) {
        let number = u64_at(value, 0).unwrap_or(0);
        match kind {
            kind::RECEIVED_BYTES => traffic.received_bytes = number,
            kind::SENT_BYTES => traffic.sent_bytes = number,
            kind::RECEIVES => traffic.receives = number,
            kind::SENDS => traffic.sends = number,
            kind::SEND_BUFFERS | kind::RECEIVE_BUFFERS => {
                for (_, count) in attributes(value)
                    .filter(|(kind, _)| [kind::PEER_FULL, kind::FULL].contains(kind))
                {
                    let count = u64_at(count, 0).unwrap_or(0);
                    traffic.buffer_full = traffic.buffer_full.saturating_add(count);
                }
            }
            _ if kind::SUCCESSES.contains(&kind) => {
                traffic.connections = traffic.connections.saturating_add(number);
            }
            _ => {}
        }
    }
    traffic
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{recorded, request};
    use proptest::prelude::*;

    fn nest(attributes: &[(u16, &[u8])]) -> Vec<u8> {
        request(0, 0, 0, attributes)[20..].to_vec()
    }

    fn done() -> Vec<u8> {
        request(3, 0, 0, &[])
    }

    #[test]
    fn statistics_of_both_technologies_are_read() {
        let full =
            nest(&[(3, &1u64.to_ne_bytes()), (4, &2u64.to_ne_bytes()), (6, &9u64.to_ne_bytes())]);
        let tech = nest(&[
            (5 | 0x8000, &full),
            (8, &3u64.to_ne_bytes()),
            (10, &4u64.to_ne_bytes()),
            (16, &1000u64.to_ne_bytes()),
            (17, &2000u64.to_ne_bytes()),
            (19, &20u64.to_ne_bytes()),
        ]);
        let stats =
            nest(&[(2 | 0x8000, &tech), (3, &5u64.to_ne_bytes()), (4, &6u64.to_ne_bytes())]);
        let mut bytes = request(33, 2, 7, &[(7 | 0x8000, &stats)]);
        bytes.extend(done());
        let mut counters = SmcCounters::default();
        assert_eq!(counters.take(&bytes), Dump::Complete);
        assert_eq!(
            counters.smc_r,
            SmcTraffic {
                connections: 7,
                received_bytes: 1000,
                sent_bytes: 2000,
                receives: 0,
                sends: 20,
                buffer_full: 3
            }
        );
        assert_eq!(counters.handshake_errors, 11);
        assert_eq!(counters.smc_d, SmcTraffic::default());
    }

    #[test]
    fn fallbacks_are_read_by_reason() {
        let first = nest(&[
            (1, &[1]),
            (2, &4u64.to_ne_bytes()),
            (3, &9u64.to_ne_bytes()),
            (4, &0x0301_0000u32.to_ne_bytes()),
            (5, &4u16.to_ne_bytes()),
        ]);
        let second =
            nest(&[(1, &[0]), (4, &0x0303_0000u32.to_ne_bytes()), (5, &9u16.to_ne_bytes())]);
        let mut counters = SmcCounters::default();
        assert_eq!(counters.take(&request(33, 2, 8, &[(8, &first)])), Dump::Open);
        assert_eq!(counters.take(&request(33, 2, 8, &[(8, &second)])), Dump::Open);
        assert_eq!(counters.take(&done()), Dump::Complete);
        assert_eq!((counters.server_fallbacks, counters.client_fallbacks), (4, 9));
        assert_eq!(
            counters.fallbacks,
            [
                Fallback { server: true, reason: 0x0301_0000, count: 4 },
                Fallback { server: false, reason: 0x0303_0000, count: 9 }
            ]
        );
        counters.clear();
        assert_eq!(counters, SmcCounters::default());
    }

    fn of_recording(text: &str) -> SmcCounters {
        let mut counters = SmcCounters::default();
        let datagrams = recorded(text);
        let ends = datagrams.iter().map(|(_, datagram)| counters.take(datagram));
        assert_eq!(ends.last(), Some(Dump::Complete));
        counters
    }

    #[test]
    fn what_a_kernel_really_answers_is_read() {
        let idle = of_recording(include_str!("../../tests/fixtures/smc-6.12-idle.hex"));
        assert_eq!(idle, SmcCounters::default());
        let used = of_recording(include_str!("../../tests/fixtures/smc-6.12.hex"));
        assert_eq!(
            used.smc_r,
            SmcTraffic {
                connections: 2, // both ends were on that machine
                received_bytes: 4_400_008,
                sent_bytes: 4_400_008,
                receives: 4_402,
                sends: 4_401,
                buffer_full: 0,
            }
        );
        assert_eq!((used.client_fallbacks, used.server_fallbacks), (2, 0));
        let by_reason = [Fallback { server: false, reason: 0x0301_0000, count: 2 }];
        assert_eq!(used.fallbacks, by_reason);
    }

    #[test]
    fn link_groups_that_stand_are_counted_for_each_side() {
        let mut counters = SmcCounters::default();
        for (_, datagram) in recorded(include_str!("../../tests/fixtures/smc-6.12-links.hex"))
            .iter()
            .filter(|(command, _)| *command == 2)
        {
            counters.take(datagram);
        }
        assert_eq!(counters.link_groups, LinkGroups { as_client: 1, as_server: 1, connections: 2 });
    }

    #[test]
    fn a_refusal_has_a_number() {
        let mut refusal = request(2, 0, 0, &[]);
        refusal[16..20].copy_from_slice(&(-2i32).to_ne_bytes());
        assert_eq!(SmcCounters::default().take(&refusal), Dump::Refused(2));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let mut counters = SmcCounters::default();
            let _ = counters.take(&bytes);
            let _ = counters.take(&request(33, 2, 7, &[(7, &bytes)]));
            let _ = counters.take(&request(33, 2, 8, &[(8, &bytes)]));
            let _ = counters.take(&request(33, 2, 2, &[(2, &bytes)]));
            counters.take_statistics(&nest(&[(2, &bytes)]));
        }
    }
}
