//! A landscape that explains a ladder.
//!
//! The processors' demand is the slope of busy processors over throughput (the utilisation law,
//! `U c = a + D X`: `U` share busy, `c` processors, `X` operations a second, `a` what runs
//! anyway). What else an operation takes when nobody is in its way is a delay: inside the pool as far as
//! the server says that the time was spent there, outside otherwise.

use plumb_measure::statistics::SplitMix64;
use serde::Serialize;

use crate::analysis::{Analysis, AnalysisError, Tail};
use crate::bounded::{Bounded, normal};
use crate::ladder::{Ladder, Step, ending};
use crate::landscape::{Element, Landscape, Pool, Servers, Station};
use crate::line::Line;

/// The name of the processors in a landscape.
pub const CORES: &str = "cores";
/// The name of the delays outside a pool.
pub const OUTSIDE: &str = "outside";
/// The name of the delays inside it.
pub const INSIDE: &str = "waiting";
/// The part of a server's account that is the wait for a place in its pool.
pub const QUEUE_PART: &str = "queue";
/// Variations of work and of delays that are tried: constant, even, exponential, and beyond.
const VARIATIONS: [(f64, f64); 12] = [
    (0.0, 0.0),
    (0.1, 0.0),
    (0.3, 0.0),
    (1.0, 0.0),
    (2.0, 0.0),
    (4.0, 0.0),
    (0.0, 0.3),
    (0.3, 0.3),
    (1.0, 0.3),
    (0.0, 1.0),
    (1.0, 1.0),
    (2.0, 1.0),
];
/// How far the clock of a server's processes may be off what its work takes of the processors, as a
/// share: it knows nothing of interrupts.
const OWN_CLOCK: f64 = 0.10;
/// Share of the response time from which on a wait for a place is more than noise.
const QUEUE_SHARE: f64 = 0.05;

/// What the runs do not tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Setup {
    /// Processors of the machine under test.
    pub cores: u32,
    /// The pool whose places are held while an operation is worked on, and its size.
    pub pool: Option<(String, u32)>,
    /// Parts of the server's account that have a queue of their own, and how many servers each
    /// has.
    pub servers: Vec<(String, u32)>,
    /// Memory that the server may hold, bytes; `None` where nothing bounds it.
    pub memory_limit_bytes: Option<u64>,
}

/// Why there is no model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// Nobody watched the processors.
    #[error(
        "fewer than three steps know how busy the processors of the machine under test were: \
         measure for longer, on the machine itself or with --far-host"
    )]
    Processors,
    /// Operations waited for places of a pool whose size nobody told.
    #[error(
        "with {users} user{} an operation waited {wait_ms:.1} ms for a place in the server's pool: \
         say how many places it has, such as --pool work-processes=10",
        ending(*.users)
    )]
    PoolUnknown {
        /// Users of that step.
        users: f64,
        /// The wait, milliseconds.
        wait_ms: f64,
    },
    /// A part of the server's account that does not exist.
    #[error("no step has a part `{asked}` of the server's time; there are: {known}")]
    NoPart {
        /// The name asked for.
        asked: String,
        /// What there is.
        known: String,
    },
    /// The landscape cannot be solved.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
}

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
    #[serde(skip)]
    cores_error_s: f64,
    /// How much longer the delays are where the load generator's work is none of the landscape.
    #[serde(skip)]
    without_generator: Delays,
}

/// The delays of one operation, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Delays {
    inside_s: f64,
    outside_s: f64,
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

/// A landscape that was fitted to a ladder.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Model {
    /// What an operation needs.
    pub demands: Demands,
    /// Who does it.
    pub setup: Setup,
    /// Think time of the ladder, seconds.
    pub think_s: f64,
    /// Variation of the processors' work that explains the 95th percentiles best.
    pub work_variation: f64,
    /// Variation of the delays that does.
    pub delay_variation: f64,
    /// Root mean square of how far throughput of the steps is from the model's, as a share.
    pub misfit: f64,
    /// The step that is furthest from it: its users, and how far, as a share.
    pub worst: (f64, f64),
    /// How the 95th percentiles of the steps lie to those of the model.
    pub tail: Tail,
}

