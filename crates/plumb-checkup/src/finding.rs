//! What is wrong with a landscape, and what it costs a user.

use serde::{Deserialize, Serialize};

use super::CheckupLayer;
use plumb_measure::Calls;

/// What kind of fault was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// A server cannot be measured: it does not answer, or not as it should.
    Unreachable,
    /// A server answers, and refuses or fails.
    Failures,
    /// Processes that are not part of the measurement took the processors.
    ForeignLoad,
    /// The hypervisor took the processors.
    Steal,
    /// Segments are lost on the way, and sent again.
    Loss,
    /// Answers in pieces wait for an acknowledgement that is delayed.
    DelayedAcknowledgement,
    /// The way there and back takes the time.
    Wire,
    /// An answer takes long from its first byte to its last.
    Transfer,
    /// A pool of a server is full: more users wait longer, and no more is done.
    Pool,
    /// The processors of a server's machine are all busy with many users.
    Processors,
    /// Something is full: more users wait longer, and no more is done; what it is, nobody tells.
    Saturation,
    /// A control group holds a server back: its quota of processor time is used up.
    Quota,
    /// A server works long on one operation.
    Slow,
}

impl FaultKind {
    /// The name for people, up to thirteen characters.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "not measured",
            Self::Failures => "failures",
            Self::ForeignLoad => "foreign load",
            Self::Steal => "steal",
            Self::Loss => "loss",
            Self::DelayedAcknowledgement => "delayed ack",
            Self::Wire => "the wire",
            Self::Transfer => "transfer",
            Self::Pool => "full pool",
            Self::Processors => "processors",
            Self::Saturation => "saturation",
            Self::Quota => "quota",
            Self::Slow => "slow server",
        }
    }

    /// What has to be mended before any time means something comes first; faults that cost time
    /// are ranked by it.
    pub(super) fn rank(self) -> u8 {
        match self {
            Self::Unreachable | Self::Failures => 0,
            Self::ForeignLoad | Self::Steal => 1,
            Self::Loss
            | Self::DelayedAcknowledgement
            | Self::Wire
            | Self::Transfer
            | Self::Pool
            | Self::Processors
            | Self::Saturation
            | Self::Quota
            | Self::Slow => 2,
        }
    }
}

/// The time that a fault costs a user, of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultCost {
    /// The time, nanoseconds; never more than `whole_ns`.
    pub ns: u64,
    /// Lower end of its interval, nanoseconds.
    pub low_ns: u64,
    /// Upper end of its interval, nanoseconds; never more than `whole_ns`.
    pub high_ns: u64,
    /// What the whole operation takes, nanoseconds.
    pub whole_ns: u64,
    /// Which operations it is the mean of, where it is a mean.
    #[serde(skip_serializing_if = "Calls::are_all", default)]
    pub of: Calls,
}

impl FaultCost {
    /// `ns` between `low_ns` and `high_ns`, of `whole_ns`: a part is no longer than the whole.
    pub(super) fn of(ns: u64, low_ns: u64, high_ns: u64, whole_ns: u64) -> Self {
        let ns = ns.min(whole_ns);
        let (low_ns, high_ns) = (low_ns.min(ns), high_ns.clamp(ns, whole_ns));
        Self { ns, low_ns, high_ns, whole_ns, of: Calls::All }
    }

    /// The same, a mean of these operations.
    pub(super) fn among(self, of: Calls) -> Self {
        Self { of, ..self }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckupFinding {
    /// What kind of thing.
    pub kind: FaultKind,
    /// The layer that it was found in; absent where a whole machine is concerned.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub layer: Option<CheckupLayer>,
    /// The server, as in [`CheckupPart::server`](super::CheckupPart::server), or the machine.
    pub server: String,
    /// The operation that it costs time; absent where no operation could be timed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub operation: Option<String>,
    /// What it costs; absent where no time tells. Costs of several findings may overlap: they do
    /// not add up.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<FaultCost>,
    /// The time that it is ranked by where it costs time and nobody knows how much, nanoseconds: said in
    /// its evidence.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ranked_ns: Option<u64>,
    /// What was found, a sentence with its figures.
    pub evidence: String,
    /// What to look at or to try next, a sentence.
    pub next: String,
}

/// Something to know beside the findings that is no fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckupRemark {
    /// What it is about, a word or two.
    pub name: String,
    /// What is to be known, a sentence.
    pub text: String,
    /// What could not be told because of it and may be a fault, a clause: `whether the lock server is
    /// full`; absent where it leaves nothing open.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub untold: Option<String>,
}

impl CheckupFinding {
    /// What it costs, nanoseconds, to compare with others: nothing costs more than an operation that
    /// did not end at all.
    pub(super) fn weight_ns(&self) -> u64 {
        match (self.cost, self.kind) {
            (Some(cost), _) => cost.ns,
            (None, FaultKind::Slow) => u64::MAX,
            (None, _) => self.ranked_ns.unwrap_or(0),
        }
    }
}

/// Unranked findings in the order in which a reader needs them: see [`FaultKind::rank`], then the
/// costliest first.
pub(super) fn ranked(mut findings: Vec<CheckupFinding>) -> Vec<CheckupFinding> {
    findings.sort_by_key(|it| (it.kind.rank(), std::cmp::Reverse(it.weight_ns())));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn finding(kind: FaultKind, ns: u64) -> CheckupFinding {
        CheckupFinding {
            kind,
            layer: Some(CheckupLayer::Pages),
            server: String::new(),
            operation: None,
            cost: (ns > 0).then(|| FaultCost::of(ns, 0, ns, ns)),
            ranked_ns: None,
            evidence: String::new(),
            next: String::new(),
        }
    }

    #[test]
    fn what_costs_most_comes_first_behind_what_spoils_the_figures() {
        let all = [(FaultKind::Slow, 5), (FaultKind::ForeignLoad, 0), (FaultKind::Pool, 9)];
        let ranked = ranked(all.map(|(kind, ns)| finding(kind, ns)).into());
        let kinds: Vec<FaultKind> = ranked.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [FaultKind::ForeignLoad, FaultKind::Pool, FaultKind::Slow]);
    }

    proptest! {
        #[test]
        fn a_part_is_no_longer_than_the_whole(
            ns in any::<u64>(), low in any::<u64>(), high in any::<u64>(), whole in any::<u64>(),
        ) {
            let cost = FaultCost::of(ns, low, high, whole);
            prop_assert!(cost.low_ns <= cost.ns && cost.ns <= cost.high_ns);
            prop_assert!(cost.high_ns <= cost.whole_ns);
        }
    }
}
