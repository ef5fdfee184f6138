//! The controller's side: remotes that are there, and what comes of their loads.

mod clocks;
mod error;
mod farewell;
mod hellos;
mod kept;
mod local;
mod member;
mod outboxes;
mod parts;
mod post;

mod follow;

use std::num::NonZeroU32;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use plumb_engine::layer::RemoteLoad;
use plumb_engine::{IntervalRecords, Sampler, Stop};

use crate::files::PlanFiles;
use crate::message::{Hello, Order, Part, Report, RunOrder};
use crate::offset::ClockOffset;
use crate::{ALIVE_EVERY, Assembly, SILENCE_NS};

pub use error::RemoteError;
use farewell::Farewell;
use kept::KeptFiles;
pub use kept::RemotePart;
pub use local::Local;
use local::Locals;
use member::{Remote, State};
use outboxes::Outboxes;
use parts::Parts;
pub use post::{Heard, Post};

/// How long a remote has to say who it is, and to answer for its clock.
const ANSWER_NS: u64 = 10_000_000_000;
/// Between the order to begin and the beginning, at least, and for each nanosecond of a round trip.
const LEAD_NS: u64 = 100_000_000;
const LEAD_OF_ROUND_TRIP: u64 = 4;
/// And for each remote: as long as it takes to order them one after the other.
const LEAD_OF_REMOTE_NS: u64 = 20_000;
/// A remote's clock may run so much faster, and its intervals come so much earlier: one part in so
/// many, and nanoseconds.
const EARLY_PART: u64 = 1_000;
const EARLY_NS: u64 = 1_000_000_000;
/// How long the controller waits for a message before it looks after everything else.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A run that was stopped has so long to hand over what it has.
const FAREWELL_NS: u64 = 10_000_000_000;

/// Remotes that measure together.
#[derive(Debug)]
pub struct Fleet {
    remotes: Vec<Remote>,
    post: Box<dyn Post>,
    run: u64,
    load: u32,
    /// When all were told last that the controller is there, and when silence was looked for last.
    told_ns: u64,
    looked_ns: u64,
    /// When the controller listened last.
    listened_ns: u64,
    /// The files that the words of the run name.
    files: PlanFiles,
    /// Those that are not there any more, and of which nobody was told yet.
    gone: Vec<usize>,
    /// Kept as long as they are needed, and so behind the remotes.
    _local: Locals,
    /// Ends behind the remotes: what was sent to them goes out.
    outboxes: Outboxes,
}

impl Fleet {
    /// So many remotes on this machine, each a process of `program`.
    ///
    /// # Errors
    /// [`RemoteError`] when one cannot be started, or is another version.
    pub fn local(count: NonZeroU32, program: &std::path::Path) -> Result<Self, RemoteError> {
        let (sender, heard) = mpsc::channel();
        let mut local = Locals::default();
        let mut orders = Vec::new();
        for number in 1..=count.get() {
            let name = format!("local-{number}");
            let (process, to) = Local::start(program, &name, local.0.len(), sender.clone())?;
            local.0.push(process);
            orders.push((name, to));
        }
        drop(sender);
        let mut fleet = Self::over(orders, heard)?;
        fleet._local = local;
        Ok(fleet)
    }

    /// Remotes by their names, each with where its orders go; what they say comes through `post`,
    /// by their place among them.
    ///
    /// # Errors
    /// [`RemoteError`] when one does not answer, is another version, or calls itself something else.
    pub fn over(
        orders: Vec<(String, Sender<Order>)>,
        mut post: impl Post + 'static,
    ) -> Result<Self, RemoteError> {
        let hellos = hellos::heard(&orders, &mut post)?;
        let now_ns = post.now_ns();
        let remotes = orders.into_iter().zip(hellos).map(|((_, orders), hello)| Remote {
            hello,
            orders,
            exchanges: Vec::new(),
            offset: ClockOffset::default(),
            heard_ns: now_ns,
            state: State::There,
            kept: KeptFiles::default(),
        });
        let remotes = remotes.collect();
        let mut fleet = Self {
            remotes,
            post: Box::new(post),
            run: 0,
            load: 0,
            told_ns: now_ns,
            looked_ns: now_ns,
            listened_ns: now_ns,
            files: PlanFiles::default(),
            gone: Vec::new(),
            _local: Locals::default(),
            outboxes: Outboxes::default(),
        };
        fleet.ask_clocks()?;
        Ok(fleet)
    }

    /// Who they are, and how far their clocks are ahead.
    pub fn members(&self) -> impl Iterator<Item = (&Hello, ClockOffset)> {
        self.remotes.iter().map(|remote| (&remote.hello, remote.offset))
    }

