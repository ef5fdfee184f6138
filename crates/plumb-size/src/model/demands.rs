//! What one operation needs, from the steps of a ladder.

use plumb_measure::statistics::{Bounded, SplitMix64};
use serde::Serialize;

use super::{ModelError, QUEUE_PART, Setup, count};
use crate::ladder::{Ladder, Step};
use crate::line::Line;
use crate::normal::normal;

/// How far the clock of a server's processes may be off what its work takes of the processors, as a
/// share: it knows nothing of interrupts.
const OWN_CLOCK: f64 = 0.10;
/// Less than so many processors that are left to operations is nothing.
const FREE_MIN: f64 = 0.01;
/// Share of the response time from which on a wait for a place is more than noise.
const QUEUE_SHARE: f64 = 0.05;

/// Figures of one operation, from which a landscape is made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Demands {
    /// Processor time of everything on the machine under test, seconds.
    pub cores_s: Bounded,
    /// Processors that are busy without any load.
    pub cores_rest: Bounded,
    /// Of the processor time, what the load generator took, seconds; 0 where it ran elsewhere.
    pub generator_s: f64,
    /// Delays while a place of the pool is held, seconds.
    pub inside_s: Bounded,
    /// Other delays, seconds.
    pub outside_s: Bounded,
    /// Stations of their own, seconds.
    pub stations_s: Vec<(String, Bounded)>,
    /// The line of which the processors' figures are.
    #[serde(skip)]
    cores: Line,
    /// How much longer the delays are where the load generator's work is none of the landscape.
    #[serde(skip)]
    pub(super) without_generator: Delays,
}

/// The delays of one operation, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Delays {
    pub(super) inside_s: f64,
    pub(super) outside_s: f64,
}

impl Delays {
    /// Those of an operation of `whole_s` seconds that holds its place for `held_s`, `worked_s` of them
    /// at processors and stations of their own.
    fn of(whole_s: f64, held_s: f64, worked_s: f64) -> Self {
        let inside_s = (held_s - worked_s).max(0.0);
        Self { inside_s, outside_s: (whole_s - worked_s - inside_s).max(0.0) }
    }

    fn less(self, other: Self) -> Self {
        Self {
            inside_s: self.inside_s - other.inside_s,
            outside_s: self.outside_s - other.outside_s,
        }
    }
}

/// One value for each demand.
pub(super) struct Drawn {
    pub(super) cores_s: f64,
    pub(super) cores_rest: f64,
    pub(super) inside_s: f64,
    pub(super) outside_s: f64,
    pub(super) stations_s: Vec<f64>,
}

impl Demands {
    pub(super) fn of(ladder: &Ladder, setup: &Setup) -> Result<Self, ModelError> {
        let steps = ladder.steps();
        let line = processors(steps).ok_or(ModelError::Processors)?;
        let free = setup.processors() - line.rest.value;
        if free < FREE_MIN {
            let processors = setup.processors_words();
            return Err(ModelError::Busy { rest: line.rest.value, processors });
        }
        let first = ladder.lowest();
        check_pool(ladder, setup)?;
        let mut stations_s = Vec::new();
        for (name, _) in &setup.servers {
            stations_s.push((name.clone(), part(steps, first, name)?));
        }
        let generator_s = average(steps.iter().filter_map(|step| step.generator_s)).unwrap_or(0.0);
        let own_s: f64 = stations_s.iter().map(|(_, it)| it.value).sum();
        let held_s = held_s(ladder, setup);
        // all processor time stands inside the pool, whoever's it is: what is left of the time that a
        // place is held makes up for it, so that the pool does as much as it did
        let with = |cores_s: f64, free: f64| {
            // of less than one processor whoever is alone has no more, either
            Delays::of(first.mean_s, held_s, cores_s / free.min(1.0) + own_s)
        };
        let delays = with(line.slope.value, free);
        let served_s = (line.slope.value - generator_s).max(0.0);
        let left = setup.server_quota.map_or(free, |quota| quota.min(free));
        let without_generator = with(served_s, left).less(delays);
        let half = first.mean_half_s.unwrap_or(0.0);
        let around = |value: f64| Bounded::around(value, half.min(value)).not_negative();
        Ok(Self {
            cores_s: line.slope,
            cores_rest: line.rest,
            generator_s,
            inside_s: around(delays.inside_s),
            outside_s: around(delays.outside_s),
            stations_s,
            cores: line,
            without_generator,
        })
    }

