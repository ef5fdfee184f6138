//! The second driver: a database on a runtime of one thread, behind the records of the engine.

use std::cell::{Cell, RefCell};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, join_all, select};
use plumb_db_login::Login;
use plumb_engine::clock::MonotonicClock;
use plumb_engine::{
    Driven, Ending, Endpoint, EngineError, Gate, Interrupted, LoadPlan, Outlet, Stop,
};
use plumb_measure::{Clock as _, Span, Tick};
use tokio::runtime::{Builder, Runtime};

use crate::DbError;
use crate::caller::Office;
use crate::database::{Asked, Connection as _, Database, Form};
use crate::ledger::{Ledger, Observations};
use crate::looks::Looks;
use crate::pool::Pool;
use crate::rest::{Passes, Rest};
use crate::statement::Over;
use crate::stream::Traffic;

/// The way it waits.
pub(crate) const WAIT: &str = "epoll by the runtime";
/// The same where one connection has the thread to itself.
pub(crate) const WAIT_ALONE: &str =
    "within the receive, and for what takes long epoll by the runtime";
/// How often a load looks whether it is to stop.
pub(crate) const STOP_EVERY: Duration = Duration::from_millis(50);
/// Turns that the ends of sessions are given.
pub(crate) const FAREWELL: u32 = 16;

/// One load, and over what it goes.
#[derive(Debug)]
pub(crate) struct Load<'a, D: Database> {
    pub(crate) plan: &'a LoadPlan,
    pub(crate) database: &'a D,
    pub(crate) asked: Asked<'a>,
    pub(crate) over: Over,
    /// Connections of the pool.
    pub(crate) pool: usize,
    /// Callers at a time.
    pub(crate) callers: usize,
    pub(crate) stop: &'a Stop,
    /// Where it waits for its controller, once its first connections stand.
    pub(crate) gate: Option<&'a Gate>,
}

/// A runtime of one thread, which does what `tick` says while it waits.
///
/// # Errors
/// When no descriptors are left.
pub(crate) fn runtime(passes: &Arc<Passes>, tick: Tick) -> Result<Runtime, DbError> {
    resting(&Rest::new(passes, tick).map_err(DbError::system("set a timer"))?)
}

/// A runtime of one thread, which waits as `rest` says.
fn resting(rest: &Arc<Rest>) -> Result<Runtime, DbError> {
    let (asleep, awake) = (Arc::clone(rest), Arc::clone(rest));
    Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .on_thread_park(move || asleep.begins())
        .on_thread_unpark(move || awake.ends())
        .build()
        .map_err(DbError::system("start a runtime"))
}

/// What `work` comes to. To `runtime` all work is of one kind, so that it is compiled once.
pub(crate) fn block_on<T>(runtime: &Runtime, work: impl Future<Output = T>) -> T {
    let done = Cell::new(None);
    let work = pin!(async { done.set(Some(work.await)) });
    runtime.block_on(work as Pin<&mut dyn Future<Output = ()>>);
    let Some(done) = done.take() else { unreachable!("the runtime returns when it is done") };
    done
}

/// What `work` comes to, unless `stop` is asked before.
///
/// # Errors
/// Those of `work`, and [`Interrupted`].
pub(crate) async fn unless_asked<T>(
    stop: &Stop,
    work: impl Future<Output = Result<T, DbError>>,
) -> Result<T, DbError> {
    match select(pin!(work), pin!(asked(stop))).await {
        Either::Left((done, _)) => done,
        Either::Right(_) => Err(interrupted()),
    }
}

fn interrupted() -> DbError {
    EngineError::from(Interrupted).into()
}

async fn asked(stop: &Stop) {
    while !stop.asked() {
        tokio::time::sleep(STOP_EVERY).await;
    }
}

/// Reaches the server of a database, asking for a password where that helps.
///
/// # Errors
/// [`DbError`] when there is no connection, or `stop` is asked before.
pub(crate) fn reach<D: Database>(
    runtime: &Runtime,
    endpoint: &Endpoint,
    login: &mut Login,
    (patience, stop): (Span, &Stop),
) -> Result<D, DbError> {
    let reach =
        |login: &Login| block_on(runtime, unless_asked(stop, D::reach(endpoint, login, patience)));
    match reach(login) {
        Err(trouble @ DbError::NoPassword { .. }) => {
            let Some(password) = plumb_db_login::ask(login) else {
                return Err(if stop.asked() { interrupted() } else { trouble });
            };
            login.with_password(password);
            reach(login)
        }
        reached => reached,
    }
}

