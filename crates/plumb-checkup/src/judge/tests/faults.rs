//! Each fault by itself, and what looks like one.

use super::*;

#[test]
fn a_server_with_one_work_process_is_a_full_pool() {
    let said = only(FaultKind::Pool, ladder(5 * MS + 500 * US, 1, 55.0, true));
    assert_eq!(
        said,
        "The application server is full: it serves one at a time. A flight list takes 55.0 ms with \
         10 users and 5.50 ms with one, at 182/s and 182/s; of 55.0 ms at the mean the server \
         reports 49.5 ms as queueing; its processors were 55 % busy. It costs a user 49.5 ms of \
         55.0 ms an operation (49.5 ms to 49.5 ms)."
    );
    // what the server reports is believed, however busy the machine is
    only(FaultKind::Pool, ladder(5 * MS, 1, 99.0, true));
    // without a report it is full while processors idle
    let said = only(FaultKind::Pool, ladder(5 * MS, 2, 55.0, false));
    assert!(said.contains("it serves about 2 at a time"), "{said}");
    // of a few long operations a rate is known to one of them a user: the times tell how many
    for (tell, rate) in [(true, 70.0), (false, 70.0), (false, 120.0)] {
        let mut parts = ladder(40 * MS, 4, 55.0, tell);
        let last = parts.last_mut().unwrap().outcome.as_mut().unwrap();
        last.mean_ns = Some(100 * MS);
        last.told_ns.entry("queue".into()).and_modify(|ns| *ns = 60 * MS);
        last.throughput_per_s = rate;
        let said = only(FaultKind::Pool, parts);
        assert!(said.contains("it serves about 4 at a time"), "{said}");
    }
}

#[test]
fn processors_that_are_all_busy_are_no_pool() {
    let mut parts = ladder(5 * MS, 2, 98.0, false);
    let here = checkup(parts.clone());
    assert_eq!(kinds(&here), [], "{}", here.verdict.sentence);
    let [remark] = &here.verdict.remarks[..] else { panic!("{:?}", here.verdict.remarks) };
    assert!(remark.text.contains("its processors were the limit (98 % busy)"), "{remark:?}");

    for outcome in parts.iter_mut().filter_map(|part| part.outcome.as_mut()) {
        (outcome.server_is_here, outcome.far_busy_pct) = (false, Some(98.0));
    }
    let said = only(FaultKind::Processors, parts.clone());
    assert!(said.contains("is at the limit of its processors"), "{said}");

    for outcome in parts.iter_mut().filter_map(|part| part.outcome.as_mut()) {
        outcome.far_busy_pct = None;
    }
    let said = only(FaultKind::Saturation, parts);
    assert!(said.contains("a pool of it is full, or its processors are busy"), "{said}");
}

#[test]
fn a_server_that_carries_its_users_has_no_knee() {
    for parts in [
        ladder(5 * MS, 10, 55.0, true),
        ladder(5 * MS, 8, 55.0, false),
        ladder(30 * US, 1, 55.0, false), // so short that nobody notices who waits for whom
    ] {
        let checkup = checkup(parts);
        assert_eq!(kinds(&checkup), [], "{}", checkup.verdict.sentence);
        assert_eq!(checkup.verdict.remarks, []);
    }
}

#[test]
fn what_grows_with_the_users_and_is_no_queue_lies_behind_the_server() {
    let mut parts = ladder(5 * MS, 1, 40.0, false);
    for part in parts.iter_mut().filter(|part| part.operation == "a flight list") {
        let outcome = part.outcome.as_mut().unwrap();
        let database = outcome.mean_ns.unwrap() - MS;
        outcome.told_ns = told(&[("queue", 0), ("database", database), ("render", 900 * US)]);
    }
    let said = only(FaultKind::Saturation, parts);
    assert!(said.contains("waits for something else"), "{said}");
    assert!(said.contains("database grew from 4.00 ms to 49.0 ms"), "{said}");
}

