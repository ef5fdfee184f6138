//! What the queue does while nothing fails.

use std::sync::atomic::{AtomicBool, Ordering};

use super::super::super::State;
use super::super::board::Move;
use super::super::column::stored;
use super::super::{claims, lock};
use super::*;

#[test]
fn an_accepted_message_is_there_after_the_queue_was_opened_again() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), HeldClock::new());
    let queue = open(folder.path(), &clock);
    let sent = Message {
        order_key: Some("4711".into()),
        idempotency_key: Some("once".into()),
        ..message("orders", "<a/>")
    };
    let accepted = accept(&queue, sent.clone()).unwrap();
    assert!(!accepted.repeated);
    drop(queue);
    let queue = open(folder.path(), &clock);
    assert_eq!((queue.figures().waiting, queue.figures().waiting_bytes), (1, 4));
    let claimed = claim(&queue, 10);
    assert_eq!(claimed.len(), 1);
    assert_eq!((claimed[0].id, claimed[0].failures), (accepted.id, 0));
    assert_eq!(claimed[0].message, sent);
    assert!(claim(&queue, 10).is_empty(), "it is given out once");
    settle(&queue, accepted.id, Ending::Done);
    assert_eq!(queue.figures().waiting, 0);
    drop(queue);
    assert!(claim(&open(folder.path(), &clock), 10).is_empty());
}

#[test]
fn a_repeated_key_is_answered_as_the_first_was_until_its_time_is_over() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), HeldClock::new());
    let queue = open(folder.path(), &clock);
    let sent = |name| Message { idempotency_key: Some("k".into()), ..message(name, "<a/>") };
    let first = accept(&queue, sent("orders")).unwrap();
    let claimed = claim(&queue, 1);
    settle(&queue, claimed[0].id, Ending::Done);
    clock.pass(23 * 3_600_000);
    let again = accept(&queue, sent("orders")).unwrap();
    assert_eq!((again.id, again.repeated), (first.id, true));
    assert!(!accept(&queue, sent("stocks")).unwrap().repeated, "keys count within a transaction");
    assert_eq!(queue.figures().waiting, 1);
    drop(queue);
    let queue = open(folder.path(), &clock);
    assert!(accept(&queue, sent("orders")).unwrap().repeated);
    clock.pass(3 * 3_600_000);
    flush(&queue);
    assert!(!accept(&queue, sent("orders")).unwrap().repeated);
}

#[test]
fn two_with_one_key_in_one_group_are_one() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), HeldClock::new());
    let queue = open(folder.path(), &clock);
    let sent = || Message { idempotency_key: Some("k".into()), ..message("orders", "<a/>") };
    let all: Vec<_> = (0..50).map(|_| queue.accept(sent())).collect();
    let all: Vec<_> = all.into_iter().map(|one| one.blocking_recv().unwrap().unwrap()).collect();
    assert_eq!(all.iter().filter(|accepted| !accepted.repeated).count(), 1);
    assert!(all.iter().all(|accepted| accepted.id == all[0].id));
    assert_eq!(queue.figures().waiting, 1);
}

#[test]
fn what_is_put_off_on_disk_and_given_out_still_leaves_a_claim_nothing_to_try_again() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), HeldClock::new());
    let queue = open(folder.path(), &clock);
    for body in ["1", "2", "3"] {
        accept(&queue, message("orders", body)).unwrap();
    }
    let claimed = claim(&queue, 3);
    let (now_ms, now_ns) = (clock.wall_ms(), clock.now_ns());
    let mut board = lock(&queue.shared.board);
    let reader = lock(&queue.shared.reader);
    // as the writer leaves it for the moment between its flush and the board
    for one in &claimed {
        let text = "INSERT INTO retry VALUES (?, 1, ?, 0, 1, 'the back end is gone')";
        reader.execute(text, (stored(one.id.0), stored(now_ms))).unwrap();
    }
    board.apply(vec![Move::Rebased]);
    let found = claims::gather(&mut board, &reader, 1, 1, now_ms).unwrap();
    assert!(found.is_empty());
    assert_eq!(board.turn(now_ms, now_ns, 9), None, "the writer has its turn");
    let apply = claimed.iter().map(|one| (one.id.0, now_ms));
    let apply = apply.map(|(id, at_ms)| Move::Again { id, at_ms, due_ms: at_ms });
    board.apply(apply.collect());
    drop((reader, board));
    let again: Vec<_> = (0..3).flat_map(|_| claim(&queue, 1)).collect();
    assert_eq!(bodies(&again), ["1", "2", "3"]);
}

