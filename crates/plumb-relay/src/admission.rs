//! Which connections are lost, and when: drawn as they come, from the seed of the plan.

use plumb_measure::Share;
use plumb_measure::statistics::SplitMix64;

use crate::plan::{Limit, LossPlan};

/// What is going to happen to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It is reset at once.
    Refused,
    /// It passes, until the limit if there is one.
    Passes(Option<Limit>),
}

/// Draws one admission after another.
#[derive(Debug)]
pub(crate) struct Admissions {
    plan: LossPlan,
    random: SplitMix64,
}

impl Admissions {
    pub(crate) fn new(plan: LossPlan, seed: u64) -> Self {
        Self { plan, random: SplitMix64::new(seed) }
    }

    /// The admission of the next connection, and a seed for its jitter. A seed draws the same numbers
    /// whatever the plan makes of them.
    pub(crate) fn next(&mut self) -> (Admission, u64) {
        let (refused, cut) = (self.random.uniform(), self.random.uniform());
        let jitter_seed = self.random.next_u64();
        let within = |share: Option<Share>, drawn: f64| share.is_some_and(|it| drawn < it.of_one());
        let admission = if within(self.plan.refuse, refused) {
            Admission::Refused
        } else if self.plan.cut_share.is_none() || within(self.plan.cut_share, cut) {
            Admission::Passes(self.plan.cut)
        } else {
            Admission::Passes(None)
        };
        (admission, jitter_seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_measure::Span;

    fn admissions(plan: LossPlan) -> Vec<Admission> {
        let mut admissions = Admissions::new(plan, 42);
        (0..10_000).map(|_| admissions.next().0).collect()
    }

    fn count(admissions: &[Admission], which: Admission) -> usize {
        admissions.iter().filter(|admission| **admission == which).count()
    }

    #[test]
    fn without_loss_everything_passes() {
        assert_eq!(count(&admissions(LossPlan::default()), Admission::Passes(None)), 10_000);
    }

    #[test]
    fn shares_are_kept_and_a_seed_repeats_them() {
        let cut = Some(Limit::After(Span::from_ms(1)));
        let plan = LossPlan {
            refuse: Some(Share::percent(10)),
            cut,
            cut_share: Some(Share::percent(50)),
            idle: None,
        };
        let drawn = admissions(plan);
        assert_eq!(drawn, admissions(plan));
        assert!((900..1_100).contains(&count(&drawn, Admission::Refused)));
        assert!((4_300..4_700).contains(&count(&drawn, Admission::Passes(cut))));
        let all = LossPlan { cut, ..LossPlan::default() };
        assert_eq!(count(&admissions(all), Admission::Passes(cut)), 10_000);
    }
}
