//! One statement and its answer, and the looks that say where its time goes.

use std::pin::pin;
use std::time::Duration;

use bytes::BytesMut;
use futures_util::StreamExt as _;
use futures_util::future::{join, join3, join5};
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, FailureKind, Span};
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{Format, FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, RowStream};

use super::NoAnswer;
use super::block::{self, Brought, ROLL_BACK};
use super::promise::Promise;
use super::session::{Session, failure};
use crate::answer::{Answered, Limits};
use crate::database::{self, Access, Asked};
use crate::looks::{MOMENT, Seen};
use crate::statement::{Given, Parameter, Statement};

/// What the server's clock is asked with.
const CLOCK: &str = "SELECT clock_timestamp()";

/// How a statement goes to the server.
#[derive(Debug)]
enum Form {
    /// By the name under which it was prepared; the clock likewise.
    Named { statement: tokio_postgres::Statement, clock: tokio_postgres::Statement },
    /// With its text, in one message.
    Text,
    /// As a transaction in one message: that of a call, and that of a look.
    Block { call: String, look: String },
}

/// What the server says of a statement that was tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tried {
    /// The transaction that it was tried in was read-only, by the server's own word.
    pub(crate) was_read_only: bool,
    /// It answers with rows, be they none.
    pub(crate) has_rows: bool,
}

/// Why a statement is not prepared.
#[derive(Debug)]
pub(super) enum Unprepared {
    /// The server says so.
    Refused(tokio_postgres::Error),
    /// It says nothing: a table that somebody has locked keeps it from looking at the statement. The session
    /// still waits.
    Late(Box<Session>),
}

/// A session and the statement that is asked over it.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) session: Session,
    form: Form,
    access: Access,
    limits: Limits,
}

impl Exchange {
    /// Prepares what is asked over `session` where that is wanted and possible, within `patience`; else its
    /// text is kept.
    ///
    /// # Errors
    /// [`Unprepared`].
    pub(super) async fn of(
        session: Session,
        asked: Asked<'_>,
        form: database::Form,
        patience: Span,
    ) -> Result<Self, Unprepared> {
        if form != database::Form::Prepared || session.promise != Promise::Session {
            return Ok(Self::by_text(session, asked));
        }
        let Asked { statement, access, limits } = asked;
        let types: Vec<Type> = values(statement).map(|(_, it)| it).collect();
        let client = &session.client;
        let preparing = async {
            let statement = client.prepare_typed(&statement.text, &types).await?;
            Ok::<_, tokio_postgres::Error>(Form::Named {
                statement,
                clock: client.prepare(CLOCK).await?,
            })
        };
        let limit = Duration::from_nanos(patience.ns());
        match timeout(limit, session.drive(preparing)).await {
            Ok(Ok(form)) => Ok(Self { session, form, access, limits }),
            Ok(Err(error)) => Err(Unprepared::Refused(error)),
            Err(_) => Err(Unprepared::Late(Box::new(session))),
        }
    }

    /// Sends the text each time: what a call does that makes a connection of its own.
    pub(crate) fn by_text(session: Session, asked: Asked<'_>) -> Self {
        let Asked { statement, access, limits } = asked;
        let form = match session.promise {
            Promise::Session => Form::Text,
            Promise::Call(_) => Form::Block {
                call: block::call(access, &statement.inline),
                look: block::between_readings(access, &statement.inline),
            },
        };
        Self { session, form, access, limits }
    }

    /// What the server said of the statement when it was prepared: columns of its answer, and
    /// parameters that it wants. `None` when it was not prepared.
    pub(crate) fn shape(&self) -> Option<(usize, usize)> {
        match &self.form {
            Form::Named { statement, .. } => {
                Some((statement.columns().len(), statement.params().len()))
            }
            Form::Text | Form::Block { .. } => None,
        }
    }

    /// Has the server read the statement without running it: it is one, and can be understood.
    ///
    /// # Errors
    /// What the server says of it.
    pub(crate) async fn understood(&self, statement: &Statement) -> Result<(), NoAnswer> {
        // a parameter that the statement does not have is of no type that can be found out, which
        // the server says when it has read everything else, and before it runs anything
        let surplus = (1..).find(|number| !statement.text.contains(&format!("${number}")));
        let values = vec![("", Type::UNKNOWN); surplus.unwrap_or(1)];
        let read = self.session.drive(self.client().query_typed_raw(&statement.text, values));
        match read.await {
            Err(error) if error.code() == Some(&SqlState::INDETERMINATE_DATATYPE) => Ok(()),
            Err(error) => Err(error.into()),
            Ok(_) => Err(NoAnswer::Unexpected),
        }
    }

