//! A ladder under way: step after step, each until its figures are known well enough.

use plumb_engine::options::HostOptions;
use plumb_engine::{Stop, clock};
use plumb_experiment::names::Values;
use plumb_folder::ExperimentFolder;
use plumb_measure::Span;
use serde::Serialize;

use super::file::{LadderPlan, Until};
use super::step::{Drift, Figures, Step, count, read};
use crate::experiment::{self, Servers};

/// The name of the document.
const SCHEMA: &str = "plumb.ladder/1";
/// An interval that is so many times as wide as asked is no reason to measure again.
const NEARLY: f64 = 1.25;

/// What a ladder leaves beside its runs.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Climbed {
    schema: &'static str,
    pub(super) plumb: plumb_measure::Program,
    pub(super) started: String,
    /// What was stepped.
    pub(super) stepped: &'static str,
    /// Places of pools by name, and servers of parts of the server's account.
    pub(super) pools: std::collections::BTreeMap<String, u32>,
    pub(super) servers: std::collections::BTreeMap<String, u32>,
    /// Every run, in the order of time.
    pub(super) steps: Vec<Step>,
    /// The level from which on throughput was flat while the response time grew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) knee: Option<u32>,
    /// How far throughput and mean of the repeated step are from the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) drift: Option<[Drift; 2]>,
    /// True when somebody ended it.
    pub(super) interrupted: bool,
}

/// A ladder under way.
#[derive(Debug)]
pub(super) struct Climb<'a> {
    plan: &'a LadderPlan,
    folder: &'a ExperimentFolder,
    host: &'a HostOptions,
    servers: Servers,
    pub(super) climbed: Climbed,
}

impl<'a> Climb<'a> {
    pub(super) fn new(
        plan: &'a LadderPlan,
        folder: &'a ExperimentFolder,
        host: &'a HostOptions,
    ) -> Self {
        let climbed = Climbed {
            schema: SCHEMA,
            plumb: experiment::program(),
            started: clock::utc(clock::wall_ns()),
            stepped: plan.stepped,
            pools: plan.pools.clone(),
            servers: plan.parts.clone(),
            steps: Vec::new(),
            knee: None,
            drift: None,
            interrupted: false,
        };
        Self { plan, folder, host, servers: Servers::default(), climbed }
    }

    /// Takes every level until the knee is shown, then one of them again.
    ///
    /// # Errors
    /// When a server does not start, a command cannot be carried out, or a folder cannot be written.
    pub(super) fn run(&mut self, stop: &Stop) -> anyhow::Result<()> {
        let mut length = self.plan.step;
        for level in &self.plan.levels {
            let before = self.climbed.last_good();
            length = self.level(*level, length, stop)?;
            if stop.asked() {
                return self.write();
            }
            self.climbed.knee = self.climbed.knee.or_else(|| self.climbed.knee_after(before));
            if self.climbed.knee.is_some() && self.plan.until == Until::Knee {
                break;
            }
        }
        self.again(stop)?;
        self.write()
    }

    /// Takes the step of `level`, for `length` at first, until it is valid and its intervals are as
    /// narrow as asked; how long the next should be.
    fn level(&mut self, level: u32, length: Span, stop: &Stop) -> anyhow::Result<Span> {
        let mut length = length;
        for _ in 0..self.plan.attempts {
            let step = self.take((level, length), false, stop)?;
            if stop.asked() {
                break;
            }
            let Some(figures) = step.figures.filter(|_| step.counts) else { continue };
            let wanted = self.long_enough(length, &figures);
            if wanted.ns() <= length.ns() || self.is_narrow(&figures) {
                return Ok(wanted);
            }
            length = wanted; // the longer run stands in the place of this one
        }
        Ok(length)
    }

    fn is_narrow(&self, figures: &Figures) -> bool {
        figures.widest().is_some_and(|half| half <= NEARLY * self.plan.width)
    }

    /// How long a step like one of `length` must be for intervals that are as narrow as asked.
    fn long_enough(&self, length: Span, figures: &Figures) -> Span {
        let Some(half) = figures.widest() else { return self.plan.step_max };
        let times = (half / self.plan.width).powi(2);
        let ns = (count(length.ns()) * times).clamp(0.0, count(self.plan.step_max.ns()));
        // whole tenths of a second: a length is read by people
        Span::from_ms(tenths(ns) * 100).max(self.plan.step)
    }

    /// Takes one of the levels in the middle once more, so that a machine that drifted shows.
    fn again(&mut self, stop: &Stop) -> anyhow::Result<()> {
        let good: Vec<Step> = self.climbed.steps.iter().filter(|it| it.counts).cloned().collect();
        let Some(first) = good.get(good.len() / 2) else { return Ok(()) };
        for _ in 0..self.plan.attempts {
            let length = Span::from_ns(first.length_ns);
            let step = self.take((first.level, length), true, stop)?;
            if stop.asked() {
                return Ok(());
            }
            if let (Some(one), Some(two), true) = (step.figures, first.figures, step.counts) {
                self.climbed.drift = Some(one.drift_from(&two));
                return Ok(());
            }
        }
        Ok(())
    }

