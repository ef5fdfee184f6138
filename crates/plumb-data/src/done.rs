//! `plumb_done_message`: which messages a database has seen, a row each, written with what they did
//! there.
//!
//! Two queues may give the same id to different messages, so a row names the queue as well. Those of
//! `plumb_done` hold an id alone, as earlier versions of the program wrote them: one stands for a
//! message only if it is no older than the message.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use plumb_engine::clock::wall_ns;
use plumb_measure::Span;
use plumb_serve::database::{Database, DatabaseError, Dialect, Row, Value};
use ring::digest::{SHA256, digest};

use super::Origin;
use plumb_queue::{ExecutionId, QueueId};

/// With the queue of each message.
const NEW: &str = "plumb_done_message";
/// With ids alone.
const OLD: &str = "plumb_done";
/// Rows that are forgotten at once at most.
const FORGOTTEN_MAX: i64 = 10_000;
/// How often old rows are looked for.
const EVERY_NS: u64 = 3_600 * 1_000_000_000;
/// Bits of an id below its milliseconds.
const COUNTER_BITS: u32 = 20;
/// How far the clock of a database may be behind that of a runtime, milliseconds.
const BEHIND_MS: u64 = 300_000;

/// Where a database takes note of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tables {
    New,
    /// Messages are noted in the new table, and looked for in the old one as well.
    Both,
    /// In the old one alone, of a user who may make no other: by a digest of queue and id.
    Old,
}

/// The tables at one data server.
#[derive(Debug, Default)]
pub(super) struct DoneTable {
    /// Those that were found there; `None` until they are looked for.
    found: Mutex<Option<Tables>>,
    /// Somebody has doubts whether they are still there.
    looks_again: AtomicBool,
    /// When old rows are looked for again, by the wall clock.
    next_ns: AtomicU64,
}

impl DoneTable {
    /// Makes the table unless it is there. Not to be called in a transaction.
    pub(super) fn make(&self, database: &mut Database) -> Result<(), DatabaseError> {
        let looks_again = self.looks_again.swap(false, Ordering::SeqCst);
        if self.found().is_some() && !looks_again {
            return Ok(());
        }
        let made = self.look(database);
        if made.is_err() {
            self.doubt();
        }
        made
    }

    fn look(&self, database: &mut Database) -> Result<(), DatabaseError> {
        let old = rows_of(database, OLD)?;
        if rows_of(database, NEW)?.is_none() {
            let made = database.batch(match database.dialect() {
                Dialect::Postgres => {
                    "CREATE TABLE IF NOT EXISTS plumb_done_message (id bigint, queue bigint, \
                     at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (id, queue))"
                }
                Dialect::Sqlite => {
                    "CREATE TABLE IF NOT EXISTS plumb_done_message (id INTEGER, queue INTEGER, \
                     at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (id, queue)) \
                     WITHOUT ROWID"
                }
            });
            // somebody else may have made it at the same time
            if let Err(error) = made
                && rows_of(database, NEW)?.is_none()
            {
                let is_refused = matches!(error, DatabaseError::Refused(_));
                if is_refused && old.is_some() {
                    self.find(Tables::Old);
                    return Ok(());
                }
                return Err(error);
            }
        }
        let has_old = old.is_some_and(|rows| rows > 0);
        self.find(if has_old { Tables::Both } else { Tables::New });
        Ok(())
    }

    /// It may have been dropped: it is looked for again before the next transaction. Those that are
    /// open go on with what was found.
    pub(super) fn doubt(&self) {
        self.looks_again.store(true, Ordering::SeqCst);
    }

    fn found(&self) -> Option<Tables> {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, tables: Tables) {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(tables);
    }

    /// The tables of a transaction, before which they were looked for.
    fn in_use(&self) -> Tables {
        self.found().unwrap_or(Tables::New)
    }

    /// Takes note of `ids` in the transaction that is open; those that were not there before.
    pub(super) fn note(
        &self,
        database: &mut Database,
        origin: &Origin,
        ids: &[ExecutionId],
    ) -> Result<BTreeSet<ExecutionId>, DatabaseError> {
        let tables = self.in_use();
        let mut keys = tables.keys(origin.queue, ids);
        if tables != Tables::New {
            let before = noted_in_old(database, origin, ids)?;
            keys.retain(|_, id| !before.contains(id));
        }
        let statement = match (database.dialect(), tables) {
            (Dialect::Postgres, Tables::Old) => {
                "INSERT INTO plumb_done (id) SELECT unnest($1::text::bigint[]) \
                 ON CONFLICT DO NOTHING RETURNING id"
            }
            (Dialect::Sqlite, Tables::Old) => {
                "INSERT INTO plumb_done (id) SELECT value FROM json_each($1) WHERE true \
                 ON CONFLICT DO NOTHING RETURNING id"
            }
            (Dialect::Postgres, _) => {
                "INSERT INTO plumb_done_message (id, queue) \
                 SELECT unnest($1::text::bigint[]), $2::bigint ON CONFLICT DO NOTHING RETURNING id"
            }
            (Dialect::Sqlite, _) => {
                "INSERT INTO plumb_done_message (id, queue) \
                 SELECT value, ?2 FROM json_each(?1) WHERE true \
                 ON CONFLICT DO NOTHING RETURNING id"
            }
        };
        keyed(database, statement, &keys, tables.queue(origin))
    }

