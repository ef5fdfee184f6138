//! The listeners of a loop: connections are taken in turns, and the listeners rest where the kernel
//! hands over no more.

use std::io;
use std::os::fd::OwnedFd;

use crate::connect::Nagle;
use crate::listener::Listener;
use crate::peer::Peer;
use crate::poll::{Poll, Token};

/// Connections taken in one turn.
pub const ACCEPTS_A_TURN: usize = 64;
/// How long the listeners rest when the kernel hands over no more connections.
const PAUSE_NS: u64 = 100_000_000;
/// Indices from here on are listeners.
const FIRST_LISTENER: usize = 1 << 31;

/// What a listener has.
#[derive(Debug)]
pub enum Arrival {
    /// A connection.
    Connection(OwnedFd, Peer),
    /// A client that gave up while it waited.
    GaveUp,
    /// Nothing more.
    Nobody,
    /// No connection, because descriptors or memory are short, or the like.
    Failed(io::Error),
}

/// The listeners of a loop.
#[derive(Debug)]
pub struct Reception<'a> {
    listeners: &'a [Listener],
    /// When listeners that rest are waited for again.
    again_at: Option<u64>,
    short_of_descriptors: bool,
}

impl<'a> Reception<'a> {
    /// Listeners that are waited for with `poll`.
    ///
    /// # Errors
    /// When the kernel refuses to wait for one.
    pub fn new(listeners: &'a [Listener], poll: &Poll) -> io::Result<Self> {
        let reception = Self { listeners, again_at: None, short_of_descriptors: false };
        reception.listen(poll)?;
        Ok(reception)
    }

    /// The listener that an event is for; `None`: it is for a connection.
    #[must_use]
    pub fn listener(token: Token) -> Option<usize> {
        token.index.checked_sub(FIRST_LISTENER)
    }

    fn listen(&self, poll: &Poll) -> io::Result<()> {
        for (number, listener) in self.listeners.iter().enumerate() {
            let token = Token { index: FIRST_LISTENER + number, generation: 0 };
            match poll.add_listener(listener.socket(), token) {
                // it was added before one at which the kernel refused
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                added => added?,
            }
        }
        Ok(())
    }

    /// The next connection at `listener`.
    pub fn accept(&mut self, listener: usize, nagle: Nagle) -> Arrival {
        match self.listeners[listener].accept(nagle) {
            Ok((socket, peer)) => {
                self.short_of_descriptors = false;
                Arrival::Connection(socket, peer)
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock => Arrival::Nobody,
                io::ErrorKind::ConnectionAborted => Arrival::GaveUp,
                _ => Arrival::Failed(error),
            },
        }
    }

    /// Lets the listeners rest from `now` on, so that the loop does not spin; true when they could
    /// accept until now.
    pub fn rest(&mut self, poll: &Poll, now: u64) -> bool {
        for listener in self.listeners {
            // one that is not in the set needs no removal
            let _ = poll.remove(listener.socket());
        }
        self.again_at = Some(now + PAUSE_NS);
        !std::mem::replace(&mut self.short_of_descriptors, true)
    }

    /// When the listeners have rested.
    #[must_use]
    pub fn again_at(&self) -> Option<u64> {
        self.again_at
    }

    /// Waits for listeners again that have rested long enough by `now`.
    pub fn resume(&mut self, poll: &Poll, now: u64) {
        if self.again_at.is_some_and(|at| at <= now) {
            let heard = self.listen(poll).is_ok();
            self.again_at = (!heard).then_some(now + PAUSE_NS);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpStream};

    use plumb_measure::Tick;

    use super::*;
    use crate::{Endpoint, Stop};

    #[test]
    fn listeners_of_which_one_is_heard_already_are_all_heard_again() {
        let stop = Stop::new().unwrap();
        let mut poll = Poll::new(&stop, Tick::Free).unwrap();
        let any = Endpoint::Tcp("127.0.0.1:0".parse().unwrap());
        let listeners = [(); 2].map(|()| Listener::bind(&any).unwrap());
        let mut reception = Reception::new(&listeners, &poll).unwrap();
        assert!(reception.rest(&poll, 0));
        // as where the kernel refused at the second one
        let token = Token { index: FIRST_LISTENER, generation: 0 };
        poll.add_listener(listeners[0].socket(), token).unwrap();
        reception.resume(&poll, PAUSE_NS);
        assert_eq!(reception.again_at(), None);
        let address: SocketAddr = listeners[1].local().parse().unwrap();
        let _client = TcpStream::connect(address).unwrap();
        poll.look().unwrap();
        assert_eq!(poll.found(), 1);
        assert_eq!(Reception::listener(poll.ready(0).token), Some(1));
    }
}
