//! A whole and its parts, each known to an interval: which shares may be told.

use thiserror::Error;

use crate::{Estimate, show_ns};

/// What a part takes of the whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartShare<K> {
    /// Which part.
    pub of: K,
    /// Its time, as it was measured.
    pub time: Estimate,
    /// Its share, 0 to 1.
    pub share: f64,
    /// Half of the 95 % interval of the share; absent where that of a time is.
    pub half_width: Option<f64>,
}

impl<K> PartShare<K> {
    /// True when the part is not told apart from zero: its interval reaches down to it.
    #[must_use]
    pub fn may_be_zero(&self) -> bool {
        self.time.low_ns().is_none_or(|low_ns| low_ns <= 0)
    }

    /// The 95 % interval of the share, within 0 and 1: no part is more than the whole.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        let half = self.half_width?;
        Some(((self.share - half).max(0.0), (self.share + half).min(1.0)))
    }

    /// True when the part is at least half of the whole, with all of its interval where it has one.
    #[must_use]
    pub fn is_most(&self) -> bool {
        self.interval().map_or(self.share, |(low, _)| low) >= 0.5
    }
}

/// A whole as the sum of its parts and of the rest that they leave.
///
/// The times add up to that of the whole, the shares to 1. Where the parts exceed the whole, by no
/// more than is not known of both, their shares are those of their sum and the rest has none.
#[derive(Clone, Debug, PartialEq)]
pub struct Split<K> {
    /// The whole.
    pub whole: Estimate,
    /// The parts, in the order in which they were given.
    pub parts: Vec<PartShare<K>>,
    /// What they leave.
    pub rest: PartShare<K>,
}

/// Parts are told when what is not known of the rest is at most one in so many of the whole.
const KNOWN_TO: u64 = 4;

/// Why shares of a whole cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CannotBeSplit {
    /// There are too few operations behind the whole or a part to know how well it is known.
    #[error("there are too few operations to know the parts: {fewest} of one of them")]
    TooFew {
        /// Operations behind the term with the fewest.
        fewest: u64,
    },
    /// A part is less than nothing, by more than is not known of it.
    #[error("a part was measured as less than nothing, -{} +- {}", show_ns(*.below_ns), show_ns(*.half_ns))]
    LessThanNothing {
        /// How far below zero it is, nanoseconds.
        below_ns: u64,
        /// Half its interval, nanoseconds.
        half_ns: u64,
    },
    /// The parts add up to more than the whole, by more than is not known of both.
    #[error(
        "the parts were measured on other operations and add up to more than the whole, {} of {}",
        show_ns(*.parts_ns), show_ns(*.whole_ns)
    )]
    MoreThanTheWhole {
        /// The sum of the parts, nanoseconds.
        parts_ns: u64,
        /// The whole, nanoseconds.
        whole_ns: u64,
    },
    /// What is not known of the parts is more than a quarter of the whole.
    #[error(
        "the parts are not known well enough, together to +- {} of a whole of {}",
        show_ns(*.half_ns), show_ns(*.whole_ns)
    )]
    NotKnown {
        /// Half the interval of the rest, nanoseconds.
        half_ns: u64,
        /// The whole, nanoseconds.
        whole_ns: u64,
    },
}

impl CannotBeSplit {
    /// True when the terms are not known well enough; false when there is something wrong with them.
    #[must_use]
    pub fn is_of_what_is_known(self) -> bool {
        matches!(self, Self::NotKnown { .. })
    }
}

impl<K: Copy> Split<K> {
    /// Sets `parts` against the `whole`, and calls what they leave `rest`.
    ///
    /// The terms may be measured on different operations: the squares of their half widths add up.
    /// What is told by the very operations of the whole has an interval of no width.
    ///
    /// # Errors
    /// [`CannotBeSplit`] where the intervals do not allow the parts to be parts of the whole.
    pub fn of(
        whole: Estimate,
        parts: impl IntoIterator<Item = (K, Estimate)>,
        rest: K,
    ) -> Result<Self, CannotBeSplit> {
        let parts: Vec<(K, Estimate)> = parts.into_iter().collect();
        let times: Vec<Estimate> = parts.iter().map(|(_, time)| *time).collect();
        let left = whole.less(&times);
        let Some(left_half_ns) = left.half_width_ns else {
            return Err(CannotBeSplit::TooFew { fewest: left.count });
        };
        times.iter().try_for_each(|time| not_below(*time))?;
        if left.mean_ns < 0 && left.mean_ns.unsigned_abs() > left_half_ns {
            return Err(CannotBeSplit::MoreThanTheWhole {
                parts_ns: positive(whole.mean_ns.saturating_sub(left.mean_ns)),
                whole_ns: positive(whole.mean_ns),
            });
        }
        let whole_ns = positive(whole.mean_ns);
        if left_half_ns.saturating_mul(KNOWN_TO) > whole_ns {
            return Err(CannotBeSplit::NotKnown { half_ns: left_half_ns, whole_ns });
        }
        Ok(Self::shared(whole, parts, (rest, left), Terms::Apart))
    }

