//! Lines and columns of a document, reckoned when somebody asks for them.

/// A place in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// From 1.
    pub line: u64,
    /// In characters, from 1.
    pub column: u64,
}

impl Position {
    /// The place of the byte `at`, from 0, of `document`; its end for one behind it.
    #[must_use]
    pub fn of(document: &[u8], at: usize) -> Self {
        let before = &document[..at.min(document.len())];
        let begin = memchr::memrchr(b'\n', before).map_or(0, |last| last + 1);
        let line = 1 + memchr::memchr_iter(b'\n', before).count() as u64;
        let characters = before[begin..].iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        Self { line, column: 1 + characters as u64 }
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_characters_are_counted_up_to_a_byte() {
        let document = b"ab\n\xC3\xA4\xC3\xB6c\nd";
        assert_eq!(Position::of(document, 0), Position { line: 1, column: 1 });
        assert_eq!(Position::of(document, 2), Position { line: 1, column: 3 });
        assert_eq!(Position::of(document, 7), Position { line: 2, column: 3 });
        assert_eq!(Position::of(document, 10).to_string(), "line 3, column 2");
        assert_eq!(Position::of(document, 99).to_string(), "line 3, column 2");
    }
}
