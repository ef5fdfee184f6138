//! A whole load: its threads, and the consumer that writes down what they record.

mod interval;
mod outcome;
mod room;
mod side_by_side;

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use plumb_link::{Link, StampsInForce};
use plumb_measure::user_schedule::UserSchedule;
use plumb_measure::{Interval, Recorder, Shape, Slowest, Transport, Transports};
use plumb_socket::Stop;

use crate::clock::MonotonicClock;
use crate::drive::{Drive, Driven, Ending, Job};
use crate::gate::{Gate, StartLine};
use crate::operations::Tap;
use crate::outlet::{Message, Outlet, Slice};
use crate::place::ThreadContext;
use crate::plan::LoadPlan;
use crate::protocol::Protocol;
use crate::{Destination, Endpoint, EngineError};

pub use interval::IntervalRecords;
pub use outcome::{CrewFigures, LoadResult, NotAlike};
pub use side_by_side::run_side_by_side;

/// Whoever looks on is asked to look again at least that often, nanoseconds.
const TICK_NS: u64 = 1_000_000_000;

/// Something that looks on while a load runs: progress, an interval log, a monitor of the host.
/// It is called on the consumer's thread and by the consumer's clock; nothing it does is seen by
/// the threads that measure.
pub trait Sampler {
    /// Asked once, before a load begins: where each recorded operation is to be told. The first
    /// sampler that has a place is told.
    fn tap(&mut self) -> Option<Tap> {
        None
    }

    /// Every connection stands and the load begins, warm-up first; `transport` is what the first
    /// connection really uses.
    fn begin(&mut self, transport: Option<&Transport>) {
        let _ = transport;
    }

    /// An interval's time has passed, or a second of it, whether or not anything was recorded.
    fn tick(&mut self) {}

    /// One interval is complete.
    fn interval(&mut self, records: &IntervalRecords);
}

/// Where a load goes, and who looks on.
pub struct Stage<'a> {
    /// Where to connect.
    pub endpoint: &'a Endpoint,
    /// Asked by whoever wants the load to stop.
    pub stop: &'a Stop,
    /// Called once an interval.
    pub samplers: &'a mut [&'a mut dyn Sampler],
    /// Opened by whoever starts the load from outside; `None`: it begins once every connection
    /// stands.
    pub gate: Option<&'a Gate>,
}

impl std::fmt::Debug for Stage<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stage").field("endpoint", self.endpoint).finish_non_exhaustive()
    }
}

/// Part of a load: users that do the same, on threads of their own.
#[derive(Clone, Copy, Debug)]
pub struct Crew<'a> {
    /// How much, how fast, from how many connections.
    pub plan: &'a LoadPlan,
    /// Who takes part when, of scripts; `None`: every user, from the start.
    pub user_schedule: Option<&'a UserSchedule>,
}

/// Drives `plan` against the endpoint of `stage`, recording under `labels` rows.
///
/// `protocol` makes the protocol of one thread, `link` the link of one connection.
///
/// # Errors
/// [`EngineError`] when the plan contradicts itself or the first connections cannot be made: there
/// is then no record. Whatever fails later is data in the result.
pub fn run<P, L>(
    plan: &LoadPlan,
    stage: &mut Stage<'_>,
    labels: usize,
    protocol: impl Fn() -> P,
    link: impl Fn() -> L + Sync,
) -> Result<LoadResult<P>, EngineError>
where
    P: Protocol + Send,
    L: Link,
{
    run_to(plan, stage, labels, protocol, |_| link())
}

