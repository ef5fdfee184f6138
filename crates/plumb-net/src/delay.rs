//! `plumb net delay`: a line of known delay between any client and any server.

mod datagrams;

use clap::{Args, ValueEnum};
use plumb_engine::layer::{JobError, Output, Verb, announce, note};
use plumb_engine::{Address, Cidr, Endpoint, Family, Listener, Stop, clock};
use plumb_measure::{BitRate, ByteSize, Share, Span, counted, grouped, show_ns};
use plumb_relay::{
    Idle, Limit, LossPlan, PathPlan, PathTotals, RelayEvent, RelayPlan, RelayTotals, relay,
};

use crate::NetError;

/// What the line is like.
#[derive(Args, Clone, Debug)]
pub struct DelayOptions {
    /// Where connections, or datagrams, are passed on to: HOST:PORT, smc:HOST:PORT, udp:HOST:PORT or
    /// unix:PATH
    #[arg(value_name = "TARGET")]
    pub target: String,

    /// Where to listen: HOST:PORT, smc:HOST:PORT or unix:PATH, repeatable, or one udp:HOST:PORT; port 0
    /// picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub listen: Vec<String>,

    /// Every byte arrives so much later, in each direction
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub delay: Span,

    /// The delay from client to target, where it differs
    #[arg(long, value_name = "TIME")]
    pub delay_there: Option<Span>,

    /// The delay from target to client, where it differs
    #[arg(long, value_name = "TIME")]
    pub delay_back: Option<Span>,

    /// Add up to this much at random to each delay; bytes keep their order
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub jitter: Span,

    /// Carry no more than this in each direction, all connections together: 10Mbit
    #[arg(long, value_name = "RATE")]
    pub rate: Option<BitRate>,

    /// The rate from client to target, where it differs
    #[arg(long, value_name = "RATE")]
    pub rate_there: Option<BitRate>,

    /// The rate from target to client, where it differs
    #[arg(long, value_name = "RATE")]
    pub rate_back: Option<BitRate>,

    /// Bytes of a connection and direction that may be on their way or not yet acknowledged
    ///
    /// A connection carries no more than this in each round trip, as over TCP. When it is full,
    /// the sender is not read: this also bounds the memory of a connection.
    #[arg(long, value_name = "SIZE", default_value = "4MiB")]
    pub window: ByteSize,

    /// Reset this share of the connections as soon as they come
    #[arg(long, value_name = "PERCENT", help_heading = "Loss")]
    pub refuse: Option<Share>,

    /// Reset a connection after this time, or once so many bytes have come from both sides
    #[arg(long, value_name = "TIME|SIZE", help_heading = "Loss")]
    pub cut_after: Option<Limit>,

    /// Cut this share of the connections only, chosen at random
    #[arg(long, value_name = "PERCENT", requires = "cut_after", help_heading = "Loss")]
    pub cut_share: Option<Share>,

    /// End a connection over which nothing came for so long, as a firewall does
    #[arg(long, value_name = "TIME", help_heading = "Loss")]
    pub idle_cut: Option<Span>,

    /// How it ends: forgotten without a word, or reset on both sides
    #[arg(
        long,
        value_name = "HOW",
        default_value = "silent",
        requires = "idle_cut",
        help_heading = "Loss"
    )]
    pub idle_cut_by: IdleCut,

    /// What becomes of datagrams.
    #[command(flatten)]
    pub datagrams: DatagramOptions,

    /// Seed of jitter and loss [default: from the clock, and logged]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Addresses that may connect, for example 10.1.0.0/16; repeatable [default: all]
    #[arg(long, value_name = "CIDR")]
    pub allow: Vec<Cidr>,

    /// Connections at once; more are reset
    #[arg(long, value_name = "N", default_value = "256")]
    pub max_connections: usize,

    /// The target must take a connection within this
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub connect_timeout: Span,

    /// Stop after this [default: when told to]
    #[arg(long = "for", value_name = "TIME")]
    pub for_time: Option<Span>,

    /// Do not log who comes and goes
    #[arg(long)]
    pub quiet: bool,
}

