//! How the threads of a load run, as words of the command line.

use clap::{Args, ValueEnum};
use plumb_measure::{Span, Tick};
use serde_json::{Map, Value, json};

use crate::{EngineError, null};

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

    /// Acknowledge at once what has come of an answer (TCP_QUICKACK): what a server waits for under Nagle's
    /// algorithm is then gone, and what it works for is not
    #[arg(long, help_heading = "Transport")]
    pub quick_ack: bool,

    /// Round trips by which this program's own cost, the floor, is measured before a load; 0: it is not
    /// measured [default: 20000; 10000 of a driver of databases]
    #[arg(long, value_name = "N", env = super::variable("PLUMB_FLOOR"), hide_env_values = true)]
    pub floor: Option<u64>,

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
        if self.quick_ack {
            options.insert("quick-ack".into(), json!(true));
        }
        if let Some(round_trips) = self.floor {
            options.insert("floor".into(), json!(round_trips));
        }
        if let Some(sides) = self.hold_tick {
            let name = sides.to_possible_value().map(|value| value.get_name().to_owned());
            options.insert("hold-tick".into(), json!(name));
        }
        options
    }

    /// Round trips that the floor of a load is taken from.
    #[must_use]
    pub fn floor(&self) -> u64 {
        self.floor.unwrap_or(null::FLOOR_OPERATIONS)
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
    fn the_floor_is_taken_from_as_many_round_trips_as_asked_for() {
        // whatever the environment of the tests says
        let asked = driver(&["--floor", "300"]).unwrap();
        assert_eq!((asked.floor(), &asked.in_force(None)["floor"]), (300, &json!(300)));
        let unasked = DriverOptions { floor: None, ..asked };
        assert_eq!(unasked.floor(), null::FLOOR_OPERATIONS);
        assert!(!unasked.in_force(None).contains_key("floor"));
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
