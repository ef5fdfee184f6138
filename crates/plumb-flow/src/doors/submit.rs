//! A message that a door has read goes to its transaction, and what comes of it back.

use std::sync::Arc;

use hyper::header::LOCATION;
use hyper::{HeaderMap, StatusCode};
use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use tokio::sync::OwnedSemaphorePermit;

use super::document::{Document, Form};
use super::parameters::{self, Pairs};
use super::{LARGE, aside};
use crate::answer::{Answer, Failure, JSON, Times};
use crate::executor::{Crowded, Executor, Outcome, Timings};
use crate::live::Version;
use crate::route::{IDEMPOTENCY_KEY, ORDER_KEY};
use plumb_queue::{Accepted, ExecutionId, Message, QueueError};
use plumb_transaction::{Body, Completed, FailureKind, Mode};

const TRACE: &str = "traceparent";
/// Characters of a key at most.
const KEY_MAX: usize = 255;
/// A transaction that cannot reach something is worth another attempt after so many seconds.
const LOST_AGAIN_S: u64 = 5;
/// A full queue that no message leaves is worth another attempt after so many seconds.
const STANDS_AGAIN_S: u64 = 60;

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
    /// The trace that the request belongs to: `traceparent`.
    trace: Option<String>,
}

impl Keys {
    /// Reads `Idempotency-Key`, `X-Order-Key` and `traceparent`.
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
        let trace = headers.get(TRACE).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Ok(Self { idempotency: key(IDEMPOTENCY_KEY)?, order: key(ORDER_KEY)?, trace })
    }
}

/// What an execution answers.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) id: ExecutionId,
    pub(super) completed: Completed,
    pub(super) timings: Timings,
}

/// What came of a message.
#[derive(Debug)]
pub(super) enum Submitted {
    /// It was done.
    Done(Box<Response>),
    /// It is on disk, after so many nanoseconds.
    Accepted(Accepted, u64),
}

impl Executor {
    /// Has a message done, or puts it into the queue. The `memory` that is set aside for it is given
    /// back when that has happened, also when nobody waits for it any more.
    ///
    /// # Errors
    /// [`Failure`] when its transaction is not there, does not take it, or fails.
    pub(super) async fn submit(
        &self,
        order: Order,
        memory: OwnedSemaphorePermit,
    ) -> Result<Submitted, Failure> {
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
        readable(self.live.current(), &message).await?;
        match mode {
            Mode::Sync => self.do_now(message, keys.trace, memory).await,
            Mode::Async => self.enqueue(message).await,
        }
    }

    async fn do_now(
        &self,
        message: Message,
        trace: Option<String>,
        memory: OwnedSemaphorePermit,
    ) -> Result<Submitted, Failure> {
        if message.idempotency_key.is_some() || message.order_key.is_some() {
            return Err(Failure::bad_request(
                "Idempotency-Key and X-Order-Key belong to messages of the queue: ask with \
                 mode=async",
            ));
        }
        let reply = self
            .call(message, trace, Some(memory))
            .map_err(|crowded: Crowded| Failure::busy(crowded.to_string(), self.come_again_s()))?;
        let outcome = reply.outcome().await;
        let outcome = outcome.ok_or_else(|| Failure::busy("the server stops", 10))?;
        let Outcome { id, result, timings } = outcome;
        match result {
            Ok(completed) => Ok(Submitted::Done(Box::new(Response { id, completed, timings }))),
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
                Err(Failure { execution: Some(Box::new((id, timings))), ..failure })
            }
        }
    }

    async fn enqueue(&self, message: Message) -> Result<Submitted, Failure> {
        let began_ns = MonotonicClock.now_ns();
        let accepted = self.queue.accept(message).await.unwrap_or(Err(QueueError::Closed));
        let accepted = accepted.map_err(|error| match error {
            QueueError::Full { waiting, .. } => self.full(waiting, error),
            other => Failure::from(other),
        })?;
        Ok(Submitted::Accepted(accepted, MonotonicClock.now_ns() - began_ns))
    }

    /// When to come again to a full queue: when a tenth of what waits has left it, at the pace of the
    /// last half minute, between 1 s and 10 minutes; in a minute when none has.
    fn full(&self, waiting: u64, error: QueueError) -> Failure {
        let known = self.queue_pace.time_for(waiting / 10, MonotonicClock.now_ns());
        let seconds = known.map_or(STANDS_AGAIN_S, |seconds| seconds.clamp(1, 600));
        let failure = Failure::from(error);
        let message = match known {
            Some(_) => failure.message,
            None => format!(
                "{}; no message has left it in the last 30 s, so when there is room is not known",
                failure.message
            ),
        };
        Failure { retry_after_s: Some(seconds), message, ..failure }
    }
}

/// Refuses a document that the transaction can never read.
async fn readable(version: Arc<Version>, message: &Message) -> Result<(), Failure> {
    let (name, body) = (Arc::clone(&message.transaction), message.body.clone());
    let is_json = *message.media_type == *Form::Json.media_type();
    aside(body.len() > LARGE, move || {
        let document = if is_json { Body::Json(&body) } else { Body::Xml(&body) };
        let found = version.transactions.find(&name);
        match found.and_then(|it| it.cannot_read(document)) {
            None => Ok(()),
            Some(problem) => Err(Failure::bad_request(problem)),
        }
    })
    .await
}

impl Submitted {
    /// What a caller is told who wants the response as it is.
    pub(super) fn answer(self) -> Answer {
        match self {
            Self::Done(response) => {
                let Response { id, completed, timings } = *response;
                let mut media_type = completed.media_type;
                if media_type.starts_with("text/") && !media_type.contains("charset") {
                    media_type += "; charset=utf-8";
                }
                let status = StatusCode::from_u16(completed.status).unwrap_or(StatusCode::OK);
                let text = completed.text;
                let body = completed.bytes.unwrap_or_else(|| text.into_bytes());
                Answer::new(&media_type, body)
                    .with_status(status)
                    .of_execution(id)
                    .timed(Times::of_execution(&timings))
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
                    .timed(Times::of_flush(flush_ns))
            }
        }
    }
}
