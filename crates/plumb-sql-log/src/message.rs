//! What a line of PostgreSQL's log says of a statement.
//!
//! # Source
//! PostgreSQL's documentation, "Error Reporting and Logging": `log_min_duration_statement`,
//! `log_statement`, `log_duration`, `log_parameter_max_length`; "Locale Support": `lc_messages`.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::{Entry, Logged};

/// A line of the log, as far as it says something of a statement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Line<'a> {
    /// Its number in the file.
    pub(crate) number: u64,
    pub(crate) time: &'a str,
    pub(crate) session: &'a str,
    pub(crate) severity: &'a str,
    pub(crate) message: &'a str,
    pub(crate) detail: &'a str,
}

/// The clock of one log, which is turned where summer time begins and ends: the name of the zone behind a
/// moment is then another. It is asked of every line, as a statement may come long after the last one.
#[derive(Debug, Default)]
pub(crate) struct LogClock {
    /// Names of zones, and how far their clock is behind that of the first, microseconds.
    zones: Vec<(String, i64)>,
    /// The moment before, by the clock of the first zone.
    before_us: i64,
}

/// Severities of lines in English, but for `DEBUG`, which has had numbers.
const SEVERITIES: [&str; 7] = ["LOG", "INFO", "NOTICE", "WARNING", "ERROR", "FATAL", "PANIC"];
/// What stands before the first colon of a message that tells of a statement, in English.
const ENGLISH: [&str; 2] = ["duration", "statement"];
/// The colon of Chinese and Japanese.
const WIDE_COLON: char = '\u{ff1a}';
/// What most statements begin with.
const STATEMENTS: [&str; 7] = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "BEGIN", "COMMIT"];

/// Names of zones that are told from each other.
const ZONES_MAX: usize = 16;
/// By so much a clock is turned, microseconds.
const TURN_US: i64 = 3_600_000_000;
/// Names of winter time, and of the summer time that is an hour before it. Others end with `ST` and `DT`.
const SUMMER: [(&str, &str); 5] =
    [("CET", "CEST"), ("EET", "EEST"), ("WET", "WEST"), ("GMT", "BST"), ("GMT", "IST")];

impl LogClock {
    /// The moment that `time` names, microseconds by the clock of the first zone.
    fn moment_us(&mut self, time: &str) -> Option<i64> {
        let (civil_us, zone) = civil_us(time)?;
        let known =
            self.zones.iter().find(|(name, _)| name == zone).map(|(_, behind_us)| *behind_us);
        let behind_us = known.unwrap_or_else(|| {
            let named_us = self.zones.iter().find_map(|(name, behind_us)| {
                Some(behind_us.saturating_add(named_us(name.trim(), zone.trim())?))
            });
            let first = self.zones.is_empty();
            let behind_us =
                named_us.unwrap_or_else(|| if first { 0 } else { self.turned_us(civil_us) });
            if self.zones.len() < ZONES_MAX {
                self.zones.push((zone.into(), behind_us));
            }
            behind_us
        });
        self.before_us = civil_us.saturating_add(behind_us);
        Some(self.before_us)
    }

    /// How far a clock that is now at `civil_us` has been turned back: whole hours, as lines come in the order
    /// in which they were logged. One that went on may have been turned, or have had nothing to log.
    fn turned_us(&self, civil_us: i64) -> i64 {
        let back_us = self.before_us.saturating_sub(civil_us).max(0);
        back_us.saturating_add(TURN_US - 1) / TURN_US * TURN_US
    }
}

/// How far the clock of the zone `to` is behind that of `from`, where their names say so.
fn named_us(from: &str, to: &str) -> Option<i64> {
    let is_summer = |winter: &str, summer: &str| {
        let stem = winter.strip_suffix("ST");
        SUMMER.contains(&(winter, summer)) || stem.is_some() && stem == summer.strip_suffix("DT")
    };
    // zones without a name have their hours before UTC in its place
    let hours = |name: &str| {
        let is_offset = name.len() == 3 && name.starts_with(['+', '-']);
        is_offset.then(|| name.parse::<i64>().ok()).flatten()
    };
    if let (Some(from), Some(to)) = (hours(from), hours(to)) {
        return Some((from - to) * TURN_US);
    }
    let back = is_summer(to, from).then_some(TURN_US);
    back.or_else(|| is_summer(from, to).then_some(-TURN_US))
}

