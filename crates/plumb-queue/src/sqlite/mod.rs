//! The queue in an embedded `SQLite`: one folder, one runtime.
//!
//! One thread writes ([`writer`]). It takes what waits ([`inbox`](super::inbox)), writes it down in one
//! transaction ([`group`], [`records`]) and flushes it; meanwhile the next group gathers. Messages
//! of each transaction wait in a table of their own and are given out in the order of their ids
//! ([`claims`]); where a claim stands is known in memory only ([`board`]). What is asked for of any number of
//! messages is done in slices, between the groups ([`asked`]).

mod asked;
mod board;
mod claims;
mod column;
mod group;
mod log;
mod records;
mod schema;
mod shared;
mod views;
mod writer;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use plumb_measure::Span;
use plumb_serve::{HeldFolder, HoldError};
use tokio::sync::oneshot;

use self::board::{Board, Move};
use self::column::{read, stored};
use self::records::Records;
use self::shared::Shared;
use self::writer::Writer;
use super::ids::Ids;
use super::inbox::{Change, Inbox, Outcome};
use super::intake::{Intake, lock};
use super::{
    Accepted, Claimed, Execution, ExecutionId, Filter, Message, Queue, QueueClock, QueueError,
    QueueFigures, QueueId, QueueLimits, Settled,
};

/// A message of more bytes is refused: `SQLite` takes a little less than 1,000,000,000.
const MESSAGE_MAX_BYTES: usize = 512 << 20;
/// What is written down of the queue itself.
const ID: &str = "queue";
/// Said to whoever waits for a writer that is gone.
const LOST: &str = "its writer has ended";

/// Why a queue cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder cannot be made, read or written.
    #[error("cannot use {path} for the queue: {error}")]
    Folder {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Another runtime has it open.
    #[error("{path} is used by another runtime: end that one, or name another folder")]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// A file of something else.
    #[error("{path} is not the file of a queue: move it away, or name another folder")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A file of another version.
    #[error(
        "{path} is of version {found}, and this program knows version {known}: let the program \
         that wrote it do what waits in it, or name another folder"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version known here.
        known: u32,
    },
    /// A file whose content is wrong. Nothing of it was changed.
    #[error(
        "{path} is damaged: {what}; it was left as it is: put a copy of it back, or move it away \
         and have its messages sent again"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

impl OpenError {
    fn damaged(path: &Path, error: &rusqlite::Error) -> Self {
        Self::Damaged { path: path.into(), what: error.to_string() }
    }
}

/// A queue in a folder.
#[derive(Debug)]
pub struct SqliteQueue {
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl SqliteQueue {
    /// Opens the queue in `folder`, which is made when it is not there. All of it is read once: a
    /// damaged one is refused.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(
        folder: &Path,
        limits: QueueLimits,
        clock: Arc<dyn QueueClock>,
    ) -> Result<Self, OpenError> {
        Self::open_node(folder, 0, limits, clock)
    }

    /// [`open`](Self::open)s the queue of one `node` of several, counted from 1: its number is in
    /// the ids.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open_node(
        folder: &Path,
        node: u16,
        limits: QueueLimits,
        clock: Arc<dyn QueueClock>,
    ) -> Result<Self, OpenError> {
        let writer = Self::prepared(folder, node, limits, clock)?;
        Self::begun(writer, folder)
    }

    fn prepared(
        folder: &Path,
        node: u16,
        limits: QueueLimits,
        clock: Arc<dyn QueueClock>,
    ) -> Result<(Arc<Shared>, Writer), OpenError> {
        let place = HeldFolder::take(folder, "queue", limits.reserve_bytes);
        let place = place.map_err(|error| match error {
            HoldError::InUse => OpenError::InUse { path: folder.into() },
            HoldError::Io(error) => OpenError::Folder { path: folder.into(), error },
        })?;
        let connection = schema::open(&place)?;
        let path = place.file("db");
        let damaged = |error: rusqlite::Error| OpenError::damaged(&path, &error);
        let records = Records::read(connection).map_err(damaged)?;
        let id = id_of(&records, &place, folder)?;
        let now_ms = clock.wall_ms();
        let shared =
            Arc::new(read_in(&records, &path, (id, node), limits, clock, now_ms).map_err(damaged)?);
        Ok((Arc::clone(&shared), Writer::new(shared, records, place)))
    }

    fn begun((shared, writer): (Arc<Shared>, Writer), folder: &Path) -> Result<Self, OpenError> {
        let thread = std::thread::Builder::new().name("queue".into()).spawn(|| writer.run());
        let thread = thread.map_err(|error| OpenError::Folder { path: folder.into(), error })?;
        Ok(Self { shared, writer: Mutex::new(Some(thread)) })
    }

    fn known(&self) -> views::Known {
        let board = lock(&self.shared.board);
        let running: HashSet<u64> = board.running().map(|(id, _)| id).collect();
        let names = board.lanes().map(|(_, lane)| lane.name.clone()).collect();
        views::Known { running, names }
    }

    /// Waits until something may be given out, at most until `deadline_ns`.
    fn wait<'a>(
        &self,
        mut board: std::sync::MutexGuard<'a, Board>,
        now: (u64, u64),
        deadline_ns: u64,
    ) -> std::sync::MutexGuard<'a, Board> {
        let (now_ms, now_ns) = now;
        let (due_ms, rested_ns) = board.next_event(now_ms, now_ns);
        let due_ns = due_ms.map(|due_ms| due_ms.saturating_sub(now_ms).max(1) * 1_000_000);
        let rested_ns = rested_ns.map(|until_ns| until_ns.saturating_sub(now_ns));
        let waits = [Some(deadline_ns.saturating_sub(now_ns)), due_ns, rested_ns];
        let time = Duration::from_nanos(waits.into_iter().flatten().min().unwrap_or(0));
        board.waiters += 1;
        let waited = self.shared.ready.wait_timeout(board, time);
        let (mut board, _) = waited.unwrap_or_else(PoisonError::into_inner);
        board.waiters -= 1;
        board
    }
}

