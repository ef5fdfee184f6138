//! The bytes of messages: a request each, with a place for the number of the message.

use std::fs;
use std::path::{Path, PathBuf};

use super::options::ContentOptions;
use crate::FlowError;
use plumb_transaction::sample::production_order;

/// What becomes the number in a file.
const PLACE: &str = "${number}";
/// Digits of a number.
const DIGITS: usize = 12;
/// Numbers end before this one.
pub(super) const NUMBER_END: u64 = 1_000_000_000_000;
/// Numbers that a second of the clock sets aside: no load sends more.
const NUMBERS_A_SECOND: u64 = 100_000;
/// Seconds after which numbers by the clock come again, so that they have 12 digits.
const SECONDS: u64 = 9_000_000 - 1;
/// Bytes of all files at most.
const BYTES_MAX: u64 = 256 << 20;
/// Files of a folder at most.
const FILES_MAX: usize = 10_000;
/// Size of an order that is made.
const ORDER_BYTES: usize = 2 << 10;

/// A document to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content {
    /// What stands around the numbers: one piece more than numbers.
    pieces: Vec<Vec<u8>>,
    media_type: &'static str,
}

/// Requests, complete but for their numbers.
#[derive(Clone, Debug)]
pub(super) struct Requests(Vec<Content>);

/// The documents that `options` ask for.
///
/// # Errors
/// [`FlowError`] for files that are not there, too large, empty, or none.
pub(super) fn read(options: &ContentOptions) -> Result<Vec<Content>, FlowError> {
    let Some(path) = &options.message else {
        let size = options.size.map_or(Ok(ORDER_BYTES), |size| {
            usize::try_from(size.bytes())
                .ok()
                .filter(|bytes| *bytes as u64 <= BYTES_MAX)
                .ok_or_else(|| {
                    FlowError::Plan(format!(
                        "--size {size}: a message has {BYTES_MAX} bytes at most"
                    ))
                })
        })?;
        return Ok(vec![order(size)]);
    };
    let files = files(path)?;
    let mut contents = Vec::new();
    let mut bytes = 0;
    for file in files {
        let unreadable = |error| FlowError::unreadable(&file, error);
        bytes += fs::metadata(&file).map_err(unreadable)?.len();
        if bytes > BYTES_MAX {
            return Err(FlowError::TooLarge { path: path.clone(), most: BYTES_MAX });
        }
        contents.push(Content::of(&fs::read(&file).map_err(unreadable)?));
    }
    Ok(contents)
}

/// True when a number stands in every one.
pub(super) fn are_numbered(contents: &[Content]) -> bool {
    contents.iter().all(|content| content.pieces.len() > 1)
}

/// The first number by the clock, which goes on by [`NUMBERS_A_SECOND`] however short a load is: no
/// two loads of a quarter of a year have numbers in common, one after the other.
pub(super) fn first_number(wall_ns: u64) -> u64 {
    let ticks = wall_ns / (1_000_000_000 / NUMBERS_A_SECOND);
    NUMBER_END / 10 + ticks % (SECONDS * NUMBERS_A_SECOND)
}

/// A number as it stands in a message.
pub(super) fn written(number: u64) -> String {
    format!("{number:0DIGITS$}")
}

fn files(path: &Path) -> Result<Vec<PathBuf>, FlowError> {
    let unreadable = |error| FlowError::unreadable(path, error);
    if !fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?.path();
        if entry.is_file() {
            files.push(entry);
        }
        if files.len() > FILES_MAX {
            let text = format!("{} holds more than {FILES_MAX} files", path.display());
            return Err(FlowError::Plan(text));
        }
    }
    files.sort_unstable();
    if files.is_empty() {
        let text = format!("{} holds no file to send", path.display());
        return Err(FlowError::Plan(text));
    }
    Ok(files)
}

/// A production order of `bytes`, whose number is that of the message.
fn order(bytes: usize) -> Content {
    let number = NUMBER_END - 1;
    let (text, _) = production_order(number, bytes);
    Content::of(text.replace(&written(number), PLACE).as_bytes())
}

impl Content {
    fn of(document: &[u8]) -> Self {
        let mut pieces = vec![Vec::new()];
        let mut rest = document;
        let place = PLACE.as_bytes();
        while let Some(at) = rest.windows(place.len()).position(|bytes| bytes == place) {
            if let Some(piece) = pieces.last_mut() {
                piece.extend_from_slice(&rest[..at]);
            }
            pieces.push(Vec::new());
            rest = &rest[at + place.len()..];
        }
        if let Some(piece) = pieces.last_mut() {
            piece.extend_from_slice(rest);
        }
        let first = document.iter().find(|byte| !byte.is_ascii_whitespace());
        let json = matches!(first, Some(b'{' | b'['));
        let media_type = if json { "application/json" } else { "application/xml" };
        Self { pieces, media_type }
    }

