//! A client of the echo server, and what the operator hears of it.

use std::fmt;
use std::io;

use plumb_engine::{ClientStamps, Ended, Peer, TurnedAway};
use plumb_measure::{counted, grouped, real, show_ns, show_plain, show_rate};
use plumb_wire::extension::{Exchange, Stream, Traffic};
use plumb_wire::ni::{self, HEADER_BYTES};

/// With fewer messages the time of a client is mostly that of something else, and no rate is told.
const RATED_FROM: u64 = 100;

/// How the messages of a client are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    /// None came yet.
    #[default]
    Open,
    /// They go back as they came.
    Echo,
    /// As these terms say.
    Exchange(Exchange),
    /// With figures of the server.
    Figures,
    /// Not at all: what comes is a stream.
    Stream(Stream),
}

/// One client and what it was served. What every message touches stands first, together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Client {
    /// Messages that came and were answered.
    pub messages: u64,
    /// Bytes of payload in them.
    pub bytes: u64,
    /// What it is told of single messages, when it asked.
    pub stamps: Option<Box<ClientStamps>>,
    /// How its messages are answered.
    pub manner: Manner,
    /// Why it was refused something, when it was.
    pub refusal: Option<String>,
    /// The number of the client, from one.
    pub handle: u64,
    /// Where it is.
    pub peer: Peer,
    /// `NI_PING` frames answered.
    pub pings: u64,
    /// When it came, nanoseconds on the server's clock.
    pub since_ns: u64,
    /// What it left unfinished, when it did.
    pub unfinished: Option<Unfinished>,
}

#[cfg(test)]
impl Client {
    /// The client of this number, which was echoed 1,000 messages of 1,000 bytes.
    pub(crate) fn echoed(handle: u64) -> Self {
        Self {
            messages: 1_000,
            bytes: 1_000_000,
            stamps: None,
            manner: Manner::Echo,
            refusal: None,
            handle,
            peer: Peer::Unix,
            pings: 0,
            since_ns: 0,
            unfinished: None,
        }
    }
}

/// What came of a frame that was begun and did not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// Less than the four bytes that announce a length.
    Header {
        /// Bytes that came.
        came: usize,
    },
    /// A part of its payload.
    Payload {
        /// Bytes that came.
        came: usize,
        /// Bytes that were announced.
        of: u32,
    },
}

impl Unfinished {
    /// What `bytes`, which are no whole frame, are the beginning of.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        match ni::payload_length(bytes) {
            Some(of) => Self::Payload { came: bytes.len() - HEADER_BYTES, of },
            None => Self::Header { came: bytes.len() },
        }
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header { came } => {
                write!(
                    f,
                    "within a frame: {came} of the {HEADER_BYTES} bytes of its length had come"
                )
            }
            Self::Payload { came, of } => {
                let (came, of) = (grouped(*came as u64), grouped((*of).into()));
                write!(f, "within a frame: {came} of its {of} bytes had come")
            }
        }
    }
}

impl Client {
    /// What it was served.
    #[must_use]
    pub fn served(&self) -> Traffic {
        let came =
            Traffic { messages_in: self.messages, bytes_in: self.bytes, ..Traffic::default() };
        match self.manner {
            Manner::Exchange(terms) => {
                let messages_out = self.messages * u64::from(terms.replies);
                let bytes_out = messages_out * u64::from(terms.response_bytes);
                Traffic { messages_out, bytes_out, ..came }
            }
            Manner::Echo => Traffic { messages_out: self.messages, bytes_out: self.bytes, ..came },
            Manner::Open | Manner::Figures | Manner::Stream(_) => came,
        }
    }

    /// Its rates over the nanoseconds that it was connected, if it sent enough messages that were answered.
    pub(crate) fn rates(&self, served_ns: u64) -> Option<Rates> {
        let is_answered = matches!(self.manner, Manner::Echo | Manner::Exchange(_));
        let is_rated = is_answered && self.messages >= RATED_FROM;
        if is_rated { Rates::of(self.served(), served_ns) } else { None }
    }
}

