use std::path::Path;

use super::*;
use crate::deliver::Keys;
use crate::spool::{Spool, SpoolLimits, WhenFull};

/// A lane whose spool is in `folder`.
fn lane(folder: &Path) -> Lane {
    let limits = SpoolLimits { messages: 9, bytes: 1 << 20, when_full: WhenFull::Wait };
    let agent = Spool::open(folder).unwrap().agent("line-1", limits).unwrap();
    let target = TargetPlan {
        address: "127.0.0.1:1".into(),
        host: "127.0.0.1".into(),
        authority: "127.0.0.1:1".into(),
        path: "/".into(),
        authorization: None,
        tls: None,
        window: 1,
        ordered: false,
        keys: Keys::Send,
        timeout: Span::from_ms(30_000),
    };
    let (retry, log) = (RetryPlan::default(), Box::new(|_| ()));
    Lane::new(agent, &target, Form::Xml, retry, "line-1", log)
}

fn waiting(id: i64) -> Waiting {
    let (first, body) = (id.unsigned_abs(), bytes::Bytes::new());
    Waiting { id, first, at_ms: 0, attempts: 0, body }
}

/// A lane that holds the message 1 and asks for more.
fn lane_that_asks(folder: &Path) -> (Lane, Message) {
    let mut lane = lane(folder);
    lane.take_in(Taken { messages: vec![waiting(1)], next_due_ms: None });
    let message = lane.ready.pop_front().unwrap();
    assert!(lane.ask(0).is_some());
    (lane, message)
}

fn ready(lane: &Lane) -> Vec<i64> {
    lane.ready.iter().map(|message| message.waiting.id).collect()
}

#[test]
fn an_answer_that_is_older_than_a_delivery_brings_the_message_not_again() {
    let folder = tempfile::tempdir().unwrap();
    let (mut lane, message) = lane_that_asks(folder.path());
    lane.settle(message, (Verdict::Delivered, None));
    lane.take_in(Taken { messages: vec![waiting(1), waiting(2)], next_due_ms: None });
    assert_eq!(ready(&lane), [2]);
    // a later answer knows of it: whatever it brings was put in since
    assert!(lane.ask(0).is_some());
    lane.take_in(Taken { messages: vec![waiting(1)], next_due_ms: None });
    assert_eq!(ready(&lane), [2, 1]);
}

#[test]
fn what_was_read_ahead_is_read_again_when_somebody_deleted_messages() {
    let folder = tempfile::tempdir().unwrap();
    let (mut lane, first) = lane_that_asks(folder.path());
    lane.take_in(Taken { messages: vec![waiting(2), waiting(3)], next_due_ms: None });
    lane.put_back(first);
    assert!(!lane.is_rewound());
    assert_eq!(ready(&lane), [1, 2, 3]);
    lane.spool.news.rewinds.fetch_add(1, Ordering::SeqCst);
    assert!(lane.is_rewound() && !lane.is_rewound());
    assert!(lane.ready.is_empty());
    assert!(lane.ask(0).is_some());
    lane.take_in(Taken { messages: vec![waiting(1), waiting(3)], next_due_ms: None });
    assert_eq!(ready(&lane), [1, 3]);
}

#[test]
fn what_is_due_hides_nothing_that_was_sent_again_with_lower_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let mut lane = lane(folder.path());
    assert!(lane.ask(0).is_some());
    lane.take_in(Taken { messages: vec![waiting(1), waiting(2)], next_due_ms: Some(0) });
    lane.more = false;
    // the one that was put off has a higher number than those that were not read yet
    assert!(lane.ask(0).is_some());
    lane.take_in(Taken { messages: vec![waiting(5_000)], next_due_ms: None });
    assert_eq!((ready(&lane), lane.cursor), (vec![1, 2, 5_000], 2));
}

#[test]
fn an_answer_that_is_older_than_a_failure_hides_not_when_it_is_due() {
    for (told_ms, expected_ms) in [(None, None), (Some(u64::MAX), None), (Some(7), Some(7))] {
        let folder = tempfile::tempdir().unwrap();
        let (mut lane, message) = lane_that_asks(folder.path());
        lane.settle(message, (Verdict::Failed("no room".into()), None));
        let due_ms = lane.next_due_ms;
        assert!(due_ms.is_some());
        lane.take_in(Taken { messages: Vec::new(), next_due_ms: told_ms });
        assert_eq!(lane.next_due_ms, expected_ms.or(due_ms));
        // a later answer knows of it
        lane.more = true;
        assert!(lane.ask(0).is_some());
        lane.take_in(Taken { messages: Vec::new(), next_due_ms: None });
        assert_eq!(lane.next_due_ms, None);
    }
}

#[test]
fn what_is_not_sent_yet_is_waited_for_at_every_moment_around_the_end_of_a_pause() {
    for (now_ns, wait) in [(999, Some(Duration::from_nanos(1))), (1_000, None), (1_001, None)] {
        let folder = tempfile::tempdir().unwrap();
        let mut lane = lane(folder.path());
        lane.ready.push_back(Message { waiting: waiting(1), waited_ns: 0 });
        lane.pause_until_ns = 1_000;
        lane.send_ready(now_ns);
        assert_eq!((lane.sending.len(), lane.pause(now_ns)), (usize::from(wait.is_none()), wait));
    }
}

fn away() -> Verdict {
    Verdict::Away("status 429".into(), Some(Span::from_ms(1_000)))
}

#[test]
fn what_was_under_way_before_cuts_no_retry_after_short() {
    let folder = tempfile::tempdir().unwrap();
    let mut lane = lane(folder.path());
    lane.window = 3;
    for other in [Verdict::Delivered, Verdict::Refused("a".into()), Verdict::Failed("b".into())] {
        let message = |id| Message { waiting: waiting(id), waited_ns: 0 };
        lane.settle(message(1), (away(), None));
        let until_ns = lane.pause_until_ns;
        lane.settle(message(2), (other, None));
        assert_eq!((lane.away, lane.pause_until_ns), (true, until_ns));
        lane.send_ready(until_ns - 1);
        assert_eq!((lane.sending.len(), ready(&lane)), (0, vec![1]));
        // the one that is tried alone after it was asked since
        lane.send_ready(until_ns);
        assert_eq!((lane.sending.len(), ready(&lane)), (1, vec![]));
        lane.settle(message(1), (Verdict::Delivered, None));
        assert_eq!((lane.away, lane.pause_until_ns), (false, 0));
        lane.sending.clear();
    }
}

#[test]
fn a_message_that_has_an_attempt_left_waits_for_all_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (mut lane, mut message) = lane_that_asks(folder.path());
    // each wait of a second uses up two of them
    lane.retry = RetryPlan { times: 3, interval: Span::from_ms(500), lifetime: None };
    for used in [2, 4] {
        lane.settle(message, (away(), None));
        message = lane.ready.pop_front().unwrap();
        assert_eq!(message.waiting.attempts, used);
    }
    lane.settle(message, (away(), None));
    assert!(lane.ready.is_empty() && lane.held.is_empty());
}

#[test]
fn what_was_put_off_by_a_clock_that_was_set_back_is_due_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut lane = lane(folder.path());
    let interval_ms = lane.retry.interval.ns() / 1_000_000;
    lane.next_due_ms = Some(interval_ms + 5);
    let due_by = |now_ms| lane.due_by(now_ms);
    assert_eq!(due_by(interval_ms + 5), Some(interval_ms + 5));
    assert_eq!((due_by(interval_ms + 4), due_by(5)), (None, None), "it waits for its interval");
    assert_eq!(due_by(4), Some(interval_ms + 5), "no clock that runs on says so");
}
