//! Files as a source: read once or followed, at the pace of their time stamps or of a rate.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plumb_engine::clock::{MonotonicClock, wall_ns};
use plumb_measure::Clock as _;

use super::rows::{Columns, Lines};
use super::{Feed, Outlet, SourceError, TagName};
use crate::change::{Change, Position};

/// How long a file that is followed is left alone at its end.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// Changes that are handed over at once.
const BATCH: usize = 500;
/// A line that is longer is none.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// Lines that cannot be read are told one by one up to so many.
const TOLD_MAX: u64 = 10;

/// When changes are brought.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As far apart as their time stamps, this many times as fast.
    TimeStamps(f64),
    /// So many a second.
    Rate(f64),
    /// As fast as they are taken.
    Full,
}

/// A file, and how it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayPlan {
    /// The file.
    pub file: PathBuf,
    /// What its columns mean; without them each line is a value of `tag`.
    pub columns: Option<Columns>,
    /// The tag of lines without columns.
    pub tag: TagName,
    /// At its end it is waited for more.
    pub follows: bool,
    /// When changes are brought.
    pub pace: Pace,
}

/// The file as it is read.
struct Reading {
    reader: BufReader<File>,
    /// The number that the file system knows it by.
    file: u64,
    /// Behind the last line that was taken.
    at: u64,
    line: u64,
    lines: Lines,
    /// A line without its end so far.
    begun: Vec<u8>,
}

/// Holds changes back until they are due.
struct Metronome {
    pace: Pace,
    began_ns: u64,
    first_ms: Option<u64>,
    count: u64,
}

/// Brings the changes of the file.
pub(super) async fn run(plan: &ReplayPlan, outlet: Outlet) -> Result<(), SourceError> {
    let mut reading = Reading::open(plan, Some(outlet.from))?;
    let mut metronome = Metronome::new(plan.pace);
    let (mut feed, mut unread) = (Feed::default(), 0);
    let mut skipped = reading.part_of(outlet.from);
    // another file has its name; why that one cannot be read yet was told
    let (mut replaced, mut told) = (false, false);
    loop {
        let began_at = reading.at;
        let Some(line) = reading.next_line(plan.follows).map_err(|error| plan.unreadable(error))?
        else {
            if !outlet.put(std::mem::take(&mut feed)).await || !plan.follows {
                return Ok(());
            }
            // whoever writes gave it its last lines before, and all of them were read since
            match replaced.then(|| Reading::open(plan, None)) {
                Some(Ok(other)) => {
                    (outlet.log)(format!("{} is another file now", plan.file.display()));
                    (reading, replaced, told) = (other, false, false);
                    continue;
                }
                Some(Err(error)) if !std::mem::replace(&mut told, true) => {
                    let file = plan.file.display();
                    (outlet.log)(format!("{file} is another file now, not read yet: {error}"));
                }
                _ => {}
            }
            tokio::time::sleep(LOOK_AGAIN).await;
            replaced = replaced || reading.is_replaced(&plan.file);
            continue;
        };
        let now_ms = wall_ns() / 1_000_000;
        let changes = match line.and_then(|line| reading.lines.changes(&line, now_ms)) {
            Ok(changes) => changes,
            Err(problem) => {
                unread += 1;
                if !feed.changes.is_empty() && !outlet.put(std::mem::take(&mut feed)).await {
                    return Ok(());
                }
                feed.never_seen += 1;
                feed.after = Some(reading.position());
                if unread <= TOLD_MAX {
                    let (file, line) = (plan.file.display(), reading.line);
                    (outlet.log)(format!("{file}, line {line} is left out: {problem}"));
                }
                continue;
            }
        };
        let skip = std::mem::take(&mut skipped);
        for change in reading.placed(changes, began_at).into_iter().skip(skip as usize) {
            let wait = metronome.wait(&change);
            if (wait.is_some() || feed.changes.len() >= BATCH)
                && !outlet.put(std::mem::take(&mut feed)).await
            {
                return Ok(());
            }
            if let Some(wait) = wait {
                tokio::time::sleep(wait).await;
            }
            feed.after = None; // the change says so
            feed.changes.push(change);
        }
    }
}

