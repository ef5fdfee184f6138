//! Messages to a runtime as a measurement.

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plumb_engine::layer::{
    JobError, Measure, NamedFile, Outline, Spread, SpreadParts, SpreadPoint, Watch,
};
use plumb_engine::options::OutputOptions;
use plumb_engine::tls::TlsConnector;
use plumb_engine::{
    Either, Endpoint, EngineError, Lengths, LoadPlan, LoadResult, Protocol as _, Sampler, Stage,
    Stop, clock, floor, load, part_record, reachable, result_record,
};
use plumb_measure::statistics::SplitMix64;
use plumb_measure::{PartRecord, RemoteSelector, ResultRecord, Span};
use plumb_trace::{Traces, Tracing};
use plumb_wire::http::{Scheme, Url};
use plumb_wire::percent::form_encoded;
use serde_json::{Value, json};

use super::after::{After, DRAIN, add_delivery, add_unknown};
use super::attribution::{self, told};
use super::fate::{self, Fate};
use super::log_on::LogOn;
use super::messages::{self, NUMBER_END, Requests};
use super::options::{MessageLoadOptions, ModeName};
use super::sender::{Sender, Tally};
use super::sink::Sink;
use crate::FlowError;
use crate::verbs::WHO_ASKS;

/// The protocol that is asked for in a handshake.
const ALPN: &[&[u8]] = &[b"http/1.1"];
/// Numbers that a load may use.
const NUMBERS_MAX: u64 = 1_000_000_000;

/// Messages to a runtime, planned.
#[derive(Debug)]
pub struct MessageLoad {
    options: MessageLoadOptions,
    url: Url,
    target: String,
    requests: Arc<Requests>,
    connections: Vec<NonZeroUsize>,
    seed: u64,
    tls: Option<TlsConnector>,
    first_number: u64,
    /// The next number that was not sent.
    next_number: u64,
    after: Option<After>,
    /// Who tells what became of the messages where nobody looks into a table.
    fate: Option<Fate>,
    tracing: Option<Tracing>,
}

impl MessageLoad {
    /// Checks the options and reads what is to be sent.
    ///
    /// # Errors
    /// [`FlowError`] when they ask for the impossible, or a file is not there.
    pub fn new(options: MessageLoadOptions) -> Result<Self, FlowError> {
        let url = server(&options.url)?;
        let depth = options.load.depth.get();
        if depth > 1 {
            let text = format!("--depth {depth}: a connection has one message under way");
            return Err(FlowError::Plan(text));
        }
        let log_on = LogOn::of(&options.log_on, |name| std::env::var(name).ok())?;
        let target = target(&options)?;
        let contents = messages::read(&options.content)?;
        let sink = Sink::of(&options.sink)?;
        if sink.as_ref().is_some_and(Sink::is_numbered) && !messages::are_numbered(&contents) {
            return Err(FlowError::Plan(
                "--number-column: the messages have no number; write ${number} where it belongs"
                    .into(),
            ));
        }
        let first_number = first_number(&options)?;
        let after = sink.map(|sink| After::of(&options, &log_on, sink)).transpose()?;
        let proof = log_on.authorization();
        let requests = Requests::new(&contents, &url.authority(), &target, proof.as_deref());
        let seed = options.load.seed.unwrap_or_else(clock::seed);
        let connections = in_drawn_order(&options.connections, seed);
        connections.iter().try_for_each(|number| options.load.check(*number))?;
        options.load.driver.confirm_tick("a runtime", None)?;
        let tls = encryption(&options, &url)?;
        let transport = &options.measurement.transport.transport;
        options.load.stamps.check(transport, tls.is_some())?;
        let fate = if after.is_none() { Some(Fate::of(&options, &log_on)?) } else { None };
        let tracing = Tracing::new(&options.traces, &[])?;
        let next_number = first_number;
        let requests = Arc::new(requests);
        Ok(Self {
            options,
            url,
            target,
            requests,
            connections,
            seed,
            tls,
            first_number,
            next_number,
            after,
            fate,
            tracing,
        })
    }

