//! What came of a load: whole, on a wire, and together with that of others.

#[cfg(test)]
mod tests;

use plumb_measure::{
    Histogram, Interval, RecordError, Recorder, Shape, SlowSample, Slowest, TcpTotals, Transports,
    bounds, renumbering,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::drive::Ending;

/// Name and version of the form in which an outcome travels; a reader takes no other.
const SCHEMA: &str = "plumb.load/1";
/// Crews that are read at most.
const CREWS_MAX: usize = 1_024;
/// Names of told times that are read at most.
const NAMES_MAX: usize = 256;

/// What came of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadResult<P> {
    /// Everything recorded.
    pub recorder: Recorder,
    /// What cannot be told from the rows of the recorder, for each crew; empty where nobody has told it.
    #[serde(deserialize_with = "bounds::few::<CREWS_MAX, _, _>")]
    pub crews: Vec<CrewFigures>,
    /// The protocols, as their threads left them, or what is to be known of them elsewhere.
    pub protocols: Vec<P>,
    /// The intervals, in order.
    pub intervals: Vec<Interval>,
    /// How it ended.
    pub ending: Ending,
    /// Start of the recorded part, nanoseconds on the monotonic clock.
    pub began_ns: u64,
    /// Length of the recorded part, nanoseconds.
    pub duration_ns: u64,
    /// Connections of its plan.
    #[serde(deserialize_with = "bounds::count")]
    pub connections: u64,
    /// Operations of the warm-up.
    #[serde(deserialize_with = "bounds::count")]
    pub warm_up_operations: u64,
    /// Processor time of the driving threads over the recorded part, nanoseconds.
    pub cpu_ns: u64,
    /// What the connections really used.
    pub transports: Transports,
    /// The slowest operations; their moments count from the start of the recorded part.
    pub slowest: Slowest,
    /// What all connections of TCP did over the recorded part.
    pub tcp: Option<TcpTotals>,
    /// The names under which the other side told times, at the places of their numbers.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        default,
        deserialize_with = "bounds::few::<NAMES_MAX, _, _>"
    )]
    pub told_names: Vec<String>,
    /// Who failed a handshake behind the beginning, and why: the first of one thread.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub handshake_complaint: Option<String>,
}

/// What one crew of a load did, as far as no row tells it from the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CrewFigures {
    /// Operations that could not begin in time and were given up.
    #[serde(deserialize_with = "bounds::count")]
    pub dropped: u64,
    /// How long after its planned beginning the connection of a user stood, nanoseconds; only of
    /// users that connect when they begin.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub start_up: Histogram,
}

impl CrewFigures {
    /// Adds what some of its users did.
    pub(super) fn add(&mut self, dropped: u64, start_up: &Histogram) {
        self.dropped += dropped;
        self.start_up.merge(start_up);
    }
}

/// Why two outcomes cannot be put together: they are not of the same plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAlike {
    /// Their operations are of different kinds.
    #[error(
        "loads of {} and {} kinds of operations are not of the same plan: give all of them the \
         same plan, and the same version of plumb",
        .0.rows(),
        .1.rows()
    )]
    Shape(Shape, Shape),
    /// They have different crews.
    #[error("loads of {0} and {1} crews are not of the same plan: give all of them the same plan")]
    Crews(usize, usize),
    /// They are of different times.
    #[error("intervals that begin {0} ns and {1} ns after the start are not the same interval")]
    Interval(u64, u64),
}

impl<P> LoadResult<P> {
    /// Adds a load of the same plan that another client or another machine drove, its `began_ns` on
    /// the same clock. Times that the other side told are put together by their names.
    ///
    /// What was counted and recorded adds up exactly, in any grouping. The recorded part reaches from
    /// the first beginning to the last end of both, and moments count from that beginning, so a rate
    /// over it is that of all only where both ran side by side;
    /// [`Overlap`](plumb_measure::Overlap) says what they did while all ran. The connections of
    /// `other` are numbered on. The order in which operations happened is kept of each: the batches
    /// of `other` stand behind. There are no intervals, because quantiles do not add up; they are
    /// merged as they come, with [`IntervalRecords::together`](crate::IntervalRecords::together).
    ///
    /// # Errors
    /// [`NotAlike`]; nothing is added then.
    pub fn merge(&mut self, mut other: Self) -> Result<(), NotAlike> {
        self.check(&other)?;
        if self.told_names != other.told_names {
            let numbers = renumbering(&mut self.told_names, &other.told_names);
            other.recorder.renumber_told(&numbers);
        }
        let began_ns = self.began_ns.min(other.began_ns);
        let end_ns = self.end_ns().max(other.end_ns());
        let (mine, theirs) = (self.began_ns - began_ns, other.began_ns - began_ns);
        let on = self.connections;
        let slow = std::mem::take(&mut self.slowest).into_samples().into_iter();
        let others = other.slowest.into_samples().into_iter();
        slow.map(|it| moved(it, mine, 0))
            .chain(others.map(|it| moved(it, theirs, on)))
            .for_each(|it| self.slowest.offer(it));
        self.recorder.merge(&other.recorder);
        if self.crews.is_empty() {
            self.crews.clone_from(&other.crews);
        } else {
            for (crew, more) in self.crews.iter_mut().zip(&other.crews) {
                crew.add(more.dropped, &more.start_up);
            }
        }
        self.protocols.extend(other.protocols);
        self.intervals.clear();
        self.ending = self.ending.max(other.ending);
        self.began_ns = began_ns;
        self.duration_ns = end_ns - began_ns;
        self.connections += other.connections;
        self.warm_up_operations += other.warm_up_operations;
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
        self.transports.merge(&other.transports);
        if let Some(tcp) = &other.tcp {
            self.tcp.get_or_insert_default().merge(tcp);
        }
        self.handshake_complaint = self.handshake_complaint.take().or(other.handshake_complaint);
        Ok(())
    }

