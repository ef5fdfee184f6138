//! A job becomes a run: its folder, its record, its output.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use clap::ArgMatches;
use plumb_command::{Exit, carry_out, colour, exit, plain, signals};
use plumb_engine::clock::{self, MonotonicClock};
use plumb_engine::layer::{Job, JobError, Measure, Outline, RemoteLoad, SpreadPoint, Watch};
use plumb_engine::options::OutputOptions;
use plumb_engine::{
    Gate, Interrupted, IntervalRecords, LoadResult, Sampler, Stop, take_dead_addresses,
    take_slow_names,
};
use plumb_folder::RunFolder;
use plumb_host::HiccupMeter;
use plumb_measure::{
    Clock as _, FindingKind, Floor, Plan, Program, ResultRecord, RunRecord, SCHEMA, Status, Target,
    Transport, Validity, hdr,
};
use plumb_remote::{CommonStart, Conductor, lead};
use plumb_report::{markdown, terminal};
use plumb_wire::secret;
use serde_json::Value;

use crate::far::FarHostWatch;
use crate::host_watch::{HostWatch, Unwatched};
use crate::metrics::{Metrics, Receivers};
use crate::pipeline::{self, VerdictFiles};
use crate::progress::{self, INCOMPLETE, Onlooker};
use crate::remote::Drivers;
use crate::report::page_of;
use crate::{host, layers, open_files};

/// Runs what `matches` ask of the layer `name`.
pub(crate) fn run_layer(
    name: &str,
    matches: &ArgMatches,
    command: &[String],
) -> anyhow::Result<Exit> {
    let layer = layers::find(name).ok_or_else(|| anyhow!("there is no layer `{name}`"))?;
    match layer.job(matches).map_err(plain)? {
        Job::Verb(mut verb) => {
            open_files::raise_limit();
            let stop = signals::stop()?;
            signals::end_with_parent(&stop)?;
            carry_out(verb.as_mut(), (&mut io::stdout(), &mut io::stderr()), &stop)
        }
        Job::Measure(mut job) => {
            let (files, receivers) = (VerdictFiles::of(matches)?, Receivers::of(matches)?);
            let stop = signals::stop()?;
            let run = measure(job.as_mut(), command, "", &receivers, &stop)?;
            let printed = print(&run, None, job.output());
            files.write(|| pipeline::of_run(&run.record, run.folder.path()))?;
            printed?;
            Ok(run.kept()?.exit())
        }
    }
}

/// A measurement that is over, and the folder it lies in.
pub(crate) struct Run {
    pub(crate) record: RunRecord,
    pub(crate) folder: RunFolder,
    /// Why its folder lacks something; the figures are whole all the same.
    pub(crate) unkept: Option<anyhow::Error>,
}

impl Run {
    /// The run of `record`, written into its `folder` with its page as far as there is room; `before`
    /// is what went wrong there meanwhile.
    pub(crate) fn keep(
        record: RunRecord,
        folder: RunFolder,
        before: Option<anyhow::Error>,
    ) -> Self {
        let mut run = Self { record, folder, unkept: None };
        let written = run.folder.write_record(&run.record).map_err(anyhow::Error::from);
        // the gravest first: without its record a folder is no run
        run.unkept = written.err().or(before).or(run.report().err());
        run
    }

