//! What is looked at before and after a load: the table and the queue.

use std::num::NonZeroU64;

use plumb_engine::Stop;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{
    Clock as _, Delivery, Figure, Finding, FindingKind, ResultRecord, Scope, Span, Validity,
    counted,
};
use serde_json::Value;

use super::log_on::LogOn;
use super::options::MessageLoadOptions;
use super::runtime_use::{InUse, RuntimeAccount};
use super::sender::Tally;
use super::sink::{Sink, Which};
use crate::FlowError;
use crate::verbs::Client;

/// How long it is waited for messages unless somebody says.
pub(super) const DRAIN: Span = Span::from_ms(60_000);
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
    /// Who counts in `sink`, and asks the server as whoever sends.
    ///
    /// # Errors
    /// As [`LogOn::manager`].
    pub(super) fn of(
        options: &MessageLoadOptions,
        log_on: &LogOn,
        sink: Sink,
    ) -> Result<Self, FlowError> {
        Ok(Self {
            sink,
            manager: log_on.manager(options)?,
            rows_each: options.sink.rows.map_or(1, NonZeroU64::get),
            drain: options.sink.drain.unwrap_or(DRAIN),
        })
    }

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

/// What became of the messages, and what that says of the figures.
pub(super) fn add_delivery(result: &mut ResultRecord, delivery: Delivery) {
    if let Some(rate) = delivery.rows_per_s() {
        result.figures.push(Figure {
            name: "rows".into(),
            value: rate,
            unit: "rows/s".into(),
            formula: "rows / (last - first), by the time stamps of the table".into(),
        });
    }
    let validity: Validity = std::mem::take(&mut result.validity);
    result.validity =
        delivery.findings().into_iter().fold(validity, |validity, it| validity.with(Some(it)));
    result.validity = std::mem::take(&mut result.validity).with(none_arrived(&delivery));
    result.delivery = Some(delivery);
}

/// What became of the messages could not be looked at: the figures stand, but nobody knows of what.
pub(super) fn add_unknown(result: &mut ResultRecord, error: &FlowError) {
    let text = format!("what became of the accepted messages could not be counted: {error}");
    let finding = Finding { kind: FindingKind::CountsDiffer, scope: Scope::Unchecked, text };
    result.validity = std::mem::take(&mut result.validity).with(Some(finding));
}

/// A load of messages that all fail is a load of nothing.
fn none_arrived(delivery: &Delivery) -> Option<Finding> {
    let all_dead = i128::from(delivery.dead) >= i128::from(delivery.accepted);
    if delivery.accepted == 0 || delivery.in_the_table() > 0 || !all_dead {
        return None;
    }
    let text = format!(
        "none of {} came into the table: {}; plumb flow list URL --state failed says why they fail",
        counted(delivery.accepted, "accepted message"),
        delivery.sentence()
    );
    Some(Finding { kind: FindingKind::Failures, scope: Scope::Everything, text })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_that_are_all_dead_are_no_valid_load() {
        let of = |accepted, rows, dead| {
            none_arrived(&Delivery { accepted, rows, rows_each: 1, dead, ..Delivery::default() })
        };
        let dead = of(300, 0, 300).unwrap();
        assert_eq!((dead.kind, dead.scope), (FindingKind::Failures, Scope::Everything));
        assert!(dead.text.starts_with("none of 300 accepted messages came"), "{dead:?}");
        for none in [of(300, 1, 299), of(300, 0, 299), of(0, 0, 0)] {
            assert_eq!(none, None);
        }
    }

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
