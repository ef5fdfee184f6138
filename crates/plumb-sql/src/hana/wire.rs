//! Messages of SAP HANA's protocol, as they lie on the wire: written, and taken apart. No I/O.
//!
//! A message is a head, a segment, and parts, each with a head of its own; numbers have their lowest byte
//! first.
//!
//! # Source
//! SAP HANA SQL Command Network Protocol Reference.

use crate::{Bytes, Refusal};

/// Bytes of the head of a message.
pub const HEAD: usize = 32;
const SEGMENT: usize = 24;
const PART: usize = 16;
/// What a client begins with: versions of product and protocol, and that lowest bytes come first.
pub const HELLO: [u8; 14] = [0xff, 0xff, 0xff, 0xff, 4, 20, 0, 4, 1, 0, 0, 1, 1, 1];
/// Bytes of the answer to that.
pub const WELCOME: usize = 8;
/// The largest message that is sent or taken in one, as messages say it.
const LARGEST: u32 = 1 << 17;
/// A request, and a reply that is an error.
const REQUEST: u8 = 1;
const FAILED: u8 = 5;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ask {
    /// A statement as text.
    Directly = 2,
    /// A statement is to be prepared.
    Prepare = 3,
    /// A statement that was prepared.
    Execute = 13,
    /// How the user may prove who it is.
    Authenticate = 65,
    /// The proof.
    Connect = 66,
    /// What was not committed is to be undone.
    Rollback = 68,
    /// An answer is not read any further.
    Close = 69,
    /// More rows of an answer.
    Fetch = 71,
    /// The session ends.
    Disconnect = 77,
}

/// Kinds of parts.
pub mod part {
    /// The text of a statement.
    pub const COMMAND: u8 = 3;
    /// Rows of an answer.
    pub const ROWS: u8 = 5;
    /// Why the server refuses.
    pub const ERROR: u8 = 6;
    /// The number of a statement that was prepared.
    pub const STATEMENT: u8 = 10;
    /// The number of an answer.
    pub const RESULT: u8 = 13;
    /// Proofs, and what they are made with.
    pub const AUTHENTICATION: u8 = 33;
    /// Who the client is.
    pub const CLIENT: u8 = 35;
    /// What the server tells of a statement, its time among it.
    pub const STATEMENT_CONTEXT: u8 = 39;
    /// What a connection is to be like.
    pub const CONNECT_OPTIONS: u8 = 42;
    /// Rows that may come at once.
    pub const FETCH_SIZE: u8 = 45;
    /// The columns of an answer.
    pub const METADATA: u8 = 48;
    /// What became of the transaction.
    pub const TRANSACTION: u8 = 64;
}

/// The last rows of an answer, and that the server has closed it.
const LAST: u8 = 1;
const CLOSED: u8 = 16;

/// Writes a message of one segment with these parts: kind, arguments, bytes. What was asked with `commits`
/// ends its transaction.
pub fn message(
    out: &mut Vec<u8>,
    (session, number): (i64, u32),
    ask: Ask,
    commits: bool,
    parts: &[(u8, u16, &[u8])],
) {
    let of_parts: usize = parts.iter().map(|(_, _, data)| PART + padded(data.len())).sum();
    let length = u32::try_from(SEGMENT + of_parts).unwrap_or(u32::MAX);
    out.extend(session.to_le_bytes());
    out.extend(number.to_le_bytes());
    out.extend(length.to_le_bytes());
    out.extend(LARGEST.to_le_bytes());
    out.extend(1_u16.to_le_bytes()); // segments
    out.extend([0; 10]);
    out.extend(length.to_le_bytes());
    out.extend([0; 4]); // where the segment begins
    out.extend(u16::try_from(parts.len()).unwrap_or(0).to_le_bytes());
    out.extend(1_u16.to_le_bytes());
    out.extend([REQUEST, ask as u8, u8::from(commits), 0]);
    out.extend([0; 8]);
    for (kind, count, data) in parts {
        let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
        out.extend([*kind, 0]);
        out.extend(count.to_le_bytes());
        out.extend([0; 4]);
        out.extend(length.to_le_bytes());
        out.extend(LARGEST.to_le_bytes());
        out.extend(*data);
        out.resize(out.len() + padded(data.len()) - data.len(), 0);
    }
}

/// Parts begin at multiples of eight.
fn padded(length: usize) -> usize {
    length.next_multiple_of(8)
}

/// Session and number of a message, and how many bytes follow its head.
pub fn head(bytes: [u8; HEAD]) -> (i64, usize) {
    let [a, b, c, d, e, f, g, h, _, _, _, _, i, j, k, l, ..] = bytes;
    let length = u32::from_le_bytes([i, j, k, l]);
    (i64::from_le_bytes([a, b, c, d, e, f, g, h]), usize::try_from(length).unwrap_or(usize::MAX))
}

