//! The options that mean the same in every layer.

mod apart;
mod host;
mod measurement;
mod remotes;
mod stamps;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use plumb_measure::{Rate, Span, Tick};
use serde_json::{Map, Value, json};

use crate::plan::{Extent, LoadPlan, Pace, Waiting};
use crate::{Address, Endpoint, EngineError, Family};

pub use apart::Apart;
pub use host::HostOptions;
pub use measurement::MeasurementOptions;
pub use remotes::SpreadOptions;
pub use stamps::StampOptions;

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
            interval: self.driver.interval_of(self.length()),
            nagle: self.driver.nagle.into(),
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
    fn length(&self) -> Option<Span> {
        self.count.is_none().then(|| self.lasting())
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

/// How the threads of a load run, and how they are judged.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Load")]
pub struct DriverOptions {
    /// Run on these processors, one a thread in turn
    #[arg(long, value_name = "CPU,...", value_delimiter = ',')]
    pub pin: Vec<usize>,

    /// The scheduling lag, at its 99th percentile, beyond which the driver counts as the limit
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub lag: Span,

    /// Length of the intervals in which the run is written down [default: a fiftieth of the run, 100ms
    /// to 10s; 1s where its length is not known]
    #[arg(long, value_name = "TIME")]
    pub interval: Option<Span>,

    /// Let the kernel hold back small segments (Nagle's algorithm) instead of sending each at once
    #[arg(long, help_heading = "Transport")]
    pub nagle: bool,

    /// Keep the tick of processors that wait, to see the floor of a round trip: on both sides, which
    /// the server must confirm, or on this one (=client)
    ///
    /// A processor that waits stops its tick, and an ordinary program pays for that in each wait.
    /// With the tick held the figures are no longer what such a program meets; the record says so.
    #[arg(
        long,
        value_name = "SIDES",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "both"
    )]
    pub hold_tick: Option<HoldTick>,
}

/// Which sides of a measurement keep the tick of a processor that idles while they wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HoldTick {
    /// Client and server, which must confirm it
    Both,
    /// The client, whatever the server does
    Client,
}

/// Intervals of a run whose length is known, where nobody asked for others.
const INTERVALS: u64 = 50;

/// The length of the intervals of a run that lasts for `length`, where that is known and nobody asked
/// for another.
#[must_use]
pub fn usual_interval(length: Option<Span>) -> Span {
    let (least, most) = (Span::from_ms(100), Span::from_ms(10_000));
    let of = |length: Span| Span::from_ms(length.ns() / 1_000_000 / INTERVALS);
    length.map_or(Span::from_ms(1_000), |length| of(length).clamp(least, most))
}

impl DriverOptions {
    /// The length of the intervals of a run that lasts for `length`, where that is known.
    #[must_use]
    pub fn interval_of(&self, length: Option<Span>) -> Span {
        self.interval.unwrap_or_else(|| usual_interval(length))
    }

    /// Every option with the value in force for a run that lasts for `length`, for the run record.
    #[must_use]
    pub fn in_force(&self, length: Option<Span>) -> Map<String, Value> {
        let mut options = Map::new();
        options.insert("pin".into(), json!(self.pin));
        options.insert("lag".into(), json!(self.lag));
        options.insert("interval".into(), json!(self.interval_of(length)));
        options.insert("nagle".into(), json!(self.nagle));
        if let Some(sides) = self.hold_tick {
            let name = sides.to_possible_value().map(|value| value.get_name().to_owned());
            options.insert("hold-tick".into(), json!(name));
        }
        options
    }

    /// What the client does about the tick.
    #[must_use]
    pub fn tick(&self) -> Tick {
        self.hold_tick.is_some().into()
    }

