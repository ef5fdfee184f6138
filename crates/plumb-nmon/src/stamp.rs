//! When the snapshots were taken (ZZZZ lines), and how long each interval was.

use jiff::civil::{Date, DateTime, Time};

use crate::cell::{Line, snapshot_id};
use crate::trouble::{TroubleKind, Troubles, excerpt};
use crate::window::Window;

/// Most snapshots of a recording: half a year, one a second.
const SNAPSHOTS_MAX: usize = 16_000_000;
const HOUR_S: i64 = 3_600;
const DAY_S: i64 = 86_400;

/// One snapshot and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The number behind `T`.
    pub id: u64,
    /// The host's own wall clock in seconds since 1970-01-01 00:00:00 of the same clock. An nmon
    /// file names no time zone.
    pub local_s: i64,
    /// Seconds for which the figures of the snapshot stand: the time since the one before, or the
    /// usual interval where the clock was set meanwhile. A second more or less is booked once it is
    /// more than what a clock of whole seconds leaves open.
    pub seconds: u32,
    line: u64,
}

impl Stamp {
    /// The time in words: `2026-11-21T02:57:54`; `None` far outside of any calendar.
    #[must_use]
    pub fn local(&self) -> Option<DateTime> {
        DateTime::constant(1970, 1, 1, 0, 0, 0, 0)
            .checked_add(jiff::SignedDuration::from_secs(self.local_s))
            .ok()
    }
}

/// The snapshots of a recording in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    stamps: Vec<Stamp>,
    interval_s: Option<u32>,
    /// The first and the last snapshot of the file.
    ends: Option<[Stamp; 2]>,
    /// Only a part of the snapshots is kept.
    is_part: bool,
}

impl Timeline {
    /// The snapshots.
    #[must_use]
    pub fn stamps(&self) -> &[Stamp] {
        &self.stamps
    }

    /// The first and the last snapshot of the file, of which [`stamps`](Self::stamps) may be a
    /// part.
    #[must_use]
    pub fn ends(&self) -> Option<[Stamp; 2]> {
        self.ends
    }

    /// Keeps the snapshots within `window`.
    pub(crate) fn keep(&mut self, window: &Window) {
        let Some([first, _]) = self.ends.filter(|_| !window.is_whole()) else { return };
        let (from_s, to_s) = window.ends_s(first.local_s);
        self.stamps.retain(|stamp| {
            let begun_s = stamp.local_s - i64::from(stamp.seconds);
            let is_within = if window.whole { from_s <= begun_s } else { from_s < stamp.local_s };
            is_within && stamp.local_s <= to_s
        });
        self.is_part = true;
    }

    /// True when only a part of the snapshots is kept.
    pub(crate) fn is_part(&self) -> bool {
        self.is_part
    }

    /// True for the number of the first snapshot of the file.
    pub(crate) fn is_first(&self, id: u64) -> bool {
        self.ends.is_some_and(|[first, _]| first.id == id)
    }

    /// The usual interval, seconds: the median between snapshots, or else what was announced.
    #[must_use]
    pub fn interval_s(&self) -> Option<u32> {
        self.interval_s
    }

    /// Seconds for which the recording stands: the sum of its intervals.
    #[must_use]
    pub fn duration_s(&self) -> f64 {
        self.stamps.iter().map(|stamp| f64::from(stamp.seconds)).sum()
    }

    /// The place of a snapshot; `hint` is where the last one was found.
    pub(crate) fn find(&self, id: u64, hint: usize) -> Option<usize> {
        let at = |place: usize| self.stamps.get(place).is_some_and(|stamp| stamp.id == id);
        if at(hint) {
            return Some(hint);
        }
        if at(hint + 1) {
            return Some(hint + 1);
        }
        self.stamps.binary_search_by_key(&id, |stamp| stamp.id).ok()
    }

    /// The line of the file in which the time of a snapshot stands.
    #[must_use]
    pub fn line_of(&self, id: u64) -> Option<u64> {
        self.find(id, 0).map(|place| self.stamps[place].line)
    }

    /// Seconds of an interval whose snapshot has no time.
    pub(crate) fn usual_s(&self) -> f64 {
        self.interval_s.map_or(1.0, f64::from)
    }
}

/// The ZZZZ lines of a recording while they are read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    stamps: Vec<Stamp>,
    /// The day of the lines that name none, and the time of the last of them.
    today: Option<(i64, i64)>,
    full: bool,
}

