//! The loop under a clock that stands still: what happens is counted and ordered, never timed.

mod boundary;
mod streams;

use std::num::NonZeroUsize;
use std::sync::{Arc, mpsc};

use plumb_measure::{FailureKind, Rate, Recorder, Span};
use plumb_socket::HeldTime;

use super::{Drive, Ending, Job};
use crate::gate::{Gate, StartLine};
use crate::outlet::{Message, Outlet};
use crate::plan::tests::plan;
use crate::plan::{Extent, LoadPlan, Pace};
use crate::protocol::Protocol;
use crate::testing::{Lines, MS, Manner, Played};
use crate::{Endpoint, EngineError, Plain, Stop};

struct Outcome {
    recorder: Recorder,
    ending: Ending,
    began_ns: u64,
    duration_ns: u64,
    intervals: u64,
}

fn drive(plan: &LoadPlan, manner: Manner) -> Outcome {
    let (time, endpoint) = Played::time(manner);
    drive_against(plan, &endpoint, time).unwrap()
}

fn drive_against(
    plan: &LoadPlan,
    endpoint: &Endpoint,
    time: HeldTime,
) -> Result<Outcome, EngineError> {
    drive_behind(None, plan, endpoint, time)
}

fn drive_behind(
    gate: Option<&Gate>,
    plan: &LoadPlan,
    endpoint: &Endpoint,
    time: HeldTime,
) -> Result<Outcome, EngineError> {
    drive_protocol(Lines::default(), gate, plan, endpoint, time)
}

fn drive_protocol<P: Protocol>(
    protocol: P,
    gate: Option<&Gate>,
    plan: &LoadPlan,
    endpoint: &Endpoint,
    time: HeldTime,
) -> Result<Outcome, EngineError> {
    drive_from(&StartLine::new(1, gate), protocol, plan, endpoint, time)
}

fn drive_from<P: Protocol>(
    line: &StartLine<'_>,
    protocol: P,
    plan: &LoadPlan,
    endpoint: &Endpoint,
    time: HeldTime,
) -> Result<Outcome, EngineError> {
    plan.check()?;
    let (full, messages) = mpsc::channel();
    let (_empty, refill) = mpsc::channel();
    let outlet = Outlet::new(0, plan.interval.ns(), full, refill);
    let stop = Stop::new().unwrap();
    let job = Job {
        plan,
        share: plan.share(0),
        endpoint,
        routes: &[],
        link: &|_, _, _| Plain::default(),
        line,
        stop: &stop,
        user_schedule: None,
        shape: 1.into(),
    };
    let driven = Drive::new(job, protocol, time, outlet)?.run()?;
    let mut outcome = Outcome {
        recorder: Recorder::new(1),
        ending: driven.ending,
        began_ns: driven.began_ns,
        duration_ns: driven.duration_ns,
        intervals: 0,
    };
    for message in messages {
        if let Message::Slice(slice) = message {
            outcome.recorder.merge(&slice.recorder);
            outcome.intervals += 1;
        }
    }
    Ok(outcome)
}

#[test]
fn a_load_behind_a_gate_begins_at_the_time_it_is_opened_for() {
    let plan = LoadPlan { warmup: Span::from_ms(20), ..plan() };
    let (time, endpoint) = Played::time(Manner { delay_ns: MS, ..Manner::default() });
    let opens = time.now() + 250 * MS + 77;
    let gate = Gate::closed();
    gate.open_at(opens);
    let outcome = drive_behind(Some(&gate), &plan, &endpoint, time).unwrap();
    assert_eq!(outcome.began_ns, opens + 20 * MS, "the warm-up first");
    assert_eq!((outcome.ending, outcome.recorder.operations()), (Ending::Complete, 100));
    assert!(gate.is_waited_for());
}

#[test]
fn behind_a_gate_that_failed_nothing_is_asked() {
    let (time, endpoint) = Played::time(Manner::default());
    let gate = Gate::closed();
    gate.fail("the controller is gone");
    let outcome = drive_behind(Some(&gate), &plan(), &endpoint, time).unwrap();
    assert_eq!((outcome.ending, outcome.recorder.bytes_sent), (Ending::Interrupted, 0));
}

#[test]
fn what_a_thread_begins_at_the_start_counts_when_another_saw_it_later() {
    let mut server = Played::new(Manner { delay_ns: MS, ..Manner::default() });
    let (endpoint, line) = (server.endpoint.clone(), Arc::new(StartLine::new(2, None)));
    let (of_another, mut there) = (Arc::clone(&line), false);
    let time = HeldTime::with(move |now| {
        if now >= 1_003 * MS && !std::mem::replace(&mut there, true) {
            of_another.arrive(); // this thread did long ago
            assert_eq!(of_another.start(now + 77), Some(now + 77));
        }
        server.step(now)
    });
    let plan = LoadPlan { extent: Extent::For(Span::from_ns(9 * MS + 1)), ..plan() };
    let outcome = drive_from(&line, Lines::default(), &plan, &endpoint, time).unwrap();
    assert_eq!(outcome.recorder.operations(), 10);
}

