//! What the actions of a transaction reach outside of the runtime: data servers, back ends,
//! stylesheets.

use plumb_measure::Span;

use crate::xslt::Stylesheet;
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
    /// The message was done by an attempt whose end was not heard of.
    #[error("it has been done before")]
    DoneBefore,
}

/// Where actions reach out of the runtime.
pub trait Outside {
    /// Does the statement `text`, with bound `values`, at the data server `server`, as part of what
    /// the message does there: all of it is committed or none.
    ///
    /// # Errors
    /// [`OutsideError`].
    fn sql(
        &mut self,
        server: &str,
        text: &str,
        values: &[Option<&str>],
    ) -> Result<SqlAnswer, OutsideError>;

    /// As [`sql`](Self::sql), of a statement whose answer nobody uses. It may be done later, but
    /// before whatever comes after it at the same server, and at [`UnitOfWork::commit`] at the
    /// latest, which then tells that it was refused.
    ///
    /// # Errors
    /// [`OutsideError`], also that of an earlier statement of the message.
    fn sql_later(
        &mut self,
        server: &str,
        text: &str,
        values: &[Option<&str>],
    ) -> Result<(), OutsideError> {
        self.sql(server, text, values).map(|_| ())
    }

    /// Sends a request to a back end.
    ///
    /// # Errors
    /// [`OutsideError`].
    fn call(&mut self, request: &BackEndRequest<'_>) -> Result<BackEndAnswer, OutsideError>;

    /// The document that `stylesheet` makes of `document`, within `patience`.
    ///
    /// # Errors
    /// [`OutsideError`].
    fn transform(
        &mut self,
        stylesheet: &Stylesheet,
        document: &[u8],
        patience: Span,
    ) -> Result<Vec<u8>, OutsideError>;
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
    /// Of the body.
    pub media_type: &'a str,
    /// What is sent.
    pub body: &'a [u8],
}

/// What a back end answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackEndAnswer {
    /// Its status.
    pub status: u16,
    /// Of its body.
    pub media_type: String,
    /// What it sent.
    pub body: Vec<u8>,
}

/// What several messages do outside, committed together.
///
/// Each message is recorded by its id in the same transaction of the data server, so that one that
/// is given out again after a crash is not done twice there.
pub trait UnitOfWork: Outside {
    /// What follows belongs to the message `id`.
    fn begin(&mut self, id: ExecutionId);

    /// Undoes what the message begun last has done.
    fn undo(&mut self);

    /// Commits what all messages begun since the last commit, and not undone, have done; how it
    /// ended for each, in their order. One that is refused does not keep the others from being
    /// committed.
    fn commit(&mut self) -> Vec<(ExecutionId, Result<(), OutsideError>)>;
}

/// Where there is nothing outside: everything is refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unreachable;

impl Outside for Unreachable {
    fn sql(
        &mut self,
        server: &str,
        _: &str,
        _: &[Option<&str>],
    ) -> Result<SqlAnswer, OutsideError> {
        Err(OutsideError::Refused(format!("there is no data server `{server}`")))
    }

    fn call(&mut self, request: &BackEndRequest<'_>) -> Result<BackEndAnswer, OutsideError> {
        Err(OutsideError::Refused(format!("there is no back end `{}`", request.server)))
    }

    fn transform(
        &mut self,
        stylesheet: &Stylesheet,
        _: &[u8],
        _: Span,
    ) -> Result<Vec<u8>, OutsideError> {
        let path = stylesheet.path().display();
        Err(OutsideError::Refused(format!("nothing here applies {path}")))
    }
}
