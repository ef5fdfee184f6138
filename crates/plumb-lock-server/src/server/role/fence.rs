//! A server that was promoted tells that whose place it took; which of the two gives way.
//!
//! The newer epoch alone does not say. Whoever is started again as a primary without a journal, or
//! with one that may have lost something, draws an epoch that is newer than any promotion, and has
//! replaced nobody. So what counts of a server is its origin: the epoch of the locks that it was
//! started with, until somebody decides for its own one. A decision is a promotion, a majority of
//! witnesses, or a replica that has every lock under that epoch. Of two origins the newer one counts;
//! of equal ones that of the server that was promoted under it, since the other one followed it.
//!
//! Of two that were promoted the one with the older epoch gives way, whichever of them reaches the
//! other. That a server was promoted, and not decided for in another way, it knows until it ends.

use plumb_lock_pair::replication::Refused;
use plumb_lock_table::table::Rules;
use plumb_measure::Clock;
use plumb_wire::resp::Reply;

use super::{FENCES_UNKNOWN, Role};
use crate::server::connection::Purpose;
use crate::server::refusal::{CONTESTED, PROMOTED_LATER, Refusal};
use crate::server::told::Told;
use crate::server::{Event, LockServer};

/// For so long after it was heard that another server gives locks out, too, that is said of this
/// one, nanoseconds: longer than it takes until it is heard again.
const CONTESTED_NS: u64 = 5_000_000_000;

/// Fence numbers go no further than this, whatever epoch another server names.
const FENCE_MAX: u64 = 1 << 60;

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// A server was promoted in this one's place and gives locks out under the epoch `by`; whoever
    /// had one up to `replaced` there has given way to it already. False when that changes nothing
    /// here.
    pub(super) fn fence(
        &mut self,
        client: usize,
        (by, replaced): (u64, u64),
    ) -> Result<bool, Refusal> {
        let (own, origin) = (self.plan.epoch, self.replicated.origin);
        let (promoted, decided) = (self.replicated.promotions > 0, self.replicated.decided);
        match self.replicated.role {
            Role::Fenced { .. } => return Ok(false),
            // itself, behind an address that moved
            Role::Primary(_) if by == own && promoted => return Ok(false),
            Role::Primary(_) if by > origin || (!decided && by.max(replaced) >= origin) => {}
            // it may tell that one nothing itself, or not where that one is
            Role::Primary(_) if promoted => return Err(Refusal::PromotedLater(own)),
            Role::Primary(_) if self.may_give_out().is_ok() => {
                self.contest(client);
                return Err(Refusal::Contested(own));
            }
            _ if by < own => return Err(Refusal::Newer(own)),
            _ => return Ok(false),
        }
        self.step_down(by, Some(client));
        (self.tell)(Event::Replication(Told::Fenced { by }));
        Ok(true)
    }

    /// A replica was refused. If it has locks of a later epoch than what is here, it gave them out in
    /// this server's place and was started again, or has what this one has lost: this one gives
    /// nothing out any more. A server without any epoch that somebody decided for is told by a newer
    /// one alone: an older one may have been its own, before it was started without a journal.
    pub(in crate::server) fn give_way_to_replica(&mut self, client: usize, refused: &Refused) {
        let Refused::Lacks { theirs, ours } = *refused else {
            return;
        };
        if theirs > ours || self.replicated.origin > 0 || self.replicated.lacks {
            self.step_down(theirs, Some(client));
            if let Some(client) = &self.clients[client] {
                let peer = &client.peer;
                (self.tell)(Event::Replication(Told::ReplicaIsNewer { peer, epoch: theirs }));
            }
        }
    }

    /// A server with this epoch gives locks out, and this one does not any more.
    pub(in crate::server) fn step_down(&mut self, by: u64, keeps: Option<usize>) {
        self.replicated.role = Role::Fenced { by };
        self.notes.note_batches(false);
        if self.replicated.voting.is_none() {
            self.notes.replaced(by); // nobody else keeps that
        }
        // what they were answered last may not be told; elsewhere they are answered anew
        let others = self.clients.iter().enumerate().filter(|(at, _)| Some(*at) != keeps);
        let others = others.filter_map(|(_, other)| other.as_ref()?.connection_id);
        self.replicated.drops.extend(others);
        self.replicated.link = None;
        if let Some(voting) = &mut self.replicated.voting {
            voting.election.leave();
        }
    }

    /// The other server was told that it was replaced, and answers with its epoch.
    pub(in crate::server) fn hear_of_fence(&mut self, client: usize, reply: &Reply<'_>) {
        if let Some(Purpose::Herald { replies: 1 }) = self.purpose(client)
            && let Reply::Integer(epoch) = reply
            && let Ok(epoch) = u64::try_from(*epoch)
            && epoch > self.plan.epoch.max(self.replicated.yielded)
        {
            self.replicated.yielded = epoch;
            // what it gave out until it was told began at its clock, as its epoch did
            let fences = epoch.max(self.wall_us()).saturating_add(FENCES_UNKNOWN);
            self.table.raise_fence(fences.min(FENCE_MAX));
            (self.tell)(Event::Replication(Told::StartedAgain { epoch }));
        }
    }

    /// True for an error of the other server that says that it gives locks out all the same.
    pub(in crate::server) fn is_contested(&mut self, client: usize, error: &str) -> bool {
        let contested = matches!(self.purpose(client), Some(Purpose::Herald { .. }))
            && error.starts_with(CONTESTED);
        if contested && self.may_give_out().is_ok() {
            self.contest(client);
        }
        contested
    }

    /// True for an error of the other server that says that it was promoted later than this one,
    /// which gives way then.
    pub(in crate::server) fn gives_way_to(&mut self, client: usize, error: &str) -> bool {
        let heralds = matches!(self.purpose(client), Some(Purpose::Herald { .. }));
        let named = error.strip_prefix(PROMOTED_LATER).and_then(|rest| {
            let (epoch, _) =
                rest.trim_start().split_once(|letter: char| !letter.is_ascii_digit())?;
            epoch.parse::<u64>().ok()
        });
        let Some(by) = named.filter(|by| heralds && *by > self.replicated.origin) else {
            return false;
        };
        if let Role::Primary(_) = self.replicated.role {
            self.step_down(by, None);
            (self.tell)(Event::Replication(Told::Fenced { by }));
        }
        true
    }

    /// What is said to a server whose place this one took: its epoch, and a newer one that was given
    /// up there, where there is such.
    pub(super) fn fence_words(&self) -> Vec<String> {
        let mut words = vec!["REPLICA".into(), "FENCE".into(), self.plan.epoch.to_string()];
        let yielded = self.replicated.yielded;
        words.extend((yielded > self.plan.epoch).then(|| yielded.to_string()));
        words
    }

    /// Both this server and that at the other end of a connection give locks out.
    fn contest(&mut self, client: usize) {
        let is_news = self.now >= self.replicated.contested_until;
        self.replicated.contested_until = self.now.saturating_add(CONTESTED_NS);
        if is_news && let Some(client) = &self.clients[client] {
            (self.tell)(Event::Replication(Told::Contested(&client.peer)));
        }
    }

    fn purpose(&self, client: usize) -> Option<Purpose> {
        self.clients[client].as_ref().map(|client| client.purpose)
    }
}
