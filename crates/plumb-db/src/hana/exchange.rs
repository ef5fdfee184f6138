//! One statement and its answer, and the looks that say where its time goes.

use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Transport};

use crate::answer::{self, Answered, Limits};
use crate::client::Trouble;
use crate::database::{Access, Asked, Connection};
use crate::looks::{Look, Seen};
use crate::statement::Statement;
use crate::stream::Arrivals;

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
}

impl Exchange {
    /// Prepares the statement over `session`.
    ///
    /// # Errors
    /// What the server says of the statement.
    pub(super) async fn prepared(mut session: Session, asked: Asked<'_>) -> Result<Self, Trouble> {
        let prepared = Some(session.prepare(&asked.statement.inline).await?);
        Ok(Self { session, prepared, access: asked.access, limits: asked.limits })
    }

    /// Sends the text each time.
    pub(super) fn by_text(session: Session, asked: Asked<'_>) -> Self {
        Self { session, prepared: None, access: asked.access, limits: asked.limits }
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
        let brought = self.session.ask(named, !may_write, self.limits, |_| {}).await;
        if may_write && !matches!(&brought, Err(trouble) if is_over(trouble)) {
            self.session.roll_back().await?;
        }
        brought
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
    async fn by_its_word(&mut self, statement: &Statement) -> Result<Seen, NoAnswer> {
        let brought = self.tried(statement).await?;
        let empty_us = self.session.roll_back().await?;
        let us = brought.server_us.ok_or(NoAnswer::Unexpected)?;
        let ns = |us: u64| us.saturating_mul(1_000);
        Ok(Seen::Server { statement_ns: ns(us), empty_ns: ns(empty_us.unwrap_or(0)) })
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

    fn transport(&self) -> Option<&Transport> {
        self.session.transport.as_ref()
    }

    fn arrivals(&self) -> Option<&Arrivals> {
        Some(&self.session.channel.arrivals)
    }

    fn keeps_its_promise(&self) -> bool {
        true // what is asked over it was found to be a query, or is rolled back
    }

    async fn ask(&mut self, statement: &Statement) -> Result<Answered, NoAnswer> {
        self.session.channel.arrivals.expect();
        let Brought { bytes, .. } = self.tried(statement).await?;
        let arrivals = &self.session.channel.arrivals;
        Ok(Answered { first_ns: arrivals.first_ns(), last_ns: arrivals.last_ns(), bytes })
    }

    async fn observe(&mut self, statement: &Statement, look: Look) -> Result<Seen, NoAnswer> {
        match look {
            Look::Wire => self.there_and_back(statement).await,
            Look::Server => self.by_its_word(statement).await,
        }
    }
}