    /// Which of `ids` this program has noted.
    pub(super) fn noted(
        &self,
        database: &mut Database,
        origin: &Origin,
        ids: &[ExecutionId],
    ) -> Result<BTreeSet<ExecutionId>, DatabaseError> {
        let tables = self.in_use();
        let statement = match (database.dialect(), tables) {
            (Dialect::Postgres, Tables::Old) => {
                "SELECT id FROM plumb_done WHERE id = ANY ($1::text::bigint[])"
            }
            (Dialect::Sqlite, Tables::Old) => {
                "SELECT id FROM plumb_done WHERE id IN (SELECT value FROM json_each($1))"
            }
            (Dialect::Postgres, _) => {
                "SELECT id FROM plumb_done_message \
                 WHERE id = ANY ($1::text::bigint[]) AND queue = $2"
            }
            (Dialect::Sqlite, _) => {
                "SELECT id FROM plumb_done_message \
                 WHERE id IN (SELECT value FROM json_each($1)) AND queue = $2"
            }
        };
        keyed(database, statement, &tables.keys(origin.queue, ids), tables.queue(origin))
    }

    /// Forgets messages that were accepted and done longer than `retention` ago, from time to time.
    /// Not to be called in a transaction.
    pub(super) fn forget(
        &self,
        database: &mut Database,
        retention: Span,
    ) -> Result<(), DatabaseError> {
        let now_ns = wall_ns();
        if now_ns < self.next_ns.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.next_ns.store(now_ns.saturating_add(EVERY_NS), Ordering::Relaxed);
        let before_ms = now_ns.saturating_sub(retention.ns()) / 1_000_000;
        let tables = self.in_use();
        let (mut new, mut old) = (0, 0);
        if tables != Tables::Old {
            new = forget_of(database, NEW, before_ms)?;
        }
        if tables != Tables::New {
            old = forget_of(database, OLD, before_ms)?;
        }
        if new.max(old) == FORGOTTEN_MAX {
            self.next_ns.store(0, Ordering::Relaxed); // there are more
        }
        Ok(())
    }
}

impl Tables {
    /// What stands in the column `id` for each of `ids`.
    fn keys(self, queue: QueueId, ids: &[ExecutionId]) -> BTreeMap<i64, ExecutionId> {
        let key = |id: ExecutionId| if self == Self::Old { mixed(queue, id) } else { number(id) };
        ids.iter().map(|id| (key(*id), *id)).collect()
    }

    /// The queue of a statement, where there is a column for it.
    fn queue(self, origin: &Origin) -> Option<i64> {
        (self != Self::Old).then_some(origin.queue.0)
    }
}

