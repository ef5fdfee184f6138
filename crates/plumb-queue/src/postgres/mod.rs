//! The queue in a `PostgreSQL` that several runtimes share, beside the tables of its data.
//!
//! One thread of each runtime writes, in groups ([`writer`], [`records`]); retries and drops between them
//! ([`asked`]). What is given out is
//! leased ([`rows`]): the leases of a runtime that is lost end, and others take its messages over.

mod asked;
mod records;
mod rows;
mod runtimes;
mod schema;
mod writer;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use plumb_measure::Span;
use plumb_serve::database::{Database, DatabaseError, DatabaseTarget, Dialect, Value};
use tokio::sync::oneshot;

use self::rows::Ask;
use self::writer::Writer;
use super::cost::Cost;
use super::ids::Ids;
use super::inbox::{Change, Inbox, Outcome};
use super::intake::{Intake, lock};
use super::{
    Accepted, Claimed, Execution, ExecutionId, Filter, Message, Queue, QueueClock, QueueError,
    QueueFigures, QueueId, QueueLimits, Runtime, Settled,
};

/// How long a waiting claim leaves the server alone, where no message of this runtime's own comes.
const POLL_NS: u64 = 100_000_000;
/// Said to whoever waits for a writer that is gone.
const LOST: &str = "the database does not answer: nothing of this was done";

/// A queue in a `PostgreSQL`.
#[derive(Debug)]
pub struct PostgresQueue {
    shared: Arc<Shared>,
    /// Sessions that claim, and that look.
    claims: Mutex<Database>,
    viewer: Mutex<Database>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// What the writer and everybody else share. Whoever takes more than one of the locks takes them in
/// this order.
#[derive(Debug)]
struct Shared {
    id: QueueId,
    runtime: i64,
    lease_ms: u64,
    signal: Mutex<Signal>,
    running: Mutex<HashMap<u64, Running>>,
    intake: Intake,
    ids: Mutex<Ids>,
    cost: Mutex<Cost>,
    ready: Condvar,
    clock: Arc<dyn QueueClock>,
    limits: QueueLimits,
}

/// What claims wait for, and which transactions they leave out.
#[derive(Debug, Default)]
struct Signal {
    /// Counts what may have brought a message.
    wakes: u64,
    ended: bool,
    rests_until_ns: HashMap<String, u64>,
}

/// A message that is given out to a worker of this runtime.
#[derive(Clone, Debug)]
struct Running {
    transaction: Arc<str>,
    failures: u32,
    bytes: u64,
    settled: bool,
}

impl PostgresQueue {
    /// Opens the queue in the database `target`, and makes its tables where they are not there.
    /// Messages that this runtime has under way are its own for `lease`, which is renewed each
    /// second; the clocks of all runtimes must agree to a part of it.
    ///
    /// # Errors
    /// [`QueueError::Store`] when the server cannot be reached, is none of `PostgreSQL`, or holds a
    /// queue of another version.
    pub fn open(
        target: &DatabaseTarget,
        limits: QueueLimits,
        lease: Span,
        clock: Arc<dyn QueueClock>,
    ) -> Result<Self, QueueError> {
        let session = || Database::new(target.clone());
        let mut database = session();
        if database.dialect() != Dialect::Postgres {
            return Err(QueueError::Store(format!("{target} is no PostgreSQL")));
        }
        let (id, runtime) = prepared(&mut database)?;
        runtimes::enter(&mut database, runtime, clock.wall_ms()).map_err(|error| store(&error))?;
        let shared = Arc::new(Shared {
            id,
            runtime,
            lease_ms: lease.ns() / 1_000_000,
            signal: Mutex::default(),
            running: Mutex::default(),
            intake: Intake::new(Inbox::new(limits, 0, 0), LOST),
            // those that do not come through the queue, far from those that do
            ids: Mutex::new(Ids::above(0, 0)),
            cost: Mutex::default(),
            ready: Condvar::new(),
            clock,
            limits,
        });
        let mut writer = Writer::new(Arc::clone(&shared), database);
        writer.begin().map_err(|error| store(&error))?;
        let thread = std::thread::Builder::new().name("queue".into()).spawn(|| writer.run());
        let thread = thread.map_err(|error| QueueError::Store(error.to_string()))?;
        let (claims, viewer) = (Mutex::new(session()), Mutex::new(session()));
        Ok(Self { shared, claims, viewer, writer: Mutex::new(Some(thread)) })
    }

