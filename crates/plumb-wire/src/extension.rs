//! What our own echo server can do beyond an echo, on connections that ask for it.
//!
//! A connection whose first message starts with `PLUMB\0`, a version and a kind is not an echo any
//! more. The answer carries the kind with its highest bit set, so that a plain echo, which returns
//! the frame as it came, is recognised by its first answer. All of it travels in the frames of
//! [`ni`]; numbers are big-endian.
//!
//! | kind | asks for | what follows |
//! |---|---|---|
//! | 1 | an exchange: so many replies of so many bytes to each request | requests and replies |
//! | 2 | a stream in one or both directions, under a token | bytes without frames, to the end |
//! | 3 | the totals of the server | the same question again, at will |
//! | 4 | what the streams under a token have carried | the same question again, at will |
//! | 5 | whether the server holds its processor's tick | the same question again, at will |
//! | 6 | how long the server has single messages, by the time stamps of its kernel | as if nothing had been asked: an echo, or kind 1; behind later answers a frame of kind 7 for each of these messages |

mod fields;
mod replies;
mod stamps;
mod totals;

use std::fmt;

use crate::ni::{self, HEADER_BYTES};

pub use replies::{Replies, blank, noise, set_stamp, stamp_of};
pub use stamps::{StampTerms, StampedMessage};
pub use totals::{Carried, ClientTotals, Cpu, Totals, Traffic};

use fields::opened;

/// How the first message of such a connection starts.
pub const EYE_CATCHER: &[u8] = b"PLUMB\0";
/// The version spoken here.
pub const VERSION: u8 = 1;
/// Set in the kind of an answer.
const ANSWER: u8 = 0x80;
const EXCHANGE: u8 = 1;
const STREAM: u8 = 2;
const TOTALS: u8 = 3;
const CARRIED: u8 = 4;
const TICK: u8 = 5;
const STAMPS: u8 = 6;
const STAMPED: u8 = 7;
/// Eye-catcher, version, kind.
const HEAD_BYTES: usize = EYE_CATCHER.len() + 2;

/// What the first message of a connection asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Requests of any size, each answered as these terms say.
    Exchange(Exchange),
    /// A stream of bytes.
    Stream(Stream),
    /// What the server has served, and what that cost.
    Totals,
    /// What the streams under this token have carried.
    Carried(u64),
    /// What the server does about the tick of a processor that idles while it waits.
    Tick,
    /// How long the server has messages of this connection, which goes on as if nothing had been
    /// asked.
    Stamps(StampTerms),
}

/// What an exchange answers to each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Payload of one reply, bytes.
    pub response_bytes: u32,
    /// Replies to one request, at least one.
    pub replies: u32,
}

impl Exchange {
    /// Bytes of all replies to one request, headers included; the largest number there is when they
    /// are more.
    #[must_use]
    pub fn bytes(self) -> u64 {
        let one = HEADER_BYTES as u64 + u64::from(self.response_bytes);
        u64::from(self.replies).saturating_mul(one)
    }
}

/// A stream that belongs to whoever chose its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Who sends.
    pub direction: Direction,
    /// Under which the server counts it, together with others of the same token.
    pub token: u64,
}

/// Who sends on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The client.
    ToServer,
    /// The server.
    FromServer,
    /// Both.
    Both,
}

impl Direction {
    /// True when the client sends.
    #[must_use]
    pub fn to_server(self) -> bool {
        self != Self::FromServer
    }

    /// True when the server sends.
    #[must_use]
    pub fn from_server(self) -> bool {
        self != Self::ToServer
    }

    fn code(self) -> u8 {
        match self {
            Self::ToServer => 1,
            Self::FromServer => 2,
            Self::Both => 3,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ToServer => "to server",
            Self::FromServer => "from server",
            Self::Both => "both",
        })
    }
}

