//! Made-up outcomes of every fault, and what is said of them.

use super::*;
use crate::checkup::finding::FaultKind;
use crate::checkup::outcome::Waited;
use crate::checkup::{CHECKUP_SCHEMA, CheckupVerdict, LayerState};
use crate::{
    Estimate, Finding, FindingKind, ForeignProcess, PartKind, Program, Scope, Status, TcpTotals,
    Validity,
};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// A yardstick of a server, asked for by one user.
fn part(layer: CheckupLayer, server: &str, operation: &str) -> CheckupPart {
    CheckupPart {
        layer,
        server: server.into(),
        operation: operation.into(),
        how: "one user".into(),
        role: PartRole::Yardstick,
        users: 1,
        expected_ns: 1,
        words: Vec::new(),
        outcome: None,
    }
}

/// The same by `users` at once.
fn by(users: u64, part: CheckupPart) -> CheckupPart {
    CheckupPart { users, how: format!("{users} users"), role: PartRole::Beside, ..part }
}

/// A median of `ns`, known to a tenth of a microsecond, at `::1`.
fn takes(ns: u64) -> CheckupOutcome {
    CheckupOutcome {
        host: Some("::1".into()),
        validity: Validity::of([]),
        operations: 1_000,
        throughput_per_s: 1e9 / real(ns),
        median: Some(Middle { ns, low_ns: ns - 100, high_ns: ns + 100, intervals: 20 }),
        mean_ns: Some(ns),
        server_is_here: true,
        busy_pct: Some(55.0),
        ..CheckupOutcome::default()
    }
}

#[expect(clippy::cast_precision_loss, reason = "made up")]
fn real(ns: u64) -> f64 {
    ns as f64
}

fn with(part: CheckupPart, outcome: CheckupOutcome) -> CheckupPart {
    CheckupPart { outcome: Some(outcome), ..part }
}

fn against(outcome: CheckupOutcome, kind: FindingKind, scope: Scope, text: &str) -> CheckupOutcome {
    let reasons = outcome.validity.reasons.iter().cloned();
    let more = Finding { kind, scope, text: text.into() };
    CheckupOutcome { validity: Validity::of(reasons.chain([more])), ..outcome }
}

fn told(times: &[(&str, u64)]) -> BTreeMap<String, u64> {
    times.iter().map(|(name, ns)| ((*name).to_owned(), *ns)).collect()
}

fn checkup(parts: Vec<CheckupPart>) -> Checkup {
    let mut checkup = Checkup {
        schema: CHECKUP_SCHEMA.into(),
        plumb: Program { version: "0.0.0".into() },
        host: None,
        started: "2026-11-21T08:30:48Z".into(),
        status: Status::Complete,
        command: Vec::new(),
        target: "this machine".into(),
        parts,
        left_out: Vec::new(),
        troubles: Vec::new(),
        verdict: CheckupVerdict::default(),
    };
    checkup.judge();
    checkup
}

fn network() -> CheckupPart {
    part(CheckupLayer::Network, "network", "a round trip")
}

fn locks() -> CheckupPart {
    part(CheckupLayer::Locks, "lock server", "a lock request")
}

fn page() -> CheckupPart {
    part(CheckupLayer::Pages, "application server", "a page")
}

fn list() -> CheckupPart {
    part(CheckupLayer::Pages, "application server", "a flight list")
}

fn statement() -> CheckupPart {
    part(CheckupLayer::Database, "database db1", "a statement")
}

/// A healthy landscape, but for what a lock request and a list take.
fn landscape(lock_us: u64, list_us: u64) -> Vec<CheckupPart> {
    vec![
        with(network(), takes(21 * US)),
        with(locks(), takes(lock_us * US)),
        with(page(), takes(90 * US)),
        with(list(), takes(list_us * US)),
    ]
}

/// The list by one, five and ten users of a server that does `at_once` lists of `ns` at a time, and
/// tells of its queue if it has to `tell`.
fn ladder(ns: u64, at_once: u64, busy: f64, tell: bool) -> Vec<CheckupPart> {
    let point = |users: u64| {
        let waits = users.max(at_once) / at_once;
        let outcome = CheckupOutcome {
            throughput_per_s: real(users.min(at_once)) * 1e9 / real(ns),
            busy_pct: Some(busy),
            told_ns: if tell {
                told(&[("queue", ns * (waits - 1)), ("render", ns - 20 * US)])
            } else {
                BTreeMap::new()
            },
            ..takes(ns * waits)
        };
        if users == 1 { with(list(), outcome) } else { with(by(users, list()), outcome) }
    };
    let rest = [with(network(), takes(21 * US)), with(locks(), takes(45 * US))];
    rest.into_iter().chain([1, 5, 10].map(point)).collect()
}

fn slowest(checkup: &Checkup) -> Vec<&str> {
    let marked = checkup.verdict.layers.iter().filter(|layer| layer.slowest);
    marked.map(|layer| layer.server.as_str()).collect()
}

fn kinds(checkup: &Checkup) -> Vec<FaultKind> {
    checkup.verdict.findings.iter().map(|finding| finding.kind).collect()
}

