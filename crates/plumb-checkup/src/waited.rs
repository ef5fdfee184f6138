//! Operations that waited for something, among all of a part.

use serde::{Deserialize, Serialize};

use plumb_measure::{Distribution, RTO_MIN_NS, may_be_delayed};

/// Operations that waited, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waited {
    /// How many they are.
    pub operations: u64,
    /// What they took longer than others, all together, nanoseconds.
    pub excess_ns: u64,
}

/// Operations of a part that recognized waits for delayed acknowledgements, asked for once more with
/// acknowledgements that this side sent at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcknowledgedAtOnce {
    /// Its run folder within that of the checkup.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub folder: Option<String>,
    /// Correct answers.
    pub operations: u64,
    /// Of these, those that took as long as an acknowledgement is delayed.
    pub as_long: u64,
}

impl AcknowledgedAtOnce {
    /// One in so many of the share that took as long are left where acknowledgements were the reason.
    const LEFT: u64 = 4;
    /// The same where they are none.
    const STILL: u64 = 2;

    /// So many that would take as long, if nothing changed, must be expected, or nothing is told: of fewer
    /// none may come by chance.
    const EXPECTED_MIN: u128 = 8;

    /// True where as many take as long as those of `operations` that were `delayed`, or nearly so.
    pub(super) fn is_as_long(&self, delayed: Waited, operations: u64) -> bool {
        let before = self.before(delayed);
        Self::are_enough(before, operations) && self.share(Self::STILL, operations) >= before
    }

    /// True where hardly any take as long as those of `operations` that were `delayed`.
    pub(super) fn is_shorter(&self, delayed: Waited, operations: u64) -> bool {
        let before = self.before(delayed);
        Self::are_enough(before, operations) && self.share(Self::LEFT, operations) <= before
    }

    fn are_enough(before: u128, operations: u64) -> bool {
        before >= Self::EXPECTED_MIN * u128::from(operations)
    }

    /// So many times the share that took as long, in parts of both numbers of operations.
    fn share(&self, times: u64, operations: u64) -> u128 {
        u128::from(times) * u128::from(self.as_long) * u128::from(operations)
    }

    /// The share that was delayed, in the same.
    fn before(&self, delayed: Waited) -> u128 {
        u128::from(delayed.operations) * u128::from(self.operations)
    }
}

impl Waited {
    /// The shortest time after which Linux sends a segment again, nanoseconds.
    pub const MIN_NS: u64 = RTO_MIN_NS;

    /// Those of `times` that took longer than the median by [`MIN_NS`](Self::MIN_NS) or more; `None`
    /// where the histogram cannot be read.
    pub(super) fn for_a_segment(times: &Distribution) -> Option<Self> {
        Self::among(times, times.p50, |ns| ns.saturating_sub(times.p50) >= Self::MIN_NS)
    }

    /// Those of `times` that took as long as an acknowledgement is delayed, and what they took longer
    /// than a round trip of `rtt_ns`.
    pub(super) fn for_an_acknowledgement(times: &Distribution, rtt_ns: u64) -> Option<Self> {
        Self::among(times, rtt_ns, may_be_delayed)
    }

    fn among(times: &Distribution, usual_ns: u64, waited: impl Fn(u64) -> bool) -> Option<Self> {
        let histogram = times.decode().ok()?;
        let found = histogram.buckets().filter(|(ns, _)| waited(*ns));
        Some(found.fold(Self::default(), |all, (ns, count)| {
            let excess_ns = ns.saturating_sub(usual_ns).saturating_mul(count);
            Self {
                operations: all.operations.saturating_add(count),
                excess_ns: all.excess_ns.saturating_add(excess_ns),
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::tests::times;

    #[test]
    fn what_waited_for_a_lost_segment_is_counted_with_what_it_took_longer() {
        let quick = std::iter::repeat_n(100_000, 96);
        let waited =
            Waited::for_a_segment(&times(quick.chain([210_000_000, 420_000_000]))).unwrap();
        assert_eq!(waited.operations, 2);
        assert!(waited.excess_ns.abs_diff(629_800_000) < 1_000_000, "{waited:?}");
        assert_eq!(Waited::for_a_segment(&times([90, 100_000_000])), Some(Waited::default()));
    }
}