/// What only a line for datagrams does.
const DATAGRAMS: &str = "Datagrams (with --listen udp:ADDRESS)";

/// What a line does to the datagrams that it carries, with `--listen udp:ADDRESS`.
#[derive(Args, Clone, Debug, Default)]
pub struct DatagramOptions {
    /// Lose this share of the datagrams of each direction
    #[arg(long, value_name = "PERCENT", help_heading = DATAGRAMS)]
    pub lose: Option<Share>,

    /// Let this share leave twice
    #[arg(long, value_name = "PERCENT", help_heading = DATAGRAMS)]
    pub duplicate: Option<Share>,

    /// Let this share leave behind the next one of the same client
    #[arg(long, value_name = "PERCENT", help_heading = DATAGRAMS)]
    pub reorder: Option<Share>,
}

/// How a connection ends that was idle for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum IdleCut {
    /// Nothing passes any more, and nobody is told.
    Silent,
    /// Both sides are reset.
    Reset,
}

impl DelayOptions {
    /// The plan of these options; `seed` unless they name one.
    #[must_use]
    pub fn plan(&self, seed: u64) -> RelayPlan {
        let path = |delay: Option<Span>, rate: Option<BitRate>| PathPlan {
            delay_ns: delay.unwrap_or(self.delay).ns(),
            jitter_ns: self.jitter.ns(),
            rate: rate.or(self.rate),
        };
        let how = match self.idle_cut_by {
            IdleCut::Silent => Idle::Forget,
            IdleCut::Reset => Idle::Reset,
        };
        RelayPlan {
            there: path(self.delay_there, self.rate_there),
            back: path(self.delay_back, self.rate_back),
            window: self.window,
            loss: LossPlan {
                refuse: self.refuse,
                cut: self.cut_after,
                cut_share: self.cut_share,
                idle: self.idle_cut.map(|time| (time, how)),
            },
            allow: self.allow.clone(),
            max_connections: self.max_connections,
            connect_timeout: self.connect_timeout,
            for_time: self.for_time,
            seed: self.seed.unwrap_or(seed),
        }
    }
}

/// The line as a job.
#[derive(Debug)]
pub struct Delay {
    options: DelayOptions,
    target: Vec<Endpoint>,
    plan: RelayPlan,
}

impl Delay {
    /// Checks the options and resolves the target; it listens once it runs.
    ///
    /// # Errors
    /// [`NetError`] when the target is unknown or names no port, or the options contradict each
    /// other.
    pub fn new(options: DelayOptions) -> Result<Self, NetError> {
        let address = Address::parse(&options.target, 0)?;
        if matches!(address, Address::Host { port: 0, .. } | Address::Udp { port: 0, .. }) {
            return Err(NetError::NoPort { target: options.target });
        }
        let plan = options.plan(clock::seed());
        plan.check()?;
        let target = match options.over_udp()? {
            true => datagrams::target(address)?,
            false => Endpoint::resolve(&address, Family::Any)?,
        };
        Ok(Self { options, target, plan })
    }
}

impl Verb for Delay {
    fn run(&mut self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        if self.options.over_udp()? {
            return self.carry_datagrams(out, log, stop);
        }
        let listeners = Listener::bind_all(&self.options.listen, 0)?;
        announce(&listeners, out)?;
        let quiet = self.options.quiet;
        if !quiet {
            note(log, Line(&self.plan, &self.options.target));
        }
        let totals = {
            let mut tell = |event: RelayEvent<'_>| {
                if !quiet {
                    note(log, event);
                }
            };
            relay(&self.plan, &listeners, &self.target, &mut tell, stop)?
        };
        for line in summary(&totals) {
            note(log, line);
        }
        Ok(())
    }
}

/// A plan in words.
struct Line<'a>(&'a RelayPlan, &'a str);