    fn check(&self, other: &Self) -> Result<(), NotAlike> {
        let (mine, theirs) = (self.recorder.shape(), other.recorder.shape());
        if mine != theirs {
            return Err(NotAlike::Shape(mine, theirs));
        }
        let (mine, theirs) = (self.crews.len(), other.crews.len());
        // of a load that was lost in its midst nobody has told them
        let alike = mine == theirs || mine == 0 || theirs == 0;
        if alike { Ok(()) } else { Err(NotAlike::Crews(mine, theirs)) }
    }

    fn end_ns(&self) -> u64 {
        self.began_ns.saturating_add(self.duration_ns)
    }

    /// The same with `of` each protocol in its place: what is to be known of it elsewhere.
    #[must_use]
    pub fn map<Q>(mut self, of: impl FnMut(P) -> Q) -> LoadResult<Q> {
        let protocols = std::mem::take(&mut self.protocols);
        self.with(protocols.into_iter().map(of).collect())
    }

    /// What is to be known of it elsewhere: everything but its protocols.
    #[must_use]
    pub fn without_protocols(&self) -> LoadResult<()> {
        self.with(Vec::new())
    }

    fn with<Q>(&self, protocols: Vec<Q>) -> LoadResult<Q> {
        LoadResult {
            protocols,
            recorder: self.recorder.clone(),
            crews: self.crews.clone(),
            intervals: self.intervals.clone(),
            ending: self.ending,
            began_ns: self.began_ns,
            duration_ns: self.duration_ns,
            connections: self.connections,
            warm_up_operations: self.warm_up_operations,
            cpu_ns: self.cpu_ns,
            transports: self.transports.clone(),
            slowest: self.slowest.clone(),
            tcp: self.tcp,
            told_names: self.told_names.clone(),
            handshake_complaint: self.handshake_complaint.clone(),
        }
    }
}

/// A slow operation of a load that began `later_ns` after the first, its connections numbered from
/// `first` on.
fn moved(slow: SlowSample, later_ns: u64, first: u64) -> SlowSample {
    SlowSample {
        at_ns: slow.at_ns.saturating_add(later_ns),
        connection: slow.connection.saturating_add(first),
        ..slow
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form<L> {
    schema: String,
    load: L,
}

impl<P: Serialize> LoadResult<P> {
    /// The outcome as JSON in one line; what is read back equals it.
    ///
    /// # Errors
    /// When a histogram has more values than can be merged, or a protocol cannot be written.
    pub fn to_json(&self) -> Result<String, RecordError> {
        Ok(serde_json::to_string(&Form { schema: SCHEMA.into(), load: self })?)
    }
}

impl<P: DeserializeOwned> LoadResult<P> {
    /// Reads what [`to_json`](Self::to_json) wrote.
    ///
    /// # Errors
    /// [`RecordError`] says what is wrong, and where. What contradicts itself is refused, too.
    pub fn from_json(text: &str) -> Result<Self, RecordError> {
        #[derive(Deserialize)]
        struct Head {
            schema: String,
        }
        match serde_json::from_str::<Form<Self>>(text) {
            Ok(form) if form.schema == SCHEMA => Ok(form.load),
            Ok(form) => Err(RecordError::Schema { found: form.schema, reads: SCHEMA }),
            Err(error) => Err(match serde_json::from_str::<Head>(text) {
                Ok(head) if head.schema != SCHEMA => {
                    RecordError::Schema { found: head.schema, reads: SCHEMA }
                }
                _ => RecordError::Json(error),
            }),
        }
    }
}
