//! What plans of one kind are called: by as few of the things they differ in as tell them apart.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use plumb_folder::FoundExperiment;

use super::plan::{self, Plan};
use crate::labels::LabelMap;

/// Options that say how long and how patiently, not what: they name a plan only where nothing else
/// does.
const PROCEDURE: [&str; 6] = ["--count", "--for", "--timeout", "--warmup", "clock", "plumb"];

/// The labels of every plan in `numbers`: the variant of an experiment, and of the options and
/// circumstances that differ those that are needed. `points` are the labels of the results of each
/// plan, which tell many plans apart already.
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
    names.sort_by_key(|name| {
        (PROCEDURE.contains(&name.as_str()), !name.starts_with("--"), name.clone())
    });
    for name in names {
        let alike = alike(&named, points);
        let splits = |group: &Vec<usize>| {
            let values: BTreeSet<_> = group.iter().map(|at| plans[*at].facts.get(&name)).collect();
            values.len() > 1
        };
        for at in alike.into_iter().filter(splits).flatten() {
            if let Some(labels) = named.get_mut(&at) {
                labels.extend(plan::label(&plans[at], &name));
            }
        }
    }
    for at in alike(&named, points).into_iter().flatten() {
        if let Some(labels) = named.get_mut(&at) {
            // a name, and no number that could stand along an axis
            labels.insert("plan".into(), format!("#{}", at + 1));
        }
    }
    named
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
