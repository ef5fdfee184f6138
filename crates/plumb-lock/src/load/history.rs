//! Operations a minute over the last seconds and minutes.

use std::collections::VecDeque;

use plumb_engine::{IntervalRecords, Sampler};

const MINUTE_NS: u64 = 60_000_000_000;

/// The windows over which rates are told: their names, and their lengths in nanoseconds. The first
/// is as long as that of the original's monitor.
pub(crate) const WINDOWS: [(&str, u64); 4] = [
    ("actual", 5_000_000_000),
    ("10 s", 10_000_000_000),
    ("1 min", MINUTE_NS),
    ("5 min", LONGEST_NS),
];
const LONGEST_NS: u64 = 5 * MINUTE_NS;
/// Shorter stretches are taken together, so that not too many are kept.
const STRETCH_NS_MIN: u64 = 10_000_000;

/// How many operations were counted when.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// The row that counts.
    row: usize,
    /// Length in nanoseconds and operations of each stretch, the last one first; together they reach
    /// the longest window.
    stretches: VecDeque<(u64, u64)>,
    /// The length of them all, nanoseconds.
    time_ns: u64,
}

impl History {
    /// Notes a stretch of time.
    pub(crate) fn note(&mut self, duration_ns: u64, operations: u64) {
        match self.stretches.front_mut() {
            Some((time, count)) if *time < STRETCH_NS_MIN => {
                *time += duration_ns;
                *count += operations;
            }
            _ => self.stretches.push_front((duration_ns, operations)),
        }
        self.time_ns += duration_ns;
        while let Some((oldest_ns, _)) = self.stretches.back()
            && self.time_ns - oldest_ns >= LONGEST_NS
        {
            self.time_ns -= oldest_ns;
            self.stretches.pop_back();
        }
    }

    /// Operations a minute over the last stretch alone.
    pub(crate) fn last_per_minute(&self) -> Option<f64> {
        self.stretches.front().and_then(|stretch| per_minute(*stretch))
    }

    /// Operations a minute over the last stretches that together reach 99 % of `window_ns`. `None` when
    /// less has run, for a window is told of what ran in it alone, and when they are longer than one
    /// and a half windows: that would be the rate of another one.
    pub(crate) fn per_minute(&self, window_ns: u64) -> Option<f64> {
        let least_ns = window_ns - window_ns / 100;
        let (mut time, mut count) = (0_u64, 0_u64);
        for (duration_ns, operations) in &self.stretches {
            time += duration_ns;
            count += operations;
            if time >= least_ns {
                break;
            }
        }
        let fits = time >= least_ns && time <= window_ns + window_ns / 2;
        fits.then(|| per_minute((time, count))).flatten()
    }
}

/// Operations a minute of a stretch that has a length.
#[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
fn per_minute((time_ns, operations): (u64, u64)) -> Option<f64> {
    (time_ns > 0).then(|| operations as f64 * MINUTE_NS as f64 / time_ns as f64)
}

impl Sampler for History {
    fn interval(&mut self, records: &IntervalRecords) {
        let row = records.recorder.rows().get(self.row);
        self.note(records.figures.duration_ns, row.map_or(0, |row| row.response.count()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_takes_the_last_stretches_and_is_not_told_before_it_has_run() {
        let mut history = History::default();
        assert_eq!(history.per_minute(1), None);
        for operations in [600, 300, 100] {
            history.note(5_000_000_000, operations);
        }
        let rates = |of: &History| WINDOWS.map(|(_, window)| of.per_minute(window).map(f64::round));
        assert_eq!(rates(&history), [Some(1_200.0), Some(2_400.0), None, None]);
        assert_eq!(history.per_minute(15_100_000_000).map(f64::round), Some(4_000.0), "nearly all");
        assert_eq!(history.per_minute(15_200_000_000), None);
        let mut rough = History::default();
        (0..30).for_each(|_| rough.note(10_000_000_000, 100));
        // ten seconds are no five
        assert_eq!(rates(&rough), [None, Some(600.0), Some(600.0), Some(600.0)]);
    }

    #[test]
    fn whatever_its_stretches_the_longest_window_is_kept_and_not_much_more() {
        for (every_ns, kept) in [(1_000_000, 30_000), (20_000_000, 15_000), (500_000_000, 600)] {
            let mut history = History::default();
            for _ in 0..3 * LONGEST_NS / every_ns {
                history.note(every_ns, 1);
            }
            let rate = history.per_minute(LONGEST_NS).map(f64::round);
            #[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
            let expected = (MINUTE_NS / every_ns) as f64;
            assert_eq!(rate, Some(expected), "{every_ns}");
            assert_eq!(history.stretches.len(), kept, "{every_ns}");
        }
    }
}
