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
        attribution: Some(Attribution {
            client: time(1_217, 3),
            parts: vec![server],
            ..Attribution::default()
        }),
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
fn why_a_server_does_not_tell_how_long_it_works_is_said_as_it_is() {
    let time = |ms: i64, count| Estimate {
        mean_ns: ms * 1_000_000,
        half_width_ns: Some(1_000_000),
        count,
    };
    let outcome = |whole, own, same_operations| {
        let server = TimePart { kind: PartKind::Server, time: time(own, 45), how: String::new() };
        let attribution = Attribution {
            client: time(whole, 300),
            parts: vec![server],
            same_operations,
            ..Attribution::default()
        };
        CheckupOutcome { attribution: Some(attribution), ..takes(300 * MS) }
    };
    for (part, outcome, why) in [
        (
            statement(),
            outcome(300, 420, false),
            "its own time is not known: the parts were measured on other operations and add up to more \
             than the whole, 420 ms of 300 ms",
        ),
        (list(), outcome(300, 100, true), "it reports its time with some answers only"),
        (list(), takes(300 * MS), "it reports no times of its own"),
    ] {
        let mut parts = landscape(45, 1_900);
        parts.push(with(CheckupPart { server: "other".into(), ..part }, outcome));
        let said = only(FaultKind::Slow, parts);
        assert!(said.contains(&format!("; {why}.")), "{said}");
        assert!(!said.contains("clock was read"), "{said}");
    }
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
    let throttled =
        Some(CpuThrottled { periods: 203, held_back, held_back_ns, ..CpuThrottled::default() });
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
         processors was used up in 82 of 203 periods (4.67 s without a processor, added up \
         over all processors). A round trip (one user) takes 289 us at the mean and 19.6 us at the median. It costs a user 248 us of 289 us \
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
    // everybody waits for the next period, the operation at the median, too
    assert_eq!(
        only(FaultKind::Quota, parts.clone()),
        "A control group holds the application server back: its quota of 0.04 processors was used up \
         in 190 of 203 periods (10.8 s without a processor, added up over all processors). A flight list \
         (10 users) takes 50.0 ms at the mean and 50.0 ms at the median. What that costs is not known, for \
         half of the operations or more may have waited: it is ranked by its share of the periods, 94 % of \
         that mean (46.8 ms)."
    );
    assert_eq!(checkup(parts.clone()).verdict.findings[0].cost, None);
    // what is surely less comes behind it, what is surely more before
    parts[1].outcome = Some(takes(46 * MS));
    assert_eq!(kinds(&checkup(parts.clone())), [FaultKind::Quota, FaultKind::Slow]);
    parts[1].outcome = Some(takes(48 * MS));
    assert_eq!(kinds(&checkup(parts)), [FaultKind::Slow, FaultKind::Quota]);
}

#[test]
fn the_quota_that_is_named_is_that_of_the_group_that_held_back() {
    let throttled = CpuThrottled {
        processors: Some(0.5),
        with_client: Some(false),
        ..quota(82).throttled.unwrap()
    };
    // a listener and its worker in groups of their own, which leave 2.5 together
    let of_both = CpuQuota { processors: 2.5, with_client: true, throttled: Some(throttled) };
    let outcome = CheckupOutcome {
        operations: 18_847,
        mean_ns: Some(289 * US),
        quota: Some(of_both),
        ..takes(19_600)
    };
    let mut parts = landscape(45, 1_900);
    parts[0].outcome = Some(outcome);
    let said = only(FaultKind::Quota, parts);
    assert!(said.contains("back: its quota of 0.50 processors was used up in 82 of 203"), "{said}");
    // such as an exporter in a group of its own, which no answer waits for
    let needs = " All groups of its processes leave 2.50 together: whether an answer needs those";
    assert!(said.contains(needs), "{said}");
}

#[test]
fn periods_that_hold_many_processors_back_cost_what_operations_waited() {
    // 80 of 1,000 operations waited 50 ms each, with four processors held back meanwhile
    let held_back_ns = 80 * 4 * 50 * MS;
    let throttled =
        Some(CpuThrottled { periods: 200, held_back: 80, held_back_ns, ..CpuThrottled::default() });
    let outcome = CheckupOutcome {
        mean_ns: Some(4_021 * US),
        quota: Some(CpuQuota { processors: 2.0, with_client: false, throttled }),
        ..takes(21 * US)
    };
    let mut parts = landscape(45, 1_900);
    parts[0].outcome = Some(outcome);
    assert_eq!(checkup(parts).verdict.findings[0].cost.unwrap().ns, 4 * MS);
}

#[test]
fn a_pool_that_the_server_reports_is_full_beside_a_quota_that_is_used_up_now_and_then() {
    let mut parts = ladder(5 * MS, 1, 20.0, true);
    let last = parts.last_mut().unwrap().outcome.as_mut().unwrap();
    last.quota = Some(quota(11));
    let both = checkup(parts);
    assert_eq!(kinds(&both), [FaultKind::Pool, FaultKind::Quota]);
    assert!(both.verdict.sentence.contains("is full: it serves one at a time"));
}

