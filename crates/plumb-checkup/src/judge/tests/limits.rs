//! Servers that nobody waited long enough for, that a quota or other programs hold back, and what can
//! therefore not be told.

use super::*;

/// What is left of a part of which no answer ended in `seconds`.
fn silent(seconds: u64) -> CheckupOutcome {
    let outcome = CheckupOutcome { duration_ns: seconds * 1_000 * MS, ..CheckupOutcome::default() };
    let text = "no operation ended in the time that was measured: measure longer (--for)";
    against(outcome, FindingKind::NoOperations, Scope::Everything, text)
}

#[test]
fn what_did_not_end_in_time_is_slow_and_has_not_failed() {
    let mut parts = landscape(45, 1_900);
    parts[3].outcome = Some(silent(2));
    parts.push(with(by(2, list()), silent(2)));
    let said = only(FaultKind::Slow, parts.clone());
    assert!(
        said.starts_with(
            "The application server takes long, or something before its port does: of a flight list \
             (one user), no answer ended within the 2.00 s that were measured. Not finished: the \
             application server is not judged."
        ),
        "{said}"
    );
    let next = &checkup(parts.clone()).verdict.findings[0].next;
    assert!(next.starts_with("How long it takes, a longer --for tells. Look at"), "{next}");
    // nothing is slower: it goes before what was timed, of the server and of all
    parts[2].outcome = Some(takes(300 * MS));
    parts.push(with(statement(), attributed(50 * MS, 30 * US)));
    let both = checkup(parts.clone());
    assert_eq!(kinds(&both), [FaultKind::Slow; 2]);
    assert_eq!(both.verdict.findings[0].operation.as_deref(), Some("a flight list"));
    // what failed, or was turned away, was answered
    parts.truncate(4);
    for (failed, more) in [(3, FindingKind::Failures), (0, FindingKind::Refused)] {
        let outcome = CheckupOutcome { failed, ..silent(2) };
        parts[3].outcome = Some(against(outcome, more, Scope::Nothing, "3 of 3"));
        let found = kinds(&checkup(parts.clone()));
        assert!(found.contains(&FaultKind::Failures), "{found:?}");
    }
}

#[test]
fn several_users_without_an_answer_are_named_where_one_had_some() {
    let mut parts = landscape(45, 69_000);
    parts.push(with(by(2, list()), silent(1)));
    let said = only(FaultKind::Slow, parts);
    assert!(
        said.contains("of a flight list (2 users), no answer ended within the 1.00 s"),
        "{said}"
    );
}

#[test]
fn a_clock_that_was_read_too_seldom_is_no_server_that_tells_nothing() {
    let mut times = Histogram::new();
    (0..3).for_each(|_| times.record(1_217 * MS));
    let time = |ms: i64, count| Estimate { mean_ns: ms * 1_000_000, half_width_ns: None, count };
    let server = TimePart { kind: PartKind::Server, time: time(1_202, 1), how: String::new() };
    let outcome = CheckupOutcome {
        operations: 5,
        service_ns: Distribution::of(&times),
        attribution: Some(Attribution { parts: vec![server], ..Attribution::default() }),
        ..takes(1_217 * MS)
    };
    let mut parts = landscape(45, 1_900);
    parts.push(with(statement(), outcome));
    let checkup = checkup(parts.clone());
    let said = &checkup.verdict.sentence;
    assert!(
        said.contains(
            "explains; its own clock was read only 1 time, too few to tell; only 3 were measured."
        ),
        "{said}"
    );
    let why = checkup.verdict.layers.iter().find_map(|layer| layer.why.as_deref());
    assert_eq!(
        why,
        Some("of a statement there are 3: too few for a median; give more time (--for)"),
        "two of the five were looked into"
    );
}

