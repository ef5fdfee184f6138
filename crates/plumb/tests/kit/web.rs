//! A client that speaks HTTP by hand, so that a test says exactly what is sent.

use std::fmt::Write as _;
use std::io::{BufReader, Write as _};
use std::net::TcpStream;

use serde_json::Value;

use super::PATIENCE;
use super::message::{Message, is_timeout};

/// `demo:demo`.
pub(crate) const DEMO: (&str, &str) = ("Authorization", "Basic ZGVtbzpkZW1v");

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// Itself, if it has this status.
    pub(crate) fn with(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}: {}", self.text());
        self
    }

    /// The value of the header `name`, or nothing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// A part of `server-timing`, milliseconds.
    pub(crate) fn timing(&self, part: &str) -> f64 {
        let timing = self.header("server-timing");
        let found = timing.split(", ").find_map(|it| it.strip_prefix(&format!("{part};dur=")));
        found.and_then(|ms| ms.parse().ok()).unwrap_or_else(|| panic!("no {part} in `{timing}`"))
    }
}

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Web {
    stream: BufReader<TcpStream>,
}

impl Web {
    pub(crate) fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("it is above zero");
        Self { stream: BufReader::new(stream) }
    }

    /// Reads `path` as the demo user.
    pub(crate) fn get(&mut self, path: &str) -> Reply {
        self.ask("GET", path, &[DEMO], b"")
    }

    /// Posts JSON as the demo user.
    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Reply {
        self.ask("POST", path, &[DEMO], body.to_string().as_bytes())
    }

    /// Sends a request and takes its answer.
    pub(crate) fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Reply {
        self.send(method, path, headers, body);
        self.answer().expect("the server answers")
    }

    /// Sends a request.
    pub(crate) fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: localhost:8000\r\n");
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").expect("a text takes everything");
        }
        if !body.is_empty() {
            write!(head, "Content-Length: {}\r\n", body.len()).expect("a text takes everything");
        }
        self.raw(&[format!("{head}\r\n").as_bytes(), body].concat());
    }

    /// Sends bytes as they are; a server that has closed already does not matter.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let _ = self.stream.get_mut().write_all(bytes);
    }

    /// The next answer, or `None` at the end of the connection; one that was reset is at its end.
    pub(crate) fn answer(&mut self) -> Option<Reply> {
        let Message { head, body } = match Message::read(&mut self.stream) {
            Ok(message) => message?,
            Err(error) if is_timeout(&error) => panic!("no whole answer: {error}"),
            Err(_) => return None,
        };
        let status = head.split(' ').nth(1).and_then(|digits| digits.parse().ok());
        let headers = head.lines().filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
        Some(Reply { status: status.expect("a status"), headers: headers.collect(), body })
    }
}
