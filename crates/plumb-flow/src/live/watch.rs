//! Hearing of it when files of the folder change.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use plumb_engine::Stop;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Span, counted};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;

use super::{Live, Reloaded};
use plumb_serve::Log;

/// Files are read once nothing has happened to them for so long: an editor writes in steps.
const QUIET: Span = Span::from_ms(100);
/// But not later than this after the first change.
const PATIENCE_NS: u64 = 2_000_000_000;
/// Until somebody asks to stop.
const FOREVER: Span = Span::from_ms(3_600_000);

/// What is heard of in a folder.
const WHAT: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::ONLYDIR);

/// Puts changed files of `live` into force until `stop` is asked.
pub(crate) fn watch(live: &Live, log: &Log, stop: &Stop) {
    let watched = Watched::new(live).and_then(|mut watched| {
        // what changed before the first look at the folder was not seen
        reload(live, log);
        watched.follow(live, log, stop)
    });
    if let Err(error) = watched {
        let folder = live.folder().display();
        log.tell(format!("changes in {folder} are not seen any more: {error}; start again"));
    }
}

/// The folders that are watched.
struct Watched {
    events: OwnedFd,
    /// Those of which every change counts.
    whole: BTreeSet<i32>,
    /// The one in which the folder of transactions stands: another may take its name, or that of
    /// the link to it.
    above: Option<i32>,
}

impl Watched {
    fn new(live: &Live) -> io::Result<Self> {
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let mut watched = Self { events, whole: BTreeSet::new(), above: None };
        if live.folder().file_name().is_some() {
            let above = live.folder().parent().filter(|it| !it.as_os_str().is_empty());
            let what = WHAT.union(WatchFlags::CREATE); // links are written by nobody
            // one that may not be looked into tells nothing
            let above = inotify::add_watch(&watched.events, above.unwrap_or(".".as_ref()), what);
            watched.above = above.ok();
        }
        match inotify::add_watch(&watched.events, live.folder(), WHAT) {
            Ok(folder) => drop(watched.whole.insert(folder)),
            // it is just being replaced: the folder above tells of what comes
            Err(Errno::NOENT) if watched.above.is_some() => {}
            Err(error) => return Err(error.into()),
        }
        watched.add(live);
        Ok(watched)
    }

    /// Watches the folder, and those of the files in force that are named in it; true when one of
    /// them is new.
    fn add(&mut self, live: &Live) -> bool {
        let files = live.files();
        let folders = files.iter().filter_map(|file| file.parent());
        let all = std::iter::once(live.folder()).chain(folders);
        // one that is gone meanwhile has nothing to be seen
        let found: Vec<i32> =
            all.filter_map(|folder| inotify::add_watch(&self.events, folder, WHAT).ok()).collect();
        let before = self.whole.len();
        self.whole.extend(found);
        self.whole.len() > before
    }

    fn follow(&mut self, live: &Live, log: &Log, stop: &Stop) -> io::Result<()> {
        loop {
            stop.wait_for(self.events.as_fd(), FOREVER)?;
            if stop.asked() {
                return Ok(());
            }
            if !self.happened(live)? {
                continue;
            }
            let until_ns = MonotonicClock.now_ns() + PATIENCE_NS;
            loop {
                stop.wait_for(self.events.as_fd(), QUIET)?;
                let more = self.happened(live)?;
                if stop.asked() || !more || MonotonicClock.now_ns() > until_ns {
                    break;
                }
            }
            reload(live, log);
            if self.add(live) {
                // what changed there before it was watched was not seen
                reload(live, log);
            }
        }
    }

    /// Takes all events there are; true when some count.
    fn happened(&self, live: &Live) -> io::Result<bool> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        let mut some = false;
        loop {
            match reader.next() {
                Ok(event) => some |= self.counts(&event, live),
                Err(Errno::AGAIN) => return Ok(some),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn counts(&self, event: &inotify::Event<'_>, live: &Live) -> bool {
        if self.above != Some(event.wd()) || self.whole.contains(&event.wd()) {
            return true; // also events that were lost, which belong to no folder
        }
        let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
        name == live.folder().file_name()
    }
}

fn reload(live: &Live, log: &Log) {
    let reloaded = live.reload();
    tell(log, &reloaded);
    if matches!(reloaded, Reloaded::New { .. }) {
        fill(live, log);
    }
}

/// Opens the sessions that there shall be at the start, where that has not been tried.
pub(crate) fn fill(live: &Live, log: &Log) {
    live.current().servers.fill();
    if let Some(problem) = live.uncompiled() {
        log.tell(format!("stylesheets are not applied: {problem}"));
    }
}

fn tell(log: &Log, reloaded: &Reloaded) {
    match reloaded {
        Reloaded::Same => {}
        Reloaded::New { digest, count, changed } => {
            let transactions = counted(*count as u64, "transaction");
            let servers = match &**changed {
                [] => String::new(),
                names => format!("; other sessions with {}", names.join(", ")),
            };
            log.tell(format!("{transactions} in force, {digest}{servers}"));
        }
        Reloaded::Kept(problem) => {
            let line = in_one_line(problem);
            log.tell(format!("changed transactions are not in force: {line}"));
        }
    }
}

/// A problem as a line of the log, without the excerpts of files that people look at elsewhere.
fn in_one_line(problem: &str) -> String {
    let is_excerpt = |line: &&str| {
        let margin = line.trim_start_matches(|char: char| char == ' ' || char.is_ascii_digit());
        margin.starts_with('|')
    };
    problem.lines().filter(|line| !is_excerpt(line)).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use plumb_transaction::xslt::{Stylesheets, XsltLimits};

    use super::*;

    #[test]
    fn a_folder_that_is_away_when_watching_begins_is_seen_when_it_comes() {
        let around = tempfile::tempdir().unwrap();
        let place = |name: &str| around.path().join(name);
        fs::create_dir(place("flows")).unwrap();
        fs::write(place("flows/a.toml"), "[[action]]\nlog = \"one\"\n").unwrap();
        let stylesheets = Arc::new(Stylesheets::new(XsltLimits::default()));
        let live = Live::open(&place("flows"), Vec::new(), stylesheets).unwrap();
        fs::rename(place("flows"), place("other")).unwrap();
        let mut watched = Watched::new(&live).unwrap();
        assert!(!watched.happened(&live).unwrap());
        fs::rename(place("other"), place("flows")).unwrap();
        assert!(watched.happened(&live).unwrap());
        assert!(watched.add(&live));
        fs::write(place("flows/b.toml"), "").unwrap();
        assert!(watched.happened(&live).unwrap());
    }

    #[test]
    fn a_line_of_the_log_has_no_excerpts() {
        let problem =
            "a.toml, line 2, column 1: no\n  |\n2 | lgo = 1\n  | ^^^\nb.toml: it calls `c`";
        assert_eq!(in_one_line(problem), "a.toml, line 2, column 1: no; b.toml: it calls `c`");
    }
}
