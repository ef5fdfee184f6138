//! A load in the order in which it happened, in little memory.

use serde::{Deserialize, Serialize};

use crate::bounds::{COUNT_MAX, few};

/// Operations of a batch at first.
const OPERATIONS_MIN: u64 = 5;
/// Batches kept; at this number neighbours are put together.
const BATCHES_MAX: usize = 1_024;

/// The response times of consecutive operations, added up in batches that grow with the run:
/// never more than 1,024 of them. What a histogram forgets, the order, is kept here, for whoever
/// asks where the warm-up ended or how alike neighbours are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenBatches", into = "WrittenBatches")]
pub struct Batches {
    operations: u64,
    sums: Vec<u64>,
    open_sum: u64,
    open: u64,
}

/// The form of [`Batches`] before it is checked.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenBatches {
    operations: u64,
    #[serde(deserialize_with = "few::<BATCHES_MAX, _, _>")]
    sums: Vec<u64>,
    open_sum: u64,
    open: u64,
}

/// Why batches that were read are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("these batches are not as they grow: their size doubles from {OPERATIONS_MIN}")]
struct NoBatches;

impl TryFrom<WrittenBatches> for Batches {
    type Error = NoBatches;

    fn try_from(it: WrittenBatches) -> Result<Self, NoBatches> {
        let size = it.operations / OPERATIONS_MIN;
        let doubled = it.operations.is_multiple_of(OPERATIONS_MIN) && size.is_power_of_two();
        if !doubled
            || it.operations > COUNT_MAX
            || it.sums.len() >= BATCHES_MAX
            || it.open >= it.operations
        {
            return Err(NoBatches);
        }
        let WrittenBatches { operations, sums, open_sum, open } = it;
        Ok(Self { operations, sums, open_sum, open })
    }
}

impl From<Batches> for WrittenBatches {
    fn from(it: Batches) -> Self {
        let Batches { operations, sums, open_sum, open } = it;
        Self { operations, sums, open_sum, open }
    }
}

impl Default for Batches {
    fn default() -> Self {
        Self { operations: OPERATIONS_MIN, sums: Vec::new(), open_sum: 0, open: 0 }
    }
}

impl Batches {
    /// Adds the next operation, which took `ns` nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.open_sum += ns;
        self.open += 1;
        if self.open == self.operations {
            self.close(self.open_sum);
        }
    }

    /// Puts `later` behind. Both come to the larger size of batch; the few operations that fill
    /// no batch go to the end.
    pub fn append(&mut self, later: &Self) {
        let mut later = later.clone();
        while later.operations < self.operations {
            later.coarsen();
        }
        while self.operations < later.operations {
            self.coarsen();
        }
        self.sums.append(&mut later.sums);
        self.open_sum = self.open_sum.saturating_add(later.open_sum);
        self.open += later.open;
        while self.sums.len() >= BATCHES_MAX {
            self.coarsen();
        }
        if self.open >= self.operations {
            let share = u128::from(self.open_sum) * u128::from(self.operations);
            self.close(u64::try_from(share / u128::from(self.open)).unwrap_or(u64::MAX));
        }
    }

    /// True when nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty() && self.open == 0
    }

    /// Forgets everything; keeps the memory.
    pub fn clear(&mut self) {
        self.sums.clear();
        (self.operations, self.open_sum, self.open) = (OPERATIONS_MIN, 0, 0);
    }

    /// The means of the complete batches; `None` when there is none.
    #[must_use]
    pub fn means(&self) -> Option<BatchMeans> {
        let operations = self.operations;
        let mean_ns: Vec<u64> = self.sums.iter().map(|sum| sum / operations).collect();
        (!mean_ns.is_empty()).then_some(BatchMeans { operations, mean_ns })
    }

    /// The open batch is full, with `sum` in it.
    fn close(&mut self, sum: u64) {
        self.sums.push(sum);
        self.open_sum -= sum;
        self.open -= self.operations;
        if self.sums.len() == BATCHES_MAX {
            self.coarsen();
        }
    }

    fn coarsen(&mut self) {
        if self.sums.len() % 2 == 1 {
            let last = self.sums.pop().unwrap_or(0);
            self.open_sum = self.open_sum.saturating_add(last);
            self.open += self.operations;
        }
        self.operations *= 2;
        let pairs = self.sums.chunks_exact(2);
        self.sums = pairs.map(|pair| pair[0].saturating_add(pair[1])).collect();
    }
}

/// Mean response times of consecutive batches of operations, in the order in which they ended.
/// With several threads, each interval of one thread stands behind that of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchMeans {
    /// Operations of one batch.
    pub operations: u64,
    /// Mean response time of each batch, nanoseconds.
    pub mean_ns: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Batches {
        let mut batches = Batches::default();
        values.into_iter().for_each(|ns| batches.record(ns));
        batches
    }

    #[test]
    fn batches_keep_the_order_and_grow_with_the_run() {
        assert_eq!(
            of([1, 2, 3, 4, 5, 10, 10, 10, 10, 10, 7]).means(),
            Some(BatchMeans { operations: 5, mean_ns: vec![3, 10] })
        );
        let long = of(0..1_000_000).means().unwrap();
        assert!((512..1_024).contains(&long.mean_ns.len()), "{}", long.mean_ns.len());
        assert!(long.mean_ns.is_sorted());
        assert_eq!(of([1, 2]).means(), None);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_when_parts_are_put_together(
            parts in prop::collection::vec(prop::collection::vec(0u64..1_000, 0..4_000), 0..5),
        ) {
            let mut whole = Batches::default();
            parts.iter().for_each(|part| whole.append(&of(part.iter().copied())));
            let sum: u64 = parts.concat().iter().sum();
            prop_assert_eq!(whole.sums.iter().sum::<u64>() + whole.open_sum, sum);
            let count = whole.sums.len() as u64 * whole.operations + whole.open;
            prop_assert_eq!(count, parts.concat().len() as u64);
            prop_assert!(whole.sums.len() < BATCHES_MAX && whole.open < whole.operations);
            let text = serde_json::to_string(&whole).unwrap();
            prop_assert_eq!(serde_json::from_str::<Batches>(&text).unwrap(), whole);
        }

        #[test]
        fn whatever_is_read_can_be_put_together(
            operations in prop_oneof![(0_u32..62).prop_map(|n| 5 << n), any::<u64>()],
            sums in prop::collection::vec(any::<u64>(), 0..20),
            open_sum in any::<u64>(),
            open in any::<u64>(),
        ) {
            let text = format!(
                r#"{{"operations":{operations},"sums":{sums:?},"open_sum":{open_sum},"open":{open}}}"#
            );
            if let Ok(read) = serde_json::from_str::<Batches>(&text) {
                let mut both = of(0..10_000);
                both.append(&read);
                both.append(&read);
                prop_assert!(both.means().is_some());
            }
        }
    }
}
