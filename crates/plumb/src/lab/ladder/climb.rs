//! A ladder under way: step after step, each until its figures are known well enough.

use std::path::Path;

use plumb_command::exit;
use plumb_engine::options::HostOptions;
use plumb_engine::{Stop, clock};
use plumb_experiment::{Until, names::Values};
use plumb_folder::ExperimentFolder;
use plumb_lab::{Figures, LadderRecord, Step, StepRun, step_run};
use plumb_measure::{Span, real};

use super::plan::Ladder;
use crate::experiment::{self, Probe, Servers, without_secrets};

/// An interval that is so many times as wide as asked is no reason to measure again.
const NEARLY: f64 = 1.25;

/// A ladder under way.
#[derive(Debug)]
pub(super) struct Climb<'a> {
    ladder: &'a Ladder,
    folder: &'a ExperimentFolder,
    host: &'a HostOptions,
    servers: Servers,
    pub(super) climbed: LadderRecord,
}

impl<'a> Climb<'a> {
    pub(super) fn new(
        ladder: &'a Ladder,
        folder: &'a ExperimentFolder,
        host: &'a HostOptions,
    ) -> Self {
        let plan = &ladder.plan;
        let climbed = LadderRecord::new(
            experiment::program(),
            clock::utc(clock::wall_ns()),
            plan.stepped,
            [plan.pools.clone(), plan.parts.clone()],
        );
        Self { ladder, folder, host, servers: Servers::default(), climbed }
    }

    /// Takes every level until the knee is shown, then one of them again, and writes down what came of it.
    ///
    /// # Errors
    /// When the first step cannot begin, or a folder cannot be written.
    pub(super) fn run(&mut self, stop: &Stop) -> anyhow::Result<()> {
        let climbed = self.climb(stop);
        let written = self.write();
        climbed.and(written)
    }

    fn climb(&mut self, stop: &Stop) -> anyhow::Result<()> {
        let mut length = self.ladder.plan.step;
        for level in &self.ladder.plan.levels {
            let before = self.climbed.last_good();
            length = self.level(*level, length, stop)?;
            if stop.asked() {
                return Ok(());
            }
            self.climbed.knee = self.climbed.knee.or_else(|| self.climbed.knee_after(before));
            if self.climbed.knee.is_some() && self.ladder.plan.until == Until::Knee {
                break;
            }
        }
        self.again(stop)
    }

    /// Takes the step of `level`, for `length` at first, until it is valid and its intervals are as
    /// narrow as asked; how long the next should be.
    fn level(&mut self, level: u32, length: Span, stop: &Stop) -> anyhow::Result<Span> {
        let mut length = length;
        for _ in 0..self.ladder.plan.attempts {
            let figures = self.take((level, length), false, stop)?;
            if stop.asked() {
                break;
            }
            let Some(figures) = figures else { continue };
            let wanted = self.long_enough(length, &figures);
            if wanted.ns() <= length.ns() || self.is_narrow(&figures) {
                return Ok(wanted);
            }
            length = wanted; // the longer run stands in the place of this one
        }
        Ok(length)
    }

    fn is_narrow(&self, figures: &Figures) -> bool {
        figures.widest().is_some_and(|half| half <= NEARLY * self.ladder.plan.width)
    }

    /// How long a step like one of `length` must be for intervals that are as narrow as asked.
    fn long_enough(&self, length: Span, figures: &Figures) -> Span {
        let Some(half) = figures.widest() else { return self.ladder.plan.step_max };
        let times = (half / self.ladder.plan.width).powi(2);
        let ns = (real(length.ns()) * times).clamp(0.0, real(self.ladder.plan.step_max.ns()));
        // whole tenths of a second: a length is read by people
        Span::from_ms(tenths(ns) * 100).max(self.ladder.plan.step)
    }

    /// Takes one of the levels in the middle once more, so that a machine that drifted shows.
    fn again(&mut self, stop: &Stop) -> anyhow::Result<()> {
        let good: Vec<Step> = self.climbed.steps.iter().filter(|it| it.counts).cloned().collect();
        let Some(first) = good.get(good.len() / 2) else { return Ok(()) };
        for _ in 0..self.ladder.plan.attempts {
            let length = Span::from_ns(first.length_ns);
            let figures = self.take((first.level, length), true, stop)?;
            if stop.asked() {
                return Ok(());
            }
            if let (Some(one), Some(two)) = (figures, first.figures) {
                self.climbed.drift = Some(one.drift_from(&two));
                return Ok(());
            }
        }
        Ok(())
    }

    /// Measures one run of a level, and writes down what came of it; its figures where they count.
    ///
    /// # Errors
    /// When nothing can be written, or the first step of all cannot begin: one that comes later is a step
    /// without figures.
    fn take(
        &mut self,
        (level, length): (u32, Span),
        repeated: bool,
        stop: &Stop,
    ) -> anyhow::Result<Option<Figures>> {
        let probe = self.ladder.probe(level, length)?;
        let number = self.climbed.steps.len() as u64 + 1;
        let path = self.folder.block(number, &format!("{}-{level}", self.ladder.plan.stepped))?;
        let measured = self.measure(&probe, (&path, level), stop);
        self.servers.end_of_block();
        self.climbed.interrupted = stop.asked();
        let run = match measured.and_then(|()| Ok(step_run(&path, length)?)) {
            Ok(read) => read,
            Err(_) if self.climbed.interrupted => return Ok(None),
            Err(error) if self.climbed.steps.is_empty() => return Err(error),
            Err(error) => {
                let invalid = Some(without_secrets(&exit::said(&error)));
                StepRun { invalid, ..StepRun::default() }
            }
        };
        let StepRun { figures, invalid, foreign } = run;
        let within = path.strip_prefix(self.folder.path()).unwrap_or(&path);
        let folder = path.exists().then(|| within.display().to_string());
        let counts = invalid.is_none() && figures.is_some() && !self.climbed.interrupted;
        let length_ns = length.ns();
        let step = Step { level, folder, length_ns, counts, repeated, invalid, figures, foreign };
        self.climbed.add(step);
        self.write()?;
        Ok(figures.filter(|_| counts))
    }

    /// Starts the servers that are not there yet, and measures the step of `level` into `folder`.
    fn measure(
        &mut self,
        probe: &Probe,
        (folder, level): (&Path, u32),
        stop: &Stop,
    ) -> anyhow::Result<()> {
        let Ladder { plan, servers } = self.ladder;
        let addresses = self.servers.ready(servers, &plan.commands, stop)?;
        let names = plan.names().into_iter().map(str::to_owned);
        let known: Values = names.zip(addresses).collect();
        let title = format!("{level} {}: ", plan.stepped);
        probe.measure(&known, self.host, (folder, &title), stop)
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
