//! Parts of an answer to a batch, or to a set of changes within.

use hyper::header::CONTENT_TYPE;

use crate::answer::Answer;

/// The head of the part that answers the part `name` with `answer`, up to its body.
pub(crate) fn head(boundary: &str, name: Option<&str>, answer: &Answer) -> Vec<u8> {
    let mut out = format!(
        "--{boundary}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n"
    );
    if let Some(name) = name {
        out += &format!("Content-ID: {name}\r\n");
    }
    let status = answer.status;
    let reason = status.canonical_reason().unwrap_or("");
    let length = answer.body.len();
    out += &format!("\r\nHTTP/1.1 {} {reason}\r\nContent-Length: {length}\r\n", status.as_u16());
    let mut out = out.into_bytes();
    for (name, value) in &answer.headers {
        out.extend(name.as_str().bytes());
        out.extend(b": ");
        out.extend(value.as_bytes());
        out.extend(b"\r\n");
    }
    out.extend(b"\r\n");
    out
}

/// The head of the part that answers a set of changes, which is done, with the answers to each. Its length is
/// told by its boundary: some clients take all that follows that in the head for a part of it.
pub(crate) fn head_of_set(boundary: &str, name: Option<&str>, answer: &Answer) -> Vec<u8> {
    let mut out = format!("--{boundary}\r\n").into_bytes();
    if let Some(name) = name {
        out.extend(format!("Content-ID: {name}\r\n").bytes());
    }
    for (name, value) in &answer.headers {
        // some clients look for this name as it is written everywhere else
        let name = if *name == CONTENT_TYPE { "Content-Type" } else { name.as_str() };
        out.extend(name.bytes());
        out.extend(b": ");
        out.extend(value.as_bytes());
        out.extend(b"\r\n");
    }
    out.extend(b"\r\n");
    out
}

/// The end of such an answer.
pub(crate) fn tail(boundary: &str) -> Vec<u8> {
    format!("--{boundary}--\r\n").into_bytes()
}
