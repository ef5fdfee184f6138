//! What a page embeds, asked for behind it.

use std::sync::Arc;

use plumb_scenario::ScenarioError;
use plumb_scenario::file;
use plumb_scenario::resources::Wanted;

use super::{Compiler, Manner, Row, number};
use crate::scenario::program::{Instruction, Parallel, Program};
use crate::scenario::resources::PageResources;

impl Compiler<'_> {
    /// Appends a request; false when it is excluded. Where what its page embeds is asked for behind it,
    /// both are timed as one.
    pub(super) fn page(
        &mut self,
        step: &file::Step,
        target: &toml::Spanned<String>,
        manner: &Manner<'_>,
        program: &mut Program,
    ) -> Result<bool, ScenarioError> {
        if self.exclude.has(target.get_ref()) {
            self.excluded += 1;
            return Ok(false);
        }
        let Some(written) = &step.resources else {
            self.request(step, target, manner, program)?;
            return Ok(true);
        };
        let (at, written) = (written.span(), written.get_ref());
        let wanted = Wanted::new(written)
            .map_err(|error| self.source.wrong(&at, format!("resources: {error}")))?;
        let from = program.len();
        program.push(Instruction::Group(0)); // its row is known when the request has a name
        self.request(step, target, manner, program)?;
        let page = self.steps.len() - 1;
        let name = format!("{} (resources)", self.steps[page].name);
        let one = file::Step {
            name: Some(file::placed(name)),
            headers: step.headers.clone(),
            redirects: step.redirects,
            ..file::Step::default()
        };
        let root = toml::Spanned::new(target.span(), "/".to_owned());
        let mut of_resources = Program::new();
        let own = Manner { think: None, ..manner.clone() };
        self.request(&one, &root, &own, &mut of_resources)?;
        let resources = Arc::new(PageResources {
            wanted,
            exclude: self.exclude.clone(),
            step: number(self.steps.len() - 1),
            at_once: written.connections.map(usize::from),
        });
        self.steps[page].resources = Some(Arc::clone(&resources));
        let row = self.group_row(Row {
            scenario: manner.scenario.into(),
            name: format!("{} (with resources)", self.steps[page].name),
        });
        program[from] = Instruction::Group(row);
        let parallel = Parallel { row: None, parts: Vec::new(), resources: Some(resources) };
        program.push(Instruction::Parallel(Arc::new(parallel)));
        program.push(Instruction::GroupEnd);
        Ok(true)
    }

    /// The number of a row of the groups; pages of one name share theirs.
    fn group_row(&mut self, row: Row) -> u16 {
        let known = self.groups.iter().position(|known| *known == row);
        number(known.unwrap_or_else(|| {
            self.groups.push(row);
            self.groups.len() - 1
        }))
    }
}
