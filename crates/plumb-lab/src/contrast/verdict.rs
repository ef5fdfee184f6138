//! What follows from the tests of the primary figures, taken together.

use plumb_comparison::{Better, Endpoint, Verdict};
use plumb_measure::statistics::{Interval, holm, interval, wilcoxon};

use super::level::{LEVEL, share, shown};
use super::withdrawn::{FailedRounds, Remedy, Withdrawn};
use super::{effects, ratio};

/// The tests of a comparison, which pay for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tests {
    /// Primary figures that were tested.
    pub count: u64,
    /// The fewest pairs with which a difference can be shown in each of them.
    pub needed: u64,
}

/// A primary figure with the rounds that failed, and what becomes of its verdict for these.
#[derive(Debug)]
pub struct Judged<'a> {
    endpoint: &'a mut Endpoint,
    failed: FailedRounds,
    /// A verdict that it would have if nobody asked for these rounds, and that does not stand; set by [`judge`].
    pub withdrawn: Option<Withdrawn>,
}

impl<'a> Judged<'a> {
    /// `endpoint`, not judged yet, without a pair in the rounds that `failed`.
    #[must_use]
    pub fn new(endpoint: &'a mut Endpoint, failed: FailedRounds) -> Self {
        Self { endpoint, failed, withdrawn: None }
    }
}

