//! Controllers that choose: one of their elements by chance, in turn, or by a value.

use plumb_scenario::file::{Step, placed};

use super::Importer;
use super::element::Element;
use super::scope::{Role, Scope, role};
use crate::draft::DraftStep;
use crate::template::variable;

impl Importer {
    /// The steps of a controller of which one element is done; its steps are each under a condition.
    pub(super) fn choice<'a>(
        &mut self,
        element: &Element<'a>,
        scope: &Scope<'a>,
    ) -> Result<Vec<DraftStep>, String> {
        let chosen = self.made_below(element);
        self.choices += 1;
        let name = format!("choice_{}", self.choices);
        let count = chosen.len();
        match element.kind() {
            "RandomController" => {
                self.chosen(&chosen, scope, &name, format!("${{random(1, {count})}}"))
            }
            "InterleaveControl" => {
                let next = format!("${{counter({name}, user, 1, 1, {count})}}");
                self.chosen(&chosen, scope, &name, next)
            }
            _ => self.switched(element, &chosen, scope, &name),
        }
    }

    /// The elements, each done when `drawn` is its number, from 1.
    fn chosen<'a>(
        &mut self,
        elements: &[Element<'a>],
        scope: &Scope<'a>,
        name: &str,
        drawn: String,
    ) -> Result<Vec<DraftStep>, String> {
        let mut steps = Vec::new();
        for (number, element) in (1..).zip(elements) {
            let inside = self.steps(std::slice::from_ref(element), scope);
            steps.extend(under(format!("{} == {number}", variable(name)), inside));
        }
        self.set.insert(name.to_owned());
        let set = [(name.to_owned(), drawn)].into();
        let around = Step { repeat: Some(placed(1)), set, ..Step::default() };
        Ok(if steps.is_empty() { steps } else { vec![DraftStep::around(around, steps)] })
    }

    /// The elements of a switch: by number from 0, or by name.
    fn switched<'a>(
        &mut self,
        element: &Element<'a>,
        elements: &[Element<'a>],
        scope: &Scope<'a>,
        name: &str,
    ) -> Result<Vec<DraftStep>, String> {
        let text = element.text("SwitchController.value").trim();
        if let Some(known) = self.words.known(text) {
            let known = known.trim();
            let number = if known.is_empty() { Some(0) } else { known.parse::<usize>().ok() };
            let named = |name: &str| {
                elements.iter().find(|element| element.name().trim().eq_ignore_ascii_case(name))
            };
            let chosen = match number {
                Some(number) => elements.get(number).or(elements.first()),
                None => elements
                    .iter()
                    .find(|element| element.name().trim() == known)
                    .or_else(|| named("default")),
            };
            return Ok(
                chosen.map_or_else(Vec::new, |it| self.steps(std::slice::from_ref(it), scope))
            );
        }
        let value = self.words.template(text, element, &mut self.draft.notes);
        let mut steps = Vec::new();
        for (number, inner) in elements.iter().enumerate() {
            let own = inner.name().trim();
            if own.eq_ignore_ascii_case("default") {
                let why =
                    "the element `default` of a switch that only the load decides is left out";
                self.draft.notes.add(inner.place(), inner.what(), why);
                continue;
            }
            let inside = self.steps(std::slice::from_ref(inner), scope);
            let plain = !own.is_empty() && !own.contains(['\'', '$', '{', '}']);
            let mut all = vec![under(format!("{} == '{number}'", variable(name)), inside.clone())];
            if plain && own != number.to_string() {
                all.push(under(format!("{} == '{own}'", variable(name)), inside));
            }
            steps.extend(all.into_iter().flatten());
        }
        self.set.insert(name.to_owned());
        let set = [(name.to_owned(), value)].into();
        let around = Step { repeat: Some(placed(1)), set, ..Step::default() };
        Ok(if steps.is_empty() { steps } else { vec![DraftStep::around(around, steps)] })
    }
}

/// True of what makes steps.
pub(super) fn makes(element: &Element<'_>) -> bool {
    matches!(role(element), Role::Request | Role::Controller | Role::Action)
}

/// `steps`, done when `condition` holds.
pub(super) fn under(condition: String, steps: Vec<DraftStep>) -> Option<DraftStep> {
    let around =
        Step { repeat: Some(placed(1)), condition: Some(placed(condition)), ..Step::default() };
    (!steps.is_empty()).then(|| DraftStep::around(around, steps))
}
