//! Replies that are kept back until the service lets them go.

use std::collections::VecDeque;

use plumb_link::Link;
use plumb_socket::{Readiness, Time, Token};

use super::{Client, Serve};
use crate::channel::Channel;
use crate::service::{ConnectionId, Service};

/// So many marks may be open for one client: it is not read before its replies have gone.
const MARKS_MAX: usize = 64;

/// What is kept back of one client, in the order of its replies: they are the last bytes that its
/// channel holds.
#[derive(Debug, Default)]
pub(super) struct Withheld {
    parts: VecDeque<Part>,
    /// So many of them, the first, have settled.
    settled: usize,
}

/// Replies that depend on one mark.
#[derive(Debug)]
struct Part {
    bytes: usize,
    mark: u64,
}

impl Withheld {
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.parts.len() >= MARKS_MAX
    }

    /// The last `bytes` that the channel holds wait until the service has settled and `mark` may be
    /// told.
    pub(super) fn push<L: Link>(&mut self, channel: &mut Channel<L>, bytes: usize, mark: u64) {
        if bytes == 0 {
            return;
        }
        channel.withhold(bytes);
        let unsettled = self.parts.len() > self.settled;
        match self.parts.back_mut() {
            Some(last) if unsettled && last.mark == mark => last.bytes += bytes,
            _ => self.parts.push_back(Part { bytes, mark }),
        }
    }

    /// The service has settled: only the marks count from now on.
    fn settle(&mut self) {
        let at = self.settled;
        if at > 0
            && self.parts.get(at).is_some_and(|next| next.mark == self.parts[at - 1].mark)
            && let Some(next) = self.parts.remove(at)
        {
            self.parts[at - 1].bytes += next.bytes;
        }
        self.settled = self.parts.len();
    }

    /// Lets everything go.
    pub(super) fn release_all<L: Link>(&mut self, channel: &mut Channel<L>) {
        self.settled = 0;
        let bytes = self.parts.drain(..).map(|part| part.bytes).sum();
        channel.release(bytes);
    }
}

impl<C, L: Link> Client<C, L> {
    /// Lets go what may be told by now of what has settled, which is everything where the service has
    /// `just` done so; true when that is something.
    fn release<S: Service<Conn = C>>(&mut self, service: &S, now: u64, just: bool) -> bool {
        let Some(conn) = &self.conn else {
            return false;
        };
        let withheld = &mut self.withheld;
        if just {
            withheld.settle();
        }
        let mut bytes = 0;
        while withheld.settled > 0
            && let Some(first) = withheld.parts.front()
            && service.may_tell(conn, first.mark)
        {
            bytes += first.bytes;
            withheld.settled -= 1;
            withheld.parts.pop_front();
        }
        self.channel.release(bytes);
        if self.closing.is_some() && bytes > 0 {
            self.last_heard = now; // the time that it may take to read them begins
        }
        bytes > 0
    }
}

impl<S: Service, L: Link, T: Time> Serve<'_, S, L, T> {
    /// Hears whom withheld replies wait for, if it has said something, and sends what may be told then:
    /// clients read that while others are served. Who it is, if it was heard.
    pub(super) fn hear_waited_for_if_announced(&mut self) -> Option<Token> {
        if self.unsettled.is_empty() {
            return None;
        }
        let ready = self.announced(self.service.waited_for()?)?;
        self.on_ready(ready);
        self.tell(false);
        Some(ready.token)
    }

    /// What the last wait found of this connection.
    pub(super) fn announced(&self, id: ConnectionId) -> Option<Readiness> {
        let token = Token { index: id.index, generation: id.generation };
        (0..self.poll.found()).map(|at| self.poll.ready(at)).find(|ready| ready.token == token)
    }

    /// The same once others were served, whether something was announced or not: what they have
    /// changed is pushed next, and who reads its replies meanwhile should have them first.
    pub(super) fn hear_waited_for_again(&mut self) {
        if self.unsettled.is_empty() {
            return;
        }
        if let Some(id) = self.service.waited_for()
            && self.slots.get(id.index).is_some_and(|slot| slot.generation == id.generation)
            && let Some(client) = self.client(id.index)
        {
            client.drained = false;
            if self.read(id.index) {
                self.patience.heard();
                self.tell(false);
            }
        }
    }

    /// Sends whatever may be told by now of what has settled, which is everything once `all` were
    /// served: then those come again of whom something is left.
    pub(super) fn tell(&mut self, all: bool) {
        let mut at = 0;
        while let Some(index) = self.unsettled.get(at).copied() {
            let client = self.slots[index].client.as_mut().filter(|client| client.unsettled);
            let Some(client) = client else {
                self.unsettled.swap_remove(at); // it is gone
                continue;
            };
            let told = client.release(&*self.service, self.now, all);
            if client.withheld.is_empty() {
                client.unsettled = false;
                self.unsettled.swap_remove(at);
                self.flush(index);
                continue;
            }
            at += 1;
            // the rest of what it has sent does not wait for that
            if all && client.unserved && !client.paused {
                self.again.push(index);
            }
            if told {
                self.flush(index);
            }
        }
    }
}