/// The same, where the link of a connection depends on the endpoint that it goes to: that of
/// `stage`, or one of those that [stand in](LoadPlan::standbys) for it.
///
/// # Errors
/// As [`run`].
pub fn run_to<P, L>(
    plan: &LoadPlan,
    stage: &mut Stage<'_>,
    labels: usize,
    protocol: impl Fn() -> P,
    link: impl Fn(&Endpoint) -> L + Sync,
) -> Result<LoadResult<P>, EngineError>
where
    P: Protocol + Send,
    L: Link,
{
    let crew = [Crew { plan, user_schedule: None }];
    let link = |_, _, endpoint: &Endpoint| link(endpoint);
    drive_crews(&crew, stage, &[], labels.into(), &|_| protocol(), &link, None)
}

/// Drives the plans of all `crews` at the same time, as one load: they start together, record into
/// the same rows, of `shape`, and are written down in the intervals of the first.
///
/// `routes` say where routes lead; without any, and beyond them, all lead to the endpoint of `stage`.
/// Users of scripts ask over those from 1 on by connections of their own, made when they first do. `protocol` makes the protocol of one thread of the crew with
/// that number, `link` the link of one connection over the route with that number, for the
/// [identity](Protocol::identity) of its user. The protocols of the result are in the order of the crews.
///
/// # Errors
/// As [`run`].
pub fn run_crews<P, L>(
    crews: &[Crew<'_>],
    stage: &mut Stage<'_>,
    routes: &[Destination],
    shape: Shape,
    protocol: impl Fn(usize) -> P,
    link: impl Fn(u16, u32) -> L + Sync,
) -> Result<LoadResult<P>, EngineError>
where
    P: Protocol + Send,
    L: Link,
{
    let link = |route, identity, _: &Endpoint| link(route, identity);
    drive_crews(crews, stage, routes, shape, &protocol, &link, None)
}

/// The same for all closures that make the protocols and the links: what is compiled for each kind
/// of both is large. Threads that begin with those of other loads meet at their `line`.
fn drive_crews<P, L>(
    crews: &[Crew<'_>],
    stage: &mut Stage<'_>,
    routes: &[Destination],
    shape: Shape,
    protocol: &dyn Fn(usize) -> P,
    link: &(dyn Fn(u16, u32, &Endpoint) -> L + Sync),
    line: Option<&StartLine<'_>>,
) -> Result<LoadResult<P>, EngineError>
where
    P: Protocol + Send,
    L: Link,
{
    crews.iter().try_for_each(|crew| crew.plan.check_over(stage.endpoint))?;
    room::check::<P>(crews)?;
    let Some(first) = crews.first() else {
        return Err(EngineError::Plan("a load without a plan".into()));
    };
    let stamped = crews.iter().any(|crew| crew.plan.stamps.is_some());
    let _in_force = stamped.then(StampsInForce::begin);
    let interval_ns = first.plan.interval.ns();
    let tap = stage.samplers.iter_mut().find_map(|sampler| sampler.tap());
    let planned = crews.iter().enumerate().flat_map(|(number, crew)| {
        (0..crew.plan.threads.get()).map(move |index| (number, crew, index))
    });
    let threads: usize = crews.iter().map(|crew| crew.plan.threads.get()).sum();
    let looked_first = looks_first::<P>(stage);
    let own_line = StartLine::new(threads + usize::from(looked_first), stage.gate);
    let line = line.unwrap_or(&own_line);
    let (full, messages) = mpsc::channel();
    thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut handles = Vec::new();
        for (thread, (number, crew, index)) in planned.enumerate() {
            let plan = crew.plan;
            let (empty, refill) = mpsc::channel();
            let outlet =
                Outlet::new(thread, interval_ns, full.clone(), refill).telling(tap.clone());
            let job = Job {
                plan,
                user_schedule: crew.user_schedule,
                share: plan.share(index),
                endpoint: stage.endpoint,
                routes,
                link,
                line,
                stop: stage.stop,
                shape,
            };
            let protocol = protocol(number);
            let place = ThreadContext::of(plan, thread);
            threads.push(Thread::new(number, empty));
            handles.push(scope.spawn(move || drive(job, protocol, outlet, place)));
        }
        drop(full);
        let mut consumer = Consumer::new(interval_ns, shape, threads);
        let looked = || {
            if looked_first {
                line.arrive();
            }
        };
        consumer.consume(&messages, stage.samplers, &looked);
        if let Some(cause) = line.failure() {
            return Err(EngineError::NotStarted { cause: cause.to_owned() });
        }
        let connections: usize = crews.iter().map(|crew| crew.plan.connections.get()).sum();
        consumer.conclude(connections as u64, handles)
    })
}

