use plumb_engine::{LoadResult, Waiting, load};
use plumb_measure::Span;

use super::*;
use crate::DbError;

const MS: u64 = 1_000_000;
/// When the load begins.
const BEGAN: u64 = 1_000 * MS;
/// When its warm-up of 100 ms is over.
const FROM: u64 = 1_100 * MS;

/// A load of one call a millisecond for 1 s, behind its warm-up.
fn plan() -> LoadPlan {
    LoadPlan {
        pace: Pace::Rate("1000/s".parse().unwrap()),
        extent: Extent::For(Span::from_ms(1_000)),
        warmup: Span::from_ms(100),
        waiting: Waiting::Epoll,
        interval: Span::from_ms(60_000),
        ..LoadPlan::lone(1, Span::from_ms(1_000))
    }
}

/// What is recorded of `plan` when its ledger has seen `work`, which says when the load stopped, and then
/// is closed.
fn stopped(
    plan: &LoadPlan,
    work: impl FnOnce(&mut Ledger) -> Option<u64> + Send,
) -> LoadResult<()> {
    let driven = load::run_with::<DbError>(plan, &mut [], 1, |outlet| {
        let mut ledger = Ledger::new(plan, BEGAN, outlet, Arc::default(), Arc::default());
        let stopped_ns = work(&mut ledger);
        Ok(ledger.close(stopped_ns).driven())
    });
    driven.unwrap()
}

/// The same of a load that came to its end.
fn recorded(plan: &LoadPlan, work: impl FnOnce(&mut Ledger) + Send) -> LoadResult<()> {
    stopped(plan, |ledger| {
        work(ledger);
        None
    })
}

/// A call that was due and taken up at `due`, and was answered 1 ms later.
fn answered(ledger: &mut Ledger, due: u64) {
    ledger.begin(due);
    let call = Call { due, taken: due, sent: due, opened: None };
    ledger.answered(&call, due + MS, due + MS, 1);
}

#[test]
fn calls_that_are_dropped_before_the_first_recorded_one_count() {
    let came = recorded(&plan(), |ledger| {
        answered(ledger, BEGAN);
        // all callers were held up from the warm-up on
        let due = ledger.claim(FROM + 50 * MS, 10 * MS).unwrap();
        assert_eq!(due, FROM + 41 * MS);
        answered(ledger, due);
    });
    assert_eq!((came.recorder.dropped, came.recorder.operations()), (41, 1));
    assert_eq!(came.warm_up_operations, 1);
}

#[test]
fn calls_that_are_looked_into_are_told_with_the_others() {
    let came = recorded(&plan(), |ledger| {
        for due in [FROM - MS, FROM, FROM + MS] {
            let call = Call { due, taken: due, sent: due, opened: None };
            ledger.begin(due);
            ledger.observed(&call, Seen::Wire(7), due + MS);
        }
        answered(ledger, FROM + 2 * MS);
    });
    assert_eq!((came.recorder.observed(), came.recorder.operations()), (2, 1));
    assert_eq!(came.warm_up_operations, 1);
}

#[test]
fn connections_that_fail_before_the_first_recorded_call_count() {
    let came = recorded(&plan(), |ledger| {
        let patience = 1_000 * MS;
        for now in [FROM - MS, FROM, FROM + MS] {
            let why = || format!("at {now}");
            assert!(!ledger.not_connected(FailureKind::ConnectRefused, why, now, patience));
        }
        assert_eq!(ledger.found.complaints.connection, Some(format!("at {FROM}")));
        answered(ledger, FROM + 2 * MS);
    });
    let failures = &came.recorder.connect_failures;
    assert_eq!(failures.total(), 2, "that of the warm-up does not: {failures:?}");
}

#[test]
fn the_lag_of_the_first_recorded_call_counts() {
    let came = recorded(&plan(), |ledger| {
        ledger.lag(FROM - MS, FROM);
        ledger.lag(FROM, FROM + 3 * MS);
        answered(ledger, FROM);
    });
    assert_eq!(came.recorder.lag.count(), 1);
}

