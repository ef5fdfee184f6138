//! An axis that names moments by the clock of the host.

use plumb_measure::real;

use crate::axis::{Axis, Naming};
use crate::scale::{Scale, Shape, place};
use crate::tick::{CHARACTER, Tick, thinned};

const DAY_S: i64 = 86_400;

/// Steps between two ticks, seconds; all divide a day, or are days.
const STEPS_S: [i64; 22] = [
    1,
    2,
    5,
    10,
    20,
    30,
    60,
    120,
    300,
    600,
    1_200,
    1_800,
    3_600,
    7_200,
    14_400,
    28_800,
    DAY_S,
    2 * DAY_S,
    7 * DAY_S,
    28 * DAY_S,
    91 * DAY_S,
    364 * DAY_S,
];

/// Steps that an axis has at most.
const TICKS_MAX: i64 = 6;

/// The longest time that such an axis shows, seconds: some six years, the longest step so many times.
const LONGEST_S: u64 = 6 * 364 * 86_400;

/// The moment farthest from 1970 that has a day in a calendar, seconds: some 30,000 years.
const FARTHEST_S: u64 = 1_000_000_000_000;

impl Axis {
    /// Moments from `start_s`, seconds since 1970 of any clock, over `duration_ns`; a place on it
    /// is nanoseconds since the start. `None` for what is too long to be named so.
    #[must_use]
    pub fn clock(start_s: i64, duration_ns: u64, start: f64, end: f64) -> Option<Self> {
        let duration_s = duration_ns.div_ceil(1_000_000_000).max(1);
        if duration_s > LONGEST_S || start_s.unsigned_abs() > FARTHEST_S {
            return None;
        }
        let seconds = i64::try_from(duration_s).ok()?;
        let last_s = start_s + seconds;
        let step = STEPS_S.into_iter().find(|step| step * TICKS_MAX >= seconds).unwrap_or(DAY_S);
        let high = real(duration_ns.max(1));
        let scale = Scale { shape: Shape::Linear, low: 0.0, high, start, end };
        let first = start_s.div_euclid(step) + i64::from(start_s.rem_euclid(step) > 0);
        let ticks = (0..=TICKS_MAX)
            .map(|at| (first + at) * step)
            .take_while(|moment| *moment <= last_s)
            .filter_map(|moment| {
                let since = real(u64::try_from(moment - start_s).ok()?) * 1e9;
                (since <= high).then(|| Tick { at: scale.at(since), label: label(moment, step) })
            })
            .map(|tick| within(tick, end))
            .collect();
        let (from, to) = (day(start_s), day(last_s));
        let title = match from == to {
            true => format!("clock of the host, {from}"),
            false => format!("clock of the host, {from} to {to}"),
        };
        Some(Self { scale, naming: Naming::Clock, ticks: thinned(ticks), title })
    }
}

fn label(moment_s: i64, step: i64) -> String {
    match step {
        DAY_S.. => day(moment_s)[5..].to_owned(),
        60.. => time_of_day(moment_s)[..5].to_owned(),
        _ => time_of_day(moment_s),
    }
}

/// The tick without its name where that would stand out of the sheet.
fn within(tick: Tick, end: f64) -> Tick {
    /// Room behind the end of the axis.
    const MARGIN: f64 = 14.0;
    let half = place(tick.label.chars().count()) * CHARACTER / 2.0;
    let label = if tick.at + half > end + MARGIN { String::new() } else { tick.label };
    Tick { label, ..tick }
}

/// `HH:MM:SS` of a moment in seconds since 1970.
#[must_use]
pub fn time_of_day(moment_s: i64) -> String {
    let second = moment_s.rem_euclid(DAY_S);
    format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
}

/// `YYYY-MM-DD` of a moment in seconds since 1970.
///
/// # Source
/// H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
#[must_use]
pub fn day(moment_s: i64) -> String {
    let days = moment_s.div_euclid(DAY_S) + 719_468; // since 0000-03-01
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153; // 0 is March
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        let labels = axis.ticks.iter().map(|tick| tick.label.as_str());
        labels.filter(|label| !label.is_empty()).collect()
    }

    #[test]
    fn days_of_the_calendar() {
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(-1), "1969-12-31");
        assert_eq!(day(951_782_400), "2000-02-29");
        assert_eq!(day(1_795_219_199), "2026-11-20");
        assert_eq!(day(1_795_219_200), "2026-11-21");
    }

    #[test]
    fn ticks_stand_at_round_times_of_the_clock() {
        let at = 1_795_219_200 + 10 * 3_600 + 37 * 60 + 51; // 10:37:51
        let axis = Axis::clock(at, 600_000_000_000, 0.0, 370.0).unwrap();
        assert_eq!(labels(&axis), ["10:38", "10:40", "10:42", "10:44", "10:46"]);
        assert_eq!(axis.title, "clock of the host, 2026-11-21");
        let axis = Axis::clock(at, 3 * 86_400_000_000_000, 0.0, 370.0).unwrap();
        assert_eq!(labels(&axis), ["11-22", "11-23", "11-24"]);
        assert_eq!(axis.title, "clock of the host, 2026-11-21 to 2026-11-24");
        assert!(Axis::clock(at, u64::MAX, 0.0, 370.0).is_none());
    }

    proptest! {
        #[test]
        fn a_day_is_read_as_it_was_written(second in 0i64..4_000_000_000) {
            let text = format!("{}T00:00:00Z", day(second));
            let midnight = u64::try_from(second - second % DAY_S).unwrap();
            prop_assert_eq!(plumb_folder::wall_ns(&text), Some(midnight * 1_000_000_000));
        }

        #[test]
        fn every_moment_has_a_place(start in -10_000_000_000i64..10_000_000_000, ns in any::<u64>()) {
            if let Some(axis) = Axis::clock(start, ns, 0.0, 370.0) {
                for value in [0.0, real(ns), real(ns) / 2.0] {
                    prop_assert!((0.0..=370.0).contains(&axis.at(value)));
                }
                prop_assert!(axis.ticks.len() <= 7, "{:?}", axis.ticks);
                prop_assert!(axis.ticks.iter().all(|tick| (0.0..=370.0).contains(&tick.at)));
            }
        }
    }
}
