//! Rates of operations and of bits, and shares.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{UnitError, factor_of, scaled, split};

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
        let per_s = per_s_of(text)?;
        if per_s > 0.0 { Ok(Self(per_s)) } else { Err(UnitError::Zero { text: text.into() }) }
    }
}

/// Operations a second, none included: where a rate rises from or falls to.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RateOrNone(f64);

impl RateOrNone {
    /// Operations a second.
    #[must_use]
    pub fn per_s(self) -> f64 {
        self.0
    }
}

impl FromStr for RateOrNone {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        per_s_of(text).map(Self)
    }
}

impl fmt::Display for RateOrNone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}

/// Operations a second from none to [`Rate::HIGHEST`].
fn per_s_of(text: &str) -> Result<f64, UnitError> {
    let (number, unit) = split(text, "2000/s")?;
    if !matches!(unit, "" | "/s") {
        return Err(UnitError::Unknown { unit: unit.into(), known: "/s" });
    }
    let per_s: f64 =
        number.parse().map_err(|_| UnitError::Number { text: text.into(), example: "2000/s" })?;
    if per_s < 0.0 {
        Err(UnitError::Zero { text: text.into() })
    } else if per_s > Rate::HIGHEST {
        Err(UnitError::Fast { text: text.into() })
    } else {
        Ok(per_s)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}

/// A share of a hundred millionth at least and of one at most, written in percent: `1%`, `0.5%`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Share(f64);

impl Share {
    /// The smallest share that is written, percent.
    const SMALLEST_PERCENT: f64 = 0.000_001;

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
        } else if percent < Self::SMALLEST_PERCENT {
            Err(UnitError::Small { text: text.into() })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_above_zero() {
        assert!("0/s".parse::<Rate>().is_err());
        assert_eq!("0/s".parse::<RateOrNone>().map(|none| none.to_string()), Ok("0/s".into()));
        assert!("-1/s".parse::<RateOrNone>().is_err());
        assert!(matches!("1000000001/s".parse::<Rate>(), Err(UnitError::Fast { .. })));
        assert!("5/m".parse::<Rate>().is_err());
        assert!((("2000/s").parse::<Rate>().unwrap().per_s() - 2000.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_share_that_is_written_is_read_back() {
        for text in ["100%", "5%", "0.1%", "7%", "0.000001%", "0.0000014%"] {
            let share: Share = text.parse().unwrap();
            assert!(share.to_string().parse::<Share>().is_ok(), "{text}: {share}");
        }
        for text in ["0.0000001%", "0.00000099%"] {
            assert_eq!(text.parse::<Share>(), Err(UnitError::Small { text: text.into() }));
        }
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
}
