//! The connection to the other server: made, greeted, and left when that is silent.

use plumb_engine::{ConnectionId, Endpoint, Peer};
use plumb_lock_table::table::Rules;
use plumb_measure::Clock;
use plumb_wire::resp;

use super::{Replicated, Role};
use crate::server::connection::{Client, Purpose};
use crate::server::told::Told;
use crate::server::{Event, LockServer};

/// How long it takes until a connection to the other server is tried again, nanoseconds.
const DIAL_AGAIN_NS: u64 = 250_000_000;
/// How often the server that was replaced is told so, nanoseconds.
const FENCE_AGAIN_NS: u64 = 1_000_000_000;
/// It is told within this, or told again: a host that is not there answers nothing for minutes.
const FENCE_WITHIN_NS: u64 = 2_000_000_000;
impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// A connection to the other server, if it is time to make one.
    pub(in crate::server) fn dial_other(&mut self) -> Option<(Endpoint, usize)> {
        let purpose = match &self.replicated.role {
            // one whose election is not decided yet follows nobody
            Role::Replica(_) if self.is_sealed() => return None,
            Role::Replica(_) => Purpose::Primary { replies: 0 },
            Role::Primary(_) if self.replicated.promotions > 0 => Purpose::Herald { replies: 0 },
            Role::Primary(_) | Role::Fenced { .. } | Role::Witness(_) => return None,
        };
        let Replicated { plan, dialled, dial_at, dials, .. } = &mut self.replicated;
        if dialled.is_some() || self.now < *dial_at {
            return None;
        }
        let endpoint = plan.primary.get(*dials % plan.primary.len().max(1))?.clone();
        *dials += 1;
        let mut client = Client::new(0, peer_of(&endpoint));
        client.purpose = purpose;
        let at = self.seat(client);
        self.replicated.dialled = Some((at, self.now));
        Some((endpoint, at))
    }

    /// What is said first to the other server.
    pub(in crate::server) fn greet_other(&mut self, client: usize, out: &mut Vec<u8>) {
        let mut replies = 1;
        if let Some(login) = &self.replicated.plan.login {
            login.push(out);
            replies += 1;
        }
        let rows = self.table.usage().locks.maximum;
        let (now, fence) = (self.now, self.fence_words());
        let Some(client) = &mut self.clients[client] else {
            return;
        };
        match (&mut client.purpose, &mut self.replicated.role) {
            (Purpose::Primary { replies: left }, Role::Replica(replica)) => {
                *left = replies;
                replica.connected(now);
                self.replicated.link = client.connection_id;
                let (stream, position) = replica.place();
                let id = self.replicated.plan.id;
                let epoch = replica.held();
                let numbers = [
                    plumb_lock_pair::replication::VERSION,
                    rows.into(),
                    id,
                    epoch,
                    stream,
                    position,
                ];
                let numbers = numbers.map(|number| number.to_string());
                let mut words: Vec<&[u8]> = vec![b"REPLICA", b"STREAM"];
                words.extend(numbers.iter().map(String::as_bytes));
                resp::push_command(out, &words);
            }
            (Purpose::Witness { at, replies: left }, _) => {
                *left = replies - 1;
                let (at, id) = (*at, client.connection_id);
                self.witness_connected(at, id);
            }
            (Purpose::Herald { replies: left }, Role::Primary(_)) => {
                *left = replies;
                let words: Vec<&[u8]> = fence.iter().map(String::as_bytes).collect();
                resp::push_command(out, &words);
            }
            _ => {}
        }
    }

    /// A connection to the other server is gone.
    pub(in crate::server) fn other_left(
        &mut self,
        client: usize,
        id: Option<ConnectionId>,
        purpose: Purpose,
    ) {
        if let Purpose::Witness { at, .. } = purpose {
            return self.witness_left(at);
        }
        let known = self.replicated.link.is_some() && self.replicated.link == id;
        if known {
            self.replicated.link = None;
        }
        self.replicated.dialled = self.replicated.dialled.filter(|(at, _)| *at != client);
        let pause = match purpose {
            Purpose::Herald { .. } => FENCE_AGAIN_NS,
            Purpose::Primary { .. }
            | Purpose::Witness { .. }
            | Purpose::Replica
            | Purpose::Client => DIAL_AGAIN_NS,
        };
        self.replicated.dial_at = self.replicated.dial_at.max(self.now + pause);
        if known && let Role::Replica(_) = self.replicated.role {
            self.complain("is away: the connection ended");
        }
    }

    /// Says of the primary what was not said last.
    pub(in crate::server) fn complain(&mut self, why: &str) {
        if self.replicated.complaint != why {
            why.clone_into(&mut self.replicated.complaint);
            (self.tell)(Event::Replication(Told::PrimaryLost(why)));
        }
    }

    /// Leaves a primary that has been silent for too long, and a connection to it that is not made
    /// in time, or over which one that was promoted cannot say so in time.
    pub(in crate::server) fn leave_silent_primary(&mut self) {
        let Replicated { plan, role, link, dialled, .. } = &self.replicated;
        let Some((at, dialled)) = *dialled else { return };
        let (since, limit) = match role {
            Role::Replica(replica) if link.is_some() => (replica.heard_at(), plan.timeout_ns),
            Role::Replica(_) => (dialled, plan.timeout_ns),
            Role::Primary(_) => (dialled, FENCE_WITHIN_NS),
            Role::Fenced { .. } | Role::Witness(_) => return,
        };
        if self.now.saturating_sub(since) > limit {
            self.replicated.drops.extend(self.clients[at].as_ref().and_then(|it| it.connection_id));
            if let Role::Replica(_) = self.replicated.role {
                self.replicated.link = None;
                self.complain("is away: it was silent for too long");
            }
        }
    }

    /// When replication has something to do although nobody says anything, nanoseconds.
    pub(in crate::server) fn replication_wakes_at(&self) -> Option<u64> {
        let Replicated { plan, role, link, dialled, dial_at, promotions, .. } = &self.replicated;
        let waits = dialled.is_none() && !plan.primary.is_empty();
        match role {
            Role::Primary(primary) => {
                let late = dialled.map(|(_, since)| since.saturating_add(FENCE_WITHIN_NS + 1));
                let herald = late.or(waits.then_some(*dial_at)).filter(|_| *promotions > 0);
                [herald, primary.wake_at()].into_iter().flatten().min()
            }
            Role::Replica(_) if self.is_sealed() => None,
            Role::Replica(_) if waits => Some(*dial_at),
            Role::Replica(replica) => {
                let since = link.map(|_| replica.heard_at()).or(dialled.map(|(_, at)| at))?;
                Some(since.saturating_add(plan.timeout_ns + 1))
            }
            Role::Fenced { .. } | Role::Witness(_) => None,
        }
    }
}

pub(in crate::server) fn peer_of(endpoint: &Endpoint) -> Peer {
    match endpoint {
        Endpoint::Tcp(address) | Endpoint::Smc(address) | Endpoint::Udp(address) => {
            Peer::Ip(*address)
        }
        Endpoint::Unix(_) | Endpoint::Own => Peer::Unix,
    }
}
