//! The words of `plumb ab`, and the experiment they are.

use std::collections::BTreeMap;

use anyhow::ensure;
use clap::Args;
use plumb_engine::clock;
use plumb_engine::options::OutputOptions;
use plumb_experiment::{ExperimentFile, ProbeSection, Scalar, VariantSection, unplaced};
use plumb_measure::{Share, Span};

use crate::experiment::{AdmissionOptions, FailOn, Overrides, ROUNDS_MAX};

/// The value of a variant that is its command.
const COMMAND: &str = "command";

/// What is compared, how often, under which rules.
#[derive(Args, Clone, Debug)]
pub(crate) struct AbOptions {
    /// Commands without `plumb` itself, each quoted as one argument; the first is the baseline
    #[arg(value_name = "COMMAND", required = true, num_args = 2..)]
    commands: Vec<String>,

    /// The commands are shell commands; the last number each prints is its figure
    #[arg(long)]
    exec: bool,

    /// The figure is a rate: more is better
    #[arg(long, requires = "exec")]
    higher_is_better: bool,

    /// Names of the variants [default: baseline, candidate, ...]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    names: Vec<String>,

    /// Complete rounds, each with every variant once; at most twice as many in all [default: 10, or as
    /// many as a verdict on every point needs]
    #[arg(long, value_name = "N", conflicts_with_all = ["time", "precision"])]
    pairs: Option<u64>,

    /// As many rounds as fit into this time
    #[arg(long, value_name = "TIME", conflicts_with = "precision")]
    time: Option<Span>,

    /// Take rounds until the interval is within this to either side: 10 to 200 rounds
    #[arg(long, value_name = "PERCENT")]
    precision: Option<Share>,

    /// Effects within this count as none; give it before you measure
    #[arg(long, value_name = "PERCENT")]
    margin: Option<Share>,

    /// Length of a block whose command sets none (with --for, --count or a scenario)
    /// [default: 2s]
    #[arg(long, value_name = "TIME")]
    block: Option<Span>,

    /// Shell command that switches the system to the first variant, before each of its blocks
    #[arg(long, value_name = "CMD")]
    before_a: Option<String>,

    /// The same for the second
    #[arg(long, value_name = "CMD")]
    before_b: Option<String>,

    /// Pause before each block, where there are such commands [default: 0s]
    #[arg(long, value_name = "TIME")]
    settle: Option<Span>,

    /// A shell command must end within this [default: 5m]
    #[arg(long, value_name = "TIME")]
    command_timeout: Option<Span>,

    /// Seed of the order within the rounds [default: from the clock]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    #[command(flatten)]
    admission: AdmissionOptions,

    /// Exit with 1 when a candidate is worse, with 3 when that cannot be told
    #[arg(long, value_name = "WHAT")]
    pub(super) fail_on: Option<FailOn>,

    #[command(flatten)]
    pub(super) output: OutputOptions,
}

impl AbOptions {
    /// The experiment that these words are: one probe, whose command each variant has of its own.
    pub(super) fn file(&self) -> anyhow::Result<ExperimentFile> {
        let variants = self.commands.len();
        ensure!(
            self.names.is_empty() || self.names.len() == variants,
            "--names has {} names for {variants} commands: name each or none",
            self.names.len()
        );
        let mut names = self.names.clone();
        names.sort_unstable();
        names.dedup();
        ensure!(names.len() == self.names.len(), "--names names two variants alike");
        if let Some(pairs) = self.pairs {
            ensure!(
                (1..=ROUNDS_MAX).contains(&pairs),
                "--pairs {pairs}: expected 1 to {ROUNDS_MAX}"
            );
        }
        let seed = self.seed.unwrap_or_else(clock::seed);
        let command = unplaced(format!("${{{COMMAND}}}"));
        let (run, exec) = if self.exec { (None, Some(command)) } else { (Some(command), None) };
        let higher_is_better = self.higher_is_better.then(|| unplaced(true));
        Ok(ExperimentFile {
            seed: Some(seed),
            rounds: self.pairs.map(unplaced),
            time: self.time.map(unplaced),
            precision: self.precision.map(unplaced),
            block: self.block.map(unplaced),
            margin: self.margin,
            settle: self.settle.map(unplaced),
            command_timeout: self.command_timeout.map(unplaced),
            variant: self
                .commands
                .iter()
                .enumerate()
                .map(|(at, command)| self.variant(at, command))
                .collect(),
            probe: vec![ProbeSection { run, exec, higher_is_better, ..ProbeSection::default() }],
            ..ExperimentFile::default()
        })
    }

    fn variant(&self, at: usize, command: &str) -> VariantSection {
        let before = match at {
            0 => self.before_a.as_ref(),
            1 => self.before_b.as_ref(),
            _ => None,
        };
        // what the shell means by `${NAME}` stays its own
        let before = before.map(|before| unplaced(before.replace("${", "$${")));
        let name = self.names.get(at).cloned().unwrap_or_else(|| default_name(at));
        let set =
            BTreeMap::from([(COMMAND.to_owned(), unplaced(Scalar::Text(command.to_owned())))]);
        VariantSection { before, set, ..VariantSection::called(&name) }
    }

    /// What is asked for beside the experiment.
    pub(super) fn overrides(&self) -> Overrides {
        Overrides {
            rounds: None,
            seed: None,
            faults: self.admission.into(),
            host: self.output.host.clone(),
        }
    }
}

fn default_name(at: usize) -> String {
    match at {
        0 => "baseline".into(),
        1 => "candidate".into(),
        more => format!("candidate {more}"),
    }
}