/// Why a message that starts with the eye-catcher is not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misunderstood {
    /// Another version.
    #[error("version {0} of the plumb extension is not spoken here, only version {VERSION}")]
    Version(u8),
    /// A kind that this version does not have.
    #[error("the plumb extension has no kind {0}")]
    Kind(u8),
    /// The fields do not fit the kind.
    #[error("a message of {0} bytes does not hold what its kind of the plumb extension demands")]
    Fields(usize),
}

impl Request {
    /// Reads a payload; `None` when it is none of the extension.
    ///
    /// # Errors
    /// [`Misunderstood`] when it starts as one but is none.
    pub fn parse(payload: &[u8]) -> Result<Option<Self>, Misunderstood> {
        let Some((kind, mut fields)) = opened(payload)? else {
            return Ok(None);
        };
        let request = match kind {
            EXCHANGE => fields.exchange().map(Self::Exchange),
            STREAM => fields.stream().map(Self::Stream),
            TOTALS => Some(Self::Totals),
            CARRIED => fields.u64().map(Self::Carried),
            TICK => Some(Self::Tick),
            STAMPS => fields.stamp_terms().map(Self::Stamps),
            other => return Err(Misunderstood::Kind(other)),
        };
        let whole = request.filter(|_| fields.at_end());
        whole.map(Some).ok_or(Misunderstood::Fields(payload.len()))
    }

    /// Appends the frame of this request.
    pub fn push(&self, out: &mut Vec<u8>) {
        framed(out, |out| match self {
            Self::Exchange(terms) => push_exchange(out, EXCHANGE, *terms),
            Self::Stream(stream) => push_stream(out, STREAM, *stream),
            Self::Totals => push_head(out, TOTALS),
            Self::Tick => push_head(out, TICK),
            Self::Stamps(terms) => {
                push_head(out, STAMPS);
                terms.push(out);
            }
            Self::Carried(token) => {
                push_head(out, CARRIED);
                out.extend_from_slice(&token.to_be_bytes());
            }
        });
    }
}

/// What the server answers to a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The exchange goes by these terms.
    Exchange(Exchange),
    /// The stream begins.
    Stream(Stream),
    /// What was served.
    Totals(Totals),
    /// What the streams have carried.
    Carried(Carried),
    /// What is done about the tick.
    Tick(TickState),
    /// These messages will be told of.
    Stamps(StampTerms),
    /// How long the server had one of them; sent unasked, behind the answer to a later message.
    Stamped(StampedMessage),
}

impl Answer {
    /// Reads a payload; `None` when it is none of the extension, as the echo of a request is not.
    ///
    /// # Errors
    /// [`Misunderstood`] when it starts as one but is none.
    pub fn parse(payload: &[u8]) -> Result<Option<Self>, Misunderstood> {
        let Some((kind, mut fields)) = opened(payload)? else {
            return Ok(None);
        };
        if kind & ANSWER == 0 {
            return Ok(None);
        }
        let answer = match kind & !ANSWER {
            EXCHANGE => fields.exchange().map(Self::Exchange),
            STREAM => fields.stream().map(Self::Stream),
            TOTALS => fields.totals().map(Self::Totals),
            CARRIED => fields.carried().map(Self::Carried),
            TICK => fields.tick().map(Self::Tick),
            STAMPS => fields.stamp_terms().map(Self::Stamps),
            STAMPED => fields.stamped().map(Self::Stamped),
            _ => return Err(Misunderstood::Kind(kind)),
        };
        let whole = answer.filter(|_| fields.at_end());
        whole.map(Some).ok_or(Misunderstood::Fields(payload.len()))
    }

