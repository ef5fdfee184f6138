//! Who takes part in a load of scripts, and when.

use crate::statistics::SplitMix64;
use crate::{real, truncated};

/// Nanoseconds in a second, as a number of the arithmetic below.
const SECOND: f64 = 1e9;
/// Scripts a second that one thread begins at most: a rate beyond it is one nobody meant.
pub const ARRIVALS_MAX: f64 = 1e6;

/// A level over time: straight lines between points, level before the first and behind the last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Nanoseconds after the start of the load, never falling, and the level there. Two points at
    /// one time are a jump.
    points: Vec<(u64, f64)>,
}

impl Curve {
    /// `level` from `at_ns` after the start of the load on, nothing before.
    #[must_use]
    pub fn step(at_ns: u64, level: f64) -> Self {
        Self { points: vec![(at_ns, 0.0), (at_ns, level)] }
    }

    /// Nothing before `at_ns` after the start of the load.
    #[must_use]
    pub fn from(at_ns: u64) -> Self {
        Self { points: vec![(at_ns, 0.0)] }
    }

    /// The same curve, which then takes `over_ns` to reach `level`.
    #[must_use]
    pub fn then(mut self, over_ns: u64, level: f64) -> Self {
        let end = self.points.last().map_or(0, |(at, _)| *at);
        self.points.push((end.saturating_add(over_ns), level));
        self
    }

    /// The highest level.
    #[must_use]
    pub fn most(&self) -> f64 {
        self.points.iter().map(|(_, level)| *level).fold(0.0, f64::max)
    }

    /// The level at `at_ns`; where it jumps, the one behind the jump.
    #[must_use]
    pub fn level(&self, at_ns: u64) -> f64 {
        let behind = self.points.partition_point(|(at, _)| *at <= at_ns);
        match (behind.checked_sub(1).map(|before| self.points[before]), self.points.get(behind)) {
            (None, first) => first.map_or(0.0, |(_, level)| *level),
            (Some((_, level)), None) => level,
            (Some((from, low)), Some((to, high))) => {
                low + (high - low) * real(at_ns - from) / real(to - from)
            }
        }
    }

    /// The first moment from `from_ns` on at which the level is above `bound`; `None` when it
    /// never is again.
    #[must_use]
    pub fn first_above(&self, bound: f64, from_ns: u64) -> Option<u64> {
        if self.level(from_ns) > bound {
            return Some(from_ns);
        }
        let parts = self.points.windows(2).filter(|part| part[1].0 > from_ns);
        let mut rising = parts.filter(|part| part[1].1 > bound);
        rising.next().map(|part| crossing(part, bound).max(from_ns))
    }

    /// The points between which it runs straight: nanoseconds after the start of the load, never
    /// falling, and the level there.
    #[must_use]
    pub fn points(&self) -> &[(u64, f64)] {
        &self.points
    }

    /// The area below it up to `at_ns`, in level times seconds: of a rate, how many begin until then.
    #[must_use]
    pub fn area(&self, at_ns: u64) -> f64 {
        let last = self.points.last().map(|(end, level)| ((*end, *level), (u64::MAX, *level)));
        let parts = self.points.windows(2).map(|part| (part[0], part[1])).chain(last);
        parts
            .take_while(|((from, _), _)| *from < at_ns)
            .map(|((from, low), (to, high))| {
                let seconds = real(to.min(at_ns) - from) / SECOND;
                let reached = if to <= at_ns { high } else { self.level(at_ns) };
                (low + reached) / 2.0 * seconds
            })
            .sum()
    }

    /// The moment at which the area below the curve, in level times seconds, reaches `area`; `None`
    /// when it never does.
    fn reached(&self, mut area: f64) -> Option<u64> {
        for part in self.points.windows(2) {
            let ((from, low), (to, high)) = (part[0], part[1]);
            let seconds = real(to - from) / SECOND;
            let all = (low + high) / 2.0 * seconds;
            if area < all {
                let root = (low * low + 2.0 * (high - low) / seconds * area).max(0.0).sqrt();
                return Some(from + truncated(2.0 * area / (low + root) * SECOND));
            }
            area -= all;
        }
        let (from, level) = *self.points.last()?;
        (level > 0.0).then(|| from.saturating_add(truncated(area / level * SECOND)))
    }
}

