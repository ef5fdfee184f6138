//! The folder of a watch: its command, its log, the folders of its runs.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use plumb_command::exit;
use plumb_folder::{FolderError, Held, Place, RECORD};
use plumb_measure::counted;

use super::entry::Entry;
use crate::measure::Run;

/// The log of a watch: a line a measurement.
const LOG: &str = "watch.jsonl";
/// The command that is watched.
const COMMAND: &str = "command.txt";
/// Where its runs lie.
const RUNS: &str = "runs";
/// Lines of a log that are read at most: ten years of one every five minutes.
const LINES_MAX: usize = 1_100_000;

/// A folder with what was measured so far, in which no other process works.
#[derive(Debug)]
pub(super) struct WatchFolder {
    folder: PathBuf,
    _held: Held,
    entries: Vec<Entry>,
    /// So many of them are in the log.
    written: usize,
    /// Bytes of the log, as far as it is known to end with a whole line.
    log_bytes: u64,
    /// The folders of runs that are there, the oldest first.
    runs: VecDeque<String>,
    /// What went wrong beside the last measurement, and has been told.
    troubles: Vec<String>,
}

impl WatchFolder {
    /// Opens the watch of `command` in `folder`, or begins one.
    pub(super) fn open(folder: &Path, command: &str) -> anyhow::Result<Self> {
        let (log, name) = (folder.join(LOG), folder.join(COMMAND));
        let is_new = !log.exists() && !name.exists();
        let made = is_new.then(|| Place::create_new(folder)).transpose();
        let made = made.map_err(|error| match error {
            FolderError::NotEmpty { .. }
            | FolderError::HoldsRun { .. }
            | FolderError::HoldsExperiment { .. } => {
                anyhow!("{} holds something else: name another --out", folder.display())
            }
            other => other.into(),
        })?;
        let held = Held::take(folder).map_err(anyhow::Error::from);
        let opened = held.and_then(|held| Self::held((folder, held), command));
        if let (Err(_), Some(made)) = (&opened, made) {
            made.discard(&[]); // it stays when another process has begun a watch there
        }
        opened
    }

    /// Opens or begins it, with nobody who changes meanwhile what is read.
    fn held((folder, held): (&Path, Held), command: &str) -> anyhow::Result<Self> {
        let (log, name) = (folder.join(LOG), folder.join(COMMAND));
        let watched = read(&name)?.filter(|it| !it.is_empty()); // empty, it was cut by a power failure
        if let Some(other) = watched.as_ref().filter(|it| it.trim_end() != command) {
            let other = other.trim_end();
            bail!("{} watches `{other}`: name another --out", folder.display());
        }
        if watched.is_none() {
            // a file that is there stays whole when the disk is full
            let new = folder.join("command.txt.new");
            fs::write(&new, format!("{command}\n"))
                .and_then(|()| fs::rename(&new, &name))
                .inspect_err(|_| drop(fs::remove_file(&new)))
                .with_context(|| name.display().to_string())?;
        }
        fs::create_dir_all(folder.join(RUNS)).with_context(|| folder.display().to_string())?;
        let mut text = read(&log)?.unwrap_or_default();
        // the disk was full, or the machine stopped: what lies behind is a part of a line
        text.truncate(whole_lines(text.as_bytes()));
        let entries = entries(&text, &log)?;
        let runs = runs(folder, &entries).with_context(|| folder.display().to_string())?;
        Ok(Self {
            folder: folder.to_owned(),
            _held: held,
            written: entries.len(),
            log_bytes: text.len() as u64,
            entries,
            runs,
            troubles: Vec::new(),
        })
    }

    /// All measurements so far.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The folder for a run that begins at `at`, below that of the watch.
    pub(super) fn next_run(&self, at: &str) -> String {
        // several may begin within a second
        format!("{RUNS}/{}-{}", at.replace(':', ""), self.entries.len() + 1)
    }

    /// Where `run` lies.
    pub(super) fn path(&self, run: &str) -> PathBuf {
        self.folder.join(run)
    }

    /// Removes what a measurement has left.
    pub(super) fn discard(&self, run: &str) {
        let _ = fs::remove_dir_all(self.path(run)); // what stays is removed when the watch goes on
    }

    /// Keeps what came of the measurement that began at `at` in the folder `run`, and the folders of
    /// the last `most` runs. What cannot be written or removed ends no watch: it is told once, and
    /// tried again with the next measurement.
    pub(super) fn keep(
        &mut self,
        (at, run): (String, String),
        measured: anyhow::Result<Run>,
        most: usize,
    ) {
        let is_there = self.path(&run).join(RECORD).exists();
        if is_there {
            self.runs.push_back(run.clone());
        } else {
            self.discard(&run); // it ended before there was a record
        }
        let entry = match measured {
            Ok(measured) => Entry::of(at, run, &measured.record),
            Err(error) => {
                let problem = exit::said(&error);
                Entry { run: is_there.then_some(run), ..Entry::none(at, problem) }
            }
        };
        let line = format!("{}\n", entry.shown());
        self.entries.push(entry);
        let done = [self.write(), exit::print(&line), self.forget(most)];
        let troubles: Vec<String> =
            done.into_iter().filter_map(|it| Some(exit::said(&it.err()?))).collect();
        for trouble in troubles.iter().filter(|it| !self.troubles.contains(it)) {
            exit::note(&format!("{trouble}; the watch goes on"));
        }
        self.troubles = troubles;
    }

