//! One simulated remote: what it says, and when.

use plumb_engine::{CrewFigures, Ending, IntervalRecords, LoadResult};
use plumb_measure::statistics::SplitMix64;
use plumb_measure::{
    Answer, Distribution, FailureKind, Interval, Moments, Recorder, ResultRecord, RunRecord, Shape,
    Slowest, Transports,
};
use plumb_remote::Hello;
use plumb_remote::message::{self, MESSAGE_MAX, Order, Report, SCHEMA};

use super::{BASE_NS, Fate, Setting, Truth, Wake, exponential};

const SECOND_NS: u64 = 1_000_000_000;
/// The clocks are at most so far off, and run at most so much too fast or slow.
const OFFSET_NS: u64 = 50_000_000;
const DRIFT_NS_A_MS: u64 = 100;
/// Mean time until a thread that waits for a moment runs.
const WAKE_UP_NS: u64 = 60_000;
const ALIVE_EVERY_NS: u64 = SECOND_NS / 2;

/// What it says at once, as bytes, and when it does something by itself next.
pub(super) type Then = (Vec<Vec<u8>>, Vec<(u64, Wake)>);

/// A remote that carries out a load of one row.
#[derive(Debug)]
pub(super) struct SimulatedRemote {
    number: usize,
    pub(super) fate: Fate,
    pub(super) offset_ns: i64,
    /// Nanoseconds a millisecond.
    pub(super) drift: i64,
    /// The shortest way to it and from it, nanoseconds.
    pub(super) ways_ns: [u64; 2],
    /// When the last message to it and from it arrives.
    pub(super) last_ns: [u64; 2],
    random: SplitMix64,
    operations: u64,
    seconds: u64,
    run: u64,
    load: u32,
    at_wall_ns: u64,
    began_ns: Option<u64>,
    total: Recorder,
    told: Vec<Interval>,
    gone: bool,
    over: bool,
}

impl SimulatedRemote {
    pub(super) fn new(
        number: usize,
        fate: Fate,
        random: &mut SplitMix64,
        setting: &Setting,
    ) -> Self {
        let mut random = SplitMix64::new(random.next_u64());
        let mut below = |n: u64| random.next_u64() % n.max(1);
        let signed = |n: u64, most: u64| {
            i64::try_from(n).expect("it fits") - i64::try_from(most).expect("it fits")
        };
        let offset_ns = signed(below(2 * OFFSET_NS + 1), OFFSET_NS);
        let drift = signed(below(2 * DRIFT_NS_A_MS + 1), DRIFT_NS_A_MS);
        let ways_ns = [below(setting.delay_ns), below(setting.delay_ns)];
        Self {
            number,
            fate,
            offset_ns,
            drift,
            ways_ns,
            last_ns: [0; 2],
            random,
            operations: setting.operations,
            seconds: setting.seconds,
            run: 0,
            load: 0,
            at_wall_ns: 0,
            began_ns: None,
            total: Recorder::new(Shape::from(1)),
            told: Vec::new(),
            gone: false,
            over: false,
        }
    }

    /// What its clock shows at a moment of virtual time.
    fn wall_ns(&self, at_ns: u64) -> u64 {
        let drifted = i64::try_from(at_ns / 1_000).expect("it fits") * self.drift / 1_000;
        (BASE_NS + at_ns).saturating_add_signed(self.offset_ns + drifted)
    }

    /// The virtual time at which its clock shows `wall_ns`.
    fn when(&self, wall_ns: u64) -> u64 {
        let mut at_ns = wall_ns.saturating_sub(BASE_NS);
        for _ in 0..4 {
            let off_ns = i64::try_from(self.wall_ns(at_ns)).expect("it fits")
                - i64::try_from(wall_ns).expect("it fits");
            at_ns = at_ns.saturating_add_signed(-off_ns); // drift is small: it comes nearer quickly
        }
        at_ns
    }

