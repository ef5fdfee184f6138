//! One caller: takes up work when it is due, waits for a connection, asks, and writes down what
//! came of it.

use std::cell::RefCell;
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_engine::{LoadPlan, Pace};
use plumb_measure::{Clock as _, FailureKind};

use crate::alarm::Alarm;
use crate::exchange::{Answered, Exchange, Limits, NoAnswer, Observed};
use crate::ledger::{Call, Ledger};
use crate::patience::Patience;
use crate::pool::{Pool, Turn};
use crate::session::{Access, Door, NotOpened, Opened, failure};
use crate::statement::Statement;

/// One in so many calls that make a connection of their own is looked into.
const OBSERVE_EVERY: u32 = 8;
/// Between two looks of the session that looks on passes so much time ...
const LOOK_PAUSE_NS: u64 = 25_000_000;
/// ... or less at the beginning, this part of the time that the load has run ...
const LOOK_PART: u64 = 16;
/// ... but always so many times as much as the server works on a look.
const LOOK_PAUSES: u64 = 9;
/// Between two attempts to reach a server that is gone.
const RETRY: Duration = Duration::from_millis(10);

/// What all callers of a load share.
#[derive(Debug)]
pub(crate) struct Office<'a> {
    pub(crate) plan: &'a LoadPlan,
    pub(crate) door: &'a Door,
    pub(crate) statement: &'a Statement,
    pub(crate) access: Access,
    pub(crate) limits: Limits,
    /// The connections; `None` when each call makes one of its own.
    pub(crate) pool: Option<Pool>,
    /// A session beside the pool that looks on; `None` when each call makes a connection.
    pub(crate) onlooker: Option<Exchange>,
    pub(crate) ledger: RefCell<Ledger>,
}

/// How a call ended.
enum Came {
    Answer(Answered),
    Insight(Observed),
    Nothing(FailureKind),
}

