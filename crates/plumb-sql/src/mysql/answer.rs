//! What a server says, read where it lies.

use super::{LONGEST, can};

/// States of a session that an answer ends with.
const MORE_RESULTS: u16 = 0x0008;
const IN_READ_ONLY_TRANSACTION: u16 = 0x2000;
const STATE_CHANGED: u16 = 0x4000;

/// Reads a payload from its beginning; `None` behind its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Payload<'a>(pub(super) &'a [u8]);

impl<'a> Payload<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A number of one to nine bytes.
    fn number(&mut self) -> Option<u64> {
        let length = match self.byte()? {
            small @ 0..=0xfa => return Some(small.into()),
            0xfc => 2,
            0xfd => 3,
            0xfe => 8,
            _ => return None,
        };
        let mut whole = [0; 8];
        whole[..length].copy_from_slice(self.bytes(length)?);
        Some(u64::from_le_bytes(whole))
    }

    /// Bytes with their number before them.
    pub(super) fn counted(&mut self) -> Option<&'a [u8]> {
        let count = self.number()?;
        self.bytes(usize::try_from(count).ok()?)
    }

    /// Bytes up to a zero, or to the end.
    fn until_zero(&mut self) -> &'a [u8] {
        let mut halves = self.0.splitn(2, |byte| *byte == 0);
        let before = halves.next().unwrap_or_default();
        self.0 = halves.next().unwrap_or_default();
        before
    }
}

/// How a server greets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting<'a> {
    /// As the server says it.
    pub version: &'a [u8],
    /// Number of the connection.
    pub id: u32,
    /// What the server can do, bits of [`can`].
    pub can: u32,
    /// The two parts of what proofs are made with.
    salt: [&'a [u8]; 2],
    /// The method by which it would have a proof; empty where it names none.
    pub method: &'a [u8],
}

impl<'a> Greeting<'a> {
    /// Reads a greeting; `None` when it is none of version 10.
    pub fn read(payload: &'a [u8]) -> Option<Self> {
        let mut it = Payload(payload);
        if it.byte()? != 10 {
            return None;
        }
        let version = it.until_zero();
        let id = it.u32()?;
        let first = it.bytes(8)?;
        it.byte()?;
        let low = it.u16()?;
        let _charset = it.byte()?;
        let _status = it.u16()?;
        let high = it.u16()?;
        let length = usize::from(it.byte()?);
        it.bytes(10)?;
        let second = it.bytes(length.saturating_sub(8).max(13).min(it.0.len()))?;
        let second = second.strip_suffix(&[0]).unwrap_or(second);
        let can = u32::from(high) << 16 | u32::from(low);
        let method = if can & can::PLUGIN_AUTH == 0 { &[] } else { it.until_zero() };
        Some(Self { version, id, can, salt: [first, second], method })
    }

    /// What proofs are made with.
    pub fn salt(&self) -> Vec<u8> {
        self.salt.concat()
    }
}

/// What a server says to a log-on, or to the proof that it asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// The client is known.
    Welcome(Done<'a>),
    /// It is not let in.
    Refused(Refusal<'a>),
    /// It wants a proof by another method, made with this salt.
    Switch {
        /// The method as the protocol names it.
        method: &'a [u8],
        /// What the proof is made with.
        salt: &'a [u8],
    },
    /// What the method says next.
    More(&'a [u8]),
}

impl<'a> Reply<'a> {
    /// Reads what stands in `payload`; `None` when it is no such message.
    pub fn read(payload: &'a [u8]) -> Option<Self> {
        match payload.split_first()? {
            (0, _) => Done::read(payload, true).map(Self::Welcome),
            (0xff, _) => Refusal::read(payload).map(Self::Refused),
            (0xfe, rest) => {
                let mut it = Payload(rest);
                let method = it.until_zero();
                Some(Self::Switch { method, salt: it.0.strip_suffix(&[0]).unwrap_or(it.0) })
            }
            (1, rest) => Some(Self::More(rest)),
            _ => None,
        }
    }
}

/// Why the server refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal<'a> {
    /// MySQL's number of the error.
    pub code: u16,
    /// The reason.
    pub message: &'a [u8],
}

impl<'a> Refusal<'a> {
    /// Reads it; `None` when `payload` is no such message.
    pub fn read(payload: &'a [u8]) -> Option<Self> {
        let mut it = Payload(payload.strip_prefix(&[0xff])?);
        let code = it.u16()?;
        let message = match it.0.split_first() {
            Some((b'#', rest)) => rest.get(5..).unwrap_or_default(),
            _ => it.0,
        };
        Some(Self { code, message })
    }
}

/// The end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done<'a> {
    status: u16,
    /// How many warnings the server has of the statement.
    pub warnings: u16,
    /// Changes of the session.
    changes: &'a [u8],
}