impl ReplayPlan {
    fn unreadable(&self, error: std::io::Error) -> SourceError {
        SourceError::Unreadable { path: self.file.clone(), error }
    }
}

impl Reading {
    /// Opens the file at `from`, or at its beginning when that was in another one.
    fn open(plan: &ReplayPlan, from: Option<Position>) -> Result<Self, SourceError> {
        let unreadable = |error| plan.unreadable(error);
        let file = File::open(&plan.file).map_err(unreadable)?;
        let known = file.metadata().map_err(unreadable)?;
        let lines = Lines::Values(plan.tag.clone());
        let reader = BufReader::with_capacity(1 << 16, file);
        let mut reading =
            Self { reader, file: known.ino(), at: 0, line: 0, lines, begun: Vec::new() };
        if let Some(columns) = &plan.columns {
            // one that took the place of another is being written, its header too
            let header = reading.next_line(from.is_none()).map_err(unreadable)?;
            let empty = || Err("it is empty: the first line names columns".into());
            let read = header.unwrap_or_else(empty);
            let lines = read.and_then(|header| Lines::of_header(&header, columns));
            let wrong = |problem| SourceError::Line { path: plan.file.clone(), line: 1, problem };
            reading.lines = lines.map_err(wrong)?;
        }
        let same = |from: &Position| from.within == known.ino() && from.at <= known.len();
        if let Some(from) = from.filter(same)
            && from.at > reading.at
        {
            reading.reader.seek(SeekFrom::Start(from.at)).map_err(unreadable)?;
            reading.at = from.at;
        }
        Ok(reading)
    }

    /// The next line that has an end, or the last one of a file that is not followed; why it is no text,
    /// where it is none.
    fn next_line(&mut self, follows: bool) -> std::io::Result<Option<Result<String, String>>> {
        loop {
            let room = LINE_BYTES_MAX.saturating_sub(self.begun.len() as u64);
            let mut limited = std::io::Read::take(&mut self.reader, room);
            let count = limited.read_until(b'\n', &mut self.begun)?;
            let whole = self.begun.ends_with(b"\n") || self.begun.len() as u64 >= LINE_BYTES_MAX;
            if self.begun.is_empty() || !whole && (follows || count > 0) {
                if count > 0 {
                    continue;
                }
                return Ok(None);
            }
            self.at += self.begun.len() as u64;
            self.line += 1;
            let line = std::str::from_utf8(&self.begun)
                .map(|line| line.trim_end_matches(['\r', '\n']).to_owned())
                .map_err(|error| format!("byte {} of it is no UTF-8", error.valid_up_to() + 1));
            self.begun.clear();
            if line.as_ref().map_or(true, |line| !line.is_empty()) {
                return Ok(Some(line));
            }
        }
    }

    /// Says of each change of the line that began at `from` where to go on behind it.
    fn placed(&self, mut changes: Vec<Change>, from: u64) -> Vec<Change> {
        let (last, file) = (changes.len().saturating_sub(1), self.file);
        for (number, change) in changes.iter_mut().enumerate() {
            let part = u32::try_from(number + 1).unwrap_or(u32::MAX);
            change.after = if number == last {
                self.position()
            } else {
                Position { at: from, part, within: file }
            };
        }
        changes
    }

    /// Behind the last line that was taken.
    fn position(&self) -> Position {
        Position { at: self.at, part: 0, within: self.file }
    }

    /// Changes of the next line that were taken before, where `from` is in this file, and not at
    /// the same place of another one.
    fn part_of(&self, from: Position) -> u32 {
        if from.at == self.at && from.within == self.file { from.part } else { 0 }
    }

    /// True when its name is another file's now, or it has been cut.
    fn is_replaced(&self, path: &Path) -> bool {
        let found = std::fs::metadata(path);
        found.is_ok_and(|found| found.ino() != self.file || found.len() < self.at)
    }
}

impl Metronome {
    fn new(pace: Pace) -> Self {
        Self { pace, began_ns: MonotonicClock.now_ns(), first_ms: None, count: 0 }
    }

