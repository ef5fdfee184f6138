//! Loops, and the conditions that hold for them.

use std::ops::Range;

use plumb_scenario::ScenarioError;
use plumb_scenario::condition::Condition;
use plumb_scenario::file;
use plumb_scenario::variables::Slot;

use super::{Compiler, Kind, bare, place_of};
use crate::scenario::program::{Instruction, Program, Turns};

impl Compiler<'_> {
    /// The condition that stands at `key`.
    pub(super) fn condition(
        &mut self,
        key: &str,
        text: &toml::Spanned<String>,
    ) -> Result<Condition, ScenarioError> {
        let at = text.span();
        let condition = Condition::parse(text.get_ref(), &mut self.names)
            .map_err(|error| self.source.wrong(&at, format!("{key}: {error}")))?;
        self.used.extend(condition.slots().map(|slot| (slot, at.clone())));
        Ok(condition)
    }

    /// Turns of a loop at most.
    fn most(&self, step: &file::Step, at: &Range<usize>) -> Result<u64, ScenarioError> {
        match step.most.as_ref().map(toml::Spanned::get_ref) {
            None => Ok(u64::MAX),
            Some(0) => Err(self.source.wrong(at, "most = 0 does nothing: write 1 or more")),
            Some(most) => Ok(*most),
        }
    }

    /// Puts the beginning of a loop into `program`.
    pub(super) fn loop_start(
        &mut self,
        step: &file::Step,
        kind: Kind<'_>,
        program: &mut Program,
    ) -> Result<(), ScenarioError> {
        let at = place_of(step);
        match kind {
            Kind::Repeat(0) => {
                return Err(self.source.wrong(&at, "repeat = 0 does nothing: write 1 or more"));
            }
            Kind::Repeat(turns) => program.push(Instruction::Repeat(turns)),
            Kind::While(text) => {
                let (condition, most) = (self.condition("while", text)?, self.most(step, &at)?);
                program.push(Instruction::Turns);
                program.push(Instruction::While { condition, most, to: 0, fails: 0 });
            }
            Kind::Each | Kind::Request(_) | Kind::Group(_) | Kind::Parallel(_) => {
                program.push(self.each(step, &at)?);
            }
        }
        Ok(())
    }

    fn each(&mut self, step: &file::Step, at: &Range<usize>) -> Result<Instruction, ScenarioError> {
        let list = self.slot(step.each.as_ref().map(toml::Spanned::get_ref), at)?;
        let Some(variable) = &step.variable else {
            let problem = "each needs as = \"...\": the variable that holds the value of the turn";
            return Err(self.source.wrong(at, problem));
        };
        let variable_at = variable.span();
        let variable = self.slot(Some(variable.get_ref()), &variable_at)?;
        self.used.push((list, at.clone()));
        let most = self.most(step, at)?;
        let turns = match step.turns {
            file::Turns::Own => Turns::Own,
            file::Turns::Shared => {
                self.lists += 1;
                Turns::Shared(self.lists - 1)
            }
        };
        Ok(Instruction::Each { fails: 0, list, variable, most, turns, to: 0 })
    }

    /// The slot of a list or variable, written with or without `${}`.
    pub(super) fn slot(
        &mut self,
        name: Option<&String>,
        at: &Range<usize>,
    ) -> Result<Slot, ScenarioError> {
        let name = bare(name.map_or("", String::as_str));
        self.names.slot(name).map_err(|error| self.source.wrong(at, error.to_string()))
    }
}