/// Adjusts the tests of all primary figures for each other (Holm), and draws their verdicts. One that
/// holds only as long as nobody asks for the rounds that failed does not stand: in the place of
/// `equivalent` then comes what would be said without a margin, if that stands.
pub fn judge(primaries: &mut [Judged<'_>], margin: Option<f64>) -> Tests {
    let tested = || primaries.iter().filter(|it| it.endpoint.p.is_some());
    let all: Vec<f64> = tested().filter_map(|it| it.endpoint.p).collect();
    let at_worst: Vec<Vec<f64>> =
        tested().map(|it| effects_at_worst(it.endpoint, it.failed)).collect();
    // effects of nothing but zero have no test, and a p all the same
    let p_at_worst: Vec<f64> =
        at_worst.iter().map(|effects| wilcoxon(effects).map_or(1.0, |it| it.p)).collect();
    let (adjusted, adjusted_at_worst) = (holm(&all), holm(&p_at_worst));
    let mut place = 0;
    for Judged { endpoint, failed, withdrawn } in primaries {
        if endpoint.p.is_none() {
            endpoint.verdict = Some(Verdict::None);
            continue;
        }
        endpoint.p_adjusted = Some(adjusted[place]);
        let worst = &at_worst[place];
        let stands = |found: Verdict, p: f64| match found {
            Verdict::Better => shown(p) && goes_better(worst, endpoint.better),
            Verdict::Worse => shown(p) && !goes_better(worst, endpoint.better),
            Verdict::NoDifferenceShown => !shown(p),
            Verdict::Equivalent => {
                *failed == FailedRounds::default()
                    || margin.is_some_and(|margin| is_within(interval_of(worst), margin))
            }
            Verdict::Untestable | Verdict::None => true,
        };
        let found = verdict(endpoint, &all, place, margin);
        let lesser = (found == Verdict::Equivalent).then(|| verdict(endpoint, &all, place, None));
        let drawn = [Some(found), lesser]
            .into_iter()
            .flatten()
            .find(|it| stands(*it, adjusted_at_worst[place]));
        if drawn != Some(found) {
            let mut of_its_own = all.clone();
            of_its_own[place] = p_at_worst[place];
            *withdrawn = Some(if stands(found, holm(&of_its_own)[place]) {
                Withdrawn { verdict: found, remedy: Remedy::MendOthers }
            } else {
                Withdrawn::of(found, effects(&endpoint.blocks).len(), *failed, all.len())
            });
        }
        endpoint.verdict = Some(drawn.unwrap_or(Verdict::None));
        place += 1;
    }
    Tests { count: all.len() as u64, needed: pairs_needed(all.len()) }
}

/// The fewest pairs with which a difference can be shown in each of `tests` tests at once: with
/// fewer the smallest p there is stays above the level when it is adjusted for so many.
#[must_use]
pub fn pairs_needed(tests: usize) -> u64 {
    (1..64).find(|pairs| shown(share(tests.max(1)) * smallest_p(*pairs))).unwrap_or(64)
}

/// The verdict on the tested figure that has place `at` among `all` unadjusted p.
fn verdict(endpoint: &Endpoint, all: &[f64], at: usize, margin: Option<f64>) -> Verdict {
    let Some(p) = endpoint.p_adjusted else { return Verdict::None };
    if margin.is_some_and(|margin| is_within(endpoint.interval, margin)) {
        Verdict::Equivalent
    } else if shown(p) {
        let is_better = goes_better(&effects(&endpoint.blocks), endpoint.better);
        if is_better { Verdict::Better } else { Verdict::Worse }
    } else if is_testable(endpoint, all, at) {
        Verdict::NoDifferenceShown
    } else {
        Verdict::Untestable
    }
}

/// True where all of the `interval` of a ratio lies within the `margin`.
fn is_within(interval: Option<Interval>, margin: f64) -> bool {
    interval.is_some_and(|it| 1.0 - margin <= it.low && it.high <= 1.0 + margin)
}

/// The interval of the ratio that these `effects` have; `None` without one, and where an end of it has none.
fn interval_of(effects: &[f64]) -> Option<Interval> {
    let it = interval(effects, LEVEL)?;
    Some(Interval { low: ratio(it.low)?, high: ratio(it.high)?, ..it })
}

/// The effects of the pairs, and each round that failed as a change for the worse of whoever failed, above
/// all that were measured: what is left of a variant that fails now and then are its better moments.
///
/// # Source
/// Worst ranks for values that are missing for a reason: Lachin, Worst-rank score analysis with
/// informatively missing observations in clinical trials, Controlled Clinical Trials 20, 1999.
fn effects_at_worst(endpoint: &Endpoint, failed: FailedRounds) -> Vec<f64> {
    let worse = if endpoint.better == Better::Lower { f64::INFINITY } else { f64::NEG_INFINITY };
    let mut effects = effects(&endpoint.blocks);
    effects.extend(std::iter::repeat_n(worse, failed.candidate));
    effects.extend(std::iter::repeat_n(-worse, failed.baseline));
    effects
}

/// Which way a difference that is shown goes: that of the test, for the estimate counts pairs without
/// an effect, too, and can be none where most are equal.
fn goes_better(effects: &[f64], better: Better) -> bool {
    let pairs = effects.iter().filter(|effect| **effect != 0.0).count();
    let half = share(pairs * (pairs + 1)) / 4.0;
    let grows = wilcoxon(effects).is_some_and(|found| found.statistic > half);
    grows == (better == Better::Higher)
}

/// True when its pairs could have shown a difference, had all of them agreed, the other tests being
/// what they are.
fn is_testable(endpoint: &Endpoint, all: &[f64], at: usize) -> bool {
    let mut best = all.to_vec();
    best[at] = smallest_p(effects(&endpoint.blocks).len() as u64);
    shown(holm(&best)[at])
}

/// The smallest two-sided p of the exact signed-rank test: all of so many pairs agree.
fn smallest_p(pairs: u64) -> f64 {
    2.0_f64.powi(1 - i32::try_from(pairs).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contrast::{estimate, p};
    use plumb_comparison::{BlockFigures, FigureUnit, Role};
    use plumb_measure::statistics::SplitMix64;

    /// A primary figure whose pairs have these effects.
    fn endpoint(effects: &[f64]) -> Endpoint {
        of_pairs(&effects.iter().map(|effect| (1.0, effect.exp())).collect::<Vec<_>>())
    }

    /// The figures of these pairs of baseline and candidate.
    fn blocks_of(pairs: &[(f64, f64)]) -> Vec<BlockFigures> {
        let block = |(round, (baseline, candidate)): (u64, &(f64, f64))| BlockFigures {
            round,
            baseline: Some(*baseline),
            candidate: Some(*candidate),
        };
        (1..).zip(pairs).map(block).collect()
    }

    /// A primary figure, good when it is low, with these pairs of baseline and candidate.
    fn of_pairs(pairs: &[(f64, f64)]) -> Endpoint {
        let what = ("p50", "median response time", FigureUnit::Ns, Better::Lower);
        let mut endpoint = Endpoint {
            role: Role::Primary,
            blocks: blocks_of(pairs),
            ..Endpoint::described(what, 1.0, 1.0)
        };
        estimate(&mut endpoint);
        endpoint.p = p(&endpoint);
        endpoint
    }

    /// The only figure of a comparison, judged.
    fn judged(pairs: &[(f64, f64)]) -> Endpoint {
        let mut endpoint = of_pairs(pairs);
        judge(&mut [Judged::new(&mut endpoint, FailedRounds::default())], None);
        endpoint
    }

    /// `pair` so many times.
    fn times(count: usize, pair: (f64, f64)) -> Vec<(f64, f64)> {
        vec![pair; count]
    }

    fn slower(pairs: u32) -> Vec<f64> {
        (1..=pairs).map(|n| 2.0 + f64::from(n) / 1_000.0).collect()
    }

    fn verdicts(all: &[Vec<f64>]) -> (Tests, Vec<Verdict>) {
        let mut endpoints: Vec<Endpoint> = all.iter().map(|effects| endpoint(effects)).collect();
        let unfailed = endpoints.iter_mut().map(|it| Judged::new(it, FailedRounds::default()));
        let tests = judge(&mut unfailed.collect::<Vec<_>>(), None);
        (tests, endpoints.iter().filter_map(|endpoint| endpoint.verdict).collect())
    }

    #[test]
    fn so_many_pairs_are_needed_and_one_fewer_is_not_enough() {
        assert_eq!((pairs_needed(0), pairs_needed(1), pairs_needed(36)), (6, 6, 11));
        for tests in [1, 2, 4, 12, 36, 48, 2_000] {
            let needed = usize::try_from(pairs_needed(tests)).unwrap();
            let best = |pairs: usize| {
                let effects: Vec<f64> = (1_u32..).take(pairs).map(f64::from).collect();
                let p = wilcoxon(&effects).unwrap().p;
                holm(&vec![p; tests])[0]
            };
            assert!(best(needed) <= 0.05 && best(needed - 1) > 0.05, "{tests}");
        }
    }

    #[test]
    fn what_so_few_pairs_cannot_show_is_untestable_and_never_no_difference() {
        let (tests, found) = verdicts(&vec![slower(10); 36]);
        assert_eq!(tests, Tests { count: 36, needed: 11 });
        assert!(found.iter().all(|it| *it == Verdict::Untestable), "{found:?}");
        let (_, found) = verdicts(&vec![slower(11); 36]);
        assert!(found.iter().all(|it| *it == Verdict::Worse), "{found:?}");
        assert_eq!(verdicts(&[slower(5)]).1, [Verdict::Untestable]);
        assert_eq!(verdicts(&[slower(6)]).1, [Verdict::Worse]);
        assert_eq!(verdicts(&[Vec::new()]).1, [Verdict::None]);
    }

    #[test]
    fn no_difference_is_said_only_where_one_could_have_been_shown() {
        let mixed = vec![0.1, -0.2, 0.3, -0.4, 0.5, -0.6];
        assert_eq!(verdicts(std::slice::from_ref(&mixed)).1, [Verdict::NoDifferenceShown]);
        let (_, found) = verdicts(&[mixed.clone(), mixed.clone()]);
        assert_eq!(found, [Verdict::Untestable; 2], "six pairs are too few for two");
        // the other one is shown first, and leaves the level to this one
        assert_eq!(verdicts(&[mixed, slower(12)]).1, [Verdict::NoDifferenceShown, Verdict::Worse]);
    }

    #[test]
    fn equal_variants_are_called_different_in_one_experiment_of_twenty_at_most() {
        let mut random = SplitMix64::new(29);
        let mut noise = || (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
        let experiments = 1_500;
        let mut of_one = 0;
        let mut of_three = 0;
        for _ in 0..experiments {
            let all: Vec<Vec<f64>> =
                (0..3).map(|_| (0..10).map(|_| 0.01 * noise()).collect()).collect();
            let differs = |it: &Verdict| matches!(it, Verdict::Better | Verdict::Worse);
            of_one += u32::from(differs(&verdicts(&all[..1]).1[0]));
            of_three += u32::from(verdicts(&all).1.iter().any(differs));
        }
        // the exact level of ten pairs is 4.88 %; of 1,500 experiments three standard errors are 1.7 %
        let allowed = f64::from(experiments) * (0.05 + 0.017);
        assert!(f64::from(of_one) < allowed && of_one > 0, "{of_one}");
        assert!(f64::from(of_three) < allowed && of_three > 0, "{of_three}");
    }

    /// Two neighbouring buckets of a histogram: the logarithms of their quotients differ in size.
    const BUCKETS: (f64, f64) = (60_031.0, 60_095.0);

    #[test]
    fn changes_of_one_size_are_tied_whichever_way_they_go() {
        let (low, high) = BUCKETS;
        let found = judged(&[times(9, (low, high)), times(3, (high, low))].concat());
        let other_way = judged(&[times(9, (high, low)), times(3, (low, high))].concat());
        // 2 (1 + 12 + 66 + 220) / 4096
        assert_eq!((found.p, other_way.p), (Some(0.145_996_093_75), Some(0.145_996_093_75)));
        assert_eq!(found.verdict, Some(Verdict::NoDifferenceShown));
        let even = judged(&[times(6, (low, high)), times(6, (high, low))].concat());
        assert_eq!((even.p, even.ratio), (Some(1.0), Some(1.0)));
    }

    #[test]
    fn two_figures_that_change_places_by_chance_differ_in_one_of_twenty_orders_at_most() {
        let (low, high) = BUCKETS;
        for (pairs, orders) in [(6, 2), (10, 22), (12, 158)] {
            let differ = (0_u32..1 << pairs).filter(|order| {
                let pair = |at: u32| if order >> at & 1 == 0 { (low, high) } else { (high, low) };
                let found = judged(&(0..pairs).map(pair).collect::<Vec<_>>());
                found.verdict != Some(Verdict::NoDifferenceShown)
            });
            assert_eq!(differ.count(), orders, "of {} orders", 1 << pairs);
            assert!(orders * 20 <= 1 << pairs);
        }
    }

    #[test]
    fn a_difference_goes_the_way_of_the_test_where_most_pairs_are_equal() {
        let equal = times(15, (120.0, 120.0));
        let lower = judged(&[equal.clone(), times(6, (120.0, 119.0))].concat());
        assert_eq!((lower.p, lower.ratio), (Some(0.031_25), Some(1.0)));
        assert_eq!(lower.verdict, Some(Verdict::Better));
        let higher = judged(&[equal, times(6, (119.0, 120.0))].concat());
        assert_eq!(higher.verdict, Some(Verdict::Worse));
    }

    #[test]
    fn a_figure_of_zero_is_ranked_above_all_changes_and_never_left_out() {
        // in eight rounds the candidate took nothing, in six a little more
        let found = judged(&[times(8, (4.0, 0.0)), times(6, (4.0, 4.1))].concat());
        assert!(found.p.is_some_and(|p| (0.04..0.06).contains(&p)), "{found:?}");
        assert_eq!(found.ratio, Some(0.0), "the typical pair is one of them");
        let all = judged(&times(6, (4.0, 0.0)));
        assert_eq!((all.verdict, all.ratio), (Some(Verdict::Better), Some(0.0)));
        let from_nothing = judged(&times(6, (0.0, 4.0)));
        assert_eq!((from_nothing.verdict, from_nothing.ratio), (Some(Verdict::Worse), None));
        assert_eq!(from_nothing.interval, None);
        let nothing = judged(&times(6, (0.0, 0.0)));
        assert_eq!((nothing.p, nothing.ratio), (Some(1.0), Some(1.0)));
        let even = judged(&[times(4, (0.0, 4.0)), times(4, (4.0, 0.0))].concat());
        assert_eq!((even.p, even.ratio), (Some(1.0), Some(1.0)));
    }

    #[test]
    fn a_verdict_that_the_failed_rounds_could_turn_is_none() {
        let of = |pairs: &[(f64, f64)], baseline, candidate, margin| {
            let mut endpoint = of_pairs(pairs);
            let failed = FailedRounds { baseline, candidate };
            judge(&mut [Judged::new(&mut endpoint, failed)], margin);
            endpoint.verdict.unwrap()
        };
        let faster: Vec<_> = (0..8).map(|n| (6.0, 4.0 + f64::from(n) / 100.0)).collect();
        assert_eq!(of(&faster, 0, 0, None), Verdict::Better);
        assert_eq!(of(&faster, 0, 6, None), Verdict::None, "the candidate failed in six more");
        assert_eq!(of(&faster, 6, 0, None), Verdict::Better, "the baseline did");
        assert_eq!(of(&[faster.clone(), faster.clone()].concat(), 0, 1, None), Verdict::Better);
        let slower: Vec<_> = faster.iter().map(|(one, other)| (*other, *one)).collect();
        assert_eq!(of(&slower, 0, 6, None), Verdict::Worse);
        assert_eq!(of(&slower, 6, 0, None), Verdict::None);
        let equal = [times(4, (4.0, 4.01)), times(4, (4.01, 4.0))].concat();
        assert_eq!(of(&equal, 0, 1, None), Verdict::NoDifferenceShown);
        assert_eq!(of(&equal, 0, 8, None), Verdict::None);
        assert_eq!(of(&equal, 0, 0, Some(0.1)), Verdict::Equivalent);
        // that the interval would reach beyond the margin leaves the lesser answer
        assert_eq!(of(&equal, 1, 0, Some(0.1)), Verdict::NoDifferenceShown);
        assert_eq!(of(&equal, 0, 8, Some(0.1)), Verdict::None);
        let many = [equal.clone(), equal.clone(), equal].concat();
        assert_eq!(of(&many, 1, 0, Some(0.1)), Verdict::Equivalent);
        let close: Vec<_> = (0..8).map(|n| (4.0, 4.01 + f64::from(n) / 1_000.0)).collect();
        assert_eq!(of(&close, 0, 1, Some(0.1)), Verdict::Worse, "without a margin it is");
    }

    #[test]
    fn failed_rounds_beside_a_thousand_pairs_leave_a_verdict_that_they_cannot_turn() {
        let faster: Vec<_> = (1..=1_001).map(|n| (6.0, 5.0 - f64::from(n) / 1e5)).collect();
        let of = |candidate| {
            let mut endpoint =
                Endpoint { blocks: blocks_of(&faster), p: Some(1e-9), ..of_pairs(&[]) };
            let failed = FailedRounds { baseline: 0, candidate };
            judge(&mut [Judged::new(&mut endpoint, failed)], None);
            endpoint.verdict.unwrap()
        };
        assert_eq!((of(2), of(900)), (Verdict::Better, Verdict::None));
    }

    #[test]
    fn a_verdict_that_is_withdrawn_pays_for_no_other() {
        let faster: Vec<_> = (0..8).map(|n| (6.0, 4.0 + f64::from(n) / 100.0)).collect();
        // three of fourteen go the other way: p lies between 0.025 and 0.05
        let size = |n: u32| 1.0 + f64::from(n) / 100.0;
        let pair =
            |n| if [6, 7, 8].contains(&n) { (4.0, 4.0 * size(n)) } else { (4.0, 4.0 / size(n)) };
        let unclear: Vec<_> = (1..=14).map(pair).collect();
        let of = |failed: usize| {
            let (mut one, mut other) = (of_pairs(&faster), of_pairs(&unclear));
            let lost = FailedRounds { baseline: 0, candidate: failed };
            let unfailed = Judged::new(&mut other, FailedRounds::default());
            let mut both = [Judged::new(&mut one, lost), unfailed];
            judge(&mut both, None);
            let words = both.map(|it| it.withdrawn.map(Withdrawn::words).unwrap_or_default());
            (one.verdict.unwrap(), other.verdict.unwrap(), other.p.unwrap(), words)
        };
        let (one, other, p, words) = of(0);
        assert!(p > 0.025 && p <= 0.05, "{p}");
        assert_eq!((one, other), (Verdict::Better, Verdict::Better));
        assert_eq!(words, ["", ""]);
        let (one, other, _, [of_one, of_other]) = of(6);
        assert_eq!((one, other), (Verdict::None, Verdict::None));
        let own =
            "so it is not called better: a round that failed counts as a change for the worse";
        assert!(of_one.starts_with(own), "{of_one}");
        assert_eq!(
            of_other,
            "it is not called better: rounds that failed in other contrasts leave it less of the level (Holm; \
             mend what fails there)"
        );
    }

    #[test]
    fn an_interval_that_reaches_beyond_the_margin_is_told_no_number_of_pairs_that_there_are() {
        // -0.60 to +0.72 %, and to +1.08 % with the round that failed
        let sign = |n: u32| if n.is_multiple_of(2) { 1.0 } else { -1.0 };
        let effects: Vec<f64> = (1..=12).map(|n| sign(n) * 0.0012 * f64::from(n)).collect();
        let mut endpoint = endpoint(&effects);
        let failed = FailedRounds { baseline: 0, candidate: 1 };
        let mut judged = [Judged::new(&mut endpoint, failed)];
        judge(&mut judged, Some(0.01));
        let words = judged[0].withdrawn.unwrap().words();
        assert!(words.starts_with("so it is not called equivalent: "), "{words}");
        assert!(words.ends_with("(more pairs may do, if no other round fails)"), "{words}");
        assert_eq!(endpoint.verdict, Some(Verdict::NoDifferenceShown));
    }
}
