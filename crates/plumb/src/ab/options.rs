//! The words of `plumb ab`, and the experiment they are.

use std::path::PathBuf;

use anyhow::ensure;
use clap::{Args, ValueEnum};
use plumb_engine::clock;
use plumb_engine::options::OutputOptions;
use plumb_experiment::{ExperimentFile, ProbeSection, Scalar, VariantSection, unplaced};
use plumb_measure::{Share, Span};

use super::parameter::{self, Choice, Parameter};
use crate::experiment::{AdmissionOptions, COMMAND_TIMEOUT, FailOn, Overrides, ROUNDS_MAX};

/// The value of a variant that is its command.
const COMMAND: &str = "command";

/// What decides about shell commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CommandFigure {
    /// The last number that each prints
    Printed,
    /// Time from start to end
    Wall,
    /// Processor time in its own code
    User,
    /// Processor time in the kernel
    System,
    /// The most memory that one of its processes had
    Memory,
}

impl CommandFigure {
    /// The key in an experiment file.
    fn key(self) -> &'static str {
        let [wall, user, system, memory] = plumb_lab::COST_KEYS;
        match self {
            Self::Printed => "figure",
            Self::Wall => wall,
            Self::User => user,
            Self::System => system,
            Self::Memory => memory,
        }
    }
}

/// What is compared, how often, under which rules.
#[derive(Args, Clone, Debug)]
pub(crate) struct AbOptions {
    /// Commands without `plumb` itself, each quoted as one argument; the first is the baseline
    #[arg(value_name = "COMMAND", required = true, num_args = 2..)]
    commands: Vec<String>,

    /// The commands are shell commands: --figure says what decides about them
    ///
    /// Runs of less than 20 ms count only with `--foreign-limit 100%`: what other processes took meanwhile
    /// cannot be told of them.
    #[arg(long)]
    pub(super) exec: bool,

    /// What decides about shell commands [default: printed where the first command prints one line with
    /// a number at its end, or else wall]
    #[arg(long, value_name = "WHAT", requires = "exec")]
    pub(super) figure: Option<CommandFigure>,

    /// The figure is a rate: more is better
    #[arg(long, requires = "exec")]
    higher_is_better: bool,

    /// Run each shell command so many times before the first pair; what these take is not kept
    #[arg(long, value_name = "N", default_value_t = 0, requires = "exec")]
    pub(super) warmup: u64,

    /// Shell command before each run of each command, for example to empty a cache; it is not timed
    #[arg(long, value_name = "CMD", conflicts_with_all = ["before_a", "before_b"])]
    pub(super) prepare: Option<String>,

    /// Compare the shell commands for each of these values, which stand in them as ${NAME}; repeatable
    #[arg(long, value_name = "NAME=VALUE,...", requires = "exec")]
    parameter: Vec<Parameter>,

    /// Also write what the runs took as hyperfine does
    #[arg(long, value_name = "FILE", requires = "exec")]
    pub(super) export_json: Option<PathBuf>,

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
    /// The experiment that these words are: one probe for each choice of parameters, whose command each
    /// variant has of its own. `figure` decides about shell commands.
    pub(super) fn file(&self, figure: Option<CommandFigure>) -> anyhow::Result<ExperimentFile> {
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
        let choices = parameter::choices(&self.parameter)?;
        ensure!(
            self.export_json.is_none() || figure != Some(CommandFigure::Printed),
            "--export-json tells what commands take, and --figure printed does not measure that"
        );
        ensure!(
            !self.higher_is_better || figure.is_none_or(|it| it == CommandFigure::Printed),
            "--higher-is-better is for a figure that is printed: of what a command takes, less is better"
        );
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
                .map(|(at, command)| self.variant(at, command, &choices))
                .collect(),
            probe: choices.iter().enumerate().map(|(at, it)| self.probe(at, it, figure)).collect(),
            ..ExperimentFile::default()
        })
    }

    fn probe(&self, at: usize, choice: &Choice, figure: Option<CommandFigure>) -> ProbeSection {
        let command = unplaced(format!("${{{}}}", key(at)));
        let (run, exec) = if self.exec { (None, Some(command)) } else { (Some(command), None) };
        let name = choice.name();
        ProbeSection {
            name: (!name.is_empty()).then(|| unplaced(name)),
            run,
            exec,
            figure: figure.map(|figure| unplaced(figure.key().to_owned())),
            higher_is_better: self.higher_is_better.then(|| unplaced(true)),
            ..ProbeSection::default()
        }
    }

    /// The choice of parameters that cells are called after; a name is in no cell where there is one
    /// choice only.
    pub(super) fn choice(&self, name: Option<&str>) -> anyhow::Result<Choice> {
        let choices = parameter::choices(&self.parameter)?;
        let mut named = choices.into_iter().filter(|it| name.is_none_or(|name| it.name() == name));
        Ok(named.next().unwrap_or_default())
    }

    /// The command of the variant `at`, from 0, with the values of `choice`.
    pub(super) fn command(&self, at: usize, choice: &Choice) -> String {
        choice.fill(self.commands.get(at).map_or("", String::as_str))
    }

    /// All commands, each with the place of its variant, the first of each choice of parameters first.
    pub(super) fn all_commands(&self) -> anyhow::Result<Vec<(usize, String)>> {
        let choices = parameter::choices(&self.parameter)?;
        let of = |choice: &Choice| -> Vec<(usize, String)> {
            self.commands.iter().map(|command| choice.fill(command)).enumerate().collect()
        };
        Ok(choices.iter().flat_map(of).collect())
    }

    /// A shell command must end within this.
    pub(super) fn patience(&self) -> Span {
        self.command_timeout.unwrap_or(COMMAND_TIMEOUT)
    }

    /// What prepares each run of the variant `at`.
    pub(super) fn before(&self, at: usize) -> Option<&String> {
        let own = match at {
            0 => self.before_a.as_ref(),
            1 => self.before_b.as_ref(),
            _ => None,
        };
        own.or(self.prepare.as_ref())
    }

    fn variant(&self, at: usize, command: &str, choices: &[Choice]) -> VariantSection {
        let before = self.before(at).cloned();
        // what the shell means by `${NAME}` stays its own
        let before = before.map(|before| unplaced(before.replace("${", "$${")));
        let name = self.names.get(at).cloned().unwrap_or_else(|| default_name(at));
        let filled = choices.iter().enumerate();
        let set = filled
            .map(|(at, choice)| (key(at), unplaced(Scalar::Text(choice.fill(command)))))
            .collect();
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

/// The value of a variant that is its command for the choice `at`.
fn key(at: usize) -> String {
    if at == 0 { COMMAND.into() } else { format!("{COMMAND}{}", at + 1) }
}

fn default_name(at: usize) -> String {
    match at {
        0 => "baseline".into(),
        1 => "candidate".into(),
        more => format!("candidate {more}"),
    }
}