/// The sentence of a landscape with one fault of this kind, whose cost is a part of the whole.
fn only(kind: FaultKind, parts: Vec<CheckupPart>) -> String {
    let checkup = checkup(parts);
    let said = &checkup.verdict.sentence;
    assert_eq!(kinds(&checkup), [kind], "{said}");
    assert!(checkup.has_findings());
    for cost in checkup.verdict.findings.iter().filter_map(|finding| finding.cost) {
        assert!(cost.low_ns <= cost.ns && cost.ns <= cost.high_ns, "{cost:?}");
        assert!(cost.high_ns <= cost.whole_ns, "{cost:?}");
    }
    assert!(!said.contains("slowest") && !said.contains("most of a user"), "{said}");
    said.clone()
}

#[test]
fn where_nothing_is_wrong_it_says_where_the_time_goes() {
    let checkup = checkup(landscape(45, 1_900));
    assert_eq!(kinds(&checkup), []);
    assert_eq!(slowest(&checkup), ["application server"]);
    let first = &checkup.verdict.layers[0];
    assert_eq!(first.operation.as_deref(), Some("a flight list"));
    let own = first.own.unwrap();
    assert_eq!((own.ns, own.floor_ns), (1_879_000, Some(21_000)));
    assert_eq!((own.low_ns, own.high_ns), (1_879_000 - 142, 1_879_000 + 142));
    assert_eq!(
        checkup.verdict.sentence,
        "No fault was found; most of a user's time is the application server: a flight list takes \
         1.90 ms at the median, of which the round trip to its host is 21.0 us. A lock request \
         takes 45.0 us, a round trip 21.0 us."
    );
    assert!(!checkup.has_findings());
}

