//! A part of a recording, by the clock of its host.

use std::str::FromStr;

use jiff::civil::{DateTime, Time};

const DAY_S: i64 = 86_400;
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// From when to when a recording is read: snapshots whose time is after `from` and not after `to`.
/// A snapshot stands for the time up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// `None`: from its beginning.
    pub from: Option<Moment>,
    /// `None`: to its end.
    pub to: Option<Moment>,
    /// Only snapshots whose time began at `from` or later as well.
    pub whole: bool,
}

/// A moment by the clock of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A day and a time.
    At(DateTime),
    /// A time of the day on which a recording begins, or of the next one.
    Daily(Time),
}

/// Why a text is no moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a time of the host: 10:30, 10:30:15 or 2026-11-21T10:30:15")]
pub struct NoMoment;

impl FromStr for Moment {
    type Err = NoMoment;

    fn from_str(text: &str) -> Result<Self, NoMoment> {
        match text.contains(['T', ' ']) {
            true => text.parse().map(Self::At).map_err(|_| NoMoment),
            false => text.parse().map(Self::Daily).map_err(|_| NoMoment),
        }
    }
}

impl Moment {
    /// The moment in seconds since 1970 of the same clock; a time alone is of the day of `day_of_s`,
    /// or of the next one where that is before `earliest_s`.
    fn local_s(self, day_of_s: i64, earliest_s: i64) -> i64 {
        match self {
            Self::At(at) => at.duration_since(EPOCH).as_secs(),
            Self::Daily(time) => {
                let time_s = time.duration_since(Time::midnight()).as_secs();
                let same_day_s = day_of_s.div_euclid(DAY_S) * DAY_S + time_s;
                if same_day_s < earliest_s { same_day_s + DAY_S } else { same_day_s }
            }
        }
    }
}

impl Window {
    /// True when its end is taken as a time of the day after that of its beginning, because it is an
    /// earlier time of the day.
    #[must_use]
    pub fn ends_next_day(&self) -> bool {
        let times = self.from.zip(self.to);
        times.is_some_and(|(from, to)| match (from, to) {
            (Moment::Daily(from), Moment::Daily(to)) => to < from,
            (Moment::At(from), Moment::Daily(to)) => to < from.time(),
            (Moment::At(_) | Moment::Daily(_), Moment::At(_)) => false,
        })
    }

    /// True for the whole recording.
    pub(crate) fn is_whole(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    /// The ends in seconds since 1970 of the same clock, for a recording whose first snapshot is of
    /// `first_s`. One that begins a little before it is meant of the same day; none ends there.
    pub(crate) fn ends_s(&self, first_s: i64) -> (i64, i64) {
        let a_little_before_s = first_s - DAY_S / 2;
        let from_s = self.from.map(|from| from.local_s(first_s, a_little_before_s));
        let begins_s = from_s.unwrap_or(first_s);
        let to_s = self.to.map(|to| to.local_s(begins_s, begins_s));
        (from_s.unwrap_or(i64::MIN), to_s.unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(text: &str) -> i64 {
        text.parse::<DateTime>().unwrap().duration_since(EPOCH).as_secs()
    }

    fn ends(from: &str, to: &str, first: &str) -> (i64, i64) {
        let moment = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
        Window { from: moment(from), to: moment(to), whole: false }.ends_s(s(first))
    }

    #[test]
    fn times_are_of_the_day_of_the_recording_or_of_the_next() {
        let evening = "2026-12-31T23:00:01";
        assert_eq!(
            ends("23:00", "01:30", evening),
            (s("2026-12-31T23:00:00"), s("2027-01-01T01:30:00")),
            "it goes over midnight"
        );
        assert_eq!(ends("01:00:10", "", evening), (s("2027-01-01T01:00:10"), i64::MAX));
        assert_eq!(ends("", "23:10", evening), (i64::MIN, s("2026-12-31T23:10:00")));
        for morning in ["09:00", "11:30", "22:59"] {
            let then = s(&format!("2027-01-01T{morning}:00"));
            assert_eq!(ends("", morning, evening), (i64::MIN, then), "it cannot end before");
        }
        assert_eq!(
            ends("2026-12-31T23:05", "2027-01-01T00:00:00", evening),
            (s("2026-12-31T23:05:00"), s("2027-01-01T00:00:00"))
        );
    }

    #[test]
    fn a_time_more_than_half_a_day_after_the_beginning_is_of_the_same_day() {
        let midnight = "2026-11-21T00:00:05";
        assert_eq!(
            ends("14:00", "15:00", midnight),
            (s("2026-11-21T14:00:00"), s("2026-11-21T15:00:00"))
        );
        assert_eq!(ends("", "23:30", midnight), (i64::MIN, s("2026-11-21T23:30:00")));
        let morning = "2026-11-21T08:00:00";
        assert_eq!(
            ends("22:00", "02:00", morning),
            (s("2026-11-21T22:00:00"), s("2026-11-22T02:00:00"))
        );
        assert_eq!(ends("07:55", "", morning), (s("2026-11-21T07:55:00"), i64::MAX), "before it");
    }

    #[test]
    fn an_end_before_the_beginning_is_of_the_next_day() {
        let next_day = |from: &str, to: &str| {
            let moment = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
            Window { from: moment(from), to: moment(to), whole: false }.ends_next_day()
        };
        assert!(next_day("06:54:15", "06:54:10") && next_day("2026-12-31T23:05", "01:00"));
        for (from, to) in [("06:54", "06:54"), ("10:00", "11:00"), ("", "11:00"), ("10:00", "")] {
            assert!(!next_day(from, to), "{from} {to}");
        }
        assert!(!next_day("2026-12-31T23:05", "2026-12-31T22:00"));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "noon", "25:00", "10:", "2026-13-01T10:00", "10:00:00Z"] {
            assert_eq!(text.parse::<Moment>(), Err(NoMoment), "{text}");
        }
    }
}
