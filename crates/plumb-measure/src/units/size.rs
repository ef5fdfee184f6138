//! Sizes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{UnitError, factor_of, scaled, split};

/// A number of bytes above zero: `500`, `500B`, `1k` and `1KB` of 1,000, `1KiB` of 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ByteSize(u64);

impl ByteSize {
    /// A size of `bytes`; `None` when that is zero.
    #[must_use]
    pub fn new(bytes: u64) -> Option<Self> {
        (bytes > 0).then_some(Self(bytes))
    }

    /// A size of so many bytes.
    ///
    /// # Panics
    /// When `bytes` is 0.
    #[must_use]
    pub const fn of(bytes: u32) -> Self {
        assert!(bytes > 0, "a size is above 0");
        Self(bytes as u64)
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

/// Other ways to write them: the units of 1,000 are not 1,024 in any.
const OTHERS: [(&str, u64); 6] =
    [("", 1), ("k", 1_000), ("K", 1_000), ("KB", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];

impl FromStr for ByteSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split(text, "64KiB")?;
        let other = OTHERS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
        let known = "B, kB, KiB, MB, MiB, GB, GiB";
        let factor = other.map_or_else(|| factor_of(unit, &SIZES, known), Ok)?;
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
        assert_eq!(["1k", "1K", "1KB", "1kB"].map(bytes), [1_000; 4].map(Ok));
        assert_eq!(
            ["1000", "1M", "1MiB", "2G"].map(bytes),
            [1_000, 1_000_000, 1 << 20, 2_000_000_000].map(Ok)
        );
        assert!(matches!(bytes("1kiB"), Err(UnitError::Unknown { .. })));
        assert!(matches!(bytes("0.3B"), Err(UnitError::Range { .. })));
        assert!(matches!(bytes("99999999999GiB"), Err(UnitError::Range { .. })));
    }

    #[test]
    fn zero_bytes_are_refused_with_or_without_a_unit() {
        for text in ["0", "0B", "0KiB", "0.0MB"] {
            assert!(matches!(text.parse::<ByteSize>(), Err(UnitError::Zero { .. })), "{text}");
        }
    }
}
