//! A primary's side of the stream, frame by frame.

use super::*;

const PLAN: PrimaryPlan = PrimaryPlan {
    without: Without::Stop,
    timeout_ns: 1_000,
    ping_ns: 250,
    backlog_bytes: 100,
    rows: 8,
};

fn hello(primary: &Primary) -> Hello {
    Hello { version: VERSION, rows: 8, id: 1, epoch: primary.epoch, stream: 0, position: 0 }
}

fn received(position: u64, sliced: u64) -> Frame<'static> {
    Frame::Received { position, sliced }
}

/// What is said, as frames, with a snapshot of two slices.
fn said(primary: &mut Primary, now: u64) -> Vec<String> {
    let (mut out, mut at) = (Vec::new(), 0);
    let mut first = true;
    primary.say((now, 3), &mut out, |begins, records| {
        first = begins;
        records.extend_from_slice(b"slice");
        !begins
    });
    let mut frames = Vec::new();
    while let Some((frame, taken)) = Frame::read(&out[at..]).unwrap() {
        frames.push(format!("{frame:?}"));
        at += taken;
    }
    frames
}

fn in_sync(without: Without) -> Primary {
    let mut primary = Primary::new(PrimaryPlan { without, ..PLAN }, 5, 9);
    let hello = hello(&primary);
    assert_eq!(primary.attach(0, &hello, 5), Ok(Attached::Snapshot));
    said(&mut primary, 0);
    said(&mut primary, 0);
    assert!(primary.heard(0, &received(0, 10)));
    assert_eq!(said(&mut primary, 0), ["InSync"]);
    primary
}

#[test]
fn nobody_is_told_of_what_the_replica_lacks() {
    let mut primary = in_sync(Without::Continue);
    primary.seal(1, b"batch".to_vec());
    assert!(primary.tellable() < primary.end());
    assert_eq!(said(&mut primary, 1).len(), 1);
    assert_eq!((primary.lag_bytes(), primary.lags_since()), (5, Some(1)));
    assert!(primary.heard(2, &received(5, 10)));
    assert_eq!((primary.tellable(), primary.lags_since()), (5, None));
    assert!(!primary.heard(2, &received(6, 10)), "it cannot have that");
    assert!(!primary.heard(2, &received(4, 10)), "it had more");
}

#[test]
fn without_a_replica_it_stops_or_goes_on_as_it_was_told() {
    for (without, serves) in [(Without::Stop, false), (Without::Continue, true)] {
        let mut primary = Primary::new(PrimaryPlan { without, ..PLAN }, 5, 9);
        assert_eq!((primary.may_serve(), primary.state()), (serves, State::None));
        primary = in_sync(without);
        assert!(primary.may_serve());
        primary.seal(1, b"batch".to_vec());
        assert!(primary.detach() && !primary.detach());
        assert_eq!((primary.may_serve(), primary.state()), (serves, State::Suspended));
        assert_eq!(primary.tellable() >= primary.end(), serves);
        primary.go_alone();
        assert!(primary.may_serve() && primary.tellable() >= primary.end());
    }
}

#[test]
fn it_is_in_sync_only_with_all_that_was_told_meanwhile() {
    let mut primary = in_sync(Without::Continue);
    primary.detach();
    primary.seal(1, b"alone".to_vec());
    primary.note_told();
    let back = Hello { stream: 9, position: 0, ..hello(&primary) };
    assert_eq!(primary.attach(2, &back, 5), Ok(Attached::GoesOn));
    assert_eq!(primary.state(), State::Joining);
    primary.seal(2, b"more".to_vec());
    assert_eq!(said(&mut primary, 2).len(), 3, "what it missed, and what is new");
    assert!(primary.tellable() < 9, "clients wait again");
    assert!(primary.heard(3, &received(0, 0)) && said(&mut primary, 3).is_empty());
    assert!(primary.heard(3, &received(5, 0)));
    assert_eq!(said(&mut primary, 3), ["InSync"]);
}

#[test]
fn a_replica_that_missed_more_than_is_kept_gets_everything() {
    let mut primary = in_sync(Without::Continue);
    primary.detach();
    for _ in 0..3 {
        primary.seal(1, vec![0; 60]);
        primary.tidy();
    }
    primary.note_told();
    let back = Hello { stream: 9, position: 0, ..hello(&primary) };
    assert_eq!(primary.attach(2, &back, 5), Ok(Attached::Snapshot));
    let frames = said(&mut primary, 2);
    assert!(frames[0].contains("position: 180") && frames.len() == 2, "{frames:?}");
    primary.seal(2, vec![0; 20]);
    said(&mut primary, 2);
    assert!(primary.heard(2, &received(180, 5)));
    assert!(said(&mut primary, 2).is_empty(), "not before it has what came meanwhile");
    assert!(primary.heard(2, &received(200, 10)));
    assert_eq!(said(&mut primary, 2), ["InSync"]);
}

#[test]
fn who_cannot_follow_is_refused_in_one_line() {
    let mut primary = in_sync(Without::Stop);
    let fine = hello(&primary);
    let others = [
        (Hello { version: VERSION + 1, ..fine }, "run the same release"),
        (Hello { rows: 16, ..fine }, "same --table-size"),
        (Hello { epoch: 6, ..fine }, "promote the replica"),
        (Hello { id: 2, ..fine }, "another replica"),
    ];
    for (hello, text) in others {
        let refused = primary.attach(1, &hello, 5).unwrap_err().to_string();
        assert!(refused.contains(text) && !refused.contains('\n'), "{refused}");
        assert_eq!(primary.state(), State::InSync);
    }
    assert_eq!(primary.attach(1, &fine, 5), Ok(Attached::Snapshot), "it is known again");
}

#[test]
fn a_replica_with_locks_that_may_be_missing_here_is_refused() {
    // the epoch of the primary is 5; whatever was given out up to 3, it has
    for (epoch, taken) in [(0, true), (3, true), (4, false), (5, true), (6, false)] {
        let mut primary = Primary::new(PLAN, 5, 9);
        let hello = Hello { epoch, ..hello(&primary) };
        assert_eq!(primary.attach(0, &hello, 3).is_ok(), taken, "{epoch}");
        assert_eq!(primary.streams(), taken, "nothing has changed");
    }
}

#[test]
fn who_is_silent_is_away_and_who_is_there_hears_a_sign() {
    let mut primary = in_sync(Without::Stop);
    assert_eq!(primary.wake_at(), Some(250));
    assert_eq!(said(&mut primary, 250), ["Ping { at: 250 }"]);
    assert!(said(&mut primary, 251).is_empty());
    assert!(!primary.is_overdue(1_000) && primary.is_overdue(1_001));
    primary.heard(900, &received(0, 10));
    assert!(!primary.is_overdue(1_900));
    assert_eq!(primary.answered_ping(), 0, "what it has is no answer to a ping");
    assert!(primary.heard(950, &Frame::Pong { at: 250 }));
    assert_eq!(primary.answered_ping(), 250);
    assert!(!primary.heard(960, &Frame::Pong { at: 251 }), "that was not asked");
    primary.detach();
    assert_eq!(primary.answered_ping(), 0, "an answer counts for its connection alone");
}
