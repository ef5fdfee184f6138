//! One statement and its answer.

use plumb_measure::FailureKind;
use plumb_odbc::{Brought, NotOpened, Session, Trouble};

use crate::answer::{self, Answered, Failure};
use crate::database::{Connection, Way};
use crate::looks::Seen;
use crate::statement::Statement;

/// Why there is no answer.
pub(super) type NoAnswer = answer::NoAnswer<Trouble>;

/// Why a connection is not ready.
#[derive(Debug)]
pub(crate) enum NotReady {
    /// It took too long.
    TimedOut,
    /// The driver or the server refuses.
    Refused(NotOpened),
}

impl Failure for NotReady {
    fn kind(&self) -> FailureKind {
        match self {
            Self::TimedOut => FailureKind::ConnectTimedOut,
            Self::Refused(NotOpened::Closed(trouble)) if trouble.is_of("HYT") => {
                FailureKind::ConnectTimedOut
            }
            Self::Refused(NotOpened::Statement(trouble)) => trouble.kind(),
            Self::Refused(_) => FailureKind::ConnectFailed,
        }
    }
}

impl Failure for Trouble {
    fn kind(&self) -> FailureKind {
        match self {
            Self::Refused { is_over: false, .. } => FailureKind::Refused,
            Self::Refused { is_over: true, .. } | Self::Gone => FailureKind::Closed,
            Self::TooLarge => FailureKind::Garbled,
            Self::TooManyThreads(_) | Self::NoThread(_) => FailureKind::ConnectFailed,
        }
    }

    fn words(&self) -> Option<String> {
        match self {
            Self::Refused { message, .. } => Some(message.clone()),
            Self::TooLarge | Self::TooManyThreads(_) | Self::NoThread(_) | Self::Gone => None,
        }
    }
}

/// A session, which was opened for one statement.
#[derive(Debug)]
pub(crate) struct Exchange {
    session: Session,
}

impl Exchange {
    pub(super) fn new(session: Session) -> Self {
        Self { session }
    }

    /// What an answer to the statement brings.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) async fn tried(&mut self) -> Result<Brought, NoAnswer> {
        self.session.ask().await.map_err(|trouble| match trouble {
            Trouble::TooLarge => NoAnswer::TooLarge,
            other => NoAnswer::Driver(other),
        })
    }
}

impl Connection for Exchange {
    type NoAnswer = NoAnswer;

    fn way(&self) -> Way<'_> {
        Way::default()
    }

    fn keeps_its_promise(&self) -> bool {
        true // it makes none
    }

    async fn ask(&mut self, _: &Statement) -> Result<Answered, NoAnswer> {
        let Brought { first_ns, last_ns, bytes, .. } = self.tried().await?;
        Ok(Answered { first_ns, last_ns, bytes })
    }

    async fn there_and_back(&mut self, _: &Statement) -> Result<Seen, NoAnswer> {
        Err(NoAnswer::Unexpected) // nothing is looked into
    }

    async fn at_the_server(&mut self, _: &Statement) -> Result<Seen, NoAnswer> {
        Err(NoAnswer::Unexpected)
    }
}
