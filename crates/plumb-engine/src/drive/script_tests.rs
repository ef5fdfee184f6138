//! Users that follow scripts, under a clock that stands still: who takes part when, what is due
//! when, and what is counted.

use std::num::NonZeroUsize;
use std::sync::mpsc;

use plumb_measure::user_schedule::{Curve, Spread, UserSchedule};
use plumb_measure::{Answer, FailureKind, Outcome, Recorder, Shape, Span};

use super::{Drive, Ending, Job};
use crate::gate::StartLine;
use crate::outlet::{Message, Outlet};
use crate::plan::tests::plan;
use crate::plan::{Extent, LoadPlan};
use crate::protocol::{After, Next, Op, OpEnd, OperationGroup, Protocol, Step};
use crate::testing::{Lines, MS, Manner, Played};
use crate::{Plain, Stop};

const S: u64 = 1_000 * MS;

/// What each of its users does, again and again.
#[derive(Clone, Debug)]
struct Play {
    acts: Vec<Act>,
    lines: Lines,
    /// Scripts that a user does.
    scripts: usize,
    complete: Vec<OperationGroup>,
    ends: Vec<OpEnd>,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Ask,
    Pause(u64),
    Impossible,
}

#[derive(Debug)]
struct Actor {
    at: usize,
    scripts: usize,
}

impl Play {
    fn of(acts: &[Act]) -> Self {
        let lines = Lines::default();
        let (complete, ends) = (Vec::new(), Vec::new());
        Self { acts: acts.to_vec(), lines, scripts: usize::MAX, complete, ends }
    }

    fn after(&self, actor: &mut Actor) -> After {
        match self.acts.get(actor.at) {
            Some(Act::Ask | Act::Impossible) => After::Go,
            Some(Act::Pause(ns)) => {
                actor.at += 1;
                After::Pause(*ns)
            }
            None => {
                actor.at = 0;
                actor.scripts += 1;
                if actor.scripts >= self.scripts { After::Finish } else { After::Turn }
            }
        }
    }
}

impl Protocol for Play {
    type User = Actor;
    type Wire = ();

    const SCRIPTED: bool = true;

    fn user(&mut self, _: usize) -> Actor {
        Actor { at: 0, scripts: 0 }
    }

    fn encode(&mut self, actor: &mut Actor, (): &mut (), out: &mut Vec<u8>) -> Next {
        match self.acts.get(actor.at) {
            Some(Act::Ask) => self.lines.encode(&mut (), &mut (), out),
            Some(Act::Impossible) => Next::Fail(Op { label: 0, tag: 0 }, FailureKind::NotSent),
            _ => match self.after(actor) {
                After::Pause(ns) => Next::Pause(ns),
                After::Finish => Next::Finish,
                After::Go | After::Wait | After::Turn => Next::Turn,
            },
        }
    }

