//! Databases that serve one statement at a time, and such that do not.

use super::*;

/// A database whose statement takes `ns` over one connection; over four it takes `last` and comes
/// `carried` times as often, and its own clock has it for `works` of that.
fn database(ns: u64, last: u64, carried: f64, works: Option<[u64; 2]>) -> Vec<CheckupPart> {
    let server = |ns: u64| Estimate {
        mean_ns: i64::try_from(ns).unwrap(),
        half_width_ns: Some(ns / 20),
        count: 100,
    };
    let clock = |at: usize| works.map(|works| (PartKind::Server, server(works[at])));
    let one = CheckupOutcome { attributed: clock(0).into_iter().collect(), ..takes(ns) };
    let many = CheckupOutcome {
        throughput_per_s: carried * one.throughput_per_s,
        attributed: clock(1).into_iter().collect(),
        over_connection: takes(last).median,
        // eight callers share the four: half of what they wait is for a connection
        ..takes(2 * last)
    };
    let pool = CheckupPart { connections: Some(4), ..by(8, statement()) };
    vec![with(statement(), one), with(pool, many)]
}

#[test]
fn a_database_that_serves_one_statement_at_a_time_is_full() {
    let parts = database(7_270 * US, 28_400 * US, 1.04, Some([7_100 * US, 28_190 * US]));
    let said = only(FaultKind::Saturation, parts.clone());
    assert_eq!(
        said,
        "The database db1 does no more over more connections: it serves one at a time, while processors \
         idle. A statement takes 28.4 ms over 4 connections and 7.27 ms over one, at 143/s and 138/s; by its \
         own clock it has one for 28.2 ms then, and for 7.10 ms over one connection, at the mean; its \
         processors were 55 % busy. It costs a user 21.1 ms of 28.4 ms an operation (21.1 ms to 21.1 ms)."
    );
    let next = |parts| checkup(parts).verdict.findings[0].next.clone();
    assert!(next(parts).starts_with("They wait within the database"));
    let before = database(7_270 * US, 28_400 * US, 1.04, Some([7_100 * US, 7_200 * US]));
    assert!(next(before).starts_with("They wait before the database: has a pooler"));
    let untold = database(7_270 * US, 28_400 * US, 1.04, None);
    let said = only(FaultKind::Saturation, untold.clone());
    assert!(!said.contains("clock") && next(untold).starts_with("What do they wait for"), "{said}");
}

#[test]
fn a_database_that_carries_its_connections_has_no_fault_however_long_callers_wait_for_one() {
    for parts in [
        database(7_270 * US, 7_400 * US, 3.9, None),
        database(7_270 * US, 9_400 * US, 3.1, None),
        database(90 * US, 350 * US, 1.0, None), // too short for anybody to notice
    ] {
        let checkup = checkup(parts);
        assert_eq!(kinds(&checkup), [], "{}", checkup.verdict.sentence);
        assert_eq!(checkup.verdict.remarks, []);
    }
}

#[test]
fn processors_that_statements_keep_busy_are_no_lock() {
    let mut parts = database(7_270 * US, 28_400 * US, 1.04, None);
    for outcome in parts.iter_mut().filter_map(|part| part.outcome.as_mut()) {
        outcome.busy_pct = Some(98.0);
    }
    let here = checkup(parts.clone());
    assert_eq!(kinds(&here), []);
    let [remark] = &here.verdict.remarks[..] else { panic!("{:?}", here.verdict.remarks) };
    assert!(remark.text.contains("its processors were the limit (98 % busy)"), "{remark:?}");
    // nobody watches them
    for outcome in parts.iter_mut().filter_map(|part| part.outcome.as_mut()) {
        outcome.server_is_here = false;
    }
    let said = only(FaultKind::Saturation, parts);
    assert!(
        said.contains("connections: statements wait for each other, or its processors are busy."),
        "{said}"
    );
}
