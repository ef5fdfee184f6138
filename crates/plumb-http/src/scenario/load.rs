//! `plumb http load`: the users of a scenario file, all of them at the same time.

mod drive;
mod finish;
mod hops;
mod preview;
mod rows;
mod spread;
mod verdict;

use std::num::NonZeroUsize;
use std::sync::Arc;

use plumb_engine::layer::{JobError, Measure, NamedFile, Outline, Spread, Watch};
use plumb_engine::options::OutputOptions;
use plumb_engine::{Crew, Lengths, LoadPlan, Sampler, Stop, Waiting, clock, floor, result_record};
use plumb_measure::statistics::SplitMix64;
use plumb_measure::{LoadPart, RemoteSelector, Span, ToldNames};
use plumb_scenario::Patterns;
use plumb_scenario::ScenarioError;
use plumb_scenario::ScenarioSource;
use plumb_scenario::file::Resolve;
use plumb_scenario::masked;
use plumb_scenario::variables::{Slot, Value};
use plumb_wire::http::Scheme;
use serde_json::json;

use super::compile::Row;
use super::options::ScenarioOptions;
use super::origin::Origins;
use super::player::Player;
use super::script::{CompiledScenario, Overrides, compile, seed_of};
use super::timeline::{PlannedScenario, Times, dealt, part};
use crate::HttpError;
use crate::heard::account_all;
use crate::jtl::{Jtl, JtlRow};
use crate::proof::Initiators;
use crate::route::{Route, RouteOptions, Routes, Supervision};
use plumb_scenario::refused::RefusedLogOns;
use plumb_trace::Tracing;

use drive::drive_players;
use hops::{mark_hops, settle_hops};
pub use preview::DryRun;
use rows::{labels, names, records, scenarios, shape, together};
use verdict::{judge, remarks};

/// Steps whose first wrong answer is spelled out.
const COMPLAINTS_MAX: usize = 5;

/// A scenario file that is going to be played.
#[derive(Debug)]
pub struct ScenarioLoad {
    options: ScenarioOptions,
    source: ScenarioSource,
    origins: Arc<Origins>,
    routes: Routes,
    overrides: Overrides,
    seed: u64,
    /// The points of the sweep: users of all scenarios without a rate together; `None`: as the
    /// file says.
    points: Vec<Option<u64>>,
    /// What is done once when the load is over was done.
    finished: bool,
    tracing: Option<Tracing>,
}

impl ScenarioLoad {
    /// Reads the scenario, and checks it with the options.
    ///
    /// # Errors
    /// [`HttpError`] with the place of the first thing that cannot be.
    pub fn new(options: ScenarioOptions) -> Result<Self, HttpError> {
        let source = ScenarioSource::read(&options.scenario)?;
        let source = source.with_files_from(options.files_from.clone());
        let source = source.with_variables(&options.variable)?;
        let file = source.file();
        let means = RouteOptions {
            proxy: options.exchange.proxy.as_deref(),
            transport: &options.measurement.transport,
            trust: &options.measurement.trust,
            connect_timeout: options.drive.connect_timeout(file),
            version: options.exchange.http,
        };
        // the route is known when the server is, and the server when the proxy is
        let proxy = means.proxy.map(crate::proxy::Proxy::new).transpose()?;
        let origins = Origins::new(&source, options.base.as_deref(), proxy.as_ref())?;
        let routes = Routes::new(means, std::slice::from_ref(origins.base()))?;
        routes.check(origins.others())?;
        let overrides = Overrides {
            headers: Overrides::headers(&options.exchange.header)?,
            exclude: Patterns::new(&options.exclude),
            credentials: options.credentials.clone(),
            body_bytes_max: options.exchange.body_bytes_max(),
            part: options.drive.spread.part(),
            close: options.close,
            initiators: Initiators::default(),
            refused: RefusedLogOns::default(),
        };
        let seed = options.drive.seed.or(file.seed).unwrap_or_else(clock::seed);
        let mut points: Vec<Option<u64>> =
            options.users.iter().map(|users| Some(users.get())).collect();
        points.sort_unstable();
        points.dedup();
        SplitMix64::new(seed).shuffle(&mut points);
        if points.is_empty() {
            points.push(None);
        }
        let tracing = Tracing::new(&options.exchange.traces, &options.exchange.header)?;
        let load = Self {
            options,
            source,
            origins: origins.into(),
            routes,
            overrides,
            seed,
            points,
            finished: false,
            tracing,
        };
        // what is wrong is said before anything is asked
        let certificates = load.compile(&[])?.certificates;
        load.routes.of_identities(load.origins.base(), &certificates)?;
        for point in &load.points {
            load.parts(*point)?.iter().try_for_each(|part| part.plan.check())?;
        }
        load.options.drive.driver.confirm_tick("an HTTP server", None)?;
        Ok(load)
    }

