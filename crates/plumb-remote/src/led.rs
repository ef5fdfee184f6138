//! The remote's side: runs that a controller leads.

mod arrivals;
mod handed_over;

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_engine::{Gate, IntervalRecords, LoadResult, Stop};
use plumb_measure::{Clock as _, ResultRecord, RunRecord, Transport};
use tempfile::TempDir;

use crate::clock::WallClock;
use crate::link::{LinkEnded, inbox, outbox};
use crate::message::{Hello, Order, Report, RunOrder};
use crate::{ALIVE_EVERY, SILENCE_NS};
use arrivals::{Arrivals, Arrived};
use handed_over::hand_over;

/// How often whoever waits for the connections of a load looks whether there is still one.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What a controller decides of the run under way.
#[derive(Debug)]
struct Lead {
    /// What this remote takes for the time.
    clock: WallClock,
    current: Mutex<Option<Current>>,
    /// What was said of a run before it was under way: its words are still being read, its files come.
    early: Mutex<Early>,
    /// Told when the controller has said something of it.
    changed: Condvar,
    /// When the controller was heard last, on the monotonic clock.
    heard_ns: AtomicU64,
    /// True when the controller has gone: what it asked before that is not begun any more.
    is_gone: AtomicBool,
}

/// What a controller has said of a run that is not under way.
#[derive(Clone, Copy, Debug, Default)]
struct Early {
    run: u64,
    /// The last load for which it wants connections.
    wanted: u32,
    stopped: bool,
}

#[derive(Debug)]
struct Current {
    run: u64,
    load: u32,
    /// The last load for which the controller wants connections.
    wanted: u32,
    stop: Arc<Stop>,
    gate: Option<Arc<Gate>>,
}

impl Lead {
    fn of(clock: WallClock) -> Self {
        let heard_ns = AtomicU64::new(MonotonicClock.now_ns());
        Self {
            clock,
            current: Mutex::default(),
            early: Mutex::default(),
            changed: Condvar::new(),
            heard_ns,
            is_gone: AtomicBool::new(false),
        }
    }

    fn current(&self) -> MutexGuard<'_, Option<Current>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self) {
        self.heard_ns.store(MonotonicClock.now_ns(), Ordering::Relaxed);
    }

    fn is_silent(&self) -> bool {
        MonotonicClock.now_ns().saturating_sub(self.heard_ns.load(Ordering::Relaxed)) > SILENCE_NS
    }

    /// Ends what is under way: nobody keeps loading a target whose controller is gone.
    fn give_up(&self, why: &str) {
        if let Some(current) = self.current().as_ref() {
            current.stop.ask();
            if let Some(gate) = &current.gate {
                gate.fail(why);
            }
        }
        self.changed.notify_all();
    }

    /// Nothing more is heard of the controller.
    fn gone(&self) {
        // before `current` is looked at: what begins meanwhile sees one or the other
        self.is_gone.store(true, Ordering::Relaxed);
        self.give_up("the controller has gone");
    }

    fn connect(&self, run: u64, load: u32) {
        match self.current().as_mut().filter(|current| current.run == run) {
            Some(current) => current.wanted = current.wanted.max(load),
            None => self.early_of(run).wanted = load,
        }
        self.changed.notify_all();
    }

    /// Waits until connections are wanted for `load`, or it is to stop.
    fn until_wanted(&self, load: u32) {
        let missing = |current: &mut Option<Current>| {
            current.as_ref().is_some_and(|it| it.wanted < load && !it.stop.asked())
        };
        drop(self.changed.wait_while(self.current(), missing));
    }

    fn open(&self, run: u64, load: u32, at_wall_ns: u64) {
        if let Some(current) = self.current().as_ref()
            && (current.run, current.load) == (run, load)
            && let Some(gate) = &current.gate
        {
            gate.open_at_wall(self.clock.of_machine(at_wall_ns));
        }
    }

    fn stop(&self, run: u64) {
        let current = self.current();
        if current.as_ref().is_some_and(|current| current.run == run) {
            drop(current);
            self.give_up("the controller stopped the run before it began");
        } else {
            self.early_of(run).stopped = true;
        }
    }

    /// What was said of `run` before it is under way; of runs before it nobody asks any more.
    fn early_of(&self, run: u64) -> MutexGuard<'_, Early> {
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        if early.run != run {
            *early = Early { run, ..Early::default() };
        }
        early
    }

    /// A run is under way, which `stop` ends.
    fn begin(&self, run: u64, stop: &Arc<Stop>) {
        let mut current = self.current();
        let Early { wanted, stopped, .. } = *self.early_of(run);
        *current = Some(Current { run, load: 0, wanted, stop: Arc::clone(stop), gate: None });
        if stopped || self.is_gone.load(Ordering::Relaxed) {
            stop.ask();
        }
    }
}

