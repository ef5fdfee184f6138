//! Variables of a plan that stand in the file: what its authors defined, what stands for properties
//! and functions, and what nothing sets.

use std::collections::BTreeSet;

use plumb_draft::note::Place;
use plumb_draft::template::variable_name;
use plumb_scenario::placeholder::{Piece, pieces};
use plumb_wire::secret::is_secret;

use super::Importer;
use super::element::Element;

impl Importer {
    /// Takes down the user-defined variables of `list`.
    pub(super) fn define(&mut self, list: &Element<'_>, at: &Element<'_>) {
        for argument in list.members("Arguments.arguments") {
            let name = argument.text("Argument.name").trim();
            let value = argument.text("Argument.value");
            if name.is_empty() {
                continue;
            }
            self.words.define(name, value);
            let plain = variable_name(name);
            self.secrets.leave(&plain);
            self.set.insert(plain.clone());
            self.words.defines = true;
            let template = self.words.template(value, at, &mut self.draft.notes);
            self.words.defines = false;
            for (name, value) in self.words.take_stored() {
                self.set.insert(name.clone());
                self.draft.file.variables.insert(name, value);
            }
            let is_written_out = !template.is_empty() && !template.contains("${");
            let value = if is_secret(name) && is_written_out {
                let why = "a secret of the plan, left out: fill it in";
                self.draft.remark(format!("variables.{plain}"), why);
                String::new()
            } else {
                template
            };
            self.draft.file.variables.insert(plain, value);
        }
    }

    /// Declares what else the scenario needs.
    pub(super) fn settle_variables(&mut self) {
        for (name, value) in self.words.take_properties() {
            let why = format!("a property of the plan's command line: --variable {name}=VALUE");
            self.draft.remark(format!("variables.{name}"), why);
            self.draft.file.variables.entry(name).or_insert(value);
        }
        let stand_ins: Vec<(String, String)> = self
            .words
            .stand_ins()
            .map(|(name, written)| (name.to_owned(), written.to_owned()))
            .collect();
        for (name, written) in stand_ins {
            self.draft
                .remark(format!("variables.{name}"), format!("stands for {written}: fill it in"));
            self.draft.file.variables.insert(name, String::new());
        }
        self.name_unset_variables();
        self.quote_later_ones();
    }

    /// A variable that refers to what only the load knows, or to itself, holds the reference as it is
    /// written, as it does in JMeter: its value is made once, before the load.
    fn quote_later_ones(&mut self) {
        let variables = &mut self.draft.file.variables;
        let mut known = BTreeSet::new();
        loop {
            let before = known.len();
            for (name, value) in &*variables {
                if references(value).all(|it| known.contains(it)) {
                    known.insert(name.clone());
                }
            }
            if known.len() == before {
                break;
            }
        }
        for (name, value) in variables {
            if !known.contains(name) {
                *value = value.replace("$${", "${").replace("${", "$${");
                let why = "it refers to what only the load knows: the text stands as it is written";
                self.draft.notes.add(Place::File, format!("the variable `{name}`"), why);
            }
        }
    }

    /// Variables that nothing sets would stop the load: they are declared, empty.
    fn name_unset_variables(&mut self) {
        if self.has_unnamed_data {
            return;
        }
        let used = std::mem::take(&mut self.words.used);
        for (name, place) in used {
            if !self.set.contains(&name) && !self.draft.file.variables.contains_key(&name) {
                let what = format!("the variable `{name}`");
                let why = "nothing that was carried over sets it; it stands empty in `variables`";
                self.draft.notes.add(place, what, why);
                self.draft.remark(format!("variables.{name}"), "nothing sets it: fill it in");
                self.draft.file.variables.insert(name, String::new());
            }
        }
    }
}

/// The variables that a template refers to, also within the arguments of calls.
fn references(template: &str) -> Box<dyn Iterator<Item = &str> + '_> {
    Box::new(pieces(template).into_iter().flat_map(|piece| -> Box<dyn Iterator<Item = &str>> {
        match piece {
            Piece::Text(_) => Box::new(std::iter::empty()),
            Piece::Placeholder(inner) if inner.contains('(') => references(inner),
            Piece::Placeholder(inner) => {
                Box::new(std::iter::once(inner.split(':').next().unwrap_or(inner)))
            }
        }
    }))
}
