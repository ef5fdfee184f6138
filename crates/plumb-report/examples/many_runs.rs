//! Makes run folders to try a report over many runs on: `many_runs FOLDER RUNS`.
//!
//! Nine plans (three sizes by three numbers of connections) are repeated in turn, 10,000 operations
//! a run, so that 1,000 runs hold ten million samples. One run in fifty is invalid. The figures come
//! from a seed and are the same everywhere; they are of no machine.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use plumb_folder::RunFolder;
use plumb_measure::statistics::SplitMix64;
use plumb_measure::{
    Distribution, DriverFacts, Finding, FindingKind, Floor, Histogram, HostFacts, HostUse,
    Interval, Plan, Program, ResultRecord, RunRecord, SCHEMA, Scope, Status, Target, Transport,
    Validity, hdr,
};
use serde_json::json;

const SIZES: [(&str, u64); 3] = [("100B", 100), ("1000B", 1_000), ("10000B", 10_000)];
const CONNECTIONS: [u64; 3] = [1, 16, 64];
const OPERATIONS: u64 = 10_000;
const INTERVALS: u64 = 20;
const INTERVAL_NS: u64 = 50_000_000;
/// 2026-11-21T00:00:00Z, seconds since 1970.
const FIRST_S: u64 = 1_795_219_200;
/// Time between two runs, seconds.
const APART_S: u64 = 7;
/// One run in so many is invalid.
const INVALID_EVERY: u64 = 50;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let usage = "usage: many_runs FOLDER RUNS";
    let folder = words.next().ok_or(usage)?;
    let runs: u64 = words.next().ok_or(usage)?.parse()?;
    let mut random = SplitMix64::new(1);
    let floor = distribution(&mut random, 900, 2_000).ok_or("a floor has samples")?;
    for number in 0..runs {
        make(Path::new(&folder), number, &floor, &mut random)?;
    }
    Ok(())
}

fn make(
    parent: &Path,
    number: u64,
    floor: &Distribution,
    random: &mut SplitMix64,
) -> Result<(), Box<dyn Error>> {
    let start_s = FIRST_S + number * APART_S;
    let started = moment(start_s);
    let mut folder = RunFolder::create_in(parent, &format!("{number:06}-net-ping"))?;
    let mut log = hdr::log_header(start_s * 1_000_000_000, &started);
    log.push_str("# no interval is kept\n");
    folder.append_intervals(&log)?;
    folder.write_record(&record(number, started, floor, random))?;
    fs::write(folder.path().join("load1.csv"), samples(start_s, random))?;
    Ok(())
}

fn record(
    number: u64,
    started: String,
    floor: &Distribution,
    random: &mut SplitMix64,
) -> RunRecord {
    let (size, bytes) = SIZES[place(number, SIZES.len())];
    let connections = CONNECTIONS[place(number / 3, CONNECTIONS.len())];
    let drift = number % 97 * 20;
    let base_ns = 14_000 + bytes / 4 + connections * 900 + drift;
    let response = distribution(random, base_ns, OPERATIONS);
    let duration_ns = INTERVALS * INTERVAL_NS;
    let invalid = number % INVALID_EVERY == INVALID_EVERY - 1;
    let findings = invalid.then(|| Finding {
        kind: FindingKind::ForeignLoad,
        scope: Scope::Everything,
        text: "foreign load: other processes took 31.0 % of all \
               processors, more than the 5 % allowed"
            .into(),
    });
    let validity = Validity::of(findings);
    let result = ResultRecord {
        labels: BTreeMap::from([
            ("connections".into(), connections.to_string()),
            ("size".into(), size.into()),
        ]),
        operations: OPERATIONS,
        duration_ns,
        throughput_per_s: per_second(OPERATIONS, duration_ns),
        service_ns: response.clone(),
        first_byte_ns: response.clone(),
        response_ns: response,
        validity: validity.clone(),
        driver: DriverFacts { wait: "epoll".into(), threads: 1, ..DriverFacts::default() },
        host: Some(HostUse {
            samples: INTERVALS,
            covered_ns: duration_ns,
            busy_pct: Some(55.0),
            interrupt_pct: Some(6.0),
            foreign_pct: Some(if invalid { 31.0 } else { 1.0 }),
            swapped_pages: Some(0),
            retransmitted: Some(0),
            ..HostUse::default()
        }),
        intervals: (0..INTERVALS).map(|at| interval(at, base_ns)).collect(),
        ..ResultRecord::default()
    };
    RunRecord {
        schema: SCHEMA.into(),
        plumb: Program { version: env!("CARGO_PKG_VERSION").into() },
        started,
        status: Status::Complete,
        plan: plan(size, connections, random.next_u64()),
        host: host(),
        far: None,
        target: Target {
            address: "10.20.0.5:3298".into(),
            transport: Some(Transport {
                kind: "tcp".into(),
                network: None,
                local: "10.20.0.9:51002".into(),
                peer: "10.20.0.5:3298".into(),
                tls: None,
                smc: None,
            }),
            server: None,
        },
        validity,
        floor: Some(Floor { method: "a socket of its own".into(), service_ns: floor.clone() }),
        results: vec![result],
    }
}

