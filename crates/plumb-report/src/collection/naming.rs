//! What plans of one kind are called: by as few of the things they differ in as tell them apart.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use plumb_folder::FoundExperiment;

use super::plan::{self, Plan};
use crate::labels::{LabelMap, number};

/// Options that say how long and how patiently, not what: they name a plan only where nothing else
/// does.
const PROCEDURE: [&str; 6] = ["--count", "--for", "--timeout", "--warmup", "clock", "plumb"];

/// The labels of every plan in `numbers`: the variant of an experiment, and of the options and
/// circumstances that differ those that are needed. `points` are the labels of the results of each
/// plan.
///
/// A label that is a number may become the axis of a chart. Two plans have the same labels beside it
/// only if they differ in nothing else but how long and how patiently they measured: a curve through
/// both would show as its own what something else did.
pub(super) fn labels(
    numbers: &[usize],
    plans: &[Plan],
    experiments: &[FoundExperiment],
    points: &BTreeMap<usize, BTreeSet<LabelMap>>,
) -> BTreeMap<usize, LabelMap> {
    let mut named: BTreeMap<usize, LabelMap> =
        numbers.iter().map(|at| (*at, of_variant(*at, numbers, plans, experiments))).collect();
    let known: BTreeSet<&str> =
        points.values().flatten().flat_map(LabelMap::keys).map(String::as_str).collect();
    let all: Vec<&Plan> = numbers.iter().map(|at| &plans[*at]).collect();
    let mut names: Vec<String> =
        plan::differences(&all).into_iter().map(|(name, _)| name).collect();
    names.retain(|name| !known.contains(name.trim_start_matches("--")));
    names.sort_by_key(|name| (!name.starts_with("--"), name.clone()));
    let (how, what): (Vec<String>, Vec<String>) =
        names.into_iter().partition(|name| PROCEDURE.contains(&name.as_str()));
    // those of the labels that are no axis
    let mut words = named.clone();
    for name in &what {
        if splits(&same(&words), plans, name) {
            put(&mut named, plans, name);
            if !is_number(&all, name) {
                put(&mut words, plans, name);
            }
        }
    }
    for name in &how {
        if splits(&alike(&named, points), plans, name) {
            put(&mut named, plans, name);
        }
    }
    // a long value may differ behind what its label shows
    let mut unnamed = same(&words);
    unnamed.retain(|group| {
        let differs = |name: &&String| values(group, plans, name) > 1;
        what.iter().filter(differs).any(|name| !is_number(&all, name))
    });
    unnamed.extend(alike(&named, points));
    for at in unnamed.into_iter().flatten() {
        if let Some(labels) = named.get_mut(&at) {
            // a name, and no number that could stand along an axis
            labels.insert("plan".into(), format!("#{}", at + 1));
        }
    }
    named
}

/// Gives every plan that has the fact `name` that label.
fn put(named: &mut BTreeMap<usize, LabelMap>, plans: &[Plan], name: &str) {
    for (at, labels) in named {
        labels.extend(plan::label(&plans[*at], name));
    }
}

/// True when the fact `name` tells plans of one of the groups apart.
fn splits(groups: &[Vec<usize>], plans: &[Plan], name: &str) -> bool {
    groups.iter().any(|group| values(group, plans, name) > 1)
}

/// How many values the fact `name` has in a group.
fn values(group: &[usize], plans: &[Plan], name: &str) -> usize {
    let values: BTreeSet<_> = group.iter().map(|at| plans[*at].facts.get(name)).collect();
    values.len()
}

/// True when every value of the fact `name` may stand along an axis.
fn is_number(plans: &[&Plan], name: &str) -> bool {
    plans.iter().filter_map(|plan| plan.facts.get(name)).all(|value| number(value).is_some())
}

/// The plans of the same labels.
fn same(named: &BTreeMap<usize, LabelMap>) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<&LabelMap, Vec<usize>> = BTreeMap::new();
    for (at, labels) in named {
        groups.entry(labels).or_default().push(*at);
    }
    groups.into_values().filter(|group| group.len() > 1).collect()
}

/// The plans that cannot be told from another by their labels and those of a result.
fn alike(
    named: &BTreeMap<usize, LabelMap>,
    points: &BTreeMap<usize, BTreeSet<LabelMap>>,
) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<(&LabelMap, &LabelMap), Vec<usize>> = BTreeMap::new();
    for (at, labels) in named {
        for point in points.get(at).into_iter().flatten() {
            groups.entry((labels, point)).or_default().push(*at);
        }
    }
    groups.into_values().filter(|group| group.len() > 1).collect()
}

