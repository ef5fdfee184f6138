//! The server half of niping: every frame goes back as it came, unless its connection asked for
//! more in its first one.

mod asked;

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;

use plumb_engine::{Ended, Peer, Served, Service, StampWish, TurnedAway};
use plumb_measure::{Clock, Residence, Tick};
use plumb_wire::extension::{Answer, ClientTotals, Replies, TickState, Traffic};
use plumb_wire::ni::{self, HEADER_BYTES, Payload, ReturnCode};

use crate::aside::foreign_request;
use crate::client::{Client, Event, Manner, Unfinished};
use crate::ledger::Ledger;
use crate::streams::Streams;

/// An NI echo for any number of clients, and for those that ask for it the
/// [extension](plumb_wire::extension) if the server has it.
///
/// `NI_PING` is answered with `NI_PONG` at any moment, a request for the NI version with the
/// version; a message beyond the limit, and a request for a route, are refused with `NI_RTERR`.
pub struct EchoServer<'a, C> {
    limits: EchoLimits,
    clock: C,
    tell: &'a mut (dyn FnMut(Event<'_>) + Send),
    clients_so_far: u64,
    extension: Option<Extension>,
    /// What was served since the ledger was told.
    served: Traffic,
}

/// What a server has beyond an echo.
#[derive(Debug)]
pub struct Extension {
    ledger: Ledger,
    streams: Streams,
    replies: Replies,
    tick: TickState,
}

impl Extension {
    /// Writes down who was served what in `ledger`, carries `streams`, and tells whoever asks what
    /// the server does about its `tick`.
    #[must_use]
    pub fn new(ledger: Ledger, streams: Streams, tick: Tick) -> Self {
        let tick = match tick {
            Tick::Free => TickState::Free,
            Tick::Held => TickState::Held,
        };
        Self { ledger, streams, replies: Replies::default(), tick }
    }
}

/// How large messages may be, and how long they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoLimits {
    /// The largest payload, bytes.
    pub message_bytes_max: usize,
    /// Time that each message occupies the server, nanoseconds; 0: no more than it must.
    pub service_ns: u64,
}

impl<'a, C: Clock> EchoServer<'a, C> {
    /// A server within `limits` that tells `tell` who comes and goes.
    pub fn new(limits: EchoLimits, clock: C, tell: &'a mut (dyn FnMut(Event<'_>) + Send)) -> Self {
        let served = Traffic::default();
        Self { limits, clock, tell, clients_so_far: 0, extension: None, served }
    }

    /// The same server with `extension` for those clients that ask for it.
    #[must_use]
    pub fn with(self, extension: Extension) -> Self {
        Self { extension: Some(extension), ..self }
    }

    /// Computes for as long as `messages` are to take.
    fn work(&self, messages: u64) {
        let until = self.clock.now_ns() + messages * self.limits.service_ns;
        while self.clock.now_ns() < until {
            std::hint::spin_loop();
        }
    }

    fn refuse(client: &mut Client, code: ReturnCode, text: String, out: &mut Vec<u8>) -> Served {
        ni::push_message(out, ni::OPCODE_ERROR, code, &text);
        client.refusal = Some(text);
        Served { consumed: 0, echo: 0, close: true }
    }

    /// Serves the one frame of the protocol's own that stands first.
    fn control(client: &mut Client, payload: &[u8], out: &mut Vec<u8>) -> Served {
        let consumed = HEADER_BYTES + payload.len();
        let served = Served { consumed, echo: 0, close: false };
        match Payload::of(payload) {
            Ok(Payload::Ping) => {
                client.pings += 1;
                ni::push_frame(out, ni::PONG);
                served
            }
            Ok(Payload::Message(message)) if message.opcode == ni::OPCODE_VERSION_REQUEST => {
                ni::push_message(out, ni::OPCODE_VERSION_RESPONSE, ReturnCode(0), "");
                served
            }
            Ok(Payload::Pong | Payload::Message(_)) => served,
            Ok(Payload::Route) => {
                let text = "this is an echo server, not a router: leave the route out";
                Self::refuse(client, ReturnCode::INVAL, text.into(), out)
            }
            Ok(Payload::Data(_)) => Served { echo: consumed, ..served },
            Err(malformed) => Self::refuse(client, ReturnCode::INVAL, malformed.to_string(), out),
        }
    }
}

