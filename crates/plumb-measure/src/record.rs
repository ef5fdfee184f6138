//! What happened while a load ran: one [`Recorder`] a thread, merged after the run.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::bounds::{count, few};
use crate::told_names::moved;
use crate::{
    Batches, Codes, FailureKind, Failures, Histogram, Lengths, Moments, Outcome, RoundTripTimes,
    ServerTimes, StepTimes,
};

/// What a protocol says of a complete answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How the operation ended.
    pub outcome: Outcome,
    /// The status code of the answer; `None` where the protocol has none.
    pub code: Option<u16>,
    /// Bytes of content, without the protocol's own framing.
    pub body_bytes: u64,
    /// What the other side says of its own time; `None` of a protocol in which it cannot.
    pub told: Option<ServerTimes>,
}

impl Answer {
    /// A correct answer with `body_bytes` of content and no status code.
    #[must_use]
    pub fn ok(body_bytes: u64) -> Self {
        Self { outcome: Outcome::Ok, code: None, body_bytes, told: None }
    }

    /// A failure without content.
    #[must_use]
    pub fn failed(kind: FailureKind) -> Self {
        Self { outcome: Outcome::Failed(kind), code: None, body_bytes: 0, told: None }
    }
}

/// Rows of each sort that a written recorder has at most.
const ROWS_MAX: usize = 4_096;
/// Names under which others tell times: they are numbered in a byte.
const NAMES_MAX: usize = 256;

/// Everything recorded about the operations of one label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Row {
    /// From the due time to the last byte, nanoseconds; correct answers only.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub response: Histogram,
    /// From the send to the last byte, nanoseconds; correct answers only.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub service: Histogram,
    /// From the send to the first byte, nanoseconds; correct answers only.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub first_byte: Histogram,
    /// The response times in the order in which they happened; correct answers only.
    #[serde(skip_serializing_if = "Batches::is_empty")]
    pub batches: Batches,
    /// Operations that failed after their connection stood.
    #[serde(skip_serializing_if = "Failures::is_empty")]
    pub failures: Failures,
    /// Times of the failed operations, from the due time to the failure, nanoseconds; `None`
    /// without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<Box<Histogram>>,
    /// Operations that were turned away for the moment.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "count")]
    pub refused: u64,
    /// Correct answers of operations that were looked into: they are in no time of the row.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "count")]
    pub observed: u64,
    /// How often each status code came, failed operations included.
    #[serde(skip_serializing_if = "Codes::is_empty")]
    pub codes: Codes,
    /// Of these, the codes that the plan did not expect.
    #[serde(skip_serializing_if = "Codes::is_empty")]
    pub unexpected: Codes,
    /// What the other side said of its own time, by the number of each name; correct answers only.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "few::<NAMES_MAX, _, _>")]
    pub told: Vec<Histogram>,
    /// These times beside those of the client, operation by operation; `None` of a protocol that
    /// has no such times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Box<StepTimes>>,
    /// Round trips that the kernel stamped, taken apart; `None` where none were stamped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Box<RoundTripTimes>>,
    /// Bytes of content of the correct answers.
    #[serde(skip_serializing_if = "Lengths::is_empty")]
    pub lengths: Lengths,
}

impl Row {
    fn record(&mut self, moments: Moments, answer: Answer) {
        if let Some(code) = answer.code {
            self.codes.count(code, 1);
        }
        let response = moments.last.saturating_sub(moments.due);
        match answer.outcome {
            Outcome::Ok => {
                self.response.record(response);
                self.batches.record(response);
                self.service.record(moments.last.saturating_sub(moments.sent));
                self.first_byte.record(moments.first.saturating_sub(moments.sent));
                self.lengths.record(answer.body_bytes);
                if let Some(told) = &answer.told {
                    told.iter().for_each(|(name, ns)| self.told_of(name).record(ns));
                    self.step.get_or_insert_default().record(moments, told);
                }
            }
            Outcome::Failed(kind) => {
                self.failures.count(kind);
                self.failed.get_or_insert_default().record(response);
                if let (FailureKind::UnexpectedStatus, Some(code)) = (kind, answer.code) {
                    self.unexpected.count(code, 1);
                }
            }
            Outcome::Refused => self.refused += 1,
        }
    }

    /// Books a correct answer whose service time is the sum of these `parts`: the number of each,
    /// and nanoseconds.
    pub(crate) fn record_parts(&mut self, moments: Moments, parts: &[(usize, u64)]) {
        let service = moments.last.saturating_sub(moments.sent);
        self.response.record(service);
        self.batches.record(service);
        parts.iter().for_each(|(number, ns)| self.told_of(*number).record(*ns));
        let moments = Moments { due: moments.sent, first: moments.last, ..moments };
        self.step.get_or_insert_default().record_parts(moments, parts.iter().copied());
    }

