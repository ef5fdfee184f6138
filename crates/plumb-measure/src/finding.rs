//! Reasons to doubt a result.

use serde::{Deserialize, Serialize};

/// Which figures a finding takes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Nothing may be concluded from the run.
    Everything,
    /// Something that can take every figure away could not be checked: unknown is not valid.
    Unchecked,
    /// Throughput stands as a lower bound, latency does not.
    Latency,
    /// Every figure stands; the reader should know.
    Nothing,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Answers had a status that the plan does not expect.
    UnexpectedStatus,
    /// No operation succeeded.
    NoOperations,
    /// Operations or connections failed.
    Failures,
    /// Operations were turned away for the moment, which is how the target keeps its limits.
    Refused,
    /// Work could not begin in time and was given up.
    Dropped,
    /// Operations of the warm-up were answered behind the recorded part.
    Outlasting,
    /// The load generator, not the target, was the limit.
    DriverLimited,
    /// The load generator stood still: it was stopped, or its machine slept.
    DriverStopped,
    /// Work began later than the plan allows although a connection was free.
    SchedulingLag,
    /// The content of the answers varied in length.
    LengthVaries,
    /// The run ended before the plan did.
    CutShort,
    /// Processes that were not part of the measurement took processor time, or nobody knows
    /// whether they did.
    ForeignLoad,
    /// The hypervisor took processor time.
    Steal,
    /// Memory was short: pages were swapped.
    Paging,
    /// A control group held back whoever asked or answered: its quota of processor time was used up.
    Throttled,
    /// Two sides counted the same thing differently.
    CountsDiffer,
    /// A network link carried about as much as it can.
    LinkFull,
    /// The far machine could not be recorded all the time.
    FarHostLost,
    /// What the first wrong answer said.
    Complaint,
    /// Times that the target told of itself were not kept.
    Untold,
    /// Operations are missing in the file of single operations.
    SamplesLeftOut,
    /// The interval log could not be written to its end.
    LogIncomplete,
    /// Messages waited for an acknowledgement that the other side delayed.
    DelayedAcknowledgement,
    /// Operations waited until lost segments were sent again.
    Retransmission,
    /// Connects waited until their first segment was sent again.
    ConnectRetransmission,
    /// Too few samples for the tail that is printed.
    FewSamples,
    /// A threshold of the plan was missed.
    ThresholdMissed,
    /// Users ended of themselves.
    UsersEnded,
    /// The connections did not all use the same transport.
    MixedTransport,
    /// Connections that were asked for over SMC fell back to TCP, or nobody knows whether they did.
    NotSmc,
    /// How far apart the remotes of a load began.
    RemotesApart,
    /// Datagrams were lost on the way.
    Lost,
    /// The name of a host took long to look up, or to lead to an address that takes connections.
    SlowName,
}

impl FindingKind {
    /// True of what operations themselves came to: they failed, or their answers were wrong.
    #[must_use]
    pub fn is_of_operations(self) -> bool {
        matches!(self, Self::UnexpectedStatus | Self::NoOperations | Self::Failures)
    }

    /// True of what the target did with its work: operations failed, were answered wrongly, or were due and
    /// not answered in time.
    #[must_use]
    pub fn is_of_target(self) -> bool {
        self.is_of_operations() || matches!(self, Self::Dropped | Self::Outlasting)
    }
}

/// How a complaint of a handshake begins.
pub(crate) const HANDSHAKE: &str = "a handshake that failed: ";

/// One reason to doubt a result, in words that name the figures behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was found.
    pub kind: FindingKind,
    /// Which figures it takes away.
    pub scope: Scope,
    /// One sentence with the figures.
    pub text: String,
}

impl Finding {
    /// True of the complaint of a handshake, before which nothing was answered.
    #[must_use]
    pub fn is_of_handshake(&self) -> bool {
        self.kind == FindingKind::Complaint && self.text.starts_with(HANDSHAKE)
    }
}
