//! Sizes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{UnitError, factor_of, scaled, split};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
