//! Waits in front of requests, where a scenario has them behind.

use plumb_measure::Span;
use plumb_scenario::file::Think;
use plumb_scenario::file::placed;

use crate::draft::DraftStep;

/// Requests that follow each other, each with the wait in front of it.
#[derive(Debug, Default)]
pub struct Sequence {
    steps: Vec<DraftStep>,
    waits: Vec<Option<Think>>,
}

impl Sequence {
    /// Adds `step`, with the `wait` in front of it.
    pub fn push(&mut self, step: DraftStep, wait: Option<Think>) {
        self.steps.push(step);
        self.waits.push(wait);
    }

    /// Makes another wait of the one behind the last request; false when there is no request.
    pub fn linger(&mut self, other: impl FnOnce(Option<Think>) -> Option<Think>) -> bool {
        // the wait in front of the first will stand there
        let Some(wait) = self.waits.first_mut() else { return false };
        *wait = other(*wait);
        true
    }

    /// The steps with the waits behind them. The wait in front of one stands behind the one
    /// before it, and that in front of the first behind the last: a turn waits as long as it did,
    /// and only the first turn begins at once.
    pub fn take(&mut self) -> Vec<DraftStep> {
        let mut waits = std::mem::take(&mut self.waits);
        let mut steps = std::mem::take(&mut self.steps);
        if !waits.is_empty() {
            waits.rotate_left(1);
        }
        for (step, wait) in steps.iter_mut().zip(waits) {
            step.step.think = wait.map(placed);
        }
        steps
    }
}

/// Milliseconds as a span; what is no length of time is none.
#[must_use]
pub fn ms(ms: f64) -> Span {
    const YEAR_MS: f64 = 366.0 * 24.0 * 3_600_000.0;
    if !ms.is_finite() || ms <= 0.0 {
        return Span::from_ns(0);
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it lies between 0 and a year"
    )]
    let ns = (ms.min(YEAR_MS) * 1e6).round() as u64;
    Span::from_ns(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_in_front_stands_behind_the_request_before() {
        let mut sequence = Sequence::default();
        for wait in [Some(1.0), None, Some(3.0)] {
            sequence.push(DraftStep::default(), wait.map(|wait| Think::Fixed(ms(wait))));
        }
        let thinks: Vec<Option<Think>> =
            sequence.take().into_iter().map(|step| step.step.think.map(|t| *t.get_ref())).collect();
        assert_eq!(thinks, [None, Some(Think::Fixed(ms(3.0))), Some(Think::Fixed(ms(1.0)))]);
        assert!(sequence.take().is_empty());
    }

    #[test]
    fn milliseconds_become_spans() {
        assert_eq!(ms(1.5).ns(), 1_500_000);
        assert_eq!([ms(-1.0), ms(f64::NAN), ms(f64::INFINITY)].map(Span::ns), [0; 3]);
    }
}