/// The variant of an experiment, and the experiment where there are several or other runs beside it.
fn of_variant(
    number: usize,
    numbers: &[usize],
    plans: &[Plan],
    experiments: &[FoundExperiment],
) -> LabelMap {
    let mut labels = LabelMap::new();
    let Some((experiment, variant)) = plans[number].variant else { return labels };
    let Some(found) = experiments.get(experiment) else { return labels };
    let name = found.variants.get(variant).cloned();
    labels.insert("variant".into(), name.unwrap_or_else(|| variant.to_string()));
    let of = |at: &usize| plans[*at].variant.map(|(experiment, _)| experiment);
    if numbers.iter().any(|at| of(at) != Some(experiment)) {
        let same = |other: &&FoundExperiment| other.folder.file_name() == found.folder.file_name();
        let name =
            found.folder.file_name().filter(|_| experiments.iter().filter(same).count() == 1);
        let name = name.map_or_else(|| place_of(&found.folder), |it| it.to_string_lossy().into());
        labels.insert("experiment".into(), name);
    }
    labels
}

/// A path as a report shows it.
pub(super) fn place_of(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(facts: &[(&str, &str)]) -> Plan {
        let facts = facts.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Plan {
            layer: "net".into(),
            verb: "ping".into(),
            load: "closed".into(),
            variant: None,
            facts,
            command: String::new(),
            machine: BTreeMap::new(),
            seeds: Vec::new(),
            runs: 1,
        }
    }

    fn named(plans: &[Plan], sizes: &[&str]) -> Vec<LabelMap> {
        let numbers: Vec<usize> = (0..plans.len()).collect();
        let point =
            |size: &&str| BTreeSet::from([LabelMap::from([("size".into(), (*size).into())])]);
        let points = numbers.iter().copied().zip(sizes.iter().map(point)).collect();
        labels(&numbers, plans, &[], &points).into_values().collect()
    }

    #[test]
    fn plans_that_their_results_tell_apart_need_no_name() {
        let plans = [
            plan(&[("--size", "1B"), ("--timeout", "5s"), ("target", "db1")]),
            plan(&[("--size", "9B"), ("--timeout", "9s"), ("target", "db1")]),
        ];
        assert_eq!(named(&plans, &["1B", "9B"]), [LabelMap::new(), LabelMap::new()]);
    }

    #[test]
    fn plans_of_different_targets_are_named_although_their_results_differ() {
        let plans = [
            plan(&[("--size", "1B"), ("target", "db1")]),
            plan(&[("--size", "9B"), ("target", "db2")]),
        ];
        let target = |name: &str| LabelMap::from([("target".into(), name.into())]);
        assert_eq!(named(&plans, &["1B", "9B"]), [target("db1"), target("db2")]);
        // the same of an option that may become an axis
        let plans = [
            plan(&[("--delay", "1ms"), ("host", "a"), ("kernel", "1"), ("target", "db1")]),
            plan(&[("--delay", "2ms"), ("host", "b"), ("kernel", "2"), ("target", "db1")]),
        ];
        let of = |delay: &str, host: &str| {
            LabelMap::from([("delay".into(), delay.into()), ("host".into(), host.into())])
        };
        assert_eq!(named(&plans, &["1B", "1B"]), [of("1ms", "a"), of("2ms", "b")]);
        let long = |end: &str| format!("{}{end}", "x".repeat(60));
        let plans = [plan(&[("--url", &long("a"))]), plan(&[("--url", &long("b"))])];
        assert_eq!(named(&plans, &["1B", "9B"])[0]["plan"], "#1", "values that a label cuts off");
    }

    #[test]
    fn plans_of_one_landscape_stand_along_the_option_they_differ_in() {
        let plans = ["1ms", "2ms"].map(|delay| plan(&[("--delay", delay), ("target", "db1")]));
        let of = |delay: &str| LabelMap::from([("delay".into(), delay.into())]);
        assert_eq!(named(&plans, &["1B", "1B"]), [of("1ms"), of("2ms")]);
    }

    #[test]
    fn what_was_asked_names_a_plan_before_how_long_it_took() {
        let plans = [
            plan(&[("--for", "5s"), ("--nagle", "true"), ("target", "db1")]),
            plan(&[("--for", "2s"), ("--nagle", "false"), ("target", "db1")]),
        ];
        let names = named(&plans, &["1B", "1B"]);
        assert_eq!(names[0], LabelMap::from([("nagle".into(), "true".into())]));
        let plans = [plan(&[("--for", "5s")]), plan(&[("--for", "2s")])];
        let names = named(&plans, &["1B", "1B"]);
        assert_eq!(names[1], LabelMap::from([("for".into(), "2s".into())]));
    }

    #[test]
    fn plans_whose_values_are_too_long_to_differ_have_their_number() {
        let long = |end: &str| format!("{}{end}", "x".repeat(60));
        let plans = [plan(&[("--url", &long("a"))]), plan(&[("--url", &long("b"))])];
        let names = named(&plans, &["1B", "1B"]);
        assert_eq!(names[1].get("plan").map(String::as_str), Some("#2"));
    }
}