/// Drives `load` on this thread.
///
/// # Errors
/// [`DbError`] when the first connections cannot be made: there is then no record. Whatever fails
/// later is data.
pub(crate) fn drive<D: Database>(
    load: &Load<'_, D>,
    outlet: Outlet,
) -> Result<(Driven<()>, Observations), DbError> {
    let passes = Arc::<Passes>::default();
    let rest = Rest::new(&passes, load.plan.tick).map_err(DbError::system("set a timer"))?;
    block_on(&resting(&rest)?, run(load, outlet, passes, &rest))
}

async fn run<D: Database>(
    load: &Load<'_, D>,
    outlet: Outlet,
    passes: Arc<Passes>,
    rest: &Arc<Rest>,
) -> Result<(Driven<()>, Observations), DbError> {
    let traffic = Traffic::stamped(load.plan.stamps);
    let traffic = Arc::new(if load.over == Over::Kept { traffic.alone(rest) } else { traffic });
    let database = load.database.counting(&traffic);
    let asked = load.asked;
    let count = match load.over {
        Over::Kept => 1,
        Over::Pool => load.pool,
        Over::Connect => 0,
    };
    let (mut ready, mut opened) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let opening = async {
        for _ in 0..count {
            let connected = database.open(asked, Form::Prepared).await;
            let (connection, times) =
                connected.map_err(|trouble| database.explain(asked, &trouble))?;
            ready.push(connection);
            opened.push(times);
        }
        if let Some(connection) = ready.first() {
            return Ok(connection.way().transport.cloned());
        }
        // of no call, so it is not counted
        let first = load.database.open(asked, Form::Text).await;
        let (connection, _) = first.map_err(|trouble| database.explain(asked, &trouble))?;
        Ok(connection.way().transport.cloned())
    };
    let transport = unless_asked(load.stop, opening).await?;
    outlet.begin(transport);
    let now = match load.gate {
        Some(gate) => gate.pass(load.stop)?,
        None => MonotonicClock.now_ns(),
    };
    let mut ledger = Ledger::new(load.plan, now, outlet, passes, Arc::clone(&traffic));
    opened.into_iter().for_each(|times| ledger.connected(times));
    let office = Office {
        looks: RefCell::new(Looks::of(
            load.plan.warmup,
            load.plan.share(0).extent(load.plan.extent),
        )),
        plan: load.plan,
        database: &database,
        asked,
        pool: (load.over != Over::Connect).then(|| Pool::of(ready)),
        ledger: RefCell::new(ledger),
    };
    let interrupted = everybody(&office, load).await.map_err(DbError::system("set a timer"))?;
    let Office { ledger, pool, .. } = office;
    drop(pool);
    let ledger = ledger.into_inner();
    let gave_up = ledger.gave_up;
    let closed = ledger.close((gave_up || interrupted).then(|| MonotonicClock.now_ns()));
    for _ in 0..FAREWELL {
        tokio::task::yield_now().await; // sessions say farewell
    }
    let driven = Driven {
        ending: match (gave_up, interrupted) {
            (true, _) => Ending::GaveUp,
            (false, true) => Ending::Interrupted,
            (false, false) => Ending::Complete,
        },
        transports: traffic.transports(),
        ..closed.driven()
    };
    Ok((driven, closed.found))
}

/// All callers until the load is over; true when somebody asked to stop before.
async fn everybody<D: Database>(office: &Office<'_, D>, load: &Load<'_, D>) -> io::Result<bool> {
    let callers = join_all((0..load.callers).map(|_| office.caller()));
    match select(Box::pin(callers), Box::pin(asked(load.stop))).await {
        Either::Left((ended, _)) => ended.into_iter().collect::<io::Result<()>>().map(|()| false),
        Either::Right(_) => Ok(true),
    }
}