/// The id of the queue, which is written down before anybody has it. Where the disk is full that is
/// done in the room that is held back.
fn id_of(records: &Records, place: &HeldFolder, folder: &Path) -> Result<QueueId, OpenError> {
    let failed = |error: rusqlite::Error| match writer::unwritten(&error) {
        writer::Unwritten::NoRoom => {
            OpenError::Folder { path: folder.into(), error: io::ErrorKind::StorageFull.into() }
        }
        writer::Unwritten::Broken(what) => OpenError::Damaged { path: place.file("db"), what },
    };
    if let Some(id) = records.number(ID).map_err(failed)? {
        return Ok(QueueId(stored(id)));
    }
    let id = QueueId::new();
    let write = || records.set_number(ID, id.0.unsigned_abs());
    write()
        .or_else(|error| if place.release_reserve() { write() } else { Err(error) })
        .map_err(failed)?;
    Ok(id)
}

/// What is in the file when the queue is opened.
fn read_in(
    records: &Records,
    path: &Path,
    (id, node): (QueueId, u16),
    limits: QueueLimits,
    clock: Arc<dyn QueueClock>,
    now_ms: u64,
) -> rusqlite::Result<Shared> {
    records.rebase(now_ms)?;
    // a log that begins anew has no rest of a torn transaction in it
    records.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    let mut board = Board::default();
    let (mut messages, mut bytes) = (0, 0);
    // what did not come through the queue may be above what is written down of ids
    let ended = "SELECT max(coalesce((SELECT max(id) FROM dead), 0),
                            coalesce((SELECT max(id) FROM done), 0))";
    let ended = records.connection.query_row(ended, [], |row| read(row, 0))?;
    let mut highest = records.number(writer::HORIZON)?.unwrap_or(0).max(ended);
    for (name, number) in records.names()? {
        let text = format!(
            "SELECT count(*), coalesce(sum(bytes), 0), coalesce(max(id), 0)
                            FROM message_{number}"
        );
        let found = records
            .connection
            .query_row(&text, [], |row| Ok((read(row, 0)?, read(row, 1)?, read(row, 2)?)))?;
        let (of_lane, bytes_of_lane, newest) = found;
        messages += of_lane;
        bytes += bytes_of_lane;
        highest = highest.max(newest);
        board.apply(vec![Move::Lane(name), Move::Arrived { lane: number, id: newest }]);
    }
    board.apply(vec![Move::Rebased]);
    board.clock_went_back(now_ms); // from here on it is known when it does
    let dead = "SELECT count(*) FROM dead WHERE NOT noted";
    let dead = records.connection.query_row(dead, [], |row| read(row, 0))?;
    let (viewer, reader) = (schema::connect(path)?, schema::connect(path)?);
    Ok(Shared {
        id,
        viewer: Mutex::new(viewer),
        board: Mutex::new(board),
        reader: Mutex::new(reader),
        intake: Intake::new(Inbox::new(limits, messages, bytes), LOST),
        ids: Mutex::new(Ids::above(highest, node)),
        cost: Mutex::new(super::cost::Cost::new(dead)),
        ready: std::sync::Condvar::new(),
        clock,
        limits,
    })
}

