//! The body of a response: where it ends, and how long its content is. The content is not kept.

use super::head::{Framing, PIECE_BYTES_MAX};

/// Bytes of a line that announces a chunk, extensions included, that are read at most.
const CHUNK_LINE_MAX: u32 = 4 << 10;
/// Bytes of a trailer that are read at most.
const TRAILER_MAX: u32 = 64 << 10;

/// Why bytes are no body of the announced framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// The length of a chunk is not one.
    #[error("a chunk does not begin with its length")]
    ChunkLength,
    /// The length of a chunk is none that can be.
    #[error("a chunk announces more than {} TiB", PIECE_BYTES_MAX >> 40)]
    ChunkTooLong,
    /// The line that announces a chunk does not end.
    #[error("the line before a chunk is longer than {} KiB", CHUNK_LINE_MAX >> 10)]
    ChunkLine,
    /// Behind a chunk stands something else than a line end.
    #[error("a chunk is longer or shorter than its length says")]
    ChunkEnd,
    /// The trailer does not end, or is none.
    #[error("the trailer behind the last chunk has no end within {} KiB", TRAILER_MAX >> 10)]
    Trailer,
}

/// What a stretch of bytes is to a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Bytes that belong to the body, framing included.
    pub consumed: usize,
    /// The body is complete with them.
    pub complete: bool,
}

/// A body that comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    state: State,
    content: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// So many bytes are to come.
    Length(u64),
    UntilClose,
    Chunk(Chunk),
}

/// Where a reader stands among chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunk {
    /// In the length; so many bytes of the line were read, so many of them digits.
    Size {
        value: u64,
        digits: u32,
        line: u32,
    },
    /// Behind the digits, up to the line feed.
    Extension {
        value: u64,
        line: u32,
        cr: bool,
    },
    Content(u64),
    /// The line end behind the content.
    Cr,
    Lf,
    /// In the trailer: bytes so far, bytes of this line, and whether the last was a `\r`.
    Trailer {
        total: u32,
        line: u32,
        cr: bool,
    },
    End,
}

const FIRST: Chunk = Chunk::Size { value: 0, digits: 0, line: 0 };

impl Body {
    /// A body of which nothing was read.
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::Length(bytes) => State::Length(bytes),
            Framing::UntilClose => State::UntilClose,
            Framing::Chunked => State::Chunk(FIRST),
        };
        Self { state, content: 0 }
    }

    /// Bytes of content so far.
    #[must_use]
    pub fn content(&self) -> u64 {
        self.content
    }

    /// True when it is complete once the connection is closed.
    #[must_use]
    pub fn ends_with_the_connection(&self) -> bool {
        self.state == State::UntilClose
    }

    /// Goes on with `bytes`. What is not consumed belongs to the next response.
    ///
    /// # Errors
    /// [`BodyError`] names what is wrong with it.
    #[inline]
    pub fn take(&mut self, bytes: &[u8]) -> Result<Taken, BodyError> {
        self.take_with(bytes, |_| {})
    }

    /// The same, for whoever wants the content: `keep` is given each stretch of it, in order.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    #[inline]
    pub fn take_with(
        &mut self,
        bytes: &[u8],
        mut keep: impl FnMut(&[u8]),
    ) -> Result<Taken, BodyError> {
        match &mut self.state {
            State::Length(left) => {
                let (consumed, taken) = part(bytes, *left);
                *left -= taken;
                self.content += taken;
                keep(&bytes[..consumed]);
                Ok(Taken { consumed, complete: *left == 0 })
            }
            State::UntilClose => {
                self.content += bytes.len() as u64;
                keep(bytes);
                Ok(Taken { consumed: bytes.len(), complete: false })
            }
            State::Chunk(_) => self.take_chunks(bytes, keep),
        }
    }

    fn take_chunks(
        &mut self,
        bytes: &[u8],
        mut keep: impl FnMut(&[u8]),
    ) -> Result<Taken, BodyError> {
        let State::Chunk(mut at) = self.state else {
            return Ok(Taken { consumed: 0, complete: false });
        };
        let mut consumed = 0;
        while consumed < bytes.len() && at != Chunk::End {
            at = match at {
                Chunk::Content(left) => {
                    let (here, taken) = part(&bytes[consumed..], left);
                    keep(&bytes[consumed..consumed + here]);
                    consumed += here;
                    self.content += taken;
                    if taken == left { Chunk::Cr } else { Chunk::Content(left - taken) }
                }
                between => {
                    consumed += 1;
                    between.step(bytes[consumed - 1])?
                }
            };
        }
        self.state = State::Chunk(at);
        Ok(Taken { consumed, complete: at == Chunk::End })
    }
}

/// The part of `bytes` that belongs to `left` bytes of content, as both kinds of number.
#[inline]
fn part(bytes: &[u8], left: u64) -> (usize, u64) {
    let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
    (here, here as u64)
}

