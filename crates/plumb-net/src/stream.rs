//! `plumb net stream`: bytes one way, or both, over a number of streams.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use clap::Args;
use plumb_engine::layer::{JobError, Measure, Outline, Spread, SpreadParts, SpreadPoint, Watch};
use plumb_engine::options::{OutputOptions, SpreadOptions, TransportOptions, usual_interval};
use plumb_engine::{
    Ending, Endpoint, Extent, Gate, Lengths, LoadPlan, LoadResult, Stop, clock, reachable,
};
use plumb_measure::statistics::SplitMix64;
use plumb_measure::{
    BitRate, ByteSize, CpuUse, DriverFacts, FailureKind, Finding, FindingKind, Recorder,
    RemoteSelector, ResultRecord, Scope, Slowest, Span, StreamFigures, Validity,
};
use plumb_wire::extension::Direction;
use serde_json::json;

use crate::carriage::{Carriage, Delivery};
use crate::datagram::{DatagramCarriage, length_of, path_of};
use crate::{NetError, PORT};

/// Bytes handed over at once, and content of a datagram, unless they are named: the latter goes
/// through any path of today in one piece.
const BYTES: ByteSize = ByteSize::of(256 << 10);
const DATAGRAM_BYTES: ByteSize = ByteSize::of(1_200);
/// A buffer of this size is more than any kernel takes at once.
const SIZE_MAX: u64 = 64 << 20;

/// What is carried, which way, for how long.
#[derive(Args, Clone, Debug)]
pub struct StreamOptions {
    /// The server, a `plumb net serve`: HOST, HOST:PORT, smc:HOST:PORT, udp:HOST:PORT or unix:PATH (port
    /// 3298 unless named)
    #[arg(value_name = "HOST")]
    pub host: String,

    /// Streams at once, each a connection; a list makes a sweep
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1")]
    pub streams: Vec<NonZeroUsize>,

    /// The server sends, and the client receives
    #[arg(long, conflicts_with = "both")]
    pub reverse: bool,

    /// Both send at once
    #[arg(long)]
    pub both: bool,

    /// Length of one measurement
    #[arg(
        short = 'd',
        long = "for",
        visible_alias = "duration",
        id = "for_time",
        value_name = "TIME",
        default_value = "5s"
    )]
    pub for_time: Span,

    /// Length of the intervals in which the run is written down [default: a fiftieth of the run, 100ms
    /// to 10s]
    #[arg(long, value_name = "TIME")]
    pub interval: Option<Span>,

    /// Bytes that the client hands to the kernel at once; over UDP the content of a datagram [default:
    /// 256KiB; over UDP 1200B]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<ByteSize>,

    /// Over UDP: bits a second of all streams of a direction together, content of datagrams
    #[arg(short = 'r', long, value_name = "RATE", default_value = "10Mbit")]
    pub rate: BitRate,

    /// Over UDP: send no datagram in fragments; a --size that the path does not take whole is refused
    #[arg(long, help_heading = "Transport")]
    pub do_not_fragment: bool,

    /// Run on these processors, one a stream in turn
    #[arg(long, value_name = "CPU,...", value_delimiter = ',')]
    pub pin: Vec<usize>,

    /// A connection must stand, and a stream go on, within this
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub timeout: Span,

    /// Seed of the random order in which a sweep is measured [default: from the clock]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// How the target is reached.
    #[command(flatten)]
    pub transport: TransportOptions,

    /// Who carries them.
    #[command(flatten)]
    pub spread: SpreadOptions,

    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

impl StreamOptions {
    fn interval(&self) -> Span {
        self.interval.unwrap_or_else(|| usual_interval(Some(self.for_time)))
    }

    fn direction(&self) -> Direction {
        match (self.reverse, self.both) {
            (_, true) => Direction::Both,
            (true, false) => Direction::FromServer,
            (false, false) => Direction::ToServer,
        }
    }
}

