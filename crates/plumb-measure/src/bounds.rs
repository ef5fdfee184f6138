//! Bounds of what is read from others, so that no text makes a reader take memory without end.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};

/// The largest number of anything that is counted: of bytes, 83 days of ten gigabits a second. Sums
/// of thousands of such numbers are numbers.
pub const COUNT_MAX: u64 = 1 << 53;

/// A number that is larger than anything is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is more than anything is counted")]
pub struct TooMany(pub u64);

/// Reads a number of something.
///
/// # Errors
/// A number above [`COUNT_MAX`] is refused.
pub fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let count = u64::deserialize(deserializer)?;
    if count > COUNT_MAX {
        return Err(D::Error::custom(TooMany(count)));
    }
    Ok(count)
}

/// Reads a list of at most `MOST` elements.
///
/// # Errors
/// A longer list is refused at the first element too many.
pub fn few<'de, const MOST: usize, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_seq(Few::<MOST, T>(PhantomData))
}

struct Few<const MOST: usize, T>(PhantomData<T>);

impl<'de, const MOST: usize, T: Deserialize<'de>> Visitor<'de> for Few<MOST, T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MOST}")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(element) = list.next_element()? {
            if all.len() == MOST {
                return Err(A::Error::invalid_length(MOST + 1, &self));
            }
            all.push(element);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Of {
        #[serde(deserialize_with = "few::<2, _, _>")]
        list: Vec<u64>,
        #[serde(deserialize_with = "count")]
        number: u64,
    }

    #[test]
    fn what_goes_beyond_a_bound_is_refused() {
        let of: Of = serde_json::from_str(r#"{"list":[1,2],"number":9007199254740992}"#).unwrap();
        assert_eq!((of.list.len(), of.number), (2, COUNT_MAX));
        let refused = |text| serde_json::from_str::<Of>(text).unwrap_err().to_string();
        assert!(refused(r#"{"list":[1,2,3],"number":1}"#).contains("at most 2"));
        assert!(refused(r#"{"list":[],"number":9007199254740993}"#).contains("more than anything"));
    }
}