impl Model {
    /// Fits a landscape to `ladder`.
    ///
    /// # Errors
    /// [`ModelError`].
    pub fn fit(ladder: &Ladder, setup: &Setup) -> Result<Self, ModelError> {
        let demands = Demands::of(ladder, setup)?;
        let mut best: Option<Self> = None;
        for (work_variation, delay_variation) in VARIATIONS {
            let model = Self {
                demands: demands.clone(),
                setup: setup.clone(),
                think_s: ladder.think_s(),
                work_variation,
                delay_variation,
                misfit: 0.0,
                worst: (0.0, 0.0),
                tail: Tail::default(),
            };
            let model = model.held_against(ladder)?;
            if best.as_ref().is_none_or(|best| model.tail.misfit < best.tail.misfit) {
                best = Some(model);
            }
        }
        best.ok_or(ModelError::Processors)
    }

    /// The same model with how far it is from `ladder`.
    fn held_against(mut self, ladder: &Ladder) -> Result<Self, ModelError> {
        let analysis = Analysis::of(&self.landscape(), self.think_s, users(ladder.highest()))?;
        let (mut square, mut points) = (0.0, Vec::new());
        for step in ladder.steps() {
            let point = analysis.at(users(step))?;
            let off = point.throughput_per_s / step.throughput_per_s - 1.0;
            square += off * off;
            if off.abs() > self.worst.1.abs().max(chance(step, self.think_s)) {
                self.worst = (step.users, off);
            }
            points.push((step, point));
        }
        self.misfit = (square / count(points.len())).sqrt();
        self.tail = Tail::fit(&points);
        Ok(self)
    }

    /// The landscape that was measured, the load generator included.
    #[must_use]
    pub fn landscape(&self) -> Landscape {
        self.of(&Drawn::none(&self.demands))
    }

    fn of(&self, drawn: &Drawn) -> Landscape {
        let setup = &self.setup;
        let station = |name: &str, servers, service_s, variation| {
            Element::Station(Station { name: name.into(), servers, service_s, variation })
        };
        let mut inside = vec![station(
            CORES,
            Servers::Shared(setup.cores.max(1)),
            drawn.cores_s,
            self.work_variation,
        )];
        for ((name, servers), service_s) in setup.servers.iter().zip(&drawn.stations_s) {
            inside.push(station(name, Servers::Queue(*servers), *service_s, 1.0));
        }
        inside.push(station(INSIDE, Servers::Delay, drawn.inside_s, self.delay_variation));
        let mut elements =
            vec![station(OUTSIDE, Servers::Delay, drawn.outside_s, self.delay_variation)];
        match &setup.pool {
            Some((name, size)) => {
                let pool = Pool { name: name.clone(), size: *size, queue: None, inside };
                elements.push(Element::Pool(pool));
            }
            None => elements.extend(inside),
        }
        Landscape { elements }
    }

    /// The landscape without the load generator.
    #[must_use]
    pub fn served(&self) -> Landscape {
        let mut served = self.landscape();
        self.leave_generator_out(&mut served);
        served
    }

    fn leave_generator_out(&self, landscape: &mut Landscape) {
        let Some(cores) = landscape.station_mut(CORES) else { return };
        let generator_s = self.demands.generator_s.min(cores.service_s);
        cores.service_s -= generator_s;
        if self.setup.pool.is_none() {
            return;
        }
        // a place is held for as long as the server says, which knows of no generator
        let Delays { inside_s, outside_s } = self.demands.without_generator;
        for (name, longer_s) in [(INSIDE, inside_s), (OUTSIDE, outside_s)] {
            if let Some(delay) = landscape.station_mut(name) {
                delay.service_s += longer_s;
            }
        }
    }

