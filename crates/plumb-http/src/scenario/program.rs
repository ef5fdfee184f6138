//! A script as a flat program: requests, pauses, and jumps for everything that is nested.

use std::sync::Arc;

use plumb_measure::Share;
use plumb_scenario::check::Checker;
use plumb_scenario::condition::Condition;
use plumb_scenario::extract::Extractor;
use plumb_scenario::file::Think;
use plumb_scenario::template::Template;
use plumb_scenario::variables::Slot;

use super::request_template::RequestTemplate;
use super::resources::PageResources;

/// A place in a program.
pub(crate) type InstructionIndex = u32;

/// One thing that a user does.
#[derive(Clone, Debug)]
pub(crate) enum Instruction {
    /// Asks for the step with this number.
    Request(u16),
    /// Waits.
    Think(Think),
    /// Goes on at `to`, except in this share of the turns.
    Share { share: Share, to: InstructionIndex },
    /// Goes on at `to` unless the condition holds. When that cannot be decided, step `fails` does.
    Unless { condition: Condition, to: InstructionIndex, fails: u16 },
    /// Gives variables their values. Where one cannot be made step `fails` does, and it goes on at
    /// `to`.
    Set { values: Box<[(Slot, Template)]>, to: InstructionIndex, fails: u16 },
    /// Begins a loop over the values of a list; of an empty one goes on at `to`. Without a list
    /// step `fails` does.
    Each { fails: u16, list: Slot, variable: Slot, most: u64, turns: Turns, to: InstructionIndex },
    /// Begins a loop of so many turns.
    Repeat(u64),
    /// Begins a loop whose turns are asked for one by one: `While` follows.
    Turns,
    /// The next turn of the innermost loop where the condition holds, unless it had `most`; else goes
    /// on at `to`. When that cannot be decided, step `fails` does.
    While { condition: Condition, most: u64, to: InstructionIndex, fails: u16 },
    /// The next turn of the innermost loop, whose body begins at `to`.
    Again { to: InstructionIndex },
    /// Begins a group that is timed as one, under this row of the groups.
    Group(u16),
    /// Ends it.
    GroupEnd,
    /// Asks for several at the same time.
    Parallel(Arc<Parallel>),
}

/// Requests that are made at the same time.
#[derive(Debug)]
pub(crate) struct Parallel {
    /// The row of the groups that times them as one; `None` where that around them does.
    pub(crate) row: Option<u16>,
    pub(crate) parts: Vec<ParallelPart>,
    /// What the page before embeds is asked for.
    pub(crate) resources: Option<Arc<PageResources>>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct ParallelPart {
    pub(crate) step: u16,
    /// It is made in this share of the turns.
    pub(crate) share: Option<Share>,
    /// It is made if this holds.
    pub(crate) condition: Option<Condition>,
}

impl Instruction {
    /// The steps that it asks for itself.
    pub(crate) fn requests(&self) -> impl Iterator<Item = u16> + '_ {
        let (one, several) = match self {
            Self::Request(step) => (Some(*step), &[][..]),
            Self::Parallel(parallel) => (None, &parallel.parts[..]),
            _ => (None, &[][..]),
        };
        one.into_iter().chain(several.iter().map(|part| part.step))
    }
}

/// The think times behind what failed, of a user that goes on at `at`: its own, and those of the groups
/// and loops that it ends.
pub(crate) fn thinks_behind(program: &Program, at: InstructionIndex) -> Vec<Think> {
    let (passed, ahead) = program.split_at(program.len().min(at as usize));
    // of what could not be decided its own are passed; else nothing is between a request and `at`
    let mut all = thinks_at_end(passed);
    all.extend(thinks_of_ends(ahead));
    all
}