#[test]
fn lost_segments_are_named_with_what_they_cost() {
    let mut parts = landscape(45, 1_900);
    parts[0] = lossy(network());
    let said = only(FaultKind::Loss, parts);
    assert_eq!(
        said,
        "Segments are lost on the way to ::1: 19 of 1,000 segments that this side sent were sent \
         again (1.9 %), and 20 of 1,000 operations waited 200 ms longer than usual or more, as TCP \
         does before it sends a segment again. A round trip takes 4.10 ms at the mean, of which \
         such waits are 4.08 ms. It costs a user 4.08 ms of 4.10 ms an operation (2.29 ms to \
         4.10 ms)."
    );
}

#[test]
fn what_the_machines_sent_again_for_all_programs_is_no_proof_of_a_loss() {
    let mut parts = landscape(45, 1_900);
    parts[0] = lossy(network());
    let outcome = parts[0].outcome.as_mut().unwrap();
    (outcome.tcp, outcome.retransmitted) = (Some(TcpTotals::default()), Some(21));
    let untold = |parts: &[CheckupPart], again| {
        let mut parts = parts.to_vec();
        let outcome = parts[0].outcome.as_mut().unwrap();
        outcome.tcp.as_mut().unwrap().retransmits = again;
        let checkup = checkup(parts);
        assert_eq!(kinds(&checkup), [], "{again}: {}", checkup.verdict.sentence);
        (checkup.is_unanswered(), checkup.verdict)
    };
    let (open, verdict) = untold(&parts, 0);
    assert!(open);
    let said = &verdict.sentence;
    let begin =
        "No fault was found, but whether segments are lost on the way to ::1 cannot be told; ";
    assert!(said.starts_with(begin), "{said}");
    let [remark] = &verdict.remarks[..] else { unreachable!("{:?}", verdict.remarks) };
    let why = "is not known: meanwhile the machines sent 21 segments again, those of other programs \
               included; measure longer";
    assert!(remark.text.contains(why), "{remark:?}");
    // a few segments of this side explain no twenty waits
    assert!(untold(&parts, 2).0 && untold(&parts, 4).0);
    // fewer than the waits: most of these have another reason
    parts[0].outcome.as_mut().unwrap().retransmitted = Some(12);
    let (open, verdict) = untold(&parts, 0);
    assert!(!open && verdict.remarks.len() == 1, "{verdict:?}");
}

#[test]
fn a_segment_or_two_and_waits_without_any_are_no_loss() {
    let mut parts = landscape(45, 1_900);
    parts[0] = lossy(network());
    for (again, waits) in [(2, 20), (0, 20), (19, 2)] {
        let outcome = parts[0].outcome.as_mut().unwrap();
        outcome.tcp.as_mut().unwrap().retransmits = again;
        outcome.waited.as_mut().unwrap().operations = waits;
        let checkup = checkup(parts.clone());
        assert_eq!(kinds(&checkup), [], "{}", checkup.verdict.sentence);
    }
}

#[test]
fn a_loss_is_named_whatever_others_wait_for_at_the_same_host() {
    let mut parts = landscape(45, 1_900);
    parts[0] = lossy(network());
    let other = parts[3].outcome.as_mut().unwrap();
    other.tcp = Some(TcpTotals { retransmits: 2, segments_sent: 9_000, ..TcpTotals::default() });
    other.waited = Some(Waited { operations: 500, excess_ns: 500 * 300 * MS });
    let checkup = checkup(parts);
    assert_eq!(kinds(&checkup), [FaultKind::Loss]);
    let said = &checkup.verdict.findings[0].evidence;
    assert!(said.contains("19 of 1,000 segments that this side sent"), "{said}");
    assert!(said.contains("and 20 of 1,000 operations waited"), "{said}");
    let [remark] = &checkup.verdict.remarks[..] else { unreachable!("{checkup:?}") };
    assert!(remark.text.starts_with("500 of 1,000 operations (a flight list)"), "{remark:?}");
}