    /// Refuses when both sides are to hold the tick and `server`, which `told` what it does, does
    /// not; `None`: it cannot tell.
    ///
    /// # Errors
    /// [`EngineError::Plan`] says what to write instead.
    pub fn confirm_tick(&self, server: &str, told: Option<Tick>) -> Result<(), EngineError> {
        let complaint = match (self.hold_tick, told) {
            (None | Some(HoldTick::Client), _) | (_, Some(Tick::Held)) => return Ok(()),
            (Some(HoldTick::Both), Some(Tick::Free)) => {
                "leaves its tick alone: start it with --hold-tick, or hold the tick on this side \
                 only with --hold-tick=client"
            }
            (Some(HoldTick::Both), None) => {
                "cannot confirm that it holds its tick: hold the tick on this side only with \
                 --hold-tick=client"
            }
        };
        Err(EngineError::Plan(format!("--hold-tick: {server} {complaint}")))
    }
}

/// How the target is reached.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Transport")]
pub struct TransportOptions {
    /// `tcp`, `smc` for shared memory communications, or `unix:PATH` for a socket file of this machine;
    /// net ping and net stream also `udp`
    ///
    /// What each connection really used is read back from the kernel. A run over SMC of which a
    /// connection fell back to TCP is not valid.
    #[arg(long, value_name = "KIND", default_value = "tcp")]
    pub transport: TransportKind,

    /// Use IPv4 only
    #[arg(short = '4', long = "ipv4", conflicts_with = "v6")]
    pub v4: bool,

    /// Use IPv6 only
    #[arg(short = '6', long = "ipv6", id = "v6")]
    pub v6: bool,
}

impl TransportOptions {
    /// Everything that `target` may stand for under these options, in the resolver's order.
    ///
    /// # Errors
    /// [`EngineError::Address`] or [`EngineError::Resolve`].
    pub fn endpoints(&self, target: &str, port: u16) -> Result<Vec<Endpoint>, EngineError> {
        match &self.transport {
            TransportKind::Unix(path) => Ok(vec![Endpoint::Unix(path.clone())]),
            TransportKind::Tcp => Endpoint::resolve(&Address::parse(target, port)?, self.family()),
            TransportKind::Udp => {
                let problem = "--transport udp: only `plumb net ping` and `plumb net stream` send \
                               datagrams; take tcp here";
                Err(EngineError::Plan(problem.into()))
            }
            TransportKind::Smc => {
                let Some(address) = Address::parse(target, port)?.over_smc() else {
                    let problem = format!("--transport smc: {target} is a socket file, or of UDP");
                    return Err(EngineError::Plan(problem));
                };
                Endpoint::resolve(&address, self.family())
            }
        }
    }

    /// Everything that `target` may stand for when it is sent datagrams; `None` unless these options
    /// or the address itself ask for UDP.
    ///
    /// # Errors
    /// [`EngineError::Address`], [`EngineError::Resolve`], or [`EngineError::Plan`] when they ask for
    /// something else, too.
    pub fn datagrams(&self, target: &str, port: u16) -> Result<Option<Vec<Endpoint>>, EngineError> {
        let address = Address::parse(target, port)?;
        let asked = self.transport == TransportKind::Udp;
        let named = matches!(address, Address::Udp { .. });
        if !asked && (!named || self.transport != TransportKind::Tcp) {
            return Ok(None);
        }
        let Some(address) = address.over_udp() else {
            let problem = format!("--transport udp: {target} is not reached over UDP");
            return Err(EngineError::Plan(problem));
        };
        Endpoint::resolve_any(&address, self.family()).map(Some)
    }

    /// The target as these options mean it: a socket file, or `host`.
    #[must_use]
    pub fn target(&self, host: &str) -> String {
        match &self.transport {
            TransportKind::Tcp => host.into(),
            TransportKind::Smc if host.starts_with("smc:") => host.into(),
            TransportKind::Smc => format!("smc:{host}"),
            TransportKind::Udp if host.starts_with("udp:") => host.into(),
            TransportKind::Udp => format!("udp:{host}"),
            TransportKind::Unix(path) => format!("unix:{}", path.display()),
        }
    }

    /// Every option with the value in force, for the run record.
    #[must_use]
    pub fn in_force(&self) -> Map<String, Value> {
        let transport = match &self.transport {
            TransportKind::Tcp => "tcp".into(),
            TransportKind::Smc => "smc".into(),
            TransportKind::Udp => "udp".into(),
            TransportKind::Unix(path) => format!("unix:{}", path.display()),
        };
        let mut options = Map::new();
        options.insert("transport".into(), json!(transport));
        options.insert("ipv4".into(), json!(self.v4));
        options.insert("ipv6".into(), json!(self.v6));
        options
    }

