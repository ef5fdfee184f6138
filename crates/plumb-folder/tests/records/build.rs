//! From the outline of a load to its record.

use std::collections::BTreeMap;

use plumb_measure::{
    CpuSplit, CpuUse, Distribution, DriverFacts, Figure, Finding, FindingKind, Floor, Histogram,
    HostFacts, HostUse, Interval, LengthFigures, NipingFigures, Plan, Program, ReceiveUse,
    ResultRecord, RunRecord, SCHEMA, Scope, SlowSample, Status, Target, TcpAround, TcpReading,
    Transport, Validity,
};

/// The distribution of times: a base, a little spread, and a tail that grows with the rank.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) base_ns: u64,
    pub(super) tail_ns: u64,
}

/// What the machine did.
pub(super) fn machine() -> HostUse {
    HostUse {
        samples: 20,
        covered_ns: 5_000_000_000,
        busy_pct: Some(71.4),
        busy_max_pct: Some(88.0),
        interrupt_pct: Some(6.2),
        iowait_pct: Some(0.1),
        steal_pct: Some(0.4),
        foreign_pct: Some(1.3),
        tested: vec![4711],
        swapped_pages: Some(0),
        major_faults: Some(0),
        retransmitted: Some(2),
        receive: Some(ReceiveUse {
            effective_cpus: 1.04,
            cpus: 2,
            hottest_cpu: 1,
            findings: Vec::new(),
        }),
        watching_pct: 0.1,
        ..HostUse::default()
    }
}

/// The slowest operations of one connection: the first lost a segment.
pub(super) fn slowest() -> Vec<SlowSample> {
    let reading = |retransmits, cwnd, rtt_ns| TcpReading {
        retransmits,
        cwnd,
        rtt_ns,
        ..TcpReading::default()
    };
    let sample = |at_ns, response_ns, retransmits, cwnd| SlowSample {
        at_ns,
        response_ns,
        service_ns: response_ns,
        row: 0,
        connection: 0,
        tcp: Some(TcpAround {
            since_ns: 800_000_000,
            retransmits,
            before: reading(3, 10, 190_000),
            after: reading(3 + retransmits, cwnd, 240_000),
        }),
        waking_ns: None,
    };
    vec![sample(4_100_000_000, 207_000_000, 1, 1), sample(7_300_000_000, 2_100_000, 0, 10)]
}

impl Shape {
    /// The sample of rank `at` among `count`: `base * (1 + rank / 8) + tail * (sqrt(count / left) - 1)`.
    fn sample(self, at: u64, count: u64) -> u64 {
        let left = (count - at) * 4;
        let tail = (count * 4 * 10_000 / left).isqrt().saturating_sub(100) * self.tail_ns / 100;
        self.base_ns + self.base_ns * at / count / 8 + tail
    }

    pub(super) fn histogram(self, count: u64) -> Histogram {
        let mut histogram = Histogram::new();
        (0..count).for_each(|at| histogram.record(self.sample(at, count)));
        histogram
    }

    fn part(self, percent: u64) -> Self {
        Self { base_ns: self.base_ns * percent / 100, tail_ns: self.tail_ns * percent / 100 }
    }
}

/// The outline of one result.
pub(super) struct Load {
    pub(super) labels: BTreeMap<String, String>,
    pub(super) shape: Shape,
    pub(super) operations: u64,
    pub(super) duration_ns: u64,
    pub(super) start_ns: u64,
    pub(super) intervals: u64,
    /// The interval in which the target did not answer.
    pub(super) stalled: Option<u64>,
    pub(super) failures: Vec<(&'static str, u64)>,
    pub(super) dropped: u64,
    pub(super) payload_bytes: Option<u64>,
    pub(super) codes: Vec<(u16, u64)>,
    pub(super) length_bytes: Option<(u64, u64, u64)>,
    pub(super) lag_ns: Option<u64>,
    pub(super) in_pieces: bool,
    pub(super) tls: bool,
    pub(super) threads: u64,
    pub(super) idle_passes: u64, // percent
    pub(super) reasons: Vec<Finding>,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            labels: BTreeMap::new(),
            shape: Shape { base_ns: 180_000, tail_ns: 9_000 },
            operations: 1_000,
            duration_ns: 1_000_000_000,
            start_ns: 0,
            intervals: 0,
            stalled: None,
            failures: Vec::new(),
            dropped: 0,
            payload_bytes: None,
            codes: Vec::new(),
            length_bytes: None,
            lag_ns: None,
            in_pieces: false,
            tls: false,
            threads: 1,
            idle_passes: 97,
            reasons: Vec::new(),
        }
    }
}

