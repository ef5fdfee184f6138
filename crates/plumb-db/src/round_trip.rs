//! The bare round trip to the same host: the handshake of TCP, and messages of an echo server.

use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_engine::{
    Address, Endpoint, EngineError, Family, LoadPlan, Null, Plain, Stage, Stop, load,
};
use plumb_measure::{Clock as _, Histogram, Span};
use plumb_serve::ClientSocket;

use crate::DbError;

/// Handshakes that are made before each result.
const HANDSHAKES: u32 = 20;
/// Messages to the echo server, and the time they may take together.
const MESSAGES: u64 = 200;
/// Bytes of a message: that of an everyday request.
const MESSAGE_BYTES: u32 = 400;
/// The same with the length before it.
const WHOLE_BYTES: usize = 4 + MESSAGE_BYTES as usize;
/// Port of an echo server when none is named.
const ECHO_PORT: u16 = 3298;

/// Times of the handshake of TCP with `endpoint`; `None` where there is none. A handshake that
/// fails ends the series: whoever connects next will say why.
pub(crate) async fn handshakes(endpoint: &Endpoint, patience: Span) -> Option<Histogram> {
    let Endpoint::Tcp(_) = endpoint else { return None };
    let mut times = Histogram::new();
    for _ in 0..HANDSHAKES {
        let began_ns = MonotonicClock.now_ns();
        let limit = Duration::from_nanos(patience.ns());
        let connected = tokio::time::timeout(limit, ClientSocket::connect(endpoint));
        if !matches!(connected.await, Ok(Ok(_))) {
            break;
        }
        times.record(MonotonicClock.now_ns().saturating_sub(began_ns));
    }
    (!times.is_empty()).then_some(times)
}

/// Round trips of messages of 400 bytes with the NI echo server at `address`.
///
/// # Errors
/// When it cannot be reached, or does not answer as an echo server.
pub(crate) fn echoes(address: &str, patience: Span, stop: &Stop) -> Result<Histogram, DbError> {
    let found = Endpoint::resolve(&Address::parse(address, ECHO_PORT)?, Family::Any)?;
    let endpoint = plumb_engine::reachable(&found, patience, stop)?;
    let mut stage = Stage { endpoint: &endpoint, stop, samplers: &mut [], gate: None };
    let plan = LoadPlan::lone(MESSAGES, patience);
    let load = load::run(&plan, &mut stage, 1, || Null(message()), Plain::default)?;
    let times = load.recorder.rows().first().map(|row| row.service.clone()).unwrap_or_default();
    if times.is_empty() && !stop.asked() {
        return Err(EngineError::Plan(format!(
            "--echo: {address} does not answer as an NI echo server: start `plumb net serve` there"
        ))
        .into());
    }
    Ok(times)
}

/// A message with its length before it.
fn message() -> [u8; WHOLE_BYTES] {
    let mut message = [b'.'; WHOLE_BYTES];
    message[..4].copy_from_slice(&MESSAGE_BYTES.to_be_bytes());
    message
}
