//! The controller's side: remotes that are there, and what comes of their loads.

mod error;
mod local;
mod parts;

use std::collections::BTreeMap;
use std::io::BufReader;
use std::num::NonZeroU32;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plumb_engine::clock::{self, MonotonicClock};
use plumb_engine::layer::RemoteLoad;
use plumb_engine::options::RemoteQuery;
use plumb_engine::{IntervalRecords, Sampler, Stop};
use plumb_measure::{Clock as _, RunRecord};

use crate::link::{LinkEnded, inbox, outbox};
use crate::message::{Hello, Order, Part, Report, RunOrder, SCHEMA};
use crate::nats::Nats;
use crate::offset::{ClockExchange, ClockOffset};
use crate::{ALIVE_EVERY, Assembly, SILENCE_NS};

pub use error::RemoteError;
pub use local::Local;
use parts::Parts;

/// How long a remote has to say who it is, and to answer for its clock.
const ANSWER_NS: u64 = 10_000_000_000;
/// Questions for each clock before a load.
const QUESTIONS: usize = 8;
/// Between the order to begin and the beginning, at least, and for each nanosecond of a round trip.
const LEAD_NS: u64 = 20_000_000;
const LEAD_OF_ROUND_TRIP: u64 = 4;
/// How long the controller waits for a message before it looks after everything else.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long it may take to tell remotes that the conversation is over, nanoseconds.
const GOODBYE_NS: u64 = 1_000_000_000;
/// A run that was stopped has so long to hand over what it has.
const FAREWELL_NS: u64 = 10_000_000_000;

/// What comes of a remote: its number, and what it says.
pub(crate) type Heard = (usize, Result<Report, LinkEnded>);

/// A remote, as the controller knows it.
#[derive(Debug)]
struct Remote {
    hello: Hello,
    orders: Sender<Order>,
    offset: ClockOffset,
    /// When it was heard last, on the monotonic clock.
    heard_ns: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    There,
    /// Why it is not.
    Lost(String),
    /// The run is over.
    Done(Box<RunRecord>),
}

/// Remotes that measure together.
#[derive(Debug)]
pub struct Fleet {
    remotes: Vec<Remote>,
    heard: Receiver<Heard>,
    run: u64,
    load: u32,
    told_ns: u64,
    /// Kept as long as they are needed.
    _local: Vec<Local>,
    /// They tell the remotes of a NATS server that the conversation is over.
    outboxes: Vec<JoinHandle<()>>,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.remotes.clear(); // what is sent to them ends, too
        let deadline_ns = MonotonicClock.now_ns() + GOODBYE_NS;
        let under_way = |outbox: &JoinHandle<()>| !outbox.is_finished();
        while self.outboxes.iter().any(under_way) && MonotonicClock.now_ns() < deadline_ns {
            thread::park_timeout(Duration::from_millis(1));
        }
    }
}

impl Fleet {
    /// So many remotes on this machine, each a process of `program`.
    ///
    /// # Errors
    /// [`RemoteError`] when one cannot be started, or is another version.
    pub fn local(count: NonZeroU32, program: &std::path::Path) -> Result<Self, RemoteError> {
        let (sender, heard) = mpsc::channel();
        let mut local = Vec::new();
        let mut orders = Vec::new();
        for number in 1..=count.get() {
            let name = format!("local-{number}");
            let (process, to) = Local::start(program, &name, local.len(), sender.clone())?;
            local.push(process);
            orders.push((name, to));
        }
        drop(sender);
        Self::of(orders, heard, local)
    }

    /// The remotes that wait in a NATS server and that `query` asks for.
    ///
    /// # Errors
    /// [`RemoteError`] when one of them is not there, busy, or another version.
    pub fn nats(nats: &Nats, query: &RemoteQuery) -> Result<Self, RemoteError> {
        let (sender, heard) = mpsc::channel();
        let (mut orders, mut outboxes) = (Vec::new(), Vec::new());
        for (at, name) in nats.find(query)?.into_iter().enumerate() {
            let (from, to) = nats.take(&name)?;
            inbox(BufReader::new(from), sender.clone(), move |said| (at, said));
            let (to, writing) = outbox(to);
            orders.push((name, to));
            outboxes.push(writing);
        }
        drop(sender);
        let mut fleet = Self::of(orders, heard, Vec::new())?;
        fleet.outboxes = outboxes;
        Ok(fleet)
    }

