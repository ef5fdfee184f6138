//! Remotes whose network, clocks and loads are simulated, in virtual time and from a seed: what a
//! controller hears of them, it hears as bytes of messages that were written as real ones are.

mod remote;

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plumb_engine::{IntervalRecords, LoadResult, Sampler};
use plumb_measure::statistics::SplitMix64;
use plumb_measure::{Histogram, Recorder, Shape};
use plumb_remote::fleet::{Heard, Post};
use plumb_remote::link::{self, LinkEnded};
use plumb_remote::message::{self, Order, Report};

use remote::SimulatedRemote;

/// What the wall clock shows when virtual time begins.
pub(crate) const BASE_NS: u64 = 1_700_000_000_000_000_000;
/// Virtual time that the controller takes for each message.
const HANDLING_NS: u64 = 5_000;
/// Bytes a nanosecond of the controller's link, each way: 1 Gbit/s.
const LINK_BYTES_PER_8_NS: u64 = 1;

/// What becomes of a remote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing out of the ordinary.
    #[default]
    Sound,
    /// Its connection ends after two intervals.
    Crashes,
    /// It says nothing any more after two intervals.
    Hangs,
    /// The order to begin reaches it three seconds late.
    Late,
    /// It says what is no message after two intervals.
    Garbage,
    /// It begins a message that never ends, after two intervals.
    Endless,
    /// All that it tells of its load is of another run.
    OtherRun,
    /// It tells its second interval again and again.
    Repeats,
    /// Its second interval is one of next year.
    Future,
    /// Its recorder has other rows than those of the rest.
    OtherPlan,
}

/// What is simulated.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) remotes: usize,
    pub(crate) seconds: u64,
    /// Operations of each remote in a second.
    pub(crate) operations: u64,
    pub(crate) seed: u64,
    /// The shortest way of a message, each way of each remote, nanoseconds: at random up to this.
    pub(crate) delay_ns: u64,
    /// Mean of what each message takes longer, nanoseconds.
    pub(crate) jitter_ns: u64,
    /// What becomes of each; those behind the end are sound.
    pub(crate) fates: Vec<Fate>,
    /// The processor time of this thread, where it is measured.
    pub(crate) cpu_ns: fn() -> u64,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            remotes: 4,
            seconds: 3,
            operations: 10,
            seed: 1,
            delay_ns: 5_000_000,
            jitter_ns: 200_000,
            fates: Vec::new(),
            cpu_ns: || 0,
        }
    }
}

/// What was true, whatever the controller makes of it.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    /// Virtual time; whoever sets it forward has the controller do something else until then.
    pub(crate) now_ns: u64,
    /// Of each remote, how far its clock is ahead at the beginning, and how much it drifts,
    /// nanoseconds a millisecond.
    pub(crate) clocks: Vec<(i64, i64)>,
    /// When each was to begin by its own clock, and when it did, in virtual time.
    pub(crate) starts: Vec<Option<(u64, u64)>>,
    /// Every operation of the remotes that are sound.
    pub(crate) whole: Option<Recorder>,
    pub(crate) bytes_out: u64,
    /// Bytes of intervals and signs of life, and of everything else.
    pub(crate) bytes_in: [u64; 2],
    /// Processor time of the controller: until the load begins, while it runs, and after.
    pub(crate) cpu_ns: [u64; 3],
}

impl Truth {
    /// How far the clock of `remote` is ahead at the virtual time `at_ns`.
    pub(crate) fn ahead_ns(&self, remote: usize, at_ns: u64) -> i64 {
        let (offset_ns, drift) = self.clocks[remote];
        offset_ns + i64::try_from(at_ns / 1_000).unwrap_or(0) * drift / 1_000
    }
}

/// Something that happens.
#[derive(Debug)]
enum Event {
    /// An order comes to its remote.
    Order(usize, String),
    /// Bytes from a remote come to the controller's link.
    AtLink(usize, Vec<u8>),
    /// Bytes from a remote come to the controller.
    Report(usize, Vec<u8>),
    /// A remote has something to do.
    Wake(usize, Wake),
}

/// What a remote does by itself.
#[derive(Clone, Copy, Debug)]
enum Wake {
    Hello,
    Alive,
    Ready,
    Begin,
    Interval(u64),
}