#[test]
fn whoever_does_not_know_who_asks_is_told_so_by_the_file() {
    let refused = |code: &str| {
        let outcome = CheckupOutcome {
            failed: 900,
            unexpected_codes: [(code.to_owned(), 900)].into(),
            ..CheckupOutcome::default()
        };
        let text = "every answer had a status that was not expected";
        against(outcome, FindingKind::UnexpectedStatus, Scope::Everything, text)
    };
    let next = |part: CheckupPart, code| {
        let found = checkup(vec![with(part, refused(code))]);
        assert_eq!(kinds(&found), [FaultKind::Failures]);
        found.verdict.findings[0].next.clone()
    };
    let said = next(list(), "401");
    assert!(said.contains("credentials in [http]") && said.contains("PLUMB_HTTP_USER"), "{said}");
    assert!(next(list(), "500").starts_with("Its log says why"));
    let order = part(CheckupLayer::Messages, "integration runtime", "an order");
    let said = next(order, "401");
    assert!(said.contains("[flow]") && said.contains("PLUMB_FLOW_PASSWORD"), "{said}");
}

/// A quota of 0.04 processors that was used up in `held_back` of 203 periods.
fn quota(held_back: u64) -> CpuQuota {
    let held_back_ns = held_back * 57 * MS;
    let throttled = Some(CpuThrottled { periods: 203, held_back, held_back_ns });
    CpuQuota { processors: 0.04, with_client: false, throttled }
}

#[test]
fn a_server_that_its_quota_holds_back_has_a_fault() {
    let throttled = |held_back| CheckupOutcome {
        operations: 18_847,
        mean_ns: Some(289 * US),
        quota: Some(quota(held_back)),
        ..takes(19_600)
    };
    let mut parts = landscape(45, 1_900);
    parts[0].outcome = Some(throttled(82));
    let said = only(FaultKind::Quota, parts.clone());
    assert_eq!(
        said,
        "A control group holds the server at the end of the network back: its quota of 0.04 \
         processors was used up in 82 of 203 periods (4.67 s without a processor). A round trip (one \
         user) takes 289 us at the mean and 19.6 us at the median. It costs a user 248 us of 289 us \
         an operation (194 us to 289 us)."
    );
    // a period now and then, a quota that nobody counts, and none
    for outcome in [
        throttled(9),
        CheckupOutcome { quota: Some(CpuQuota { throttled: None, ..quota(0) }), ..throttled(82) },
        CheckupOutcome { quota: None, ..throttled(82) },
    ] {
        parts[0].outcome = Some(outcome);
        assert_eq!(kinds(&checkup(parts.clone())), []);
    }
}

#[test]
fn a_quota_that_many_users_use_up_is_no_pool() {
    let mut parts = ladder(5 * MS, 1, 20.0, true);
    let last = parts.last_mut().unwrap().outcome.as_mut().unwrap();
    last.quota = Some(quota(190));
    let said = only(FaultKind::Quota, parts);
    assert!(
        said.contains("190 of 203 periods") && said.contains("A flight list (10 users)"),
        "{said}"
    );
}

#[test]
fn processors_that_others_keep_busy_leave_open_whether_a_pool_is_full() {
    let mut parts = ladder(5 * MS, 2, 99.0, false);
    for outcome in parts.iter_mut().filter_map(|part| part.outcome.as_mut()) {
        outcome.foreign_pct = Some(95.0);
    }
    let open = checkup(parts.clone());
    assert_eq!(kinds(&open), []);
    assert_eq!((open.has_findings(), open.is_unanswered()), (false, true));
    let [remark] = &open.verdict.remarks[..] else { panic!("{:?}", open.verdict.remarks) };
    assert!(
        remark.text.starts_with(
            "with many users the processors were 99 % busy, 95 % by others: a flight list takes 25.0 \
             ms with 10 users"
        ),
        "{remark:?}"
    );
    let said = &open.verdict.sentence;
    let start =
        "No fault was found, but whether the application server is full cannot be told; most";
    assert!(said.starts_with(start), "{said}");
    assert_eq!(Checkup::from_json(&open.to_json()).unwrap(), open);
    // beside a fault it is said, too
    parts[1].outcome = Some(takes(20 * MS));
    let said = only(FaultKind::Slow, parts.clone());
    assert!(said.ends_with("Whether the application server is full cannot be told."), "{said}");
    // little of others leaves the limit what it was
    for outcome in parts.iter_mut().filter_map(|part| part.outcome.as_mut()) {
        outcome.foreign_pct = Some(9.0);
    }
    let busy = checkup(parts);
    assert!(busy.verdict.remarks[0].text.contains("its processors were the limit (99 % busy)"));
}