fn connections(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap()
}

fn rate(per_s: &str) -> Pace {
    Pace::Rate(per_s.parse::<Rate>().unwrap())
}

/// Milliseconds to histogram precision.
fn about(ns: u64, ms: u64) -> bool {
    ns.abs_diff(ms * MS) <= ms * MS / 500
}

#[test]
fn every_operation_takes_as_long_as_the_server_does() {
    let outcome = drive(&plan(), Manner { delay_ns: 3 * MS, ..Manner::default() });
    let row = &outcome.recorder.rows()[0];
    assert_eq!(outcome.ending, Ending::Complete);
    assert_eq!(outcome.recorder.operations(), 100);
    assert_eq!((row.service.min(), row.service.max()), (3 * MS, 3 * MS));
    assert_eq!(row.response, row.service);
    assert_eq!(outcome.duration_ns, 300 * MS);
    assert!(outcome.recorder.lag.is_empty());
}

#[test]
fn a_fixed_delay_lies_between_answer_and_request() {
    let plan = LoadPlan { pace: Pace::Delay(Span::from_ms(5)), ..plan() };
    let outcome = drive(&plan, Manner { delay_ns: MS, ..Manner::default() });
    assert_eq!(outcome.recorder.operations(), 100);
    assert_eq!(outcome.duration_ns, (99 * 6 + 1) * MS);
    assert_eq!(outcome.recorder.rows()[0].response.max(), MS);
    assert_eq!((outcome.recorder.lag.count(), outcome.recorder.lag.max()), (99, 0));
}

#[test]
fn a_stall_is_seen_by_all_work_that_was_due_in_it() {
    let plan = LoadPlan {
        pace: rate("1000/s"),
        extent: Extent::For(Span::from_ms(1_000)),
        connections: connections(4),
        ..plan()
    };
    // silent from 400 ms to 600 ms after the start
    let manner = Manner { silent: (1_400 * MS, 1_600 * MS), ..Manner::default() };
    let outcome = drive(&plan, manner);
    let row = &outcome.recorder.rows()[0];
    assert_eq!((outcome.recorder.operations(), outcome.recorder.dropped), (1_000, 0));
    assert_eq!(row.response.max(), 200 * MS);
    assert!(about(row.response.quantile(0.9), 100), "{}", row.response.quantile(0.9));
    // seen from the send, all but the four that were under way look fast
    assert_eq!(row.service.count_at_or_below(MS), 996);
    assert_eq!(outcome.duration_ns, 1_000 * MS);
}

#[test]
fn work_that_cannot_begin_in_time_is_dropped_and_counted() {
    let plan = LoadPlan {
        pace: rate("100/s"),
        extent: Extent::For(Span::from_ms(1_000)),
        operation_timeout: Span::from_ms(200),
        ..plan()
    };
    let manner = Manner { silent: (0, 100_000 * MS), ..Manner::default() };
    let outcome = drive(&plan, manner);
    let timed_out = outcome.recorder.failures().of(FailureKind::TimedOut);
    assert_eq!(outcome.recorder.operations(), 0);
    assert!(timed_out >= 5, "{timed_out}");
    assert_eq!(timed_out + outcome.recorder.dropped, 100);
}

#[test]
fn an_answer_that_does_not_come_times_out_and_the_connection_is_made_anew() {
    let plan =
        LoadPlan { extent: Extent::Count(3), operation_timeout: Span::from_ms(50), ..plan() };
    let manner = Manner { silent: (1_000 * MS, 1_010 * MS), delay_ns: 0, ..Manner::default() };
    assert_eq!(drive(&plan, manner).recorder.operations(), 3); // late, but in time
    let never = Manner { silent: (0, u64::MAX), ..Manner::default() };
    let outcome = drive(&plan, never);
    assert_eq!(outcome.recorder.failures().of(FailureKind::TimedOut), 3);
    assert_eq!(outcome.recorder.connect.count(), 3); // one for each attempt
}

#[test]
fn a_server_that_closes_after_each_answer_loses_nothing() {
    let outcome = drive(&plan(), Manner { close_after: 1, ..Manner::default() });
    assert_eq!(outcome.recorder.operations(), 100);
    assert_eq!(outcome.recorder.failures().total(), 0);
    assert!(outcome.recorder.connect.count() >= 100);
    assert!(outcome.recorder.quiet_closes >= 99);
}

