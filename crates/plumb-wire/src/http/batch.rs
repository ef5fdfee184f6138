//! Answers to several operations in one, as `$batch` of OData gives them.
//!
//! # Source
//! OData 4.01, Part 1, section 11.7.7 (multipart batch format); RFC 2046, section 5.1.

/// Operations of one answer at most.
const OPERATIONS_MAX: usize = 10_000;
/// Multipart within multipart: a change set stands in a batch.
const DEPTH_MAX: usize = 2;

/// Why an answer is none to a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// It does not begin with a boundary.
    #[error("it is no multipart/mixed: it does not begin with a boundary")]
    NoMultipart,
    /// It does not end with its boundary.
    #[error("it is cut off: its last boundary is not there")]
    CutOff,
    /// A part that is neither an answer nor a change set.
    #[error("one of its parts is no answer: application/http with a status line is expected")]
    NoAnswer,
    /// More operations, or deeper ones, than are looked at.
    #[error("it holds more than {OPERATIONS_MAX} operations, or parts within parts within parts")]
    TooLarge,
}

/// The status of each operation, in their order.
///
/// # Errors
/// [`BatchError`].
pub fn batch_statuses(content: &[u8]) -> Result<Vec<u16>, BatchError> {
    let start = content.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
    let content = &content[start..];
    let line = lines(content).next().unwrap_or_default();
    let boundary = trimmed(line).strip_prefix(b"--").filter(|name| !name.is_empty());
    let mut statuses = Vec::new();
    read(content, boundary.ok_or(BatchError::NoMultipart)?, 0, &mut statuses)?;
    Ok(statuses)
}

fn read(
    content: &[u8],
    boundary: &[u8],
    depth: usize,
    statuses: &mut Vec<u16>,
) -> Result<(), BatchError> {
    if depth == DEPTH_MAX {
        return Err(BatchError::TooLarge);
    }
    let (mut at, mut part) = (0, None);
    for line in lines(content) {
        let delimiter = trimmed(line).strip_prefix(b"--").and_then(|it| it.strip_prefix(boundary));
        if let Some(rest @ (b"" | b"--")) = delimiter {
            if let Some(from) = part.replace(at + line.len()) {
                answer(&content[from..at], depth, statuses)?;
            }
            if rest == b"--" {
                return Ok(());
            }
        }
        at += line.len();
    }
    Err(BatchError::CutOff)
}

/// One part: an answer, or a change set of several.
fn answer(part: &[u8], depth: usize, statuses: &mut Vec<u16>) -> Result<(), BatchError> {
    let mut kind = Vec::new();
    let mut at = 0;
    for line in lines(part) {
        at += line.len();
        let line = trimmed(line);
        if line.is_empty() {
            break;
        }
        let split = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(split.unwrap_or(line.len()));
        if name.eq_ignore_ascii_case(b"content-type") {
            kind = value.get(1..).unwrap_or_default().trim_ascii().to_vec();
        }
    }
    let (is_http, inner) = (starts_with(&kind, b"application/http"), &part[at..]);
    if is_http {
        if statuses.len() == OPERATIONS_MAX {
            return Err(BatchError::TooLarge);
        }
        let mut answer = lines(inner).map(trimmed);
        let line = answer.find(|line| !line.is_empty()).unwrap_or_default();
        statuses.push(status(line).ok_or(BatchError::NoAnswer)?);
        return Ok(());
    }
    match boundary(&kind) {
        Some(boundary) if starts_with(&kind, b"multipart/") => {
            read(inner, boundary, depth + 1, statuses)
        }
        _ => Err(BatchError::NoAnswer),
    }
}

/// The lines of `bytes` with their ends.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}

/// A line without its end, and without what may stand behind a boundary.
fn trimmed(line: &[u8]) -> &[u8] {
    line.trim_ascii_end()
}

fn starts_with(bytes: &[u8], word: &[u8]) -> bool {
    bytes.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// The boundary that a content type names.
fn boundary(kind: &[u8]) -> Option<&[u8]> {
    let mut parameters = kind.split(|byte| *byte == b';').skip(1).map(<[u8]>::trim_ascii);
    let named = parameters.find(|it| starts_with(it, b"boundary="))?;
    let value = &named[b"boundary=".len()..];
    let quoted = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
    Some(quoted.unwrap_or(value)).filter(|value| !value.is_empty())
}

/// The code of a status line.
fn status(line: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(line).ok()?;
    let mut words = text.strip_prefix("HTTP/1.")?.split(' ');
    let minor = words.next()?;
    let code = words.next()?.parse().ok()?;
    (["0", "1"].contains(&minor) && (100..=599).contains(&code)).then_some(code)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ANSWER: &str = "--b_1\r\nContent-Type: application/http\r\nContent-Length: 40\r\n\r\n\
        HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"a\":1}\r\n\
        --b_1\r\nContent-Type: multipart/mixed; boundary=\"c-2\"\r\n\r\n\
        --c-2\r\nContent-Type: application/http\r\nContent-ID: 1\r\n\r\nHTTP/1.1 201 Created\r\n\r\n\r\n\
        --c-2\r\ncontent-type: Application/HTTP\r\n\r\nHTTP/1.1 204\r\n\r\n\r\n--c-2--\r\n\
        --b_1\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 404 Not Found\r\n\r\n--b_10\r\n\r\n--b_1--\r\n";

    #[test]
    fn each_operation_has_its_status() {
        assert_eq!(batch_statuses(ANSWER.as_bytes()), Ok(vec![200, 201, 204, 404]));
        let bare = ANSWER.replace('\r', "");
        assert_eq!(batch_statuses(bare.as_bytes()), Ok(vec![200, 201, 204, 404]));
    }

    #[test]
    fn what_is_no_answer_is_said() {
        let of = |text: &str| batch_statuses(text.as_bytes()).unwrap_err();
        assert_eq!(of(""), BatchError::NoMultipart);
        assert_eq!(of("{\"error\":1}"), BatchError::NoMultipart);
        assert_eq!(of(&ANSWER[..ANSWER.len() - 4]), BatchError::CutOff);
        assert_eq!(of(&ANSWER.replace("HTTP/1.1 201", "HTTP/1.1 999")), BatchError::NoAnswer);
        assert_eq!(of(&ANSWER.replace("application/http", "text/html")), BatchError::NoAnswer);
        let deep = "--a\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: \
                    multipart/mixed; boundary=c\n\n--c\n\n--c--\n--b--\n--a--\n";
        assert_eq!(of(deep), BatchError::TooLarge);
    }

    proptest! {
        #[test]
        fn any_change_of_an_answer_is_read_or_refused(
            at in 0..ANSWER.len(), gone in 0usize..30, put in prop::collection::vec(any::<u8>(), 0..8),
        ) {
            let mut bytes = ANSWER.as_bytes().to_vec();
            let end = bytes.len().min(at + gone);
            bytes.splice(at..end, put);
            let statuses = batch_statuses(&bytes).unwrap_or_default();
            prop_assert!(statuses.iter().all(|status| (100..=599).contains(status)));
        }
    }
}