/// Streams, planned.
#[derive(Debug)]
pub struct Stream {
    options: StreamOptions,
    endpoints: Vec<Endpoint>,
    /// Datagrams are sent, and no connection is made.
    over_udp: bool,
    size: ByteSize,
    /// Numbers of streams, in the order in which they are measured.
    points: Vec<usize>,
    seed: u64,
}

impl Stream {
    /// Checks the options and resolves the target.
    ///
    /// # Errors
    /// [`NetError`] when the host is unknown or the options ask for the impossible.
    pub fn new(options: StreamOptions) -> Result<Self, NetError> {
        let datagrams = options.transport.datagrams(&options.host, PORT)?;
        let over_udp = datagrams.is_some();
        let usual = if over_udp { DATAGRAM_BYTES } else { BYTES };
        let size = options.size.unwrap_or(usual);
        if over_udp {
            length_of(size)?;
        } else if options.do_not_fragment {
            let text = "--do-not-fragment is of datagrams: add --transport udp, or leave it out";
            return Err(NetError::Transport(text));
        }
        if let Some(limit) = ByteSize::new(SIZE_MAX).filter(|_| size.bytes() > SIZE_MAX) {
            return Err(NetError::TooLarge { size, limit });
        }
        for (span, name) in [
            (options.for_time, "--for"),
            (options.interval(), "--interval"),
            (options.timeout, "--timeout"),
        ] {
            if span.ns() == 0 {
                return Err(NetError::NoTime(name));
            }
        }
        let seed = options.seed.unwrap_or_else(clock::seed);
        let mut points: Vec<usize> = options.streams.iter().map(|streams| streams.get()).collect();
        points.sort_unstable();
        points.dedup();
        for streams in &points {
            options.spread.check(*streams as u64, "streams")?;
        }
        SplitMix64::new(seed).shuffle(&mut points);
        let endpoints = match datagrams {
            Some(endpoints) => endpoints,
            None => options.transport.endpoints(&options.host, PORT)?,
        };
        Ok(Self { options, endpoints, over_udp, size, points, seed })
    }

    fn labels(&self, streams: usize) -> BTreeMap<String, String> {
        BTreeMap::from([
            ("streams".to_owned(), streams.to_string()),
            ("direction".to_owned(), self.options.direction().to_string()),
        ])
    }

    fn measure(
        &self,
        streams: usize,
        endpoint: &Endpoint,
        watch: &mut dyn Watch,
        stop: &Stop,
    ) -> Result<(), JobError> {
        let gate = watch.gate();
        let labels = self.labels(streams);
        let own = usize::try_from(self.options.spread.part().count(streams as u64))?;
        let sampler = watch.point(&labels);
        let delivery = match self.over_udp {
            true => self.datagrams(endpoint, own, gate.as_deref()).run(sampler, stop)?,
            false => self.carriage(endpoint, own, gate.as_deref()).run(sampler, stop)?,
        };
        if gate.is_some() {
            watch.loaded(&load_of(&delivery));
        }
        if let Some(transport) = delivery.transports.first() {
            watch.reached(transport.clone());
        }
        let began_ns = delivery.began_ns;
        watch.result(result(labels, self.size, delivery, stop), began_ns)
    }

    /// So many streams over connections.
    fn carriage<'a>(
        &'a self,
        endpoint: &'a Endpoint,
        streams: usize,
        gate: Option<&'a Gate>,
    ) -> Carriage<'a> {
        let options = &self.options;
        Carriage {
            endpoint,
            direction: options.direction(),
            streams,
            bytes: self.bytes(),
            length: options.for_time,
            interval: options.interval(),
            patience: options.timeout,
            pin: &options.pin,
            gate,
        }
    }

    /// So many streams of datagrams.
    fn datagrams<'a>(
        &'a self,
        endpoint: &'a Endpoint,
        streams: usize,
        gate: Option<&'a Gate>,
    ) -> DatagramCarriage<'a> {
        let options = &self.options;
        DatagramCarriage {
            endpoint,
            direction: options.direction(),
            streams,
            bytes: self.bytes(),
            rate: options.rate,
            length: options.for_time,
            interval: options.interval(),
            patience: options.timeout,
            never_fragment: options.do_not_fragment,
            pin: &options.pin,
            gate,
        }
    }

    fn bytes(&self) -> usize {
        usize::try_from(self.size.bytes()).unwrap_or(usize::MAX)
    }
}

