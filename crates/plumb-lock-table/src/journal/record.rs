//! The records of a journal as bytes.
//!
//! A record is its length (four bytes, little-endian), the CRC-32 of its body, and the body: one
//! byte of kind, then fields. Numbers are little-endian, texts have one byte of length in front.
//!
//! Records are written in batches, each with a record behind it that closes it. What stands behind
//! the last of those was not written to its end, and nobody was told of it.
//!
//! Where many records stand under one checksum, as in what a replica is sent, they are bare: two bytes
//! of length, and the body.

use super::origin::Origin;
use crate::table::{ARGUMENT_BYTES_MAX, Change, Held, Lock, Scope};

/// What a file of the journal starts with.
pub const MAGIC: &[u8; 8] = b"PLUMBLK2";
/// Length and checksum.
const HEAD_BYTES: usize = 8;
/// The length alone.
const BARE_HEAD_BYTES: usize = 2;
/// No body is longer: four texts of 255 bytes and a few numbers.
const BODY_BYTES_MAX: usize = 64 + 4 * (ARGUMENT_BYTES_MAX + 1);

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// The file begins, or another epoch does: under which epoch, and whether everything is
    /// journalled before it is acknowledged.
    Start {
        /// The epoch.
        epoch: u64,
        /// True when no acknowledged change can be missing.
        complete: bool,
        /// Whose locks are here; written where it is not this epoch's own server.
        origin: Origin,
    },
    /// The table changed.
    Change(Change<'a>),
    /// Fence numbers below this may have been given out.
    Fence(u64),
    /// The owner lives this long without a sign; zero: until it is released;
    /// [`WITH_CONNECTION`](Self::WITH_CONNECTION).
    Life {
        /// The owner.
        owner: &'a [u8],
        /// Milliseconds.
        ms: u64,
    },
    /// The key lives this long; zero: until it is deleted.
    Key {
        /// The key.
        key: &'a [u8],
        /// Milliseconds.
        ms: u64,
    },
    /// The journal of the number before this one's has so many bytes.
    Before {
        /// Bytes.
        bytes: u64,
    },
    /// What stands before this belongs together: all of it counts, or nothing.
    Mark,
    /// Another server with this epoch has taken this one's place, whatever epoch begins since.
    Replaced {
        /// That epoch; 0: none has any more.
        by: u64,
    },
    /// Records that stood here were damaged, and a repair took them away: something is missing.
    Gap,
    /// Everything is said: the end of a snapshot, or of a journal that was closed in order.
    End,
}

/// Why bytes are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRecord {
    /// The bytes end within it.
    #[error("the file ends within a record")]
    Cut,
    /// The length is impossible, or the checksum differs.
    #[error("the checksum of a record differs")]
    Damaged,
    /// The checksum is right, but the fields are none of a journal of this version.
    #[error("a record is none of this version")]
    Unknown,
}

impl<'a> Record<'a> {
    /// The time of an owner that ends with its connection.
    pub const WITH_CONNECTION: u64 = u64::MAX;

    /// True for a record that closes a batch.
    #[must_use]
    pub fn closes(&self) -> bool {
        matches!(self, Self::Start { .. } | Self::Mark | Self::Gap | Self::End)
    }

