//! The points of a plan: what distinguishes the results, and in which order they are read.

use plumb_measure::{ResultRecord, RunRecord};

use crate::figures::ABSENT;
use crate::labels::{LabelMap, Labels, by_labels};
use crate::sweep::Sweep;
use crate::table::Column;

/// The results in the order of their labels.
pub(crate) struct Points<'a> {
    pub(crate) results: Vec<&'a ResultRecord>,
    pub(crate) labels: Labels<'a>,
}

impl<'a> Points<'a> {
    /// Arranges the results of a record.
    pub(crate) fn of(record: &'a RunRecord) -> Self {
        let mut results: Vec<&ResultRecord> = record.results.iter().collect();
        results.sort_by(|a, b| by_labels(&a.labels, &b.labels));
        let maps: Vec<&LabelMap> = results.iter().map(|result| &result.labels).collect();
        let labels = Labels::of(&maps);
        Self { results, labels }
    }

    /// What distinguishes a result from the others; all its labels when it is the only one.
    pub(crate) fn name(&self, result: &ResultRecord) -> String {
        self.labels.name(&result.labels)
    }

    /// The labels that every result shares, in words. Users beside those of scenarios with a rate are not
    /// all that asked.
    pub(crate) fn shared(&self) -> String {
        let shared = self.labels.shared();
        let has = |load: &str| {
            self.results.iter().flat_map(|result| &result.scenarios).any(|it| it.load == load)
        };
        match !shared.is_empty() && has("open") && has("closed") {
            true => format!("{shared} of the scenarios without a rate"),
            false => shared,
        }
    }

    /// The results that have a median response time, with it in nanoseconds, the shortest first.
    pub(crate) fn medians(&self) -> Vec<(&'a ResultRecord, u64)> {
        let timed = self.results.iter().copied();
        let mut medians: Vec<(&ResultRecord, u64)> = timed
            .filter_map(|result| result.response_ns.as_ref().map(|times| (result, times.p50)))
            .collect();
        medians.sort_by_key(|(_, median)| *median);
        medians
    }

    /// The result with the highest throughput.
    pub(crate) fn highest_throughput(&self) -> Option<&'a ResultRecord> {
        let results = self.results.iter().copied();
        results.max_by(|a, b| a.throughput_per_s.total_cmp(&b.throughput_per_s))
    }

    /// The columns that tell the results apart; a single result needs none.
    pub(crate) fn columns(&self) -> Vec<Column> {
        self.labels.varying.iter().copied().map(Column::words).collect()
    }

    /// The cells of a result below [`columns`](Self::columns).
    pub(crate) fn cells(&self, result: &ResultRecord) -> Vec<String> {
        let value =
            |label: &&str| result.labels.get(*label).map_or(ABSENT, String::as_str).to_owned();
        self.labels.varying.iter().map(value).collect()
    }

    /// The results along the label that has most values; `None` when nothing varies, or when two
    /// results have the same labels.
    pub(crate) fn sweep(&self) -> Option<Sweep<'a, &'a ResultRecord>> {
        let things: Vec<(&LabelMap, &ResultRecord)> =
            self.results.iter().map(|result| (&result.labels, *result)).collect();
        Sweep::of(&self.labels, &things)
    }
}

/// At most `most` places of `0..count`, evenly spread, the first and the last among them.
pub(crate) fn spread(count: usize, most: usize) -> Vec<usize> {
    if count <= most || most < 2 {
        return (0..count.min(most)).collect();
    }
    (0..most).map(|at| (at * (count - 1) + (most - 1) / 2) / (most - 1)).collect()
}

#[cfg(test)]
mod tests {
    use plumb_measure::ScenarioFigures;

    use super::*;

    #[test]
    fn users_beside_those_of_a_rate_are_named_as_such() {
        let of = |loads: &[&str]| {
            let scenario = |load: &&str| ScenarioFigures {
                load: (*load).into(),
                ..ScenarioFigures::default()
            };
            let result = ResultRecord {
                labels: [("users".to_owned(), "15".to_owned())].into(),
                scenarios: loads.iter().map(scenario).collect(),
                ..ResultRecord::default()
            };
            let results = vec![&result];
            let labels = Labels::of(&[&result.labels]);
            Points { results, labels }.shared()
        };
        assert_eq!(of(&["closed", "open"]), "users 15 of the scenarios without a rate");
        assert_eq!(of(&["closed", "closed"]), "users 15");
        assert_eq!(of(&["open"]), "users 15");
    }

    #[test]
    fn a_spread_holds_both_ends_and_nothing_twice() {
        assert_eq!(spread(3, 6), [0, 1, 2]);
        assert_eq!(spread(12, 6).first(), Some(&0));
        assert_eq!(spread(12, 6).last(), Some(&11));
        for count in 0..40 {
            let places = spread(count, 6);
            assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{count}: {places:?}");
        }
    }
}
