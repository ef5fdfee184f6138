//! Files that are not, or not any more, those of a queue.

use std::fs;

use super::super::OpenError;
use super::*;

/// The folder of a queue that was ended by a crash: its log is not moved into the database.
fn crashed(messages: usize) -> tempfile::TempDir {
    let (folder, clock) = (tempfile::tempdir().unwrap(), HeldClock::new());
    let queue = SqliteQueue::open(folder.path(), QueueLimits::default(), clock).unwrap();
    for number in 0..messages {
        accept(&queue, message("orders", &number.to_string())).unwrap();
    }
    let copy = tempfile::tempdir().unwrap();
    for name in ["queue.db", "queue.db-wal"] {
        fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
    }
    copy
}

fn refused(folder: &tempfile::TempDir) -> OpenError {
    SqliteQueue::open(folder.path(), limits(), HeldClock::new()).unwrap_err()
}

#[test]
fn a_crash_loses_nothing() {
    let folder = crashed(20);
    let queue = open(folder.path(), &HeldClock::new());
    assert_eq!(claim(&queue, 100).len(), 20);
}

#[test]
fn a_hole_in_the_log_is_told_and_nothing_is_changed() {
    let folder = crashed(20);
    let path = folder.path().join("queue.db-wal");
    let mut log = fs::read(&path).unwrap();
    let middle = log.len() / 2;
    log[middle] ^= 0xff;
    fs::write(&path, &log).unwrap();
    let error = refused(&folder);
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("queue.db-wal"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), log);
}

#[test]
fn damaged_pages_cut_and_empty_files_are_told() {
    for harm in [
        (|bytes| bytes.truncate(bytes.len() / 2)) as fn(&mut Vec<u8>),
        |bytes| bytes[16_384..].fill(0x5a),
        Vec::clear,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let queue = open(folder.path(), &HeldClock::new());
        for number in 0..200 {
            accept(&queue, message("orders", &format!("{number:2000}"))).unwrap();
        }
        drop(queue);
        let path = folder.path().join("queue.db");
        let mut bytes = fs::read(&path).unwrap();
        harm(&mut bytes);
        fs::write(&path, &bytes).unwrap();
        let error = refused(&folder);
        assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), bytes, "it was left as it is");
    }
}

#[test]
fn a_log_without_its_database_is_told() {
    let folder = crashed(3);
    fs::remove_file(folder.path().join("queue.db")).unwrap();
    let error = refused(&folder);
    assert!(error.to_string().contains("the database itself is gone"), "{error}");
}

#[test]
fn foreign_files_and_other_versions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("queue.db");
    fs::write(&path, "no database at all").unwrap();
    assert!(matches!(refused(&folder), OpenError::Foreign { .. }));
    fs::remove_file(&path).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE mine (a)").unwrap();
    drop(other);
    let before = fs::read(&path).unwrap();
    assert!(matches!(refused(&folder), OpenError::Foreign { .. }));
    assert_eq!(fs::read(&path).unwrap(), before);
    fs::remove_file(&path).unwrap();
    drop(open(folder.path(), &HeldClock::new()));
    let ours = rusqlite::Connection::open(&path).unwrap();
    ours.pragma_update(None, "user_version", 7).unwrap();
    ours.close().unwrap();
    let error = refused(&folder).to_string();
    assert!(error.contains("version 7") && error.contains("version 1"), "{error}");
}

#[test]
fn a_folder_is_used_by_one_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let queue = open(folder.path(), &HeldClock::new());
    assert!(matches!(refused(&folder), OpenError::InUse { .. }));
    drop(queue);
    drop(open(folder.path(), &HeldClock::new()));
}

#[test]
fn a_creation_that_was_cut_is_begun_again() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("queue.new"), "half a file").unwrap();
    accept(&open(folder.path(), &HeldClock::new()), message("orders", "1")).unwrap();
}
