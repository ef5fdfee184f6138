//! Things that differ in one label, along an axis.

use std::collections::BTreeSet;

use crate::labels::{LabelMap, Labels, by_value, number, words_of};

/// One label along an axis; the others make the series.
pub(crate) struct Sweep<'a, T> {
    pub(crate) label: &'a str,
    /// Its values in ascending order.
    pub(crate) values: Vec<&'a str>,
    /// The values as numbers; `None` when they are words.
    pub(crate) numbers: Option<Vec<f64>>,
    pub(crate) series: Vec<Series<T>>,
}

/// The things that differ only in the label of the sweep.
pub(crate) struct Series<T> {
    /// The other varying labels; empty when there are none.
    pub(crate) name: String,
    /// One place for each value of the sweep.
    pub(crate) places: Vec<Option<T>>,
}

impl<'a, T: Copy> Sweep<'a, T> {
    /// `things` along the label that has most values; `None` when nothing varies, or when two of
    /// them have the same labels.
    pub(crate) fn of(labels: &Labels<'a>, things: &[(&'a LabelMap, T)]) -> Option<Self> {
        let weight = |label: &&str| weight(label, values(label, things));
        let label = labels.varying.iter().copied().max_by_key(weight)?;
        let values = values(label, things)?;
        let numbers = values.iter().map(|value| number(value)).collect();
        let mut series: Vec<Series<T>> = Vec::new();
        for (thing, what) in things {
            let others = labels.varying.iter().copied().filter(|other| *other != label);
            let name = words_of(thing, others);
            let at = series.iter().position(|line| line.name == name).unwrap_or_else(|| {
                series.push(Series { name, places: vec![None; values.len()] });
                series.len() - 1
            });
            let column = values.iter().position(|value| thing[label] == **value)?;
            if series[at].places[column].replace(*what).is_some() {
                return None;
            }
        }
        Some(Self { label, values, numbers, series })
    }
}

/// The values of a label in ascending order; `None` when a thing has none.
fn values<'a, T>(label: &str, things: &[(&'a LabelMap, T)]) -> Option<Vec<&'a str>> {
    let found: Option<BTreeSet<&str>> =
        things.iter().map(|(thing, _)| thing.get(label).map(String::as_str)).collect();
    let mut values: Vec<&str> = found?.into_iter().collect();
    values.sort_by(|a, b| by_value(a, b));
    Some(values)
}

/// What makes a label fit for an axis: numbers, then many values, then being a size.
fn weight(label: &str, values: Option<Vec<&str>>) -> (bool, usize, bool) {
    let Some(values) = values else { return (false, 0, false) };
    (values.iter().all(|value| number(value).is_some()), values.len(), label == "size")
}
