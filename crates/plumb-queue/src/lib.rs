//! The durable queue: what was accepted is on disk, and stays until it is done, dead or dropped.
//!
//! A store ([`Queue`]) accepts messages, gives them out, and learns how they ended. Claims are not
//! written: a message that was under way when the runtime ended is given out again, so that each is
//! done once at least.

mod clock;
mod cost;
mod ids;
mod inbox;
mod intake;
mod limits;
#[cfg(test)]
mod model;
mod nats;
mod note_room;
mod parameters;
mod postgres;
mod sqlite;
#[cfg(test)]
mod testing;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use plumb_measure::Span;
use tokio::sync::oneshot;

pub use self::clock::{QueueClock, SystemClock};
pub use self::limits::QueueLimits;
pub use self::nats::NatsQueue;
pub use self::postgres::PostgresQueue;
pub use self::sqlite::{OpenError, SqliteQueue};

/// Names an execution, written as 16 hexadecimal digits; ids are ordered by acceptance. In SQLite and
/// PostgreSQL the upper 44 bits are the time of acceptance in milliseconds since 1970, in NATS an id is
/// a sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExecutionId(pub u64);

impl fmt::Display for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Tells a queue from all others: where the ids of two meet, those of one may be those of the other.
/// A queue has the same for as long as it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub i64);

/// A message as it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The transaction that it goes through.
    pub transaction: Arc<str>,
    /// Values of parameters, in the order of their names.
    pub parameters: Vec<(String, String)>,
    /// `application/xml`, `application/json`, ...
    pub media_type: Arc<str>,
    /// The document.
    pub body: bytes::Bytes,
    /// Messages of one key are done one at a time, in the order in which they were accepted.
    pub order_key: Option<String>,
    /// A second message with this key is not accepted but answered as the first was.
    pub idempotency_key: Option<String>,
}

/// A message that is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// What it is asked for by.
    pub id: ExecutionId,
    /// True when its idempotency key had come before: `id` is then the first one's.
    pub repeated: bool,
}

/// A message to be done.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// Names it.
    pub id: ExecutionId,
    /// How many times it has failed so far.
    pub failures: u32,
    /// When it was accepted, milliseconds since 1970.
    pub accepted_ms: u64,
    /// As it came in.
    pub message: Message,
}

/// How one attempt ended.
#[derive(Clone, Debug)]
pub struct Settled {
    /// Which message.
    pub id: ExecutionId,
    /// How.
    pub ending: Ending,
    /// What is kept of the execution, and how long; `None`: nothing but its counts.
    pub kept: Option<Kept>,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All its actions are done.
    Done,
    /// It failed and is tried again after so long.
    Again {
        /// Why it failed.
        error: String,
        /// Until the next attempt.
        after: Span,
    },
    /// It failed and waits for somebody to look at it.
    Dead {
        /// Why it failed.
        error: String,
    },
}

/// What is kept of an execution that ended.
#[derive(Clone, Debug)]
pub struct Kept {
    /// What each action did, a line each.
    pub trace: String,
    /// How long, from the end of the execution.
    pub retention: Span,
}

/// The state of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Accepted, or failed and to be tried again.
    Waiting,
    /// Given out to a worker.
    Running,
    /// Done, and kept for the time of its retention.
    Done,
    /// Dead: it failed for the last time.
    Failed,
}

/// Why the queue did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// As many messages, or bytes, wait as may.
    #[error("the queue is full: {} of {bytes} bytes waiting", plumb_measure::counted(*.waiting, "message"))]
    Full {
        /// Messages that wait.
        waiting: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// The same behind a part of what was to be done again.
    #[error(
        "{} retried, the others not: the queue is full: {} of {bytes} bytes waiting",
        plumb_measure::counted(*.retried, "execution"),
        plumb_measure::counted(*.waiting, "message")
    )]
    FullBehind {
        /// Executions that are done again.
        retried: u64,
        /// Messages that wait.
        waiting: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// The disk, or the server that holds the queue, does not take it.
    #[error("the queue cannot write: {0}")]
    Store(String),
    /// The runtime ends.
    #[error("the queue is closed")]
    Closed,
}

impl QueueError {
    /// So many messages wait, of so many bytes, and no more may, behind so many that were `retried`.
    fn full((waiting, bytes): (u64, u64), retried: u64) -> Self {
        match retried {
            0 => Self::Full { waiting, bytes },
            _ => Self::FullBehind { retried, waiting, bytes },
        }
    }
}

/// A store of messages.
pub trait Queue: Send + Sync {
    /// Which queue it is.
    fn id(&self) -> QueueId;

    /// Accepts `message`; the answer comes when it is on disk (or a repeated or refused one is
    /// known to be so). Nothing waits in here.
    fn accept(&self, message: Message) -> oneshot::Receiver<Result<Accepted, QueueError>>;

    /// Gives out `most` messages, in the order of their ids, once there is one that is due. Empty
    /// after `patience` without one.
    ///
    /// # Errors
    /// [`QueueError::Closed`] when the runtime ends, [`QueueError::Store`].
    fn claim(&self, most: usize, patience: Duration) -> Result<Vec<Claimed>, QueueError>;

