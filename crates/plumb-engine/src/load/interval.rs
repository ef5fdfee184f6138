//! One interval of a load, whoever drove a part of it.

use plumb_measure::{Histogram, Interval, Recorder, Shape};
use serde::{Deserialize, Serialize};

use super::NotAlike;

/// What was recorded in one interval, by all threads together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntervalRecords {
    /// Start of the recorded part, nanoseconds on the monotonic clock.
    pub began_ns: u64,
    /// Start and length after the start of the recorded part, and the figures of the interval.
    pub figures: Interval,
    /// Everything recorded in it.
    pub recorder: Recorder,
    /// For each driving thread the processor on which it was at the end of the interval, and the
    /// processor time that it used in it, nanoseconds.
    pub drivers: Vec<(u32, u64)>,
    /// Users of scripts that took part at the end of the interval; 0 of other loads.
    pub users: u64,
}

impl IntervalRecords {
    /// An interval of a load that began at `began_ns`, from `start_ns` after that on, in which
    /// nobody has recorded anything yet.
    pub(super) fn empty(began_ns: u64, start_ns: u64, shape: Shape) -> Self {
        let figures = Interval { start_ns, ..Interval::default() };
        let recorder = Recorder::new(shape);
        Self { began_ns, figures, recorder, drivers: Vec::new(), users: 0 }
    }

    /// The same interval of several clients or machines as one, its figures those of all records;
    /// `None` of nobody. Exact, and in any grouping. The beginning is the first of all.
    ///
    /// # Errors
    /// [`NotAlike`] when they are not the same interval of the same plan.
    pub fn together(all: impl IntoIterator<Item = Self>) -> Result<Option<Self>, NotAlike> {
        let mut all = all.into_iter();
        let Some(mut sum) = all.next() else { return Ok(None) };
        for one in all {
            sum.merge(&one)?;
        }
        sum.summarize();
        Ok(Some(sum))
    }

    /// Adds what others recorded in the same interval, exactly and in any order; the figures stay
    /// as they are until [`summarize`](Self::summarize), which takes longer.
    ///
    /// # Errors
    /// [`NotAlike`] when it is not the same interval of the same plan; nothing is added then.
    pub fn merge(&mut self, other: &Self) -> Result<(), NotAlike> {
        let (mine, theirs) = (self.recorder.shape(), other.recorder.shape());
        if mine != theirs {
            return Err(NotAlike::Shape(mine, theirs));
        }
        let (mine, theirs) = (self.figures.start_ns, other.figures.start_ns);
        if mine != theirs {
            return Err(NotAlike::Interval(mine, theirs));
        }
        self.add(other);
        Ok(())
    }

    /// Adds what others recorded in it; [`summarize`](Self::summarize) makes figures of it.
    pub(super) fn add(&mut self, other: &Self) {
        self.began_ns = self.began_ns.min(other.began_ns);
        self.recorder.merge(&other.recorder);
        self.drivers.extend_from_slice(&other.drivers);
        self.users = self.users.saturating_add(other.users);
        self.figures.duration_ns = self.figures.duration_ns.max(other.figures.duration_ns);
    }

    /// Makes the figures of what was recorded.
    pub fn summarize(&mut self) {
        let mut response = Histogram::new();
        self.recorder.rows().iter().for_each(|row| response.merge(&row.response));
        self.figures.operations = response.count();
        self.figures.failures = self.recorder.failures().total();
        self.figures.p50 = response.quantile(0.5);
        self.figures.p99 = response.quantile(0.99);
        self.figures.max = response.max();
        self.figures.users = self.users;
    }
}

#[cfg(test)]
mod tests {
    use plumb_measure::{Answer, Moments};

    use super::*;

    fn of(values: std::ops::Range<u64>, duration_ns: u64) -> IntervalRecords {
        let mut one = IntervalRecords::empty(7, 1_000, Shape::from(1));
        for last in values {
            one.recorder.record(0, Moments { due: 0, sent: 0, first: 0, last }, Answer::ok(1));
        }
        one.figures.duration_ns = duration_ns;
        one.drivers.push((0, 5));
        one.users = 2;
        one.summarize();
        one
    }

    #[test]
    fn parts_that_travelled_have_the_figures_of_the_whole() {
        let sent = |one: &IntervalRecords| -> IntervalRecords {
            serde_json::from_str(&serde_json::to_string(one).unwrap()).unwrap()
        };
        let parts = [of(0..100, 900), of(100..500, 1_000), of(500..505, 400)];
        let both = IntervalRecords::together(parts.iter().map(sent)).unwrap().unwrap();
        let whole = of(0..505, 1_000);
        let users = both.users; // each part has its own
        assert_eq!(both.figures, Interval { users, ..whole.figures });
        assert_eq!(both.recorder, whole.recorder);
        assert_eq!((both.drivers.len(), both.users, both.began_ns), (3, 6, 7));
        assert_eq!(IntervalRecords::together([]), Ok(None));
    }

    #[test]
    fn another_interval_is_not_added() {
        let another = IntervalRecords::empty(7, 2_000, Shape::from(1));
        let refused = IntervalRecords::together([of(0..5, 1), another]);
        assert_eq!(refused, Err(NotAlike::Interval(1_000, 2_000)));
        let another = IntervalRecords::empty(7, 1_000, Shape::from(2));
        assert!(IntervalRecords::together([of(0..5, 1), another]).is_err());
    }
}
