//! `plumb net ping`: round trips over sizes and connections, in random order.

mod datagrams;
mod options;
mod point;

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use plumb_engine::layer::{
    JobError, Measure, NamedFile, Outline, Spread, SpreadParts, SpreadPoint, Watch,
};
use plumb_engine::options::{HoldTick, OutputOptions};
use plumb_engine::tls::TlsConnector;
use plumb_engine::{
    Endpoint, Lengths, LoadPlan, LoadResult, Plain, Protocol, Stage, Stop, client_overlap, clock,
    floor, result_record,
};
use plumb_measure::{ByteSize, Figure, NipingFigures, RemoteSelector, ResultRecord, Row, Tick};
use plumb_wire::extension::{Exchange as Terms, StampTerms, Totals};
use plumb_wire::route::Route;
use serde_json::json;

use crate::{
    Exchange, Literal, NetError, PORT, Probe, Routed, Stamped, clients, datagram, far_side,
    route_of,
};
use point::{Point, in_random_order, sweep};

pub use options::PingOptions;

/// The largest payload of a probe: what NI peers accept by default.
pub const SIZE_MAX: u64 = 1 << 30;

/// Round trips, planned.
#[derive(Debug)]
pub struct Ping {
    options: PingOptions,
    route: Option<Route>,
    endpoints: Vec<Endpoint>,
    points: Vec<Point>,
    seed: u64,
    /// Single datagrams are sent, and no connection is made.
    over_udp: bool,
    /// Makes encrypted connections; none without `--tls`.
    tls: Option<TlsConnector>,
    /// What the server does about its tick, once it was asked; none within when it does not tell.
    server_tick: OnceLock<Option<Tick>>,
    /// Whether the server tells how long it has single messages, once it was asked.
    server_stamps: OnceLock<bool>,
    /// What the server had counted before a load that remotes drive, and where it was asked.
    told: Option<(Totals, Endpoint)>,
}

impl Ping {
    /// Checks the options and resolves the target.
    ///
    /// # Errors
    /// [`NetError`] when the host is unknown or the options ask for the impossible.
    pub fn new(mut options: PingOptions) -> Result<Self, NetError> {
        options.output.brief = !options.full;
        let limit = ByteSize::new(SIZE_MAX);
        let sizes = options.size.iter().chain(&options.asymmetry.request);
        if let (Some(size), Some(limit)) = (sizes.copied().find(|s| s.bytes() > SIZE_MAX), limit) {
            return Err(NetError::TooLarge { size, limit });
        }
        let seed = options.load.seed.unwrap_or_else(clock::seed);
        let points = in_random_order(sweep(&options), seed);
        for point in &points {
            options.load.check(point.connections)?;
            if let (Some(terms), Some(limit)) = (point.terms, limit)
                && terms.bytes() > SIZE_MAX
            {
                let response = options.asymmetry.response.unwrap_or(point.size);
                return Err(NetError::TooMuch { replies: terms.replies, response, limit });
            }
        }
        let route = route_of(&options.host, PORT, Literal::Refused)?;
        let first = match &route {
            Some(route) => &route.router().map_err(NetError::Route)?,
            None => &options.host,
        };
        options.load.stamps.check(&options.transport.kind(first), options.tls.tls)?;
        let datagrams = match &route {
            Some(_) => None,
            None => options.transport.datagrams(first, PORT)?,
        };
        let over_udp = datagrams.is_some();
        datagrams::check(&options, over_udp)?;
        let endpoints = match datagrams {
            Some(endpoints) => endpoints,
            None => options.transport.endpoints(first, PORT)?,
        };
        let tls = options.tls.connector(first, &[])?;
        if route.is_some() && tls.is_some() {
            return Err(NetError::EncryptedRoute);
        }
        Ok(Self {
            options,
            route,
            endpoints,
            points,
            seed,
            over_udp,
            tls,
            server_tick: OnceLock::new(),
            server_stamps: OnceLock::new(),
            told: None,
        })
    }