    fn of(
        orders: Vec<(String, Sender<Order>)>,
        heard: Receiver<Heard>,
        local: Vec<Local>,
    ) -> Result<Self, RemoteError> {
        let mut hellos: BTreeMap<usize, Hello> = BTreeMap::new();
        let deadline_ns = MonotonicClock.now_ns() + ANSWER_NS;
        while hellos.len() < orders.len() {
            let left_ns = deadline_ns.saturating_sub(MonotonicClock.now_ns());
            let missing = || (0..orders.len()).find(|at| !hellos.contains_key(at)).unwrap_or(0);
            match heard.recv_timeout(Duration::from_nanos(left_ns)) {
                Ok((at, Ok(Report::Hello(hello)))) => {
                    hellos.insert(at, checked(hello)?);
                }
                Ok((_, Ok(_))) => {}
                Ok((at, Err(ended))) => {
                    return Err(RemoteError::Silent {
                        name: orders[at].0.clone(),
                        why: ended.to_string(),
                    });
                }
                Err(_) => {
                    let name = orders[missing()].0.clone();
                    return Err(RemoteError::Silent { name, why: "nothing came for 10 s".into() });
                }
            }
        }
        let now_ns = MonotonicClock.now_ns();
        let remotes =
            orders.into_iter().zip(hellos.into_values()).map(|((_, orders), hello)| Remote {
                hello,
                orders,
                offset: ClockOffset::default(),
                heard_ns: now_ns,
                state: State::There,
            });
        let remotes = remotes.collect();
        let mut fleet = Self {
            remotes,
            heard,
            run: 0,
            load: 0,
            told_ns: now_ns,
            _local: local,
            outboxes: Vec::new(),
        };
        fleet.ask_clocks()?;
        Ok(fleet)
    }

    /// Who they are, and how far their clocks are ahead.
    pub fn members(&self) -> impl Iterator<Item = (&Hello, ClockOffset)> {
        self.remotes.iter().map(|remote| (&remote.hello, remote.offset))
    }

    /// Has each carry out its part of the command whose words stand behind `plumb`.
    pub fn begin(&mut self, words: &[String]) {
        self.run += 1;
        self.load = 0;
        let of = u32::try_from(self.remotes.len()).ok().and_then(NonZeroU32::new);
        let of = of.unwrap_or(NonZeroU32::MIN);
        for (number, remote) in (1..).filter_map(NonZeroU32::new).zip(&self.remotes) {
            let part = Part { number, of };
            let order = RunOrder { run: self.run, words: words.to_vec(), part };
            remote.ask(Order::Run(order));
        }
    }

