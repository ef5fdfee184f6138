//! What every work process does, and what it has done.

use std::ops::AddAssign;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plumb_measure::Histogram;
use serde::Serialize;

use super::queue::Found;
use super::recent::{Recent, Sums};
use crate::answer::{Answer, Timings};
use crate::database::{Activity, Database};

/// One place for each work process.
#[derive(Debug)]
pub(crate) struct Board {
    places: Vec<Mutex<ProcessState>>,
}

#[derive(Debug)]
struct ProcessState {
    running: Option<Running>,
    /// Memory for the name of what runs next.
    name: String,
    figures: ProcessFigures,
    queue: Histogram,
    service: Histogram,
    recent: Recent,
}

/// A step that a work process has.
#[derive(Debug)]
struct Running {
    program: String,
    since_ns: u64,
    /// How long it had waited before.
    queued_ns: u64,
    found: Found,
    /// What its database session is doing, and had spent in calls when the step began.
    activity: Arc<Activity>,
    spent_ns: u64,
}

/// What is under way at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnderWay {
    /// Their times as far as they fall into the window.
    pub(crate) sums: Sums,
    /// Steps that wait inside a database call.
    pub(crate) in_database: u64,
    /// How long the oldest of them has been running.
    pub(crate) longest_ns: u64,
}

/// One work process, as an administrator sees it. Times in nanoseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ProcessFigures {
    /// Number, from 0.
    pub(crate) number: usize,
    /// `waiting` or `running`.
    pub(crate) state: &'static str,
    /// What it runs.
    pub(crate) program: Option<String>,
    /// How long it has been running that.
    pub(crate) running_ns: Option<u64>,
    /// How long it has been waiting in a database call.
    pub(crate) in_database_ns: Option<u64>,
    /// What it has done.
    #[serde(flatten)]
    pub(crate) done: Done,
    /// Database calls.
    pub(crate) database_calls: u64,
    /// Times that it opened its database session.
    pub(crate) database_logons: u64,
    /// True while its database session is open.
    pub(crate) database_connected: bool,
}

/// What a work process, or all of them, have done. Times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Done {
    /// Steps done.
    pub(crate) steps: u64,
    /// Steps that ended with a server error.
    pub(crate) errors: u64,
    /// Steps that broke off.
    pub(crate) dumps: u64,
    /// Time in steps.
    pub(crate) busy_ns: u64,
    /// Processor time.
    pub(crate) cpu_ns: u64,
    /// Time that steps had waited for a work process.
    pub(crate) queue_ns: u64,
    /// Time spent getting programs.
    pub(crate) load_ns: u64,
    /// Time in database calls, those of loads aside.
    pub(crate) database_ns: u64,
    /// Time asking the lock server.
    pub(crate) lock_ns: u64,
    /// Time asking the back end.
    pub(crate) backend_ns: u64,
}

impl AddAssign for Done {
    fn add_assign(&mut self, more: Self) {
        self.steps += more.steps;
        self.errors += more.errors;
        self.dumps += more.dumps;
        self.busy_ns += more.busy_ns;
        self.cpu_ns += more.cpu_ns;
        self.queue_ns += more.queue_ns;
        self.load_ns += more.load_ns;
        self.database_ns += more.database_ns;
        self.lock_ns += more.lock_ns;
        self.backend_ns += more.backend_ns;
    }
}

/// All work processes together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) done: Done,
    pub(crate) running: usize,
    /// Times from the queue to a work process.
    pub(crate) queue: Histogram,
    /// Times in a work process.
    pub(crate) service: Histogram,
}

/// What a step went through before it began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited {
    pub(crate) queued_ns: u64,
    pub(crate) found: Found,
}

impl Running {
    fn add_to(&self, all: &mut UnderWay, since_ns: u64, now_ns: u64) {
        let busy_ns = now_ns.saturating_sub(self.since_ns.max(since_ns));
        let database_ns = self.activity.spent_ns(now_ns).saturating_sub(self.spent_ns);
        // of its time in the queue, what falls into the window
        let before_ns = self.since_ns.saturating_sub(since_ns);
        all.sums += Sums {
            database_ns: database_ns.min(busy_ns),
            busy_ns,
            ..Sums::of(self.found, self.queued_ns.min(before_ns))
        };
        all.in_database += u64::from(self.activity.waiting_ns(now_ns).is_some());
        all.longest_ns = all.longest_ns.max(now_ns.saturating_sub(self.since_ns));
    }
}