    /// The figures as they are.
    pub(super) fn as_found(&self) -> Drawn {
        Drawn {
            cores_s: self.cores_s.value,
            cores_rest: self.cores_rest.value,
            inside_s: self.inside_s.value,
            outside_s: self.outside_s.value,
            stations_s: self.stations_s.iter().map(|(_, it)| it.value).collect(),
        }
    }

    /// Figures as they might be, of a machine of so many processors.
    pub(super) fn drawn(&self, processors: f64, misfit: f64, random: &mut SplitMix64) -> Drawn {
        let all = (misfit * normal(random)).exp();
        let mut within = |of: &Bounded| {
            let error = (of.high - of.value) / 1.96;
            (of.value + error * normal(random)).max(0.0) * all
        };
        let inside_s = within(&self.inside_s);
        let outside_s = within(&self.outside_s);
        let stations_s = self.stations_s.iter().map(|(_, it)| within(it)).collect();
        let (cores_rest, cores_s) = self.cores.drawn(random);
        // however little is known of the rest, something is left for operations
        let most = f64::midpoint(self.cores_rest.value, processors);
        let cores_rest = cores_rest.min(most);
        Drawn { cores_s: cores_s * all, cores_rest, inside_s, outside_s, stations_s }
    }
}

/// How long an operation holds its place when nobody is in its way, seconds, as the server tells it. Of
/// a server that tells nothing, or no more than the wait for a place, all else of an operation is taken
/// to hold it.
fn held_s(ladder: &Ladder, setup: &Setup) -> f64 {
    let is_work = |(name, _): &&(String, f64)| name != QUEUE_PART;
    let told = ladder.steps().iter().any(|step| step.parts.iter().any(|it| is_work(&it)));
    let first = ladder.lowest();
    let (work, wait): (Vec<_>, Vec<_>) = first.parts.iter().partition(is_work);
    let sum = |parts: &[&(String, f64)]| parts.iter().map(|(_, s)| s).sum::<f64>();
    if told || setup.pool.is_none() { sum(&work) } else { (first.mean_s - sum(&wait)).max(0.0) }
}

/// Busy processors over throughput. Where fewer steps know them than a line needs, but the clock of
/// the server's own processes told of some, that is the slope.
fn processors(steps: &[Step]) -> Option<Line> {
    let known = |step: &Step| step.busy_cores.map(|busy| (step.throughput_per_s, busy));
    let points: Vec<(f64, f64)> = steps.iter().filter_map(known).collect();
    Line::through(&points).or_else(|| {
        let own: Vec<f64> = steps.iter().filter_map(|step| step.server_s).collect();
        let mean = average(own.iter().copied())?;
        let apart = own.iter().map(|it| (it - mean).abs()).fold(OWN_CLOCK * mean, f64::max);
        Some(Line::of_slope(mean, apart))
    })
}

/// A pool whose places were waited for must be known.
fn check_pool(ladder: &Ladder, setup: &Setup) -> Result<(), ModelError> {
    if setup.pool.is_some() {
        return Ok(());
    }
    for step in ladder.steps() {
        let wait = step.parts.iter().find(|(name, _)| name == QUEUE_PART);
        if let Some((_, wait_s)) = wait.filter(|(_, wait_s)| *wait_s > QUEUE_SHARE * step.mean_s) {
            return Err(ModelError::PoolUnknown { users: step.users, wait_ms: wait_s * 1e3 });
        }
    }
    Ok(())
}

/// What a part takes when nobody is in its way: the step of fewest users; its interval reaches to
/// what the step after it had.
fn part(steps: &[Step], first: &Step, name: &str) -> Result<Bounded, ModelError> {
    let of = |step: &Step| step.parts.iter().find(|(it, _)| it == name).map(|(_, s)| *s);
    let Some(value) = of(first) else {
        let known: Vec<&str> = first.parts.iter().map(|(it, _)| it.as_str()).collect();
        let known = if known.is_empty() { "none".into() } else { known.join(", ") };
        return Err(ModelError::NoPart { asked: name.into(), known });
    };
    let next = steps.iter().find(|step| step.users > first.users).and_then(of).unwrap_or(value);
    Ok(Bounded::around(value, (next - value).abs()).not_negative())
}

fn average(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / count(values.len()))
}
