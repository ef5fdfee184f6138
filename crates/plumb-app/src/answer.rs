//! What a step gives back, and how it says that it cannot.

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use plumb_odata::Refusal;

use crate::database::DatabaseError;
use crate::program::LoadError;
use crate::session::TooMany;

/// The content types that are served.
pub(crate) const HTML: &str = "text/html; charset=utf-8";
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";
pub(crate) const JSON: &str = "application/json; charset=utf-8";

/// The answer to one request.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Bytes,
    /// The front may give the same to everybody who asks for the same.
    pub(crate) keep: bool,
    pub(crate) timings: Timings,
}

/// Where the time of a step went, nanoseconds; the parts do not overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Timings {
    /// Waiting for a work process.
    pub(crate) queue_ns: u64,
    /// Getting the program: reading it from the database and compiling it, or finding it.
    pub(crate) load_ns: u64,
    /// Database calls, those of the load aside.
    pub(crate) database_ns: u64,
    /// Of these, on the way to the database and back; zero where that is not known apart.
    pub(crate) way_ns: u64,
    /// Of these, logging on.
    pub(crate) log_on_ns: u64,
    /// Asking the back end.
    pub(crate) called: Called,
    /// Asking the lock server.
    pub(crate) lock_ns: u64,
    /// Everything else in the work process.
    pub(crate) render_ns: u64,
    /// From the head of the request to the head of the answer: what the others leave is the front's.
    /// Zero where the front does not tell.
    pub(crate) total_ns: u64,
}

/// Calls of another server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Called {
    /// What they took, nanoseconds.
    pub(crate) ns: u64,
    /// What that server told of its own time: names below `backend`, and nanoseconds.
    pub(crate) told: Vec<(String, u64)>,
}

impl Timings {
    /// In the work process, nanoseconds.
    pub(crate) fn service_ns(&self) -> u64 {
        self.load_ns + self.database_ns + self.called.ns + self.lock_ns + self.render_ns
    }
}

impl Answer {
    pub(crate) fn new(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        let headers = vec![(CONTENT_TYPE, HeaderValue::from_static(content_type))];
        let (status, timings) = (StatusCode::OK, Timings::default());
        Self { status, headers, body: body.into(), keep: false, timings }
    }

    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Adds a header; a value that is none is left out.
    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }
}

/// Why a step has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn nothing_at(path: &str) -> Self {
        Self::not_found(format!("there is nothing at {path}"))
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "log on with a name and a password that this server knows",
        )
    }

    pub(crate) fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    /// The answer that says so in plain text.
    pub(crate) fn plain(&self) -> Answer {
        self.answer(TEXT, format!("{}\n", self.message))
    }

    /// The answer that says so in JSON.
    pub(crate) fn json(&self) -> Answer {
        let document = serde_json::json!({
            "error": { "status": self.status.as_u16(), "message": self.message }
        });
        self.answer(JSON, document.to_string())
    }

    /// The answer with `body`, and the headers that belong to its status.
    pub(crate) fn answer(&self, content_type: &'static str, body: String) -> Answer {
        let answer = Answer::new(content_type, body).with_status(self.status);
        match self.status {
            StatusCode::SERVICE_UNAVAILABLE => answer.with(RETRY_AFTER, "1"),
            StatusCode::UNAUTHORIZED => {
                answer.with(WWW_AUTHENTICATE, "Basic realm=\"plumb\", charset=\"UTF-8\"")
            }
            _ => answer,
        }
    }
}

impl From<DatabaseError> for Failure {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Lost(_)
            | DatabaseError::Silent(_)
            | DatabaseError::BrokenOff(_)
            | DatabaseError::RolledBack(_) => Self::busy(error.to_string()),
            DatabaseError::Nul => Self::bad_request(error.to_string()),
            DatabaseError::Refused(_) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
            }
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.status, refusal.message)
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Missing(_) => Self::not_found(error.to_string()),
            LoadError::Source { .. } => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
            }
            LoadError::Database(error) => error.into(),
        }
    }
}

impl From<TooMany> for Failure {
    fn from(error: TooMany) -> Self {
        Self::busy(error.to_string())
    }
}
