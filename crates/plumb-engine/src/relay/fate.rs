//! Which connections are lost, and when: drawn as they come, from the seed of the plan.

use plumb_measure::Share;
use plumb_measure::statistics::SplitMix64;

use super::plan::{Limit, LossPlan};

/// What is going to happen to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is reset at once.
    Refused,
    /// It passes, until the limit if there is one.
    Passes(Option<Limit>),
}

/// Draws one fate after another.
#[derive(Debug)]
pub(super) struct Fates {
    plan: LossPlan,
    random: SplitMix64,
}

impl Fates {
    pub(super) fn new(plan: LossPlan, seed: u64) -> Self {
        Self { plan, random: SplitMix64::new(seed) }
    }

    /// The fate of the next connection, and a seed for its jitter. A seed draws the same numbers
    /// whatever the plan makes of them.
    pub(super) fn next(&mut self) -> (Fate, u64) {
        let (refused, cut) = (self.random.uniform(), self.random.uniform());
        let jitter_seed = self.random.next_u64();
        let within = |share: Option<Share>, drawn: f64| share.is_some_and(|it| drawn < it.of_one());
        let fate = if within(self.plan.refuse, refused) {
            Fate::Refused
        } else if self.plan.cut_share.is_none() || within(self.plan.cut_share, cut) {
            Fate::Passes(self.plan.cut)
        } else {
            Fate::Passes(None)
        };
        (fate, jitter_seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_measure::Span;

    fn fates(plan: LossPlan) -> Vec<Fate> {
        let mut fates = Fates::new(plan, 42);
        (0..10_000).map(|_| fates.next().0).collect()
    }

    fn count(fates: &[Fate], which: Fate) -> usize {
        fates.iter().filter(|fate| **fate == which).count()
    }

    #[test]
    fn without_loss_everything_passes() {
        assert_eq!(count(&fates(LossPlan::default()), Fate::Passes(None)), 10_000);
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
        let drawn = fates(plan);
        assert_eq!(drawn, fates(plan));
        assert!((900..1_100).contains(&count(&drawn, Fate::Refused)));
        assert!((4_300..4_700).contains(&count(&drawn, Fate::Passes(cut))));
        let all = LossPlan { cut, ..LossPlan::default() };
        assert_eq!(count(&fates(all), Fate::Passes(cut)), 10_000);
    }
}