#[test]
fn a_failed_message_comes_again_when_it_is_due_and_not_before() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), HeldClock::new());
    let queue = open(folder.path(), &clock);
    accept(&queue, message("orders", "1")).unwrap();
    accept(&queue, message("orders", "2")).unwrap();
    let first = claim(&queue, 1);
    settle(&queue, first[0].id, again(60_000));
    let second = claim(&queue, 10);
    assert_eq!(bodies(&second), ["2"]);
    clock.pass(59_999);
    assert!(claim(&queue, 10).is_empty());
    drop(queue);
    let queue = open(folder.path(), &clock);
    assert_eq!(bodies(&claim(&queue, 10)), ["2"], "it was given out and never settled");
    clock.pass(1);
    let due = claim(&queue, 10);
    assert_eq!((bodies(&due), due[0].failures), (vec!["1"], 1));
    let seen = queue.find(due[0].id).unwrap().unwrap();
    assert_eq!((seen.state, seen.error.as_deref()), (State::Running, Some("the back end is gone")));
}

#[test]
fn retries_come_in_time_when_the_clock_is_set_back() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), HeldClock::new());
    let queue = open(folder.path(), &clock);
    let before = accept(&queue, message("orders", "1")).unwrap();
    let claimed = claim(&queue, 1);
    settle(&queue, claimed[0].id, again(60_000));
    clock.set_back(24 * 3_600_000);
    assert!(claim(&queue, 10).is_empty());
    flush(&queue);
    assert!(accept(&queue, message("stocks", "2")).unwrap().id > before.id, "ids rise");
    clock.pass(60_000);
    let due = [claim(&queue, 10), claim(&queue, 10)].concat();
    assert!(bodies(&due).contains(&"1"), "{due:?}");
    // and while it is closed
    let due = due.iter().find(|claimed| claimed.failures == 1).unwrap();
    settle(&queue, due.id, again(60_000));
    drop(queue);
    clock.set_back(24 * 3_600_000);
    let queue = open(folder.path(), &clock);
    clock.pass(60_000);
    let due = [claim(&queue, 10), claim(&queue, 10)].concat();
    assert_eq!(due.iter().map(|claimed| claimed.failures).max(), Some(2));
    assert!(accept(&queue, message("stocks", "3")).unwrap().id > before.id);
}

#[test]
fn messages_of_one_key_go_one_at_a_time_and_in_order() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), HeldClock::new());
    let queue = open(folder.path(), &clock);
    for (body, key) in [("a1", "a"), ("a2", "a"), ("b1", "b"), ("a3", "a")] {
        accept(&queue, keyed("orders", body, key)).unwrap();
    }
    let first = claim(&queue, 10);
    assert_eq!(bodies(&first), ["a1", "b1"]);
    settle(&queue, first[0].id, again(1_000));
    assert!(claim(&queue, 10).is_empty(), "the first holds the others while it waits");
    drop(queue);
    let queue = open(folder.path(), &clock);
    assert_eq!(bodies(&claim(&queue, 10)), ["b1"], "also after a restart");
    clock.pass(1_000);
    let first = claim(&queue, 10);
    assert_eq!(bodies(&first), ["a1"]);
    settle(&queue, first[0].id, dead());
    let second = claim(&queue, 10);
    assert_eq!(bodies(&second), ["a2"], "a dead one lets the next go");
    settle(&queue, second[0].id, Ending::Done);
    assert_eq!(bodies(&claim(&queue, 10)), ["a3"]);
}

