//! The one thread that writes: it takes what waits, commits it, and tells whoever waited for that.

use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use plumb_serve::HeldFolder;
use rusqlite::{Connection, ErrorCode};

use super::super::QueueError;
use super::super::inbox::{Accept, Change, Group};
use super::super::intake::lock;
use super::asked::{Asked, AskedFor};
use super::board::{Board, Move};
use super::column::read;
use super::group::{Effects, Moment, Writing};
use super::records::Records;
use super::schema::PAGE_BYTES;
use super::shared::Shared;

/// How long the writer waits for something to do before it looks after what is kept too long.
const IDLE: Duration = Duration::from_secs(1);
const CLEAN_EVERY_NS: u64 = 1_000_000_000;
/// Changes in one transaction when the disk is full, and bytes of what they keep, but for one alone:
/// their log fits into the reserve.
const TIGHT_CHANGES: usize = 64;
const TIGHT_BYTES: u64 = 1 << 20;
/// So many changes that a full disk does not take one after the other: no more are tried for now.
const STUCK_MAX: usize = 16;
/// Of the write-ahead log.
const FRAME_BYTES: u64 = PAGE_BYTES + 24;
/// What is written down of ids.
pub(super) const HORIZON: &str = "horizon";

/// The writer.
#[derive(Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
    records: Records,
    place: HeldFolder,
    /// Changes that the full disk has not taken.
    put_by: VecDeque<Change>,
    /// What somebody waits for.
    asked: VecDeque<Asked>,
    /// The disk is full: messages are refused.
    tight: bool,
    clean_at_ns: u64,
    shrink_at_ns: u64,
    #[cfg(test)]
    pub(super) hook: super::tests::Hook,
}

