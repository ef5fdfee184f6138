//! One caller: takes up work when it is due, waits for a connection, asks, and writes down what
//! came of it.

use std::cell::RefCell;
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_engine::{LoadPlan, Pace};
use plumb_measure::{Clock as _, FailureKind};

use crate::alarm::Alarm;
use crate::answer::{Answered, Failure as _};
use crate::complaints::told;
use crate::database::{Asked, Connection, Database, Form};
use crate::ledger::{Call, Ledger};
use crate::looks::{Look, Looks, Seen};
use crate::patience::Patience;
use crate::pool::{Pool, Turn};
use plumb_serve::{Arrivals, StampedCall};

/// Between two attempts to reach a server that is gone.
pub(crate) const RETRY: Duration = Duration::from_millis(10);

/// What all callers of a load share.
#[derive(Debug)]
pub(crate) struct Office<'a, D: Database> {
    pub(crate) plan: &'a LoadPlan,
    pub(crate) database: &'a D,
    pub(crate) asked: Asked<'a>,
    /// The connections; `None` when each call makes one of its own.
    pub(crate) pool: Option<Pool<D::Connection>>,
    /// Which calls are looked into.
    pub(crate) looks: RefCell<Looks>,
    pub(crate) ledger: RefCell<Ledger>,
}

/// After so long at the latest a caller lets timers have their turn.
const GIVE_WAY_NS: u64 = 10_000_000;

/// How a call ended.
enum CallEnd<E> {
    Answer(Answered, Option<StampedCall>),
    Insight(Seen),
    Nothing(FailureKind, Option<E>),
}

/// How a call ends to a database.
type CallEndOf<D> = CallEnd<<<D as Database>::Connection as Connection>::NoAnswer>;

