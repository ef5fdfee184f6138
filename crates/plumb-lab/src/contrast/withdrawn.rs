//! Verdicts that rounds that failed take away.

use plumb_comparison::Verdict;
use plumb_measure::statistics::{interval, wilcoxon};

use super::level::{LEVEL, share, shown};

/// Pairs up to which it is said how many would do.
const PAIRS_MAX: u32 = 200;

/// Rounds that have no pair because only one of both failed in them: its operations, or all of its
/// measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailedRounds {
    /// Of the baseline.
    pub baseline: usize,
    /// Of the candidate.
    pub candidate: usize,
}

/// A verdict that does not stand, because the rounds that failed could turn it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Withdrawn {
    /// That of the pairs alone.
    pub verdict: Verdict,
    /// What would let it stand.
    pub remedy: Remedy,
}

/// What would let a verdict stand that rounds that failed take away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// That nothing fails: 200 pairs would not do beside as many failed rounds, or no number of them would.
    Mend,
    /// So many pairs that all agree, which are more than there are, beside as many failed rounds.
    Pairs(u32),
    /// More pairs, perhaps: there are as many as would do if all agreed.
    MorePairs,
    /// That nothing fails in other contrasts: beside the failed rounds of its own alone it would stand.
    MendOthers,
}

impl Withdrawn {
    /// `verdict`, of so many `pairs` beside rounds that `failed`, as one of so many `tests`.
    pub(super) fn of(verdict: Verdict, pairs: usize, failed: FailedRounds, tests: usize) -> Self {
        let stands = |against: usize, pairs: u32| {
            let mut effects: Vec<f64> = (1..=pairs).map(f64::from).collect();
            effects.extend(std::iter::repeat_n(f64::NEG_INFINITY, against));
            let half = share(effects.len() * (effects.len() + 1)) / 4.0;
            wilcoxon(&effects).is_some_and(|it| it.statistic > half && shown(share(tests) * it.p))
        };
        let reaches = |beyond: usize, pairs: u32| {
            let mut effects: Vec<f64> = (1..=pairs).map(|_| 0.0).collect();
            effects.extend(std::iter::repeat_n(f64::INFINITY, beyond));
            interval(&effects, LEVEL).is_some_and(|it| it.high.is_finite())
        };
        let most = failed.baseline.max(failed.candidate);
        let needed = match verdict {
            Verdict::Better => fewest(|pairs| stands(failed.candidate, pairs)),
            Verdict::Worse => fewest(|pairs| stands(failed.baseline, pairs)),
            Verdict::Equivalent => fewest(|pairs| reaches(most, pairs)),
            Verdict::NoDifferenceShown | Verdict::Untestable | Verdict::None => None,
        };
        let remedy = match needed {
            None => Remedy::Mend,
            Some(needed) if needed as usize > pairs => Remedy::Pairs(needed),
            Some(_) => Remedy::MorePairs,
        };
        Self { verdict, remedy }
    }

    /// That it does not stand, why, and what to do, in words without an end.
    #[must_use]
    pub fn words(self) -> String {
        let not = match self.verdict {
            Verdict::NoDifferenceShown => "it is not said that no difference is shown".into(),
            other => format!("it is not called {}", other.words()),
        };
        let remedy = match (self.verdict, self.remedy) {
            (_, Remedy::Mend) => "mend what fails".into(),
            (_, Remedy::MorePairs) => "more pairs may do, if no other round fails".into(),
            (Verdict::Equivalent, Remedy::Pairs(pairs)) => {
                format!("it takes {pairs} pairs or more, if no other round fails")
            }
            (_, Remedy::Pairs(pairs)) => {
                format!("{pairs} pairs that all agree would do, if no other round fails")
            }
            (verdict, Remedy::MendOthers) => {
                let share = if verdict == Verdict::NoDifferenceShown { "more" } else { "less" };
                return format!(
                    "{not}: rounds that failed in other contrasts leave it {share} of the level (Holm; mend \
                     what fails there)"
                );
            }
        };
        format!(
            "so {not}: a round that failed counts as a change for the worse of whoever failed ({remedy})"
        )
    }
}

/// The fewest pairs that do, of what does with more if it does with fewer; `None` above 200.
fn fewest(does: impl Fn(u32) -> bool) -> Option<u32> {
    let (mut few, mut enough) = (0, PAIRS_MAX);
    if !does(enough) {
        return None;
    }
    while enough - few > 1 {
        let middle = u32::midpoint(few, enough);
        if does(middle) { enough = middle } else { few = middle }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_many_pairs_would_do_is_no_more_than_that_and_no_fewer() {
        let failed = |baseline, candidate| FailedRounds { baseline, candidate };
        let pairs = |verdict, failed, tests| match Withdrawn::of(verdict, 0, failed, tests).remedy {
            Remedy::Pairs(pairs) => Some(pairs),
            _ => None,
        };
        // of ranks 1 to 11 there are 70 sets with a sum of 12 and less beside the twelfth: 2 (70) / 4096
        assert_eq!(pairs(Verdict::Better, failed(0, 1), 1), Some(11));
        assert_eq!(pairs(Verdict::Worse, failed(1, 0), 1), Some(11));
        assert_eq!(pairs(Verdict::Better, failed(3, 0), 1), Some(6), "these count for it");
        let many = pairs(Verdict::Better, failed(0, 6), 1).unwrap();
        assert!((25..60).contains(&many), "{many}");
        assert!(pairs(Verdict::Better, failed(0, 1), 12).unwrap() > 11, "for more tests more");
        assert_eq!(pairs(Verdict::Better, failed(0, 190), 1), None);
        assert!(pairs(Verdict::Equivalent, failed(1, 0), 1).is_some_and(|it| it < 20));
        assert_eq!(pairs(Verdict::NoDifferenceShown, failed(0, 1), 1), None);
    }

    #[test]
    fn no_number_is_told_to_whoever_has_as_many_pairs() {
        let words = |verdict, pairs| {
            let failed = FailedRounds { baseline: 0, candidate: 1 };
            Withdrawn::of(verdict, pairs, failed, 1).words()
        };
        for verdict in [Verdict::Better, Verdict::Equivalent] {
            assert!(words(verdict, 10).contains("11 pairs"), "{}", words(verdict, 10));
            for pairs in [11, 14] {
                let said = words(verdict, pairs);
                assert!(said.contains("(more pairs may do, if no other round fails)"), "{said}");
            }
        }
    }
}