    /// Measures one run of a level, and writes down what came of it.
    fn take(
        &mut self,
        (level, length): (u32, Span),
        repeated: bool,
        stop: &Stop,
    ) -> anyhow::Result<Step> {
        let stepped = self.plan.stepped;
        let probe = self.plan.probe(level, length)?;
        let number = self.climbed.steps.len() as u64 + 1;
        let path = self.folder.block(number, &format!("{stepped}-{level}"))?;
        let addresses = self.servers.ready(&self.plan.servers, &self.plan.commands, stop)?;
        let names = self.plan.names().into_iter().map(str::to_owned);
        let known: Values = names.zip(addresses).collect();
        let title = format!("{level} {stepped}: ");
        let measured = probe.measure(&known, self.host, (&path, &title), stop);
        self.servers.end_of_block();
        if stop.asked() {
            self.climbed.interrupted = true;
        }
        measured?;
        let (figures, invalid) = read(&path)?;
        let folder = path.strip_prefix(self.folder.path()).unwrap_or(&path).display().to_string();
        let counts = invalid.is_none() && figures.is_some() && !self.climbed.interrupted;
        let length_ns = length.ns();
        let step = Step { level, folder, length_ns, counts, repeated, invalid, figures };
        if counts && !repeated {
            self.climbed.replace(level);
        }
        self.climbed.steps.push(step.clone());
        self.write()?;
        Ok(step)
    }

    fn write(&self) -> anyhow::Result<()> {
        self.folder.write_ladder(&(serde_json::to_string_pretty(&self.climbed)? + "\n"))?;
        Ok(())
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a length of at most a day")]
#[expect(clippy::cast_sign_loss, reason = "a length")]
fn tenths(ns: f64) -> u64 {
    (ns / 1e8).ceil() as u64
}

impl Climbed {
    /// A longer run of `level` is there: those before it count no more.
    fn replace(&mut self, level: u32) {
        for step in self.steps.iter_mut().filter(|it| it.level == level) {
            step.counts = false;
        }
    }

    /// The last level with figures that count.
    fn last_good(&self) -> Option<(u32, Figures)> {
        let last = self.steps.iter().rev().find(|step| step.counts)?;
        Some((last.level, last.figures?))
    }

    /// The level of the last step, where it lies beyond the knee; `before` is the step below it.
    fn knee_after(&self, before: Option<(u32, Figures)>) -> Option<u32> {
        let ((low, before), (level, figures)) = (before?, self.last_good()?);
        let beyond =
            level > low && figures.is_beyond_knee(&before, f64::from(level) / f64::from(low));
        beyond.then_some(level)
    }

    /// Levels of which no run counts.
    pub(super) fn lacking(&self) -> Vec<u32> {
        let mut levels: Vec<u32> = self.steps.iter().map(|step| step.level).collect();
        levels.sort_unstable();
        levels.dedup();
        levels.retain(|level| !self.steps.iter().any(|it| it.level == *level && it.counts));
        levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(level: u32, throughput_per_s: f64, mean_ns: u64) -> Step {
        let figures = Figures {
            throughput_per_s,
            throughput_half: Some(0.01),
            mean_ns,
            mean_half: Some(0.01),
            p95_ns: 2 * mean_ns,
            p95_half: Some(0.01),
        };
        Step {
            level,
            folder: format!("blocks/{level}"),
            length_ns: 1,
            counts: true,
            repeated: false,
            invalid: None,
            figures: Some(figures),
        }
    }

    fn climbed(steps: Vec<Step>) -> Climbed {
        Climbed {
            schema: SCHEMA,
            plumb: experiment::program(),
            started: String::new(),
            stepped: "users",
            pools: std::collections::BTreeMap::new(),
            servers: std::collections::BTreeMap::new(),
            steps,
            knee: None,
            drift: None,
            interrupted: false,
        }
    }

    #[test]
    fn the_knee_is_the_first_level_beyond_it() {
        let mut all = climbed(vec![step(8, 100.0, 20)]);
        let before = all.last_good();
        all.steps.push(step(16, 190.0, 22));
        assert_eq!(all.knee_after(before), None);
        let before = all.last_good();
        all.steps.push(Step { counts: false, ..step(32, 195.0, 90) });
        assert_eq!(all.knee_after(before), None, "what does not count shows nothing");
        all.steps.push(step(32, 195.0, 90));
        assert_eq!(all.knee_after(before), Some(32));
    }

    #[test]
    fn a_longer_run_stands_in_the_place_of_a_shorter_one() {
        let mut all = climbed(vec![step(8, 100.0, 20), step(16, 190.0, 22)]);
        all.replace(8);
        assert_eq!(all.steps.iter().map(|it| it.counts).collect::<Vec<_>>(), [false, true]);
        assert_eq!(all.lacking(), [8]);
        all.steps.push(step(8, 101.0, 20));
        assert!(all.lacking().is_empty());
    }
}
