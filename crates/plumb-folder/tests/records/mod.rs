//! Run records as the instruments write them, made from formulas so that they never change.
#![allow(dead_code, reason = "each test takes the records that it needs")]

mod build;
mod limits;
mod pages;
mod scenarios;
mod several;

use std::collections::BTreeMap;

use plumb_measure::{
    Advice, Attribution, Estimate, FarHost, FasterCalls, FindingKind, HostUse, LinkUse, PartKind,
    Reading, ReceiveUse, RunRecord, Scope, Status, Target, TimePart, Transport, Validity,
};
use serde_json::json;

use build::{Load, Shape, labels, machine, run};

/// Every record below under the name of its golden files.
pub(crate) fn all() -> Vec<(&'static str, RunRecord)> {
    vec![
        ("single", single_ping()),
        ("far-host", far_host()),
        ("published", published()),
        ("two-messages", two_messages()),
        ("sweep", sweep()),
        ("streams", several::streams()),
        ("clients", several::four_clients()),
        ("open-drops", open_with_drops()),
        ("interrupted", interrupted()),
        ("nobody", nobody_there()),
        ("begun", begun()),
        ("database", database()),
        ("database-busy", database_busy()),
        ("pages", pages::pages()),
        ("scenario", scenarios::scenario()),
        ("limit-raised", limits::limit_raised()),
        ("not-checked", limits::not_checked()),
        ("refused", pages::refused()),
    ]
}

/// 52,000 round trips of 1000B over one connection, closed, for ten seconds.
pub(crate) fn single_ping() -> RunRecord {
    let result = Load {
        labels: labels(&[("connections", "1"), ("size", "1000B")]),
        shape: Shape { base_ns: 182_000, tail_ns: 9_000 },
        operations: 52_000,
        duration_ns: 10_000_000_000,
        intervals: 20,
        payload_bytes: Some(1000),
        ..Load::default()
    };
    let mut record = run("net", "ping", "10.20.0.5:3298", vec![result.done()]);
    record.results[0].slowest = build::slowest();
    record.plan.command =
        words("plumb net ping 10.20.0.5:3298 --for 10s --size 1000B --out runs/a");
    record.plan.options =
        options(&[("connections", json!([1])), ("for", json!("10s")), ("size", json!(["1000B"]))]);
    record
}

/// 52,000 round trips beside a far host that was recorded, and lost before the end.
pub(crate) fn far_host() -> RunRecord {
    let mut record = single_ping();
    record.far = Some(FarHost {
        name: "db7".into(),
        address: "10.20.0.5:3299".into(),
        kernel: "Linux 6.12.9 s390x".into(),
        cpus: 16,
        round_trip_ns: 210_000,
        clock_ahead_ns: -4_200_000,
        facts: BTreeMap::from([("memory".into(), "65536 MiB".into())]),
    });
    let result = &mut record.results[0];
    result.far = Some(HostUse {
        busy_pct: Some(12.5),
        busy_max_pct: Some(19.0),
        steal_pct: Some(0.0),
        foreign_pct: None,
        tested: Vec::new(),
        link: Some(LinkUse {
            interface: "eth0".into(),
            sent: true,
            speed_mbit: 1_000,
            used_pct: 96.4,
            used_max_pct: Some(97.9),
        }),
        receive: Some(ReceiveUse {
            effective_cpus: 1.0,
            cpus: 16,
            hottest_cpu: 3,
            findings: vec![
                "receive work is handled by 1.0 of 16 CPUs where 8 could share it, and one of them \
                 spends 83 % of its time on it: turn on receive side scaling (ethtool -L, -X) or \
                 packet steering (rps_cpus)"
                    .into(),
            ],
        }),
        ..machine()
    });
    let covered_ns = result.far.as_ref().map_or(0, |far| far.covered_ns);
    result.validity = std::mem::take(&mut result.validity).without_far(
        "db7",
        "closed the connection",
        covered_ns,
        result.duration_ns,
    );
    record.validity = Validity::of_all([("", &record.results[0].validity)]);
    record
}