impl Measure for Stream {
    fn outline(&self) -> Outline {
        let options = &self.options;
        let mut in_force: BTreeMap<_, _> = options.transport.in_force().into_iter().collect();
        let mut put = |name: &str, value| in_force.insert(name.to_owned(), value);
        put("streams", json!(options.streams));
        put("direction", json!(options.direction().to_string()));
        put("for", json!(options.for_time));
        put("interval", json!(options.interval()));
        put("size", json!(self.size));
        if self.over_udp {
            put("transport", json!("udp"));
            put("rate", json!(options.rate));
            put("do-not-fragment", json!(options.do_not_fragment));
        }
        put("pin", json!(options.pin));
        put("timeout", json!(options.timeout));
        put("seed", json!(self.seed));
        Outline {
            layer: "net",
            verb: "stream",
            options: in_force,
            open: self.over_udp, // at a rate, whatever becomes of them
            seed: self.seed,
            target: options.transport.target(&options.host),
            pin: options.pin.clone(),
            points: self.points.len(),
            takes: Some(Span::from_ns(
                options.for_time.ns().saturating_mul(self.points.len() as u64),
            )),
        }
    }

    fn output(&self) -> &OutputOptions {
        &self.options.output
    }

    fn spread(&mut self) -> Result<&mut dyn Spread, JobError> {
        Ok(self)
    }

    fn remotes(&self) -> Option<&RemoteSelector> {
        self.options.spread.remotes.as_ref()
    }

    fn run(&mut self, watch: &mut dyn Watch, stop: &Stop) -> Result<(), JobError> {
        let endpoint = reachable(&self.endpoints, self.options.timeout, stop)?;
        if self.over_udp {
            path_of(&endpoint, &[self.size], self.options.do_not_fragment)?;
        }
        for streams in &self.points {
            if stop.asked() {
                break;
            }
            self.measure(*streams, &endpoint, watch, stop)?;
        }
        Ok(())
    }
}

impl Spread for Stream {
    fn points(&self) -> Vec<SpreadPoint> {
        let point = |streams: &usize| SpreadPoint {
            labels: self.labels(*streams),
            plan: LoadPlan {
                connections: NonZeroUsize::new(*streams).unwrap_or(NonZeroUsize::MIN),
                extent: Extent::For(self.options.for_time),
                interval: self.options.interval(),
                ..LoadPlan::lone(1, self.options.timeout)
            },
            lengths: Lengths::Any,
        };
        self.points.iter().map(point).collect()
    }

    fn conclude(&mut self, _: usize, result: &mut ResultRecord, parts: &SpreadParts<'_>) {
        let mut all = StreamFigures::default();
        result.failures.clear();
        for part in parts.results {
            part.stream.iter().for_each(|stream| all.merge(stream));
            for (kind, count) in &part.failures {
                *result.failures.entry(kind.clone()).or_default() += count;
            }
        }
        let nothing = (all.received_bytes() == 0).then(nothing_arrived);
        result.validity = Validity::of(nothing);
        result.overlap = None; // a stream has no messages
        result.clients.clear();
        add_figures(result, self.size, all);
    }
}

/// The load of streams, for whoever puts those of several processes together: they have no rows.
fn load_of(delivery: &Delivery) -> LoadResult<()> {
    LoadResult {
        recorder: Recorder::new(0),
        crews: Vec::new(),
        protocols: Vec::new(),
        intervals: Vec::new(),
        ending: Ending::Complete,
        began_ns: delivery.began_ns,
        duration_ns: delivery.figures.span_ns(),
        connections: delivery.figures.streams,
        warm_up_operations: 0,
        cpu_ns: delivery.figures.client_cpu_ns,
        transports: delivery.transports.clone(),
        slowest: Slowest::default(),
        tcp: None,
        told_names: Vec::new(),
    }
}

