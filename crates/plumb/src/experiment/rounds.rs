//! The rounds of an experiment: who takes his turn, what is kept of it, when it is over.

use std::path::Path;

use anyhow::Context as _;
use plumb_engine::Stop;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_lab::{
    Block, BlockRecord, Course, Detail, Experiment, Extent, FAILURES_MAX, FailedBlock, Failure,
    Fate, Faults, ORDER_SCHEMA, Order, OrderRecord, Progress, Turn, VariantBlocks, VariantRecord,
    interleaved,
};
use plumb_measure::{Clock as _, Comparison};
use plumb_report::ExperimentFolder;

use super::plan::{BlockPlan, Plan};
use super::probe::Addresses;
use super::program;
use super::servers::Servers;
use super::shell::{self, Disturbed};

/// Whoever looks on at an experiment.
pub(crate) trait Watcher {
    /// A round is over.
    ///
    /// # Errors
    /// When it cannot be shown; the experiment then ends.
    fn round(&mut self, standing: &Standing<'_>) -> anyhow::Result<()>;
}

/// Nobody looks on.
#[derive(Debug)]
pub(crate) struct Nobody;

impl Watcher for Nobody {
    fn round(&mut self, _: &Standing<'_>) -> anyhow::Result<()> {
        Ok(())
    }
}

/// Where an experiment stands behind a round.
pub(crate) struct Standing<'a> {
    pub(crate) progress: Progress,
    /// Blocks taken so far.
    pub(crate) blocks: u64,
    /// What they took altogether, nanoseconds.
    pub(crate) took_ns: u64,
    /// Works out the primary figures so far.
    pub(crate) compared: &'a dyn Fn() -> anyhow::Result<Comparison>,
}

/// An experiment under way.
#[derive(Debug)]
pub(crate) struct Rounds<'a> {
    plan: &'a Plan,
    folder: &'a ExperimentFolder,
    order: OrderRecord,
    variants: Vec<VariantBlocks>,
    course: Course,
    servers: Servers,
}

impl<'a> Rounds<'a> {
    /// Writes down what is going to be done; `file` is the text of the experiment file.
    pub(crate) fn new(
        plan: &'a Plan,
        folder: &'a ExperimentFolder,
        file: &str,
    ) -> anyhow::Result<Self> {
        folder.write_experiment(file)?;
        let variant = |variant: &super::plan::Variant| VariantRecord {
            name: variant.name.clone(),
            command: variant.command.clone(),
            before: variant.before.clone(),
            after: variant.after.clone(),
        };
        let order = OrderRecord {
            schema: ORDER_SCHEMA.into(),
            plumb: program(),
            started: clock::utc(clock::wall_ns()),
            seed: plan.seed,
            extent: Some(plan.extent),
            margin: plan.margin,
            cells: plan.cells.iter().map(|cell| cell.record.clone()).collect(),
            variants: plan.variants.iter().map(variant).collect(),
            blocks: Vec::new(),
            cut_short: None,
        };
        folder.write_order(&order.to_json())?;
        let variants = VariantBlocks::of(&order);
        let course = Course::new(plan.cells.len(), plan.variants.len());
        Ok(Self { plan, folder, order, variants, course, servers: Servers::default() })
    }

    /// Goes on with what `order` says is done.
    pub(crate) fn again(
        plan: &'a Plan,
        folder: &'a ExperimentFolder,
        order: OrderRecord,
    ) -> anyhow::Result<Self> {
        let variants = VariantBlocks::read(&order, folder.path())?;
        let mut course = Course::new(plan.cells.len(), plan.variants.len());
        for record in &order.blocks {
            let fate = match record.failure {
                Some(failure) => failure.into(),
                None => {
                    let blocks = &variants[record.variant].blocks;
                    let is_it = |it: &&Block| it.round == record.round && it.turn == record.turn();
                    let block = blocks.iter().find(is_it).context("a block is there no more")?;
                    fate(block, plan.faults)
                }
            };
            course.took(record.round, record.turn(), fate);
        }
        let order = OrderRecord { cut_short: None, ..order };
        Ok(Self { plan, folder, order, variants, course, servers: Servers::default() })
    }

    /// Measures round after round until the plan is fulfilled or `stop` is asked.
    ///
    /// # Errors
    /// When a folder cannot be written, or no block came to anything.
    pub(crate) fn run(&mut self, stop: &Stop, watcher: &mut dyn Watcher) -> anyhow::Result<()> {
        let mut order = Order::new(self.plan.cells.len(), self.plan.variants.len(), self.plan.seed);
        for round in 1.. {
            let turns = self.course.wanted(order.next_round(), round, self.plan.extent);
            for turn in turns {
                if self.course.has(round, turn) || self.course.given_up(turn) {
                    continue;
                }
                self.block(round, turn, stop)?;
                if stop.asked() {
                    return self.cut_short("interrupted");
                }
            }
            if self.course.is_hopeless() {
                let reason = self.hopeless();
                return self.cut_short(&reason);
            }
            if round < self.order.rounds() {
                continue; // it went on behind this round before
            }
            if self.is_over(round, watcher)? {
                break;
            }
        }
        self.folder.write_order(&self.order.to_json())?;
        Ok(())
    }

    /// Blocks that are taken.
    pub(crate) fn taken(&self) -> usize {
        self.order.blocks.len()
    }

    /// What the blocks so far say.
    pub(crate) fn compare(&self) -> anyhow::Result<Comparison> {
        self.compared(Detail::All)
    }

    fn compared(&self, detail: Detail) -> anyhow::Result<Comparison> {
        let experiment = Experiment { detail, ..Experiment::of(&self.order, self.plan.faults) };
        let now = clock::utc(clock::wall_ns());
        Ok(interleaved(&program(), now, &experiment, &self.variants)?)
    }