    fn resolve(&self) -> Resolve {
        self.options.resolve.or(self.source.file().resolve).unwrap_or_default()
    }

    fn compile(&self, extracted: &[(Slot, Value)]) -> Result<CompiledScenario, HttpError> {
        compile(&self.source, &self.origins, &self.overrides, self.seed, extracted)
    }

    /// Who takes part in each scenario, with `users` in all those without a rate.
    fn parts(&self, users: Option<u64>) -> Result<Vec<PlannedScenario>, HttpError> {
        let file = self.source.file();
        let like = self.options.drive.plan(file);
        let drive = &self.options.drive;
        let times = Times { like: &like, length: drive.length(file), most: drive.for_time };
        let parts = |shares: &[Option<u64>]| {
            let numbered = (1..).zip(&file.scenario).zip(shares);
            numbered
                .map(|((number, scenario), share)| {
                    part(&self.source, scenario, times, *share, seed_of(self.seed, !number))
                })
                .collect::<Result<Vec<PlannedScenario>, ScenarioError>>()
        };
        let as_written = parts(&vec![None; file.scenario.len()])?;
        let Some(users) = users else { return Ok(as_written) };
        let closed: Vec<u64> =
            as_written.iter().filter(|part| !part.open()).map(|part| part.users).collect();
        if closed.is_empty() {
            let problem = "--users: every scenario has a rate; there are no users to set".into();
            return Err(HttpError::Base { problem });
        }
        let mut shares = dealt(users, &closed).into_iter();
        let shares: Vec<Option<u64>> =
            as_written.iter().map(|part| if part.open() { None } else { shares.next() }).collect();
        Ok(parts(&shares)?)
    }

    /// How long all points take, one after the other: each as long as the longest of its scenarios.
    fn takes(&self) -> Option<Span> {
        let of_point = |users: Option<u64>| {
            let parts = self.parts(users).ok()?;
            let each = parts.iter().map(|part| part.plan.takes());
            each.collect::<Option<Vec<Span>>>()?.into_iter().map(Span::ns).max()
        };
        let mut points = self.points.iter();
        let all = points.try_fold(0_u64, |sum, users| Some(sum.saturating_add(of_point(*users)?)));
        all.map(Span::from_ns)
    }

    /// What is done once, and what it extracted; `None` when it was interrupted.
    fn prepare(&self, route: &Route, stop: &Stop) -> Result<Option<Vec<(Slot, Value)>>, HttpError> {
        let compiled = self.compile(&[])?;
        let Some(script) = &compiled.preparation else { return Ok(Some(Vec::new())) };
        let plan = self.options.drive.plan(self.source.file());
        let part = LoadPart::default(); // each process prepares for itself
        let plan = LoadPlan { part, threads: NonZeroUsize::MIN, warmup: Span::from_ns(0), ..plan };
        let crew = [Crew { plan: &plan, user_schedule: None }];
        let player = |_| Player::new(Arc::clone(script), ToldNames::default(), None);
        let by = Supervision::none(stop);
        let (load, _) = drive_players(route, &crew, shape(&compiled), player, by)?;
        if stop.asked() {
            return Ok(None);
        }
        let player = load.protocols.first();
        if load.recorder.failures().total() > 0 {
            let first = player.and_then(|player| player.complaints().next());
            let silent = || "the server does not answer".to_owned();
            let complaint = first.map_or_else(silent, |first| first.to_string());
            return Err(HttpError::Preparation { complaint });
        }
        Ok(Some(player.map_or_else(Vec::new, |player| player.extracted().to_vec())))
    }

