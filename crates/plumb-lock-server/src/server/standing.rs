//! What the server says of replication: for people, for monitoring, for clients.

use plumb_engine::Peer;
use plumb_lock_pair::replication::State;
use plumb_lock_table::table::Rules;
use plumb_measure::Clock;
use plumb_wire::resp;

use super::LockServer;
use super::figures::Figure;
use super::role::Role;
use super::role::voting::Voting;

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// The role, as Redis calls it.
    pub(super) fn role_name(&self) -> &'static str {
        match &self.replicated.role {
            Role::Primary(_) if self.is_elected() => "master",
            Role::Primary(_) | Role::Replica(_) | Role::Fenced { .. } => "slave",
            Role::Witness(_) => "sentinel",
        }
    }

    /// How replication is, in a word.
    pub(super) fn replication_name(&self) -> &'static str {
        match &self.replicated.role {
            Role::Primary(_) if !self.is_elected() => "not-elected",
            Role::Primary(primary) => primary.state().name(),
            Role::Replica(_) if self.stands() => "stands",
            Role::Replica(replica) if self.replicated.link.is_none() => {
                if replica.in_sync() {
                    "primary-away"
                } else {
                    "connecting"
                }
            }
            Role::Replica(replica) if replica.in_sync() => State::InSync.name(),
            Role::Replica(_) => State::Filling.name(),
            Role::Fenced { .. } => "replaced",
            Role::Witness(_) => "witness",
        }
    }

    fn stands(&self) -> bool {
        self.replicated.voting.as_ref().is_some_and(|voting| voting.election.stands())
    }

    pub(super) fn replication_figures(&self) -> Vec<Figure> {
        let (mut lag, mut since) = (0, None);
        let (mut gives_out, mut in_sync, mut seen) = (false, false, false);
        match &self.replicated.role {
            Role::Primary(primary) => {
                gives_out = primary.may_serve() && self.is_let();
                in_sync = primary.state() == State::InSync;
                seen = primary.streams();
                if seen {
                    (lag, since) = (primary.lag_bytes(), primary.lags_since());
                }
            }
            Role::Replica(replica) => {
                in_sync = replica.in_sync() && self.replicated.link.is_some();
                since = self.replicated.link.is_none().then(|| replica.heard_at());
            }
            Role::Fenced { .. } | Role::Witness(_) => {}
        }
        let [witnesses, reached, agree, mut term, won] =
            self.replicated.voting.as_ref().map_or([0; 5], Voting::figures);
        let witness = matches!(&self.replicated.role, Role::Witness(_));
        if let Role::Witness(it) = &self.replicated.role {
            term = it.witness.register().ballot.term;
        }
        let lag_ms = since.map_or(0, |at| self.now.saturating_sub(at) / 1_000_000);
        let primary = matches!(self.replicated.role, Role::Primary(_));
        let promoted = self.replicated.promoted_ms / 1_000;
        let replaced = matches!(self.replicated.role, Role::Fenced { .. });
        let contested = primary && self.now < self.replicated.contested_until;
        vec![
            ("primary", false, "1 for a primary, 0 for a replica", primary.into()),
            ("gives_out", false, "1 when locks are given out here", gives_out.into()),
            ("replica_seen", false, "1 when a replica has ever followed", seen.into()),
            ("in_sync", false, "1 when both servers have every lock", in_sync.into()),
            ("replaced", false, "1 when another server has taken its place", replaced.into()),
            ("contested", false, "1 while another server gives locks out, too", contested.into()),
            ("replica_lag_bytes", false, "Changes that the replica does not have, bytes", lag),
            ("replica_lag_milliseconds", false, "Age of the oldest of them", lag_ms),
            ("promotions", true, "Times this server was promoted", self.replicated.promotions),
            ("promoted_seconds", false, "Last of these, seconds since 1970; 0: never", promoted),
            ("witness", false, "1 for a witness, which gives no locks out", witness.into()),
            ("witnesses", false, "Witnesses of this server", witnesses),
            ("witnesses_reached", false, "Those it has a connection to", reached),
            ("witnesses_agree", false, "Those that keep that it gives locks out", agree),
            ("election_term", false, "Term of the last election that it won or keeps", term),
            ("elections_won", true, "Elections that this server has won", won),
        ]
    }

    /// `ROLE`, in the form clients of Redis read.
    pub(super) fn tell_role(&self, out: &mut Vec<u8>) {
        match &self.replicated.role {
            Role::Witness(_) => {
                resp::push_array(out, 2);
                resp::push_bulk(out, b"sentinel");
                resp::push_array(out, 0);
            }
            Role::Primary(primary) if self.is_elected() => {
                let peer = self.clients.iter().flatten().find(|client| {
                    client.connection_id.is_some() && client.connection_id == self.replicated.link
                });
                resp::push_array(out, 3);
                resp::push_bulk(out, b"master");
                resp::push_integer(out, primary.end());
                resp::push_array(out, usize::from(peer.is_some()));
                if let Some(peer) = peer {
                    let acked = primary.end() - primary.lag_bytes();
                    let (host, port) = host_and_port(&peer.peer);
                    resp::push_array(out, 3);
                    for text in [host, port, acked.to_string()] {
                        resp::push_bulk(out, text.as_bytes());
                    }
                }
            }
            Role::Primary(_) | Role::Replica(_) | Role::Fenced { .. } => {
                let of = self.replicated.plan.primary.first().map(ToString::to_string);
                let of = of.unwrap_or_default();
                let (host, port) = of.rsplit_once(':').unwrap_or((&of, "0"));
                let (position, connected) = match &self.replicated.role {
                    Role::Replica(replica) => (replica.place().1, self.replicated.link.is_some()),
                    Role::Primary(_) | Role::Fenced { .. } | Role::Witness(_) => (0, false),
                };
                resp::push_array(out, 5);
                resp::push_bulk(out, b"slave");
                resp::push_bulk(out, host.as_bytes());
                resp::push_integer(out, port.parse().unwrap_or(0));
                resp::push_bulk(out, if connected { b"connected" } else { b"connect" });
                resp::push_integer(out, position);
            }
        }
    }
}

fn host_and_port(peer: &Peer) -> (String, String) {
    match peer {
        Peer::Ip(address) => (address.ip().to_string(), address.port().to_string()),
        Peer::Unix => ("unix".into(), "0".into()),
    }
}