    /// Bytes of the document with its numbers.
    fn length(&self) -> usize {
        let pieces: usize = self.pieces.iter().map(Vec::len).sum();
        pieces + (self.pieces.len() - 1) * DIGITS
    }
}

impl Requests {
    /// A request to `target` of `host` for each of `contents`.
    pub(super) fn new(
        contents: &[Content],
        host: &str,
        target: &str,
        authorization: Option<&str>,
    ) -> Self {
        let proof = authorization.map_or(String::new(), |it| format!("Authorization: {it}\r\n"));
        let request = |content: &Content| {
            let head = format!(
                "POST {target} HTTP/1.1\r\nHost: {host}\r\n{proof}Content-Type: {}\r\n\
                 Content-Length: {}\r\n\r\n",
                content.media_type,
                content.length()
            );
            let mut content = content.clone();
            if let Some(first) = content.pieces.first_mut() {
                first.splice(0..0, head.into_bytes());
            }
            content
        };
        Self(contents.iter().map(request).collect())
    }

    /// Appends the request of the message `number` to `out`; they are taken in turn.
    pub(super) fn write(&self, number: u64, out: &mut Vec<u8>) {
        let turn = usize::try_from(number % self.0.len().max(1) as u64).unwrap_or(0);
        let Some(request) = self.0.get(turn) else { return };
        let mut digits = [b'0'; DIGITS];
        let mut left = number;
        for digit in digits.iter_mut().rev() {
            *digit += u8::try_from(left % 10).unwrap_or(0);
            left /= 10;
        }
        for (at, piece) in request.pieces.iter().enumerate() {
            if at > 0 {
                out.extend_from_slice(&digits);
            }
            out.extend_from_slice(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use plumb_measure::ByteSize;
    use proptest::prelude::*;

    use super::*;

    fn sent(contents: &[Content], number: u64) -> (String, String) {
        let mut out = Vec::new();
        Requests::new(contents, "h:1", "/messages", Some("Bearer x")).write(number, &mut out);
        let text = String::from_utf8(out).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    #[test]
    fn an_order_has_the_number_of_its_message_and_the_length_that_its_head_says() {
        let size = ByteSize::new(5_000);
        let contents = read(&ContentOptions { size, ..ContentOptions::default() }).unwrap();
        assert!(are_numbered(&contents));
        let (head, body) = sent(&contents, 42);
        assert_eq!(body, production_order(42, 5_000).0);
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
        assert!(head.contains("Content-Type: application/xml"), "{head}");
    }

    #[test]
    fn files_of_a_folder_are_sent_in_turn() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b"), " [\"${number}\", \"${number}\"]").unwrap();
        fs::write(folder.path().join("a"), "<a/>").unwrap();
        let options = |path: &Path| ContentOptions {
            message: Some(path.to_path_buf()),
            ..ContentOptions::default()
        };
        let contents = read(&options(folder.path())).unwrap();
        assert!(!are_numbered(&contents));
        assert_eq!(sent(&contents, 2).1, "<a/>");
        let (head, body) = sent(&contents, 7);
        assert_eq!(body, " [\"000000000007\", \"000000000007\"]");
        assert!(head.contains("Content-Type: application/json\r\nContent-Length: 33"), "{head}");
        let empty = tempfile::tempdir().unwrap();
        let said = read(&options(empty.path())).unwrap_err().to_string();
        assert!(said.contains("holds no file"), "{said}");
        assert!(read(&options(&empty.path().join("none"))).is_err());
    }

    #[test]
    fn numbers_by_the_clock_have_all_their_digits_and_never_meet() {
        let (now, later) =
            (first_number(1_700_000_000_000_000_000), first_number(1_700_000_001_000_000_000));
        assert_eq!(later - now, NUMBERS_A_SECOND);
        assert_eq!(first_number(1_700_000_000_010_000_000) - now, NUMBERS_A_SECOND / 100);
        for second in [0, SECONDS - 1, SECONDS, u64::MAX / 1_000_000_000] {
            assert_eq!(first_number(second * 1_000_000_000).to_string().len(), DIGITS);
        }
    }

    proptest! {
        #[test]
        fn any_document_is_sent_as_it_is(text in "[a-z{}$<>/]{0,40}(\\$\\{number\\})?[a-z]{0,9}", n in 0..NUMBER_END) {
            let contents = [Content::of(text.as_bytes())];
            let (head, body) = sent(&contents, n);
            prop_assert_eq!(&body, &text.replace(PLACE, &written(n)));
            let length = format!("Content-Length: {}", body.len());
            prop_assert!(head.contains(&length));
        }
    }
}