    fn measure(
        &mut self,
        (point, last): (Option<u64>, bool),
        extracted: &[(Slot, Value)],
        (route, jtl): (&Route, &mut Option<Jtl>),
        (watch, stop): (&mut dyn Watch, &Stop),
    ) -> Result<(), JobError> {
        // data files and shared lists begin anew for each point
        let compiled = self.compile(extracted)?;
        let parts = self.parts(point)?;
        let labels = labels(&parts);
        let crews: Vec<Crew<'_>> = parts
            .iter()
            .map(|part| Crew { plan: &part.plan, user_schedule: Some(&part.user_schedule) })
            .collect();
        let (names, gate) = (ToldNames::default(), watch.gate());
        let traces = self.tracing.as_mut().map(Tracing::begin);
        let player = |number: usize| {
            let script = Arc::clone(&compiled.scripts[number]);
            Player::new(script, names.clone(), traces.clone())
        };
        let driven = {
            let mut samplers: Vec<&mut dyn Sampler> = vec![watch.point(&labels)];
            if let Some(jtl) = jtl {
                jtl.expect(parts.iter().map(|part| part.plan.connections.get()).collect());
                samplers.push(jtl);
            }
            let by = Supervision { samplers: &mut samplers, stop, gate: gate.as_deref() };
            drive_players(route, &crews, shape(&compiled), player, by)
        };
        let left_out = jtl.as_mut().map_or(Ok(0), Jtl::settle);
        let (mut load, http2) = driven.map_err(HttpError::from)?;
        load.told_names = names.all();
        let mut finishes = vec![self.finish_users(route, &compiled, &mut load)];
        if last || stop.asked() {
            self.finished = true;
            finishes.push(self.finish_load(route, extracted));
        }
        if gate.is_some() {
            watch.loaded(&load.without_protocols());
        }
        let mut result = result_record(&together(&parts), labels, Lengths::Any, &load);
        result.http2 = http2;
        let (rows, group_rows) = (load.recorder.rows(), load.recorder.groups());
        let (steps, groups) = compiled.prepared;
        result.parts = records("step", &compiled.rows[steps..], &rows[steps..], &load);
        account_all(&mut result.parts, &load);
        result.groups = records("group", &compiled.groups[groups..], &group_rows[groups..], &load);
        result.groups.iter_mut().for_each(|group| group.first_byte_ns = None);
        result.scenarios = scenarios(&parts, &compiled.scripts, &load);
        mark_hops(&mut result, &compiled);
        if self.options.drive.spread.part.is_none() {
            judge(&mut result, &compiled.thresholds, &load); // those of all parts are the controller's
        }
        let refused = self.overrides.refused.findings();
        result.validity = remarks((std::mem::take(&mut result.validity), refused), &result, &load)
            .with_left_out(*left_out.as_ref().unwrap_or(&0));
        let traced = self.tracing.as_mut().map_or(Ok(()), |tracing| {
            let of = (&mut result.parts[..], &rows[steps..]);
            tracing.add_to(of, &mut result.validity, &load, stop)
        });
        finishes.into_iter().for_each(|finish| finish.add_to(&mut result));
        if self.options.drive.spread.part.is_none() {
            settle_hops(&mut result);
        }
        if let Some(transport) = load.transports.first() {
            watch.reached(transport.clone());
        }
        watch.result(result, load.began_ns)?;
        left_out?; // the figures stand without the files
        traced?;
        Ok(())
    }

    fn measure_all(
        &mut self,
        extracted: &[(Slot, Value)],
        route: &Route,
        (watch, stop): (&mut dyn Watch, &Stop),
    ) -> Result<(), JobError> {
        let rows = self.compile(extracted)?.rows;
        let mut jtl = self.jtl(&rows)?;
        watch.rows(&names(&rows));
        let driver = &self.options.drive.driver;
        floor(driver.floor(), Waiting::Epoll, &driver.pin, (watch, stop))?;
        let points = self.points.clone();
        for (left, point) in (0..points.len()).rev().zip(points) {
            if stop.asked() || self.overrides.refused.any() {
                break;
            }
            self.measure((point, left == 0), extracted, (route, &mut jtl), (watch, stop))?;
        }
        Ok(())
    }

