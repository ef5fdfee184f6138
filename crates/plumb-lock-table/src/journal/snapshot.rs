//! A snapshot: all locks and lives, written in slices while both change.
//!
//! What has changed meanwhile stands in the journal of the same number, too, as it is in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use super::folder::{self, files};
use super::record::Record;
use super::restore::Lives;
use crate::table::{Change, Rules, Table};

/// A snapshot that is being written.
#[derive(Debug)]
pub(super) struct Snapshot {
    file: File,
    stage: Stage,
    bytes: u64,
    /// Owners whose lives were noted since it began. They stand in the journal of its number, which
    /// is read behind it: only a later snapshot may forget them.
    noted: BTreeSet<Vec<u8>>,
}

/// Where the next slice begins.
#[derive(Debug)]
enum Stage {
    /// At this place of the table.
    Locks(u32),
    /// Behind this owner.
    Owners(Vec<u8>),
    /// Behind this key.
    Keys(Vec<u8>),
    Complete,
}

impl Snapshot {
    pub(super) fn new(file: File) -> Self {
        Self { file, stage: Stage::Locks(0), bytes: 0, noted: BTreeSet::new() }
    }

    /// The life of an owner was noted meanwhile.
    pub(super) fn note_life(&mut self, owner: &[u8]) {
        self.noted.insert(owner.to_vec());
    }

    /// Bytes written.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its file, once it is written to its end.
    pub(super) fn into_file(self) -> File {
        self.file
    }

    /// Writes a slice: of the locks that many places of the table, of the lives as many. True
    /// when that was the last.
    pub(super) fn go_on<R: Rules>(
        &mut self,
        table: &Table<R>,
        lives: &mut Lives,
        slice: u32,
        wanted: impl Fn(bool) -> bool,
    ) -> io::Result<bool> {
        let mut bytes = Vec::new();
        self.stage = match &self.stage {
            Stage::Locks(cursor) => {
                let page = table.page(*cursor, slice, |lock| {
                    if wanted(lock.backup) {
                        Record::Change(Change::Lock(*lock)).push(&mut bytes);
                    }
                    true
                });
                page.next.map_or(Stage::Owners(Vec::new()), Stage::Locks)
            }
            Stage::Owners(from) => {
                let held = |owner: &[u8]| table.owner(owner).is_some();
                let noted = |owner: &[u8]| self.noted.contains(owner);
                let push = |owner: &[u8], ms| Record::Life { owner, ms }.push(&mut bytes);
                let next = sweep(&mut lives.owners, (from, slice), held, noted, push);
                next.map_or(Stage::Keys(Vec::new()), Stage::Owners)
            }
            Stage::Keys(from) => {
                let held = |key: &[u8]| table.holder(b"", key).is_some();
                let push = |key: &[u8], ms| Record::Key { key, ms }.push(&mut bytes);
                // whoever takes a key notes its life anew
                let next = sweep(&mut lives.keys, (from, slice), held, |_| false, push);
                next.map_or(Stage::Complete, Stage::Keys)
            }
            Stage::Complete => Stage::Complete,
        };
        let complete = matches!(self.stage, Stage::Complete);
        if complete {
            Record::End.push(&mut bytes);
        }
        self.file.write_all(&bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(complete)
    }
}

/// Hands over the lives of a slice behind `from`, and forgets those of who holds nothing and was
/// not `noted` lately; where the next slice begins. No text is empty but that of a key, which comes
/// first and is taken along.
fn sweep(
    lives: &mut BTreeMap<Vec<u8>, u64>,
    (from, slice): (&[u8], u32),
    held: impl Fn(&[u8]) -> bool,
    noted: impl Fn(&[u8]) -> bool,
    mut push: impl FnMut(&[u8], u64),
) -> Option<Vec<u8>> {
    let start = if from.is_empty() { Bound::Unbounded } else { Bound::Excluded(from) };
    let (mut gone, mut last, mut seen) = (Vec::new(), None, 0);
    for (text, ms) in lives.range::<[u8], _>((start, Bound::Unbounded)).take(slice.max(2) as usize)
    {
        seen += 1;
        last = Some(text.clone());
        if held(text) {
            push(text, *ms);
        } else if !noted(text) {
            gone.push(text.clone());
        }
    }
    for text in gone {
        lives.remove(&text);
    }
    last.filter(|_| seen == slice.max(2))
}

/// Makes a complete snapshot last, and then removes the files before it.
pub(super) fn finish(file: &File, folder: &Path, number: u64) -> io::Result<()> {
    file.sync_all()?;
    folder::sync_folder(folder)?;
    for (other, _, path) in files(folder).map_err(io::Error::other)? {
        if other < number {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// [`finish`] on a thread of its own: a gigabyte takes a disk seconds, and files of that size are
/// not removed in a moment either.
#[derive(Debug)]
pub(super) struct Finishing {
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Finishing {
    pub(super) fn begin(file: File, folder: PathBuf, number: u64) -> io::Result<Self> {
        let work = move || finish(&file, &folder, number);
        let thread = std::thread::Builder::new().name("snapshot".into()).spawn(work)?;
        Ok(Self { thread: Some(thread) })
    }

    /// True when it is done, or has failed.
    pub(super) fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until it is done.
    pub(super) fn wait(mut self) -> io::Result<()> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(done)) => done,
            Some(Err(_)) => Err(io::Error::other("the thread that makes a snapshot last ended")),
            None => Ok(()),
        }
    }
}

impl Drop for Finishing {
    /// Nobody else may have the folder before it is done.
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // there is nobody left to tell
        }
    }
}