/// All remotes, and the network between them and the controller.
#[derive(Debug)]
pub(crate) struct World {
    setting: Setting,
    now_ns: u64,
    events: BTreeMap<(u64, u64), Event>,
    number: u64,
    random: SplitMix64,
    orders: Vec<Receiver<Order>>,
    remotes: Vec<SimulatedRemote>,
    truth: Arc<Mutex<Truth>>,
    /// When the link is free again, outwards and inwards.
    free_ns: [u64; 2],
    phase: usize,
    left_ns: u64,
}

/// Where the orders of each remote go, by name.
pub(crate) type Orders = Vec<(String, Sender<Order>)>;

impl World {
    /// Remotes as `setting` says, where their orders go, and what will be true.
    pub(crate) fn new(setting: Setting) -> (Orders, Self, Arc<Mutex<Truth>>) {
        let mut random = SplitMix64::new(setting.seed);
        let (mut senders, mut orders, mut remotes) = (Vec::new(), Vec::new(), Vec::new());
        let mut truth = Truth { whole: Some(Recorder::new(Shape::from(1))), ..Truth::default() };
        for at in 0..setting.remotes {
            let (sender, receiver) = mpsc::channel();
            senders.push((format!("r{at}"), sender));
            orders.push(receiver);
            let fate = setting.fates.get(at).copied().unwrap_or_default();
            let remote = SimulatedRemote::new(at, fate, &mut random, &setting);
            truth.clocks.push((remote.offset_ns, remote.drift));
            truth.starts.push(None);
            remotes.push(remote);
        }
        let truth = Arc::new(Mutex::new(truth));
        let mut world = Self {
            left_ns: (setting.cpu_ns)(),
            setting,
            now_ns: 0,
            events: BTreeMap::new(),
            number: 0,
            random,
            orders,
            remotes,
            truth: Arc::clone(&truth),
            free_ns: [0; 2],
            phase: 0,
        };
        (0..world.remotes.len()).for_each(|at| world.at(0, Event::Wake(at, Wake::Hello)));
        (senders, world, truth)
    }

    fn truth(&self) -> MutexGuard<'_, Truth> {
        self.truth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at(&mut self, at_ns: u64, event: Event) {
        self.number += 1;
        self.events.insert((at_ns.max(self.now_ns), self.number), event);
    }

    /// Sends what was ordered meanwhile.
    fn send_orders(&mut self) {
        for at in 0..self.orders.len() {
            while let Ok(order) = self.orders[at].try_recv() {
                let line = message::written(&order).expect("an order can be written");
                self.truth().bytes_out += line.len() as u64;
                let free_ns = &mut self.free_ns[0];
                *free_ns =
                    (*free_ns).max(self.now_ns) + line.len() as u64 * 8 / LINK_BYTES_PER_8_NS;
                let late_ns = match (self.remotes[at].fate, &order) {
                    (Fate::Late, Order::Open { .. }) => 3_000_000_000,
                    _ => 0,
                };
                let arrives_ns = *free_ns + self.remotes[at].ways_ns[0] + self.jitter() + late_ns;
                let remote = &mut self.remotes[at];
                remote.last_ns[0] = remote.last_ns[0].max(arrives_ns); // none passes another
                let arrives_ns = remote.last_ns[0];
                self.at(arrives_ns, Event::Order(at, line));
            }
        }
    }

    fn jitter(&mut self) -> u64 {
        exponential(&mut self.random, self.setting.jitter_ns)
    }

    /// Sends what a remote says; what is empty is the end of its connection.
    fn send_report(&mut self, at: usize, bytes: Vec<u8>) {
        let arrives_ns = self.now_ns + self.remotes[at].ways_ns[1] + self.jitter();
        let remote = &mut self.remotes[at];
        remote.last_ns[1] = remote.last_ns[1].max(arrives_ns);
        let arrives_ns = remote.last_ns[1];
        self.at(arrives_ns, Event::AtLink(at, bytes));
    }