/// Whoever looks on from a gate on is done with the first look before it opens.
fn looks_first<P: Protocol>(stage: &Stage<'_>) -> bool {
    stage.gate.is_some() && !P::SCRIPTED
}

/// Drives `plan` with a loop that is not this engine's, on one thread of its own: what can only run
/// on an async runtime records in the same way, and is looked at in the same way. `driver` is given
/// the place where it leaves its records; it runs on the processor and with the timers of the plan.
///
/// # Errors
/// [`EngineError`] when the plan contradicts itself or its processor is refused, and whatever
/// `driver` says: there is then no record.
pub fn run_with<E>(
    plan: &LoadPlan,
    samplers: &mut [&mut dyn Sampler],
    labels: usize,
    driver: impl FnOnce(Outlet) -> Result<Driven<()>, E> + Send,
) -> Result<LoadResult<()>, E>
where
    E: From<EngineError> + Send,
{
    plan.check()?;
    let _in_force = plan.stamps.map(|_| StampsInForce::begin());
    let (full, messages) = mpsc::channel();
    let (empty, refill) = mpsc::channel();
    let outlet = Outlet::new(0, plan.interval.ns(), full, refill);
    let place = ThreadContext::of(plan, 0);
    thread::scope(|scope| {
        let handle = scope.spawn(move || {
            place.settle()?;
            driver(outlet)
        });
        let mut consumer =
            Consumer::new(plan.interval.ns(), labels.into(), vec![Thread::new(0, empty)]);
        consumer.consume(&messages, samplers, &|| {});
        consumer.conclude(plan.connections.get() as u64, vec![handle])
    })
}

/// One thread's part of a load.
fn drive<P: Protocol, L: Link>(
    job: Job<'_, L>,
    protocol: P,
    outlet: Outlet,
    place: ThreadContext<'_>,
) -> Result<Driven<P>, EngineError> {
    let line = job.line;
    let driven = place
        .settle()
        .and_then(|()| Drive::new(job, protocol, MonotonicClock, outlet))
        .and_then(Drive::run);
    if driven.is_err() {
        line.abort();
    }
    driven
}

/// A driving thread, as the consumer knows it.
struct Thread {
    /// The number of its crew.
    crew: usize,
    /// Its recorders go back to it.
    empty: Sender<Recorder>,
    /// The first interval that it has not passed yet.
    passed: u64,
}

impl Thread {
    fn new(crew: usize, empty: Sender<Recorder>) -> Self {
        Self { crew, empty, passed: 0 }
    }
}

/// Puts the slices of all threads together.
struct Consumer {
    every_ns: u64,
    /// In the order of the threads.
    threads: Vec<Thread>,
    /// Intervals that not every thread has passed yet.
    pending: BTreeMap<u64, IntervalRecords>,
    total: Recorder,
    crews: Vec<CrewFigures>,
    intervals: Vec<Interval>,
}

impl Consumer {
    fn new(every_ns: u64, shape: Shape, threads: Vec<Thread>) -> Self {
        let crews = threads.iter().map(|thread| thread.crew + 1).max().unwrap_or(0);
        Self {
            every_ns,
            threads,
            pending: BTreeMap::new(),
            total: Recorder::new(shape),
            crews: vec![CrewFigures::default(); crews],
            intervals: Vec::new(),
        }
    }

