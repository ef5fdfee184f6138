//! What the messages of an exchange hold, written on one side and compared on the other.

use super::Exchange;
use crate::ni::{self, HEADER_BYTES};

/// The first byte of a request and of a reply of an exchange: never that of a frame of NI's own.
const MARK: u8 = b'P';
/// Mark, stamp of the request, number of the reply.
const REPLY_HEAD_BYTES: usize = 5;

/// Bytes that no link can compress, the same every time.
pub fn noise() -> impl Iterator<Item = u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64; // xorshift64
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    })
}

/// The stamp that the payload of a request of an exchange carries; short ones carry part of it.
#[must_use]
pub fn stamp_of(request: &[u8]) -> u16 {
    let byte = |at: usize| request.get(at).copied().unwrap_or(0);
    u16::from_be_bytes([byte(1), byte(2)])
}

/// Sets the stamp of a payload, as far as it is long enough.
pub fn set_stamp(payload: &mut [u8], stamp: u16) {
    let head = [MARK, stamp.to_be_bytes()[0], stamp.to_be_bytes()[1]];
    payload.iter_mut().zip(head).for_each(|(place, byte)| *place = byte);
}

/// The payload of a request or of a reply of an exchange: the mark, room for stamp and number, and
/// noise.
#[must_use]
pub fn blank(bytes: usize) -> Vec<u8> {
    let head = [MARK, 0, 0, 0, 0];
    head.into_iter().chain(noise()).take(bytes).collect()
}

/// The payloads of the replies of an exchange, written or compared.
#[derive(Clone, Debug, Default)]
pub struct Replies {
    /// A reply as long as the longest asked for.
    blank: Vec<u8>,
}

impl Replies {
    /// Makes room for replies of `bytes`.
    pub fn reserve(&mut self, bytes: usize) {
        if self.blank.len() < bytes {
            self.blank = blank(bytes);
        }
    }

    /// Appends all frames that answer the request with `stamp`. Room for them is
    /// [reserved](Self::reserve).
    pub fn push(&self, terms: Exchange, stamp: u16, out: &mut Vec<u8>) {
        let bytes = usize::try_from(terms.response_bytes).unwrap_or(usize::MAX);
        let blank = self.blank.get(..bytes).unwrap_or(&self.blank);
        out.reserve(usize::try_from(terms.bytes()).unwrap_or(0));
        for number in 0..terms.replies {
            let at = out.len() + HEADER_BYTES;
            ni::push_frame(out, blank);
            let head = head_of(stamp, number);
            out[at..].iter_mut().zip(head).for_each(|(place, byte)| *place = byte);
        }
    }

    /// True when `bytes` are what reply `number` to the request with `stamp` holds from byte `at`
    /// of its payload on.
    #[must_use]
    #[inline]
    pub fn agree(&self, stamp: u16, number: u32, at: usize, bytes: &[u8]) -> bool {
        let Some(expected) = self.blank.get(at..).and_then(|rest| rest.get(..bytes.len())) else {
            return false;
        };
        if at >= REPLY_HEAD_BYTES {
            return expected == bytes;
        }
        let head = &head_of(stamp, number)[at..];
        let split = head.len().min(bytes.len());
        bytes[..split] == head[..split] && bytes[split..] == expected[split..]
    }
}

fn head_of(stamp: u16, number: u32) -> [u8; REPLY_HEAD_BYTES] {
    let [s0, s1] = stamp.to_be_bytes();
    let [.., n0, n1] = number.to_be_bytes();
    [MARK, s0, s1, n0, n1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_agree_with_themselves_only() {
        for bytes in [0_u32, 1, 3, 4, 5, 6, 300] {
            let terms = Exchange { response_bytes: bytes, replies: 3 };
            let mut replies = Replies::default();
            replies.reserve(300);
            let mut out = Vec::new();
            replies.push(terms, 0x1234, &mut out);
            assert_eq!(out.len() as u64, terms.bytes());
            let frame = HEADER_BYTES + usize::try_from(bytes).unwrap();
            for (number, reply) in (0..).zip(out.chunks(frame)) {
                let payload = &reply[HEADER_BYTES..];
                for cut in 0..payload.len() {
                    assert!(replies.agree(0x1234, number, 0, &payload[..cut]));
                    assert!(replies.agree(0x1234, number, cut, &payload[cut..]));
                    let mut other = payload.to_vec();
                    other[cut] ^= 1;
                    assert!(!replies.agree(0x1234, number, 0, &other), "{bytes} at {cut}");
                }
                assert_eq!(replies.agree(0x1235, number, 0, payload), bytes < 3);
                assert_eq!(replies.agree(0x1234, number + 1, 0, payload), bytes < 5);
            }
        }
    }

    #[test]
    fn a_stamp_comes_back_as_far_as_there_is_room() {
        let mut request = blank(10);
        set_stamp(&mut request, 0xabcd);
        assert_eq!(stamp_of(&request), 0xabcd);
        assert_eq!(stamp_of(&request[..2]), 0xab00);
        assert_eq!(stamp_of(b""), 0);
    }
}
