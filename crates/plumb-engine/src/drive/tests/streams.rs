//! Several operations under way on a connection, whose answers come in any order.

use super::*;
use crate::protocol::{Next, Op, Step, Then};
use plumb_measure::Answer;

/// Sends numbers in lines, and takes them back in any order.
#[derive(Debug, Default)]
struct Numbers {
    sent: u16,
    /// Of each read, the last line is the first answer.
    backwards: bool,
    /// The line with this number, and all behind it on its connection, the server did not begin with.
    leaves_at: Option<u16>,
    /// The server begins with nothing on any connection.
    leaves: bool,
    /// Operations at the same time that the other side takes.
    most: usize,
    /// Those that were asked for again.
    again: usize,
    /// Those that were given up.
    cancelled: Vec<u16>,
}

/// One connection.
#[derive(Debug, Default)]
struct Numbered {
    under_way: Vec<u16>,
    leaving: bool,
}

impl Numbers {
    fn ask(&mut self, wire: &mut Numbered, out: &mut Vec<u8>) -> Op {
        self.sent += 1;
        wire.under_way.push(self.sent);
        out.extend_from_slice(format!("{}\n", self.sent).as_bytes());
        Op { label: 0, tag: self.sent }
    }
}

impl Protocol for Numbers {
    const MULTIPLEXED: bool = true;

    type User = ();
    type Wire = Numbered;

    fn user(&mut self, _: usize) {}

    fn encode(&mut self, (): &mut (), wire: &mut Numbered, out: &mut Vec<u8>) -> Next {
        Next::Send(self.ask(wire, out))
    }

    fn encode_again(&mut self, (): &mut (), wire: &mut Numbered, _: Op, out: &mut Vec<u8>) -> Op {
        self.again += 1;
        self.ask(wire, out)
    }

    fn takes_more(&self, wire: &Numbered) -> bool {
        wire.under_way.len() < self.most && !wire.leaving
    }

    fn cancel(&mut self, wire: &mut Numbered, op: Op, _: &mut Vec<u8>) -> bool {
        wire.under_way.retain(|tag| *tag != op.tag);
        self.cancelled.push(op.tag);
        true
    }

    fn decode(
        &mut self,
        (): &mut (),
        wire: &mut Numbered,
        _: Option<Op>,
        bytes: &[u8],
        _: &mut Vec<u8>,
    ) -> Step {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let text = std::str::from_utf8(&bytes[..whole]).unwrap();
        let numbers = text.lines().map(|line| line.parse().unwrap());
        let mut due: Vec<u16> = numbers.filter(|tag| wire.under_way.contains(tag)).collect();
        if self.backwards {
            due.reverse();
        }
        wire.leaving |= self.leaves || due.iter().any(|tag| Some(*tag) == self.leaves_at);
        let tag = if wire.leaving { wire.under_way.first() } else { due.first() }.copied();
        let Some(tag) = tag else {
            return match (whole, wire.leaving) {
                (consumed, true) => Step::Leave { consumed },
                (0, false) => Step::Need { consumed: 0 },
                (consumed, false) => Step::Aside { consumed }, // of those that were given up
            };
        };
        wire.under_way.retain(|its| *its != tag);
        // the bytes are taken with the last of their lines
        let consumed = if due.len() > 1 || wire.leaving { 0 } else { whole };
        match wire.leaving {
            true => Step::Unprocessed { consumed, tag },
            false => Step::DoneOf { consumed, tag, answer: Answer::ok(1), then: Then::Keep },
        }
    }
}

fn numbers() -> Numbers {
    Numbers { most: usize::MAX, ..Numbers::default() }
}

fn counted(protocol: Numbers, depth: usize, manner: Manner) -> Outcome {
    let plan = LoadPlan { depth: connections(depth), warmup: Span::from_ns(0), ..plan() };
    let (time, endpoint) = Played::time(manner);
    drive_protocol(protocol, None, &plan, &endpoint, time).unwrap()
}

#[test]
fn answers_in_any_order_end_the_operations_they_belong_to() {
    let late = Manner { delay_ns: MS, ..Manner::default() };
    for backwards in [false, true] {
        let outcome = counted(Numbers { backwards, ..numbers() }, 7, late);
        assert_eq!((outcome.ending, outcome.recorder.operations()), (Ending::Complete, 100));
        assert!(outcome.recorder.failures().is_empty());
        let rounds = 100_u64.div_ceil(7);
        assert_eq!(outcome.duration_ns, rounds * MS, "seven at a time, a millisecond each");
    }
}

