//! Quantities as people write them (`64KiB`, `2s`, `2000/s`) and as they read them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Why a text is no quantity; says what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// There is no number at the start.
    #[error("`{text}` does not start with a number; write for example {example}")]
    Number {
        /// The text as given.
        text: String,
        /// A text that would be accepted.
        example: &'static str,
    },
    /// The unit is missing.
    #[error("`{text}` has no unit; write for example {text}{unit}")]
    Missing {
        /// The text as given.
        text: String,
        /// A unit that would be accepted.
        unit: &'static str,
    },
    /// The unit is not known.
    #[error("`{unit}` is no unit here; use one of {known}")]
    Unknown {
        /// The unit as given.
        unit: String,
        /// The units that are accepted.
        known: &'static str,
    },
    /// The quantity must not be zero or negative.
    #[error("`{text}` is not above zero; write 1 or more, with its unit")]
    Zero {
        /// The text as given.
        text: String,
    },
    /// The rate is higher than [`Rate::HIGHEST`].
    #[error("`{text}` is more than one operation a nanosecond (1000000000/s)")]
    Fast {
        /// The text as given.
        text: String,
    },
    /// The share is more than all.
    #[error("`{text}` is more than 100%")]
    MoreThanAll {
        /// The text as given.
        text: String,
    },
    /// The time is longer than [`Span::LONGEST_NS`].
    #[error("`{text}` is longer than a year (8784h)")]
    Long {
        /// The text as given.
        text: String,
    },
    /// The quantity is not a whole number of its smallest unit, or too large for it.
    #[error("`{text}` is not a whole number of {smallest}, or too large")]
    Range {
        /// The text as given.
        text: String,
        /// The smallest unit.
        smallest: &'static str,
    },
}

/// A number of bytes above zero, written with a unit: `500B`, `64KiB`, `1MB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ByteSize(u64);

impl ByteSize {
    /// A size of `bytes`; `None` when that is zero.
    #[must_use]
    pub fn new(bytes: u64) -> Option<Self> {
        (bytes > 0).then_some(Self(bytes))
    }

    /// The number of bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.0
    }
}

const SIZES: [(&str, u64); 7] = [
    ("B", 1),
    ("kB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
];

impl FromStr for ByteSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split(text, "64KiB")?;
        if unit.is_empty() {
            return Err(if number.trim_matches(['0', '.']).is_empty() {
                UnitError::Zero { text: text.into() }
            } else {
                UnitError::Missing { text: text.into(), unit: "B" }
            });
        }
        let factor = factor_of(unit, &SIZES, "B, kB, KiB, MB, MiB, GB, GiB")?;
        let bytes = scaled(text, number, factor, "bytes")?;
        Self::new(bytes).ok_or_else(|| UnitError::Zero { text: text.into() })
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = SIZES.iter().rev().find(|(_, factor)| self.0.is_multiple_of(*factor));
        let (unit, factor) = exact.unwrap_or(&SIZES[0]);
        if *factor > 1 && self.0 / factor > 0 && unit.ends_with("iB") {
            write!(f, "{}{unit}", self.0 / factor)
        } else {
            write!(f, "{}B", self.0)
        }
    }
}

/// A span of time, written with a unit: `250us`, `2s`, `1.5m`. Zero is written `0s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span(u64);

impl Span {
    /// The longest span that is read, a year: sums with a clock then stay far from overflowing.
    pub const LONGEST_NS: u64 = 366 * 24 * 3_600_000_000_000;

    /// A span of `ns` nanoseconds.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// A span of `ms` milliseconds, at most [`Span::LONGEST_NS`].
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        let ns = ms.saturating_mul(1_000_000);
        Self(if ns < Self::LONGEST_NS { ns } else { Self::LONGEST_NS })
    }

    /// The number of nanoseconds.
    #[must_use]
    pub const fn ns(self) -> u64 {
        self.0
    }
}

const SPANS: [(&str, u64); 6] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