    /// Landscapes as they might be: every demand drawn within what is known of it, and all together
    /// as far off as the steps were from the model; each with a tail of its own.
    #[must_use]
    pub fn drawn(&self, draws: usize, seed: u64, whose: Generator) -> Vec<(Landscape, Tail)> {
        let mut random = SplitMix64::new(seed);
        let one = |_| {
            let drawn = self.demands.drawn(self.misfit, &mut random);
            let mut landscape = self.of(&drawn);
            if whose == Generator::LeftOut {
                self.leave_generator_out(&mut landscape);
            }
            (landscape, self.tail.drawn(&mut random))
        };
        (0..draws).map(one).collect()
    }
}

/// How far the throughput of a step may be off by the think times that it happened to draw, as a share:
/// three standard errors of exponential ones. 0 where nobody counted its operations.
fn chance(step: &Step, think_s: f64) -> f64 {
    if step.operations <= 0.0 {
        return 0.0;
    }
    3.0 * think_s / (think_s + step.mean_s) / step.operations.sqrt()
}

/// Whether the work of the load generator is in a landscape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {
    /// As it was measured.
    Included,
    /// As others would use it.
    LeftOut,
}

/// One value for each demand.
struct Drawn {
    cores_s: f64,
    inside_s: f64,
    outside_s: f64,
    stations_s: Vec<f64>,
}

impl Drawn {
    fn none(demands: &Demands) -> Self {
        Self {
            cores_s: demands.cores_s.value,
            inside_s: demands.inside_s.value,
            outside_s: demands.outside_s.value,
            stations_s: demands.stations_s.iter().map(|(_, it)| it.value).collect(),
        }
    }
}

impl Demands {
    fn of(ladder: &Ladder, setup: &Setup) -> Result<Self, ModelError> {
        let steps = ladder.steps();
        let line = processors(steps).ok_or(ModelError::Processors)?;
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
        let with = |cores_s: f64| Delays::of(first.mean_s, held_s, cores_s + own_s);
        let delays = with(line.slope.value);
        let without_generator = with((line.slope.value - generator_s).max(0.0)).less(delays);
        let half = first.mean_half_s.unwrap_or(0.0);
        let around = |value: f64| Bounded::around(value, half.min(value)).not_negative();
        Ok(Self {
            cores_s: line.slope,
            cores_rest: line.rest,
            generator_s,
            inside_s: around(delays.inside_s),
            outside_s: around(delays.outside_s),
            stations_s,
            cores_error_s: line.slope_error,
            without_generator,
        })
    }

    fn drawn(&self, misfit: f64, random: &mut SplitMix64) -> Drawn {
        let all = (misfit * normal(random)).exp();
        let mut within = |of: &Bounded| {
            let error = (of.high - of.value) / 1.96;
            (of.value + error * normal(random)).max(0.0) * all
        };
        let inside_s = within(&self.inside_s);
        let outside_s = within(&self.outside_s);
        let stations_s = self.stations_s.iter().map(|(_, it)| within(it)).collect();
        let cores_s = self.cores_s.value + self.cores_error_s * normal(random);
        Drawn { cores_s: cores_s.max(0.0) * all, inside_s, outside_s, stations_s }
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
        Some(Line {
            rest: Bounded::around(0.0, 0.0),
            slope: Bounded::around(mean, apart).not_negative(),
            slope_error: apart / 1.96,
        })
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

/// The users of a step, whole.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "far below 2^32 users")]
#[expect(clippy::cast_sign_loss, reason = "a step has users")]
pub fn users(step: &Step) -> usize {
    step.users.round().max(1.0) as usize
}

#[expect(clippy::cast_precision_loss, reason = "a ladder has few steps")]
fn count(steps: usize) -> f64 {
    steps as f64
}

#[cfg(test)]
mod tests;
