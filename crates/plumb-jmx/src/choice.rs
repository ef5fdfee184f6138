//! Controllers that choose: one of their elements by chance, in turn, or by a value.

use plumb_draft::DraftStep;
use plumb_draft::template::variable;
use plumb_scenario::file::{Step, placed};

use super::Importer;
use super::element::Element;
use super::functions::quoted;
use super::scope::{Role, Scope, role};

/// `InterleaveControl.style` of a controller that does all of the block that it chose; others do one
/// request of it.
///
/// # Source
/// Apache JMeter, `InterleaveControl.nextIsAController`.
const WHOLE_BLOCKS: &str = "1";

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
                let drawn = format!("${{random(1, {count})}}");
                self.chosen(element, &chosen, (scope, &name, drawn))
            }
            "InterleaveControl" => {
                let next = format!("${{counter({name}, {}, 1, 1, {count})}}", self.whose(element));
                self.chosen(element, &chosen, (scope, &name, next))
            }
            _ => self.switched(element, &chosen, scope, &name),
        }
    }

    /// Who counts the turns of an interleaving controller.
    fn whose(&mut self, element: &Element<'_>) -> &'static str {
        if !element.flag("InterleaveControl.accrossThreads") {
            return "user";
        }
        let why = "each user begins with another element and goes on by itself; here all users count \
                   on together";
        self.draft.notes.add(element.place(), element.what(), why);
        "load"
    }

    /// The elements of `chooser`, each done when the number that is drawn is its own, from 1.
    fn chosen<'a>(
        &mut self,
        chooser: &Element<'a>,
        elements: &[Element<'a>],
        (scope, name, drawn): (&Scope<'a>, &str, String),
    ) -> Result<Vec<DraftStep>, String> {
        let has_whole_blocks = chooser.text("InterleaveControl.style").trim() == WHOLE_BLOCKS;
        let mut steps = Vec::new();
        for (number, element) in (1..).zip(elements) {
            let mut inside = self.steps(std::slice::from_ref(element), scope);
            if !has_whole_blocks {
                inside = self.one_each_turn(element, inside);
            }
            steps.extend(under(format!("{} == {number}", variable(name)), inside));
        }
        Ok(self.drawn(name, drawn, steps))
    }

    /// `steps`, which look at the number that is drawn into `name` before them.
    fn drawn(&mut self, name: &str, drawn: String, steps: Vec<DraftStep>) -> Vec<DraftStep> {
        if steps.is_empty() {
            return steps;
        }
        self.set.insert(name.to_owned());
        let set = [(name.to_owned(), drawn)].into();
        vec![DraftStep::around(Step { repeat: Some(placed(1)), set, ..Step::default() }, steps)]
    }

    /// The steps of an element of which each turn does one request, and the next turn the next.
    fn one_each_turn(&mut self, element: &Element<'_>, steps: Vec<DraftStep>) -> Vec<DraftStep> {
        // two give one request a turn themselves, and the third is one request to JMeter
        if matches!(element.kind(), "RandomController" | "InterleaveControl" | "ParallelSampler")
            || matches!(&steps[..], [only] if is_one_request(only))
        {
            return steps;
        }
        let is_plain = |it: &DraftStep| {
            let is_one = it.steps.is_empty() || it.step.parallel.is_some();
            is_one && it.step.condition.is_none() && it.step.share.is_none()
        };
        if !steps.iter().all(is_plain) {
            let why = "one request of it is made in each turn; here all of them are";
            self.draft.notes.add(element.place(), element.what(), why);
            return steps;
        }
        self.choices += 1;
        let name = format!("choice_{}", self.choices);
        let next = format!("${{counter({name}, user, 1, 1, {})}}", steps.len());
        let each = (1..).zip(steps);
        let each = each.filter_map(|(number, step)| {
            under(format!("{} == {number}", variable(&name)), vec![step])
        });
        let each = each.collect();
        self.drawn(&name, next, each)
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
        // what no quotes are left for is no number
        let value = quoted(&value)
            .map_or(value, |value| format!("${{index({value}, {})}}", elements.len()));
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
        Ok(self.drawn(name, value, steps))
    }
}

/// True of a step that makes one request, whatever stands around it, or several at the same time.
fn is_one_request(step: &DraftStep) -> bool {
    let around = &step.step;
    let is_repeated = around.repeat.as_ref().is_some_and(|times| *times.get_ref() != 1);
    if is_repeated || around.each.is_some() || around.holds.is_some() {
        return false;
    }
    if around.parallel.is_some() {
        return true;
    }
    match &step.steps[..] {
        [] => true,
        [only] => is_one_request(only),
        _ => false,
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