#[test]
fn a_transaction_that_rests_or_is_slow_leaves_the_others_alone() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), HeldClock::new());
    let few = QueueLimits { given_out_per_transaction: 4, ..limits() };
    let queue = SqliteQueue::open(folder.path(), few, clock.clone()).unwrap();
    for number in 0..20 {
        accept(&queue, message("slow", &number.to_string())).unwrap();
    }
    accept(&queue, message("quick", "q1")).unwrap();
    assert_eq!(bodies(&claim(&queue, 3)), ["0", "1", "2"]);
    assert_eq!(bodies(&claim(&queue, 3)), ["q1"], "whoever has less has its turn");
    assert_eq!(bodies(&claim(&queue, 3)), ["3"], "four are given out at most");
    assert!(claim(&queue, 3).is_empty());
    accept(&queue, message("quick", "q2")).unwrap();
    queue.rest("quick", Span::from_ms(500));
    assert!(claim(&queue, 3).is_empty());
    clock.pass(500);
    assert_eq!(bodies(&claim(&queue, 3)), ["q2"]);
}

#[test]
fn dead_messages_stay_and_can_be_done_again_or_forgotten() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), HeldClock::new());
    let queue = open(folder.path(), &clock);
    for number in 0..4 {
        accept(&queue, message("orders", &number.to_string())).unwrap();
    }
    for claimed in claim(&queue, 4) {
        let kept = kept("all went wrong", 1_000);
        queue.settle(vec![Settled { id: claimed.id, ending: dead(), kept }]).unwrap();
    }
    flush(&queue);
    assert_eq!((queue.figures().failed, queue.figures().waiting), (4, 0));
    clock.pass(2_000);
    flush(&queue);
    drop(queue);
    let queue = open(folder.path(), &clock);
    let failed = Filter { state: Some(State::Failed), most: 10, ..Filter::default() };
    let listed = queue.list(&failed).unwrap();
    assert_eq!(listed.len(), 4, "they outlive their traces");
    assert!(listed.iter().all(|one| one.trace.is_none() && one.failures == 1));
    let newest = Filter { id: Some(listed[0].id), ..failed.clone() };
    assert_eq!(queue.forget(&newest).unwrap(), 1);
    assert_eq!(queue.retry(&Filter { most: 2, ..failed.clone() }).unwrap(), 2);
    assert_eq!((queue.figures().failed, queue.figures().waiting), (1, 2));
    let back = claim(&queue, 10);
    assert_eq!((bodies(&back), back[0].failures), (vec!["0", "1"], 0));
    assert_eq!(queue.forget(&failed).unwrap(), 1);
    assert_eq!(queue.forget(&Filter { most: 10, ..Filter::default() }).unwrap(), 0, "they run");
}

#[test]
fn waiting_messages_can_be_forgotten_and_are_never_given_out() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), HeldClock::new());
    let queue = open(folder.path(), &clock);
    for (body, key) in [("1", "k"), ("2", "k"), ("3", "k")] {
        accept(&queue, keyed("orders", body, key)).unwrap();
    }
    let first = claim(&queue, 1);
    let second = queue.list(&Filter { most: 10, ..Filter::default() }).unwrap()[1].id;
    let filter = Filter { id: Some(second), most: 1, ..Filter::default() };
    assert_eq!(queue.forget(&filter).unwrap(), 1);
    settle(&queue, first[0].id, Ending::Done);
    assert_eq!(bodies(&claim(&queue, 10)), ["3"]);
    assert_eq!(queue.figures().waiting, 1);
}