    /// The run, for whoever needs what lies in its folder.
    ///
    /// # Errors
    /// When something could not be written there.
    pub(crate) fn kept(self) -> anyhow::Result<Self> {
        match self.unkept {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// What the run means for whoever called.
    pub(crate) fn exit(&self) -> Exit {
        Exit::of(&self.record)
    }

    /// The page for people, as it lies in the folder.
    pub(crate) fn report(&self) -> anyhow::Result<std::path::PathBuf> {
        Ok(self.folder.write_report(&page_of(&self.record, self.folder.path()))?)
    }
}

/// Carries out a measurement and leaves its folder, with what there is even if it is interrupted.
/// `title` stands before the progress it shows; `receivers` are told the figures meanwhile.
pub(crate) fn measure(
    job: &mut dyn Measure,
    command: &[String],
    title: &str,
    receivers: &Receivers,
    stop: &Stop,
) -> anyhow::Result<Run> {
    let drivers = Drivers::of(job, command, stop)?;
    measure_with(job, command, (title, receivers), stop, drivers)
}

/// The same with whoever drives its loads.
pub(crate) fn measure_with(
    job: &mut dyn Measure,
    command: &[String],
    (title, receivers): (&str, &Receivers),
    stop: &Stop,
    drivers: Drivers,
) -> anyhow::Result<Run> {
    open_files::check_limit()?;
    let far_host = FarHostWatch::reach(&job.output().host, stop)?;
    let hiccups = HiccupMeter::start().context("cannot start another thread")?;
    let outline = job.outline();
    let start_ns = clock::wall_ns();
    let mut folder = open_folder(job.output(), &outline, start_ns)?;
    let mut record = new_record(&outline, command, start_ns);
    let place = (folder.path(), record.host.name.as_str());
    let metrics = match Metrics::start(job.metrics(), receivers, &outline, place) {
        Ok(metrics) => metrics,
        Err(error) => {
            folder.discard();
            return Err(error);
        }
    };
    record.plan.options.extend(drivers.in_force(job.remotes()));
    record.far = far_host.as_ref().map(FarHostWatch::facts);
    let leader = drivers.leader();
    let header = folder.append_intervals(&hdr::log_header(start_ns, &record.started));
    let watched = header
        .map_err(anyhow::Error::from)
        .and_then(|()| HostWatch::start(&job.output().host, far_host, folder.path(), leader));
    let host_watch = match watched {
        Ok(host_watch) => host_watch,
        Err(error) => {
            folder.discard();
            return Err(error);
        }
    };
    let lacking = host_watch.as_ref().map_or_else(|_| Vec::new(), HostWatch::not_watched);
    if !lacking.is_empty() {
        record.host.facts.insert("not watched".into(), lacking.join("; "));
    }
    let began_ns = MonotonicClock.now_ns();
    let title = format!("{title}{} {} {} ", outline.layer, outline.verb, outline.target);
    let onlooker = Onlooker::new(&mut folder, &title, (outline.points, outline.takes), began_ns);
    let mut keeper =
        Keeper { record, onlooker, host_watch, hiccups, metrics, began_ns, drivers, start: None };
    let ran = match keeper.drivers {
        Drivers::Remotes(_) => job.spread().and_then(|job| lead(job, &mut keeper, stop)),
        Drivers::Here | Drivers::Led { .. } => job.run(&mut keeper, stop),
    };
    keeper.onlooker.over();
    let Keeper { mut record, onlooker, host_watch, drivers, metrics, .. } = keeper;
    let watched = host_watch.map_or_else(|_| Vec::new(), HostWatch::stop);
    let incomplete = onlooker.trouble;
    tell_slow_names(&mut record);
    let failed = ran.err().filter(|error| !Interrupted::is_behind(error.as_ref()));
    match failed {
        Some(error) if record.results.is_empty() => {
            for file in &watched {
                let _ = std::fs::remove_file(file); // what is left stays for whoever looks
            }
            folder.discard();
            return Err(plain(error));
        }
        failed => end(&mut record, failed.as_deref(), &outline, stop),
    }
    if let Some(error) = &incomplete {
        folder.give_up_intervals();
        record.validity = record.validity.without_intervals(&error.to_string());
    }
    let unkept = drivers.end(folder.path(), stop).err();
    let unkept = incomplete.map(|error| anyhow!(error).context(INCOMPLETE)).or(unkept);
    let run = Run::keep(record, folder, unkept);
    if let Some(metrics) = metrics {
        metrics.end(run.record.validity.valid);
    }
    Ok(run)
}

/// Says of a run that has results which names took long to look up for it, or to lead to an address.
fn tell_slow_names(record: &mut RunRecord) {
    let (slow, dead) = (take_slow_names(), take_dead_addresses());
    if !record.results.is_empty() {
        let validity = std::mem::take(&mut record.validity);
        record.validity = validity.with_slow_names(&slow).with_dead_addresses(&dead);
    }
}

/// Says how a run ended whose job has done what it could, or has `failed` on the way.
fn end(
    record: &mut RunRecord,
    failed: Option<&(dyn Error + Send + Sync)>,
    outline: &Outline,
    stop: &Stop,
) {
    let mut validity = std::mem::take(&mut record.validity);
    let cut_short = validity.reasons.iter().any(|found| found.kind == FindingKind::CutShort);
    if let Some(error) = failed {
        validity = validity.cut_short_by(&error.to_string());
        record.status = Status::Broken;
    } else {
        record.status = match () {
            () if stop.asked() => Status::Interrupted,
            () if cut_short => Status::Broken,
            () => Status::Complete,
        };
    }
    if record.status != Status::Complete
        && let Some(results) = not_begun(outline, &record.results)
    {
        validity = validity.without_results(&results);
    }
    record.validity = validity;
}

/// The results of a plan of several that were not begun, in words, and the values of its options that
/// none of the `results` has; `None` where all were.
fn not_begun(outline: &Outline, results: &[ResultRecord]) -> Option<String> {
    let missing = outline.points.checked_sub(results.len()).filter(|missing| *missing > 0)?;
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let of_option = |(name, values): (&String, &Value)| {
        let begun: Vec<&String> =
            results.iter().filter_map(|result| result.labels.get(name)).collect();
        let planned = values.as_array()?.iter().map(text);
        let lacking: Vec<String> = planned.filter(|value| !begun.contains(&value)).collect();
        let some = !begun.is_empty() && !lacking.is_empty();
        some.then(|| format!("{name} {}", lacking.join(", ")))
    };
    let lacking: Vec<String> = outline.options.iter().filter_map(of_option).collect();
    let which =
        if lacking.is_empty() { String::new() } else { format!(": {}", lacking.join("; ")) };
    (outline.points > 1)
        .then(|| format!("{missing} of {} results not begun{which}", outline.points))
}

pub(crate) fn open_folder(
    output: &OutputOptions,
    outline: &Outline,
    start_ns: u64,
) -> anyhow::Result<RunFolder> {
    Ok(match &output.out {
        Some(path) => RunFolder::create_new(path)?,
        None => {
            let time = clock::utc(start_ns).replace(':', "");
            let stem = format!("{time}-{}-{}", outline.layer, outline.verb);
            RunFolder::create_in(Path::new("plumb-runs"), &stem)?
        }
    })
}

fn new_record(outline: &Outline, command: &[String], start_ns: u64) -> RunRecord {
    RunRecord {
        schema: SCHEMA.into(),
        plumb: Program { version: env!("CARGO_PKG_VERSION").into() },
        started: clock::utc(start_ns),
        status: Status::Running,
        plan: Plan {
            layer: outline.layer.into(),
            verb: outline.verb.into(),
            command: secret::masked_words(command),
            options: outline.options.clone(),
            load: if outline.open { "open" } else { "closed" }.into(),
            seed: outline.seed,
        },
        host: host::facts(&outline.pin),
        far: None,
        target: Target { address: outline.target.clone(), transport: None, server: None },
        validity: Validity::default(),
        floor: None,
        results: Vec::new(),
    }
}

/// Keeps the results of a measurement as they come.
struct Keeper<'a> {
    record: RunRecord,
    onlooker: Onlooker<'a>,
    host_watch: Result<HostWatch, Unwatched>,
    hiccups: HiccupMeter,
    metrics: Option<Metrics>,
    began_ns: u64,
    drivers: Drivers,
    /// How the remotes began the load whose result comes next.
    start: Option<CommonStart>,
}

impl Watch for Keeper<'_> {
    fn floor(&mut self, floor: Floor) {
        self.record.floor.get_or_insert(floor);
    }

