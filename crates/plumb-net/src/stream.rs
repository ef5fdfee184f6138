//! `plumb net stream`: bytes one way, or both, over a number of streams.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use clap::Args;
use plumb_engine::layer::{JobError, Measure, Outline, Watch};
use plumb_engine::options::{OutputOptions, TransportOptions};
use plumb_engine::{Endpoint, Stop, clock, reachable};
use plumb_measure::statistics::SplitMix64;
use plumb_measure::{
    ByteSize, CpuUse, DriverFacts, FailureKind, Finding, FindingKind, ResultRecord, Scope, Span,
    StreamFigures, Validity,
};
use plumb_wire::extension::Direction;
use serde_json::json;

use crate::carriage::{Carriage, Delivery};
use crate::{NetError, PORT};

/// A buffer of this size is more than any kernel takes at once.
const SIZE_MAX: u64 = 64 << 20;

/// What is carried, which way, for how long.
#[derive(Args, Clone, Debug)]
pub struct StreamOptions {
    /// The server, a `plumb net serve`: HOST, HOST:PORT, smc:HOST:PORT or unix:PATH (port 3298 unless named)
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
    #[arg(long = "for", id = "for_time", value_name = "TIME", default_value = "5s")]
    pub for_time: Span,

    /// Length of the intervals in which the run is written down
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub interval: Span,

    /// Bytes that the client hands to the kernel at once
    #[arg(long, value_name = "SIZE", default_value = "256KiB")]
    pub size: ByteSize,

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

    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

impl StreamOptions {
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
        if let Some(limit) = ByteSize::new(SIZE_MAX).filter(|_| options.size.bytes() > SIZE_MAX) {
            return Err(NetError::TooLarge { size: options.size, limit });
        }
        for (span, name) in [
            (options.for_time, "--for"),
            (options.interval, "--interval"),
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
        SplitMix64::new(seed).shuffle(&mut points);
        let endpoints = options.transport.endpoints(&options.host, PORT)?;
        Ok(Self { options, endpoints, points, seed })
    }

    fn measure(
        &self,
        streams: usize,
        endpoint: &Endpoint,
        watch: &mut dyn Watch,
        stop: &Stop,
    ) -> Result<(), JobError> {
        let options = &self.options;
        let carriage = Carriage {
            endpoint,
            direction: options.direction(),
            streams,
            bytes: usize::try_from(options.size.bytes())?,
            length: options.for_time,
            interval: options.interval,
            patience: options.timeout,
            pin: &options.pin,
        };
        let labels = BTreeMap::from([
            ("streams".to_owned(), streams.to_string()),
            ("direction".to_owned(), options.direction().to_string()),
        ]);
        let delivery = carriage.run(watch.point(&labels), stop)?;
        if let Some(transport) = delivery.transports.first() {
            watch.reached(transport.clone());
        }
        let began_ns = delivery.began_ns;
        watch.result(result(labels, options.size, delivery, stop), began_ns)
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
        put("interval", json!(options.interval));
        put("size", json!(options.size));
        put("pin", json!(options.pin));
        put("timeout", json!(options.timeout));
        put("seed", json!(self.seed));
        Outline {
            layer: "net",
            verb: "stream",
            options: in_force,
            open: false,
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

    fn run(&mut self, watch: &mut dyn Watch, stop: &Stop) -> Result<(), JobError> {
        let endpoint = reachable(&self.endpoints, self.options.timeout, stop)?;
        for streams in &self.points {
            if stop.asked() {
                break;
            }
            self.measure(*streams, &endpoint, watch, stop)?;
        }
        Ok(())
    }
}

/// What is written down. An operation is a buffer of `size` that arrived.
#[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
fn result(
    labels: BTreeMap<String, String>,
    size: ByteSize,
    delivery: Delivery,
    stop: &Stop,
) -> ResultRecord {
    let validity = Validity::of(findings(&delivery, stop))
        .with(delivery.transports.mixed())
        .with(delivery.transports.not_smc());
    let figures = delivery.figures;
    let operations = figures.received_bytes() / size.bytes();
    let span_ns = figures.span_ns();
    let both = |of: fn(&plumb_measure::OneWay) -> u64| {
        let way = |way: &Option<plumb_measure::OneWay>| way.as_ref().map_or(0, of);
        (way(&figures.to_server), way(&figures.from_server))
    };
    let (sent, received) = (both(|way| way.sent_bytes).0, both(|way| way.received_bytes).1);
    let directions =
        u64::from(figures.to_server.is_some()) + u64::from(figures.from_server.is_some());
    ResultRecord {
        labels,
        operations,
        failures: if delivery.broken > 0 {
            BTreeMap::from([(FailureKind::Closed.name().to_owned(), delivery.broken)])
        } else {
            BTreeMap::new()
        },
        duration_ns: span_ns,
        throughput_per_s: operations as f64 * 1e9 / span_ns.max(1) as f64,
        bytes_sent: sent,
        bytes_received: received,
        cpu: cost(&figures, operations),
        figures: figures.figures(),
        validity,
        driver: DriverFacts {
            wait: "blocking send and receive".into(),
            threads: figures.streams * directions.max(1),
            ..DriverFacts::default()
        },
        transports: delivery.transports.uses().to_vec(),
        stream: Some(figures),
        ..ResultRecord::default()
    }
}

fn cost(figures: &StreamFigures, operations: u64) -> Option<CpuUse> {
    Some(CpuUse {
        client_ns_per_op: figures.client_cpu_ns.checked_div(operations)?,
        server_ns_per_op: figures.server_cpu_ns.checked_div(operations),
        ..CpuUse::default()
    })
}

fn findings(delivery: &Delivery, stop: &Stop) -> Vec<Finding> {
    let everything = |kind, text: String| Some(Finding { kind, scope: Scope::Everything, text });
    let figures = &delivery.figures;
    let nothing = (figures.received_bytes() == 0 && delivery.broken == 0)
        .then(|| everything(FindingKind::NoOperations, "no byte arrived".into()));
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
    [nothing, broken, differ, cut_short].into_iter().flatten().flatten().collect()
}
