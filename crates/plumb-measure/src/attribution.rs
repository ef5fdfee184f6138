//! Where the time of an operation went: parts whose means add up to the mean of the whole.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::faster::{LEFT_OUT, left_out_elsewhere_ns};
use crate::{
    BatchMeans, CannotBeSplit, Distribution, Estimate, Histogram, Intermediary, PartKind, Split,
};

/// One part of the time of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimePart {
    /// What it was spent on.
    pub kind: PartKind,
    /// Its mean over the operations.
    pub time: Estimate,
    /// How it was measured, in words.
    pub how: String,
}

/// Where the time of the operations around a percentile went: of those in its band of times, and of
/// their neighbours where there are few.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PercentileAccount {
    /// The percentile of the response time: 50, 95, 99.
    pub percentile: u8,
    /// Its value, nanoseconds.
    pub value_ns: u64,
    /// The mean of the operations around it.
    pub client: Estimate,
    /// Its parts, the rest among them.
    pub parts: Vec<TimePart>,
}

impl PercentileAccount {
    /// The mean and its parts.
    ///
    /// # Errors
    /// [`CannotBeSplit`] when the parts are more than the whole.
    pub fn split(&self) -> Result<Split<PartKind>, CannotBeSplit> {
        split_of_the_same(self.client, &self.parts)
    }
}

/// One operation, part by part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExampleOperation {
    /// The percentile in whose band of times it lies: 50 is a typical one, 99 a slow one.
    pub percentile: u8,
    /// From the due time to the last byte, nanoseconds.
    pub whole_ns: u64,
    /// Its parts, one behind the other.
    pub parts: Vec<ExamplePart>,
}

/// A part of one operation. Servers tell how long their parts took and not when they began: these
/// stand in the order in which operations usually meet them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExamplePart {
    /// What it was spent on.
    pub kind: PartKind,
    /// The name under which it was told.
    pub name: String,
    /// Where it is drawn, nanoseconds from the due time.
    pub from_ns: u64,
    /// How long it took, nanoseconds.
    pub ns: u64,
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
    /// The mean, nanoseconds, of the calls whose time is told apart, and which those are: the
    /// faster nine tenths where they have a mean of their own.
    #[must_use]
    pub fn mean_of(all_ns: Option<u64>, faster_ns: Option<u64>) -> Option<(u64, Self)> {
        let faster = faster_ns.map(|ns| (ns, Self::Faster));
        faster.or_else(|| all_ns.map(|ns| (ns, Self::All)))
    }

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
    pub parts: Vec<TimePart>,
}

impl FasterCalls {
    /// What of these `parts`, estimates of [`Series::faster`](crate::Series::faster), follows for calls of `times` and
    /// `batches`; the rest was found out like `how`.
    ///
    /// # Errors
    /// [`CannotBeSplit`] when the intervals do not allow these parts to be parts of the whole.
    pub fn of(
        times: &Histogram,
        batches: Option<&BatchMeans>,
        parts: Vec<TimePart>,
        how: &str,
    ) -> Result<Self, CannotBeSplit> {
        let fewest = parts.iter().map(|part| part.time.count).min().unwrap_or(0);
        let elsewhere_ns = left_out_elsewhere_ns(times, fewest, parts.len() + 1);
        let client = Estimate::of_the_faster(times, batches).known_less_by(elsewhere_ns);
        let mut found = Self { client, parts };
        let rest = TimePart {
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
    pub parts: Vec<TimePart>,
    /// Why the whole cannot be split into these parts; absent where it can.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cannot_be_split: Option<String>,
    /// The same of the faster nine tenths of the calls: where all are not known well enough to be
    /// split, and these are.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub faster: Option<FasterCalls>,
    /// True where the parts were told by the very operations of the whole, each of them: then they
    /// are as exact as it, and what is not known of them is how they would be another time.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub same_operations: bool,
    /// What stands between the client and the server, where it is known that something does: it is in
    /// the wire then.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub intermediary: Option<Intermediary>,
    /// The same of the operations around percentiles: which part makes the slow ones slow.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub percentiles: Vec<PercentileAccount>,
    /// Single operations: a typical one and a slow one.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub examples: Vec<ExampleOperation>,
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
        if self.same_operations {
            let split = split_of_the_same(self.client, &self.parts)?;
            return Ok(Account { of: Calls::All, split });
        }
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
                let rest =
                    TimePart { kind: PartKind::Rest, time: split.rest.time, how: how.into() };
                self.parts.push(rest);
                self.cannot_be_split = None;
            }
            Err(reason) => self.cannot_be_split = Some(reason.to_string()),
        }
        self
    }

    /// The same of parts that are complete: why they are no parts of the whole, if they are none.
    #[must_use]
    pub(crate) fn judged(mut self) -> Self {
        self.cannot_be_split = self.account().err().map(|reason| reason.to_string());
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

    /// What a part is spent on, behind "is".
    #[must_use]
    pub fn describe(&self, kind: PartKind) -> &'static str {
        match (kind, self.intermediary) {
            (PartKind::Wire, Some(it)) => it.describe_wire(),
            _ => kind.describe(),
        }
    }

    /// The mean of a part, nanoseconds; 0 where the operation has no such part.
    #[must_use]
    pub fn mean_ns(&self, kind: PartKind) -> i64 {
        self.parts.iter().find(|part| part.kind == kind).map_or(0, |part| part.time.mean_ns)
    }
}

/// `client` as the sum of `parts` and of the rest that they leave.
fn split(client: Estimate, parts: &[TimePart]) -> Result<Split<PartKind>, CannotBeSplit> {
    let measured = parts.iter().filter(|part| part.kind != PartKind::Rest);
    Split::of(client, measured.map(|part| (part.kind, part.time)), PartKind::Rest)
}

/// The same of parts that the operations of the whole told themselves, the rest among them.
pub(crate) fn split_of_the_same(
    client: Estimate,
    parts: &[TimePart],
) -> Result<Split<PartKind>, CannotBeSplit> {
    let rest = parts.iter().find(|part| part.kind == PartKind::Rest);
    let measured = parts.iter().filter(|part| part.kind != PartKind::Rest);
    let rest_half_ns = rest.and_then(|part| part.time.half_width_ns);
    let parts = measured.map(|part| (part.kind, part.time));
    Split::of_the_same(client, parts, (PartKind::Rest, rest_half_ns))
}