fn plan(size: &str, connections: u64, seed: u64) -> Plan {
    let words = format!("plumb net ping 10.20.0.5:3298 --size {size} --connections {connections}");
    Plan {
        layer: "net".into(),
        verb: "ping".into(),
        command: words.split(' ').map(str::to_owned).collect(),
        options: BTreeMap::from([
            ("connections".into(), json!([connections])),
            ("count".into(), json!(OPERATIONS)),
            ("size".into(), json!([size])),
            ("seed".into(), json!(seed)),
        ]),
        load: "closed".into(),
        seed,
    }
}

fn host() -> HostFacts {
    HostFacts {
        name: "load1".into(),
        kernel: "Linux 6.12.0 x86_64".into(),
        cpus: 4,
        placement: "pinned to processor 0".into(),
        clock: "CLOCK_MONOTONIC".into(),
        clock_read_ns: 18,
        facts: BTreeMap::from([("memory".into(), "65536 MiB".into())]),
    }
}

/// `count` samples from `base_ns` on, with a tail.
fn distribution(random: &mut SplitMix64, base_ns: u64, count: u64) -> Option<Distribution> {
    let mut histogram = Histogram::new();
    for _ in 0..count {
        let drawn = random.next_u64();
        // most samples lie close together, few far out, as those of a machine do
        let place = drawn >> 48;
        let tail = (base_ns * 3 * ((place * place) >> 16)) >> 16;
        // one sample in a thousand waits for something
        let wait = if drawn.is_multiple_of(1_000) { base_ns * (5 + drawn / 1_000 % 40) } else { 0 };
        histogram.record(base_ns + tail + wait);
    }
    Distribution::of(&histogram)
}

fn interval(at: u64, base_ns: u64) -> Interval {
    let breath = (at % 5) * base_ns / 100;
    Interval {
        users: 0,
        start_ns: at * INTERVAL_NS,
        duration_ns: INTERVAL_NS,
        operations: OPERATIONS / INTERVALS - at % 3,
        failures: 0,
        p50: base_ns + breath,
        p99: base_ns * 4 / 3 + breath,
        max: base_ns * 20,
    }
}

/// Samples of the machine as `HOST.csv` has them, with the figures that a report draws.
fn samples(start_s: u64, random: &mut SplitMix64) -> String {
    let mut text = String::from(
        "time,monotonic_s,interval_s,cpu_busy_pct,cpu_iowait_pct,cpu_softirq_pct,cpu_steal_pct,\
         swapped_in,swapped_out,major_faults,tcp_retransmitted,eth0:received_bytes_per_s,\
         eth0:sent_bytes_per_s,eth0:received_packets_per_s\n",
    );
    let second = moment(start_s);
    let second = second.trim_end_matches('Z');
    for at in 1..INTERVALS {
        let busy = 50 + random.next_u64() % 15;
        // writing to a String does not fail
        let _ = writeln!(
            text,
            "{second}.{:03}Z,{at}.000000,0.050000,{busy},0,{},0,0,0,0,0,{},{},9000",
            at * 50,
            busy / 9,
            busy * 1_000_000,
            busy * 990_000
        );
    }
    text
}

/// A moment in RFC 3339, of the first days of the runs.
fn moment(seconds: u64) -> String {
    let since = seconds - FIRST_S;
    let (day, second) = (since / 86_400, since % 86_400);
    format!(
        "2026-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        11 + (20 + day) / 30,
        (20 + day) % 30 + 1,
        second / 3_600,
        second / 60 % 60,
        second % 60
    )
}

fn place(number: u64, count: usize) -> usize {
    usize::try_from(number).unwrap_or(0) % count
}

#[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
fn per_second(operations: u64, duration_ns: u64) -> f64 {
    operations as f64 / duration_ns as f64 * 1e9
}
