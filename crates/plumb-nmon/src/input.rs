//! Lines of a file that may be compressed, in bounded memory.

use std::io::{self, BufRead, BufReader, Read};
use std::thread::Scope;

use crate::trouble::TroubleKind;
use crate::unpack::Unpacked;

/// Longest line that is read, bytes: a header of Windows has some seventy for each counter, and tens
/// of thousands of these where every thread is recorded.
pub(crate) const LINE_BYTES_MAX: usize = 8 << 20;
const BUFFER_BYTES: usize = 1 << 18;
const GZIP: [u8; 2] = [0x1f, 0x8b];
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The lines of one pass over a file.
pub(crate) struct Lines<'a> {
    input: Box<dyn BufRead + 'a>,
    compressed: bool,
    line: Vec<u8>,
    number: u64,
}

/// One line, without its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    /// From 1.
    pub(crate) number: u64,
    pub(crate) text: &'a [u8],
    /// False for the last line of a file that does not end with a line feed.
    pub(crate) ended: bool,
}

/// What comes next.
#[derive(Debug)]
pub(crate) enum Next<'a> {
    Line(Text<'a>),
    /// A line of this number is too long and was passed over.
    TooLong(u64),
    /// The compressed data is damaged or cut off behind this line.
    Broken(u64, String),
    /// Something is wrong with the line of this number; what can be read of it follows.
    Strange(u64, TroubleKind),
    End,
}

impl<'a> Lines<'a> {
    /// Starts at the beginning; gzip is told by its first two bytes, and unpacked on a thread of
    /// `scope`.
    pub(crate) fn new<'scope: 'a>(
        source: impl Read + Send + 'scope,
        scope: &'scope Scope<'scope, '_>,
    ) -> io::Result<Self> {
        let mut plain = BufReader::with_capacity(BUFFER_BYTES, source);
        let compressed = plain.fill_buf()?.starts_with(&GZIP);
        let input: Box<dyn BufRead> =
            if compressed { Box::new(Unpacked::start(plain, scope)?) } else { Box::new(plain) };
        Ok(Self { input, compressed, line: Vec::new(), number: 0 })
    }

    /// The next line.
    pub(crate) fn next(&mut self) -> io::Result<Next<'_>> {
        self.line.clear();
        let mut limited = self.input.by_ref().take(LINE_BYTES_MAX as u64 + 1);
        match limited.read_until(b'\n', &mut self.line) {
            Ok(0) => return Ok(Next::End),
            Ok(_) => {}
            Err(error) if self.compressed => {
                return Ok(Next::Broken(self.number, error.to_string()));
            }
            Err(error) => return Err(error),
        }
        self.number += 1;
        let ended = self.line.last() == Some(&b'\n');
        if !ended && self.line.len() > LINE_BYTES_MAX {
            return self.pass_over();
        }
        let mut text = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        text = text.strip_suffix(b"\r").unwrap_or(text);
        if self.number == 1 {
            text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        }
        Ok(Next::Line(Text { number: self.number, text, ended }))
    }

    fn pass_over(&mut self) -> io::Result<Next<'_>> {
        match self.input.skip_until(b'\n') {
            Err(error) if !self.compressed => Err(error),
            _ => Ok(Next::TooLong(self.number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn all(bytes: &[u8]) -> Vec<String> {
        std::thread::scope(|scope| seen(Lines::new(bytes, scope).unwrap()))
    }

    fn seen(mut lines: Lines<'_>) -> Vec<String> {
        let mut seen = Vec::new();
        loop {
            seen.push(match lines.next().unwrap() {
                Next::Line(line) => format!(
                    "{} {}{}",
                    line.number,
                    String::from_utf8_lossy(line.text),
                    if line.ended { "" } else { " (cut)" }
                ),
                Next::TooLong(number) => format!("{number} too long"),
                Next::Broken(number, _) => {
                    seen.push(format!("broken after {number}"));
                    return seen;
                }
                Next::Strange(number, kind) => format!("{number} {kind}"),
                Next::End => return seen,
            });
        }
    }

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(text).unwrap();
        packer.finish().unwrap()
    }

    #[test]
    fn lines_end_with_or_without_a_carriage_return() {
        assert_eq!(
            all(b"\xef\xbb\xbfAAA,x\r\nb\n\nlast"),
            ["1 AAA,x", "2 b", "3 ", "4 last (cut)"]
        );
    }

    #[test]
    fn members_of_gzip_follow_each_other() {
        let two = [packed(b"a\n"), packed(b"b\n")].concat();
        assert_eq!(all(&two), ["1 a", "2 b"]);
        let whole = packed("line of text\n".repeat(2000).as_bytes());
        let cut = all(&whole[..whole.len() / 2]);
        assert!(cut.last().unwrap().starts_with("broken after"), "{cut:?}");
    }

    #[test]
    fn a_line_without_an_end_is_passed_over() {
        let mut text = vec![b'x'; LINE_BYTES_MAX + 10];
        text.extend_from_slice(b"\nnext\n");
        assert_eq!(all(&text), ["1 too long", "2 next"]);
    }
}
