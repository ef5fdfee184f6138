//! Users with several connections, under a clock that stands still.

use std::sync::mpsc;

use plumb_measure::{Answer, FailureKind, Recorder, Shape, Span};
use plumb_socket::HeldTime;

use super::{Drive, Ending, Job};
use crate::gate::StartLine;
use crate::outlet::{Message, Outlet};
use crate::plan::tests::plan;
use crate::plan::{Extent, LoadPlan};
use crate::protocol::{After, Next, Op, OpEnd, Protocol, Step};
use crate::testing::{Lines, MS, Manner, Played};
use crate::{Destination, Endpoint, Plain, Stop};

/// Asks over each of these routes in turn, each list of them at once, and is done.
#[derive(Clone, Debug)]
struct Visitor {
    turns: &'static [&'static [u16]],
    pause_ns: u64,
    lines: Lines,
    ends: Vec<(u16, Option<FailureKind>, u64)>,
}

#[derive(Debug, Default)]
struct Visit {
    turn: usize,
    sent: usize,
    under_way: usize,
}

impl Visitor {
    fn of(turns: &'static [&'static [u16]]) -> Self {
        Self { turns, pause_ns: 0, lines: Lines::default(), ends: Vec::new() }
    }
}

impl Protocol for Visitor {
    type User = Visit;
    type Wire = ();

    const SCRIPTED: bool = true;

    fn user(&mut self, _: usize) -> Visit {
        Visit::default()
    }

    fn encode(&mut self, visit: &mut Visit, (): &mut (), out: &mut Vec<u8>) -> Next {
        let Some(turn) = self.turns.get(visit.turn) else { return Next::Finish };
        let Some(route) = turn.get(visit.sent).copied() else { return Next::Wait };
        let Next::Send(op) = self.lines.encode(&mut (), &mut (), out) else { return Next::Finish };
        visit.sent += 1;
        visit.under_way += 1;
        let op = Op { label: route, ..op };
        Next::SendOver { route, op, more: visit.sent < turn.len() }
    }

