//! What the actions of a transaction reach outside of the runtime: data servers, back ends,
//! stylesheets.

use plumb_measure::Span;

use crate::xslt::{Stylesheet, XsltError};
use plumb_queue::ExecutionId;

/// Why something outside was not done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum OutsideError {
    /// It cannot be reached, or takes nobody for the moment: worth trying again.
    #[error("{0}")]
    Lost(String),
    /// It refuses what it was asked: it will refuse it again.
    #[error("{0}")]
    Refused(String),
    /// The time limit of the transaction was over before it was done: worth trying again.
    #[error("{0}")]
    Late(String),
    /// The message was done by an attempt whose end was not heard of.
    #[error("it has been done before")]
    DoneBefore,
}

impl From<XsltError> for OutsideError {
    fn from(error: XsltError) -> Self {
        match error {
            XsltError::Late { .. } => Self::Late(format!("{error} (time-limit)")),
            XsltError::Busy { .. }
            | XsltError::NotStarted { .. }
            | XsltError::Ended { by_others: true, .. } => Self::Lost(error.to_string()),
            other => Self::Refused(other.to_string()),
        }
    }
}

/// Where actions reach out of the runtime.
pub trait Outside {
    /// Does a statement at a data server, as part of what the message does there: all of it is
    /// committed or none.
    ///
    /// # Errors
    /// [`OutsideError`].
    fn sql(&mut self, request: &SqlRequest<'_>) -> Result<SqlAnswer, OutsideError>;

    /// As [`sql`](Self::sql), of a statement whose answer nobody uses. It may be done later, but
    /// before whatever comes after it at the same server, and at [`UnitOfWork::commit`] at the
    /// latest, which then tells that it was refused.
    ///
    /// # Errors
    /// [`OutsideError`], also that of an earlier statement of the message.
    fn sql_later(&mut self, request: &SqlRequest<'_>) -> Result<(), OutsideError> {
        self.sql(request).map(|_| ())
    }

    /// What of the time at data servers was no work of theirs, so far.
    fn session_times(&self) -> SessionTimes {
        SessionTimes::default()
    }

    /// Sends a request to a back end.
    ///
    /// # Errors
    /// [`OutsideError`].
    fn call(&mut self, request: &BackEndRequest<'_>) -> Result<BackEndAnswer, OutsideError>;

    /// The document that a stylesheet makes of another.
    ///
    /// # Errors
    /// [`OutsideError`].
    fn transform(&mut self, request: &XsltRequest<'_>) -> Result<Vec<u8>, OutsideError>;
}

/// What of the time at data servers was no work of theirs, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionTimes {
    /// Waiting for a session where all of a pool were in use.
    pub pool_ns: u64,
    /// On the way there and back, as far as it is known: see `plumb_serve::database::DatabaseTimes`.
    pub way_ns: u64,
    /// Logging on.
    pub log_on_ns: u64,
}

impl SessionTimes {
    /// What was spent since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            pool_ns: self.pool_ns.saturating_sub(earlier.pool_ns),
            way_ns: self.way_ns.saturating_sub(earlier.way_ns),
            log_on_ns: self.log_on_ns.saturating_sub(earlier.log_on_ns),
        }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            pool_ns: self.pool_ns + other.pool_ns,
            way_ns: self.way_ns + other.way_ns,
            log_on_ns: self.log_on_ns + other.log_on_ns,
        }
    }

    /// As parts of `whole_ns`, by the names that they have below what took it. Together they are never
    /// more.
    pub fn parts(self, whole_ns: u64) -> impl Iterator<Item = (&'static str, u64)> {
        let mut left_ns = whole_ns;
        let named = [("pool", self.pool_ns), ("logon", self.log_on_ns), ("wire", self.way_ns)];
        let bounded = named.map(|(name, ns)| {
            let ns = ns.min(left_ns);
            left_ns -= ns;
            (name, ns)
        });
        bounded.into_iter().filter(|(_, ns)| *ns > 0)
    }
}

