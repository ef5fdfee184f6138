//! From the steps of a file to the programs that users follow.

mod headers;
mod loops;
mod parallel;
mod parts;
mod request;
mod resources;
mod rows;

use std::ops::Range;

use plumb_measure::{LoadPart, Share};
use plumb_scenario::Patterns;
use plumb_scenario::ScenarioError;
use plumb_scenario::extract::Extractor;
use plumb_scenario::file::{self, Pairs, Redirects, Think};
use plumb_scenario::variables::{Names, Slot};
use plumb_scenario::{ScenarioSource, place_of};
use plumb_wire::document::nearest;

use super::origin::Origins;
use super::program::{Instruction, InstructionIndex, Program, Step};

pub(crate) use headers::{header_problem, last_of_each};
pub(crate) use request::usual_method;

/// Steps within steps.
const DEPTH_MAX: usize = 32;

/// Whose rows the steps of a preparation are: no scenario can have this name.
pub(crate) const PREPARATION: &str = "\0prepare";
/// What stands before the name of a scenario whose rows those of its `finish` steps are; of those of
/// the load there is no name behind it.
pub(crate) const FINISH: &str = "\0finish ";

/// A row of the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) scenario: String,
    pub(crate) name: String,
}

/// Makes programs of steps.
#[derive(Debug)]
pub(crate) struct Compiler<'a> {
    source: &'a ScenarioSource,
    origins: &'a Origins,
    exclude: &'a Patterns,
    pub(crate) names: Names,
    pub(crate) steps: Vec<Step>,
    pub(crate) rows: Vec<Row>,
    pub(crate) groups: Vec<Row>,
    /// The rows of steps that follow redirects, or answer a challenge, which the flag says.
    redirected: Vec<(u16, bool)>,
    /// Lists whose turns all users of the scenario share.
    pub(crate) lists: usize,
    /// Steps that `exclude` names.
    pub(crate) excluded: usize,
    /// Variables that are used, and where.
    used: Vec<(Slot, Range<usize>)>,
}

