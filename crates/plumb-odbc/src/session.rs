//! Sessions: each is a connection and the thread that calls its driver.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use odbc_api::handles::{AsStatementRef as _, Statement as _, StatementImpl, StatementRef};
use odbc_api::parameter::VarCharBox;
use odbc_api::sys::HStmt;
use odbc_api::{
    Connection, ConnectionOptions, CursorImpl, Error, Preallocated, Prepared, environment,
};
use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use tokio::sync::{mpsc, oneshot};

use crate::answer::{Most, read};
use crate::under_way::{UnderWay, preallocated};
use crate::{Brought, Trouble};

/// Threads at a time: more wait for a driver that does not answer.
const THREADS_MAX: usize = 2_048;

/// What a session is opened for.
#[derive(Clone)]
pub struct Opening {
    /// The connection string, with the password.
    pub connection: String,
    /// How long the driver may take for the log-on, seconds, as far as it keeps to that.
    pub log_on_s: u32,
    /// What is asked over it.
    pub statement: String,
    /// Values of its parameters.
    pub parameters: Vec<String>,
    /// It is prepared once; otherwise it goes as text each time.
    pub is_prepared: bool,
    /// Nothing commits, and each call is rolled back.
    pub is_rolled_back: bool,
    /// The most rows that an answer may hold ...
    pub rows: u64,
    /// ... and the most bytes of them.
    pub bytes: u64,
}

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening").field("statement", &self.statement).finish_non_exhaustive()
    }
}

/// Why a session is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotOpened {
    /// There is no connection.
    Closed(Trouble),
    /// Nothing can be rolled back.
    NoTransactions(Trouble),
    /// The statement cannot be prepared.
    Statement(Trouble),
}

/// The threads of all sessions of one database.
#[derive(Clone, Debug, Default)]
pub struct Threads(Arc<AtomicUsize>);

/// The place of one of them.
#[derive(Debug)]
struct Place(Arc<AtomicUsize>);

impl Threads {
    fn one_more(&self) -> Result<Place, Trouble> {
        let place = Place(Arc::clone(&self.0));
        match self.0.fetch_add(1, Ordering::Relaxed) {
            others if others >= THREADS_MAX => Err(Trouble::TooManyThreads(others)),
            _ => Ok(place),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Where an answer is put.
type Reply = oneshot::Sender<Result<Brought, Trouble>>;

/// A session, ready for its statement. When it is dropped, its thread ends it, once its driver answers; a
/// statement that is under way is cancelled, as far as the driver can.
#[derive(Debug)]
pub struct Session {
    asks: mpsc::UnboundedSender<Reply>,
    under_way: UnderWay,
}

impl Session {
    /// Opens a session; its product as the driver names it stands beside it.
    ///
    /// # Errors
    /// [`NotOpened`].
    pub async fn open(threads: &Threads, opening: Opening) -> Result<(Self, String), NotOpened> {
        let place = threads.one_more().map_err(NotOpened::Closed)?;
        let (ready, opened) = oneshot::channel();
        let (asks, asked) = mpsc::unbounded_channel();
        let under_way = UnderWay::default();
        let told = under_way.clone();
        let run = move || {
            let _place = place;
            serve(&opening, &told, ready, asked);
        };
        spawned(run).map_err(NotOpened::Closed)?;
        let product = opened.await.map_err(|_| NotOpened::Closed(Trouble::Gone))??;
        Ok((Self { asks, under_way }, product))
    }

    /// One without a driver, whose thread answers at once: what a call costs that goes to another thread
    /// and back.
    ///
    /// # Errors
    /// [`Trouble::NoThread`].
    pub fn without_driver() -> Result<Self, Trouble> {
        let (asks, mut asked) = mpsc::unbounded_channel::<Reply>();
        spawned(move || {
            while let Some(reply) = asked.blocking_recv() {
                let now = MonotonicClock.now_ns();
                let nothing = Brought { first_ns: now, last_ns: now, ..Brought::default() };
                // who does not wait any more does not miss it
                let _ = reply.send(Ok(nothing));
            }
        })?;
        Ok(Self { asks, under_way: UnderWay::default() })
    }

    /// Asks the statement, and reads its whole answer. A driver that does not answer keeps its thread when
    /// this is given up.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn ask(&mut self) -> Result<Brought, Trouble> {
        let (reply, came) = oneshot::channel();
        self.asks.send(reply).map_err(|_| Trouble::Gone)?;
        came.await.map_err(|_| Trouble::Gone)?
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.under_way.is_one() {
            let under_way = self.under_way.clone();
            // it may take a driver a while; without a thread the statement goes on until it is answered
            let _ = spawned(move || under_way.cancel());
        }
    }
}

fn spawned(run: impl FnOnce() + Send + 'static) -> Result<(), Trouble> {
    let started = thread::Builder::new().name("odbc".into()).spawn(run);
    started.map(drop).map_err(|error| Trouble::NoThread(error.to_string()))
}

/// The statement of a session, as it goes to the driver.
struct Call<'c> {
    handle: HStmt,
    form: Form<'c>,
}

enum Form<'c> {
    Prepared(Prepared<StatementImpl<'c>>, Vec<VarCharBox>),
    Text(Preallocated<StatementImpl<'c>>, &'c str),
}

impl<'c> Call<'c> {
    fn of(connection: &'c Connection<'static>, opening: &'c Opening) -> Result<Self, Error> {
        if !opening.is_prepared {
            let (statement, handle) = preallocated(connection)?;
            return Ok(Self { handle, form: Form::Text(statement, &opening.statement) });
        }
        let values = opening.parameters.iter().cloned().map(VarCharBox::from_string);
        let mut statement = connection.prepare(&opening.statement)?;
        let handle = statement.as_stmt_ref().as_sys();
        Ok(Self { handle, form: Form::Prepared(statement, values.collect()) })
    }
}

impl Form<'_> {
    fn execute(&mut self) -> Result<Option<CursorImpl<StatementRef<'_>>>, Error> {
        match self {
            Self::Prepared(statement, values) => statement.execute(values.as_slice()),
            Self::Text(statement, text) => statement.execute(text, ()),
        }
    }
}