    /// The target without its parameters.
    fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    fn drive(
        &self,
        plan: &LoadPlan,
        numbers: &Arc<AtomicU64>,
        traces: Option<Traces>,
        stage: &mut Stage<'_>,
    ) -> Result<LoadResult<Sender>, FlowError> {
        let pause = self.options.content.refused_pause.unwrap_or(Span::from_ms(100));
        let pause_ns = if plan.open() { 0 } else { pause.ns() };
        let sender = Sender::new(
            Arc::clone(&self.requests),
            Arc::clone(numbers),
            self.options.mode,
            pause_ns,
        )
        .dealt(self.first_number, plan.part)
        .traced(traces)
        .stamped(plan.stamps);
        let tls = self.tls.as_ref();
        Ok(load::run(plan, stage, 1, || sender.clone(), || Either::of(tls))?)
    }

    fn measure(
        &mut self,
        connections: NonZeroUsize,
        endpoint: &Endpoint,
        watch: &mut dyn Watch,
        stop: &Stop,
    ) -> Result<(), JobError> {
        let plan = self.options.load.plan(connections);
        let labels = labels(connections);
        let first = self.next_number;
        let before = match &mut self.after {
            Some(after) => Some(after.before(first, first + NUMBERS_MAX, stop)?),
            None => None,
        };
        let gate = watch.gate();
        // of a part of a load the runtime counts the others, too
        let fate = self.fate.as_ref().filter(|_| gate.is_none());
        let fate = fate.filter(|_| self.options.mode != Some(ModeName::Sync));
        let counts = fate.map(|fate| fate.look(stop));
        let numbers = Arc::new(AtomicU64::new(first));
        let traces = self.tracing.as_mut().map(Tracing::begin);
        let mut driven = {
            let samplers: &mut [&mut dyn Sampler] = &mut [watch.point(&labels)];
            let mut stage = Stage { endpoint, stop, samplers, gate: gate.as_deref() };
            self.drive(&plan, &numbers, traces, &mut stage)?
        };
        driven.told_names = driven.protocols.first().map_or_else(Vec::new, Sender::told_names);
        if gate.is_some() {
            watch.loaded(&driven.without_protocols());
        }
        let end = numbers.load(Ordering::Relaxed);
        self.next_number = end;
        let mut result = result_record(&plan, labels, Lengths::Any, &driven);
        self.add_part(&mut result, &driven);
        let traced = self.tracing.as_mut().map_or(Ok(()), |tracing| {
            let of = (&mut result.parts[..], driven.recorder.rows());
            tracing.add_to(of, &mut result.validity, &driven, stop)
        });
        let tally = driven.protocols.iter().map(Sender::tally).fold(Tally::default(), Tally::plus);
        if let (Some(after), Some(before)) = (&mut self.after, before) {
            match after.delivered(before, (first, end), tally, stop) {
                Ok((delivery, in_use)) => {
                    add_delivery(&mut result, delivery);
                    match in_use {
                        Ok(figures) => result.figures.extend(figures),
                        Err(remark) => {
                            result.validity =
                                std::mem::take(&mut result.validity).with(Some(remark));
                        }
                    }
                }
                Err(error) => add_unknown(&mut result, &error),
            }
        }
        if let Some((fate, counts)) = self.fate.as_ref().zip(counts) {
            let finding = fate.finding(counts, tally.queued, stop)?;
            result.validity = std::mem::take(&mut result.validity).with(finding);
        }
        if let Some(transport) = driven.transports.first() {
            watch.reached(transport.clone());
        }
        watch.result(result, driven.began_ns)?;
        traced.map_err(FlowError::from)?; // the figures stand without the spans
        Ok(())
    }

    /// The only row of `driven`: what the runtime told, and where the time went.
    fn account<P>(&self, result: &mut ResultRecord, driven: &LoadResult<P>) {
        let Some(row) = driven.recorder.rows().first() else { return };
        let names = &driven.told_names;
        let round_trip_ns = driven.tcp.map(|tcp| tcp.rtt_min_ns).filter(|ns| *ns > 0);
        result.attribution = attribution::attribute(self.path(), row, names, round_trip_ns);
        let part = part_record(self.path().to_owned(), row, driven);
        result.parts = vec![PartRecord { told_ns: told(row, names), ..part }];
    }

