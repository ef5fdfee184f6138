//! The rounds of an experiment: who takes his turn, what is kept of it, when it is over.

use plumb_experiment::{
    Template,
    inputs::Inputs,
    names::{FOLDER, Values},
    shell,
};
use std::path::Path;

use anyhow::{Context as _, bail};
use plumb_comparison::Comparison;
use plumb_engine::Stop;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_folder::{ExperimentFolder, record_digest};
use plumb_lab::{
    Block, BlockRecord, BlockStatus, CROWDED_MAX, Detail, Experiment, Extent, FAILURES_MAX,
    FailedBlock, Failure, ORDER_SCHEMA, Order, OrderRecord, Progress, Schedule, Turn,
    VariantBlocks, VariantRecord, foreign_load, interleaved,
};
use plumb_measure::Clock as _;

use super::Interrupted;
use super::block_plan::{BlockPlan, Variant};
use super::outcome::{failed, status, taken};
use super::plan::Plan;
use super::program;
use super::servers::Servers;
use super::surroundings;
use super::words::without_secrets;
use crate::host;

/// Why an experiment that was asked to stop ended before its plan.
const INTERRUPTED: &str = "interrupted";

/// Whoever looks on at an experiment.
pub(crate) trait Watcher {
    /// A round is over.
    ///
    /// # Errors
    /// When it cannot be shown; the experiment then ends.
    fn round(&mut self, standing: &Standing<'_>) -> anyhow::Result<()>;
}

/// Nothing is shown meanwhile.
#[derive(Debug)]
pub(crate) struct NoWatcher;

impl Watcher for NoWatcher {
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
    schedule: Schedule,
    inputs: Inputs,
    servers: Servers,
}

/// Where the files of a block go.
struct BlockFolders<'a> {
    /// Its run folder.
    run: &'a Path,
    /// The folder for what its commands leave; `None` where none names it.
    files: Option<&'a Path>,
    /// What stands before its progress.
    title: &'a str,
}

impl BlockFolders<'_> {
    /// `template` with the folder for what commands leave.
    fn fill(&self, template: &Template) -> Template {
        let files = || self.files.map(|path| path.display().to_string());
        template.fill(|name| if name == FOLDER { files() } else { None })
    }
}

impl<'a> Rounds<'a> {
    /// Writes down what is going to be done, without its secrets; `file` is the text of the
    /// experiment file.
    pub(crate) fn new(
        plan: &'a Plan,
        folder: &'a ExperimentFolder,
        file: &str,
    ) -> anyhow::Result<Self> {
        let file = &plumb_experiment::without_secrets(file);
        folder.write_experiment(file)?;
        let variant = |variant: &Variant| VariantRecord {
            name: variant.name.clone(),
            command: without_secrets(&variant.command),
            same_as_baseline: variant.same_as_baseline,
            before: variant.before.as_deref().map(without_secrets),
            after: variant.after.as_deref().map(without_secrets),
        };
        let inputs = Inputs::at(&plan.inputs());
        let order = OrderRecord {
            schema: ORDER_SCHEMA.into(),
            plumb: program(),
            started: clock::utc(clock::wall_ns()),
            seed: plan.seed,
            extent: Some(plan.extent),
            margin: plan.margin,
            cells: plan.cells.iter().map(|cell| cell.record.clone()).collect(),
            variants: plan.variants.iter().map(variant).collect(),
            asked: Some(file.to_owned()),
            surroundings: surroundings::of(plan),
            inputs: inputs.records(),
            blocks: Vec::new(),
            cut_short: None,
        };
        folder.write_order(&order.to_json())?;
        let variants = VariantBlocks::of(&order);
        let schedule = Schedule::new(plan.cells.len(), plan.variants.len());
        Ok(Self { plan, folder, order, variants, schedule, inputs, servers: Servers::default() })
    }

    /// Goes on with what `order` says is done.
    pub(crate) fn again(
        plan: &'a Plan,
        folder: &'a ExperimentFolder,
        order: OrderRecord,
    ) -> anyhow::Result<Self> {
        let variants = VariantBlocks::read(&order, folder.path())?;
        same_machine(&variants)?;
        let mut schedule = Schedule::new(plan.cells.len(), plan.variants.len());
        // whoever goes on with what had ended by itself has mended something: it is tried again
        let mended = order.cut_short.as_deref().is_some_and(|reason| reason != INTERRUPTED);
        for record in &order.blocks {
            let status = match (&record.failed, record.failure) {
                (Some(_), _) if mended => BlockStatus::Disturbed,
                (Some(_), failure) => failed(failure),
                (None, _) => {
                    let blocks = &variants[record.variant].blocks;
                    let is_it = |it: &&Block| it.round == record.round && it.turn == record.turn();
                    let block = blocks.iter().find(is_it).context("a block is there no more")?;
                    match status(block, plan.faults) {
                        BlockStatus::Broken if mended => BlockStatus::Disturbed,
                        status => status,
                    }
                }
            };
            schedule.took(record.round, record.turn(), status);
        }
        let order = OrderRecord { cut_short: None, ..order };
        let inputs = Inputs::at(&plan.inputs());
        let schedule = schedule.resumed();
        Ok(Self { plan, folder, order, variants, schedule, inputs, servers: Servers::default() })
    }

