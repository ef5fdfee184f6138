//! Content lengths: exact as long as there are few.

use serde::{Deserialize, Serialize};

use crate::Histogram;
use crate::bounds::{self, COUNT_MAX};
use crate::histogram::rank;

/// Lengths that are told apart, beside the last one; a histogram takes what is more.
const FEW: usize = 32;

/// The distribution of content lengths, bytes. Lengths rarely vary, so a run of equal ones is only
/// counted. As long as there are no more than a few, every figure of them is exact.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "WrittenLengths")]
pub struct Lengths {
    value: u64,
    repeats: u64,
    /// Other lengths and how often they came; empty once there is a histogram.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    few: Vec<(u64, u64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    many: Option<Box<Histogram>>,
}

/// The form of [`Lengths`] before it is checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLengths {
    value: u64,
    repeats: u64,
    #[serde(default, deserialize_with = "bounds::few::<FEW, _, _>")]
    few: Vec<(u64, u64)>,
    #[serde(default)]
    many: Option<Box<Histogram>>,
}

/// Why lengths that were read are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("these lengths are more than anything is counted, or are kept in two ways")]
struct NoLengths;

impl TryFrom<WrittenLengths> for Lengths {
    type Error = NoLengths;

    fn try_from(it: WrittenLengths) -> Result<Self, NoLengths> {
        let WrittenLengths { value, repeats, few, many } = it;
        let mut counts = few.iter().map(|(_, count)| *count).chain([repeats]);
        if counts.any(|count| count > COUNT_MAX) || many.is_some() && !few.is_empty() {
            return Err(NoLengths);
        }
        Ok(Self { value, repeats, few, many })
    }
}

impl Lengths {
    /// Counts one length in bytes.
    pub fn record(&mut self, bytes: u64) {
        if bytes == self.value {
            self.repeats += 1;
            return;
        }
        self.spill();
        self.value = bytes;
        self.repeats = 1;
    }

    /// True when nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.repeats == 0 && self.few.is_empty() && self.many.is_none()
    }

    /// All lengths as one histogram.
    #[must_use]
    pub fn histogram(&self) -> Histogram {
        let mut all = self.many.as_deref().cloned().unwrap_or_default();
        self.few.iter().for_each(|(value, count)| all.record_n(*value, *count));
        all.record_n(self.value, self.repeats);
        all
    }

    /// The smallest length that at least the share `q`, from 0 to 1, does not exceed; 0 when there
    /// is none. Of many lengths to within 1/1,024 upwards, as of any histogram.
    #[must_use]
    pub fn quantile(&self, q: f64) -> u64 {
        if self.many.is_some() {
            return self.histogram().quantile(q);
        }
        let mut all = self.few.clone();
        all.push((self.value, self.repeats));
        all.sort_unstable();
        let total: u64 = all.iter().map(|(_, count)| count).sum();
        let rank = rank(q, total);
        let mut seen = 0;
        let found = all.iter().find(|(_, count)| {
            seen += count;
            seen >= rank
        });
        found.map_or(0, |(value, _)| *value)
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        if let Some(theirs) = &other.many {
            self.many().merge(theirs);
        }
        other.few.iter().for_each(|(value, count)| self.add(*value, *count));
        if self.value != other.value {
            self.spill();
            self.value = other.value;
        }
        self.repeats += other.repeats;
    }

    fn spill(&mut self) {
        if self.repeats > 0 {
            self.add(self.value, self.repeats);
            self.repeats = 0;
        }
    }

    fn add(&mut self, value: u64, count: u64) {
        if self.many.is_none() {
            if let Some((_, known)) = self.few.iter_mut().find(|(known, _)| *known == value) {
                *known += count;
                return;
            }
            if self.few.len() < FEW {
                self.few.push((value, count));
                return;
            }
        }
        self.many().record_n(value, count);
    }

    /// The histogram, which from now on takes everything.
    fn many(&mut self) -> &mut Histogram {
        let few = std::mem::take(&mut self.few);
        let many = self.many.get_or_insert_default();
        few.iter().for_each(|(value, count)| many.record_n(*value, *count));
        many
    }
}

impl PartialEq for Lengths {
    fn eq(&self, other: &Self) -> bool {
        self.histogram() == other.histogram()
    }
}

impl Eq for Lengths {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Lengths {
        let mut lengths = Lengths::default();
        values.iter().for_each(|bytes| lengths.record(*bytes));
        lengths
    }

    #[test]
    fn few_lengths_are_told_exactly() {
        let pages = of(&[4_097, 2_051, 2_051, 1_024, 2_051, 65_537]);
        assert_eq!([0.0, 0.5, 0.9, 1.0].map(|q| pages.quantile(q)), [1_024, 2_051, 65_537, 65_537]);
        assert_eq!(of(&[]).quantile(0.5), 0);
        assert_eq!(of(&[0, 0, 7]).quantile(0.5), 0);
    }

    proptest! {
        #[test]
        fn lengths_merge_to_the_same_distribution(
            most in prop::sample::select(vec![5usize, 40, 100_000]),
            a in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
            b in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
        ) {
            let values = |places: &[prop::sample::Index]| -> Vec<u64> {
                places.iter().map(|place| place.index(most) as u64).collect()
            };
            let (a, b) = (values(&a), values(&b));
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let mut all = [a, b].concat();
            prop_assert_eq!(&merged, &of(&all));
            let text = serde_json::to_string(&merged).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Lengths>(&text).unwrap(), &merged);
            prop_assert_eq!(merged.histogram().count(), all.len() as u64);
            all.sort_unstable();
            if let Some(median) = all.get(all.len().div_ceil(2).saturating_sub(1)) {
                let found = merged.quantile(0.5);
                // to the bucket of a histogram where there are many
                prop_assert!(found >= *median && found - median <= median / 1_024, "{found} {median}");
            }
        }
    }
}
