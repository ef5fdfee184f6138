//! The file of the queue: made whole, and refused when it is another's, of another version or
//! damaged.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use plumb_serve::HeldFolder;
use rusqlite::{Connection, OpenFlags};

use super::OpenError;
use super::column::stored;
use super::log;

/// `PLBQ`, in the header of the file.
const APPLICATION: u32 = 0x504c_4251;
/// The version of the tables.
const VERSION: u32 = 1;
pub(super) const PAGE_BYTES: u64 = 16_384;
/// How long a connection waits for another one; only while a file is recovered.
const BUSY: Duration = Duration::from_secs(10);
/// Statements that stay prepared in a connection.
const PREPARED: usize = 512;

/// What is not a message that waits. Messages wait in a table for each transaction (`message_N`,
/// see [`message_table`]), so that one is claimed in the order of ids whatever waits in the others.
const TABLES: &str = "
    CREATE TABLE number (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE lane (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE retry (
        id INTEGER PRIMARY KEY, lane INTEGER NOT NULL, due_ms INTEGER NOT NULL,
        after_ms INTEGER NOT NULL, failures INTEGER NOT NULL, error TEXT NOT NULL);
    CREATE INDEX retry_due ON retry (lane, due_ms);
    CREATE TABLE dead (
        id INTEGER PRIMARY KEY, lane INTEGER NOT NULL, failures INTEGER NOT NULL, error TEXT,
        at_ms INTEGER NOT NULL, expires_ms INTEGER, noted INTEGER NOT NULL, trace TEXT,
        bytes INTEGER NOT NULL, order_key TEXT, idempotency_key TEXT, media_type TEXT NOT NULL,
        parameters BLOB NOT NULL, body BLOB NOT NULL);
    CREATE INDEX dead_expires ON dead (expires_ms) WHERE expires_ms IS NOT NULL;
    CREATE TABLE done (
        id INTEGER PRIMARY KEY, lane INTEGER NOT NULL, failures INTEGER NOT NULL, error TEXT,
        at_ms INTEGER NOT NULL, expires_ms INTEGER, noted INTEGER NOT NULL, trace TEXT,
        bytes INTEGER NOT NULL, order_key TEXT, idempotency_key TEXT, media_type TEXT NOT NULL,
        parameters BLOB NOT NULL, body BLOB NOT NULL);
    CREATE INDEX done_expires ON done (expires_ms) WHERE expires_ms IS NOT NULL;";

/// The table in which messages of the transaction with this number wait.
pub(super) fn message_table(lane: i64) -> String {
    // the body comes last, so that what is asked of the others does not read it
    format!(
        "CREATE TABLE message_{lane} (
            id INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, order_key TEXT, idempotency_key TEXT,
            media_type TEXT NOT NULL, parameters BLOB NOT NULL, body BLOB NOT NULL)"
    )
}

/// The table of idempotency keys that came in the hour with this number (since 1970).
pub(super) fn key_table(hour: u64) -> String {
    format!(
        "CREATE TABLE idempotency_{hour} (
            lane INTEGER NOT NULL, key TEXT NOT NULL, id INTEGER NOT NULL,
            PRIMARY KEY (lane, key)) WITHOUT ROWID"
    )
}

/// Checks the file, which is made when there is none; a connection that writes.
pub(super) fn open(place: &HeldFolder) -> Result<Connection, OpenError> {
    let path = place.file("db");
    if !path.exists() {
        create(place)?;
    }
    check_header(&path)?;
    log::check(&place.file("db-wal"))?;
    let damaged = |error: &rusqlite::Error| OpenError::damaged(&path, error);
    let connection = connect(&path).map_err(|error| damaged(&error))?;
    let found: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| damaged(&error))?;
    if found != "ok" {
        return Err(OpenError::Damaged { path, what: found });
    }
    Ok(connection)
}

/// One more connection to a file that was checked.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "cache_size", -4_096)?; // KiB
    connection.set_prepared_statement_cache_capacity(PREPARED);
    Ok(connection)
}

/// Makes the file under another name first, so that under its own it is never half there.
fn create(place: &HeldFolder) -> Result<(), OpenError> {
    if place.file("db-wal").exists() {
        let what = "its log is there, but the database itself is gone".into();
        return Err(OpenError::Damaged { path: place.file("db"), what });
    }
    let failed = |error| OpenError::Folder { path: place.folder().into(), error };
    let path = place.file("new");
    if path.exists() {
        fs::remove_file(&path).map_err(failed)?; // a creation that was cut
    }
    let make = || {
        let connection = Connection::open(&path)?;
        connection.pragma_update(None, "page_size", stored(PAGE_BYTES))?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "application_id", APPLICATION)?;
        connection.pragma_update(None, "user_version", VERSION)?;
        connection.execute_batch(&format!("BEGIN; {TABLES} COMMIT;"))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.close().map_err(|(_, error)| error)
    };
    make().map_err(|error| OpenError::damaged(&path, &error))?;
    fs::rename(&path, place.file("db")).and_then(|()| place.sync()).map_err(failed)
}

/// Looks at the first bytes before `SQLite` does, which would make a queue of an empty file.
fn check_header(path: &Path) -> Result<(), OpenError> {
    let failed = |error| OpenError::Folder { path: path.into(), error };
    let mut file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.len() == 0 {
        return Err(OpenError::Damaged { path: path.into(), what: "it is empty".into() });
    }
    let mut header = [0; 100];
    let foreign = || OpenError::Foreign { path: path.into() };
    file.read_exact(&mut header).map_err(|_| foreign())?;
    let number = |at: usize| {
        header[at..].first_chunk().map_or(0, |bytes: &[u8; 4]| u32::from_be_bytes(*bytes))
    };
    // https://www.sqlite.org/fileformat2.html#the_database_header
    let (version, application) = (number(60), number(68));
    if !header.starts_with(b"SQLite format 3\0") || application != APPLICATION {
        return Err(foreign());
    }
    if version != VERSION {
        return Err(OpenError::Version { path: path.into(), found: version, known: VERSION });
    }
    Ok(())
}