#[test]
fn calls_that_were_due_when_the_load_stopped_are_dropped() {
    let at = |now: u64| {
        let came = stopped(&plan(), |ledger| {
            let due = ledger.claim(BEGAN, MS).unwrap();
            answered(ledger, due);
            Some(now)
        });
        (came.recorder.dropped, came.duration_ns / MS)
    };
    assert_eq!(at(FROM - 50 * MS), (0, 0), "the warm-up counts nothing");
    assert_eq!(at(FROM + 5 * MS), (6, 5));
    assert_eq!(at(FROM + 5_000 * MS), (1_000, 1_000), "none is due behind the end");
    let waiting = stopped(&plan(), |ledger| {
        for now in [FROM, FROM + MS, FROM + 2 * MS] {
            let due = ledger.claim(now, 0).unwrap();
            ledger.begin(due);
            ledger.waits(due);
        }
        ledger.waited(FROM); // it has been sent
        Some(FROM + 2 * MS)
    });
    assert_eq!(waiting.recorder.dropped, 2, "those that wait for a connection have not begun");
    let counted = LoadPlan { extent: Extent::Count(3), ..plan() };
    let came = stopped(&counted, |_| Some(FROM + 5 * MS));
    assert_eq!(came.recorder.dropped, 3);
}

#[test]
fn calls_of_the_warm_up_that_have_no_answer_are_recorded_and_make_it_no_longer() {
    let end = FROM + 1_000 * MS;
    let of_the_warm_up = Call { due: FROM - MS, taken: FROM - MS, sent: FROM - MS, opened: None };
    let came = recorded(&plan(), |ledger| {
        ledger.begin(of_the_warm_up.due);
        ledger.failed(&of_the_warm_up, FailureKind::TimedOut, || None, FROM - 1);
        answered(ledger, FROM + 5 * MS);
        ledger.answered(&of_the_warm_up, end - 1, end - 1, 1);
        ledger.failed(&of_the_warm_up, FailureKind::Refused, || None, end - 1);
        ledger.failed(&of_the_warm_up, FailureKind::TimedOut, || None, end + 300 * MS);
        ledger.answered(&of_the_warm_up, end + 500 * MS, end + 500 * MS, 1);
        ledger.observed(&of_the_warm_up, Seen::Wire(7), end + 600 * MS);
    });
    assert_eq!(came.recorder.failures().of(FailureKind::TimedOut), 1);
    assert_eq!((came.recorder.operations(), came.recorder.observed()), (1, 0));
    assert_eq!((came.warm_up_operations, came.duration_ns), (5, 1_000 * MS));
    assert_eq!(came.recorder.outlasting, 2, "the last two");
    let counted = LoadPlan { extent: Extent::Count(1), ..plan() };
    let came = recorded(&counted, |ledger| {
        answered(ledger, FROM + 5 * MS);
        ledger.failed(&of_the_warm_up, FailureKind::Closed, || None, end);
        ledger.answered(&of_the_warm_up, end, end, 1);
    });
    assert_eq!((came.recorder.operations(), came.recorder.failures().total()), (1, 1));
    assert_eq!((came.duration_ns, came.recorder.outlasting), (6 * MS, 1));
}

#[test]
fn the_first_failure_of_each_kind_is_told() {
    recorded(&plan(), |ledger| {
        for (due, why) in [(FROM - 2 * MS, "warm-up"), (FROM, "first"), (FROM + MS, "second")] {
            ledger.begin(due);
            let call = Call { due, taken: due, sent: due, opened: None };
            ledger.failed(&call, FailureKind::Refused, || Some(why.into()), due + MS);
        }
        let told = &ledger.found.complaints.calls;
        assert_eq!(*told, [(FailureKind::Refused, "first".into())].into());
    });
}
