use std::future::{pending, ready};
use std::sync::Mutex;

use plumb_db_login::{Login, Product};
use plumb_engine::{Endpoint, LoadResult, load};
use plumb_measure::{Histogram, Reading, Span};
use tokio::sync::mpsc::{Sender, channel};

use super::*;
use crate::answer::{Answered, Failure, Limits};
use crate::database::{Access, Connection, Methods, Opened, Way};
use crate::looks::Seen;
use crate::statement::Statement;

/// A database that is played: what a statement says is what comes of it.
#[derive(Clone, Debug, Default)]
struct Stage {
    /// A connection is opened no faster than in so many nanoseconds.
    opens_in_ns: u64,
    /// When the last connection stood, and when the last answer was given.
    moments: Arc<Mutex<(u64, u64)>>,
    /// There is one connection; whoever wants another waits for ever, and this is asked.
    last: Option<Arc<Stop>>,
}

#[derive(Debug)]
struct Line(Stage);

#[derive(Debug)]
struct Broken;

impl Failure for Broken {
    fn kind(&self) -> FailureKind {
        FailureKind::Garbled
    }

    fn reason(&self) -> Option<String> {
        Some("it is broken".into())
    }
}

impl Connection for Line {
    type NoAnswer = Broken;

    fn way(&self) -> Way<'_> {
        Way::default()
    }

    fn keeps_its_promise(&self) -> bool {
        true
    }

    async fn ask(&mut self, statement: &Statement) -> Result<Answered, Broken> {
        match statement.text.as_str() {
            text if text.starts_with("breaks") => Err(Broken),
            "waits" => pending().await,
            _ => {
                let now = MonotonicClock.now_ns();
                self.0.moments.lock().unwrap().1 = now;
                Ok(Answered { first_ns: now, last_ns: now, bytes: 1 })
            }
        }
    }

    async fn there_and_back(&mut self, _: &Statement) -> Result<Seen, Broken> {
        Err(Broken)
    }

    async fn at_the_server(&mut self, _: &Statement) -> Result<Seen, Broken> {
        Err(Broken)
    }
}

impl Database for Stage {
    type Connection = Line;
    type NotReady = Broken;
    type Counter = ();

    const DRIVER: &'static str = "a stage";

    async fn reach(_: &Endpoint, _: &Login, _: Span) -> Result<Self, DbError> {
        Ok(Self::default())
    }

    async fn null_times(_: u64) -> Result<Option<Histogram>, DbError> {
        Ok(None)
    }

    fn describe(&self) -> String {
        Self::DRIVER.into()
    }

    fn methods(&self) -> Methods {
        Methods { server: "", wire: "", connect: "" }
    }

    fn counting(&self, _: &Arc<Traffic>) -> Self {
        self.clone()
    }

    async fn open(&self, _: Asked<'_>, _: Form) -> Result<(Line, Opened), Broken> {
        if let Some(stop) = self.last.as_ref().filter(|_| self.moments.lock().unwrap().0 > 0) {
            stop.ask();
            return pending().await;
        }
        let began_ns = MonotonicClock.now_ns();
        while MonotonicClock.now_ns() - began_ns <= self.opens_in_ns {}
        let now = MonotonicClock.now_ns();
        self.moments.lock().unwrap().0 = now;
        let opened = Opened { transport_ns: None, tls_ns: None, total_ns: now - began_ns };
        Ok((Line(self.clone()), opened))
    }

    async fn abandon(&self, _: Line) {}

    fn explain(&self, _: Asked<'_>, _: &Broken) -> DbError {
        DbError::Options("it is broken".into())
    }

    async fn try_out(&self, _: Asked<'_>, _: Span) -> Result<Line, DbError> {
        Ok(Line(self.clone()))
    }

