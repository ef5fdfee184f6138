//! What the two sides allow each other.

use crate::Violation;
use crate::frame::PAYLOAD_BYTES;

/// Bytes that a window may hold at most.
pub(crate) const WINDOW_MAX: i64 = 0x7fff_ffff;
/// A window as long as nobody said anything.
pub(crate) const WINDOW_FIRST: u32 = 65_535;

pub(crate) const HEADER_TABLE_SIZE: u16 = 0x1;
pub(crate) const ENABLE_PUSH: u16 = 0x2;
pub(crate) const MAX_CONCURRENT_STREAMS: u16 = 0x3;
pub(crate) const INITIAL_WINDOW_SIZE: u16 = 0x4;
pub(crate) const MAX_FRAME_SIZE: u16 = 0x5;
pub(crate) const MAX_HEADER_LIST_SIZE: u16 = 0x6;

/// What the server allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed {
    /// Streams under way; `None`: as many as one likes.
    pub(crate) streams: Option<u32>,
    /// Bytes of content of a new stream.
    pub(crate) window: u32,
    /// Bytes that a frame holds.
    pub(crate) frame: usize,
}

impl Default for Allowed {
    fn default() -> Self {
        Self { streams: None, window: WINDOW_FIRST, frame: PAYLOAD_BYTES }
    }
}

/// What a frame of settings changed beside [`Allowed`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    /// By how much windows of streams under way grow.
    pub(crate) window_by: i64,
    /// The table that our header blocks may use.
    pub(crate) table: bool,
}

impl Allowed {
    /// Takes what a frame of settings holds.
    pub(crate) fn take(&mut self, payload: &[u8]) -> Result<Changed, Violation> {
        let (pairs, rest) = payload.as_chunks::<6>();
        if !rest.is_empty() {
            return Err(Violation::size("sent settings that are no pairs"));
        }
        let before = self.window;
        let mut changed = Changed::default();
        for [n0, n1, v0, v1, v2, v3] in pairs {
            let value = u32::from_be_bytes([*v0, *v1, *v2, *v3]);
            match u16::from_be_bytes([*n0, *n1]) {
                HEADER_TABLE_SIZE => changed.table = true,
                ENABLE_PUSH if value != 0 => {
                    return Err(Violation::protocol("wants to push, as only clients can"));
                }
                MAX_CONCURRENT_STREAMS => self.streams = Some(value),
                INITIAL_WINDOW_SIZE if i64::from(value) > WINDOW_MAX => {
                    return Err(Violation::flow("sent an initial window of more than 2 GiB"));
                }
                INITIAL_WINDOW_SIZE => self.window = value,
                MAX_FRAME_SIZE => match usize::try_from(value) {
                    Ok(bytes @ PAYLOAD_BYTES..=0xff_ffff) => self.frame = bytes,
                    _ => return Err(Violation::protocol("sent a limit of frames that is none")),
                },
                _ => {}
            }
        }
        changed.window_by = i64::from(self.window) - i64::from(before);
        Ok(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;

    fn pair(name: u16, value: u32) -> Vec<u8> {
        [&name.to_be_bytes()[..], &value.to_be_bytes()].concat()
    }

    #[test]
    fn settings_are_taken_and_what_is_unknown_is_passed_over() {
        let mut allowed = Allowed::default();
        let payload = [
            pair(MAX_CONCURRENT_STREAMS, 7),
            pair(INITIAL_WINDOW_SIZE, 100),
            pair(0xabcd, 1),
            pair(HEADER_TABLE_SIZE, 0),
        ]
        .concat();
        let changed = allowed.take(&payload).unwrap();
        assert_eq!(changed, Changed { window_by: 100 - 65_535, table: true });
        assert_eq!((allowed.streams, allowed.window), (Some(7), 100));
    }

    #[test]
    fn values_that_cannot_be_are_refused_with_the_code_of_the_standard() {
        let refused = |bytes: &[u8]| Allowed::default().take(bytes).unwrap_err().code;
        assert_eq!(refused(&pair(INITIAL_WINDOW_SIZE, 1 << 31)), ErrorCode::FLOW_CONTROL_ERROR);
        assert_eq!(refused(&pair(MAX_FRAME_SIZE, 16_383)), ErrorCode::PROTOCOL_ERROR);
        assert_eq!(refused(&pair(MAX_FRAME_SIZE, 1 << 24)), ErrorCode::PROTOCOL_ERROR);
        assert_eq!(refused(&pair(ENABLE_PUSH, 1)), ErrorCode::PROTOCOL_ERROR);
        assert_eq!(refused(&[0; 5]), ErrorCode::FRAME_SIZE_ERROR);
    }
}