    /// Has each carry out its part of the command whose words stand behind `plumb`; they name `files`.
    pub fn begin(&mut self, words: &[String], files: PlanFiles) {
        self.order(words, files, false);
    }

    /// Has each carry out the whole command, a server or a measurement of its own, for whoever
    /// [follows](Self::follow).
    pub fn begin_alone(&mut self, words: &[String], files: PlanFiles) {
        self.order(words, files, true);
    }

    fn order(&mut self, words: &[String], files: PlanFiles, alone: bool) {
        self.run += 1;
        self.load = 0;
        let of = u32::try_from(self.remotes.len()).ok().and_then(NonZeroU32::new);
        let of = of.unwrap_or(NonZeroU32::MIN);
        for (number, remote) in (1..).filter_map(NonZeroU32::new).zip(&self.remotes) {
            let part = Part { number, of };
            let order = RunOrder {
                run: self.run,
                words: words.to_vec(),
                part,
                files: files.files.clone(),
                file_words: files.words.clone(),
                alone,
                folder: None,
            };
            remote.ask(Order::Run(order));
        }
        self.files = files;
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
        let opened_ns = self.until_ready(stop).and_then(|()| self.open(stop));
        let opened_ns = opened_ns.inspect_err(|_| self.stop_all())?;
        let mut parts = Parts::new(self.remotes.len());
        let mut assembly = Assembly::new(self.remotes.len());
        self.gone = (0..self.remotes.len()).collect(); // whoever is not
        let (mut began, mut stopped_ns) = (false, None);
        let mut ticked_ns = self.post.now_ns();
        while !parts.are_over() {
            let now_ns = self.post.now_ns();
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
                    complete = self.interval(at, *records, opened_ns, &mut parts, &mut assembly);
                }
                Some((at, Report::Loaded { load, started_ns, mut outcome, .. }))
                    if load == self.load =>
                {
                    outcome.began_ns = self.here(at, outcome.began_ns);
                    parts.loaded(at, started_ns.map(|ns| self.here(at, ns)), *outcome);
                    complete = assembly.end(at);
                }
                Some((at, Report::Result { load, result, .. })) if load == self.load => {
                    parts.result(at, *result);
                }
                _ => {}
            }
            complete.iter().for_each(|records| sampler.interval(records));
            for at in std::mem::take(&mut self.gone) {
                let cause = match &self.remotes[at].state {
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

    /// An interval of the remote `at`; those of the whole that are complete now. One that cannot be
    /// is the last that is heard of its remote.
    fn interval(
        &mut self,
        at: usize,
        records: IntervalRecords,
        opened_ns: u64,
        parts: &mut Parts,
        assembly: &mut Assembly,
    ) -> Vec<IntervalRecords> {
        let began_ns = self.here(at, records.began_ns);
        let records = IntervalRecords { began_ns, ..records };
        if !matches!(self.remotes[at].state, State::There) {
            return Vec::new();
        }
        let passed_ns = self.post.now_ns().saturating_sub(opened_ns);
        let latest_ns = passed_ns.saturating_add(passed_ns / EARLY_PART).saturating_add(EARLY_NS);
        let figures = records.figures;
        if figures.start_ns.saturating_add(figures.duration_ns) > latest_ns {
            self.lose(at, "it told an interval that is not over yet");
            return Vec::new();
        }
        if let Err(cause) = assembly.check(at, &records) {
            self.lose(at, &cause.to_string());
            return Vec::new();
        }
        parts.interval(at, &records);
        assembly.add(at, records).unwrap_or_default() // it was checked
    }

    /// The run is over: what each remote hands over of its own part; `said` hears what they say of it.
    /// Where `stop` was asked, those that wait for a load are told that none comes.
    pub fn end(&mut self, stop: &Stop, mut said: impl FnMut(&str, &str)) -> Vec<RemotePart> {
        if stop.asked() {
            self.stop_all();
        }
        let mut farewell = Farewell::of(self);
        let there = |remote: &Remote| matches!(remote.state, State::There);
        while self.remotes.iter().any(there) && !farewell.is_over(self) {
            if let Some((at, Report::Said { line, .. })) = self.hear(LOOK_EVERY) {
                said(&self.remotes[at].hello.name, &line);
            }
        }
        let parts = self.remotes.iter_mut().map(|remote| RemotePart {
            name: remote.hello.name.clone(),
            record: match &remote.state {
                State::There | State::Lost(_) => None,
                State::Done(record) => record.as_deref().cloned(),
            },
            files: std::mem::take(&mut remote.kept).into_files(),
        });
        parts.collect()
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

    /// Has all of them begin at one moment, each by its own clock; the moment on the monotonic clock
    /// here.
    fn open(&mut self, stop: &Stop) -> Result<u64, RemoteError> {
        if stop.asked() {
            return Ok(self.post.now_ns());
        }
        self.ask_clocks()?;
        let round_trips = self.remotes.iter().map(|remote| 2 * remote.offset.uncertainty_ns);
        let lead_ns = LEAD_NS.max(round_trips.max().unwrap_or(0) * LEAD_OF_ROUND_TRIP)
            + LEAD_OF_REMOTE_NS * self.remotes.len() as u64;
        let at_ns = self.post.wall_ns() + lead_ns;
        self.date_offsets(at_ns)?;
        for remote in &self.remotes {
            let at_wall_ns = remote.offset.there(at_ns);
            remote.ask(Order::Open { run: self.run, load: self.load, at_wall_ns });
        }
        Ok(self.post.now_ns() + lead_ns)
    }

    /// Sends what the remote `at` lacks.
    fn send_files(&mut self, at: usize, digests: Vec<String>) {
        for digest in digests {
            let Some(content) = self.files.content(&digest).map(str::to_owned) else {
                return self.lose(at, "it asks for a file that the run does not name");
            };
            self.remotes[at].ask(Order::File { digest, content });
        }
    }

    fn stop_all(&self) {
        self.remotes.iter().for_each(|remote| remote.ask(Order::Stop { run: self.run }));
    }

    fn lose_all(&mut self, cause: &str) {
        (0..self.remotes.len()).for_each(|at| self.lose(at, cause));
    }

    fn lose(&mut self, at: usize, cause: &str) {
        if matches!(self.remotes[at].state, State::There) {
            self.remotes[at].state = State::Lost(cause.to_owned());
            self.gone.push(at);
        }
    }

    /// A moment of the wall clock of the remote `at`, on the monotonic clock here.
    fn here(&self, at: usize, there_ns: u64) -> u64 {
        let wall_ns = self.remotes[at].offset.here(there_ns);
        self.post.now_ns().saturating_add(wall_ns).saturating_sub(self.post.wall_ns())
    }

    /// Nobody is silent while the controller does not listen: what was said meanwhile still waits to
    /// be heard, one thing after the other.
    fn leave_out_absence(&mut self) {
        let away_ns = self.post.now_ns().saturating_sub(self.listened_ns);
        if u128::from(away_ns) >= LOOK_EVERY.as_nanos() {
            self.remotes.iter_mut().for_each(|remote| remote.heard_ns += away_ns);
        }
    }

    /// The next thing that a remote says, of this run; who is silent for too long is lost.
    fn hear(&mut self, patience: Duration) -> Option<(usize, Report)> {
        self.leave_out_absence();
        let heard = self.post.hear(patience);
        let now_ns = self.post.now_ns();
        self.listened_ns = now_ns;
        if u128::from(now_ns.saturating_sub(self.told_ns)) > ALIVE_EVERY.as_nanos() {
            self.told_ns = now_ns;
            self.remotes.iter().for_each(|remote| remote.ask(Order::Alive));
        }
        if let Some((at, _)) = &heard {
            self.remotes[*at].heard_ns = now_ns;
        }
        // many remotes are not looked through for each message
        if u128::from(now_ns.saturating_sub(self.looked_ns)) >= LOOK_EVERY.as_nanos() {
            self.looked_ns = now_ns;
            for at in 0..self.remotes.len() {
                if now_ns.saturating_sub(self.remotes[at].heard_ns) > SILENCE_NS {
                    self.lose(at, "it has not been heard of for 5 s");
                }
            }
        }
        let (at, said) = heard?;
        match said {
            Ok(Report::Done { run, outcome }) if run == self.run => {
                match outcome {
                    Ok(record) if matches!(self.remotes[at].state, State::There) => {
                        self.remotes[at].state = State::Done(record);
                        self.gone.push(at);
                    }
                    Ok(_) => {} // who was lost stays lost
                    Err(cause) => self.lose(at, &cause),
                }
                None
            }
            Ok(Report::Lacks { run, digests }) if run == self.run => {
                self.send_files(at, digests);
                None
            }
            Ok(Report::Kept { run, name, content }) if run == self.run => {
                if !self.remotes[at].kept.keep(name, &content) {
                    self.lose(at, "it handed over what is no record of its machine");
                }
                None
            }
            Ok(report) if report.run().is_none_or(|run| run == self.run) => Some((at, report)),
            Ok(_) => None,
            Err(ended) => {
                self.lose(at, &ended.to_string());
                None
            }
        }
    }
}