    /// Measures round after round until the plan is fulfilled or `stop` is asked.
    ///
    /// # Errors
    /// When a folder cannot be written, or no block came to anything.
    pub(crate) fn run(&mut self, stop: &Stop, watcher: &mut dyn Watcher) -> anyhow::Result<()> {
        let mut order = Order::new(self.plan.cells.len(), self.plan.variants.len(), self.plan.seed);
        for round in 1.. {
            let turns = self.schedule.wanted(order.next_round(), round, self.plan.extent);
            for turn in turns {
                if self.schedule.has(round, turn) || self.schedule.given_up(turn) {
                    continue;
                }
                if let Some(reason) = self.changed_input() {
                    return self.cut_short(&reason);
                }
                self.block(round, turn, stop)?;
                if stop.asked() {
                    return self.cut_short(INTERRUPTED);
                }
                if self.schedule.is_crowded() {
                    let reason = self.crowded();
                    return self.cut_short(&reason);
                }
            }
            if self.schedule.is_hopeless() {
                let reason = self.hopeless();
                return self.cut_short(&reason);
            }
            if round < self.order.rounds() {
                continue; // it went on behind this round before
            }
            if round == 1 {
                self.compared(Detail::Primary)?; // what cannot be compared is known by now
            }
            if self.is_over(round, watcher)? {
                break;
            }
        }
        self.folder.write_order(&self.order.to_json())?;
        Ok(())
    }

    /// Why no further block would belong to those so far. What the commands of the experiment may
    /// have changed themselves, to switch from one variant to another, is no longer looked at.
    fn changed_input(&mut self) -> Option<String> {
        let changed = self.inputs.take_changed();
        let first = changed.first()?;
        if self.plan.runs_shell() {
            self.order.inputs = self.inputs.records();
            return None;
        }
        Some(format!(
            "{first} was changed while the experiment ran: put it back as it was and go on, or \
             begin anew"
        ))
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
            complete: self.schedule.complete(round),
            elapsed_ns: took_ns,
            needed: self.plan.rounds_needed(),
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
        let files = match plan.names_folder() {
            // commands may go to another folder before they leave anything
            true => Some(std::path::absolute(self.folder.files_of(&path)?)?),
            false => None,
        };
        let began_ns = MonotonicClock.now_ns();
        let title = format!("round {round}, {place}: ");
        let folders = BlockFolders { run: &path, files: files.as_deref(), title: &title };
        let measured = self.measure(plan, &folders, stop);
        if let Some(files) = &files {
            ExperimentFolder::discard_empty(files);
        }
        if stop.asked() {
            return Ok(()); // half a block is no block
        }
        let taken = taken(measured, || Block::read(&path, turn, (round, number)));
        let took_ns = MonotonicClock.now_ns() - began_ns;
        self.keep((round, turn), &path, took_ns, taken)
    }

    /// Writes down what became of a block, whose run folder is `path`.
    fn keep(
        &mut self,
        (round, turn): (u64, Turn),
        path: &Path,
        took_ns: u64,
        taken: Result<Block, (Option<Failure>, String)>,
    ) -> anyhow::Result<()> {
        let Turn { cell, variant } = turn;
        let folder = path.strip_prefix(self.folder.path()).unwrap_or(path).display().to_string();
        let blank = BlockRecord {
            round,
            cell,
            variant,
            folder,
            record: None,
            took_ns,
            failed: None,
            failure: None,
        };
        let of_variant = &mut self.variants[variant];
        let (record, status) = match taken {
            Ok(block) => {
                let status = status(&block, self.plan.faults);
                of_variant.blocks.push(block);
                (BlockRecord { record: Some(record_digest(path)?), ..blank }, status)
            }
            Err((failure, reason)) => {
                let record = BlockRecord { failed: Some(reason.clone()), failure, ..blank };
                of_variant.failed.push(FailedBlock { round, cell, failure, reason });
                (record, failed(failure))
            }
        };
        self.order.blocks.push(record);
        self.schedule.took(round, turn, status);
        self.folder.write_order(&self.order.to_json())?;
        Ok(())
    }

