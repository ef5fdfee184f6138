//! The spool: what was made and is not confirmed yet, on disk.
//!
//! All agents of a process share one file of `SQLite` and one thread that writes it: what waits is one
//! transaction, so that many agents share a flush. A message, the numbers of its changes, the position of
//! its source and the ledger are of one transaction, so that nothing is counted twice or not at all
//! whenever the process ends.

mod ledger;
mod operator;
mod records;
#[cfg(test)]
mod tests;
mod unwritten;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;

use plumb_measure::Span;
use plumb_serve::{HeldFolder, HoldError};
use tokio::sync::{Notify, oneshot};

use crate::bundle::Bundle;
use crate::change::Position;

pub use ledger::{Ledger, Stock};
pub use operator::{Asked, Chosen, QueueName, Shown, SpoolView};

use records::Records;
use writer::{Request, Writer};

/// What an agent may have in the spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpoolLimits {
    /// Messages, those that failed among them.
    pub messages: u64,
    /// Bytes of their documents.
    pub bytes: u64,
    /// What becomes of the next one.
    pub when_full: WhenFull,
}

/// What becomes of a message for which there is no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// The source waits.
    #[default]
    Wait,
    /// It is dropped and counted.
    Drop,
}

/// How the file is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileLimits {
    /// The write-ahead log is moved into the file when it has so many bytes.
    pub(crate) log_bytes: u64,
    /// Bytes of the disk that are held back, so that deliveries can still be noted when it is full.
    pub(crate) reserve_bytes: u64,
    /// How often it is looked what operators ask for.
    pub(crate) asked_every: Span,
}

impl Default for FileLimits {
    fn default() -> Self {
        // what a full log may add to the file, and the log of what is noted meanwhile
        let asked_every = Span::from_ms(250);
        Self { log_bytes: 8 << 20, reserve_bytes: 16 << 20, asked_every }
    }
}

/// Why a spool cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// Its folder cannot be used.
    #[error("the spool cannot be kept in {path}: {error}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Another process has it open.
    #[error("{path} is used by another process: end that one, or name another folder (--spool)")]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// There is none.
    #[error("{path} holds no spool: name the folder that the agent was started with (--spool)")]
    Missing {
        /// The folder.
        path: PathBuf,
    },
    /// A file of something else, or of another version.
    #[error("{path} is no spool of this program's version: move it away, or name another folder")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A file that contradicts itself.
    #[error(
        "{path} is damaged: {what}; it was left as it is: put a copy of it back, or move it away"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The writer has ended.
    #[error("the spool cannot be written: {0}")]
    Ended(String),
}

/// The spool of a process.
#[derive(Debug)]
pub struct Spool {
    requests: mpsc::Sender<Request>,
    writer: Mutex<Option<JoinHandle<()>>>,
    shared: Arc<Shared>,
}

/// What the writer tells everybody.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<SharedState>,
}

#[derive(Debug, Default)]
pub(crate) struct SharedState {
    /// By number of the agent, from 0.
    pub(crate) ledgers: Vec<Ledger>,
    /// Why nothing is taken, where that is so.
    pub(crate) trouble: Option<String>,
    pub(crate) flushes: u64,
    pub(crate) flush_ns: u64,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, SharedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an agent puts into the spool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Put {
    /// A message.
    pub(crate) bundle: Option<Bundle>,
    /// Where the source goes on behind everything so far.
    pub(crate) position: Option<Position>,
    /// Changes that the source brought since the last put.
    pub(crate) seen: u64,
    /// Changes that it could not bring.
    pub(crate) never_seen: u64,
}

/// A message to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// Its number in the spool.
    pub(crate) id: i64,
    /// Of its first change.
    pub(crate) first: u64,
    /// When it was put there, milliseconds since 1970.
    pub(crate) at_ms: u64,
    /// Attempts that failed.
    pub(crate) attempts: u32,
    /// Its document.
    pub(crate) body: bytes::Bytes,
}

/// How an attempt to send a message ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The other side has it.
    Delivered,
    /// It is tried again from this time on, milliseconds since 1970; at once where that is 0.
    Again { attempts: u32, due_ms: u64 },
    /// It is put aside.
    Failed { attempts: u32, error: String },
    /// It is too old.
    Expired,
}

/// Which messages a lane asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// Behind this one, in their order, but for those that are put off.
    After(i64),
    /// Those that were put off and are due at this time, milliseconds since 1970.
    Due(u64),
}

/// What a lane is told of its messages.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// There may be something to send.
    pub(crate) arrived: Notify,
    /// How many times messages came back before those that were taken.
    pub(crate) rewinds: AtomicU64,
}

