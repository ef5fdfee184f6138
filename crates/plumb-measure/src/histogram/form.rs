//! A histogram as it travels: HdrHistogram's form, and beside it what that form loses.

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{COUNTERS, Histogram, highest_in, index_of, lowest_in};
use crate::hdr::{self, DecodeError};

/// Version of the form; a reader takes no other.
const FORM: u32 = 1;
/// Values that a written histogram holds at most: nine years of a million a second, and so few that
/// thousands of histograms can be merged.
pub(crate) const COUNT_MAX: u64 = 1 << 48;

/// Why a written histogram is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FormError {
    /// Written by another version.
    #[error("this histogram has form {0}; this program reads form {FORM}")]
    Version(u32),
    /// The buckets cannot be read.
    #[error(transparent)]
    Buckets(#[from] DecodeError),
    /// Buckets and exact figures contradict each other.
    #[error("the {0} of this histogram is not one of its buckets: it was altered")]
    Contradiction(&'static str),
}

/// The form: `buckets` in HdrHistogram's V2 compressed form, the rest exact.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    form: u32,
    count: u64,
    min: u64,
    max: u64,
    /// In decimal: not every format carries 128 bits.
    sum: String,
    buckets: String,
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.count() > COUNT_MAX {
            return Err(S::Error::custom("a histogram of more than 2^48 values is not written"));
        }
        let written = Written {
            form: FORM,
            count: self.count(),
            min: self.min(),
            max: self.max(),
            sum: self.sum().to_string(),
            buckets: hdr::encode(self),
        };
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Written::deserialize(deserializer)?.read().map_err(D::Error::custom)
    }
}

impl Written {
    fn read(&self) -> Result<Histogram, FormError> {
        if self.form != FORM {
            return Err(FormError::Version(self.form));
        }
        let mut histogram = hdr::decode(&self.buckets)?;
        let is =
            |right: bool, what| if right { Ok(()) } else { Err(FormError::Contradiction(what)) };
        is(histogram.count() == self.count, "count")?;
        let sum: u128 = self.sum.parse().map_err(|_| FormError::Contradiction("sum"))?;
        if histogram.is_empty() {
            is((self.min, self.max, sum) == (0, 0, 0), "minimum, maximum or sum")?;
            return Ok(histogram);
        }
        // what was decoded has its minimum and maximum in the first and last bucket
        let bucket = |value: u64| index_of(value.min(Histogram::HIGHEST));
        is(bucket(self.min) == bucket(histogram.min()), "minimum")?;
        is(bucket(self.max) == bucket(histogram.max()) && self.min <= self.max, "maximum")?;
        is(self.sums(&histogram).contains(&sum), "sum")?;
        (histogram.min, histogram.max, histogram.sum) = (self.min, self.max, sum);
        Ok(histogram)
    }

    /// The least and the largest sum of values in these buckets.
    fn sums(&self, histogram: &Histogram) -> std::ops::RangeInclusive<u128> {
        let (mut least, mut most) = (0, 0);
        for (index, count) in histogram.occupied() {
            // beyond the last bucket there is only the maximum
            let highest = if index + 1 == COUNTERS { self.max } else { highest_in(index) };
            least += u128::from(count) * u128::from(lowest_in(index).max(self.min));
            most += u128::from(count) * u128::from(highest.min(self.max));
        }
        least..=most
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, from_str, from_value, json, to_string, to_value};

    use super::*;

    fn of(values: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|(value, n)| histogram.record_n(*value, *n));
        histogram
    }

    /// Why `value` is refused.
    fn refusal(value: &Value) -> String {
        from_value::<Histogram>(value.clone()).unwrap_err().to_string()
    }

    #[test]
    fn what_contradicts_itself_is_refused_by_name() {
        let good = to_value(of(&[(1_000_000, 3), (9_000_000, 1)])).unwrap();
        assert_eq!(from_value::<Histogram>(good.clone()).unwrap().sum(), 12_000_000);
        for (field, value, told) in [
            ("form", json!(2), "form 2"),
            ("count", json!(5), "count"),
            ("min", json!(900_000), "minimum"),
            ("min", json!(9_000_000), "minimum"),
            ("max", json!(9_900_000), "maximum"),
            ("sum", json!("11900000"), "sum"),
            ("sum", json!("12100000"), "sum"),
            ("sum", json!("-1"), "sum"),
            ("buckets", json!("HISTFAAA"), "histogram"),
        ] {
            let mut bad = good.clone();
            bad[field] = value;
            assert!(refusal(&bad).contains(told), "{field}: {}", refusal(&bad));
        }
        let mut more = good;
        more["more"] = json!(1);
        assert!(refusal(&more).contains("unknown field"));
        let mut empty = to_value(Histogram::new()).unwrap();
        empty["max"] = json!(1);
        assert!(refusal(&empty).contains("maximum"), "{}", refusal(&empty));
    }

    #[test]
    fn more_values_than_can_be_merged_are_neither_written_nor_read() {
        let many = of(&[(5, COUNT_MAX), (6, 1)]);
        assert!(to_string(&many).unwrap_err().to_string().contains("2^48"));
        assert_eq!(hdr::decode(&hdr::encode(&many)).unwrap_err(), DecodeError::Counters);
        let most = of(&[(u64::MAX, COUNT_MAX)]);
        assert_eq!(from_str::<Histogram>(&to_string(&most).unwrap()).unwrap(), most);
    }

    /// Values everywhere, small ones and those beyond the range among them.
    fn values() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let value = prop_oneof![0_u64..5_000, any::<u64>(), 0..1_u64 << 43];
        prop::collection::vec((value, 1_u64..1 << 40), 0..60)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_exactly(values in values()) {
            let histogram = of(&values);
            let text = to_string(&histogram).unwrap();
            prop_assert_eq!(&from_str::<Histogram>(&text).unwrap(), &histogram);
            prop_assert_eq!(to_value(&histogram).unwrap(), from_str::<Value>(&text).unwrap());
        }

        #[test]
        fn halves_that_travelled_merge_to_the_whole(a in values(), b in values(), c in values()) {
            let sent = |values: &[(u64, u64)]| -> Histogram {
                from_str(&to_string(&of(values)).unwrap()).unwrap()
            };
            let whole = of(&[a.clone(), b.clone(), c.clone()].concat());
            let mut left = sent(&a);
            left.merge(&sent(&b));
            left.merge(&sent(&c));
            let mut tail = sent(&b);
            tail.merge(&sent(&c));
            let mut right = sent(&a);
            right.merge(&tail);
            prop_assert_eq!(&left, &whole);
            prop_assert_eq!(&right, &whole);
        }

        #[test]
        fn an_altered_text_is_refused_or_still_consistent(
            values in values(),
            at in any::<prop::sample::Index>(),
            byte in 0x20_u8..0x7f,
        ) {
            let mut text = to_string(&of(&values)).unwrap().into_bytes();
            let at = at.index(text.len());
            text[at] = byte;
            if let Ok(read) = serde_json::from_slice::<Histogram>(&text) {
                prop_assert!(read.min() <= read.max() && read.count() <= COUNT_MAX);
                prop_assert_eq!(read.buckets().map(|(_, n)| n).sum::<u64>(), read.count());
            }
        }
    }
}
