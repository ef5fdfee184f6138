//! What lies in the folders, in `SQLite` beside them.
//!
//! The index holds nothing that the folders do not: it is made again from them when it is removed,
//! damaged or of another version. Each look at the folders compares the files that are read with what
//! was read before, and reads what changed. Nobody looks while nobody asks: an app that is left open
//! takes nothing from a measurement.

mod entry;
mod keeper;
mod ladder;
mod query;
mod scan;
mod series;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension as _, params};

pub(crate) use entry::{Entry, shown_ns};
pub(crate) use keeper::Keeper;
pub(crate) use query::{Filter, List, PAGE, Row, SeriesPoint, SeriesRow};
pub(crate) use scan::Seen;

use crate::UiError;

/// The file of the index, in the folder of the runs; hidden, so that nobody takes it for a run.
const FILE: &str = ".plumb-ui.sqlite";
/// The form of the tables, and of what tells series apart; another one is thrown away and made again.
const VERSION: i64 = 8;

/// Kept of the file in memory at most: 10,000 runs take some 20 MiB, and every search passes all.
const CACHE_KIB: i64 = 65_536;

const TABLES: &str = "
    CREATE TABLE entries (
        path TEXT PRIMARY KEY, stamp TEXT NOT NULL, kind TEXT NOT NULL, parent TEXT,
        started INTEGER NOT NULL, command TEXT NOT NULL, target TEXT NOT NULL,
        verdict TEXT NOT NULL, detail TEXT NOT NULL, search TEXT NOT NULL,
        series TEXT NOT NULL, series_name TEXT NOT NULL, series_options TEXT NOT NULL,
        p50 INTEGER, p99 INTEGER, rate REAL, failed INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX entries_by_time ON entries (started DESC, path);
    CREATE INDEX entries_by_series ON entries (series, started);
    CREATE TABLE figures (
        path TEXT NOT NULL, result TEXT NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL,
        value REAL NOT NULL, usable INTEGER NOT NULL
    );
    CREATE INDEX figures_by_path ON figures (path);
";

/// The index of one folder of runs.
#[derive(Debug)]
pub(crate) struct Index {
    folder: PathBuf,
    connection: Mutex<Connection>,
    /// Why it is kept in memory only; `None` where it is a file.
    pub(crate) in_memory: Option<String>,
}

impl Index {
    /// The index of `folder`, as it was left; in memory where no file can be kept.
    ///
    /// # Errors
    /// [`UiError::Index`] when there is not even memory.
    pub(crate) fn open(folder: &Path) -> Result<Self, UiError> {
        let file = folder.join(FILE);
        let opened = open_file(&file).or_else(|_| {
            // damaged, or of another version: nothing is lost with it
            for end in ["", "-wal", "-shm"] {
                let _ = fs::remove_file(folder.join(format!("{FILE}{end}")));
            }
            open_file(&file)
        });
        let (connection, in_memory) = match opened {
            Ok(connection) => (connection, None),
            Err(error) => {
                let connection = Connection::open_in_memory()?;
                connection.execute_batch(TABLES)?;
                (connection, Some(error.to_string()))
            }
        };
        Ok(Self { folder: folder.into(), connection: Mutex::new(connection), in_memory })
    }

    /// The folder of the runs.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stamps of all that is known, by path.
    fn stamps(&self) -> rusqlite::Result<HashMap<String, String>> {
        let connection = self.lock();
        let mut statement = connection.prepare("SELECT path, stamp FROM entries")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    }

    /// Takes `entries` in, in place of what was known of their folders.
    fn put(&self, entries: &[(Seen, Entry)]) -> rusqlite::Result<()> {
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
        {
            let mut forget = transaction.prepare_cached("DELETE FROM figures WHERE path = ?1")?;
            let mut entry = transaction.prepare_cached(
                "INSERT OR REPLACE INTO entries VALUES
                 (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
            )?;
            let mut figure = transaction
                .prepare_cached("INSERT INTO figures VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
            for (seen, it) in entries {
                let search = format!(
                    "{} {} {} {} {} {}",
                    seen.path, it.command, it.target, it.verdict, it.detail, it.words
                );
                forget.execute([&seen.path])?;
                entry.execute(params![
                    seen.path,
                    seen.stamp,
                    seen.kind.word(),
                    seen.parent,
                    it.started_ns,
                    it.command,
                    it.target,
                    it.verdict,
                    it.detail,
                    search.to_lowercase(),
                    it.series.id,
                    it.series.name,
                    it.series.options,
                    it.p50,
                    it.p99,
                    it.rate,
                    it.failed,
                ])?;
                for one in &it.figures {
                    figure.execute(params![
                        seen.path, one.result, one.name, one.unit, one.value, one.usable
                    ])?;
                }
            }
        }
        transaction.commit()
    }

    /// Forgets what lay at `paths`.
    fn remove(&self, paths: &[String]) -> rusqlite::Result<()> {
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
        for path in paths {
            transaction.execute("DELETE FROM figures WHERE path = ?1", [path])?;
            transaction.execute("DELETE FROM entries WHERE path = ?1", [path])?;
        }
        transaction.commit()
    }

    /// What is known of the folder `path`; nothing leads to a folder that is not in the index.
    pub(crate) fn find(&self, path: &str) -> rusqlite::Result<Option<Row>> {
        let connection = self.lock();
        let text = format!("SELECT {} FROM entries WHERE path = ?1", query::COLUMNS);
        connection.query_row(&text, [path], Row::read).optional()
    }
}

/// Opens the file, whose tables are of this version, or makes it.
fn open_file(file: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version == 0 {
        connection
            .execute_batch(&format!("BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;"))?;
        return Ok(connection);
    }
    let sound: String = connection.pragma_query_value(None, "quick_check", |row| row.get(0))?;
    if version == VERSION && sound == "ok" {
        return Ok(connection);
    }
    Err(rusqlite::Error::InvalidQuery)
}

#[cfg(test)]
mod tests;
