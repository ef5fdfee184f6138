//! Where the time of an operation went: parts whose means add up to the mean of the whole.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::faster::{LEFT_OUT, left_out_elsewhere_ns};
use crate::statistics::half_width;
use crate::{BatchMeans, Batches, CannotBeSplit, Distribution, Histogram, Split};

/// Times of one kind, as a distribution and in their order.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// The distribution, nanoseconds.
    pub times: Histogram,
    batches: Batches,
    /// The first times one by one: batches of few times would be too few.
    first: Vec<u64>, // at most FIRST_MAX
}

/// Times of a series that are kept one by one.
const FIRST_MAX: usize = 200;

impl Series {
    /// Adds the next time, nanoseconds.
    pub fn record(&mut self, ns: u64) {
        self.times.record(ns);
        self.batches.record(ns);
        if self.first.len() < FIRST_MAX {
            self.first.push(ns);
        }
    }

    /// Its mean, and how well that is known.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        self.known_by(Estimate::around)
    }

    /// The mean of its faster nine tenths: [`Estimate::of_the_faster`].
    #[must_use]
    pub fn faster(&self) -> Estimate {
        self.known_by(Estimate::faster_around)
    }

    fn known_by(&self, estimate: fn(&Histogram, &[u64]) -> Estimate) -> Estimate {
        if self.times.count() <= self.first.len() as u64 {
            return estimate(&self.times, &self.first);
        }
        let batches = self.batches.means();
        estimate(&self.times, batches.as_ref().map_or(&[], |batches| &batches.mean_ns))
    }
}

/// A mean in nanoseconds, and half the width of its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean; a difference of means may lie below zero.
    pub mean_ns: i64,
    /// Half the width of the 95 % interval; absent with too few operations.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub half_width_ns: Option<u64>,
    /// Operations behind it; of a difference, the fewest behind one of its terms.
    pub count: u64,
}

impl Estimate {
    /// The mean of `times`, with the interval that the means of their batches, in order, allow.
    #[must_use]
    pub fn of(times: &Histogram, batches: Option<&BatchMeans>) -> Self {
        Self::around(times, batches.map_or(&[], |batches| &batches.mean_ns))
    }

    /// The mean of `times`, with the interval that `values`, in order, allow.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "nanoseconds of seconds"
    )]
    fn around(times: &Histogram, values: &[u64]) -> Self {
        let values: Vec<f64> = values.iter().map(|ns| *ns as f64).collect();
        Self {
            mean_ns: times.mean().round() as i64,
            half_width_ns: half_width(&values).map(whole),
            count: times.count(),
        }
    }

    /// A mean over `count` operations that is told by these operations themselves, the very ones of
    /// the whole: it is as exact as the whole.
    #[must_use]
    pub fn exact(mean_ns: u64, count: u64) -> Self {
        let mean_ns = i64::try_from(mean_ns).unwrap_or(i64::MAX);
        Self { mean_ns, half_width_ns: Some(0), count }
    }

    /// The lower end of the interval, nanoseconds; `None` where it is not known.
    #[must_use]
    pub fn low_ns(self) -> Option<i64> {
        let half = i64::try_from(self.half_width_ns?).unwrap_or(i64::MAX);
        Some(self.mean_ns.saturating_sub(half))
    }

    /// What is left of this when the others are taken away. The terms are measured on different
    /// operations, so the squares of their half widths add up.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of seconds")]
    pub fn less(self, others: &[Self]) -> Self {
        let all = || std::iter::once(&self).chain(others);
        let squares: Option<f64> =
            all().map(|it| it.half_width_ns.map(|half| (half as f64).powi(2))).sum();
        let taken: i64 = others.iter().map(|it| it.mean_ns).sum();
        Self {
            mean_ns: self.mean_ns.saturating_sub(taken),
            half_width_ns: squares.map(|squares| whole(squares.sqrt())),
            count: all().map(|it| it.count).min().unwrap_or(0),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a width is not negative; a float is cast to the nearest integer in range"
)]
fn whole(ns: f64) -> u64 {
    ns.round() as u64
}