impl<C: Clock> Service for EchoServer<'_, C> {
    type Conn = Client;

    const HANDS_OVER: bool = true;
    const STAMPS: bool = true;

    fn together(&self) -> bool {
        self.limits.service_ns == 0 // else nobody waits for the work that others asked for
    }

    fn stamps(&self, client: &Client) -> StampWish {
        client.stamps.as_ref().map_or(StampWish::Nothing, |stamps| stamps.wish())
    }

    fn stamped(&mut self, client: &mut Client, residence: Residence) {
        if let Some(stamps) = &mut client.stamps {
            stamps.left(residence);
        }
    }

    fn open(&mut self, peer: &Peer) -> Result<Client, Vec<u8>> {
        self.clients_so_far += 1;
        if let Some(extension) = &self.extension {
            extension.ledger.came();
        }
        let client = Client {
            handle: self.clients_so_far,
            peer: peer.clone(),
            manner: Manner::default(),
            messages: 0,
            bytes: 0,
            pings: 0,
            since_ns: self.clock.now_ns(),
            refusal: None,
            unfinished: None,
            stamps: None,
        };
        (self.tell)(Event::Opened(&client));
        Ok(client)
    }

    /// All complete messages at the front go back in one piece.
    fn serve(&mut self, client: &mut Client, bytes: &[u8], out: &mut Vec<u8>) -> Served {
        let mut echo = 0;
        let before = (client.messages, client.bytes);
        if matches!(client.manner, Manner::Stream(_)) {
            return Served::default();
        }
        while let Some(length) = ni::payload_length(&bytes[echo..]) {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            if length > self.limits.message_bytes_max {
                if echo > 0 {
                    break;
                }
                let text = foreign_request(&bytes[echo..]).unwrap_or_else(|| {
                    format!(
                        "a message of {length} bytes is larger than this server's limit of {} bytes",
                        self.limits.message_bytes_max
                    )
                });
                return Self::refuse(client, ReturnCode::TOO_BIG, text, out);
            }
            let frame = &bytes[echo + HEADER_BYTES..];
            let Some(payload) = frame.get(..length) else {
                break;
            };
            if payload.starts_with(b"NI_") && !matches!(Payload::of(payload), Ok(Payload::Data(_)))
            {
                if echo > 0 {
                    break;
                }
                return Self::control(client, payload, out);
            }
            if client.manner != Manner::Echo {
                let served = self.otherwise(client, payload, out);
                if client.manner != Manner::Echo {
                    return served;
                }
            }
            client.messages += 1;
            client.bytes += length as u64;
            echo += HEADER_BYTES + length;
        }
        let (messages, payload_bytes) = (client.messages - before.0, client.bytes - before.1);
        self.served.add(Traffic {
            messages_in: messages,
            bytes_in: payload_bytes,
            messages_out: messages,
            bytes_out: payload_bytes,
        });
        if self.limits.service_ns > 0 {
            self.work(messages);
        }
        if let Some(stamps) = &mut client.stamps {
            stamps.serve(before.0, messages);
            if stamps.has_due() && messages > 0 {
                // one packet for both: another would wake the client once more
                out.extend_from_slice(&bytes[..echo]);
                stamps.take_due().into_iter().for_each(|told| Answer::Stamped(told).push(out));
                return Served { consumed: echo, echo: 0, close: false };
            }
        }
        Served { consumed: echo, echo, close: false }
    }

    fn leaves(&self, client: &Client) -> bool {
        matches!(client.manner, Manner::Stream(_))
    }

    fn hand_over(&mut self, client: Client, socket: OwnedFd, unread: Vec<u8>) {
        if let (Some(extension), Manner::Stream(stream)) = (&self.extension, client.manner) {
            extension.streams.carry(client, stream, socket, &unread);
        }
    }

    fn unsecured(&mut self, client: &mut Client, error: &io::Error) {
        client.refusal = Some(error.to_string());
    }

    fn cut_off(&mut self, client: &mut Client, unread: &[u8]) {
        client.unfinished = Some(Unfinished::of(unread));
    }

    fn crowded_out(&mut self, client: &mut Client) -> Vec<u8> {
        let text = "this server's memory for unfinished messages is full (--max-memory)";
        let mut farewell = Vec::new();
        ni::push_message(&mut farewell, ni::OPCODE_ERROR, ReturnCode::TOO_BIG, text);
        client.refusal = Some(text.into());
        farewell
    }

    fn close(&mut self, client: Client, ended: Ended) {
        let served_ns = self.clock.now_ns().saturating_sub(client.since_ns);
        if let Some(extension) = &self.extension {
            extension.ledger.served(std::mem::take(&mut self.served));
            extension.ledger.gone(ClientTotals {
                handle: client.handle,
                connected_ns: served_ns,
                served: client.served(),
                peer: client.peer.to_string(),
            });
            if let Manner::Stream(stream) = client.manner {
                extension.streams.dismiss(stream.token);
            }
        }
        (self.tell)(Event::Closed(&client, served_ns, ended));
    }

    fn turn_away(&mut self, peer: &Peer, why: TurnedAway) -> Vec<u8> {
        (self.tell)(Event::TurnedAway(peer, why));
        let mut farewell = Vec::new();
        let code = ReturnCode::CONN_REFUSED;
        ni::push_message(&mut farewell, ni::OPCODE_ERROR, code, &why.to_string());
        farewell
    }

    fn cannot_accept(&mut self, error: &io::Error) {
        (self.tell)(Event::CannotAccept(error));
    }
}