/// Why a transaction is not on disk.
pub(super) enum Unwritten {
    /// There is no room: nothing has changed, and it is worth trying again.
    NoRoom,
    /// The file cannot be trusted any more.
    Broken(String),
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, records: Records, place: HeldFolder) -> Self {
        let tight = !place.hold_reserve(free_inside(&records.connection));
        Self {
            shared,
            records,
            place,
            put_by: VecDeque::new(),
            asked: VecDeque::new(),
            tight,
            clean_at_ns: 0,
            shrink_at_ns: 0,
            #[cfg(test)]
            hook: super::tests::Hook::default(),
        }
    }

    /// Writes until the queue is closed and all is on disk.
    pub(super) fn run(mut self) {
        loop {
            let patience = if self.asked.is_empty() { IDLE } else { Duration::ZERO };
            let (group, more) = self.shared.intake.next_group(patience);
            let nothing = group.accepts.is_empty() && group.changes.is_empty();
            // what somebody waits for is done between the groups: it holds up none of them for long
            let worked = self.work(group).and_then(|()| self.next_slice());
            if let Err(Unwritten::Broken(why)) = worked {
                self.shared.end(QueueError::Store(why));
                return;
            }
            if nothing && !more && self.asked.is_empty() {
                break;
            }
        }
        // what is missed here is made up for at the next start
        let last = lock(&self.shared.ids).last();
        let _ = self.records.set_number(HORIZON, last);
        let _ = self.checkpoint("TRUNCATE");
    }

    fn work(&mut self, group: Group) -> Result<(), Unwritten> {
        let Group { accepts, changes } = group;
        let last = lock(&self.shared.ids).last();
        let (changes, asked) = Asked::out_of(changes, last);
        self.asked.extend(asked);
        if self.tight {
            self.loosen();
        }
        if self.tight {
            self.refuse(accepts);
            self.put_by(changes);
            return self.work_tightly();
        }
        let changes: Vec<Change> =
            std::mem::take(&mut self.put_by).into_iter().chain(changes).collect();
        match self.commit(&accepts, &changes, None) {
            Ok(effects) => {
                answer(accepts, effects);
                self.checkpoint_when_large()
            }
            Err(Unwritten::NoRoom) => {
                self.tight = true;
                self.refuse(accepts);
                self.put_by(changes);
                self.work_tightly()
            }
            Err(Unwritten::Broken(why)) => {
                tell_all(accepts, &QueueError::Store(why.clone()));
                Err(Unwritten::Broken(why))
            }
        }
    }

    /// Does the next slice of what somebody waits for, in the room of the reserve where there is no other;
    /// each of them has its turn.
    fn next_slice(&mut self) -> Result<(), Unwritten> {
        let Some(mut asked) = self.asked.pop_front() else { return Ok(()) };
        loop {
            match self.commit(&[], &[], Some(&asked)) {
                Ok(effects) if effects.slice.is_full => {
                    let inbox = lock(&self.shared.intake.inbox);
                    asked.refuse(|retried| inbox.full(retried));
                    break;
                }
                Ok(effects) => {
                    self.asked.extend(asked.done(&effects.slice));
                    break;
                }
                Err(Unwritten::NoRoom) => {
                    self.tight = true;
                    // tried again at once: what is given up here the next turn would take back
                    if !(self.make_room()? || asked.lessen()) {
                        asked.refuse_for_disk(&self.full());
                        break;
                    }
                }
                Err(broken) => return Err(broken),
            }
        }
        if self.tight { self.checkpoint("PASSIVE") } else { self.checkpoint_when_large() }
    }

    /// Looks whether there is room again.
    fn loosen(&mut self) {
        let inside = free_inside(&self.records.connection);
        self.tight = !self.place.hold_reserve(inside);
        let now_ns = self.shared.clock.now_ns();
        if self.tight && inside >= self.shared.limits.reserve_bytes && now_ns >= self.shrink_at_ns {
            self.shrink_at_ns = now_ns + CLEAN_EVERY_NS;
            let shrunk = self.shrink();
            self.tight = !(shrunk.is_ok() && self.place.hold_reserve(0));
        }
    }

    /// Gives the room inside the database back to the disk, when what is in it is little; otherwise
    /// it stays as it is.
    fn shrink(&self) -> rusqlite::Result<()> {
        let connection = &self.records.connection;
        let pages = connection.query_row("PRAGMA page_count", [], |row| read(row, 0))?;
        let used = (pages * PAGE_BYTES).saturating_sub(free_inside(connection));
        if used > self.shared.limits.log_bytes {
            return Ok(());
        }
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.execute_batch("VACUUM")?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
    }

    /// Settles what can be settled, in the room of the reserve where there is no other. What does not
    /// fit holds up nothing else.
    fn work_tightly(&mut self) -> Result<(), Unwritten> {
        let mut left = std::mem::take(&mut self.put_by);
        let (mut stuck, mut most) = (Vec::new(), TIGHT_CHANGES);
        while !left.is_empty() && stuck.len() < STUCK_MAX {
            let slice = tight_slice(&mut left, most);
            match self.commit(&[], &slice, None) {
                Ok(_) => {
                    most = (2 * most).min(TIGHT_CHANGES); // the next ones may be smaller
                    self.checkpoint("PASSIVE")?;
                }
                Err(Unwritten::NoRoom) if self.make_room()? => put_back(&mut left, slice),
                Err(Unwritten::NoRoom) if slice.len() > 1 => {
                    most = slice.len() / 2;
                    put_back(&mut left, slice);
                }
                Err(Unwritten::NoRoom) => stuck.extend(slice),
                Err(broken) => return Err(broken),
            }
        }
        left.extend(stuck);
        self.put_by = left;
        Ok(())
    }

    /// Gives the reserve up, if it is held; true when it was. The log is emptied, which may have grown by
    /// what was taken back.
    fn make_room(&mut self) -> Result<bool, Unwritten> {
        let made = self.place.release_reserve();
        self.checkpoint("TRUNCATE")?;
        Ok(made)
    }

    /// Keeps changes for when there is room; what did not come through the queue has none.
    fn put_by(&mut self, changes: Vec<Change>) {
        let wanted = |change: &Change| !matches!(change, Change::Note(..));
        self.put_by.extend(changes.into_iter().filter(wanted));
    }

    fn refuse(&self, accepts: Vec<Accept>) {
        if accepts.is_empty() {
            return;
        }
        let bytes: u64 = accepts.iter().map(|accept| accept.message.body.len() as u64).sum();
        lock(&self.shared.intake.inbox).left(accepts.len() as u64, bytes);
        tell_all(accepts, &QueueError::Store(self.full()));
    }

    fn full(&self) -> String {
        format!(
            "the disk of {} is full; messages are accepted again once {} MiB of it are free",
            self.place.folder().display(),
            (self.place.wanted_bytes() >> 20).max(1)
        )
    }

    /// Writes all of it in one transaction, or nothing.
    fn commit(
        &mut self,
        accepts: &[Accept],
        changes: &[Change],
        asked: Option<&Asked>,
    ) -> Result<Effects, Unwritten> {
        let now_ns = self.shared.clock.now_ns();
        let moment = self.shared.moment();
        let cleans = now_ns >= self.clean_at_ns && {
            let expired = self.records.has_expired(moment.now_ms, moment.window_ms);
            let expired = expired.map_err(|error| unwritten(&error))?;
            self.clean_at_ns = if expired { now_ns } else { now_ns + CLEAN_EVERY_NS };
            expired
        };
        if accepts.is_empty() && changes.is_empty() && asked.is_none() && !cleans {
            return Ok(Effects::default());
        }
        let shared = Arc::clone(&self.shared);
        let drops = asked.is_some_and(|asked| asked.what == AskedFor::Drop);
        // nobody claims what is being dropped
        let board = drops.then(|| lock(&shared.board));
        let what = (accepts, changes, asked);
        let written = self.transaction(what, moment, cleans, board.as_deref());
        let (mut effects, horizon) = written.map_err(|error| self.undone(&error))?;
        if let Some(horizon) = horizon {
            lock(&shared.ids).written(horizon);
        }
        #[cfg(test)]
        self.hook.committed(&effects, changes);
        applied(&shared, board, &mut effects);
        Ok(effects)
    }

    fn transaction(
        &mut self,
        (accepts, changes, asked): (&[Accept], &[Change], Option<&Asked>),
        moment: Moment,
        cleans: bool,
        board: Option<&Board>,
    ) -> rusqlite::Result<(Effects, Option<u64>)> {
        let Self { records, shared, .. } = self;
        records.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let mut writing = Writing { records, board, moment, effects: Effects::default() };
        let mut highest = None;
        for accept in accepts {
            let id = lock(&shared.ids).next(moment.now_ms);
            if writing.accept(accept, id)? {
                highest = Some(id);
            }
        }
        changes.iter().try_for_each(|change| writing.change(change))?;
        asked.map_or(Ok(()), |asked| writing.asked(asked))?;
        let Writing { records, effects, .. } = writing;
        let horizon = highest.and_then(|id| lock(&shared.ids).horizon_for(id));
        if let Some(horizon) = horizon {
            records.set_number(HORIZON, horizon)?;
        }
        if cleans {
            records.clean(moment.now_ms, moment.window_ms)?;
        }
        let began_ns = shared.clock.now_ns();
        records.connection.prepare_cached("COMMIT")?.execute([])?;
        lock(&shared.cost).flushed(shared.clock.now_ns().saturating_sub(began_ns));
        Ok((effects, horizon))
    }

    /// Takes a transaction back that failed.
    fn undone(&mut self, error: &rusqlite::Error) -> Unwritten {
        let open = !self.records.connection.is_autocommit();
        let undone = if open {
            self.records.connection.execute_batch("ROLLBACK")
        } else {
            Ok(()) // `SQLite` has done so itself
        };
        match undone.and_then(|()| self.records.reload()) {
            Ok(()) => unwritten(error),
            Err(worse) => Unwritten::Broken(worse.to_string()),
        }
    }

    fn checkpoint_when_large(&mut self) -> Result<(), Unwritten> {
        let bytes = self.log_bytes().map_err(|error| unwritten(&error)).or_else(no_room)?;
        lock(&self.shared.cost).log_is(bytes);
        if bytes < self.shared.limits.log_bytes {
            return Ok(());
        }
        self.checkpoint("PASSIVE")
    }

    /// Moves the log into the database; what a full disk does not take stays in the log.
    fn checkpoint(&mut self, how: &str) -> Result<(), Unwritten> {
        let text = format!("PRAGMA wal_checkpoint({how})");
        let moved = self.records.connection.query_row(&text, [], |_| Ok(()));
        #[cfg(test)]
        self.hook.checkpointed();
        match moved.map_err(|error| unwritten(&error)) {
            Err(Unwritten::NoRoom) => {
                self.tight = true;
                Ok(())
            }
            done => done,
        }
    }

    fn log_bytes(&self) -> rusqlite::Result<u64> {
        let frames = |connection: &Connection| {
            let mut statement = connection.prepare_cached("PRAGMA wal_checkpoint(NOOP)")?;
            statement.query_row([], |row| read(row, 1))
        };
        Ok(frames(&self.records.connection)? * FRAME_BYTES)
    }
}