    /// Lets one thing happen; what the controller hears of it.
    fn happen(&mut self, event: Event) -> Option<(usize, Vec<u8>)> {
        let truth = Arc::clone(&self.truth);
        let mut truth = truth.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, (reports, wakes)) = match event {
            Event::AtLink(at, bytes) => {
                let took_ns = bytes.len() as u64 * 8 / LINK_BYTES_PER_8_NS;
                self.free_ns[1] = self.free_ns[1].max(self.now_ns) + took_ns;
                self.at(self.free_ns[1], Event::Report(at, bytes));
                return None;
            }
            Event::Report(at, bytes) => return Some((at, bytes)),
            Event::Order(at, line) => {
                let order = message::read(&line).expect("what was written is read");
                (at, self.remotes[at].ordered(order, self.now_ns, &mut truth))
            }
            Event::Wake(at, wake) => (at, self.remotes[at].wake(wake, self.now_ns, &mut truth)),
        };
        reports.into_iter().for_each(|bytes| self.send_report(at, bytes));
        for (at_ns, wake) in wakes {
            self.at(at_ns, Event::Wake(at, wake));
        }
        None
    }

    /// Counts what the controller has used until now since it was here last.
    fn enter(&mut self) {
        let now_ns = (self.setting.cpu_ns)();
        let phase = self.phase;
        self.truth().cpu_ns[phase] += now_ns - self.left_ns;
    }

    fn leave(&mut self) {
        self.truth().now_ns = self.now_ns;
        self.left_ns = (self.setting.cpu_ns)();
    }

    /// Reads what came, as a real link does; that is the controller's work.
    fn read(&mut self, at: usize, bytes: &[u8]) -> Heard {
        self.now_ns += HANDLING_NS;
        self.leave();
        let mut from = bytes;
        let said: Result<Report, LinkEnded> = link::next(&mut from);
        self.phase = match &said {
            Ok(Report::Began { .. } | Report::Interval { .. }) => self.phase.max(1),
            Ok(Report::Loaded { .. }) => 2,
            _ => self.phase,
        };
        let running = matches!(said, Ok(Report::Interval { .. } | Report::Alive));
        self.truth().bytes_in[usize::from(!running)] += bytes.len() as u64;
        (at, said)
    }
}

impl Post for World {
    fn hear(&mut self, patience: Duration) -> Option<Heard> {
        self.enter();
        self.now_ns = Post::now_ns(self);
        self.send_orders();
        let patience_ns = u64::try_from(patience.as_nanos()).expect("nobody waits that long");
        let until_ns = self.now_ns + patience_ns;
        while let Some(entry) = self.events.first_entry() {
            let (at_ns, _) = *entry.key();
            if at_ns > until_ns {
                break;
            }
            let event = entry.remove();
            self.now_ns = self.now_ns.max(at_ns);
            if let Some((at, bytes)) = self.happen(event) {
                return Some(self.read(at, &bytes));
            }
        }
        self.now_ns = until_ns;
        self.leave();
        None
    }

    fn now_ns(&self) -> u64 {
        self.now_ns.max(self.truth().now_ns)
    }

    fn wall_ns(&self) -> u64 {
        BASE_NS + Post::now_ns(self)
    }
}

/// A random time with this mean.
fn exponential(random: &mut SplitMix64, mean_ns: u64) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "some milliseconds"
    )]
    let ns = (-(1.0 - random.uniform()).ln() * mean_ns as f64) as u64;
    ns
}

/// Adds up the intervals of the whole as they are told.
#[derive(Debug, Default)]
pub(crate) struct Sum {
    pub(crate) recorder: Option<Recorder>,
    /// Where each interval starts, in the order in which they were told, and its operations.
    pub(crate) intervals: Vec<(u64, u64)>,
}

impl Sampler for Sum {
    fn interval(&mut self, records: &IntervalRecords) {
        self.intervals.push((records.figures.start_ns, records.figures.operations));
        match &mut self.recorder {
            Some(sum) => sum.merge(&records.recorder),
            None => self.recorder = Some(records.recorder.clone()),
        }
    }
}

/// The outcomes of all loads as one.
pub(crate) fn outcome(loads: impl IntoIterator<Item = LoadResult<()>>) -> Option<LoadResult<()>> {
    loads.into_iter().reduce(|mut sum, one| {
        sum.merge(one).expect("they are of one plan");
        sum
    })
}

/// Everything of a recorder that does not depend on the order in which operations ended: counts,
/// minimum, maximum, sum and every bucket of each histogram, and all counters.
pub(crate) fn told(recorder: &Recorder) -> (Vec<Histogram>, [u64; 4]) {
    let row = &recorder.rows()[0];
    let times = [&row.response, &row.service, &row.first_byte, &recorder.lag];
    let mut histograms: Vec<Histogram> = times.into_iter().cloned().collect();
    histograms.push(row.lengths.histogram());
    let failures = recorder.failures().total();
    let counts = [recorder.dropped, recorder.bytes_sent, recorder.bytes_received, failures];
    (histograms, counts)
}