/// A statement to a data server.
#[derive(Clone, Copy, Debug)]
pub struct SqlRequest<'a> {
    /// The data server, by its name.
    pub server: &'a str,
    /// The statement.
    pub text: &'a str,
    /// What is bound to its parameters.
    pub values: &'a [Option<&'a str>],
}

/// What a statement brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqlAnswer {
    /// Rows that it changed.
    pub changed: u64,
    /// The names and values of its first row, where it brings rows.
    pub first: Vec<(String, Option<String>)>,
}

/// A request to a back end.
#[derive(Clone, Copy, Debug)]
pub struct BackEndRequest<'a> {
    /// The back end, by its name.
    pub server: &'a str,
    /// `GET`, `POST`, ...
    pub method: &'a str,
    /// Path and query.
    pub target: &'a str,
    /// Lines of the head that the transaction adds: names that are some, and values of one line.
    pub headers: &'a [(&'a str, String)],
    /// Of the body.
    pub media_type: &'a str,
    /// What is sent.
    pub body: &'a [u8],
    /// What is left of the time limit of the transaction.
    pub patience: Span,
    /// The `traceparent` of whoever asked for the transaction, which is passed on.
    pub trace: Option<&'a str>,
    /// What a repetition of the call has as well, and no other call; `None` where there is no repetition.
    pub idempotency_key: Option<&'a str>,
}

/// A document that is to be transformed.
#[derive(Clone, Copy, Debug)]
pub struct XsltRequest<'a> {
    /// What makes another of it.
    pub stylesheet: &'a Stylesheet,
    /// As it is.
    pub document: &'a [u8],
    /// What is left of the time limit of the transaction.
    pub patience: Span,
}

/// What a back end answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackEndAnswer {
    /// Its status.
    pub status: u16,
    /// Of its body.
    pub media_type: String,
    /// Where it sends whoever asks (`Location`).
    pub location: Option<String>,
    /// What it sent.
    pub body: Vec<u8>,
    /// What it told of its own time: names below `backend`, and nanoseconds.
    pub told: Vec<(String, u64)>,
}

/// What several messages do outside, committed together.
///
/// Each message is recorded by its id in the same transaction of the data server, so that one that
/// is given out again after a crash is not done twice there.
pub trait UnitOfWork: Outside {
    /// Drops `what` before anything outside is waited for, such as an answer, a commit or a session,
    /// and at the latest with the unit of work.
    fn keep_until_it_waits(&mut self, what: Box<dyn Send>) {
        drop(what);
    }

    /// What follows belongs to the message `id`.
    fn begin(&mut self, id: ExecutionId);

    /// Undoes what the message begun last has done.
    fn undo(&mut self);

    /// Whether another message may be committed together with those begun so far, none of which is
    /// held up by that: what they did only waits for its commit.
    fn takes_more(&self) -> bool {
        false
    }

    /// Commits what all messages begun since the last commit, and not undone, have done; how it
    /// ended for each, in their order. One that is refused does not keep the others from being
    /// committed.
    fn commit(&mut self) -> Vec<(ExecutionId, Result<(), OutsideError>)>;
}

/// Where there is nothing outside: everything is refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unreachable;

impl Outside for Unreachable {
    fn sql(&mut self, request: &SqlRequest<'_>) -> Result<SqlAnswer, OutsideError> {
        Err(OutsideError::Refused(format!("there is no data server `{}`", request.server)))
    }

    fn call(&mut self, request: &BackEndRequest<'_>) -> Result<BackEndAnswer, OutsideError> {
        Err(OutsideError::Refused(format!("there is no back end `{}`", request.server)))
    }

    fn transform(&mut self, request: &XsltRequest<'_>) -> Result<Vec<u8>, OutsideError> {
        let path = request.stylesheet.path().display();
        Err(OutsideError::Refused(format!("nothing here applies {path}")))
    }
}
