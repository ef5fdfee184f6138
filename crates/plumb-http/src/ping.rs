//! `plumb http ping`: pages, asked for again and again over a number of connections.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::sync::Arc;

use plumb_engine::layer::{
    JobError, Measure, NamedFile, Outline, Spread, SpreadParts, SpreadPoint, Watch,
};
use plumb_engine::options::OutputOptions;
use plumb_engine::{
    Lengths, LoadPlan, LoadResult, Sampler, Stop, clock, floor, part_record, result_record,
};
use plumb_measure::statistics::SplitMix64;
use plumb_measure::{Http2Figures, PartRecord, RemoteSelector, ResultRecord};
use plumb_negotiate::Initiator;
use plumb_scenario::Expected;
use plumb_wire::http::{Scheme, Url};
use serde_json::json;

use crate::credentials::Source;
use crate::heard::{account_all, accounted};
use crate::jtl::{Jtl, JtlRow};
use crate::pages::{PageReport, Pages};
use crate::pair::Pairs;
use crate::probe::Limits;
use crate::proof::Negotiating;
use crate::resolve::{Resolved, Resolver};
use crate::route::{Route, RouteOptions, Routes, Supervision};
use crate::{HttpError, HttpVersion, LengthRule, PingOptions, Request};
use plumb_trace::Tracing;

/// URLs of one load: every one has histograms of its own.
const URLS_MAX: usize = 64;

/// Pages to be measured, planned.
#[derive(Debug)]
pub struct Ping {
    options: PingOptions,
    urls: Vec<Url>,
    routes: Routes,
    request: Request,
    connections: Vec<NonZeroUsize>,
    seed: u64,
    tracing: Option<Tracing>,
    /// Who asks with tickets.
    initiator: Option<Arc<Initiator>>,
}

/// What is measured: resolved, with the bytes that ask for it.
struct Target {
    route: Route,
    resolved: Vec<Resolved>,
    requests: Vec<Vec<u8>>,
    /// Where each operation is written down, if that is wanted.
    jtl: Option<Jtl>,
    /// Which requests carry a ticket.
    negotiating: Option<Negotiating>,
}

impl Target {
    fn scheme(&self) -> Scheme {
        self.resolved.first().map_or(Scheme::Http, |found| found.url.scheme())
    }
}

impl Ping {
    /// Checks the options.
    ///
    /// # Errors
    /// [`HttpError`] when a URL cannot be asked for or the options ask for the impossible.
    pub fn new(mut options: PingOptions) -> Result<Self, HttpError> {
        let named = if options.pair.is_empty() { &options.urls } else { &options.pair };
        if named.len() > URLS_MAX {
            return Err(HttpError::TooManyUrls { count: named.len(), most: URLS_MAX });
        }
        let urls = named.iter().map(|text| Url::parse(text)).collect::<Result<Vec<_>, _>>()?;
        let depth = options.load.depth.get();
        if depth > 1 {
            return Err(HttpError::Depth { depth });
        }
        check_streams(&options)?;
        options.load.depth = options.streams;
        let means = RouteOptions {
            proxy: options.request.exchange.proxy.as_deref(),
            transport: &options.measurement.transport,
            trust: &options.measurement.trust,
            connect_timeout: options.load.connect_timeout,
            version: options.request.exchange.http,
        };
        let routes = Routes::new(means, &urls)?;
        let request = request(&options)?.through(routes.proxy());
        let initiator = options.request.initiator(&urls)?;
        let seed = options.load.seed.unwrap_or_else(clock::seed);
        let mut connections = options.connections.clone();
        connections.sort_unstable();
        connections.dedup();
        SplitMix64::new(seed).shuffle(&mut connections);
        for number in &connections {
            options.load.check(*number)?;
        }
        let encrypted = urls.iter().any(|url| url.scheme() == Scheme::Https);
        options.load.stamps.check(&options.measurement.transport.transport, encrypted)?;
        options.load.driver.confirm_tick("an HTTP server", None)?;
        let tracing =
            Tracing::new(&options.request.exchange.traces, &options.request.exchange.header)?;
        Ok(Self { options, urls, routes, request, connections, seed, tracing, initiator })
    }