    fn decode(
        &mut self,
        _: &mut Visit,
        (): &mut (),
        op: Option<Op>,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Step {
        self.lines.decode(&mut (), &mut (), op, bytes, out)
    }

    fn settle(&mut self, visit: &mut Visit, end: &mut OpEnd) -> After {
        let failed = Answer::failed;
        let kind =
            FailureKind::ALL.into_iter().find(|it| failed(*it).outcome == end.answer.outcome);
        self.ends.push((end.op.label, kind, end.response_ns));
        visit.under_way -= 1;
        if visit.under_way > 0 || visit.sent < self.turns[visit.turn].len() {
            return if visit.under_way > 0 { After::Wait } else { After::Go };
        }
        (visit.turn, visit.sent) = (visit.turn + 1, 0);
        match visit.turn == self.turns.len() {
            true => After::Finish,
            false if self.pause_ns > 0 => After::Pause(self.pause_ns),
            false => After::Go,
        }
    }

    fn resume(&mut self, visit: &mut Visit) -> After {
        if visit.under_way > 0 { After::Wait } else { After::Go }
    }
}

struct Seen {
    recorder: Recorder,
    ending: Ending,
    ends: Vec<(u16, Option<FailureKind>, u64)>,
    answers: [usize; 2],
}

/// Drives one user between two servers, the second of which may not be there.
fn visit(visitor: Visitor, manners: [Manner; 2], second_is_there: bool) -> Seen {
    use std::cell::RefCell;
    use std::rc::Rc;
    let servers = Rc::new(RefCell::new(manners.map(Played::new)));
    let [first, second] = {
        let servers = servers.borrow();
        [servers[0].endpoint.clone(), servers[1].endpoint.clone()]
    };
    let second = if second_is_there { second } else { Endpoint::Unix("/nowhere/at/all".into()) };
    let played = Rc::clone(&servers);
    let time = HeldTime::with(move |now| {
        let mut servers = played.borrow_mut();
        servers.iter_mut().filter_map(|server| server.step(now)).min()
    });
    let plan = LoadPlan { extent: Extent::Users, connect_timeout: Span::from_ms(1_000), ..plan() };
    let (full, messages) = mpsc::channel();
    let (_empty, refill) = mpsc::channel();
    let outlet = Outlet::new(0, plan.interval.ns(), full, refill);
    let (line, stop) = (StartLine::new(1, None), Stop::new().unwrap());
    let shape = Shape { operations: 2, groups: 0 };
    let routes = [Destination::One(first.clone()), Destination::One(second)];
    let job = Job {
        plan: &plan,
        user_schedule: None,
        share: plan.share(0),
        endpoint: &first,
        routes: &routes,
        link: &|_, _, _| Plain::default(),
        line: &line,
        stop: &stop,
        shape,
    };
    let driven = Drive::new(job, visitor, time, outlet).unwrap().run().unwrap();
    let mut recorder = Recorder::new(shape);
    for message in messages {
        if let Message::Slice(slice) = message {
            recorder.merge(&slice.recorder);
        }
    }
    let answers = {
        let servers = servers.borrow();
        [servers[0].answers(), servers[1].answers()]
    };
    Seen { recorder, ending: driven.ending, ends: driven.protocol.ends, answers }
}

fn slow(delay_ns: u64) -> Manner {
    Manner { delay_ns, ..Manner::default() }
}

#[test]
fn a_user_keeps_a_connection_to_each_server() {
    let visitor = Visitor::of(&[&[0], &[1], &[0], &[1], &[1]]);
    let seen = visit(visitor, [slow(2 * MS), slow(3 * MS)], true);
    assert_eq!((seen.ending, seen.answers), (Ending::Complete, [2, 3]));
    assert_eq!(seen.recorder.connect.count(), 2, "one for each server, made once");
    let ok = |route, ms| (route, None, ms * MS);
    assert_eq!(seen.ends, [ok(0, 2), ok(1, 3), ok(0, 2), ok(1, 3), ok(1, 3)]);
    let rows = seen.recorder.rows();
    assert_eq!((rows[0].response.count(), rows[1].response.count()), (2, 3));
    assert_eq!(seen.recorder.failures().total(), 0);
}

#[test]
fn a_server_that_ends_every_connection_is_connected_to_again() {
    let ends = Manner { close_after: 1, ..Manner::default() };
    let visitor = Visitor { pause_ns: 5 * MS, ..Visitor::of(&[&[1], &[0], &[1], &[0], &[1]]) };
    let seen = visit(visitor, [ends, ends], true);
    assert_eq!((seen.ending, seen.answers), (Ending::Complete, [2, 3]));
    assert_eq!(seen.recorder.failures().total(), 0);
    assert_eq!(seen.ends.len(), 5);
}

#[test]
fn a_connection_that_ends_while_its_user_waits_elsewhere_asks_for_nothing() {
    // the first server answers and closes at once, the second takes its time
    let ends = Manner { close_after: 1, ..Manner::default() };
    let visitor = Visitor::of(&[&[0], &[1], &[0]]);
    let seen = visit(visitor, [ends, slow(50 * MS)], true);
    assert_eq!((seen.ending, seen.answers), (Ending::Complete, [2, 1]));
    assert_eq!(seen.ends.iter().map(|end| end.0).collect::<Vec<_>>(), [0, 1, 0]);
}

#[test]
fn several_at_once_take_as_long_as_the_last() {
    let visitor = Visitor::of(&[&[0], &[0, 0, 1, 0], &[0]]);
    let seen = visit(visitor, [slow(2 * MS), slow(7 * MS)], true);
    assert_eq!((seen.ending, seen.answers), (Ending::Complete, [5, 1]));
    let took: Vec<_> = seen.ends.iter().map(|(route, _, ns)| (*route, ns / MS)).collect();
    assert_eq!(took, [(0, 2), (0, 2), (0, 2), (0, 2), (1, 7), (0, 2)]);
    assert_eq!(seen.recorder.connect.count(), 4, "three to the first server, one to the second");
}

#[test]
fn what_cannot_be_connected_to_fails_alone() {
    let visitor = Visitor::of(&[&[0], &[1], &[0], &[1], &[0]]);
    let seen = visit(visitor, [slow(MS), slow(MS)], false);
    assert_eq!((seen.ending, seen.answers), (Ending::Complete, [3, 0]));
    let failed = (1, Some(FailureKind::ConnectFailed), 0);
    let ok = (0, None, MS);
    assert_eq!(seen.ends, [ok, failed, ok, failed, ok]);
    assert_eq!(seen.recorder.failures().total(), 2, "each is one failure, of its operation");
    assert_eq!(seen.recorder.connect_failures.total(), 0);
}

#[test]
fn an_answer_that_does_not_come_fails_what_waits_for_it() {
    let hangs = Manner { silent: (0, u64::MAX), ..Manner::default() };
    let visitor = Visitor::of(&[&[0], &[1], &[0]]);
    let seen = visit(visitor, [slow(MS), hangs], true);
    assert_eq!((seen.ending, seen.answers), (Ending::Complete, [2, 0]));
    assert_eq!(seen.ends[1].1, Some(FailureKind::TimedOut));
    assert_eq!(seen.ends.len(), 3);
}

#[test]
fn a_connection_whose_end_came_with_the_answer_is_not_asked_again() {
    let once = Manner { close_after: 1, ..slow(MS) };
    let seen = visit(Visitor::of(&[&[1], &[1], &[1]]), [slow(MS), once], true);
    assert_eq!((seen.ending, seen.answers), (Ending::Complete, [0, 3]));
    assert!(seen.recorder.failures().is_empty(), "{:?}", seen.recorder.failures());
}