    /// Switches the system to the variant, measures, and switches back.
    fn measure(
        &mut self,
        plan: &BlockPlan,
        folders: &BlockFolders<'_>,
        stop: &Stop,
    ) -> Result<(), (Failure, anyhow::Error)> {
        let measured = self
            .switch_to(plan, folders, stop)
            .map_err(|error| (Failure::Switch, error))
            .and_then(|known| {
                plan.probe
                    .measure(&known, &self.plan.host, (folders.run, folders.title), stop)
                    .map_err(|error| (Failure::Measurement, error))
            });
        self.servers.end_of_block();
        let back = self.switch_back(plan, folders).map_err(|error| (Failure::Switch, error));
        measured.and(back)
    }

    /// What is known then: the addresses of the servers, and the folder of the block.
    fn switch_to(
        &mut self,
        plan: &BlockPlan,
        folders: &BlockFolders<'_>,
        stop: &Stop,
    ) -> anyhow::Result<Values> {
        if let Some(before) = &plan.before {
            shell::run(&folders.fill(before).text(), self.plan.command_timeout, stop)?;
        }
        let commands: Vec<Template> = plan.servers.iter().map(|it| folders.fill(it)).collect();
        let addresses = self.servers.ready(&self.plan.servers, &commands, stop)?;
        if self.plan.switches() {
            stop.wait_until(MonotonicClock.now_ns() + self.plan.settle.ns())?;
        }
        let names = self.plan.servers.iter().map(|server| server.name.clone());
        let files = folders.files.map(|path| (FOLDER.to_owned(), path.display().to_string()));
        Ok(names.zip(addresses).chain(files).collect())
    }

    /// The command behind a block is run even when the block is interrupted: what was switched
    /// has to be switched back.
    fn switch_back(&self, plan: &BlockPlan, folders: &BlockFolders<'_>) -> anyhow::Result<()> {
        if let Some(after) = &plan.after {
            shell::finish(&folders.fill(after).text(), self.plan.command_timeout)?;
        }
        Ok(())
    }

    /// Why going on is of no use.
    fn hopeless(&self) -> String {
        let reason = |(variant, blocks): (usize, &VariantBlocks)| {
            let never = |cell| self.schedule.never_works(Turn { cell, variant });
            let failed = blocks.failed.iter().rev().find(|it| never(it.cell));
            let broken = blocks.blocks.iter().rev().find(|it| never(it.turn.cell));
            let reason = failed.map(|it| it.reason.clone());
            let reason = reason.or_else(|| broken?.left_out(self.plan.faults))?;
            Some(format!("{} failed {FAILURES_MAX} times: {reason}", blocks.name))
        };
        let mut reasons = self.variants.iter().enumerate().filter_map(reason);
        reasons.next().unwrap_or_else(|| "nothing could be measured".into())
    }

    /// Why an experiment beside so much foreign load ends.
    fn crowded(&self) -> String {
        let blocks: Vec<&Block> = self.variants.iter().flat_map(|it| &it.blocks).collect();
        let load = match foreign_load(&blocks) {
            load if load.is_empty() => "by processes that are not known".into(),
            load => load,
        };
        format!(
            "the first {CROWDED_MAX} blocks all met foreign load, {load}: end it or wait for it"
        )
    }

    fn cut_short(&mut self, reason: &str) -> anyhow::Result<()> {
        self.order.cut_short = Some(reason.into());
        self.folder.write_order(&self.order.to_json())?;
        match self.variants.iter().any(|variant| !variant.blocks.is_empty()) {
            true => Ok(()),
            false if reason == INTERRUPTED => Err(Interrupted.into()),
            false => bail!("{reason}; no block came to anything"),
        }
    }
}

/// Refuses to go on elsewhere than on the machine on which the blocks so far were measured.
fn same_machine(variants: &[VariantBlocks]) -> anyhow::Result<()> {
    let Some(block) = variants.iter().find_map(|variant| variant.blocks.first()) else {
        return Ok(());
    };
    let (then, now) = (&block.record.host, host::facts(&[]));
    let facts = [("host", &then.name, &now.name), ("kernel", &then.kernel, &now.kernel)];
    for (what, then, now) in facts {
        anyhow::ensure!(
            then == now,
            "the blocks so far were measured on the {what} {then}, and this is {now}: go on there, or \
             begin anew"
        );
    }
    Ok(())
}