    /// Writes down what is in no line yet, a last time.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn end(&mut self) -> anyhow::Result<()> {
        self.write().with_context(|| {
            let lacking = (self.entries.len() - self.written) as u64;
            format!("the log lacks {}", counted(lacking, "measurement"))
        })
    }

    /// Writes down what is in no line yet.
    fn write(&mut self) -> anyhow::Result<()> {
        let path = self.folder.join(LOG);
        self.append(&path).with_context(|| path.display().to_string())
    }

    fn append(&mut self, path: &Path) -> anyhow::Result<()> {
        if self.written == self.entries.len() {
            return Ok(());
        }
        let mut log = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        if log.metadata()?.len() != self.log_bytes {
            // there was no room for the whole of a line, or the log was put away since
            let mut text = Vec::new();
            log.read_to_end(&mut text)?;
            self.log_bytes = whole_lines(&text) as u64;
            log.set_len(self.log_bytes)?;
        }
        while let Some(entry) = self.entries.get(self.written) {
            let line = format!("{}\n", serde_json::to_string(entry)?);
            log.write_all(line.as_bytes())?; // in one piece: a line is there or not
            self.written += 1;
            self.log_bytes += line.len() as u64;
        }
        Ok(())
    }

    /// Removes the folders of the runs that are too many.
    fn forget(&mut self, most: usize) -> anyhow::Result<()> {
        while let Some(run) = self.runs.front().filter(|_| self.runs.len() > most) {
            let folder = self.path(run);
            match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| folder.display().to_string());
                }
                _ => {} // somebody may have removed it
            }
            self.runs.pop_front();
        }
        Ok(())
    }
}

/// The measurements in the lines of `text`, which are those of the file `log`.
fn entries(text: &str, log: &Path) -> anyhow::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if number > LINES_MAX {
            bail!("{} has more than {LINES_MAX} lines: name another --out", log.display());
        }
        let entry = serde_json::from_str(line)
            .with_context(|| format!("{}, line {number} is no measurement", log.display()))?;
        entries.push(entry);
    }
    Ok(entries)
}

/// The folders of the runs of the watch in `folder`, the oldest first: those of its `entries`, and
/// between them those that ended with the machine before they had a line. One without a record was
/// not finished, and is removed.
fn runs(folder: &Path, entries: &[Entry]) -> io::Result<VecDeque<String>> {
    let mut there = BTreeSet::new();
    for entry in fs::read_dir(folder.join(RUNS))? {
        // of whoever else has put something there nothing is removed
        let name = entry?.file_name().into_string();
        there.extend(name.ok().filter(|it| is_of_run(it)).map(|name| format!("{RUNS}/{name}")));
    }
    let named = entries.iter().filter_map(|entry| entry.run.as_ref());
    let mut runs: VecDeque<String> = named.filter(|run| there.remove(*run)).cloned().collect();
    for run in there {
        if folder.join(&run).join(RECORD).exists() {
            let before = runs.iter().rposition(|other| began(other) < began(&run));
            runs.insert(before.map_or(0, |at| at + 1), run);
        } else {
            let _ = fs::remove_dir_all(folder.join(run)); // tried again when the watch goes on
        }
    }
    Ok(runs)
}

/// True when the folder of a run is called so: `2026-11-21T083048Z-7`.
fn is_of_run(name: &str) -> bool {
    began(name).is_some_and(|(time, _)| {
        let shape = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c });
        shape.eq("0000-00-00T000000Z".chars())
    })
}

/// When a run began, and which of that second it is, as its folder is called.
fn began(run: &str) -> Option<(&str, u64)> {
    let (time, number) = run.rsplit_once('-')?;
    Some((time, number.parse().ok()?))
}

