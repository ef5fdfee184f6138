//! Turns that a plan asks for: those of the group, and of the loops around a request, by their names.
//!
//! # Source
//! The JMeter user manual, "Component Reference": `__jm__<name of your element>__idx` of a Thread Group, a
//! Loop, a ForEach and a While controller counts from 0. Behind a loop it is 0, as nothing here is.

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

    /// The turns of the element `of` are at hand; `template` is their number, from 0.
    pub(super) fn enter(&mut self, of: &str, template: String) {
        self.0.push(Turn { of: of.to_owned(), template, is_asked_for: false });
    }

    /// Leaves the innermost; true when something asked for its turn.
    pub(super) fn leave(&mut self) -> bool {
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