impl Clock {
    /// Books `ZZZZ,Tnnnn,HH:MM:SS,DD-MON-YYYY`; `day` is the date of the AAA lines.
    pub(crate) fn add(
        &mut self,
        line: &Line<'_>,
        number: u64,
        day: Option<&str>,
        troubles: &mut Troubles,
    ) {
        let mut cells = line.cells().map(<[u8]>::trim_ascii);
        let id = cells.next().and_then(snapshot_id);
        let time = cells.next().and_then(seconds_of_day);
        let (Some(id), Some(time)) = (id, time) else {
            return troubles.add(number, TroubleKind::BadTime(excerpt(line.rest)));
        };
        let day = match cells.next().filter(|cell| !cell.is_empty()) {
            Some(cell) => days(cell),
            None => Some(self.day_without_date(time, day)),
        };
        let Some(day) = day else {
            return troubles.add(number, TroubleKind::BadTime(excerpt(line.rest)));
        };
        if self.stamps.len() == SNAPSHOTS_MAX {
            if !self.full {
                troubles.add(number, TroubleKind::TooMany("snapshots"));
            }
            self.full = true;
            return;
        }
        let stamp = Stamp { id, local_s: day * DAY_S + time, seconds: 0, line: number };
        self.stamps.push(stamp);
    }

    /// Old files name the date once; the day is over when the time falls by half a day.
    fn day_without_date(&mut self, time: i64, first: Option<&str>) -> i64 {
        let (day, last) = self
            .today
            .unwrap_or_else(|| (first.and_then(|date| days(date.as_bytes())).unwrap_or(0), 0));
        let day = if time < last - DAY_S / 2 { day + 1 } else { day };
        self.today = Some((day, time));
        day
    }

    /// Orders the snapshots and measures their intervals.
    pub(crate) fn finish(mut self, announced: Option<u32>, troubles: &mut Troubles) -> Timeline {
        self.stamps.sort_by_key(|stamp| stamp.id); // a sorted file has T10000 before T9999
        self.stamps.dedup_by(|later, kept| {
            let same = later.id == kept.id;
            if same && later.local_s != kept.local_s {
                troubles.add(later.line, TroubleKind::SnapshotTwice(later.id));
            }
            same
        });
        let found = median_interval(&self.stamps);
        if let (Some(announced), Some(found), Some(first)) = (announced, found, self.stamps.first())
            && announced.abs_diff(found) > 1.max(announced / 10)
        {
            troubles.add(first.line, TroubleKind::Interval { announced, found });
        }
        let interval_s = found.or(announced);
        measure(&mut self.stamps, interval_s.unwrap_or(1), troubles);
        self.stamps.shrink_to_fit();
        let ends = self.stamps.first().copied().zip(self.stamps.last().copied());
        let ends = ends.map(|(first, last)| [first, last]);
        Timeline { stamps: self.stamps, interval_s, ends, is_part: false }
    }
}

fn median_interval(stamps: &[Stamp]) -> Option<u32> {
    let mut deltas: Vec<u32> = stamps
        .windows(2)
        .filter(|pair| pair[1].id - pair[0].id == 1)
        .filter_map(|pair| u32::try_from(pair[1].local_s - pair[0].local_s).ok())
        .filter(|delta| *delta > 0)
        .collect();
    let middle = deltas.len().saturating_sub(1) / 2;
    (!deltas.is_empty()).then(|| *deltas.select_nth_unstable(middle).1)
}

/// Gives every snapshot the seconds it stands for.
fn measure(stamps: &mut [Stamp], usual: u32, troubles: &mut Troubles) {
    let (mut before, mut owed): (Option<Stamp>, i64) = (None, 0);
    for stamp in stamps {
        stamp.seconds = match before {
            None => usual,
            Some(before) => interval(before, *stamp, usual, &mut owed, troubles),
        };
        before = Some(*stamp);
    }
}

