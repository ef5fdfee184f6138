//! A file of the kernel that stays open and is read again and again.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::fields::{ends_of_lines, lines};
use crate::state::State;

/// First size of the buffer. The kernel makes its text of one file in pages, so a smaller one
/// would cost more calls.
const BUFFER: usize = 64 << 10;
/// No file that is read here is larger on any machine.
const BUFFER_MAX: usize = 64 << 20;
/// Samples between two attempts to open what could not be read.
const PATIENCE: u32 = 60;

/// How the kernel makes the text of a file, and so how it is known to be complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// In one piece: one call reads it all, if the buffer is large enough.
    Whole,
    /// Record by record of a line each, up to a page a call.
    Records,
    /// Record by record, some of many lines: nothing tells how long the next one would be.
    UnevenRecords,
    /// Record by record, and the number of records never changes while the kernel runs.
    FixedRecords,
    /// A single short line, made in a buffer as large as the one that is offered: a large one
    /// would be cleared for every call.
    Line,
}

/// Bytes offered for a single line.
const LINE: usize = 256;

/// The text of the last read; one buffer serves every source.
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    /// Room for the texts of most machines; it grows where one is longer.
    #[must_use]
    pub fn new() -> Self {
        Self { bytes: vec![0; BUFFER] }
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Self::new()
    }
}

/// A file that is read at every sample through one descriptor.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    shape: Shape,
    file: Option<File>,
    /// Records of a complete text; 0 when not known yet.
    records: usize,
    state: State,
    /// Samples to let pass before the next attempt.
    pause: u32,
}

impl Source {
    /// The file at `path`, which is opened when it is first read.
    #[must_use]
    pub fn new(path: PathBuf, shape: Shape) -> Self {
        Self { path, shape, file: None, records: 0, state: State::Active, pause: 0 }
    }

    /// Never reads again.
    pub fn disable(&mut self) {
        self.state = State::Disabled;
    }

    /// Whether it could be read the last time.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The text was read, but is not what it should be.
    pub fn fail(&mut self, reason: String) {
        self.state = State::Failed(reason);
        self.pause = PATIENCE;
    }

    /// Where it is, for messages.
    #[must_use]
    pub fn path(&self) -> String {
        self.path.display().to_string()
    }

    /// The whole text; `None` when there is none to be had now.
    pub fn read<'b>(&mut self, buffer: &'b mut Buffer) -> Option<&'b [u8]> {
        match self.state {
            State::Disabled | State::Unsupported(_) => return None,
            State::Failed(_) if self.pause > 0 => {
                self.pause -= 1;
                return None;
            }
            State::Failed(_) | State::Active => {}
        }
        match self.try_read(&mut buffer.bytes) {
            Ok(length) => {
                self.state = State::Active;
                Some(&buffer.bytes[..length])
            }
            Err(error) => {
                self.file = None;
                self.pause = PATIENCE;
                self.state = State::after(&self.path(), &error);
                None
            }
        }
    }

    fn try_read(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        if let Some(file) = &self.file {
            match read_all(|room, at| file.read_at(room, at), self.shape, self.records, bytes) {
                // the device or process behind the descriptor is gone; its name may stand for
                // another one now
                Err(error) if is_gone(&error) => self.file = None,
                read => return read,
            }
        }
        let file = self.file.insert(File::open(&self.path)?);
        let length = read_all(|room, at| file.read_at(room, at), self.shape, 0, bytes)?;
        if self.shape == Shape::FixedRecords {
            self.records = ends_of_lines(&bytes[..length]);
        }
        Ok(length)
    }
}

/// True for the errors of a descriptor that outlived what it stands for.
fn is_gone(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NODEV | Errno::SRCH | Errno::NXIO))
}

/// Reads a file from its start to its end, with as few calls as its shape allows.
fn read_all(
    read_at: impl Fn(&mut [u8], u64) -> io::Result<usize>,
    shape: Shape,
    records: usize,
    bytes: &mut Vec<u8>,
) -> io::Result<usize> {
    let (mut length, mut found) = (0, 0);
    loop {
        if length == bytes.len() {
            if length >= BUFFER_MAX {
                return Err(io::Error::other("it is larger than 64 MiB"));
            }
            bytes.resize(length * 2, 0);
        }
        let end = if shape == Shape::Line { length + LINE } else { bytes.len() };
        let end = end.min(bytes.len());
        let read = match read_at(&mut bytes[length..end], length as u64) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let piece = &bytes[length..length + read];
        let room = end - length - read;
        let complete = match shape {
            _ if read == 0 => true,
            Shape::Whole | Shape::Line => room > 0,
            Shape::FixedRecords if records > 0 => {
                found += ends_of_lines(piece);
                found >= records || (room > 0 && was_last(piece))
            }
            Shape::FixedRecords | Shape::UnevenRecords => false, // to its end
            Shape::Records => room > 0 && was_last(piece),
        };
        length += read;
        if complete {
            return Ok(length);
        }
    }
}

