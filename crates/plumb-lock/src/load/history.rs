//! Operations a minute over the last seconds and minutes.

use std::collections::VecDeque;

use plumb_engine::{IntervalRecords, Sampler};

const MINUTE_NS: u64 = 60_000_000_000;

/// The windows over which rates are told: their names, and their lengths in nanoseconds. The first
/// is the last stretch alone.
pub(crate) const WINDOWS: [(&str, u64); 4] = [
    ("actual", 500_000_000),
    ("10 s", 10_000_000_000),
    ("1 min", MINUTE_NS),
    ("5 min", 5 * MINUTE_NS),
];

/// How many operations were counted when.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// The row that counts.
    row: usize,
    /// Length in nanoseconds and operations of each stretch, the last one first.
    stretches: VecDeque<(u64, u64)>,
}

impl History {
    /// Notes a stretch of time.
    pub(crate) fn note(&mut self, duration_ns: u64, operations: u64) {
        const KEPT_MAX: usize = 10_000; // 5 minutes of 30 ms
        self.stretches.push_front((duration_ns, operations));
        self.stretches.truncate(KEPT_MAX);
    }

    /// Operations a minute over the last stretches that together reach `window_ns`; `None` when
    /// less than 99 % of it has run, for a window is told of what ran in it alone.
    #[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
    pub(crate) fn per_minute(&self, window_ns: u64) -> Option<f64> {
        let (mut time, mut count) = (0_u64, 0_u64);
        for (duration_ns, operations) in &self.stretches {
            time += duration_ns;
            count += operations;
            if time >= window_ns {
                break;
            }
        }
        let reached = time >= window_ns - window_ns / 100;
        (time > 0 && reached).then(|| count as f64 * MINUTE_NS as f64 / time as f64)
    }
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
        let rates = || WINDOWS.map(|(_, window)| history.per_minute(window).map(f64::round));
        assert_eq!(rates(), [Some(1_200.0), Some(2_400.0), None, None]);
        assert_eq!(history.per_minute(15_100_000_000).map(f64::round), Some(4_000.0), "nearly all");
        assert_eq!(history.per_minute(15_200_000_000), None);
    }
}