/// How many rows a table has: none or at least one; `None` where there is no such table.
fn rows_of(database: &mut Database, table: &str) -> Result<Option<usize>, DatabaseError> {
    match database.rows(&format!("SELECT id FROM {table} LIMIT 1"), &[]) {
        Ok(rows) => Ok(Some(rows.len())),
        Err(DatabaseError::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Which of `ids` the old table has and may be those of `origin`: an id alone that was noted before
/// its message was accepted was that of another one.
fn noted_in_old(
    database: &mut Database,
    origin: &Origin,
    ids: &[ExecutionId],
) -> Result<BTreeSet<ExecutionId>, DatabaseError> {
    let statement = match database.dialect() {
        Dialect::Postgres => {
            "SELECT id, floor(extract(epoch FROM at))::bigint FROM plumb_done \
             WHERE id = ANY ($1::text::bigint[])"
        }
        Dialect::Sqlite => {
            "SELECT id, CAST(strftime('%s', at) AS INTEGER) FROM plumb_done \
             WHERE id IN (SELECT value FROM json_each($1))"
        }
    };
    let mut keys = Tables::Both.keys(origin.queue, ids);
    keys.append(&mut Tables::Old.keys(origin.queue, ids));
    let rows = rows_with(database, statement, &keys, None)?;
    let is_its_own = |row: &Row, id: &ExecutionId| {
        let accepted_ms = origin.accepted_ms.get(id).copied().unwrap_or(0);
        row.int(0) < 0 || row.int(1) >= seconds(accepted_ms.saturating_sub(BEHIND_MS))
    };
    let found = rows.iter().filter_map(|row| Some((row, keys.get(&row.int(0))?)));
    Ok(found.filter(|(row, id)| is_its_own(row, id)).map(|(_, id)| *id).collect())
}

/// Which of `keys` a statement finds, or writes. They are its first value, and there may be another.
fn keyed(
    database: &mut Database,
    statement: &str,
    keys: &BTreeMap<i64, ExecutionId>,
    second: Option<i64>,
) -> Result<BTreeSet<ExecutionId>, DatabaseError> {
    let rows = rows_with(database, statement, keys, second)?;
    Ok(rows.iter().filter_map(|row| keys.get(&row.int(0))).copied().collect())
}

/// The rows of a statement of [`keyed`].
fn rows_with(
    database: &mut Database,
    statement: &str,
    keys: &BTreeMap<i64, ExecutionId>,
    second: Option<i64>,
) -> Result<Vec<Row>, DatabaseError> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let numbers: Vec<String> = keys.keys().map(ToString::to_string).collect();
    let (open, close) = match database.dialect() {
        Dialect::Postgres => ('{', '}'),
        Dialect::Sqlite => ('[', ']'),
    };
    let mut values = vec![Value::Text(format!("{open}{}{close}", numbers.join(",")))];
    values.extend(second.map(Value::Int));
    database.rows(statement, &values)
}

/// Forgets what a table has of messages that were accepted and done before; how many.
fn forget_of(database: &mut Database, table: &str, before_ms: u64) -> Result<i64, DatabaseError> {
    let key = if table == NEW { "id, queue" } else { "id" };
    let time = match database.dialect() {
        Dialect::Postgres => "to_timestamp($2::bigint)",
        Dialect::Sqlite => "datetime($2, 'unixepoch')",
    };
    // the key finds the old ones; one that waited long for its turn is young by its row
    let statement = format!(
        "DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE id < $1 \
         AND at < {time} ORDER BY id LIMIT $3) RETURNING id"
    );
    let first_kept = number(ExecutionId(before_ms << COUNTER_BITS));
    let values = [first_kept.into(), seconds(before_ms).into(), FORGOTTEN_MAX.into()];
    let forgotten = database.rows(&statement, &values)?.len();
    Ok(i64::try_from(forgotten).unwrap_or(FORGOTTEN_MAX))
}

fn seconds(ms: u64) -> i64 {
    i64::try_from(ms / 1_000).unwrap_or(0)
}

fn number(id: ExecutionId) -> i64 {
    id.0.cast_signed()
}

/// One number for a queue and an id; it is negative, which ids that stand alone are not.
fn mixed(queue: QueueId, id: ExecutionId) -> i64 {
    let digest = digest(&SHA256, &[queue.0.to_le_bytes(), id.0.to_le_bytes()].concat());
    let first = digest.as_ref().first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes));
    first | i64::MIN
}

#[cfg(test)]
mod tests {
    use plumb_serve::database::DatabaseTarget;

    use super::*;

    const ONE: &Origin = &Origin { queue: QueueId(1), accepted_ms: BTreeMap::new() };
    const OTHER: &Origin = &Origin { queue: QueueId(i64::MAX), accepted_ms: BTreeMap::new() };
    const OLD_TABLE: &str = "CREATE TABLE plumb_done (id INTEGER PRIMARY KEY, \
        at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)";

    fn database() -> (tempfile::TempDir, Database) {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::new(DatabaseTarget::file(folder.path().join("data.db")));
        (folder, database)
    }

    fn ids<const N: usize>(ids: [u64; N]) -> BTreeSet<ExecutionId> {
        ids.into_iter().map(ExecutionId).collect()
    }

    #[test]
    fn messages_are_noted_once_and_forgotten_when_they_are_old() {
        let (_folder, mut database) = database();
        let table = DoneTable::default();
        table.make(&mut database).unwrap();
        table.make(&mut database).unwrap();
        let now = ExecutionId((wall_ns() / 1_000_000) << COUNTER_BITS);
        let (old, high) = (ExecutionId(7), ExecutionId(u64::MAX));
        let all = BTreeSet::from([old, now, high]);
        assert_eq!(table.note(&mut database, ONE, &[old, now, high]).unwrap(), all);
        assert_eq!(table.note(&mut database, ONE, &[now]).unwrap(), BTreeSet::new());
        assert_eq!(table.noted(&mut database, ONE, &[old, now, high]).unwrap(), all);
        // its row is young, though its id is old
        table.forget(&mut database, Span::from_ms(60_000)).unwrap();
        assert_eq!(table.noted(&mut database, ONE, &[old, now]).unwrap().len(), 2);
        database.batch("UPDATE plumb_done_message SET at = '2000-01-01 00:00:00'").unwrap();
        let again = DoneTable::default();
        again.make(&mut database).unwrap();
        again.forget(&mut database, Span::from_ms(60_000)).unwrap();
        let left = again.noted(&mut database, ONE, &[old, now]).unwrap();
        assert_eq!(left, BTreeSet::from([now]));
    }

