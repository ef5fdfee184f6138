//! Connections that the service makes itself.

use std::io;

use plumb_link::Link;
use plumb_socket::{SocketOptions, Time, Token, finish_connect, start_connect};

use super::Serve;
use crate::channel::Channel;
use crate::service::{ConnectionId, Ended, Service};

impl<S: Service, L: Link, T: Time> Serve<'_, S, L, T> {
    /// Begins the connection that the service asks for, if it asks for one.
    pub(super) fn dial(&mut self) {
        let Some((endpoint, mut conn)) = self.service.dial() else {
            return;
        };
        let options = SocketOptions { nagle: self.plan.nagle, ..SocketOptions::default() };
        let socket = match start_connect(&endpoint, &options) {
            Ok(socket) => socket,
            Err(error) => {
                self.service.not_connected(&mut conn, &error);
                return self.service.close(conn, Ended::Broken);
            }
        };
        let index = self.occupy_slot(Channel::new(socket, (self.link_of_dialled)(&endpoint)));
        let generation = self.slots[index].generation;
        self.service.accepted(&mut conn, ConnectionId { index, generation });
        self.clients += 1;
        let Some(client) = &mut self.slots[index].client else {
            return;
        };
        client.connecting = true;
        client.conn = Some(conn);
        let token = Token { index, generation };
        if let Err(error) = self.poll.add_connection(client.channel.socket(), token) {
            return self.give_up_dialling(index, &error);
        }
        self.ask_wake(index);
    }

    /// Whether a connection that was dialled stands by now; one that failed is closed.
    pub(super) fn finish_dialling(&mut self, index: usize) -> bool {
        let Some(client) = self.slots[index].client.as_mut() else {
            return false;
        };
        match finish_connect(client.channel.socket()) {
            Ok(()) => true,
            Err(error) => {
                self.give_up_dialling(index, &error);
                false
            }
        }
    }

    fn give_up_dialling(&mut self, index: usize, error: &io::Error) {
        let client = self.slots[index].client.as_mut();
        if let Some(conn) = client.and_then(|client| client.conn.as_mut()) {
            self.service.not_connected(conn, error);
        }
        self.close(index, Ended::Broken);
    }

    /// The connection stands: sends what one that was dialled begins with.
    pub(super) fn say_first_if_dialled(&mut self, index: usize) {
        let Some(client) = self.slots[index].client.as_mut() else {
            return;
        };
        if !std::mem::take(&mut client.connecting) {
            return;
        }
        if let Some(conn) = client.conn.as_mut() {
            self.service.connected(conn, &mut self.reply);
        }
        client.channel.hold(&self.reply);
        self.reply.clear();
        self.flush(index);
    }
}
