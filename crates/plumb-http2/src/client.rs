//! One connection, as its client sees it.

mod frames;
mod heads;
#[cfg(test)]
mod tests;

use crate::fields::{Fault, Head};
use crate::frame::{self, HEAD_BYTES, PREFACE, kind};
use crate::hpack::{self, Decoder};
use crate::settings::{
    Allowed, ENABLE_PUSH, INITIAL_WINDOW_SIZE, MAX_HEADER_LIST_SIZE, WINDOW_FIRST,
};
use crate::streams::{GRANTED, Stream, Streams};
use crate::{ErrorCode, LINES_BYTES_MAX, Request, Violation};
use heads::{Continued, Heads};

/// The highest number of a stream.
const STREAM_MAX: u32 = 0x7fff_ffff;
/// Frames that belong to no answer, one after another: whoever sends more only keeps us busy.
const BUSINESS_MAX: u32 = 10_000;

/// What bytes from the server mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// Nothing more that concerns a request.
    None,
    /// The head of an answer.
    Head {
        /// The stream, as [`Client::begin`] said.
        slot: u16,
        /// What it says.
        head: Head,
        /// The answer is complete, and the stream over.
        ends: bool,
    },
    /// Content of an answer.
    Content {
        /// The stream.
        slot: u16,
        /// May be empty.
        bytes: &'a [u8],
        /// The answer is complete, and the stream over.
        ends: bool,
    },
    /// The answer is complete, with fields behind its content, and the stream over.
    Ended {
        /// The stream.
        slot: u16,
    },
    /// The server ended the stream before its answer was complete.
    Reset {
        /// The stream.
        slot: u16,
        /// Why.
        code: ErrorCode,
    },
    /// What came on the stream is no answer. It was ended with an error, and is over.
    Faulty {
        /// The stream.
        slot: u16,
        /// What is wrong.
        fault: Fault,
    },
    /// The server has not done, and will not do, anything for this request: it ends the connection in
    /// order. The stream is over; the request may be sent again on another connection.
    Unprocessed {
        /// The stream.
        slot: u16,
    },
    /// The server ends the connection with an error. The stream is over.
    Failed {
        /// The stream.
        slot: u16,
        /// Why.
        code: ErrorCode,
    },
    /// The server ends the connection, and nothing is under way on it.
    Left {
        /// Why.
        code: ErrorCode,
    },
}

/// What comes next on the connection.
#[derive(Clone, Copy, Debug, Default)]
enum Reading {
    #[default]
    Frame,
    /// Content of a stream, then padding.
    Content { slot: u16, left: usize, padding: usize, ends: bool },
    /// Bytes that mean nothing.
    Skipped { left: usize },
}

/// What one frame led to.
enum Progress<'a> {
    /// It is not complete.
    Incomplete,
    /// So many bytes were taken, and concern no answer.
    Business(usize),
    /// So many bytes were taken.
    Event(usize, Event<'a>),
}

/// A connection to a server, from its first byte on.
#[derive(Debug)]
pub struct Client {
    reading: Reading,
    decoder: Decoder,
    heads: Heads,
    continued: Option<Continued>,
    streams: Streams,
    allowed: Allowed,
    /// The server has sent its settings.
    settled: bool,
    /// The next header block must say that our table is empty.
    table_changed: bool,
    /// The number of the next stream.
    next: u32,
    /// Bytes that we may send.
    window: i64,
    /// Bytes that the server may send.
    granted: u32,
    /// Streams whose body is not sent to its end.
    unsent: Vec<u16>,
    /// Why the server ends the connection, once it does.
    farewell: Option<ErrorCode>,
    business: u32,
    /// How often it was read.
    reads: u64,
}

impl Default for Client {
    fn default() -> Self {
        Self {
            reading: Reading::Frame,
            decoder: Decoder::default(),
            heads: Heads::default(),
            continued: None,
            streams: Streams::default(),
            allowed: Allowed::default(),
            settled: false,
            table_changed: false,
            next: 1,
            window: i64::from(WINDOW_FIRST),
            granted: GRANTED,
            unsent: Vec::new(),
            farewell: None,
            business: 0,
            reads: 0,
        }
    }
}

