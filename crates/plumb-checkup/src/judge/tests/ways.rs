//! Which ways are long, and what is no way.

use super::*;

#[test]
fn a_slow_line_before_a_database_is_the_wire_and_not_the_database() {
    let mut parts = landscape(45, 1_900);
    parts.push(with(statement(), attributed(300 * US, 40 * MS)));
    let said = only(FaultKind::Wire, parts);
    assert_eq!(
        said,
        "The way to the database db1 takes the time, not the server: a statement takes 40.3 ms at \
         the mean, of which the server works 300 us; a message that asks for no work takes 40.0 ms \
         there and back, and a round trip to its host takes only 21.0 us. It costs a user 40.0 ms \
         of 40.3 ms an operation (38.0 ms to 40.3 ms)."
    );
}

#[test]
fn a_time_of_its_own_a_little_below_nothing_is_no_slow_database() {
    let mut outcome = attributed(0, 40 * MS);
    outcome.attributed.get_mut(&PartKind::Server).unwrap().mean_ns = -1_000;
    outcome.told_ns.clear();
    let mut parts = landscape(45, 1_900);
    parts.push(with(statement(), outcome));
    let said = only(FaultKind::Wire, parts);
    assert!(said.contains("of which the server works 0 s;"), "{said}");
}

#[test]
fn waits_for_lost_segments_are_no_long_way() {
    let mut outcome = attributed(300 * US, 4 * MS + 80 * US);
    outcome.tcp = Some(TcpTotals { retransmits: 19, segments_sent: 900, ..TcpTotals::default() });
    outcome.waited = Some(Waited { operations: 20, excess_ns: 20 * 204 * MS });
    let mut parts = landscape(45, 1_900);
    parts.push(with(statement(), outcome));
    only(FaultKind::Loss, parts);
}

#[test]
fn the_faster_calls_have_no_waits_that_their_way_could_be_shorter_by() {
    let mut outcome = CheckupOutcome {
        faster_mean_ns: Some(10_330 * US),
        mean_ns: Some(22_830 * US),
        ..attributed(300 * US, 10 * MS)
    };
    outcome.tcp = Some(TcpTotals { retransmits: 19, segments_sent: 900, ..TcpTotals::default() });
    outcome.waited = Some(Waited { operations: 50, excess_ns: 50 * 250 * MS });
    let mut parts = landscape(45, 1_900);
    parts.push(with(statement(), outcome));
    let checkup = checkup(parts);
    assert_eq!(kinds(&checkup), [FaultKind::Loss, FaultKind::Wire]);
    let cost = checkup.verdict.findings[1].cost.unwrap();
    assert_eq!((cost.ns, cost.of), (10 * MS - 21 * US, Calls::Faster));
}

#[test]
fn a_long_way_to_a_host_is_said_once() {
    let far = |outcome: CheckupOutcome| CheckupOutcome { host: Some("10.0.0.7".into()), ..outcome };
    let parts = vec![
        with(network(), far(takes(40 * MS))),
        with(locks(), far(takes(40 * MS + 30 * US))),
        with(statement(), far(attributed(300 * US, 40 * MS))),
    ];
    let said = only(FaultKind::Wire, parts);
    assert!(said.starts_with("The way to 10.0.0.7 is long: a round trip takes 40.0 ms"), "{said}");
}

#[test]
fn what_a_server_of_pages_does_not_tell_of_is_the_way_to_it() {
    let account = told(&[("queue", 10 * US), ("database", 200 * US), ("total", 1_410 * US)]);
    let mut parts = landscape(45, 41_500);
    parts[3].outcome.as_mut().unwrap().told_ns = account;
    let said = only(FaultKind::Wire, parts);
    assert!(said.contains("of which the server tells of 1.41 ms"), "{said}");
}