/// The spool as one agent knows it.
#[derive(Clone, Debug)]
pub(crate) struct AgentSpool {
    /// From 0.
    pub(crate) number: usize,
    /// Of the spool: part of the keys by which messages are known again.
    pub(crate) instance: Arc<str>,
    /// Told when there may be something to send.
    pub(crate) news: Arc<News>,
    requests: mpsc::Sender<Request>,
    shared: Arc<Shared>,
}

impl Spool {
    /// Opens the spool in `folder`, which is made when it is not there.
    ///
    /// # Errors
    /// [`SpoolError`].
    pub fn open(folder: &Path) -> Result<Self, SpoolError> {
        Self::open_with(folder, FileLimits::default())
    }

    pub(crate) fn open_with(folder: &Path, limits: FileLimits) -> Result<Self, SpoolError> {
        let place = HeldFolder::take(folder, "spool", limits.reserve_bytes);
        let place = place.map_err(|error| match error {
            HoldError::InUse => SpoolError::InUse { path: folder.into() },
            HoldError::Io(error) => SpoolError::Folder { path: folder.into(), error },
        })?;
        let records = Records::open(&place.folder().join(records::FILE), limits.log_bytes)?;
        place.sync().map_err(|error| SpoolError::Folder { path: folder.into(), error })?;
        let shared = Arc::new(Shared::default());
        let (requests, taken) = mpsc::channel();
        let writer = Writer::new(Arc::clone(&shared), records, (place, limits.asked_every), taken);
        let thread = std::thread::Builder::new().name("spool".into()).spawn(|| writer.run());
        let thread = thread.map_err(|error| SpoolError::Folder { path: folder.into(), error })?;
        Ok(Self { requests, writer: Mutex::new(Some(thread)), shared })
    }

    /// The part of the spool that belongs to the agent `name`.
    ///
    /// # Errors
    /// [`SpoolError::Ended`].
    pub(crate) fn agent(&self, name: &str, limits: SpoolLimits) -> Result<AgentSpool, SpoolError> {
        let (reply, told) = mpsc::channel();
        let news = Arc::new(News::default());
        let name = name.to_owned();
        let asked = Request::Agent { name, limits, news: Arc::clone(&news), reply };
        let ended = || SpoolError::Ended("its writer has ended".into());
        self.requests.send(asked).map_err(|_| ended())?;
        let (number, instance) = told.recv().map_err(|_| ended())?.map_err(SpoolError::Ended)?;
        let (requests, shared) = (self.requests.clone(), Arc::clone(&self.shared));
        Ok(AgentSpool { number, instance, news, requests, shared })
    }

    /// The ledgers of all agents that ever were in it.
    #[must_use]
    pub fn ledgers(&self) -> Vec<Ledger> {
        self.shared.lock().ledgers.clone()
    }

    /// Flushes since it was opened, and nanoseconds in them.
    #[must_use]
    pub fn flushes(&self) -> (u64, u64) {
        let state = self.shared.lock();
        (state.flushes, state.flush_ns)
    }

    /// Why nothing is taken any more, where that is so.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.shared.lock().trouble.clone()
    }

    /// True when the writer has ended, whatever it ended of.
    #[must_use]
    pub(crate) fn has_ended(&self) -> bool {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the writer once all that was handed over is on disk.
    pub fn close(&self) {
        let _ = self.requests.send(Request::Close); // it may have ended already
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            let _ = writer.join(); // a panic of it was told where it happened
        }
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.close();
    }
}

impl AgentSpool {
    /// Puts something into the spool; the answer comes once it is on disk, or was dropped (false).
    pub(crate) fn put(&self, put: Put) -> oneshot::Receiver<bool> {
        let (reply, told) = oneshot::channel();
        // without a writer the reply is dropped, which is the answer
        let _ = self.requests.send(Request::Put { agent: self.number, put, reply });
        told
    }

    /// Messages to be sent, at most `most` and about `bytes`.
    pub(crate) fn take(
        &self,
        wanted: Wanted,
        most: usize,
        bytes: usize,
    ) -> oneshot::Receiver<Taken> {
        let (reply, told) = oneshot::channel();
        let agent = self.number;
        let _ = self.requests.send(Request::Take { agent, wanted, most, bytes, reply });
        told
    }

    /// Takes note of how attempts ended.
    pub(crate) fn settle(&self, id: i64, ending: Ending) {
        // without a writer the process ends, and the message is sent again by the next one
        let _ = self.requests.send(Request::Settle { agent: self.number, id, ending });
    }

    /// What was counted so far.
    pub(crate) fn ledger(&self) -> Ledger {
        self.shared.lock().ledgers.get(self.number).cloned().unwrap_or_default()
    }
}

/// What a lane is given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken {
    /// Messages, in their order.
    pub(crate) messages: Vec<Waiting>,
    /// When the first of those that are put off is due, milliseconds since 1970.
    pub(crate) next_due_ms: Option<u64>,
}