#[test]
fn a_slow_statement_is_the_database() {
    let mut parts = landscape(45, 1_900);
    parts.push(with(statement(), attributed(50 * MS, 30 * US)));
    let said = only(FaultKind::Slow, parts);
    assert!(
        said.starts_with(
            "The database db1 works long: a statement takes 50.1 ms, of which 50.0 ms is its own \
             work, by its own clock. It costs a user 50.0 ms of 50.1 ms an operation"
        ),
        "{said}"
    );
}

#[test]
fn what_is_known_of_the_faster_nine_tenths_is_said_of_them() {
    let of = |server, wire, whole| CheckupOutcome {
        mean_ns: Some(3 * whole),
        faster_mean_ns: Some(whole),
        ..attributed(server, wire)
    };
    let mut parts = landscape(45, 1_900);
    parts.push(with(statement(), of(50 * MS, 30 * US, 50 * MS + 60 * US)));
    assert!(only(FaultKind::Slow, parts).starts_with(
        "The database db1 works long: a statement takes 50.1 ms at the mean of the faster nine \
             tenths of the calls, of which 50.0 ms is its own work, by its own clock; the other \
             tenth is not told apart. It costs a user 50.0 ms of 50.1 ms an operation of the \
             faster nine tenths of the calls (47.5 ms"
    ));
    let mut parts = landscape(45, 1_900);
    parts.push(with(statement(), of(300 * US, 40 * MS, 40 * MS + 330 * US)));
    let said = only(FaultKind::Wire, parts);
    assert!(
        said.starts_with(
            "The way to the database db1 takes the time, not the server: a statement takes 40.3 ms \
             at the mean of the faster nine tenths of the calls, of which the server works 300 us;"
        ) && said.contains("takes only 21.0 us; the other tenth is not told apart. It costs"),
        "{said}"
    );
}

#[test]
fn times_that_lie_within_each_other_are_not_added_up() {
    // the total holds the rest, and 80 ms of the application hold 75 of the database
    for (account, kinds_then) in [
        (vec![("total", 90 * MS), ("app", 80 * MS), ("db", 75 * MS)], vec![]),
        (vec![("app", 80 * MS), ("db", 75 * MS)], vec![]),
        (vec![("total", 190 * MS), ("app", 180 * MS), ("db", 75 * MS)], vec![FaultKind::Slow]),
        (vec![("total", 150 * MS), ("db", 90 * MS)], vec![FaultKind::Slow]),
    ] {
        let mut parts = landscape(45, account[0].1 / US + 500);
        parts[3].outcome.as_mut().unwrap().told_ns = told(&account);
        let checkup = checkup(parts);
        assert_eq!(kinds(&checkup), kinds_then, "{account:?}: {}", checkup.verdict.sentence);
    }
}

#[test]
fn a_server_is_slow_even_where_only_a_few_answers_came_in_time() {
    let mut parts = landscape(45, 1_900);
    let median = Middle { ns: 700 * MS, low_ns: 690 * MS, high_ns: 720 * MS, intervals: 0 };
    parts[3].outcome =
        Some(CheckupOutcome { operations: 2, median: Some(median), ..takes(700 * MS) });
    let said = only(FaultKind::Slow, parts.clone());
    assert!(said.contains("it reports no times of its own; only 2 were measured."), "{said}");
    assert!(
        said.ends_with(
            "Not finished: the application server is not judged. Known so far: a \
                            lock request takes 45.0 us, a round trip 21.0 us."
        ),
        "{said}"
    );
    parts[3].outcome.as_mut().unwrap().median = Some(Middle { low_ns: 20 * MS, ..median });
    assert_eq!(kinds(&checkup(parts)), [], "one of them was quick");
}

#[test]
fn what_stands_before_a_silent_server_cannot_be_told_from_it() {
    let said = only(FaultKind::Slow, landscape(20_000, 1_900));
    assert!(
        said.starts_with(
            "The lock server takes long, or something before its port does: a lock request takes \
             20.0 ms, of which 20.0 ms no round trip to its host explains; it reports no times"
        ),
        "{said}"
    );
}