/// Opens a connection, and answers over it until nobody asks any more.
fn serve(
    opening: &Opening,
    under_way: &UnderWay,
    ready: oneshot::Sender<Result<String, NotOpened>>,
    mut asked: mpsc::UnboundedReceiver<Reply>,
) {
    // who does not wait any more does not miss what is sent
    let connection = match connected(opening) {
        Ok(connection) => connection,
        Err(trouble) => return drop(ready.send(Err(trouble))),
    };
    let mut call = match Call::of(&connection, opening) {
        Ok(call) => call,
        Err(error) => return drop(ready.send(Err(NotOpened::Statement(error.into())))),
    };
    let product = connection.database_management_system_name().unwrap_or_default();
    drop(ready.send(Ok(product)));
    while let Some(reply) = asked.blocking_recv() {
        let answer = answer(&connection, &mut call, opening, under_way);
        drop(reply.send(answer.map_err(|trouble| {
            let is_dead = !matches!(trouble, Trouble::TooLarge);
            trouble.known_dead(is_dead && connection.is_dead().unwrap_or(false))
        })));
    }
}

fn connected(opening: &Opening) -> Result<Connection<'static>, NotOpened> {
    let closed = |error: Error| NotOpened::Closed(error.into());
    let options = ConnectionOptions {
        login_timeout_sec: Some(opening.log_on_s),
        ..ConnectionOptions::default()
    };
    let manager = environment().map_err(closed)?;
    let connection = manager.connect_with_connection_string(&opening.connection, options);
    let connection = connection.map_err(closed)?;
    if opening.is_rolled_back {
        let set = connection.set_autocommit(false);
        set.map_err(|error| NotOpened::NoTransactions(error.into()))?;
    }
    Ok(connection)
}

/// One call, rolled back where that was promised, also behind an error.
fn answer(
    connection: &Connection<'static>,
    call: &mut Call<'_>,
    opening: &Opening,
    under_way: &UnderWay,
) -> Result<Brought, Trouble> {
    let most = Most { rows: opening.rows, bytes: opening.bytes };
    let Call { handle, form } = call;
    let came = under_way.with(*handle, || {
        form.execute().map_err(Trouble::from).and_then(|cursor| read(cursor, most))
    });
    if !opening.is_rolled_back {
        return came;
    }
    let rolled_back = connection.rollback();
    let brought = came?;
    rolled_back?;
    Ok(Brought { last_ns: MonotonicClock.now_ns(), ..brought })
}