impl<D: Database> Office<'_, D> {
    /// Calls until the load is over.
    ///
    /// # Errors
    /// When the kernel refuses a timer.
    pub(crate) async fn caller(&self) -> std::io::Result<()> {
        let mut alarm = match self.plan.pace {
            Pace::AsFast => None,
            Pace::Delay(_) | Pace::Rate(_) => Some(Alarm::new()?),
        };
        let mut patience = Patience::new(self.plan.operation_timeout);
        let mut free_ns = MonotonicClock.now_ns();
        let mut gave_way_ns = free_ns;
        while let Some(due) = self.due(alarm.as_mut(), free_ns).await? {
            let taken = MonotonicClock.now_ns();
            self.ledger.borrow_mut().begin(due);
            match &self.pool {
                Some(pool) => {
                    self.ledger.borrow_mut().waits(due);
                    let Some(mut turn) = pool.turn().await else { break };
                    self.over_kept(&mut turn, due, taken, &mut patience).await;
                }
                None => self.over_new(due, taken, &mut patience).await,
            }
            free_ns = MonotonicClock.now_ns();
            if free_ns - gave_way_ns > GIVE_WAY_NS {
                // whose answers are waited for within the receive never comes to rest
                tokio::task::yield_now().await;
                gave_way_ns = free_ns;
            }
        }
        Ok(())
    }

    /// Waits until the next work is due, and says since when it is; `None` when there is no more.
    async fn due(&self, alarm: Option<&mut Alarm>, free_ns: u64) -> std::io::Result<Option<u64>> {
        let now = MonotonicClock.now_ns();
        let patience_ns = self.plan.operation_timeout.ns();
        let due = match self.plan.pace {
            Pace::AsFast => now,
            Pace::Delay(delay) => free_ns + delay.ns(),
            Pace::Rate(_) => match self.ledger.borrow_mut().claim(now, patience_ns) {
                Some(due) => due,
                None => return Ok(None),
            },
        };
        if self.ledger.borrow().over(due) {
            return Ok(None);
        }
        self.ledger.borrow_mut().reserve(due);
        if let Some(alarm) = alarm.filter(|_| due > now) {
            alarm.wait_until(due).await?;
            self.ledger.borrow_mut().lag(due, MonotonicClock.now_ns());
        }
        Ok(Some(due))
    }

    /// A call over a connection of the pool.
    async fn over_kept(
        &self,
        turn: &mut Turn<'_, D::Connection>,
        due: u64,
        taken: u64,
        patience: &mut Patience,
    ) {
        if turn.connection.is_none() {
            turn.connection = self.mend().await;
        }
        self.ledger.borrow_mut().waited(due);
        let has_ended = self.ledger.borrow().gave_up;
        let Some(connection) = turn.connection.as_mut().filter(|_| !has_ended) else {
            self.ledger.borrow_mut().unreached(due, MonotonicClock.now_ns());
            return;
        };
        let sent = MonotonicClock.now_ns();
        let call = Call { due, taken, sent, opened: None };
        let came = self.ask(connection, patience).await;
        if self.book(&call, &came)
            && let Some(broken) = turn.connection.take()
        {
            self.database.abandon(broken).await;
        }
        if turn.connection.is_none() {
            turn.connection = self.mend().await;
        }
    }

    /// A call over a connection of its own.
    async fn over_new(&self, due: u64, taken: u64, patience: &mut Patience) {
        let sent = MonotonicClock.now_ns();
        match self.database.open(self.asked, Form::Text).await {
            Err(trouble) => {
                self.not_connected(&trouble).await;
            }
            Ok((mut connection, opened)) => {
                self.ledger.borrow_mut().connected(opened);
                let call = Call { due, taken, sent, opened: Some(opened) };
                let came = self.ask(&mut connection, patience).await;
                if self.book(&call, &came) {
                    self.database.abandon(connection).await;
                }
            }
        }
    }

    async fn ask(&self, connection: &mut D::Connection, patience: &mut Patience) -> CallEndOf<D> {
        let now = MonotonicClock.now_ns();
        let look = if D::LOOKS { self.looks.borrow_mut().wanted(now) } else { None };
        let call = async {
            match look {
                Some(look) => self.look(connection, look).await.map(CallEnd::Insight),
                None => {
                    connection.way().arrivals.into_iter().for_each(Arrivals::begin);
                    let answer = connection.ask(self.asked.statement).await?;
                    let stamped = connection.way().arrivals.and_then(Arrivals::take);
                    Ok(CallEnd::Answer(answer, stamped))
                }
            }
        };
        let came = patience.with(now, call).await;
        let rolls_back = connection.rolls_back().await;
        if !rolls_back {
            self.ledger.borrow_mut().stays(self.asked.statement);
        }
        match came {
            None => CallEnd::Nothing(FailureKind::TimedOut, None),
            // a statement that let its session write is the last that is asked over it
            Some(Ok(_)) if !(connection.keeps_its_promise() && rolls_back) => {
                CallEnd::Nothing(FailureKind::CheckFailed, None)
            }
            Some(Ok(came)) => came,
            Some(Err(trouble)) => CallEnd::Nothing(trouble.kind(), Some(trouble)),
        }
    }

    async fn look(
        &self,
        connection: &mut D::Connection,
        look: Look,
    ) -> Result<Seen, <D::Connection as Connection>::NoAnswer> {
        let began_ns = MonotonicClock.now_ns();
        let seen = connection.observe(self.asked.statement, look).await?;
        let now = MonotonicClock.now_ns();
        let longer_ns = (now - began_ns).saturating_sub(self.ledger.borrow().usual_ns());
        // what it asks beside the statement takes no longer than this, however long that is today
        let most_ns = match seen {
            Seen::Wire(ns) => ns,
            Seen::Server { statement_ns, .. } => (now - began_ns).saturating_sub(statement_ns),
        };
        self.looks.borrow_mut().looked(now, longer_ns.min(most_ns));
        Ok(seen)
    }

    /// Writes down what came of a call; true when its connection must not be used again.
    fn book(&self, call: &Call, came: &CallEndOf<D>) -> bool {
        let mut ledger = self.ledger.borrow_mut();
        match came {
            CallEnd::Answer(answer, stamped) => {
                ledger.answered(call, answer.first_ns, answer.last_ns, answer.bytes);
                stamped.iter().for_each(|stamped| ledger.stamped(call, *stamped));
                false
            }
            CallEnd::Insight(seen) => {
                ledger.observed(call, *seen, MonotonicClock.now_ns());
                false
            }
            CallEnd::Nothing(kind, trouble) => {
                let why = || told(*kind, trouble.as_ref()?);
                ledger.failed(call, *kind, why, MonotonicClock.now_ns());
                *kind != FailureKind::Refused // a statement that was refused leaves the session whole
            }
        }
    }

    /// Makes a new connection in the place of one that broke; `None` when the server is gone.
    async fn mend(&self) -> Option<D::Connection> {
        while !self.ledger.borrow().gave_up {
            match self.database.open(self.asked, Form::Prepared).await {
                Ok((connection, opened)) => {
                    self.ledger.borrow_mut().connected(opened);
                    return Some(connection);
                }
                Err(trouble) => {
                    if self.not_connected(&trouble).await {
                        return None;
                    }
                }
            }
            if self.ledger.borrow().over(MonotonicClock.now_ns()) {
                return None;
            }
        }
        None
    }

    /// Books the failure, and waits a little; true when it is no use to go on.
    async fn not_connected(&self, trouble: &D::NotReady) -> bool {
        let now = MonotonicClock.now_ns();
        let patience_ns = self.plan.connect_timeout.ns();
        let why = || self.database.explain(self.asked, trouble).to_string();
        let gone = self.ledger.borrow_mut().not_connected(trouble.kind(), why, now, patience_ns);
        if !gone {
            tokio::time::sleep(RETRY).await;
        }
        gone
    }
}