    async fn counter(&self, _: Asked<'_>, _: Form, _: Span) {}

    async fn readings(&self, (): ()) -> Vec<Reading> {
        Vec::new()
    }
}

const LIMIT: Span = Span::from_ms(1);

/// What comes of statements that `feed` hands over, one after the other over one connection of `stage`,
/// or at their own pace where somebody may stop it.
fn replayed<F: Future<Output = ()>>(
    stage: &Stage,
    limit: Span,
    feed: impl FnOnce(Sender<Result<Due, DbError>>) -> F + Send,
) -> LoadResult<()> {
    complained(stage, limit, feed).0
}

/// The same with what is told of failures.
fn complained<F: Future<Output = ()>>(
    stage: &Stage,
    limit: Span,
    feed: impl FnOnce(Sender<Result<Due, DbError>>) -> F + Send,
) -> (LoadResult<()>, Complaints<u16>) {
    let plan = LoadPlan::lone(2, limit);
    let statement = Statement::trivial(Product::Postgres);
    let limits = Limits { rows: 1, bytes: 1 };
    let asked = Asked { statement: &statement, access: Access::ReadOnly, limits };
    let stop = stage.last.clone().unwrap_or_else(|| Arc::new(Stop::new().unwrap()));
    let speed = stage.last.as_ref().map(|_| 1.0);
    let load = Load { plan: &plan, database: stage, asked, rows: 2, speed, stop: &stop };
    let mut complaints = Complaints::default();
    let driven = load::run_with::<DbError>(&plan, &mut [], 2, |outlet| {
        let passes = Arc::<Passes>::default();
        let (to, statements) = channel(8);
        let work = async { join(run(&load, statements, outlet, &passes), feed(to)).await.0 };
        let driven;
        (driven, complaints) = block_on(&runtime(&passes, plan.tick)?, work)?;
        Ok(driven)
    });
    (driven.unwrap(), complaints)
}

fn due(row: u16, text: &str) -> Result<Due, DbError> {
    let statement = Statement::own(text, Product::Postgres);
    Ok(Due { after_us: 0, session: 7, row, statement })
}

async fn both(to: Sender<Result<Due, DbError>>, texts: [&str; 2]) {
    for (row, text) in (0..).zip(texts) {
        to.send(due(row, text)).await.unwrap();
    }
}

#[test]
fn a_connection_that_is_made_anew_is_no_part_of_the_service_of_a_statement() {
    let stage = Stage { opens_in_ns: LIMIT.ns(), ..Stage::default() };
    let driven = replayed(&stage, Span::from_ms(60_000), |to| both(to, ["breaks", "answers"]));
    let (stood_ns, answered_ns) = *stage.moments.lock().unwrap();
    let row = &driven.recorder.rows()[1];
    assert_eq!(row.service.count(), 1);
    assert!(row.service.max() <= answered_ns - stood_ns);
    assert!(row.response.max() >= LIMIT.ns());
}

#[test]
fn what_could_not_begin_in_time_for_want_of_a_connection_is_dropped() {
    let stage = Stage { opens_in_ns: LIMIT.ns(), ..Stage::default() };
    let driven = replayed(&stage, LIMIT, |to| both(to, ["waits", "waits"]));
    let recorder = &driven.recorder;
    let timed_out = recorder.failures().of(FailureKind::TimedOut);
    // on a busy machine the first may be the one that is dropped
    assert_eq!((timed_out, recorder.dropped), (1, 1));
}

#[test]
fn the_first_failure_of_each_statement_is_told_without_its_values() {
    let stage = Stage::default();
    let limit = Span::from_ms(60_000);
    let (driven, told) = complained(&stage, limit, |to| both(to, ["breaks 'a', 7", "answers"]));
    assert_eq!(driven.recorder.failures().total(), 1);
    assert_eq!(told.calls, [(0, "`breaks ?`: garbled (it is broken)".into())].into());
    assert_eq!(told.connection, None);
}

#[test]
fn the_clock_starts_when_the_first_statement_has_been_read() {
    let read_ns = Mutex::new(0);
    let driven = replayed(&Stage::default(), Span::from_ms(60_000), |to| async {
        ready(()).await;
        *read_ns.lock().unwrap() = MonotonicClock.now_ns();
        both(to, ["answers", "answers"]).await;
    });
    assert!(driven.began_ns >= *read_ns.lock().unwrap());
    assert_eq!(driven.recorder.rows()[0].service.count(), 1);
}

#[test]
fn what_waits_for_a_connection_when_a_replay_is_stopped_is_dropped() {
    let stop = Arc::new(Stop::new().unwrap());
    let stage = Stage { last: Some(stop), ..Stage::default() };
    let driven = replayed(&stage, Span::from_ms(60_000), |to| both(to, ["breaks", "answers"]));
    let recorder = &driven.recorder;
    assert_eq!((recorder.failures().of(FailureKind::Garbled), recorder.dropped), (1, 1));
    assert_eq!(recorder.rows()[1].service.count(), 0);
}