#[test]
fn what_is_kept_is_listed_by_state_and_goes_when_its_time_is_over() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), HeldClock::new());
    let queue = open(folder.path(), &clock);
    for number in 0..6 {
        accept(&queue, message(["orders", "stocks"][number % 2], &number.to_string())).unwrap();
    }
    let claimed = claim(&queue, 2);
    let done = Settled { id: claimed[0].id, ending: Ending::Done, kept: kept("it went", 5_000) };
    queue.settle(vec![done]).unwrap();
    let id = queue.next_id();
    let noted = Settled { id, ending: dead(), kept: kept("at once", 6_000) };
    queue.note(message("sync", "<s/>"), noted).unwrap();
    flush(&queue);
    let count = |state| {
        let filter = Filter { state: Some(state), most: 10, ..Filter::default() };
        queue.list(&filter).unwrap().len()
    };
    let counts = [State::Waiting, State::Running, State::Done, State::Failed].map(count);
    assert_eq!(counts, [4, 1, 1, 1]);
    assert_eq!(queue.figures().failed, 0, "that one was never in the queue");
    let seen = queue.find(claimed[0].id).unwrap().unwrap();
    assert_eq!(
        (seen.state, seen.trace.as_deref(), &*seen.message.body),
        (State::Done, Some("it went"), &b"0"[..])
    );
    let stocks = Filter { transaction: Some("stocks".into()), most: 10, ..Filter::default() };
    let listed = queue.list(&stocks).unwrap();
    assert_eq!(listed.len(), 3);
    assert!(listed.windows(2).all(|pair| pair[0].id > pair[1].id), "the newest first");
    let next = Filter { before: Some(listed[0].id), most: 1, ..stocks };
    assert_eq!(queue.list(&next).unwrap()[0].id, listed[1].id);
    clock.pass(7_000);
    flush(&queue);
    assert_eq!((count(State::Done), count(State::Failed)), (0, 0));
}

#[test]
fn a_full_queue_refuses_and_takes_again_when_something_is_done() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), HeldClock::new());
    let few = QueueLimits { messages: 2, ..limits() };
    let queue = SqliteQueue::open(folder.path(), few, clock.clone()).unwrap();
    accept(&queue, message("orders", "1")).unwrap();
    accept(&queue, message("orders", "2")).unwrap();
    let full = QueueError::Full { waiting: 2, bytes: 2 };
    assert_eq!(accept(&queue, message("orders", "3")), Err(full));
    let claimed = claim(&queue, 1);
    settle(&queue, claimed[0].id, Ending::Done);
    accept(&queue, message("orders", "3")).unwrap();
}

#[test]
fn retries_that_meet_the_limit_say_so() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), HeldClock::new());
    let few = QueueLimits { messages: 2, ..limits() };
    retries_meet_the_limit(&SqliteQueue::open(folder.path(), few, clock).unwrap());
}

#[test]
fn who_waits_for_a_message_is_woken_by_one_and_by_the_end() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), HeldClock::new());
    let queue = Arc::new(open(folder.path(), &clock));
    let waiter = || {
        let queue = Arc::clone(&queue);
        std::thread::spawn(move || queue.claim(1, Duration::from_secs(3_600)))
    };
    let first = waiter();
    accept(&*queue, message("orders", "1")).unwrap();
    assert_eq!(bodies(&first.join().unwrap().unwrap()), ["1"]);
    let second = waiter();
    queue.close();
    assert_eq!(second.join().unwrap().unwrap_err(), QueueError::Closed);
    assert_eq!(accept(&*queue, message("orders", "2")), Err(QueueError::Closed));
}

#[test]
fn the_log_is_moved_into_the_database_again_and_again() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), HeldClock::new());
    let queue = open(folder.path(), &clock);
    let body = "x".repeat(30_000);
    (0..200).for_each(|_| {
        accept(&queue, message("orders", &body)).unwrap();
    });
    let figures = queue.figures();
    assert!(figures.log_max_bytes >= 256 << 10, "{figures:?}");
    let log = std::fs::metadata(folder.path().join("queue.db-wal")).unwrap().len();
    assert!(log < 1 << 20, "{log}");
    assert_eq!((figures.accepted, figures.waiting), (200, 200));
    assert!(figures.flushes >= 200 && figures.flush_max_ns >= figures.flush_p50_ns);
}