impl FromStr for Span {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split(text, "2s")?;
        if unit.is_empty() {
            return Err(UnitError::Missing { text: text.into(), unit: "s" });
        }
        let factor = factor_of(unit, &SPANS, "ns, us, ms, s, m, h")?;
        match scaled(text, number, factor, "nanoseconds")? {
            ns if ns > Self::LONGEST_NS => Err(UnitError::Long { text: text.into() }),
            ns => Ok(Self(ns)),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let exact = SPANS.iter().rev().find(|(_, factor)| self.0.is_multiple_of(*factor));
        let (unit, factor) = exact.unwrap_or(&SPANS[0]);
        write!(f, "{}{unit}", self.0 / factor)
    }
}

/// Operations a second, above zero: `2000/s`, or just `2000`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate(f64);

impl Rate {
    /// The highest rate that is read: one operation a nanosecond.
    pub const HIGHEST: f64 = 1e9;

    /// Operations a second.
    #[must_use]
    pub fn per_s(self) -> f64 {
        self.0
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split(text, "2000/s")?;
        if !matches!(unit, "" | "/s") {
            return Err(UnitError::Unknown { unit: unit.into(), known: "/s" });
        }
        let per_s: f64 = number
            .parse()
            .map_err(|_| UnitError::Number { text: text.into(), example: "2000/s" })?;
        if per_s <= 0.0 {
            Err(UnitError::Zero { text: text.into() })
        } else if per_s > Self::HIGHEST {
            Err(UnitError::Fast { text: text.into() })
        } else {
            Ok(Self(per_s))
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}

/// A share above zero and at most one, written in percent: `1%`, `0.5%`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Share(f64);

impl Share {
    /// A share of `percent`.
    ///
    /// # Panics
    /// When `percent` is 0 or above 100.
    #[must_use]
    pub const fn percent(percent: u8) -> Self {
        assert!(percent > 0 && percent <= 100, "a share lies above 0 and is at most 100 %");
        Self(percent as f64 / 100.0)
    }

    /// The share, from 0 to 1.
    #[must_use]
    pub fn of_one(self) -> f64 {
        self.0
    }
}

impl FromStr for Share {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split(text, "1%")?;
        if unit.is_empty() {
            return Err(UnitError::Missing { text: text.into(), unit: "%" });
        }
        if unit != "%" {
            return Err(UnitError::Unknown { unit: unit.into(), known: "%" });
        }
        let percent: f64 =
            number.parse().map_err(|_| UnitError::Number { text: text.into(), example: "1%" })?;
        if percent <= 0.0 {
            Err(UnitError::Zero { text: text.into() })
        } else if percent > 100.0 {
            Err(UnitError::MoreThanAll { text: text.into() })
        } else {
            Ok(Self(percent / 100.0))
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", (self.0 * 1e8).round() / 1e6)
    }
}

/// Bits a second in one direction, above zero: `10Mbit`, `10Mbit/s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BitRate(u64);

impl BitRate {
    /// Bits a second.
    #[must_use]
    pub fn per_s(self) -> u64 {
        self.0
    }

    /// How long `bytes` take at this rate, nanoseconds, rounded up.
    #[must_use]
    pub fn time_of(self, bytes: u64) -> u64 {
        let ns = (u128::from(bytes) * 8_000_000_000).div_ceil(u128::from(self.0));
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// How many whole bytes pass in `ns` nanoseconds.
    #[must_use]
    pub fn bytes_in(self, ns: u64) -> u64 {
        let bytes = u128::from(self.0) * u128::from(ns) / 8_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

const BIT_RATES: [(&str, u64); 4] =
    [("bit", 1), ("kbit", 1_000), ("Mbit", 1_000_000), ("Gbit", 1_000_000_000)];

impl FromStr for BitRate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split(text, "10Mbit")?;
        if unit.is_empty() {
            return Err(UnitError::Missing { text: text.into(), unit: "Mbit" });
        }
        let per_second = unit.strip_suffix("/s").unwrap_or(unit);
        let factor = factor_of(per_second, &BIT_RATES, "bit, kbit, Mbit, Gbit")?;
        match scaled(text, number, factor, "bits")? {
            0 => Err(UnitError::Zero { text: text.into() }),
            bits => Ok(Self(bits)),
        }
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = BIT_RATES.iter().rev().find(|(_, factor)| self.0.is_multiple_of(*factor));
        let (unit, factor) = exact.unwrap_or(&BIT_RATES[0]);
        write!(f, "{}{unit}", self.0 / factor)
    }
}

macro_rules! text_forms {
    ($($quantity:ty),+) => {$(
        impl TryFrom<String> for $quantity {
            type Error = UnitError;
            fn try_from(text: String) -> Result<Self, UnitError> {
                text.parse()
            }
        }
        impl From<$quantity> for String {
            fn from(quantity: $quantity) -> Self {
                quantity.to_string()
            }
        }
    )+};
}
text_forms!(ByteSize, Span, Rate, Share, BitRate);

/// The number and the unit of a text.
fn split<'a>(text: &'a str, example: &'static str) -> Result<(&'a str, &'a str), UnitError> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    if end == 0 {
        return Err(UnitError::Number { text: text.into(), example });
    }
    Ok((&text[..end], text[end..].trim_start()))
}

fn factor_of(unit: &str, units: &[(&str, u64)], known: &'static str) -> Result<u64, UnitError> {
    units
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, factor)| *factor)
        .ok_or_else(|| UnitError::Unknown { unit: unit.into(), known })
}

