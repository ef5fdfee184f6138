//! One statement and its answer, and the looks that say where its time goes.

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;

use crate::answer::{self, Answered, Limits};
use crate::client::{Reached as _, Trouble};
use crate::database::{Access, Asked, Connection, Way};
use crate::looks::Seen;
use crate::statement::Statement;

use super::session::{Brought, Named, Prepared, Session};

/// Why there is no answer.
pub(super) type NoAnswer = answer::NoAnswer<Trouble>;

/// A session and the statement that is asked over it.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(super) session: Session,
    /// `None`: it goes as text each time.
    pub(super) prepared: Option<Prepared>,
    access: Access,
    limits: Limits,
    /// Where each statement is another: whether its transaction only reads.
    of_log: Option<OnlyReads>,
}

/// What a transaction that was to read, and nothing else, has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnlyReads {
    Yes,
    /// It wrote, by the server's own word.
    Broken,
}

impl Exchange {
    /// Prepares the statement over `session`.
    ///
    /// # Errors
    /// What the server says of the statement.
    pub(super) async fn prepared(mut session: Session, asked: Asked<'_>) -> Result<Self, Trouble> {
        let prepared = Some(session.prepare(&asked.statement.inline).await?);
        Ok(Self { session, prepared, access: asked.access, limits: asked.limits, of_log: None })
    }

    /// Sends the text each time.
    pub(super) fn by_text(session: Session, asked: Asked<'_>) -> Self {
        let Asked { access, limits, .. } = asked;
        Self { session, prepared: None, access, limits, of_log: None }
    }

    /// Sends another text each time, in a transaction that only reads unless each is rolled back.
    ///
    /// # Errors
    /// What the server says to such a transaction.
    pub(super) async fn for_log(mut session: Session, asked: Asked<'_>) -> Result<Self, Trouble> {
        let of_log = match asked.access {
            Access::RolledBack => None,
            Access::ReadOnly => {
                session.only_reads().await?;
                Some(OnlyReads::Yes)
            }
        };
        Ok(Self { of_log, ..Self::by_text(session, asked) })
    }

    /// Carries out the statement, and rolls it back where that was promised.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) async fn tried(&mut self, statement: &Statement) -> Result<Brought, NoAnswer> {
        let named = match self.prepared {
            Some(prepared) => Named::Prepared(prepared),
            None => Named::Text(&statement.inline),
        };
        let may_write = self.access == Access::RolledBack;
        let commits = !may_write && self.of_log.is_none();
        let brought = self.session.ask(named, commits, self.limits, |_| {}).await;
        if may_write && !matches!(&brought, Err(trouble) if is_over(trouble)) {
            self.session.roll_back().await?;
        }
        brought
    }

    /// Has the next transaction only read as well where the last one may have ended with what `came`, and
    /// notices when it wrote.
    async fn keep_reading(&mut self, came: &Result<Brought, NoAnswer>) -> Result<(), NoAnswer> {
        let has_ended = match came {
            Ok(brought) => {
                if brought.transaction.writes {
                    self.of_log = Some(OnlyReads::Broken);
                }
                brought.transaction.ended
            }
            Err(trouble) => !is_over(trouble),
        };
        if has_ended && self.of_log == Some(OnlyReads::Yes) {
            self.session.only_reads().await?;
        }
        Ok(())
    }
}

/// True when nothing more is answered over the session.
fn is_over(trouble: &NoAnswer) -> bool {
    match trouble {
        NoAnswer::Driver(Trouble::Refused(refusal)) => refusal.is_fatal,
        NoAnswer::Driver(_) | NoAnswer::Unexpected => true,
        NoAnswer::TooLarge => false,
    }
}

impl Connection for Exchange {
    type NoAnswer = NoAnswer;

    fn way(&self) -> Way<'_> {
        self.session.way()
    }

    fn keeps_its_promise(&self) -> bool {
        // unless it is one of a log, what is asked was found to be a query, or is rolled back
        self.of_log != Some(OnlyReads::Broken)
    }

    async fn ask(&mut self, statement: &Statement) -> Result<Answered, NoAnswer> {
        self.session.channel.arrivals.expect();
        let came = self.tried(statement).await;
        let arrivals = &self.session.channel.arrivals;
        let (first_ns, last_ns) = (arrivals.first_ns(), arrivals.last_ns());
        if self.of_log.is_some() {
            self.keep_reading(&came).await?;
        }
        Ok(Answered { first_ns, last_ns, bytes: came?.bytes })
    }

    /// A message that asks for no work goes there and back, then the statement: one message at a time is
    /// under way.
    async fn there_and_back(&mut self, statement: &Statement) -> Result<Seen, NoAnswer> {
        let began_ns = MonotonicClock.now_ns();
        self.session.roll_back().await?;
        let wire_ns = self.session.channel.arrivals.last_ns().saturating_sub(began_ns);
        self.ask(statement).await?;
        Ok(Seen::Wire(wire_ns))
    }

    /// What the server tells of its own time with each answer, of the statement and of a message that
    /// asks for no work.
    async fn at_the_server(&mut self, statement: &Statement) -> Result<Seen, NoAnswer> {
        let brought = self.tried(statement).await?;
        let empty_us = self.session.roll_back().await?;
        let us = brought.server_us.ok_or(NoAnswer::Unexpected)?;
        let ns = |us: u64| us.saturating_mul(1_000);
        Ok(Seen::Server { statement_ns: ns(us), empty_ns: ns(empty_us.unwrap_or(0)) })
    }
}