#[test]
fn any_number_is_retried_and_dropped_and_the_log_of_it_stays_small() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), HeldClock::new());
    let queue = open(folder.path(), &clock);
    let send = |name: &str, count: usize, body: &str| {
        let answers = (0..count).map(|_| queue.accept(message(name, body))).collect::<Vec<_>>();
        for answer in answers {
            answer.blocking_recv().unwrap().unwrap();
        }
    };
    let fail_all = || {
        while let claimed @ [_, ..] = &claim(&queue, 100)[..] {
            let ended =
                claimed.iter().map(|one| Settled { id: one.id, ending: dead(), kept: None });
            queue.settle(ended.collect()).unwrap();
            flush(&queue);
        }
    };
    send("orders", 600, "x");
    send("pictures", 100, &"x".repeat(50_000));
    fail_all();
    let all = Filter { most: usize::MAX, ..Filter::default() };
    let orders = Filter { transaction: Some("orders".into()), ..all.clone() };
    assert_eq!(queue.retry(&Filter { most: 300, ..orders.clone() }).unwrap(), 300);
    let before =
        queue.list(&Filter { state: Some(State::Waiting), most: 400, ..Filter::default() });
    let before = before.unwrap().iter().map(|one| one.id).max();
    assert_eq!(
        queue.retry(&Filter { before, ..orders.clone() }).unwrap(),
        0,
        "they are the oldest"
    );
    assert_eq!(queue.retry(&all).unwrap(), 400);
    assert_eq!((queue.figures().waiting, queue.figures().failed), (700, 0));
    fail_all();
    assert_eq!(queue.retry(&orders).unwrap(), 600);
    assert_eq!(queue.forget(&Filter { most: 90, ..all.clone() }).unwrap(), 90);
    assert_eq!(queue.forget(&orders).unwrap(), 600);
    assert_eq!(queue.forget(&all).unwrap(), 10);
    assert_eq!((queue.figures().waiting, queue.figures().failed), (0, 0));
    // 256 KiB and a group or a slice more, where 100 pictures are 5 MB
    assert!(queue.figures().log_max_bytes < 3 << 20, "{:?}", queue.figures());
}

#[test]
fn what_is_accepted_while_others_are_dropped_is_not_meant() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), HeldClock::new());
    let (shared, mut writer) = SqliteQueue::prepared(folder.path(), 0, limits(), clock).unwrap();
    let (seen, mut late) = (Arc::clone(&shared), None);
    let begun = Arc::new(AtomicBool::new(false));
    let drops = Arc::clone(&begun);
    writer.hook.set(move |_| {
        // some of the first transaction are dropped, the second was not begun with
        let few = lock(&seen.intake.inbox).waiting().0 <= 400;
        if drops.load(Ordering::SeqCst) && few && late.is_none() {
            late = Some(seen.intake.accept(message("invoices", "late")));
        }
    });
    let queue = SqliteQueue::begun((shared, writer), folder.path()).unwrap();
    let names = std::iter::repeat_n("orders", 600).chain(["invoices"]);
    let answers = names.map(|name| queue.accept(message(name, "x"))).collect::<Vec<_>>();
    answers.into_iter().for_each(|answer| assert!(answer.blocking_recv().unwrap().is_ok()));
    begun.store(true, Ordering::SeqCst);
    let all = Filter { state: Some(State::Waiting), most: usize::MAX, ..Filter::default() };
    assert_eq!(queue.forget(&all).unwrap(), 601);
    assert_eq!(bodies(&claim(&queue, 10)), ["late"]);
}

#[test]
fn what_did_not_come_through_the_queue_is_dropped_after_a_crash() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), HeldClock::new());
    let queue = open(folder.path(), &clock);
    let settled = Settled { id: queue.next_id(), ending: dead(), kept: kept("trace", 60_000) };
    queue.note(message("orders", "x"), settled).unwrap();
    flush(&queue);
    let copy = tempfile::tempdir().unwrap();
    for name in ["queue.db", "queue.db-wal"] {
        std::fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
    }
    let crashed = open(copy.path(), &clock);
    let all = Filter { most: usize::MAX, ..Filter::default() };
    assert_eq!(crashed.forget(&all).unwrap(), 1);
    assert_eq!(crashed.list(&Filter { most: 10, ..all }).unwrap().len(), 0);
}

#[test]
fn a_queue_keeps_its_id_and_no_other_has_it() {
    let clock = HeldClock::new();
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let id = |folder: &Path| open(folder, &clock).id();
    let first = id(one.path());
    assert_eq!(id(one.path()), first);
    assert_ne!(id(other.path()), first);
    // a file that has none gets one
    let file = rusqlite::Connection::open(one.path().join("queue.db")).unwrap();
    assert_eq!(file.execute("DELETE FROM number WHERE name = 'queue'", []), Ok(1));
    file.close().unwrap();
    let second = id(one.path());
    assert_ne!(second, first);
    assert_eq!(id(one.path()), second);
}