/// `number * factor` as an integer, exactly.
fn scaled(text: &str, number: &str, factor: u64, smallest: &'static str) -> Result<u64, UnitError> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let range = || UnitError::Range { text: text.into(), smallest };
    let digits: u128 = format!("0{whole}{fraction}").parse().map_err(|_| range())?;
    let places = u32::try_from(fraction.len()).map_err(|_| range())?;
    let divisor = 10u128.checked_pow(places).ok_or_else(range)?;
    let product = digits.checked_mul(u128::from(factor)).ok_or_else(range)?;
    if product % divisor != 0 {
        return Err(range());
    }
    u64::try_from(product / divisor).map_err(|_| range())
}

/// Nanoseconds for people: three significant digits and the unit that suits (`14.3 us`).
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub fn show_ns(ns: u64) -> String {
    let value = ns as f64;
    // the unit is chosen after rounding, so that 999,999 ns are 1.00 ms
    match value {
        v if v < 999.5 => format!("{ns} ns"),
        v if v < 999.5e3 => format!("{} us", three_digits(v / 1e3)),
        v if v < 999.5e6 => format!("{} ms", three_digits(v / 1e6)),
        v => format!("{} s", three_digits(v / 1e9)),
    }
}

/// An exact count with separators: `1,234,567`.
#[must_use]
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// An exact count and its noun: `1 failure`, `2,000 failures`.
pub(crate) fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// A count or rate for people: three significant digits above a thousand (`237 k`, `1.20 M`).
#[must_use]
pub fn show_count(value: f64) -> String {
    match value {
        v if v.fract().abs() < f64::EPSILON && v < 1e4 => format!("{v:.0}"),
        v if v < 9_999.5 => three_digits(v),
        v if v < 999.5e3 => format!("{} k", three_digits(v / 1e3)),
        v if v < 999.5e6 => format!("{} M", three_digits(v / 1e6)),
        v => format!("{} G", three_digits(v / 1e9)),
    }
}

