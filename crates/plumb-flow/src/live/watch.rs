//! Hearing of it when files of the folder change.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};

use plumb_engine::Stop;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Span, counted};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;

use super::{Live, Reloaded};
use crate::log::Log;

/// Files are read once nothing has happened to them for so long: an editor writes in steps.
const QUIET: Span = Span::from_ms(100);
/// But not later than this after the first change.
const PATIENCE_NS: u64 = 2_000_000_000;
/// Until somebody asks to stop.
const FOREVER: Span = Span::from_ms(3_600_000);

/// Puts changed files of `live` into force until `stop` is asked.
pub(crate) fn watch(live: &Live, log: &Log, stop: &Stop) {
    let watched = begin(live).and_then(|events| {
        // what changed before the first look at the folder was not seen
        tell(log, &live.reload());
        follow(live, &events, log, stop)
    });
    if let Err(error) = watched {
        let folder = live.folder().display();
        log.tell(format!("changes in {folder} are not seen any more: {error}; start again"));
    }
}

fn begin(live: &Live) -> io::Result<OwnedFd> {
    let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    add(live, &events)?;
    Ok(events)
}

/// Watches the folder, and those of the stylesheets in force; one that is watched already stays so.
fn add(live: &Live, events: &OwnedFd) -> io::Result<()> {
    let what = WatchFlags::CLOSE_WRITE
        | WatchFlags::MOVED_FROM
        | WatchFlags::MOVED_TO
        | WatchFlags::DELETE
        | WatchFlags::ONLYDIR;
    inotify::add_watch(events, live.folder(), what)?;
    for stylesheet in live.current().transactions.stylesheets() {
        if let Some(folder) = live.folder().join(stylesheet.path()).parent() {
            // one that is gone meanwhile has nothing to be seen
            let _ = inotify::add_watch(events, folder, what);
        }
    }
    Ok(())
}

fn follow(live: &Live, events: &OwnedFd, log: &Log, stop: &Stop) -> io::Result<()> {
    loop {
        stop.wait_for(events.as_fd(), FOREVER)?;
        if stop.asked() {
            return Ok(());
        }
        if !happened(events)? {
            continue;
        }
        let until_ns = MonotonicClock.now_ns() + PATIENCE_NS;
        loop {
            stop.wait_for(events.as_fd(), QUIET)?;
            let more = happened(events)?;
            if stop.asked() || !more || MonotonicClock.now_ns() > until_ns {
                break;
            }
        }
        tell(log, &live.reload());
        add(live, events)?;
    }
}

/// Takes all events there are; true when there were some.
fn happened(events: &OwnedFd) -> io::Result<bool> {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = inotify::Reader::new(events, &mut buffer);
    let mut some = false;
    loop {
        match reader.next() {
            Ok(_) => some = true,
            Err(Errno::AGAIN) => return Ok(some),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn tell(log: &Log, reloaded: &Reloaded) {
    match reloaded {
        Reloaded::Same => {}
        Reloaded::New(digest, count) => {
            log.tell(format!("{} in force, {digest}", counted(*count as u64, "transaction")));
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
    use super::*;

    #[test]
    fn a_line_of_the_log_has_no_excerpts() {
        let problem =
            "a.toml, line 2, column 1: no\n  |\n2 | lgo = 1\n  | ^^^\nb.toml: it calls `c`";
        assert_eq!(in_one_line(problem), "a.toml, line 2, column 1: no; b.toml: it calls `c`");
    }
}
