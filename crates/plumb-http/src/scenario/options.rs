//! What the command line adds to a scenario file.

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;
use plumb_engine::options::{DriverOptions, MeasurementOptions, SpreadOptions};
use plumb_engine::{Extent, LoadPlan, Pace, Waiting};
use plumb_measure::Span;
use plumb_scenario::file::{Resolve, ScenarioFile};
use serde_json::{Value, json};

use crate::options::{ExchangeOptions, ExportOptions};

/// The usual limits, where neither the file nor the command line names one.
const TIMEOUT: Span = Span::from_ms(30_000);
const CONNECT_TIMEOUT: Span = Span::from_ms(5_000);

/// Which scenario, against whom.
#[derive(Args, Clone, Debug)]
pub struct ScenarioOptions {
    /// The scenario: a TOML file
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,

    /// The server, in place of the one in the file: http://HOST:PORT or https://HOST:PORT
    #[arg(long, value_name = "URL")]
    pub base: Option<String>,

    /// Leave out the steps whose path holds this, or is like it where it has a *
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,

    /// Also allow the scenario to name files below this folder
    ///
    /// Without it the files that a scenario names (bodies, data, credentials) must lie below its own
    /// folder, wherever links and `..` lead: a scenario of somebody else must not send your files.
    #[arg(long, value_name = "DIR", help_heading = "Request")]
    pub files_from: Option<PathBuf>,

    /// Another value of a variable that the file has under variables: NAME=VALUE; no secrets
    #[arg(long, value_name = "NAME=VALUE")]
    pub variable: Vec<String>,

    /// Show what would be done, and ask for nothing
    #[arg(long, conflicts_with = "markdown")]
    pub dry_run: bool,

    /// Users of all scenarios without a rate together, in the proportions of the file; a list makes
    /// a sweep
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub users: Vec<NonZeroU64>,

    /// A file of one line USER:PASSWORD that only its owner may read, in place of the file's
    ///
    /// Without any the environment is looked at (PLUMB_HTTP_USER and PLUMB_HTTP_PASSWORD). What is
    /// found is sent with every request.
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    pub credentials: Option<PathBuf>,

    /// Ask for everything on a new connection
    #[arg(long, help_heading = "Request")]
    pub close: bool,

    /// Where connections go when a name has several addresses: all to the first that answers (once),
    /// to what the name stands for at the time (each), or those of each user to another (spread)
    ///
    /// A name is looked up again every second. Without it the file decides; else it is once.
    #[arg(long, value_name = "once|each|spread", help_heading = "Request")]
    pub resolve: Option<Resolve>,

    /// What holds for every request.
    #[command(flatten)]
    pub exchange: ExchangeOptions,

    /// How the load is driven.
    #[command(flatten)]
    pub drive: DriveOptions,

    /// How the target is reached, and where results go.
    #[command(flatten)]
    pub measurement: MeasurementOptions,

    /// What other tools are given.
    #[command(flatten)]
    pub export: ExportOptions,
}

/// How a scenario is driven.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Load")]
pub struct DriveOptions {
    /// Length of the recorded part, in place of the file's; no scenario goes on longer
    #[arg(
        short = 'd',
        long = "for",
        visible_alias = "duration",
        id = "for_time",
        value_name = "TIME"
    )]
    pub for_time: Option<Span>,

    /// Load before the recorded part, in place of the file's [default: 0s]
    #[arg(long, value_name = "TIME")]
    pub warmup: Option<Span>,

    /// Threads that drive each scenario
    #[arg(long, value_name = "N", default_value = "1")]
    pub threads: NonZeroUsize,

    /// How its threads run, and how they are judged.
    #[command(flatten)]
    pub driver: DriverOptions,

    /// An answer must be complete within this, in place of the file's [default: 30s]
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<Span>,

    /// A connection must stand within this, in place of the file's [default: 5s]
    #[arg(long, value_name = "TIME")]
    pub connect_timeout: Option<Span>,

    /// Seed of everything that is drawn, in place of the file's [default: from the clock]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Who drives it.
    #[command(flatten)]
    pub spread: SpreadOptions,
}

impl DriveOptions {
    /// A plan with everything that is the same for all scenarios of `file`.
    pub(crate) fn plan(&self, file: &ScenarioFile) -> LoadPlan {
        LoadPlan {
            part: self.spread.part(),
            connections: NonZeroUsize::MIN,
            threads: self.threads,
            depth: NonZeroUsize::MIN,
            pace: Pace::AsFast,
            extent: Extent::Users,
            warmup: self.warmup.or(file.warmup).unwrap_or(Span::from_ns(0)),
            connect_timeout: self.connect_timeout(file),
            operation_timeout: self.timeout.or(file.timeout).unwrap_or(TIMEOUT),
            lag_bound: self.driver.lag,
            waiting: Waiting::Epoll,
            pin: self.driver.pin.clone(),
            netns: Vec::new(),
            interval: self.driver.interval_of(self.length(file)),
            nagle: self.driver.nagle.into(),
            quick_ack: self.driver.quick_ack,
            tick: self.driver.tick(),
            standbys: Vec::new(),
            stamps: None,
        }
    }

    /// How long the recorded part lasts; `None`: as the scenarios say.
    pub(crate) fn length(&self, file: &ScenarioFile) -> Option<Span> {
        self.for_time.or(file.length)
    }

    /// A connection must stand within this.
    pub(crate) fn connect_timeout(&self, file: &ScenarioFile) -> Span {
        self.connect_timeout.or(file.connect_timeout).unwrap_or(CONNECT_TIMEOUT)
    }

    /// Every option with the value in force, for the run record.
    pub(crate) fn in_force(&self, file: &ScenarioFile, seed: u64) -> BTreeMap<String, Value> {
        let plan = self.plan(file);
        let mut options = BTreeMap::from([
            ("for".into(), json!(self.length(file))),
            ("warmup".into(), json!(plan.warmup)),
            ("threads".into(), json!(self.threads)),
            ("timeout".into(), json!(plan.operation_timeout)),
            ("connect-timeout".into(), json!(plan.connect_timeout)),
            ("seed".into(), json!(seed)),
        ]);
        options.extend(self.driver.in_force(self.length(file)));
        options
    }
}
