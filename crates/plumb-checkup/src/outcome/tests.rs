//! What a record comes to.

use super::*;
use plumb_measure::{FasterCalls, Histogram, HostFacts, Plan, Program, Status, Target};

/// These times in a histogram.
pub(crate) fn times(values: impl IntoIterator<Item = u64>) -> Distribution {
    let mut histogram = Histogram::new();
    values.into_iter().for_each(|value| histogram.record(value));
    Distribution::of(&histogram).unwrap()
}

#[test]
fn the_host_is_that_of_the_socket() {
    let transport = |kind: &str, peer: &str| Transport {
        kind: kind.into(),
        network: None,
        local: String::new(),
        peer: peer.into(),
        tls: None,
        smc: None,
    };
    assert_eq!(host_of(&transport("tcp", "10.1.2.3:80")), "10.1.2.3");
    assert_eq!(host_of(&transport("tcp", "[::1]:80")), "::1");
    assert_eq!(host_of(&transport("unix", "/run/echo")), "unix");
}

#[test]
fn what_only_some_answers_tell_is_no_part_of_the_mean() {
    let part = plumb_measure::PartRecord {
        operations: 2,
        service_ns: Some(times([100, 300])),
        told_ns: [
            ("always".to_owned(), times([50, 70])),
            ("always.within".to_owned(), times([20, 20])),
            ("once".to_owned(), times([9])),
        ]
        .into(),
        ..plumb_measure::PartRecord::default()
    };
    let result = ResultRecord { parts: vec![part], ..ResultRecord::default() };
    assert_eq!(told(&result, None), [("always".to_owned(), 60)].into());
}

#[test]
fn a_time_within_another_or_told_twice_is_taken_once() {
    let all = [
        ("backend", 100),
        ("backend-database", 90),
        ("database", 40),
        ("db", 40),
        ("gwtotal", 150),
        ("render", 5),
    ];
    let part = plumb_measure::PartRecord {
        operations: 1,
        told_ns: all.map(|(name, ns)| (name.to_owned(), times([ns]))).into(),
        ..plumb_measure::PartRecord::default()
    };
    let result = ResultRecord { parts: vec![part], ..ResultRecord::default() };
    let kept = told(&result, None).into_keys().collect::<Vec<_>>();
    assert_eq!(kept, ["backend", "database", "gwtotal", "render"]);
}

#[test]
fn where_only_the_faster_nine_tenths_are_told_apart_it_says_so() {
    let time = |us: i64, half_us: u64| Estimate {
        mean_ns: us * 1_000,
        half_width_ns: Some(half_us * 1_000),
        count: 100,
    };
    let part = |kind, time| TimePart { kind, time, how: String::new() };
    let all = Attribution {
        client: time(486, 40),
        parts: vec![part(PartKind::Server, time(90, 300)), part(PartKind::Wire, time(250, 200))],
        ..Attribution::default()
    };
    let known = FasterCalls {
        client: time(180, 5),
        parts: vec![part(PartKind::Server, time(40, 3)), part(PartKind::Wire, time(120, 4))],
    };
    let outcome = |attribution: Attribution| {
        let result = ResultRecord { attribution: Some(attribution), ..ResultRecord::default() };
        CheckupOutcome::of_result(&result, &Validity::default())
    };
    let untold = outcome(all.clone().settled(""));
    assert_eq!((untold.mean_ns, untold.faster_mean_ns), (Some(486_000), None));
    assert!(untold.told_ns.is_empty() && untold.attributed.is_empty(), "{untold:?}");
    let told = outcome(all.settled("").or_of_the_faster(|| Ok(known)));
    assert_eq!((told.mean_ns, told.faster_mean_ns), (Some(486_000), Some(180_000)));
    assert_eq!(told.told_ns, [("server".to_owned(), 40_000)].into());
    assert_eq!(told.attributed[&PartKind::Rest].mean_ns, 20_000);
    assert_eq!(told.accounted(), Some((180_000, Calls::Faster)));
}

#[test]
fn callers_that_share_a_pool_wait_for_a_connection_too() {
    let part = |kind, mean_ns| TimePart {
        kind,
        time: Estimate { mean_ns, half_width_ns: Some(1_000_000), count: 58 },
        how: String::new(),
    };
    let result = |parts: Vec<TimePart>| ResultRecord {
        operations: 80,
        observed: 22,
        service_ns: Some(times([251_000_000; 58])),
        response_ns: Some(times([503_000_000; 58])),
        attribution: Some(Attribution { parts, ..Attribution::default() }),
        ..ResultRecord::default()
    };
    let of = |parts| CheckupOutcome::of_result(&result(parts), &Validity::default());
    let near =
        |ns: Option<u64>, ms: u64| ns.is_some_and(|ns| ns.abs_diff(ms * 1_000_000) < 500_000);
    let alone = of(vec![part(PartKind::Server, 250_000_000)]);
    assert!(near(alone.median.map(|it| it.ns), 251) && alone.response_ns.is_none());
    let queue = part(PartKind::Queue, 252_000_000);
    let pooled = of(vec![part(PartKind::Server, 250_000_000), queue]);
    assert!(near(pooled.median.map(|it| it.ns), 503), "{:?}", pooled.median);
    assert!(near(pooled.p99_ns, 503) && near(pooled.times().map(|it| it.p50), 503));
    assert!(near(pooled.service_ns.as_ref().map(|it| it.p50), 251));
    assert_eq!((pooled.operations, pooled.timed()), (80, 58), "22 were looked into");
}

