//! One client's turn: bytes in, replies out.

use std::io;

use plumb_link::Link;
use plumb_socket::{Readiness, Time};

use super::{Client, Serve, Slot};
use crate::channel::{Channel, Filled, READS_A_TURN};
use crate::service::{ConnectionId, Ended, Service, StampWish};

/// A client whose replies have grown to this is read again once they are sent.
const UNSENT_MAX: usize = 1 << 20;
/// Room for replies that is kept when more was needed once.
const REPLY_KEPT: usize = 4 * UNSENT_MAX;

impl<S: Service, L: Link, T: Time> Serve<'_, S, L, T> {
    pub(super) fn on_ready(&mut self, ready: Readiness) {
        let index = ready.token.index;
        if stale(&self.slots, ready) {
            return;
        }
        let Some(client) = self.client(index) else {
            return;
        };
        if S::DIALS && client.connecting && !(ready.writable && self.finish_dialling(index)) {
            return;
        }
        let Some(client) = self.client(index) else {
            return;
        };
        if ready.hangup {
            client.channel.heard(ready);
            if S::WAITS && client.waiting && client.channel.hung_up() {
                // nobody is there to be told: what it waited for goes to somebody else
                return self.close(index, Ended::ByClient);
            }
        }
        if !client.shaken {
            match client.channel.handshake() {
                Ok(()) => {
                    client.shaken = true;
                    self.ask_wake(index);
                    if S::DIALS {
                        self.say_first_if_dialled(index);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => return self.unsecured(index, &error),
            }
        }
        let owes = self
            .client(index)
            .is_some_and(|client| client.channel.sending() || client.closing.is_some());
        if ready.writable && owes {
            self.flush(index);
        }
        if ready.readable {
            if let Some(client) = self.client(index) {
                client.drained = false;
            }
            if self.lone.client != Some(index) {
                self.read(index);
            }
        }
    }

    fn unsecured(&mut self, index: usize, error: &io::Error) {
        if let Some(Client { conn: Some(conn), .. }) = &mut self.slots[index].client {
            self.service.unsecured(conn, error);
        }
        self.close(index, Ended::Unsecured);
    }

    /// Reads and serves what is there, up to one turn's worth; false when there was nothing. The
    /// only client is read once, which may wait for it.
    pub(super) fn read(&mut self, index: usize) -> bool {
        let alone = self.lone.client == Some(index);
        for turn in 0..READS_A_TURN {
            let Some(client) = self.slots[index].client.as_mut() else {
                return turn > 0;
            };
            if S::WAITS && client.waiting {
                return turn > 0; // it is read once it was answered
            }
            let holds_back = if S::SETTLES {
                client.channel.unsent() > UNSENT_MAX || client.withheld.is_full()
            } else {
                client.channel.sending()
            };
            if holds_back && client.closing.is_none() {
                client.paused = true;
                return turn > 0;
            }
            if std::mem::take(&mut client.unserved) {
                self.serve_bytes(index);
                // what it waits for here goes before it is waited for
                if alone || self.yields(index) {
                    return true;
                }
                continue;
            }
            if client.drained && !alone {
                return turn > 0; // more will be announced
            }
            let last = match client.channel.fill(&mut self.buffer) {
                Ok(Filled::Bytes { last, .. }) => last,
                Ok(Filled::Nothing) => return turn > 0,
                Ok(Filled::End) => {
                    self.ended(index);
                    return turn > 0;
                }
                Err(_) => {
                    self.close(index, Ended::Broken);
                    return turn > 0;
                }
            };
            client.drained = last;
            if alone {
                self.now = self.time.now_ns();
            }
            if client.closing.is_some() {
                client.channel.forget_kept(); // heard, not listened to
            } else {
                client.last_heard = self.now;
                self.last_heard = self.now;
                self.serve_bytes(index);
            }
            if last || alone || self.yields(index) {
                return true;
            }
        }
        self.again.push(index);
        true
    }

    /// True when others are to be served before the rest of what this client has sent. It is read
    /// again once its replies are on their way.
    fn yields(&mut self, index: usize) -> bool {
        S::SETTLES && self.client(index).is_some_and(|client| client.unserved)
    }

    /// The client will send nothing more. Replies that wait for the service to settle are still
    /// owed to it.
    fn ended(&mut self, index: usize) {
        self.send_gathered();
        match self.client(index) {
            Some(client) if S::SETTLES && client.channel.sending() => {
                client.closing = Some(Ended::ByClient);
            }
            _ => self.close(index, Ended::ByClient),
        }
    }

    fn serve_bytes(&mut self, index: usize) {
        let Some(client) = self.slots[index].client.as_mut() else {
            return;
        };
        let Some(conn) = client.conn.as_mut() else {
            return;
        };
        if S::STAMPS {
            tell_stamps(&mut client.channel, self.service, conn);
        }
        let unsent = client.channel.unsent();
        let mut at = 0;
        let mut broken = false;
        loop {
            let bytes = client.channel.bytes(&self.buffer);
            if at >= bytes.len() {
                break;
            }
            let before = self.reply.len();
            let served = self.service.serve(conn, &bytes[at..], &mut self.reply);
            if S::STAMPS {
                stamp(&mut client.channel, self.service.stamps(conn));
            }
            if served.echo > 0 && self.replies.may_take(served.echo, self.reply.len() - before) {
                let bytes = client.channel.bytes(&self.buffer);
                self.reply.extend_from_slice(&bytes[at..at + served.echo]);
            } else if served.echo > 0 {
                if before > 0 {
                    client.channel.hold(&self.reply[..before]);
                    self.reply.drain(..before);
                }
                let part = at..at + served.echo;
                if S::SETTLES {
                    client.channel.hold_part(part, &self.buffer);
                } else {
                    broken |= client.channel.echo(part, &self.buffer).is_err();
                }
                client.channel.hold(&self.reply);
                self.reply.clear();
            }
            at += served.consumed;
            if served.close {
                client.closing = Some(Ended::ByService);
            }
            client.waiting = S::WAITS && self.service.waits(conn);
            if served.consumed == 0 || served.close || client.waiting || broken {
                break;
            }
            if S::SETTLES && self.service.yields(conn) {
                client.unserved = true;
                break;
            }
            if !S::SETTLES && self.reply.len() >= UNSENT_MAX {
                broken |= client.channel.send(&self.reply).is_err();
                self.reply.clear();
                // requests that a client does not take the replies of wait as requests
                client.unserved = client.channel.sending();
                if client.unserved || broken {
                    break;
                }
            }
        }
        let leaves = S::HANDS_OVER && self.service.leaves(conn);
        broken |= self.reply_to(index, unsent).is_err();
        let Some(client) = self.slots[index].client.as_mut() else {
            return;
        };
        client.unserved &= at < client.channel.bytes(&self.buffer).len();
        client.channel.keep_from(at, &mut self.buffer);
        if S::WAITS && client.waiting && client.channel.hung_up() {
            return self.close(index, Ended::ByClient);
        }
        if broken {
            self.close(index, Ended::Broken);
        } else if leaves {
            self.hand_over(index);
        } else if client.owes_nothing::<S>() {
            self.wake_when_idle(index);
        } else {
            self.owe(index);
            self.weigh(index);
        }
    }

    /// So it is with most messages, and whoever is woken in time is looked at then.
    #[inline]
    fn wake_when_idle(&mut self, index: usize) {
        let idle = self.plan.idle.map(|idle| self.now.saturating_add(idle.ns()));
        let client = self.slots[index].client.as_ref();
        if idle.zip(client).is_some_and(|(at, client)| !client.wake.comes_by(at)) {
            self.ask_wake(index);
        }
    }

    /// Sends the reply, now or together with others, or withholds it with what was appended behind the
    /// first `unsent` bytes.
    fn reply_to(&mut self, index: usize, unsent: usize) -> io::Result<()> {
        let waits_for = self.waits_for(index);
        let together = waits_for.is_none() && self.leaves_together(index);
        if !together {
            self.send_gathered();
        }
        let Self { slots, reply, replies, .. } = self;
        let Some(Client { withheld, channel, .. }) = &mut slots[index].client else {
            return Ok(());
        };
        let (mut sent, mut full) = (Ok(()), false);
        if let Some(mark) = waits_for {
            channel.hold(reply);
            withheld.push(channel, channel.unsent() - unsent, mark);
        } else if together {
            full = replies.push(index, reply);
        } else if !reply.is_empty() {
            sent = channel.send(reply).map(drop);
        }
        reply.clear();
        if reply.capacity() > REPLY_KEPT {
            reply.shrink_to(REPLY_KEPT);
        }
        if full {
            self.send_gathered();
        }
        sent
    }

    /// The mark for which a reply that was just made has to wait, if it has to.
    fn waits_for(&self, index: usize) -> Option<u64> {
        let client = self.slots[index].client.as_ref().filter(|_| S::SETTLES)?;
        let conn = client.conn.as_ref()?;
        let mark = self.service.mark(conn);
        let waits = !client.withheld.is_empty()
            || self.service.unsettled()
            || !self.service.may_tell(conn, mark);
        waits.then_some(mark)
    }

    /// Sends what is held: now, or once the service lets it go.
    pub(super) fn owe(&mut self, index: usize) {
        let Some(client) = self.client(index) else {
            return;
        };
        if client.withheld.is_empty() {
            self.flush(index);
        } else if !std::mem::replace(&mut client.unsettled, true) {
            self.unsettled.push(index);
        }
    }

    /// Holds what the service says to a client that has not asked just now; who that is, if it is
    /// there.
    fn hold_reply(&mut self, id: ConnectionId) -> Option<&mut Client<S::Conn, L>> {
        let slot = self.slots.get_mut(id.index).filter(|slot| slot.generation == id.generation);
        let mut client = slot.and_then(|slot| slot.client.as_mut());
        if let Some(client) = &mut client {
            if !client.channel.sending() {
                client.last_heard = self.now; // the time that it may take to read this begins
            }
            client.channel.hold(&self.reply);
            if S::SETTLES
                && let Some(conn) = &client.conn
            {
                let mark = self.service.mark(conn);
                client.withheld.push(&mut client.channel, self.reply.len(), mark);
            }
        }
        self.reply.clear();
        client
    }

    /// Replies to those whose wait is over; then they are served again.
    pub(super) fn answer_late(&mut self) {
        self.service.due(self.now);
        while let Some(connection_id) = self.service.late_reply(&mut self.reply) {
            let now = self.now;
            if let Some(client) = self.hold_reply(connection_id) {
                client.waiting = false;
                client.last_heard = now; // it may be silent for as long as anybody
            }
            self.again.push(connection_id.index); // what came meanwhile was announced already
            let kept = self.slots.get(connection_id.index).and_then(|slot| slot.client.as_ref());
            if kept.is_some_and(|client| client.channel.kept() > 0) {
                self.serve_bytes(connection_id.index);
            } else {
                self.owe(connection_id.index);
            }
        }
        while let Some(connection_id) = self.service.message(&mut self.reply) {
            if self.hold_reply(connection_id).is_some() {
                self.owe(connection_id.index);
            }
        }
    }

    /// Everybody's replies at once, after the service has made them last.
    pub(super) fn settle(&mut self) -> io::Result<()> {
        self.service.settle()?;
        self.tell(true);
        Ok(())
    }

    /// What the service says without waiting for anything.
    pub(super) fn push(&mut self) {
        while let Some(id) = self.service.push(&mut self.reply) {
            let slot = self.slots.get_mut(id.index).filter(|slot| slot.generation == id.generation);
            if let Some(client) = slot.and_then(|slot| slot.client.as_mut()) {
                client.withheld.release_all(&mut client.channel);
                match client.channel.send(&self.reply) {
                    Ok(_) => self.flush(id.index),
                    Err(_) => self.close(id.index, Ended::Broken),
                }
            }
            self.reply.clear();
        }
    }

    /// Closes those whom the service does not want any more.
    pub(super) fn drop_those_named(&mut self) {
        while let Some(id) = self.service.drop_next() {
            if self.slots.get(id.index).is_some_and(|slot| slot.generation == id.generation) {
                self.close(id.index, Ended::ByService);
            }
        }
    }

    pub(super) fn flush(&mut self, index: usize) {
        let now = self.now;
        let Some(client) = self.client(index) else {
            return;
        };
        match client.channel.flush() {
            Ok(0) => {}
            // whoever takes its replies is there, however long they are
            Ok(_) => client.last_heard = now,
            Err(_) => return self.close(index, Ended::Broken),
        }
        if !client.channel.sending() {
            if client.closing.is_some() {
                client.channel.finish_sending();
            } else if std::mem::take(&mut client.paused) || client.unserved {
                self.again.push(index);
            }
            self.weigh(index);
        }
        self.ask_wake(index);
    }
}

/// Has the kernel stamp what the service wishes. A connection whose packets it cannot stamp is
/// served like any other.
fn stamp<L: Link>(channel: &mut Channel<L>, wish: StampWish) {
    match (wish, channel.stamps()) {
        (StampWish::Nothing, _) => {}
        (StampWish::Mark, Some((stamps, _))) => stamps.mark(),
        (wish, Some((stamps, _))) => stamps.expect(wish == StampWish::Watch),
        (wish, None) => {
            if channel.stamp().is_ok()
                && let Some((stamps, _)) = channel.stamps()
            {
                stamps.expect(wish == StampWish::Watch);
            }
        }
    }
}

/// Tells the service how long it had the message whose reply was marked, if that is known by now.
/// Asked when the next message is there: right behind the reply it might hold up who waits for it.
fn tell_stamps<S: Service, L: Link>(channel: &mut Channel<L>, service: &mut S, conn: &mut S::Conn) {
    let whole = !channel.sending();
    if let Some((stamps, socket)) = channel.stamps()
        && whole
        && stamps.is_marked()
        && let Some(residence) = stamps.take_residence(socket)
    {
        service.stamped(conn, residence);
    }
}

/// Whether an event is of a connection that has gone: its slot is another's, or nobody's.
fn stale<C, L>(slots: &[Slot<C, L>], ready: Readiness) -> bool {
    slots.get(ready.token.index).is_none_or(|slot| slot.generation != ready.token.generation)
}
