//! Frames: the nine bytes before each, and those that a client writes.

use crate::ErrorCode;

/// Bytes before what a frame holds.
pub(crate) const HEAD_BYTES: usize = 9;
/// Bytes that a frame may hold as long as nobody agreed to more.
pub(crate) const PAYLOAD_BYTES: usize = 16_384;
/// The bit before a number of 31 that means nothing.
const RESERVED: u32 = 0x8000_0000;

/// What a client says first.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The types of frames.
pub(crate) mod kind {
    pub(crate) const DATA: u8 = 0x0;
    pub(crate) const HEADERS: u8 = 0x1;
    pub(crate) const PRIORITY: u8 = 0x2;
    pub(crate) const RST_STREAM: u8 = 0x3;
    pub(crate) const SETTINGS: u8 = 0x4;
    pub(crate) const PUSH_PROMISE: u8 = 0x5;
    pub(crate) const PING: u8 = 0x6;
    pub(crate) const GOAWAY: u8 = 0x7;
    pub(crate) const WINDOW_UPDATE: u8 = 0x8;
    pub(crate) const CONTINUATION: u8 = 0x9;
}

/// The flags of frames.
pub(crate) mod flag {
    pub(crate) const ACK: u8 = 0x1;
    pub(crate) const END_STREAM: u8 = 0x1;
    pub(crate) const END_HEADERS: u8 = 0x4;
    pub(crate) const PADDED: u8 = 0x8;
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// What stands before each frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHead {
    /// Bytes that it holds.
    pub(crate) length: usize,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
}

impl FrameHead {
    /// The head at the start of `bytes`; `None` while it is incomplete.
    #[inline]
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = *bytes.first_chunk::<HEAD_BYTES>()?;
        Some(Self {
            length: usize::from(l0) << 16 | usize::from(l1) << 8 | usize::from(l2),
            kind,
            flags,
            stream: u32::from_be_bytes([s0, s1, s2, s3]) & !RESERVED,
        })
    }

    pub(crate) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    #[inline]
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        let [_, .., l0, l1, l2] = self.length.to_be_bytes();
        let [s0, s1, s2, s3] = self.stream.to_be_bytes();
        out.extend_from_slice(&[l0, l1, l2, self.kind, self.flags, s0, s1, s2, s3]);
    }
}

/// A number of 31 bits at the start of `bytes`, or nothing.
pub(crate) fn number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.first_chunk::<4>()?) & !RESERVED)
}

/// Grants `increment` more bytes on a stream, or on the connection (0).
pub(crate) fn window_update(stream: u32, increment: u32, out: &mut Vec<u8>) {
    FrameHead { length: 4, kind: kind::WINDOW_UPDATE, flags: 0, stream }.write(out);
    out.extend_from_slice(&increment.to_be_bytes());
}

/// Ends a stream.
pub(crate) fn reset(stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
    FrameHead { length: 4, kind: kind::RST_STREAM, flags: 0, stream }.write(out);
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// Settings, as pairs of identifier and value.
pub(crate) fn settings(pairs: &[(u16, u32)], out: &mut Vec<u8>) {
    FrameHead { length: 6 * pairs.len(), kind: kind::SETTINGS, flags: 0, stream: 0 }.write(out);
    for (name, value) in pairs {
        out.extend_from_slice(&name.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// Says that the settings of the other side are in force.
pub(crate) fn acknowledge_settings(out: &mut Vec<u8>) {
    FrameHead { length: 0, kind: kind::SETTINGS, flags: flag::ACK, stream: 0 }.write(out);
}

/// Answers a ping.
pub(crate) fn pong(opaque: &[u8], out: &mut Vec<u8>) {
    FrameHead { length: opaque.len(), kind: kind::PING, flags: flag::ACK, stream: 0 }.write(out);
    out.extend_from_slice(opaque);
}

/// A header block for `stream`, in as many frames as `most` bytes a frame need.
pub(crate) fn headers(
    stream: u32,
    parts: [&[u8]; 3],
    (ends, most): (bool, usize),
    out: &mut Vec<u8>,
) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let ends = if ends { flag::END_STREAM } else { 0 };
    if length <= most {
        let flags = ends | flag::END_HEADERS;
        FrameHead { length, kind: kind::HEADERS, flags, stream }.write(out);
        parts.iter().for_each(|part| out.extend_from_slice(part));
        return;
    }
    let block = parts.concat();
    let last = block.len().div_ceil(most) - 1;
    for (number, piece) in block.chunks(most).enumerate() {
        let kind = if number == 0 { kind::HEADERS } else { kind::CONTINUATION };
        let of_stream = if number == 0 { ends } else { 0 };
        let flags = of_stream | if number == last { flag::END_HEADERS } else { 0 };
        FrameHead { length: piece.len(), kind, flags, stream }.write(out);
        out.extend_from_slice(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written() {
        let head = FrameHead { length: 0x01_02_03, kind: 1, flags: 0x24, stream: 0x7fff_fffe };
        let mut out = Vec::new();
        head.write(&mut out);
        assert_eq!(out, [1, 2, 3, 1, 0x24, 0x7f, 0xff, 0xff, 0xfe]);
        assert_eq!(FrameHead::read(&out), Some(head));
        assert_eq!(FrameHead::read(&out[..8]), None);
        out[5] |= 0x80; // the bit that means nothing
        assert_eq!(FrameHead::read(&out), Some(head));
    }

    #[test]
    fn a_long_block_goes_on_in_further_frames() {
        let mut out = Vec::new();
        headers(5, [b"abc", b"de", b""], (true, 2), &mut out);
        let mut heads = Vec::new();
        let mut rest = &out[..];
        let mut block = Vec::new();
        while let Some(head) = FrameHead::read(rest) {
            heads.push((head.kind, head.flags));
            block.extend_from_slice(&rest[HEAD_BYTES..HEAD_BYTES + head.length]);
            rest = &rest[HEAD_BYTES + head.length..];
        }
        assert_eq!(heads, [(1, 1), (9, 0), (9, 4)]);
        assert_eq!(block, b"abcde");
    }
}