    fn add_part(&self, result: &mut ResultRecord, driven: &LoadResult<Sender>) {
        self.account(result, driven);
        let untold = driven.protocols.iter().map(Sender::untold).sum();
        let complaint = driven.protocols.iter().find_map(Sender::complaint);
        let validity = std::mem::take(&mut result.validity).with_untold(untold);
        result.validity = match complaint {
            Some(complaint) => validity.with_complaint(&complaint),
            None => validity,
        };
    }
}

/// The server that `text` names, which is asked for paths of its own.
fn server(text: &str) -> Result<Url, FlowError> {
    let url =
        Url::parse(text).map_err(|error| FlowError::Plan(error.with_credentials(WHO_ASKS)))?;
    if url.target() != "/" {
        return Err(FlowError::Plan(format!(
            "{}: write the server alone, and name the transaction with --transaction",
            url.masked()
        )));
    }
    Ok(url)
}

/// Path and query of the door.
fn target(options: &MessageLoadOptions) -> Result<String, FlowError> {
    let mut query = Vec::new();
    query.extend(options.mode.map(|mode| format!("mode={}", mode.word())));
    for given in &options.parameters {
        let (name, value) =
            given.split_once('=').ok_or_else(|| FlowError::NotAssigned { given: given.clone() })?;
        query.push(format!("{}={}", form_encoded(name), form_encoded(value)));
    }
    let path = match &options.transaction {
        Some(name) => format!("/runner/{}", form_encoded(name).replace('+', "%20")),
        None => "/messages".into(),
    };
    Ok(if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) })
}

/// The numbers of connections, each once, in an order drawn from `seed`.
fn in_drawn_order(connections: &[NonZeroUsize], seed: u64) -> Vec<NonZeroUsize> {
    let mut drawn = connections.to_vec();
    drawn.sort_unstable();
    drawn.dedup();
    SplitMix64::new(seed).shuffle(&mut drawn);
    drawn
}

fn first_number(options: &MessageLoadOptions) -> Result<u64, FlowError> {
    let given = options.content.first_number.map(NonZeroU64::get);
    let first = given.unwrap_or_else(|| messages::first_number(clock::wall_ns()));
    let most = NUMBER_END - NUMBERS_MAX;
    if first > most {
        let text = format!("--first-number {first}: {most} at most, so that 12 digits do");
        return Err(FlowError::Plan(text));
    }
    Ok(first)
}

fn encryption(options: &MessageLoadOptions, url: &Url) -> Result<Option<TlsConnector>, FlowError> {
    match url.scheme() {
        Scheme::Https => {
            let made = TlsConnector::new(&options.measurement.trust, url.host(), ALPN);
            Ok(Some(made.map_err(EngineError::from)?))
        }
        Scheme::Http => {
            options.measurement.trust.unused().map_err(EngineError::from)?;
            Ok(None)
        }
    }
}

impl Measure for MessageLoad {
    fn outline(&self) -> Outline {
        let options = &self.options;
        let mut in_force: BTreeMap<_, _> = options.load.in_force(self.seed).into_iter().collect();
        in_force.insert("connections".into(), json!(options.connections));
        in_force.extend(words(options));
        in_force.extend(options.traces.in_force());
        in_force.extend(options.measurement.transport.in_force());
        if self.tls.is_some() {
            in_force.extend(options.measurement.trust.in_force());
        }
        let plans = self.connections.iter().map(|number| options.load.plan(*number));
        Outline {
            layer: "flow",
            verb: "load",
            options: in_force,
            open: options.load.rate.is_some(),
            seed: self.seed,
            target: format!("{}{}", self.url.masked().trim_end_matches('/'), self.path()),
            pin: options.load.driver.pin.clone(),
            points: self.connections.len(),
            takes: LoadPlan::takes_all(plans),
        }
    }

    fn output(&self) -> &OutputOptions {
        &self.options.measurement.output
    }