/// When the straight line of `part` goes beyond `bound`, which its end does.
fn crossing(part: &[(u64, f64)], bound: f64) -> u64 {
    let ((from, low), (to, high)) = (part[0], part[1]);
    if from == to {
        return to;
    }
    if low > bound {
        return from;
    }
    let share = ((bound - low) / (high - low)).clamp(0.0, 1.0);
    (from + truncated(real(to - from) * share) + 1).min(to)
}

/// Who takes part in a load of scripts.
#[derive(Clone, Debug, PartialEq)]
pub enum UserSchedule {
    /// Closed: so many users at a time. User `k`, from 0, takes part while the curve is above `k`.
    Users(Curve),
    /// Open: scripts begin whatever the target does, each done by a user that is free.
    Arrivals(Curve, Spread),
}

/// How beginnings are spread whose rate a curve gives, a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// At even distances.
    Even,
    /// Independent of each other: a Poisson process, drawn from this seed.
    Poisson(u64),
}

/// The moments at which the scripts of one thread are to begin.
///
/// The `k`-th beginning of all threads is due when the area below the curve of the rate reaches
/// `k`; of a Poisson process, when it reaches the sum of `k` exponential draws.
///
/// # Source
/// Cinlar, Introduction to Stochastic Processes, 1975: a Poisson process of any rate is one of
/// rate 1 on the time scale of the expected number.
#[derive(Clone, Debug)]
pub struct Calendar {
    curve: Curve,
    start_ns: u64,
    /// The area at which the next one is due.
    area: f64,
    /// Threads among which the beginnings are shared.
    of: f64,
    random: Option<SplitMix64>,
    /// `u64::MAX` when there are no more.
    next: u64,
}

impl Calendar {
    /// The part of thread `index` among `of`, of a load that started at `start_ns`.
    #[must_use]
    pub fn new(curve: &Curve, spread: Spread, start_ns: u64, (index, of): (u64, u64)) -> Self {
        let random = match spread {
            Spread::Even => None,
            Spread::Poisson(seed) => {
                // neighbouring seeds would give neighbouring threads the same draws, shifted
                let own = SplitMix64::new(seed ^ index.wrapping_mul(0xd1b5_4a32_d192_ed03));
                Some(own)
            }
        };
        let mut calendar = Self {
            curve: curve.clone(),
            start_ns,
            area: real(index),
            of: real(of),
            random,
            next: 0,
        };
        if calendar.random.is_some() {
            calendar.area = 0.0;
            calendar.area += calendar.distance();
        }
        calendar.look();
        calendar
    }

    /// When the next script is to begin, in nanoseconds of the clock of the load's start; `u64::MAX`
    /// when none is.
    #[must_use]
    pub fn next_due(&self) -> u64 {
        self.next
    }

    /// Takes the next beginning if it is due at `now`, and says since when.
    pub fn take(&mut self, now: u64) -> Option<u64> {
        let due = self.next;
        (due <= now).then(|| {
            self.area += self.distance();
            self.look();
            due
        })
    }

    /// Skips everything that is due at `now`, and says how much that was.
    pub fn skip(&mut self, now: u64) -> u64 {
        let mut skipped = 0;
        while self.take(now).is_some() {
            skipped += 1;
        }
        skipped
    }

    fn distance(&mut self) -> f64 {
        // 1 - u lies above 0
        let drawn = self.random.as_mut().map_or(1.0, |random| -(1.0 - random.uniform()).ln());
        drawn * self.of
    }