/// Bytes of the database that hold nothing.
fn free_inside(connection: &Connection) -> u64 {
    let pages = connection.query_row("PRAGMA freelist_count", [], |row| read(row, 0));
    pages.map_or(0, |pages| pages * PAGE_BYTES)
}

/// Lets claims and bounds know what is on disk.
fn applied(shared: &Shared, board: Option<MutexGuard<'_, Board>>, effects: &mut Effects) {
    let mut board = board.unwrap_or_else(|| lock(&shared.board));
    let moves = std::mem::take(&mut effects.moves);
    // whoever waits for something that is put off has to learn when it is due
    let changes_times = moves.iter().any(Move::changes_times);
    board.apply(moves);
    shared.wake(&board, changes_times);
    drop(board);
    let mut inbox = lock(&shared.intake.inbox);
    inbox.left(effects.left.0, effects.left.1);
    inbox.entered(effects.entered.0, effects.entered.1);
    drop(inbox);
    lock(&shared.cost).counted(effects.arrived, effects.dead);
}

/// Tells everybody that waited.
fn answer(accepts: Vec<Accept>, effects: Effects) {
    for (accept, accepted) in accepts.into_iter().zip(effects.accepted) {
        // whoever asked may be gone
        let _ = accept.answer.send(Ok(accepted));
    }
}