/// Times have a resolution of a second, so that one second more or less is no difference. What they
/// differ by is `owed`: a recorder that is a little slow each time loses a second now and then, and
/// the sum of the intervals shall be the time that passed.
fn interval(
    before: Stamp,
    stamp: Stamp,
    usual: u32,
    owed: &mut i64,
    troubles: &mut Troubles,
) -> u32 {
    let steps = stamp.id - before.id;
    let seconds = stamp.local_s - before.local_s;
    let expected = i64::try_from(steps).unwrap_or(i64::MAX).saturating_mul(i64::from(usual));
    let beyond = seconds.saturating_sub(expected);
    let near = |second: i64| (beyond - second).abs() <= 1;
    if near(0) && steps == 1 {
        *owed += beyond;
        let paid = if owed.abs() > 1 { owed.signum() } else { 0 };
        let booked = (i64::from(usual) + paid).max(1);
        *owed -= booked - i64::from(usual);
        return u32::try_from(booked).unwrap_or(usual);
    }
    let hour = HOUR_S > 3 * i64::from(usual) && (near(HOUR_S) || near(-HOUR_S));
    if hour || seconds < 0 {
        let kind = TroubleKind::ClockStep { seconds: beyond, daylight_saving: hour };
        troubles.add(stamp.line, kind);
        return usual;
    }
    if steps > 1 {
        troubles.add(stamp.line, TroubleKind::SnapshotsMissing(steps - 1));
        return usual;
    }
    if beyond > 2.max(i64::from(usual)) {
        troubles.add(stamp.line, TroubleKind::Gap { seconds, expected });
    }
    u32::try_from(seconds.max(1)).unwrap_or(usual)
}

/// `HH:MM:SS`, or `HH:MM.SS` as AAA lines of Linux write it.
fn seconds_of_day(cell: &[u8]) -> Option<i64> {
    let [h1, h0, b':', m1, m0, b':' | b'.', s1, s0] = cell else { return None };
    let two = |tens: &u8, ones: &u8| i8::try_from(number(&[*tens, *ones])?).ok();
    let time = Time::new(two(h1, h0)?, two(m1, m0)?, two(s1, s0)?.min(59), 0).ok()?;
    Some(i64::from(time.hour()) * HOUR_S + i64::from(time.minute()) * 60 + i64::from(time.second()))
}

/// Days since 1970 of `DD-MON-YYYY`, in any case of letters.
fn days(cell: &[u8]) -> Option<i64> {
    let mut parts = cell.split(|byte| *byte == b'-');
    let (day, month, year) = (number(parts.next()?)?, parts.next()?, parts.next()?);
    if year.len() != 4 || parts.next().is_some() {
        return None;
    }
    let month = match month {
        [_, _, _] => MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month))? + 1,
        _ => usize::try_from(number(month)?).ok()?,
    };
    let (year, day) = (i16::try_from(number(year)?).ok()?, i8::try_from(day).ok()?);
    let date = Date::new(year, i8::try_from(month).ok()?, day).ok()?;
    let span = date.since((jiff::Unit::Day, Date::constant(1970, 1, 1))).ok()?;
    Some(i64::from(span.get_days()))
}

/// The months as nmon writes them, whatever the locale.
pub(crate) const MONTHS: [&[u8]; 12] = [
    b"JAN", b"FEB", b"MAR", b"APR", b"MAY", b"JUN", b"JUL", b"AUG", b"SEP", b"OCT", b"NOV", b"DEC",
];