#[test]
fn an_answer_that_comes_twice_is_a_failure_and_no_end_of_a_connection() {
    let outcome = drive(&plan(), Manner { twice_every: 10, ..Manner::default() });
    let recorder = &outcome.recorder;
    assert_eq!((recorder.operations(), recorder.quiet_closes), (100, 0));
    assert_eq!(recorder.failures().of(FailureKind::Unasked), recorder.failures().total());
    assert_eq!(recorder.unasked, 10);
}

#[test]
fn a_connection_closed_instead_of_an_answer_is_a_failure_and_the_load_goes_on() {
    let plan = LoadPlan { connections: connections(2), ..plan() };
    let outcome = drive(&plan, Manner { hang_up_at: 50, ..Manner::default() });
    assert_eq!(outcome.recorder.failures().of(FailureKind::Closed), 1);
    assert_eq!(outcome.recorder.operations(), 99);
    assert_eq!(outcome.ending, Ending::Complete);
}

#[test]
fn while_a_server_closes_every_connection_all_that_is_due_fails_there() {
    let manner = Manner { delay_ns: MS, hangs_up: (3_000 * MS, 5_000 * MS), ..Manner::default() };
    let plan = LoadPlan { pace: rate("20/s"), extent: Extent::Count(160), ..plan() };
    let recorder = drive(&plan, manner).recorder;
    assert_eq!((recorder.operations(), recorder.failures().of(FailureKind::Closed)), (120, 40));
    assert_eq!(recorder.rows()[0].response.max(), MS, "nobody waited for the next try");
    let closed = drive(
        &LoadPlan { pace: Pace::AsFast, extent: Extent::Count(100), ..plan },
        Manner { hangs_up: (0, u64::MAX), ..manner },
    );
    assert_eq!(closed.recorder.failures().of(FailureKind::Closed), 100);
    assert_eq!(closed.recorder.connect.count(), 100);
}

#[test]
fn answers_of_single_bytes_are_put_together() {
    for depth in [1, 4] {
        let plan = LoadPlan { depth: connections(depth), ..plan() };
        let outcome = drive(&plan, Manner { piece: 1, ..Manner::default() });
        assert_eq!(outcome.recorder.operations(), 100, "depth {depth}");
        assert_eq!(outcome.recorder.failures().total(), 0);
    }
}

#[test]
fn depth_keeps_so_many_operations_under_way() {
    let plan = LoadPlan { depth: connections(4), ..plan() };
    let outcome = drive(&plan, Manner { delay_ns: 10 * MS, ..Manner::default() });
    assert_eq!(outcome.recorder.operations(), 100);
    assert_eq!(outcome.duration_ns, 250 * MS);
}

#[test]
fn the_warm_up_is_driven_and_not_recorded() {
    let plan = LoadPlan { warmup: Span::from_ms(35), ..plan() };
    let outcome = drive(&plan, Manner { delay_ns: 10 * MS, ..Manner::default() });
    assert_eq!(outcome.recorder.operations(), 100);
    assert_eq!(outcome.recorder.connect.count(), 1);
    // the operation that began within the warm-up and ended behind it is left out
    assert_eq!(outcome.duration_ns, 1_005 * MS);
}

#[test]
fn intervals_divide_the_run() {
    let plan = LoadPlan {
        extent: Extent::For(Span::from_ms(2_500)),
        interval: Span::from_ms(1_000),
        ..plan()
    };
    let outcome = drive(&plan, Manner { delay_ns: 10 * MS, ..Manner::default() });
    assert_eq!((outcome.intervals, outcome.recorder.operations()), (3, 250));
}

#[test]
fn with_nobody_to_connect_to_there_is_an_error_and_no_record() {
    let time = HeldTime::with(|_| None);
    let endpoint = Endpoint::Unix("/nonexistent/socket".into());
    let error = drive_against(&plan(), &endpoint, time).err().unwrap().to_string();
    assert!(error.contains("cannot connect to unix:/nonexistent/socket"), "{error}");
}

#[test]
fn a_connect_that_hangs_times_out() {
    use rustix::net::{AddressFamily, SocketType, bind, connect, getsockname, listen, socket};
    // a listener whose queue is full drops further attempts without an answer
    let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let full = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&full, &any).unwrap();
    listen(&full, 0).unwrap();
    let address = getsockname(&full).unwrap().try_into().unwrap();
    let waiting: Vec<_> = (0..1)
        .map(|_| {
            let one = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
            connect(&one, &address).unwrap();
            one
        })
        .collect();
    let time = HeldTime::with(|_| None);
    let begun = time.now();
    let result = drive_against(&plan(), &Endpoint::Tcp(address), time.clone());
    let error = result.err().unwrap().to_string();
    assert!(error.contains("no answer within 5s"), "{error}");
    assert_eq!(time.now() - begun, 5_000 * MS);
    drop(waiting);
}

