//! `plumb net ping`: round trips over sizes and connections, in random order.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use clap::Args;
use plumb_engine::layer::{JobError, Measure, Outline, Watch};
use plumb_engine::options::{LoadOptions, OutputOptions, TransportOptions};
use plumb_engine::tls::{TlsConnector, TlsOptions};
use plumb_engine::{
    Endpoint, Lengths, LoadResult, Plain, Stage, Stop, clock, floor, load, reachable, result_record,
};
use plumb_measure::statistics::SplitMix64;
use plumb_measure::{ByteSize, Figure, NipingFigures, ResultRecord, Row};
use plumb_wire::route::Route;
use serde_json::json;

use crate::{Literal, NetError, PORT, Probe, Routed, route_of};

/// The largest payload of a probe: what NI peers accept by default.
const SIZE_MAX: u64 = 1 << 30;

/// A seed from the clock stays exact in every JSON reader.
pub(crate) const SEED_MASK: u64 = (1 << 53) - 1;

/// What is sent where, how often.
#[derive(Args, Clone, Debug)]
pub struct PingOptions {
    /// The echo server: HOST, HOST:PORT or unix:PATH (port 3298 unless named)
    ///
    /// Or a route through SAProuters: /H/router/S/3299/W/-/H/host/S/3298, where `-` stands for a
    /// password that is asked for, or taken from PLUMB_ROUTE_PASSWORD.
    #[arg(value_name = "HOST")]
    pub host: String,

    /// Payload of a message; a list makes a sweep
    #[arg(long, value_name = "SIZE,...", value_delimiter = ',', default_value = "1000B")]
    pub size: Vec<ByteSize>,

    /// Connections, each with messages of its own; a list makes a sweep
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1")]
    pub connections: Vec<NonZeroUsize>,

    /// How much load, and how it is driven.
    #[command(flatten)]
    pub load: LoadOptions,

    /// How the target is reached.
    #[command(flatten)]
    pub transport: TransportOptions,

    /// Whether the connections are encrypted.
    #[command(flatten)]
    pub tls: TlsOptions,

    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// One measurement of the sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    size: ByteSize,
    connections: NonZeroUsize,
}

/// Round trips, planned.
#[derive(Debug)]
pub struct Ping {
    options: PingOptions,
    route: Option<Route>,
    endpoints: Vec<Endpoint>,
    points: Vec<Point>,
    seed: u64,
    /// Makes encrypted connections; none without `--tls`.
    tls: Option<TlsConnector>,
}

impl Ping {
    /// Checks the options and resolves the target.
    ///
    /// # Errors
    /// [`NetError`] when the host is unknown or the options ask for the impossible.
    pub fn new(options: PingOptions) -> Result<Self, NetError> {
        let limit = ByteSize::new(SIZE_MAX);
        if let (Some(size), Some(limit)) =
            (options.size.iter().find(|s| s.bytes() > SIZE_MAX), limit)
        {
            return Err(NetError::TooLarge { size: *size, limit });
        }
        let seed = options.load.seed.unwrap_or_else(|| clock::wall_ns() & SEED_MASK);
        let points = in_random_order(sweep(&options), seed);
        for point in &points {
            options.load.plan(point.connections).check()?;
        }
        let route = route_of(&options.host, PORT, Literal::Refused)?;
        let first = match &route {
            Some(route) => &route.router().map_err(NetError::Route)?,
            None => &options.host,
        };
        let endpoints = options.transport.endpoints(first, PORT)?;
        let tls = options.tls.connector(first, &[])?;
        if route.is_some() && tls.is_some() {
            return Err(NetError::EncryptedRoute);
        }
        Ok(Self { options, route, endpoints, points, seed, tls })
    }