    fn look(&mut self) {
        let after = self.curve.reached(self.area);
        self.next = after.map_or(u64::MAX, |after| self.start_ns.saturating_add(after));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000;

    fn dues(mut calendar: Calendar, until: u64) -> Vec<u64> {
        std::iter::from_fn(|| calendar.take(until)).collect()
    }

    #[test]
    fn a_ramp_lets_users_begin_evenly_and_a_fall_lets_them_go() {
        let curve = Curve::from(2 * S).then(10 * S, 10.0).then(5 * S, 10.0).then(10 * S, 0.0);
        assert!(curve.level(0).abs() < 1e-9);
        assert!((curve.level(7 * S) - 5.0).abs() < 1e-9);
        let begins: Vec<u64> =
            (0..4).map(|k| curve.first_above(f64::from(k), 0).unwrap()).collect();
        assert_eq!(begins, [2 * S + 1, 3 * S + 1, 4 * S + 1, 5 * S + 1]);
        assert_eq!(curve.first_above(10.0, 0), None);
        assert_eq!(curve.first_above(0.0, 30 * S), None);
        assert!(curve.level(18 * S) > 8.0 && curve.level(26 * S) < 2.0);
        assert_eq!(curve.first_above(1.0, 8 * S), Some(8 * S));
    }

    #[test]
    fn users_at_once_begin_at_one_moment() {
        let curve = Curve::step(3 * S, 5.0);
        for k in 0..5 {
            assert_eq!(curve.first_above(f64::from(k), 0), Some(3 * S));
        }
        assert_eq!((curve.level(3 * S - 1), curve.level(3 * S)), (0.0, 5.0));
        assert_eq!(curve.first_above(5.0, 0), None);
    }

    #[test]
    fn even_arrivals_of_all_threads_are_as_even_as_those_of_one() {
        let curve = Curve::step(S, 10.0);
        let of = |part| Calendar::new(&curve, Spread::Even, 5 * S, part);
        let one = dues(of((0, 1)), 8 * S);
        assert_eq!(one[..3], [6 * S, 6 * S + S / 10, 6 * S + S / 5]);
        let mut both = [dues(of((0, 2)), 8 * S), dues(of((1, 2)), 8 * S)].concat();
        both.sort_unstable();
        assert_eq!(both, one);
    }

    #[test]
    fn a_rising_rate_brings_as_many_as_its_area() {
        // from 0 to 100 a second in 10 s: 500; then none
        let curve = Curve::from(0).then(10 * S, 100.0).then(0, 0.0);
        let all = dues(Calendar::new(&curve, Spread::Even, 0, (0, 1)), u64::MAX - 1);
        assert_eq!(all.len(), 500);
        let early = all.iter().filter(|due| **due < 5 * S).count();
        assert!((124..=126).contains(&early), "a quarter in the first half: {early}");
    }

    #[test]
    fn an_area_grows_with_its_level() {
        let curve = Curve::from(2 * S).then(10 * S, 10.0).then(5 * S, 10.0).then(0, 0.0);
        for (at, area) in [(0, 0.0), (2, 0.0), (7, 12.5), (12, 50.0), (17, 100.0), (30, 100.0)] {
            assert!((curve.area(at * S) - area).abs() < 1e-6, "{at}: {}", curve.area(at * S));
        }
        assert!((Curve::step(S, 3.0).area(5 * S) - 12.0).abs() < 1e-6);
        assert_eq!(curve.points().len(), 4);
    }

    #[test]
    fn poisson_arrivals_are_independent_and_as_many_as_the_rate_says() {
        let curve = Curve::step(0, 1_000.0);
        let all = dues(Calendar::new(&curve, Spread::Poisson(7), 0, (0, 1)), 100 * S);
        // 100,000 expected; six standard deviations are 1,900
        assert!(all.len().abs_diff(100_000) < 1_900, "{}", all.len());
        let gaps: Vec<f64> = all.windows(2).map(|two| real(two[1] - two[0])).collect();
        let mean = gaps.iter().sum::<f64>() / real(gaps.len() as u64);
        let spread = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>();
        let deviation = (spread / real(gaps.len() as u64)).sqrt();
        // an exponential distribution deviates by its mean; even arrivals not at all
        assert!((deviation / mean - 1.0).abs() < 0.03, "{deviation} {mean}");
        let again = dues(Calendar::new(&curve, Spread::Poisson(7), 0, (0, 1)), S);
        let other = dues(Calendar::new(&curve, Spread::Poisson(8), 0, (0, 1)), S);
        assert_eq!(again[..], all[..again.len()]);
        assert_ne!(again, other);
    }

    /// The probability that gaps of an exponential distribution with this mean lie at least as far
    /// from it as `gaps` do.
    ///
    /// # Source
    /// Kolmogorov, 1933; the correction for finite samples: Stephens, JRSS B 32, 1970.
    fn kolmogorov_smirnov(mut gaps: Vec<f64>, mean: f64) -> f64 {
        gaps.sort_by(f64::total_cmp);
        let n = real(gaps.len() as u64);
        let far = |(at, gap): (usize, &f64)| {
            let expected = 1.0 - (-gap / mean).exp();
            let (below, above) = (real(at as u64) / n, real(at as u64 + 1) / n);
            (expected - below).abs().max((above - expected).abs())
        };
        let most = gaps.iter().enumerate().map(far).fold(0.0, f64::max);
        let x = (n.sqrt() + 0.12 + 0.11 / n.sqrt()) * most;
        let term = |k: i32| (-1.0_f64).powi(k - 1) * (-2.0 * f64::from(k * k) * x * x).exp();
        (2.0 * (1..=100).map(term).sum::<f64>()).clamp(0.0, 1.0)
    }

    #[test]
    fn gaps_of_a_poisson_process_are_exponential_the_short_ones_too() {
        let curve = Curve::step(0, 200.0);
        let (mean_ns, short_ns) = (real(S / 200), 300_000.0_f64);
        for seed in 1..=20 {
            for of in [1, 2, 5] {
                let all = (0..of).flat_map(|index| {
                    dues(Calendar::new(&curve, Spread::Poisson(seed), 0, (index, of)), 100 * S)
                });
                let mut all: Vec<u64> = all.collect();
                all.sort_unstable();
                let gaps: Vec<f64> = all.windows(2).map(|two| real(two[1] - two[0])).collect();
                let short = gaps.iter().filter(|gap| **gap < short_ns).count();
                let expected = real(gaps.len() as u64) * (1.0 - (-short_ns / mean_ns).exp());
                // five standard deviations of a share of 6 % of 20,000
                let off = (real(short as u64) - expected).abs();
                assert!(off < 5.0 * expected.sqrt(), "{seed} of {of}: {short} and not {expected}");
                // the least of 60 true values lies below 0.0001 in 0.6 % of all choices of seeds; of 2,100
                // values one lay below 0.0004 and 1, 5 and 50 % below 0.01, 0.05 and 0.5
                let p = kolmogorov_smirnov(gaps, mean_ns);
                assert!(p > 0.000_1, "{seed} of {of}: p = {p}");
            }
        }
    }

    #[test]
    fn gaps_that_are_not_exponential_are_told_apart() {
        let mean = real(S / 200);
        assert!(kolmogorov_smirnov(vec![mean; 1_000], mean) < 1e-6);
        let curve = Curve::step(0, 200.0);
        let all = dues(Calendar::new(&curve, Spread::Poisson(1), 0, (0, 1)), 100 * S);
        let gaps = all.windows(2).map(|two| real(two[1] - two[0]));
        let without_short: Vec<f64> = gaps.filter(|gap| *gap > 300_000.0).collect();
        assert!(kolmogorov_smirnov(without_short, mean) < 1e-6);
    }

    #[test]
    fn threads_of_a_poisson_process_share_its_rate() {
        let curve = Curve::step(0, 1_000.0);
        let of = |index| dues(Calendar::new(&curve, Spread::Poisson(7), 0, (index, 2)), 100 * S);
        let (one, other) = (of(0), of(1));
        assert!((one.len() + other.len()).abs_diff(100_000) < 1_900);
        assert_ne!(one, other);
    }

    proptest! {
        #[test]
        fn whoever_is_to_begin_takes_part_then(
            stages in prop::collection::vec((0u64..10 * S, 0u32..50), 1..6),
            user in 0u32..50,
            from in 0u64..30 * S,
        ) {
            let curve = stages.iter().fold(Curve::from(0), |curve, (over, users)| {
                curve.then(*over, f64::from(*users))
            });
            if let Some(at) = curve.first_above(f64::from(user), from) {
                prop_assert!(at >= from);
                prop_assert!(curve.level(at) > f64::from(user) - 1e-6, "{at} {}", curve.level(at));
            } else {
                prop_assert!(curve.level(from) <= f64::from(user));
            }
        }

        #[test]
        fn arrivals_never_go_back(
            stages in prop::collection::vec((1u64..S, 0u32..200), 1..6),
        ) {
            let curve = stages.iter().fold(Curve::from(0), |curve, (over, rate)| {
                curve.then(*over, f64::from(*rate))
            });
            let all = dues(Calendar::new(&curve, Spread::Even, 0, (0, 1)), 6 * S);
            prop_assert!(all.is_sorted());
            // the first is due when nothing has grown yet
            let area = curve.area(6 * S);
            prop_assert!((real(all.len() as u64) - area).abs() <= 1.0 + 1e-6, "{} {area}", all.len());
        }
    }
}
