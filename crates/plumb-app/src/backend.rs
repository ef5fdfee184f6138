//! The other half of a split system: reads over HTTP, on connections that are kept.

use std::io::{self, BufRead as _, Read as _, Write as _};

use plumb_serve::accounts::authorization;
use plumb_serve::link::{Connection, Links};
use plumb_wire::http::{RawHead, add_below, parent_line};
use serde::Serialize;
use serde_json::Value as Json;

use crate::AppError;
use crate::answer::Failure;
use crate::config::BackendConfig;
use crate::database::{Row, Value};

/// Bytes of an answer that are taken.
const ANSWER_MAX: u64 = 16 << 20;
/// Bytes of the head of an answer that are taken.
const HEAD_MAX: u64 = 64 << 10;

/// The way to the back end, shared by all work processes.
#[derive(Debug)]
pub(crate) struct Backend {
    links: Links,
    authorization: String,
}

/// The connections to the back end.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct BackendFigures {
    pub(crate) url: String,
    /// Connections that may be open at once.
    pub(crate) limit: usize,
    pub(crate) open: usize,
    pub(crate) open_max: usize,
    pub(crate) calls: u64,
    pub(crate) refused: u64,
}

/// An answer of the back end.
#[derive(Debug)]
struct Reply {
    status: u16,
    head: Vec<u8>,
    body: Vec<u8>,
    keep: bool,
}

impl Backend {
    /// The way that `config` describes; nothing is connected yet.
    ///
    /// # Errors
    /// [`AppError::Plan`] when its URL is none.
    pub(crate) fn new(config: &BackendConfig) -> Result<Self, AppError> {
        let wrong =
            || AppError::Plan(format!("`{}` is no back end: write http://HOST:PORT", config.url));
        let host = config.url.strip_prefix("http://").ok_or_else(wrong)?.trim_end_matches('/');
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
        if host.is_empty() || !host.chars().all(plain) {
            return Err(wrong());
        }
        let with_port = host.rsplit(']').next().is_some_and(|end| end.contains(':'));
        let port = if with_port { String::new() } else { format!(":{}", crate::PORT) };
        let links = Links::new(format!("{host}{port}"), config.timeout, config.connections.max(1));
        Ok(Self { links, authorization: authorization(&config.user, &config.password) })
    }

    /// The rows that the back end has at `path`, which is asked as part of `trace`; what it tells of its
    /// own time is added to `told`.
    ///
    /// # Errors
    /// [`Failure`] when it does not answer, or not with rows.
    pub(crate) fn rows(
        &self,
        path: &str,
        trace: &str,
        told: &mut Vec<(String, u64)>,
    ) -> Result<Vec<Row>, Failure> {
        let mut link = self.links.take().ok_or_else(|| {
            Failure::busy(
                "as many connections to the back end are in use as may (backend.connections)",
            )
        })?;
        let reply = link
            .ask(|connection| self.exchange(connection, path, trace))
            .map_err(|error| self.failure(&error.to_string()))?;
        if !reply.keep {
            link.discard();
        }
        drop(link);
        add_below("backend", &RawHead::new(&reply.head), told);
        if reply.status != 200 {
            return Err(self.failure(&format!("it answers {path} with status {}", reply.status)));
        }
        rows(&reply.body).ok_or_else(|| self.failure(&format!("it answers {path} without rows")))
    }

    pub(crate) fn figures(&self) -> BackendFigures {
        let figures = self.links.figures();
        BackendFigures {
            url: format!("http://{}", self.links.host()),
            limit: figures.limit,
            open: figures.used,
            open_max: figures.used_max,
            calls: figures.taken,
            refused: figures.refused,
        }
    }

    fn exchange(&self, connection: &mut Connection, path: &str, trace: &str) -> io::Result<Reply> {
        let (host, authorization) = (self.links.host(), &self.authorization);
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {authorization}\r\n{}\r\n",
            parent_line(trace)
        );
        connection.get_mut().write_all(request.as_bytes())?;
        reply(connection)
    }

    fn failure(&self, cause: &str) -> Failure {
        Failure::busy(format!("the back end at {} fails: {cause}", self.links.host()))
    }
}

/// An answer with a length, as our own server gives it.
fn reply(connection: &mut impl io::BufRead) -> io::Result<Reply> {
    let odd = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut head = connection.by_ref().take(HEAD_MAX);
    let mut line = String::new();
    head.read_line(&mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
    let status = status.and_then(|digits| digits.trim().parse().ok());
    let status = status.ok_or_else(|| odd("it speaks no HTTP"))?;
    let (mut length, mut keep) = (None, true);
    let mut whole = line.clone().into_bytes();
    loop {
        line.clear();
        if head.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        whole.extend_from_slice(line.as_bytes());
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse::<u64>().ok();
        } else if name.eq_ignore_ascii_case("connection") {
            keep = !value.trim().eq_ignore_ascii_case("close");
        }
    }
    let length = length.filter(|length| *length <= ANSWER_MAX);
    let length = length.ok_or_else(|| odd("its answer has no length, or is too long"))?;
    let mut body = Vec::new();
    connection.take(length).read_to_end(&mut body)?;
    if body.len() as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Reply { status, head: whole, body, keep })
}

fn rows(body: &[u8]) -> Option<Vec<Row>> {
    let document: Json = serde_json::from_slice(body).ok()?;
    document.as_array()?.iter().map(|row| row.as_array()?.iter().map(value).collect()).collect()
}

fn value(value: &Json) -> Option<Value> {
    match value {
        Json::Null => Some(Value::Null),
        Json::Number(number) => number.as_i64().map(Value::Int),
        Json::String(text) => Some(Value::Text(text.clone())),
        Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_answer_is_read_to_its_end_and_no_further() {
        let mut bytes: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n[[1,\"a\"]HTTP";
        let answer = reply(&mut bytes).unwrap();
        assert_eq!(
            (answer.status, answer.body.as_slice(), answer.keep),
            (200, &b"[[1,\"a\"]"[..], true)
        );
        assert_eq!(bytes, b"HTTP");
        assert_eq!(rows(b"[[1,\"a\"]]"), Some(vec![Row(vec![Value::Int(1), "a".into()])]));
        assert_eq!(rows(b"[[{}]]"), None);
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for bytes in [
            "",
            "HELLO\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx",
        ] {
            assert!(reply(&mut bytes.as_bytes()).is_err(), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(bytes: Vec<u8>) {
            let _ = reply(&mut bytes.as_slice());
            let _ = rows(&bytes);
        }
    }
}