/// What a part of the time was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// The server's own work on the operation.
    Server,
    /// A message there and back that asks for no work.
    Wire,
    /// Due, but nobody was free to begin it.
    Due,
    /// In the queue for a connection of the pool.
    Queue,
    /// Making the connection: transport, TLS, login.
    Connect,
    /// What the others leave: the client's driver, and whatever nobody measured.
    Rest,
}

impl PartKind {
    /// What it is spent on, behind "is".
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Server => "the server's own work",
            Self::Wire => "the way there and back, waking the server's process included",
            Self::Due => "waiting for a caller that is free",
            Self::Queue => "waiting for a connection of the pool",
            Self::Connect => "making the connection",
            Self::Rest => "explained by nothing that was measured",
        }
    }
}

/// One part of the time of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What it was spent on.
    pub kind: PartKind,
    /// Its mean over the operations.
    pub time: Estimate,
    /// How it was measured, in words.
    pub how: String,
}

/// Which calls an account is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calls {
    /// All that were answered.
    #[default]
    All,
    /// All but the slowest tenth.
    Faster,
}

impl Calls {
    /// True where none is left out.
    #[must_use]
    pub fn are_all(&self) -> bool {
        *self == Self::All
    }

    /// What is said behind their time: ` of the faster nine tenths of the calls`; nothing of all.
    #[must_use]
    pub fn whose(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Faster => " of the faster nine tenths of the calls",
        }
    }

    /// What is said at the end of their account: of what it says nothing.
    #[must_use]
    pub fn untold(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Faster => "; the other tenth is not told apart",
        }
    }
}

/// A whole and its parts, once the slowest tenth of the calls and of every kind of time behind a
/// part is left out.
///
/// The terms are left out apart, each where it was slow. So the interval of `client` is wider than
/// that of its own mean by what this may make of the sum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FasterCalls {
    /// The mean of the faster nine tenths of the calls.
    pub client: Estimate,
    /// Means of the faster nine tenths, a part each; the rest is the last.
    pub parts: Vec<Part>,
}

impl FasterCalls {
    /// What of these `parts`, estimates of [`Series::faster`], follows for calls of `times` and
    /// `batches`; the rest was found out like `how`.
    ///
    /// # Errors
    /// [`CannotBeSplit`] when the intervals do not allow these parts to be parts of the whole.
    pub fn of(
        times: &Histogram,
        batches: Option<&BatchMeans>,
        parts: Vec<Part>,
        how: &str,
    ) -> Result<Self, CannotBeSplit> {
        let fewest = parts.iter().map(|part| part.time.count).min().unwrap_or(0);
        let elsewhere_ns = left_out_elsewhere_ns(times, fewest, parts.len() + 1);
        let client = Estimate::of_the_faster(times, batches).known_less_by(elsewhere_ns);
        let mut found = Self { client, parts };
        let rest = Part {
            kind: PartKind::Rest,
            time: split(client, &found.parts)?.rest.time,
            how: how.into(),
        };
        found.parts.push(rest);
        Ok(found)
    }
}

/// Whose time was split, and into what.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// The calls that it is of.
    pub of: Calls,
    /// The whole and its parts.
    pub split: Split<PartKind>,
}

/// What a further source says of the server's own time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The source.
    pub source: String,
    /// Mean of an execution, nanoseconds; absent when the source says nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mean_ns: Option<u64>,
    /// Executions behind it.
    pub count: u64,
    /// What it covers; or why it says nothing, and what to do about it.
    pub about: String,
}

/// What stands out, and what to look at next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// What was found, with its figures.
    pub finding: String,
    /// What to look at or to try next.
    pub next: String,
}

/// Where the time of an operation went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribution {
    /// What was done, for example the text of a statement.
    pub subject: String,
    /// The whole, as the client sees it, from the due time.
    pub client: Estimate,
    /// The parts that were measured; where they can be parts of the whole, the rest is the last, and
    /// their means add up to that of the whole.
    pub parts: Vec<Part>,
    /// Why the whole cannot be split into these parts; absent where it can.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cannot_be_split: Option<String>,
    /// The same of the faster nine tenths of the calls: where all are not known well enough to be
    /// split, and these are.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub faster: Option<FasterCalls>,
    /// How often the target was looked into meanwhile. These looks are no part of any distribution
    /// of the result.
    pub observed: u64,
    /// The distributions behind the parts, by name. Their medians do not add up.
    pub times: BTreeMap<String, Distribution>,
    /// What further sources say of the server's own time.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub readings: Vec<Reading>,
    /// What stands out.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub advice: Vec<Advice>,
}

