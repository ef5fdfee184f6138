//! Samples taken on a thread of their own, kept and written down.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use plumb_engine::Stop;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_measure::{Clock as _, Span};
use plumb_procfs::State;
use plumb_procfs::process::{Wanted, kept_name};

use super::files::{Files, FilesPlan, stem};
use super::kept::{Kept, lock};
use super::ticker::Ticker;
use crate::HostError;
use crate::facts::HostFacts;
use crate::monitor::{Cost, Monitor, MonitorPlan};
use crate::options::EVERY_LEAST;
use crate::sample::Sample;
use crate::snapshot::Snapshot;
use crate::subject::Subject;
use crate::usage::Usage;

/// Readings by which the cost of a sampler is measured.
const COST_ROUNDS: u32 = 5;

/// What to record.
#[derive(Clone, Debug)]
pub struct RecorderPlan {
    /// What is watched.
    pub monitor: MonitorPlan,
    /// Time between two samples.
    pub every: Span,
    /// Where `HOST.csv` and `HOST.nmon` are written; `None`: nowhere.
    pub folder: Option<PathBuf>,
    /// The command that records, for the nmon file.
    pub command: String,
}

/// A recording that is under way on a thread of its own.
#[derive(Debug)]
pub struct Recorder {
    facts: HostFacts,
    stop: Arc<Stop>,
    shared: Arc<Mutex<Shared>>,
    thread: JoinHandle<Result<(), HostError>>,
}

/// What a recording has come to.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Everything summed up.
    pub usage: Usage,
    /// Samples that were due and could not be taken in time. Those taken carry their true times.
    pub missed: u64,
    /// What has become of each sampler, so far.
    pub states: Vec<(Subject, State)>,
    /// What each sampler costs, asked for at the end.
    pub costs: Vec<Cost>,
    /// Devices that appeared while it was recorded, for which the files have no columns.
    pub left_out: Vec<String>,
    /// Names of processes to follow of which there was none at any sample.
    pub unseen: Vec<String>,
    /// The files written.
    pub files: Vec<PathBuf>,
}

#[derive(Debug, Default)]
struct Shared {
    kept: Kept,
    recorded: Recorded,
}

impl Recorder {
    /// Begins to record.
    ///
    /// # Errors
    /// [`HostError`] when the pace is too fast, a file cannot be made, or the time of the
    /// processors cannot be read.
    pub fn start(plan: &RecorderPlan) -> Result<Self, HostError> {
        if plan.every < EVERY_LEAST {
            return Err(HostError::TooOften { every: plan.every, least: EVERY_LEAST });
        }
        let paced = MonitorPlan { every_ns: Some(plan.every.ns()), ..plan.monitor.clone() };
        let mut monitor = Monitor::new(&paced, Box::new(MonotonicClock));
        monitor.sample(); // the first has nothing to compare with
        sees(&monitor)?;
        let facts = HostFacts::read(&plan.monitor.root);
        let files = plan.folder.as_ref().map(|folder| {
            Files::create(&FilesPlan {
                folder,
                stem: &stem(&facts.name),
                facts: &facts,
                every: plan.every,
                command: &plan.command,
                followed: &plan.monitor.processes,
            })
        });
        let files = files.transpose()?;
        let stop = Arc::new(Stop::new().map_err(HostError::system("make a socket pair"))?);
        let shared = Arc::<Mutex<Shared>>::default();
        let watched = !plan.monitor.without.contains(&Subject::Processes);
        let mut unseen = names(&plan.monitor.processes);
        unseen.retain(|_| watched);
        still_unseen(&mut unseen, monitor.snapshot());
        lock(&shared).recorded.states = monitor.states();
        let ticker = Ticker::aligned(plan.every.ns(), MonotonicClock.now_ns(), clock::wall_ns());
        let (stop_it, kept) = (stop.clone(), shared.clone());
        let taker = Taker { monitor, files, ticker, stop: stop_it, shared: kept, unseen };
        let thread = thread::Builder::new()
            .name("plumb-host".into())
            .spawn(move || taker.run())
            .map_err(HostError::system("start a thread"))?;
        Ok(Self { facts, stop, shared, thread })
    }

    /// What this machine is.
    #[must_use]
    pub fn facts(&self) -> &HostFacts {
        &self.facts
    }

    /// The last sample; `None` before the first.
    #[must_use]
    pub fn latest(&self) -> Option<Sample> {
        lock(&self.shared).kept.latest().cloned()
    }

    /// What was recorded so far.
    #[must_use]
    pub fn so_far(&self) -> Recorded {
        lock(&self.shared).recorded.clone()
    }

    /// What happened from `from_ns` to `to_ns` on the monotonic clock: the samples whose greater
    /// part lies within. Only the last 3,600 samples are kept.
    #[must_use]
    pub fn window(&self, from_ns: u64, to_ns: u64) -> Usage {
        lock(&self.shared).kept.window(from_ns, to_ns)
    }

    /// True once it has ended by itself, because something could not be written.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the recording with a last sample up to this moment.
    ///
    /// # Errors
    /// [`HostError`] when something could not be written; what was written before stands.
    pub fn stop(self) -> Result<Recorded, HostError> {
        self.stop.ask();
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(std::mem::take(&mut lock(&self.shared).recorded))
    }
}

/// A monitor that cannot read the time of the processors is no use.
pub(crate) fn sees(monitor: &Monitor) -> Result<(), HostError> {
    let cpu = monitor.states().into_iter().find(|(subject, _)| *subject == Subject::Cpu);
    match cpu {
        Some((_, State::Unsupported(reason) | State::Failed(reason))) => {
            Err(HostError::Blind(format!("{reason}; is /proc mounted?")))
        }
        _ => Ok(()),
    }
}

