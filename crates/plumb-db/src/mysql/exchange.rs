//! One statement and its answer, and the looks that say where its time goes.

use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, FailureKind};
use tokio::time::timeout;

use crate::answer::{self, Answered, Failure as _, Limits};
use crate::database::{Access, Asked, Connection, Way};
use crate::looks::{MOMENT, Seen};
use crate::statement::{Parameter, Statement};

use super::answers::Brought;
use super::session::Session;
use crate::client::{Reached as _, Trouble};
use plumb_sql::mysql::{self as wire, Prepared, Value};

/// Why there is no answer.
pub(super) type NoAnswer = answer::NoAnswer<Trouble>;

/// What the server's clock is asked with: microseconds since 1970, when the statement begins. It follows
/// neither the time zone of the session nor `--sysdate-is-now`.
const CLOCK: &str = "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";
/// The most that its answer holds.
const OF_CLOCK: Limits = Limits { rows: 1, bytes: 64 };
/// Around each call of a statement that may write.
const BEGIN: &str = "START TRANSACTION READ WRITE";
const BEGIN_READ_ONLY: &str = "START TRANSACTION READ ONLY";
const ROLL_BACK: &str = "ROLLBACK";
/// What `ROLLBACK` warned of, after whatever opens no table: MariaDB keeps its list until then, MySQL until the
/// next statement.
const WARNINGS: &str = "SHOW WARNINGS";
/// Warnings of a rollback are few, and rows of that list are short.
const OF_WARNINGS: Limits = Limits { rows: 100, bytes: 100_000 };
/// The number of the warning that tables without transactions were changed. MySQL also warns of temporary tables
/// that were made (1751) or dropped (1752).
const STAYS: &str = "1196";
/// How long the list is waited for.
const WARNINGS_WITHIN: Duration = Duration::from_secs(5);
/// The error of a statement that writes where nothing may.
pub(super) const WRITES: i32 = 1792;

/// How a statement goes to the server.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// By the number under which it was prepared.
    Prepared(Prepared),
    /// With its text.
    Text,
}

/// A session and the statement that is asked over it.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(super) session: Session,
    form: Form,
    access: Access,
    limits: Limits,
    /// All that it was asked to roll back was, by the server's own word.
    rolls_back: bool,
    /// The server warned of a rollback, and was not asked of what.
    is_warned: bool,
}

impl Exchange {
    /// Prepares the statement over `session`.
    ///
    /// # Errors
    /// What the server says of the statement.
    pub(super) async fn prepared(mut session: Session, asked: Asked<'_>) -> Result<Self, Trouble> {
        // whether it may write is looked at here as well
        let may_write = asked.access == Access::RolledBack;
        if may_write {
            session.order(BEGIN).await?;
        }
        let prepared = session.prepare(&asked.statement.text).await?;
        if may_write {
            session.order(ROLL_BACK).await?;
        }
        Ok(Self { form: Form::Prepared(prepared), ..Self::by_text(session, asked) })
    }

    /// Sends the text each time.
    pub(super) fn by_text(session: Session, asked: Asked<'_>) -> Self {
        let Asked { access, limits, .. } = asked;
        Self { session, form: Form::Text, access, limits, rolls_back: true, is_warned: false }
    }

    /// What the server said of the statement when it was prepared: columns of its answer, and
    /// parameters that it wants. `None` when it was not prepared.
    pub(super) fn shape(&self) -> Option<(u16, u16)> {
        match self.form {
            Form::Prepared(statement) => Some((statement.columns, statement.parameters)),
            Form::Text => None,
        }
    }

