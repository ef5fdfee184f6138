//! A far machine recorded for the time of a run, on a thread of its own.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use plumb_engine::Stop;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_measure::{Clock as _, Span};
use plumb_procfs::Root;

use super::client::FarHost;
use super::gaps::Gaps;
use super::wire::Request;
use crate::HostError;
use crate::facts::HostFacts;
use crate::options::EVERY_LEAST;
use crate::record::{self, Files, FilesPlan, Kept, Ticker, lock};
use crate::usage::Usage;

/// Time between an answer that did not come and the next question.
const AGAIN: Span = Span::from_ms(1_000);

/// A recording of a far machine that is under way. One that does not answer is asked again.
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
    gaps: Gaps,
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
        let asker = Asker {
            address: host.address().into(),
            name: host.name().into(),
            every_ns: every.ns(),
            files,
            stop: stop.clone(),
            shared: shared.clone(),
        };
        let thread = thread::Builder::new()
            .name("plumb-far-host".into())
            .spawn(move || asker.run(host))
            .map_err(HostError::system("start a thread"))?;
        Ok(Self { stop, shared, thread, files: paths })
    }

    /// What happened there from `from_ns` to `to_ns` on our monotonic clock: the samples whose
    /// greater part lies within. Only the last 3,600 samples are kept.
    #[must_use]
    pub fn window(&self, from_ns: u64, to_ns: u64) -> Usage {
        lock(&self.shared).kept.window(from_ns, to_ns)
    }

    /// Why samples lack from `from_ns` to `to_ns`, in words that go on behind `it`; `None` where none
    /// do, but for those before the first and those that are not due yet.
    #[must_use]
    pub fn gap(&self, from_ns: u64, to_ns: u64) -> Option<String> {
        lock(&self.shared).gaps.within(from_ns, to_ns)
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
    /// Where it answers, as the user named it.
    address: String,
    /// Its name: another machine that answers there is not recorded.
    name: String,
    /// Time between two samples as it was wanted, nanoseconds.
    every_ns: u64,
    files: Files,
    stop: Arc<Stop>,
    shared: Arc<Mutex<Shared>>,
}

/// A machine that answers, and what is known of its last answers.
struct Answering {
    host: FarHost,
    ticker: Ticker,
    /// When the last answer was there.
    answered_ns: u64,
    /// Up to where the nmon file is written.
    whole_from_ns: u64,
}

/// Why there are no more samples.
enum Ended {
    /// Nobody wants more.
    Stopped,
    /// The machine does something else than answering; it may answer again.
    Lost(String),
    /// What it answers cannot be kept, or nobody can wait for it.
    Broken(String),
}

impl Answering {
    /// The first sample is due no sooner than half an interval from now: a shorter one says little.
    fn new(host: FarHost, every_ns: u64) -> Self {
        let every_ns = every_ns.max(host.hello().every_ns);
        let (now_ns, half_ns) = (MonotonicClock.now_ns(), every_ns / 2);
        let wall_ns = clock::wall_ns().saturating_add(half_ns);
        let ticker = Ticker::aligned(every_ns, now_ns + half_ns, wall_ns);
        Self { whole_from_ns: host.at_ns(), host, ticker, answered_ns: now_ns }
    }
}

impl Asker {
    fn run(mut self, first: FarHost) {
        let mut found = Some(first);
        while let Some(host) = found {
            let mut answering = Answering::new(host, self.every_ns);
            let ended = self.ask_all(&mut answering);
            let answered_ns = answering.answered_ns;
            drop(answering); // a server of one client takes no second one before
            found = match ended {
                Ended::Stopped => None,
                Ended::Lost(cause) => {
                    lock(&self.shared).gaps.begin(answered_ns, cause);
                    self.find_again()
                }
                Ended::Broken(cause) => {
                    lock(&self.shared).gaps.begin(answered_ns, cause);
                    None
                }
            };
        }
        // what was written before a disk became full is all there is
        if let Err(error) = self.files.finish() {
            let from_ns = MonotonicClock.now_ns();
            lock(&self.shared).gaps.begin(from_ns, unwritten(error));
        }
    }

    /// The machine, once it answers again; `None` when nobody wants more samples.
    fn find_again(&self) -> Option<FarHost> {
        loop {
            let next_ns = MonotonicClock.now_ns().saturating_add(AGAIN.ns());
            if self.stop.wait_until(next_ns).unwrap_or(true) {
                return None;
            }
            let address = self.address.clone();
            match self.stop.unless_asked(move || FarHost::reach(&address)) {
                Ok(Ok(host)) if host.name() == self.name => {
                    lock(&self.shared).gaps.end(host.at_ns());
                    return Some(host);
                }
                Ok(_) => {} // it does not answer yet, or another machine does
                Err(_) => return None,
            }
        }
    }

    /// Asks until it is told to stop, or cannot go on.
    fn ask_all(&mut self, of: &mut Answering) -> Ended {
        loop {
            let stopped = match self.stop.wait_until(of.ticker.next_ns()) {
                Ok(stopped) => stopped,
                Err(error) => return Ended::Broken(format!("cannot be waited for: {error}")),
            };
            let now_ns = MonotonicClock.now_ns();
            // a request so soon after an answer that came late would be refused
            let least_ns = of.host.hello().every_ns.max(EVERY_LEAST.ns()) / 2;
            if now_ns.saturating_sub(of.answered_ns) >= least_ns
                && let Err(ended) = self.ask(of)
            {
                return ended;
            }
            if stopped {
                return Ended::Stopped;
            }
            of.ticker.taken(now_ns);
        }
    }

    fn ask(&mut self, of: &mut Answering) -> Result<(), Ended> {
        let unwritten = |error| Ended::Broken(unwritten(error));
        let (sample, answered_ns) = of.host.ask(Request::Sample).map_err(Ended::Lost)?;
        of.answered_ns = answered_ns;
        self.files.write(&sample).map_err(unwritten)?;
        let (wall_ns, monotonic_ns) = (sample.wall_ns, sample.monotonic_ns);
        lock(&self.shared).kept.push(sample);
        if self.files.is_line_due(of.whole_from_ns, monotonic_ns) {
            let (mut whole, _) = of.host.ask(Request::Whole).map_err(Ended::Lost)?;
            // it reaches up to the sample, not up to the moment at which it was asked for
            (whole.wall_ns, whole.monotonic_ns) = (wall_ns, monotonic_ns);
            of.whole_from_ns = monotonic_ns;
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
    let ours = record::stem(ours);
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
        assert_eq!(stem("host", ""), "host-far");
    }
}
