//! Our histograms, written and read back, against what the published crate counts of the same
//! values.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should end")]

use hdrhistogram::Histogram as Published;
use plumb_measure::Histogram;
use proptest::prelude::*;

/// Upper end and count of each bucket that holds something.
fn buckets(published: &Published<u64>) -> Vec<(u64, u64)> {
    let each = published.iter_recorded();
    each.map(|it| (it.value_iterated_to(), it.count_since_last_iteration())).collect()
}

proptest! {
    #[test]
    fn what_travelled_holds_what_the_published_crate_counts(
        values in prop::collection::vec((0..Histogram::HIGHEST, 1_u64..1 << 30), 1..60),
    ) {
        let mut ours = Histogram::new();
        let mut published = Published::<u64>::new_with_bounds(1, Histogram::HIGHEST, 3).unwrap();
        for (value, n) in &values {
            ours.record_n(*value, *n);
            published.record_n(*value, *n).unwrap();
        }
        let text = serde_json::to_string(&ours).unwrap();
        let travelled: Histogram = serde_json::from_str(&text).unwrap();
        // the last bucket of ours ends at the maximum
        let counted: Vec<(u64, u64)> =
            buckets(&published).into_iter().map(|(end, n)| (end.min(ours.max()), n)).collect();
        prop_assert_eq!(travelled.buckets().collect::<Vec<_>>(), counted);
        prop_assert_eq!(travelled.count(), published.len());
    }
}
