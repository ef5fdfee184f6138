//! What became of the datagrams of a stream, by the account of their receiver.

use serde::{Deserialize, Serialize};

use crate::real;
use crate::units::counted;
use crate::{Figure, Finding, FindingKind, Scope, bits_per_s, grouped, show_ns};

/// Datagrams of one direction of all streams together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DatagramFlow {
    /// Datagrams that the kernel of the sender took.
    pub sent: u64,
    /// Datagrams that the kernel of the sender had no room for; they have no number.
    pub unsent: u64,
    /// Different datagrams that came.
    pub received: u64,
    /// `sent - received`.
    pub lost: u64,
    /// Datagrams that came behind one with a higher number (RFC 4737).
    pub reordered: u64,
    /// Datagrams that had come before.
    pub duplicates: u64,
    /// Datagrams overtaken by more than 65,536 others: counted as lost, or had come before.
    pub too_late: u64,
    /// Datagrams that the receiving machine dropped because the program had not read those before;
    /// absent when it does not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub overflowed: Option<u64>,
    /// Bits a second that the sender was to send: content of datagrams.
    pub asked_bits_per_s: f64,
    /// Bits a second that it sent, over the time that it was to send.
    pub sent_bits_per_s: f64,
    /// Interarrival jitter at the end (RFC 3550, section 6.4.1), nanoseconds; of several streams the
    /// largest.
    pub jitter_ns: u64,
    /// The largest that it was.
    pub jitter_max_ns: u64,
    /// Most datagrams lost in a row.
    pub gap_max: u64,
    /// Runs of lost datagrams by their lengths; classes without any are left out.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub gaps: Vec<GapClass>,
}

/// Runs of lost datagrams whose lengths lie between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GapClass {
    /// The shortest, datagrams.
    pub from: u64,
    /// The longest; absent: no limit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to: Option<u64>,
    /// How many there were.
    pub runs: u64,
}

/// A sender below this part of its rate did not send what was asked for.
const RATE_KEPT: f64 = 0.98;

impl DatagramFlow {
    /// The part of the datagrams that was lost, from 0 to 1; 0 when none was sent.
    #[must_use]
    pub fn loss(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { real(self.lost) / real(self.sent) }
    }

    /// Sets what the sender sent of `bytes` each, in `span_ns`.
    pub fn set_sent_rate(&mut self, bytes: u64, span_ns: u64) {
        self.sent_bits_per_s = bits_per_s(self.sent.saturating_mul(bytes), span_ns);
    }

    /// Adds that of another stream which was carried at the same time.
    pub fn merge(&mut self, other: &Self) {
        self.sent += other.sent;
        self.unsent += other.unsent;
        self.received += other.received;
        self.lost += other.lost;
        self.reordered += other.reordered;
        self.duplicates += other.duplicates;
        self.too_late += other.too_late;
        // all streams may come over one socket, of which each tells
        self.overflowed = self.overflowed.max(other.overflowed);
        self.asked_bits_per_s += other.asked_bits_per_s;
        self.sent_bits_per_s += other.sent_bits_per_s;
        self.jitter_ns = self.jitter_ns.max(other.jitter_ns);
        self.jitter_max_ns = self.jitter_max_ns.max(other.jitter_max_ns);
        self.gap_max = self.gap_max.max(other.gap_max);
        for class in &other.gaps {
            match self.gaps.iter_mut().find(|mine| mine.from == class.from) {
                Some(mine) => mine.runs += class.runs,
                None => self.gaps.push(*class),
            }
        }
        self.gaps.sort_by_key(|class| class.from);
    }

    /// Loss, order and jitter of one direction, each with its formula.
    pub(super) fn figures(&self, way: &str) -> Vec<Figure> {
        let figure = |name: &str, value: f64, unit: &str, formula: &str| Figure {
            name: format!("{name} {way}"),
            value,
            unit: unit.into(),
            formula: formula.into(),
        };
        let lost = "datagrams sent that did not come / sent x 100";
        let jitter = "RFC 3550: J += (|D| - J) / 16 for each arrival, at the end";
        vec![
            figure("loss", self.loss() * 100.0, "%", lost),
            figure(
                "reordered",
                real(self.reordered),
                "datagrams",
                "behind one with a higher number",
            ),
            figure("duplicates", real(self.duplicates), "datagrams", "had come before"),
            figure("jitter", real(self.jitter_ns) / 1e3, "us", jitter),
            figure("longest gap", real(self.gap_max), "datagrams", "most lost in a row"),
        ]
    }

