//! Statements are asked when they are due, over connections that each have sessions of the recording.

#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, join, join_all, select};
use plumb_engine::clock::{self, MonotonicClock};
use plumb_engine::{Driven, Ending, LoadPlan, Outlet, Stop};
use plumb_measure::{Answer, Clock as _, FailureKind, Moments, Recorder, Slowest};
use std::sync::atomic::Ordering;
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::DbError;
use crate::alarm::Alarm;
use crate::answer::Failure as _;
use crate::caller::RETRY;
use crate::complaints::Complaints;
use crate::database::{Asked, Connection as _, Database, Form};
use crate::drive::{FAREWELL, STOP_EVERY, block_on, runtime, unless_asked};
use crate::patience::Patience;
use crate::rest::Passes;
use crate::stream::Traffic;

use super::survey::{Due, name_of};

/// Statements that wait for their connections at a time; more are dropped.
const BACKLOG_MAX: usize = 10_000;
/// Sessions that are told from each other; more have their connections by chance.
const SESSIONS_MAX: usize = 1 << 20;

/// One replay.
#[derive(Debug)]
pub(super) struct Load<'a, D> {
    pub(super) plan: &'a LoadPlan,
    pub(super) database: &'a D,
    pub(super) asked: Asked<'a>,
    pub(super) rows: usize,
    /// How many times as fast as they were recorded; `None`: one after the other, at once.
    pub(super) speed: Option<f64>,
    pub(super) stop: &'a Stop,
}

/// Everything that is written down.
#[derive(Debug)]
struct Book {
    recorder: Recorder,
    outlet: Outlet,
    last_ns: u64,
    gave_up: bool,
    complaints: Complaints<u16>,
}

impl Book {
    /// Keeps why a statement failed, if it is the first of its row.
    fn complain(&mut self, due: &Due, kind: FailureKind, reason: impl Fn() -> Option<String>) {
        self.complaints.calls.entry(due.row).or_insert_with(|| {
            let (name, kind) = (name_of(&due.statement), kind.name());
            match reason() {
                Some(reason) => format!("`{name}`: {kind} ({reason})"),
                None => format!("`{name}`: {kind}"),
            }
        });
    }

    /// What a statement changed was not rolled back: no other is asked.
    fn stays(&mut self, due: &Due) {
        self.complaints.stays.get_or_insert_with(|| format!("`{}`", name_of(&due.statement)));
        self.gave_up = true;
    }

    fn pass(&mut self, now: u64) {
        self.last_ns = self.last_ns.max(now);
        self.outlet.pass(now, &mut self.recorder);
    }
}

/// What all connections share.
#[derive(Debug)]
struct Office<'a, D: Database> {
    load: &'a Load<'a, D>,
    database: &'a D,
    book: RefCell<Book>,
    backlog: Cell<usize>,
    /// One for each connection that is free, where statements are asked one after the other.
    free: Semaphore,
}

/// A statement on its way to its connection.
struct Job<'s> {
    due_ns: u64,
    due: Due,
    _permit: Option<SemaphorePermit<'s>>,
}

/// Drives `load` on this thread, with the statements that come over `feed`.
///
/// # Errors
/// [`DbError`] when the connections cannot be made, or the file cannot be read to its end: there is then no
/// record. Whatever else fails is data.
pub(super) fn drive<D: Database>(
    load: &Load<'_, D>,
    feed: Receiver<Result<Due, DbError>>,
    outlet: Outlet,
) -> Result<(Driven<()>, Complaints<u16>), DbError> {
    let passes = Arc::<Passes>::default();
    block_on(&runtime(&passes, load.plan.tick)?, run(load, feed, outlet, &passes))
}