    /// True when the server can be asked beside the load: a conversation of its own goes neither
    /// through routers nor over TLS or UDP.
    fn is_direct(&self) -> bool {
        self.route.is_none() && self.tls.is_none() && !self.over_udp
    }

    /// What the server does about its tick. It is asked once, and behind a load unless that depends
    /// on it.
    fn server_tick(&self, endpoint: &Endpoint) -> Option<Tick> {
        let ask = || self.is_direct().then(|| far_side::tick(endpoint)).flatten();
        *self.server_tick.get_or_init(ask)
    }

    fn measure(
        &self,
        point: Point,
        endpoint: &Endpoint,
        watch: &mut dyn Watch,
        stop: &Stop,
    ) -> Result<(), JobError> {
        let size = usize::try_from(point.size.bytes())?;
        let several = self.options.clients.get() > 1;
        self.stamp_terms(endpoint); // asked before the server counts who comes and goes
        let asks = point.terms.is_some() || several || !endpoint.is_local();
        let before = if asks { self.counted(endpoint) } else { None };
        let mut at = LoadContext { endpoint, watch, stop };
        let (mut result, began_ns) = match point.terms {
            _ if self.over_udp => self.load_datagrams(point, size, &mut at)?,
            None => self.load(point, || Probe::new(size), &mut at)?,
            Some(terms) => self.load(point, || Exchange::new(size, terms), &mut at)?,
        };
        let after = self.ask_server(&mut result, point, endpoint, before.as_ref());
        if let Some((before, after)) = before.zip(after) {
            far_side::compare_counts(&mut result, &before, &after);
        }
        if !several {
            result.clients.clear();
        }
        watch.result(result, began_ns)
    }

    /// What the server has counted so far, where it can be asked.
    fn counted(&self, endpoint: &Endpoint) -> Option<Totals> {
        self.is_direct().then(|| far_side::totals(endpoint)).flatten()
    }

    /// Adds to `result` what the server says of the load; it had counted `before`. What it has counted
    /// now.
    fn ask_server(
        &self,
        result: &mut ResultRecord,
        point: Point,
        endpoint: &Endpoint,
        before: Option<&Totals>,
    ) -> Option<Totals> {
        let connections = (self.options.clients.get() * point.connections.get()) as u64;
        let after = before.and_then(|it| far_side::totals_after(endpoint, it, connections));
        result.driver.server_told(self.server_tick(endpoint));
        let (before, after) = before.zip(after)?;
        if let Some(cpu) = &mut result.cpu {
            far_side::add_cost(cpu, before, &after);
        }
        if point.connections.get() == 1 {
            clients::add_counts(&mut result.clients, &after);
        }
        Some(after)
    }

    fn labels(&self, point: Point) -> BTreeMap<String, String> {
        let mut labels = point.labels();
        let clients = self.options.clients.get();
        if clients > 1 {
            labels.insert("clients".into(), clients.to_string());
        }
        labels
    }

    /// Drives one point; its result and when its recorded part began.
    fn load<P: Protocol + Send>(
        &self,
        point: Point,
        protocol: impl Fn() -> P + Sync,
        at: &mut LoadContext<'_>,
    ) -> Result<(ResultRecord, u64), JobError> {
        let plan = self.options.load.plan(point.connections);
        let labels = self.labels(point);
        let loads = self.drive(&plan, &labels, protocol, at)?;
        self.conclude_loads(point, (&plan, labels), loads, at)
    }

    /// The result of `loads` of one point, and when its recorded part began.
    fn conclude_loads(
        &self,
        point: Point,
        (plan, labels): (&LoadPlan, BTreeMap<String, String>),
        (loads, complaint): (clients::Loads, Option<String>),
        at: &mut LoadContext<'_>,
    ) -> Result<(ResultRecord, u64), JobError> {
        let each = clients::figures(&loads, point.echo());
        let overlap = client_overlap(&loads, point.echo().map(ByteSize::bytes));
        let clients = loads.len();
        let load = clients::together(loads)?;
        if self.options.load.spread.part.is_some() {
            at.watch.loaded(&load);
        }
        let mut result = result_record(plan, labels, Lengths::Same, &load);
        if let Some(complaint) = complaint.filter(|_| !result.failures.is_empty()) {
            result.validity = std::mem::take(&mut result.validity).with_complaint(&complaint);
        }
        result.clients = each;
        add_figures(&mut result, point, &load);
        if clients > 1 {
            result.overlap = overlap;
            result.driver.threads *= clients as u64;
            of_several(&mut result);
        }
        if let Some(transport) = load.transports.first() {
            at.watch.reached(transport.clone());
        }
        Ok((result, load.began_ns))
    }