impl Attribution {
    /// The time of all calls, split into the parts that were measured and the rest that they leave;
    /// where it is not known well enough, that of the faster nine tenths.
    ///
    /// # Errors
    /// [`CannotBeSplit`] when the intervals do not allow these parts to be parts of the whole: why
    /// that of all cannot be split.
    pub fn account(&self) -> Result<Account, CannotBeSplit> {
        let reason = match split(self.client, &self.parts) {
            Ok(split) => return Ok(Account { of: Calls::All, split }),
            Err(reason) => reason,
        };
        let faster = self.faster.as_ref().filter(|_| reason.is_of_what_is_known());
        let found = faster.and_then(|faster| split(faster.client, &faster.parts).ok());
        found.map(|split| Account { of: Calls::Faster, split }).ok_or(reason)
    }

    /// The share of the time of all calls that the slowest tenth of them takes, 0 to 1; `None`
    /// without an account of the others.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of seconds")]
    pub fn slowest_share(&self) -> Option<f64> {
        let faster = self.faster.as_ref()?;
        let kept = (1.0 - LEFT_OUT) * faster.client.mean_ns as f64;
        Some((1.0 - kept / self.client.mean_ns.max(1) as f64).clamp(0.0, 1.0))
    }

    /// The same with what follows from its measured parts: the rest, or why there is none.
    #[must_use]
    pub fn settled(mut self, how: &str) -> Self {
        self.parts.retain(|part| part.kind != PartKind::Rest);
        match split(self.client, &self.parts) {
            Ok(split) => {
                let rest = Part { kind: PartKind::Rest, time: split.rest.time, how: how.into() };
                self.parts.push(rest);
                self.cannot_be_split = None;
            }
            Err(reason) => self.cannot_be_split = Some(reason.to_string()),
        }
        self
    }

    /// The same with what `account` says of the faster nine tenths, asked only where all calls are
    /// not known well enough to be split; nothing where these cannot be split either.
    #[must_use]
    pub fn or_of_the_faster(
        mut self,
        account: impl FnOnce() -> Result<FasterCalls, CannotBeSplit>,
    ) -> Self {
        let all = split(self.client, &self.parts);
        let wanted = all.is_err_and(CannotBeSplit::is_of_what_is_known);
        self.faster = wanted.then(account).and_then(Result::ok);
        self
    }

    /// The mean of a part, nanoseconds; 0 where the operation has no such part.
    #[must_use]
    pub fn mean_ns(&self, kind: PartKind) -> i64 {
        self.parts.iter().find(|part| part.kind == kind).map_or(0, |part| part.time.mean_ns)
    }
}

/// `client` as the sum of `parts` and of the rest that they leave.
fn split(client: Estimate, parts: &[Part]) -> Result<Split<PartKind>, CannotBeSplit> {
    let measured = parts.iter().filter(|part| part.kind != PartKind::Rest);
    Split::of(client, measured.map(|part| (part.kind, part.time)), PartKind::Rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_known_less_well_than_its_terms() {
        let of = |mean_ns, half, count| Estimate { mean_ns, half_width_ns: Some(half), count };
        let left = of(100, 3, 50).less(&[of(30, 4, 10)]);
        assert_eq!(left, of(70, 5, 10));
        assert_eq!(of(1, 0, 9).less(&[of(3, 0, 9)]).mean_ns, -2);
        let unknown = Estimate { half_width_ns: None, ..left };
        assert_eq!(left.less(&[unknown]).half_width_ns, None);
    }

    #[test]
    fn a_series_knows_its_mean_and_how_well() {
        let mut series = Series::default();
        (0..100).for_each(|at| series.record(1_000 + at % 10));
        let estimate = series.estimate();
        assert_eq!((estimate.mean_ns, estimate.count), (1_005, 100));
        assert!(estimate.half_width_ns.is_some_and(|half| half < 5), "{estimate:?}");
    }
}
