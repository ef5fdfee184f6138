//! `plumb_done`: which messages a database has seen, a row each, written with what they did there.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use plumb_engine::clock::wall_ns;
use plumb_measure::Span;
use plumb_serve::database::{Database, DatabaseError, Dialect, Value};

use plumb_queue::ExecutionId;

/// Rows that are forgotten at once at most.
const FORGOTTEN_MAX: i64 = 10_000;
/// How often old rows are looked for.
const EVERY_NS: u64 = 3_600 * 1_000_000_000;
/// Bits of an id below its milliseconds.
const COUNTER_BITS: u32 = 20;

/// The table at one data server.
#[derive(Debug, Default)]
pub(super) struct DoneTable {
    there: AtomicBool,
    /// When old rows are looked for again, by the wall clock.
    next_ns: AtomicU64,
}

impl DoneTable {
    /// Makes the table unless it is there. Not to be called in a transaction.
    pub(super) fn make(&self, database: &mut Database) -> Result<(), DatabaseError> {
        if self.there.load(Ordering::Relaxed) {
            return Ok(());
        }
        let is_there =
            |database: &mut Database| database.rows("SELECT id FROM plumb_done WHERE id = 0", &[]);
        if let Err(error) = is_there(database) {
            if !matches!(error, DatabaseError::Refused(_)) {
                return Err(error);
            }
            let made = database.batch(match database.dialect() {
                Dialect::Postgres => {
                    "CREATE TABLE IF NOT EXISTS plumb_done (id bigint PRIMARY KEY, \
                     at timestamptz NOT NULL DEFAULT now())"
                }
                Dialect::Sqlite => {
                    "CREATE TABLE IF NOT EXISTS plumb_done (id INTEGER PRIMARY KEY, \
                     at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)"
                }
            });
            // somebody else may have made it at the same time
            if made.is_err() && is_there(database).is_err() {
                made?;
            }
        }
        self.there.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// It may have been dropped: it is looked for again before it is next needed.
    pub(super) fn doubt(&self) {
        self.there.store(false, Ordering::Relaxed);
    }

    /// Takes note of `ids` in the transaction that is open; those that were not there before.
    pub(super) fn note(
        database: &mut Database,
        ids: &[ExecutionId],
    ) -> Result<BTreeSet<ExecutionId>, DatabaseError> {
        let statement = match database.dialect() {
            Dialect::Postgres => {
                "INSERT INTO plumb_done (id) SELECT unnest($1::text::bigint[]) \
                 ON CONFLICT DO NOTHING RETURNING id"
            }
            Dialect::Sqlite => {
                "INSERT INTO plumb_done (id) SELECT value FROM json_each($1) WHERE true \
                 ON CONFLICT DO NOTHING RETURNING id"
            }
        };
        found(database, statement, ids)
    }

    /// Which of `ids` are there.
    pub(super) fn find(
        database: &mut Database,
        ids: &[ExecutionId],
    ) -> Result<BTreeSet<ExecutionId>, DatabaseError> {
        let statement = match database.dialect() {
            Dialect::Postgres => "SELECT id FROM plumb_done WHERE id = ANY ($1::text::bigint[])",
            Dialect::Sqlite => {
                "SELECT id FROM plumb_done WHERE id IN (SELECT value FROM json_each($1))"
            }
        };
        found(database, statement, ids)
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
        let first_kept = number(ExecutionId(before_ms << COUNTER_BITS));
        // the key finds the old ones; one that waited long for its turn is young by its row
        let statement = match database.dialect() {
            Dialect::Postgres => {
                "DELETE FROM plumb_done WHERE id IN (SELECT id FROM plumb_done WHERE id < $1 \
                 AND at < to_timestamp($2::bigint) ORDER BY id LIMIT $3) RETURNING id"
            }
            Dialect::Sqlite => {
                "DELETE FROM plumb_done WHERE id IN (SELECT id FROM plumb_done WHERE id < $1 \
                 AND at < datetime($2, 'unixepoch') ORDER BY id LIMIT $3) RETURNING id"
            }
        };
        let seconds = i64::try_from(before_ms / 1_000).unwrap_or(0);
        let values = [first_kept.into(), seconds.into(), FORGOTTEN_MAX.into()];
        let forgotten = database.rows(statement, &values)?.len();
        if i64::try_from(forgotten).unwrap_or(0) == FORGOTTEN_MAX {
            self.next_ns.store(0, Ordering::Relaxed); // there are more
        }
        Ok(())
    }
}

fn found(
    database: &mut Database,
    statement: &str,
    ids: &[ExecutionId],
) -> Result<BTreeSet<ExecutionId>, DatabaseError> {
    if ids.is_empty() {
        return Ok(BTreeSet::new());
    }
    let numbers: Vec<String> = ids.iter().map(|id| number(*id).to_string()).collect();
    let (open, close) = match database.dialect() {
        Dialect::Postgres => ('{', '}'),
        Dialect::Sqlite => ('[', ']'),
    };
    let list = Value::Text(format!("{open}{}{close}", numbers.join(",")));
    let rows = database.rows(statement, &[list])?;
    Ok(rows.iter().map(|row| ExecutionId(row.int(0).cast_unsigned())).collect())
}

fn number(id: ExecutionId) -> i64 {
    id.0.cast_signed()
}

#[cfg(test)]
mod tests {
    use plumb_serve::database::DatabaseTarget;

    use super::*;

    #[test]
    fn messages_are_noted_once_and_forgotten_when_they_are_old() {
        let folder = tempfile::tempdir().unwrap();
        let mut database = Database::new(DatabaseTarget::file(folder.path().join("data.db")));
        let table = DoneTable::default();
        table.make(&mut database).unwrap();
        table.make(&mut database).unwrap();
        let now = ExecutionId((wall_ns() / 1_000_000) << COUNTER_BITS);
        let (old, high) = (ExecutionId(7), ExecutionId(u64::MAX));
        let all = BTreeSet::from([old, now, high]);
        assert_eq!(DoneTable::note(&mut database, &[old, now, high]).unwrap(), all);
        assert_eq!(DoneTable::note(&mut database, &[now]).unwrap(), BTreeSet::new());
        assert_eq!(DoneTable::find(&mut database, &[old, now, high]).unwrap(), all);
        // its row is young, though its id is old
        table.forget(&mut database, Span::from_ms(60_000)).unwrap();
        assert_eq!(DoneTable::find(&mut database, &[old, now]).unwrap().len(), 2);
        database.batch("UPDATE plumb_done SET at = '2000-01-01 00:00:00'").unwrap();
        let again = DoneTable::default();
        again.forget(&mut database, Span::from_ms(60_000)).unwrap();
        let left = DoneTable::find(&mut database, &[old, now]).unwrap();
        assert_eq!(left, BTreeSet::from([now]));
    }
}