    /// Of which messages the server is to tell how long it had them; none where they are not taken
    /// apart, and where the server does not tell.
    fn stamp_terms(&self, endpoint: &Endpoint) -> Option<StampTerms> {
        let every = self.options.load.stamps.timestamps?.get();
        // a connection begins with one message that is not recorded
        let terms = StampTerms { every, skip: 1 };
        let ask = || self.is_direct() && far_side::tells_stamps(endpoint, terms);
        self.server_stamps.get_or_init(ask).then_some(terms)
    }

    /// Drives the load of `plan` from here; its parts, and what was wrong first with an answer.
    fn drive<P: Protocol + Send>(
        &self,
        plan: &LoadPlan,
        labels: &BTreeMap<String, String>,
        protocol: impl Fn() -> P + Sync,
        at: &mut LoadContext<'_>,
    ) -> Result<(clients::Loads, Option<String>), JobError> {
        let gate = at.watch.gate();
        let sampler = at.watch.point(labels);
        let mut stage = Stage {
            endpoint: at.endpoint,
            stop: at.stop,
            samplers: &mut [sampler],
            gate: gate.as_deref(),
        };
        let clients = self.options.clients.get();
        let terms = self.stamp_terms(at.endpoint);
        let routed = || Routed::new(self.route.clone(), Stamped::new(terms, protocol()));
        let first = Mutex::new(None);
        let done = |routed: Routed<Stamped<P>>| clients::keep_first(&first, routed.complaint());
        let loads = match &self.tls {
            None => clients::run(plan, clients, &mut stage, routed, Plain::default, done)?,
            Some(tls) => clients::run(plan, clients, &mut stage, routed, || tls.link(), done)?,
        };
        Ok((loads, first.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Where a load goes, and who looks on.
struct LoadContext<'a> {
    endpoint: &'a Endpoint,
    watch: &'a mut dyn Watch,
    stop: &'a Stop,
}

impl Measure for Ping {
    fn outline(&self) -> Outline {
        let options = &self.options;
        let mut in_force: BTreeMap<_, _> = options.load.in_force(self.seed).into_iter().collect();
        if let Some(terms) = self.points.first().and_then(|point| point.terms) {
            let asked = &options.asymmetry;
            in_force.insert("request".into(), json!(options.sizes()));
            in_force.insert("response".into(), json!(asked.response));
            in_force.insert("replies".into(), json!(terms.replies));
            if let Some(preset) = asked.preset {
                in_force.insert("preset".into(), json!(preset.name()));
            }
        } else {
            in_force.insert("size".into(), json!(options.size));
        }
        in_force.insert("connections".into(), json!(options.connections));
        in_force.insert("clients".into(), json!(options.clients));
        in_force.extend(options.transport.in_force());
        if self.over_udp {
            in_force.insert("transport".into(), json!("udp"));
            in_force.insert("do-not-fragment".into(), json!(options.do_not_fragment));
        }
        in_force.extend(options.tls.in_force());
        let plans = self.points.iter().map(|point| options.load.plan(point.connections));
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
            pin: options.load.driver.pin.clone(),
            points: self.points.len(),
            takes: LoadPlan::takes_all(plans),
        }
    }

    fn output(&self) -> &OutputOptions {
        &self.options.output
    }

    fn spread(&mut self) -> Result<&mut dyn Spread, JobError> {
        Ok(self)
    }

    fn files(&self) -> Vec<NamedFile> {
        NamedFile::authorities(&self.options.tls.trust)
    }

    fn remotes(&self) -> Option<&RemoteSelector> {
        self.options.load.spread.remotes.as_ref()
    }

    fn run(&mut self, watch: &mut dyn Watch, stop: &Stop) -> Result<(), JobError> {
        let patience = self.options.load.connect_timeout;
        let endpoint = datagram::reachable(&self.endpoints, patience, stop)?;
        let driver = &self.options.load.driver;
        if driver.hold_tick == Some(HoldTick::Both) {
            driver.confirm_tick(&endpoint.to_string(), self.server_tick(&endpoint))?;
        }
        if self.over_udp {
            self.check_path(&endpoint)?;
        }
        if let Some(point) = self.points.first() {
            let plan = self.options.load.plan(point.connections);
            let round_trips = self.options.load.driver.floor();
            floor(round_trips, plan.waiting, &plan.pin, (watch, stop))?;
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

impl Spread for Ping {
    fn points(&self) -> Vec<SpreadPoint> {
        let point = |point: &Point| SpreadPoint {
            labels: self.labels(*point),
            plan: self.options.load.plan(point.connections),
            lengths: Lengths::Same,
        };
        self.points.iter().map(point).collect()
    }

    fn before(&mut self, _: usize, stop: &Stop) {
        let direct = self.is_direct().then_some(&self.endpoints);
        let endpoint = direct.and_then(|candidates| far_side::reached(candidates, stop));
        self.told = endpoint.and_then(|at| Some((self.counted(&at)?, at)));
    }

    fn conclude(&mut self, number: usize, result: &mut ResultRecord, parts: &SpreadParts<'_>) {
        let Some(point) = self.points.get(number).copied() else { return };
        result.clients = clients::figures(parts.loads, point.echo());
        result.overlap = client_overlap(parts.loads, point.echo().map(ByteSize::bytes));
        add_figures(result, point, parts.whole);
        of_several(result);
        if let Some((before, endpoint)) = self.told.take() {
            let after = self.ask_server(result, point, &endpoint, Some(&before));
            // nobody knows what those sent that were lost
            if let Some(after) = after.filter(|_| parts.lost == 0) {
                far_side::compare_counts(result, &before, &after);
            }
        }
    }
}

fn add_figures(result: &mut ResultRecord, point: Point, load: &LoadResult<()>) {
    let size = point.size;
    if let Some(terms) = point.terms {
        result.figures = each_way(result.throughput_per_s, size, terms);
        return;
    }
    let service = load.recorder.rows().first().map(|row: &Row| &row.service);
    result.niping = service.and_then(|times| NipingFigures::of(times, size.bytes()));
    let one_way = bits(result.throughput_per_s, size.bytes());
    result.figures = vec![
        figure("one-way bits", one_way, "bit/s", "messages/s x payload bytes x 8"),
        figure("two-way bits", 2.0 * one_way, "bit/s", "2 x messages/s x payload bytes x 8"),
    ];
}

/// Leaves out what is said of one client only.
fn of_several(result: &mut ResultRecord) {
    result.batches = None; // operations of several clients have no common order
    result.niping = None; // a rate of niping is that of one client
}

/// Messages and bits of an exchange, each way.
fn each_way(per_s: f64, request: ByteSize, terms: Terms) -> Vec<Figure> {
    let back = per_s * f64::from(terms.replies);
    vec![
        figure("messages to server", per_s, "msg/s", "requests answered in full / s"),
        figure("messages from server", back, "msg/s", "requests answered in full / s x replies"),
        figure(
            "bits to server",
            bits(per_s, request.bytes()),
            "bit/s",
            "messages to server x payload bytes x 8",
        ),
        figure(
            "bits from server",
            bits(back, terms.response_bytes.into()),
            "bit/s",
            "messages from server x payload bytes x 8",
        ),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "rates are floats")]
fn bits(per_s: f64, payload_bytes: u64) -> f64 {
    per_s * payload_bytes as f64 * 8.0
}

fn figure(name: &str, value: f64, unit: &str, formula: &str) -> Figure {
    Figure { name: name.into(), value, unit: unit.into(), formula: formula.into() }
}