    /// The same of parts that were told by the very operations of the whole: they add up whatever
    /// their intervals are. These say how well the means would be met another time; that of the rest
    /// comes with it.
    ///
    /// # Errors
    /// [`CannotBeSplit::MoreThanTheWhole`] where the parts exceed the whole by more than rounding:
    /// one in a hundred, and a microsecond for each.
    pub fn of_the_same(
        whole: Estimate,
        parts: impl IntoIterator<Item = (K, Estimate)>,
        (rest, rest_half_ns): (K, Option<u64>),
    ) -> Result<Self, CannotBeSplit> {
        let parts: Vec<(K, Estimate)> = parts.into_iter().collect();
        let parts_ns = parts.iter().map(|(_, time)| positive(time.mean_ns)).sum();
        let whole_ns = positive(whole.mean_ns);
        if parts_ns > whole_ns + whole_ns / 100 + 1_000 * parts.len() as u64 {
            return Err(CannotBeSplit::MoreThanTheWhole { parts_ns, whole_ns });
        }
        let all: i64 = parts.iter().map(|(_, time)| time.mean_ns).sum();
        let mean_ns = whole.mean_ns.saturating_sub(all);
        let left = Estimate { mean_ns, half_width_ns: rest_half_ns, count: whole.count };
        Ok(Self::shared(whole, parts, (rest, left), Terms::Together))
    }

    /// The shares of `parts` and of what they leave.
    fn shared(
        whole: Estimate,
        parts: Vec<(K, Estimate)>,
        (rest, left): (K, Estimate),
        terms: Terms,
    ) -> Self {
        let whole_ns = positive(whole.mean_ns);
        let times: Vec<Estimate> = parts.iter().map(|(_, time)| *time).collect();
        let sum: u64 = times.iter().map(|time| positive(time.mean_ns)).sum();
        let base = sum.max(whole_ns);
        let known = Known { whole, parts: &times, rest: left, base, exceeds: sum > whole_ns };
        let share = |of, time: Estimate, ns: u64, place| {
            let share = ratio(ns, base);
            PartShare { of, time, share, half_width: known.half_width(place, share, terms) }
        };
        Self {
            whole,
            rest: share(rest, left, base - sum, None),
            parts: parts
                .into_iter()
                .enumerate()
                .map(|(place, (of, time))| share(of, time, positive(time.mean_ns), Some(place)))
                .collect(),
        }
    }

    /// The parts, then the rest.
    pub fn all(&self) -> impl Iterator<Item = &PartShare<K>> {
        self.parts.iter().chain([&self.rest])
    }

    /// By how much the parts exceed the whole, within their intervals, nanoseconds; 0 where they do
    /// not.
    #[must_use]
    pub fn excess_ns(&self) -> u64 {
        positive(self.rest.time.mean_ns.saturating_neg())
    }

    /// The part, or the rest, that is longer than every other, by more than is not known of both;
    /// `None` where none is.
    #[must_use]
    pub fn largest(&self) -> Option<&PartShare<K>> {
        let largest = self.all().max_by_key(|share| share.time.mean_ns)?;
        let others = self.all().filter(|other| !std::ptr::eq(*other, largest));
        let longer = |other: &PartShare<K>| {
            largest.time.less(&[other.time]).low_ns().is_some_and(|low_ns| low_ns > 0)
        };
        (!largest.may_be_zero() && others.into_iter().all(longer)).then_some(largest)
    }
}

/// On which operations the whole and its parts were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Terms {
    /// Each on its own: they do not depend on each other.
    Apart,
    /// All on the same: how they depend on each other is not known.
    Together,
}

/// What the shares of a whole are known from.
struct Known<'a> {
    whole: Estimate,
    parts: &'a [Estimate],
    rest: Estimate,
    /// What shares are shares of, nanoseconds: the whole, or the sum of parts that exceed it.
    base: u64,
    exceeds: bool,
}

impl Known<'_> {
    /// Half of the interval of the `share` of the part at `place`; of the rest without one.
    ///
    /// By the delta method a share of `a / b` is off by `da / b - share * db / b`: `b` is the whole,
    /// or the sum of the parts, and the rest is `b` without all parts. Of terms that do not depend on
    /// each other the squares add up. Of terms of the same operations the widths do, which is the most
    /// that any dependence between them makes of it; there `b` is the sum of parts and rest.
    fn half_width(&self, place: Option<usize>, share: f64, terms: Terms) -> Option<f64> {
        // what parts that exceed the whole leave has no share
        if self.base == 0 || self.exceeds && place.is_none() {
            return None;
        }
        let own = |of: Option<usize>| if of == place { 1.0 } else { 0.0 };
        let half = |time: Estimate| time.half_width_ns.map(|half| ratio(half, self.base));
        let of_a_sum = self.exceeds || terms == Terms::Together;
        let by = |at: usize| match (of_a_sum, place) {
            (true, _) => own(Some(at)) - share,
            (false, Some(_)) => own(Some(at)),
            (false, None) => -1.0,
        };
        let parts = self.parts.iter().enumerate();
        let mut off: Vec<f64> =
            parts.map(|(at, time)| Some(by(at) * half(*time)?)).collect::<Option<_>>()?;
        let last = if terms == Terms::Together { self.rest } else { self.whole };
        if !self.exceeds {
            off.push((own(None) - share) * half(last)?);
        }
        Some(match terms {
            Terms::Apart => off.iter().map(|off| off * off).sum::<f64>().sqrt(),
            Terms::Together => off.iter().map(|off| off.abs()).sum(),
        })
    }
}

fn not_below(time: Estimate) -> Result<(), CannotBeSplit> {
    let half_ns = time.half_width_ns.unwrap_or(0);
    let below_ns = time.mean_ns.unsigned_abs();
    if time.mean_ns < 0 && below_ns > half_ns {
        return Err(CannotBeSplit::LessThanNothing { below_ns, half_ns });
    }
    Ok(())
}

fn positive(ns: i64) -> u64 {
    u64::try_from(ns).unwrap_or(0)
}

/// `part` of `whole`, 0 to 1; 0 of nothing.
#[expect(clippy::cast_precision_loss, reason = "a share is shown to a percent")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests;