/// A run under way, for whoever carries it out: what the controller decides of it, and where what
/// comes of it goes.
#[derive(Debug)]
pub struct Led {
    run: u64,
    load: u32,
    lead: Arc<Lead>,
    to: Sender<Report>,
}

impl Led {
    /// The gate at which the next load waits until the controller opens it. Waits itself until the
    /// controller wants connections.
    pub fn gate(&mut self) -> Arc<Gate> {
        self.load += 1;
        self.lead.until_wanted(self.load);
        let gate = Arc::new(Gate::closed());
        let (run, load) = (self.run, self.load);
        if let Some(current) = self.lead.current().as_mut() {
            current.load = load;
            current.gate = Some(Arc::clone(&gate));
            if current.stop.asked() {
                gate.fail("the run was stopped before it began");
            }
        }
        let (waiting, to) = (Arc::downgrade(&gate), self.to.clone());
        thread::spawn(move || {
            while let Some(gate) = waiting.upgrade() {
                if gate.until_waited_for(LOOK_EVERY) {
                    let _ = to.send(Report::Ready { run, load }); // it may be gone
                    break;
                }
            }
        });
        gate
    }

    /// A load has begun, over `transport`.
    pub fn began(&self, transport: Option<&Transport>) {
        let (run, load) = (self.run, self.load);
        self.say(Report::Began { run, load, transport: transport.cloned() });
    }

    /// An interval is complete.
    pub fn interval(&self, records: &IntervalRecords) {
        let records = IntervalRecords {
            began_ns: self.lead.clock.of_monotonic(records.began_ns),
            ..records.clone()
        };
        let (run, load) = (self.run, self.load);
        self.say(Report::Interval { run, load, records: Box::new(records) });
    }

    /// A load is over.
    pub fn loaded(&self, outcome: &LoadResult<()>) {
        let outcome = LoadResult {
            began_ns: self.lead.clock.of_monotonic(outcome.began_ns),
            ..outcome.clone()
        };
        let (run, load) = (self.run, self.load);
        let passed_ns = |current: &Current| current.gate.as_ref()?.passed_ns();
        let passed_ns = self.lead.current().as_ref().and_then(passed_ns);
        let started_ns = passed_ns.map(|at_ns| self.lead.clock.of_monotonic(at_ns));
        self.say(Report::Loaded { run, load, started_ns, outcome: Box::new(outcome) });
    }

    /// What is made of it here.
    pub fn result(&self, result: &ResultRecord) {
        let (run, load) = (self.run, self.load);
        self.say(Report::Result { run, load, result: Box::new(result.clone()) });
    }

    /// A server that was started here says this.
    pub fn said(&self, line: String) {
        self.say(Report::Said { run: self.run, line });
    }

    fn say(&self, report: Report) {
        let _ = self.to.send(report); // a controller that is gone is noticed where it is read
    }
}

/// What a remote hands over of its own part of a run.
#[derive(Debug)]
pub struct Carried {
    /// Its record; none of a server.
    pub record: Option<RunRecord>,
    /// Files that belong to it: what its machine did.
    pub files: Vec<PathBuf>,
    /// Where they lie, until they are handed over.
    pub folder: TempDir,
    /// What its folder lacks, a line each: the controller is told.
    pub lacks: Vec<String>,
}

/// Carries out what a controller asks over `from` and `to`, one run after the other, until it has
/// gone, is silent, or `stop` is asked.
///
/// # Errors
/// [`LinkEnded`] when the controller says what is no message.
pub fn serve(
    hello: Hello,
    clock: WallClock,
    from: impl BufRead + Send + 'static,
    to: impl Write + Send + 'static,
    stop: &Stop,
    mut carry_out: impl FnMut(&RunOrder, Led, &Stop) -> Result<Carried, String>,
) -> Result<(), LinkEnded> {
    let lead = Arc::new(Lead::of(clock));
    let (to, _) = outbox(to);
    let _ = to.send(Report::Hello(hello)); // who cannot be told is not there
    let runs = heard(from, Arc::clone(&lead), to.clone());
    let _over = watch(Arc::clone(&lead), stop.flag(), to.clone());
    loop {
        if stop.asked() {
            return Ok(());
        }
        let order = match runs.recv_timeout(ALIVE_EVERY) {
            Ok(Ok(order)) => order,
            Ok(Err(LinkEnded::Closed)) | Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(()),
            Ok(Err(ended)) => return Err(ended),
            Err(mpsc::RecvTimeoutError::Timeout) if lead.is_silent() => return Ok(()),
            Err(mpsc::RecvTimeoutError::Timeout) => continue,
        };
        let run = order.run;
        let outcome = carried_out(&order, &lead, &to, &mut carry_out);
        let outcome = outcome.and_then(|carried| {
            let behind = hand_over(run, &carried.files, &to);
            // without a record the files are all that was asked for
            if carried.record.is_none() && !behind.is_empty() {
                return Err(behind.join("; "));
            }
            for line in carried.lacks.into_iter().chain(behind) {
                let _ = to.send(Report::Said { run, line }); // it may be gone
            }
            Ok(carried.record.map(Box::new))
        });
        let _ = to.send(Report::Done { run, outcome }); // it may be gone
    }
}