    fn reached(&mut self, transport: Transport) {
        self.record.target.transport.get_or_insert(transport);
    }

    fn server(&mut self, words: String) {
        self.record.target.server.get_or_insert(words);
    }

    fn rows(&mut self, names: &[String]) {
        if let Some(metrics) = &self.metrics {
            metrics.rows(names);
        }
    }

    fn point(&mut self, labels: &BTreeMap<String, String>) -> &mut dyn Sampler {
        self.onlooker.point(labels);
        if let Some(metrics) = &self.metrics {
            metrics.point(labels);
        }
        self
    }

    fn gate(&mut self) -> Option<Arc<Gate>> {
        self.drivers.gate()
    }

    fn loaded(&mut self, load: &LoadResult<()>) {
        self.drivers.loaded(load);
    }

    fn result(&mut self, mut result: ResultRecord, began_ns: u64) -> Result<(), JobError> {
        match &mut self.host_watch {
            Ok(host_watch) => host_watch.testify(&mut result, began_ns),
            Err(unwatched) => unwatched.testify(&mut result),
        }
        // remotes say of themselves what they did
        if !matches!(self.drivers, Drivers::Remotes(_)) {
            let stood_ns = self.hiccups.between(began_ns, began_ns + result.duration_ns);
            result.validity = std::mem::take(&mut result.validity).with_hiccups(&stood_ns);
        }
        if let Some(start) = self.start.take() {
            start.testify(&mut result, &mut self.record.plan.options);
        }
        let offset_ns = began_ns.saturating_sub(self.began_ns);
        result.intervals.iter_mut().for_each(|interval| interval.start_ns += offset_ns);
        result.slowest.iter_mut().for_each(|slow| slow.at_ns += offset_ns);
        self.drivers.result(&result);
        self.record.results.push(result);
        let results = &self.record.results;
        let named: Vec<(String, &Validity)> = results
            .iter()
            .map(|result| {
                let name = if results.len() > 1 { result.name() } else { String::new() };
                (name, &result.validity)
            })
            .collect();
        self.record.validity =
            Validity::of_all(named.iter().map(|(name, validity)| (name.as_str(), *validity)));
        if let Err(error) = self.onlooker.folder().write_record(&self.record) {
            self.onlooker.warn(&error.to_string()); // written again at the end
        }
        Ok(())
    }
}

