//! A round trip in one line, and what stands out in it.

use serde::{Deserialize, Serialize};

use super::RoundTrip;
use super::record::HARDWARE;
use crate::{PartKind, counted, grouped, real, show_ns};

/// The means of the parts of a round trip, nanoseconds; together its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundTripMeans {
    /// At the client, from the call that sends to the driver.
    pub sending_ns: u64,
    /// At the client, from the packet in the kernel to the program.
    pub waking_ns: u64,
    /// What lies between.
    #[serde(flatten)]
    pub away: Away,
    /// What the time stamps cost these messages, nanoseconds: [`RoundTrip::stamp_costs_ns`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stamp_costs_ns: Option<i64>,
}

/// What lies between sending and waking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Away {
    /// The server told its part.
    Told {
        /// There and back.
        wire_ns: u64,
        /// At the server, from the packet in the kernel to the program.
        server_waking_ns: u64,
        /// From there to the call that sends.
        server_ns: u64,
        /// From that call to the driver.
        server_sending_ns: u64,
    },
    /// Its answers say how long it worked, and nothing of when their packets came and left.
    Said {
        /// From the driver to the packet of the answer, less that.
        away_ns: u64,
        /// What they say.
        server_ns: u64,
    },
    /// It told nothing: the wire and all of the server.
    Untold {
        /// From the driver to the packet of the answer.
        away_ns: u64,
    },
}

impl RoundTripMeans {
    /// Those of `trip`; `None` when no message was taken apart.
    #[must_use]
    pub fn of(trip: &RoundTrip) -> Option<Self> {
        let of = |kind| trip.mean_ns(kind);
        let told = || {
            Some(Away::Told {
                wire_ns: of(PartKind::Wire)?,
                server_waking_ns: of(PartKind::ServerWaking)?,
                server_ns: of(PartKind::Server)?,
                server_sending_ns: of(PartKind::ServerSending)?,
            })
        };
        let said = || {
            let away_ns = of(PartKind::Away)?;
            Some(Away::Said { away_ns, server_ns: of(PartKind::Server)? })
        };
        let untold = || Some(Away::Untold { away_ns: of(PartKind::Away)? });
        Some(Self {
            sending_ns: of(PartKind::Sending)?,
            waking_ns: of(PartKind::Waking)?,
            away: told().or_else(said).or_else(untold)?,
            stamp_costs_ns: trip.stamp_costs_ns,
        })
    }

    /// The mean of a part; `None` where there is no such part.
    #[must_use]
    pub fn ns(&self, kind: PartKind) -> Option<u64> {
        match (kind, self.away) {
            (PartKind::Sending, _) => Some(self.sending_ns),
            (PartKind::Waking, _) => Some(self.waking_ns),
            (PartKind::Away, Away::Untold { away_ns } | Away::Said { away_ns, .. }) => {
                Some(away_ns)
            }
            (PartKind::Wire, Away::Told { wire_ns, .. }) => Some(wire_ns),
            (PartKind::ServerWaking, Away::Told { server_waking_ns, .. }) => Some(server_waking_ns),
            (PartKind::Server, Away::Told { server_ns, .. } | Away::Said { server_ns, .. }) => {
                Some(server_ns)
            }
            (PartKind::ServerSending, Away::Told { server_sending_ns, .. }) => {
                Some(server_sending_ns)
            }
            _ => None,
        }
    }

    /// All parts together.
    #[must_use]
    pub fn whole_ns(&self) -> u64 {
        let away_ns = match self.away {
            Away::Untold { away_ns } => away_ns,
            Away::Said { away_ns, server_ns } => away_ns + server_ns,
            Away::Told { wire_ns, server_waking_ns, server_ns, server_sending_ns } => {
                wire_ns + server_waking_ns + server_ns + server_sending_ns
            }
        };
        self.sending_ns + self.waking_ns + away_ns
    }

    /// The parts in one line: `client 4.1 + 17.2 us, wire 21.0, server 12.4 + 3.1`.
    #[must_use]
    pub fn line(&self) -> String {
        let (unit, ns) = unit_of(self.whole_ns());
        let figure = |value: u64| {
            let value = real(value) / ns;
            if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
        };
        let client =
            format!("client {} + {} {unit}", figure(self.sending_ns), figure(self.waking_ns));
        match self.away {
            Away::Untold { away_ns } => {
                format!("{client}, away {} (the server tells nothing)", figure(away_ns))
            }
            Away::Said { away_ns, server_ns } => {
                let (away, server) = (figure(away_ns), figure(server_ns));
                format!("{client}, away {away}, server {server} (by its own account)")
            }
            Away::Told { wire_ns, server_waking_ns, server_ns, server_sending_ns } => {
                let work = figure(server_ns + server_sending_ns);
                let (wire, waking) = (figure(wire_ns), figure(server_waking_ns));
                format!("{client}, wire {wire}, server {waking} + {work}")
            }
        }
    }

