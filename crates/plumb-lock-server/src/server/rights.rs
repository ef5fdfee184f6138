//! What a client may do, and who did what only few may.

use std::fmt;

use plumb_lock_table::table::{Elements, Rules};
use plumb_measure::Clock;

use super::notices::{self, About};
use super::refusal::Refusal;
use super::words::Command;
use super::{Event, LockServer};
use crate::users::{Right, Rights};

/// Something that only few may do, and who did it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audited<'a> {
    /// The user; empty where there are none.
    pub user: &'a str,
    /// From where.
    pub peer: &'a plumb_engine::Peer,
    /// The command, without anything secret.
    pub command: &'a str,
    /// What came of it.
    pub result: String,
}

impl fmt::Display for Audited<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, peer, command, result } = self;
        let who = if user.is_empty() { "somebody" } else { user };
        write!(f, "{who} from {peer}: {command}: {result}")
    }
}

/// The right that a command of this name needs; `None`: whoever is let in may.
fn needed(verb: &[u8], command: Command<'_>) -> Option<Right> {
    Some(match verb {
        b"PING" | b"ECHO" | b"HELLO" | b"AUTH" | b"QUIT" | b"SELECT" | b"INFO" | b"CLIENT"
        | b"COMMAND" | b"CONFIG" | b"METRICS" | b"EPOCH" | b"ROLE" | b"STAMPS" => return None,
        b"LOCKSTAT" if command.len() == 1 => return None,
        b"LOCKSTAT" if command.is(1, "FORGET") => Right::Admin,
        b"LOCKS" | b"DIGEST" | b"COUNT" | b"LOCKSTAT" => Right::List,
        b"REMOVE" => Right::Remove,
        b"REPLICA" | b"WITNESS" => Right::Admin,
        _ => Right::Lock,
    })
}

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// Refuses what the client's user may not do.
    pub(super) fn may_do(
        &self,
        client: usize,
        verb: &[u8],
        command: Command<'_>,
    ) -> Result<(), Refusal> {
        if self.plan.users.is_none() {
            return Ok(());
        }
        let Some(right) = needed(verb, command) else {
            return Ok(());
        };
        let rights = self.clients[client].as_ref().and_then(|client| client.rights.as_ref());
        let Some(rights) = rights.filter(|rights| rights.may(right)) else {
            return Err(Refusal::NoRight(command.text(0).to_lowercase(), right.name()));
        };
        if right == Right::Lock && !rights.covers_everything() {
            for at in keys(verb, command) {
                if !rights.covers(command.get(at)) {
                    return Err(Refusal::Outside(command.text(at)));
                }
            }
        }
        if verb == b"SUBSCRIBE" {
            for at in 1..command.len() {
                may_listen(rights, command, at)?;
            }
        }
        Ok(())
    }

    /// Refuses locks outside the name spaces of the client's user.
    pub(super) fn may_lock<E: Elements + ?Sized>(
        &self,
        client: usize,
        locks: &E,
    ) -> Result<(), Refusal> {
        if self.plan.users.is_none() {
            return Ok(());
        }
        self.may_name(client, (0..locks.count()).map(|at| locks.at(at).name))
    }

    /// Refuses what would change all locks of an owner when one of them is outside the name spaces
    /// of the client's user.
    pub(super) fn may_change_all(&self, client: usize, owner: &[u8]) -> Result<(), Refusal> {
        if self.plan.users.is_none() {
            return Ok(());
        }
        let locks = self.table.locks_of(owner);
        self.may_name(client, locks.map(|lock| known_as(lock.name, lock.argument)))
    }

    fn may_name<'a>(
        &self,
        client: usize,
        mut names: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), Refusal> {
        let rights = self.clients[client].as_ref().and_then(|client| client.rights.as_ref());
        if rights.is_some_and(Rights::covers_everything) {
            return Ok(());
        }
        match names.find(|name| !rights.is_some_and(|rights| rights.covers(name))) {
            Some(name) => Err(Refusal::Outside(String::from_utf8_lossy(name).into_owned())),
            None => Ok(()),
        }
    }

    /// Writes down who did something that only few may.
    pub(super) fn audit(&mut self, client: usize, command: &str, result: String) {
        let Some(client) = &self.clients[client] else {
            return;
        };
        let user = String::from_utf8_lossy(&client.user);
        let peer = client.peer.clone();
        (self.tell)(Event::Audited(Audited { user: &user, peer: &peer, command, result }));
    }
}

/// Refuses a channel that tells of what the user may not see: of locks outside its name spaces, or
/// of what others have lost.
fn may_listen(rights: &Rights, command: Command<'_>, at: usize) -> Result<(), Refusal> {
    match notices::about(command.get(at)) {
        About::Losses if !rights.may(Right::List) => {
            Err(Refusal::NoRight(command.text(0).to_lowercase(), Right::List.name()))
        }
        About::Lock { name, argument } => {
            let known = known_as(name, argument);
            if rights.covers(known) {
                return Ok(());
            }
            Err(Refusal::Outside(String::from_utf8_lossy(known).into_owned()))
        }
        About::Losses | About::Other => Ok(()),
    }
}

/// What patterns are for: a key of a client of Redis is an argument without a name.
fn known_as<'a>(name: &'a [u8], argument: &'a [u8]) -> &'a [u8] {
    if name.is_empty() { argument } else { name }
}

/// Where the keys of a command of Redis stand.
fn keys(verb: &[u8], command: Command<'_>) -> std::ops::Range<usize> {
    match verb {
        b"ENQ" | b"PROMOTE" | b"CHECK" | b"DEQ" | b"DEQALL" | b"INHERIT" | b"RENEW" | b"SCRIPT"
        | b"SUBSCRIBE" | b"UNSUBSCRIBE" => 0..0,
        b"EVAL" | b"EVALSHA" => {
            let count = command.number(2, "").unwrap_or(0).min(command.len() as u64);
            3..(3 + usize::try_from(count).unwrap_or(0)).min(command.len()).max(3)
        }
        b"DEL" | b"UNLINK" | b"EXISTS" => 1..command.len(),
        _ => 1..command.len().min(2),
    }
}