    /// Appends the record.
    pub fn push(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; HEAD_BYTES]);
        self.push_body(out);
        let body = &out[start + HEAD_BYTES..];
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX); // bodies are short
        let sum = crc32fast::hash(body);
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
        out[start + 4..start + HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
    }

    /// Appends the record without a checksum of its own.
    pub fn push_bare(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; BARE_HEAD_BYTES]);
        self.push_body(out);
        let length = out.len() - start - BARE_HEAD_BYTES;
        let length = u16::try_from(length).unwrap_or(u16::MAX); // bodies are short
        out[start..start + BARE_HEAD_BYTES].copy_from_slice(&length.to_le_bytes());
    }

    fn push_body(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Start { epoch, complete, origin } => {
                out.push(b'S');
                out.extend_from_slice(&epoch.to_le_bytes());
                out.push(u8::from(complete));
                if origin != Origin::own(epoch) {
                    out.extend_from_slice(&origin.epoch.to_le_bytes());
                    out.push(u8::from(origin.of_replica));
                }
            }
            Self::Change(Change::Lock(lock)) => {
                out.extend_from_slice(&[b'L', lock.mode.letter(), u8::from(lock.backup)]);
                out.extend_from_slice(&lock.dialog.to_le_bytes());
                out.extend_from_slice(&lock.update.to_le_bytes());
                out.extend_from_slice(&lock.fence.to_le_bytes());
                out.extend_from_slice(&lock.since_ms.to_le_bytes());
                for text in [lock.owner, lock.user, lock.name, lock.argument] {
                    push_text(out, text);
                }
            }
            Self::Change(Change::Cleared { owner, scope, backup }) => {
                out.extend_from_slice(&[b'C', scope.digit(), u8::from(backup)]);
                push_text(out, owner);
            }
            Self::Fence(fence) => {
                out.push(b'F');
                out.extend_from_slice(&fence.to_le_bytes());
            }
            Self::Life { owner, ms } => {
                out.push(b'O');
                out.extend_from_slice(&ms.to_le_bytes());
                push_text(out, owner);
            }
            Self::Key { key, ms } => {
                out.push(b'K');
                out.extend_from_slice(&ms.to_le_bytes());
                push_text(out, key);
            }
            Self::Before { bytes } => {
                out.push(b'B');
                out.extend_from_slice(&bytes.to_le_bytes());
            }
            Self::Replaced { by } => {
                out.push(b'R');
                out.extend_from_slice(&by.to_le_bytes());
            }
            Self::Mark => out.push(b'M'),
            Self::Gap => out.push(b'G'),
            Self::End => out.push(b'E'),
        }
    }

    /// The record at the start of `bytes`, and the bytes it takes.
    ///
    /// # Errors
    /// [`NoRecord`] when there is none.
    pub fn read(bytes: &'a [u8]) -> Result<(Self, usize), NoRecord> {
        let (Some(length), Some(sum)) = (number(bytes, 0), number(bytes, 4)) else {
            return Err(NoRecord::Cut);
        };
        let length = length as usize;
        if length == 0 || length > BODY_BYTES_MAX {
            return Err(NoRecord::Damaged);
        }
        let end = HEAD_BYTES + length;
        let body = bytes.get(HEAD_BYTES..end).ok_or(NoRecord::Cut)?;
        if crc32fast::hash(body) != sum {
            return Err(NoRecord::Damaged);
        }
        Ok((Self::of(body)?, end))
    }

    /// The bare record at the start of `bytes`, and the bytes it takes.
    ///
    /// # Errors
    /// [`NoRecord`] when there is none.
    pub fn read_bare(bytes: &'a [u8]) -> Result<(Self, usize), NoRecord> {
        let length = bytes.first_chunk().ok_or(NoRecord::Cut)?;
        let end = BARE_HEAD_BYTES + usize::from(u16::from_le_bytes(*length));
        let body = bytes.get(BARE_HEAD_BYTES..end).ok_or(NoRecord::Cut)?;
        Ok((Self::of(body)?, end))
    }

    fn of(body: &'a [u8]) -> Result<Self, NoRecord> {
        let mut fields = Fields { left: body };
        let record = Self::read_body(&mut fields).ok_or(NoRecord::Unknown)?;
        if fields.left.is_empty() { Ok(record) } else { Err(NoRecord::Unknown) }
    }

    fn read_body(fields: &mut Fields<'a>) -> Option<Self> {
        Some(match fields.byte()? {
            b'S' => {
                let (epoch, complete) = (fields.u64()?, fields.flag()?);
                let origin = match fields.left {
                    [] => Origin::own(epoch),
                    _ => Origin { epoch: fields.u64()?, of_replica: fields.flag()? },
                };
                Self::Start { epoch, complete, origin }
            }
            b'L' => {
                let mode = Held::parse(fields.byte()?)?;
                let backup = fields.flag()?;
                let (dialog, update) = (fields.u16()?, fields.u16()?);
                let (fence, since_ms) = (fields.u64()?, fields.u64()?);
                let (owner, user) = (fields.text()?, fields.text()?);
                let (name, argument) = (fields.text()?, fields.text()?);
                Self::Change(Change::Lock(Lock {
                    owner,
                    user,
                    since_ms,
                    name,
                    argument,
                    mode,
                    dialog,
                    update,
                    backup,
                    fence,
                }))
            }
            b'C' => {
                let scope = Scope::parse(&[b'0'.checked_add(fields.byte()?)?])?;
                let backup = fields.flag()?;
                Self::Change(Change::Cleared { owner: fields.text()?, scope, backup })
            }
            b'F' => Self::Fence(fields.u64()?),
            b'O' => {
                let ms = fields.u64()?;
                Self::Life { owner: fields.text()?, ms }
            }
            b'K' => {
                let ms = fields.u64()?;
                Self::Key { key: fields.text()?, ms }
            }
            b'B' => Self::Before { bytes: fields.u64()? },
            b'R' => Self::Replaced { by: fields.u64()? },
            b'M' => Self::Mark,
            b'G' => Self::Gap,
            b'E' => Self::End,
            _ => return None,
        })
    }
}

fn push_text(out: &mut Vec<u8>, text: &[u8]) {
    let length = u8::try_from(text.len()).unwrap_or(u8::MAX); // no text of a table is longer
    out.push(length);
    out.extend_from_slice(&text[..usize::from(length)]);
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|four| u32::from_le_bytes(*four))
}

struct Fields<'a> {
    left: &'a [u8],
}

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, left) = self.left.split_first_chunk()?;
        self.left = left;
        Some(*first)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take().map(|[byte]| byte)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let length = usize::from(self.byte()?);
        let text = self.left.get(..length)?;
        self.left = &self.left[length..];
        Some(text)
    }
}
