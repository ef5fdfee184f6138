//! Lines and columns of a document that passes by.

use std::io::{self, BufRead, Read};

/// A place in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// From 1.
    pub line: u64,
    /// In characters, from 1.
    pub column: u64,
}

impl Position {
    /// The first character.
    pub const START: Self = Self { line: 1, column: 1 };

    fn pass(&mut self, bytes: &[u8]) {
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let rest =
            bytes.iter().rposition(|byte| *byte == b'\n').map_or(bytes, |at| &bytes[at + 1..]);
        let characters = rest.iter().filter(|byte| **byte & 0xC0 != 0x80).count() as u64;
        self.line += lines;
        self.column = if lines > 0 { 1 + characters } else { self.column + characters };
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Bytes of one piece of a document at most: a tag, a text, a comment.
pub(super) const PIECE_MAX: usize = 16 << 20;

/// A source that knows how far it has been read, and how far since a piece of it began.
#[derive(Debug)]
pub(super) struct Counted<R> {
    source: R,
    position: Position,
    piece: usize,
}

impl<R> Counted<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, position: Position::START, piece: 0 }
    }

    /// A piece begins here.
    pub(super) fn mark(&mut self) {
        self.piece = 0;
    }

    pub(super) fn position(&self) -> Position {
        self.position
    }
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.source.read(into)?;
        self.position.pass(&into[..bytes]);
        Ok(bytes)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.piece > PIECE_MAX {
            let problem = format!("a tag, text or comment of more than {PIECE_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
        }
        self.source.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        // what was filled is still there: to ask for it again reads nothing
        if let Ok(filled) = self.source.fill_buf() {
            self.position.pass(&filled[..bytes.min(filled.len())]);
        }
        self.piece += bytes;
        self.source.consume(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_characters_are_counted_as_they_pass() {
        let mut source = Counted::new(&b"ab\n\xC3\xA4\xC3\xB6c\nd"[..]);
        source.consume(2);
        assert_eq!(source.position(), Position { line: 1, column: 3 });
        source.consume(5);
        assert_eq!(source.position(), Position { line: 2, column: 3 });
        source.consume(3);
        assert_eq!(source.position().to_string(), "line 3, column 2");
    }
}
