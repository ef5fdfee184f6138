//! What one page takes longer than another that is asked for in turn with it.

use plumb_engine::{Extent, IntervalRecords, LoadPlan, Sampler};
use plumb_measure::statistics::{hodges_lehmann, interval, mean};
use plumb_measure::{PairDifference, PairRecord, Recorder, Span, real};

/// Blocks that a run by time is cut into at least, and those that are judged at most.
const BLOCKS_MIN: u64 = 20;
const BLOCKS_MAX: usize = 40;
/// The shortest interval that is worth one.
const INTERVAL_MIN_NS: u64 = 10_000_000;
/// Confidence that the interval has at least.
const LEVEL: f64 = 0.95;

const METHOD: &str = "every round asks for both URLs on one connection, in an order drawn at \
                      random; each interval of the run gives one difference of medians; the estimate is the Hodges-Lehmann \
                      median of these, the interval Tukey's at its exact level";

/// Collects the medians of the first two rows, interval by interval.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    /// First and last byte, nanoseconds: the first row minus the second.
    differences: Vec<[f64; 2]>,
}

impl Pairs {
    /// The same plan with intervals that are short enough for a judgement.
    pub(crate) fn shorten(mut plan: LoadPlan) -> LoadPlan {
        if let Extent::For(time) = plan.extent {
            let part = (time.ns() / BLOCKS_MIN).max(INTERVAL_MIN_NS);
            plan.interval = Span::from_ns(plan.interval.ns().min(part));
        }
        plan
    }

    /// The judgement on what was collected.
    pub(crate) fn record(&self, dynamic: &str, fixed: &str) -> PairRecord {
        PairRecord {
            dynamic: dynamic.into(),
            fixed: fixed.into(),
            method: METHOD.into(),
            blocks: self.blocks(0).len() as u64,
            first_byte: difference(&self.blocks(0)),
            last_byte: difference(&self.blocks(1)),
        }
    }

    fn add(&mut self, recorder: &Recorder) {
        if let [dynamic, fixed, ..] = recorder.rows()
            && !dynamic.service.is_empty()
            && !fixed.service.is_empty()
        {
            let first = [&dynamic.first_byte, &fixed.first_byte];
            let last = [&dynamic.service, &fixed.service];
            self.differences.push(
                [first, last].map(|[dynamic, fixed]| {
                    real(dynamic.quantile(0.5)) - real(fixed.quantile(0.5))
                }),
            );
        }
    }

    /// The differences, neighbours put together until there are few enough.
    fn blocks(&self, which: usize) -> Vec<f64> {
        let size = self.differences.len().div_ceil(BLOCKS_MAX).max(1);
        self.differences
            .chunks(size)
            .filter_map(|block| {
                let values: Vec<f64> = block.iter().map(|both| both[which]).collect();
                mean(&values)
            })
            .collect()
    }
}

impl Sampler for Pairs {
    fn interval(&mut self, records: &IntervalRecords) {
        self.add(&records.recorder);
    }
}

fn difference(blocks: &[f64]) -> Option<PairDifference> {
    let ns = hodges_lehmann(blocks)?;
    let range = interval(blocks, LEVEL);
    Some(PairDifference {
        ns,
        low_ns: range.map(|range| range.low),
        high_ns: range.map(|range| range.high),
        level: range.map(|range| range.level),
    })
}

#[cfg(test)]
mod tests {
    use plumb_measure::{Answer, Moments};

    use super::*;

    fn recorder(dynamic: u64, fixed: u64) -> Recorder {
        let mut recorder = Recorder::new(2);
        for (label, ns) in [(0, dynamic), (1, fixed)] {
            let moments = Moments { due: 0, sent: 0, first: ns, last: ns + 100 };
            (0..9).for_each(|_| recorder.record(label, moments, Answer::ok(1)));
        }
        recorder
    }

    #[test]
    fn the_processing_time_is_the_difference_with_its_interval() {
        let mut pairs = Pairs::default();
        for block in 0..20 {
            pairs.add(&recorder(1_500 + block, 1_000));
        }
        let record = pairs.record("/page", "/image");
        let first = record.first_byte.unwrap();
        assert_eq!(record.blocks, 20);
        assert!((505.0..515.0).contains(&first.ns), "{first:?}");
        assert!(first.low_ns.unwrap() < first.ns && first.ns < first.high_ns.unwrap());
        assert!(first.level.unwrap() >= 0.95);
    }

    #[test]
    fn few_blocks_give_no_interval_and_none_no_estimate() {
        let mut pairs = Pairs::default();
        assert_eq!(pairs.record("a", "b").first_byte, None);
        pairs.add(&recorder(20, 10));
        pairs.add(&Recorder::new(2)); // an interval without answers says nothing
        let first = pairs.record("a", "b").first_byte.unwrap();
        assert_eq!((first.low_ns, first.level), (None, None));
        assert_eq!(pairs.record("a", "b").blocks, 1);
    }

    #[test]
    fn many_intervals_become_few_blocks() {
        let mut pairs = Pairs::default();
        (0..100).for_each(|_| pairs.add(&recorder(20, 10)));
        assert!(pairs.record("a", "b").blocks <= BLOCKS_MAX as u64);
    }
}
