//! When the figures of a recording were taken: on one line of time, whatever the clock did.

use crate::recording::ChartTime;
use plumb_nmon::Timeline;

/// The moments of a recording, and which snapshot stands at each.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Moments {
    /// The moments themselves.
    pub(crate) time: ChartTime,
    /// Places in the timeline; `None` where snapshots are missing.
    places: Vec<Option<usize>>,
}

impl Moments {
    /// Snapshots follow each other by the clock, and by their count where the clock was set. One
    /// moment stands for all snapshots that are missing before another.
    pub(crate) fn of(timeline: &Timeline) -> Self {
        let stamps = timeline.stamps();
        let mut moments = Self::default();
        let (mut at_s, mut clock) = (0_i64, true);
        for (place, stamp) in stamps.iter().enumerate() {
            if let Some(before) = place.checked_sub(1).map(|before| stamps[before]) {
                let steps = i64::try_from(stamp.id.saturating_sub(before.id)).unwrap_or(i64::MAX);
                let by_count = steps.saturating_mul(i64::from(stamp.seconds));
                let by_clock = stamp.local_s.saturating_sub(before.local_s);
                let agree = by_clock.abs_diff(by_count) <= by_count.unsigned_abs().div_ceil(20);
                clock &= agree;
                let passed = if agree { by_clock } else { by_count };
                if steps > 1 {
                    moments.push(at_s.saturating_add(passed / 2), None);
                }
                at_s = at_s.saturating_add(passed);
            }
            moments.push(at_s, Some(place));
        }
        moments.time.clock_s = stamps.first().filter(|_| clock).map(|first| first.local_s);
        moments
    }

    #[expect(clippy::cast_precision_loss, reason = "seconds of a recording are far below 2^53")]
    fn push(&mut self, at_s: i64, place: Option<usize>) {
        self.time.at_s.push(at_s as f64);
        self.places.push(place);
    }

    /// The figures of a column, one a moment; not a number where there is none.
    pub(crate) fn values(&self, series: &[f64]) -> Vec<f64> {
        let figure = |place: usize| series.get(place).copied().unwrap_or(f64::NAN);
        self.places.iter().map(|place| place.map_or(f64::NAN, figure)).collect()
    }
}

#[cfg(test)]
mod tests {
    use plumb_nmon::{Options, read};

    use super::*;

    fn moments(times: &[(u64, &str)]) -> Moments {
        let mut file = String::from("AAA,host,h\nAAA,interval,10\nX,Y,a\n");
        for (id, time) in times {
            file += &format!("ZZZZ,T{id:04},{time},25-OCT-2026\nX,T{id:04},{id}\n");
        }
        let read = read(file.as_bytes(), &Options::default()).unwrap();
        Moments::of(&read.recordings[0].timeline)
    }

    #[test]
    fn missing_snapshots_are_one_moment_without_figures() {
        let moments = moments(&[(1, "10:00:00"), (2, "10:00:10"), (5, "10:00:40")]);
        assert_eq!(moments.time.at_s, [0.0, 10.0, 25.0, 40.0]);
        let values = moments.values(&[1.0, 2.0, 5.0]);
        assert_eq!(format!("{values:?}"), "[1.0, 2.0, NaN, 5.0]");
        assert!(moments.time.clock_s.is_some());
    }

    #[test]
    fn a_clock_that_was_set_does_not_turn_time_back() {
        let moments = moments(&[(1, "02:59:50"), (2, "02:00:00"), (3, "02:00:10")]);
        assert_eq!(moments.time.at_s, [0.0, 10.0, 20.0]);
        assert_eq!(moments.time.clock_s, None);
    }

    #[test]
    fn a_clock_that_rounds_its_seconds_is_followed() {
        let moments =
            moments(&[(1, "10:00:00"), (2, "10:00:10"), (3, "10:00:21"), (4, "10:00:31")]);
        assert_eq!(moments.time.at_s, [0.0, 10.0, 21.0, 31.0]);
        assert!(moments.time.clock_s.is_some());
    }
}