/// The names among `wanted`, each once.
fn names(wanted: &[Wanted]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for each in wanted {
        match each {
            Wanted::Name(name) if !names.contains(name) => names.push(name.clone()),
            Wanted::Name(_) | Wanted::Pid(_) => {}
        }
    }
    names
}

/// Leaves those of `names` of which there is no process in `snapshot`.
fn still_unseen(names: &mut Vec<String>, snapshot: &Snapshot) {
    let all = snapshot.chosen.get().map_or(&[][..], Vec::as_slice);
    names.retain(|name| !all.iter().any(|process| process.name == kept_name(name)));
}

/// The thread that takes the samples.
#[derive(Debug)]
struct Taker {
    monitor: Monitor,
    files: Option<Files>,
    ticker: Ticker,
    stop: Arc<Stop>,
    shared: Arc<Mutex<Shared>>,
    /// Names of processes of which none was seen so far.
    unseen: Vec<String>,
}

impl Taker {
    fn run(mut self) -> Result<(), HostError> {
        let result = self.take_all();
        let costs = self.monitor.costs(COST_ROUNDS);
        let mut shared = lock(&self.shared);
        shared.recorded.missed = self.ticker.missed();
        shared.recorded.states = self.monitor.states();
        shared.recorded.costs = costs;
        shared.recorded.unseen = self.unseen;
        let Some(files) = self.files else { return result };
        shared.recorded.left_out = files.left_out();
        shared.recorded.files = files.paths();
        result.and_then(|()| files.finish())
    }

    fn take_all(&mut self) -> Result<(), HostError> {
        loop {
            let asked = self.stop.wait_until(self.ticker.next_ns());
            let asked = asked.map_err(HostError::system("wait for the next sample"))?;
            let now_ns = MonotonicClock.now_ns();
            let since_ns = now_ns.saturating_sub(self.monitor.snapshot().at_ns);
            // the last sample may be short, but not so short that it is nothing but noise
            // a line of the nmon file has the counts of its own time
            let ends_line = self.files.as_mut().is_some_and(|files| files.ends_line(now_ns));
            if !asked && !ends_line {
                self.take(Monitor::sample)?;
            } else if !asked || since_ns >= EVERY_LEAST.ns() {
                self.take(Monitor::sample_everything)?;
            }
            if asked {
                return Ok(());
            }
            self.ticker.taken(now_ns);
        }
    }

    fn take(&mut self, sample: impl Fn(&mut Monitor) -> Option<&Sample>) -> Result<(), HostError> {
        let Some(sample) = sample(&mut self.monitor) else {
            return Ok(());
        };
        {
            let mut shared = lock(&self.shared);
            shared.recorded.usage.add(sample);
            shared.kept.push(sample.clone());
        }
        if let Some(files) = &mut self.files {
            files.write(sample)?;
            files.write_line(self.monitor.snapshot())?;
        }
        still_unseen(&mut self.unseen, self.monitor.snapshot());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_procfs::Root;

    fn plan(every_ns: u64) -> RecorderPlan {
        RecorderPlan {
            monitor: MonitorPlan::default(),
            every: Span::from_ns(every_ns),
            folder: None,
            command: String::new(),
        }
    }

    #[test]
    fn a_pace_that_is_too_fast_is_refused_with_the_remedy() {
        let error = Recorder::start(&plan(9_999_999)).unwrap_err();
        assert!(error.to_string().contains("--every 10ms"), "{error}");
    }

    #[test]
    fn a_machine_without_proc_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let monitor = MonitorPlan { root: Root::below(folder.path()), ..MonitorPlan::default() };
        let error = Recorder::start(&RecorderPlan { monitor, ..plan(1_000_000_000) }).unwrap_err();
        assert!(error.to_string().contains("proc/stat"), "{error}");
    }

    #[test]
    fn a_name_that_no_process_has_is_told_at_the_end() {
        let own = std::fs::read_to_string("/proc/self/comm").unwrap();
        let processes = [own.trim_end(), "no-such-name", "1"].map(|it| it.parse().unwrap());
        let monitor = MonitorPlan { processes: processes.to_vec(), ..MonitorPlan::default() };
        let plan = RecorderPlan { monitor, ..plan(10_000_000) };
        let recorded = Recorder::start(&plan).unwrap().stop().unwrap();
        assert_eq!(recorded.unseen, ["no-such-name"]);
        let without = vec![Subject::Processes];
        let monitor = MonitorPlan { without, ..plan.monitor };
        let recorded = Recorder::start(&RecorderPlan { monitor, ..plan }).unwrap().stop().unwrap();
        assert!(recorded.unseen.is_empty(), "nobody looked");
    }

    #[test]
    fn samples_are_kept_and_summed_up() {
        let recorder = Recorder::start(&plan(10_000_000)).unwrap();
        while recorder.so_far().usage.samples < 3 && !recorder.has_ended() {
            thread::yield_now();
        }
        let latest = recorder.latest().unwrap();
        assert!(latest.interval_ns > 0, "{latest:?}"); // short after one that came late
        assert!(recorder.window(0, u64::MAX).samples >= 3);
        assert_eq!(recorder.window(0, 1).samples, 0);
        let recorded = recorder.stop().unwrap();
        assert!(recorded.usage.samples >= 3);
        assert!(
            recorded
                .states
                .iter()
                .any(|(subject, state)| { *subject == Subject::Cpu && state.is_active() })
        );
    }
}