/// True when the kernel would have put another record into its page, had there been one: the room
/// left is more than twice the longest record so far, and more than any record is that is not
/// seen.
fn was_last(piece: &[u8]) -> bool {
    const PAGE: usize = 4096; // the smallest; larger ones leave more room
    const UNSEEN: usize = 512;
    let mut page = PAGE;
    while page < piece.len() {
        page *= 2;
    }
    let left = page - piece.len();
    left > UNSEEN && lines(piece).all(|record| left > 2 * record.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn source(text: &[u8], shape: Shape) -> (tempfile::TempDir, Source) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, text).unwrap();
        (folder, Source::new(path, shape))
    }

    #[test]
    fn a_file_is_read_again_from_its_start() {
        let (folder, mut source) = source(b"first", Shape::Whole);
        let mut buffer = Buffer::new();
        assert_eq!(source.read(&mut buffer), Some(b"first".as_slice()));
        fs::write(folder.path().join("file"), b"second").unwrap();
        assert_eq!(source.read(&mut buffer), Some(b"second".as_slice()));
    }

    #[test]
    fn a_file_larger_than_the_buffer_is_read_to_its_end() {
        let text = b"0123456789\n".repeat(20_000);
        for shape in [Shape::Whole, Shape::Records, Shape::UnevenRecords] {
            let (_folder, mut source) = source(&text, shape);
            assert_eq!(source.read(&mut Buffer::new()).map(<[u8]>::len), Some(text.len()));
        }
    }

    #[test]
    fn a_fixed_number_of_records_is_learned() {
        let line = b"a line of forty characters or nearly so\n";
        let (_folder, mut source) = source(&line.repeat(204), Shape::FixedRecords);
        let mut buffer = Buffer::new();
        for _ in 0..2 {
            assert_eq!(source.read(&mut buffer).map(<[u8]>::len), Some(204 * line.len()));
            assert_eq!(source.records, 204);
        }
    }

    #[test]
    fn a_line_longer_than_offered_is_read_to_its_end() {
        let (_folder, mut source) = source(&[b'7'; 600], Shape::Line);
        assert_eq!(source.read(&mut Buffer::new()).map(<[u8]>::len), Some(600));
    }

    #[test]
    fn a_page_with_room_for_a_record_was_the_last() {
        assert!(was_last(&b"a line of forty characters or nearly so\n".repeat(50)));
        assert!(!was_last(&b"a line of forty characters or nearly so\n".repeat(100)));
        assert!(!was_last(&b"a line of forty characters or nearly so\n".repeat(204)));
        assert!(!was_last(&[b'x'; 2000]), "a record of that length would not fit again");
    }

    #[test]
    fn a_record_that_did_not_fit_into_a_page_is_read() {
        let (first, next) = (b" 8 0 sda 1 2 3\n".repeat(200), b" 8 16 sdb 1 2 3\n".repeat(70));
        let in_pieces = |room: &mut [u8], at: u64| {
            let piece = match at {
                0 => &first[..],
                at if at == first.len() as u64 => &next[..],
                _ => &[],
            };
            room[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        };
        let read = |shape| read_all(in_pieces, shape, 0, &mut vec![0; BUFFER]).unwrap();
        assert_eq!(read(Shape::UnevenRecords), first.len() + next.len());
        assert_eq!(read(Shape::Records), first.len(), "a line would have had room");
    }

    #[test]
    fn what_is_missing_is_not_looked_for_again() {
        let mut source = Source::new("/nowhere/at/all".into(), Shape::Whole);
        let mut buffer = Buffer::new();
        assert_eq!(source.read(&mut buffer), None);
        assert!(matches!(source.state(), State::Unsupported(_)));
        assert_eq!(source.read(&mut buffer), None);
    }

    #[test]
    fn a_text_that_made_no_sense_is_tried_again_later() {
        let (_folder, mut source) = source(b"text", Shape::Whole);
        let mut buffer = Buffer::new();
        source.fail("no".into());
        for _ in 0..PATIENCE {
            assert_eq!(source.read(&mut buffer), None);
        }
        assert!(source.read(&mut buffer).is_some());
        assert!(source.state().is_active());
    }
}
