//! The words of `plumb ab`, and the plan they make.

use anyhow::{bail, ensure};
use clap::{Args, ValueEnum};
use plumb_engine::clock;
use plumb_engine::options::OutputOptions;
use plumb_lab::{Extent, Faults};
use plumb_measure::{Better, Share, Span};

use super::rounds::Plan;
use super::variant::Variant;

/// Variants of one experiment at most.
const VARIANTS_MAX: usize = 8;
/// Rounds of one experiment at most.
const PAIRS_MAX: u64 = 1_000;
/// A seed from the clock stays exact in every JSON reader.
const SEED_MASK: u64 = (1 << 53) - 1;

/// What is compared, how often, under which rules.
#[derive(Args, Clone, Debug)]
pub(crate) struct AbOptions {
    /// The words behind `plumb`, quoted as one argument each; the first is the baseline
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

    /// Complete rounds, each with every variant once; at most twice as many in all [default: 10]
    #[arg(long, value_name = "N", conflicts_with_all = ["time", "precision"])]
    pairs: Option<u64>,

    /// As many rounds as fit into this time
    #[arg(long, value_name = "TIME", conflicts_with = "precision")]
    time: Option<Span>,

    /// Rounds until the interval reaches no further than this to either side, 10 to 200 of them
    #[arg(long, value_name = "PERCENT")]
    precision: Option<Share>,

    /// Effects within this count as none; give it before you measure
    #[arg(long, value_name = "PERCENT")]
    margin: Option<Share>,

    /// Length of a block whose command names neither --for nor --count
    #[arg(long, value_name = "TIME", default_value = "2s")]
    block: Span,

    /// Shell command that switches the system to the first variant, before each of its blocks
    #[arg(long, value_name = "CMD")]
    before_a: Option<String>,

    /// The same for the second
    #[arg(long, value_name = "CMD")]
    before_b: Option<String>,

    /// Wait so long after such a command
    #[arg(long, value_name = "TIME", default_value = "0s")]
    settle: Span,

    /// A shell command must end within this
    #[arg(long, value_name = "TIME", default_value = "5m")]
    command_timeout: Span,

    /// Seed of the order within the rounds [default: from the clock]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Let blocks that are not valid count; the report says so
    #[arg(long)]
    accept_invalid: bool,

    /// Exit with 1 when a candidate is worse
    #[arg(long, value_name = "WHAT")]
    pub(super) fail_on: Option<FailOn>,

    #[command(flatten)]
    pub(super) output: OutputOptions,
}

/// What makes the exit code 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// A candidate is worse than the baseline.
    Worse,
}

impl AbOptions {
    /// The plan that these words make. Every command is looked at before anything is measured.
    pub(super) fn plan(&self) -> anyhow::Result<Plan> {
        let variants = self.commands.len();
        ensure!(
            variants <= VARIANTS_MAX,
            "{variants} commands are too many: at most {VARIANTS_MAX}"
        );
        ensure!(
            self.names.is_empty() || self.names.len() == variants,
            "--names has {} names for {variants} commands: name each or none",
            self.names.len()
        );
        let mut names = self.names.clone();
        names.sort_unstable();
        names.dedup();
        ensure!(names.len() == self.names.len(), "--names names two variants alike");
        let variants = self
            .commands
            .iter()
            .enumerate()
            .map(|(at, command)| {
                let before = match at {
                    0 => self.before_a.clone(),
                    1 => self.before_b.clone(),
                    _ => None,
                };
                let name = self.names.get(at).cloned().unwrap_or_else(|| default_name(at));
                if self.exec {
                    Ok(Variant::shell(name, command.clone(), before, self.command_timeout))
                } else {
                    Variant::plumb(name, command, before, self.block)
                }
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        let extent = match (self.pairs, self.time, self.precision) {
            (None, Some(time), _) => Extent::Time(time.ns()),
            (None, None, Some(share)) => Extent::Precision(share.of_one()),
            (pairs, ..) => match pairs.unwrap_or(10) {
                pairs @ 1..=PAIRS_MAX => Extent::Pairs(pairs),
                pairs => bail!("--pairs {pairs}: expected 1 to {PAIRS_MAX}"),
            },
        };
        Ok(Plan {
            variants,
            extent,
            seed: self.seed.unwrap_or_else(|| clock::wall_ns() & SEED_MASK),
            margin: self.margin.map(Share::of_one),
            settle: self.settle,
            command_timeout: self.command_timeout,
            faults: if self.accept_invalid { Faults::Accept } else { Faults::Refuse },
            figure: if self.higher_is_better { Better::Higher } else { Better::Lower },
        })
    }
}

fn default_name(at: usize) -> String {
    match at {
        0 => "baseline".into(),
        1 => "candidate".into(),
        more => format!("candidate {more}"),
    }
}