#[test]
fn a_target_that_is_gone_ends_the_run_with_its_record() {
    let mut played = Some(Played::new(Manner { hang_up_at: 50, ..Manner::default() }));
    let endpoint = played.as_ref().map(|server| server.endpoint.clone()).unwrap();
    let mut answered = 0;
    let time = HeldTime::with(move |now| {
        let wants = played.as_mut().and_then(|server| server.step(now));
        answered = played.as_ref().map_or(answered, Played::answers);
        if answered >= 50 {
            played = None;
        }
        wants
    });
    let outcome = drive_against(&plan(), &endpoint, time).unwrap();
    assert_eq!(outcome.ending, Ending::GaveUp);
    assert_eq!(outcome.recorder.operations(), 49);
    assert_eq!(outcome.recorder.failures().of(FailureKind::Closed), 1);
    assert!(outcome.recorder.connect_failures.total() > 1);
}

#[test]
fn an_outage_is_not_told_much_longer_than_it_was() {
    let outage_ns = 2_000 * MS;
    let mut played = Played::new(Manner { delay_ns: MS, hang_up_at: 50, ..Manner::default() });
    let endpoint = played.endpoint.clone();
    let Endpoint::Unix(path) = &endpoint else { unreachable!("a played server has a path") };
    let (path, away) = (path.clone(), path.with_extension("away"));
    let mut back_at = None;
    let time = HeldTime::with(move |now| {
        let wants = played.step(now);
        if back_at.is_none() && played.answers() >= 50 {
            std::fs::rename(&path, &away).unwrap(); // nobody finds it there
            back_at = Some(now + outage_ns);
        }
        let back = back_at.filter(|at| *at > now);
        if back_at.is_some() && back.is_none() && away.exists() {
            std::fs::rename(&away, &path).unwrap();
        }
        [wants, back].into_iter().flatten().min()
    });
    let plan = LoadPlan { pace: rate("100/s"), extent: Extent::Count(300), ..plan() };
    let outcome = drive_against(&plan, &endpoint, time).unwrap();
    assert_eq!((outcome.recorder.operations(), outcome.ending), (299, Ending::Complete));
    let longest_ns = outcome.recorder.rows()[0].response.max();
    let told = outage_ns - 20 * MS..=outage_ns + 110 * MS;
    assert!(told.contains(&longest_ns), "{longest_ns}");
}

#[test]
fn a_connection_that_ends_is_made_to_the_next_of_several_servers() {
    let (mut one, mut two) = (
        Played::new(Manner { close_after: 3, ..Manner::default() }),
        Played::new(Manner::default()),
    );
    let (endpoint, standby) = (one.endpoint.clone(), two.endpoint.clone());
    let answers = std::rc::Rc::new(std::cell::Cell::new((0, 0)));
    let seen = std::rc::Rc::clone(&answers);
    let time = HeldTime::with(move |now| {
        let next = [one.step(now), two.step(now)].into_iter().flatten().min();
        seen.set((one.answers(), two.answers()));
        next
    });
    let plan = LoadPlan { extent: Extent::Count(10), standbys: vec![standby], ..plan() };
    let outcome = drive_against(&plan, &endpoint, time).unwrap();
    assert_eq!(outcome.recorder.operations(), 10);
    let (first, second) = answers.get();
    assert_eq!(first, 3, "and no more after it had hung up");
    assert!(second >= 7, "{second}");
}

#[test]
fn a_fixed_delay_follows_an_operation_that_failed_too() {
    let plan = LoadPlan { pace: Pace::Delay(Span::from_ms(5)), ..plan() };
    let manner = Manner { delay_ns: MS, hang_up_at: 50, ..Manner::default() };
    let outcome = drive(&plan, manner);
    let failures = outcome.recorder.failures();
    assert_eq!((outcome.recorder.operations(), failures.of(FailureKind::Closed)), (99, 1));
    assert_eq!(outcome.duration_ns, (99 * 6 + 1) * MS);
    assert_eq!((outcome.recorder.lag.count(), outcome.recorder.lag.max()), (99, 0));
}

#[test]
fn a_request_that_cannot_be_made_is_a_failure_and_nothing_of_it_is_sent() {
    let lines = Lines::faltering(10);
    for pace in [Pace::AsFast, rate("1000/s")] {
        let plan = LoadPlan { pace, connections: connections(4), ..plan() };
        let (time, endpoint) = Played::time(Manner { delay_ns: MS, ..Manner::default() });
        let outcome = drive_protocol(lines, None, &plan, &endpoint, time).unwrap();
        let failures = outcome.recorder.failures();
        assert_eq!((failures.total(), failures.of(FailureKind::NotSent)), (10, 10), "{pace:?}");
        assert_eq!((outcome.recorder.operations(), outcome.recorder.dropped), (90, 0), "{pace:?}");
        assert_eq!(outcome.ending, Ending::Complete);
    }
}