    /// The statement that ends a message as done, and its parameters, for a transaction of the
    /// sink: row and message are then committed together. Whoever uses it settles the message
    /// afterwards as well, which finds nothing left to do.
    #[must_use]
    pub fn done(id: ExecutionId) -> (&'static str, [Value; 1]) {
        let statement = "DELETE FROM plumb_queue_message WHERE id = $1 AND state = 0";
        (statement, [Value::Int(rows::int(id.0))])
    }

    /// Transactions in the order in which they have their turn, and how many each may give out.
    fn turns(&self, ready: Vec<String>) -> Vec<(String, usize)> {
        let now_ns = self.shared.clock.now_ns();
        let signal = lock(&self.shared.signal);
        let rests = |name: &String| {
            signal.rests_until_ns.get(name).is_some_and(|until_ns| *until_ns > now_ns)
        };
        let running = lock(&self.shared.running);
        let under_way =
            |name: &str| running.values().filter(|one| *one.transaction == *name).count();
        let mut turns: Vec<(String, usize)> = ready
            .into_iter()
            .filter(|name| !rests(name))
            .map(|name| {
                let count = under_way(&name);
                (name, count)
            })
            .collect();
        turns.sort_by_key(|(_, running)| *running);
        let most = self.shared.limits.given_out_per_transaction;
        let room = turns.into_iter().map(|(name, running)| (name, most.saturating_sub(running)));
        room.filter(|(_, room)| *room > 0).collect()
    }

    /// What the next transaction in turn has to give out.
    fn take(&self, most: usize) -> Result<Vec<Claimed>, DatabaseError> {
        let mut database = lock(&self.claims);
        let now_ms = self.shared.clock.wall_ms();
        let ready = rows::ready(&mut database, now_ms)?;
        for (transaction, room) in self.turns(ready) {
            let (runtime, lease_ms) = (self.shared.runtime, self.shared.lease_ms);
            let (transaction, most) = (transaction.as_str(), most.min(room));
            let running = self.shared.running();
            let ask = Ask { transaction, runtime, most, now_ms, lease_ms, running };
            let claimed = rows::claim(&mut database, &ask)?;
            if !claimed.is_empty() {
                let mut running = lock(&self.shared.running);
                running.extend(claimed.iter().map(|one| (one.id.0, Running::of(one))));
                return Ok(claimed);
            }
        }
        Ok(Vec::new())
    }
}

/// Makes the tables; the id of the queue and the number of this runtime.
fn prepared(database: &mut Database) -> Result<(QueueId, i64), QueueError> {
    let store = |error: DatabaseError| store(&error);
    database.batch(schema::TABLES).map_err(store)?;
    let version = "SELECT value FROM plumb_queue_number WHERE name = 'version'";
    let version = database.row(version, &[]).map_err(store)?.map_or(0, |row| row.int(0));
    if version != schema::VERSION {
        return Err(QueueError::Store(format!(
            "its tables are of version {version}, and this program knows version {}",
            schema::VERSION
        )));
    }
    // whoever comes first says which it is
    let insert = "INSERT INTO plumb_queue_number VALUES ('queue', $1) ON CONFLICT DO NOTHING";
    database.rows(insert, &[Value::Int(QueueId::new().0)]).map_err(store)?;
    let id = "SELECT value FROM plumb_queue_number WHERE name = 'queue'";
    let id = database.row(id, &[]).map_err(store)?.map_or(0, |row| row.int(0));
    let next = "UPDATE plumb_queue_number SET value = value + 1 WHERE name = 'runtime'
                RETURNING value";
    let runtime = database.row(next, &[]).map_err(store)?.map_or(0, |row| row.int(0));
    Ok((QueueId(id), runtime))
}

impl Running {
    fn of(claimed: &Claimed) -> Self {
        Self {
            transaction: claimed.message.transaction.clone(),
            failures: claimed.failures,
            bytes: claimed.message.body.len() as u64,
            settled: false,
        }
    }
}

impl Shared {
    /// Ids of what is under way here, between commas.
    fn running(&self) -> String {
        let ids: Vec<String> = lock(&self.running).keys().map(ToString::to_string).collect();
        ids.join(",")
    }

    /// There may be a message to be given out.
    fn wake(&self) {
        lock(&self.signal).wakes += 1;
        self.ready.notify_all();
    }
}

impl Queue for PostgresQueue {
    fn id(&self) -> QueueId {
        self.shared.id
    }

    fn accept(&self, message: Message) -> oneshot::Receiver<Result<Accepted, QueueError>> {
        self.shared.intake.accept(message)
    }

