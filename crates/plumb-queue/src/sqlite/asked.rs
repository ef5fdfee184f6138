//! Retries and drops that somebody waits for: of any number, a slice in each transaction, so that the
//! log of none is larger than the room that is held back for it.

use rusqlite::params;

use super::super::inbox::{Change, Counted};
use super::super::{Filter, QueueError, State};
use super::column::stored;
use super::records::{Moved, Records, moved};

/// Executions in one slice at most.
const SLICE_EXECUTIONS: u64 = 256;
/// Bytes of what is written anew in one slice, but for one document alone.
const RETRIED_BYTES: u64 = 1 << 20;
/// Bytes of what is dropped in one slice: they are gone through, and not written.
const DROPPED_BYTES: u64 = 16 << 20;

/// A slice for which there is no room is tried with so many times fewer executions.
const LESS: u64 = 4;

/// A retry or a drop that is under way.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) what: AskedFor,
    filter: Filter,
    answer: Counted,
    /// Executions so far.
    count: u64,
    /// Executions of a slice: fewer where the disk had no room for more.
    at_once: u64,
    /// The last id that was given out when it was asked for: what is accepted later is not meant.
    until: u64,
    place: Place,
}

/// What is to become of the executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AskedFor {
    Retry,
    Drop,
}

/// How far one has come.
#[derive(Clone, Copy, Debug)]
struct Place {
    table: Table,
    /// All up to this id were gone through.
    after: u64,
}

/// Where executions stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Dead,
    Done,
    /// Of the transaction with this number.
    Waiting(i64),
}

/// What is done of it in one transaction.
#[derive(Debug, Default)]
pub(super) struct Slice {
    /// They stand in one table.
    pub(super) found: Vec<Moved>,
    pub(super) table: Option<Table>,
    next: Option<Place>,
    /// Nothing was done, though there is something to do: as many messages wait as may.
    pub(super) is_full: bool,
}

impl Asked {
    /// Takes what is asked for out of `changes`, which keep the rest in its order. It is meant for ids
    /// up to `until`.
    pub(super) fn out_of(changes: Vec<Change>, until: u64) -> (Vec<Change>, Vec<Self>) {
        let mut asked = Vec::new();
        let rest = changes.into_iter().filter_map(|change| match change {
            Change::Retry(filter, answer) => {
                asked.push(Self::new(AskedFor::Retry, filter, answer, until));
                None
            }
            Change::Forget(filter, answer) => {
                asked.push(Self::new(AskedFor::Drop, filter, answer, until));
                None
            }
            Change::Settle(_) | Change::Note(..) | Change::Rebase => Some(change),
        });
        let rest = rest.collect();
        (rest, asked)
    }

    fn new(what: AskedFor, filter: Filter, answer: Counted, until: u64) -> Self {
        let place = Place { table: Table::Dead, after: 0 };
        Self { what, filter, answer, count: 0, at_once: SLICE_EXECUTIONS, until, place }
    }

    /// A slice of it is on disk: what is left of it, or whoever waits is told how many there were.
    pub(super) fn done(mut self, slice: &Slice) -> Option<Self> {
        self.count += slice.found.len() as u64;
        self.at_once = (self.at_once * LESS).min(SLICE_EXECUTIONS); // the next ones may be smaller
        if let Some(place) = slice.next.filter(|_| self.left() > 0) {
            self.place = place;
            return Some(self);
        }
        let _ = self.answer.send(Ok(self.count)); // whoever asked may be gone
        None
    }

    /// Makes the next slices smaller; false when they have one execution each already.
    pub(super) fn lessen(&mut self) -> bool {
        let fewer = (self.at_once / LESS).max(1);
        std::mem::replace(&mut self.at_once, fewer) > fewer
    }

    /// No more messages may wait: whoever waits is told so by what `full` makes of the number of those
    /// that were done.
    pub(super) fn refuse(self, full: impl FnOnce(u64) -> QueueError) {
        let _ = self.answer.send(Err(full(self.count))); // whoever asked may be gone
    }

    /// The disk has no room for a slice: whoever waits is told what was done of it.
    pub(super) fn refuse_for_disk(self, full: &str) {
        let done = match self.what {
            AskedFor::Retry => "retried",
            AskedFor::Drop => "dropped",
        };
        let count = plumb_measure::counted(self.count, "execution");
        let text = format!("{full}; {count} {done} so far, the others not");
        self.refuse(|_| QueueError::Store(text));
    }

    fn left(&self) -> u64 {
        (self.filter.most as u64).saturating_sub(self.count)
    }

    fn means(&self, table: Table) -> bool {
        let state = match table {
            Table::Dead => State::Failed,
            Table::Done => State::Done,
            Table::Waiting(_) => State::Waiting,
        };
        (self.what == AskedFor::Drop || table == Table::Dead)
            && self.filter.state.is_none_or(|wanted| wanted == state)
    }
}

