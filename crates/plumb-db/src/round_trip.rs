//! The bare round trip to the same host: the handshake of TCP, and messages of an echo server.

use plumb_engine::clock::MonotonicClock;
use plumb_engine::{
    Address, Endpoint, EngineError, Extent, Family, LoadPlan, Nagle, Next, Op, Pace, Plain,
    Protocol, Stage, Step, Stop, Then, Waiting, load,
};
use plumb_measure::{Answer, Clock as _, Histogram, Span};
use std::num::NonZeroUsize;
use std::time::Duration;

use crate::DbError;
use crate::stream::dial;

/// Handshakes that are made before each result.
const HANDSHAKES: u32 = 20;
/// Messages to the echo server, and the time they may take together.
const MESSAGES: u64 = 200;
/// Bytes of a message: that of an everyday request.
const MESSAGE_BYTES: u32 = 400;
/// Port of an echo server when none is named.
const ECHO_PORT: u16 = 3298;

/// Times of the handshake of TCP with `endpoint`; `None` where there is none. A handshake that
/// fails ends the series: whoever connects next will say why.
pub(crate) async fn handshakes(endpoint: &Endpoint, patience: Span) -> Option<Histogram> {
    let Endpoint::Tcp(address) = endpoint else { return None };
    let mut times = Histogram::new();
    for _ in 0..HANDSHAKES {
        let began_ns = MonotonicClock.now_ns();
        let dialled = tokio::time::timeout(Duration::from_nanos(patience.ns()), dial(*address));
        if !matches!(dialled.await, Ok(Ok(_))) {
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
    let one = NonZeroUsize::MIN;
    let plan = LoadPlan {
        connections: one,
        threads: one,
        depth: one,
        pace: Pace::AsFast,
        extent: Extent::Count(MESSAGES),
        warmup: Span::from_ms(0),
        connect_timeout: patience,
        operation_timeout: patience,
        lag_bound: patience,
        waiting: Waiting::Receive,
        pin: Vec::new(),
        netns: Vec::new(),
        nagle: Nagle::Off,
        interval: patience,
    };
    let found = Endpoint::resolve(&Address::parse(address, ECHO_PORT)?, Family::Any)?;
    let endpoint = plumb_engine::reachable(&found, patience, stop)?;
    let mut stage = Stage { endpoint: &endpoint, stop, samplers: &mut [] };
    let load = load::run(&plan, &mut stage, 1, || Echo, Plain::default)?;
    let times = load.recorder.rows().first().map(|row| row.service.clone()).unwrap_or_default();
    if times.is_empty() && !stop.asked() {
        return Err(EngineError::Plan(format!(
            "--echo: {address} does not answer as an NI echo server: start `plumb net serve` there"
        ))
        .into());
    }
    Ok(times)
}

/// A message with its length before it, there and back.
#[derive(Debug)]
struct Echo;

impl Protocol for Echo {
    type User = ();
    type Wire = ();

    fn user(&mut self, _: usize) {}

    fn encode(&mut self, (): &mut (), (): &mut (), out: &mut Vec<u8>) -> Next {
        out.extend_from_slice(&MESSAGE_BYTES.to_be_bytes());
        out.extend(std::iter::repeat_n(b'.', MESSAGE_BYTES as usize));
        Next::Send(Op { label: 0, tag: 0 })
    }

    fn decode(
        &mut self,
        (): &mut (),
        (): &mut (),
        _: Option<Op>,
        bytes: &[u8],
        _: &mut Vec<u8>,
    ) -> Step {
        let whole = 4 + MESSAGE_BYTES as usize;
        if bytes.len() < whole {
            return Step::Need { consumed: 0 };
        }
        let answer = Answer::ok(u64::from(MESSAGE_BYTES));
        Step::Done { consumed: whole, answer, then: Then::Keep }
    }
}
