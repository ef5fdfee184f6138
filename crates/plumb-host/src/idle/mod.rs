//! `plumb host idle`: what it costs this machine that its processors idle between two messages.
//!
//! Two threads of this process exchange a message over loopback TCP, each by a receive that blocks,
//! with the tick left alone and held in turns. What differs is what the sleep costs.

mod exchange;
mod setting;

use clap::Args;
use plumb_checkup::{IDLE_ROUNDS_MAX, IDLE_ROUNDS_MIN, IdleCompany, IdleCost, IdleSample};
use plumb_engine::options::ForeignShare;
use plumb_engine::{Stop, clock};
use plumb_measure::{Program, Share, Span};
use plumb_procfs::Root;
use plumb_procfs::counter::{percent, rise};
use plumb_procfs::kernel::{Counters as _, Stat};
use plumb_procfs::process::share_a_core;

use crate::{HostError, Ledger, TICKS_MIN};

use exchange::{Exchange, Turns};

/// One round takes about so long.
const ROUND_NS: u64 = 100_000_000;
/// The longest measurement.
const LONGEST: Span = Span::from_ms(60_000);

/// How long is measured, and where.
#[derive(Args, Clone, Debug)]
pub struct IdleOptions {
    /// Length of the measurement, from 1s to 60s
    #[arg(long = "for", id = "for_time", value_name = "TIME", default_value = "2s")]
    pub for_time: Span,

    /// Run the two threads on these processors [default: two that share no core]
    #[arg(long, value_name = "CPU,CPU", value_delimiter = ',', num_args = 1)]
    pub pin: Vec<usize>,

    /// What others may have meanwhile; nothing is concluded where they had more.
    #[command(flatten)]
    pub foreign: ForeignShare,

    /// Seed of the order of the turns [default: from the clock]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

impl IdleOptions {
    /// Two seconds on two processors that share no core, of which others may have `foreign_limit`.
    #[must_use]
    pub fn usual(foreign_limit: Share) -> Self {
        Self {
            for_time: Span::from_ms(2_000),
            pin: Vec::new(),
            foreign: ForeignShare { foreign_limit },
            seed: None,
        }
    }
}

/// Measures what the sleep of idle processors costs; `None` when it was asked to stop.
///
/// # Errors
/// [`HostError`] when the options ask for the impossible, or no sockets can be made.
pub fn idle_cost(options: &IdleOptions, stop: &Stop) -> Result<Option<IdleCost>, HostError> {
    let root = Root::of_this_machine();
    let length = options.for_time;
    if length < Span::from_ms(1_000) || length > LONGEST {
        return Err(HostError::IdleLength { length, longest: LONGEST });
    }
    let processors = processors(&options.pin, &root)?;
    let rounds = (length.ns() / ROUND_NS).clamp(IDLE_ROUNDS_MIN, IDLE_ROUNDS_MAX);
    let turns = Turns {
        rounds,
        turn_ns: length.ns() / rounds / 2,
        seed: options.seed.unwrap_or_else(clock::wall_ns),
    };
    let started = clock::utc(clock::wall_ns());
    let before = Observed::take(&root);
    let Exchange { rounds, round_trips } = exchange::run(turns, processors, stop)?;
    if stop.asked() {
        return Ok(None);
    }
    let after = Observed::take(&root);
    let company = match (before, after) {
        (Some(before), Some(after)) => before.until(&after),
        _ => IdleCompany::default(),
    };
    Ok(Some(IdleCost::of(IdleSample {
        plumb: Program { version: env!("CARGO_PKG_VERSION").into() },
        started,
        processors: processors.map(|cpu| cpu as u64),
        round_trips,
        rounds,
        company: IdleCompany {
            limit_pct: 100.0 * options.foreign.foreign_limit.of_one(),
            ..company
        },
        setting: setting::read(&root),
    })))
}

/// Those that were named, or two that this process may use, of different cores where there are.
fn processors(named: &[usize], root: &Root) -> Result<[usize; 2], HostError> {
    match *named {
        [one, other] => return Ok([one, other]),
        [] => {}
        _ => return Err(HostError::IdleProcessors(named.len())),
    }
    let allowed = rustix::thread::sched_getaffinity(None).map_err(|error| {
        HostError::IdleExchange { what: "ask where it may run", cause: error.into() }
    })?;
    let mut all = (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    let Some(first) = all.next() else { return Ok([0, 0]) };
    let rest: Vec<usize> = all.collect();
    let number = |cpu: usize| u32::try_from(cpu).unwrap_or(u32::MAX);
    let apart = |cpu: &&usize| !share_a_core(root, number(first), number(**cpu));
    let other = rest.iter().find(apart).or(rest.first());
    Ok([first, other.copied().unwrap_or(first)])
}

/// What everybody has used so far.
struct Observed {
    ledger: Ledger,
    stat: Stat,
}

impl Observed {
    fn take(root: &Root) -> Option<Self> {
        let mut stat = Stat::default();
        stat.parse(&std::fs::read(root.proc("stat")).ok()?).ok()?;
        Some(Self { ledger: Ledger::take(root)?, stat })
    }

    /// What others took from `self` to `after`. Processes that we started are not others.
    fn until(&self, after: &Self) -> IdleCompany {
        let load = self.ledger.foreign_until(&after.ledger, &[std::process::id()]);
        let stolen = rise(after.stat.total.steal, self.stat.total.steal);
        let all_ticks = load.all_ns * rustix::param::clock_ticks_per_second() / 1_000_000_000;
        IdleCompany {
            foreign_pct: load.share_pct(),
            steal_pct: (all_ticks >= TICKS_MIN).then(|| percent(stolen, all_ticks)),
            limit_pct: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processors_are_taken_as_named_and_no_other_number_of_them() {
        let root = Root::of_this_machine();
        assert_eq!(processors(&[1, 0], &root).unwrap(), [1, 0]);
        assert!(matches!(processors(&[1], &root), Err(HostError::IdleProcessors(1))));
    }

    #[test]
    fn lengths_without_bound_are_refused() {
        let stop = Stop::new().unwrap();
        for ms in [999, 60_001] {
            let options = IdleOptions {
                for_time: Span::from_ms(ms),
                ..IdleOptions::usual(Share::percent(5))
            };
            let refused = idle_cost(&options, &stop);
            assert!(matches!(refused, Err(HostError::IdleLength { .. })), "{ms}");
        }
    }
}
