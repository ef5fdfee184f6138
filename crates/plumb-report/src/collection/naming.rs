//! What plans of one kind are called: by as few of the things they differ in as tell them apart.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use plumb_folder::FoundExperiment;
use plumb_measure::without_picked_port;

use super::plan::{self, Plan};
use crate::labels::{LabelMap, number};

/// Options that say how long and how patiently, not what: they name a plan only where nothing else
/// does.
const PROCEDURE: [&str; 4] = ["--count", "--for", "--timeout", "--warmup"];
/// Circumstances that name a plan only where no other does, nor an option.
const LAST: [&str; 2] = ["clock", "plumb"];

/// Facts of plans by their names.
type Facts<'a> = BTreeMap<usize, BTreeMap<&'a str, String>>;

/// The labels of every plan in `numbers`: the variant of an experiment, and of the options and
/// circumstances that differ those that are needed. `points` are the labels of the results of each
/// plan.
///
/// A label that is a number may become the axis of a chart. Two plans have the same labels beside it
/// only if they differ in nothing else but how long and how patiently they measured, and at which port
/// a server was that had another one for each of them: a curve through both would show as its own what
/// something else did.
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
    names.sort_by_key(|name| (LAST.contains(&&**name), !name.starts_with("--"), name.clone()));
    let (how, what): (Vec<String>, Vec<String>) =
        names.into_iter().partition(|name| PROCEDURE.contains(&name.as_str()));
    let (facts, landscapes) = (facts(numbers, plans), landscapes(numbers, plans));
    // those of the labels that are no axis
    let mut words = named.clone();
    for name in &what {
        if splits(&same(&words), &landscapes, name) {
            put(&mut named, plans, name);
            if !is_number(&all, name) {
                put(&mut words, plans, name);
            }
        }
    }
    let is_picked = |name: &&String| {
        let of = |facts: &Facts<'_>, at: &usize| facts[at].get(name.as_str()).cloned();
        numbers.iter().any(|at| of(&facts, at) != of(&landscapes, at))
    };
    for name in what.iter().filter(is_picked).chain(&how) {
        let alike = alike(&named, points);
        set_apart(&mut named, (plans, &facts), name, &alike);
    }
    let worded: Vec<&String> = what.iter().filter(|name| !is_number(&all, name)).collect();
    number_landscapes(&mut named, &same(&words), &landscapes, &worded);
    for at in alike(&named, points).into_iter().flatten() {
        number_plan(&mut named, at, at);
    }
    named
}

/// The facts of each plan.
fn facts<'a>(numbers: &[usize], plans: &'a [Plan]) -> Facts<'a> {
    let of = |at: &usize| {
        let facts = plans[*at].facts.iter();
        (*at, facts.map(|(name, value)| (name.as_str(), value.clone())).collect())
    };
    numbers.iter().map(of).collect()
}

/// The same as they tell one landscape from another: of a server that is started anew for each plan, a
/// kernel picks the port.
fn landscapes<'a>(numbers: &[usize], plans: &'a [Plan]) -> Facts<'a> {
    let mut all = facts(numbers, plans);
    let mut used: BTreeMap<(&str, String), u64> = BTreeMap::new();
    for (name, value) in all.values().flatten() {
        *used.entry((*name, value.clone())).or_default() += 1;
    }
    for (name, value) in all.values_mut().flatten() {
        if used.get(&(*name, value.clone())) == Some(&1) {
            // several values of an option are one fact
            let each: Vec<String> = value.split(", ").map(without_picked_port).collect();
            *value = each.join(", ");
        }
    }
    all
}

/// Gives every plan that has the fact `name` that label.
fn put(named: &mut BTreeMap<usize, LabelMap>, plans: &[Plan], name: &str) {
    for (at, labels) in named {
        labels.extend(plan::label(&plans[*at], name));
    }
}

/// Gives plans that the fact `name` tells from others of their group that label. It would tear plans of
/// no group apart where they have several values of it: these are called [`various`] then, and so is the
/// last plan of each group, which stands in the place of those before it.
fn set_apart(
    named: &mut BTreeMap<usize, LabelMap>,
    (plans, facts): (&[Plan], &Facts<'_>),
    name: &str,
    groups: &[Vec<usize>],
) {
    let split: Vec<&Vec<usize>> =
        groups.iter().filter(|group| values(group, facts, name) > 1).collect();
    if split.is_empty() {
        return;
    }
    let inside: BTreeSet<usize> = split.iter().copied().flatten().copied().collect();
    let outside: Vec<usize> = named.keys().copied().filter(|at| !inside.contains(at)).collect();
    if values(&outside, facts, name) < 2 {
        return put(named, plans, name);
    }
    let earlier: BTreeSet<usize> =
        split.iter().flat_map(|group| &group[..group.len() - 1]).copied().collect();
    for (at, labels) in named {
        let Some((name, value)) = plan::label(&plans[*at], name) else { continue };
        let value = if earlier.contains(at) { value } else { various(&name).into() };
        labels.insert(name, value);
    }
}

/// What plans are called of the fact `name` that is another one for each of them, and tells them from none:
/// how long and how patiently they measured, or at which port a server was.
fn various(name: &str) -> &'static str {
    match name {
        "count" => "various numbers",
        "for" | "timeout" | "warmup" => "various lengths",
        _ => "various ports",
    }
}

