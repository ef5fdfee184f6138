//! One statement and its answer, and the looks that say where its time goes.

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;

use crate::answer::{self, Answered, Limits};
use crate::client::{Reached as _, Trouble};
use crate::database::{Access, Asked, Connection, Way};
use crate::looks::Seen;
use crate::statement::Statement;

use super::session::{Brought, Session};
use plumb_sql::tds::types;
use plumb_sql::tds::wire::{self, Kind};

/// Why there is no answer.
pub(super) type NoAnswer = answer::NoAnswer<Trouble>;

/// A batch that asks for no work.
const NOTHING: &str = " ";
/// What the server's clock is asked with, to 100 ns.
const CLOCK: &str = "SELECT SYSUTCDATETIME()";
/// Room for the readings around a statement.
const OF_CLOCK: u64 = 256;
/// Tables of the readings of a look: before, and two behind.
const READINGS: u32 = 3;
/// Around each call of a statement that may write.
const BEGIN: &str = "BEGIN TRANSACTION";
const ROLL_BACK: &str = "IF @@TRANCOUNT > 0 ROLLBACK";

/// A session and what is asked over it.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(super) session: Session,
    access: Access,
    limits: Limits,
}

impl Exchange {
    pub(super) fn new(session: Session, asked: Asked<'_>) -> Self {
        Self { session, access: asked.access, limits: asked.limits }
    }

    /// What is sent for one call: the same text each time, so that the server finds its plan again.
    fn text(&self, statement: &Statement) -> String {
        call_of(statement, self.access)
    }

    async fn answer_of_call(&mut self) -> Result<Answered, NoAnswer> {
        let Brought { bytes, .. } = self.session.answer(self.limits, |_, _| {}).await?;
        let arrivals = &self.session.channel.arrivals;
        Ok(Answered { first_ns: arrivals.first_ns(), last_ns: arrivals.last_ns(), bytes })
    }

    /// What an answer to the statement brings.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) async fn tried(&mut self, statement: &Statement) -> Result<Brought, NoAnswer> {
        let text = self.text(statement);
        self.session.asked(&text, self.limits, |_, _| {}).await
    }
}

/// The text of one call: a statement that may write is rolled back.
pub(super) fn call_of(statement: &Statement, access: Access) -> String {
    match access {
        Access::ReadOnly => statement.inline.clone(),
        Access::RolledBack => format!("{BEGIN};\n{}\n;{ROLL_BACK}", statement.inline),
    }
}

impl Connection for Exchange {
    type NoAnswer = NoAnswer;

    fn way(&self) -> Way<'_> {
        self.session.way()
    }

    fn keeps_its_promise(&self) -> bool {
        true // it makes none
    }

    async fn ask(&mut self, statement: &Statement) -> Result<Answered, NoAnswer> {
        let batch = wire::batch(&self.text(statement));
        self.session.channel.arrivals.expect();
        self.session.channel.send(Kind::Batch, &batch).await?;
        self.answer_of_call().await
    }

    /// Sends a batch that asks for no work, and the statement when it is answered. A server of this kind
    /// takes one batch after the other, so the statement never follows before.
    async fn there_and_back(&mut self, statement: &Statement) -> Result<Seen, NoAnswer> {
        let began_ns = MonotonicClock.now_ns();
        self.session.channel.send(Kind::Batch, &wire::batch(NOTHING)).await?;
        let nothing = Limits { rows: 0, bytes: 0 };
        self.session.answer(nothing, |_, _| {}).await?;
        let wire_ns = self.session.channel.arrivals.last_ns().saturating_sub(began_ns);
        self.ask(statement).await?;
        Ok(Seen::Wire(wire_ns))
    }

    /// Sends, as one batch, the statement between two readings of the server's clock, and a third
    /// behind the second: what two readings take from each other is in both differences.
    async fn at_the_server(&mut self, statement: &Statement) -> Result<Seen, NoAnswer> {
        let batch = format!("{CLOCK};\n{}\n;{CLOCK};{CLOCK}", self.text(statement));
        self.session.channel.send(Kind::Batch, &wire::batch(&batch)).await?;
        let limits = Limits {
            rows: self.limits.rows.saturating_add(READINGS.into()),
            bytes: self.limits.bytes.saturating_add(OF_CLOCK),
        };
        let (mut before, mut last_two) = (None, [None; 2]);
        let row = |table: u32, values: &[Option<&[u8]>]| {
            let read = match values {
                [Some(value)] => types::nanoseconds(value),
                _ => None,
            };
            if table == 1 {
                before = read;
            } else {
                last_two = [last_two[1], read];
            }
        };
        self.session.answer(limits, row).await?;
        let (Some(before), [Some(between), Some(after)]) = (before, last_two) else {
            return Err(NoAnswer::Unexpected);
        };
        let ns = |from: i128, to: i128| u64::try_from(to - from).unwrap_or(0);
        Ok(Seen::Server { statement_ns: ns(before, between), empty_ns: ns(between, after) })
    }
}