impl Load {
    pub(super) fn found(mut self, kind: FindingKind, scope: Scope, text: &str) -> Self {
        self.reasons.push(Finding { kind, scope, text: text.into() });
        self
    }

    #[allow(clippy::cast_precision_loss, reason = "figures of a test")]
    pub(super) fn done(self) -> ResultRecord {
        let mut service = self.shape.histogram(self.operations);
        let mut response = service.clone();
        if self.stalled.is_some() {
            // four connections met the stall; what was due in it waited for its end
            service.record_n(899_000_000, 4);
            response = self.shape.histogram(self.operations - 900);
            (0..900).for_each(|at| response.record(1_000_000 * at + 400_000));
        }
        let first_byte = if self.in_pieces {
            self.shape.part(60).histogram(self.operations)
        } else {
            service.clone()
        };
        let passes = self.operations * 2;
        let rate = self.operations as f64 / (self.duration_ns as f64 / 1e9);
        ResultRecord {
            operations: self.operations,
            failures: self.failures.iter().map(|(kind, n)| ((*kind).to_owned(), *n)).collect(),
            dropped: self.dropped,
            duration_ns: self.duration_ns,
            throughput_per_s: rate,
            response_ns: Distribution::of(&response),
            service_ns: Distribution::of(&service),
            first_byte_ns: Distribution::of(&first_byte),
            connect_ns: (self.operations > 0)
                .then(|| distribution(&self.shape.part(140).histogram(self.connections()))),
            tls_ns: self
                .tls
                .then(|| distribution(&self.shape.part(320).histogram(self.connections()))),
            tls_resumed: self.tls.then_some(0),
            codes: self.codes.iter().map(|(code, n)| (code.to_string(), *n)).collect(),
            length: self.length_bytes.map(|(min, p50, max)| LengthFigures {
                min,
                p25: None,
                p50,
                p75: None,
                max,
            }),
            bytes_sent: self.operations * self.payload_bytes.unwrap_or(310),
            bytes_received: self.operations * self.payload_bytes.unwrap_or(18_700),
            cpu: (self.operations > 0).then(|| CpuUse {
                client_ns_per_op: 6_900 + self.shape.base_ns / 60,
                server_ns_per_op: self.in_pieces.then_some(self.shape.base_ns / 3),
                client: self.watched().then_some(CpuSplit {
                    user_ns_per_op: 1_900,
                    system_ns_per_op: 5_000,
                    ticks: 412,
                }),
                server: None,
                interrupt_ns_per_op: self.watched().then_some(2_300),
            }),
            niping: self.payload_bytes.and_then(|bytes| NipingFigures::of(&service, bytes)),
            figures: self.payload_bytes.map(|bytes| bits(bytes, rate)).unwrap_or_default(),
            validity: validity(&self.reasons),
            driver: DriverFacts {
                start_up_ns: None,
                name: None,
                wait: if self.threads == 1 { "blocking receive" } else { "epoll" }.into(),
                tick: None, // as of records that do not say
                threads: self.threads,
                passes,
                idle_passes: passes * self.idle_passes / 100,
                lag_ns: self.lag_ns.map(|base_ns| {
                    distribution(&Shape { base_ns, tail_ns: base_ns / 9 }.histogram(5_000))
                }),
                quiet_closes: 0,
                warm_up_operations: self.operations / 20,
            },
            host: self.watched().then(machine),
            intervals: self.timeline(),
            labels: self.labels,
            ..ResultRecord::default()
        }
    }

    /// The machine was watched, and long enough to say something.
    fn watched(&self) -> bool {
        self.payload_bytes.is_some() && self.operations > 1_000
    }

    /// As the labels have it.
    fn connections(&self) -> u64 {
        let named = self.labels.get("connections").or_else(|| self.labels.get("users"));
        named.and_then(|value| value.parse().ok()).unwrap_or(1)
    }