    /// What takes figures away, or should be known; `way` as in `to the server`.
    #[must_use]
    pub fn findings(&self, way: &str) -> Vec<Finding> {
        let lost = (self.lost > 0).then(|| Finding {
            kind: FindingKind::Lost,
            scope: Scope::Nothing,
            text: format!(
                "{} of {} {way} lost ({:.2} %), at most {} in a row",
                counted(self.lost, "datagram"),
                grouped(self.sent),
                self.loss() * 100.0,
                grouped(self.gap_max)
            ),
        });
        let overflowed = self.overflowed.filter(|n| *n > 0 && self.lost > 0).map(|n| Finding {
            kind: FindingKind::DriverLimited,
            scope: Scope::Everything,
            text: format!(
                "the receiving machine had {} {way} that it dropped, because its program did not keep \
                 up: the loss is not that of the path; take a lower --rate",
                counted(n, "datagram")
            ),
        });
        let behind = (self.sent_bits_per_s < RATE_KEPT * self.asked_bits_per_s).then(|| Finding {
            kind: FindingKind::DriverLimited,
            scope: Scope::Nothing,
            text: format!(
                "{:.1} % of the rate that was asked for was sent {way}: the sender's processor was the \
                 limit, or its network",
                self.sent_bits_per_s / self.asked_bits_per_s * 100.0
            ),
        });
        [lost, overflowed, behind].into_iter().flatten().collect()
    }

    /// The jitter in words.
    #[must_use]
    pub fn jitter(&self) -> String {
        show_ns(self.jitter_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(sent: u64, lost: u64) -> DatagramFlow {
        DatagramFlow {
            sent,
            received: sent - lost,
            lost,
            gap_max: lost,
            asked_bits_per_s: 1e6,
            sent_bits_per_s: 1e6,
            gaps: vec![GapClass { from: lost.max(1), to: Some(lost.max(1)), runs: 1 }],
            ..DatagramFlow::default()
        }
    }

    #[test]
    fn loss_is_told_and_takes_nothing_away() {
        assert!(flow(100, 0).findings("to the server").is_empty());
        let found = flow(1_000, 5).findings("to the server");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].scope, Scope::Nothing);
        assert_eq!(
            found[0].text,
            "5 datagrams of 1,000 to the server lost (0.50 %), at most 5 in a row"
        );
    }

    #[test]
    fn what_the_receiver_dropped_is_not_the_loss_of_the_path() {
        let dropped = DatagramFlow { overflowed: Some(5), ..flow(10, 5) };
        let found = dropped.findings("to the server");
        assert_eq!(
            (found[1].kind, found[1].scope),
            (FindingKind::DriverLimited, Scope::Everything)
        );
        assert!(found[1].text.contains("5 datagrams to the server that it dropped"), "{found:?}");
        let slow = DatagramFlow { sent_bits_per_s: 5e5, ..flow(10, 0) };
        let said = "50.0 % of the rate that was asked for was sent to the server: the sender's";
        let found = slow.findings("to the server");
        assert!(found[0].text.starts_with(said), "{found:?}");
    }

    #[test]
    fn streams_add_up() {
        let mut all = DatagramFlow { overflowed: Some(3), jitter_ns: 7, ..flow(100, 1) };
        all.merge(&DatagramFlow { overflowed: None, jitter_ns: 9, ..flow(50, 2) });
        all.merge(&flow(50, 1));
        assert_eq!((all.sent, all.received, all.lost), (200, 196, 4));
        assert_eq!((all.gap_max, all.jitter_ns, all.overflowed), (2, 9, Some(3)));
        let runs: Vec<(u64, u64)> = all.gaps.iter().map(|class| (class.from, class.runs)).collect();
        assert_eq!(runs, [(1, 2), (2, 1)]);
        assert!((all.loss() - 0.02).abs() < 1e-12);
        assert!((DatagramFlow::default().loss()).abs() < f64::EPSILON);
    }
}