impl Conductor for Keeper<'_> {
    fn drive(&mut self, point: &SpreadPoint, stop: &Stop) -> Result<Vec<RemoteLoad>, JobError> {
        let Some(mut fleet) = self.drivers.take_fleet() else {
            return Err("there are no remotes".into());
        };
        let loads = fleet.load(self.point(&point.labels), stop);
        self.drivers = Drivers::Remotes(fleet);
        let loads = loads?;
        self.start = Some(CommonStart::of(&loads, self.drivers.clock_uncertainty_ns()));
        Ok(loads)
    }
}

impl Sampler for Keeper<'_> {
    fn begin(&mut self, transport: Option<&Transport>) {
        self.drivers.began(transport);
        self.onlooker.begin(transport);
        if let Ok(host_watch) = &mut self.host_watch {
            host_watch.begin(transport);
        }
    }

    fn tick(&mut self) {
        self.onlooker.tick();
        if let Ok(host_watch) = &mut self.host_watch {
            host_watch.tick();
        }
    }

    fn interval(&mut self, records: &IntervalRecords) {
        self.drivers.interval(records);
        self.onlooker.interval(records);
        if let Some(metrics) = &mut self.metrics {
            metrics.add(records);
        }
        if let Ok(host_watch) = &mut self.host_watch {
            host_watch.look(&records.drivers);
        }
    }
}

/// Prints a run in the form asked for; `headline` stands above the form for people.
pub(crate) fn print(
    run: &Run,
    headline: Option<&str>,
    output: &OutputOptions,
) -> anyhow::Result<()> {
    exit::print(&if output.json {
        run.record.to_json()
    } else if output.markdown {
        markdown::render(&run.record)
    } else {
        let width = progress::columns();
        let headline = headline.map(|text| format!("{}\n", terminal::paragraph(text, width)));
        let page = run.folder.path().join("report.html");
        let page = page.exists().then(|| format!("report: {}\n", page.display()));
        let show = if output.brief { terminal::summary } else { terminal::render };
        format!(
            "{}{}{}",
            headline.unwrap_or_default(),
            colour::for_stdout(&show(&run.record, width)),
            page.unwrap_or_default()
        )
    })
}