    pub(super) fn ordered(&mut self, order: Order, now_ns: u64, truth: &mut Truth) -> Then {
        let nothing = (Vec::new(), Vec::new());
        if self.gone {
            return nothing;
        }
        match order {
            Order::Clock { sent_ns } => {
                (vec![line(&Report::Clock { sent_ns, here_ns: self.wall_ns(now_ns) })], Vec::new())
            }
            Order::Run(order) => {
                self.run = order.run;
                nothing
            }
            Order::File { .. } => nothing,
            Order::Connect { load, .. } => {
                self.load = load;
                (Vec::new(), vec![(now_ns + exponential(&mut self.random, 5_000_000), Wake::Ready)])
            }
            Order::Open { at_wall_ns, .. } => {
                self.at_wall_ns = at_wall_ns;
                let due_ns = self.when(at_wall_ns);
                let late_ns = exponential(&mut self.random, WAKE_UP_NS);
                truth.starts[self.number] = Some((due_ns, due_ns.max(now_ns) + late_ns));
                (Vec::new(), vec![(due_ns.max(now_ns) + late_ns, Wake::Begin)])
            }
            Order::Stop { .. } if !self.over => (self.end(now_ns), Vec::new()),
            Order::Stop { .. } | Order::Alive => nothing,
        }
    }

    pub(super) fn wake(&mut self, wake: Wake, now_ns: u64, truth: &mut Truth) -> Then {
        if self.gone {
            return (Vec::new(), Vec::new());
        }
        let (run, load) = (self.told_run(), self.load);
        match wake {
            Wake::Hello => {
                let first_ns = now_ns + exponential(&mut self.random, ALIVE_EVERY_NS);
                (vec![line(&Report::Hello(self.hello()))], vec![(first_ns, Wake::Alive)])
            }
            Wake::Alive => {
                (vec![line(&Report::Alive)], vec![(now_ns + ALIVE_EVERY_NS, Wake::Alive)])
            }
            Wake::Ready => (vec![line(&Report::Ready { run: self.run, load })], Vec::new()),
            Wake::Begin => {
                self.began_ns = Some(now_ns);
                let began = line(&Report::Began { run, load, transport: None });
                (vec![began], vec![(self.later(now_ns, 1), Wake::Interval(0))])
            }
            Wake::Interval(_) if self.over => (Vec::new(), Vec::new()),
            Wake::Interval(number) => self.interval(number, now_ns, truth),
        }
    }

    fn told_run(&self) -> u64 {
        if self.fate == Fate::OtherRun { self.run + 7 } else { self.run }
    }

    /// So many seconds of its own clock after `began_ns`.
    fn later(&self, began_ns: u64, seconds: u64) -> u64 {
        self.when(self.wall_ns(began_ns) + seconds * SECOND_NS)
    }

    fn interval(&mut self, number: u64, now_ns: u64, truth: &mut Truth) -> Then {
        let began_ns = self.began_ns.unwrap_or(now_ns);
        let rows = if self.fate == Fate::OtherPlan { 2 } else { 1 };
        let mut recorder = Recorder::new(Shape::from(rows));
        let whole = truth.whole.as_mut().filter(|_| self.fate == Fate::Sound);
        self.record(&mut recorder, whole);
        let mut start_ns = number * SECOND_NS;
        match (self.fate, number) {
            (Fate::Crashes, 2) => return self.gone_with(Vec::new()),
            (Fate::Hangs, 2) => {
                self.gone = true;
                return (Vec::new(), Vec::new());
            }
            (Fate::Garbage, 2) => return self.gone_with(b"{\"interval\":[7]}\n".to_vec()),
            (Fate::Endless, 2) => return self.gone_with(vec![b'x'; MESSAGE_MAX + 2]),
            (Fate::Repeats, 2..) => start_ns = SECOND_NS,
            (Fate::Future, 1) => start_ns = 31_000_000 * SECOND_NS,
            _ => {}
        }
        let figures = Interval { start_ns, duration_ns: SECOND_NS, ..Interval::default() };
        if self.fate != Fate::OtherPlan {
            self.total.merge(&recorder);
        }
        self.told.push(figures);
        let began_ns = self.wall_ns(began_ns);
        let records = IntervalRecords {
            began_ns,
            figures,
            recorder,
            drivers: vec![(0, 1_000_000)],
            users: 0,
        };
        let (run, load) = (self.told_run(), self.load);
        let mut said = vec![line(&Report::Interval { run, load, records: Box::new(records) })];
        if number + 1 == self.seconds {
            said.extend(self.end(now_ns));
            return (said, Vec::new());
        }
        let next_ns = self.later(self.began_ns.unwrap_or(now_ns), number + 2);
        (said, vec![(next_ns, Wake::Interval(number + 1))])
    }