    fn spread(&mut self) -> Result<&mut dyn Spread, JobError> {
        if self.after.is_some() || self.tracing.is_some() {
            let why =
                "--sink and traces follow the messages of one process: leave them or --remotes out";
            return Err(why.into());
        }
        Ok(self)
    }

    fn files(&self) -> Vec<NamedFile> {
        let message = self.options.content.message.iter().map(|path| NamedFile::lone(path));
        NamedFile::authorities(&self.options.measurement.trust).into_iter().chain(message).collect()
    }

    fn remotes(&self) -> Option<&RemoteSelector> {
        self.options.load.spread.remotes.as_ref()
    }

    fn run(&mut self, watch: &mut dyn Watch, stop: &Stop) -> Result<(), JobError> {
        self.tracing.as_mut().map_or(Ok(()), Tracing::listen).map_err(FlowError::from)?;
        let port = self.url.scheme().port();
        let endpoints =
            self.options.measurement.transport.endpoints(&self.url.authority(), port)?;
        let endpoint = reachable(&endpoints, self.options.load.connect_timeout, stop)?;
        if let Some(connections) = self.connections.first() {
            let plan = self.options.load.plan(*connections);
            let round_trips = self.options.load.driver.floor();
            floor(round_trips, plan.waiting, &plan.pin, (watch, stop))?;
        }
        watch.rows(&[self.path().to_owned()]);
        for connections in self.connections.clone() {
            if stop.asked() {
                break;
            }
            self.measure(connections, &endpoint, watch, stop)?;
        }
        Ok(())
    }
}

impl Spread for MessageLoad {
    fn points(&self) -> Vec<SpreadPoint> {
        let point = |connections: &NonZeroUsize| SpreadPoint {
            labels: labels(*connections),
            plan: self.options.load.plan(*connections),
            lengths: Lengths::Any,
        };
        self.connections.iter().map(point).collect()
    }

    fn rows(&self) -> Vec<String> {
        vec![self.path().to_owned()]
    }

    /// Numbers that were drawn from the clock are the same for all.
    fn words(&self) -> Vec<String> {
        match self.options.content.first_number {
            Some(_) => Vec::new(),
            None => vec!["--first-number".into(), self.first_number.to_string()],
        }
    }

    fn conclude(&mut self, _: usize, result: &mut ResultRecord, parts: &SpreadParts<'_>) {
        self.account(result, parts.whole);
        if let Some(accepted) = result.codes.get("202").copied().filter(|count| *count > 0) {
            let why = "nobody looks at it where several remotes send";
            let finding = fate::untold(accepted, why);
            result.validity = std::mem::take(&mut result.validity).with(Some(finding));
        }
    }
}

fn labels(connections: NonZeroUsize) -> BTreeMap<String, String> {
    BTreeMap::from([("connections".to_owned(), connections.to_string())])
}

/// The options of this verb with the values in force, without what proves who sends.
fn words(options: &MessageLoadOptions) -> BTreeMap<String, Value> {
    let MessageLoadOptions { content, sink, log_on, .. } = options;
    let mut words = BTreeMap::from([
        ("transaction".to_owned(), json!(options.transaction)),
        ("mode".to_owned(), json!(options.mode.map(ModeName::word))),
        ("set".to_owned(), json!(options.parameters)),
        ("message".to_owned(), json!(content.message)),
        ("size".to_owned(), json!(content.size)),
        // one that was taken from the clock was not asked for
        ("first-number".to_owned(), json!(content.first_number)),
        ("refused-pause".to_owned(), json!(content.refused_pause)),
        ("user".to_owned(), json!(log_on.user)),
        ("sink".to_owned(), json!(sink.sink)),
    ]);
    if sink.sink.is_some() {
        words.insert("table".into(), json!(sink.table));
        words.insert("column".into(), json!(sink.column));
        words.insert("number-column".into(), json!(sink.number_column));
        words.insert("rows".into(), json!(sink.rows));
        words.insert("drain".into(), json!(sink.drain.unwrap_or(DRAIN)));
    }
    words
}
