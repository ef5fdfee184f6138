//! A verb of `plumb lock load` as a measurement.

mod figures;
mod release;
mod spread;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use plumb_engine::layer::{JobError, Measure, NamedFile, Outline, Spread, Watch};
use plumb_engine::options::{DriverOptions, LoadOptions, OutputOptions, SpreadOptions};
use plumb_engine::{
    Endpoint, Lengths, LoadPlan, LoadResult, Protocol, Stage, Stop, clock, floor, part_record,
    result_record,
};
use plumb_lock_server::digest::KEY_BYTES;
use plumb_measure::statistics::SplitMix64;
use plumb_measure::{RemoteSelector, ResultRecord, Span, Tick, real};
use serde_json::{Value, json};

use super::advisory::{Advisory, Login};
use super::facts::Facts;
use super::history::History;
use super::options::{FillOptions, PairsOptions, SalesOptions, TimedOptions};
use super::probe::Probe;
use super::script::{Keeper, TargetKind, Workload};
use super::walk::TableWalk;
use crate::LockError;
use crate::dialogue::Greeted;
use crate::target::Target;
use figures::{add_bytes_a_lock, add_pairs, add_released, figure, sales_figures};

/// Owners have four digits.
const OWNERS_MAX: usize = 9_999;
/// Locks of an owner have eight digits.
const LOCKS_MAX: u32 = 99_999_999;
/// Locks in all that `verify` can keep in mind.
const TOTAL_MAX: u64 = 1 << 30;
/// Round trips that show how fast one client can be.
const PINGS: u64 = 1_000;

/// Clients that take and release locks, planned.
#[derive(Debug)]
pub struct LoadJob {
    verb: &'static str,
    workload: Work,
    target: Target,
    plans: Vec<LoadPlan>,
    seed: u64,
    options: BTreeMap<String, Value>,
    output: OutputOptions,
    /// Tells this load from all others.
    name: String,
    /// How its threads run and who drives it, of a load that has such options.
    timed: Option<(DriverOptions, SpreadOptions)>,
    /// What the server does about its tick; none before it has told, or when it does not.
    server_tick: Option<Tick>,
}

/// Who works.
#[derive(Clone, Debug)]
enum Work {
    Script(Workload),
    /// Sessions of PostgreSQL.
    Advisory(Login),
    /// Owners, and locks of each.
    TableWalk(usize, usize),
}

impl LoadJob {
    /// Pairs of taking and releasing.
    ///
    /// # Errors
    /// [`LockError`] when the server is unknown or the options ask for the impossible.
    pub fn pairs(options: PairsOptions) -> Result<Self, LockError> {
        let (target, work) = match options.target_kind {
            TargetKind::Plumb => (options.target.resolve()?, Work::Script(Workload::Pairs)),
            TargetKind::Redis => {
                (options.target.resolve()?, Work::Script(Workload::Keys(options.unlock)))
            }
            TargetKind::Postgres => {
                let target = options.target.resolve_postgres()?;
                let login = Login::of(
                    |name| std::env::var(name).ok(),
                    target.login.clone().map(|it| it.password),
                )?;
                (target, Work::Advisory(login))
            }
        };
        let TimedOptions { load, output } = options.timed;
        let mut job = Self::timed("load-pairs", work, &load, &options.connections)?;
        job.options.extend(options.target.in_force());
        job.options.insert("target-kind".into(), json!(word(&options.target_kind)));
        if options.target_kind == TargetKind::Redis {
            job.options.insert("unlock".into(), json!(word(&options.unlock)));
        }
        job.finish(target, output)
    }

    /// Orders.
    ///
    /// # Errors
    /// As [`LoadJob::pairs`].
    pub fn sales(options: SalesOptions) -> Result<Self, LockError> {
        let work = Work::Script(Workload::Sales);
        let TimedOptions { load, output } = options.timed.with_rates();
        let mut job = Self::timed("load-sd", work, &load, &options.connections)?;
        job.options.extend(options.target.in_force());
        job.finish(options.target.resolve()?, output)
    }

    /// Locks that are taken and stay.
    ///
    /// # Errors
    /// As [`LoadJob::pairs`].
    pub fn create(options: FillOptions) -> Result<Self, LockError> {
        let workload = Workload::Fill(options.target_kind, options.locks.get());
        Self::counted("load-create", Work::Script(workload), options)
    }