impl std::fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(plan, target) = self;
        write!(
            f,
            "to {target}: {} there, {} back, window {}, seed {}",
            way(plan.there),
            way(plan.back),
            plan.window,
            plan.seed
        )
    }
}

fn way(path: PathPlan) -> String {
    let mut text = Span::from_ns(path.delay_ns).to_string();
    if path.jitter_ns > 0 {
        text += &format!(" to {}", Span::from_ns(path.delay_ns + path.jitter_ns));
    }
    if let Some(rate) = path.rate {
        text += &format!(" at {rate}/s");
    }
    text
}

/// What became of everything, line by line.
fn summary(totals: &RelayTotals) -> Vec<String> {
    let lost: String = [
        ("refused", totals.refused),
        ("turned away", totals.turned_away),
        ("cut", totals.cut),
        ("idle", totals.idle),
        ("target not reached", totals.unreachable),
    ]
    .iter()
    .filter(|(_, n)| *n > 0)
    .map(|(what, n)| format!(", {} {what}", grouped(*n)))
    .collect();
    let mut lines = vec![format!("total: {}{lost}", counted(totals.connections, "connection"))];
    for (name, path) in [("there", &totals.there), ("back", &totals.back)] {
        lines.push(format!("{name}: {}", passed(path)));
    }
    lines
}

fn passed(path: &PathTotals) -> String {
    let mut text =
        format!("{} received, {} sent on", counted(path.received, "byte"), grouped(path.sent));
    if !path.late.is_empty() {
        text += &format!(
            "; {} left later than due by {} at the median, {} at the 99th percentile, {} at most",
            counted(path.late.count(), "piece"),
            show_ns(path.late.quantile(0.5)),
            show_ns(path.late.quantile(0.99)),
            show_ns(path.late.max())
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches as _};
    use plumb_measure::Histogram;

    fn options(words: &[&str]) -> DelayOptions {
        let command = DelayOptions::augment_args(Command::new("delay"));
        let words = ["delay"].iter().chain(words);
        DelayOptions::from_arg_matches(&command.get_matches_from(words)).unwrap()
    }

    #[test]
    fn a_single_connection_is_called_that() {
        let path = options(&["db:5432"]).plan(9).there;
        let of = |n: u64| {
            let totals = || PathTotals { path, received: n, sent: n, late: Histogram::new() };
            summary(&RelayTotals {
                connections: n,
                refused: 0,
                turned_away: 0,
                cut: n,
                idle: 0,
                unreachable: 0,
                there: totals(),
                back: totals(),
            })
        };
        assert_eq!(of(1)[..2], ["total: 1 connection, 1 cut", "there: 1 byte received, 1 sent on"]);
        assert_eq!(of(2_000)[0], "total: 2,000 connections, 2,000 cut");
    }

    #[test]
    fn one_delay_is_for_both_ways_unless_a_way_has_its_own() {
        let words = ["db:5432", "--delay=20ms", "--delay-back=30ms", "--rate=10Mbit"];
        let plan = options(&words).plan(9);
        assert_eq!((plan.there.delay_ns, plan.back.delay_ns), (20_000_000, 30_000_000));
        assert_eq!((plan.there.rate, plan.back.rate), (plan.back.rate, plan.there.rate));
        assert_eq!(plan.seed, 9);
        let plan =
            options(&[words.as_slice(), &["--rate-there=1Mbit", "--seed=4"]].concat()).plan(9);
        assert_ne!(plan.there.rate, plan.back.rate);
        assert_eq!(
            Line(&plan, "db:5432").to_string(),
            "to db:5432: 20ms at 1Mbit/s there, 30ms at 10Mbit/s back, window 4MiB, seed 4"
        );
    }

    #[test]
    fn a_target_needs_a_port() {
        let error = Delay::new(options(&["127.0.0.1"])).unwrap_err();
        assert!(error.to_string().contains("write for example 127.0.0.1:3298"), "{error}");
    }
}