/// Numbers plans of the same words that differ in a fact of `names` behind what its label shows, those
/// alike in all of them with the number of the first.
fn number_landscapes(
    named: &mut BTreeMap<usize, LabelMap>,
    groups: &[Vec<usize>],
    facts: &Facts<'_>,
    names: &[&String],
) {
    for group in groups {
        let of = |at: &usize| -> Vec<Option<&String>> {
            names.iter().map(|name| facts[at].get(name.as_str())).collect()
        };
        let mut first = BTreeMap::new();
        for at in group {
            first.entry(of(at)).or_insert(*at);
        }
        for at in group.iter().filter(|_| first.len() > 1) {
            number_plan(named, *at, first[&of(at)]);
        }
    }
}

/// Calls the plan `at` by the number of the plan `first`: a name, and no number that could stand along
/// an axis.
fn number_plan(named: &mut BTreeMap<usize, LabelMap>, at: usize, first: usize) {
    if let Some(labels) = named.get_mut(&at) {
        labels.insert("plan".into(), format!("#{}", first + 1));
    }
}

/// True when the fact `name` tells plans of one of the groups apart.
fn splits(groups: &[Vec<usize>], facts: &Facts<'_>, name: &str) -> bool {
    groups.iter().any(|group| values(group, facts, name) > 1)
}

/// How many values the fact `name` has in a group.
fn values(group: &[usize], facts: &Facts<'_>, name: &str) -> usize {
    let values: BTreeSet<_> = group.iter().map(|at| facts[at].get(name)).collect();
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

    #[test]
    fn a_server_that_is_at_another_port_for_each_step_of_a_ladder_names_none() {
        let step = |port: u16, length: &str| {
            let target = format!("127.0.0.1:{port}");
            let base = format!("a=http://{target}, b=http://localhost:{port}");
            plan(&[("--base", &base), ("--for", length), ("target", &target)])
        };
        let mut plans = vec![step(40_001, "8s"), step(40_002, "9s"), step(40_003, "7s")];
        assert_eq!(named(&plans, &["1", "2", "4"]), vec![LabelMap::new(); 3]);
        // a step that was taken again stands in the place of the first
        plans.push(step(40_004, "9s"));
        let names = named(&plans, &["1", "2", "4", "2"]);
        assert!(names[1]["base"].starts_with("a=http://127.0.0.1:40002"), "{names:?}");
        let rest = LabelMap::from([("base".into(), "various ports".into())]);
        assert!([0, 2, 3].iter().all(|at| names[*at] == rest), "{names:?}");
    }

    #[test]
    fn plans_of_various_lengths_are_called_so_in_words() {
        // the same size for two lengths, and three others for one length each
        let plans = ["10s", "1250ms", "1m", "10s"].map(|length| plan(&[("--for", length)]));
        let names = named(&plans, &["1", "1", "2", "3"]);
        let lengths = |value: &str| LabelMap::from([("for".into(), value.into())]);
        assert_eq!(names[0], lengths("10s"));
        assert!(names[1..].iter().all(|it| *it == lengths("various lengths")), "{names:?}");
    }

    #[test]
    fn servers_that_stay_at_their_ports_name_plans() {
        let of = |port: u16| plan(&[("target", &format!("127.0.0.1:{port}"))]);
        let target = |port: u16| LabelMap::from([("target".into(), format!("127.0.0.1:{port}"))]);
        let both = [of(40_001), of(40_002)];
        assert_eq!(named(&both, &["1", "1"]), [target(40_001), target(40_002)]);
        let of = |port: u16, nagle: &str| {
            plan(&[("--nagle", nagle), ("target", &format!("127.0.0.1:{port}"))])
        };
        let plans = [of(40_001, "a"), of(40_001, "b"), of(40_002, "a"), of(40_002, "b")];
        let names = named(&plans, &["1", "1", "2", "2"]);
        assert_eq!(names[2]["target"], "127.0.0.1:40002");
    }

    #[test]
    fn versions_and_clocks_name_plans_where_nothing_else_does() {
        let plans = ["1", "2"].map(|version| plan(&[("plumb", version)]));
        assert_eq!(named(&plans, &["1B", "9B"])[1], LabelMap::from([("plumb".into(), "2".into())]));
        let of = |name: &str| plan(&[("clock", name), ("host", name), ("plumb", name)]);
        let host = |name: &str| LabelMap::from([("host".into(), name.into())]);
        assert_eq!(named(&[of("a"), of("b")], &["1B", "9B"]), [host("a"), host("b")]);
    }

    #[test]
    fn plans_of_one_long_value_have_one_number() {
        let url = |end: &str| ("--url", format!("{}{end}", "x".repeat(60)));
        let plans = ["a", "b", "a", "b"].map(url).map(|(name, value)| plan(&[(name, &value)]));
        let names = named(&plans, &["1", "8", "2", "16"]);
        let numbers: Vec<&str> = names.iter().map(|labels| &*labels["plan"]).collect();
        assert_eq!(numbers, ["#1", "#2", "#1", "#2"]);
    }
}
