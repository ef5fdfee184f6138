//! A session with `PostgreSQL`, none of whose calls waits longer than it may.

use std::cell::Cell;
use std::collections::HashMap;
use std::error::Error;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::error::{DbError, SqlState};
use tokio_postgres::types::{FromSql, ToSql};
use tokio_postgres::{Client, Statement};

use super::over::{self, Messages, NotConnected};
use super::postgres_text::{Shown, Written};
use super::{Answer, DatabaseError, DatabaseLimits, PostgresServer, Row, Value};

/// Statements that stay prepared; beyond them all are prepared anew.
const PREPARED_MAX: usize = 256;
/// Where a `PostgreSQL` finds that a prepared statement would bring other columns than before.
const PLAN_CHANGED: &str = "RevalidateCachedQuery";

pub(super) struct PostgresSession {
    runtime: Runtime,
    client: Client,
    wire: Wire,
    prepared: HashMap<String, Statement>,
    /// How often any session of the server found a table changed under a prepared statement, and how
    /// often that was when this one prepared its first.
    plans_changed: Arc<AtomicU64>,
    prepared_after: u64,
    /// How long an answer is waited for.
    patience: Duration,
    limits: DatabaseLimits,
    /// What an empty message there and back took, and no call was faster.
    empty_ns: u64,
}

/// The connection, which moves while a call waits for it.
struct Wire {
    connection: Box<dyn Messages>,
    /// Nothing may be asked of a connection that has ended.
    ended: bool,
    /// How often something was asked since the last look.
    trips: u64,
}

/// Why a call has no result.
enum Broken {
    Postgres(tokio_postgres::Error),
    /// The server closed the connection without a word.
    Closed,
    /// It took longer than it may.
    Late,
}

impl std::fmt::Debug for PostgresSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresSession").field("prepared", &self.prepared.len()).finish()
    }
}

impl PostgresSession {
    /// Logs on. The server ends a statement that takes longer than `limits` allow, and a
    /// transaction in which nothing happens for as long, also when this side is gone.
    pub(super) fn open(
        server: &PostgresServer,
        limits: &DatabaseLimits,
    ) -> Result<Self, DatabaseError> {
        let system = |error: std::io::Error| DatabaseError::Lost(error.to_string());
        let runtime = Builder::new_current_thread().enable_all().build().map_err(system)?;
        let connect = duration(limits.connect.ns());
        let connected = runtime
            .block_on(async { tokio::time::timeout(connect, over::connected(server)).await });
        let (client, connection) = match connected {
            Ok(Ok(connected)) => connected,
            // whatever the reason, nobody can log on now
            Ok(Err(NotConnected::Driver(error))) => return Err(DatabaseError::Lost(whole(&error))),
            Ok(Err(NotConnected::Smc(cause))) => return Err(DatabaseError::Lost(cause)),
            Err(_) => return Err(limits.late_log_on()),
        };
        let wire = Wire { connection, ended: false, trips: 0 };
        let plans_changed = Arc::clone(&server.plans_changed);
        let mut session = Self {
            runtime,
            client,
            wire,
            prepared: HashMap::new(),
            prepared_after: plans_changed.load(Ordering::Relaxed),
            plans_changed,
            patience: connect,
            limits: *limits,
            empty_ns: 0,
        };
        let ms = (limits.statement.ns() / 1_000_000).max(1);
        let told = session.batch(&format!(
            "SET statement_timeout = {ms}; SET idle_in_transaction_session_timeout = {ms}"
        ));
        // the first empty message may wake a process
        let empties = told.and_then(|()| Ok([session.empty()?, session.empty()?]));
        let empties = empties.map_err(|error| match error {
            DatabaseError::Silent(_) => limits.late_log_on(),
            error => error,
        })?;
        session.empty_ns = empties.into_iter().min().unwrap_or(0);
        session.wire.trips = 0;
        session.patience = duration(limits.patience().ns());
        Ok(session)
    }

    /// What a message that asks for nothing takes there and back.
    fn empty(&mut self) -> Result<u64, DatabaseError> {
        let began_ns = MonotonicClock.now_ns();
        self.batch("")?;
        Ok(MonotonicClock.now_ns() - began_ns)
    }

    /// What of `spent_ns`, the time since the last look, was on the way there and back.
    pub(super) fn way_of(&mut self, spent_ns: u64) -> u64 {
        let trips = std::mem::take(&mut self.wire.trips);
        if let Some(each_ns) = spent_ns.checked_div(trips) {
            self.empty_ns = self.empty_ns.min(each_ns);
        }
        trips.saturating_mul(self.empty_ns)
    }

    pub(super) fn rows(
        &mut self,
        statement: &str,
        values: &[Value],
    ) -> Result<Vec<Row>, DatabaseError> {
        let found = self.query(statement, values);
        let found = found.map_err(|broken| self.fault(broken))?;
        found
            .iter()
            .map(|row| (0..row.len()).map(|column| row.try_get(column)).collect::<Result<Row, _>>())
            .collect::<Result<_, tokio_postgres::Error>>()
            .map_err(|error| DatabaseError::Refused(whole(&error)))
    }