    fn told_of(&mut self, name: usize) -> &mut Histogram {
        if self.told.len() <= name {
            self.told.resize_with(name + 1, Histogram::new);
        }
        &mut self.told[name]
    }

    /// Adds everything of `other`, which happened later.
    pub fn merge(&mut self, other: &Self) {
        self.batches.append(&other.batches);
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.first_byte.merge(&other.first_byte);
        self.failures.merge(&other.failures);
        if let Some(failed) = &other.failed {
            self.failed.get_or_insert_default().merge(failed);
        }
        self.refused += other.refused;
        self.observed += other.observed;
        other.codes.iter().for_each(|(code, n)| self.codes.count(code, n));
        other.unexpected.iter().for_each(|(code, n)| self.unexpected.count(code, n));
        for (name, told) in other.told.iter().enumerate() {
            self.told_of(name).merge(told);
        }
        if let Some(step) = &other.step {
            self.step.get_or_insert_default().merge(step);
        }
        if let Some(round_trip) = &other.round_trip {
            self.round_trip.get_or_insert_default().merge(round_trip);
        }
        self.lengths.merge(&other.lengths);
    }

    fn renumber(&mut self, numbers: &[Option<usize>]) {
        moved(&mut self.told, numbers);
        if let Some(step) = &mut self.step {
            step.renumber(numbers);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.response.clear();
        self.service.clear();
        self.first_byte.clear();
        self.batches.clear();
        self.failures = Failures::default();
        self.failed = None;
        self.refused = 0;
        self.observed = 0;
        self.codes = Codes::default();
        self.unexpected = Codes::default();
        self.told.iter_mut().for_each(Histogram::clear);
        if let Some(step) = &mut self.step {
            step.clear();
        }
        if let Some(round_trip) = &mut self.round_trip {
            round_trip.clear();
        }
        self.lengths = Lengths::default();
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How many rows of each sort a recorder has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Rows of operations.
    pub operations: usize,
    /// Rows of groups: several operations of one user, timed as one.
    pub groups: usize,
}

impl Shape {
    /// All rows.
    #[must_use]
    pub fn rows(self) -> usize {
        self.operations + self.groups
    }
}

impl From<usize> for Shape {
    /// Rows of operations only.
    fn from(operations: usize) -> Self {
        Self { operations, groups: 0 }
    }
}

/// What one thread saw while it drove a load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Recorder {
    #[serde(deserialize_with = "few::<ROWS_MAX, _, _>")]
    rows: Vec<Row>,
    /// They count as no operations: what is in them is in `rows` already.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "few::<ROWS_MAX, _, _>")]
    groups: Vec<Row>,
    /// Time to establish a connection, nanoseconds.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub connect: Histogram,
    /// Time of the transport's handshake (TLS) after the connection stood, nanoseconds.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub handshake: Histogram,
    /// Of these, handshakes that took up the session of an earlier connection.
    #[serde(deserialize_with = "count")]
    pub resumed: u64,
    /// How late work began although a connection was free for it, nanoseconds: the driver's own
    /// scheduling lag. Only work that had a due time is counted.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub lag: Histogram,
    /// How long after its planned beginning the connection of a user stood, nanoseconds; only of
    /// users that connect when they begin.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub start_up: Histogram,
    /// Connections that could not be established.
    #[serde(skip_serializing_if = "Failures::is_empty")]
    pub connect_failures: Failures,
    /// Connections that the other side ended while it owed no answer on them.
    #[serde(deserialize_with = "count")]
    pub quiet_closes: u64,
    /// Connections that were given up because the other side answered while nothing was due on them:
    /// failures, of no operation.
    #[serde(deserialize_with = "count")]
    pub unasked: u64,
    /// Operations that could not begin in time and were given up.
    #[serde(deserialize_with = "count")]
    pub dropped: u64,
    /// Operations of the warm-up that were answered behind the recorded part: in no figure of it,
    /// and longer than all of it.
    #[serde(deserialize_with = "count")]
    pub outlasting: u64,
    /// Bytes handed to the kernel.
    #[serde(deserialize_with = "count")]
    pub bytes_sent: u64,
    /// Bytes read from the kernel.
    #[serde(deserialize_with = "count")]
    pub bytes_received: u64,
    /// Passes of the loop that were looked at: all, or a regular sample of them.
    #[serde(deserialize_with = "count")]
    pub passes: u64,
    /// Of these, passes that found nothing to do, or waited for the next answer: idle moments.
    #[serde(deserialize_with = "count")]
    pub idle_passes: u64,
}

impl Recorder {
    /// An empty recorder with rows of this shape; a number is one of operations.
    #[must_use]
    pub fn new(shape: impl Into<Shape>) -> Self {
        let shape = shape.into();
        // made one by one: copies of an empty row would fill memory that nobody may ever need
        let rows = |count| std::iter::repeat_with(Row::default).take(count).collect();
        Self { rows: rows(shape.operations), groups: rows(shape.groups), ..Self::default() }
    }