    /// Appends the frame of this answer.
    pub fn push(&self, out: &mut Vec<u8>) {
        framed(out, |out| match self {
            Self::Exchange(terms) => push_exchange(out, EXCHANGE | ANSWER, *terms),
            Self::Stream(stream) => push_stream(out, STREAM | ANSWER, *stream),
            Self::Totals(totals) => {
                push_head(out, TOTALS | ANSWER);
                totals.push(out);
            }
            Self::Carried(carried) => {
                push_head(out, CARRIED | ANSWER);
                carried.push(out);
            }
            Self::Tick(tick) => {
                push_head(out, TICK | ANSWER);
                out.push(tick.code());
            }
            Self::Stamps(terms) => {
                push_head(out, STAMPS | ANSWER);
                terms.push(out);
            }
            Self::Stamped(message) => {
                push_head(out, STAMPED | ANSWER);
                message.push(out);
            }
        });
    }
}

/// What a server does about the tick of a processor that idles while it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickState {
    /// It leaves it alone.
    Free,
    /// It holds it.
    Held,
}

impl TickState {
    fn code(self) -> u8 {
        match self {
            Self::Free => 0,
            Self::Held => 1,
        }
    }
}

fn push_head(out: &mut Vec<u8>, kind: u8) {
    out.extend_from_slice(EYE_CATCHER);
    out.extend_from_slice(&[VERSION, kind]);
}

fn push_exchange(out: &mut Vec<u8>, kind: u8, terms: Exchange) {
    push_head(out, kind);
    out.extend_from_slice(&terms.response_bytes.to_be_bytes());
    out.extend_from_slice(&terms.replies.to_be_bytes());
}

fn push_stream(out: &mut Vec<u8>, kind: u8, stream: Stream) {
    push_head(out, kind);
    out.push(stream.direction.code());
    out.extend_from_slice(&stream.token.to_be_bytes());
}

/// Appends a frame around what `fill` appends.
fn framed(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut payload = Vec::new();
    fill(&mut payload);
    ni::push_frame(out, &payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(push: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
        let mut frame = Vec::new();
        push(&mut frame);
        frame.split_off(HEADER_BYTES)
    }

    #[test]
    fn a_request_echoed_is_no_answer() {
        let terms = Exchange { response_bytes: 1200, replies: 4 };
        let stream = Stream { direction: Direction::Both, token: 9 };
        for request in [
            Request::Exchange(terms),
            Request::Stream(stream),
            Request::Totals,
            Request::Carried(9),
            Request::Tick,
        ] {
            let sent = payload(|out| request.push(out));
            assert_eq!(Request::parse(&sent), Ok(Some(request)));
            assert_eq!(Answer::parse(&sent), Ok(None));
        }
    }

    #[test]
    fn another_version_or_kind_is_named() {
        assert_eq!(Request::parse(b"PLUMB\0\x02\x01"), Err(Misunderstood::Version(2)));
        assert_eq!(Request::parse(b"PLUMB\0\x01\x63"), Err(Misunderstood::Kind(0x63)));
        assert_eq!(Request::parse(b"PLUMB\0\x01"), Err(Misunderstood::Fields(7)));
        assert_eq!(Request::parse(b"PLUMB\0\x01\x01\0\0"), Err(Misunderstood::Fields(10)));
        assert_eq!(Request::parse(b"EYECATCHER"), Ok(None));
    }

    #[test]
    fn a_tick_is_free_or_held_and_nothing_else() {
        for tick in [TickState::Free, TickState::Held] {
            let sent = payload(|out| Answer::Tick(tick).push(out));
            assert_eq!(Answer::parse(&sent), Ok(Some(Answer::Tick(tick))));
        }
        assert_eq!(Answer::parse(b"PLUMB\0\x01\x85\x02"), Err(Misunderstood::Fields(9)));
        assert_eq!(Answer::parse(b"PLUMB\0\x01\x85"), Err(Misunderstood::Fields(8)));
    }

    #[test]
    fn no_reply_at_all_is_no_exchange() {
        let none = payload(|out| {
            Request::Exchange(Exchange { response_bytes: 1, replies: 0 }).push(out);
        });
        assert_eq!(Request::parse(&none), Err(Misunderstood::Fields(none.len())));
    }
}
