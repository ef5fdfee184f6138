//! What a session reads and writes: messages over a socket, encrypted or not.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::client::{Pipe, Trouble};
use crate::stream::Wire;
use plumb_serve::Arrivals;

use super::wrapped::Wrapped;
use plumb_db_login::Tls;
use plumb_sql::tds::wire::{self, HEAD, Head, Kind};

/// Room that answers are read into.
const ROOM: usize = 16 << 10;
/// The longest message while nothing was said of how large answers may be, and what may stand around
/// the rows of one.
const SHORT: usize = 1 << 20;

/// Messages over a socket. A message is taken only when all of it has come, so whoever stops waiting
/// loses none.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) pipe: Pipe<Wrapped>,
    /// When what was asked is answered.
    pub(super) arrivals: Arc<Arrivals>,
    /// Packets as they came, up to the last that came whole.
    inbox: Vec<u8>,
    /// The message that comes, without heads.
    payload: Vec<u8>,
    longest: usize,
}

impl Channel {
    pub(super) fn plain(wire: Wire) -> Self {
        let arrivals = wire.arrivals();
        let (inbox, payload) = (Vec::with_capacity(ROOM), Vec::with_capacity(ROOM));
        Self { pipe: Pipe::Plain(wire), arrivals, inbox, payload, longest: SHORT }
    }

    /// The same behind a handshake, whose records go in packets of the protocol.
    ///
    /// # Errors
    /// That of the handshake, or [`Trouble::Garbled`] when something has come already, which would then
    /// be taken for encrypted.
    pub(super) async fn encrypted(&mut self, tls: Tls) -> Result<io::Result<()>, Trouble> {
        if !self.inbox.is_empty() {
            return Err(Trouble::Garbled);
        }
        let wire = self.pipe.take_plain().ok_or(Trouble::Garbled)?;
        let (wrapped, wraps) = Wrapped::new(wire);
        Ok(tls.handshake(wrapped).await.map(|stream| {
            wraps.store(false, Ordering::Relaxed);
            self.pipe = Pipe::Tls(Box::new(stream));
        }))
    }

    /// Messages may be so long, and a little for what is around the values.
    pub(super) fn takes(&mut self, bytes: u64) {
        self.longest = usize::try_from(bytes).unwrap_or(usize::MAX / 2).saturating_add(SHORT);
    }

    /// Sends a message.
    ///
    /// # Errors
    /// [`Trouble::Socket`].
    pub(super) async fn send(&mut self, kind: Kind, payload: &[u8]) -> Result<(), Trouble> {
        let mut out = Vec::with_capacity(payload.len() + HEAD);
        wire::message(&mut out, kind, payload);
        self.pipe.send(&out).await
    }

    /// The payload of the next message.
    ///
    /// # Errors
    /// [`Trouble`], also when it is longer than messages may be.
    pub(super) async fn message(&mut self) -> Result<Vec<u8>, Trouble> {
        while !self.take_packets()? {
            self.pipe.fill(&mut self.inbox).await?;
        }
        Ok(std::mem::replace(&mut self.payload, Vec::with_capacity(ROOM)))
    }

    /// Takes the packets that have come whole; true at the end of a message.
    fn take_packets(&mut self) -> Result<bool, Trouble> {
        let (mut at, mut ended) = (0, false);
        while !ended {
            let head = self.inbox.get(at..at + HEAD).and_then(|it| it.try_into().ok());
            let Some(head) = head else { break };
            let head = Head::read(head).filter(|head| head.kind == Kind::Answer as u8);
            let head = head.ok_or(Trouble::Garbled)?;
            let Some(packet) = self.inbox.get(at + HEAD..at + head.length) else { break };
            if self.payload.len() + packet.len() > self.longest {
                return Err(Trouble::TooLong);
            }
            self.payload.extend_from_slice(packet);
            at += head.length;
            ended = head.ends;
        }
        self.inbox.drain(..at);
        Ok(ended)
    }
}