    fn claim(&self, most: usize, patience: Duration) -> Result<Vec<Claimed>, QueueError> {
        let clock = &self.shared.clock;
        let deadline_ns = clock.deadline_ns(patience);
        loop {
            let seen = {
                let signal = lock(&self.shared.signal);
                if signal.ended {
                    return Err(QueueError::Closed);
                }
                signal.wakes
            };
            let claimed = self.take(most).map_err(|error| store(&error))?;
            let now_ns = clock.now_ns();
            if !claimed.is_empty() || now_ns >= deadline_ns {
                return Ok(claimed);
            }
            let time = Duration::from_nanos((deadline_ns - now_ns).min(POLL_NS));
            let signal = lock(&self.shared.signal);
            let same = |signal: &mut Signal| signal.wakes == seen && !signal.ended;
            // woken or not: the server is asked again
            drop(self.shared.ready.wait_timeout_while(signal, time, same));
        }
    }

    fn settle(&self, settled: Vec<Settled>) -> Result<(), QueueError> {
        let mut running = lock(&self.shared.running);
        let outcomes = settled.into_iter().filter_map(|settled| {
            let running = running.get_mut(&settled.id.0).filter(|running| !running.settled)?;
            running.settled = true;
            let lane = 0; // tables are not divided by transaction here
            Some(Change::Settle(Outcome::of(settled, lane, running.failures, running.bytes)))
        });
        let outcomes: Vec<Change> = outcomes.collect();
        drop(running);
        self.shared.intake.change(outcomes)
    }

    fn note(&self, message: Message, settled: Settled) -> Result<(), QueueError> {
        self.shared.intake.note(message, settled)
    }

    fn find(&self, id: ExecutionId) -> Result<Option<Execution>, QueueError> {
        let one = Filter { id: Some(id), most: 1, ..Filter::default() };
        Ok(self.list(&one)?.pop())
    }

    fn list(&self, filter: &Filter) -> Result<Vec<Execution>, QueueError> {
        let now_ms = self.shared.clock.wall_ms();
        rows::list(&mut lock(&self.viewer), filter, now_ms).map_err(|error| store(&error))
    }

    fn retry(&self, filter: &Filter) -> Result<u64, QueueError> {
        self.shared.intake.retry(filter)
    }

    fn forget(&self, filter: &Filter) -> Result<u64, QueueError> {
        self.shared.intake.forget(filter)
    }

    fn figures(&self) -> QueueFigures {
        let running = lock(&self.shared.running).len() as u64;
        let inbox = lock(&self.shared.intake.inbox);
        let ((waiting, waiting_bytes), notes_left_out) = (inbox.waiting(), inbox.notes_left_out());
        drop(inbox);
        let cost = lock(&self.shared.cost).figures();
        QueueFigures { waiting, running, waiting_bytes, notes_left_out, ..cost }
    }

    fn runtimes(&self) -> Result<Vec<Runtime>, QueueError> {
        let Shared { runtime, lease_ms, clock, .. } = &*self.shared;
        let mut viewer = lock(&self.viewer);
        runtimes::all(&mut viewer, *runtime, clock.wall_ms(), *lease_ms)
            .map_err(|error| store(&error))
    }

    fn next_id(&self) -> ExecutionId {
        // the counters of accepted messages stay below this bit for a long time, and those of two
        // runtimes differ in the bits below it
        let apart = (1 << 19) | (self.shared.runtime.unsigned_abs() % 64) << 13;
        let now_ms = self.shared.clock.wall_ms();
        ExecutionId(lock(&self.shared.ids).next(now_ms) | apart)
    }

    fn rest(&self, transaction: &str, time: Span) {
        let until_ns = self.shared.clock.now_ns().saturating_add(time.ns());
        lock(&self.shared.signal).rests_until_ns.insert(transaction.into(), until_ns);
        self.shared.wake();
    }

    fn close(&self) {
        lock(&self.shared.signal).ended = true;
        self.shared.ready.notify_all();
        self.shared.intake.end(QueueError::Closed, false); // the writer writes the rest
        let writer = lock(&self.writer).take();
        if let Some(writer) = writer {
            let _ = writer.join(); // a panic of it was told where it happened
        }
    }
}

impl Drop for PostgresQueue {
    fn drop(&mut self) {
        self.close();
    }
}

fn store(error: &DatabaseError) -> QueueError {
    QueueError::Store(error.to_string())
}
