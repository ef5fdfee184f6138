//! Made-up outcomes, and what is said of them.

mod faults;
mod gone;
mod limits;
mod names;
mod quota;
mod stalls;
mod statements;
mod ways;

use super::*;
use crate::finding::FaultKind;
use crate::waited::Waited;
use crate::{CHECKUP_SCHEMA, LayerState};
use plumb_measure::{
    Attribution, Calls, CpuQuota, CpuThrottled, Distribution, Estimate, Finding, FindingKind,
    ForeignProcess, Histogram, PartKind, Program, Scope, Status, TcpTotals, TimePart, Validity,
    real,
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
        connections: None,
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
    let plumb = Program { version: "0.0.0".into() };
    let mut checkup = Checkup::begun(plumb, "2026-11-21T08:30:48Z".into(), parts);
    checkup.status = Status::Complete;
    checkup.target = "this machine".into();
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

/// One lock request in ten takes 30 ms: no median shows it, and a user waits for it.
#[test]
fn who_takes_most_in_the_mean_is_named_where_that_is_another() {
    let with_mean = |mean_ns: u64, list_us: u64| {
        let mut parts = landscape(1_850, list_us);
        let lock = parts[1].outcome.as_mut().unwrap();
        lock.mean_ns = Some(mean_ns);
        checkup(parts).verdict.sentence
    };
    assert_eq!(
        with_mean(4_840 * US, 1_900),
        "No fault was found; by medians, most of a user's time is the application server: a flight \
         list takes 1.90 ms at the median, of which the round trip to its host is 21.0 us. In the \
         mean it is the lock server: a lock request takes 4.84 ms, as some of its operations take far \
         longer than most. A lock request takes 1.85 ms, a round trip 21.0 us."
    );
    assert!(!with_mean(1_950 * US, 1_900).contains("mean"), "that is no more than noise");
    let alike = with_mean(1_850 * US, 1_850);
    assert!(alike.contains("most of a user's time is one of these"), "{alike}");
    assert!(!alike.contains("mean"), "{alike}");
    let mut parts = landscape(1_850, 1_900);
    parts[3].outcome.as_mut().unwrap().mean_ns = Some(1_000 * US);
    let quick = checkup(parts).verdict.sentence;
    assert!(!quick.contains("mean"), "few lock requests are longer than most: {quick}");
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
    assert!(
        said.contains(
            "(of a flight list there are 5: too few for a median; give more time (--for))"
        ),
        "{said}"
    );
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
