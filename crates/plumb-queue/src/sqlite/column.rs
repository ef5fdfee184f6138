//! Values as `SQLite` holds them.

use rusqlite::Row;
use rusqlite::types::Type;

use super::super::parameters::decode;

/// A number with a sign, as it is stored. Ids and times are below 2^63 until the year 2248.
pub(super) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number as it was stored.
pub(super) fn read(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

/// Parameters as they were stored.
pub(super) fn parameters(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<(String, String)>> {
    decode(row.get_ref(column)?.as_blob()?).ok_or_else(|| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            Type::Blob,
            "the parameters of a message are damaged".into(),
        )
    })
}