impl Client {
    /// Appends what a client says first.
    pub fn open(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(PREFACE);
        let lines = u32::try_from(LINES_BYTES_MAX).unwrap_or(u32::MAX);
        let ours =
            [(ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, GRANTED), (MAX_HEADER_LIST_SIZE, lines)];
        frame::settings(&ours, out);
        frame::window_update(0, GRANTED - WINDOW_FIRST, out);
    }

    /// The server has sent its settings: it speaks HTTP/2.
    #[must_use]
    pub fn stands(&self) -> bool {
        self.settled
    }

    /// Streams that the server allows at the same time; `None`: as many as one likes.
    #[must_use]
    pub fn allowed_streams(&self) -> Option<u32> {
        self.allowed.streams
    }

    /// Streams under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.streams.under_way()
    }

    /// Another stream may begin.
    #[must_use]
    #[inline]
    pub fn takes_more(&self) -> bool {
        let under_way = self.streams.under_way();
        self.settled
            && self.farewell.is_none()
            && self.next <= STREAM_MAX
            && self.allowed.streams.is_none_or(|most| under_way < most as usize)
            && self.streams.have_room()
    }

    /// No stream is under way, and none will begin any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        (self.farewell.is_some() || self.next > STREAM_MAX) && self.streams.under_way() == 0
    }

    /// Why the server ends the connection, once it said so.
    #[must_use]
    pub fn farewell(&self) -> Option<ErrorCode> {
        self.farewell
    }

    /// Appends `request`, with `further` fields ([`field`](crate::field)), on a stream of its own, and
    /// says which slot that has until it is over. What of its body the server does not take yet,
    /// [`read`](Self::read) appends later. Answers with one `label` are alike: a head like the one
    /// before is not decoded again.
    pub fn begin(
        &mut self,
        request: &Request,
        label: u16,
        further: &[u8],
        out: &mut Vec<u8>,
    ) -> u16 {
        let id = self.next;
        self.next = self.next.saturating_add(2);
        let slot = self.streams.open(Stream {
            without_content: request.without_content,
            body: request.body.clone().map(|body| (body, 0)),
            began_at: self.reads,
            ..Stream::new(id, label, &self.allowed)
        });
        let update: &[u8] = match std::mem::take(&mut self.table_changed) {
            true => &[hpack::NO_TABLE],
            false => &[],
        };
        let form = (request.body.is_none(), self.allowed.frame);
        frame::headers(id, [update, &request.block, further], form, out);
        if request.body.is_some() {
            self.unsent.push(slot);
            self.send_bodies(out);
        }
        slot
    }

    /// Gives a stream up. False when nothing at all has come since it began, so that the connection
    /// can hardly be alive.
    pub fn cancel(&mut self, slot: u16, out: &mut Vec<u8>) -> bool {
        let heard = self.streams.get(slot).is_none_or(|stream| stream.began_at != self.reads);
        self.end(slot, ErrorCode::CANCEL, out);
        heard
    }

    /// The head of the last answer with `label`, as HTTP/1.1 writes it.
    #[must_use]
    pub fn lines(&self, label: u16) -> &[u8] {
        self.heads.lines(label)
    }

    /// Takes bytes that came: how many are done with, and what they mean. What must be answered is
    /// appended to `out`. The rest of the bytes is given again, with more behind it where the event
    /// is [`Event::None`].
    ///
    /// # Errors
    /// [`Violation`]: the connection is over.
    pub fn read<'a>(
        &mut self,
        bytes: &'a [u8],
        out: &mut Vec<u8>,
    ) -> Result<(usize, Event<'a>), Violation> {
        self.reads += 1;
        let mut at = 0;
        loop {
            match self.reading {
                Reading::Frame => match self.frame(&bytes[at..], out)? {
                    Progress::Incomplete => return Ok((at, Event::None)),
                    Progress::Event(taken, event) => {
                        self.business = 0;
                        return Ok((at + taken, event));
                    }
                    Progress::Business(taken) => {
                        at += taken;
                        self.business += 1;
                        if self.business > BUSINESS_MAX {
                            let what = "sends frame after frame that belongs to no answer";
                            return Err(Violation::new(ErrorCode::ENHANCE_YOUR_CALM, what));
                        }
                    }
                },
                Reading::Content { left, .. } => {
                    if at == bytes.len() && left > 0 {
                        return Ok((at, Event::None));
                    }
                    let content = &bytes[at..(at + left).min(bytes.len())];
                    at += content.len();
                    if let Some(event) = self.content(content, out) {
                        return Ok((at, event));
                    }
                }
                Reading::Skipped { left } => {
                    let passed = left.min(bytes.len() - at);
                    at += passed;
                    if passed < left {
                        self.reading = Reading::Skipped { left: left - passed };
                        return Ok((at, Event::None));
                    }
                    self.reading = Reading::Frame;
                }
            }
        }
    }

    /// Takes content of the frame that is being read.
    #[inline]
    fn content<'a>(&mut self, bytes: &'a [u8], out: &mut Vec<u8>) -> Option<Event<'a>> {
        let Reading::Content { slot, left, padding, ends } = self.reading else { return None };
        let left = left - bytes.len();
        self.reading = match (left, padding) {
            (0, 0) => Reading::Frame,
            (0, left) => Reading::Skipped { left },
            _ => Reading::Content { slot, left, padding, ends },
        };
        let ends = ends && left == 0;
        let stream = self.streams.get(slot)?;
        stream.content += bytes.len() as u64;
        if stream.overflows() || ends && stream.differs() {
            return Some(self.faulty(slot, Fault::Malformed(WRONG_LENGTH), out));
        }
        if ends {
            self.over(slot, out);
        } else if bytes.is_empty() {
            return None;
        } else {
            self.grant(slot, out);
        }
        self.business = 0;
        Some(Event::Content { slot, bytes, ends })
    }

    /// The answer on a stream is complete. The server need not read the rest of a request that it has
    /// answered.
    #[inline]
    fn over(&mut self, slot: u16, out: &mut Vec<u8>) {
        let Some(stream) = self.streams.get(slot) else { return };
        if stream.body.is_some() {
            return self.end(slot, ErrorCode::CANCEL, out);
        }
        self.streams.close(slot);
    }

    /// Ends a stream from this side.
    fn end(&mut self, slot: u16, code: ErrorCode, out: &mut Vec<u8>) {
        if let Some(id) = self.streams.cancel(slot) {
            frame::reset(id, code, out);
        }
        self.forget(slot);
    }

    /// A stream is over before its time.
    fn forget(&mut self, slot: u16) {
        self.unsent.retain(|its| *its != slot);
        if let Reading::Content { slot: read, left, padding, .. } = self.reading
            && read == slot
        {
            self.reading = Reading::Skipped { left: left + padding };
        }
    }

    fn faulty(&mut self, slot: u16, fault: Fault, out: &mut Vec<u8>) -> Event<'static> {
        self.end(slot, ErrorCode::PROTOCOL_ERROR, out);
        Event::Faulty { slot, fault }
    }

    /// Lets the server send more on a stream that has used half of what it may.
    #[inline]
    fn grant(&mut self, slot: u16, out: &mut Vec<u8>) {
        if let Some(stream) = self.streams.get(slot)
            && stream.granted < GRANTED / 2
        {
            frame::window_update(stream.id, GRANTED - stream.granted, out);
            stream.granted = GRANTED;
        }
    }

    /// Appends as much of the bodies as the server takes.
    fn send_bodies(&mut self, out: &mut Vec<u8>) {
        let held = out.len();
        let Self { unsent, streams, window, allowed, .. } = self;
        unsent.retain(|slot| {
            let Some(stream) = streams.get(*slot) else { return false };
            let Some((body, sent)) = &mut stream.body else { return false };
            while *sent < body.len() {
                let may = usize::try_from((*window).min(stream.window)).unwrap_or(0);
                let length = (body.len() - *sent).min(may).min(allowed.frame);
                if length == 0 {
                    return true;
                }
                let ends = *sent + length == body.len();
                let flags = if ends { frame::flag::END_STREAM } else { 0 };
                let head = frame::FrameHead { length, kind: kind::DATA, flags, stream: stream.id };
                head.write(out);
                out.extend_from_slice(&body[*sent..*sent + length]);
                *sent += length;
                let length = i64::try_from(length).unwrap_or(i64::MAX);
                *window -= length;
                stream.window -= length;
            }
            stream.body = None;
            false
        });
        if out.len() > held {
            self.business = 0; // what lets content go on belongs to its answer
        }
    }
}

const WRONG_LENGTH: &str = "content that is not as long as its content-length";

/// The bytes of a whole frame at the start of `bytes`, behind its head.
fn payload(bytes: &[u8], length: usize) -> Option<&[u8]> {
    bytes.get(HEAD_BYTES..HEAD_BYTES + length)
}