impl Chunk {
    /// The next place, behind one byte that is not content.
    fn step(self, byte: u8) -> Result<Self, BodyError> {
        Ok(match (self, byte) {
            (Self::Size { value, digits, line }, _) if byte.is_ascii_hexdigit() => {
                let digit = char::from(byte).to_digit(16).map_or(0, u64::from);
                if line >= CHUNK_LINE_MAX {
                    return Err(BodyError::ChunkLength);
                }
                let value = value << 4 | digit; // what was before is far below the bound
                if value > PIECE_BYTES_MAX {
                    return Err(BodyError::ChunkTooLong);
                }
                Self::Size { value, digits: digits + 1, line: line + 1 }
            }
            (Self::Size { digits: 0, .. }, _) => return Err(BodyError::ChunkLength),
            (Self::Size { value, line, .. }, b'\r') => Self::Extension { value, line, cr: true },
            (Self::Size { value, line, .. }, b';' | b' ' | b'\t') => {
                Self::Extension { value, line, cr: false }
            }
            (Self::Size { .. }, _) => return Err(BodyError::ChunkLength),
            (Self::Extension { value: 0, cr: true, .. }, b'\n') => {
                Self::Trailer { total: 0, line: 0, cr: false }
            }
            (Self::Extension { value, cr: true, .. }, b'\n') => Self::Content(value),
            (Self::Extension { cr: true, .. }, _) | (Self::Extension { .. }, b'\n') => {
                return Err(BodyError::ChunkLength);
            }
            (Self::Extension { line, .. }, _) if line >= CHUNK_LINE_MAX => {
                return Err(BodyError::ChunkLine);
            }
            (Self::Extension { value, line, .. }, _) => {
                Self::Extension { value, line: line + 1, cr: byte == b'\r' }
            }
            (Self::Cr, b'\r') => Self::Lf,
            (Self::Lf, b'\n') => FIRST,
            (Self::Cr | Self::Lf, _) => return Err(BodyError::ChunkEnd),
            (Self::Trailer { line: 0, cr: true, .. }, b'\n') => Self::End,
            (Self::Trailer { total, cr: true, .. }, b'\n') => {
                Self::Trailer { total: total + 1, line: 0, cr: false }
            }
            (Self::Trailer { cr: true, .. }, _) | (Self::Trailer { .. }, b'\n') => {
                return Err(BodyError::Trailer);
            }
            (Self::Trailer { total, .. }, _) if total >= TRAILER_MAX => {
                return Err(BodyError::Trailer);
            }
            (Self::Trailer { total, line, .. }, _) => {
                let cr = byte == b'\r';
                Self::Trailer { total: total + 1, line: line + u32::from(!cr), cr }
            }
            // neither reads a byte: the caller walks through content, and stops at the end
            (Self::Content(_) | Self::End, _) => self,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(framing: Framing, bytes: &[u8]) -> Result<(Taken, u64), BodyError> {
        let mut body = Body::new(framing);
        body.take(bytes).map(|taken| (taken, body.content()))
    }

    #[test]
    fn a_length_leaves_what_is_behind_it() {
        let (taken, content) = read(Framing::Length(5), b"helloHTTP/1.1").unwrap();
        assert_eq!((taken, content), (Taken { consumed: 5, complete: true }, 5));
        let (taken, _) = read(Framing::Length(0), b"").unwrap();
        assert!(taken.complete);
    }

    #[test]
    fn chunks_count_their_content_only() {
        let bytes = b"4\r\nWiki\r\n5;name=value\r\npedia\r\n0\r\nExpires: 0\r\n\r\nrest";
        let (taken, content) = read(Framing::Chunked, bytes).unwrap();
        assert_eq!((taken, content), (Taken { consumed: bytes.len() - 4, complete: true }, 9));
    }

    #[test]
    fn the_content_is_handed_over_without_its_framing() {
        let bytes = b"4\r\nWiki\r\n5;name=value\r\npedia\r\n0\r\nExpires: 0\r\n\r\n";
        for piece in [1, 7, bytes.len()] {
            let (mut body, mut content) = (Body::new(Framing::Chunked), Vec::new());
            for part in bytes.chunks(piece) {
                body.take_with(part, |kept| content.extend_from_slice(kept)).unwrap();
            }
            assert_eq!(content, b"Wikipedia", "in pieces of {piece}");
        }
    }

    #[test]
    fn chunks_that_are_none_are_refused_by_name() {
        let refused = |bytes: &[u8]| read(Framing::Chunked, bytes).unwrap_err();
        assert_eq!(refused(b"x\r\n"), BodyError::ChunkLength);
        assert_eq!(refused(b"\r\n"), BodyError::ChunkLength);
        for long in [b"11111111111111111\r\n", b"ffffffffffffffff\r\n ", b"10000000001\r\n      "] {
            assert_eq!(refused(long), BodyError::ChunkTooLong);
        }
        assert!(read(Framing::Chunked, b"10000000000\r\n").is_ok());
        assert_eq!(refused(b"4\nWiki"), BodyError::ChunkLength);
        assert_eq!(refused(b"1\r\nab"), BodyError::ChunkEnd);
        let extension = [b"1;".as_slice(), &[b'a'; 5_000]].concat();
        assert_eq!(refused(&extension), BodyError::ChunkLine);
        let zeros = [b'0'; 5_000];
        assert_eq!(refused(&zeros), BodyError::ChunkLength);
        let trailer = [b"0\r\n".as_slice(), &[b'a'; 70_000]].concat();
        assert_eq!(refused(&trailer), BodyError::Trailer);
    }

    #[test]
    fn a_body_without_a_length_ends_with_the_connection() {
        let mut body = Body::new(Framing::UntilClose);
        assert_eq!(body.take(b"some"), Ok(Taken { consumed: 4, complete: false }));
        assert!(body.ends_with_the_connection());
        assert_eq!(body.content(), 4);
    }
}
