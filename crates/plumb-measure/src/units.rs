//! Quantities as people write them (`64KiB`, `2s`, `2000/s`) and as they read them.

mod rate;
mod shown;
mod size;
mod span;

pub use rate::{BitRate, Rate, RateOrNone, Share};
pub use shown::{counted, grouped, show_above, show_count, show_ns, show_plain, show_rate};
pub use size::ByteSize;
pub use span::Span;

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
    /// The share is smaller than any that is written.
    #[error("`{text}` is less than 0.000001%")]
    Small {
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
text_forms!(ByteSize, Span, Rate, RateOrNone, Share, BitRate);

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