/// The block that SAP Note 500235 publishes, as a run of 1,000 messages of 50,000 bytes.
pub(crate) fn published() -> RunRecord {
    let mut result = Load {
        labels: labels(&[("connections", "1"), ("size", "50000B")]),
        shape: Shape { base_ns: 1_656_000, tail_ns: 60_000 },
        operations: 1_000,
        duration_ns: 1_905_000_000,
        payload_bytes: Some(50_000),
        ..Load::default()
    }
    .done();
    result.niping = Some(plumb_measure::NipingFigures {
        avg_ms: 1.904_083,
        max_ms: 9.982,
        min_ms: 1.656,
        tr_kb_s: 51_287.892,
        av2_ms: Some(1.896),
        tr2_kb_s: Some(51_500.092),
        left_out: 2,
    });
    run("net", "ping", "10.20.0.5:3298", vec![result])
}

/// Two messages only: no av2, no tail.
pub(crate) fn two_messages() -> RunRecord {
    let result = Load {
        labels: labels(&[("connections", "1"), ("size", "1B")]),
        operations: 2,
        duration_ns: 700_000,
        payload_bytes: Some(1),
        ..Load::default()
    }
    .found(
        FindingKind::FewSamples,
        Scope::Nothing,
        "2 samples: percentiles above p50 are the maximum",
    )
    .done();
    run("net", "ping", "10.20.0.5:3298", vec![result])
}

/// Six sizes by two numbers of connections on loopback; the largest load met the driver's limit.
pub(crate) fn sweep() -> RunRecord {
    const SIZES: [(&str, u64); 6] = [
        ("1B", 1),
        ("100B", 100),
        ("1000B", 1_000),
        ("10000B", 10_000),
        ("64KiB", 65_536),
        ("1MiB", 1 << 20),
    ];
    let mut results = Vec::new();
    let mut start_ns = 0;
    // measured in the order that the seed gave
    for place in [7, 2, 11, 0, 5, 9, 4, 1, 10, 3, 8, 6] {
        let (size, bytes) = SIZES[place % 6];
        let connections = if place < 6 { 1 } else { 16 };
        let base_ns = (9_800 + bytes * 11 / 40) * if connections == 1 { 1 } else { 6 };
        let operations = if bytes > 100_000 { 900 } else { 6_000 };
        let duration_ns = operations * base_ns * 11 / 10 / connections;
        let mut load = Load {
            labels: labels(&[("connections", &connections.to_string()), ("size", size)]),
            shape: Shape { base_ns, tail_ns: base_ns / 20 + 600 },
            operations,
            duration_ns,
            start_ns,
            intervals: 3,
            payload_bytes: Some(bytes),
            ..Load::default()
        };
        if connections == 16 && bytes == 1 {
            load.idle_passes = 5;
            load = load.found(
                FindingKind::DriverLimited,
                Scope::Latency,
                "driver-limited: the load generator was busy in 95 % of its passes; throughput is a \
                 lower bound, latency is not valid",
            );
        }
        start_ns += duration_ns + 2_000_000;
        results.push(load.done());
    }
    let mut record = run("net", "ping", "127.0.0.1:3298", results);
    record.plan.command = words(
        "plumb net ping 127.0.0.1:3298 --size 1B,100B,1000B,10000B,64KiB,1MiB --connections 1,16",
    );
    record.plan.options = options(&[
        ("connections", json!([1, 16])),
        ("count", json!(6000)),
        ("size", json!(["1B", "100B", "1000B", "10000B", "64KiB", "1MiB"])),
        ("warmup", json!("1s")),
    ]);
    record
}

