//! Who keeps the index as the folders are.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::Index;
use super::entry::Entry;
use super::scan::{Scanner, Seen};

/// Folders that are read before their entries are written.
const BATCH: usize = 64;

/// How far a look at the folders is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Looks that have ended.
    pub(crate) looks: u64,
    /// True while the folders are looked at.
    pub(crate) busy: bool,
    /// Folders that changed, and how many of them are read.
    pub(crate) changed: usize,
    pub(crate) read: usize,
    /// Why the last look came to nothing.
    pub(crate) trouble: Option<String>,
}

/// What one look leaves to the next.
#[derive(Debug, Default)]
struct Memory {
    scanner: Scanner,
    /// The stamps of all that is in the index, by path, once it was asked.
    stamps: Option<HashMap<String, String>>,
}

/// Asks for looks at the folders, and knows how far they are.
#[derive(Clone, Debug)]
pub(crate) struct Keeper {
    wake: SyncSender<()>,
    progress: Arc<(Mutex<Progress>, Condvar)>,
}

impl Keeper {
    /// A keeper, and what its thread takes.
    pub(crate) fn new() -> (Self, Receiver<()>) {
        let (wake, woken) = sync_channel(1);
        (Self { wake, progress: Arc::default() }, woken)
    }

    /// Looks at the folders of `index` whenever somebody asks, until `woken` has no other end or
    /// `stopped` says so.
    pub(crate) fn work(&self, index: &Index, woken: &Receiver<()>, stopped: impl Fn() -> bool) {
        let mut memory = Memory::default();
        while woken.recv().is_ok() && !stopped() {
            self.set(|progress| {
                *progress = Progress { busy: true, looks: progress.looks, ..Progress::default() };
            });
            let looked = self.look(index, &mut memory, &stopped);
            self.set(|progress| {
                progress.busy = false;
                progress.looks += 1;
                progress.trouble = looked.err();
            });
        }
    }

    /// Ends the work once `stopped` says so.
    pub(crate) fn wake(&self) {
        // one that is waiting to be heard is enough
        let _ = self.wake.try_send(());
    }

    /// Asks for a look, and waits for its end, but no longer than `patience`: whoever has many
    /// folders sees what was known before, and how far it is.
    pub(crate) fn refresh(&self, patience: Duration) -> Progress {
        let (progress, changed) = &*self.progress;
        let guard = progress.lock().unwrap_or_else(PoisonError::into_inner);
        // a look that is under way may have passed what has changed since
        let wanted = guard.looks + if guard.busy { 2 } else { 1 };
        self.wake();
        let waited = changed.wait_timeout_while(guard, patience, |it| it.looks < wanted);
        let (guard, _) = waited.unwrap_or_else(PoisonError::into_inner);
        guard.clone()
    }

    fn set(&self, change: impl FnOnce(&mut Progress)) {
        let (progress, changed) = &*self.progress;
        change(&mut progress.lock().unwrap_or_else(PoisonError::into_inner));
        changed.notify_all();
    }

    fn look(
        &self,
        index: &Index,
        memory: &mut Memory,
        stopped: &impl Fn() -> bool,
    ) -> Result<(), String> {
        let told = |error: &dyn std::fmt::Display| error.to_string();
        let seen = memory.scanner.scan(index.folder()).map_err(|error| told(&error))?;
        let known = match &mut memory.stamps {
            Some(known) => known,
            none => none.insert(index.stamps().map_err(|error| told(&error))?),
        };
        let gone: Vec<String> = {
            let there: HashSet<&str> = seen.iter().map(|one| one.path.as_str()).collect();
            known.keys().filter(|path| !there.contains(path.as_str())).cloned().collect()
        };
        index.remove(&gone).map_err(|error| told(&error))?;
        gone.iter().for_each(|path| drop(known.remove(path)));
        let mut changed: Vec<Seen> =
            seen.into_iter().filter(|one| known.get(&one.path) != Some(&one.stamp)).collect();
        // the latest are looked at first
        changed.sort_by(|a, b| b.path.cmp(&a.path));
        self.set(|progress| progress.changed = changed.len());
        for batch in changed.chunks(BATCH) {
            if stopped() {
                break;
            }
            let read: Vec<(Seen, Entry)> =
                batch.iter().map(|it| (it.clone(), Entry::read(index.folder(), it))).collect();
            index.put(&read).map_err(|error| told(&error))?;
            known.extend(batch.iter().map(|it| (it.path.clone(), it.stamp.clone())));
            self.set(|progress| progress.read += read.len());
        }
        Ok(())
    }
}