    /// Everything that happens to a user once. `None` when it was interrupted.
    fn resolve(&self, stop: &Stop) -> Result<Option<Target>, HttpError> {
        let mut resolver = Resolver {
            request: &self.request,
            limits: Limits { expected: Expected::any(), ..self.limits() },
            load: &self.options.load,
            source: Source::new(self.options.request.credentials.as_deref()),
            stop,
            routes: &self.routes,
            expected: &self.options.expect_status,
            known: Vec::new(),
            initiator: self.initiator.clone(),
            negotiated: None,
            jars: Vec::new(),
        };
        let mut resolved = Vec::new();
        for url in &self.urls {
            let found = match self.options.request.as_given {
                true => Some(resolver.as_given(url)?),
                false => resolver.resolve(url)?,
            };
            match found {
                None => return Ok(None),
                Some(found) => resolved.push(found),
            }
        }
        let Some(first) = resolved.first() else {
            return Ok(None);
        };
        let elsewhere = resolved.iter().find(|other| !self.routes.shared(&first.url, &other.url));
        if let Some(other) = elsewhere {
            let (first, other) = (first.url.masked(), other.url.masked());
            return Err(HttpError::Origins { first, other });
        }
        let route = self.routes.to(&first.url, stop)?;
        // the last URL may have brought what the first one needs
        let requests: Vec<_> = resolved.iter().map(|found| resolver.bytes(&found.url)).collect();
        let jtl = self.jtl(&resolved, &requests)?;
        let negotiating = resolver.negotiating(&first.url);
        Ok(Some(Target { route, resolved, requests, jtl, negotiating }))
    }

    /// The file of single operations, if one is wanted.
    fn jtl(&self, found: &[Resolved], requests: &[Vec<u8>]) -> Result<Option<Jtl>, HttpError> {
        let Some(path) = &self.options.export.jtl else {
            return Ok(None);
        };
        let named = self.urls.iter().zip(found).zip(requests);
        let rows = named.map(|((url, found), request)| JtlRow {
            label: url.masked(),
            url: found.url.masked(),
            sent_bytes: request.len() as u64,
            group: 0,
        });
        Jtl::create(path, rows.collect()).map(Some)
    }

    fn limits(&self) -> Limits {
        Limits {
            expected: self.options.expect_status.clone(),
            body_bytes_max: self.options.request.exchange.body_bytes_max(),
        }
    }

    fn lengths(&self) -> Lengths {
        match self.options.length {
            LengthRule::Same => Lengths::Same,
            LengthRule::Any => Lengths::Any,
        }
    }

    fn labels(connections: NonZeroUsize) -> BTreeMap<String, String> {
        BTreeMap::from([("connections".to_owned(), connections.to_string())])
    }

    fn measure(
        &mut self,
        connections: NonZeroUsize,
        target: &mut Target,
        watch: &mut dyn Watch,
        stop: &Stop,
    ) -> Result<(), JobError> {
        let paired = !self.options.pair.is_empty();
        let mut plan = self.options.load.plan(connections);
        if paired {
            plan = Pairs::shorten(plan);
        }
        let labels = Self::labels(connections);
        let traces = self.tracing.as_mut().map(Tracing::begin);
        let pages = Pages {
            version: self.routes.version(),
            requests: target.requests.clone(),
            scheme: target.scheme(),
            ask: self.request.ask(),
            limits: self.limits(),
            seed: self.seed,
            closing: self.options.request.close,
            traces,
            negotiating: target.negotiating.clone(),
        };
        let mut pairs = Pairs::default();
        let Target { route, jtl, .. } = target;
        let gate = watch.gate();
        let driven = {
            let mut samplers: Vec<&mut dyn Sampler> = vec![watch.point(&labels), &mut pairs];
            if let Some(jtl) = jtl {
                jtl.expect(vec![connections.get()]);
                samplers.push(jtl);
            }
            let by = Supervision { samplers: &mut samplers, stop, gate: gate.as_deref() };
            pages.drive(route, &plan, by)
        };
        let left_out = jtl.as_mut().map_or(Ok(0), Jtl::settle);
        let mut load = driven?;
        let lengths = self.lengths();
        load.told_names = load.protocols.first().map_or_else(Vec::new, |it| it.told_names.clone());
        if gate.is_some() {
            watch.loaded(&load.without_protocols());
        }
        let mut result = result_record(&plan, labels, lengths, &load);
        self.add_parts(&mut result, target, &load);
        result.http2 = PageReport::http2_of(&load.protocols);
        let traced = self.add_spans(&mut result, &load, stop);
        if let ([dynamic, fixed], true) = (&self.urls[..], paired) {
            result.pair = Some(pairs.record(&dynamic.masked(), &fixed.masked()));
        }
        if let Some(transport) = load.transports.first() {
            watch.reached(transport.clone());
        }
        result.validity = result.validity.with_left_out(*left_out.as_ref().unwrap_or(&0));
        watch.result(result, load.began_ns)?;
        left_out?; // the figures stand without the files
        traced?;
        Ok(())
    }