/// An open run at 2,000 a second whose target stalls for a second: work is dropped.
pub(crate) fn open_with_drops() -> RunRecord {
    let result = Load {
        labels: labels(&[("connections", "4"), ("rate", "2000/s"), ("size", "500B")]),
        shape: Shape { base_ns: 240_000, tail_ns: 21_000 },
        operations: 19_863,
        duration_ns: 10_000_000_000,
        intervals: 20,
        stalled: Some(12),
        dropped: 137,
        payload_bytes: Some(500),
        lag_ns: Some(38_000),
        ..Load::default()
    }
    .found(
        FindingKind::Dropped,
        Scope::Everything,
        "137 operations were due but could not begin in time: the target, or the number of \
         connections, does not carry this rate",
    );
    let mut record = run("net", "ping", "10.20.0.5:3298", vec![result.done()]);
    record.plan.load = "open".into();
    record.plan.command =
        words("plumb net ping 10.20.0.5:3298 --size 500B --rate 2000/s --connections 4 --for 10s");
    record.plan.options = options(&[
        ("connections", json!([4])),
        ("for", json!("10s")),
        ("rate", json!("2000/s")),
        ("size", json!(["500B"])),
    ]);
    record
}

/// Two pages at once with status codes, failures and TLS, ended by the user.
pub(crate) fn interrupted() -> RunRecord {
    let mut results = Vec::new();
    for (page, base_ns, failed) in [("details <id>", 4_100_000, 0), ("list", 11_900_000, 212)] {
        let mut load = Load {
            labels: labels(&[("page", page), ("users", "20")]),
            shape: Shape { base_ns, tail_ns: base_ns / 7 },
            operations: 4_400,
            duration_ns: 6_250_000_000,
            intervals: 13,
            in_pieces: true,
            tls: true,
            threads: 2,
            codes: vec![(200, 4_400)],
            length_bytes: Some((18_412, 18_412, 18_412)),
            ..Load::default()
        };
        if failed > 0 {
            load.failures = vec![("timed-out", 9), ("unexpected-status", 203)];
            load.codes.push((503, 203));
            load.length_bytes = Some((2_210, 48_377, 48_377));
            load = load
                .found(
                    FindingKind::Failures,
                    Scope::Everything,
                    "212 failures beside 4,400 operations: 203 unexpected-status, 9 timed-out",
                )
                .found(
                    FindingKind::LengthVaries,
                    Scope::Nothing,
                    "the content length varied from 2,210 to 48,377 bytes",
                );
        }
        load = load.found(
            FindingKind::CutShort,
            Scope::Everything,
            "the run ended before its plan did",
        );
        results.push(load.done());
    }
    let mut record = run("http", "load", "https://erp.example:8443/sap/bc", results);
    record.status = Status::Interrupted;
    record.floor = None;
    record.target = Target {
        address: "https://erp.example:8443/sap/bc".into(),
        transport: Some(Transport {
            tls: None,
            smc: None,
            kind: "tcp".into(),
            network: None,
            local: "10.20.0.9:51002".into(),
            peer: "10.20.0.7:8443".into(),
        }),
        server: Some("HTTP/1.1, TLS 1.3".into()),
    };
    record.plan.command = words("plumb http load shop.toml --users 20 --for 60s");
    record.plan.command.push("--header=X-Note: it's".into());
    record.plan.options = options(&[
        ("for", json!("60s")),
        ("header", json!(["X-Note: it's"])),
        ("think-time", json!("0s")),
        ("users", json!(20)),
    ]);
    record
}

/// A run whose target was not there: nothing was measured.
pub(crate) fn nobody_there() -> RunRecord {
    let result = Load {
        labels: labels(&[("connections", "1"), ("size", "1000B")]),
        operations: 0,
        failures: vec![("connect-refused", 5)],
        duration_ns: 400_000,
        ..Load::default()
    }
    .found(FindingKind::NoOperations, Scope::Everything, "no operation succeeded")
    .found(
        FindingKind::Failures,
        Scope::Everything,
        "5 failures beside 0 operations: 5 connect-refused",
    );
    let mut record = run("net", "ping", "10.20.0.5:3299", vec![result.done()]);
    record.target.transport = None;
    record
}

/// A run that was only begun.
pub(crate) fn begun() -> RunRecord {
    let mut record = run("net", "ping", "10.20.0.5:3298", Vec::new());
    record.status = Status::Running;
    record.floor = None;
    record
}

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}

