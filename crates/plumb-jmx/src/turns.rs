//! Turns that a plan asks for: those of the group, and of the loops around a request, by their names.
//!
//! # Source
//! The JMeter user manual, "Component Reference": `__jm__<name of your element>__idx` of a Thread Group, a
//! Loop, a ForEach and a While controller counts from 0. Behind a loop it is 0, as nothing here is.

use plumb_draft::DraftStep;
use plumb_draft::template::{variable, variable_name};
use plumb_scenario::file::{Step, placed};

use super::Importer;
use super::controller::Around;
use super::element::Element;
use super::scope::Scope;

/// The turns of the group and of the loops around the text at hand, the innermost last.
#[derive(Debug, Default)]
pub(super) struct Turns(Vec<Turn>);

#[derive(Debug)]
struct Turn {
    /// Of the element, as it is written.
    of: String,
    /// The number of the turn, from 0.
    template: String,
    /// Something asked for it.
    is_asked_for: bool,
}

/// The element whose turn is meant by the function `name`.
pub(super) fn turned(name: &str) -> Option<&str> {
    name.strip_prefix("__jm__")?.strip_suffix("__idx")
}

impl Turns {
    /// The elements at hand are those of another group.
    pub(super) fn begin_group(&mut self, name: &str) {
        self.0.clear();
        self.enter(name, "${sum(${iteration()}, -1)}".into());
    }

    fn enter(&mut self, of: &str, template: String) {
        self.0.push(Turn { of: of.to_owned(), template, is_asked_for: false });
    }

    /// Leaves the innermost; true when something asked for its turn.
    fn leave(&mut self) -> bool {
        self.0.pop().is_some_and(|turn| turn.is_asked_for)
    }

    /// The number of the turn that the function `name` means; `None` where none is under way.
    pub(super) fn template(&mut self, name: &str) -> Option<String> {
        let of = turned(name)?;
        let turn = self.0.iter_mut().rfind(|turn| turn.of == of)?;
        turn.is_asked_for = true;
        Some(turn.template.clone())
    }
}

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