fn number(digits: &[u8]) -> Option<u32> {
    let few = (1..=4).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    few.then(|| digits.iter().fold(0, |sum, byte| sum * 10 + u32::from(byte - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(lines: &[&str], announced: Option<u32>) -> (Timeline, Vec<TroubleKind>) {
        let (mut clock, mut troubles) = (Clock::default(), Troubles::default());
        for (number, line) in (1..).zip(lines) {
            let line = Line::split(line.as_bytes()).unwrap();
            clock.add(&line, number, Some("31-DEC-2011"), &mut troubles);
        }
        let timeline = clock.finish(announced, &mut troubles);
        (timeline, troubles.list().iter().map(|trouble| trouble.kind.clone()).collect())
    }

    fn seconds(timeline: &Timeline) -> Vec<u32> {
        timeline.stamps().iter().map(|stamp| stamp.seconds).collect()
    }

    #[test]
    fn midnight_is_no_step() {
        let (timeline, troubles) = timeline(
            &["ZZZZ,T0001,23:59:59,31-DEC-2026", "ZZZZ,T0002,00:00:00,01-JAN-2027"],
            Some(1),
        );
        assert!(troubles.is_empty(), "{troubles:?}");
        let last = timeline.stamps()[1].local().unwrap();
        assert_eq!(last.to_string(), "2027-01-01T00:00:00");
    }

    #[test]
    fn a_file_that_names_its_date_once_goes_on_after_midnight() {
        let (timeline, troubles) =
            timeline(&["ZZZZ,T0001,23:59:55", "ZZZZ,T0002,00:00:05", "ZZZZ,T0003,00:00:15"], None);
        assert!(troubles.is_empty(), "{troubles:?}");
        assert_eq!(seconds(&timeline), [10, 10, 10]);
        assert_eq!(timeline.stamps()[2].local().unwrap().to_string(), "2012-01-01T00:00:15");
    }

    #[test]
    fn daylight_saving_time_and_a_clock_that_was_set_are_steps() {
        let lines = [
            "ZZZZ,T0001,02:59:50,25-OCT-2026",
            "ZZZZ,T0002,02:00:00,25-OCT-2026", // back by an hour
            "ZZZZ,T0003,02:00:10,25-OCT-2026",
            "ZZZZ,T0004,01:30:00,25-OCT-2026", // set by hand
            "ZZZZ,T0005,01:30:10,25-OCT-2026",
        ];
        let (timeline, troubles) = timeline(&lines, Some(10));
        assert_eq!(seconds(&timeline), [10; 5]);
        let step = |seconds, daylight_saving| TroubleKind::ClockStep { seconds, daylight_saving };
        assert_eq!(troubles, [step(-3600, true), step(-1820, false)]);
    }

    #[test]
    fn figures_of_a_late_snapshot_stand_for_the_whole_gap() {
        let lines = ["ZZZZ,T0001,10:00:00", "ZZZZ,T0002,10:00:01", "ZZZZ,T0003,10:00:09"];
        let (timeline, troubles) = timeline(&lines, Some(1));
        assert_eq!(seconds(&timeline), [1, 1, 8]);
        assert_eq!(troubles, [TroubleKind::Gap { seconds: 8, expected: 1 }]);
    }

    #[test]
    fn seconds_that_a_slow_recorder_loses_one_by_one_are_counted() {
        for (period_ms, usual) in [(1_250_u32, 1), (10_200, 10), (9_800, 10)] {
            let at = |number: u32| number * period_ms / 1000;
            let lines: Vec<String> = (0..800)
                .map(|number| {
                    let (s, id) = (at(number), number + 1);
                    format!("ZZZZ,T{id:04},{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
                })
                .collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let (timeline, troubles) = timeline(&lines, Some(usual));
            assert!(troubles.is_empty(), "{troubles:?}");
            assert_eq!(timeline.interval_s(), Some(usual));
            let all = f64::from(at(799) + usual);
            assert!((timeline.duration_s() - all).abs() <= 1.0, "{} s", timeline.duration_s());
        }
    }

    #[test]
    fn two_snapshots_within_a_second_are_an_interval_each() {
        let lines = [
            "ZZZZ,T0001,10:00:00",
            "ZZZZ,T0002,10:00:01",
            "ZZZZ,T0003,10:00:01",
            "ZZZZ,T0004,10:00:03",
            "ZZZZ,T0005,10:00:04",
        ];
        let (timeline, troubles) = timeline(&lines, Some(1));
        assert_eq!(seconds(&timeline), [1; 5]);
        assert!(troubles.is_empty(), "{troubles:?}");
    }

    #[test]
    fn what_was_lost_is_counted_and_stands_for_nothing() {
        let lines = ["ZZZZ,T0001,10:00:00", "ZZZZ,T0002,10:00:10", "ZZZZ,T0008,10:01:10"];
        let (timeline, troubles) = timeline(&lines, Some(10));
        assert_eq!(seconds(&timeline), [10, 10, 10]);
        assert_eq!(troubles, [TroubleKind::SnapshotsMissing(5)]);
    }

    #[test]
    fn numbers_order_the_snapshots_of_a_sorted_file() {
        let lines = [
            "ZZZZ,T10000,10:00:02,01-MAY-2026",
            "ZZZZ,T9999,10:00:01,01-MAY-2026",
            "ZZZZ,T9999,10:00:01,01-MAY-2026",
        ];
        let (timeline, troubles) = timeline(&lines, Some(1));
        assert!(troubles.is_empty(), "{troubles:?}");
        assert_eq!(
            timeline.stamps().iter().map(|stamp| stamp.id).collect::<Vec<_>>(),
            [9999, 10000]
        );
        assert_eq!((timeline.find(10_000, 0), timeline.find(7, 0)), (Some(1), None));
    }

    #[test]
    fn a_time_that_is_none_is_named() {
        for bad in
            ["ZZZZ,T0001,25:00:00,01-MAY-2026", "ZZZZ,T0001,10:00:00,31-FEB-2026", "ZZZZ,T0001"]
        {
            let (timeline, troubles) = timeline(&[bad], None);
            assert!(timeline.stamps().is_empty(), "{bad}");
            assert!(matches!(troubles[..], [TroubleKind::BadTime(_)]), "{bad}: {troubles:?}");
        }
    }
}
