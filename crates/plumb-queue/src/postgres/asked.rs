//! Retries and drops that somebody waits for: of any number, a slice in each transaction, so that what is
//! accepted and settled meanwhile waits for none of them long.

use std::collections::VecDeque;

use plumb_serve::database::{Database, DatabaseError, Row, Value};

use super::super::inbox::{Change, Counted};
use super::super::{Filter, QueueError, State};
use super::rows::{int, values, wanted};
use super::schema::{DEAD, DONE, DUE_AGAIN, WAITING};

/// Executions in one slice at most.
const SLICE: u64 = 256;

/// A retry or a drop that is under way.
#[derive(Debug)]
pub(super) struct Asked {
    what: AskedFor,
    filter: Filter,
    answer: Counted,
    /// Executions so far.
    count: u64,
    /// All up to this id were gone through.
    after: u64,
    /// The last one that was there at the beginning: what comes later is not meant.
    until: Option<u64>,
}

/// What is to become of the executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AskedFor {
    Retry,
    Drop,
}

/// What was done of it in one transaction.
#[derive(Debug, Default)]
pub(super) struct Slice {
    /// The last execution; `None`: there is no more.
    last: Option<u64>,
    count: u64,
    /// Messages that wait since then, and their bytes.
    pub(super) entered: (u64, u64),
    /// Those that waited and are gone.
    pub(super) left: (u64, u64),
    /// Nothing was done, though there is something to do: as many messages wait as may.
    pub(super) is_full: bool,
}

impl Asked {
    /// Takes what is asked for out of `changes`, which keep the rest in its order.
    pub(super) fn out_of(changes: &mut Vec<Change>) -> VecDeque<Self> {
        let mut asked = VecDeque::new();
        let rest = std::mem::take(changes).into_iter().filter_map(|change| {
            let (what, filter, answer) = match change {
                Change::Retry(filter, answer) => (AskedFor::Retry, filter, answer),
                Change::Forget(filter, answer) => (AskedFor::Drop, filter, answer),
                Change::Settle(_) | Change::Note(..) | Change::Rebase => return Some(change),
            };
            asked.push_back(Self { what, filter, answer, count: 0, after: 0, until: None });
            None
        });
        *changes = rest.collect();
        asked
    }

    /// Does the next slice of it, of `room` messages at most where they are to wait again.
    pub(super) fn next(
        &mut self,
        database: &mut Database,
        now_ms: u64,
        room: u64,
    ) -> Result<Slice, DatabaseError> {
        let Some((meant, change)) = self.statement(now_ms) else { return Ok(Slice::default()) };
        let mut most = (self.filter.most as u64).saturating_sub(self.count).min(SLICE);
        let is_full = self.what == AskedFor::Retry && room == 0;
        if self.what == AskedFor::Retry {
            most = most.min(room.max(1)); // where there is no room, one tells that some is missed
        }
        if most == 0 {
            return Ok(Slice::default());
        }
        let until = match self.until {
            Some(until) => until,
            None => {
                let last = "SELECT coalesce(max(id), 0)::bigint FROM plumb_queue_message";
                let last = database.row(last, &[])?.map_or(0, |row| row.int(0));
                *self.until.insert(u64::try_from(last).unwrap_or(0))
            }
        };
        let mut values = values(&self.filter);
        values.extend([most, self.after, until].map(|number| Value::Int(int(number))));
        if is_full {
            let is_full = !database.rows(&meant, &values)?.is_empty();
            return Ok(Slice { is_full, ..Slice::default() });
        }
        let found = database.rows(&change, &values)?;
        Ok(found.iter().fold(Slice::default(), |slice, row| slice.with(self.what, row)))
    }

    /// Which are meant, one slice of them, and what is done with them; `None` where that is none at all.
    fn statement(&self, now_ms: u64) -> Option<(String, String)> {
        let state = match (self.what, self.filter.state) {
            (AskedFor::Retry, None | Some(State::Failed))
            | (AskedFor::Drop, Some(State::Failed)) => format!("state = {DEAD}"),
            (AskedFor::Retry, Some(_)) | (AskedFor::Drop, Some(State::Running)) => return None,
            (AskedFor::Drop, None) => {
                format!("(state <> {WAITING} OR leased_until_ms <= {now_ms})")
            }
            (AskedFor::Drop, Some(State::Waiting)) => {
                format!("state = {WAITING} AND leased_until_ms <= {now_ms}")
            }
            (AskedFor::Drop, Some(State::Done)) => format!("state = {DONE}"),
        };
        let (change, others) = match self.what {
            AskedFor::Retry => (
                format!(
                    "UPDATE plumb_queue_message SET state = {WAITING}, due_ms = {DUE_AGAIN},
                     leased_until_ms = 0, runtime = 0, failures = 0, error = NULL, trace = NULL,
                     at_ms = NULL, expires_ms = NULL, noted = 0"
                ),
                "",
            ),
            AskedFor::Drop => ("DELETE FROM plumb_queue_message".into(), "SKIP LOCKED"),
        };
        let meant = format!(
            "SELECT id FROM plumb_queue_message WHERE {state} AND {}
             AND id > $5 AND id <= $6 ORDER BY id LIMIT $4",
            wanted()
        );
        let change = format!(
            "{change} WHERE id IN ({meant} FOR UPDATE {others})
             RETURNING id, octet_length(body)::bigint, state"
        );
        Some((meant, change))
    }

    /// A slice of it is committed: what is left of it, or whoever waits is told how many there were.
    pub(super) fn done(mut self, slice: &Slice) -> Option<Self> {
        self.count += slice.count;
        if let Some(last) = slice.last {
            self.after = last;
            return Some(self);
        }
        let _ = self.answer.send(Ok(self.count)); // whoever asked may be gone
        None
    }

    /// No more messages may wait: whoever waits is told so by what `full` makes of the number of those
    /// that were done.
    pub(super) fn refuse(self, full: impl FnOnce(u64) -> QueueError) {
        let _ = self.answer.send(Err(full(self.count))); // whoever asked may be gone
    }

    /// The server does not take a slice: whoever waits is told what was done before.
    pub(super) fn refuse_for_server(self, error: &DatabaseError) {
        let done = match self.what {
            AskedFor::Retry => "retried",
            AskedFor::Drop => "dropped",
        };
        let count = plumb_measure::counted(self.count, "execution");
        let text = format!("{error}; {count} {done} so far, the others not");
        self.refuse(|_| QueueError::Store(text));
    }
}

impl Slice {
    /// Whether there is no more.
    pub(super) fn is_last(&self) -> bool {
        self.last.is_none()
    }

    fn with(self, what: AskedFor, row: &Row) -> Self {
        let number = |column| u64::try_from(row.int(column)).unwrap_or(0);
        let one = |(messages, bytes): (u64, u64)| (messages + 1, bytes + number(1));
        let waits = row.int(2) == WAITING;
        Self {
            last: self.last.max(Some(number(0))),
            count: self.count + 1,
            entered: if what == AskedFor::Retry { one(self.entered) } else { self.entered },
            left: if what == AskedFor::Drop && waits { one(self.left) } else { self.left },
            is_full: false,
        }
    }
}