#[test]
fn connects_of_other_programs_are_no_segments_of_this_way() {
    let host = |retransmitted, retransmitted_connects| HostUse {
        retransmitted,
        retransmitted_connects,
        ..HostUse::default()
    };
    let again = |near: &HostUse, far: &HostUse, connect_retransmits| {
        let tcp = TcpTotals { connect_retransmits, ..TcpTotals::default() };
        retransmitted([Some(near), Some(far)], Some(tcp))
    };
    // who calls an address that nobody answers sends nothing but such
    assert_eq!(again(&host(Some(420), Some(420)), &host(None, None), 0), Some(0));
    assert_eq!(again(&host(Some(420), Some(400)), &host(Some(7), None), 3), Some(30));
    assert_eq!(again(&host(None, None), &host(None, None), 3), None, "nobody counted");
}

#[test]
fn a_server_that_tells_all_of_its_time_leaves_the_wire() {
    let part = |kind, ms: i64| TimePart {
        kind,
        time: Estimate { mean_ns: ms * 1_000_000, half_width_ns: Some(1), count: 100 },
        how: String::new(),
    };
    let attribution = Attribution {
        client: part(PartKind::Server, 72).time,
        parts: vec![part(PartKind::Server, 30), part(PartKind::Rest, 42)],
        same_operations: true,
        ..Attribution::default()
    };
    let outcome = |names: &[&str]| {
        let told = |name: &&str| ((*name).to_owned(), times([30_000_000]));
        let part = plumb_measure::PartRecord {
            operations: 1,
            service_ns: Some(times([72_000_000])),
            told_ns: names.iter().map(told).collect(),
            attribution: Some(attribution.clone()),
            ..plumb_measure::PartRecord::default()
        };
        let result = ResultRecord { parts: vec![part], ..ResultRecord::default() };
        CheckupOutcome::of_result(&result, &Validity::default()).attribution.unwrap()
    };
    let shares = |attribution: Attribution| {
        let split = attribution.account().unwrap().split;
        split.all().map(|it| (it.of, it.time.mean_ns / 1_000_000)).collect::<Vec<_>>()
    };
    let all = shares(outcome(&["db", "total"]));
    assert!(all.contains(&(PartKind::Wire, 42)) && all.contains(&(PartKind::Rest, 0)), "{all:?}");
    // single times may leave work untold
    let some = shares(outcome(&["db"]));
    assert!(some.contains(&(PartKind::Rest, 42)), "{some:?}");
}

#[test]
fn when_answers_end_is_known_where_only_failures_follow() {
    let interval = |at: u64, operations, failures| Interval {
        start_ns: 500 + at * 100,
        duration_ns: 100,
        operations,
        failures,
        p50: 1,
        p99: 1,
        max: 1,
        users: 0,
    };
    let ended = |all: &[(u64, u64)]| {
        let all: Vec<Interval> =
            (0..).zip(all).map(|(at, (right, failed))| interval(at, *right, *failed)).collect();
        answered_until_ns(&all)
    };
    assert_eq!(ended(&[(9, 0), (4, 2), (0, 5), (0, 0)]), Some(200));
    assert_eq!(ended(&[(9, 0), (0, 5), (3, 0)]), None, "it came back");
    assert_eq!(ended(&[(9, 0), (0, 0)]), None, "nobody asked any more");
    assert_eq!((ended(&[(0, 9)]), ended(&[])), (None, None));
}

/// The record of a run with this plan and result.
fn run(plan: Plan, result: ResultRecord) -> RunRecord {
    let text = String::new;
    RunRecord {
        schema: plumb_measure::SCHEMA.into(),
        plumb: Program { version: text() },
        started: text(),
        status: Status::Complete,
        plan,
        host: HostFacts {
            name: text(),
            kernel: text(),
            cpus: 2,
            placement: text(),
            clock: text(),
            clock_read_ns: 20,
            facts: BTreeMap::new(),
        },
        far: None,
        target: Target { address: text(), transport: None, server: None },
        validity: Validity::default(),
        floor: None,
        results: vec![result],
    }
}

fn plan() -> Plan {
    let text = String::new;
    let (command, options) = (Vec::new(), BTreeMap::new());
    Plan { layer: text(), verb: text(), command, options, load: text(), seed: 1 }
}

fn of_pages() -> PairRecord {
    let text = String::new;
    let (first_byte, last_byte) = (None, None);
    PairRecord { dynamic: text(), fixed: text(), method: text(), blocks: 0, first_byte, last_byte }
}

#[test]
fn a_rate_is_of_the_time_in_which_operations_began() {
    // ten users of four places that take 400 ms each: the last answer came a second behind the end
    let of = |asked: Option<&str>, pair: bool| {
        let duration_ns = 3_463_658_040;
        let part = plumb_measure::PartRecord {
            operations: 24,
            throughput_per_s: 24e9 / real(duration_ns),
            ..plumb_measure::PartRecord::default()
        };
        let result = ResultRecord {
            operations: if pair { 48 } else { 24 },
            duration_ns,
            throughput_per_s: if pair { 48e9 } else { 24e9 } / real(duration_ns),
            pair: pair.then(of_pages),
            parts: vec![part],
            ..ResultRecord::default()
        };
        let asked = asked.map(|it| ("for".to_owned(), it.into()));
        let plan = Plan { options: asked.into_iter().collect(), ..plan() };
        CheckupOutcome::of(&run(plan, result), String::new()).throughput_per_s
    };
    let near = |rate: f64, expected: f64| (rate / expected - 1.0).abs() < 1e-9;
    for pair in [false, true] {
        assert!(near(of(Some("2500ms"), pair), 9.6));
        assert!(near(of(Some("1h"), pair), 24e9 / 3_463_658_040.0), "it was ended early");
        assert!(near(of(None, pair), 24e9 / 3_463_658_040.0));
    }
}
