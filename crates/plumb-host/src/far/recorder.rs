//! A far machine recorded for the time of a run, on a thread of its own.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use plumb_engine::Stop;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_measure::{Clock as _, Span};
use plumb_procfs::Root;

use super::client::FarHost;
use super::wire::Request;
use crate::HostError;
use crate::facts::HostFacts;
use crate::options::EVERY_LEAST;
use crate::record::{Files, FilesPlan, Kept, Ticker, lock};
use crate::usage::Usage;

/// A recording of a far machine that is under way.
#[derive(Debug)]
pub struct FarRecorder {
    stop: Arc<Stop>,
    shared: Arc<Mutex<Shared>>,
    thread: JoinHandle<()>,
    files: Vec<PathBuf>,
}

#[derive(Debug, Default)]
struct Shared {
    kept: Kept,
    lost: Option<String>,
}

impl FarRecorder {
    /// Asks `host` for a sample every `every`, or as often as it allows, and writes `NAME.csv` and
    /// `NAME.nmon` into `folder`. Times are those of our clocks: the moment of a sample is the
    /// middle between its request and its answer.
    ///
    /// # Errors
    /// [`HostError`] when the pace is too fast, or a file cannot be made.
    pub fn start(host: FarHost, every: Span, folder: &Path) -> Result<Self, HostError> {
        if every < EVERY_LEAST {
            return Err(HostError::TooOften { every, least: EVERY_LEAST });
        }
        let every = every.max(Span::from_ns(host.hello().every_ns));
        let ours = HostFacts::read(&Root::of_this_machine()).name;
        let command = format!("plumb --far-host {} by the clocks of {ours}", host.address());
        let facts = HostFacts { name: host.name().into(), ..host.hello().facts.clone() };
        let files = Files::create(&FilesPlan {
            folder,
            stem: &stem(host.name(), &ours),
            facts: &facts,
            every,
            command: &command,
            followed: &[], // its server knows
        })?;
        let stop = Arc::new(Stop::new().map_err(HostError::system("make a socket pair"))?);
        let shared = Arc::<Mutex<Shared>>::default();
        let paths = files.paths();
        // the first is due no sooner than half an interval from now: a shorter one says little
        let half_ns = every.ns() / 2;
        let now_ns = MonotonicClock.now_ns();
        let ticker =
            Ticker::aligned(every.ns(), now_ns + half_ns, clock::wall_ns().saturating_add(half_ns));
        let (answered_ns, whole_from_ns) = (now_ns, host.at_ns());
        let (stop_it, kept) = (stop.clone(), shared.clone());
        let asker =
            Asker { host, files, ticker, stop: stop_it, shared: kept, answered_ns, whole_from_ns };
        let thread = thread::Builder::new()
            .name("plumb-far-host".into())
            .spawn(move || asker.run())
            .map_err(HostError::system("start a thread"))?;
        Ok(Self { stop, shared, thread, files: paths })
    }

    /// What happened there from `from_ns` to `to_ns` on our monotonic clock: the samples whose
    /// greater part lies within. Only the last 3,600 samples are kept.
    #[must_use]
    pub fn window(&self, from_ns: u64, to_ns: u64) -> Usage {
        lock(&self.shared).kept.window(from_ns, to_ns)
    }

    /// Why there are no more samples, in words that go on behind `it`; `None` while there are.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        lock(&self.shared).lost.clone()
    }

    /// Ends the recording; the files that were written.
    #[must_use]
    pub fn stop(self) -> Vec<PathBuf> {
        self.stop.ask();
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        self.files
    }
}

/// The thread that asks for the samples.
struct Asker {
    host: FarHost,
    files: Files,
    ticker: Ticker,
    stop: Arc<Stop>,
    shared: Arc<Mutex<Shared>>,
    /// When the last answer was there.
    answered_ns: u64,
    /// Up to where the nmon file is written.
    whole_from_ns: u64,
}

impl Asker {
    fn run(mut self) {
        let asked = self.ask_all();
        // what was written before a disk became full is all there is
        let finished = self.files.finish().map_err(unwritten);
        if let Err(cause) = asked.and(finished) {
            lock(&self.shared).lost = Some(cause);
        }
    }

    /// Asks until it is told to stop; `Err` says why it could not go on.
    fn ask_all(&mut self) -> Result<(), String> {
        loop {
            let stopped = self.stop.wait_until(self.ticker.next_ns());
            let stopped = stopped.map_err(|error| format!("cannot be waited for: {error}"))?;
            let now_ns = MonotonicClock.now_ns();
            // a request so soon after an answer that came late would be refused
            let least_ns = self.host.hello().every_ns.max(EVERY_LEAST.ns()) / 2;
            if now_ns.saturating_sub(self.answered_ns) >= least_ns {
                self.ask()?;
            }
            if stopped {
                return Ok(());
            }
            self.ticker.taken(now_ns);
        }
    }

    fn ask(&mut self) -> Result<(), String> {
        let (sample, answered_ns) = self.host.ask(Request::Sample)?;
        self.answered_ns = answered_ns;
        self.files.write(&sample).map_err(unwritten)?;
        let (wall_ns, monotonic_ns) = (sample.wall_ns, sample.monotonic_ns);
        lock(&self.shared).kept.push(sample);
        if self.files.is_line_due(self.whole_from_ns, monotonic_ns) {
            let (mut whole, _) = self.host.ask(Request::Whole)?;
            // it reaches up to the sample, not up to the moment at which it was asked for
            (whole.wall_ns, whole.monotonic_ns) = (wall_ns, monotonic_ns);
            self.whole_from_ns = monotonic_ns;
            self.files.write_whole(&whole).map_err(unwritten)?;
        }
        Ok(())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it stands where an error is mapped")]
fn unwritten(error: HostError) -> String {
    format!("cannot be written down: {error}")
}

/// The name of the files of `host`, beside those of `ours`.
fn stem(host: &str, ours: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let stem: String = host.trim_start_matches('.').chars().map(plain).collect();
    match stem.as_str() {
        "" => "far".into(),
        same if same == ours => format!("{same}-far"),
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_stay_in_their_folder_and_beside_ours() {
        assert_eq!(stem("db7.example", "app1"), "db7.example");
        assert_eq!(stem("../../etc/x y", "app1"), "_.._etc_x_y");
        assert_eq!(stem("app1", "app1"), "app1-far");
        assert_eq!(stem("..", "app1"), "far");
    }
}
