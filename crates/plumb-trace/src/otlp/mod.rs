//! OTLP, as JSON and as protobuf: requests to export traces.
//!
//! # Source
//! `opentelemetry/proto/collector/trace/v1/trace_service.proto`, version 1; the OTLP specification,
//! section "JSON Protobuf Encoding".

mod json;
mod protobuf;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

pub(crate) use json::read as read_json;
pub(crate) use protobuf::read as read_protobuf;

use plumb_measure::TraceId;

use crate::SpanId;
use crate::error::OtlpError;

/// What a resource calls its service.
const SERVICE: &str = "service.name";
/// What a span calls the database it asks, by today's and by yesterday's conventions.
const DATABASES: [&str; 2] = ["db.system.name", "db.system"];

/// The number of a clock: what says the same of itself has the same.
fn clock<'a>(attributes: impl Iterator<Item = (&'a str, String)>) -> u64 {
    let mut said: Vec<(&str, String)> = attributes.collect();
    said.sort_unstable();
    let mut hasher = DefaultHasher::new();
    said.hash(&mut hasher);
    hasher.finish()
}

fn trace_id(bytes: &[u8]) -> Result<TraceId, OtlpError> {
    let whole = <[u8; 16]>::try_from(bytes).ok().and_then(TraceId::new);
    whole.ok_or(OtlpError::Id { name: "traceId", bytes: 16 })
}

fn span_id(bytes: &[u8], name: &'static str) -> Result<SpanId, OtlpError> {
    let whole = <[u8; 8]>::try_from(bytes).ok().filter(|bytes| *bytes != [0; 8]);
    whole.map(SpanId).ok_or(OtlpError::Id { name, bytes: 8 })
}

/// A parent is left out, empty or zero where there is none.
fn parent_id(bytes: &[u8]) -> Result<Option<SpanId>, OtlpError> {
    match bytes.iter().all(|byte| *byte == 0) {
        true => Ok(None),
        false => span_id(bytes, "parentSpanId").map(Some),
    }
}