    /// Locks that `create` took are released.
    ///
    /// # Errors
    /// As [`LoadJob::pairs`].
    pub fn destroy(options: FillOptions) -> Result<Self, LockError> {
        let workload = Workload::Clear(options.target_kind, options.locks.get());
        Self::counted("load-destroy", Work::Script(workload), options)
    }

    /// Locks that `create` took are read.
    ///
    /// # Errors
    /// As [`LoadJob::pairs`].
    pub fn verify(options: FillOptions) -> Result<Self, LockError> {
        let locks = options.locks.get();
        let work = match options.target_kind {
            Keeper::Redis => Work::Script(Workload::Look(locks)),
            Keeper::Plumb => Work::TableWalk(options.owners.get(), locks as usize),
        };
        Self::counted("load-verify", work, options)
    }

    fn timed(
        verb: &'static str,
        workload: Work,
        load: &LoadOptions,
        connections: &[NonZeroUsize],
    ) -> Result<Draft, LockError> {
        let seed = load.seed.unwrap_or_else(clock::seed);
        let mut drawn = connections.to_vec();
        drawn.sort_unstable();
        drawn.dedup();
        SplitMix64::new(seed).shuffle(&mut drawn);
        drawn.iter().try_for_each(|number| load.check(*number))?;
        let plans = drawn.iter().map(|number| load.plan(*number)).collect();
        let mut options: BTreeMap<_, _> = load.in_force(seed).into_iter().collect();
        options.insert("connections".into(), json!(connections)); // as asked, in no drawn order
        let timed = Some((load.driver.clone(), load.spread.clone()));
        Ok(Draft { verb, workload, plans, seed, options, timed })
    }

    fn counted(
        verb: &'static str,
        workload: Work,
        options: FillOptions,
    ) -> Result<Self, LockError> {
        let (owners, locks) = (options.owners.get(), options.locks.get());
        let total = owners as u64 * u64::from(locks);
        if owners > OWNERS_MAX || locks > LOCKS_MAX || total > TOTAL_MAX {
            return Err(LockError::TooManyLocks { owners, locks });
        }
        let connections = match workload {
            Work::TableWalk(..) => NonZeroUsize::MIN,
            Work::Script(_) | Work::Advisory(_) => options.owners,
        };
        let walks = matches!(workload, Work::TableWalk(..));
        let depth = if walks { NonZeroUsize::MIN } else { options.depth };
        let plan = LoadPlan {
            connections,
            depth,
            pin: options.pin.clone(),
            waiting: LoadPlan::suitable_waiting(connections, depth, plumb_engine::Pace::AsFast),
            interval: Span::from_ms(100),
            ..LoadPlan::lone(total, options.timeout) // clients say themselves when they are done
        };
        plan.check()?;
        let mut in_force: BTreeMap<_, _> = options.target.in_force().into_iter().collect();
        in_force.insert("owners".into(), json!(owners));
        in_force.insert("locks".into(), json!(locks));
        in_force.insert("target-kind".into(), json!(word(&options.target_kind)));
        in_force.insert("depth".into(), json!(depth));
        in_force.insert("timeout".into(), json!(options.timeout));
        in_force.insert("pin".into(), json!(options.pin));
        let (plans, options_in_force) = (vec![plan], in_force);
        let draft =
            Draft { verb, workload, plans, seed: 0, options: options_in_force, timed: None };
        draft.finish(options.target.resolve()?, options.output)
    }