    /// Runs the statement once in a read-only transaction, and has the server say that it is one.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(crate) async fn tried(&self, statement: &Statement) -> Result<Tried, NoAnswer> {
        let text = block::tried(&statement.inline);
        let brought = self.session.drive(self.block(&text)).await?;
        Ok(Tried {
            was_read_only: brought.first.as_deref() == Some("on"),
            has_rows: brought.tables > 1,
        })
    }

    /// Runs the statement once so that the server can say why it fails, whatever lends its sessions.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(crate) async fn alone(&self, statement: &Statement) -> Result<(), NoAnswer> {
        let text = block::alone(self.access, &statement.inline);
        self.session.drive(block::ask(self.client(), &text, self.limits)).await.map(|_| ())
    }

    /// Asks, and reads the whole answer.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(crate) async fn ask(&self, statement: &Statement) -> Result<Answered, NoAnswer> {
        self.session.drive(self.call(statement)).await
    }

    /// Sends a message that asks for no work, and the statement when it is answered, or after a
    /// moment: on a long way the look then takes no longer than a call. A server answers messages in
    /// their order, so one that is under way is not held up by the next.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) async fn there_and_back(&self, statement: &Statement) -> Result<Seen, NoAnswer> {
        let began_ns = MonotonicClock.now_ns();
        let empty = async {
            self.empty().await?;
            Ok::<u64, NoAnswer>(self.session.arrivals.last_ns().saturating_sub(began_ns))
        };
        let mut empty = pin!(empty);
        let call = self.call(statement);
        let (wire_ns, answer) = match timeout(MOMENT, empty.as_mut()).await {
            Ok(wire_ns) => (wire_ns, call.await),
            Err(_) => join(empty, call).await,
        };
        answer?;
        Ok(Seen::Wire(wire_ns?))
    }

    /// Sends, at once, the statement between two readings of the server's clock, and an empty
    /// message between the second and a third. The server answers both with a write to its socket,
    /// so the difference is what the statement takes longer than an empty message: added to the way
    /// of an empty message, it counts nothing twice. The empty message comes last, so that a new
    /// session, where everything takes longer the first time, does not seem to spend less than
    /// nothing. A reading that nobody looks at comes first: the first answer wakes whoever asks, and the
    /// first reading finds everything cold, both of which take the server longer than what follows.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) async fn by_its_clock(&self, statement: &Statement) -> Result<Seen, NoAnswer> {
        if let Form::Block { look, .. } = &self.form {
            return self.within_one_message(look).await;
        }
        // each is sent when it is first asked, and they are asked in this order
        let readings = join5(
            self.clock(),
            self.within(self.answer(statement)),
            self.clock(),
            self.empty(),
            self.clock(),
        );
        let (first, (before, answer, between, empty, after)) = join(self.clock(), readings).await;
        first?;
        answer?;
        empty?;
        let (before, between, after) = (before?, between?, after?);
        let micros = |from: i64, to: i64| u64::try_from(to - from).unwrap_or(0) * 1_000;
        Ok(Seen::Server { statement_ns: micros(before, between), empty_ns: micros(between, after) })
    }

    /// The same where everything is one message: nothing is written to the socket between readings,
    /// and nothing stands between the first two.
    async fn within_one_message(&self, look: &str) -> Result<Seen, NoAnswer> {
        let brought = self.block(look).await?;
        let [before, begun, after] = brought.clock[..] else { return Err(NoAnswer::Unexpected) };
        let micros = |from: i64, to: i64| u64::try_from(to - from).unwrap_or(0) * 1_000;
        Ok(Seen::Server { statement_ns: micros(begun, after), empty_ns: micros(before, begun) })
    }

    /// A message that asks for no work, there and back.
    async fn empty(&self) -> Result<(), NoAnswer> {
        Ok(self.client().check_connection().await?)
    }

    fn client(&self) -> &Client {
        &self.session.client
    }

    /// The statement and its whole answer.
    async fn call(&self, statement: &Statement) -> Result<Answered, NoAnswer> {
        let Form::Block { call, .. } = &self.form else {
            return self.within(self.answer(statement)).await;
        };
        self.session.arrivals.expect();
        let brought = self.block(call).await?;
        Ok(self.answered(brought.bytes))
    }

    /// Carries out `call`, in a transaction that is rolled back where that was promised. Outside of
    /// it, the session may not write.
    async fn within<T>(
        &self,
        call: impl Future<Output = Result<T, NoAnswer>>,
    ) -> Result<T, NoAnswer> {
        match self.access {
            Access::ReadOnly => call.await,
            Access::RolledBack => {
                let begin = async {
                    let begun = self.control(block::begin(self.access)).await;
                    self.session.arrivals.expect(); // the answer to the call comes behind that
                    begun
                };
                let (begun, called, ended) = join3(begin, call, self.control(ROLL_BACK)).await;
                begun?;
                let called = called?;
                ended?;
                Ok(called)
            }
        }
    }

    async fn control(&self, text: &str) -> Result<(), NoAnswer> {
        Ok(self.client().batch_execute(text).await?)
    }

    async fn answer(&self, statement: &Statement) -> Result<Answered, NoAnswer> {
        self.session.arrivals.expect();
        let mut rows = pin!(self.send(statement).await?);
        self.session.arrivals.begun();
        let (mut count, mut bytes) = (0, 0);
        while let Some(row) = rows.next().await {
            count += 1;
            bytes += row?.raw_size_bytes() as u64;
            self.limits.check(count, bytes)?;
        }
        Ok(self.answered(bytes))
    }

    /// The whole answer has been read, `bytes` of rows.
    fn answered(&self, bytes: u64) -> Answered {
        let arrivals = &self.session.arrivals;
        Answered { first_ns: arrivals.first_ns(), last_ns: arrivals.last_ns(), bytes }
    }

    /// Sends a transaction in one message, and reads all that comes.
    async fn block(&self, text: &str) -> Result<Brought, NoAnswer> {
        let brought = block::ask(self.client(), text, self.limits).await;
        if let Err(NoAnswer::Driver(error)) = &brought
            && failure(error) == FailureKind::Refused
        {
            // the transaction is still open; a session that does not hear it is of no use any more,
            // which the next call will find
            let _ = self.control(ROLL_BACK).await;
        }
        brought
    }

    async fn send(&self, statement: &Statement) -> Result<RowStream, tokio_postgres::Error> {
        match &self.form {
            Form::Named { statement: named, .. } => {
                self.client().query_raw(named, values(statement).map(|(value, _)| value)).await
            }
            Form::Text | Form::Block { .. } => {
                self.client().query_typed_raw(&statement.text, values(statement)).await
            }
        }
    }

    /// The server's clock, microseconds since it began to count.
    async fn clock(&self) -> Result<i64, NoAnswer> {
        let none: [&i32; 0] = [];
        let rows = match &self.form {
            Form::Named { clock, .. } => self.client().query_raw(clock, none).await?,
            Form::Text | Form::Block { .. } => {
                let none: [(&i32, Type); 0] = [];
                self.client().query_typed_raw(CLOCK, none).await?
            }
        };
        let mut rows = pin!(rows);
        let mut read = Micros(0);
        while let Some(row) = rows.next().await {
            read = row?.try_get(0)?;
        }
        Ok(read.0)
    }
}

/// The parameters of `statement`, as the driver takes them, each with its type.
fn values(statement: &Statement) -> impl ExactSizeIterator<Item = (&(dyn ToSql + Sync), Type)> {
    statement.parameters.iter().map(|parameter| match parameter {
        Parameter::Text(text) => (*text as &(dyn ToSql + Sync), Type::TEXT),
        Parameter::Int(number) => (*number as &(dyn ToSql + Sync), Type::INT4),
        Parameter::Given(given) => (given as &(dyn ToSql + Sync), Type::UNKNOWN),
    })
}

impl ToSql for Given {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        Ok(match &self.0 {
            None => IsNull::Yes,
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                IsNull::No
            }
        })
    }

    fn accepts(_: &Type) -> bool {
        true // the server reads it
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

/// A time stamp of the server, microseconds.
struct Micros(i64);

impl<'a> FromSql<'a> for Micros {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(i64::from_be_bytes(raw.try_into()?)))
    }

    fn accepts(of: &Type) -> bool {
        *of == Type::TIMESTAMPTZ
    }
}
