//! Statistics of one column, kept while its figures stream by.

/// Count, extremes and averages of the figures of one column.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stat {
    count: u64,
    missing: u64,
    sum: f64,
    // figure times seconds, over `seconds`
    integral: f64,
    seconds: f64,
    min: f64,
    max: f64,
    // snapshots of the first smallest and the first largest figure
    min_at: u64,
    max_at: u64,
}

impl Stat {
    /// Books a figure of the snapshot `at`, which holds for `seconds`.
    pub(crate) fn add(&mut self, value: f64, seconds: f64, at: u64) {
        if self.count == 0 || value < self.min {
            (self.min, self.min_at) = (value, at);
        }
        if self.count == 0 || value > self.max {
            (self.max, self.max_at) = (value, at);
        }
        self.count += 1;
        self.sum += value;
        self.integral += value * seconds;
        self.seconds += seconds;
    }

    /// Books a figure, or that there was none.
    pub(crate) fn offer(&mut self, value: Option<f64>, seconds: f64, at: u64) {
        match value {
            Some(value) => self.add(value, seconds, at),
            None => self.miss(),
        }
    }

    /// Books a figure that is missing.
    pub(crate) fn miss(&mut self) {
        self.missing += 1;
    }

    /// Figures that were there.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Figures that were missing: empty cells, `-1`, `-0.0`, not a number.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// The smallest figure; `None` without any.
    #[must_use]
    pub fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest figure; `None` without any.
    #[must_use]
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }

    /// The number of the snapshot with the smallest figure, the first of several; `None` without
    /// any.
    #[must_use]
    pub fn min_at(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min_at)
    }

    /// The number of the snapshot with the largest figure, the first of several; `None` without
    /// any.
    #[must_use]
    pub fn max_at(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_at)
    }

    /// `sum of figures / count`: every snapshot counts the same.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / float(self.count))
    }

    /// `sum of (figure x seconds of its interval) / sum of seconds`: every second counts the same.
    /// Equal to [`mean`](Self::mean) where all intervals are.
    #[must_use]
    pub fn average(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| (self.integral / self.seconds).clamp(self.min, self.max))
    }

    /// Sum of the figures: what a counter of events an interval adds up to.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Sum of figure x seconds of its interval: what a rate a second adds up to.
    #[must_use]
    pub fn integral(&self) -> f64 {
        self.integral
    }

    /// Seconds over which there were figures.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.seconds
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of snapshots is far below 2^53")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these figures are exact")]
mod tests {
    use super::*;

    #[test]
    fn an_average_over_time_weighs_each_interval_by_its_length() {
        let mut stat = Stat::default();
        stat.add(10.0, 1.0, 7);
        stat.add(20.0, 3.0, 8);
        stat.miss();
        assert_eq!((stat.count(), stat.missing()), (2, 1));
        assert_eq!((stat.min(), stat.max()), (Some(10.0), Some(20.0)));
        assert_eq!((stat.mean(), stat.average()), (Some(15.0), Some(17.5)));
        assert_eq!((stat.integral(), stat.seconds()), (70.0, 4.0));
        stat.add(20.0, 1.0, 9);
        stat.add(5.0, 1.0, 10);
        assert_eq!((stat.min_at(), stat.max_at()), (Some(10), Some(8)), "the first of several");
    }

    #[test]
    fn without_figures_there_is_no_statistic() {
        let mut stat = Stat::default();
        stat.miss();
        assert_eq!((stat.min(), stat.max(), stat.mean(), stat.average()), (None, None, None, None));
    }
}
