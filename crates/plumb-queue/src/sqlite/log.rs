//! Damage in the write-ahead log, which `SQLite` would take for its end.
//!
//! # Source
//! <https://www.sqlite.org/fileformat2.html#the_write_ahead_log>

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::OpenError;

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;

/// How a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogEnd {
    /// With a whole frame, or with what was written last and never flushed.
    Whole,
    /// There are later transactions behind a frame that is wrong; its number from 1.
    Damaged(u64),
}

/// Refuses a log in whose middle a frame is wrong: whatever stands behind it was acknowledged once,
/// and `SQLite` would leave it out without a word.
///
/// A torn transaction at the very end is none: nobody was told that it is there. Damage in the
/// last transaction but one, at its commit, cannot be told from that.
pub(super) fn check(path: &Path) -> Result<(), OpenError> {
    let failed = |error| OpenError::Folder { path: path.into(), error };
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(failed)?,
    };
    match end_of(BufReader::with_capacity(1 << 20, file)).map_err(failed)? {
        LogEnd::Whole => Ok(()),
        LogEnd::Damaged(frame) => {
            let what = format!("frame {frame} is wrong, and there are later ones behind it");
            Err(OpenError::Damaged { path: path.into(), what })
        }
    }
}

fn end_of(mut log: impl Read) -> io::Result<LogEnd> {
    let mut header = [0; HEADER_BYTES];
    if !fill(&mut log, &mut header)? {
        return Ok(LogEnd::Whole);
    }
    let order = match number(&header, 0) {
        0x377f_0682 => u32::from_le_bytes as fn([u8; 4]) -> u32,
        0x377f_0683 => u32::from_be_bytes,
        _ => return Ok(LogEnd::Whole), // never begun
    };
    let mut sum = summed((0, 0), &header[..24], order);
    if sum != (number(&header, 24), number(&header, 28)) {
        return Ok(LogEnd::Whole); // the header itself was never flushed: nothing behind it was
    }
    let page_bytes = usize::try_from(number(&header, 8)).unwrap_or(0);
    if !(512..=65_536).contains(&page_bytes) {
        return Ok(LogEnd::Whole);
    }
    let mut frame = vec![0; FRAME_HEADER_BYTES + page_bytes];
    let (mut at, mut wrong, mut committed_behind) = (0, None, false);
    while fill(&mut log, &mut frame)? {
        at += 1;
        let of_this_log = frame[8..16] == header[16..24];
        if let Some(wrong) = wrong {
            if of_this_log && committed_behind {
                return Ok(LogEnd::Damaged(wrong));
            }
            committed_behind |= of_this_log && number(&frame, 4) != 0;
            continue;
        }
        sum = summed(summed(sum, &frame[..8], order), &frame[FRAME_HEADER_BYTES..], order);
        if !of_this_log || sum != (number(&frame, 16), number(&frame, 20)) {
            wrong = Some(at);
            committed_behind = of_this_log && number(&frame, 4) != 0;
        }
    }
    Ok(LogEnd::Whole)
}

/// True when `bytes` are filled, false at the end.
fn fill(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}

/// The big-endian number at `at`.
fn number(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// The checksum `sum` (`s0`, `s1`) continued over `bytes`: `s0 += x[i] + s1; s1 += x[i + 1] + s0`,
/// where `x` are 32-bit numbers in the order of the log.
fn summed(sum: (u32, u32), bytes: &[u8], order: fn([u8; 4]) -> u32) -> (u32, u32) {
    let (pairs, _) = bytes.as_chunks::<8>();
    pairs.iter().fold(sum, |(s0, s1), &[a, b, c, d, e, f, g, h]| {
        let s0 = s0.wrapping_add(order([a, b, c, d])).wrapping_add(s1);
        (s0, s1.wrapping_add(order([e, f, g, h])).wrapping_add(s0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A log of `commits` transactions, as `SQLite` writes it.
    fn written(commits: i64) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        connection.execute_batch("CREATE TABLE t (a)").unwrap();
        for number in 1..commits {
            connection.execute("INSERT INTO t VALUES (?)", [number]).unwrap();
        }
        std::fs::read(folder.path().join("a.db-wal")).unwrap()
    }

    #[test]
    fn a_whole_log_and_a_torn_one_are_fine_and_a_hole_is_not() {
        let log = written(6);
        assert_eq!(end_of(log.as_slice()).unwrap(), LogEnd::Whole);
        assert_eq!(end_of(&log[..log.len() - 100]).unwrap(), LogEnd::Whole);
        let mut torn = log.clone();
        let last = torn.len() - 2_000;
        torn[last] ^= 1;
        assert_eq!(end_of(torn.as_slice()).unwrap(), LogEnd::Whole);
        let mut holed = log;
        holed[HEADER_BYTES + FRAME_HEADER_BYTES + 4_000] ^= 1;
        assert_eq!(end_of(holed.as_slice()).unwrap(), LogEnd::Damaged(1));
    }

    proptest! {
        #[test]
        fn any_bytes_are_looked_through(bytes: Vec<u8>) {
            prop_assert!(end_of(bytes.as_slice()).is_ok());
        }
    }
}