    /// Runs the statement once in a read-only transaction; false when the server does not say that the
    /// transaction is one, and then the statement was not run.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) async fn tried(&mut self, statement: &Statement) -> Result<bool, NoAnswer> {
        let begun = self.session.order(BEGIN_READ_ONLY).await?;
        if !begun.was_read_only {
            self.session.order(ROLL_BACK).await?;
            return Ok(false);
        }
        self.put(statement);
        self.session.channel.send().await?;
        let answer = unless_broken(self.session.answer(self.limits, |_| {}).await)?;
        self.session.order(ROLL_BACK).await?;
        answer.map(|_| true)
    }

    /// The rows that `query` brings, in a transaction that is rolled back.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) async fn analyzed(
        &mut self,
        query: &str,
        limits: Limits,
    ) -> Result<Vec<Vec<Option<String>>>, NoAnswer> {
        let begin = match self.access {
            Access::ReadOnly => BEGIN_READ_ONLY,
            Access::RolledBack => BEGIN,
        };
        self.session.order(begin).await?;
        let rows = unless_broken(self.session.rows_of(query, limits).await)?;
        self.is_warned |= self.session.order(ROLL_BACK).await?.has_warnings;
        rows
    }

    /// Puts the statement into the outbox.
    fn put(&mut self, statement: &Statement) {
        let outbox = &mut self.session.channel.outbox;
        match self.form {
            Form::Text => wire::query(outbox, &statement.inline),
            Form::Prepared(prepared) => {
                let values = statement.parameters.iter().map(|parameter| match parameter {
                    Parameter::Text(text) => Value::Text(text),
                    Parameter::Int(number) => Value::Int(**number),
                    Parameter::Given(given) => Value::Text(given.0.as_deref().unwrap_or_default()),
                });
                wire::execute(outbox, prepared.id, values);
            }
        }
    }

    /// Puts a reading of the clock into the outbox: as text, so that the server does not count it among
    /// those statements that were prepared.
    fn put_clock(&mut self) {
        wire::query(&mut self.session.channel.outbox, CLOCK);
    }

    /// Puts the statement into the outbox, in a transaction that is rolled back where that was promised.
    fn put_call(&mut self, statement: &Statement) {
        let may_write = self.access == Access::RolledBack;
        if may_write {
            wire::query(&mut self.session.channel.outbox, BEGIN);
        }
        self.put(statement);
        if may_write {
            wire::query(&mut self.session.channel.outbox, ROLL_BACK);
        }
    }

    /// Reads every answer to a call, whatever the server refuses of it: the next call finds none of them.
    async fn answer_of_call(&mut self) -> Result<Answered, NoAnswer> {
        let begun = self.around().await?;
        self.session.channel.arrivals.expect(); // the answer to the statement comes behind that
        let answer = unless_broken(self.session.answer(self.limits, |_| {}).await)?;
        let ended = self.around().await?;
        self.is_warned |= ended.as_ref().is_ok_and(|it| it.has_warnings);
        begun?;
        let Brought { bytes, .. } = answer?;
        ended?;
        let arrivals = &self.session.channel.arrivals;
        Ok(Answered { first_ns: arrivals.first_ns(), last_ns: arrivals.last_ns(), bytes })
    }

    /// Reads what is said of the order before or after a statement that may write.
    async fn around(&mut self) -> Result<Result<Brought, NoAnswer>, NoAnswer> {
        if self.access == Access::ReadOnly {
            return Ok(Ok(Brought::default()));
        }
        unless_broken(self.session.done().await.map_err(NoAnswer::Driver))
    }

    /// Reads what the server's clock says, microseconds.
    async fn clock(&mut self) -> Result<i64, NoAnswer> {
        let mut read = None;
        let row = |payload: &[u8]| {
            let text = wire::texts(payload).next().flatten();
            read = text.and_then(|it| str::from_utf8(it).ok()?.parse().ok());
        };
        self.session.answer(OF_CLOCK, row).await?;
        read.ok_or(NoAnswer::Unexpected)
    }
}

/// Separates an answer, be it a refusal, from a session that is of no use any more.
fn unless_broken<T>(answer: Result<T, NoAnswer>) -> Result<Result<T, NoAnswer>, NoAnswer> {
    match answer {
        Err(trouble) if trouble.kind() != FailureKind::Refused => Err(trouble),
        answer => Ok(answer),
    }
}