    fn measure(
        &self,
        point: Point,
        endpoint: &Endpoint,
        watch: &mut dyn Watch,
        stop: &Stop,
    ) -> Result<(), JobError> {
        let plan = self.options.load.plan(point.connections);
        let labels = point.labels();
        let size = usize::try_from(point.size.bytes())?;
        let load = {
            let sampler = watch.point(&labels);
            let mut stage = Stage { endpoint, stop, samplers: &mut [sampler] };
            let probe = || Routed::new(self.route.clone(), Probe::new(size));
            match &self.tls {
                None => load::run(&plan, &mut stage, 1, probe, Plain::default)?,
                Some(tls) => load::run(&plan, &mut stage, 1, probe, || tls.link())?,
            }
        };
        let mut result = result_record(&plan, labels, Lengths::Same, &load);
        add_figures(&mut result, point.size, &load);
        if let Some(transport) = &load.transport {
            watch.reached(transport.clone());
        }
        watch.result(result, load.began_ns)
    }
}

impl Measure for Ping {
    fn outline(&self) -> Outline {
        let options = &self.options;
        let mut in_force: BTreeMap<_, _> = options.load.in_force(self.seed).into_iter().collect();
        in_force.insert("size".into(), json!(options.size));
        in_force.insert("connections".into(), json!(options.connections));
        in_force.extend(options.transport.in_force());
        in_force.extend(options.tls.in_force());
        Outline {
            layer: "net",
            verb: "ping",
            options: in_force,
            open: options.load.rate.is_some(),
            seed: self.seed,
            target: match &self.route {
                Some(route) => route.to_string(),
                None => options.transport.target(&options.host),
            },
            pin: options.load.pin.clone(),
            points: self.points.len(),
        }
    }

    fn output(&self) -> &OutputOptions {
        &self.options.output
    }

    fn run(&mut self, watch: &mut dyn Watch, stop: &Stop) -> Result<(), JobError> {
        let patience = self.options.load.connect_timeout;
        let endpoint = reachable(&self.endpoints, patience, stop)?;
        if let Some(point) = self.points.first() {
            let plan = self.options.load.plan(point.connections);
            if let Some(floor) = floor(plan.waiting, &plan.pin, stop)? {
                watch.floor(floor);
            }
        }
        for point in &self.points {
            if stop.asked() {
                break;
            }
            self.measure(*point, &endpoint, watch, stop)?;
        }
        Ok(())
    }
}

impl Point {
    fn labels(self) -> BTreeMap<String, String> {
        BTreeMap::from([
            ("size".into(), self.size.to_string()),
            ("connections".into(), self.connections.to_string()),
        ])
    }
}

/// Every size with every number of connections, each pair once.
fn sweep(options: &PingOptions) -> Vec<Point> {
    let mut points = Vec::new();
    for size in &options.size {
        for connections in &options.connections {
            let point = Point { size: *size, connections: *connections };
            if !points.contains(&point) {
                points.push(point);
            }
        }
    }
    points
}

fn in_random_order(mut points: Vec<Point>, seed: u64) -> Vec<Point> {
    SplitMix64::new(seed).shuffle(&mut points);
    points
}

#[expect(clippy::cast_precision_loss, reason = "rates are floats")]
fn add_figures<P>(result: &mut ResultRecord, size: ByteSize, load: &LoadResult<P>) {
    let service = load.recorder.rows().first().map(|row: &Row| &row.service);
    result.niping = service.and_then(|times| NipingFigures::of(times, size.bytes()));
    let per_s = result.throughput_per_s;
    let one_way = per_s * size.bytes() as f64 * 8.0;
    let figure = |name: &str, value, unit: &str, formula: &str| Figure {
        name: name.into(),
        value,
        unit: unit.into(),
        formula: formula.into(),
    };
    result.figures = vec![
        figure("one-way bits", one_way, "bit/s", "messages/s x payload bytes x 8"),
        figure("two-way bits", 2.0 * one_way, "bit/s", "2 x messages/s x payload bytes x 8"),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(n: usize) -> Vec<Point> {
        let size = |bytes| ByteSize::new(bytes).unwrap();
        (1..=n as u64).map(|n| Point { size: size(n), connections: NonZeroUsize::MIN }).collect()
    }

    #[test]
    fn a_seed_gives_one_order_that_holds_every_point() {
        let once = in_random_order(points(12), 42);
        assert_eq!(once, in_random_order(points(12), 42));
        assert_ne!(once, in_random_order(points(12), 43));
        let mut sorted = once;
        sorted.sort_by_key(|point| point.size);
        assert_eq!(sorted, points(12));
    }
}