#[test]
fn a_slow_step_is_named_with_the_time_that_the_server_tells_of() {
    let mut parts = landscape(45, 204_000);
    let account = [("queue", 10 * US), ("database", 201 * MS), ("render", MS)];
    parts[3].outcome.as_mut().unwrap().told_ns = told(&account);
    let said = only(FaultKind::Slow, parts);
    assert!(said.contains("as the server reports; most of it is database (201 ms)"), "{said}");
}

#[test]
fn the_largest_of_many_times_is_called_most_only_from_half_of_them_on() {
    let mut parts = landscape(45, 620_000);
    let of = |largest: u64| {
        told(&[("total", 600 * MS), ("db", largest), ("render", 140 * MS), ("app", 120 * MS)])
    };
    for (largest, words) in
        [(150, "the largest part of it is db (150 ms)"), (300, "most of it is db")]
    {
        parts[3].outcome.as_mut().unwrap().told_ns = of(largest * MS);
        let said = only(FaultKind::Slow, parts.clone());
        assert!(said.contains(&format!("as the server reports; {words}")), "{said}");
    }
}

#[test]
fn a_server_that_tells_its_whole_time_alone_is_believed() {
    let mut parts = landscape(45, 151_000);
    parts[3].outcome.as_mut().unwrap().told_ns = told(&[("total", 150 * MS)]);
    let said = only(FaultKind::Slow, parts.clone());
    assert!(
        said.starts_with(
            "The application server works long: a flight list takes 151 ms, of which 150 ms is its \
             own work, as the server reports. It costs"
        ),
        "{said}"
    );
    parts[3].outcome.as_mut().unwrap().told_ns = told(&[("queue", 140 * MS), ("total", 150 * MS)]);
    assert_eq!(kinds(&checkup(parts)), [], "10 ms of it are work");
}

#[test]
fn a_server_that_refuses_is_a_finding_and_no_time() {
    let mut parts = landscape(45, 1_900);
    let refused = against(
        CheckupOutcome { failed: 900, ..takes(30 * US) },
        FindingKind::Failures,
        Scope::Everything,
        "900 of 1,000 operations failed",
    );
    let text = "the first wrong answer: the target said `FULL locks`";
    parts[1].outcome = Some(against(refused, FindingKind::Complaint, Scope::Nothing, text));
    let said = only(FaultKind::Failures, parts);
    assert_eq!(
        said,
        "The lock server fails: of a lock request (one user), 900 of 1,000 operations failed; the \
         first wrong answer: the target said `FULL locks`. Not finished: the lock server is not \
         judged. Known so far: a flight list takes 1.90 ms, a round trip 21.0 us."
    );
}

#[test]
fn the_first_wrong_answer_is_told_before_a_handshake_that_failed() {
    let mut parts = landscape(45, 1_900);
    let text = "50 answers of 600 had a status that was not expected (50 with 503)";
    let failed = CheckupOutcome { failed: 51, ..takes(30 * US) };
    let mut outcome = against(failed, FindingKind::UnexpectedStatus, Scope::Everything, text);
    let validity = std::mem::take(&mut outcome.validity);
    outcome.validity = validity.with_handshake(Some("the target closed")).with_remark("busy");
    parts[3].outcome = Some(outcome);
    let said = only(FaultKind::Failures, parts);
    let told = "(50 with 503); busy; a handshake that failed: the target closed.";
    assert!(said.contains(told), "{said}");
}

#[test]
fn a_server_that_does_not_answer_is_named_with_the_reason() {
    let mut parts = landscape(45, 1_900);
    parts[1].outcome = Some(CheckupOutcome::none("cannot connect to ::1: refused".into()));
    let said = only(FaultKind::Unreachable, parts);
    assert!(
        said.starts_with("The lock server could not be measured: cannot connect to ::1: refused."),
        "{said}"
    );
}

