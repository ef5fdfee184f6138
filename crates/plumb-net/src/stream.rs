//! `plumb net stream`: bytes one way, or both, over a number of streams.

mod record;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use clap::Args;
use plumb_engine::layer::{JobError, Measure, Outline, Spread, SpreadParts, SpreadPoint, Watch};
use plumb_engine::options::{OutputOptions, SpreadOptions, TransportOptions, usual_interval};
use plumb_engine::{Endpoint, Extent, Gate, Lengths, LoadPlan, Stop, clock};
use plumb_measure::statistics::SplitMix64;
use plumb_measure::{
    BitRate, ByteSize, RemoteSelector, ResultRecord, Span, StreamFigures, Validity,
};
use plumb_wire::extension::Direction;
use serde_json::json;

use crate::carriage::{Carriage, StreamPlan};
use crate::datagram::{self, DatagramCarriage, length_of, path_of};
use crate::intervals::together;
use crate::{NetError, PORT};
use record::{add_figures, load_of, nothing_arrived, result};

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

    /// How the threads that carry wait.
    fn wait(&self) -> &'static str {
        if self.over_udp { "datagrams at a pace" } else { "blocking send and receive" }
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
        let plan = self.plan(endpoint, (own, streams), gate.as_deref());
        let delivery = match self.over_udp {
            true => {
                let (rate, never_fragment) = (self.options.rate, self.options.do_not_fragment);
                DatagramCarriage { plan, rate, never_fragment }.run(sampler, stop)?
            }
            false => Carriage { plan }.run(sampler, stop)?,
        };
        if gate.is_some() {
            watch.loaded(&load_of(&delivery));
        }
        if let Some(transport) = delivery.transports.first() {
            watch.reached(transport.clone());
        }
        let began_ns = delivery.began_ns;
        watch.result(result(labels, (self.size, self.wait()), delivery, stop), began_ns)
    }

    /// So many streams, of so many of all processes together.
    fn plan<'a>(
        &'a self,
        endpoint: &'a Endpoint,
        (streams, of): (usize, usize),
        gate: Option<&'a Gate>,
    ) -> StreamPlan<'a> {
        let options = &self.options;
        StreamPlan {
            endpoint,
            direction: options.direction(),
            streams,
            of,
            bytes: usize::try_from(self.size.bytes()).unwrap_or(usize::MAX),
            length: options.for_time,
            interval: options.interval(),
            patience: options.timeout,
            pin: &options.pin,
            gate,
        }
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
        let endpoint = datagram::reachable(&self.endpoints, self.options.timeout, stop)?;
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
        let parts = parts.results.iter().filter_map(|part| part.stream.as_ref());
        let lists: Vec<&[_]> = parts.map(|stream| stream.intervals.as_slice()).collect();
        all.intervals = together(&lists);
        let nothing = (all.received_bytes() == 0).then(nothing_arrived);
        result.validity = Validity::of(nothing);
        result.overlap = None; // a stream has no messages
        result.clients.clear();
        add_figures(result, (self.size, self.wait()), all);
    }
}
