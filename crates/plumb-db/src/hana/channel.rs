//! What a session reads and writes: messages over a socket, encrypted or not.

use std::sync::Arc;

use crate::client::{Pipe, Trouble};
use crate::stream::Wire;
use plumb_serve::Arrivals;

use plumb_sql::hana::wire::{self, Ask, HEAD, HELLO, WELCOME};

/// Room that answers are read into.
const ROOM: usize = 16 << 10;
/// The longest message while nothing was said of how large answers may be, and what may stand around
/// the rows of one.
const SHORT: usize = 1 << 20;

/// Messages over a socket. A message is taken only when all of it has come, so whoever stops waiting
/// loses none.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) pipe: Pipe<Wire>,
    /// When what was asked is answered.
    pub(super) arrivals: Arc<Arrivals>,
    inbox: Vec<u8>,
    /// The session as the server numbers it.
    session: i64,
    /// The number of the last message.
    number: u32,
    longest: usize,
}

impl Channel {
    pub(super) fn new(wire: Wire) -> Self {
        let arrivals = wire.arrivals();
        Self {
            pipe: Pipe::Plain(wire),
            arrivals,
            inbox: Vec::with_capacity(ROOM),
            session: -1,
            number: u32::MAX,
            longest: SHORT,
        }
    }

    /// Messages may be so long, and a little for what is around the values.
    pub(super) fn takes(&mut self, bytes: u64) {
        self.longest = usize::try_from(bytes).unwrap_or(usize::MAX / 2).saturating_add(SHORT);
    }

    /// Agrees on the protocol.
    ///
    /// # Errors
    /// [`Trouble`].
    pub(super) async fn greet(&mut self) -> Result<(), Trouble> {
        self.pipe.send(&HELLO).await?;
        while self.inbox.len() < WELCOME {
            self.pipe.fill(&mut self.inbox).await?;
        }
        self.inbox.drain(..WELCOME);
        Ok(())
    }

    /// Sends a message.
    ///
    /// # Errors
    /// [`Trouble::Socket`].
    pub(super) async fn send(
        &mut self,
        ask: Ask,
        commits: bool,
        parts: &[(u8, u16, &[u8])],
    ) -> Result<(), Trouble> {
        self.number = self.number.wrapping_add(1);
        let mut out = Vec::with_capacity(256);
        wire::message(&mut out, (self.session, self.number), ask, commits, parts);
        self.pipe.send(&out).await
    }

    /// What follows the head of the next message.
    ///
    /// # Errors
    /// [`Trouble`], also when it is longer than messages may be.
    pub(super) async fn message(&mut self) -> Result<Vec<u8>, Trouble> {
        loop {
            let head = self.inbox.get(..HEAD).and_then(|it| it.try_into().ok());
            if let Some((session, length)) = head.map(wire::head) {
                if length > self.longest {
                    return Err(Trouble::TooLong);
                }
                if self.inbox.len() >= HEAD + length {
                    self.session = session;
                    let payload = self.inbox[HEAD..HEAD + length].to_vec();
                    self.inbox.drain(..HEAD + length);
                    return Ok(payload);
                }
            }
            self.pipe.fill(&mut self.inbox).await?;
        }
    }
}
