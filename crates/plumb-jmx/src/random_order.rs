//! Elements that are all done, in an order that is drawn anew each time, and those that are done at the
//! same time.

use std::collections::BTreeMap;

use plumb_draft::DraftStep;
use plumb_draft::template::variable;
use plumb_scenario::file::{Step, placed};

use super::Importer;
use super::choice::{self, under};
use super::element::Element;
use super::scope::Scope;

impl Importer {
    /// The steps of a controller whose elements are done in random order: one is drawn until all are
    /// done, and one that is done already is passed over. All orders are then equally likely.
    pub(super) fn random_order<'a>(
        &mut self,
        element: &Element<'a>,
        scope: &Scope<'a>,
    ) -> Vec<DraftStep> {
        let chosen = self.made_below(element);
        let each = chosen.iter().map(|it| self.steps(std::slice::from_ref(it), scope));
        let mut all: Vec<Vec<DraftStep>> = each.filter(|steps| !steps.is_empty()).collect();
        if all.len() < 2 {
            return all.pop().unwrap_or_default();
        }
        self.choices += 1;
        let (name, count) = (format!("order_{}", self.choices), all.len());
        let left = format!("{name}_left");
        let done = |number: usize| format!("{name}_done_{number}");
        let one_less = format!("${{sum({}, -1)}}", variable(&left));
        let mut begin = BTreeMap::from([(left.clone(), count.to_string())]);
        let mut turns = Vec::new();
        for (number, steps) in (1..).zip(all) {
            begin.insert(done(number), "0".into());
            let set = [(done(number), "1".into()), (left.clone(), one_less.clone())].into();
            let fresh = Step {
                condition: Some(placed(format!("{} == 0", variable(&done(number))))),
                ..once(set)
            };
            let fresh = vec![DraftStep::around(fresh, steps)];
            turns.extend(under(format!("{} == {number}", variable(&name)), fresh));
        }
        self.set.extend(begin.keys().cloned().chain([name.clone()]));
        let drawn = [(name, format!("${{random(1, {count})}}"))].into();
        let turn = DraftStep::around(once(drawn), turns);
        let holds = Some(placed(format!("{} > 0", variable(&left))));
        let draws = DraftStep::around(Step { holds, ..Step::default() }, vec![turn]);
        vec![DraftStep::around(once(begin), vec![draws])]
    }

    /// The steps of a controller whose elements are done at the same time, which holds for requests.
    pub(super) fn at_the_same_time<'a>(
        &mut self,
        element: &Element<'a>,
        scope: &Scope<'a>,
    ) -> Vec<DraftStep> {
        let made = self.made_below(element);
        let mut steps = self.steps(&made, scope);
        let requests = steps.iter().all(|it| it.steps.is_empty());
        if !requests || steps.len() < 2 {
            if !requests {
                let why = "its elements are done at the same time, and not all of them are requests; \
                           here they are done in turn";
                self.draft.notes.add(element.place(), element.what(), why);
            }
            return steps;
        }
        if steps.iter().any(|it| it.step.think.is_some()) {
            let why = "waits of requests that are made at the same time are left out";
            self.draft.notes.add(element.place(), element.what(), why);
            steps.iter_mut().for_each(|it| it.step.think = None);
        }
        if steps.iter().any(|it| it.step.resources.is_some()) {
            let why = "what pages embed that are asked for at the same time is not asked for";
            self.draft.notes.add(element.place(), element.what(), why);
            steps.iter_mut().for_each(|it| it.step.resources = None);
        }
        let mut set = BTreeMap::new();
        let stored = steps.iter_mut().flat_map(|it| std::mem::take(&mut it.step.set));
        for (name, value) in stored {
            if set.insert(name.clone(), value).is_some() {
                let why = format!("requests that are made at the same time have one `{name}`");
                self.draft.notes.add(element.place(), element.what(), why);
            }
        }
        let name = self.labels.unique(element.name());
        let around = Step { parallel: Some(placed(name)), set, ..Step::default() };
        vec![DraftStep::around(around, steps)]
    }

    /// What makes steps below a controller; the rest is named.
    pub(super) fn made_below<'a>(&mut self, element: &Element<'a>) -> Vec<Element<'a>> {
        let (made, beside): (Vec<_>, Vec<_>) = element.below().into_iter().partition(choice::makes);
        beside.iter().for_each(|it| self.beside(it));
        made
    }
}

/// Something done once, with these variables.
fn once(set: BTreeMap<String, String>) -> Step {
    Step { repeat: Some(placed(1)), set, ..Step::default() }
}
