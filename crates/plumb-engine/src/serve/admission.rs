//! Clients that come: who is let in, and who is told to go.

use std::io;

use plumb_link::Link;
use plumb_socket::{ACCEPTS_A_TURN, Arrival, Peer, Time, Token};

use super::Serve;
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
        if turned_away.is_some()
            && self.slots.len() - self.free.len() >= self.clients + FAREWELLS_MAX
        {
            return; // enough others are being told
        }
        let opened = match turned_away {
            None => self.service.open(peer),
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
                if S::WAITS {
                    self.service.accepted(conn, ConnectionId { index, generation });
                }
                self.clients += 1;
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

    fn turned_away(&self, peer: &Peer) -> Option<TurnedAway> {
        if !peer.is_among(&self.plan.allow) {
            Some(TurnedAway::NotAllowed)
        } else if self.clients >= self.plan.max_clients {
            Some(TurnedAway::Full)
        } else {
            None
        }
    }
}