fn options(
    named: &[(&str, serde_json::Value)],
) -> std::collections::BTreeMap<String, serde_json::Value> {
    let mut all = std::collections::BTreeMap::from([
        ("delay".to_owned(), json!("0s")),
        ("seed".to_owned(), json!(1)),
        ("timeout".to_owned(), json!("30s")),
        ("transport".to_owned(), json!("tcp")),
    ]);
    all.extend(named.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    all
}

/// Statements over a kept connection, over a pool that is too small, and with parts that were
/// measured in a worse hour than the whole.
pub(crate) fn database() -> RunRecord {
    let result = |over: &str, base_ns, parts: &[(PartKind, i64)]| {
        let load = Load {
            labels: labels(&[("over", over), ("statement", "own")]),
            shape: Shape { base_ns, tail_ns: 90_000 },
            operations: 5_000,
            duration_ns: 5_000_000_000,
            intervals: 5,
            ..Load::default()
        };
        let mut result = load.done();
        result.driver.name = Some("tokio-postgres on a tokio runtime of one thread".into());
        let whole_ns = i64::try_from(base_ns).unwrap_or(0);
        result.attribution = Some(attribution(whole_ns, parts));
        result
    };
    let kept = [(PartKind::Server, 3_412_000), (PartKind::Wire, 104_000)];
    let pool =
        [(PartKind::Server, 3_431_000), (PartKind::Wire, 118_000), (PartKind::Queue, 45_600_000)];
    let apart = [(PartKind::Server, 3_900_000), (PartKind::Wire, 12_400_000)];
    let results = vec![
        result("kept", 3_507_000, &kept),
        result("pool", 51_200_000, &pool),
        result("connect", 5_900_000, &apart),
    ];
    let mut record = run("db", "ping", "db7:5432/erp", results);
    record.target.server = Some("PostgreSQL 15.18, TLS".into());
    record.plan.command = words("plumb db ping postgres://db7/erp --file orders.sql");
    record
}

/// The statement of a machine that others take now and then: the parts of all calls are hardly known,
/// those of the faster nine tenths are.
pub(crate) fn database_busy() -> RunRecord {
    let mut record = database();
    record.results.truncate(1);
    let Some(attribution) = &mut record.results[0].attribution else { return record };
    let known = |mean_ns, half_ns| Estimate { mean_ns, half_width_ns: Some(half_ns), count: 47 };
    let time = |kind, time| TimePart { kind, time, how: "as it says".into() };
    *attribution = Attribution {
        client: Estimate { count: 4_700, ..known(5_486_000, 231_000) },
        parts: vec![
            time(PartKind::Server, known(3_590_000, 1_210_000)),
            time(PartKind::Wire, known(1_340_000, 890_000)),
        ],
        ..attribution.clone()
    }
    .settled("as it says");
    attribution.faster = Some(FasterCalls {
        client: Estimate { count: 4_700, ..known(3_602_000, 61_000) },
        parts: vec![
            time(PartKind::Server, known(3_380_000, 41_000)),
            time(PartKind::Wire, known(131_000, 12_000)),
            time(PartKind::Rest, known(91_000, 74_000)),
        ],
    });
    record
}

/// A whole and these parts, with one finding and one source that says nothing.
fn attribution(whole_ns: i64, parts: &[(PartKind, i64)]) -> Attribution {
    let time = |mean_ns: i64| Estimate {
        mean_ns,
        half_width_ns: Some(mean_ns.unsigned_abs() / 50),
        count: 4_700,
    };
    let attribution = Attribution {
        subject: "select * from orders where day = date '2026-11-21'".into(),
        client: time(whole_ns),
        parts: parts
            .iter()
            .map(|(kind, ns)| TimePart { kind: *kind, time: time(*ns), how: "as it says".into() })
            .collect(),
        observed: 300,
        readings: vec![Reading {
            source: "pg_stat_statements".into(),
            mean_ns: None,
            count: 0,
            about: "the server does not count it".into(),
        }],
        advice: vec![Advice {
            finding: "93 % of the time is waiting for a connection of the pool".into(),
            next: "Try a larger --pool.".into(),
        }],
        ..Attribution::default()
    };
    attribution.settled("as it says")
}