/// Bytes of the lines of `text` that have an end: behind them is a part of one.
fn whole_lines(text: &[u8]) -> usize {
    text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

/// The text of a file, where there is one.
fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).with_context(|| path.display().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use plumb_engine::clock;

    use super::*;

    /// Keeps a measurement that came to nothing, and says in which folder.
    fn keep(watch: &mut WatchFolder, most: usize) -> String {
        let at = clock::utc(clock::wall_ns());
        let run = watch.next_run(&at);
        watch.keep((at, run.clone()), Err(anyhow::anyhow!("nobody answers")), most);
        run
    }

    fn lines(at: &Path) -> usize {
        let text = fs::read_to_string(at.join(LOG)).unwrap();
        assert!(text.ends_with('\n'), "{text}");
        entries(&text, Path::new(LOG)).unwrap().len()
    }

    #[test]
    fn a_line_without_room_is_written_with_the_next_one() {
        let at = tempfile::tempdir().unwrap();
        let mut watch = WatchFolder::open(at.path(), "net ping h").unwrap();
        keep(&mut watch, 9);
        let (log, away) = (at.path().join(LOG), at.path().join("away"));
        fs::rename(&log, &away).unwrap();
        fs::create_dir(&log).unwrap();
        for _ in 0..2 {
            keep(&mut watch, 9);
            assert_eq!(watch.troubles.len(), 1, "{:?}", watch.troubles);
        }
        let lacking = format!("{:#}", watch.end().unwrap_err());
        assert!(lacking.starts_with("the log lacks 2 measurements: "), "{lacking}");
        // a part of a line was written
        fs::remove_dir(&log).unwrap();
        fs::rename(&away, &log).unwrap();
        let mut torn = OpenOptions::new().append(true).open(&log).unwrap();
        torn.write_all(b"{\"at\":\"2026-").unwrap();
        keep(&mut watch, 9);
        assert_eq!((lines(at.path()), watch.troubles.len()), (4, 0));
        watch.end().unwrap();
        // somebody has put the log away, and of the first line of another a part was written
        fs::rename(&log, &away).unwrap();
        fs::write(&log, "{").unwrap();
        keep(&mut watch, 9);
        assert_eq!(lines(at.path()), 1);
        // whole lines of a process that keeps nobody out stay
        let line = fs::read_to_string(&log).unwrap();
        fs::write(&log, format!("{line}{line}{{")).unwrap();
        keep(&mut watch, 9);
        assert_eq!(lines(at.path()), 3);
    }

    #[test]
    fn a_run_without_a_line_is_as_old_as_its_name_says() {
        let at = tempfile::tempdir().unwrap();
        let run = |hour: u8| {
            (format!("2026-11-21T{hour:02}:00:00Z"), format!("{RUNS}/2026-11-21T{hour:02}0000Z-1"))
        };
        let record = |hour: u8| {
            fs::create_dir_all(at.path().join(run(hour).1)).unwrap();
            fs::write(at.path().join(run(hour).1).join(RECORD), "{}").unwrap();
        };
        // the machine stopped before the second had its line, and again behind the third
        for hours in [[8].as_slice(), &[10], &[11]] {
            let mut watch = WatchFolder::open(at.path(), "net ping h").unwrap();
            for hour in hours {
                record(*hour);
                watch.keep(run(*hour), Err(anyhow!("no room")), 2);
            }
            drop(watch);
            if hours == [8] {
                record(9);
            }
        }
        let left = [8, 9, 10, 11].map(|hour| at.path().join(run(hour).1).exists());
        assert_eq!(left, [false, false, true, true]);
    }

    #[test]
    fn folders_without_a_record_do_not_stay_and_those_without_a_line_are_counted() {
        let at = tempfile::tempdir().unwrap();
        drop(WatchFolder::open(at.path(), "net ping h").unwrap());
        let runs = at.path().join(RUNS);
        for name in ["2026-11-21T083048Z-1", "2026-11-21T083048Z-2", "notes", "2026-11-21"] {
            fs::create_dir(runs.join(name)).unwrap();
        }
        fs::write(runs.join("2026-11-21T083048Z-2").join(RECORD), "{}").unwrap();
        let mut watch = WatchFolder::open(at.path(), "net ping h").unwrap();
        let names = |runs: &Path| {
            let names = fs::read_dir(runs).unwrap();
            let mut names: Vec<_> = names.map(|it| it.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&runs), ["2026-11-21", "2026-11-21T083048Z-2", "notes"]);
        // one that has failed with a record is counted, and without one it is not there
        let next = watch.next_run(&clock::utc(clock::wall_ns()));
        fs::create_dir(watch.path(&next)).unwrap();
        fs::write(watch.path(&next).join("intervals.hlog"), "").unwrap();
        let failed = keep(&mut watch, 1);
        assert_eq!(watch.entries()[0].run, None);
        assert!(!watch.path(&failed).exists());
        let at = clock::utc(clock::wall_ns());
        let broken = watch.next_run(&at);
        fs::create_dir(watch.path(&broken)).unwrap();
        fs::write(watch.path(&broken).join(RECORD), "{}").unwrap();
        watch.keep((at, broken.clone()), Err(anyhow::anyhow!("no room")), 1);
        assert_eq!(watch.entries()[1].run.as_ref(), Some(&broken));
        let left = broken.trim_start_matches("runs/");
        assert_eq!(names(&runs), ["2026-11-21", left, "notes"]);
    }

    #[test]
    fn two_do_not_watch_into_one_folder() {
        let at = tempfile::tempdir().unwrap();
        let first = WatchFolder::open(at.path(), "net ping h").unwrap();
        let refused = WatchFolder::open(at.path(), "net ping h").unwrap_err().to_string();
        assert!(refused.contains("another process works in"), "{refused}");
        drop(first);
        WatchFolder::open(at.path(), "net ping h").unwrap();
    }
}