    /// The version of IP that may be used.
    #[must_use]
    pub fn family(&self) -> Family {
        match (self.v4, self.v6) {
            (true, _) => Family::V4,
            (_, true) => Family::V6,
            _ => Family::Any,
        }
    }
}

/// What carries the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransportKind {
    /// TCP over IPv4 or IPv6.
    Tcp,
    /// SMC over IPv4 or IPv6.
    Smc,
    /// Datagrams over UDP and IPv4 or IPv6.
    Udp,
    /// A unix socket.
    Unix(PathBuf),
}

impl FromStr for TransportKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some(path) if !path.is_empty() => Ok(Self::Unix(path.into())),
            _ if text == "tcp" => Ok(Self::Tcp),
            _ if text == "smc" => Ok(Self::Smc),
            _ if text == "udp" => Ok(Self::Udp),
            _ => Err("expected tcp, udp, smc or unix:PATH".into()),
        }
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

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches as _};

    use super::*;

    fn driver(words: &[&str]) -> Result<DriverOptions, clap::Error> {
        let command = DriverOptions::augment_args(Command::new("load").no_binary_name(true));
        DriverOptions::from_arg_matches(&command.try_get_matches_from(words)?)
    }

    #[test]
    fn intervals_are_a_fiftieth_of_the_run_unless_somebody_asks_for_others() {
        let of = |text: &str| usual_interval(Some(text.parse().unwrap())).to_string();
        let all = ["1s", "5s", "60s", "2m", "10m", "2h"].map(of);
        assert_eq!(all, ["100ms", "100ms", "1200ms", "2400ms", "10s", "10s"]);
        assert_eq!(usual_interval(None).to_string(), "1s");
        let asked = driver(&["--interval", "3s"]).unwrap();
        assert_eq!(asked.interval_of("5s".parse().ok()).to_string(), "3s");
    }

    #[test]
    fn the_tick_is_held_by_nobody_by_both_or_by_the_client() {
        let of = |words: &[&str]| driver(words).unwrap();
        assert_eq!((of(&[]).hold_tick, of(&[]).tick()), (None, Tick::Free));
        assert!(!of(&[]).in_force(None).contains_key("hold-tick"));
        for (word, sides, name) in [
            ("--hold-tick", HoldTick::Both, "both"),
            ("--hold-tick=both", HoldTick::Both, "both"),
            ("--hold-tick=client", HoldTick::Client, "client"),
        ] {
            let options = of(&[word]);
            assert_eq!((options.hold_tick, options.tick()), (Some(sides), Tick::Held), "{word}");
            assert_eq!(options.in_force(None)["hold-tick"], json!(name));
        }
        assert!(driver(&["--hold-tick=server"]).is_err());
        // a word of its own is never taken for its value
        assert!(driver(&["--hold-tick", "client"]).is_err());
    }

    #[test]
    fn both_sides_hold_the_tick_only_when_the_server_confirms_it() {
        let refusal = |words: &[&str], told| {
            let confirmed = driver(words).unwrap().confirm_tick("there:3298", told);
            confirmed.err().map(|error| error.to_string())
        };
        let (held, free) = (Some(Tick::Held), Some(Tick::Free));
        for told in [None, free, held] {
            assert_eq!(refusal(&[], told), None);
            assert_eq!(refusal(&["--hold-tick=client"], told), None);
        }
        assert_eq!(refusal(&["--hold-tick"], held), None);
        let alone = refusal(&["--hold-tick"], free).unwrap();
        assert!(alone.contains("there:3298 leaves its tick alone: start it with --hold-tick"));
        let unknown = refusal(&["--hold-tick"], None).unwrap();
        assert!(unknown.contains("there:3298 cannot confirm"), "{unknown}");
        assert!(unknown.contains("--hold-tick=client"), "{unknown}");
    }
}