impl<'a> Done<'a> {
    /// Reads the end of an answer; `tracks` says whether it may carry changes of the session.
    pub fn read(payload: &'a [u8], tracks: bool) -> Option<Self> {
        let mut it = Payload(payload);
        it.byte()?;
        it.number()?;
        it.number()?;
        let status = it.u16()?;
        let warnings = it.u16()?;
        let mut changes: &[u8] = &[];
        if tracks && status & STATE_CHANGED != 0 {
            it.counted()?;
            changes = it.counted()?;
        }
        Some(Self { status, warnings, changes })
    }

    /// Reads the end of rows as servers write it that do not end them like everything else.
    pub fn read_old(payload: &'a [u8]) -> Option<Self> {
        let mut it = Payload(payload.strip_prefix(&[0xfe])?);
        let warnings = it.u16()?;
        Some(Self { status: it.u16()?, warnings, changes: &[] })
    }

    /// True when another result of the same statement follows.
    pub fn is_followed(&self) -> bool {
        self.status & MORE_RESULTS != 0
    }

    /// True within a transaction that may not write.
    pub fn is_read_only(&self) -> bool {
        self.status & IN_READ_ONLY_TRANSACTION != 0
    }

    /// System variables of the session that changed, each with its value.
    pub fn variables(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let mut rest = Payload(self.changes);
        let mut pairs = Payload(&[]);
        std::iter::from_fn(move || {
            while pairs.0.is_empty() {
                let kind = rest.byte()?;
                let entry = rest.counted()?;
                if kind == 0 {
                    pairs = Payload(entry);
                }
            }
            Some((pairs.counted()?, pairs.counted()?))
        })
    }
}

/// What a server says of a statement that it has prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Its number.
    pub id: u32,
    /// Columns of its answer.
    pub columns: u16,
    /// Parameters that it wants.
    pub parameters: u16,
}

impl Prepared {
    /// Reads it; `None` when `payload` is no such message.
    pub fn read(payload: &[u8]) -> Option<Self> {
        let mut it = Payload(payload.strip_prefix(&[0])?);
        Some(Self { id: it.u32()?, columns: it.u16()?, parameters: it.u16()? })
    }
}

/// The number of columns that the rows of an answer have.
pub fn columns(payload: &[u8]) -> Option<u64> {
    Payload(payload).number().filter(|columns| *columns > 0)
}

/// True for what ends rows: a row that begins with the same byte holds a value of 16 MB and more.
pub fn ends_rows(payload: &[u8], like_everything: bool) -> bool {
    let longest = if like_everything { LONGEST } else { 9 };
    payload.first() == Some(&0xfe) && payload.len() < longest
}

/// Values of a row that is text; `None` for each that is null.
pub fn texts(payload: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let mut it = Payload(payload);
    std::iter::from_fn(move || match it.0.first()? {
        0xfb => {
            it.byte()?;
            Some(None)
        }
        _ => it.counted().map(Some),
    })
}