    fn measure(
        &self,
        plan: &LoadPlan,
        place: &mut LoadContext<'_>,
    ) -> Result<(ResultRecord, u64), LockError> {
        match &self.workload {
            Work::Script(workload) => self.play(*workload, plan, place),
            Work::Advisory(login) => {
                let advisory = || Advisory::new(login.clone(), &self.name);
                let (mut result, load) =
                    self.drive(plan, Workload::Pairs.rows(), advisory, place)?;
                add_pairs(&mut result);
                Ok((result, load.began_ns))
            }
            Work::TableWalk(owners, locks) => {
                let (owners, locks) = (*owners, *locks);
                let walk = TableWalk::new((owners, locks), drawn_key()?);
                let walk = Greeted::new(self.target.login.clone(), walk);
                let (mut result, load) = self.drive(plan, &["part"], || walk.clone(), place)?;
                let walk = load.protocols.first().map(|walk| &walk.dialogue);
                let (found, beyond) = walk.map_or((0, 0), |it| (it.found(), it.beyond()));
                let figures = [
                    ("locks found", found),
                    ("locks expected", (owners * locks) as u64),
                    ("locks beyond these", beyond),
                ];
                let formula = "by a sum of 128-bit hashes, or by listing them when it differs";
                result
                    .figures
                    .extend(figures.map(|(name, n)| figure(name, real(n), "locks", formula)));
                Ok((result, load.began_ns))
            }
        }
    }

    fn play(
        &self,
        workload: Workload,
        plan: &LoadPlan,
        place: &mut LoadContext<'_>,
    ) -> Result<(ResultRecord, u64), LockError> {
        let bound = match workload {
            Workload::Sales => self.round_trip(place)?,
            _ => None,
        };
        let probe = || {
            let probe = Probe::new(workload, self.name.clone(), self.target.login.as_ref());
            let probe = if self.target.is_pair() { probe.of_a_pair() } else { probe };
            probe.stamped(plan.stamps)
        };
        let before = Facts::ask(&self.target, place.stop);
        place.history = History::default();
        let (mut result, load) = self.drive(plan, workload.rows(), probe, place)?;
        let facts = Facts::of_one_run(before, Facts::ask(&self.target, place.stop));
        self.leave_nothing(workload, &load.protocols, &mut result);
        let connections = plan.connections.get() as u64;
        if let (Some(cpu), Some((before, after))) = (&mut result.cpu, facts) {
            after.add_cost(before, connections, cpu);
        }
        match workload {
            Workload::Pairs | Workload::Keys(_) => add_pairs(&mut result),
            Workload::Sales => {
                let enqueues = result.parts.first().map_or(0.0, |part| part.throughput_per_s);
                result.figures = sales_figures(&place.history, enqueues, bound, plan);
            }
            Workload::Fill(..) => add_bytes_a_lock(&mut result, facts),
            Workload::Clear(_, locks) => {
                let released = load.protocols.iter().map(Probe::released).sum();
                add_released(&mut result, released, connections * u64::from(locks));
            }
            _ => {}
        }
        Ok((result, load.began_ns))
    }

    /// The median round trip of one client that asks for nothing, nanoseconds.
    fn round_trip(&self, place: &LoadContext<'_>) -> Result<Option<u64>, LockError> {
        let probe = || Probe::new(Workload::Ping, String::new(), self.target.login.as_ref());
        let mut stage =
            Stage { endpoint: place.endpoint, stop: place.stop, samplers: &mut [], gate: None };
        let plan = LoadPlan::lone(PINGS, crate::ask::PATIENCE);
        let load = self.target.drive(&plan, &mut stage, 1, probe)?;
        let service = load.recorder.rows().first().map(|row| &row.service);
        Ok(service.filter(|times| !times.is_empty()).map(|times| times.quantile(0.5)))
    }

    fn drive<P: Protocol + Send>(
        &self,
        plan: &LoadPlan,
        rows: &[&str],
        protocol: impl Fn() -> P,
        place: &mut LoadContext<'_>,
    ) -> Result<(ResultRecord, LoadResult<P>), LockError> {
        let standbys = self.target.standbys(place.endpoint);
        let plan = &LoadPlan { standbys, ..plan.clone() };
        let labels = labels(plan);
        let gate = place.watch.gate();
        let load = {
            let sampler = place.watch.point(&labels);
            let samplers = &mut [sampler, &mut place.history];
            let mut stage = Stage {
                endpoint: place.endpoint,
                stop: place.stop,
                samplers,
                gate: gate.as_deref(),
            };
            self.target.drive(plan, &mut stage, rows.len(), protocol)?
        };
        if gate.is_some() {
            place.watch.loaded(&load.without_protocols());
        }
        let mut result = result_record(plan, labels, Lengths::Any, &load);
        result.driver.server_told(self.server_tick);
        if rows.len() > 1 {
            let named = rows.iter().zip(load.recorder.rows());
            let parts = named.map(|(name, row)| part_record((*name).to_owned(), row, &load));
            result.parts = parts.collect();
        }
        if let Some(complaint) = load.protocols.iter().find_map(Protocol::complaint) {
            result.validity = std::mem::take(&mut result.validity).with_complaint(&complaint);
        }
        if let Some(transport) = load.transports.first() {
            place.watch.reached(transport.clone());
        }
        Ok((result, load))
    }
}