    fn query(
        &mut self,
        statement: &str,
        values: &[Value],
    ) -> Result<Vec<tokio_postgres::Row>, Broken> {
        let prepared = self.prepared(statement)?;
        let values: Vec<&(dyn ToSql + Sync)> =
            values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let query = self.client.query(&prepared, &values);
        self.wire.wait(&self.runtime, self.patience, query)
    }

    /// Forgets statements that were prepared before a table changed.
    fn forget_old(&mut self) {
        let changes = self.plans_changed.load(Ordering::Relaxed);
        if std::mem::replace(&mut self.prepared_after, changes) != changes {
            self.prepared.clear();
        }
    }

    fn prepared(&mut self, statement: &str) -> Result<Statement, Broken> {
        self.forget_old();
        if let Some(prepared) = self.prepared.get(statement) {
            return Ok(prepared.clone());
        }
        if self.prepared.len() >= PREPARED_MAX {
            self.prepared.clear();
        }
        let preparing = self.client.prepare(statement);
        let prepared = self.wire.wait(&self.runtime, self.patience, preparing)?;
        self.prepared.insert(statement.into(), prepared.clone());
        Ok(prepared)
    }

    /// Looks whether the server has closed the connection, without waiting.
    pub(super) fn stands(&mut self) -> bool {
        let wire = &mut self.wire;
        self.runtime.block_on(async {
            // what has come is known once the others had their turn
            tokio::task::yield_now().await;
            poll_fn(|context| {
                while !wire.ended {
                    match wire.connection.poll_message(context) {
                        Poll::Ready(Some(Ok(_))) => {}
                        Poll::Ready(Some(Err(_)) | None) => wire.ended = true,
                        Poll::Pending => break,
                    }
                }
                Poll::Ready(!wire.ended)
            })
            .await
        })
    }

    pub(super) fn prepare(&mut self, text: &str) -> Result<usize, DatabaseError> {
        let prepared = self.prepared(text).map_err(|broken| self.fault(broken))?;
        readable(&prepared)?;
        Ok(prepared.params().len())
    }

    pub(super) fn ask(&mut self, statement: &super::Statement) -> Result<Answer, DatabaseError> {
        let prepared = self.prepared(&statement.text).map_err(|broken| self.fault(broken))?;
        readable(&prepared)?;
        let asked = self.client.query_raw(&prepared, written(statement));
        let answer = async {
            let mut rows = pin!(asked.await?);
            let mut answer = Answer {
                columns: prepared.columns().iter().map(|it| it.name().to_owned()).collect(),
                ..Answer::default()
            };
            let mut brought = 0;
            while let Some(row) = rows.try_next().await? {
                brought += 1;
                if answer.first.is_none() {
                    let texts = (0..row.len()).map(|at| Ok(row.try_get::<_, Shown>(at)?.0));
                    answer.first = Some(texts.collect::<Result<_, tokio_postgres::Error>>()?);
                }
            }
            answer.changed = rows.rows_affected().unwrap_or(brought);
            Ok(answer)
        };
        let answer = self.wire.wait(&self.runtime, self.patience, answer);
        answer.map_err(|broken| self.fault(broken))
    }

    /// As many as are prepared go out together; one that is not is prepared behind those before it,
    /// so that what it is refused for stands in its place.
    pub(super) fn all(
        &mut self,
        statements: &[super::Statement],
        at: &mut usize,
    ) -> Result<(), DatabaseError> {
        self.forget_old();
        while *at < statements.len() {
            let rest = &statements[*at..];
            let known = rest.iter().take_while(|it| self.prepared.contains_key(&*it.text)).count();
            if known == 0 {
                self.prepared(&rest[0].text).map_err(|broken| self.fault(broken))?;
                continue;
            }
            self.pipelined(&rest[..known], at)?;
        }
        Ok(())
    }

    fn pipelined(
        &mut self,
        statements: &[super::Statement],
        at: &mut usize,
    ) -> Result<(), DatabaseError> {
        let mut calls = Vec::with_capacity(statements.len());
        for (number, statement) in statements.iter().enumerate() {
            let Some(prepared) = self.prepared.get(&*statement.text) else { break };
            if let Err(error) = fits(prepared, statement) {
                *at += number;
                return Err(error);
            }
            calls.push(Box::pin(self.client.execute_raw(prepared, written(statement))));
        }
        let answered = Cell::new(0);
        let all = in_order(calls, &answered);
        let done = self.wire.wait_for_each(&self.runtime, self.patience, &answered, all);
        *at += answered.get();
        done.map_err(|broken| self.fault(broken))
    }

    pub(super) fn batch(&mut self, statements: &str) -> Result<(), DatabaseError> {
        let batch = self.client.batch_execute(statements);
        let done = self.wire.wait(&self.runtime, self.patience, batch);
        done.map_err(|broken| self.fault(broken))
    }

