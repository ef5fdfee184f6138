//! A ladder that can be climbed: its plan, with its servers and its command looked at.

use anyhow::ensure;
use plumb_experiment::{ExperimentFile, LadderPlan};
use plumb_measure::Span;

use crate::experiment::{Probe, ServerPlan};

/// A ladder, checked.
#[derive(Clone, Debug)]
pub(super) struct Ladder {
    pub(super) plan: LadderPlan,
    pub(super) servers: Vec<ServerPlan>,
}

impl Ladder {
    /// The ladder of `text`; one without a name is called `stem`.
    pub(super) fn read(text: &str, stem: &str) -> anyhow::Result<Self> {
        let plan = LadderPlan::read(text, stem)?;
        let server = plan.servers.clone();
        let servers = ServerPlan::all(&ExperimentFile { server, ..ExperimentFile::default() })?;
        let ladder = Self { plan, servers };
        let probe = ladder.probe(ladder.plan.levels[0], ladder.plan.step)?;
        ensure!(
            probe.points == 1,
            "[ladder] run: `{}` measures {} results at each step, and a ladder follows one: name one \
             size, and leave {} to the ladder",
            ladder.plan.run(),
            probe.points,
            ladder.plan.stepped
        );
        Ok(ladder)
    }

    /// How the step of `level` is measured for `length`.
    pub(super) fn probe(&self, level: u32, length: Span) -> anyhow::Result<Probe> {
        Probe::plumb(&self.plan.command(level, length)?, &self.plan.names(), length)
    }
}
