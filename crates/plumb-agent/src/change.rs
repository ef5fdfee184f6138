//! A change of a tag: what sources bring and messages carry.

use std::fmt;
use std::sync::Arc;

/// Digits that a number keeps.
const DIGITS_MAX: usize = 15;

/// A value of a tag.
#[derive(Clone, Debug, PartialEq)]
pub enum TagValue {
    /// A number, never infinite and never NaN.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// Anything else.
    Text(Arc<str>),
}

impl TagValue {
    /// What `text` says: a number where it is one, `true` or `false`, else the text itself. An order
    /// number stays a text: with leading zeros, or more digits than a number keeps.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let text = text.trim();
        match text {
            "true" => Self::Flag(true),
            "false" => Self::Flag(false),
            _ => match text.parse::<f64>() {
                // `inf` and `nan` are words of a file, not values of a machine
                Ok(number) if number.is_finite() && is_kept(text) => Self::Number(number),
                _ => Self::Text(text.into()),
            },
        }
    }

    /// The number that it is; of a flag 0 or 1.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Flag(flag) => Some(f64::from(u8::from(*flag))),
            Self::Text(_) => None,
        }
    }

    /// Whether it differs from `before`: numbers by more than `deadband`.
    #[must_use]
    pub fn differs(&self, before: &Self, deadband: f64) -> bool {
        match (self, before) {
            (Self::Number(now), Self::Number(before)) => (now - before).abs() > deadband,
            _ => self != before,
        }
    }
}

/// Whether messages carry `char`: the characters that XML knows.
///
/// # Source
/// XML 1.0, section 2.2.
pub(crate) fn is_carried(char: char) -> bool {
    matches!(char, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Refuses a text with a character that no message carries.
pub(crate) fn carried(text: &str) -> Result<(), String> {
    match text.chars().find(|char| !is_carried(*char)) {
        None => Ok(()),
        Some(char) => {
            let code = u32::from(char);
            Err(format!("it has the character U+{code:04X}, which no message carries"))
        }
    }
}

/// True for a number that loses nothing when it is written again.
fn is_kept(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']).as_bytes();
    let padded = matches!(digits, [b'0', b'0'..=b'9', ..]);
    !padded && digits.iter().filter(|byte| byte.is_ascii_digit()).count() <= DIGITS_MAX
}

impl fmt::Display for TagValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Where a source goes on: behind the changes that were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// What it counts is the source's own: changes of a simulation, bytes of a file.
    pub at: u64,
    /// Changes behind `at` that were taken, too.
    pub part: u32,
    /// What it is a position in, where that can be another one later: the number of a file.
    pub within: u64,
}

/// How far a value can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quality {
    /// As measured.
    #[default]
    Good,
    /// The source does not vouch for it.
    Bad,
}

impl Quality {
    /// As messages write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
        }
    }
}

/// A tag has a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Its name.
    pub tag: Arc<str>,
    /// Its value.
    pub value: TagValue,
    /// When, milliseconds since 1970 in UTC.
    pub time_ms: u64,
    /// Whether to trust it.
    pub quality: Quality,
    /// Where its source goes on behind it.
    pub after: Position,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_their_text_says() {
        for (text, expected) in [
            (" 21.50 ", "21.5"),
            ("1e3", "1000"),
            ("true", "true"),
            ("NaN", "NaN"),
            ("inf", "inf"),
            ("running", "running"),
            ("000001000042", "000001000042"),
            ("12345678901234567890", "12345678901234567890"),
            ("-0.25", "-0.25"),
        ] {
            assert_eq!(TagValue::read(text).to_string(), expected);
        }
        assert_eq!(TagValue::read("inf").number(), None);
        assert_eq!(TagValue::read("true").number(), Some(1.0));
    }

    #[test]
    fn characters_that_xml_does_not_know_are_told() {
        assert_eq!(carried("a\t\r\nM\u{fc}ller \u{1f600}\u{fffd}"), Ok(()));
        for (text, code) in [("a\0", "U+0000"), ("\u{1b}[", "U+001B"), ("\u{ffff}", "U+FFFF")] {
            assert!(carried(text).unwrap_err().contains(code), "{text:?}");
        }
    }

    #[test]
    fn numbers_differ_beyond_their_deadband() {
        let number = TagValue::Number;
        assert!(!number(1.5).differs(&number(1.0), 0.5) && number(1.51).differs(&number(1.0), 0.5));
        assert!(number(1.0).differs(&TagValue::Text("1".into()), 9.0));
        assert!(!TagValue::Flag(true).differs(&TagValue::Flag(true), 0.0));
    }
}