    fn timeline(&self) -> Vec<Interval> {
        let length = self.duration_ns / self.intervals.max(1);
        let failed: u64 = self.failures.iter().map(|(_, n)| n).sum();
        (0..self.intervals)
            .map(|at| {
                let wave = (at * 7) % 5; // percent
                let still = self.stalled == Some(at);
                let after = self.stalled.is_some_and(|stall| at == stall + 1);
                let (p50, p99) = (
                    self.shape.base_ns * (104 + wave) / 100,
                    self.shape.base_ns * (130 + wave * 4) / 100,
                );
                let max = self.shape.base_ns * (190 + wave * 60) / 100;
                Interval {
                    start_ns: self.start_ns + at * length,
                    users: 0,
                    duration_ns: length,
                    operations: if still {
                        0
                    } else {
                        self.operations * (98 + wave) / 100 / self.intervals
                    },
                    failures: if at % 4 == 3 { failed / 3 } else { 0 },
                    p50: if still {
                        0
                    } else if after {
                        420_000_000
                    } else {
                        p50
                    },
                    p99: if still {
                        0
                    } else if after {
                        880_000_000
                    } else {
                        p99
                    },
                    max: if still {
                        0
                    } else if after {
                        899_000_000
                    } else {
                        max
                    },
                }
            })
            .collect()
    }
}

/// One-way and two-way bits a second, as the net layer gives them.
#[allow(clippy::cast_precision_loss, reason = "figures of a test")]
fn bits(payload_bytes: u64, rate: f64) -> Vec<Figure> {
    let one_way = 8.0 * payload_bytes as f64 * rate;
    [
        ("one-way", one_way, "8 * size [B] * msgs/s"),
        ("two-way", 2.0 * one_way, "2 * 8 * size [B] * msgs/s"),
    ]
    .map(|(name, value, formula)| Figure {
        name: name.into(),
        value,
        unit: "bit/s".into(),
        formula: formula.into(),
    })
    .into()
}

pub(super) fn distribution(histogram: &Histogram) -> Distribution {
    Distribution::of(histogram).expect("a load with samples")
}

fn validity(reasons: &[Finding]) -> Validity {
    Validity::of(reasons.iter().cloned())
}

pub(super) fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect()
}

/// A record around its results.
pub(super) fn run(layer: &str, verb: &str, address: &str, results: Vec<ResultRecord>) -> RunRecord {
    let names: Vec<String> = results
        .iter()
        .map(|result| if results.len() == 1 { String::new() } else { result.name() })
        .collect();
    let pairs = names.iter().map(String::as_str).zip(results.iter().map(|result| &result.validity));
    let floor = Shape { base_ns: 8_900, tail_ns: 420 }.histogram(20_000);
    RunRecord {
        schema: SCHEMA.into(),
        plumb: Program { version: "0.1.0".into() },
        started: "2026-03-01T14:02:11Z".into(),
        status: Status::Complete,
        plan: Plan {
            layer: layer.into(),
            verb: verb.into(),
            command: ["plumb", layer, verb, address].map(String::from).into(),
            options: BTreeMap::new(),
            load: "closed".into(),
            seed: 1,
        },
        host: HostFacts {
            name: "measure-1".into(),
            kernel: "Linux 6.12.9 x86_64".into(),
            cpus: 8,
            placement: "load on processor 3, pinned; 8 processors in all".into(),
            clock: "CLOCK_MONOTONIC".into(),
            clock_read_ns: 22,
            facts: BTreeMap::from([("cpu model".into(), "Example 9000".into())]),
        },
        far: None,
        target: Target {
            address: address.into(),
            transport: Some(Transport {
                tls: None,
                smc: None,
                kind: "tcp".into(),
                network: None,
                local: "10.20.0.9:40312".into(),
                peer: address.into(),
            }),
            server: None,
        },
        validity: Validity::of_all(pairs),
        floor: Some(Floor {
            method: "the same loop and recording (blocking receive) on a socket that answers to \
                     itself: one send, one receive, no other process"
                .into(),
            service_ns: distribution(&floor),
        }),
        results,
    }
}