    /// The file of single operations, if one is wanted. What a template becomes differs from
    /// request to request, so all have the address of the server.
    fn jtl(&self, rows: &[Row]) -> Result<Option<Jtl>, HttpError> {
        let Some(path) = &self.options.export.jtl else { return Ok(None) };
        let base = self.origins.base().to_string();
        let scenarios = &self.source.file().scenario;
        let group = |row: &Row| scenarios.iter().position(|scenario| scenario.name == row.scenario);
        let rows = rows.iter().map(|row| JtlRow {
            label: format!("{} {}", row.scenario, row.name),
            url: base.clone(),
            sent_bytes: 0,
            group: group(row).unwrap_or(0), // steps of a preparation are not told
        });
        Jtl::create(path, rows.collect()).map(Some)
    }
}

impl Measure for ScenarioLoad {
    fn outline(&self) -> Outline {
        let options = &self.options;
        let file = self.source.file();
        let mut in_force = options.drive.in_force(file, self.seed);
        in_force.insert("scenario".into(), json!(self.source.path()));
        in_force.insert("scenario-text".into(), json!(masked::text(file)));
        in_force.insert("base".into(), json!(self.origins.base().to_string()));
        in_force.insert("exclude".into(), json!(options.exclude));
        in_force.insert("files-from".into(), json!(options.files_from));
        in_force.insert("variable".into(), json!(options.variable));
        in_force.insert("close".into(), json!(options.close || file.close));
        in_force.insert("resolve".into(), json!(self.resolve()));
        in_force.insert("users".into(), json!(options.users));
        in_force.insert("credentials".into(), json!(options.credentials));
        in_force.extend(options.exchange.in_force(self.routes.proxy()));
        in_force.extend(options.export.in_force());
        in_force.extend(options.exchange.traces.in_force());
        in_force.extend(options.measurement.transport.in_force());
        let mut servers = std::iter::once(self.origins.base()).chain(self.origins.others());
        if servers.any(|url| url.scheme() == Scheme::Https)
            || options.measurement.trust.unused().is_err()
        {
            in_force.extend(options.measurement.trust.in_force());
        }
        let open = self.parts(None).is_ok_and(|parts| parts.iter().any(PlannedScenario::open));
        Outline {
            layer: "http",
            verb: "load",
            options: in_force,
            open,
            seed: self.seed,
            target: target(&self.origins, file.name.as_deref()),
            pin: options.drive.driver.pin.clone(),
            points: self.points.len(),
            takes: self.takes(),
        }
    }

    fn output(&self) -> &OutputOptions {
        &self.options.measurement.output
    }

    fn metrics(&self) -> Option<&str> {
        self.options.export.metrics.as_deref()
    }

    fn spread(&mut self) -> Result<&mut dyn Spread, JobError> {
        self.options.export.check_spread(self.tracing.is_some())?;
        Ok(self)
    }

    fn files(&self) -> Vec<NamedFile> {
        let scenario = &self.options.scenario;
        let mut files = NamedFile::authorities(&self.options.measurement.trust);
        files.push(NamedFile { beside: self.source.named_files(), ..NamedFile::lone(scenario) });
        files
    }

    fn remotes(&self) -> Option<&RemoteSelector> {
        self.options.drive.spread.remotes.as_ref()
    }

    fn run(&mut self, watch: &mut dyn Watch, stop: &Stop) -> Result<(), JobError> {
        self.tracing.as_mut().map_or(Ok(()), Tracing::listen)?;
        let (base, others) = (self.origins.base(), self.origins.others());
        let certificates = self.compile(&[])?.certificates;
        self.overrides.initiators.ready().map_err(HttpError::from)?;
        let how = (self.resolve(), &certificates[..]);
        let route = self.routes.to_all(base, others, how, stop)?;
        let Some(extracted) = self.prepare(&route, stop)? else { return Ok(()) };
        let outcome = self.measure_all(&extracted, &route, (watch, stop));
        if !self.finished {
            self.finish_load(&route, &extracted); // there is no result to write it down with
        }
        outcome
    }
}

/// The target in a heading.
fn target(origins: &Origins, name: Option<&str>) -> String {
    let base = origins.base().to_string();
    match name {
        Some(name) => format!("{base} ({name})"),
        None => base,
    }
}