    #[test]
    fn messages_of_two_queues_with_one_id_are_two_messages() {
        let (_folder, mut database) = database();
        let table = DoneTable::default();
        table.make(&mut database).unwrap();
        let both = [ExecutionId(7), ExecutionId(8)];
        assert_eq!(table.note(&mut database, ONE, &both).unwrap(), ids([7, 8]));
        assert_eq!(table.noted(&mut database, OTHER, &both).unwrap(), ids([]));
        assert_eq!(table.note(&mut database, OTHER, &both[..1]).unwrap(), ids([7]));
        assert_eq!(table.noted(&mut database, OTHER, &both).unwrap(), ids([7]));
        assert_eq!(table.note(&mut database, OTHER, &both).unwrap(), ids([8]));
    }

    #[test]
    fn a_row_without_its_queue_stands_for_messages_that_are_no_younger() {
        let (_folder, mut database) = database();
        database.batch(OLD_TABLE).unwrap();
        database.batch("INSERT INTO plumb_done (id) VALUES (7)").unwrap();
        database.batch("INSERT INTO plumb_done VALUES (8, '2020-01-01 00:00:00')").unwrap();
        let table = DoneTable::default();
        table.make(&mut database).unwrap();
        let all = [7, 8, 9].map(ExecutionId);
        let (before_2020_ms, now_ms) = (1_500_000_000_000, wall_ns() / 1_000_000);
        let accepted = |times: [u64; 3]| Origin {
            accepted_ms: all.into_iter().zip(times).collect(),
            ..ONE.clone()
        };
        let origin = accepted([before_2020_ms, before_2020_ms, now_ms]);
        let noted = table.note(&mut database, &origin, &all).unwrap();
        assert_eq!(noted, ids([9]), "both may have been done");
        // whatever the age of the others that are done with it
        let origin = accepted([before_2020_ms, now_ms, before_2020_ms]);
        let noted = table.note(&mut database, &origin, &all).unwrap();
        assert_eq!(noted, ids([8]), "what was done in 2020 was another message");
        let half_an_hour_on = accepted([now_ms + 1_800_000; 3]);
        let noted = table.note(&mut database, &half_an_hour_on, &all[..1]).unwrap();
        assert_eq!(noted, ids([7]), "what was done half an hour ago was another message");
        // and they are forgotten as the others are
        table.forget(&mut database, Span::from_ms(60_000)).unwrap();
        let left = database.rows("SELECT id FROM plumb_done", &[]).unwrap();
        assert_eq!((left.len(), left[0].int(0)), (1, 7));
    }

    #[test]
    fn who_has_doubts_lets_open_transactions_go_on() {
        let (_folder, mut database) = database();
        let table = DoneTable::default();
        table.make(&mut database).unwrap();
        table.doubt();
        let id = [ExecutionId(7)];
        assert_eq!(table.note(&mut database, ONE, &id).unwrap(), ids([7]));
        assert_eq!(table.noted(&mut database, ONE, &id).unwrap(), ids([7]));
        // the next one finds it dropped, and makes it
        database.batch("DROP TABLE plumb_done_message").unwrap();
        table.make(&mut database).unwrap();
        assert_eq!(table.note(&mut database, ONE, &id).unwrap(), ids([7]));
    }

    #[test]
    fn a_user_who_may_make_no_table_notes_queues_in_the_one_that_is_there() {
        let (_folder, mut database) = database();
        database.batch(OLD_TABLE).unwrap();
        database.batch("INSERT INTO plumb_done (id) VALUES (7)").unwrap();
        // a name that is taken is refused as every table is to such a user
        database.batch("CREATE INDEX plumb_done_message ON plumb_done (at)").unwrap();
        let table = DoneTable::default();
        table.make(&mut database).unwrap();
        let both = [ExecutionId(7), ExecutionId(8)];
        assert_eq!(table.note(&mut database, ONE, &both).unwrap(), ids([8]));
        assert_eq!(table.note(&mut database, ONE, &both).unwrap(), ids([]));
        assert_eq!(table.noted(&mut database, ONE, &both).unwrap(), ids([8]));
        assert_eq!(table.note(&mut database, OTHER, &both).unwrap(), ids([8]));
        // when it is allowed later, what was noted so is known
        database.batch("DROP INDEX plumb_done_message").unwrap();
        let later = DoneTable::default();
        later.make(&mut database).unwrap();
        let three = [7, 8, 9].map(ExecutionId);
        assert_eq!(later.note(&mut database, ONE, &three).unwrap(), ids([9]));
        assert_eq!(later.noted(&mut database, ONE, &three).unwrap(), ids([9]));
    }
}
