//! What `SQLite` says when it does not write, and what that means.

use rusqlite::ErrorCode;

/// Why a transaction is not on disk.
pub(super) enum Unwritten {
    /// There is no room: nothing has changed, and it is worth trying again.
    NoRoom,
    /// The file cannot be trusted any more.
    Broken(String),
}

/// What `error` means for the transaction that it ended.
pub(super) fn unwritten(error: &rusqlite::Error) -> Unwritten {
    /// `SQLITE_IOERR_WRITE`, `_TRUNCATE` and `_SHMSIZE`: a quota, or a limit on files.
    const WRITE: [i32; 3] = [10 | (3 << 8), 10 | (6 << 8), 10 | (19 << 8)];
    let extended = error.sqlite_error().map_or(0, |error| error.extended_code);
    let code = error.sqlite_error_code();
    // whoever looks from outside may hold the file for a moment
    let busy = code == Some(ErrorCode::DatabaseBusy);
    if code == Some(ErrorCode::DiskFull) || busy || WRITE.contains(&extended) {
        Unwritten::NoRoom
    } else {
        Unwritten::Broken(error.to_string())
    }
}
