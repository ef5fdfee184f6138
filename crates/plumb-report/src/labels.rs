//! Labels of several things: which of them tell the things apart, and in which order.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use plumb_measure::{ByteSize, Rate, Span};

use crate::figures::real;

/// Names and values.
pub(crate) type LabelMap = BTreeMap<String, String>;

/// What the labels of several things have in common, and what not.
pub(crate) struct Labels<'a> {
    /// Labels that have more than one value, in the order of their names.
    pub(crate) varying: Vec<&'a str>,
    /// Labels that are the same for all, with that value.
    pub(crate) constant: Vec<(&'a str, &'a str)>,
}

impl<'a> Labels<'a> {
    /// Sorts the labels of `things` by whether they vary.
    pub(crate) fn of(things: &[&'a LabelMap]) -> Self {
        let names: BTreeSet<&str> =
            things.iter().flat_map(|thing| thing.keys()).map(String::as_str).collect();
        let (mut varying, mut constant) = (Vec::new(), Vec::new());
        for label in names {
            let found: BTreeSet<Option<&str>> =
                things.iter().map(|thing| thing.get(label).map(String::as_str)).collect();
            match found.iter().next() {
                Some(Some(value)) if found.len() == 1 => constant.push((label, *value)),
                _ => varying.push(label),
            }
        }
        Self { varying, constant }
    }

    /// What distinguishes one thing from the others; all its labels when nothing does.
    pub(crate) fn name(&self, thing: &LabelMap) -> String {
        if self.varying.is_empty() {
            return words_of(thing, thing.keys().map(String::as_str));
        }
        words_of(thing, self.varying.iter().copied())
    }

    /// The labels that all share, in words.
    pub(crate) fn shared(&self) -> String {
        let words: Vec<String> =
            self.constant.iter().map(|(label, value)| format!("{label} {value}")).collect();
        words.join(", ")
    }
}

/// Some labels of a thing in words: `connections 1, size 500B`. One that has none of them is called by
/// what it lacks: `no delay`.
pub(crate) fn words_of<'l>(thing: &LabelMap, labels: impl Iterator<Item = &'l str>) -> String {
    let labels: Vec<&str> = labels.collect();
    let value = |label: &&str| thing.get(*label).map(|value| format!("{label} {value}"));
    let words: Vec<String> = labels.iter().filter_map(value).collect();
    if words.is_empty() {
        return labels.iter().map(|label| format!("no {label}")).collect::<Vec<_>>().join(", ");
    }
    words.join(", ")
}

/// The order in which things are read: by their labels.
pub(crate) fn by_labels(a: &LabelMap, b: &LabelMap) -> Ordering {
    let pairs = a.iter().zip(b);
    pairs
        .map(|((ka, va), (kb, vb))| ka.cmp(kb).then_with(|| by_value(va, vb)))
        .find(|order| order.is_ne())
        .unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// The order of two values: by what they stand for, numbers first.
pub(crate) fn by_value(a: &str, b: &str) -> Ordering {
    match (number(a), number(b)) {
        (Some(x), Some(y)) => x.total_cmp(&y).then_with(|| a.cmp(b)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// A label beyond this is a name, not a number.
const NUMBER_MAX: f64 = 1e18;

/// The number that a value of a label stands for: a count, bytes, a rate or nanoseconds.
pub(crate) fn number(value: &str) -> Option<f64> {
    let within = |text: &str| text.parse::<f64>().ok().filter(|n| n.abs() <= NUMBER_MAX);
    within(value)
        .or_else(|| value.parse::<ByteSize>().ok().map(|size| real(size.bytes())))
        .or_else(|| value.parse::<Rate>().ok().map(Rate::per_s).filter(|n| *n <= NUMBER_MAX))
        .or_else(|| value.parse::<Span>().ok().map(|span| real(span.ns())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_ordered_by_what_they_stand_for() {
        let mut sizes = vec!["64KiB", "1B", "10000B", "1KiB"];
        sizes.sort_by(|a, b| by_value(a, b));
        assert_eq!(sizes, ["1B", "1KiB", "10000B", "64KiB"]);
        let mut mixed = vec!["all", "16", "2"];
        mixed.sort_by(|a, b| by_value(a, b));
        assert_eq!(mixed, ["2", "16", "all"]);
    }

    #[test]
    fn a_thing_without_the_label_that_names_others_has_a_name() {
        let of = |pairs: &[(&str, &str)]| -> LabelMap {
            pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
        };
        let (plain, late) = (of(&[("size", "1B")]), of(&[("size", "1B"), ("delay", "1ms")]));
        let labels = Labels::of(&[&plain, &late]);
        assert_eq!((&*labels.name(&plain), &*labels.name(&late)), ("no delay", "delay 1ms"));
        assert_eq!(words_of(&plain, std::iter::empty()), "", "nothing is asked for");
    }

    #[test]
    fn a_name_that_means_infinity_is_no_number() {
        assert_eq!(number("inf"), None);
        assert_eq!(number("nan"), None);
        assert_eq!(number("2000/s"), Some(2000.0));
        assert_eq!(number("2s"), Some(2e9));
    }
}