impl Line<'_> {
    /// The statement that it tells of, and when that was by `clock`.
    ///
    /// # Errors
    /// When its time or its parameters cannot be read.
    pub(crate) fn entry(&self, clock: &mut LogClock) -> Result<Entry, String> {
        let logged_us = clock.moment_us(self.time);
        let Some((duration_us, text)) = statement(self.message) else {
            return Ok(if self.is_translated() { Entry::Translated } else { Entry::Other });
        };
        let logged_us = logged_us.ok_or_else(|| {
            format!(
                "`{}` is no time: expected one as in 2026-11-24 05:42:15.123 UTC",
                self.time.chars().take(40).collect::<String>()
            )
        })?;
        Ok(Entry::Statement(Logged {
            line: self.number,
            at_us: logged_us.saturating_sub(duration_us.unwrap_or(0)),
            logged_us,
            session: self.session.into(),
            text: text.into(),
            parameters: parameters(self.detail)?,
        }))
    }

    /// True where the severity is no English word, or the message tells of a statement in other words: behind
    /// its first colon stands a duration, or a statement, and before it what the server writes there.
    fn is_translated(&self) -> bool {
        let is_english = SEVERITIES.contains(&self.severity) || self.severity.starts_with("DEBUG");
        if !self.severity.is_empty() && !is_english {
            return true;
        }
        // with other severities functions and extensions speak
        if !["", "LOG"].contains(&self.severity) {
            return false;
        }
        let Some((words, told)) = self.message.split_once([':', WIDE_COLON]) else { return false };
        if ENGLISH.iter().any(|it| words.trim_end() == *it) || words.starts_with("execute ") {
            return false;
        }
        let words: Vec<&str> = words.split_whitespace().collect();
        let mut told = told.split_whitespace();
        let [first, unit] = [(); 2].map(|()| told.next().unwrap_or_default());
        if STATEMENTS.iter().any(|it| it.eq_ignore_ascii_case(first)) {
            return matches!(words[..], [_]) || matches!(words[..], [_, name] if is_prepared(name));
        }
        let has_number = words.iter().any(|it| it.contains(|it: char| it.is_ascii_digit()));
        matches!(words.len(), 1 | 2) && !has_number && is_duration(first, unit)
    }
}

/// What programs call a prepared statement, and what the server calls one without a name: `<unnamed>`,
/// `S_1`, `__asyncpg_stmt_1__`. Words of a sentence have no digit.
fn is_prepared(name: &str) -> bool {
    let begins = |it: char| it == '_' || it.is_alphabetic();
    name.starts_with('<')
        || name.starts_with(begins) && name.contains(|it: char| it.is_ascii_digit())
}

/// A duration as the server writes it in every language: milliseconds with three digits behind the point.
fn is_duration(number: &str, unit: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let unit = unit.trim_end_matches(',');
    (unit == "ms" || !unit.is_ascii())
        && number
            .split_once('.')
            .is_some_and(|(ms, us)| is_digits(ms) && us.len() == 3 && is_digits(us))
}

/// Duration, microseconds, and text of a statement that was run. With a duration it was logged when it
/// ended, without one when it began.
fn statement(message: &str) -> Option<(Option<i64>, &str)> {
    let (duration_us, rest) = match message.strip_prefix("duration: ") {
        None => (None, message),
        Some(rest) => {
            let (number, rest) = rest.split_once(" ms  ")?;
            let ms = number.parse::<f64>().ok().filter(|ms| (0.0..1e12).contains(ms))?;
            #[expect(clippy::cast_possible_truncation, reason = "it is below 1e12 ms")]
            let us = (ms * 1e3).round() as i64;
            (Some(us), rest)
        }
    };
    if let Some(text) = rest.strip_prefix("statement: ") {
        return Some((duration_us, text));
    }
    // its name, and that of its portal behind a slash: `execute fetch from` is part of one
    let named = rest.strip_prefix("execute ")?;
    let (name, text) = named.split_once(": ")?;
    (!name.starts_with("fetch from ")).then_some((duration_us, text))
}

/// The moment that `time` names, microseconds since 1970 on the clock that it was read from, and the name of
/// the time zone behind it.
pub(crate) fn civil_us(time: &str) -> Option<(i64, &str)> {
    let end = time.match_indices(' ').nth(1).map_or(time.len(), |(at, _)| at);
    let (moment, zone) = time.split_at_checked(end)?;
    let moment: DateTime = moment.parse().ok()?;
    Some((moment.to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond(), zone))
}

/// The values in `detail`: `parameters: $1 = 'a', $2 = NULL`.
///
/// # Errors
/// When they are cut, or not in that form.
fn parameters(detail: &str) -> Result<Vec<Option<String>>, String> {
    let Some(mut rest) = after_name(detail) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    loop {
        let mark = format!("${} = ", found.len() + 1);
        rest = rest.strip_prefix(&mark).ok_or_else(|| {
            format!("the parameters in its detail do not go on with `{}`", mark.trim_end())
        })?;
        if let Some(behind) = rest.strip_prefix("NULL") {
            found.push(None);
            rest = behind;
        } else {
            let (value, behind) = quoted(rest).ok_or_else(|| {
                format!("the value of ${} in its detail has no end", found.len() + 1)
            })?;
            found.push(Some(value));
            rest = behind;
        }
        match rest.strip_prefix(", ") {
            Some(behind) => rest = behind,
            None if rest.is_empty() => return Ok(found),
            None => return Err("something other than a parameter stands in its detail".into()),
        }
    }
}

fn after_name(detail: &str) -> Option<&str> {
    ["parameters: ", "Parameters: "].iter().find_map(|name| detail.strip_prefix(name))
}

/// The value in quotes that `rest` begins with, and what stands behind it. Values that the server has cut
/// end with three dots before the quote; they are taken as they are.
fn quoted(rest: &str) -> Option<(String, &str)> {
    let mut rest = rest.strip_prefix('\'')?;
    let mut value = String::new();
    loop {
        let at = rest.find('\'')?;
        value += &rest[..at];
        rest = &rest[at + 1..];
        match rest.strip_prefix('\'') {
            Some(behind) => {
                value.push('\'');
                rest = behind;
            }
            None => return Some((value, rest)),
        }
    }
}