    /// How many rows it has.
    #[must_use]
    pub fn shape(&self) -> Shape {
        Shape { operations: self.rows.len(), groups: self.groups.len() }
    }

    /// The rows of operations, in the order of the labels.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows of groups, in order.
    #[must_use]
    pub fn groups(&self) -> &[Row] {
        &self.groups
    }

    /// Books one stretch of operations under row `number` of the groups.
    ///
    /// # Panics
    /// When `number` is not below the number of these rows.
    pub fn record_group(&mut self, number: u16, moments: Moments, answer: Answer) {
        self.groups[usize::from(number)].record(moments, answer);
    }

    /// Books one operation under `label`.
    ///
    /// # Panics
    /// When `label` is not below the number of rows.
    #[inline]
    pub fn record(&mut self, label: u16, moments: Moments, answer: Answer) {
        self.rows[usize::from(label)].record(moments, answer);
    }

    /// Books under `label` a correct answer of an operation that was looked into.
    ///
    /// # Panics
    /// When `label` is not below the number of rows.
    pub fn look(&mut self, label: u16) {
        self.rows[usize::from(label)].observed += 1;
    }

    /// What is known of the stamped round trips under `label`, to be added to.
    ///
    /// # Panics
    /// When `label` is not below the number of rows.
    pub fn round_trip(&mut self, label: u16) -> &mut RoundTripTimes {
        self.rows[usize::from(label)].round_trip.get_or_insert_default()
    }

    /// Correct answers of all rows, without those of operations that were looked into.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.rows.iter().map(|row| row.response.count()).sum()
    }

    /// Correct answers of all rows of operations that were looked into.
    #[must_use]
    pub fn observed(&self) -> u64 {
        self.rows.iter().map(|row| row.observed).sum()
    }

    /// Operations of all rows that were turned away for the moment.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.rows.iter().map(|row| row.refused).sum()
    }

    /// All failures: of operations and of connections.
    #[must_use]
    pub fn failures(&self) -> Failures {
        let mut all = self.connect_failures;
        all.add(FailureKind::Unasked, self.unasked);
        self.rows.iter().for_each(|row| all.merge(&row.failures));
        all
    }

    /// Adds everything that `other` saw.
    ///
    /// # Panics
    /// When the two have different numbers of rows.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.shape(), other.shape(), "recorders of one plan have the same rows");
        let mine = self.rows.iter_mut().chain(&mut self.groups);
        for (mine, theirs) in mine.zip(other.rows.iter().chain(&other.groups)) {
            mine.merge(theirs);
        }
        self.connect.merge(&other.connect);
        self.handshake.merge(&other.handshake);
        self.resumed += other.resumed;
        self.lag.merge(&other.lag);
        self.start_up.merge(&other.start_up);
        self.connect_failures.merge(&other.connect_failures);
        self.quiet_closes += other.quiet_closes;
        self.unasked += other.unasked;
        self.dropped += other.dropped;
        self.outlasting += other.outlasting;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.passes += other.passes;
        self.idle_passes += other.idle_passes;
    }

    /// Gives the times that the other side told new numbers: at the place of each number its new one.
    pub fn renumber_told(&mut self, numbers: &[Option<usize>]) {
        self.rows.iter_mut().chain(&mut self.groups).for_each(|row| row.renumber(numbers));
    }

    /// Forgets the load so far; the times to connect and to begin stay.
    pub fn clear_load(&mut self) {
        let connect = std::mem::take(&mut self.connect);
        let handshake = std::mem::take(&mut self.handshake);
        let start_up = std::mem::take(&mut self.start_up);
        let resumed = self.resumed;
        self.clear();
        self.connect = connect;
        self.handshake = handshake;
        self.start_up = start_up;
        self.resumed = resumed;
    }

    /// Forgets everything; keeps the memory.
    pub fn clear(&mut self) {
        self.rows.iter_mut().chain(&mut self.groups).for_each(Row::clear);
        self.connect.clear();
        self.handshake.clear();
        self.resumed = 0;
        self.lag.clear();
        self.start_up.clear();
        self.connect_failures = Failures::default();
        self.quiet_closes = 0;
        self.unasked = 0;
        self.dropped = 0;
        self.outlasting = 0;
        self.bytes_sent = 0;
        self.bytes_received = 0;
        self.passes = 0;
        self.idle_passes = 0;
    }
}
