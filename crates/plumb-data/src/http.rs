//! One request of HTTP/1.1 on a connection, and its answer.

use std::borrow::Cow;
use std::io::{self, BufRead, Write};

use plumb_wire::http::{Ask, Body, HEAD_BYTES_MAX, Head, Memo, RawHead, add_below, parent_line};

use plumb_transaction::{BackEndAnswer, BackEndRequest};

const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// What goes into the head of a request beside what it asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heading<'a> {
    pub(super) host: &'a str,
    pub(super) base: &'a str,
    pub(super) authorization: Option<&'a str>,
    pub(super) closes: bool,
}

/// Writes a request, head and body in one piece.
pub(super) fn write(
    to: &mut impl Write,
    request: &BackEndRequest<'_>,
    heading: &Heading<'_>,
) -> io::Result<()> {
    let Heading { host, base, authorization, closes } = heading;
    let BackEndRequest { method, target, media_type, body, trace, headers, .. } = request;
    let mut bytes = format!("{method} {base}{target} HTTP/1.1\r\nHost: {host}\r\n").into_bytes();
    if let Some(authorization) = authorization {
        bytes.extend_from_slice(format!("Authorization: {authorization}\r\n").as_bytes());
    }
    bytes.extend_from_slice(parent_line(trace.unwrap_or_default()).as_bytes());
    if *closes {
        bytes.extend_from_slice(b"Connection: close\r\n");
    }
    let is_key = |(name, _): &(&str, String)| name.eq_ignore_ascii_case(IDEMPOTENCY_KEY);
    if let Some(key) = request.idempotency_key.filter(|_| !headers.iter().any(is_key)) {
        bytes.extend_from_slice(format!("{IDEMPOTENCY_KEY}: {key}\r\n").as_bytes());
    }
    for (name, value) in *headers {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    if !body.is_empty() || !["GET", "HEAD", "DELETE"].contains(method) {
        let length = body.len();
        let lines = format!("Content-Type: {media_type}\r\nContent-Length: {length}\r\n");
        bytes.extend_from_slice(lines.as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    to.write_all(&bytes)
}

/// Reads an answer of at most `most` bytes, and whether the connection serves another request.
pub(super) fn read(
    from: &mut impl BufRead,
    method: &str,
    most: usize,
) -> io::Result<(BackEndAnswer, bool)> {
    let ask = if method == "HEAD" { Ask::Head } else { Ask::Content };
    loop {
        let (head, bytes) = head(from, ask)?;
        if head.interim() {
            continue;
        }
        let said = RawHead::new(&bytes);
        let media_type = said.values("content-type").next().unwrap_or_default();
        let media_type = media_type.split(';').next().unwrap_or_default().trim().to_owned();
        let location = said.locations().next().map(Cow::into_owned);
        let mut told = Vec::new();
        add_below("backend", &said, &mut told);
        let (status, body) = (head.status, body(from, &head, most)?);
        return Ok((BackEndAnswer { status, media_type, location, body, told }, head.keep_alive));
    }
}

fn odd(problem: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

fn head(from: &mut impl BufRead, ask: Ask) -> io::Result<(Head, Vec<u8>)> {
    let mut memo = Memo::new(ask);
    let mut bytes = Vec::new();
    loop {
        let mut limited = io::Read::take(&mut *from, HEAD_BYTES_MAX as u64);
        if limited.read_until(b'\n', &mut bytes)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // a line more may make it whole; an empty one surely does, or never
        if bytes.ends_with(b"\r\n\r\n") || bytes.ends_with(b"\n\n") || bytes.len() >= HEAD_BYTES_MAX
        {
            let read = memo.read(&bytes).map_err(odd)?;
            let (head, _) = read.ok_or_else(|| odd("it speaks no HTTP"))?;
            return Ok((head, bytes));
        }
    }
}

fn body(from: &mut impl BufRead, head: &Head, most: usize) -> io::Result<Vec<u8>> {
    let mut coming = Body::new(head.framing);
    let mut content = Vec::new();
    loop {
        // a body of no length is complete before anything comes
        if coming.take(&[]).map_err(odd)?.complete {
            return Ok(content);
        }
        let bytes = from.fill_buf()?;
        if bytes.is_empty() {
            if coming.ends_with_the_connection() {
                return Ok(content);
            }
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let taken = coming.take_with(bytes, |part| content.extend_from_slice(part));
        let taken = taken.map_err(odd)?;
        from.consume(taken.consumed);
        if content.len() > most {
            let problem = format!("its answer has more than {most} bytes (answer-size)");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
        }
        if taken.complete {
            return Ok(content);
        }
    }
}

#[cfg(test)]
mod tests {
    use plumb_measure::Span;
    use proptest::prelude::*;

    use super::*;

    fn answer(bytes: &str) -> io::Result<(BackEndAnswer, bool)> {
        read(&mut bytes.as_bytes(), "POST", 16)
    }

    #[test]
    fn a_request_says_what_it_carries() {
        let request = BackEndRequest {
            server: "erp",
            method: "POST",
            target: "/orders?x=1",
            headers: &[],
            media_type: "application/xml",
            body: b"<a/>",
            patience: Span::from_ms(1_000),
            trace: None,
            idempotency_key: None,
        };
        let heading =
            Heading { host: "erp:80", base: "/sap", authorization: Some("Basic x"), closes: true };
        let mut out = Vec::new();
        write(&mut out, &request, &heading).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "POST /sap/orders?x=1 HTTP/1.1\r\nHost: erp:80\r\nAuthorization: Basic x\r\n\
             Connection: close\r\nContent-Type: application/xml\r\nContent-Length: 4\r\n\r\n<a/>"
        );
        let trace = Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
        let mut traced = Vec::new();
        write(&mut traced, &BackEndRequest { trace, ..request }, &heading).unwrap();
        let traced = String::from_utf8(traced).unwrap();
        assert!(
            traced.contains("\r\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-"),
            "{traced}"
        );
        let headers = [("SOAPAction", "\"urn:a\"".to_owned()), ("X-A", String::new())];
        let keyed = BackEndRequest { headers: &headers, idempotency_key: Some("k-1"), ..request };
        let written = |request: &BackEndRequest<'_>| {
            let mut out = Vec::new();
            write(&mut out, request, &heading).unwrap();
            String::from_utf8(out).unwrap()
        };
        let lines = "\r\nIdempotency-Key: k-1\r\nSOAPAction: \"urn:a\"\r\nX-A: \r\nContent-Type";
        assert!(written(&keyed).contains(lines), "{}", written(&keyed));
        let own = [("idempotency-key", "own".to_owned())];
        let own = written(&BackEndRequest { headers: &own, ..keyed });
        assert!(own.contains("idempotency-key: own\r\n") && !own.contains("k-1"), "{own}");
        let request = BackEndRequest { method: "GET", body: b"", ..request };
        let heading = Heading { authorization: None, closes: false, ..heading };
        let mut out = Vec::new();
        write(&mut out, &request, &heading).unwrap();
        assert_eq!(out, b"GET /sap/orders?x=1 HTTP/1.1\r\nHost: erp:80\r\n\r\n");
    }

    #[test]
    fn an_answer_is_read_to_its_end_and_no_further() {
        let interim = "HTTP/1.1 100 Continue\r\n\r\n";
        for (rest, keeps) in [
            ("Content-Length: 3\r\n\r\nabc", true),
            ("Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", true),
            ("Connection: close\r\n\r\nabc", false),
        ] {
            let text =
                format!("{interim}HTTP/1.1 201 Created\r\nContent-Type: text/xml; a\r\n{rest}");
            let (answer, keep) = answer(&text).unwrap();
            assert_eq!((answer.status, answer.media_type.as_str()), (201, "text/xml"));
            assert_eq!((answer.body.as_slice(), keep), (&b"abc"[..], keeps), "{rest}");
        }
        let moved = "HTTP/1.1 302 Found\r\nLocation: /log-on\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(answer(moved).unwrap().0.location.as_deref(), Some("/log-on"));
        let moved = b"HTTP/1.1 302 Found\r\nLocation: /caf\xe9\r\nContent-Length: 0\r\n\r\n";
        let (answered, _) = read(&mut &moved[..], "POST", 16).unwrap();
        assert_eq!(answered.location.as_deref(), Some("/caf%E9"));
        let empty = "HTTP/1.1 204 No Content\r\n\r\n";
        assert_eq!(answer(empty).unwrap().0.body, b"");
    }

    #[test]
    fn what_is_no_answer_or_too_long_is_an_error() {
        let long = format!("HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n{}", "x".repeat(17));
        assert_eq!(answer(&long).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        for bytes in ["", "HELLO\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"] {
            assert!(answer(bytes).is_err(), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(bytes: Vec<u8>) {
            let _ = read(&mut bytes.as_slice(), "GET", 1000);
            let begun = [b"HTTP/1.1 200 OK\r\n", bytes.as_slice()].concat();
            let _ = read(&mut begun.as_slice(), "GET", 1000);
        }
    }
}