    fn decode(
        &mut self,
        _: &mut Actor,
        (): &mut (),
        op: Option<Op>,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Step {
        self.lines.decode(&mut (), &mut (), op, bytes, out)
    }

    fn settle(&mut self, actor: &mut Actor, end: &mut OpEnd) -> After {
        self.ends.push(*end);
        let outcome = end.answer.outcome;
        self.complete.push(OperationGroup { row: 0, took_ns: end.took_ns, outcome });
        actor.at += 1;
        self.after(actor)
    }

    fn resume(&mut self, actor: &mut Actor) -> After {
        self.after(actor)
    }

    fn complete(&mut self) -> Option<OperationGroup> {
        self.complete.pop()
    }
}

struct Outcomes {
    recorder: Recorder,
    ending: Ending,
    duration_ns: u64,
    /// Users that took part at the end of each interval.
    users: Vec<u64>,
    ends: Vec<OpEnd>,
}

fn users(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap()
}

fn lasting(n: usize, time: Span) -> LoadPlan {
    LoadPlan { connections: users(n), extent: Extent::For(time), ..plan() }
}

fn drive(
    play: Play,
    plan: &LoadPlan,
    user_schedule: Option<&UserSchedule>,
    manner: Manner,
) -> Outcomes {
    let (time, endpoint) = Played::time(manner);
    plan.check().unwrap();
    let (full, messages) = mpsc::channel();
    let (_empty, refill) = mpsc::channel();
    let outlet = Outlet::new(0, plan.interval.ns(), full, refill);
    let (line, stop) = (StartLine::new(1, None), Stop::new().unwrap());
    let shape = Shape { operations: 1, groups: 1 };
    let job = Job {
        plan,
        user_schedule,
        share: plan.share(0),
        endpoint: &endpoint,
        routes: &[],
        link: &|_, _, _| Plain::default(),
        line: &line,
        stop: &stop,
        shape,
    };
    let driven = Drive::new(job, play, time, outlet).unwrap().run().unwrap();
    let mut played = Outcomes {
        recorder: Recorder::new(shape),
        ending: driven.ending,
        duration_ns: driven.duration_ns,
        users: Vec::new(),
        ends: driven.protocol.ends,
    };
    for message in messages {
        if let Message::Slice(slice) = message {
            played.recorder.merge(&slice.recorder);
            played.users.push(slice.users);
        }
    }
    played
}

#[test]
fn users_that_are_done_end_the_load() {
    let play = Play { scripts: 3, ..Play::of(&[Act::Ask, Act::Ask]) };
    let plan = LoadPlan { connections: users(5), extent: Extent::Users, ..plan() };
    let played = drive(play, &plan, None, Manner { delay_ns: 2 * MS, ..Manner::default() });
    assert_eq!(played.ending, Ending::Complete);
    assert_eq!(played.recorder.operations(), 5 * 3 * 2);
    assert_eq!(played.duration_ns, 3 * 2 * 2 * MS, "the time of the last answer");
    assert_eq!(played.recorder.start_up.count(), 5);
}

#[test]
fn a_load_whose_users_are_done_early_lasts_as_long_as_they_did() {
    let play = Play { scripts: 1, ..Play::of(&[Act::Ask]) };
    let plan = lasting(2, Span::from_ms(60_000));
    let played = drive(play, &plan, None, Manner { delay_ns: 7 * MS, ..Manner::default() });
    assert_eq!((played.recorder.operations(), played.duration_ns), (2, 7 * MS));
}

#[test]
fn what_follows_a_pause_is_due_at_its_end() {
    let play = Play::of(&[Act::Ask, Act::Pause(100 * MS), Act::Ask, Act::Pause(50 * MS)]);
    let plan = lasting(3, Span::from_ms(1_600));
    let played = drive(play, &plan, None, Manner { delay_ns: 5 * MS, ..Manner::default() });
    // 0, 105, 160, 265, ...: two requests in 160 ms, ten times
    assert_eq!(played.recorder.operations(), 3 * 20);
    assert_eq!(played.recorder.rows()[0].response.max(), 5 * MS);
    // each of the 19 pauses, and the beginning
    assert_eq!((played.recorder.lag.count(), played.recorder.lag.max()), (3 * 20, 0));
    assert_eq!(played.duration_ns, 1_600 * MS);
}

#[test]
fn users_begin_at_their_times_and_leave_when_there_are_fewer() {
    let user_schedule =
        UserSchedule::Users(Curve::from(0).then(4 * S, 4.0).then(4 * S, 4.0).then(4 * S, 0.0));
    let plan = lasting(4, Span::from_ms(11_500));
    let play = Play::of(&[Act::Ask, Act::Pause(100 * MS)]);
    let played = drive(play, &plan, Some(&user_schedule), Manner::default());
    assert_eq!(played.users, [1, 2, 3, 4, 4, 4, 4, 4, 4, 3, 2, 1], "at the end of each second");
    assert_eq!(played.recorder.connect.count(), 4);
    assert_eq!((played.recorder.start_up.count(), played.recorder.start_up.max()), (4, 0));
    // they take part for 11.5, 10, 8 and 6 seconds, with ten requests in each
    assert!(played.recorder.operations().abs_diff(355) <= 4, "{}", played.recorder.operations());
}

#[test]
fn a_load_whose_last_user_leaves_with_the_last_stage_lasts_as_long_as_its_stages() {
    // whoever thinks until the end of the stages goes without another request
    let stages = Curve::step(0, 1.0).then(3 * S, 1.0).then(0, 0.0);
    let plan = lasting(1, Span::from_ms(3_000));
    let play = Play::of(&[Act::Ask, Act::Pause(S)]);
    let played = drive(play, &plan, Some(&UserSchedule::Users(stages)), Manner::default());
    assert_eq!((played.recorder.operations(), played.duration_ns), (3, 3 * S));
}

#[test]
fn a_user_comes_back_with_the_next_stage() {
    let user_schedule =
        Curve::step(0, 1.0).then(S + 50 * MS, 1.0).then(0, 0.0).then(S, 0.0).then(0, 1.0);
    let user_schedule = UserSchedule::Users(user_schedule);
    let plan = lasting(1, Span::from_ms(2_900));
    let play = Play::of(&[Act::Ask, Act::Pause(100 * MS)]);
    let played = drive(play, &plan, Some(&user_schedule), Manner::default());
    assert_eq!(played.users, [1, 0, 1]);
    assert_eq!(played.recorder.operations(), 11 + 9);
    assert_eq!(played.recorder.connect.count(), 2, "who is away has no connection");
}

#[test]
fn an_arrival_begins_a_whole_script_on_a_user_that_is_free() {
    let user_schedule = UserSchedule::Arrivals(Curve::step(0, 10.0), Spread::Even);
    let plan = lasting(50, Span::from_ms(1_000));
    let play = Play::of(&[Act::Ask, Act::Pause(20 * MS), Act::Ask]);
    let played =
        drive(play, &plan, Some(&user_schedule), Manner { delay_ns: 5 * MS, ..Manner::default() });
    assert_eq!((played.recorder.operations(), played.recorder.dropped), (20, 0));
    // 30 ms a script, 100 ms between two beginnings: one user does it all
    assert_eq!(played.recorder.connect.count(), 1);
    assert_eq!(played.recorder.rows()[0].response.max(), 5 * MS);
}

#[test]
fn scripts_that_cannot_begin_in_time_are_dropped_and_those_that_begin_late_show_it() {
    let user_schedule = UserSchedule::Arrivals(Curve::step(0, 10.0), Spread::Even);
    let plan =
        LoadPlan { operation_timeout: Span::from_ms(450), ..lasting(1, Span::from_ms(1_000)) };
    let manner = Manner { delay_ns: 200 * MS, ..Manner::default() };
    let played = drive(Play::of(&[Act::Ask]), &plan, Some(&user_schedule), manner);
    let done = played.recorder.operations();
    assert_eq!(done + played.recorder.dropped, 10);
    assert!(played.recorder.dropped > 0);
    let row = &played.recorder.rows()[0];
    assert!(row.response.max() > 400 * MS, "from the due time: {}", row.response.max());
    assert_eq!(row.service.max(), 200 * MS);
    assert!(played.recorder.lag.max() <= MS, "a user that is busy is no lag of the driver");
}

#[test]
fn poisson_arrivals_are_as_many_as_their_draws() {
    let user_schedule = UserSchedule::Arrivals(Curve::step(0, 100.0), Spread::Poisson(3));
    let plan = lasting(100, Span::from_ms(10_000));
    let manner = Manner { delay_ns: MS, ..Manner::default() };
    let played = drive(Play::of(&[Act::Ask]), &plan, Some(&user_schedule), manner);
    let begun = played.recorder.operations() + played.recorder.dropped;
    // 1,000 expected, with a standard deviation of 32
    assert!(begun.abs_diff(1_000) < 190, "{begun}");
    assert_eq!(played.recorder.dropped, 0);
}

#[test]
fn a_rate_that_rises_and_ends() {
    let user_schedule =
        UserSchedule::Arrivals(Curve::from(0).then(10 * S, 20.0).then(0, 0.0), Spread::Even);
    let plan = lasting(10, Span::from_ms(15_000));
    let manner = Manner { delay_ns: MS, ..Manner::default() };
    let played = drive(Play::of(&[Act::Ask]), &plan, Some(&user_schedule), manner);
    assert_eq!((played.recorder.operations(), played.recorder.dropped), (100, 0));
    assert_eq!(played.duration_ns, 15_000 * MS, "a rate of none is part of the plan");
}

#[test]
fn a_connection_that_ends_while_its_user_thinks_is_made_when_it_is_needed() {
    let play = Play::of(&[Act::Ask, Act::Pause(500 * MS)]);
    let closing = Manner { close_after: 1, ..Manner::default() };
    let plan = lasting(1, Span::from_ms(2_000));
    let played = drive(play.clone(), &plan, None, closing);
    assert_eq!((played.recorder.operations(), played.recorder.failures().total()), (4, 0));
    assert_eq!(played.recorder.connect.count(), 4, "not one more to think with");
    assert_eq!(played.ending, Ending::Complete);
    let plan = LoadPlan { extent: Extent::Users, ..plan };
    let played = drive(Play { scripts: 3, ..play }, &plan, None, closing);
    assert_eq!((played.recorder.operations(), played.recorder.connect.count()), (3, 3));
}

#[test]
fn the_user_hears_of_an_answer_that_does_not_come() {
    let play = Play { scripts: 1, ..Play::of(&[Act::Ask, Act::Ask]) };
    let plan = LoadPlan { extent: Extent::Users, operation_timeout: Span::from_ms(50), ..plan() };
    let manner = Manner { silent: (1_000 * MS, 1_030 * MS), ..Manner::default() };
    assert_eq!(drive(play.clone(), &plan, None, manner).recorder.operations(), 2); // late, in time
    let never = Manner { silent: (0, u64::MAX), ..Manner::default() };
    let played = drive(play, &plan, None, never);
    assert_eq!(played.recorder.failures().of(FailureKind::TimedOut), 2);
    let outcomes: Vec<Outcome> = played.ends.iter().map(|end| end.answer.outcome).collect();
    assert_eq!(outcomes, [Outcome::Failed(FailureKind::TimedOut); 2]);
    assert_eq!(played.ends[0].took_ns, 50 * MS);
    assert_eq!(played.recorder.groups()[0].failures.total(), 2);
}

#[test]
fn what_cannot_be_asked_fails_without_spinning() {
    let play = Play::of(&[Act::Impossible]);
    let plan = lasting(1, Span::from_ms(1_000));
    let played = drive(play, &plan, None, Manner::default());
    let failed = played.recorder.failures().of(FailureKind::NotSent);
    assert!((50..=110).contains(&failed), "once in 10 ms: {failed}");
    let empty = drive(Play::of(&[]), &plan, None, Manner::default());
    assert_eq!(empty.recorder.operations(), 0);
    assert!(empty.recorder.passes < 1_000, "{}", empty.recorder.passes);
}

#[test]
fn stretches_stand_beside_the_operations() {
    let play = Play { scripts: 2, ..Play::of(&[Act::Ask]) };
    let plan = LoadPlan { extent: Extent::Users, ..plan() };
    let played = drive(play, &plan, None, Manner { delay_ns: 3 * MS, ..Manner::default() });
    assert_eq!(played.recorder.operations(), 2);
    let group = &played.recorder.groups()[0];
    assert_eq!((group.response.count(), group.response.max()), (2, 3 * MS));
}

#[test]
fn the_warm_up_of_a_script_is_not_recorded() {
    let play = Play::of(&[Act::Ask, Act::Pause(90 * MS)]);
    let plan = LoadPlan { warmup: Span::from_ms(1_000), ..lasting(1, Span::from_ms(1_000)) };
    let played = drive(play, &plan, None, Manner { delay_ns: 10 * MS, ..Manner::default() });
    assert_eq!(played.recorder.operations(), 10);
    assert_eq!(played.duration_ns, 1_000 * MS);
    assert_eq!(played.recorder.start_up.count(), 1, "it began before");
    assert!(played.ends.len() >= 19);
    assert_eq!(played.ends.iter().filter(|end| end.counts).count(), 10);
}

#[test]
fn a_user_that_hangs_from_the_warm_up_on_has_failed() {
    let play = Play::of(&[Act::Ask, Act::Pause(90 * MS)]);
    let lasting = lasting(2, Span::from_ms(1_000));
    let patience = Span::from_ms(3_000);
    let plan = LoadPlan { warmup: Span::from_ms(1_000), operation_timeout: patience, ..lasting };
    let manner = Manner { delay_ns: 10 * MS, silent_from: 11, ..Manner::default() };
    let played = drive(play, &plan, None, manner);
    let failures = played.recorder.failures();
    assert_eq!((failures.total(), failures.of(FailureKind::TimedOut)), (1, 1));
    assert_eq!((played.recorder.operations(), played.duration_ns), (10, 1_000 * MS));
    assert_eq!(played.ending, Ending::Complete);
}

#[test]
fn answers_that_are_wrong_are_told_as_well() {
    let play = Play { scripts: 2, ..Play::of(&[Act::Ask]) };
    let plan = LoadPlan { extent: Extent::Users, ..plan() };
    let played = drive(play, &plan, None, Manner { hang_up_at: 1, ..Manner::default() });
    assert_eq!(played.ends[0].answer, Answer::failed(FailureKind::Closed));
    assert_eq!(played.ends[1].answer.outcome, Outcome::Ok);
}
