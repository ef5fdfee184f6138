//! A landscape that explains a ladder.
//!
//! The processors' demand is the slope of busy processors over throughput (the utilisation law,
//! `U c = a + D X`: `U` share busy, `c` processors, `X` operations a second, `a` what runs
//! anyway). What else an operation takes when nobody is in its way is a delay: inside the pool as far as
//! the server says that the time was spent there, outside otherwise.

mod demands;

use plumb_measure::counted;
use plumb_measure::statistics::SplitMix64;
use serde::Serialize;

pub use demands::Demands;

use demands::{Delays, Drawn};

use crate::analysis::{Analysis, AnalysisError, Tail};
use crate::ladder::{Ladder, Step, counted_users};
use crate::landscape::{Element, Landscape, Pool, Servers, Station};
use crate::line::DRAWN_MIN;

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
/// What the runs do not tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Setup {
    /// Processors of the machine under test.
    pub cores: u32,
    /// The processor time that a control group leaves of them, in processors; `None` where it leaves all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<f64>,
    /// The processor time that a control group leaves to the server alone, in processors, where the load
    /// generator left it less: a bound of what others may have, not of what was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_quota: Option<f64>,
    /// The pool whose places are held while an operation is worked on, and its size.
    pub pool: Option<(String, u32)>,
    /// Parts of the server's account that have a queue of their own, and how many servers each
    /// has.
    pub servers: Vec<(String, u32)>,
    /// Memory that the server may hold, bytes; `None` where nothing bounds it.
    pub memory_limit_bytes: Option<u64>,
}

impl Setup {
    /// Processors, or as much of them as a quota leaves.
    #[must_use]
    pub fn processors(&self) -> f64 {
        let all = f64::from(self.cores.max(1));
        self.quota.map_or(all, |quota| quota.min(all))
    }

    /// The same in words, such as `2 processors`.
    fn processors_words(&self) -> String {
        match self.quota {
            Some(_) => {
                format!("the {:.2} processors that a control group leaves", self.processors())
            }
            None => counted(u64::from(self.cores), "processor"),
        }
    }
}

/// Why there is no model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// Nobody watched the processors.
    #[error(
        "fewer than three steps know how busy the processors of the machine under test were: \
         measure for longer, on the machine itself as somebody to whom it shows the server's processes, \
         with --far-host, or give what another instrument recorded there with --recording"
    )]
    Processors,
    /// What runs without any load leaves no processor.
    #[error(
        "without any load {rest:.2} of {processors} would be busy already, so that nothing is left \
         for operations: measure when nothing else runs, or say how many there are with --cores"
    )]
    Busy {
        /// Processors that are busy without any load.
        rest: f64,
        /// Those that there are, in words.
        processors: String,
    },
    /// Operations waited for places of a pool whose size nobody told.
    #[error(
        "with {} an operation waited {wait_ms:.1} ms for a place in the server's pool: say how many \
         places it has, such as --pool work-processes=10",
        counted_users(*.users)
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
            let point = analysis.at(users(step));
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
        self.of(&self.demands.as_found())
    }

    fn of(&self, drawn: &Drawn) -> Landscape {
        let setup = &self.setup;
        let station = |name: &str, servers, service_s, variation| {
            let name = name.into();
            Element::Station(Station { name, servers, service_s, variation, background: 0.0 })
        };
        let cores = Station {
            name: CORES.into(),
            servers: Servers::Shared(setup.cores.max(1)),
            service_s: drawn.cores_s,
            variation: self.work_variation,
            // what a quota takes is as little there for operations as what keeps others busy
            background: drawn.cores_rest + f64::from(setup.cores.max(1)) - setup.processors(),
        };
        let mut inside = vec![Element::Station(cores)];
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
        let served_s = cores.service_s - self.demands.generator_s;
        cores.service_s = served_s.max(cores.service_s * DRAWN_MIN);
        if let Some(quota) = self.setup.server_quota {
            // as many processors as a box with this quota needs, and not those of the whole machine
            let free = quota.min(cores.free());
            let enough = |places: &u32| f64::from(*places) >= quota;
            let places = (1..=cores.places()).find(enough).unwrap_or(cores.places());
            cores.servers = Servers::Shared(places);
            cores.background = f64::from(places) - free;
        }
        if self.setup.pool.is_none() {
            return;
        }
        // a place is held for as long as the server says, which knows of no generator
        let Delays { inside_s, outside_s } = self.demands.without_generator;
        for (name, longer_s) in [(INSIDE, inside_s), (OUTSIDE, outside_s)] {
            if let Some(delay) = landscape.station_mut(name) {
                // drawn shorter than it was found, it may be shorter than what it is less by
                delay.service_s = (delay.service_s + longer_s).max(0.0);
            }
        }
    }

    /// Landscapes as they might be: every demand drawn within what is known of it, and all together
    /// as far off as the steps were from the model; each with a tail of its own.
    #[must_use]
    pub fn drawn(&self, draws: usize, seed: u64, whose: Generator) -> Vec<(Landscape, Tail)> {
        let mut random = SplitMix64::new(seed);
        let one = |_| {
            let drawn = self.demands.drawn(self.setup.processors(), self.misfit, &mut random);
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