/// What was served, for each second of a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rates {
    /// Messages that came.
    pub(crate) messages_per_s: f64,
    /// Bits of payload that came.
    pub(crate) in_bits_per_s: f64,
    /// Bits of payload that went.
    pub(crate) out_bits_per_s: f64,
}

impl Rates {
    /// Of `served` over `ns` nanoseconds; `None` of no time.
    pub(crate) fn of(served: Traffic, ns: u64) -> Option<Self> {
        let per_s = |count: u64| real(count) / (real(ns) / 1e9);
        (ns > 0).then(|| Self {
            messages_per_s: per_s(served.messages_in),
            in_bits_per_s: 8.0 * per_s(served.bytes_in),
            out_bits_per_s: 8.0 * per_s(served.bytes_out),
        })
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mbit = |bits: f64| show_plain(bits / 1e6);
        write!(
            f,
            "{} messages/s, {} Mbit/s in, {} Mbit/s out",
            show_rate(self.messages_per_s),
            mbit(self.in_bits_per_s),
            mbit(self.out_bits_per_s)
        )
    }
}

/// Something the operator of a server wants to know.
#[derive(Debug)]
pub enum Event<'a> {
    /// A client came.
    Opened(&'a Client),
    /// A client went, after so many nanoseconds.
    Closed(&'a Client, u64, Ended),
    /// A client was not taken.
    TurnedAway(&'a Peer, TurnedAway),
    /// The kernel hands over no more connections for the moment.
    CannotAccept(&'a io::Error),
}

impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Opened(client) => {
                write!(f, "client {} connected from {}", client.handle, client.peer)
            }
            Event::Closed(client, served_ns, ended) => {
                write!(
                    f,
                    "client {} from {} gone after {}: {}, {}, {}",
                    client.handle,
                    client.peer,
                    show_ns(*served_ns),
                    counted(client.messages, "message"),
                    counted(client.bytes, "byte"),
                    counted(client.pings, "ping")
                )?;
                if let Some(rates) = client.rates(*served_ns) {
                    write!(f, ", {rates}")?;
                }
                write!(f, "; {ended}")?;
                if let Some(unfinished) = &client.unfinished {
                    write!(f, ", {unfinished}")?;
                }
                match &client.refusal {
                    Some(refusal) => write!(f, ": {refusal}"),
                    None => Ok(()),
                }
            }
            Event::TurnedAway(peer, why) => write!(f, "client from {peer} turned away: {why}"),
            Event::CannotAccept(error) => {
                write!(f, "cannot accept connections for the moment: {error}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rates_of_a_client_that_sent_enough_are_told() {
        let client = |messages: u64, manner: Manner| Client {
            messages,
            bytes: messages * 50_000,
            stamps: None,
            manner,
            refusal: None,
            handle: 1,
            peer: Peer::Unix,
            pings: 0,
            since_ns: 0,
            unfinished: None,
        };
        let told =
            |client: &Client, ns: u64| Event::Closed(client, ns, Ended::ByClient).to_string();
        let echoed = told(&client(1_000, Manner::Echo), 2_000_000_000);
        let rates =
            "0 pings, 500.0 messages/s, 200 Mbit/s in, 200 Mbit/s out; closed by the client";
        assert!(echoed.ends_with(rates), "{echoed}");
        for (few, ns) in [
            (client(99, Manner::Echo), 2_000_000_000),
            (client(1_000, Manner::Open), 2_000_000_000),
            (client(1_000, Manner::Echo), 0),
        ] {
            let told = told(&few, ns);
            assert!(told.ends_with(" 0 pings; closed by the client"), "{told}");
        }
    }

    #[test]
    fn what_was_left_unfinished_is_told_in_bytes() {
        let told = |bytes: &[u8]| Unfinished::of(bytes).to_string();
        assert_eq!(told(&[0, 0]), "within a frame: 2 of the 4 bytes of its length had come");
        assert_eq!(told(&[0, 0, 3, 232]), "within a frame: 0 of its 1,000 bytes had come");
        assert_eq!(told(b"\0\0\x03\xe8half"), "within a frame: 4 of its 1,000 bytes had come");
    }
}