/// What all steps of a scenario have in common.
#[derive(Clone, Debug)]
pub(crate) struct Manner<'a> {
    pub(crate) scenario: &'a str,
    /// Header lines of the file, of the scenario, and of the command line.
    pub(crate) file: &'a Pairs,
    pub(crate) headers: &'a [&'a Pairs],
    pub(crate) told: &'a Pairs,
    /// The value of an `Authorization` line.
    pub(crate) authorization: Option<&'a str>,
    pub(crate) think: Option<Think>,
    pub(crate) redirects: Redirects,
    /// Who asks is proved when the server wants to know.
    pub(crate) challenged: bool,
    /// Each request has a connection of its own.
    pub(crate) close: bool,
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(
        source: &'a ScenarioSource,
        origins: &'a Origins,
        exclude: &'a Patterns,
        part: LoadPart,
    ) -> Self {
        Self {
            source,
            origins,
            exclude,
            names: Names::with_values(part),
            steps: Vec::new(),
            rows: Vec::new(),
            groups: Vec::new(),
            redirected: Vec::new(),
            lists: 0,
            excluded: 0,
            used: Vec::new(),
        }
    }

    /// The program of `steps`.
    ///
    /// # Errors
    /// [`ScenarioError::Wrong`] with the place of the first thing that cannot be.
    pub(crate) fn program(
        &mut self,
        steps: &[file::Step],
        manner: &Manner<'_>,
    ) -> Result<Program, ScenarioError> {
        let mut program = Program::new();
        for step in steps {
            self.step(step, manner, 0, &mut program)?;
        }
        Ok(program)
    }

    /// Refuses a variable that is used and that nothing in `defined` gives a value; forgets what
    /// was used.
    pub(crate) fn check_variables(&mut self, defined: &[Slot]) -> Result<(), ScenarioError> {
        let used = std::mem::take(&mut self.used);
        let Some((slot, at)) = used.iter().find(|(slot, _)| !defined.contains(slot)) else {
            return Ok(());
        };
        let name = self.names.name(*slot);
        let known = defined.iter().map(|slot| self.names.name(*slot));
        let meant = nearest(name, known)
            .map(|meant| format!("; did you mean `{meant}`?"))
            .unwrap_or_default();
        let problem = format!(
            "nothing gives `{name}` a value: name it in variables, data, extract, set or as{meant}"
        );
        Err(self.source.wrong(at, problem))
    }

    /// The variables that the steps of `program` and their answers set.
    pub(crate) fn set_by(&self, program: &Program) -> Vec<Slot> {
        let mut slots = Vec::new();
        for instruction in program {
            match instruction {
                Instruction::Each { variable, .. } => slots.push(*variable),
                Instruction::Set { values, .. } => {
                    slots.extend(values.iter().map(|(slot, _)| *slot))
                }
                other => slots.extend(other.requests().flat_map(|step| {
                    self.steps[usize::from(step)].extracts.iter().map(Extractor::slot)
                })),
            }
        }
        slots
    }

    /// The variables used since they were checked last, for a check to come.
    pub(crate) fn take_used(&mut self) -> Vec<(Slot, Range<usize>)> {
        std::mem::take(&mut self.used)
    }

    /// Lets the next check look at `used`, too.
    pub(crate) fn add_used(&mut self, used: Vec<(Slot, Range<usize>)>) {
        self.used.extend(used);
    }

    /// Appends one step, with everything in it.
    fn step(
        &mut self,
        step: &file::Step,
        manner: &Manner<'_>,
        depth: usize,
        program: &mut Program,
    ) -> Result<(), ScenarioError> {
        let at = place_of(step);
        if depth > DEPTH_MAX {
            return Err(self.source.wrong(&at, format!("steps stand {DEPTH_MAX} deep at most")));
        }
        let kind = self.kind(step, &at)?;
        let from = program.len();
        let guards = self.guards(step, program)?;
        match kind {
            Kind::Request(target) => {
                if !self.page(step, target, manner, program)? {
                    program.truncate(from); // excluded
                    return Ok(());
                }
                push_think(think_of(step).or(manner.think), program);
            }
            Kind::Group(name) => {
                let row = number(self.groups.len());
                self.groups.push(Row { scenario: manner.scenario.into(), name: name.into() });
                program.push(Instruction::Group(row));
                let kept = self.body(step, manner, depth, &at, program)?;
                program.push(Instruction::GroupEnd);
                if !kept {
                    self.groups.pop();
                    program.truncate(from);
                    return Ok(());
                }
                push_think(think_of(step), program);
            }
            Kind::Parallel(name) => {
                if !self.parallel(step, name, manner, (depth, &at), program)? {
                    program.truncate(from);
                    return Ok(());
                }
                push_think(think_of(step), program);
            }
            Kind::Each | Kind::Repeat(_) | Kind::While(_) => {
                let start = program.len();
                self.loop_start(step, kind, program)?;
                // the instruction that leaves the loop, and the one at which a turn begins
                let (leaves, again) = match kind {
                    Kind::While(_) => (start + 1, start + 1),
                    _ => (start, start + 1),
                };
                if !self.body(step, manner, depth, &at, program)? {
                    program.truncate(from);
                    return Ok(());
                }
                push_think(think_of(step), program);
                program.push(Instruction::Again { to: place(again) });
                let (end, first) = (place(program.len()), first_request(&program[start..]));
                if let Instruction::Each { to, fails, .. } | Instruction::While { to, fails, .. } =
                    &mut program[leaves]
                {
                    (*to, *fails) = (end, first);
                }
            }
        }
        let (end, first) = (place(program.len()), first_request(&program[from..]));
        for guard in guards {
            match &mut program[guard] {
                Instruction::Share { to, .. } => *to = end,
                Instruction::Unless { to, fails, .. } | Instruction::Set { to, fails, .. } => {
                    (*to, *fails) = (end, first);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The steps within a step; false when all of them are excluded.
    fn body(
        &mut self,
        step: &file::Step,
        manner: &Manner<'_>,
        depth: usize,
        at: &Range<usize>,
        program: &mut Program,
    ) -> Result<bool, ScenarioError> {
        let (from, excluded) = (program.len(), self.excluded);
        for inner in &step.step {
            self.step(inner, manner, depth + 1, program)?;
        }
        let asks = program[from..].iter().any(|it| it.requests().next().is_some());
        if !asks && excluded == self.excluded {
            return Err(self.source.wrong(
                at,
                "this asks for nothing: give it steps that do, as [[scenario.step.step]]",
            ));
        }
        Ok(asks)
    }

    /// Which of the kinds of steps it is.
    fn kind<'s>(&self, step: &'s file::Step, at: &Range<usize>) -> Result<Kind<'s>, ScenarioError> {
        let target = step.get.as_ref().or(step.path.as_ref());
        let named = [
            step.get.is_some(),
            step.path.is_some(),
            step.each.is_some(),
            step.repeat.is_some(),
            step.holds.is_some(),
            step.group.is_some(),
            step.parallel.is_some(),
        ];
        if named.into_iter().filter(|named| *named).count() != 1 {
            let problem =
                "a step has exactly one of get, path, each, repeat, while, group and parallel";
            return Err(self.source.wrong(at, problem));
        }
        let named =
            |text: &'s Option<toml::Spanned<String>>| Some(text.as_ref()?.get_ref().as_str());
        let several = (named(&step.group), named(&step.parallel));
        let kind = match (target, &step.repeat, &step.holds, several) {
            (Some(target), ..) => Kind::Request(target),
            (_, Some(turns), ..) => Kind::Repeat(*turns.get_ref()),
            (_, _, Some(condition), _) => Kind::While(condition),
            (.., (Some(name), _)) => Kind::Group(name),
            (.., (_, Some(name))) => Kind::Parallel(name),
            (None, None, None, (None, None)) => Kind::Each,
        };
        match self.misplaced(step, &kind) {
            None => Ok(kind),
            Some(problem) => Err(self.source.wrong(at, problem)),
        }
    }

    /// A key that does not belong to this kind of step.
    fn misplaced(&self, step: &file::Step, kind: &Kind<'_>) -> Option<String> {
        let request = matches!(kind, Kind::Request(_));
        let each = matches!(kind, Kind::Each);
        let counts = each || matches!(kind, Kind::While(_));
        let keys = [
            ("method", step.method.is_some(), request && step.get.is_none()),
            ("headers", !step.headers.is_empty(), request),
            ("redirects", step.redirects.is_some(), request),
            ("resources", step.resources.is_some(), request),
            ("body", step.body.is_some(), request && step.get.is_none()),
            ("body-file", step.body_file.is_some(), request && step.get.is_none()),
            ("parts", !step.parts.is_empty(), request && step.get.is_none()),
            ("batch", !step.batch.is_empty(), request && step.get.is_none()),
            ("check", step.check.is_some(), request),
            ("extract", !step.extract.is_empty(), request),
            ("name", step.name.is_some(), request),
            ("as", step.variable.is_some(), each),
            ("most", step.most.is_some(), counts),
            ("turns", step.turns != file::Turns::Own, each),
            ("step", !step.step.is_empty(), !request),
        ];
        let (key, ..) = keys.into_iter().find(|(_, there, fits)| *there && !fits)?;
        Some(match key {
            "name" => "a loop has no row to name; a group has its name in group = \"...\"".into(),
            "method" | "body" | "body-file" | "parts" | "batch" => {
                format!("`{key}` belongs to path = \"...\"; get is a GET without content")
            }
            _ => format!("`{key}` does not belong to this kind of step"),
        })
    }

    /// The instructions that may lead past a step, what it sets among them; says where they stand.
    fn guards(
        &mut self,
        step: &file::Step,
        program: &mut Program,
    ) -> Result<Vec<usize>, ScenarioError> {
        let mut guards = Vec::new();
        if let Some(text) = &step.share {
            let share: Share = text
                .get_ref()
                .parse()
                .map_err(|error| self.source.wrong(&text.span(), format!("share: {error}")))?;
            guards.push(program.len());
            program.push(Instruction::Share { share, to: 0 });
        }
        if let Some(text) = &step.condition {
            let condition = self.condition("if", text)?;
            guards.push(program.len());
            program.push(Instruction::Unless { condition, to: 0, fails: 0 });
        }
        if !step.set.is_empty() {
            guards.push(program.len());
            let values = self.values(step)?;
            program.push(Instruction::Set { values, to: 0, fails: 0 });
        }
        Ok(guards)
    }
}

/// What a step does.
#[derive(Clone, Copy, Debug)]
enum Kind<'s> {
    Request(&'s toml::Spanned<String>),
    Each,
    Repeat(u64),
    While(&'s toml::Spanned<String>),
    Group(&'s str),
    Parallel(&'s str),
}

/// The name of a variable that may be written as `${NAME}`.
pub(crate) fn bare(name: &str) -> &str {
    name.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).unwrap_or(name)
}

/// The step that is asked for first.
fn first_request(program: &[Instruction]) -> u16 {
    program.iter().flat_map(Instruction::requests).next().unwrap_or(0) // there is one: what asks for nothing was refused
}

fn think_of(step: &file::Step) -> Option<Think> {
    step.think.as_ref().map(|think| *think.get_ref())
}

fn push_think(think: Option<Think>, program: &mut Program) {
    program.extend(think.map(Instruction::Think));
}

fn number(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX) // STEPS_MAX is below
}

fn place(index: usize) -> InstructionIndex {
    InstructionIndex::try_from(index).unwrap_or(InstructionIndex::MAX) // a few for each step
}