async fn run<D: Database>(
    load: &Load<'_, D>,
    mut feed: Receiver<Result<Due, DbError>>,
    mut outlet: Outlet,
    passes: &Passes,
) -> Result<(Driven<()>, Complaints<u16>), DbError> {
    let traffic = Arc::<Traffic>::default();
    let database = load.database.counting(&traffic);
    let mut recorder = Recorder::new(load.rows);
    let mut connections = Vec::new();
    let opening = async {
        for _ in 0..load.plan.connections.get() {
            let opened = database.open(load.asked, Form::Log).await;
            let (connection, times) = opened.map_err(|it| database.explain(load.asked, &it))?;
            times.times_into(&mut recorder);
            connections.push(connection);
        }
        Ok(())
    };
    unless_asked(load.stop, opening).await?;
    outlet.begin(connections.first().and_then(|it| it.way().transport.cloned()));
    let first = first_of(&mut feed, load.stop).await?;
    let began_ns = MonotonicClock.now_ns();
    outlet.start(began_ns);
    let (cpu, sent, received) =
        (clock::thread_cpu_ns(), count(&traffic.sent), count(&traffic.received));
    let complaints = Complaints::default();
    let book = Book { recorder, outlet, last_ns: began_ns, gave_up: false, complaints };
    let office = Office {
        load,
        database: &database,
        book: RefCell::new(book),
        backlog: Cell::new(0),
        free: Semaphore::new(connections.len()),
    };
    let interrupted = office.everybody(connections, (first, feed), began_ns).await?;
    let mut book = office.book.into_inner();
    if load.speed.is_some() {
        // statements that were due when it stopped, and waited for their connections
        book.recorder.dropped += office.backlog.get() as u64;
    }
    book.recorder.passes += passes.all.load(Ordering::Relaxed);
    book.recorder.idle_passes += passes.idle.load(Ordering::Relaxed);
    book.recorder.bytes_sent += count(&traffic.sent) - sent;
    book.recorder.bytes_received += count(&traffic.received) - received;
    let (last_ns, gave_up) = (book.last_ns, book.gave_up);
    book.outlet.last(last_ns, &mut book.recorder);
    for _ in 0..FAREWELL {
        tokio::task::yield_now().await; // sessions say farewell
    }
    let driven = Driven {
        protocol: (),
        ending: match (gave_up, interrupted) {
            (true, _) => Ending::GaveUp,
            (false, true) => Ending::Interrupted,
            (false, false) => Ending::Complete,
        },
        began_ns,
        duration_ns: last_ns - began_ns,
        warm_up_operations: 0,
        cpu_ns: clock::thread_cpu_ns().saturating_sub(cpu),
        slowest: Slowest::default(), // statements are not watched one by one
        tcp: None,
        transports: traffic.transports(),
        handshake_complaint: None, // connections have a complaint of their own here
    };
    Ok((driven, book.complaints))
}

/// The first statement, which comes when enough of the file has been read to know that it is the first: the
/// clock of the recording starts behind that. `None` when there is none, or somebody asked to stop.
async fn first_of(
    feed: &mut Receiver<Result<Due, DbError>>,
    stop: &Stop,
) -> Result<Option<Due>, DbError> {
    loop {
        match tokio::time::timeout(STOP_EVERY, feed.recv()).await {
            Ok(first) => return first.transpose(),
            Err(_) if stop.asked() => return Ok(None),
            Err(_) => {}
        }
    }
}

fn count(bytes: &std::sync::atomic::AtomicU64) -> u64 {
    bytes.load(Ordering::Relaxed)
}

