//! What the manager shows, for programs.

use plumb_engine::clock::utc_ms;
use serde_json::{Value, json};

use super::figures::Figures;
use super::filter::state_name;
use crate::executor::UnderWay;
use plumb_queue::{Execution, ExecutionId, State};

/// Figures, and executions.
pub(super) fn overview(figures: &Figures, found: &[Execution]) -> String {
    let list: Vec<Value> = found.iter().map(line).collect();
    json!({ "figures": figures, "executions": list }).to_string()
}

/// One execution with all that is kept of it.
pub(super) fn execution(found: &Execution) -> String {
    let mut document = line(found);
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
    line(found).to_string()
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

fn line(found: &Execution) -> Value {
    let at = found.at_ms.map(|ms| utc_ms(ms.saturating_mul(1_000_000)));
    let at_name = if found.state == State::Waiting { "due" } else { "ended" };
    json!({
        "id": found.id.to_string(),
        "state": state_name(found.state),
        "transaction": &*found.message.transaction,
        "accepted": accepted(found.id),
        "bytes": found.bytes,
        "failures": found.failures,
        "error": found.error,
        "order_key": found.message.order_key,
        at_name: at,
    })
}

/// When the execution of that id came in.
pub(super) fn accepted(id: ExecutionId) -> String {
    utc_ms((id.0 >> 20).saturating_mul(1_000_000))
}
