//! The verbs of `plumb lock load` and their options.

use std::num::{NonZeroU32, NonZeroUsize};

use clap::{Args, Subcommand};
use plumb_engine::options::{Apart, LoadOptions, OutputOptions};
use plumb_measure::Span;

use super::live::LiveOptions;
use super::script::{Keeper, TargetKind, Unlock};
use crate::target::TargetOptions;

/// What is done with a server.
#[derive(Clone, Debug, Subcommand)]
pub enum LoadVerb {
    /// Take and release locks, each client its own, one after the other
    Pairs(PairsOptions),
    /// A load like that of orders in sales and distribution
    ///
    /// An order takes locks in four steps: 1 E customer, 5 S materials and 5 times E of one
    /// quantity; 1 E order and 1 E delivery; 1 E delivery and 5 E valuations; 1 E delivery and 1 E
    /// billing. Each step hands its locks to its update (INHERIT), which releases them all
    /// (DEQALL). That is 21 enqueues, 4 inheritances and 4 times dequeue-all an order, on keys
    /// that no other client uses. The pattern is Plumbline's own: that of the original is not
    /// public.
    Sd(SalesOptions),
    /// Take locks that stay: OWNERS owners, each LOCKS locks
    Create(FillOptions),
    /// Release what `create` took
    Destroy(FillOptions),
    /// Is every lock that `create` took there, and no other? The server sums up, we compare
    Verify(FillOptions),
    /// Print what the server counts, again and again
    Live(LiveOptions),
}

/// Pairs of taking and releasing.
#[derive(Args, Clone, Debug)]
pub struct PairsOptions {
    /// The server.
    #[command(flatten)]
    pub target: Apart<TargetOptions>,

    /// What the server is
    ///
    /// PostgreSQL has port 5432 unless another is named; PGUSER (or USER), PGDATABASE and
    /// PGPASSWORD, or the file of --password-file, say as whom and where.
    #[arg(long, value_enum, value_name = "KIND", default_value = "plumb")]
    pub target_kind: TargetKind,

    /// How a lock of Redis is released
    #[arg(long, value_enum, value_name = "HOW", default_value = "compare")]
    pub unlock: Unlock,

    /// Connections, each an owner with locks of its own; a list makes a sweep
    #[arg(short = 'c', long, value_name = "N,...", value_delimiter = ',', default_value = "1")]
    pub connections: Vec<NonZeroUsize>,

    /// How much load, and where results go.
    #[command(flatten)]
    pub timed: TimedOptions,
}

/// What every timed load has: how much is asked, and what is kept of it.
#[derive(Args, Clone, Debug)]
pub struct TimedOptions {
    /// How much load, and how it is driven.
    #[command(flatten)]
    pub load: LoadOptions,

    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// The longest interval of a load whose rates are told over windows: a tenth of the shortest of them.
const RATES_EVERY: Span = Span::from_ms(500);
/// That of a load of more than an hour, of which too many would be kept: the longest one of which every
/// window is made, wherever the load ends.
const RATES_EVERY_OF_LONG: Span = Span::from_ms(2_500);
const HOUR: Span = Span::from_ms(3_600_000);

impl TimedOptions {
    /// The same with intervals of which its windows can be made, unless others were asked for.
    pub(super) fn with_rates(mut self) -> Self {
        let asked = self.load.driver.interval;
        let long = self.load.length().is_some_and(|length| length > HOUR);
        let usual = self.load.interval().min(if long { RATES_EVERY_OF_LONG } else { RATES_EVERY });
        self.load.driver.interval = Some(asked.unwrap_or(usual));
        self
    }
}

/// Orders.
#[derive(Args, Clone, Debug)]
pub struct SalesOptions {
    /// The server.
    #[command(flatten)]
    pub target: Apart<TargetOptions>,

    /// Connections, each a user with keys of its own; a list makes a sweep
    #[arg(short = 'c', long, value_name = "N,...", value_delimiter = ',', default_value = "1")]
    pub connections: Vec<NonZeroUsize>,

    /// How much load, and where results go.
    #[command(flatten)]
    pub timed: TimedOptions,
}

/// A number of locks.
#[derive(Args, Clone, Debug)]
pub struct FillOptions {
    /// The server.
    #[command(flatten)]
    pub target: Apart<TargetOptions>,

    /// Owners, each with a connection; at most 9999
    #[arg(value_name = "OWNERS", default_value = "10")]
    pub owners: NonZeroUsize,

    /// Locks of each owner
    #[arg(value_name = "LOCKS", default_value = "55000")]
    pub locks: NonZeroU32,

    /// What the server is
    #[arg(long, value_enum, value_name = "KIND", default_value = "plumb")]
    pub target_kind: Keeper,

    /// Requests under way on one connection
    ///
    /// With 1 a lock is a round trip. More makes many of one: a figure of the server, not of the
    /// way to it.
    #[arg(long, value_name = "N", default_value = "1")]
    pub depth: NonZeroUsize,

    /// An answer must be complete within this
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub timeout: Span,

    /// Run on these processors
    #[arg(long, value_name = "CPU,...", value_delimiter = ',')]
    pub pin: Vec<usize>,

    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        timed: TimedOptions,
    }

    #[test]
    fn a_load_of_any_length_has_intervals_of_which_windows_are_made() {
        let interval = |words: &[&str]| {
            let words = Words::try_parse_from([&["sd"], words].concat()).unwrap();
            words.timed.with_rates().load.driver.interval.map(|it| it.to_string())
        };
        for (words, expected) in [
            (&["--for", "900s"][..], "500ms"),
            (&["--for", "1h"], "500ms"),
            (&["--for", "3601s"], "2500ms"),
            (&["--for", "24h"], "2500ms"),
            (&["--for", "5s"], "100ms"),
            (&["--count", "29"], "500ms"),
            (&["--for", "900s", "--interval", "10s"], "10s"),
            (&["--for", "900s", "--interval", "20ms"], "20ms"),
        ] {
            assert_eq!(interval(words).as_deref(), Some(expected), "{words:?}");
        }
    }
}
