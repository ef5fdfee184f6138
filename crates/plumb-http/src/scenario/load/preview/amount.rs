//! How much a script asks for, as far as the file alone tells.

use plumb_measure::real;
use std::collections::BTreeMap;

use plumb_scenario::draw::mean_ns;
use plumb_scenario::file::{Think, Turns};
use serde::Serialize;

use super::step::ShownStep;
use crate::scenario::compile::bare;

/// What one script of a user comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Amount {
    /// Requests in the mean, without those that depend on answers.
    pub(super) requests: f64,
    /// Think times and the pause behind the script in the mean, without those that depend on
    /// answers, nanoseconds.
    pub(super) think_ns: f64,
    /// True when answers decide on more: conditions, and lists that are extracted or shared.
    pub(super) depends: bool,
}

impl Amount {
    /// The amount of a script of `steps` with `pause` behind it. `constants` never change.
    pub(super) fn of(
        steps: &[ShownStep],
        pause: Option<Think>,
        constants: &BTreeMap<String, String>,
    ) -> Self {
        let pause = Self { think_ns: pause.as_ref().map_or(0.0, mean_ns), ..Self::default() };
        steps.iter().map(|step| Self::of_step(step, constants)).fold(pause, Self::and)
    }

    /// Requests a second of `users` that never wait for an answer; `None` where that is no number.
    pub(super) fn per_s(self, users: f64) -> Option<f64> {
        let known = !self.depends && self.think_ns > 0.0;
        known.then(|| users * self.requests / (self.think_ns / 1e9))
    }

    fn of_step(shown: &ShownStep, constants: &BTreeMap<String, String>) -> Self {
        let step = &shown.step;
        let think = step.think.as_ref().map_or(0.0, |think| mean_ns(think.get_ref()));
        let once = Self {
            requests: if shown.is_request() { 1.0 } else { 0.0 },
            think_ns: think,
            depends: false,
        };
        let inside = shown.steps.iter().map(|step| Self::of_step(step, constants));
        let turn = inside.fold(once, Self::and);
        let list = step.each.as_ref().map(|list| bare(list.get_ref()));
        let unknown = list.is_some_and(|list| !constants.contains_key(list));
        if unknown
            || step.turns == Turns::Shared
            || step.condition.is_some()
            || step.holds.is_some()
        {
            return Self { depends: true, ..Self::default() };
        }
        let turns = step.repeat.as_ref().map_or(1.0, |turns| real(*turns.get_ref()));
        let share = step.share.as_ref().and_then(|share| share.get_ref().parse().ok());
        turn.times(turns * share.map_or(1.0, plumb_measure::Share::of_one))
    }

    fn and(self, more: Self) -> Self {
        Self {
            requests: self.requests + more.requests,
            think_ns: self.think_ns + more.think_ns,
            depends: self.depends || more.depends,
        }
    }

    fn times(self, turns: f64) -> Self {
        Self { requests: self.requests * turns, think_ns: self.think_ns * turns, ..self }
    }
}
