//! Why there is no answer.

use odbc_api::Error;

/// Why there is no answer. No message carries a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The driver, its manager or the server refuses.
    #[error("{message}")]
    Refused {
        /// The state by which ODBC tells errors apart (`SQLSTATE`).
        state: String,
        /// What is said of it, in one line.
        message: String,
        /// The session has come to its end.
        is_over: bool,
    },
    /// The answer is larger than its limits.
    #[error("the answer is larger than its limits")]
    TooLarge,
    /// So many sessions wait for drivers that do not answer.
    #[error("{0} threads wait for a driver that does not answer")]
    TooManyThreads(usize),
    /// The kernel starts no thread.
    #[error("no thread for a session: {0}")]
    NoThread(String),
    /// The thread of the session is gone.
    #[error("the driver ended the session")]
    Gone,
}

/// Classes of states in which there is no connection any more.
const NO_CONNECTION: &str = "08";

impl Trouble {
    /// True for a state that begins like `class`.
    #[must_use]
    pub fn is_of(&self, class: &str) -> bool {
        matches!(self, Self::Refused { state, .. } if state.starts_with(class))
    }

    /// The same of a session whose driver says by `is_dead` whether it has come to its end.
    pub(crate) fn known_dead(self, is_dead: bool) -> Self {
        match self {
            Self::Refused { state, message, is_over } => {
                Self::Refused { state, message, is_over: is_over || is_dead }
            }
            other => other,
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        match error {
            Error::Diagnostics { record, .. } => {
                let state = String::from_utf8_lossy(&record.state.0).into_owned();
                let said = String::from_utf8_lossy(&record.message);
                let message = format!("{}: {}", state, in_one_line(&said));
                Self::Refused { is_over: state.starts_with(NO_CONNECTION), state, message }
            }
            other => Self::Refused {
                state: String::new(),
                message: in_one_line(&other.to_string()),
                is_over: false,
            },
        }
    }
}

/// Lines of a message behind each other.
fn in_one_line(said: &str) -> String {
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}