    fn add_spans(
        &mut self,
        result: &mut ResultRecord,
        load: &LoadResult<PageReport>,
        stop: &Stop,
    ) -> Result<(), HttpError> {
        let Some(tracing) = &mut self.tracing else { return Ok(()) };
        let of = (&mut result.parts[..], load.recorder.rows());
        Ok(tracing.add_to(of, &mut result.validity, load, stop)?)
    }

    fn add_parts(&self, result: &mut ResultRecord, target: &Target, load: &LoadResult<PageReport>) {
        let rows = load.recorder.rows();
        for ((url, resolved), row) in self.urls.iter().zip(&target.resolved).zip(rows) {
            let part = PartRecord {
                steps: resolved.steps.clone(),
                first_hit: resolved.first_hit,
                ..part_record(url.masked(), row, load)
            };
            result.parts.push(accounted(part, row, load));
        }
        let validity = &mut result.validity;
        if let Some(complaint) = load.protocols.iter().find_map(|it| it.complaint.as_ref()) {
            *validity = std::mem::take(validity).with_complaint(complaint);
        }
        let untold = load.protocols.iter().map(|it| it.untold).sum();
        *validity = std::mem::take(validity).with_untold(untold);
    }
}

impl Measure for Ping {
    fn outline(&self) -> Outline {
        let options = &self.options;
        let mut in_force: BTreeMap<_, _> = options.load.in_force(self.seed).into_iter().collect();
        let urls: Vec<String> = self.urls.iter().map(Url::masked).collect();
        let name = if options.pair.is_empty() { "url" } else { "pair" };
        in_force.insert(name.into(), json!(urls));
        in_force.insert("connections".into(), json!(options.connections));
        in_force.insert("streams".into(), json!(options.streams));
        in_force.insert("expect-status".into(), json!(options.expect_status));
        in_force.insert("length".into(), json!(options.length));
        in_force.extend(options.export.in_force());
        in_force.extend(options.request.exchange.traces.in_force());
        in_force.insert("method".into(), json!(self.request.method()));
        in_force.insert("body".into(), json!(options.request.body));
        in_force.insert("close".into(), json!(options.request.close));
        in_force.insert("as-given".into(), json!(options.request.as_given));
        in_force.insert("credentials".into(), json!(options.request.credentials));
        in_force.insert("authentication".into(), json!(options.request.authentication));
        in_force.insert("service".into(), json!(options.request.service));
        in_force.extend(options.request.exchange.in_force(self.routes.proxy()));
        in_force.extend(options.measurement.transport.in_force());
        let encrypted = self.urls.iter().any(|url| url.scheme() == Scheme::Https);
        if encrypted || options.measurement.trust.unused().is_err() {
            in_force.extend(options.measurement.trust.in_force()); // a redirect may lead to https
        }
        let plans = self.connections.iter().map(|number| options.load.plan(*number));
        Outline {
            layer: "http",
            verb: "ping",
            options: in_force,
            open: options.load.rate.is_some(),
            seed: self.seed,
            target: target_of(&urls),
            pin: options.load.driver.pin.clone(),
            points: self.connections.len(),
            takes: LoadPlan::takes_all(plans),
        }
    }

