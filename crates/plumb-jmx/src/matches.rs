//! Single matches and groups of an extractor, which JMeter puts into variables of their own: `NAME_2` is
//! the second match of all, `NAME_g1` what the first group of an expression held.

use plumb_scenario::extract::Extractor;
use plumb_scenario::file::{Extract, Pick, Step, placed};
use plumb_scenario::variables::Names;

use super::Importer;

impl Importer {
    /// Extracts the single matches and groups that are used, where the step that extracts `NAME` knows which
    /// they are.
    pub(super) fn settle_matches(&mut self) {
        let unset = self.words.used.keys().filter(|name| !self.set.contains(*name));
        let unset: Vec<String> = unset.cloned().collect();
        let mut found = Vec::new();
        let scenarios = self.draft.file.scenario.iter_mut();
        let steps = scenarios.flat_map(|it| it.login.iter_mut().chain(&mut it.step));
        steps.for_each(|step| add(step, &unset, &mut found));
        self.set.extend(found);
    }
}

/// Adds what is `unset` to the step and those within, and notes what was `found`.
fn add(step: &mut Step, unset: &[String], found: &mut Vec<String>) {
    let own = step.extract.iter().map(|extract| extract.get_ref());
    let single = own.flat_map(|extract| unset.iter().filter_map(|name| single(extract, name)));
    let single: Vec<Extract> = single.collect();
    found.extend(single.iter().map(|extract| extract.name.clone()));
    step.extract.extend(single.into_iter().map(placed));
    step.step.iter_mut().for_each(|step| add(step, unset, found));
}

/// What sets `name`, if it is a single match or a group of what `extract` finds. Of a match that is drawn
/// another one would be drawn.
fn single(extract: &Extract, name: &str) -> Option<Extract> {
    let rest = name.strip_prefix(extract.name.as_str())?.strip_prefix('_')?;
    let (number, group) = match rest.split_once('g') {
        Some((number, group)) => (number.strip_suffix('_').unwrap_or(number), Some(group)),
        None => (rest, None),
    };
    let pick = match (extract.pick, number.parse::<u64>()) {
        (Pick::All, Ok(number @ 1..=1_000_000_000)) => Pick::Number(number),
        (pick @ (Pick::First | Pick::Number(_)), _) if number.is_empty() && group.is_some() => pick,
        _ => return None,
    };
    let template = match group {
        Some(group) => {
            extract.regex.as_ref()?;
            Some(format!("${}$", group.parse::<u8>().ok()?))
        }
        None => extract.template.clone(),
    };
    // JMeter leaves it without a value where there is no such match
    let default = Some(String::new());
    let single = Extract { name: name.to_owned(), pick, template, default, ..extract.clone() };
    // an expression may have no such group
    Extractor::new(&single, &mut Names::default()).is_ok().then_some(single)
}
