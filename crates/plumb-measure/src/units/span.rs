//! Spans of time.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{UnitError, factor_of, scaled, split};

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
        let unit = if unit.is_empty() { "s" } else { unit };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_exactly_and_are_seconds_without_a_unit() {
        let ns = |text: &str| text.parse::<Span>().map(Span::ns);
        assert_eq!(ns("1.5s"), Ok(1_500_000_000));
        assert_eq!(ns("250us"), Ok(250_000));
        assert_eq!(ns("0s"), Ok(0));
        assert_eq!([ns("10"), ns("0"), ns("1.5")], [Ok(10_000_000_000), Ok(0), Ok(1_500_000_000)]);
        assert!(matches!(ns("10sec"), Err(UnitError::Unknown { .. })));
        assert!(matches!(ns("-1s"), Err(UnitError::Number { .. })));
        assert!(matches!(ns("8785h"), Err(UnitError::Long { .. })));
        assert_eq!(Span::from_ms(u64::MAX).ns(), Span::LONGEST_NS);
    }
}