fn carried_out(
    order: &RunOrder,
    lead: &Arc<Lead>,
    to: &Sender<Report>,
    carry_out: &mut impl FnMut(&RunOrder, Led, &Stop) -> Result<Carried, String>,
) -> Result<Carried, String> {
    if !order.is_bounded() {
        return Err("a command line that is longer than anybody writes".into());
    }
    let run = order.run;
    let stop = Arc::new(Stop::new().map_err(|error| error.to_string())?);
    lead.begin(run, &stop);
    let led = Led { run, load: 0, lead: Arc::clone(lead), to: to.clone() };
    let outcome = carry_out(order, led, &stop);
    *lead.current() = None;
    outcome
}

/// Hears the controller: what it asks at once is done at once, runs come one after the other.
fn heard(
    from: impl BufRead + Send + 'static,
    lead: Arc<Lead>,
    to: Sender<Report>,
) -> Receiver<Result<RunOrder, LinkEnded>> {
    let (orders, incoming) = mpsc::channel();
    inbox(from, orders, |order: Result<Order, LinkEnded>| order);
    let (ready, runs) = mpsc::channel();
    thread::spawn(move || {
        let mut arrivals = Arrivals::default();
        for order in incoming {
            lead.hear();
            match order {
                Ok(Order::Clock { sent_ns }) => {
                    let _ = to.send(Report::Clock { sent_ns, here_ns: lead.clock.now_ns() });
                }
                Ok(Order::Connect { run, load }) => lead.connect(run, load),
                Ok(Order::Open { run, load, at_wall_ns }) => lead.open(run, load, at_wall_ns),
                Ok(Order::Stop { run }) => lead.stop(run),
                Ok(Order::Alive) => {}
                Ok(Order::Run(order)) => begin(arrivals.run(order), &ready, &to),
                Ok(Order::File { digest, content }) => {
                    begin(arrivals.file(&digest, &content), &ready, &to);
                }
                Err(ended) => {
                    lead.gone();
                    let _ = ready.send(Err(ended)); // nobody waits any more
                    break;
                }
            }
        }
    });
    runs
}

/// Does what follows from what came; nobody may be there any more to take it.
fn begin(arrived: Arrived, ready: &Sender<Result<RunOrder, LinkEnded>>, to: &Sender<Report>) {
    match arrived {
        Arrived::Run(order) => drop(ready.send(Ok(order))),
        Arrived::Say(report) => drop(to.send(report)),
        Arrived::Nothing => {}
    }
}

/// Says now and then that this remote is there, and ends what is under way when the controller is
/// silent or this process is asked to end; until what is returned is dropped.
fn watch(lead: Arc<Lead>, ending: Arc<AtomicBool>, to: Sender<Report>) -> Sender<()> {
    let (over, until) = mpsc::channel();
    thread::spawn(move || {
        while until.recv_timeout(ALIVE_EVERY) == Err(mpsc::RecvTimeoutError::Timeout)
            && to.send(Report::Alive).is_ok()
        {
            if lead.is_silent() {
                lead.give_up("the controller has not been heard of");
            } else if ending.load(Ordering::Relaxed) {
                lead.give_up("the remote was told to end");
            }
        }
    });
    over
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_whose_controller_has_gone_before_it_begins_is_to_stop() {
        let stop = Arc::new(Stop::new().unwrap());
        let lead = Arc::new(Lead::of(WallClock::default()));
        lead.gone();
        lead.begin(1, &stop);
        assert!(stop.asked());
        let (to, _reports) = mpsc::channel();
        let mut led = Led { run: 1, load: 0, lead, to };
        led.gate(); // which waits for nobody
    }
}
