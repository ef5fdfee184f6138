//! What a primary and its replica say to each other, as bytes.
//!
//! A frame is one byte of kind, the length of its body and the CRC-32 of both kind and body (four
//! bytes each, little-endian), and the body: numbers of eight bytes, little-endian, and behind them
//! records of a journal, bare: the checksum of the frame is theirs too.

/// Kind, length and checksum.
pub const HEAD_BYTES: usize = 9;
/// No frame is longer. What takes more comes in parts.
pub const FRAME_BYTES_MAX: usize = HEAD_BYTES + 16 + RECORDS_BYTES_MAX;
/// Records of one frame.
pub(super) const RECORDS_BYTES_MAX: usize = 1 << 20;

/// Something that is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// The primary: whatever you have counts for nothing; all there is follows in slices, and
    /// changes from `position` on.
    Snapshot {
        /// The epoch.
        epoch: u64,
        /// Which stream of changes this is.
        stream: u64,
        /// The position at which its changes begin, bytes.
        position: u64,
        /// The fence number that the primary gives next.
        fence: u64,
    },
    /// The primary: you have everything up to your position; changes follow.
    Continue {
        /// The epoch.
        epoch: u64,
    },
    /// The primary: locks and lives as they stand.
    Slice(&'a [u8]),
    /// The primary: that was all there was.
    Complete,
    /// The primary: a batch, or a part of it.
    Changes {
        /// The position at which the batch begins, bytes.
        from: u64,
        /// False when more parts of the batch follow.
        last: bool,
        /// The changes.
        records: &'a [u8],
    },
    /// The primary: whatever was acknowledged to anybody, you have.
    InSync,
    /// The primary: I am here.
    Ping {
        /// The primary's clock, nanoseconds.
        at: u64,
    },
    /// The replica: I heard that, and take nobody's place for a while.
    Pong {
        /// As the primary said.
        at: u64,
    },
    /// The replica: this I have.
    Received {
        /// The position behind the last whole batch, bytes.
        position: u64,
        /// Bytes of slices, of this connection.
        sliced: u64,
    },
}

/// Bytes that are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The first byte is none of a frame.
    #[error("no frame of a replication stream begins with byte {0}")]
    Kind(u8),
    /// It says that it is longer than any frame.
    #[error("a frame of {0} bytes, where at most 1 MiB was expected")]
    Length(u32),
    /// What came is not what was sent.
    #[error("the checksum of a frame differs")]
    Sum,
    /// The body is none of this kind.
    #[error("the body of a frame has a wrong length or value")]
    Body,
}

impl<'a> Frame<'a> {
    /// Appends the frame.
    pub fn push(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.push(self.kind());
        out.extend_from_slice(&[0; HEAD_BYTES - 1]);
        match *self {
            Self::Snapshot { epoch, stream, position, fence } => {
                [epoch, stream, position, fence].iter().for_each(|it| push_number(out, *it));
            }
            Self::Continue { epoch: number }
            | Self::Ping { at: number }
            | Self::Pong { at: number } => {
                push_number(out, number);
            }
            Self::Slice(records) => out.extend_from_slice(records),
            Self::Changes { from, records, .. } => {
                push_number(out, from);
                out.extend_from_slice(records);
            }
            Self::Received { position, sliced } => {
                push_number(out, position);
                push_number(out, sliced);
            }
            Self::Complete | Self::InSync => {}
        }
        let body = &out[start + HEAD_BYTES..];
        // whoever makes a frame keeps to the maximum
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let sum = sum(self.kind(), body);
        out[start + 1..start + 5].copy_from_slice(&length.to_le_bytes());
        out[start + 5..start + HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Snapshot { .. } => b'S',
            Self::Continue { .. } => b'C',
            Self::Slice(_) => b'L',
            Self::Complete => b'E',
            Self::Changes { last: false, .. } => b'P',
            Self::Changes { last: true, .. } => b'B',
            Self::InSync => b'I',
            Self::Ping { .. } => b'H',
            Self::Pong { .. } => b'O',
            Self::Received { .. } => b'A',
        }
    }

