//! What is tried before anything is measured: how long it is waited for, and what is said of it.

use std::time::Duration;

use plumb_measure::Span;

use crate::DbError;
use crate::answer::NoAnswer;
use crate::database::Asked;

/// Executions that a server's own account of a plan is taken from.
pub(crate) const EXPLAINED: u64 = 5;

/// What to do about a statement that writes.
pub(crate) const WRITES: &str =
    "returns no rows or writes: --allow-writes measures it, and rolls each call back";

/// One statement that is tried, and how long a call may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt<'a> {
    pub(crate) asked: Asked<'a>,
    pub(crate) patience: Span,
    /// Who answers, as messages name the product.
    pub(crate) product: &'static str,
}

impl Attempt<'_> {
    /// Waits for an answer as long as a call may take.
    ///
    /// # Errors
    /// What is wrong with the statement; of the driver's own trouble, what `refused` says.
    pub(crate) async fn patiently<T, E>(
        &self,
        asked: impl Future<Output = Result<T, NoAnswer<E>>>,
        refused: impl FnOnce(E) -> DbError,
    ) -> Result<T, DbError> {
        let limit = Duration::from_nanos(self.patience.ns());
        let Ok(answer) = tokio::time::timeout(limit, asked).await else {
            let patience = self.patience;
            return Err(self.wrong(format!("has no answer within {patience}: raise --timeout")));
        };
        answer.map_err(|trouble| match trouble {
            NoAnswer::TooLarge => {
                let limits = self.asked.limits.describe();
                self.wrong(format!(
                    "has an answer of more than {limits}: add a LIMIT or TOP to it, or raise --rows and --size"
                ))
            }
            NoAnswer::Unexpected => {
                self.wrong(format!("is answered in another way than by {}", self.product))
            }
            NoAnswer::Driver(error) => refused(error),
        })
    }

    /// What is wrong with the statement.
    pub(crate) fn wrong(&self, complaint: String) -> DbError {
        DbError::Statement { statement: self.asked.statement.which.name(), complaint }
    }

    /// Why it is refused where nothing keeps it from writing.
    pub(crate) fn unkept(&self, why: &str) -> DbError {
        self.wrong(format!(
            "cannot be kept from writing, because {why}: --allow-writes measures it, and rolls each call back"
        ))
    }

    /// Why it is refused when the server says that it writes.
    pub(crate) fn writes(&self, said: &str) -> DbError {
        self.wrong(refused_for_writing(said))
    }
}

/// Why a statement is not measured that the server does not prepare in the time of a connection.
pub(crate) fn unprepared(patience: Span) -> String {
    format!(
        "is not prepared within {patience} (--connect-timeout): does somebody hold a lock on what it asks for?"
    )
}

/// Why a server's account of a statement is not read that was asked once for it.
pub(crate) fn unanswered(patience: Span) -> String {
    format!("not told: the statement had no answer within {patience}")
}

/// Why a statement is refused of which the server says that it writes.
pub(crate) fn refused_for_writing(said: &str) -> String {
    format!("is refused ({said}): it {WRITES}")
}
