//! What users draw: think times, shares, one of several. The draws of a user follow from the seed
//! and its number alone, whatever the others do.

use plumb_measure::statistics::SplitMix64;
use plumb_measure::{Share, Span, real};

use crate::file::Think;

/// The draws of one user.
#[derive(Clone, Debug)]
pub struct Draw {
    random: SplitMix64,
}

impl Draw {
    /// The draws of user number `user` under `seed`. No two users of a load have the same number.
    #[must_use]
    pub fn of_user(seed: u64, user: u64) -> Self {
        // seeds that lie side by side would give the same numbers a few draws apart
        let base = SplitMix64::new(seed).next_u64();
        let begin = SplitMix64::new(base ^ user).next_u64();
        Self { random: SplitMix64::new(begin) }
    }

    /// A think time in nanoseconds.
    pub fn think_ns(&mut self, think: &Think) -> u64 {
        match *think {
            Think::Fixed(time) => time.ns(),
            Think::Uniform(from, to) => {
                let width = to.ns().saturating_sub(from.ns());
                from.ns() + rounded_ns(self.random.uniform() * real(width)).min(width)
            }
            Think::Exponential(mean, most) => {
                let most = most.map_or(Span::LONGEST_NS, Span::ns);
                self.exponential_ns(mean.ns()).min(most)
            }
            Think::Normal(mean, deviation) => {
                rounded_ns(real(mean.ns()) + real(deviation.ns()) * self.normal())
            }
        }
    }

    /// An exponentially distributed time with this mean, in nanoseconds: the distance of two
    /// arrivals that know nothing of each other.
    pub fn exponential_ns(&mut self, mean_ns: u64) -> u64 {
        // 1 - u lies in (0, 1]: its logarithm is finite
        rounded_ns(-(1.0 - self.random.uniform()).ln() * real(mean_ns))
    }

    /// True in this share of the draws.
    pub fn happens(&mut self, share: Share) -> bool {
        self.random.uniform() < share.of_one()
    }

    /// One of `count`, from 0; 0 when there is none.
    pub fn one_of(&mut self, count: usize) -> usize {
        self.random.below(count)
    }

    /// A whole number from `from` to `to`, both included, each as often; `from` where `to` is less.
    pub fn number(&mut self, from: i64, to: i64) -> i64 {
        let more = i128::from(to).saturating_sub(i128::from(from)).max(0).unsigned_abs();
        let part = (u128::from(self.random.next_u64()) * (more + 1)) >> 64;
        // what is added is at most `more`
        i64::try_from(i128::from(from) + i128::try_from(part).unwrap_or(0)).unwrap_or(from)
    }

    /// 128 bits.
    pub fn bits(&mut self) -> u128 {
        u128::from(self.random.next_u64()) << 64 | u128::from(self.random.next_u64())
    }

    /// A number of the standard normal distribution.
    ///
    /// # Source
    /// Box and Muller, A note on the generation of random normal deviates, 1958.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.random.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.random.uniform()).cos()
    }
}

/// The mean of what [`Draw::think_ns`] gives, nanoseconds: cuts are counted in.
#[must_use]
pub fn mean_ns(think: &Think) -> f64 {
    match *think {
        Think::Fixed(time) => real(time.ns()),
        Think::Uniform(from, to) => (real(from.ns()) + real(to.ns())) / 2.0,
        Think::Exponential(mean, most) => {
            let mean = real(mean.ns());
            let most = most.map_or(f64::INFINITY, |most| real(most.ns()));
            // 0 / 0 where both are nothing
            if mean > 0.0 { -mean * (-most / mean).exp_m1() } else { 0.0 }
        }
        Think::Normal(mean, deviation) => {
            let (mean, deviation) = (real(mean.ns()), real(deviation.ns()));
            if deviation > 0.0 {
                let cut = mean / deviation;
                let density = (-cut * cut / 2.0).exp() / std::f64::consts::TAU.sqrt();
                mean * normal_share(cut) + deviation * density
            } else {
                mean
            }
        }
    }
}