    /// Tells where the experiment stands behind `round`, and whether that is the last.
    fn is_over(&self, round: u64, watcher: &mut dyn Watcher) -> anyhow::Result<bool> {
        let compared = || self.compared(Detail::Primary);
        let took_ns = self.order.took_ns();
        let progress = Progress {
            rounds: round,
            complete: self.course.complete(round),
            elapsed_ns: took_ns,
            half_width: match self.plan.extent {
                Extent::Precision(_) => compared()?.widest_half(),
                Extent::Pairs(_) | Extent::Time(_) => None,
            },
        };
        let blocks = self.order.blocks.len() as u64;
        watcher.round(&Standing { progress, blocks, took_ns, compared: &compared })?;
        Ok(self.plan.extent.reached(progress))
    }

    fn block(&mut self, round: u64, turn: Turn, stop: &Stop) -> anyhow::Result<()> {
        let (cell, variant) = (&self.plan.cells[turn.cell], &self.plan.variants[turn.variant]);
        let plan = &cell.blocks[turn.variant];
        let number = self.order.blocks.len() as u64 + 1;
        let place = match cell.record.name() {
            name if name.is_empty() => variant.name.clone(),
            name => format!("{}, {name}", variant.name),
        };
        let path = self.folder.block(number, &place.replace(", ", "-"))?;
        let began_ns = MonotonicClock.now_ns();
        let title = format!("round {round}, {place}: ");
        let measured = self.measure(plan, &path, &title, stop);
        if stop.asked() {
            return Ok(()); // half a block is no block
        }
        let read = measured.and_then(|()| {
            Block::read(&path, turn, round)
                .map_err(|error| (Failure::Measurement, anyhow::Error::from(error)))
        });
        let took_ns = MonotonicClock.now_ns() - began_ns;
        let (failed, failure) = match read {
            Ok(block) => {
                self.course.took(round, turn, fate(&block, self.plan.faults));
                self.variants[turn.variant].blocks.push(block);
                (None, None)
            }
            Err((failure, error)) => {
                let failure = if error.is::<Disturbed>() { Failure::Disturbed } else { failure };
                self.course.took(round, turn, failure.into());
                let reason = format!("{error:#}");
                let failed = FailedBlock { round, cell: turn.cell, reason: reason.clone() };
                self.variants[turn.variant].failed.push(failed);
                (Some(reason), Some(failure))
            }
        };
        let folder = path.strip_prefix(self.folder.path()).unwrap_or(&path);
        let folder = folder.display().to_string();
        let (cell, variant) = (turn.cell, turn.variant);
        let record = BlockRecord { round, cell, variant, folder, took_ns, failed, failure };
        self.order.blocks.push(record);
        self.folder.write_order(&self.order.to_json())?;
        Ok(())
    }

    /// Switches the system to the variant, measures, and switches back.
    fn measure(
        &mut self,
        plan: &BlockPlan,
        path: &Path,
        title: &str,
        stop: &Stop,
    ) -> Result<(), (Failure, anyhow::Error)> {
        let measured = self
            .switch_to(plan, stop)
            .map_err(|error| (Failure::Switch, error))
            .and_then(|addresses| {
                plan.probe
                    .measure(&addresses, path, title, stop)
                    .map_err(|error| (Failure::Measurement, error))
            });
        self.servers.end_of_block();
        let back = self.switch_back(plan).map_err(|error| (Failure::Switch, error));
        measured.and(back)
    }

    fn switch_to(&mut self, plan: &BlockPlan, stop: &Stop) -> anyhow::Result<Addresses> {
        if let Some(before) = &plan.before {
            shell::run(before, self.plan.command_timeout, stop)?;
        }
        let addresses = self.servers.ready(&self.plan.servers, &plan.servers, stop)?;
        if self.plan.switches() {
            stop.wait_until(MonotonicClock.now_ns() + self.plan.settle.ns())?;
        }
        let names = self.plan.servers.iter().map(|server| server.name.clone());
        Ok(names.zip(addresses).collect())
    }

    /// The command behind a block is run even when the block is interrupted: what was switched
    /// has to be switched back.
    fn switch_back(&self, plan: &BlockPlan) -> anyhow::Result<()> {
        if let Some(after) = &plan.after {
            shell::run(after, self.plan.command_timeout, &Stop::new()?)?;
        }
        Ok(())
    }

    /// Why going on is of no use.
    fn hopeless(&self) -> String {
        let reason = |(variant, blocks): (usize, &VariantBlocks)| {
            let failed = blocks
                .failed
                .iter()
                .rev()
                .find(|failed| self.course.never_works(Turn { cell: failed.cell, variant }))?;
            Some(format!("{} failed {FAILURES_MAX} times: {}", blocks.name, failed.reason))
        };
        let mut reasons = self.variants.iter().enumerate().filter_map(reason);
        reasons.next().unwrap_or_else(|| "nothing could be measured".into())
    }

    fn cut_short(&mut self, reason: &str) -> anyhow::Result<()> {
        self.order.cut_short = Some(reason.into());
        self.folder.write_order(&self.order.to_json())?;
        anyhow::ensure!(
            self.variants.iter().any(|variant| !variant.blocks.is_empty()),
            "{reason}; no block came to anything"
        );
        Ok(())
    }
}

/// What became of a block that was measured.
fn fate(block: &Block, faults: Faults) -> Fate {
    match block.fault() {
        Some(_) if faults == Faults::Refuse => Fate::Faulty,
        Some(_) | None => Fate::Sound,
    }
}