impl Board {
    pub(crate) fn new(processes: usize) -> Self {
        let place = |number| {
            Mutex::new(ProcessState {
                running: None,
                name: String::new(),
                figures: ProcessFigures { number, ..ProcessFigures::default() },
                queue: Histogram::new(),
                service: Histogram::new(),
                recent: Recent::default(),
            })
        };
        Self { places: (0..processes).map(place).collect() }
    }

    /// The process `number` begins with `program`, which has waited for `queued_ns`.
    pub(crate) fn begin(
        &self,
        number: usize,
        program: &str,
        waited: Waited,
        database: &Database,
        now_ns: u64,
    ) {
        let Waited { queued_ns, found } = waited;
        let mut place = self.lock(number);
        let mut name = std::mem::take(&mut place.name);
        name.clear();
        name.push_str(program);
        place.running = Some(Running {
            program: name,
            since_ns: now_ns,
            queued_ns,
            found,
            activity: database.activity(),
            spent_ns: database.spent_ns(),
        });
    }

    /// The process `number` has taken so much processor time so far.
    pub(crate) fn spent(&self, number: usize, cpu_ns: u64) {
        self.lock(number).figures.done.cpu_ns = cpu_ns;
    }

    /// The process `number` has ended its step at `now_ns`.
    pub(crate) fn end(&self, number: usize, answer: &Answer, database: &Database, now_ns: u64) {
        let Timings { queue_ns, load_ns, database_ns, lock_ns, .. } = answer.timings;
        let (busy_ns, backend_ns) = (answer.timings.service_ns(), answer.timings.called.ns);
        let mut place = self.lock(number);
        let found = place.running.take().map(|running| {
            place.name = running.program;
            running.found
        });
        place.queue.record(queue_ns);
        place.service.record(busy_ns);
        let waited = Sums::of(found.unwrap_or_default(), queue_ns);
        let sums = Sums { load_ns, database_ns, lock_ns, backend_ns, busy_ns, ..waited };
        place.recent.add(now_ns, sums);
        let figures = &mut place.figures;
        let done = &mut figures.done;
        done.steps += 1;
        done.errors += u64::from(answer.status.is_server_error());
        done.busy_ns += busy_ns;
        done.queue_ns += queue_ns;
        done.load_ns += load_ns;
        done.database_ns += database_ns;
        done.lock_ns += lock_ns;
        done.backend_ns += backend_ns;
        figures.database_calls = database.calls();
        figures.database_logons = database.logons();
        figures.database_connected = database.connected();
    }

    /// The steps that ended in the window up to `now_ns`, and those under way.
    pub(crate) fn lately(&self, since_ns: u64, now_ns: u64) -> (Sums, UnderWay) {
        let (mut ended, mut under_way) = (Sums::default(), UnderWay::default());
        for number in 0..self.places.len() {
            let place = self.lock(number);
            ended += place.recent.until(now_ns);
            if let Some(running) = &place.running {
                running.add_to(&mut under_way, since_ns, now_ns);
            }
        }
        (ended, under_way)
    }

    /// The step of process `number` broke off.
    pub(crate) fn dump(&self, number: usize) {
        self.lock(number).figures.done.dumps += 1;
    }

    /// Every process.
    pub(crate) fn processes(&self, now_ns: u64) -> Vec<ProcessFigures> {
        (0..self.places.len())
            .map(|number| {
                let place = self.lock(number);
                let running = place.running.as_ref();
                ProcessFigures {
                    state: if running.is_some() { "running" } else { "waiting" },
                    program: running.map(|running| running.program.clone()),
                    running_ns: running.map(|it| now_ns.saturating_sub(it.since_ns)),
                    in_database_ns: running.and_then(|it| it.activity.waiting_ns(now_ns)),
                    ..place.figures.clone()
                }
            })
            .collect()
    }

    pub(crate) fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for number in 0..self.places.len() {
            let place = self.lock(number);
            totals.done += place.figures.done;
            totals.running += usize::from(place.running.is_some());
            totals.queue.merge(&place.queue);
            totals.service.merge(&place.service);
        }
        totals
    }

    fn lock(&self, number: usize) -> MutexGuard<'_, ProcessState> {
        self.places[number].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