impl<C> fmt::Debug for EchoServer<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EchoServer")
            .field("limits", &self.limits)
            .field("clients_so_far", &self.clients_so_far)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: EchoLimits = EchoLimits { message_bytes_max: 1000, service_ns: 0 };

    struct Still;

    impl Clock for Still {
        fn now_ns(&self) -> u64 {
            7
        }
    }

    fn with_server<R>(test: impl FnOnce(&mut EchoServer<'_, Still>, &mut Client) -> R) -> R {
        let mut ignore = |_: Event<'_>| {};
        let mut server = EchoServer::new(LIMITS, Still, &mut ignore);
        let mut client = server.open(&Peer::Unix).unwrap();
        test(&mut server, &mut client)
    }

    fn frames(payloads: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        payloads.iter().for_each(|payload| ni::push_frame(&mut bytes, payload));
        bytes
    }

    #[test]
    fn coalesced_messages_go_back_in_one_piece() {
        with_server(|server, client| {
            let bytes = frames(&[b"one", b"", b"three"]);
            let served = server.serve(client, &bytes, &mut Vec::new());
            assert_eq!(served, Served { consumed: bytes.len(), echo: bytes.len(), close: false });
            assert_eq!((client.messages, client.bytes), (3, 8));
        });
    }

    #[test]
    fn a_message_cut_anywhere_is_waited_for() {
        with_server(|server, client| {
            let bytes = frames(&[b"hello"]);
            for cut in 0..bytes.len() {
                let served = server.serve(client, &bytes[..cut], &mut Vec::new());
                assert_eq!(served, Served::default(), "cut at {cut}");
            }
        });
    }

    #[test]
    fn a_ping_between_messages_is_answered_in_its_place() {
        with_server(|server, client| {
            let bytes = frames(&[b"one", ni::PING, b"two"]);
            let mut out = Vec::new();
            let first = server.serve(client, &bytes, &mut out);
            assert_eq!((first.echo, out.len()), (7, 0));
            let second = server.serve(client, &bytes[first.consumed..], &mut out);
            assert_eq!((second.consumed, second.echo), (12, 0));
            assert_eq!(out, frames(&[ni::PONG]));
            assert_eq!(client.pings, 1);
        });
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_before_the_message_has_come() {
        with_server(|server, client| {
            let mut out = Vec::new();
            let served = server.serve(client, &[0x7f, 0xff, 0xff, 0xff], &mut out);
            assert!(served.close && served.echo == 0);
            let Ok(Payload::Message(message)) = Payload::of(&out[HEADER_BYTES..]) else {
                panic!("not a message");
            };
            assert_eq!(message.return_code, ReturnCode::TOO_BIG);
            assert!(message.error().unwrap().contains("limit of 1000 bytes"));
        });
    }

    #[test]
    fn a_client_of_something_else_is_told_from_a_long_message() {
        for (sent, said) in [
            (&b"\x16\x03\x01\x02\x00\x01"[..], "it speaks TLS"),
            (b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n", "it sent `GET /a HTTP/1.1`"),
        ] {
            with_server(|server, client| {
                assert!(server.serve(client, sent, &mut Vec::new()).close);
                let refusal = client.refusal.as_deref().unwrap();
                assert!(refusal.contains(said), "{refusal}");
            });
        }
    }

    #[test]
    fn the_version_is_told_and_a_route_is_refused() {
        with_server(|server, client| {
            let mut ask = Vec::new();
            ni::push_message(&mut ask, ni::OPCODE_VERSION_REQUEST, ReturnCode(0), "");
            let mut out = Vec::new();
            assert_eq!(server.serve(client, &ask, &mut out).consumed, ask.len());
            let Ok(Payload::Message(version)) = Payload::of(&out[HEADER_BYTES..]) else {
                panic!("not a message");
            };
            assert_eq!(version.opcode, ni::OPCODE_VERSION_RESPONSE);

            let route = frames(&[b"NI_ROUTE\0\x02\x28\x02"]);
            out.clear();
            assert!(server.serve(client, &route, &mut out).close);
            assert!(client.refusal.as_deref().unwrap().contains("not a router"));
        });
    }
}
