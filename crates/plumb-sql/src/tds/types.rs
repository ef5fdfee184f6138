//! Types of columns, and where the values of rows lie.
//!
//! # Source
//! MS-TDS, 2.2.5.4 to 2.2.5.6 (data types, `TYPE_INFO`), 2.2.7 (`COLMETADATA`, `ROW`, `NBCROW`).

use crate::Bytes;

use super::wire::Texts as _;

/// How the bytes of a value are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Always so many.
    Fixed(u8),
    /// In one byte; 0 is null.
    Byte,
    /// In two bytes; the largest number is null.
    Short,
    /// In pieces.
    Pieces,
    /// In four bytes; 0 is null.
    Long,
    /// Behind a pointer and a time stamp, in four bytes.
    Pointed,
}

/// A text or a value with more than one of these columns has no place in memory here.
const COLUMNS: u16 = 4_096;
/// Null, in two bytes.
const NULL: u16 = 0xffff;
/// Null, of a value in pieces.
const NO_PIECES: u64 = u64::MAX;

/// Reads the type of a column, or of a value that a procedure returns.
pub fn type_of(bytes: &mut Bytes<'_>) -> Option<Length> {
    let kind = bytes.byte()?;
    Some(match kind {
        0x1f => Length::Fixed(0),
        0x30 | 0x32 => Length::Fixed(1),
        0x34 => Length::Fixed(2),
        0x38 | 0x3a | 0x3b | 0x7a => Length::Fixed(4),
        0x3c | 0x3d | 0x3e | 0x7f => Length::Fixed(8),
        0x28 => Length::Byte, // a date, whose length is known
        0x24 | 0x25 | 0x26 | 0x27 | 0x29 | 0x2a | 0x2b | 0x2d | 0x2f | 0x68 | 0x6d..=0x6f => {
            bytes.byte()?;
            Length::Byte
        }
        0x37 | 0x3f | 0x6a | 0x6c => {
            bytes.take(3)?; // length, precision, scale
            Length::Byte
        }
        0xa5 | 0xad => short_or_pieces(bytes.u16()?),
        0xa7 | 0xaf | 0xe7 | 0xef => {
            let most = bytes.u16()?;
            bytes.take(5)?; // the collation
            short_or_pieces(most)
        }
        0x22 => {
            bytes.u32()?;
            Length::Pointed
        }
        0x23 | 0x63 => {
            bytes.u32()?;
            bytes.take(5)?;
            Length::Pointed
        }
        0x62 => {
            bytes.u32()?;
            Length::Long
        }
        0xf1 => {
            if bytes.byte()? != 0 {
                bytes.short_text()?;
                bytes.short_text()?;
                bytes.text()?;
            }
            Length::Pieces
        }
        0xf0 => {
            bytes.u16()?;
            for _ in ["database", "schema", "type"] {
                bytes.short_text()?;
            }
            bytes.text()?;
            Length::Pieces
        }
        _ => return None,
    })
}

fn short_or_pieces(most: u16) -> Length {
    if most == NULL { Length::Pieces } else { Length::Short }
}

/// Reads the columns of an answer; `None` where they cannot be understood.
pub fn columns(bytes: &mut Bytes<'_>) -> Option<Vec<Length>> {
    let count = bytes.u16()?;
    if count == NULL {
        return Some(Vec::new()); // those of the answer before
    }
    if count > COLUMNS {
        return None;
    }
    let mut found = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        bytes.take(6)?; // type of the user, flags
        let length = type_of(bytes)?;
        if length == Length::Pointed {
            for _ in 0..bytes.byte()? {
                bytes.text()?; // a part of the name of the table
            }
        }
        bytes.short_text()?;
        found.push(length);
    }
    Some(found)
}

/// The bytes of a value, `Some(None)` for null; those of a value in pieces are [to be joined](joined).
pub fn value<'a>(bytes: &mut Bytes<'a>, length: Length) -> Option<Option<&'a [u8]>> {
    match length {
        Length::Fixed(count) => bytes.take(count.into()).map(Some),
        Length::Byte => match bytes.byte()? {
            0 => Some(None),
            count => bytes.take(count.into()).map(Some),
        },
        Length::Short => match bytes.u16()? {
            NULL => Some(None),
            count => bytes.take(count.into()).map(Some),
        },
        Length::Long => match bytes.u32()? {
            0 => Some(None),
            count => bytes.take(usize::try_from(count).ok()?).map(Some),
        },
        Length::Pointed => match bytes.byte()? {
            0 => Some(None),
            pointer => {
                bytes.take(usize::from(pointer) + 8)?;
                let count = bytes.u32()?;
                bytes.take(usize::try_from(count).ok()?).map(Some)
            }
        },
        Length::Pieces => {
            if bytes.u64()? == NO_PIECES {
                return Some(None);
            }
            let pieces = bytes.0;
            while let 1.. = piece(bytes)?.len() {}
            pieces.get(..pieces.len() - bytes.0.len()).map(Some)
        }
    }
}

/// A piece of a value, each with its length before it; one without bytes is the last.
fn piece<'a>(bytes: &mut Bytes<'a>) -> Option<&'a [u8]> {
    let count = bytes.u32()?;
    bytes.take(usize::try_from(count).ok()?)
}

/// A value in `pieces`, without the lengths that stand between them.
#[must_use]
pub fn joined(pieces: &[u8]) -> Option<Vec<u8>> {
    let (mut bytes, mut whole) = (Bytes(pieces), Vec::new());
    loop {
        match piece(&mut bytes)? {
            [] => return bytes.0.is_empty().then_some(whole),
            more => whole.extend(more),
        }
    }
}

/// The bytes of each value of a row; those of a row in which nulls are `marked` by bits stand behind
/// these.
pub fn row<'a>(
    bytes: &mut Bytes<'a>,
    columns: &[Length],
    marked: bool,
) -> Option<Vec<Option<&'a [u8]>>> {
    let nulls = if marked { bytes.take(columns.len().div_ceil(8))? } else { &[] };
    let is_null = |at: usize| nulls.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
    let read = |(at, length): (usize, &Length)| match is_null(at) {
        true => Some(None),
        false => value(bytes, *length),
    };
    columns.iter().enumerate().map(read).collect()
}

/// What `datetime2(7)` says, nanoseconds since the first day of year 1: ticks of 100 ns in five bytes,
/// days in three.
pub fn nanoseconds(value: &[u8]) -> Option<i128> {
    let [a, b, c, d, e, x, y, z] = <[u8; 8]>::try_from(value).ok()?;
    let ticks = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
    let days = u32::from_le_bytes([x, y, z, 0]);
    Some((i128::from(days) * 864_000_000_000 + i128::from(ticks)) * 100)
}

/// A whole number of any width.
pub fn number(value: &[u8]) -> Option<i64> {
    Some(match *value {
        [a] => i64::from(a),
        [a, b] => i16::from_le_bytes([a, b]).into(),
        [a, b, c, d] => i32::from_le_bytes([a, b, c, d]).into(),
        _ => i64::from_le_bytes(value.try_into().ok()?),
    })
}
