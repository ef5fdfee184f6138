//! A read transaction of `SQLite` that goes on from one statement to the next. To begin one and to end it are
//! locks of its file, three calls of the kernel, which is more than a short read takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;

/// No statement reads what is older than this, so that changes of other programs are seen by then.
const AGE_NS: u64 = 1_000_000;

/// Statements at one database that were no reads, of all sessions of this process.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes(Arc<AtomicU64>);

impl Changes {
    /// One more has ended, and may have changed something.
    pub(super) fn made(&self) {
        self.0.fetch_add(1, Ordering::Release);
    }

    fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// What one session keeps.
#[derive(Debug, Default)]
pub(super) struct KeptRead(Option<Snapshot>);

/// What is read since a moment.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    began_ns: u64,
    /// Changes before it.
    changes: u64,
}

impl KeptRead {
    /// A statement that only reads begins at `now_ns`: it goes on with what the last one read from where
    /// that is neither old nor behind a change of this process.
    ///
    /// # Errors
    /// What the database says.
    pub(super) fn reads(
        &mut self,
        connection: &Connection,
        changes: &Changes,
        now_ns: u64,
    ) -> rusqlite::Result<()> {
        let changes = changes.count(); // what is changed from here on is looked for again
        if let Some(kept) = self.0 {
            let age_ns = now_ns.saturating_sub(kept.began_ns);
            if kept.changes == changes && age_ns <= AGE_NS {
                return Ok(());
            }
            self.end(connection)?;
        }
        // within a transaction of somebody else that is what is read
        if connection.is_autocommit() {
            connection.prepare_cached("BEGIN")?.execute([])?;
            self.0 = Some(Snapshot { began_ns: now_ns, changes });
        }
        Ok(())
    }

    /// Ends what is kept.
    ///
    /// # Errors
    /// What the database says.
    pub(super) fn end(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        // some errors end a transaction by themselves
        if self.0.take().is_some() && !connection.is_autocommit() {
            connection.prepare_cached("COMMIT")?.execute([])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::{Database, DatabaseError, DatabaseTarget};

    fn open(folder: &tempfile::TempDir) -> Connection {
        let connection = Connection::open(folder.path().join("a.db")).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        connection
    }

    fn count(connection: &Connection) -> i64 {
        connection.query_row("SELECT count(*) FROM a", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn what_another_program_changes_is_seen_when_what_is_kept_is_old() {
        let folder = tempfile::tempdir().unwrap();
        let (other, reader, changes) = (open(&folder), open(&folder), Changes::default());
        other.execute_batch("CREATE TABLE a (n INTEGER)").unwrap();
        let mut kept = KeptRead::default();
        let mut read = |now_ns| {
            kept.reads(&reader, &changes, now_ns).unwrap();
            count(&reader)
        };
        assert_eq!(read(7), 0);
        other.execute("INSERT INTO a VALUES (1)", []).unwrap();
        assert_eq!(read(7 + AGE_NS), 0, "it is kept");
        assert_eq!(read(8 + AGE_NS), 1);
        other.execute("INSERT INTO a VALUES (2)", []).unwrap();
        changes.made();
        assert_eq!(read(8 + AGE_NS), 2, "a change of this process is seen at once");
    }

    #[test]
    fn whoever_lets_go_is_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        let (other, reader, changes) = (open(&folder), open(&folder), Changes::default());
        other.execute_batch("CREATE TABLE a (n INTEGER)").unwrap();
        let emptied = || {
            let busy = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
            other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], busy).unwrap() == 0
        };
        let mut kept = KeptRead::default();
        kept.reads(&reader, &changes, 0).unwrap();
        assert_eq!(count(&reader), 0);
        assert!(!emptied());
        kept.end(&reader).unwrap();
        assert!(emptied());
        kept.end(&reader).unwrap();
        // in a transaction of somebody else nothing is begun, and nothing ended
        reader.execute_batch("BEGIN IMMEDIATE").unwrap();
        kept.reads(&reader, &changes, 0).unwrap();
        kept.end(&reader).unwrap();
        assert!(!reader.is_autocommit());
    }

    #[test]
    fn sessions_of_one_target_see_what_each_other_and_they_themselves_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let target = DatabaseTarget::file(folder.path().join("a.db"));
        let session = || Database::new(target.clone()).keeps_reading();
        let (mut one, mut two) = (session(), session());
        one.batch("CREATE TABLE a (n INTEGER)").unwrap();
        let count = |database: &mut Database| {
            database.row("SELECT count(*) FROM a", &[]).unwrap().unwrap().int(0)
        };
        let insert =
            |database: &mut Database| database.rows("INSERT INTO a VALUES (1)", &[]).map(|_| ());
        for round in 0..100 {
            assert_eq!((count(&mut one), count(&mut two)), (4 * round, 4 * round));
            insert(&mut one).unwrap();
            assert_eq!((count(&mut two), count(&mut one)), (4 * round + 1, 4 * round + 1));
            two.transaction(|two| {
                insert(two)?;
                assert_eq!(count(two), 4 * round + 2, "a transaction sees what it did");
                insert(two)
            })
            .unwrap();
            let failed = two.transaction(|two| {
                insert(two)?;
                two.rows("SELECT nothing", &[]).map(|_| ())
            });
            assert!(matches!(failed, Err(DatabaseError::Refused(_))), "{failed:?}");
            assert_eq!(count(&mut one), 4 * round + 3);
            let done = one.ask(&crate::database::Statement::plain("INSERT INTO a VALUES (2)"));
            assert_eq!(done.unwrap().changed, 1);
        }
        one.rest();
        assert_eq!((count(&mut one), one.logons()), (400, 1));
    }

    #[test]
    fn a_session_that_is_abandoned_leaves_nothing_of_its_transaction_but_its_counts() {
        let folder = tempfile::tempdir().unwrap();
        let target = DatabaseTarget::file(folder.path().join("a.db"));
        let mut database = Database::new(target).keeps_reading();
        database.batch("CREATE TABLE a (n INTEGER)").unwrap();
        database.begin().unwrap();
        database.rows("INSERT INTO a VALUES (1)", &[]).unwrap();
        let (calls, logons) = (database.calls(), database.logons());
        database.abandon();
        assert!(!database.connected());
        let count = database.row("SELECT count(*) FROM a", &[]).unwrap().unwrap().int(0);
        assert_eq!((count, database.calls(), database.logons()), (0, calls + 1, logons + 1));
    }
}