impl Connection for Exchange {
    type NoAnswer = NoAnswer;

    fn way(&self) -> Way<'_> {
        self.session.way()
    }

    fn keeps_its_promise(&self) -> bool {
        self.session.keeps_its_promise()
    }

    /// A server that warned and does not say of what is taken to have kept something.
    async fn rolls_back(&mut self) -> bool {
        if std::mem::take(&mut self.is_warned) {
            let warnings = self.session.rows_of(WARNINGS, OF_WARNINGS);
            let warnings = timeout(WARNINGS_WITHIN, warnings).await;
            let stays = |row: &Vec<Option<String>>| row.iter().flatten().any(|it| it == STAYS);
            self.rolls_back &=
                matches!(warnings, Ok(Ok(rows)) if !rows.is_empty() && !rows.iter().any(stays));
        }
        self.rolls_back
    }

    async fn ask(&mut self, statement: &Statement) -> Result<Answered, NoAnswer> {
        self.put_call(statement);
        self.session.channel.arrivals.expect();
        self.session.channel.send().await?;
        self.answer_of_call().await
    }

    /// Sends a message that asks for no work, and the statement when it is answered, or after a moment:
    /// on a long way the look then takes no longer than a call. A server answers messages in their
    /// order, so one that is under way is not held up by the next.
    async fn there_and_back(&mut self, statement: &Statement) -> Result<Seen, NoAnswer> {
        wire::ping(&mut self.session.channel.outbox);
        let began_ns = MonotonicClock.now_ns();
        self.session.channel.send().await?;
        // whoever stops waiting for a packet loses none
        let came = timeout(MOMENT, self.session.done()).await;
        let wire_ns =
            |this: &Self| this.session.channel.arrivals.last_ns().saturating_sub(began_ns);
        if let Ok(came) = came {
            came?;
            let seen = Seen::Wire(wire_ns(self));
            self.ask(statement).await?;
            return Ok(seen);
        }
        self.put_call(statement);
        self.session.channel.send().await?;
        let came = unless_broken(self.session.done().await.map_err(NoAnswer::Driver))?;
        let seen = Seen::Wire(wire_ns(self));
        self.answer_of_call().await?;
        came?;
        Ok(seen)
    }

    /// Sends, at once, the statement between two readings of the server's clock, and an empty message
    /// between the second and a third. The server answers both with a write to its socket, so the
    /// difference is what the statement takes longer than an empty message: added to the way of an
    /// empty message, it counts nothing twice. A reading that nobody looks at comes first: the first answer
    /// wakes whoever asks, and the first reading finds everything cold.
    async fn at_the_server(&mut self, statement: &Statement) -> Result<Seen, NoAnswer> {
        self.put_clock();
        self.put_clock();
        self.put_call(statement);
        self.put_clock();
        wire::ping(&mut self.session.channel.outbox);
        self.put_clock();
        self.session.channel.send().await?;
        // what was sent is answered, whatever the server refuses of it
        let first = unless_broken(self.clock().await)?;
        let before = unless_broken(self.clock().await)?;
        let is_warned = self.is_warned;
        let answer = unless_broken(self.answer_of_call().await)?;
        if !self.session.keeps_warnings() {
            self.is_warned = is_warned; // the reading behind it empties the list: the next call says so again
        }
        let between = unless_broken(self.clock().await)?;
        let empty = self.session.done().await;
        let after = self.clock().await?;
        answer?;
        empty?;
        first?;
        let (before, between) = (before?, between?);
        let ns = |from: i64, to: i64| u64::try_from(to - from).unwrap_or(0).saturating_mul(1_000);
        Ok(Seen::Server { statement_ns: ns(before, between), empty_ns: ns(between, after) })
    }
}