    /// How long `change` is to be held back.
    #[expect(clippy::cast_precision_loss, reason = "times and counts are far below 2^53")]
    fn wait(&mut self, change: &Change) -> Option<Duration> {
        let first_ms = *self.first_ms.get_or_insert(change.time_ms);
        self.count += 1;
        let due_s = match self.pace {
            Pace::Full => return None,
            Pace::Rate(rate) => (self.count - 1) as f64 / rate,
            Pace::TimeStamps(speed) => change.time_ms.saturating_sub(first_ms) as f64 / 1e3 / speed,
        };
        let now_s = MonotonicClock.now_ns().saturating_sub(self.began_ns) as f64 / 1e9;
        // what is due later than time goes is never due
        let until = |seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        (due_s > now_s + 0.001).then(|| until(due_s - now_s))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use tokio::sync::mpsc;

    use super::*;

    fn plan(file: PathBuf, follows: bool) -> ReplayPlan {
        let columns = Columns { time: Some("t".into()), delimiter: b',', ..Columns::default() };
        ReplayPlan { file, columns: Some(columns), tag: "line".into(), follows, pace: Pace::Full }
    }

    fn read(plan: &ReplayPlan, from: Position, most: usize) -> (Vec<Change>, u64) {
        let (all, never_seen, _) = read_behind(plan, from, most);
        (all, never_seen)
    }

    /// The same, and where to go on behind all of it.
    fn read_behind(
        plan: &ReplayPlan,
        from: Position,
        most: usize,
    ) -> (Vec<Change>, u64, Option<Position>) {
        let (feeds, mut taken) = mpsc::channel(1);
        let (_marks, marks) = mpsc::unbounded_channel();
        let outlet = Outlet { from, feeds, marks, log: std::sync::Arc::new(|_| ()) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (mut all, mut never_seen, mut behind) = (Vec::<Change>::new(), 0, None);
            let take = async {
                while all.len() < most {
                    let Some(feed) = taken.recv().await else { break };
                    behind = feed.after.or(feed.changes.last().map(|it| it.after)).or(behind);
                    all.extend(feed.changes);
                    never_seen += feed.never_seen;
                }
                taken.close();
                while taken.recv().await.is_some() {}
            };
            let (ended, ()) = tokio::join!(run(plan, outlet), take);
            ended.unwrap();
            (all, never_seen, behind)
        })
    }

    fn told(changes: &[Change]) -> Vec<String> {
        changes.iter().map(|it| format!("{} {}={}", it.time_ms, it.tag, it.value)).collect()
    }