#[test]
fn what_single_times_leave_may_be_work_and_is_no_way() {
    let by = |list_us: u64, rtt_ns: u64, account: &[(&str, u64)]| {
        let mut parts = landscape(45, list_us);
        let outcome = parts[3].outcome.as_mut().unwrap();
        outcome.told_ns = told(account);
        outcome.tcp = Some(TcpTotals { rtt_min_ns: rtt_ns, ..TcpTotals::default() });
        parts
    };
    let found = checkup(by(95_000, 100 * US, &[("db", 5 * MS)]));
    assert_eq!(kinds(&found), [], "{}", found.verdict.sentence);
    let said = only(FaultKind::Wire, by(95_000, 40 * MS, &[("db", 5 * MS)]));
    assert!(said.contains("of which TCP's shortest round trip is 40.0 ms"), "{said}");
    let said = only(FaultKind::Slow, by(300_000, 100 * US, &[("db", 5 * MS)]));
    assert!(
        said.starts_with(
            "The application server takes long, or something before its port does: a flight list \
             takes 300 ms, of which 300 ms no round trip to its host explains; it reports only \
             5.00 ms of its own work. It costs"
        ),
        "{said}"
    );
    let waits = [("db", 5 * MS), ("queue", 150 * MS)];
    let said = only(FaultKind::Slow, by(300_000, 100 * US, &waits));
    assert!(said.contains(" 5.00 ms of its own work, and 150 ms of waits, which are"), "{said}");
}

#[test]
fn without_an_account_the_kernel_tells_of_the_way() {
    let mut parts = landscape(45, 41_500);
    parts.remove(0);
    let mut outcome = takes(41 * MS);
    outcome.tcp = Some(TcpTotals { rtt_min_ns: 40 * MS, ..TcpTotals::default() });
    parts[2].outcome = Some(outcome);
    let said = only(FaultKind::Wire, parts);
    assert!(said.contains("of which TCP's shortest round trip is 40.0 ms"), "{said}");
}

/// A page of `bytes` that takes `ns`, all but 2 ms of it from its first byte to its last.
fn transferred(bytes: u64, ns: u64) -> CheckupOutcome {
    let time = |ns: u64| Estimate {
        mean_ns: i64::try_from(ns).unwrap(),
        half_width_ns: Some(ns / 40),
        count: 100,
    };
    let part = |kind, ns| TimePart { kind, time: time(ns), how: String::new() };
    let parts = vec![part(PartKind::Transfer, ns - 2 * MS), part(PartKind::Rest, 2 * MS)];
    let attribution = Attribution { client: time(ns), parts, ..Attribution::default() };
    CheckupOutcome {
        attribution: Some(attribution),
        answer_bytes: Some(bytes),
        tcp: Some(TcpTotals { rtt_min_ns: 12 * US, ..TcpTotals::default() }),
        ..takes(ns)
    }
}

#[test]
fn an_answer_that_takes_long_to_come_through_is_no_slow_server() {
    let mut parts = landscape(45, 1_900);
    parts[3].outcome = Some(transferred(400_000, 402 * MS));
    assert_eq!(
        only(FaultKind::Transfer, parts.clone()),
        "The answer of the application server takes long to come through: a flight list takes 402 ms at \
         the mean, of which 400 ms pass between the first byte and the last, 400,000 bytes at 8.00 Mbit/s. \
         Whether the line carries no more, or what writes the answer is no faster, cannot be told from \
         here. It costs a user 400 ms of 402 ms an operation (390 ms to 402 ms)."
    );
    // nor is it a long way, where the server tells how little it works
    let tells = |total: u64| CheckupOutcome {
        told_ns: told(&[("total", total)]),
        ..transferred(400_000, 402 * MS)
    };
    parts[3].outcome = Some(tells(MS));
    only(FaultKind::Transfer, parts.clone());
    // who works meanwhile, by its own account, or writes a few bytes is what takes long
    for outcome in [tells(380 * MS), transferred(3_000, 402 * MS)] {
        parts[3].outcome = Some(outcome);
        only(FaultKind::Slow, parts.clone());
    }
}

#[test]
fn a_line_that_is_full_is_no_pool() {
    let mut parts = landscape(45, 1_900);
    parts.truncate(3);
    for users in [1, 2, 4] {
        let ns = 2 * MS + users * 100 * MS;
        let outcome = CheckupOutcome {
            throughput_per_s: real(users) * 1e9 / real(ns),
            ..transferred(100_000, ns)
        };
        parts.push(with(if users == 1 { list() } else { by(users, list()) }, outcome));
    }
    let checkup = checkup(parts);
    assert_eq!(kinds(&checkup), [FaultKind::Saturation, FaultKind::Transfer]);
    let said = &checkup.verdict.findings[0].evidence;
    assert!(
        said.ends_with(
            ": a line, or what writes its answers, is at its limit. A flight list takes 402 ms with 4 users \
             and 102 ms with one, at 9.95/s and 9.80/s; its transfer grew from 100 ms to 400 ms, 100,000 \
             bytes at 2.00 Mbit/s; its processors were 55 % busy."
        ),
        "{said}"
    );
}
