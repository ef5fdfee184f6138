//! Times in their order.

use crate::{Batches, Estimate, Histogram};

/// Times of one kind, as a distribution and in their order.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// The distribution, nanoseconds.
    pub times: Histogram,
    batches: Batches,
    /// The first times one by one: batches of few times would be too few.
    first: Vec<u64>, // at most FIRST_MAX
}

/// Times of a series that are kept one by one.
const FIRST_MAX: usize = 200;

impl Series {
    /// Adds the next time, nanoseconds.
    pub fn record(&mut self, ns: u64) {
        self.times.record(ns);
        self.batches.record(ns);
        if self.first.len() < FIRST_MAX {
            self.first.push(ns);
        }
    }

    /// Its mean, and how well that is known.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        self.known_by(Estimate::around)
    }

    /// The mean of its faster nine tenths: [`Estimate::of_the_faster`].
    #[must_use]
    pub fn faster(&self) -> Estimate {
        self.known_by(Estimate::faster_around)
    }

    fn known_by(&self, estimate: fn(&Histogram, &[u64]) -> Estimate) -> Estimate {
        if self.times.count() <= self.first.len() as u64 {
            return estimate(&self.times, &self.first);
        }
        let batches = self.batches.means();
        estimate(&self.times, batches.as_ref().map_or(&[], |batches| &batches.mean_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_knows_its_mean_and_how_well() {
        let mut series = Series::default();
        (0..100).for_each(|at| series.record(1_000 + at % 10));
        let estimate = series.estimate();
        assert_eq!((estimate.mean_ns, estimate.count), (1_005, 100));
        assert!(estimate.half_width_ns.is_some_and(|half| half < 5), "{estimate:?}");
    }
}