/// What is written down.
fn result(
    labels: BTreeMap<String, String>,
    size: ByteSize,
    delivery: Delivery,
    stop: &Stop,
) -> ResultRecord {
    let validity = Validity::of(findings(&delivery, stop))
        .with(delivery.transports.mixed())
        .with(delivery.transports.not_smc());
    let broken =
        (delivery.broken > 0).then(|| (FailureKind::Closed.name().to_owned(), delivery.broken));
    let mut result = ResultRecord {
        labels,
        failures: broken.into_iter().collect(),
        validity,
        transports: delivery.transports.uses().to_vec(),
        ..ResultRecord::default()
    };
    add_figures(&mut result, size, delivery.figures);
    result
}

/// Adds what streams have carried. An operation is a buffer of `size` that arrived.
#[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
fn add_figures(result: &mut ResultRecord, size: ByteSize, figures: StreamFigures) {
    let operations = figures.received_bytes() / size.bytes();
    let span_ns = figures.span_ns();
    let both = |of: fn(&plumb_measure::OneWay) -> u64| {
        let way = |way: &Option<plumb_measure::OneWay>| way.as_ref().map_or(0, of);
        (way(&figures.to_server), way(&figures.from_server))
    };
    let ways: Vec<_> = figures.to_server.iter().chain(&figures.from_server).collect();
    let directions = ways.len() as u64;
    result.operations = operations;
    result.duration_ns = span_ns;
    result.throughput_per_s = operations as f64 * 1e9 / span_ns.max(1) as f64;
    result.bytes_sent = both(|way| way.sent_bytes).0;
    result.bytes_received = both(|way| way.received_bytes).1;
    result.cpu = cost(&figures, operations);
    result.figures = figures.figures();
    result.driver = DriverFacts {
        wait: match ways.iter().any(|way| way.datagrams.is_some()) {
            true => "datagrams at a pace".into(),
            false => "blocking send and receive".into(),
        },
        threads: figures.streams * directions.max(1),
        ..DriverFacts::default()
    };
    result.stream = Some(figures);
}

fn nothing_arrived() -> Finding {
    let text = "no byte arrived".into();
    Finding { kind: FindingKind::NoOperations, scope: Scope::Everything, text }
}

fn cost(figures: &StreamFigures, operations: u64) -> Option<CpuUse> {
    Some(CpuUse {
        client_ns_per_op: figures.client_cpu_ns.checked_div(operations)?,
        server_ns_per_op: figures.server_cpu_ns.checked_div(operations).filter(|ns| *ns > 0),
        ..CpuUse::default()
    })
}

fn findings(delivery: &Delivery, stop: &Stop) -> Vec<Finding> {
    let everything = |kind, text: String| Some(Finding { kind, scope: Scope::Everything, text });
    let figures = &delivery.figures;
    let nothing =
        (figures.received_bytes() == 0 && delivery.broken == 0).then(|| Some(nothing_arrived()));
    let broken = (delivery.broken > 0).then(|| {
        let cause = delivery.trouble.as_deref().unwrap_or("see the log of the server");
        let text = format!("{} of {} streams broke: {cause}", delivery.broken, figures.streams);
        everything(FindingKind::Failures, text)
    });
    // streams that broke have lost bytes on the way
    let differ = (delivery.broken == 0).then(|| figures.difference());
    let cut_short = stop
        .asked()
        .then(|| everything(FindingKind::CutShort, "the run ended before its plan did".into()));
    let ways = [("to the server", &figures.to_server), ("from the server", &figures.from_server)];
    let datagrams = ways.iter().flat_map(|(words, way)| {
        let flow = way.as_ref().and_then(|way| way.datagrams.as_ref());
        // of one that never began nothing is to be said
        let flow = flow.into_iter().filter(|flow| flow.sent > 0);
        flow.flat_map(|flow| flow.findings(words))
    });
    let whole = [nothing, broken, differ, cut_short].into_iter().flatten().flatten();
    whole.chain(datagrams).collect()
}
