//! One statement and its answer, and the looks that say where its time goes.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::{join, join3, join5};
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{ByteSize, Clock as _};
use tokio::time::timeout;
use tokio_postgres::types::{FromSql, Type};
use tokio_postgres::{Client, RowStream};

use crate::session::{Access, Session};
use crate::statement::Statement;

/// What the server's clock is asked with.
const CLOCK: &str = "SELECT clock_timestamp()";

/// An empty message that is not answered by then has a long way, or a server that is busy. Timers of
/// the runtime go off by the millisecond.
const MOMENT: Duration = Duration::from_millis(1);

/// The most that an answer may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) rows: u64,
    pub(crate) bytes: ByteSize,
}

/// A complete answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    /// When its first bytes were read, nanoseconds on the monotonic clock.
    pub(crate) first_ns: u64,
    /// When its last bytes were read.
    pub(crate) last_ns: u64,
    /// Bytes of its rows.
    pub(crate) bytes: u64,
}

/// How a call is looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// A message that asks for no work goes there and back in the place of the call; the statement
    /// follows it.
    Wire,
    /// The statement goes out between readings of the server's clock.
    Server,
}

/// What a look tells.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Seen {
    /// How long a message takes there and back that asks for no work, nanoseconds.
    Wire(u64),
    /// What the server's clock says, nanoseconds.
    Server {
        /// Between two readings around the statement.
        statement_ns: u64,
        /// Between two readings around a message that asks for no work.
        empty_ns: u64,
    },
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// What the driver says.
    Driver(tokio_postgres::Error),
    /// The answer is larger than its limits.
    TooLarge,
}

impl From<tokio_postgres::Error> for NoAnswer {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Driver(error)
    }
}

/// How a statement goes to the server.
#[derive(Debug)]
enum Form {
    /// By the name under which it was prepared; the clock likewise.
    Named { statement: tokio_postgres::Statement, clock: tokio_postgres::Statement },
    /// With its text, in one message.
    Text,
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
    /// Prepares `statement` over `session`.
    ///
    /// # Errors
    /// What the server says of the statement.
    pub(crate) async fn prepared(
        session: Session,
        statement: &Statement,
        access: Access,
        limits: Limits,
    ) -> Result<Self, tokio_postgres::Error> {
        let types: Vec<Type> = statement.parameters.iter().map(|(_, it)| it.clone()).collect();
        let client = &session.client;
        let preparing = async {
            let statement = client.prepare_typed(&statement.text, &types).await?;
            Ok::<_, tokio_postgres::Error>(Form::Named {
                statement,
                clock: client.prepare(CLOCK).await?,
            })
        };
        let form = session.drive(preparing).await?;
        Ok(Self { session, form, access, limits })
    }

    /// Sends the text each time: what a call does that makes a connection of its own.
    pub(crate) fn by_text(session: Session, access: Access, limits: Limits) -> Self {
        Self { session, form: Form::Text, access, limits }
    }

    /// What the server said of the statement when it was prepared: columns of its answer, and
    /// parameters that it wants.
    pub(crate) fn shape(&self) -> (usize, usize) {
        match &self.form {
            Form::Named { statement, .. } => (statement.columns().len(), statement.params().len()),
            Form::Text => (0, 0),
        }
    }

    /// Asks, and reads the whole answer.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(crate) async fn ask(&self, statement: &Statement) -> Result<Answered, NoAnswer> {
        self.session.drive(self.within(self.answer(statement))).await
    }

    /// Looks into a call, and carries it out. What is measured stands where the call would stand,
    /// over its connection and after the same pause, so that it is met by the same server, awake or
    /// asleep.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(crate) async fn observe(
        &self,
        statement: &Statement,
        look: Look,
    ) -> Result<Seen, NoAnswer> {
        match look {
            Look::Wire => self.session.drive(self.there_and_back(statement)).await,
            Look::Server => self.session.drive(self.by_its_clock(statement)).await,
        }
    }

    /// Sends a message that asks for no work, and the statement when it is answered, or after a
    /// moment: on a long way the look then takes no longer than a call. A server answers messages in
    /// their order, so one that is under way is not held up by the next.
    async fn there_and_back(&self, statement: &Statement) -> Result<Seen, NoAnswer> {
        let began_ns = MonotonicClock.now_ns();
        let empty = async {
            self.empty().await?;
            Ok::<u64, NoAnswer>(MonotonicClock.now_ns().saturating_sub(began_ns))
        };
        let mut empty = pin!(empty);
        let call = self.within(self.answer(statement));
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
    /// nothing.
    async fn by_its_clock(&self, statement: &Statement) -> Result<Seen, NoAnswer> {
        // each is sent when it is first asked, and they are asked in this order
        let (before, answer, between, empty, after) = join5(
            self.clock(),
            self.within(self.answer(statement)),
            self.clock(),
            self.empty(),
            self.clock(),
        )
        .await;
        answer?;
        empty?;
        let (before, between, after) = (before?, between?, after?);
        let micros = |from: i64, to: i64| u64::try_from(to - from).unwrap_or(0) * 1_000;
        Ok(Seen::Server { statement_ns: micros(before, between), empty_ns: micros(between, after) })
    }

    /// A message that asks for no work, there and back.
    async fn empty(&self) -> Result<(), NoAnswer> {
        Ok(self.client().check_connection().await?)
    }

    fn client(&self) -> &Client {
        &self.session.client
    }

    /// Carries out `call`, in a transaction that is rolled back where that was promised.
    async fn within<T>(
        &self,
        call: impl Future<Output = Result<T, NoAnswer>>,
    ) -> Result<T, NoAnswer> {
        match self.access {
            Access::ReadOnly => call.await,
            Access::RolledBack => {
                let (begun, called, ended) =
                    join3(self.control("BEGIN"), call, self.control("ROLLBACK")).await;
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
        let mut rows = pin!(self.send(statement).await?);
        let first_ns = MonotonicClock.now_ns();
        let (mut count, mut bytes) = (0, 0);
        while let Some(row) = rows.next().await {
            count += 1;
            bytes += row?.raw_size_bytes() as u64;
            if count > self.limits.rows || bytes > self.limits.bytes.bytes() {
                return Err(NoAnswer::TooLarge);
            }
        }
        Ok(Answered { first_ns, last_ns: MonotonicClock.now_ns(), bytes })
    }

    async fn send(&self, statement: &Statement) -> Result<RowStream, tokio_postgres::Error> {
        match &self.form {
            Form::Named { statement: named, .. } => {
                let values = statement.parameters.iter().map(|(value, _)| *value);
                self.client().query_raw(named, values).await
            }
            Form::Text => {
                let values = statement.parameters.iter().map(|(value, it)| (*value, it.clone()));
                self.client().query_typed_raw(&statement.text, values).await
            }
        }
    }

    /// The server's clock, microseconds since it began to count.
    async fn clock(&self) -> Result<i64, NoAnswer> {
        let none: [&i32; 0] = [];
        let rows = match &self.form {
            Form::Named { clock, .. } => self.client().query_raw(clock, none).await?,
            Form::Text => {
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