    /// Takes what the threads say to its end; `looked` is called when the samplers know of the beginning.
    fn consume(
        &mut self,
        messages: &Receiver<Message>,
        samplers: &mut [&mut dyn Sampler],
        looked: &dyn Fn(),
    ) {
        let mut looked = Some(looked);
        loop {
            match messages.recv_timeout(Duration::from_nanos(self.every_ns.min(TICK_NS))) {
                Ok(Message::Slice(slice)) => self.take(*slice, samplers),
                Ok(Message::Began(transport)) => {
                    if let Some(looked) = looked.take() {
                        let transport = transport.as_deref();
                        samplers.iter_mut().for_each(|sampler| sampler.begin(transport));
                        looked();
                    }
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            samplers.iter_mut().for_each(|sampler| sampler.tick());
        }
        self.complete_below(u64::MAX, samplers); // what a thread that failed left behind
    }

    fn take(&mut self, slice: Slice, samplers: &mut [&mut dyn Sampler]) {
        let start_ns = slice.number * self.every_ns;
        let shape = self.total.shape();
        let mut part = IntervalRecords::empty(slice.began_ns, start_ns, Shape::default());
        part.figures.duration_ns = slice.end_ns.saturating_sub(start_ns);
        part.recorder = slice.recorder;
        part.drivers.push((slice.cpu, slice.cpu_ns));
        part.users = slice.users;
        let empty = || IntervalRecords::empty(slice.began_ns, start_ns, shape);
        self.pending.entry(slice.number).or_insert_with(empty).add(&part);
        let mut recorder = part.recorder;
        let thread = &mut self.threads[slice.thread];
        self.crews[thread.crew].add(recorder.dropped, &recorder.start_up);
        recorder.clear();
        let _ = thread.empty.send(recorder); // a thread that ended needs none
        thread.passed = if slice.last { u64::MAX } else { slice.number + 1 };
        let everybody = self.threads.iter().map(|thread| thread.passed).min().unwrap_or(u64::MAX);
        self.complete_below(everybody, samplers);
    }

    fn complete_below(&mut self, number: u64, samplers: &mut [&mut dyn Sampler]) {
        while let Some(first) = self.pending.first_entry() {
            if *first.key() >= number {
                break;
            }
            let mut records = first.remove();
            records.summarize();
            self.total.merge(&records.recorder);
            if records.figures.duration_ns > 0 {
                self.intervals.push(records.figures);
            }
            samplers.iter_mut().for_each(|sampler| sampler.interval(&records));
        }
    }

    fn conclude<P, E>(
        self,
        connections: u64,
        handles: Vec<ScopedJoinHandle<'_, Result<Driven<P>, E>>>,
    ) -> Result<LoadResult<P>, E> {
        let mut result = LoadResult {
            recorder: self.total,
            crews: self.crews,
            protocols: Vec::new(),
            intervals: self.intervals,
            ending: Ending::Complete,
            began_ns: 0,
            duration_ns: 0,
            connections,
            warm_up_operations: 0,
            cpu_ns: 0,
            transports: Transports::default(),
            slowest: Slowest::default(),
            tcp: None,
            told_names: Vec::new(),
            handshake_complaint: None,
        };
        let joined: Vec<_> = handles
            .into_iter()
            .map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        for driven in joined {
            let driven = driven?;
            result.began_ns = result.began_ns.max(driven.began_ns);
            result.duration_ns = result.duration_ns.max(driven.duration_ns);
            result.warm_up_operations += driven.warm_up_operations;
            result.cpu_ns += driven.cpu_ns;
            driven.slowest.into_samples().into_iter().for_each(|slow| result.slowest.offer(slow));
            if let Some(tcp) = &driven.tcp {
                result.tcp.get_or_insert_default().merge(tcp);
            }
            result.transports.merge(&driven.transports);
            result.ending = result.ending.max(driven.ending);
            result.handshake_complaint = result.handshake_complaint.or(driven.handshake_complaint);
            result.protocols.push(driven.protocol);
        }
        Ok(result)
    }
}