impl<D: Database> Office<'_, D> {
    /// Replays everything; true when somebody asked to stop before.
    async fn everybody(
        &self,
        connections: Vec<D::Connection>,
        statements: (Option<Due>, Receiver<Result<Due, DbError>>),
        began_ns: u64,
    ) -> Result<bool, DbError> {
        let (senders, receivers): (Vec<_>, Vec<_>) =
            connections.iter().map(|_| unbounded_channel()).unzip();
        let asking =
            connections.into_iter().zip(receivers).map(|(one, jobs)| self.worker(one, jobs));
        let work = join(self.dispatch(statements, senders, began_ns), join_all(asking));
        let stopped = async {
            while !self.load.stop.asked() && !self.book.borrow().gave_up {
                tokio::time::sleep(STOP_EVERY).await;
            }
        };
        match select(Box::pin(work), Box::pin(stopped)).await {
            Either::Left(((dispatched, _), _)) => dispatched.map(|()| false),
            Either::Right(_) => Ok(true),
        }
    }

    /// Hands statements, the first of which is there, to their connections when they are due.
    async fn dispatch<'s>(
        &'s self,
        (first, mut feed): (Option<Due>, Receiver<Result<Due, DbError>>),
        senders: Vec<UnboundedSender<Job<'s>>>,
        began_ns: u64,
    ) -> Result<(), DbError> {
        let mut alarm = Alarm::new().map_err(DbError::system("set a timer"))?;
        let mut places: HashMap<u64, usize> = HashMap::new();
        let mut first = first.map(Ok);
        loop {
            let next = match first.take() {
                Some(due) => Some(due),
                None => feed.recv().await,
            };
            let Some(due) = next.transpose()? else { break };
            let (due_ns, permit) = match self.load.speed {
                Some(speed) => {
                    let due_ns = began_ns + at_speed(due.after_us, speed);
                    self.await_due(&mut alarm, due_ns).await?;
                    (due_ns, None)
                }
                None => {
                    let Ok(permit) = self.free.acquire().await else { break };
                    (MonotonicClock.now_ns(), Some(permit))
                }
            };
            if self.backlog.get() >= BACKLOG_MAX {
                self.book.borrow_mut().recorder.dropped += 1;
                continue;
            }
            let next = places.len() % senders.len();
            let place = if places.len() < SESSIONS_MAX {
                *places.entry(due.session).or_insert(next)
            } else {
                places.get(&due.session).copied().unwrap_or(next)
            };
            self.backlog.set(self.backlog.get() + 1);
            // connections take jobs until there are no more
            let _ = senders[place].send(Job { due_ns, due, _permit: permit });
        }
        Ok(())
    }

    async fn await_due(&self, alarm: &mut Alarm, due_ns: u64) -> Result<(), DbError> {
        if due_ns > MonotonicClock.now_ns() {
            alarm.wait_until(due_ns).await.map_err(DbError::system("set a timer"))?;
        }
        let late_ns = MonotonicClock.now_ns().saturating_sub(due_ns);
        self.book.borrow_mut().recorder.lag.record(late_ns);
        Ok(())
    }

    /// Asks what it is handed, one statement after the other.
    async fn worker(&self, connection: D::Connection, mut jobs: UnboundedReceiver<Job<'_>>) {
        let mut patience = Patience::new(self.load.plan.operation_timeout);
        let mut connection = Some(connection);
        while let Some(job) = jobs.recv().await {
            if connection.is_none() {
                connection = self.mend().await;
            }
            // not before: one that waits for a connection when all is stopped has not begun
            self.backlog.set(self.backlog.get() - 1);
            let sent = MonotonicClock.now_ns();
            if sent.saturating_sub(job.due_ns) > self.load.plan.operation_timeout.ns() {
                self.book.borrow_mut().recorder.dropped += 1;
                continue;
            }
            let has_ended = self.book.borrow().gave_up;
            let Some(open) = connection.as_mut().filter(|_| !has_ended) else {
                self.book.borrow_mut().recorder.dropped += 1;
                continue;
            };
            let came = patience.with(sent, open.ask(&job.due.statement)).await;
            let rolls_back = open.rolls_back().await;
            if !rolls_back {
                self.book.borrow_mut().stays(&job.due);
            }
            let is_right = open.keeps_its_promise() && rolls_back;
            let kind = match &came {
                None => Some(FailureKind::TimedOut),
                Some(Ok(_)) if !is_right => Some(FailureKind::CheckFailed),
                Some(Ok(_)) => None,
                Some(Err(trouble)) => Some(trouble.kind()),
            };
            if let Some(kind) = kind {
                let reason = || came.as_ref()?.as_ref().err()?.reason();
                self.book.borrow_mut().complain(&job.due, kind, reason);
            }
            let now = MonotonicClock.now_ns();
            let (moments, answer) = match (came, kind) {
                (Some(Ok(answered)), None) => {
                    let (first, last) = (answered.first_ns, answered.last_ns);
                    (Moments { due: job.due_ns, sent, first, last }, Answer::ok(answered.bytes))
                }
                (_, kind) => (
                    Moments { due: job.due_ns, sent, first: now, last: now },
                    Answer::failed(kind.unwrap_or(FailureKind::Garbled)),
                ),
            };
            {
                let mut book = self.book.borrow_mut();
                book.recorder.record(job.due.row, moments, answer);
                book.pass(now);
            }
            // a statement that was refused leaves the session whole
            if kind.is_some_and(|kind| kind != FailureKind::Refused)
                && let Some(broken) = connection.take()
            {
                self.database.abandon(broken).await;
            }
        }
    }

    /// Makes a new connection in the place of one that broke; `None` when the server is gone.
    async fn mend(&self) -> Option<D::Connection> {
        let since_ns = MonotonicClock.now_ns();
        loop {
            match self.database.open(self.load.asked, Form::Log).await {
                Ok((connection, times)) => {
                    times.times_into(&mut self.book.borrow_mut().recorder);
                    return Some(connection);
                }
                Err(trouble) => {
                    let now = MonotonicClock.now_ns();
                    let mut book = self.book.borrow_mut();
                    book.recorder.connect_failures.count(trouble.kind());
                    let words = || self.database.explain(self.load.asked, &trouble).to_string();
                    book.complaints.connection.get_or_insert_with(words);
                    book.gave_up |= now - since_ns >= self.load.plan.connect_timeout.ns();
                    book.pass(now);
                    if book.gave_up {
                        return None;
                    }
                }
            }
            tokio::time::sleep(RETRY).await;
        }
    }
}

/// What `after_us` microseconds of the recording are at `speed`, nanoseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a time is not negative; a float is cast to the nearest integer in range"
)]
fn at_speed(after_us: u64, speed: f64) -> u64 {
    (after_us as f64 * 1e3 / speed).round() as u64
}

/// How long `load` takes at least when it lasts `recorded_us` in the recording.
pub(super) fn lasts(recorded_us: u64, speed: Option<f64>) -> Option<Duration> {
    speed.map(|speed| Duration::from_nanos(at_speed(recorded_us, speed)))
}