    /// What comes of the next load of the run, which all of them begin at the same moment. `sampler`
    /// looks on at all of them together; when `stop` is asked they hand over what they have.
    ///
    /// # Errors
    /// [`RemoteError`] when one of them could not begin: then none has.
    pub fn load(
        &mut self,
        sampler: &mut dyn Sampler,
        stop: &Stop,
    ) -> Result<Vec<RemoteLoad>, RemoteError> {
        self.load += 1;
        for remote in &self.remotes {
            remote.ask(Order::Connect { run: self.run, load: self.load });
        }
        if let Err(error) = self.until_ready(stop) {
            self.stop_all();
            return Err(error);
        }
        if !stop.asked() {
            self.ask_clocks()?;
            self.open();
        }
        let mut parts = Parts::new(self.remotes.len());
        let mut assembly = Assembly::new(self.remotes.len());
        let (mut began, mut stopped_ns) = (false, None);
        let mut ticked_ns = MonotonicClock.now_ns();
        while !parts.are_over() {
            let now_ns = MonotonicClock.now_ns();
            if stop.asked() && stopped_ns.is_none() {
                stopped_ns = Some(now_ns);
                self.stop_all();
            }
            if stopped_ns.is_some_and(|since_ns| now_ns > since_ns + FAREWELL_NS) {
                self.lose_all("it did not stop");
            }
            if now_ns > ticked_ns + 1_000_000_000 {
                ticked_ns = now_ns;
                sampler.tick();
            }
            let heard = self.hear(LOOK_EVERY);
            let mut complete: Vec<IntervalRecords> = Vec::new();
            match heard {
                Some((_, Report::Began { load, transport, .. }))
                    if load == self.load && !std::mem::replace(&mut began, true) =>
                {
                    sampler.begin(transport.as_ref());
                }
                Some((at, Report::Interval { load, records, .. })) if load == self.load => {
                    let began_ns = self.here(at, records.began_ns);
                    let records = IntervalRecords { began_ns, ..*records };
                    parts.interval(at, &records);
                    complete = assembly.add(at, records)?;
                }
                Some((at, Report::Loaded { load, mut outcome, .. })) if load == self.load => {
                    outcome.began_ns = self.here(at, outcome.began_ns);
                    parts.loaded(at, *outcome);
                    complete = assembly.end(at);
                }
                Some((at, Report::Result { load, result, .. })) if load == self.load => {
                    parts.result(at, *result);
                }
                _ => {}
            }
            complete.iter().for_each(|records| sampler.interval(records));
            for (at, remote) in self.remotes.iter().enumerate() {
                let cause = match &remote.state {
                    State::There => continue,
                    State::Lost(cause) => cause.as_str(),
                    State::Done(_) => "it has ended",
                };
                if parts.lose(at, cause) {
                    assembly.end(at).iter().for_each(|records| sampler.interval(records));
                }
            }
        }
        Ok(parts.into_loads(self.remotes.iter().map(|remote| remote.hello.name.clone())))
    }

    /// The run is over: the record of each remote's own part, or why there is none.
    pub fn end(&mut self) -> Vec<(String, Result<RunRecord, String>)> {
        let deadline_ns = MonotonicClock.now_ns() + FAREWELL_NS;
        let there = |remote: &Remote| matches!(remote.state, State::There);
        while self.remotes.iter().any(there) && MonotonicClock.now_ns() < deadline_ns {
            self.hear(LOOK_EVERY);
        }
        let records = self.remotes.iter().map(|remote| {
            let record = match &remote.state {
                State::There => Err("it has not handed over its record".to_owned()),
                State::Lost(cause) => Err(cause.clone()),
                State::Done(record) => Ok((**record).clone()),
            };
            (remote.hello.name.clone(), record)
        });
        records.collect()
    }

    /// Waits until all connections of all remotes stand.
    fn until_ready(&mut self, stop: &Stop) -> Result<(), RemoteError> {
        let mut ready = vec![false; self.remotes.len()];
        while !ready.iter().all(|it| *it) && !stop.asked() {
            if let Some((at, Report::Ready { load, .. })) = self.hear(LOOK_EVERY)
                && load == self.load
            {
                ready[at] = true;
            }
            for remote in &self.remotes {
                let why = match &remote.state {
                    State::There => continue,
                    State::Lost(cause) => cause.clone(),
                    State::Done(_) => "it has fewer measurements than this".to_owned(),
                };
                return Err(RemoteError::Refused { name: remote.hello.name.clone(), why });
            }
        }
        Ok(())
    }

    /// Asks every clock several times, and keeps what the quickest answer tells.
    fn ask_clocks(&mut self) -> Result<(), RemoteError> {
        for at in 0..self.remotes.len() {
            let mut exchanges = Vec::new();
            for _ in 0..QUESTIONS {
                exchanges.extend(self.ask_clock(at));
            }
            let remote = &mut self.remotes[at];
            remote.offset = ClockOffset::of(exchanges).ok_or_else(|| RemoteError::Silent {
                name: remote.hello.name.clone(),
                why: "it does not say what its clock shows".into(),
            })?;
        }
        Ok(())
    }