impl Queue for SqliteQueue {
    fn id(&self) -> QueueId {
        self.shared.id
    }

    fn accept(&self, message: Message) -> oneshot::Receiver<Result<Accepted, QueueError>> {
        if message.body.len() > MESSAGE_MAX_BYTES {
            let (answer, receiver) = oneshot::channel();
            let text = format!("a message is larger than {} MiB", MESSAGE_MAX_BYTES >> 20);
            let _ = answer.send(Err(QueueError::Store(text))); // the receiver is here
            return receiver;
        }
        self.shared.intake.accept(message)
    }

    fn claim(&self, most: usize, patience: Duration) -> Result<Vec<Claimed>, QueueError> {
        let Shared { clock, limits, .. } = &*self.shared;
        let deadline_ns = clock.deadline_ns(patience);
        let mut board = lock(&self.shared.board);
        loop {
            if let Some(ended) = &board.ended {
                return Err(ended.clone());
            }
            let (now_ms, now_ns) = (clock.wall_ms(), clock.now_ns());
            if board.clock_went_back(now_ms) {
                self.shared.intake.change([Change::Rebase])?;
            }
            let most_out = limits.given_out_per_transaction;
            if let Some(lane) = board.turn(now_ms, now_ns, most_out).filter(|_| most > 0) {
                let most = most.min(board.room(lane, most_out));
                let reader = lock(&self.shared.reader);
                let claimed = claims::gather(&mut board, &reader, lane, most, now_ms)
                    .map_err(|error| QueueError::Store(error.to_string()))?;
                if !claimed.is_empty() {
                    self.shared.wake(&board, false);
                    return Ok(claimed);
                }
            } else if now_ns >= deadline_ns {
                return Ok(Vec::new());
            } else {
                board = self.wait(board, (now_ms, now_ns), deadline_ns);
            }
        }
    }

    fn settle(&self, settled: Vec<Settled>) -> Result<(), QueueError> {
        let mut board = lock(&self.shared.board);
        let outcomes = settled.into_iter().filter_map(|settled| {
            let running = board.settle(settled.id.0)?;
            let (lane, failures, bytes) = (running.lane, running.failures, running.bytes);
            Some(Change::Settle(Outcome::of(settled, lane, failures, bytes)))
        });
        let outcomes: Vec<Change> = outcomes.collect();
        drop(board);
        self.shared.intake.change(outcomes)
    }

    fn note(&self, message: Message, settled: Settled) -> Result<(), QueueError> {
        self.shared.intake.note(message, settled)
    }

    fn find(&self, id: ExecutionId) -> Result<Option<Execution>, QueueError> {
        let viewer = lock(&self.shared.viewer);
        views::find(&viewer, &self.known(), id)
            .map_err(|error| QueueError::Store(error.to_string()))
    }

    fn list(&self, filter: &Filter) -> Result<Vec<Execution>, QueueError> {
        let viewer = lock(&self.shared.viewer);
        views::list(&viewer, &self.known(), filter)
            .map_err(|error| QueueError::Store(error.to_string()))
    }

    fn retry(&self, filter: &Filter) -> Result<u64, QueueError> {
        self.shared.intake.retry(filter)
    }

    fn forget(&self, filter: &Filter) -> Result<u64, QueueError> {
        self.shared.intake.forget(filter)
    }

    fn figures(&self) -> QueueFigures {
        let running = lock(&self.shared.board).running().count() as u64;
        let inbox = lock(&self.shared.intake.inbox);
        let ((waiting, waiting_bytes), notes_left_out) = (inbox.waiting(), inbox.notes_left_out());
        drop(inbox);
        let cost = lock(&self.shared.cost).figures();
        QueueFigures { waiting, running, waiting_bytes, notes_left_out, ..cost }
    }

    fn next_id(&self) -> ExecutionId {
        let now_ms = self.shared.clock.wall_ms();
        ExecutionId(lock(&self.shared.ids).next(now_ms))
    }

    fn rest(&self, transaction: &str, time: Span) {
        let until_ns = self.shared.clock.now_ns().saturating_add(time.ns());
        lock(&self.shared.board).rest(transaction, until_ns);
        self.shared.ready.notify_all();
    }

    fn close(&self) {
        self.shared.end(QueueError::Closed);
        let writer = lock(&self.writer).take();
        if let Some(writer) = writer {
            let _ = writer.join(); // a panic of it was told where it happened
        }
    }
}

impl Drop for SqliteQueue {
    fn drop(&mut self) {
        self.close();
    }
}