#[test]
fn a_quota_that_the_load_uses_up_with_its_server_is_a_limit_of_the_measurement() {
    let shared = |processors, held_back| {
        let quota = CpuQuota { processors, with_client: true, ..quota(held_back) };
        Some(quota)
    };
    let mut parts = ladder(5 * MS, 8, 20.0, true);
    let count = parts.len();
    for part in &mut parts[count - 3..] {
        let held_back = if part.users == 10 { 60 } else { 0 };
        part.outcome.as_mut().unwrap().quota = shared(1.0, held_back);
    }
    let found = checkup(parts.clone());
    assert_eq!((kinds(&found), found.has_findings()), (vec![], false));
    let [remark] = &found.verdict.remarks[..] else { panic!("{:?}", found.verdict.remarks) };
    assert!(
        remark.text.ends_with(
            "cpu.max). With 10 users it was used up in 60 of 203 periods: what the application server \
             does for many with a quota of its own is not known from here."
        ),
        "{remark:?}"
    );
    // one user alone is no load
    parts[count - 3].outcome.as_mut().unwrap().quota = shared(1.0, 60);
    let said = only(FaultKind::Quota, parts);
    assert!(
        said.contains("its quota of 1 processor, which this tool shares, was used up in 60"),
        "{said}"
    );
}

#[test]
fn what_a_quota_explains_is_no_wait_of_which_nobody_knows() {
    let mut parts = landscape(45, 1_900);
    let waited = Some(Waited { operations: 20, excess_ns: 20 * 300 * MS });
    let mean_ns = Some(6_045 * US);
    let waits = CheckupOutcome { waited, mean_ns, ..takes(45 * US) };
    parts[1].outcome = Some(waits.clone());
    let named = |parts| checkup(parts).verdict.remarks.iter().any(|it| it.name == "waits");
    assert!(named(parts.clone()));
    parts[1].outcome = Some(CheckupOutcome { quota: Some(quota(82)), ..waits });
    assert_eq!(kinds(&checkup(parts.clone())), [FaultKind::Quota]);
    assert!(!named(parts));
}

#[test]
fn a_quota_that_only_many_use_up_explains_no_wait_of_one_user() {
    let mut parts = ladder(5 * MS, 8, 20.0, true);
    let count = parts.len();
    let last = parts[count - 1].outcome.as_mut().unwrap();
    last.quota = Some(quota(60));
    let one = parts[count - 3].outcome.as_mut().unwrap();
    one.quota = Some(quota(0));
    one.waited = Some(Waited { operations: 6, excess_ns: 6 * 500 * MS });
    one.mean_ns = Some(8 * MS);
    let found = checkup(parts);
    assert_eq!(kinds(&found), [FaultKind::Quota]);
    let names = found.verdict.remarks.iter().map(|it| it.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["waits"]);
}

#[test]
fn a_stream_that_brings_nothing_fails() {
    let mut parts = landscape(45, 1_900);
    let text = "no byte arrived";
    let stream = |duration_ns| {
        let outcome =
            CheckupOutcome { bits_per_s: Some(0.0), duration_ns, ..CheckupOutcome::default() };
        against(outcome, FindingKind::NoOperations, Scope::Everything, text)
    };
    for duration_ns in [0, 2_000 * MS] {
        parts.truncate(4);
        let part = part(CheckupLayer::Network, "network", "a stream");
        parts.push(with(CheckupPart { role: PartRole::WhereOffered, ..part }, stream(duration_ns)));
        let said = only(FaultKind::Failures, parts.clone());
        assert!(said.starts_with("The network fails: of a stream (one user), no byte"), "{said}");
    }
    // of what was not even tried as long as a slow page takes, nobody knows that it is slow
    parts.truncate(4);
    parts.push(with(by(2, list()), silent(0)));
    only(FaultKind::Failures, parts);
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
    assert!(busy.verdict.remarks[0].text.contains("the limit (99 % busy, 9 % by others)"));
}

#[test]
fn a_pool_that_is_full_says_who_keeps_its_processors_busy() {
    let mut parts = ladder(5 * MS, 2, 99.0, true);
    for outcome in parts.iter_mut().filter_map(|part| part.outcome.as_mut()) {
        outcome.foreign_pct = Some(97.0);
    }
    let said = only(FaultKind::Pool, parts.clone());
    assert!(said.contains("its processors were 99 % busy, 97 % by others."), "{said}");
    let next = |parts| checkup(parts).verdict.findings[0].next.clone();
    assert!(next(parts.clone()).ends_with("without them its processors idle."));
    // so little is usual; of another machine what others took is not known
    for (foreign, here) in [(4.0, true), (97.0, false)] {
        for outcome in parts.iter_mut().filter_map(|part| part.outcome.as_mut()) {
            outcome.foreign_pct = Some(foreign);
            (outcome.server_is_here, outcome.far_busy_pct) = (here, Some(99.0));
        }
        let said = only(FaultKind::Pool, parts.clone());
        assert!(said.contains("its processors were 99 % busy."), "{said}");
        assert!(next(parts.clone()).ends_with("stop where the rate grows no more."));
    }
}
