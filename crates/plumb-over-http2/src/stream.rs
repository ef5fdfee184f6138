//! One request and its answer: a stream of HTTP/2, and for the player a connection of HTTP/1.1.

use plumb_engine::Op;
use plumb_http2::{Head, Request};

/// A request under way.
#[derive(Debug)]
pub(super) struct Stream<W> {
    /// Where it stands on its connection.
    pub(super) slot: u16,
    pub(super) op: Op,
    pub(super) request: Request,
    /// How far the player has read the answer.
    pub(super) inner: W,
    /// What the player has not taken yet.
    pub(super) text: Vec<u8>,
    /// The answer goes on with chunks.
    chunked: bool,
    /// The request is `HEAD`.
    without_content: bool,
}

impl<W: Default> Stream<W> {
    pub(super) fn new(slot: u16, op: Op, request: Request) -> Self {
        let without_content = request.is_head();
        let (inner, text) = (W::default(), Vec::new());
        Self { slot, op, request, inner, text, chunked: false, without_content }
    }

    /// Writes a head as HTTP/1.1 does, with what says where the content ends; `lines` are its own with
    /// the first one and the empty one.
    pub(super) fn head(&mut self, head: Head, lines: &[u8], ends: bool) {
        let first = lines.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines = &lines[first..lines.len().saturating_sub(2)];
        self.text.extend_from_slice(format!("HTTP/1.1 {} \r\n", head.status).as_bytes());
        self.text.extend_from_slice(lines);
        let has_none = self.without_content || matches!(head.status, 204 | 304);
        self.chunked = !ends && head.length.is_none() && !has_none;
        if self.chunked {
            self.text.extend_from_slice(b"transfer-encoding: chunked\r\n");
        } else if head.length.is_none() && !has_none {
            self.text.extend_from_slice(b"content-length: 0\r\n");
        }
        self.text.extend_from_slice(b"\r\n");
    }

    /// Writes content as HTTP/1.1 does.
    pub(super) fn content(&mut self, bytes: &[u8], ends: bool) {
        if self.chunked && !bytes.is_empty() {
            self.text.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
        }
        self.text.extend_from_slice(bytes);
        if self.chunked && !bytes.is_empty() {
            self.text.extend_from_slice(b"\r\n");
        }
        if self.chunked && ends {
            self.text.extend_from_slice(b"0\r\n\r\n");
        }
    }
}

/// Requests as they wait for a connection to stand: how their server is reached, what they are, and
/// how long.
#[derive(Debug)]
pub(super) struct Kept<'a> {
    rest: &'a [u8],
}

/// Bytes before each request that waits.
const FRONT_BYTES: usize = 9;

impl<'a> Kept<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Appends a request, bytes of HTTP/1.1, to those that wait.
    pub(super) fn add(encrypted: bool, op: Op, request: &[u8], out: &mut Vec<u8>) {
        let length = u32::try_from(request.len()).unwrap_or(u32::MAX);
        out.push(u8::from(encrypted));
        out.extend_from_slice(&op.label.to_be_bytes());
        out.extend_from_slice(&op.tag.to_be_bytes());
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(request);
    }
}

impl<'a> Iterator for Kept<'a> {
    /// True over TLS; the operation; the request.
    type Item = (bool, Op, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (front, rest) = self.rest.split_at_checked(FRONT_BYTES)?;
        let [encrypted, l0, l1, t0, t1, length @ ..] = front else { return None };
        let length = u32::from_be_bytes(length.try_into().ok()?) as usize;
        let (request, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        let (label, tag) = (u16::from_be_bytes([*l0, *l1]), u16::from_be_bytes([*t0, *t1]));
        Some((*encrypted == 1, Op { label, tag }, request))
    }
}