/// The first ones that a user comes to behind `at`.
pub(crate) fn thinks_ahead(program: &Program, at: InstructionIndex) -> Vec<Think> {
    let waits = |it: &&Instruction| matches!(it, Instruction::Think(_));
    let ahead = program.get(at as usize..).unwrap_or_default();
    let first = ahead.iter().take_while(|it| !waits(it)).count();
    thinks_of_ends(&ahead[first..])
}

/// Those before the next step.
fn thinks_of_ends(instructions: &[Instruction]) -> Vec<Think> {
    let ends = |it: &&Instruction| match it {
        Instruction::Think(_) | Instruction::GroupEnd => true,
        Instruction::Parallel(parallel) => parallel.resources.is_some(), // of a page that failed
        _ => false,
    };
    thinks(instructions.iter().take_while(ends))
}

/// Those behind the last step of `program`.
pub(crate) fn thinks_at_end(program: &[Instruction]) -> Vec<Think> {
    let ends = |it: &&Instruction| {
        matches!(it, Instruction::Think(_) | Instruction::GroupEnd | Instruction::Again { .. })
    };
    thinks(program.iter().rev().take_while(ends))
}

fn thinks<'a>(instructions: impl Iterator<Item = &'a Instruction>) -> Vec<Think> {
    let think = |it: &Instruction| match it {
        Instruction::Think(think) => Some(*think),
        _ => None,
    };
    instructions.filter_map(think).collect()
}

/// Whose turns those of a list are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turns {
    /// Every user all of them.
    Own,
    /// All users share the list with this number: each value once.
    Shared(usize),
}

/// A request of a script, and what its answer must be.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// As reports call it.
    pub(crate) name: String,
    /// Where it stands in the file: `line 12`.
    pub(crate) place: String,
    /// The row that records it.
    pub(crate) row: u16,
    pub(crate) request_template: RequestTemplate,
    /// Redirects that are followed at most; 0: none.
    pub(crate) redirects: u8,
    /// Who records the answers that were redirects; `None` where nothing is recorded.
    pub(crate) hop_rows: Option<HopRows>,
    pub(crate) checker: Checker,
    /// The answer must be complete within this, from the due time.
    pub(crate) within_ns: u64,
    pub(crate) extracts: Vec<Extractor>,
    /// What its page embeds is asked for.
    pub(crate) resources: Option<Arc<PageResources>>,
}

/// The rows of the redirects that a step follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HopRows {
    /// The row of the first; the others follow, up to [`HOP_ROWS`].
    pub(crate) first: u16,
    /// That of challenges, of a load that answers them.
    pub(crate) challenge: Option<u16>,
    /// The row of the groups that has the step with all its redirects.
    pub(crate) whole: u16,
}

/// Rows of redirects that a step has; the last is of all further ones.
pub(crate) const HOP_ROWS: u16 = 5;

impl HopRows {
    /// The row of redirect `number`, from 1.
    pub(crate) fn row(self, number: u8) -> u16 {
        self.first + u16::from(number).clamp(1, HOP_ROWS) - 1
    }
}

impl Step {
    /// True when somebody looks into the content.
    pub(crate) fn keeps_content(&self) -> bool {
        let extracted = || self.extracts.iter().any(Extractor::needs_content);
        self.resources.is_some() || self.checker.needs_content() || extracted()
    }

    /// True when it follows the redirect that an answer with `status` is: one that nobody expects, and
    /// whose address nobody takes.
    ///
    /// # Source
    /// RFC 9110, section 15.4: the others let the client choose, or say that nothing changed.
    pub(crate) fn follows(&self, status: u16) -> bool {
        matches!(status, 301..=303 | 307 | 308)
            && self.redirects > 0
            && !self.checker.expects(status)
    }

    /// True when a header is looked for after the content came.
    pub(crate) fn keeps_head(&self) -> bool {
        let extracted = || self.extracts.iter().any(|extract| !extract.needs_content());
        self.resources.is_some() || extracted()
    }
}

/// What users of a scenario do, one after another.
pub(crate) type Program = Vec<Instruction>;