    /// Its last words.
    fn gone_with(&mut self, words: Vec<u8>) -> Then {
        self.gone = true;
        (vec![words], Vec::new())
    }

    /// The operations of one second, as those of a server that answers in some tenths of a
    /// millisecond, and now and then in twenty times that.
    fn record(&mut self, recorder: &mut Recorder, mut whole: Option<&mut Recorder>) {
        for _ in 0..self.operations {
            let kind = self.random.next_u64() % 1_000;
            let spread = exponential(&mut self.random, 120_000);
            let service = 150_000 + if kind < 990 { spread } else { spread * 20 };
            let lag = exponential(&mut self.random, 8_000);
            let last = lag + service;
            let moments = Moments { due: 0, sent: lag, first: last - service / 10, last };
            let answer =
                if kind == 0 { Answer::failed(FailureKind::TimedOut) } else { Answer::ok(500) };
            for recorder in [Some(&mut *recorder), whole.as_deref_mut()].into_iter().flatten() {
                recorder.record(0, moments, answer);
                recorder.lag.record(lag);
                recorder.bytes_sent += 500;
                recorder.bytes_received += 500;
            }
        }
    }

    fn end(&mut self, now_ns: u64) -> Vec<Vec<u8>> {
        self.over = true;
        let (run, load) = (self.told_run(), self.load);
        let began_ns = self.wall_ns(self.began_ns.unwrap_or(now_ns));
        let outcome = LoadResult {
            recorder: self.total.clone(),
            crews: vec![CrewFigures::default()],
            protocols: Vec::new(),
            intervals: std::mem::take(&mut self.told),
            ending: Ending::Complete,
            began_ns,
            duration_ns: self.seconds * SECOND_NS,
            connections: 4,
            warm_up_operations: 0,
            cpu_ns: 1_000_000,
            transports: Transports::default(),
            slowest: Slowest::default(),
            tcp: None,
            told_names: Vec::new(),
            handshake_complaint: None,
        };
        let row = &self.total.rows()[0];
        let result = ResultRecord {
            response_ns: Distribution::of(&row.response),
            service_ns: Distribution::of(&row.service),
            first_byte_ns: Distribution::of(&row.first_byte),
            ..ResultRecord::default()
        };
        let record = record_of(result.clone());
        vec![
            line(&Report::Loaded {
                run,
                load,
                started_ns: Some(began_ns),
                outcome: Box::new(outcome),
            }),
            line(&Report::Result { run, load, result: Box::new(result) }),
            line(&Report::Done { run, outcome: Ok(Some(Box::new(record))) }),
        ]
    }

    fn hello(&self) -> Hello {
        Hello {
            schema: SCHEMA.into(),
            name: format!("r{}", self.number),
            version: env!("CARGO_PKG_VERSION").into(),
            host: "simulated".into(),
            kernel: "none".into(),
            cpus: 1,
            ..Hello::default()
        }
    }
}

fn line(report: &Report) -> Vec<u8> {
    message::written(report).expect("a report can be written").into_bytes()
}

/// The record of a part of which `result` came.
fn record_of(result: ResultRecord) -> RunRecord {
    let record = serde_json::json!({
        "schema": "plumb.run/1",
        "plumb": { "version": env!("CARGO_PKG_VERSION") },
        "started": "2026-01-01T00:00:00Z",
        "status": "complete",
        "plan": { "layer": "net", "verb": "ping", "command": [], "options": {}, "load": "open", "seed": 1 },
        "host": {
            "name": "simulated", "kernel": "none", "cpus": 1,
            "placement": "", "clock": "virtual", "clock_read_ns": 0
        },
        "target": { "address": "nobody" },
        "validity": { "valid": true, "latency_valid": true, "reasons": [] },
        "results": []
    });
    let mut record: RunRecord = serde_json::from_value(record).expect("it is a record");
    record.results.push(result);
    record
}
