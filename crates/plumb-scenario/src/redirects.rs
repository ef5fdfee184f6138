//! How many redirects a request follows.

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Redirects that are followed when nothing is said, and at most.
const USUAL: u8 = 10;
const MOST: u8 = 50;

/// How many redirects a request follows, one behind the other: `true` (10), `false` (none), or a
/// number up to 50.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redirects(u8);

impl Redirects {
    /// None is followed.
    pub const NONE: Self = Self(0);
    /// The most there can be.
    pub const MOST: Self = Self(MOST);

    /// So many; the most there can be for more.
    #[must_use]
    pub fn at_most(number: u64) -> Self {
        Self(u8::try_from(number).unwrap_or(MOST).min(MOST))
    }

    /// How many.
    #[must_use]
    pub fn most(self) -> u8 {
        self.0
    }
}

impl Default for Redirects {
    fn default() -> Self {
        Self(USUAL)
    }
}

impl Serialize for Redirects {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            0 => serializer.serialize_bool(false),
            USUAL => serializer.serialize_bool(true),
            most => serializer.serialize_u8(most),
        }
    }
}

impl<'de> Deserialize<'de> for Redirects {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

struct Written;

impl Visitor<'_> for Written {
    type Value = Redirects;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "true, false, or a number of redirects from 0 to {MOST}")
    }

    fn visit_bool<E: de::Error>(self, follow: bool) -> Result<Redirects, E> {
        Ok(if follow { Redirects::default() } else { Redirects::NONE })
    }

    fn visit_i64<E: de::Error>(self, most: i64) -> Result<Redirects, E> {
        let known = u8::try_from(most).ok().filter(|most| *most <= MOST);
        known.map(Redirects).ok_or_else(|| E::invalid_value(de::Unexpected::Signed(most), &self))
    }

    fn visit_u64<E: de::Error>(self, most: u64) -> Result<Redirects, E> {
        self.visit_i64(i64::try_from(most).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, Serialize)]
    struct Holder {
        redirects: Redirects,
    }

    #[test]
    fn a_number_or_a_word_is_read_and_written_again() {
        for (text, most, again) in [
            ("redirects = true", 10, "redirects = true"),
            ("redirects = false", 0, "redirects = false"),
            ("redirects = 0", 0, "redirects = false"),
            ("redirects = 3", 3, "redirects = 3"),
            ("redirects = 50", 50, "redirects = 50"),
        ] {
            let holder: Holder = toml::from_str(text).unwrap();
            assert_eq!(holder.redirects.most(), most);
            assert_eq!(toml::to_string(&holder).unwrap().trim(), again);
        }
        for text in ["redirects = 51", "redirects = -1", "redirects = \"no\"", "redirects = 1.5"] {
            let error = toml::from_str::<Holder>(text).unwrap_err().to_string();
            assert!(
                error.contains("true, false, or a number of redirects from 0 to 50"),
                "{error}"
            );
        }
        assert_eq!(Redirects::at_most(1_000).most(), 50);
    }
}