    fn output(&self) -> &OutputOptions {
        &self.options.measurement.output
    }

    fn metrics(&self) -> Option<&str> {
        self.options.export.metrics.as_deref()
    }

    fn spread(&mut self) -> Result<&mut dyn Spread, JobError> {
        if !self.options.pair.is_empty() {
            return Err("--pair compares requests one by one: leave --remotes out".into());
        }
        self.options.export.check_spread(self.tracing.is_some())?;
        Ok(self)
    }

    fn files(&self) -> Vec<NamedFile> {
        let body = self.options.request.body.iter().map(|path| NamedFile::lone(path));
        NamedFile::authorities(&self.options.measurement.trust).into_iter().chain(body).collect()
    }

    fn remotes(&self) -> Option<&RemoteSelector> {
        self.options.load.spread.remotes.as_ref()
    }

    fn run(&mut self, watch: &mut dyn Watch, stop: &Stop) -> Result<(), JobError> {
        let Some(mut target) = self.resolve(stop)? else {
            return Ok(());
        };
        self.tracing.as_mut().map_or(Ok(()), Tracing::listen)?;
        if let Some(connections) = self.connections.first() {
            let plan = self.options.load.plan(*connections);
            let round_trips = self.options.load.driver.floor();
            floor(round_trips, plan.waiting, &plan.pin, (watch, stop))?;
        }
        let urls: Vec<String> = self.urls.iter().map(Url::masked).collect();
        watch.rows(&urls);
        for connections in self.connections.clone() {
            if stop.asked() {
                break;
            }
            self.measure(connections, &mut target, watch, stop)?;
        }
        Ok(())
    }
}

impl Spread for Ping {
    fn points(&self) -> Vec<SpreadPoint> {
        let point = |connections: &NonZeroUsize| SpreadPoint {
            labels: Self::labels(*connections),
            plan: self.options.load.plan(*connections),
            lengths: self.lengths(),
        };
        self.connections.iter().map(point).collect()
    }

    fn rows(&self) -> Vec<String> {
        self.urls.iter().map(Url::masked).collect()
    }

    fn conclude(&mut self, _: usize, result: &mut ResultRecord, parts: &SpreadParts<'_>) {
        account_all(&mut result.parts, parts.whole);
        result.http2 =
            Http2Figures::of_all(parts.results.iter().filter_map(|it| it.http2.as_ref()));
    }
}

/// Several streams are of HTTP/2, and what looks at single messages or connections is not of them.
fn check_streams(options: &PingOptions) -> Result<(), HttpError> {
    let (streams, version) = (options.streams.get(), options.request.exchange.http);
    let problem = match version {
        HttpVersion::One if streams > 1 => return Err(HttpError::Streams { streams }),
        HttpVersion::Two if options.load.stamps.timestamps.is_some() => {
            "--timestamps takes single messages of HTTP/1.1 apart; leave one of them out"
        }
        HttpVersion::Two if options.request.close && streams > 1 => {
            "--close asks for each page on a new connection: leave --streams out"
        }
        HttpVersion::Two if streams > usize::from(u16::MAX) => {
            "a connection has no more than 65535 --streams here"
        }
        _ => return Ok(()),
    };
    Err(HttpError::Http2 { problem })
}

fn request(options: &PingOptions) -> Result<Request, HttpError> {
    let body = match &options.request.body {
        None => None,
        Some(path) => {
            Some(fs::read(path).map_err(|cause| HttpError::Body { path: path.clone(), cause })?)
        }
    };
    let usual = if body.is_some() { "POST" } else { "GET" };
    let method = options.request.method.as_deref().unwrap_or(usual);
    let mut request = Request::new(method, &options.request.exchange.header, body)?;
    if options.request.close {
        request = request.closing();
    }
    Ok(request)
}

/// The target in a heading.
fn target_of(urls: &[String]) -> String {
    match urls {
        [] => String::new(),
        [only] => only.clone(),
        [first, more @ ..] => format!("{first} and {} more", more.len()),
    }
}