    /// What most of the time of a round trip is, and what to look at: one sentence.
    #[must_use]
    pub fn finding(&self) -> String {
        // stamps take time, so this whole is longer than the mean of all that stands beside it
        let of = |ns: u64| {
            format!(
                "{} of {}, the mean of the round trips with time stamps, are",
                show_ns(ns),
                show_ns(self.whole_ns())
            )
        };
        let (wire_ns, server_waking_ns, server_ns) = match self.away {
            Away::Told { wire_ns, server_waking_ns, server_ns, .. } => {
                (wire_ns, server_waking_ns, server_ns)
            }
            Away::Said { away_ns, server_ns } => {
                return format!(
                    "{} spent on this machine, {} of it to wake the program. The server worked for {} \
                     by its own account; the wire, and what the server does not say, take {}.",
                    of(self.sending_ns + self.waking_ns),
                    show_ns(self.waking_ns),
                    show_ns(server_ns),
                    show_ns(away_ns)
                );
            }
            Away::Untold { away_ns } => {
                return format!(
                    "{} spent on this machine, {} of it to wake the program. The wire and the server \
                     take {}; the server does not tell its part.",
                    of(self.sending_ns + self.waking_ns),
                    show_ns(self.waking_ns),
                    show_ns(away_ns)
                );
            }
        };
        let waking = "waking the programs on both machines (plumb host idle tells what sleeping \
            processors cost)";
        let mut all = [
            ("the wire", wire_ns),
            (waking, self.waking_ns + server_waking_ns),
            ("the server's own work", server_ns),
            (
                "sending on both machines",
                self.whole_ns() - wire_ns - self.waking_ns - server_waking_ns - server_ns,
            ),
        ];
        all.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        let [(most, ns), others @ ..] = all;
        let others = others.map(|(name, ns)| format!("{name} {}", show_ns(ns)));
        format!("{} {most}; {}.", of(ns), others.join(", "))
    }

    /// How much longer the time stamps made these messages than all are, a sentence; `None` where that
    /// does not show.
    #[must_use]
    pub fn stamp_cost(&self) -> Option<String> {
        let ns = self.stamp_costs_ns?;
        let than = if ns < 0 { "less" } else { "longer" };
        let cost = show_ns(ns.unsigned_abs());
        Some(format!("At the median a stamped message takes {cost} {than} than all do."))
    }
}

impl RoundTrip {
    /// What the figures of [`RoundTripMeans::line`] are.
    #[must_use]
    pub fn legend(&self) -> String {
        let parts = match RoundTripMeans::of(self).map(|means| means.away) {
            Some(Away::Told { .. }) => {
                "client: sending + waking; wire: there and back; server: waking + work and sending"
            }
            Some(Away::Said { .. }) => {
                "client: sending + waking; server: what it says that it worked; away: the wire and all \
                 else of the server"
            }
            Some(Away::Untold { .. }) | None => {
                "client: sending + waking; away: the wire and the server"
            }
        };
        format!(
            "{parts}{}. Means of {}, one in {}, of {} on average",
            if self.clock == HARDWARE {
                ", from packet to packet by the clock of the card"
            } else {
                ""
            },
            counted(self.count(), "message"),
            grouped(self.every.get().into()),
            show_ns(self.account.client.mean_ns.unsigned_abs()),
        )
    }

    /// How many stamped messages were not taken apart, and why; `None` where all were.
    #[must_use]
    pub fn left_out(&self) -> Option<String> {
        let said = |(why, count): (&String, &u64)| {
            let why = match why.as_str() {
                "no-send-stamp" => "the kernel did not stamp the request",
                "no-receive-stamp" => "the kernel did not stamp the answer",
                "clock" => "the clock was set, or the stamps contradict each other",
                "untold" => "the server said nothing of them",
                other => other,
            };
            format!("{} ({why})", grouped(*count))
        };
        let all: Vec<String> = self.left_out.iter().map(said).collect();
        (!all.is_empty()).then(|| format!("not taken apart: {}", all.join(", ")))
    }
}

/// The unit of a time, and its length in nanoseconds.
fn unit_of(ns: u64) -> (&'static str, f64) {
    match ns {
        0..1_000_000 => ("us", 1e3),
        1_000_000..1_000_000_000 => ("ms", 1e6),
        _ => ("s", 1e9),
    }
}