/// A job whose target is not known yet.
struct Draft {
    verb: &'static str,
    workload: Work,
    plans: Vec<LoadPlan>,
    seed: u64,
    options: BTreeMap<String, Value>,
    timed: Option<(DriverOptions, SpreadOptions)>,
}

impl Draft {
    fn finish(self, target: Target, output: OutputOptions) -> Result<LoadJob, LockError> {
        let Self { verb, workload, plans, seed, options, timed } = self;
        let moment = (clock::wall_ns() / 1_000) & 0xff_ffff;
        let name = format!("{:06x}{moment:06x}", std::process::id() & 0xff_ffff);
        let server_tick = None;
        Ok(LoadJob {
            verb,
            workload,
            target,
            plans,
            seed,
            options,
            output,
            name,
            timed,
            server_tick,
        })
    }
}

/// Where a load goes, and who looks on.
struct LoadContext<'a> {
    endpoint: &'a Endpoint,
    watch: &'a mut dyn Watch,
    stop: &'a Stop,
    history: History,
}

impl Measure for LoadJob {
    fn outline(&self) -> Outline {
        Outline {
            layer: "lock",
            verb: self.verb,
            options: self.options.clone(),
            open: self.plans.first().is_some_and(LoadPlan::open),
            seed: self.seed,
            target: self.target.name.clone(),
            pin: self.plans.first().map(|plan| plan.pin.clone()).unwrap_or_default(),
            points: self.plans.len(),
            takes: LoadPlan::takes_all(self.plans.iter().cloned()),
        }
    }

    fn output(&self) -> &OutputOptions {
        &self.output
    }

    fn spread(&mut self) -> Result<&mut dyn Spread, JobError> {
        Ok(self)
    }

    fn files(&self) -> Vec<NamedFile> {
        self.target.files.clone()
    }

    fn remotes(&self) -> Option<&RemoteSelector> {
        self.timed.as_ref()?.1.remotes.as_ref()
    }

    fn run(&mut self, watch: &mut dyn Watch, stop: &Stop) -> Result<(), JobError> {
        let Some(first) = self.plans.first() else {
            return Ok(());
        };
        let endpoint = self.target.reach(first.connect_timeout, stop)?;
        self.server_tick = match self.workload {
            Work::Script(_) | Work::TableWalk(..) => {
                Facts::ask(&self.target, stop).and_then(|facts| facts.tick)
            }
            Work::Advisory(_) => None, // PostgreSQL has no command for it
        };
        if let Some((driver, _)) = &self.timed {
            driver.confirm_tick(&self.target.name, self.server_tick)?;
            floor(driver.floor(), first.waiting, &first.pin, (watch, stop))?;
        }
        let history = History::default();
        let mut place = LoadContext { endpoint: &endpoint, watch, stop, history };
        for plan in &self.plans {
            if stop.asked() {
                break;
            }
            let (result, began_ns) = self.measure(plan, &mut place)?;
            place.watch.result(result, began_ns)?;
        }
        Ok(())
    }
}

fn labels(plan: &LoadPlan) -> BTreeMap<String, String> {
    BTreeMap::from([("connections".to_owned(), plan.connections.to_string())])
}

/// A key that nobody knew before.
fn drawn_key() -> Result<[u8; KEY_BYTES], LockError> {
    let mut key = [0; KEY_BYTES];
    let drawn = rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty());
    match drawn {
        Ok(KEY_BYTES) => Ok(key),
        Ok(_) => Err(LockError::NoKey(std::io::ErrorKind::UnexpectedEof.into())),
        Err(error) => Err(LockError::NoKey(error.into())),
    }
}

/// The name of a choice on the command line.
fn word(choice: &impl clap::ValueEnum) -> String {
    choice.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}
