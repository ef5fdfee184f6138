//! What is measured in one block, of which cell and which variant.

use plumb_experiment::{ExperimentFile, Template, names::FOLDER};
use plumb_lab::CellRecord;
use plumb_measure::Span;

use super::probe::Probe;

/// Blocks of one round at most.
pub(super) const BLOCKS_MAX: usize = 2_000;
/// Length of a block when neither the file nor its command says one.
pub(super) const BLOCK: Span = Span::from_ms(2_000);
/// How long a shell command may take when the file says nothing.
pub(crate) const COMMAND_TIMEOUT: Span = Span::from_ms(300_000);

/// One of the things compared.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    pub(crate) name: String,
    /// What is run, as one line; levels of factors stand in it by their names.
    pub(crate) command: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    /// Its commands and settings are those of the baseline.
    pub(crate) same_as_baseline: bool,
}

/// A probe at one combination of the levels of the factors that it depends on.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) record: CellRecord,
    /// One a variant.
    pub(crate) blocks: Vec<BlockPlan>,
}

/// How one variant is measured in one cell. What is left of names in its commands is known when it
/// begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockPlan {
    pub(crate) before: Option<Template>,
    pub(crate) after: Option<Template>,
    /// The command of every server, in their order.
    pub(crate) servers: Vec<Template>,
    pub(crate) probe: Probe,
}

impl BlockPlan {
    /// True when one of its commands names the folder of the block.
    pub(crate) fn names_folder(&self) -> bool {
        let switches = self.before.iter().chain(&self.after);
        let mut names = switches.chain(&self.servers).flat_map(Template::names);
        names.any(|name| name == FOLDER) || self.probe.names_folder()
    }
}

/// How long a shell command may take.
pub(super) fn command_timeout(file: &ExperimentFile) -> Span {
    file.command_timeout.as_ref().map_or(COMMAND_TIMEOUT, |it| *it.get_ref())
}