/// Several values as one: how many, then each with its length.
pub fn fields(values: &[&[u8]]) -> Vec<u8> {
    let mut out = u16::try_from(values.len()).unwrap_or(0).to_le_bytes().to_vec();
    for value in values {
        match u8::try_from(value.len()).ok().filter(|length| *length <= SHORT) {
            Some(length) => out.push(length),
            None => {
                out.push(IN_TWO);
                out.extend(u16::try_from(value.len()).unwrap_or(u16::MAX).to_le_bytes());
            }
        }
        out.extend(*value);
    }
    out
}

/// The largest length in one byte, and the marks of longer ones.
const SHORT: u8 = 245;
const IN_TWO: u8 = 246;
const IN_FOUR: u8 = 247;
const IN_TWO_TURNED: u8 = 255;

/// The same, read. `None` where they are cut.
pub fn values(data: &[u8]) -> Option<Vec<&[u8]>> {
    let mut bytes = Bytes(data);
    let count = bytes.u16()?;
    let mut found = Vec::new();
    for _ in 0..count {
        let length = match bytes.byte()? {
            IN_TWO_TURNED => usize::from(bytes.u16()?.swap_bytes()),
            mark => length(mark, &mut bytes)?,
        };
        found.push(bytes.take(length)?);
    }
    Some(found)
}

/// The length of a value, from its mark on.
fn length(mark: u8, bytes: &mut Bytes<'_>) -> Option<usize> {
    match mark {
        IN_TWO => bytes.u16().map(usize::from),
        IN_FOUR => usize::try_from(bytes.u32()?).ok(),
        length if length <= SHORT => Some(length.into()),
        _ => None,
    }
}

/// The texts of so many rows of one column of characters, `None` for null.
pub fn texts(rows: &[u8], count: u64) -> Option<Vec<Option<String>>> {
    const NULL: u8 = 255;
    let mut bytes = Bytes(rows);
    let mut read = || match bytes.byte()? {
        NULL => Some(None),
        mark => {
            let length = length(mark, &mut bytes)?;
            Some(Some(String::from_utf8_lossy(bytes.take(length)?).into_owned()))
        }
    };
    // a row has a byte at least
    (0..count.min(rows.len() as u64 + 1)).map(|_| read()).collect()
}

/// Options of a connection that are asked for: rows as they are since version 1, and the transaction's
/// state with each answer.
pub fn connect_options() -> (u16, Vec<u8>) {
    const INT: u8 = 3;
    const BOOLEAN: u8 = 28;
    let mut out = Vec::new();
    for (option, value) in [(12_u8, 1_i32), (23, 1)] {
        out.extend([option, INT]);
        out.extend(value.to_le_bytes());
    }
    for option in [2_u8, 10, 14] {
        out.extend([option, BOOLEAN, 1]);
    }
    (5, out)
}

/// A part of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// One of [`part`].
    pub kind: u8,
    attributes: u8,
    /// Values in it.
    pub count: u32,
    /// Its bytes.
    pub data: &'a [u8],
}

/// A reply taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    /// What the server did, or found a statement to be.
    pub function: i16,
    failed: bool,
    parts: Vec<Part<'a>>,
}

/// What became of a transaction with a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// It was committed, or rolled back.
    pub ended: bool,
    /// It has begun to write.
    pub writes: bool,
}

/// Rows of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rows<'a> {
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub data: &'a [u8],
    /// None follow.
    pub are_last: bool,
    /// The server has closed the answer.
    pub is_closed: bool,
}

impl<'a> Reply<'a> {
    /// Takes apart what follows the head of a message. `None` where it cannot be understood.
    pub fn read(payload: &'a [u8]) -> Option<Self> {
        let mut bytes = Bytes(payload);
        let mut reply = Self { function: 0, failed: false, parts: Vec::new() };
        while !bytes.0.is_empty() {
            let length = usize::try_from(bytes.u32()?).ok()?.checked_sub(4)?;
            let mut segment = Bytes(bytes.take(length)?);
            segment.take(4)?;
            let count = segment.u16()?;
            segment.take(2)?;
            reply.failed |= segment.byte()? == FAILED;
            segment.byte()?;
            reply.function = i16::from_le_bytes(segment.array()?);
            segment.take(8)?;
            for _ in 0..count {
                reply.parts.push(Part::read(&mut segment)?);
            }
        }
        Some(reply)
    }