    fn fault(&self, broken: Broken) -> DatabaseError {
        let error = match broken {
            Broken::Late => return self.limits.late_statement(),
            Broken::Closed => return DatabaseError::Lost("it closed the connection".into()),
            Broken::Postgres(error) => error,
        };
        if error.as_db_error().and_then(DbError::routine) == Some(PLAN_CHANGED) {
            self.plans_changed.fetch_add(1, Ordering::Relaxed);
            return DatabaseError::BrokenOff(whole(&error));
        }
        if error.code() == Some(&SqlState::QUERY_CANCELED) {
            return DatabaseError::BrokenOff(whole(&error));
        }
        let given_up = [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE];
        if error.code().is_some_and(|code| given_up.contains(code)) {
            return DatabaseError::RolledBack(whole(&error));
        }
        let class = error.code().map_or("", |code| &code.code()[..2]);
        // 08: connection, 53: no resources, 57: the operator or a time-out stops it, 40: worth
        // another try
        if error.is_closed() || self.wire.ended || ["08", "53", "57", "40"].contains(&class) {
            DatabaseError::Lost(whole(&error))
        } else {
            DatabaseError::Refused(whole(&error))
        }
    }
}

/// What the client would find only when others behind it have been sent.
fn fits(prepared: &Statement, statement: &super::Statement) -> Result<(), DatabaseError> {
    let (wanted, given) = (prepared.params().len(), statement.values.len());
    if wanted == given {
        return Ok(());
    }
    Err(DatabaseError::Refused(format!("the statement wants {wanted} values and gets {given}")))
}

/// The values of a statement as they travel.
fn written(statement: &super::Statement) -> Vec<Written<'_>> {
    statement.values.iter().map(|value| Written(value.as_deref())).collect()
}

/// Begins all `calls` at once and waits for their answers, up to the first that is none; `answered`
/// counts those that came.
async fn in_order<F>(
    mut calls: Vec<Pin<Box<F>>>,
    answered: &Cell<usize>,
) -> Result<(), tokio_postgres::Error>
where
    F: Future<Output = Result<u64, tokio_postgres::Error>>,
{
    let mut early = Vec::with_capacity(calls.len());
    // the first poll of a call sends it
    poll_fn(|context| {
        early.extend(calls.iter_mut().map(|call| match call.as_mut().poll(context) {
            Poll::Ready(done) => Some(done),
            Poll::Pending => None,
        }));
        Poll::Ready(())
    })
    .await;
    for (call, early) in calls.into_iter().zip(early) {
        match early {
            Some(done) => done?,
            None => call.await?,
        };
        answered.set(answered.get() + 1);
    }
    Ok(())
}

/// Columns that cannot be shown are found before anything is done.
fn readable(statement: &Statement) -> Result<(), DatabaseError> {
    match statement.columns().iter().find(|it| !<Shown as FromSql>::accepts(it.type_())) {
        None => Ok(()),
        Some(column) => Err(DatabaseError::Refused(format!(
            "the column `{0}` is of the type {1}, which is not read: write {0}::text",
            column.name(),
            column.type_()
        ))),
    }
}

impl Wire {
    /// Waits for `work`, of at most `patience`, and moves the connection meanwhile.
    fn wait<T>(
        &mut self,
        runtime: &Runtime,
        patience: Duration,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Broken> {
        self.wait_for_each(runtime, patience, &Cell::new(0), work)
    }

    /// The same for as long as every `patience` brings an answer more, which `answered` counts.
    fn wait_for_each<T>(
        &mut self,
        runtime: &Runtime,
        patience: Duration,
        answered: &Cell<usize>,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Broken> {
        self.trips += 1;
        let mut work = pin!(work);
        let mut moving = poll_fn(|context| {
            while !self.ended {
                match self.connection.poll_message(context) {
                    Poll::Ready(Some(Ok(_))) => {} // notices are nobody's answer
                    Poll::Ready(Some(Err(error))) => {
                        self.ended = true;
                        return Poll::Ready(Err(Broken::Postgres(error)));
                    }
                    Poll::Ready(None) => self.ended = true,
                    Poll::Pending => break,
                }
            }
            match work.as_mut().poll(context) {
                Poll::Ready(done) => Poll::Ready(done.map_err(Broken::Postgres)),
                Poll::Pending if self.ended => Poll::Ready(Err(Broken::Closed)),
                Poll::Pending => Poll::Pending,
            }
        });
        runtime.block_on(async {
            loop {
                let before = answered.get();
                match tokio::time::timeout(patience, &mut moving).await {
                    Ok(done) => return done,
                    Err(_) if answered.get() > before => {}
                    Err(_) => return Err(Broken::Late),
                }
            }
        })
    }
}

fn duration(ns: u64) -> Duration {
    Duration::from_nanos(ns)
}

/// The error with everything behind it.
fn whole(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut behind = error.source();
    while let Some(next) = behind {
        text = format!("{text}: {next}");
        behind = next.source();
    }
    text
}
