//! `$batch`: several readings in one request.
//!
//! # Source
//! OData Version 2.0, Batch Processing; RFC 2046, section 5.1.

use hyper::StatusCode;
use hyper::header::CONTENT_TYPE;

use super::path::Resource;
use super::service::{Service, read};
use crate::answer::{Answer, Failure};
use crate::step::Step;

/// Readings in one request.
const PARTS_MAX: usize = 100;

/// One reading: the path behind the root of the service, and the query.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reading {
    path: String,
    query: String,
}

/// The answer to a batch.
///
/// # Errors
/// [`Failure`] when the batch as a whole cannot be understood; a reading that fails has its own
/// answer.
pub(crate) fn serve(step: &mut Step<'_>, service: Service) -> Result<Answer, Failure> {
    let content_type = step.request.header(CONTENT_TYPE.as_str());
    let boundary = boundary(content_type).ok_or_else(|| {
        Failure::bad_request("a batch has the type multipart/mixed with a boundary")
    })?;
    let body = std::str::from_utf8(&step.request.body)
        .map_err(|_| Failure::bad_request("the batch is no text"))?;
    let readings = readings(boundary, body)?;
    let own = "plumb-batch";
    let mut out = Vec::new();
    for reading in &readings {
        let done = Resource::parse(&reading.path)
            .and_then(|resource| read(step, service, &resource, &reading.query));
        let answer = done.unwrap_or_else(|failure| service.failure(&failure, step.request));
        part(&mut out, own, &answer);
    }
    out.extend(format!("--{own}--\r\n").bytes());
    let answer = Answer::new("multipart/mixed; boundary=plumb-batch", out);
    Ok(answer.with_status(StatusCode::ACCEPTED))
}

fn part(out: &mut Vec<u8>, boundary: &str, answer: &Answer) {
    let status = answer.status;
    let head = format!(
        "--{boundary}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\
         \r\nHTTP/1.1 {} {}\r\nContent-Length: {}\r\n",
        status.as_u16(),
        status.canonical_reason().unwrap_or(""),
        answer.body.len()
    );
    out.extend(head.bytes());
    for (name, value) in &answer.headers {
        out.extend(name.as_str().bytes());
        out.extend(b": ");
        out.extend(value.as_bytes());
        out.extend(b"\r\n");
    }
    out.extend(b"\r\n");
    out.extend(&answer.body);
    out.extend(b"\r\n");
}

fn boundary(content_type: &str) -> Option<&str> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/mixed") {
        return None;
    }
    let boundary = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
    })?;
    (!boundary.is_empty() && boundary.len() <= 70).then_some(boundary)
}

/// The readings of a batch.
fn readings(boundary: &str, body: &str) -> Result<Vec<Reading>, Failure> {
    let wrong = |problem: &str| Failure::bad_request(format!("the batch is malformed: {problem}"));
    let delimiter = format!("--{boundary}");
    let mut parts = body.split(delimiter.as_str()).skip(1);
    let mut found = Vec::new();
    loop {
        let part = parts.next().ok_or_else(|| wrong("its last boundary is missing"))?;
        if part.starts_with("--") {
            break;
        }
        if found.len() == PARTS_MAX {
            return Err(wrong(&format!("it has more than {PARTS_MAX} parts")));
        }
        let part = part.replace("\r\n", "\n");
        let (head, inner) =
            part.split_once("\n\n").ok_or_else(|| wrong("a part has no empty line"))?;
        let head = head.to_ascii_lowercase();
        if head.contains("multipart/mixed") {
            return Err(Failure::new(StatusCode::NOT_IMPLEMENTED, "flights can only be read"));
        }
        if !head.contains("application/http") {
            return Err(wrong("a part is no application/http"));
        }
        found.push(reading(inner).map_err(|problem| wrong(&problem))?);
    }
    if found.is_empty() { Err(wrong("nothing stands in it")) } else { Ok(found) }
}

fn reading(part: &str) -> Result<Reading, String> {
    let line = part.trim_start().lines().next().unwrap_or("");
    let mut words = line.split(' ');
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some("GET"), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) => {
            let (path, query) = target.split_once('?').unwrap_or((target, ""));
            // absolute, from the root of the server, or from that of the service
            let path = path.rsplit_once("/RMTSAMPLEFLIGHT/").map_or(path, |(_, below)| below);
            let path = format!("/{}", path.trim_start_matches('/'));
            Ok(Reading { path, query: query.into() })
        }
        _ => Err(format!("`{line}` is no reading such as GET FlightCollection HTTP/1.1")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BATCH: &str = "--b\r\nContent-Type: application/http\r\n\
        Content-Transfer-Encoding: binary\r\n\r\nGET FlightCollection?$top=1 HTTP/1.1\r\n\r\n\r\n\
        --b\r\nContent-Type: application/http\r\n\r\n\
        GET /sap/opu/odata/iwfnd/RMTSAMPLEFLIGHT/CarrierCollection('LH') HTTP/1.1\r\n\
        Accept: application/json\r\n\r\n\r\n--b--\r\n";

    #[test]
    fn readings_are_found_by_every_kind_of_path() {
        let found = readings("b", BATCH).unwrap();
        assert_eq!(found[0].path, "/FlightCollection");
        assert_eq!(found[0].query, "$top=1");
        assert_eq!(found[1].path, "/CarrierCollection('LH')");
    }

    #[test]
    fn what_is_no_batch_says_why() {
        let problem = |body: &str| readings("b", body).unwrap_err().message;
        assert!(problem("").contains("last boundary"));
        assert!(problem("--b--").contains("nothing stands in it"));
        assert!(problem("--b\r\nContent-Type: application/http\r\n--b--").contains("empty line"));
        assert!(problem(&BATCH.replace("GET F", "PUT F")).contains("no reading"));
        assert!(
            problem(&BATCH.replace("application/http", "text/plain")).contains("no application")
        );
        let set = BATCH.replace("application/http", "multipart/mixed; boundary=c");
        assert_eq!(readings("b", &set).unwrap_err().status, StatusCode::NOT_IMPLEMENTED);
    }

    #[test]
    fn the_boundary_is_read_from_the_type() {
        assert_eq!(boundary("multipart/mixed; boundary=abc"), Some("abc"));
        assert_eq!(boundary("Multipart/Mixed;charset=x; Boundary=\"a b\""), Some("a b"));
        for none in ["multipart/mixed", "text/plain; boundary=a", "multipart/mixed; boundary="] {
            assert_eq!(boundary(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn any_batch_is_read_or_refused(body: String) {
            let _ = readings("b", &body);
            let _ = readings("b", &format!("--b\r\nContent-Type: application/http\r\n\r\n{body}\r\n--b--"));
            let _ = boundary(&body);
        }
    }
}
