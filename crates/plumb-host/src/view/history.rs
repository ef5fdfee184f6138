//! The samples that a screen shows.

use std::collections::VecDeque;

use jiff::tz::TimeZone;
use plumb_measure::Span;
use plumb_procfs::State;

use crate::sample::{InterruptSample, ProcessSample, Sample};
use crate::subject::Subject;

/// Samples that are kept: as many as the widest screen has columns.
const KEPT_MAX: usize = 512;

/// Samples that are looked through for a figure that comes once a second.
const LATEST_MAX: usize = 100;

/// The last samples of one machine.
#[derive(Clone, Debug)]
pub struct History {
    /// Name of the machine.
    pub host: String,
    /// Time between two samples, as asked for.
    pub every: Span,
    /// The zone in which times are shown.
    pub zone: TimeZone,
    samples: VecDeque<Sample>,
    top: Vec<ProcessSample>,
    interrupts: Vec<InterruptSample>,
    states: Vec<(Subject, State)>,
}

impl History {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(host: &str, every: Span, zone: TimeZone) -> Self {
        let (samples, top, interrupts) = (VecDeque::new(), Vec::new(), Vec::new());
        Self { host: host.into(), every, zone, samples, top, interrupts, states: Vec::new() }
    }

    /// Takes one more sample.
    pub fn push(&mut self, sample: &Sample) {
        if !sample.top.is_empty() {
            self.top.clone_from(&sample.top);
        }
        if !sample.interrupts.is_empty() {
            self.interrupts.clone_from(&sample.interrupts);
        }
        let mut kept = match self.samples.len() {
            KEPT_MAX => self.samples.pop_front().unwrap_or_default(),
            _ => Sample::default(),
        };
        kept.clone_from(sample);
        self.samples.push_back(kept);
    }

    /// The last sample.
    #[must_use]
    pub fn last(&self) -> Option<&Sample> {
        self.samples.back()
    }

    /// The processes that used most when all of them were last looked at.
    pub(super) fn top(&self) -> &[ProcessSample] {
        &self.top
    }

    /// The busiest lines of interrupts when they were last looked at.
    pub(super) fn interrupts(&self) -> &[InterruptSample] {
        &self.interrupts
    }

    /// A figure that not every sample has, from the last one that has it.
    pub(super) fn latest<T>(&self, of: impl Fn(&Sample) -> Option<T>) -> Option<T> {
        self.samples.iter().rev().take(LATEST_MAX).find_map(of)
    }

    /// One figure of every sample, the oldest first.
    pub(super) fn series(&self, of: impl Fn(&Sample) -> f64) -> Vec<f64> {
        self.samples.iter().map(of).collect()
    }

    /// A figure that not every sample has: where it is absent, the one before stands.
    pub(super) fn held(&self, of: impl Fn(&Sample) -> Option<f64>) -> Vec<f64> {
        let mut last = 0.0;
        let held = self.samples.iter().map(|sample| {
            last = of(sample).unwrap_or(last);
            last
        });
        held.collect()
    }

    /// Takes what has become of each sampler.
    pub fn tell(&mut self, states: Vec<(Subject, State)>) {
        self.states = states;
    }

    /// What has become of each sampler, as far as it was told.
    pub(super) fn states(&self) -> &[(Subject, State)] {
        &self.states
    }
}