    fn ask_clock(&mut self, at: usize) -> Option<ClockExchange> {
        let asked_ns = clock::wall_ns();
        self.remotes[at].ask(Order::Clock { sent_ns: asked_ns });
        let deadline_ns = MonotonicClock.now_ns() + ANSWER_NS;
        while MonotonicClock.now_ns() < deadline_ns {
            match self.hear(LOOK_EVERY) {
                Some((from, Report::Clock { sent_ns, here_ns }))
                    if from == at && sent_ns == asked_ns =>
                {
                    let received_ns = clock::wall_ns();
                    return Some(ClockExchange { sent_ns, there_ns: here_ns, received_ns });
                }
                None if !matches!(self.remotes[at].state, State::There) => return None,
                _ => {}
            }
        }
        None
    }

    /// Has all of them begin at one moment, each by its own clock.
    fn open(&self) {
        let round_trips = self.remotes.iter().map(|remote| 2 * remote.offset.uncertainty_ns);
        let lead_ns = LEAD_NS.max(round_trips.max().unwrap_or(0) * LEAD_OF_ROUND_TRIP);
        let at_ns = clock::wall_ns() + lead_ns;
        for remote in &self.remotes {
            let at_wall_ns = remote.offset.there(at_ns);
            remote.ask(Order::Open { run: self.run, load: self.load, at_wall_ns });
        }
    }

    fn stop_all(&self) {
        self.remotes.iter().for_each(|remote| remote.ask(Order::Stop { run: self.run }));
    }

    fn lose_all(&mut self, cause: &str) {
        for remote in &mut self.remotes {
            remote.lose(cause);
        }
    }

    /// A moment of the wall clock of the remote `at`, on the monotonic clock here.
    fn here(&self, at: usize, there_ns: u64) -> u64 {
        let wall_ns = self.remotes[at].offset.here(there_ns);
        MonotonicClock.now_ns().saturating_add(wall_ns).saturating_sub(clock::wall_ns())
    }

    /// The next thing that a remote says, of this run; who is silent for too long is lost.
    fn hear(&mut self, patience: Duration) -> Option<(usize, Report)> {
        let heard = self.heard.recv_timeout(patience);
        let now_ns = MonotonicClock.now_ns();
        if u128::from(now_ns.saturating_sub(self.told_ns)) > ALIVE_EVERY.as_nanos() {
            self.told_ns = now_ns;
            self.remotes.iter().for_each(|remote| remote.ask(Order::Alive));
        }
        let said = match heard {
            Ok((at, said)) => {
                self.remotes[at].heard_ns = now_ns;
                Some((at, said))
            }
            Err(_) => None,
        };
        for remote in &mut self.remotes {
            if now_ns.saturating_sub(remote.heard_ns) > SILENCE_NS {
                remote.lose("it has not been heard of for 5 s");
            }
        }
        let (at, said) = said?;
        match said {
            Ok(Report::Done { run, outcome }) if run == self.run => {
                match outcome {
                    Ok(record) => self.remotes[at].state = State::Done(record),
                    Err(cause) => self.remotes[at].lose(&cause),
                }
                None
            }
            Ok(report) if report.run().is_none_or(|run| run == self.run) => Some((at, report)),
            Ok(_) => None,
            Err(ended) => {
                self.remotes[at].lose(&ended.to_string());
                None
            }
        }
    }
}

impl Remote {
    fn ask(&self, order: Order) {
        let _ = self.orders.send(order); // one that is gone is noticed where it is read
    }

    fn lose(&mut self, cause: &str) {
        if matches!(self.state, State::There) {
            self.state = State::Lost(cause.to_owned());
        }
    }
}

fn checked(hello: Hello) -> Result<Hello, RemoteError> {
    if hello.schema == SCHEMA && hello.version == env!("CARGO_PKG_VERSION") {
        return Ok(hello);
    }
    let Hello { name, version, schema, .. } = hello;
    Err(RemoteError::Version { name, version, schema })
}
