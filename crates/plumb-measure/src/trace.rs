//! Traces: which operation a span of another server belongs to.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Moments;
use crate::bounds::{count, few};
use crate::statistics::SplitMix64;

/// Operations of one row that are kept with their traces.
const KEPT_MAX: usize = 1_024;
/// Room for those among which the kept are chosen, so that they are sorted seldom.
const ROOM: usize = 2 * KEPT_MAX;

/// The number of a trace: the first half is that of the run, the second is drawn.
///
/// # Source
/// W3C Trace Context, section 3.2.2.3: 16 bytes, not all zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TraceId([u8; 16]);

impl TraceId {
    /// The trace with these bytes; `None` where all are zero, which names none.
    #[must_use]
    pub fn new(bytes: [u8; 16]) -> Option<Self> {
        (bytes != [0; 16]).then_some(Self(bytes))
    }

    /// Trace number `drawn` of the run `run`.
    #[must_use]
    pub fn of_run(run: u64, drawn: u64) -> Option<Self> {
        Self::new((u128::from(run) << 64 | u128::from(drawn)).to_be_bytes())
    }

    /// The number of its run.
    #[must_use]
    pub fn run(self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    fn drawn(self) -> u64 {
        let [.., a, b, c, d, e, f, g, h] = self.0;
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    /// Its place in an order that has nothing to do with any server's choice of traces: of a run, the
    /// traces with the smallest are a random part. No two traces of a run have the same.
    #[must_use]
    pub fn draw(self) -> u64 {
        SplitMix64::new(self.drawn()).next_u64()
    }

    /// The span that stands for the operation at the client, never zero.
    #[must_use]
    pub fn own_span(self) -> [u8; 8] {
        (self.draw().rotate_left(32) | 1).to_be_bytes()
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

/// An operation with its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracedOperation {
    /// Its trace.
    pub trace: TraceId,
    /// When it was due, sent and answered.
    pub moments: Moments,
}

/// A random sample of the operations that were sent with a trace: as many as are kept at most,
/// whatever their number. The samples of several recorders together are that of all.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TracedOperations {
    #[serde(deserialize_with = "count")]
    seen: u64,
    /// A kept operation has the smallest draws; more than are kept until they are looked at.
    #[serde(deserialize_with = "few::<ROOM, _, _>")]
    operations: Vec<TracedOperation>,
}

impl TracedOperations {
    /// Adds an operation.
    pub(crate) fn record(&mut self, trace: TraceId, moments: Moments) {
        self.seen = self.seen.saturating_add(1);
        self.push(TracedOperation { trace, moments });
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.seen = self.seen.saturating_add(other.seen);
        other.operations.iter().for_each(|operation| self.push(*operation));
    }

    pub(crate) fn clear(&mut self) {
        self.seen = 0;
        self.operations.clear();
    }

    fn push(&mut self, operation: TracedOperation) {
        self.operations.push(operation);
        if self.operations.len() == ROOM {
            self.operations.select_nth_unstable_by_key(KEPT_MAX, |it| it.trace.draw());
            self.operations.truncate(KEPT_MAX);
        }
    }

    /// How many operations were sent with a trace.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// True where none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.seen == 0
    }

    /// The sample, in the order of its draws.
    #[must_use]
    pub fn sample(&self) -> Vec<TracedOperation> {
        let mut sample = self.operations.clone();
        sample.sort_unstable_by_key(|it| it.trace.draw());
        sample.truncate(KEPT_MAX);
        sample
    }
}

/// What is kept counts, not what was on its way out.
impl PartialEq for TracedOperations {
    fn eq(&self, other: &Self) -> bool {
        self.seen == other.seen && self.sample() == other.sample()
    }
}

impl Eq for TracedOperations {}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(number: u64) -> (TraceId, Moments) {
        let moments = Moments { due: number, sent: number, first: number + 1, last: number + 2 };
        (TraceId::of_run(7, number).unwrap(), moments)
    }

    fn recorded(numbers: impl Iterator<Item = u64>) -> TracedOperations {
        let mut traced = TracedOperations::default();
        numbers.map(operation).for_each(|(trace, moments)| traced.record(trace, moments));
        traced
    }

    #[test]
    fn a_trace_is_named_by_its_run_and_what_was_drawn() {
        let trace = TraceId::of_run(0xab, 3).unwrap();
        assert_eq!(trace.to_string(), "00000000000000ab0000000000000003");
        assert_eq!((trace.run(), trace.drawn()), (0xab, 3));
        assert_ne!(trace.own_span(), [0; 8]);
        assert_eq!(TraceId::of_run(0, 0), None);
    }

    #[test]
    fn a_sample_of_two_halves_is_the_sample_of_all() {
        let all = recorded(0..10_000);
        let mut halves = recorded((0..10_000).filter(|number| number % 2 == 1));
        halves.merge(&recorded((0..10_000).filter(|number| number % 2 == 0)));
        assert_eq!(halves, all);
        assert_eq!((all.seen(), all.sample().len()), (10_000, KEPT_MAX));
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<TracedOperations>(&text).unwrap(), all);
        halves.clear();
        assert!(halves.is_empty() && halves.sample().is_empty());
    }

    #[test]
    fn a_sample_is_not_the_smallest_numbers() {
        let all = recorded(0..10_000);
        let low = all.sample().iter().filter(|it| it.trace.drawn() < 5_000).count();
        assert!((400..624).contains(&low), "{low}"); // half of 1,024, 7 standard deviations
    }
}