    #[test]
    fn a_file_is_read_once_and_goes_on_in_the_middle_of_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "t,a,b\n1,10,20\nnoon,1,1\n2,11,\n\n3,12,22").unwrap();
        let plan = plan(path, false);
        let (whole, never_seen) = read(&plan, Position::default(), usize::MAX);
        let expected = ["1000 a=10", "1000 b=20", "2000 a=11", "3000 a=12", "3000 b=22"];
        assert_eq!((told(&whole), never_seen), (expected.map(String::from).to_vec(), 1));
        for (number, change) in whole.iter().enumerate() {
            let (rest, _) = read(&plan, change.after, usize::MAX);
            assert_eq!(told(&rest), expected[number + 1..], "behind {:?}", change.after);
        }
        // another file of the same name is read from its beginning, whatever stood in the first one
        for first in [whole[3].after, whole[0].after] {
            let other = Position { within: 1, ..first };
            assert_eq!(read(&plan, other, usize::MAX).0.len(), 5);
        }
    }

    #[test]
    fn lines_that_cannot_be_read_are_counted_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "t,a\nnoon,1\n1,10\nnoon,1\n2,11\nnoon,1\nnoon,1\nnoon,1\n").unwrap();
        let plan = plan(path, false);
        let (all, never_seen, behind) = read_behind(&plan, Position::default(), usize::MAX);
        assert_eq!((all.len(), never_seen), (2, 5));
        assert_eq!(read(&plan, behind.unwrap(), usize::MAX), (Vec::new(), 0));
        // each stands behind the changes before it and before those behind it
        assert_eq!(read(&plan, all[0].after, usize::MAX).1, 4);
        assert_eq!(read(&plan, all[1].after, usize::MAX).1, 3);
    }

    #[test]
    fn a_line_that_is_no_text_is_left_out_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, b"t,a\n1,M\xc3\xbcller\n2,M\xfcller\n3,11\n").unwrap();
        let mut plan = plan(path.clone(), false);
        let (all, never_seen) = read(&plan, Position::default(), usize::MAX);
        assert_eq!(
            (told(&all), never_seen),
            (vec!["1000 a=M\u{fc}ller".into(), "3000 a=11".into()], 1)
        );
        plan.columns = None;
        assert_eq!(read(&plan, Position::default(), usize::MAX).1, 1);
        std::fs::write(&path, b"t,\xfc\n1,1\n").unwrap();
        plan = super::tests::plan(path, false);
        let problem = Reading::open(&plan, None).err().unwrap().to_string();
        assert!(problem.contains("byte 3 of it is no UTF-8"), "{problem}");
    }

    #[test]
    fn a_file_that_is_followed_gives_lines_once_they_are_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "t,a\n1,10\n2,1").unwrap();
        let plan = plan(path.clone(), true);
        assert_eq!(told(&read(&plan, Position::default(), 1).0), ["1000 a=10"]);
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"1\n3,12\n").unwrap();
        let (all, _) = read(&plan, Position::default(), 3);
        assert_eq!(told(&all), ["1000 a=10", "2000 a=11", "3000 a=12"]);
        // cut, or written anew
        std::fs::write(&path, "t,a\n9,1\n").unwrap();
        assert_eq!(told(&read(&plan, all[2].after, 1).0), ["9000 a=1"]);
    }

    #[test]
    fn a_file_that_is_rotated_is_read_to_its_end_and_the_new_one_once_it_has_its_header() {
        for begun in ["t,a\n9,1\n", "", "t", "t,a"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.csv");
            std::fs::write(&path, "t,a\n1,10\n").unwrap();
            let plan = plan(path.clone(), true);
            let (feeds, mut taken) = mpsc::channel(1);
            let (_marks, marks) = mpsc::unbounded_channel();
            // the header is there once it was missed
            let whole = path.clone();
            let log = move |text: String| {
                if text.contains("not read yet") {
                    std::fs::write(&whole, "t,a\n9,1\n").unwrap();
                }
            };
            let outlet =
                Outlet { from: Position::default(), feeds, marks, log: std::sync::Arc::new(log) };
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            let all = runtime.block_on(async {
                let take = async {
                    let mut all = Vec::new();
                    while all.last().is_none_or(|it: &Change| it.time_ms < 9_000) {
                        let Some(feed) = taken.recv().await else { break };
                        if all.is_empty() && !feed.changes.is_empty() {
                            // while the source leaves the file alone
                            let mut file = File::options().append(true).open(&path).unwrap();
                            file.write_all(b"2,11\n").unwrap();
                            std::fs::rename(&path, folder.path().join("a.old")).unwrap();
                            std::fs::write(&path, begun).unwrap();
                        }
                        all.extend(feed.changes);
                    }
                    taken.close();
                    while taken.recv().await.is_some() {}
                    all
                };
                let (ended, all) = tokio::join!(run(&plan, outlet), take);
                ended.unwrap();
                all
            });
            assert_eq!(told(&all), ["1000 a=10", "2000 a=11", "9000 a=1"], "begun as {begun:?}");
        }
    }

    #[test]
    fn time_stamps_and_rates_say_how_far_changes_are_apart() {
        let change = |time_ms| Change { time_ms, ..told_change() };
        let mut metronome = Metronome::new(Pace::TimeStamps(1.0));
        assert!(metronome.wait(&change(50_000)).is_none());
        let hour = metronome.wait(&change(3_650_000)).unwrap();
        assert!(hour <= Duration::from_secs(3_600) && hour > Duration::from_secs(3_000));
        let mut metronome = Metronome::new(Pace::Rate(0.001));
        assert!(metronome.wait(&change(0)).is_none());
        assert!(metronome.wait(&change(0)).unwrap() <= Duration::from_secs(1_000));
        let mut metronome = Metronome::new(Pace::Rate(1e-20));
        assert!(metronome.wait(&change(0)).is_none());
        assert_eq!(metronome.wait(&change(0)), Some(Duration::MAX));
    }

    fn told_change() -> Change {
        Lines::Values("a".into()).changes("1", 0).unwrap().remove(0)
    }
}