/// The share of the standard normal distribution below `z`, from 0 up, to 1e-7.
///
/// # Source
/// Abramowitz and Stegun, Handbook of Mathematical Functions, 1964, formula 26.2.17.
fn normal_share(z: f64) -> f64 {
    const TERMS: [f64; 5] =
        [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let tail = TERMS.iter().rev().fold(0.0, |sum, term| (sum + term) * t);
    1.0 - tail * (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

/// Whole nanoseconds, from zero to the longest span.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it lies between 0 and a year"
)]
fn rounded_ns(ns: f64) -> u64 {
    ns.round().clamp(0.0, real(Span::LONGEST_NS)) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DRAWS: usize = 20_000;

    fn span(ms: u64) -> Span {
        Span::from_ms(ms)
    }

    /// Mean and variance in milliseconds of many draws.
    fn moments(think: Think) -> (f64, f64) {
        let mut draw = Draw::of_user(1, 2);
        let ms: Vec<f64> = (0..DRAWS).map(|_| real(draw.think_ns(&think)) / 1e6).collect();
        let mean = ms.iter().sum::<f64>() / real(DRAWS as u64);
        let variance = ms.iter().map(|ms| (ms - mean).powi(2)).sum::<f64>() / real(DRAWS as u64);
        (mean, variance)
    }

    #[test]
    fn think_times_have_the_mean_and_spread_that_were_asked_for() {
        assert_eq!(moments(Think::Fixed(span(7))), (7.0, 0.0));
        // four standard errors of the mean each; the seed is fixed
        let (mean, variance) = moments(Think::Uniform(span(50), span(150)));
        assert!((mean - 100.0).abs() < 0.9 && (variance / (1e4 / 12.0) - 1.0).abs() < 0.05);
        let (mean, variance) = moments(Think::Exponential(span(100), None));
        assert!((mean - 100.0).abs() < 3.0 && (variance / 1e4 - 1.0).abs() < 0.15);
        let (mean, variance) = moments(Think::Normal(span(100), span(10)));
        assert!((mean - 100.0).abs() < 0.3 && (variance / 100.0 - 1.0).abs() < 0.05);
    }

    #[test]
    fn the_mean_is_that_of_many_draws() {
        for think in [
            Think::Fixed(span(7)),
            Think::Uniform(span(50), span(150)),
            Think::Exponential(span(100), None),
            Think::Exponential(span(100), Some(span(120))),
            Think::Normal(span(100), span(10)),
            Think::Normal(span(20), span(100)),
            Think::Normal(span(0), span(100)),
        ] {
            let (drawn, variance) = moments(think);
            // four standard errors; the seed is fixed
            let error = 4.0 * (variance / real(DRAWS as u64)).sqrt();
            let mean = mean_ns(&think) / 1e6;
            assert!((mean - drawn).abs() <= error + 1e-6, "{think:?}: {mean} {drawn}");
        }
        let nothing = [
            Think::Exponential(span(0), Some(span(0))),
            Think::Exponential(span(5), Some(span(0))),
            Think::Normal(span(0), span(0)),
        ];
        assert!(nothing.iter().all(|think| mean_ns(think).abs() < 1e-9));
    }

    #[test]
    fn cuts_hold() {
        let mut draw = Draw::of_user(3, 0);
        let (exponential, normal) =
            (Think::Exponential(span(100), Some(span(150))), Think::Normal(span(1), span(100)));
        let times: Vec<u64> = (0..1_000).map(|_| draw.think_ns(&exponential)).collect();
        assert_eq!(times.iter().max(), Some(&150_000_000));
        assert!((0..1_000).any(|_| draw.think_ns(&normal) == 0));
        assert_eq!(draw.think_ns(&Think::Uniform(span(5), span(5))), 5_000_000);
    }

    #[test]
    fn a_share_is_met() {
        let mut draw = Draw::of_user(9, 9);
        let fifth = Share::percent(20);
        let count = (0..DRAWS).filter(|_| draw.happens(fifth)).count();
        // four standard deviations of a binomial count
        assert!(count.abs_diff(DRAWS / 5) < 227, "{count}");
        assert!((0..100).all(|_| draw.happens(Share::percent(100))));
    }

    #[test]
    fn the_draws_of_a_user_do_not_depend_on_others() {
        let draws = |seed, user| {
            let mut draw = Draw::of_user(seed, user);
            (0..64).map(|_| draw.one_of(1 << 30)).collect::<Vec<_>>()
        };
        assert_eq!(draws(5, 7), draws(5, 7));
        let mut all: Vec<usize> = (0..100).flat_map(|user| draws(5, user)).collect();
        all.sort_unstable();
        all.dedup();
        // a pair among 6,400 draws of a thousand million is rare; streams that overlap share many
        assert!(all.len() > 6_390, "{}", all.len());
        assert_ne!(draws(5, 7), draws(6, 7));
    }

    proptest! {
        #[test]
        fn any_draw_is_within_its_bounds(seed: u64, user: u64, a in 0u64..1 << 50, b in 0u64..1 << 50) {
            let mut draw = Draw::of_user(seed, user);
            let (from, to) = (Span::from_ns(a.min(b)), Span::from_ns(a.max(b)));
            let drawn = draw.think_ns(&Think::Uniform(from, to));
            prop_assert!((from.ns()..=to.ns()).contains(&drawn));
            prop_assert!(draw.think_ns(&Think::Exponential(from, Some(to))) <= to.ns());
            prop_assert!(draw.think_ns(&Think::Normal(from, to)) <= Span::LONGEST_NS);
            prop_assert!(draw.one_of(3) < 3 && draw.one_of(0) == 0);
        }
    }
}
