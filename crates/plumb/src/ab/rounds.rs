//! The rounds of an experiment: who takes his turn, what is kept of it, when it is over.

use plumb_engine::Stop;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_lab::{
    Block, BlockRecord, Detail, Experiment, Extent, Faults, ORDER_SCHEMA, Order, OrderRecord,
    Progress, VariantBlocks, VariantRecord, interleaved,
};
use plumb_measure::{Better, Clock as _, Comparison, LeftOut, Span};
use plumb_report::ExperimentFolder;
use serde::Serialize;

use super::program;
use super::shell::{self, Disturbed};
use super::variant::Variant;

/// A variant that failed in so many rounds and never succeeded ends the experiment.
const FAILURES_MAX: usize = 3;

/// What is compared, how often, under which rules.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) variants: Vec<Variant>,
    pub(crate) extent: Extent,
    pub(crate) seed: u64,
    pub(crate) margin: Option<f64>,
    pub(crate) settle: Span,
    pub(crate) command_timeout: Span,
    pub(crate) faults: Faults,
    /// Which way a printed figure is good.
    pub(crate) figure: Better,
}

/// An experiment under way.
#[derive(Debug)]
pub(crate) struct Rounds<'a> {
    plan: &'a Plan,
    folder: &'a ExperimentFolder,
    order: OrderRecord,
    variants: Vec<VariantBlocks>,
    /// Blocks of each variant that failed for good, not for a moment.
    failures: Vec<usize>,
}

impl<'a> Rounds<'a> {
    /// Writes down what is going to be done.
    pub(crate) fn new(plan: &'a Plan, folder: &'a ExperimentFolder) -> anyhow::Result<Self> {
        folder.write_experiment(&experiment_toml(plan)?)?;
        let order = OrderRecord {
            schema: ORDER_SCHEMA.into(),
            plumb: program(),
            started: clock::utc(clock::wall_ns()),
            seed: plan.seed,
            margin: plan.margin,
            figure: plan.figure,
            variants: plan
                .variants
                .iter()
                .map(|variant| VariantRecord {
                    name: variant.name.clone(),
                    command: variant.command.clone(),
                    before: variant.before.clone(),
                })
                .collect(),
            blocks: Vec::new(),
            cut_short: None,
        };
        let variants = VariantBlocks::of(&order);
        let failures = vec![0; variants.len()];
        Ok(Self { plan, folder, order, variants, failures })
    }

    /// Measures round after round until the plan is fulfilled or `stop` is asked.
    ///
    /// # Errors
    /// When a folder cannot be written, or no block came to anything.
    pub(crate) fn run(&mut self, stop: &Stop) -> anyhow::Result<()> {
        let began_ns = MonotonicClock.now_ns();
        let mut order = Order::new(self.plan.variants.len(), self.plan.seed);
        for round in 1.. {
            for variant in order.next_round() {
                self.block(round, variant, stop)?;
                if stop.asked() {
                    return self.cut_short("interrupted");
                }
            }
            if let Some(hopeless) = self.hopeless() {
                return self.cut_short(&hopeless);
            }
            let complete = self.complete(round);
            let elapsed_ns = MonotonicClock.now_ns() - began_ns;
            let half_width = match self.plan.extent {
                Extent::Precision(_) => self.compared(Detail::Primary)?.widest_half(),
                Extent::Pairs(_) | Extent::Time(_) => None,
            };
            if self.plan.extent.reached(Progress {
                rounds: round,
                complete,
                elapsed_ns,
                half_width,
            }) {
                break;
            }
        }
        Ok(())
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

    fn block(&mut self, round: u64, variant: usize, stop: &Stop) -> anyhow::Result<()> {
        let plan = &self.plan.variants[variant];
        let number = self.order.blocks.len() as u64 + 1;
        let path = self.folder.block(number, &plan.name)?;
        let title = format!("round {round}, {}: ", plan.name);
        let measured = self
            .switch_to(plan, stop)
            .and_then(|()| plan.measure(&path, &title, stop))
            .and_then(|()| Ok(Block::read(&path, variant, round)?));
        if stop.asked() {
            return Ok(()); // half a block is no block
        }
        let failed = measured.as_ref().err().map(|error| format!("{error:#}"));
        match measured {
            Ok(block) => self.variants[variant].blocks.push(block),
            Err(error) => {
                self.failures[variant] += usize::from(!error.is::<Disturbed>());
                let reason = format!("{error:#}");
                self.variants[variant].failed.push(LeftOut { round, reason });
            }
        }
        let folder = path.strip_prefix(self.folder.path()).unwrap_or(&path);
        let folder = folder.display().to_string();
        self.order.blocks.push(BlockRecord { round, variant, folder, failed });
        self.folder.write_order(&self.order.to_json())?;
        Ok(())
    }

    fn switch_to(&self, variant: &Variant, stop: &Stop) -> anyhow::Result<()> {
        if let Some(before) = &variant.before {
            shell::run(before, self.plan.command_timeout, stop)?;
            stop.wait_until(MonotonicClock.now_ns() + self.plan.settle.ns())?;
        }
        Ok(())
    }

    /// Rounds up to `last` in which every variant has a block that counts.
    fn complete(&self, last: u64) -> u64 {
        let counts = |variant: &VariantBlocks, round: u64| {
            let accepts = self.plan.faults == Faults::Accept;
            variant.blocks.iter().any(|it| it.round == round && (accepts || it.fault().is_none()))
        };
        let complete = |round: &u64| self.variants.iter().all(|it| counts(it, *round));
        (1..=last).filter(complete).count() as u64
    }

    /// Why going on is of no use.
    fn hopeless(&self) -> Option<String> {
        let hopeless = |(variant, failures): &(&VariantBlocks, &usize)| {
            variant.blocks.is_empty() && **failures >= FAILURES_MAX
        };
        let (never, _) = self.variants.iter().zip(&self.failures).find(hopeless)?;
        let reason = never.failed.last().map_or("", |failed| failed.reason.as_str());
        Some(format!("{} failed in each of {FAILURES_MAX} rounds: {reason}", never.name))
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

/// What was asked for, as a file that people read.
fn experiment_toml(plan: &Plan) -> anyhow::Result<String> {
    #[derive(Serialize)]
    struct File<'a> {
        seed: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        pairs: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        time: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        precision: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        margin: Option<String>,
        settle: String,
        variant: Vec<Section<'a>>,
    }
    #[derive(Serialize)]
    struct Section<'a> {
        name: &'a str,
        command: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        before: Option<&'a str>,
    }
    let percent = |share: f64| format!("{}%", 100.0 * share);
    let (mut pairs, mut time, mut precision) = (None, None, None);
    match plan.extent {
        Extent::Pairs(n) => pairs = Some(n),
        Extent::Time(ns) => time = Some(Span::from_ms(ns / 1_000_000).to_string()),
        Extent::Precision(share) => precision = Some(percent(share)),
    }
    let variant = plan
        .variants
        .iter()
        .map(|variant| Section {
            name: &variant.name,
            command: &variant.command,
            before: variant.before.as_deref(),
        })
        .collect();
    let margin = plan.margin.map(percent);
    let settle = plan.settle.to_string();
    let file = File { seed: plan.seed, pairs, time, precision, margin, settle, variant };
    Ok(toml::to_string(&file)?)
}