#[test]
fn no_more_are_begun_than_the_other_side_takes() {
    let late = Manner { delay_ns: MS, ..Manner::default() };
    let outcome = counted(Numbers { most: 2, ..numbers() }, 7, late);
    assert_eq!((outcome.recorder.operations(), outcome.duration_ns), (100, 50 * MS));
}

#[test]
fn what_was_not_begun_with_is_asked_again_on_the_next_connection() {
    let late = Manner { delay_ns: MS, ..Manner::default() };
    let outcome = counted(Numbers { leaves_at: Some(8), ..numbers() }, 7, late);
    assert_eq!((outcome.ending, outcome.recorder.operations()), (Ending::Complete, 100));
    assert!(outcome.recorder.failures().is_empty(), "{:?}", outcome.recorder.failures());
    assert_eq!(outcome.recorder.quiet_closes, 1);
    // seven of a hundred were due since the first time
    let slowest = outcome.recorder.rows()[0].response.max();
    assert!(about(slowest, 2), "{slowest}");
    assert!(about(outcome.recorder.rows()[0].service.max(), 1));
}

#[test]
fn one_that_is_late_is_given_up_without_the_others() {
    // what comes meanwhile is answered when the silence is over
    let (time, endpoint) = {
        let begins = HeldTime::with(|_| None).now();
        let silent = (begins + 3 * MS, begins + 1_000 * MS);
        Played::time(Manner { delay_ns: MS, silent, ..Manner::default() })
    };
    let timeout = Span::from_ms(100);
    let plan = LoadPlan {
        depth: connections(2),
        warmup: Span::from_ns(0),
        operation_timeout: timeout,
        extent: Extent::For(Span::from_ms(1_500)),
        ..plan()
    };
    let outcome = drive_protocol(numbers(), None, &plan, &endpoint, time).unwrap();
    let failures = outcome.recorder.failures();
    assert!(failures.of(FailureKind::TimedOut) >= 10, "{failures:?}");
    assert_eq!(failures.total(), failures.of(FailureKind::TimedOut));
    assert_eq!(outcome.recorder.connect.count(), 1, "the connection went on");
    assert!(outcome.recorder.operations() > 100);
}

#[test]
fn what_was_not_begun_with_fails_in_time_where_no_connection_can_be_made() {
    let mut server = Played::new(Manner { delay_ns: MS, ..Manner::default() });
    let endpoint = server.endpoint.clone();
    let Endpoint::Unix(path) = endpoint.clone() else { panic!("unix") };
    let time = HeldTime::with(move |now| {
        if now > 1_003 * MS {
            let _ = std::fs::remove_file(&path); // nobody comes in any more
        }
        server.step(now)
    });
    let plan = LoadPlan {
        connections: connections(2),
        depth: connections(4),
        operation_timeout: Span::from_ms(100),
        extent: Extent::For(Span::from_ms(200)),
        ..plan()
    };
    let protocol = Numbers { leaves_at: Some(40), ..numbers() };
    let outcome = drive_protocol(protocol, None, &plan, &endpoint, time).unwrap();
    let failures = outcome.recorder.failures();
    assert_eq!(failures.of(FailureKind::TimedOut), 4, "{failures:?}");
    assert_eq!(outcome.ending, Ending::Complete);
}

#[test]
fn a_server_that_begins_with_nothing_is_not_asked_over_ever_new_connections() {
    let (time, endpoint) = Played::time(Manner { delay_ns: MS, ..Manner::default() });
    let plan = LoadPlan {
        depth: connections(4),
        warmup: Span::from_ns(0),
        operation_timeout: Span::from_ms(100),
        extent: Extent::For(Span::from_ms(1_000)),
        ..plan()
    };
    let protocol = Numbers { leaves: true, ..numbers() };
    let recorder = drive_protocol(protocol, None, &plan, &endpoint, time).unwrap().recorder;
    assert_eq!(recorder.operations(), 0);
    assert!(recorder.failures().of(FailureKind::TimedOut) >= 4, "{:?}", recorder.failures());
    // each life takes a millisecond and some, so that there would be hundreds
    assert!(recorder.connect.count() < 40, "{}", recorder.connect.count());
}
