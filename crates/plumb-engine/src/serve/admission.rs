//! Clients that come: who is let in, who is let in beyond the limit, and who is told to go.

use std::io;

use plumb_link::Link;
use plumb_socket::{ACCEPTS_A_TURN, Arrival, Peer, Time, Token};

use super::{Serve, Slot};
use crate::channel::Channel;
use crate::service::{ConnectionId, Ended, Service, TurnedAway};

/// Clients that may be reading a farewell beside those that are served.
const FAREWELLS_MAX: usize = 64;

impl<S: Service, L: Link, T: Time> Serve<'_, S, L, T> {
    pub(super) fn accept(&mut self, listener: usize) {
        for _ in 0..ACCEPTS_A_TURN {
            match self.reception.accept(listener, self.plan.nagle) {
                Arrival::Connection(socket, peer) => {
                    let channel = Channel::new(socket, (self.link)());
                    self.welcome(channel, &peer);
                }
                Arrival::GaveUp => {}
                Arrival::Nobody => return,
                Arrival::Failed(error) => return self.rest_listeners(&error),
            }
        }
    }

    /// No descriptors or memory are left: the listeners rest, so that the loop does not spin.
    fn rest_listeners(&mut self, error: &io::Error) {
        if self.reception.rest(&self.poll, self.now) {
            self.service.cannot_accept(error); // once, until it goes on
        }
    }

    fn welcome(&mut self, channel: Channel<L>, peer: &Peer) {
        self.last_heard = self.now;
        let turned_away = self.turned_away(peer);
        let beyond = S::RESERVE > 0 && turned_away == Some(TurnedAway::Full);
        if beyond {
            self.make_place();
        }
        if !beyond
            && turned_away.is_some()
            && self.slots.len() - self.free.len() >= self.clients + FAREWELLS_MAX
        {
            return; // enough others are being told
        }
        let opened = match turned_away {
            None => self.service.open(peer),
            Some(_) if beyond => self.service.open_beyond(peer),
            Some(why) => Err(self.service.turn_away(peer, why)),
        };
        let index = self.occupy_slot(channel);
        let generation = self.slots[index].generation;
        let Some(client) = &mut self.slots[index].client else {
            return;
        };
        match opened {
            Ok(conn) => {
                let conn = client.conn.insert(conn);
                let id = ConnectionId { index, generation };
                if S::WAITS {
                    self.service.accepted(conn, id);
                }
                self.clients += 1;
                if beyond {
                    self.beyond.push_back(id);
                }
            }
            Err(farewell) => {
                client.channel.hold(&farewell);
                client.closing = Some(Ended::ByService);
            }
        }
        let token = Token { index, generation: self.slots[index].generation };
        let watched = self.slots[index]
            .client
            .as_ref()
            .map(|client| self.poll.add_connection(client.channel.socket(), token));
        if !matches!(watched, Some(Ok(()))) {
            self.close(index, Ended::Broken);
            return;
        }
        self.ask_wake(index);
    }

    /// True when as many are served as may be, without those beyond the limit.
    fn is_full(&mut self) -> bool {
        if self.clients < self.plan.max_clients {
            return false;
        }
        let Self { beyond, slots, .. } = self;
        beyond.retain(|id| conn_of(slots, *id).is_some());
        self.clients - self.beyond.len() >= self.plan.max_clients
    }

    /// Closes the oldest of those beyond the limit, where there is no place for one more.
    fn make_place(&mut self) {
        let Self { beyond, slots, service, .. } = self;
        let makes_room =
            |id: &ConnectionId| conn_of(slots, *id).is_some_and(|conn| service.makes_room(conn));
        let mut those = beyond.iter().copied().filter(makes_room);
        let oldest = those.next();
        if 1 + those.count() >= S::RESERVE
            && let Some(oldest) = oldest
        {
            self.close(oldest.index, Ended::ByService);
        }
    }

    fn turned_away(&mut self, peer: &Peer) -> Option<TurnedAway> {
        if !peer.is_among(&self.plan.allow) {
            Some(TurnedAway::NotAllowed)
        } else if self.is_full() {
            Some(TurnedAway::Full)
        } else {
            None
        }
    }
}

/// The state of a connection that is there still.
fn conn_of<C, L>(slots: &[Slot<C, L>], id: ConnectionId) -> Option<&C> {
    let slot = slots.get(id.index).filter(|slot| slot.generation == id.generation)?;
    slot.client.as_ref()?.conn.as_ref()
}
