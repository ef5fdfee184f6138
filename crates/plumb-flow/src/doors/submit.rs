//! A message that a door has read goes to its transaction, and what comes of it back.

use std::sync::Arc;

use hyper::header::LOCATION;
use hyper::{HeaderMap, StatusCode};
use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;

use super::answer::{Answer, Failure, JSON, parts};
use super::document::Document;
use super::parameters::{self, Pairs};
use crate::executor::{Crowded, Executor, Outcome};
use crate::transaction::{Completed, FailureKind, Mode};
use plumb_queue::{Accepted, Message, QueueError};

/// Characters of a key at most.
const KEY_MAX: usize = 255;
/// A transaction that cannot reach something is worth another attempt after so many seconds.
const LOST_AGAIN_S: u64 = 5;

/// A message for a transaction.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) transaction: String,
    /// `None`: as the transaction says.
    pub(super) mode: Option<Mode>,
    pub(super) parameters: Pairs,
    pub(super) document: Document,
    pub(super) keys: Keys,
}

/// What the headers of a request say of the message.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    idempotency: Option<String>,
    order: Option<String>,
}

impl Keys {
    /// Reads `Idempotency-Key` and `X-Order-Key`.
    ///
    /// # Errors
    /// [`Failure`] for a key that is none.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Failure> {
        let key = |name: &str| -> Result<Option<String>, Failure> {
            let Some(value) = headers.get(name) else { return Ok(None) };
            let text = value.to_str().ok().map(str::trim);
            match text.filter(|text| !text.is_empty() && text.len() <= KEY_MAX) {
                Some(text) => Ok(Some(text.to_owned())),
                None => Err(Failure::bad_request(format!(
                    "{name} is no key: write 1 to {KEY_MAX} visible characters of ASCII"
                ))),
            }
        };
        Ok(Self { idempotency: key("idempotency-key")?, order: key("x-order-key")? })
    }
}

/// What came of a message.
#[derive(Debug)]
pub(super) enum Submitted {
    /// It was done.
    Done(Completed, Outcome),
    /// It is on disk, after so many nanoseconds.
    Accepted(Accepted, u64),
}

impl Executor {
    /// Has a message done, or puts it into the queue.
    ///
    /// # Errors
    /// [`Failure`] when its transaction is not there, does not take it, or fails.
    pub(super) async fn submit(&self, order: Order) -> Result<Submitted, Failure> {
        let Order { transaction, mode, parameters, document, keys } = order;
        let (message, mode) = {
            let version = self.live.current();
            let Some(found) = version.transactions.find(&transaction) else {
                let nearest = version.transactions.nearest(&transaction);
                let meant =
                    nearest.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
                let text = format!("there is no transaction `{transaction}`{meant}");
                return Err(Failure::not_found(text));
            };
            let message = Message {
                transaction: Arc::clone(&found.name),
                parameters: parameters::of(found, parameters)?,
                media_type: document.form.media_type().into(),
                body: document.bytes,
                order_key: keys.order,
                idempotency_key: keys.idempotency,
            };
            (message, mode.unwrap_or(found.mode))
        };
        match mode {
            Mode::Sync => self.do_now(message).await,
            Mode::Async => self.enqueue(message).await,
        }
    }

    async fn do_now(&self, message: Message) -> Result<Submitted, Failure> {
        if message.idempotency_key.is_some() || message.order_key.is_some() {
            return Err(Failure::bad_request(
                "Idempotency-Key and X-Order-Key belong to messages of the queue: ask with \
                 mode=async",
            ));
        }
        let outcome = self
            .call(message)
            .map_err(|crowded: Crowded| Failure::busy(crowded.to_string(), self.come_again_s()))?;
        let outcome = outcome.await.map_err(|_| Failure::busy("the server stops", 10))?;
        match &outcome.result {
            Ok(completed) => Ok(Submitted::Done(completed.clone(), outcome)),
            Err(failed) => {
                let failure = match failed.kind {
                    FailureKind::Lost => Failure::busy(failed.to_string(), LOST_AGAIN_S),
                    FailureKind::TimeLimit => {
                        Failure::new(StatusCode::GATEWAY_TIMEOUT, failed.to_string())
                    }
                    FailureKind::Refused | FailureKind::DoneBefore => {
                        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, failed.to_string())
                    }
                };
                Err(Failure { execution: Some(Box::new((outcome.id, outcome.timings))), ..failure })
            }
        }
    }

    async fn enqueue(&self, message: Message) -> Result<Submitted, Failure> {
        let began_ns = MonotonicClock.now_ns();
        let accepted = self.queue.accept(message).await.unwrap_or(Err(QueueError::Closed));
        let accepted = accepted.map_err(|error| {
            let full = matches!(error, QueueError::Full { .. });
            let again = full.then(|| self.queue_again_s());
            let failure = Failure::from(error);
            Failure { retry_after_s: again.or(failure.retry_after_s), ..failure }
        })?;
        Ok(Submitted::Accepted(accepted, MonotonicClock.now_ns() - began_ns))
    }

    /// When there is room again in a full queue, seconds: a tenth of what waits, at the pace of what
    /// was done so far by all workers, between 1 and 600.
    fn queue_again_s(&self) -> u64 {
        let counts = self.queued.figures();
        let each_ns = counts.execution_ns.checked_div(counts.done + counts.failed).unwrap_or(0);
        let tenth = self.queue.figures().waiting / 10;
        let ns = each_ns.saturating_mul(tenth) / self.settings.workers.max(1) as u64;
        (ns / 1_000_000_000).clamp(1, 600)
    }
}

impl Submitted {
    /// What a caller is told who wants the response as it is.
    pub(super) fn answer(self) -> Answer {
        match self {
            Self::Done(completed, outcome) => {
                let mut media_type = completed.media_type;
                if media_type.starts_with("text/") && !media_type.contains("charset") {
                    media_type += "; charset=utf-8";
                }
                let status = StatusCode::from_u16(completed.status).unwrap_or(StatusCode::OK);
                Answer::new(&media_type, completed.text)
                    .with_status(status)
                    .of_execution(outcome.id)
                    .timed(&parts(outcome.timings))
            }
            Self::Accepted(accepted, flush_ns) => {
                let id = accepted.id.to_string();
                let location = format!("/executions/{id}");
                let document = serde_json::json!({
                    "id": id,
                    "repeated": accepted.repeated,
                    "location": location,
                });
                Answer::new(JSON, document.to_string())
                    .with_status(StatusCode::ACCEPTED)
                    .with(LOCATION, &location)
                    .of_execution(accepted.id)
                    .timed(&[("flush", flush_ns)])
            }
        }
    }
}