#[test]
fn a_busy_machine_is_said_once_with_who_keeps_it_busy() {
    let said = only(FaultKind::ForeignLoad, busy());
    assert_eq!(
        said,
        "This machine is busy with other work: processes that are no part of the measurement took \
         up to 45 % of all processors: stress (process 4711) 43 %, cron (process 12) 2 %. The \
         figures of all 4 measurements may not be used. Not finished: the network, the lock server \
         and the application server are not judged."
    );
}

#[test]
fn a_little_that_others_took_is_not_told_as_nothing() {
    let mut parts = busy();
    for outcome in parts.iter_mut().filter_map(|part| part.outcome.as_mut()) {
        outcome.foreign_pct = Some(0.14);
    }
    let said = only(FaultKind::ForeignLoad, parts);
    assert!(said.contains("took up to 0.14 % of all processors"), "{said}");
}

#[test]
fn where_a_remote_measured_it_is_the_remote_that_is_busy() {
    let mut there = checkup(busy());
    there.remote = Some("app-1".into());
    there.judge();
    let found = &there.verdict.findings[0];
    assert_eq!(found.server, "the remote app-1");
    assert!(found.evidence.starts_with("The remote app-1 is busy with other work: "), "{found:?}");
    let mut parts = landscape(45, 1_900);
    parts[1].outcome = Some(CheckupOutcome::none("cannot connect to ::1: refused".into()));
    let mut there = Checkup { remote: Some("app-1".into()), ..checkup(parts) };
    there.judge();
    let next = &there.verdict.findings[0].next;
    assert!(next.contains("does it run, and does the remote app-1 reach it?"), "{next}");
}

/// A landscape that was measured beside other work.
fn busy() -> Vec<CheckupPart> {
    let mut parts = landscape(45, 1_900);
    for (at, part) in parts.iter_mut().enumerate() {
        let share_pct = 40.0 + f64::from(u8::try_from(at).unwrap());
        let hog = ForeignProcess { pid: 4_711, name: "stress".into(), share_pct };
        let small = ForeignProcess { pid: 12, name: "cron".into(), share_pct: 2.0 };
        let text = "foreign load: others took 40 %";
        let outcome = part.outcome.take().map(|outcome| CheckupOutcome {
            foreign_pct: Some(share_pct + 2.0),
            foreign: vec![hog, small],
            ..against(outcome, FindingKind::ForeignLoad, Scope::Everything, text)
        });
        part.outcome = outcome;
    }
    parts
}

#[test]
fn an_operation_that_stood_still_is_no_fault_and_is_not_passed_over() {
    let mut parts = landscape(45, 1_900);
    let waits = |mean_ns: u64| {
        let waited = Some(Waited { operations: 1, excess_ns: 1_506 * MS });
        CheckupOutcome { waited, mean_ns: Some(mean_ns), ..takes(45 * US) }
    };
    parts[1].outcome = Some(waits(1_551 * US));
    let stood = checkup(parts.clone());
    assert_eq!(kinds(&stood), []);
    let [remark] = &stood.verdict.remarks[..] else { unreachable!("{:?}", stood.verdict.remarks) };
    assert_eq!(
        remark.text,
        "1 of 1,000 operations (a lock request) took 200 ms or more longer than usual, together \
         1.51 s: 97 % of all their time. What stood still, the lock server, the way or this machine, \
         is not known; measure longer (--for), or watch it (plumb watch)."
    );
    let delayed = Some(Waited { operations: 1, excess_ns: 205 * MS });
    parts[1].outcome = Some(CheckupOutcome { delayed, ..waits(1_551 * US) });
    let stalled = checkup(parts.clone()).verdict.remarks;
    assert_eq!(stalled.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["stalls"]);
    parts[1].outcome = Some(waits(60 * MS));
    assert_eq!(checkup(parts).verdict.remarks, [], "a fortieth of the time");
}
