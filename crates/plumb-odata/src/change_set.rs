//! A set of changes of a batch, read whole: its requests, and what they refer to each other by.
//!
//! # Source
//! OData Version 2.0, Batch Processing, 2.2 (change sets) and 2.2.1 (references); RFC 2046, section 5.1.

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};

use crate::multipart::{boundary, printable};
use crate::refusal::Refusal;

/// Changes of a set.
const CHANGES_MAX: usize = 100;
/// Header lines of a part, and of the request within.
const HEADERS_MAX: usize = 64;

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The `Content-ID` by which later changes refer to it, and its answer is found.
    pub name: Option<String>,
    /// What is to be done.
    pub what: Method,
    /// As it was sent: `CarrierCollection`, `$1/carrierFlights`, or a whole URL.
    pub target: String,
    /// Its header lines.
    pub headers: HeaderMap,
    /// What it says of the entity.
    pub body: Bytes,
}

/// The changes of the set `bytes`, which has this header `Content-Type`.
///
/// # Errors
/// [`Refusal`] says what is wrong with the set: then none of it is done.
pub(crate) fn parse(content_type: &str, bytes: &[u8]) -> Result<Vec<Change>, Refusal> {
    let boundary = boundary(content_type)
        .ok_or_else(|| malformed("it has the type multipart/mixed with a boundary"))?;
    let delimiter = format!("--{boundary}").into_bytes();
    let mut changes = Vec::new();
    let (mut begin, mut at, mut ended) = (None, 0, false);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let behind = line.trim_ascii_end().strip_prefix(delimiter.as_slice());
        let is_last = match behind {
            Some(b"") => Some(false),
            Some(b"--") => Some(true),
            _ => None,
        };
        if let Some(is_last) = is_last.filter(|_| !ended) {
            if let Some(begin) = begin {
                if changes.len() == CHANGES_MAX {
                    return Err(malformed(&format!("it has more than {CHANGES_MAX} changes")));
                }
                changes.push(change(&bytes[begin..at])?);
            }
            begin = Some(at + line.len());
            ended = is_last;
        }
        at += line.len();
    }
    match (ended, changes.is_empty()) {
        (false, _) => Err(malformed("its last boundary is missing")),
        (true, true) => Err(malformed("nothing stands in it")),
        (true, false) => Ok(changes),
    }
}

/// The change of one part.
fn change(part: &[u8]) -> Result<Change, Refusal> {
    // the line break before a boundary belongs to the boundary
    let part = part.strip_suffix(b"\n").unwrap_or(part);
    let part = part.strip_suffix(b"\r").unwrap_or(part);
    let mut lines = Lines(part);
    let outer = lines.headers()?;
    let kind = outer.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or("");
    if !kind.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case("application/http") {
        return Err(malformed("a part is no application/http"));
    }
    let mut request = lines.next().unwrap_or_default();
    if request.is_empty() {
        request = lines.next().unwrap_or_default(); // as clients put before it
    }
    let (what, target) = request_line(request)?;
    let headers = lines.headers()?;
    let name = outer.get("content-id").or_else(|| headers.get("content-id"));
    let name = name.and_then(|name| printable(name.to_str().ok()?));
    let length = headers.get("content-length").and_then(|it| it.to_str().ok()?.parse().ok());
    let body = lines.0;
    let body = &body[..body.len().min(length.unwrap_or(usize::MAX))];
    Ok(Change { name, what, target, headers, body: Bytes::copy_from_slice(body) })
}

/// Method and target of a change.
fn request_line(line: &[u8]) -> Result<(Method, String), Refusal> {
    let line = String::from_utf8_lossy(line);
    let wrong = || malformed(&format!("`{line}` is no request such as POST NAME HTTP/1.1"));
    let (method, rest) = line.split_once(' ').ok_or_else(wrong)?;
    let (target, version) = rest.rsplit_once(' ').ok_or_else(wrong)?;
    let method: Method = method.parse().map_err(|_| wrong())?;
    if target.trim().is_empty() || !["HTTP/1.1", "HTTP/1.0"].contains(&version) {
        return Err(wrong());
    }
    if !["POST", "PUT", "MERGE", "PATCH", "DELETE"].contains(&method.as_str()) {
        let text = "a set of changes takes POST, PUT, MERGE, PATCH and DELETE: what is read stands \
                    outside of it";
        return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, text));
    }
    Ok((method, target.trim().replace(' ', "%20")))
}

