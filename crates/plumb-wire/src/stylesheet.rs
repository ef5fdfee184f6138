//! Frames between the runtime and the program that applies a stylesheet, over its standard input and
//! output.
//!
//! A frame is a head of 9 bytes and a body: the kind, a number, and the length of the body, both
//! numbers of 4 bytes, the lowest byte first. The runtime sends a stylesheet, then documents, each
//! after the answer to the one before.

/// Bytes of a head.
pub const HEAD_BYTES: usize = 9;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// To the program: the stylesheet. The number is the seconds that it may take, 1 at least.
    Stylesheet,
    /// To the program: a document. The number is the seconds that it may take, 1 at least.
    Document,
    /// From the program: what became of the document; empty after a stylesheet. The number is 0.
    Done,
    /// From the program: an error as text in UTF-8. The number is its line, or 0 where there is none.
    Failed,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// What it is.
    pub kind: FrameKind,
    /// See [`FrameKind`].
    pub number: u32,
    /// Bytes of the body.
    pub length: u32,
}

impl FrameHead {
    /// The bytes that are sent.
    #[must_use]
    pub fn encode(self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[0] = match self.kind {
            FrameKind::Stylesheet => b's',
            FrameKind::Document => b'd',
            FrameKind::Done => b'k',
            FrameKind::Failed => b'e',
        };
        bytes[1..5].copy_from_slice(&self.number.to_le_bytes());
        bytes[5..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    /// Reads the bytes of a head; `None` for a kind that is none.
    #[must_use]
    pub fn decode(bytes: [u8; HEAD_BYTES]) -> Option<Self> {
        let [kind, n0, n1, n2, n3, l0, l1, l2, l3] = bytes;
        let kind = match kind {
            b's' => FrameKind::Stylesheet,
            b'd' => FrameKind::Document,
            b'k' => FrameKind::Done,
            b'e' => FrameKind::Failed,
            _ => return None,
        };
        let number = u32::from_le_bytes([n0, n1, n2, n3]);
        Some(Self { kind, number, length: u32::from_le_bytes([l0, l1, l2, l3]) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{FrameHead, FrameKind};

    #[test]
    fn a_head_is_a_kind_and_two_numbers_the_lowest_byte_first() {
        let head = FrameHead { kind: FrameKind::Failed, number: 7, length: 0x0102_0304 };
        assert_eq!(head.encode(), *b"e\x07\0\0\0\x04\x03\x02\x01");
    }

    proptest! {
        #[test]
        fn every_head_that_is_read_is_written_as_it_was(bytes: [u8; 9]) {
            match FrameHead::decode(bytes) {
                Some(head) => prop_assert_eq!(head.encode(), bytes),
                None => prop_assert!(!b"sdke".contains(&bytes[0])),
            }
        }
    }
}
