//! The points of a plan: what distinguishes the results, and in which order they are read.

use std::collections::BTreeSet;

use plumb_measure::{ResultRecord, RunRecord};

use crate::labels::{LabelMap, Labels, by_labels, by_value, number, words_of};

/// The results in the order of their labels.
pub(crate) struct Points<'a> {
    pub(crate) results: Vec<&'a ResultRecord>,
    pub(crate) labels: Labels<'a>,
}

/// One label along an axis; the others make the series.
pub(crate) struct Sweep<'a> {
    pub(crate) label: &'a str,
    /// Its values in ascending order.
    pub(crate) values: Vec<&'a str>,
    /// The values as numbers; `None` when they are words.
    pub(crate) numbers: Option<Vec<f64>>,
    pub(crate) series: Vec<Series<'a>>,
}

/// The results that differ only in the label of the sweep.
pub(crate) struct Series<'a> {
    /// The other varying labels; empty when there are none.
    pub(crate) name: String,
    /// One place for each value of the sweep.
    pub(crate) results: Vec<Option<&'a ResultRecord>>,
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

    /// The labels that every result shares, in words.
    pub(crate) fn shared(&self) -> String {
        self.labels.shared()
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

    /// The results along the label that has most values; `None` when nothing varies, or when two
    /// results have the same labels.
    pub(crate) fn sweep(&self) -> Option<Sweep<'a>> {
        let label = self.labels.varying.iter().copied().max_by_key(|label| self.weight(label))?;
        let values = self.values(label)?;
        let numbers = values.iter().map(|value| number(value)).collect();
        let mut series: Vec<Series<'a>> = Vec::new();
        for result in &self.results {
            let others = self.labels.varying.iter().copied().filter(|other| *other != label);
            let name = words_of(&result.labels, others);
            let at = series.iter().position(|line| line.name == name).unwrap_or_else(|| {
                series.push(Series { name, results: vec![None; values.len()] });
                series.len() - 1
            });
            let column = values.iter().position(|value| result.labels[label] == **value)?;
            if series[at].results[column].replace(result).is_some() {
                return None;
            }
        }
        Some(Sweep { label, values, numbers, series })
    }

    /// The values of a label in ascending order; `None` when a result has none.
    fn values(&self, label: &str) -> Option<Vec<&'a str>> {
        let found: Option<BTreeSet<&str>> = self
            .results
            .iter()
            .map(|result| result.labels.get(label).map(String::as_str))
            .collect();
        let mut values: Vec<&str> = found?.into_iter().collect();
        values.sort_by(|a, b| by_value(a, b));
        Some(values)
    }

    /// What makes a label fit for an axis: numbers, then many values, then being a size.
    fn weight(&self, label: &str) -> (bool, usize, bool) {
        let Some(values) = self.values(label) else { return (false, 0, false) };
        (values.iter().all(|value| number(value).is_some()), values.len(), label == "size")
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
    use super::*;

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