/// At least three digits; more in front of the point where there are more.
fn three_digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_three() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
        assert_eq!(counted(1, "failure"), "1 failure");
        assert_eq!(counted(4_400, "failure"), "4,400 failures");
    }

    #[test]
    fn sizes_are_read_exactly() {
        let bytes = |text: &str| text.parse::<ByteSize>().map(ByteSize::bytes);
        assert_eq!(bytes("500B"), Ok(500));
        assert_eq!(bytes("1.5KiB"), Ok(1536));
        assert_eq!(bytes("2 MB"), Ok(2_000_000));
        assert!(matches!(bytes("0.3B"), Err(UnitError::Range { .. })));
        assert!(matches!(bytes("99999999999GiB"), Err(UnitError::Range { .. })));
    }

    #[test]
    fn a_size_without_a_unit_says_how_to_write_it() {
        let error = "1000".parse::<ByteSize>().unwrap_err();
        assert_eq!(error.to_string(), "`1000` has no unit; write for example 1000B");
    }

    #[test]
    fn zero_bytes_are_refused_with_or_without_a_unit() {
        for text in ["0", "0B", "0KiB", "0.0MB"] {
            assert!(matches!(text.parse::<ByteSize>(), Err(UnitError::Zero { .. })), "{text}");
        }
    }

    #[test]
    fn spans_are_read_exactly_and_need_a_unit() {
        let ns = |text: &str| text.parse::<Span>().map(Span::ns);
        assert_eq!(ns("1.5s"), Ok(1_500_000_000));
        assert_eq!(ns("250us"), Ok(250_000));
        assert_eq!(ns("0s"), Ok(0));
        assert!(matches!(ns("10"), Err(UnitError::Missing { .. })));
        assert!(matches!(ns("10sec"), Err(UnitError::Unknown { .. })));
        assert!(matches!(ns("-1s"), Err(UnitError::Number { .. })));
        assert!(matches!(ns("8785h"), Err(UnitError::Long { .. })));
        assert_eq!(Span::from_ms(u64::MAX).ns(), Span::LONGEST_NS);
    }

    #[test]
    fn what_is_shown_is_read_back() {
        for bytes in [1, 500, 1000, 1024, 65_536, 3 << 20, 1 << 30] {
            let size = ByteSize::new(bytes).unwrap();
            assert_eq!(size.to_string().parse(), Ok(size));
        }
        for ns in [0, 1, 1_500, 2_000_000_000, 90_000_000_000] {
            assert_eq!(Span::from_ns(ns).to_string().parse(), Ok(Span::from_ns(ns)));
        }
        assert_eq!(ByteSize::new(64 << 10).unwrap().to_string(), "64KiB");
        assert_eq!(ByteSize::new(50_000).unwrap().to_string(), "50000B");
        assert_eq!(Span::from_ms(2_000).to_string(), "2s");
    }

    #[test]
    fn a_rate_is_above_zero() {
        assert!("0/s".parse::<Rate>().is_err());
        assert!(matches!("1000000001/s".parse::<Rate>(), Err(UnitError::Fast { .. })));
        assert!("5/m".parse::<Rate>().is_err());
        assert!((("2000/s").parse::<Rate>().unwrap().per_s() - 2000.0).abs() < f64::EPSILON);
    }

    #[test]
    fn bits_a_second_say_how_long_bytes_take() {
        let rate: BitRate = "10Mbit/s".parse().unwrap();
        assert_eq!((rate.per_s(), rate.to_string()), (10_000_000, "10Mbit".into()));
        assert_eq!((rate.time_of(1_250), rate.bytes_in(1_000_000)), (1_000_000, 1_250));
        assert_eq!("3bit".parse::<BitRate>().unwrap().time_of(1), 2_666_666_667);
        assert!(matches!("10".parse::<BitRate>(), Err(UnitError::Missing { .. })));
        assert!(matches!("0Mbit".parse::<BitRate>(), Err(UnitError::Zero { .. })));
        assert!(matches!("10MB".parse::<BitRate>(), Err(UnitError::Unknown { .. })));
    }

    #[test]
    fn people_see_three_digits() {
        assert_eq!(show_ns(14_312), "14.3 us");
        assert_eq!(show_ns(999), "999 ns");
        assert_eq!(show_ns(1_904_083), "1.90 ms");
        assert_eq!(show_ns(999_999), "1.00 ms");
        assert_eq!(show_ns(5_000_000), "5.00 ms");
        assert_eq!(show_count(999_999.0), "1.00 M");
        assert_eq!(show_count(237_123.0), "237 k");
        assert_eq!(show_count(4_200.0), "4200");
    }
}