#[test]
fn a_server_with_one_work_process_is_a_full_pool() {
    let said = only(FaultKind::Pool, ladder(5 * MS + 500 * US, 1, 55.0, true));
    assert_eq!(
        said,
        "The application server is full: it serves one at a time. A flight list takes 55.0 ms with \
         10 users and 5.50 ms with one, at 182/s and 182/s; by its own account 49.5 ms of it is \
         the queue; its processors were 55 % busy. It costs a user 49.5 ms of 55.0 ms an operation \
         (49.5 ms to 49.5 ms)."
    );
    // its own account is believed, however busy the machine is
    only(FaultKind::Pool, ladder(5 * MS, 1, 99.0, true));
    // without an account it is full while processors idle
    let said = only(FaultKind::Pool, ladder(5 * MS, 2, 55.0, false));
    assert!(said.contains("it serves about 2 at a time"), "{said}");
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

/// What a network of 21 us sees where one of fifty segments is lost.
fn lossy(part: CheckupPart) -> CheckupPart {
    let tcp = TcpTotals { retransmits: 19, segments_sent: 1_000, ..TcpTotals::default() };
    let waited = Waited { operations: 20, excess_ns: 20 * 204 * MS };
    let outcome = CheckupOutcome {
        tcp: Some(tcp),
        waited: Some(waited),
        mean_ns: Some(4_101 * US),
        ..takes(21 * US)
    };
    with(part, outcome)
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

/// A statement of which the server works `server` and a message there and back takes `wire`.
fn attributed(server: u64, wire: u64) -> CheckupOutcome {
    let known = |ns: u64| Estimate {
        mean_ns: i64::try_from(ns).unwrap(),
        half_width_ns: Some(ns / 20),
        count: 100,
    };
    let parts = [
        (PartKind::Server, known(server)),
        (PartKind::Wire, known(wire)),
        (PartKind::Rest, known(30 * US)),
    ];
    CheckupOutcome {
        attributed: parts.into(),
        told_ns: told(&[("server", server)]),
        ..takes(server + wire + 30 * US)
    }
}

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
fn waits_for_lost_segments_are_no_long_way() {
    let mut outcome = attributed(300 * US, 4 * MS + 80 * US);
    outcome.tcp = Some(TcpTotals { retransmits: 19, segments_sent: 900, ..TcpTotals::default() });
    outcome.waited = Some(Waited { operations: 20, excess_ns: 20 * 204 * MS });
    let mut parts = landscape(45, 1_900);
    parts.push(with(statement(), outcome));
    only(FaultKind::Loss, parts);
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
    let account = told(&[("queue", 10 * US), ("database", 200 * US), ("render", 1_200 * US)]);
    let mut parts = landscape(45, 41_500);
    parts[3].outcome.as_mut().unwrap().told_ns = account;
    let said = only(FaultKind::Wire, parts);
    assert!(said.contains("of which the server tells of 1.41 ms"), "{said}");
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
fn what_stands_before_a_silent_server_cannot_be_told_from_it() {
    let said = only(FaultKind::Slow, landscape(20_000, 1_900));
    assert!(
        said.starts_with(
            "The lock server takes long, or something before its port does: a lock request takes \
             20.0 ms, of which 20.0 ms no round trip to its host explains; it gives no account"
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
    assert!(said.contains("by its own account, most of it database (201 ms)"), "{said}");
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
    let said = only(FaultKind::ForeignLoad, parts);
    assert_eq!(
        said,
        "This machine is busy with other work: processes that are no part of the measurement took \
         up to 45 % of all processors: stress (process 4711) 43 %, cron (process 12) 2 %. The \
         figures of all 4 measurements may not be used. Not finished: the network, the lock server \
         and the application server are not judged."
    );
}

#[test]
fn what_is_not_checked_is_neither_judged_nor_a_finding() {
    let mut parts = landscape(45, 1_900);
    let text = "foreign load: nobody could say";
    let outcome = parts[1].outcome.take().unwrap();
    parts[1].outcome = Some(against(outcome, FindingKind::ForeignLoad, Scope::Unchecked, text));
    let checkup = checkup(parts);
    assert_eq!((checkup.has_findings(), checkup.is_unanswered()), (false, true));
    assert_eq!(slowest(&checkup), [""; 0]);
    let states = checkup.verdict.layers.iter().map(|layer| layer.state);
    assert!(states.clone().any(|state| state == LayerState::NotChecked), "{checkup:?}");
    let said = &checkup.verdict.sentence;
    assert!(
        said.starts_with(
            "Not finished: the lock server is not judged (foreign load: nobody could say). Known \
             so far: a flight list takes 1.90 ms"
        ),
        "{said}"
    );
}

#[test]
fn nothing_is_slowest_while_a_layer_is_open() {
    let mut parts = landscape(45, 1_900);
    parts[3].outcome = None;
    let checkup = checkup(parts);
    assert_eq!(slowest(&checkup), [""; 0]);
    assert_eq!(
        checkup.verdict.sentence,
        "Not finished: the application server is not judged (it is not measured to the end). Known \
         so far: a lock request takes 45.0 us, a round trip 21.0 us."
    );
    assert!(!checkup.has_findings());
}

#[test]
fn several_faults_are_ranked_by_what_they_cost() {
    let mut parts = ladder(5 * MS, 1, 55.0, true);
    parts.push(with(statement(), attributed(300 * US, 40 * MS)));
    parts[0] = lossy(network());
    let checkup = checkup(parts);
    assert_eq!(kinds(&checkup), [FaultKind::Pool, FaultKind::Wire, FaultKind::Loss]);
    let said = &checkup.verdict.sentence;
    assert!(said.contains("(45.0 ms to 45.0 ms). 2 more faults were found."), "{said}");
}

#[test]
fn layers_whose_intervals_overlap_cannot_be_told_apart() {
    // the page adds 69 us, the lock as much
    let checkup = checkup(landscape(90, 90));
    assert_eq!(slowest(&checkup), ["lock server", "application server"]);
    let said = &checkup.verdict.sentence;
    assert!(
        said.starts_with("No fault was found; most of a user's time is one of these"),
        "{said}"
    );
    assert!(said.contains("cannot be told apart"), "{said}");
}

#[test]
fn a_handful_of_operations_has_no_median_to_judge_by() {
    let mut parts = landscape(45, 1_900);
    if let Some(outcome) = &mut parts[3].outcome {
        outcome.operations = 5;
    }
    let said = checkup(parts).verdict.sentence;
    assert!(said.contains("(of a flight list there are 5: too few for a median; give"), "{said}");
}

#[test]
fn without_a_round_trip_to_its_host_the_network_is_part_of_a_layer() {
    let mut parts = landscape(45, 1_900);
    for outcome in parts[2..].iter_mut().filter_map(|part| part.outcome.as_mut()) {
        outcome.host = Some("10.1.2.3".into());
    }
    let checkup = checkup(parts);
    assert_eq!(checkup.verdict.layers[0].own.unwrap().floor_ns, None);
    let said = &checkup.verdict.sentence;
    assert!(
        said.contains("1.90 ms at the median, the way through the network included."),
        "{said}"
    );
}

#[test]
fn one_layer_is_not_slower_than_others() {
    let mut parts = landscape(45, 1_900);
    parts.truncate(1);
    let alone = checkup(parts.clone());
    assert_eq!(slowest(&alone), [""; 0]);
    let said = &alone.verdict.sentence;
    assert!(said.starts_with("No fault was found; only the network was measured: "), "{said}");
    parts[0].outcome = None;
    let none = checkup(parts);
    assert_eq!(none.verdict.layers[0].state, LayerState::Open);
    assert!(!none.has_findings());
}

#[test]
fn a_checkup_is_read_back_as_it_was_written() {
    let checkup = checkup(ladder(5 * MS, 1, 55.0, true));
    assert_eq!(Checkup::from_json(&checkup.to_json()).unwrap(), checkup);
    assert!(Checkup::from_json("{\"schema\":\"plumb.checkup/9\"}").is_err());
}

#[test]
fn a_checkup_of_the_version_before_is_read() {
    let now = checkup(landscape(45, 1_900)).to_json();
    let before = now.replace(CHECKUP_SCHEMA, "plumb.checkup/1").replace("\"users\": 1,", "");
    assert!(!before.contains("users\""), "{before}");
    let read = Checkup::from_json(&before).unwrap();
    assert!(read.parts.iter().all(|part| part.users == 1));
}