impl Office<'_> {
    /// Calls until the load is over.
    ///
    /// # Errors
    /// When the kernel refuses a timer.
    pub(crate) async fn caller(&self) -> std::io::Result<()> {
        let mut alarm = match self.plan.pace {
            Pace::AsFast => None,
            Pace::Delay(_) | Pace::Rate(_) => Some(Alarm::new()?),
        };
        let mut memory = Memory {
            insight: Insight::default(),
            patience: Patience::new(self.plan.operation_timeout),
        };
        let mut free_ns = MonotonicClock.now_ns();
        while let Some(due) = self.due(alarm.as_mut(), free_ns).await? {
            let taken = MonotonicClock.now_ns();
            self.ledger.borrow_mut().begin(due);
            match &self.pool {
                Some(pool) => {
                    let Some(mut turn) = pool.turn().await else { break };
                    self.over_kept(&mut turn, due, taken, &mut memory).await;
                }
                None => self.over_new(due, taken, &mut memory).await,
            }
            free_ns = MonotonicClock.now_ns();
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
    async fn over_kept(&self, turn: &mut Turn<'_>, due: u64, taken: u64, memory: &mut Memory) {
        let sent = MonotonicClock.now_ns();
        let call = Call { due, taken, sent, opened: None };
        if let Some(exchange) = &turn.exchange {
            let came = self.ask(exchange, false, memory).await;
            if self.book(&call, &came)
                && let Some(broken) = turn.exchange.take()
            {
                self.door.abandon(broken.session).await;
            }
        }
        if turn.exchange.is_none() {
            turn.exchange = self.mend().await;
        }
    }

    /// A call over a connection of its own.
    async fn over_new(&self, due: u64, taken: u64, memory: &mut Memory) {
        let sent = MonotonicClock.now_ns();
        match self.door.open().await {
            Err(trouble) => {
                self.not_connected(&NotReady::Closed(trouble)).await;
            }
            Ok((session, opened)) => {
                self.ledger.borrow_mut().connected(opened);
                let call = Call { due, taken, sent, opened: Some(opened) };
                let exchange = Exchange::by_text(session, self.access, self.limits);
                let look = memory.insight.wanted();
                let came = self.ask(&exchange, look, memory).await;
                if self.book(&call, &came) {
                    self.door.abandon(exchange.session).await;
                }
            }
        }
    }

    /// Looks into calls of its own, beside those of the callers, until the load is over: what it
    /// asks keeps nobody waiting for a connection, and the server busy for a tenth of its time.
    ///
    /// # Errors
    /// When the kernel refuses a timer.
    pub(crate) async fn look_on(&self) -> std::io::Result<()> {
        let Some(onlooker) = &self.onlooker else { return Ok(()) };
        let (mut alarm, mut patience) = (Alarm::new()?, Patience::new(self.plan.operation_timeout));
        let began_ns = MonotonicClock.now_ns();
        loop {
            let due = MonotonicClock.now_ns();
            if self.ledger.borrow().over(due) {
                return Ok(());
            }
            let look = async {
                onlooker.rouse().await?;
                onlooker.observe(self.statement).await
            };
            let Some(Ok(seen)) = patience.with(due, look).await else {
                return Ok(()); // the callers will say what is wrong
            };
            let call = Call { due, taken: due, sent: due, opened: None };
            let now = MonotonicClock.now_ns();
            self.ledger.borrow_mut().looked(&call, seen);
            let pause_ns = LOOK_PAUSE_NS.min((now - began_ns) / LOOK_PART);
            alarm.wait_until(now + pause_ns.max(LOOK_PAUSES * seen.bracket_ns)).await?;
        }
    }

    async fn ask(&self, exchange: &Exchange, observe: bool, memory: &mut Memory) -> Came {
        let call = async {
            if observe {
                exchange.observe(self.statement).await.map(Came::Insight)
            } else {
                exchange.ask(self.statement).await.map(Came::Answer)
            }
        };
        match memory.patience.with(MonotonicClock.now_ns(), call).await {
            None => Came::Nothing(FailureKind::TimedOut),
            Some(Ok(came)) => came,
            Some(Err(NoAnswer::TooLarge)) => Came::Nothing(FailureKind::Garbled),
            Some(Err(NoAnswer::Driver(error))) => Came::Nothing(failure(&error)),
        }
    }

    /// Writes down what came of a call; true when its connection must not be used again.
    fn book(&self, call: &Call, came: &Came) -> bool {
        let mut ledger = self.ledger.borrow_mut();
        match came {
            Came::Answer(answer) => {
                ledger.answered(call, answer.first_ns, answer.last_ns, answer.bytes);
                false
            }
            Came::Insight(seen) => {
                ledger.observed(call, *seen, MonotonicClock.now_ns());
                false
            }
            Came::Nothing(kind) => {
                ledger.failed(call, *kind, MonotonicClock.now_ns());
                *kind != FailureKind::Refused // a statement that was refused leaves the session whole
            }
        }
    }

    /// Makes a new connection in the place of one that broke; `None` when the server is gone.
    async fn mend(&self) -> Option<Exchange> {
        let opening = self.opening();
        loop {
            match opening.open().await {
                Ok((exchange, opened)) => {
                    self.ledger.borrow_mut().connected(opened);
                    return Some(exchange);
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
    }

    /// Books the failure, and waits a little; true when it is no use to go on.
    async fn not_connected(&self, trouble: &NotReady) -> bool {
        let now = MonotonicClock.now_ns();
        let patience_ns = self.plan.connect_timeout.ns();
        let gone = self.ledger.borrow_mut().not_connected(trouble.kind(), now, patience_ns);
        if !gone {
            tokio::time::sleep(RETRY).await;
        }
        gone
    }

    fn opening(&self) -> Opening<'_> {
        let Self { door, statement, access, limits, .. } = self;
        Opening { door, statement, access: *access, limits: *limits }
    }
}

/// Which of the calls that make a connection of their own are looked into.
#[derive(Debug, Default)]
struct Insight {
    calls: u32,
}

/// What a caller keeps from call to call.
#[derive(Debug)]
struct Memory {
    insight: Insight,
    patience: Patience,
}

impl Insight {
    /// Whether this call is looked into: the second, and every eighth after it.
    fn wanted(&mut self) -> bool {
        self.calls += 1;
        self.calls % OBSERVE_EVERY == 2
    }
}

/// What it takes to make a connection ready.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening<'a> {
    pub(crate) door: &'a Door,
    pub(crate) statement: &'a Statement,
    pub(crate) access: Access,
    pub(crate) limits: Limits,
}

/// Why a connection is not ready.
#[derive(Debug)]
pub(crate) enum NotReady {
    /// There is none.
    Closed(NotOpened),
    /// The statement cannot be prepared.
    Statement(tokio_postgres::Error),
}

impl Opening<'_> {
    /// A connection with the statement prepared, and how long it took to open.
    ///
    /// # Errors
    /// What the server, or the network, says.
    pub(crate) async fn open(&self) -> Result<(Exchange, Opened), NotReady> {
        let (session, opened) = self.door.open().await.map_err(NotReady::Closed)?;
        let exchange = Exchange::prepared(session, self.statement, self.access, self.limits).await;
        Ok((exchange.map_err(NotReady::Statement)?, opened))
    }
}

impl NotReady {
    fn kind(&self) -> FailureKind {
        match self {
            Self::Closed(trouble) => trouble.kind(),
            Self::Statement(error) => failure(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_eighth_call_is_looked_into() {
        let mut insight = Insight::default();
        let wanted: Vec<u32> = (1..=20).filter(|_| insight.wanted()).collect();
        assert_eq!(wanted, [2, 10, 18]);
    }
}