    /// The frame at the start of `bytes`, and the bytes it takes; `None` when more must come.
    ///
    /// # Errors
    /// [`Broken`] when no bytes can make a frame of these.
    pub fn read(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, Broken> {
        let Some(kind) = bytes.first().copied() else {
            return Ok(None);
        };
        if !b"SCLEPBIHOA".contains(&kind) {
            return Err(Broken::Kind(kind));
        }
        let (Some(length), Some(sum)) = (half(bytes, 1), half(bytes, 5)) else {
            return Ok(None);
        };
        if length as usize > FRAME_BYTES_MAX - HEAD_BYTES {
            return Err(Broken::Length(length));
        }
        let end = HEAD_BYTES + length as usize;
        let Some(body) = bytes.get(HEAD_BYTES..end) else {
            return Ok(None);
        };
        if self::sum(kind, body) != sum {
            return Err(Broken::Sum);
        }
        let frame = Self::of(kind, body).ok_or(Broken::Body)?;
        Ok(Some((frame, end)))
    }

    fn of(kind: u8, body: &'a [u8]) -> Option<Self> {
        let numbers = |count: usize| body.len() == 8 * count;
        let number = |at: usize| {
            let eight = body.get(8 * at..)?.first_chunk::<8>()?;
            Some(u64::from_le_bytes(*eight))
        };
        Some(match kind {
            b'S' if numbers(4) => Self::Snapshot {
                epoch: number(0)?,
                stream: number(1)?,
                position: number(2)?,
                fence: number(3)?,
            },
            b'C' if numbers(1) => Self::Continue { epoch: number(0)? },
            b'L' => Self::Slice(body),
            b'E' if numbers(0) => Self::Complete,
            b'P' | b'B' => {
                Self::Changes { from: number(0)?, last: kind == b'B', records: body.get(8..)? }
            }
            b'I' if numbers(0) => Self::InSync,
            b'H' if numbers(1) => Self::Ping { at: number(0)? },
            b'O' if numbers(1) => Self::Pong { at: number(0)? },
            b'A' if numbers(2) => Self::Received { position: number(0)?, sliced: number(1)? },
            _ => return None,
        })
    }
}

fn sum(kind: u8, body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[kind]);
    hasher.update(body);
    hasher.finalize()
}

fn push_number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|four| u32::from_le_bytes(*four))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all() -> Vec<Frame<'static>> {
        vec![
            Frame::Snapshot { epoch: 1, stream: u64::MAX, position: 1 << 40, fence: 9 },
            Frame::Continue { epoch: 7 },
            Frame::Slice(b"records"),
            Frame::Slice(b""),
            Frame::Complete,
            Frame::Changes { from: 9, last: false, records: b"one" },
            Frame::Changes { from: 9, last: true, records: b"" },
            Frame::InSync,
            Frame::Ping { at: 7 },
            Frame::Pong { at: 7 },
            Frame::Received { position: 3, sliced: 4 },
        ]
    }

    #[test]
    fn frames_read_as_they_were_written_however_they_come() {
        let mut bytes = Vec::new();
        all().iter().for_each(|frame| frame.push(&mut bytes));
        let (mut at, mut end, mut found) = (0, 0, Vec::new());
        while at < bytes.len() {
            match Frame::read(&bytes[at..end]).unwrap() {
                Some((frame, taken)) => {
                    found.push(frame);
                    at += taken;
                }
                None => end += 1, // a byte at a time
            }
        }
        assert_eq!(found, all());
    }

    #[test]
    fn a_flipped_bit_is_no_other_frame() {
        for frame in all() {
            let mut bytes = Vec::new();
            frame.push(&mut bytes);
            for bit in 0..8 * bytes.len() {
                let mut bytes = bytes.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(!matches!(Frame::read(&bytes), Ok(Some(_))), "bit {bit} of {frame:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_is_bounded(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(Some((frame, taken))) = Frame::read(&bytes) {
                prop_assert!(taken <= bytes.len());
                let mut again = Vec::new();
                frame.push(&mut again);
                prop_assert_eq!(&again, &bytes[..taken]);
            }
        }
    }
}