impl Records {
    /// The next executions that are meant, `room` of them at most where they are to wait again, and but
    /// for what `is_running`.
    pub(super) fn slice(
        &self,
        asked: &Asked,
        room: u64,
        is_running: impl Fn(u64) -> bool,
    ) -> rusqlite::Result<Slice> {
        let mut most = asked.left().min(asked.at_once);
        let is_full = asked.what == AskedFor::Retry && room == 0;
        if asked.what == AskedFor::Retry {
            most = most.min(room.max(1)); // where there is no room, one tells that some is missed
        }
        let mut next = Some(asked.place).filter(|_| most > 0);
        while let Some(place) = next {
            let (found, at) = self.found(asked, place, most, &is_running)?;
            next = at.or_else(|| self.behind(place.table));
            if !found.is_empty() && is_full {
                return Ok(Slice { is_full, ..Slice::default() });
            }
            if !found.is_empty() {
                return Ok(Slice { found, table: Some(place.table), next, is_full: false });
            }
        }
        Ok(Slice::default())
    }

    /// What is meant at `place`, and where it goes on in the same table if there may be more.
    fn found(
        &self,
        asked: &Asked,
        place: Place,
        most: u64,
        is_running: &impl Fn(u64) -> bool,
    ) -> rusqlite::Result<(Vec<Moved>, Option<Place>)> {
        let wanted = match &asked.filter.transaction {
            None => None,
            Some(name) => match self.number_of(name) {
                None => return Ok((Vec::new(), None)),
                known => known,
            },
        };
        let (name, lane) = match place.table {
            Table::Dead => ("dead".to_owned(), "lane, noted".to_owned()),
            Table::Done => ("done".to_owned(), "lane, noted".to_owned()),
            Table::Waiting(lane) => (format!("message_{lane}"), format!("{lane} AS lane, 0")),
        };
        let is_other =
            matches!(place.table, Table::Waiting(lane) if wanted.is_some_and(|it| it != lane));
        if !asked.means(place.table) || is_other {
            return Ok((Vec::new(), None));
        }
        let Filter { id, before, .. } = asked.filter;
        let after = place.after.max(id.map_or(0, |id| id.0.saturating_sub(1)));
        let highest = asked
            .until
            .min(id.map_or(u64::MAX, |id| id.0))
            .min(before.map_or(u64::MAX, |before| before.0.saturating_sub(1)));
        let text = format!(
            "SELECT id, bytes, order_key, {lane} FROM {name}
             WHERE id > ?1 AND id <= ?2 AND (?3 IS NULL OR lane = ?3) ORDER BY id"
        );
        let mut statement = self.connection.prepare_cached(&text)?;
        let mut rows = statement.query(params![stored(after), stored(highest), wanted])?;
        let bytes_max = match asked.what {
            AskedFor::Retry => RETRIED_BYTES,
            AskedFor::Drop => DROPPED_BYTES,
        } / SLICE_EXECUTIONS
            * asked.at_once;
        let (mut found, mut bytes) = (Vec::new(), 0);
        while let Some(row) = rows.next()? {
            let one = moved(row)?;
            if is_running(one.id) {
                continue;
            }
            let is_over = !found.is_empty() && bytes + one.bytes > bytes_max;
            if is_over || found.len() as u64 == most {
                let after = found.last().map_or(place.after, |last: &Moved| last.id);
                return Ok((found, Some(Place { after, ..place })));
            }
            bytes += one.bytes;
            found.push(one);
        }
        Ok((found, None))
    }

    /// The beginning of the table behind `table`.
    fn behind(&self, table: Table) -> Option<Place> {
        let table = match table {
            Table::Dead => Table::Done,
            Table::Done => Table::Waiting(1),
            Table::Waiting(lane) => Table::Waiting(lane + 1),
        };
        let is_there = !matches!(table, Table::Waiting(lane) if lane > self.lanes_count());
        is_there.then_some(Place { table, after: 0 })
    }

    /// Puts dead messages back among those that wait.
    pub(super) fn revive(&self, found: &[Moved]) -> rusqlite::Result<()> {
        for moved in found {
            self.move_back(moved)?;
            self.remove_ended("dead", moved.id)?;
        }
        Ok(())
    }

    /// Forgets what stands in `table`.
    pub(super) fn forget(&self, table: Table, found: &[Moved]) -> rusqlite::Result<()> {
        found.iter().try_for_each(|moved| match table {
            Table::Dead => self.remove_ended("dead", moved.id),
            Table::Done => self.remove_ended("done", moved.id),
            Table::Waiting(lane) => self.remove(lane, moved.id, true),
        })
    }
}
