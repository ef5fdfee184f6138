//! What the manager shows, for programs.

use std::borrow::Cow;

use plumb_engine::clock::utc_ms;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::filter::state_name;
use crate::executor::UnderWay;
use plumb_queue::{Execution, ExecutionId, State};

/// An execution in a list.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Line {
    pub(super) id: String,
    pub(super) state: Cow<'static, str>,
    pub(super) transaction: String,
    /// When it came in.
    pub(super) accepted: String,
    pub(super) bytes: u64,
    pub(super) failures: u32,
    pub(super) error: Option<String>,
    pub(super) order_key: Option<String>,
    /// When a waiting one is done next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    due: Option<String>,
    /// When another one ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
}

/// One execution with all that is kept of it.
pub(super) fn execution(found: &Execution) -> String {
    let mut document = json!(Line::from(found));
    document["parameters"] = found
        .message
        .parameters
        .iter()
        .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
        .collect::<serde_json::Map<_, _>>()
        .into();
    document["media_type"] = (*found.message.media_type).into();
    document["trace"] = found.trace.clone().into();
    document["message"] = String::from_utf8_lossy(&found.message.body).into();
    document.to_string()
}

/// What its caller may know of one: no message.
pub(super) fn outcome(found: &Execution) -> String {
    json!(Line::from(found)).to_string()
}

/// An execution that is under way and not in the queue.
pub(super) fn under_way(id: ExecutionId, running: &UnderWay) -> Value {
    json!({
        "id": id.to_string(),
        "state": "running",
        "transaction": &*running.transaction,
        "version": running.digest,
        "queued": running.queued,
        "began": utc_ms(running.began_ms.saturating_mul(1_000_000)),
    })
}

impl From<&Execution> for Line {
    fn from(found: &Execution) -> Self {
        let at = found.at_ms.map(|ms| utc_ms(ms.saturating_mul(1_000_000)));
        let (due, ended) = match found.state {
            State::Waiting => (at, None),
            State::Running | State::Done | State::Failed => (None, at),
        };
        Self {
            id: found.id.to_string(),
            state: state_name(found.state).into(),
            transaction: found.message.transaction.to_string(),
            accepted: accepted(found),
            bytes: found.bytes,
            failures: found.failures,
            error: found.error.clone(),
            order_key: found.message.order_key.clone(),
            due,
            ended,
        }
    }
}

/// When an execution came in.
pub(super) fn accepted(found: &Execution) -> String {
    utc_ms(found.accepted_ms.saturating_mul(1_000_000))
}
