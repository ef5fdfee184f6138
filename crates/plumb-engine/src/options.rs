//! The options that mean the same in every layer.

mod apart;
mod driver;
mod host;
mod measurement;
mod remotes;
mod server;
mod stamps;
mod transport;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use plumb_measure::{Rate, Span};
use serde_json::{Map, Value, json};

use crate::EngineError;
use crate::plan::{Extent, LoadPlan, Pace, Waiting};

pub use apart::Apart;
pub use driver::{DriverOptions, HoldTick, usual_interval};
pub use host::{ForeignShare, HostOptions};
pub use measurement::MeasurementOptions;
pub use remotes::SpreadOptions;
pub use server::ServerLoopOptions;
pub use stamps::StampOptions;
pub use transport::{TransportKind, TransportOptions};

/// The variable of the environment that an option is taken from: `None` of one that is set to nothing, as
/// pipelines do with what they do not know.
fn variable(name: &'static str) -> Option<&'static str> {
    let is_empty = std::env::var_os(name).is_some_and(|value| value.is_empty());
    (!is_empty).then_some(name)
}

/// How much load, how fast, and how it is driven.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Load")]
pub struct LoadOptions {
    /// Operations of one measurement, over all its connections
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "for_time")]
    pub count: Option<u64>,

    /// Length of one measurement [default: 5s]
    #[arg(
        short = 'd',
        long = "for",
        visible_alias = "duration",
        id = "for_time",
        value_name = "TIME"
    )]
    pub for_time: Option<Span>,

    /// Wait so long between an answer and the next request
    #[arg(long, value_name = "TIME", conflicts_with = "rate")]
    pub delay: Option<Span>,

    /// Begin operations at this rate over all connections, whatever the target does
    ///
    /// Response times then count from the moment an operation was due.
    #[arg(short = 'r', long, value_name = "N/s")]
    pub rate: Option<Rate>,

    /// Operations under way on one connection
    #[arg(long, value_name = "N", default_value = "1")]
    pub depth: NonZeroUsize,

    /// Load before the recorded part
    #[arg(long, value_name = "TIME", default_value = "200ms")]
    pub warmup: Span,

    /// Threads that drive the load
    #[arg(long, value_name = "N", default_value = "1")]
    pub threads: NonZeroUsize,

    /// Ask again and again for answers instead of waiting: needs a core for itself
    #[arg(long)]
    pub spin: bool,

    /// Whether messages are taken apart.
    #[command(flatten)]
    pub stamps: StampOptions,

    /// How its threads run, and how they are judged.
    #[command(flatten)]
    pub driver: DriverOptions,

    /// Enter these network namespaces (names of `ip netns`, or paths), one a thread in turn
    ///
    /// The server must be reachable from here as well. Needs the right to enter them, that of root
    /// as a rule.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub netns: Vec<String>,

    /// An answer must be complete within this
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub timeout: Span,

    /// A connection must stand within this
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub connect_timeout: Span,

    /// Seed of the random order in which a sweep is measured [default: from the clock]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Who drives it.
    #[command(flatten)]
    pub spread: SpreadOptions,
}

impl LoadOptions {
    /// The load of `connections` connections that these options describe.
    #[must_use]
    pub fn plan(&self, connections: NonZeroUsize) -> LoadPlan {
        let part = self.spread.part();
        let connections = part.connections(connections);
        let pace = match (self.rate, self.delay) {
            (Some(rate), _) => Pace::Rate(rate),
            (None, Some(delay)) if delay.ns() > 0 => Pace::Delay(delay),
            _ => Pace::AsFast,
        };
        let extent = match self.count {
            Some(count) => Extent::Count(count),
            None => Extent::For(self.lasting()),
        };
        let waiting = if self.spin {
            Waiting::Spin
        } else {
            LoadPlan::suitable_waiting(connections, self.depth, pace)
        };
        LoadPlan {
            part,
            connections,
            threads: self.threads,
            depth: self.depth,
            pace,
            extent,
            warmup: self.warmup,
            connect_timeout: self.connect_timeout,
            operation_timeout: self.timeout,
            lag_bound: self.driver.lag,
            waiting,
            pin: self.driver.pin.clone(),
            netns: self.netns.clone(),
            interval: self.interval(),
            nagle: self.driver.nagle.into(),
            quick_ack: self.driver.quick_ack,
            tick: self.driver.tick(),
            standbys: Vec::new(),
            stamps: self.stamps.timestamps,
        }
    }

    /// How long a load lasts that has no count.
    fn lasting(&self) -> Span {
        self.for_time.unwrap_or(Span::from_ms(5_000))
    }

    /// How long the load lasts; `None` for one that counts operations.
    #[must_use]
    pub fn length(&self) -> Option<Span> {
        self.count.is_none().then(|| self.lasting())
    }

    /// The length of its intervals.
    #[must_use]
    pub fn interval(&self) -> Span {
        self.driver.interval_of(self.length())
    }

    /// Checks what no single option can know of a load of `connections`.
    ///
    /// # Errors
    /// [`EngineError::Plan`] names the options and what to write instead.
    pub fn check(&self, connections: NonZeroUsize) -> Result<(), EngineError> {
        self.spread.check(connections.get() as u64, "connections")?;
        if let Some(count) = self.count {
            self.spread.check(count, "operations (--count)")?;
        }
        self.plan(connections).check()
    }

    /// Every option with the value in force, for the run record.
    #[must_use]
    pub fn in_force(&self, seed: u64) -> Map<String, Value> {
        let mut options = Map::new();
        let mut put = |name: &str, value: Value| options.insert(name.into(), value);
        match self.count {
            Some(count) => put("count", json!(count)),
            None => put("for", json!(self.lasting())),
        };
        if let Some(delay) = self.delay {
            put("delay", json!(delay));
        }
        if let Some(rate) = self.rate {
            put("rate", json!(rate));
        }
        put("depth", json!(self.depth));
        put("warmup", json!(self.warmup));
        put("threads", json!(self.threads));
        put("spin", json!(self.spin));
        if !self.netns.is_empty() {
            put("netns", json!(self.netns));
        }
        put("timeout", json!(self.timeout));
        put("connect-timeout", json!(self.connect_timeout));
        put("seed", json!(seed));
        options.extend(self.stamps.in_force());
        options.extend(self.driver.in_force(self.length()));
        options
    }
}

/// Where results go.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct OutputOptions {
    /// Folder for the run [default: plumb-runs/TIME-LAYER-VERB]
    #[arg(short = 'o', long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Print the run record as one JSON document, and nothing else
    #[arg(long)]
    pub json: bool,

    /// Print Markdown, to paste into a ticket
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,

    /// What is seen of this machine meanwhile.
    #[command(flatten)]
    pub host: HostOptions,

    /// Print a summary for people instead of all that is known: whoever measures decides.
    #[arg(skip)]
    pub brief: bool,
}