/// The first of `left`: `most` of them, and as many bytes as a full disk may be given; one at least.
fn tight_slice(left: &mut VecDeque<Change>, most: usize) -> Vec<Change> {
    let (mut slice, mut bytes) = (Vec::new(), 0);
    while slice.len() < most
        && bytes < TIGHT_BYTES
        && let Some(change) = left.pop_front()
    {
        bytes += change.written_bytes();
        slice.push(change);
    }
    slice
}

fn put_back(left: &mut VecDeque<Change>, slice: Vec<Change>) {
    slice.into_iter().rev().for_each(|change| left.push_front(change));
}

fn tell_all(accepts: Vec<Accept>, error: &QueueError) {
    for accept in accepts {
        // whoever asked may be gone
        let _ = accept.answer.send(Err(error.clone()));
    }
}

fn no_room(why: Unwritten) -> Result<u64, Unwritten> {
    match why {
        Unwritten::NoRoom => Ok(0),
        broken @ Unwritten::Broken(_) => Err(broken),
    }
}

pub(super) fn unwritten(error: &rusqlite::Error) -> Unwritten {
    /// `SQLITE_IOERR_WRITE`, `_TRUNCATE` and `_SHMSIZE`: a quota, or a limit on files.
    const WRITE: [i32; 3] = [10 | (3 << 8), 10 | (6 << 8), 10 | (19 << 8)];
    let extended = error.sqlite_error().map_or(0, |error| error.extended_code);
    if error.sqlite_error_code() == Some(ErrorCode::DiskFull) || WRITE.contains(&extended) {
        Unwritten::NoRoom
    } else {
        Unwritten::Broken(error.to_string())
    }
}
