//! The clock of a recording, and how far it was ahead of UTC.

use std::str::FromStr;

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use plumb_nmon::{Recording, Stamp, Trouble, TroubleKind};
use serde::Serialize;

/// How far a clock is ahead of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ClockOffset {
    seconds: i64,
}

impl FromStr for ClockOffset {
    type Err = anyhow::Error;

    /// `+01:00`, `-05:30` or `UTC`.
    fn from_str(text: &str) -> anyhow::Result<Self> {
        if ["UTC", "Z"].contains(&text) {
            return Ok(Self { seconds: 0 });
        }
        let parsed = || {
            let (sign, rest) = match text.split_at_checked(1)? {
                ("+", rest) => (1, rest),
                ("-", rest) => (-1, rest),
                _ => return None,
            };
            let (hours, minutes) = rest.split_once(':')?;
            let part = |digits: &str, most: i64| {
                let plain = digits.len() == 2 && digits.bytes().all(|it| it.is_ascii_digit());
                digits.parse().ok().filter(|it: &i64| plain && *it <= most)
            };
            Some(sign * (part(hours, 14)? * 3_600 + part(minutes, 59)? * 60))
        };
        let seconds = parsed().context("write +HH:MM or -HH:MM, such as +01:00, or UTC")?;
        Ok(Self { seconds })
    }
}

impl std::fmt::Display for ClockOffset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (sign, seconds) = (if self.seconds < 0 { '-' } else { '+' }, self.seconds.abs());
        write!(f, "UTC{sign}{:02}:{:02}", seconds / 3_600, seconds % 3_600 / 60)
    }
}

/// The clock of a recording.
#[derive(Debug, Serialize)]
pub(super) struct RecordingClock {
    /// How far it is ahead of UTC, at the first snapshot.
    clock: ClockOffset,
    /// The same at the last snapshot, where that is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_at_end: Option<ClockOffset>,
    /// Where that comes from.
    clock_from: &'static str,
    /// The zone of this machine, where nothing else says how its clock goes.
    #[serde(skip)]
    zone: Option<TimeZone>,
    /// When it was turned by an hour, by itself, while what the file says of it is of its beginning.
    #[serde(skip)]
    turned_s: Vec<i64>,
}

impl RecordingClock {
    /// The clock that somebody `asked` for; else what the file says, or that of `zone`.
    pub(super) fn of(
        asked: Option<ClockOffset>,
        (recording, troubles): (&Recording, &[Trouble]),
        ends: [Stamp; 2],
        zone: TimeZone,
    ) -> anyhow::Result<Self> {
        let fixed = |clock, clock_from| Self {
            clock,
            clock_at_end: None,
            clock_from,
            zone: None,
            turned_s: Vec::new(),
        };
        if let Some(clock) = asked {
            return Ok(fixed(clock, "asked for"));
        }
        if let Some(clock) = recording.facts.time_zone().and_then(in_brackets) {
            let turned_s = turned_s(recording, troubles);
            return Ok(Self { turned_s, ..fixed(clock, "the file says so") });
        }
        let [first, last] = [ahead(ends[0], &zone)?, ahead(ends[1], &zone)?];
        let clock_at_end = Some(last).filter(|it| *it != first);
        let from = "the clock of this machine; the file names none";
        Ok(Self { clock_at_end, zone: Some(zone), ..fixed(first, from) })
    }

    /// What it showed when it was `utc_s`, seconds since 1970 of the same clock.
    pub(super) fn showed_s(&self, utc_s: i64) -> anyhow::Result<i64> {
        let ahead_s = match &self.zone {
            Some(zone) => i64::from(zone.to_offset(Timestamp::from_second(utc_s)?).seconds()),
            None => self.clock.seconds,
        };
        let showed_s = utc_s + ahead_s;
        ensure!(
            self.turned_s.iter().all(|turned_s| showed_s < *turned_s),
            "the clock of the recording was turned by an hour before the steps ended, and that it is \
             {}, as the file says, is of its beginning: give --recording-clock, how far it was ahead of \
             UTC during the steps",
            self.clock
        );
        Ok(showed_s)
    }
}

impl std::fmt::Display for RecordingClock {
    /// `UTC+01:00 (asked for)`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.clock)?;
        if let Some(later) = self.clock_at_end {
            write!(f, ", later {later}")?;
        }
        write!(f, " ({})", self.clock_from)
    }
}

/// The earliest times that the clock showed around each of its turns by an hour, seconds.
fn turned_s(recording: &Recording, troubles: &[Trouble]) -> Vec<i64> {
    let timeline = &recording.timeline;
    let turns = troubles
        .iter()
        .filter(|it| matches!(it.kind, TroubleKind::ClockStep { daylight_saving: true, .. }));
    turns
        .filter_map(|turn| {
            let is_behind = |it: &Stamp| timeline.line_of(it.id) == Some(turn.line);
            let pair = timeline.stamps().windows(2).find(|pair| is_behind(&pair[1]))?;
            Some(pair[0].local_s.min(pair[1].local_s))
        })
        .collect()
}

/// `W. Europe Standard Time (UTC+01:00)`.
fn in_brackets(zone: &str) -> Option<ClockOffset> {
    zone.rsplit_once("(UTC")?.1.strip_suffix(')')?.parse().ok()
}

/// How far the clock of `zone` was ahead of UTC when it showed the time of `stamp`.
fn ahead(stamp: Stamp, zone: &TimeZone) -> anyhow::Result<ClockOffset> {
    let local = stamp.local().context("a time far outside of any calendar")?;
    let at = zone.to_ambiguous_timestamp(local).compatible()?;
    Ok(ClockOffset { seconds: stamp.local_s - at.as_second() })
}

#[cfg(test)]
mod tests;
