//! The rows of an answer: fetched one by one and counted, within limits.

use odbc_api::handles::StatementRef;
use odbc_api::parameter::VarCharArray;
use odbc_api::{Cursor as _, CursorImpl, CursorRow, ResultSetMetadata as _};
use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;

use crate::Trouble;

/// Bytes of a value that are fetched at once.
const CHUNK: usize = 4_096;

/// What an answer brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Brought {
    /// When the driver had executed the statement, nanoseconds on the monotonic clock.
    pub first_ns: u64,
    /// When the last row was read, and what was to be rolled back was.
    pub last_ns: u64,
    /// Tables, be their rows none.
    pub tables: u64,
    /// Rows of all of them.
    pub rows: u64,
    /// Bytes of their values as text.
    pub bytes: u64,
}

/// The most that an answer may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Most {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

/// Reads all of an answer.
///
/// # Errors
/// [`Trouble`].
pub(crate) fn read(
    cursor: Option<CursorImpl<StatementRef<'_>>>,
    most: Most,
) -> Result<Brought, Trouble> {
    let now = MonotonicClock.now_ns();
    let mut brought = Brought { first_ns: now, last_ns: now, ..Brought::default() };
    let mut next = cursor;
    while let Some(mut cursor) = next {
        table(&mut cursor, most, &mut brought)?;
        next = match cursor.more_results().map_err(Trouble::from) {
            Ok(next) => next,
            Err(trouble) if is_unknown(&trouble) => None,
            Err(trouble) => return Err(trouble),
        };
    }
    brought.last_ns = MonotonicClock.now_ns();
    Ok(brought)
}

/// True where a driver knows of one table an answer only.
fn is_unknown(trouble: &Trouble) -> bool {
    trouble.is_of("IM001") || trouble.is_of("HYC00")
}

fn table(
    cursor: &mut CursorImpl<StatementRef<'_>>,
    most: Most,
    brought: &mut Brought,
) -> Result<(), Trouble> {
    let columns = u16::try_from(cursor.num_result_cols()?).unwrap_or(0);
    if columns == 0 {
        return Ok(()); // a count of rows, between tables
    }
    brought.tables += 1;
    let mut chunk = VarCharArray::<CHUNK>::NULL;
    while let Some(mut row) = cursor.next_row()? {
        brought.rows += 1;
        if brought.rows > most.rows {
            return Err(Trouble::TooLarge);
        }
        for column in 1..=columns {
            let left = most.bytes - brought.bytes;
            brought.bytes += length(&mut row, column, &mut chunk, left)?;
        }
    }
    Ok(())
}

/// Bytes of a value, which is read to its end.
fn length(
    row: &mut CursorRow<'_>,
    column: u16,
    chunk: &mut VarCharArray<CHUNK>,
    most: u64,
) -> Result<u64, Trouble> {
    let mut bytes = 0;
    loop {
        row.get_data(column, chunk)?;
        let came = chunk.as_bytes().map_or(0, |it| it.len() as u64);
        bytes += came;
        if bytes > most {
            return Err(Trouble::TooLarge);
        }
        // what brings nothing more will never be complete
        if chunk.is_complete() || came == 0 {
            return Ok(bytes);
        }
    }
}
