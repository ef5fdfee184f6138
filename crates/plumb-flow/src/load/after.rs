//! What is looked at before and after a load: the table and the queue.

use plumb_engine::Stop;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Delivery, Span};
use serde_json::Value;

use super::runtime_use::{InUse, RuntimeAccount};
use super::sender::Tally;
use super::sink::{Sink, Which};
use crate::FlowError;
use crate::verbs::Client;

/// Between two looks at a queue that drains.
const LOOK_NS: u64 = 100_000_000;

/// What is asked after a load.
#[derive(Debug)]
pub(super) struct After {
    pub(super) sink: Sink,
    pub(super) manager: Client,
    pub(super) rows_each: u64,
    pub(super) drain: Span,
}

/// The state before a load.
#[derive(Clone, Debug)]
pub(super) struct Before {
    queue: QueueState,
    account: Option<RuntimeAccount>,
    at_ns: u64,
    /// Rows that are there already.
    rows: u64,
    last_us: Option<i64>,
}

/// Messages in the queue of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct QueueState {
    waiting: i64,
    running: i64,
    dead: i64,
}

impl QueueState {
    fn of(answer: &Value) -> Option<Self> {
        let queue = answer.get("figures")?.get("queue")?;
        let count = |name: &str| queue.get(name)?.as_i64();
        let (waiting, running) = (count("waiting")?, count("running")?);
        Some(Self { waiting, running, dead: count("failed")? })
    }

    /// Messages that are not settled.
    fn on_their_way(self) -> i64 {
        self.waiting + self.running
    }
}

impl After {
    /// The state before messages with these numbers are sent.
    ///
    /// # Errors
    /// [`FlowError`] when the manager or the table cannot be asked, or holds such numbers already, and when
    /// `stop` is asked before the manager has answered.
    pub(super) fn before(
        &mut self,
        first: u64,
        end: u64,
        stop: &Stop,
    ) -> Result<Before, FlowError> {
        let (queue, account) = self.look(stop)?;
        let at_ns = MonotonicClock.now_ns();
        if self.sink.is_numbered() {
            let there = self.sink.read(Which::Numbers(first, end))?;
            if there.rows > 0 {
                return Err(FlowError::Plan(format!(
                    "{} has {} of messages {first} and above already: name another \
                     --first-number",
                    self.sink.name,
                    plumb_measure::counted(there.rows, "row")
                )));
            }
            return Ok(Before { queue, account, at_ns, rows: 0, last_us: None });
        }
        let there = self.sink.read(Which::After(None))?;
        Ok(Before { queue, account, at_ns, rows: there.rows, last_us: there.last_us })
    }

    /// Waits until the messages of the load are done, and counts where they are; `first` and `end`
    /// are their numbers. With what of the runtime was in use until then.
    ///
    /// # Errors
    /// [`FlowError`] when the manager or the table cannot be asked.
    pub(super) fn delivered(
        &mut self,
        before: Before,
        (first, end): (u64, u64),
        tally: Tally,
        stop: &Stop,
    ) -> Result<(Delivery, InUse), FlowError> {
        let deadline_ns = MonotonicClock.now_ns().saturating_add(self.drain.ns());
        let (drained, account) = self.drained(&before, deadline_ns, stop)?;
        let elapsed_ns = MonotonicClock.now_ns().saturating_sub(before.at_ns);
        let in_use = account.zip(before.account).map(|(it, before)| it.since(&before, elapsed_ns));
        let which = match self.sink.is_numbered() {
            true => Which::Numbers(first, end),
            false => Which::After(before.last_us),
        };
        let found = self.sink.read_again(which, deadline_ns, stop)?;
        let rows = match self.sink.is_numbered() {
            true => found.rows,
            // rows whose time is that of the last one before are counted as well
            false => {
                let all = self.sink.read_again(Which::After(None), deadline_ns, stop)?;
                all.rows.saturating_sub(before.rows)
            }
        };
        let (queue, _) = self.look(&Stop::new()?)?;
        let on_their_way = queue.on_their_way();
        // what runs may have its row already, and what moved meanwhile was seen twice or not at all
        let moved =
            drained.on_their_way().abs_diff(on_their_way) + drained.dead.abs_diff(queue.dead);
        let running = drained.running.max(queue.running).unsigned_abs();
        let rests = on_their_way <= before.queue.on_their_way() && moved == 0;
        let delivery = Delivery {
            moving: if rests { 0 } else { moved + running },
            sink: self.sink.name.clone(),
            accepted: tally.accepted,
            unanswered: tally.unanswered(),
            rows,
            rows_each: self.rows_each,
            numbers: found.numbers,
            dead: queue.dead - before.queue.dead,
            waiting: on_their_way - before.queue.on_their_way(),
            // a rate of other rows than those that are counted would be none of theirs
            span_ns: found.span_ns().filter(|_| found.rows == rows),
            step_ns: found.step_ns(),
        };
        Ok((delivery, in_use.unwrap_or(Ok(Vec::new()))))
    }

    /// The queue once no more waits than before, or the time for that is over.
    fn drained(
        &self,
        before: &Before,
        deadline_ns: u64,
        stop: &Stop,
    ) -> Result<(QueueState, Option<RuntimeAccount>), FlowError> {
        loop {
            // who wants to stop wants the counts all the same
            let (queue, account) = self.look(&Stop::new()?)?;
            let now_ns = MonotonicClock.now_ns();
            let rest = queue.on_their_way() <= before.queue.on_their_way();
            if rest || now_ns >= deadline_ns || stop.asked() {
                return Ok((queue, account));
            }
            stop.wait_until((now_ns + LOOK_NS).min(deadline_ns))?;
        }
    }

    fn look(&self, stop: &Stop) -> Result<(QueueState, Option<RuntimeAccount>), FlowError> {
        let answer = self.manager.ask("/manager?most=1", None, stop)?;
        let queue = QueueState::of(&answer).ok_or_else(|| {
            FlowError::Plan("the transaction manager tells nothing of its queue".into())
        })?;
        Ok((queue, RuntimeAccount::of(&answer)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_waits_and_what_runs_is_on_its_way() {
        let queue = json!({ "waiting": 3, "running": 2, "failed": 7, "accepted": 90 });
        let state = QueueState::of(&json!({ "figures": { "queue": queue } }));
        assert_eq!(state, Some(QueueState { waiting: 3, running: 2, dead: 7 }));
        for none in [json!({}), json!({ "figures": { "queue": { "waiting": 1 } } }), json!([])] {
            assert_eq!(QueueState::of(&none), None);
        }
    }
}
