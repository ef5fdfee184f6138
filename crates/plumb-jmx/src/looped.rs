//! Loops, and their turns where something asks for them.

use plumb_draft::DraftStep;
use plumb_draft::template::{variable, variable_name};
use plumb_scenario::file::{Step, placed};

use super::Importer;
use super::controller::Around;
use super::element::Element;
use super::scope::Scope;

impl Importer {
    /// The steps of a loop, whose turns are counted where something asks for them.
    pub(super) fn looped<'a>(
        &mut self,
        element: &Element<'a>,
        outer: &Scope<'a>,
    ) -> Result<Vec<DraftStep>, String> {
        let plain = variable_name(&format!("__jm__{}__idx", element.name()));
        let name = match self.loops {
            0 => plain,
            around => format!("{plain}_{around}"),
        };
        let following = format!("${{sum({}, 1)}}", variable(&name));
        // its condition is asked before the turn begins
        self.words.turns.enter(element.name(), following.clone());
        let around = self.around(element);
        let mut is_asked_for = self.words.turns.leave();
        let mut around = around?;
        self.words.turns.enter(element.name(), variable(&name));
        self.loops += 1;
        let mut steps = self.inside(element, outer);
        self.loops -= 1;
        is_asked_for |= self.words.turns.leave();
        if let Around::Step(step) = &mut around
            && is_asked_for
            && !steps.is_empty()
        {
            self.set.insert(name.clone());
            step.set.insert(name.clone(), "-1".into());
            let set = [(name, following)].into();
            let turn = Step { repeat: Some(placed(1)), set, ..Step::default() };
            steps = vec![DraftStep::around(turn, steps)];
        }
        Ok(self.put_around(element, around, steps))
    }
}