fn malformed(problem: &str) -> Refusal {
    Refusal::bad_request(format!("the set of changes is malformed: {problem}"))
}

/// Lines that are taken one after the other, without what ends them.
struct Lines<'a>(&'a [u8]);

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let end = self.0.iter().position(|byte| *byte == b'\n').map_or(self.0.len(), |at| at + 1);
        let (line, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(line.trim_ascii_end())
    }

    /// Header lines up to an empty line or the end.
    fn headers(&mut self) -> Result<HeaderMap, Refusal> {
        let mut found = HeaderMap::new();
        while let Some(line) = self.next().filter(|line| !line.is_empty()) {
            if found.len() == HEADERS_MAX {
                return Err(malformed(&format!("a part has more than {HEADERS_MAX} header lines")));
            }
            let read = || {
                let at = line.iter().position(|byte| *byte == b':')?;
                let name = HeaderName::from_bytes(line[..at].trim_ascii()).ok()?;
                Some((name, HeaderValue::from_bytes(line[at + 1..].trim_ascii()).ok()?))
            };
            let (name, value) = read().ok_or_else(|| {
                malformed(&format!("`{}` is no header", String::from_utf8_lossy(line)))
            })?;
            found.append(name, value);
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KIND: &str = "multipart/mixed; boundary=c";
    const SET: &str = "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\
        Content-ID: 1\r\n\r\nPOST CarrierCollection HTTP/1.1\r\nContent-Type: application/json\r\n\
        Content-Length: 10\r\n\r\n{\"a\":\r\n1}\r\n--c\r\nContent-Type: application/http\r\n\r\n\
        DELETE $1 HTTP/1.1\r\nContent-ID: two\r\n\r\n\r\n--c--\r\n";

    #[test]
    fn changes_have_their_names_their_targets_and_their_bodies() {
        for set in [SET.to_owned(), format!("before\r\n{SET}behind")] {
            let found = parse(KIND, set.as_bytes()).unwrap();
            let [first, second] = found.as_slice() else { panic!("{found:?}") };
            assert_eq!((first.name.as_deref(), second.name.as_deref()), (Some("1"), Some("two")));
            assert_eq!((first.what.as_str(), first.target.as_str()), ("POST", "CarrierCollection"));
            assert_eq!(first.body, "{\"a\":\r\n1}");
            assert_eq!((second.what.as_str(), second.target.as_str()), ("DELETE", "$1"));
            assert!(second.body.is_empty() || second.body == "\r\n", "{:?}", second.body);
        }
        let lines = SET.replace("\r\n", "\n").replace("Content-Length: 10", "Content-Length: 9");
        assert_eq!(parse(KIND, lines.as_bytes()).unwrap()[0].body, "{\"a\":\n1}");
    }

    #[test]
    fn what_is_no_set_says_why() {
        let problem = |set: &str| parse(KIND, set.as_bytes()).unwrap_err().message;
        assert!(problem("").contains("last boundary"));
        assert!(problem("--c--").contains("nothing stands in it"));
        assert!(problem(&SET.replace("--c--", "")).contains("last boundary"));
        assert!(
            problem(&SET.replacen("application/http", "text/plain", 1)).contains("no application")
        );
        assert!(problem(&SET.replace("DELETE $1 HTTP/1.1", "DELETE $1")).contains("no request"));
        assert!(problem(&SET.replace("DELETE", "GET")).contains("takes POST"));
        assert!(problem(&SET.replace("Content-Length: 10", "no header")).contains("no header"));
        let (first, _) = SET.split_at(SET.rfind("--c\r\n").unwrap());
        assert!(problem(&format!("{}--c--", first.repeat(101))).contains("more than 100"));
        assert!(parse("text/plain", SET.as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn any_set_is_read_or_refused(body: String) {
            let _ = parse(KIND, body.as_bytes());
            let _ = parse(KIND, format!("--c\nContent-Type: application/http\n\n{body}\n--c--").as_bytes());
        }
    }
}
