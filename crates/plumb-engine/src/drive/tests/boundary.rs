//! What the recorded part holds of the warm-up, and how long it is.

use super::*;
use crate::protocol::{Next, Op, Step};
use crate::testing::{Datagrams, Lines};
use plumb_measure::Answer;

/// Lines of which the last ends with its connection.
#[derive(Debug, Default)]
struct Unframed(Lines);

impl Protocol for Unframed {
    type User = ();
    type Wire = ();

    fn user(&mut self, _: usize) {}

    fn encode(&mut self, user: &mut (), wire: &mut (), out: &mut Vec<u8>) -> Next {
        self.0.encode(user, wire, out)
    }

    fn decode(
        &mut self,
        user: &mut (),
        wire: &mut (),
        op: Option<Op>,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Step {
        self.0.decode(user, wire, op, bytes, out)
    }

    fn eof(&mut self, (): &mut (), (): &mut (), _: Op) -> Answer {
        Answer::ok(1)
    }
}

/// Two connections, 20 ms of warm-up, 100 ms recorded; whoever drives it sees ten intervals.
fn short() -> LoadPlan {
    LoadPlan {
        connections: connections(2),
        warmup: Span::from_ms(20),
        extent: Extent::For(Span::from_ms(100)),
        interval: Span::from_ms(10),
        operation_timeout: Span::from_ms(300),
        ..plan()
    }
}

/// One of the connections has its last answer in the warm-up.
const HANGS: Manner = Manner {
    delay_ns: MS,
    silent: (0, 0),
    piece: usize::MAX,
    close_after: usize::MAX,
    hang_up_at: usize::MAX,
    twice_every: usize::MAX,
    hangs_up: (0, 0),
    silent_from: 11,
};

#[test]
fn what_hangs_from_the_warm_up_on_fails_in_the_recorded_part_and_makes_it_no_longer() {
    let timed_out = |plan: &LoadPlan| {
        let outcome = drive(plan, HANGS);
        assert_eq!(outcome.ending, Ending::Complete);
        assert_eq!(outcome.recorder.failures().of(FailureKind::TimedOut), 1);
        assert_eq!(outcome.recorder.failures().total(), 1);
        outcome
    };
    let behind = timed_out(&short());
    assert_eq!((behind.recorder.operations(), behind.duration_ns), (100, 100 * MS));
    assert_eq!(behind.intervals, 10, "none while nothing but the warm-up is waited for");

    let within = timed_out(&LoadPlan { operation_timeout: Span::from_ms(50), ..short() });
    assert_eq!(within.duration_ns, 100 * MS);
    assert!(within.recorder.operations() > 100, "the connection was made anew");

    let counted = timed_out(&LoadPlan { extent: Extent::Count(50), ..short() });
    assert_eq!((counted.recorder.operations(), counted.duration_ns), (50, 50 * MS));
    assert_eq!(counted.intervals, 5);

    let open = LoadPlan { pace: rate("1000/s"), ..short() };
    let open = timed_out(&open);
    assert_eq!((open.recorder.operations(), open.recorder.dropped), (100, 0));
    assert_eq!(open.duration_ns, 100 * MS);
}

#[test]
fn a_datagram_that_is_lost_hangs_where_nothing_is_sent_in_its_place() {
    let lost = |pace: Pace| {
        let (time, endpoint) = Played::time(HANGS);
        let plan = LoadPlan { pace, ..short() };
        let outcome = drive_protocol(Datagrams::default(), None, &plan, &endpoint, time).unwrap();
        assert_eq!((outcome.recorder.operations(), outcome.duration_ns), (100, 100 * MS));
        let failures = outcome.recorder.failures();
        assert_eq!(failures.total(), failures.of(FailureKind::Lost));
        failures.total()
    };
    assert_eq!(lost(Pace::AsFast), 1, "its socket asked nothing in the recorded part");
    assert_eq!(lost(rate("1000/s")), 0, "it belongs to the warm-up");
}

#[test]
fn an_answer_to_the_warm_up_is_none_of_the_recorded_part_however_late_it_comes() {
    let until = |ms: u64| {
        let manner = Manner { delay_ns: MS, silent: (1_010 * MS, ms * MS), ..Manner::default() };
        let outcome = drive(&LoadPlan { connections: connections(1), ..short() }, manner);
        assert_eq!(outcome.recorder.failures().total(), 0);
        assert_eq!(outcome.duration_ns, 100 * MS);
        (outcome.recorder.operations(), outcome.recorder.outlasting)
    };
    assert_eq!(until(1_200), (0, 1), "nothing else was asked");
    assert_eq!(until(1_070), (50, 0));
}

#[test]
fn an_answer_that_ends_with_its_connection_is_counted_where_it_outlasts_the_recorded_part() {
    let silent = (1_010 * MS, 1_200 * MS);
    let hangs_up = (1_150 * MS, u64::MAX);
    let manner = Manner { delay_ns: MS, silent, hangs_up, ..Manner::default() };
    let (time, endpoint) = Played::time(manner);
    let plan = LoadPlan { connections: connections(1), ..short() };
    let outcome = drive_protocol(Unframed::default(), None, &plan, &endpoint, time).unwrap();
    let recorder = &outcome.recorder;
    assert_eq!((recorder.operations(), recorder.failures().total()), (0, 0));
    assert_eq!(recorder.outlasting, 1);
}

#[test]
fn what_failed_in_the_warm_up_is_in_no_figure() {
    let outcome = drive(&short(), Manner { delay_ns: MS, hang_up_at: 11, ..Manner::default() });
    assert_eq!((outcome.recorder.failures().total(), outcome.recorder.operations()), (0, 200));
}
