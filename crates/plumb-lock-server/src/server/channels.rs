//! Channels that clients listen to: what is published there reaches all of them.
//!
//! Nothing is kept for who listens later. Messages leave with the replies of the same turn, after
//! what they tell of was made to last.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use hashbrown::HashMap;
use plumb_engine::ConnectionId;
use plumb_lock_table::table::Rules;
use plumb_measure::Clock;
use plumb_wire::resp;

use super::LockServer;
use super::refusal::Refusal;
use super::words::Command;

/// Channels of one client.
const CHANNELS_MAX: usize = 1_024;
/// The longest name of a channel, bytes: that of a key and what clients put around it.
const NAME_BYTES_MAX: usize = 400;

/// Who listens to what, and what is still to be said.
#[derive(Debug, Default)]
pub(super) struct Channels {
    by_name: HashMap<Vec<u8>, BTreeSet<usize>>,
    unsaid: VecDeque<(usize, ConnectionId, Arc<[u8]>)>,
}

impl Channels {
    /// True when something is to be said.
    pub(super) fn has_more_to_say(&self) -> bool {
        !self.unsaid.is_empty()
    }

    /// True when somebody listens to anything.
    pub(super) fn any_listens(&self) -> bool {
        !self.by_name.is_empty()
    }

    /// True when somebody listens to this channel.
    pub(super) fn is_listened_to(&self, name: &[u8]) -> bool {
        self.by_name.contains_key(name)
    }

    fn leave(&mut self, client: usize, name: &[u8]) {
        if let Some(listeners) = self.by_name.get_mut(name) {
            listeners.remove(&client);
            if listeners.is_empty() {
                self.by_name.remove(name);
            }
        }
    }

    /// The client is gone.
    pub(super) fn forget(&mut self, client: usize, names: &BTreeSet<Vec<u8>>) {
        names.iter().for_each(|name| self.leave(client, name));
    }
}

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// `SUBSCRIBE channel ...`: a reply for each.
    pub(super) fn subscribe(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        command.at_least(2, "subscribe")?;
        let Some(listener) = &mut self.clients[client] else {
            return Ok(());
        };
        let too_long = (1..command.len()).any(|at| command.get(at).len() > NAME_BYTES_MAX);
        if too_long || listener.channels.len() + command.len() - 1 > CHANNELS_MAX {
            return Err(Refusal::Channels(CHANNELS_MAX, NAME_BYTES_MAX));
        }
        for at in 1..command.len() {
            let name = command.get(at);
            listener.channels.insert(name.to_vec());
            self.channels.by_name.entry_ref(name).or_default().insert(client);
            let count = listener.channels.len();
            push_kind(out, listener.version, "subscribe", Some(name));
            resp::push_integer(out, count as u64);
        }
        for at in 1..command.len() {
            self.begin_to_await(command.get(at));
        }
        Ok(())
    }

    /// `UNSUBSCRIBE [channel ...]`: a reply for each, all of them when none is named.
    pub(super) fn unsubscribe(&mut self, client: usize, command: Command<'_>, out: &mut Vec<u8>) {
        let Some(listener) = &mut self.clients[client] else {
            return;
        };
        let named = (1..command.len()).map(|at| command.get(at).to_vec());
        let mut names: Vec<Option<Vec<u8>>> = named.map(Some).collect();
        if names.is_empty() {
            names = listener.channels.iter().cloned().map(Some).collect();
        }
        if names.is_empty() {
            names.push(None);
        }
        for name in names {
            if let Some(name) = &name {
                listener.channels.remove(name);
                self.channels.leave(client, name);
            }
            push_kind(out, listener.version, "unsubscribe", name.as_deref());
            resp::push_integer(out, listener.channels.len() as u64);
        }
    }

    /// Says something to all who listen to a channel.
    pub(super) fn publish(&mut self, channel: &[u8], message: &[u8]) {
        let Some(listeners) = self.channels.by_name.get(channel) else {
            return;
        };
        let text = |version| -> Arc<[u8]> {
            let mut text = Vec::new();
            push_kind(&mut text, version, "message", Some(channel));
            resp::push_bulk(&mut text, message);
            text.into()
        };
        let texts = [text(2), text(3)];
        for at in listeners {
            let Some(listener) = &self.clients[*at] else { continue };
            self.counts.cared += 1;
            if let Some(id) = listener.connection_id {
                let text = &texts[usize::from(listener.version == 3)];
                self.channels.unsaid.push_back((*at, id, Arc::clone(text)));
            }
        }
    }

    /// The next of what is to be said, and to whom.
    pub(super) fn say_next(&mut self, out: &mut Vec<u8>) -> Option<ConnectionId> {
        let (client, id, text) = self.channels.unsaid.pop_front()?;
        // it tells what has changed: the replica must have that first
        self.replicated.shows = true;
        self.answered_with_locks(client);
        out.extend_from_slice(&text);
        Some(id)
    }
}

/// The first two of three things that a message is made of.
fn push_kind(out: &mut Vec<u8>, version: u8, kind: &str, channel: Option<&[u8]>) {
    resp::push_message(out, 3, version);
    resp::push_bulk(out, kind.as_bytes());
    match channel {
        Some(channel) => resp::push_bulk(out, channel),
        None => resp::push_null(out, version),
    }
}
