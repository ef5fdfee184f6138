//! The last head, so that one like it need not be parsed.

use super::head::{Ask, Head, HeadError, parse};

/// Reads heads, and remembers the last one: the same bytes mean the same, so a head that is equal
/// to it costs one comparison. Any difference, a date that moved on among them, is parsed.
///
/// One memo serves one URL, whose answers are alike, over any number of connections.
#[derive(Clone, Debug, Default)]
pub struct Memo {
    ask: Ask,
    last: Vec<u8>,
    head: Option<Head>,
    parsed: u64,
}

impl Memo {
    /// A memo for the answers to `ask`.
    #[must_use]
    pub fn new(ask: Ask) -> Self {
        Self { ask, ..Self::default() }
    }

    /// Reads a head from the start of `bytes`: what it says, and its length in bytes. `None` while
    /// it is incomplete.
    ///
    /// # Errors
    /// [`HeadError`] names what is wrong with it.
    #[inline]
    pub fn read(&mut self, bytes: &[u8]) -> Result<Option<(Head, usize)>, HeadError> {
        if let Some(head) = self.head
            && bytes.starts_with(&self.last)
        {
            return Ok(Some((head, self.last.len())));
        }
        self.parse(bytes)
    }

    fn parse(&mut self, bytes: &[u8]) -> Result<Option<(Head, usize)>, HeadError> {
        let Some((head, length)) = parse(bytes, self.ask)? else {
            return Ok(None);
        };
        self.parsed += 1;
        self.last.clear();
        self.last.extend_from_slice(&bytes[..length]);
        self.head = Some(head);
        Ok(Some((head, length)))
    }

    /// The bytes of the last head; empty before the first.
    #[must_use]
    pub fn last(&self) -> &[u8] {
        &self.last
    }

    /// Heads that had to be parsed, because they differed from the one before.
    #[must_use]
    pub fn parsed(&self) -> u64 {
        self.parsed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Framing;

    #[test]
    fn an_equal_head_is_not_parsed_again_and_any_other_is() {
        let mut memo = Memo::default();
        let first = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        for _ in 0..3 {
            let (head, length) = memo.read(first).unwrap().unwrap();
            assert_eq!((head.framing, length), (Framing::Length(5), first.len() - 5));
        }
        assert_eq!(memo.parsed(), 1);
        let other = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!";
        let (head, _) = memo.read(other).unwrap().unwrap();
        assert_eq!((head.framing, memo.parsed()), (Framing::Length(6), 2));
    }

    #[test]
    fn a_head_is_known_when_its_last_byte_is_there() {
        let mut memo = Memo::default();
        let whole = b"HTTP/1.1 204 No Content\r\n\r\n";
        for _ in 0..2 {
            for cut in 0..whole.len() {
                assert_eq!(memo.read(&whole[..cut]), Ok(None));
            }
            assert!(memo.read(whole).unwrap().is_some());
        }
    }
}
