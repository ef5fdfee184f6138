//! The memory that all clients share for messages that are not complete and replies not taken.

use plumb_link::Link;
use plumb_socket::Time;

use super::Serve;
use crate::service::{Ended, Service};

/// A client that takes less is not closed for want of room: many such are cheaper than the search.
const WORTH_BYTES: usize = 4 << 10;

impl<S: Service, L: Link, T: Time> Serve<'_, S, L, T> {
    /// Notes what the client takes now, and makes room when all take too much.
    pub(super) fn weigh(&mut self, index: usize) {
        let Some(memory) = self.plan.memory else { return };
        let Some(client) = self.slots[index].client.as_mut() else { return };
        let takes = client.channel.taken();
        if takes == client.taken {
            return;
        }
        self.taken = self.taken - client.taken + takes;
        client.taken = takes;
        if self.taken > memory {
            self.make_room(memory);
        }
    }

    /// Closes clients that take some of `memory` until the rest fit, those first that were silent
    /// longest: whoever goes on sending, or taking, is served.
    #[cold]
    fn make_room(&mut self, memory: usize) {
        let slots = self.slots.iter().enumerate();
        let takes = slots.filter_map(|(index, slot)| {
            let client = slot.client.as_ref().filter(|client| client.taken >= WORTH_BYTES)?;
            Some((client.last_heard, index))
        });
        let mut longest: Vec<(u64, usize)> = takes.collect();
        longest.sort_unstable();
        for (_, index) in longest {
            if self.taken <= memory {
                return;
            }
            self.crowd_out(index);
        }
    }

    /// Closes a client with a farewell, where it can be told from what it waits for.
    fn crowd_out(&mut self, index: usize) {
        let Some(client) = self.slots[index].client.as_mut() else { return };
        let Some(conn) = client.conn.as_mut() else {
            return self.close(index, Ended::CrowdedOut);
        };
        if client.channel.kept() > 0 {
            self.service.cut_off(conn, client.channel.bytes(&[]));
        }
        let farewell = self.service.crowded_out(conn);
        if client.channel.sending() || client.closing.is_some() {
            return self.close(index, Ended::CrowdedOut);
        }
        client.channel.forget_kept();
        client.unserved = false; // what was kept of it is gone
        client.channel.hold(&farewell);
        client.closing = Some(Ended::CrowdedOut);
        client.last_heard = self.now;
        self.taken -= client.taken;
        client.taken = 0; // a farewell is not worth counting
        if client.channel.flush().is_err() {
            return self.close(index, Ended::CrowdedOut);
        }
        if !client.channel.sending() {
            client.channel.finish_sending();
        }
        self.ask_wake(index);
    }
}
