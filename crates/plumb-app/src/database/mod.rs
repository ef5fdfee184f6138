//! The database of the application server: its tables, what stands in them, and how it is waited
//! for.

mod flights;
mod schema;

use plumb_measure::Span;
use plumb_serve::database::Dialect;
pub(crate) use plumb_serve::database::{
    Activity, Database, DatabaseError, DatabaseTarget, Row, Value,
};

pub(crate) use self::schema::prepare;

/// A read of one row that takes `time` longer than it must: the database waits, inside the call.
///
/// # Errors
/// [`DatabaseError`], as every call.
pub(crate) fn wait(database: &mut Database, time: Span) -> Result<(), DatabaseError> {
    let statement = match database.dialect() {
        Dialect::Sqlite => "SELECT carrname, plumb_wait($1) FROM carrier WHERE carrid = 'LH'",
        Dialect::Postgres => {
            "SELECT carrname FROM carrier, pg_sleep($1::bigint::double precision / 1e9) \
             WHERE carrid = 'LH'"
        }
    };
    let time_ns = i64::try_from(time.ns()).unwrap_or(i64::MAX);
    database.rows(statement, &[Value::Int(time_ns)])?;
    Ok(())
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// A filled database in a folder that goes with it.
    pub(crate) fn filled() -> (tempfile::TempDir, Database) {
        let folder = tempfile::tempdir().unwrap();
        let target = DatabaseTarget::file(folder.path().join("app.db"));
        let mut database = Database::new(target);
        prepare(&mut database, &["demo".into()]).unwrap();
        (folder, database)
    }

    #[test]
    fn a_transaction_that_fails_leaves_nothing() {
        let (_folder, mut database) = filled();
        let failed: Result<(), DatabaseError> = database.transaction(|database| {
            database.rows("DELETE FROM flight", &[])?;
            Err(DatabaseError::Refused("by the test".into()))
        });
        assert!(failed.is_err());
        let count = database.row("SELECT count(*) FROM flight", &[]).unwrap().unwrap();
        assert_eq!(count.int(0), 400);
    }

    #[test]
    fn a_wrong_statement_is_refused_and_the_session_stays() {
        let (_folder, mut database) = filled();
        let error = database.rows("SELECT nothing FROM nowhere", &[]).unwrap_err();
        assert!(matches!(error, DatabaseError::Refused(_)), "{error}");
        assert_eq!(database.logons(), 1);
    }

    #[test]
    fn waiting_is_a_call_that_is_counted_and_timed() {
        let (_folder, mut database) = filled();
        let (calls, spent_ns) = (database.calls(), database.spent_ns());
        wait(&mut database, Span::from_ms(2)).unwrap();
        assert_eq!(database.calls(), calls + 1);
        assert!(database.spent_ns() - spent_ns >= 2_000_000);
    }
}
