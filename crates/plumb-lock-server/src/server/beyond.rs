//! Connections beyond the limit: whoever looks after the server reaches it, and its replica and its
//! witnesses do, while others hold every place.

use plumb_engine::{Peer, TurnedAway};
use plumb_lock_table::table::Rules;
use plumb_measure::Clock;

use super::connection::{Client, Purpose};
use super::dispatch::is_free_of_locks;
use super::refusal::Refusal;
use super::words::Command;
use super::{Event, LockServer};

/// So many connections beyond the limit.
pub(super) const RESERVE: usize = 8;

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    pub(super) fn seat_beyond(&mut self, peer: &Peer) -> usize {
        self.connections_so_far += 1;
        let mut client = Client::new(self.connections_so_far, peer.clone());
        client.is_beyond = true;
        self.seat(client)
    }

    /// False for a connection that turned out to be of another server.
    pub(super) fn is_still_beyond(&self, client: usize) -> bool {
        let client = self.clients[client].as_ref();
        client.is_some_and(|client| client.is_beyond && client.purpose == Purpose::Client)
    }

    /// True for a client that may say few things only.
    pub(super) fn is_bounded(&self, client: usize) -> bool {
        let client = self.clients[client].as_ref();
        client.is_some_and(|client| client.is_beyond || client.only_listens())
    }

    /// Refuses what such a client may not say.
    #[cold]
    pub(super) fn bound(
        &mut self,
        client: usize,
        verb: &[u8],
        command: Command<'_>,
    ) -> Result<(), Refusal> {
        let Some(client) = &self.clients[client] else {
            return Ok(());
        };
        if client.is_beyond && !is_free_of_locks(verb) && verb != b"REMOVE" {
            (self.tell)(Event::TurnedAway(&client.peer, TurnedAway::Full));
            return Err(Refusal::NoPlace(TurnedAway::Full));
        }
        let listens = matches!(verb, b"SUBSCRIBE" | b"UNSUBSCRIBE" | b"PING" | b"QUIT");
        if client.only_listens() && !listens {
            return Err(Refusal::Subscribed(command.text(0).to_lowercase()));
        }
        Ok(())
    }
}