    /// Takes note of how attempts ended. It returns when that is handed over; it is on disk with
    /// the next flush, and a crash before that has the messages given out again.
    ///
    /// # Errors
    /// [`QueueError::Closed`], [`QueueError::Store`].
    fn settle(&self, settled: Vec<Settled>) -> Result<(), QueueError>;

    /// Takes note of an execution that did not come through the queue (a synchronous one), so that
    /// the transaction manager shows it. Nobody waits for that: where too many wait to be written it
    /// is left out, which [`figures`](Self::figures) count.
    ///
    /// # Errors
    /// As [`settle`](Self::settle).
    fn note(&self, message: Message, settled: Settled) -> Result<(), QueueError>;

    /// One execution, whole.
    ///
    /// # Errors
    /// [`QueueError::Store`].
    fn find(&self, id: ExecutionId) -> Result<Option<Execution>, QueueError>;

    /// Executions by `filter`, the newest first, without bodies.
    ///
    /// # Errors
    /// [`QueueError::Store`].
    fn list(&self, filter: &Filter) -> Result<Vec<Execution>, QueueError>;

    /// Has failed executions that `filter` finds done again, as new first attempts; how many.
    ///
    /// # Errors
    /// [`QueueError::Full`] and [`QueueError::FullBehind`] where there are more than may wait;
    /// [`QueueError::Store`].
    fn retry(&self, filter: &Filter) -> Result<u64, QueueError>;

    /// Forgets executions that `filter` finds, waiting, done or failed, never running ones; how many.
    ///
    /// # Errors
    /// [`QueueError::Store`].
    fn forget(&self, filter: &Filter) -> Result<u64, QueueError>;

    /// How many wait, run, are dead, and what the store costs.
    fn figures(&self) -> QueueFigures;

    /// The runtimes that share the queue, this one among them; none where only this one can have it.
    ///
    /// # Errors
    /// [`QueueError::Store`].
    fn runtimes(&self) -> Result<Vec<Runtime>, QueueError> {
        Ok(Vec::new())
    }

    /// An id for an execution that does not come through the queue; no other execution of this
    /// store has it.
    fn next_id(&self) -> ExecutionId;

    /// Gives out no message of `transaction` for so long, for instance while what it reaches
    /// outside is gone; zero ends the rest. Messages of other transactions go on.
    fn rest(&self, transaction: &str, time: Span);

    /// Lets nobody wait any longer: claims and accepts get [`QueueError::Closed`]. Returns once what
    /// was accepted and settled before is on disk.
    fn close(&self);
}

/// Which executions are meant. What is `None` is not looked at.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Exactly this one.
    pub id: Option<ExecutionId>,
    /// In this state.
    pub state: Option<State>,
    /// Of this transaction.
    pub transaction: Option<String>,
    /// Older than this one, for the next page.
    pub before: Option<ExecutionId>,
    /// At most so many.
    pub most: usize,
}

/// An execution as the manager shows it.
#[derive(Clone, Debug)]
pub struct Execution {
    /// Names it.
    pub id: ExecutionId,
    /// Its state.
    pub state: State,
    /// When it was accepted, milliseconds since 1970.
    pub accepted_ms: u64,
    /// As it came in; its body is empty in lists.
    pub message: Message,
    /// Bytes of the body.
    pub bytes: u64,
    /// Attempts that failed.
    pub failures: u32,
    /// Why the last one failed.
    pub error: Option<String>,
    /// What each action did, where that is kept.
    pub trace: Option<String>,
    /// When it is tried again, or when it ended, in milliseconds since 1970.
    pub at_ms: Option<u64>,
}

/// A runtime that shares a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// Names it in the queue.
    pub number: u64,
    /// The machine that it runs on, and its process there.
    pub host: String,
    /// The id of its process.
    pub process: u64,
    /// When it began, milliseconds since 1970.
    pub began_ms: u64,
    /// When it was heard of last.
    pub seen_ms: u64,
    /// Messages that it has under way.
    pub running: u64,
    /// What of the others is to be thought of it.
    pub presence: Presence,
}

/// Whether a runtime is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The one that was asked.
    Own,
    /// It was heard of within the time of a lease.
    Heard,
    /// It was not: what it had under way goes to the others.
    Lost,
}

/// How full the queue is, and what its flushes cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueFigures {
    /// Messages that wait, and that run.
    pub waiting: u64,
    /// Given out to workers.
    pub running: u64,
    /// Dead ones.
    pub failed: u64,
    /// Bytes of the bodies that wait.
    pub waiting_bytes: u64,
    /// Accepted since the runtime began.
    pub accepted: u64,
    /// Flushes since then.
    pub flushes: u64,
    /// Nanoseconds in flushes since then.
    pub flush_ns: u64,
    /// Half of the flushes took so long at most, nanoseconds.
    pub flush_p50_ns: u64,
    /// 99 % of them.
    pub flush_p99_ns: u64,
    /// 99.9 % of them.
    pub flush_p999_ns: u64,
    /// The longest flush, nanoseconds.
    pub flush_max_ns: u64,
    /// The largest the write-ahead log has been, bytes.
    pub log_max_bytes: u64,
    /// Executions since then that were not noted, because too many waited to be.
    pub notes_left_out: u64,
}