    /// The first part of this kind.
    pub fn part(&self, kind: u8) -> Option<Part<'a>> {
        self.parts.iter().find(|part| part.kind == kind).copied()
    }

    /// Why the server refuses; `Some(None)` where it does not say.
    pub fn refusal(&self) -> Option<Option<Refusal>> {
        /// The level of errors that end the session.
        const FATAL: u8 = 2;
        let Some(part) = self.part(part::ERROR) else { return self.failed.then_some(None) };
        let read = || {
            let mut bytes = Bytes(part.data);
            let number = bytes.u32()?.cast_signed();
            bytes.u32()?; // where in the statement
            let length = usize::try_from(bytes.u32()?).ok()?;
            let level = bytes.byte()?;
            bytes.take(5)?; // SQLSTATE
            let message = String::from_utf8_lossy(bytes.take(length)?).into_owned();
            Some((level, Refusal { number, is_fatal: level == FATAL, message }))
        };
        match read() {
            Some((0, _)) if !self.failed => None, // a warning
            found => Some(found.map(|(_, refusal)| refusal)),
        }
    }

    /// How long the server was at work for this message, microseconds, if it tells.
    pub fn server_us(&self) -> Option<u64> {
        const SERVER_TIME: u8 = 2;
        let part = self.part(part::STATEMENT_CONTEXT)?;
        match option(part, SERVER_TIME)? {
            Value::Number(us) => u64::try_from(us).ok(),
            Value::Text(_) => None,
        }
    }

    /// What became of the transaction, as far as the server tells.
    pub fn transaction(&self) -> Transaction {
        const ROLLED_BACK: u8 = 0;
        const COMMITTED: u8 = 1;
        const WRITE_BEGUN: u8 = 4;
        let Some(part) = self.part(part::TRANSACTION) else { return Transaction::default() };
        let is = |wanted| matches!(option(part, wanted), Some(Value::Number(value)) if value != 0);
        Transaction { ended: is(ROLLED_BACK) || is(COMMITTED), writes: is(WRITE_BEGUN) }
    }

    /// The version of the server, if it tells.
    pub fn version(&self) -> Option<String> {
        const FULL_VERSION: u8 = 44;
        match option(self.part(part::CONNECT_OPTIONS)?, FULL_VERSION)? {
            Value::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
            Value::Number(_) => None,
        }
    }

    /// The rows that it brings; `None` without any, be there columns or not.
    pub fn rows(&self) -> Option<Rows<'a>> {
        let Part { attributes, count, data, .. } = self.part(part::ROWS)?;
        let (are_last, is_closed) = (attributes & LAST != 0, attributes & CLOSED != 0);
        Some(Rows { count: count.into(), data, are_last, is_closed })
    }
}

impl<'a> Part<'a> {
    fn read(bytes: &mut Bytes<'a>) -> Option<Self> {
        let (kind, attributes) = (bytes.byte()?, bytes.byte()?);
        let (few, many) = (i16::from_le_bytes(bytes.array()?), bytes.u32()?);
        let length = usize::try_from(bytes.u32()?).ok()?;
        bytes.u32()?;
        let data = bytes.take(length)?;
        // the last part of a segment may come without what fills it up
        let fill = padded(length) - length;
        bytes.take(fill.min(bytes.0.len()))?;
        let count = u32::try_from(few).unwrap_or(many);
        Some(Self { kind, attributes, count, data })
    }
}

/// The value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value<'a> {
    Number(i64),
    Text(&'a [u8]),
}

/// The option `wanted` of a part of options.
fn option(part: Part<'_>, wanted: u8) -> Option<Value<'_>> {
    let mut bytes = Bytes(part.data);
    for _ in 0..part.count {
        let (name, kind) = (bytes.byte()?, bytes.byte()?);
        let value = match kind {
            28 => Value::Number(bytes.byte()?.into()),
            3 => Value::Number(bytes.u32()?.cast_signed().into()),
            4 => Value::Number(i64::from_le_bytes(bytes.array()?)),
            7 => Value::Text(bytes.take(8)?), // a floating number
            29 | 30 | 33 => {
                let length = bytes.u16()?;
                Value::Text(bytes.take(length.into())?)
            }
            _ => return None,
        };
        if name == wanted {
            return Some(value);
        }
    }
    None
}

/// The whole numbers of a row of `BIGINT`, `None` for null. Others are not read.
pub fn numbers(row: &[u8], columns: usize) -> Option<Vec<Option<i64>>> {
    const NULL: u8 = 0;
    let mut bytes = Bytes(row);
    let mut read = || match bytes.byte()? {
        NULL => Some(None),
        _ => Some(Some(i64::from_le_bytes(bytes.array()?))),
    };
    (0..columns).map(|_| read()).collect()
}
