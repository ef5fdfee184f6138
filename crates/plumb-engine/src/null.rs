//! The null protocol: what the tool itself costs.

use plumb_measure::{Answer, Distribution, Floor, Span};

use crate::layer::Watch;
use crate::load::{self, Stage};
use crate::plan::{LoadPlan, Waiting};
use crate::protocol::{Next, Op, Protocol, Step, Then};
use crate::{Endpoint, EngineError, Plain, Stop};

/// What the floor sends.
const MESSAGE: [u8; 4] = *b"null";
/// Round trips that the floor is taken from, unless somebody asks for others.
pub(crate) const FLOOR_OPERATIONS: u64 = 20_000;
/// The longest load before them that is not recorded; for each of them.
const FLOOR_WARMUP_NS: (u64, u64) = (20_000_000, 1_000);

/// A message of `N` bytes there, and as many back.
#[derive(Clone, Copy, Debug)]
pub struct Null<const N: usize>(
    /// The message.
    pub [u8; N],
);

impl<const N: usize> Protocol for Null<N> {
    type User = ();
    type Wire = ();

    fn user(&mut self, _: usize) {}

    fn encode(&mut self, (): &mut (), (): &mut (), out: &mut Vec<u8>) -> Next {
        out.extend_from_slice(&self.0);
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
        if bytes.len() < N {
            return Step::Need { consumed: 0 };
        }
        let answer = Answer::ok(N as u64);
        Step::Done { consumed: N, answer, then: Then::Keep }
    }
}

/// Measures the floor of a load that waits as `waiting` says, and tells `watch`: the same loop, the same
/// recording, on a socket that answers to itself. Nothing is measured for no round trips.
///
/// # Errors
/// When the socket cannot be made.
pub fn floor(
    round_trips: u64,
    waiting: Waiting,
    pin: &[usize],
    (watch, stop): (&mut dyn Watch, &Stop),
) -> Result<(), EngineError> {
    if let Some(floor) = measured(round_trips, waiting, pin, stop)? {
        watch.floor(floor);
    }
    Ok(())
}

/// The floor; `None` when there are no round trips, or it was interrupted.
fn measured(
    round_trips: u64,
    waiting: Waiting,
    pin: &[usize],
    stop: &Stop,
) -> Result<Option<Floor>, EngineError> {
    if round_trips == 0 {
        return Ok(None);
    }
    let (longest_ns, each_ns) = FLOOR_WARMUP_NS;
    let plan = LoadPlan {
        warmup: Span::from_ns(round_trips.saturating_mul(each_ns).min(longest_ns)),
        waiting,
        pin: pin.to_vec(),
        ..LoadPlan::lone(round_trips, Span::from_ms(1_000))
    };
    let mut stage = Stage { endpoint: &Endpoint::Own, stop, samplers: &mut [], gate: None };
    let result = load::run(&plan, &mut stage, 1, || Null(MESSAGE), Plain::default)?;
    let service = result.recorder.rows().first().map(|row| &row.service);
    Ok(service.and_then(Distribution::of).map(|service_ns| Floor {
        method: format!(
            "the same loop and recording ({}) on a socket that answers to itself: one send, one \
             receive, no other process",
            waiting.describe()
        ),
        service_ns,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_measured_in_every_way_of_waiting() {
        let stop = Stop::new().unwrap();
        for waiting in [Waiting::Receive, Waiting::Epoll, Waiting::Spin] {
            let floor = measured(700, waiting, &[], &stop).unwrap().unwrap();
            assert_eq!(floor.service_ns.count, 700);
            assert!(floor.method.contains(waiting.describe()));
        }
        assert_eq!(measured(0, Waiting::Epoll, &[], &stop).unwrap(), None);
    }
}
