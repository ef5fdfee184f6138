//! Clients, and what they say to make themselves known.

use std::collections::BTreeSet;

use plumb_engine::{ClientStamps, ConnectionId, Peer};
use plumb_lock_table::table::{OwnerId, Rules};
use plumb_measure::Clock;
use plumb_wire::resp;

use super::Event;
use super::LockServer;
use super::guesses::Turn;
use super::mark::Mark;
use super::refusal::Refusal;
use super::words::Command;
use crate::users::Rights;

/// What a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// Its own next command.
    No,
    /// A lock, until this moment in nanoseconds.
    Until(u64),
    /// What is done in slices.
    Slices,
    /// The arguments that it asks for to be in order, and then a lock, until this moment in
    /// nanoseconds.
    Order(u64),
    /// Its password is looked at in this moment, nanoseconds.
    Turn(u64),
}

impl Waits {
    /// Until when it waits for a lock, nanoseconds.
    pub(super) fn deadline(self) -> Option<u64> {
        match self {
            Self::Until(until) | Self::Order(until) => Some(until),
            Self::No | Self::Slices | Self::Turn(_) => None,
        }
    }
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Somebody asks for locks.
    Client,
    /// A replica follows.
    Replica,
    /// To the primary that is followed; so many replies come before its stream.
    Primary { replies: u8 },
    /// To the server whose place was taken, which is told so.
    Herald { replies: u8 },
    /// To a witness, by its place among them; so many replies come before its answers.
    Witness { at: usize, replies: u8 },
}

/// One connection.
#[derive(Debug)]
pub(super) struct Client {
    /// Its number, from one.
    pub(super) id: u64,
    pub(super) peer: Peer,
    pub(super) connection_id: Option<ConnectionId>,
    pub(super) waits: Waits,
    /// The request that it waits with was counted among those that wait for a lock.
    pub(super) has_waited: bool,
    pub(super) purpose: Purpose,
    /// Behind which position a replica has what it was answered last, of what is locked.
    pub(super) mark: Mark,
    /// The turn of the loop in which that was; 0: never.
    pub(super) shown_in: u64,
    /// Its number among those that wait.
    pub(super) seat: Option<u64>,
    /// Passwords of its that were wrong.
    pub(super) guesses: u32,
    /// All places are taken: it may look after the server, and ask for no lock.
    pub(super) is_beyond: bool,
    /// It is closed with its next bytes.
    pub(super) closes: bool,
    /// Owners that end with it, and some that have ended.
    pub(super) owners: Vec<OwnerId>,
    /// Of a client that asked how long the server has its commands: which of them, and how many
    /// there were so far.
    pub(super) stamps: Option<Box<(ClientStamps, u64)>>,
    /// The version of RESP it speaks.
    pub(super) version: u8,
    /// What it listens to.
    pub(super) channels: BTreeSet<Vec<u8>>,
    known: bool,
    /// As whom it has logged in, and what that one may do.
    pub(super) user: Vec<u8>,
    pub(super) rights: Option<Rights>,
    name: Vec<u8>,
    /// Which of its owners is looked at next.
    next: usize,
}

impl Client {
    pub(super) fn new(id: u64, peer: Peer) -> Self {
        Self {
            id,
            peer,
            connection_id: None,
            waits: Waits::No,
            has_waited: false,
            purpose: Purpose::Client,
            mark: Mark::NOTHING,
            shown_in: 0,
            seat: None,
            guesses: 0,
            is_beyond: false,
            closes: false,
            owners: Vec::new(),
            stamps: None,
            version: 2,
            channels: BTreeSet::new(),
            known: false,
            user: Vec::new(),
            rights: None,
            name: Vec::new(),
            next: 0,
        }
    }

    /// True for a client whose protocol has no place for replies beside messages.
    pub(super) fn only_listens(&self) -> bool {
        self.version == 2 && !self.channels.is_empty()
    }

    /// An owner more ends with this connection. For each that comes two others are looked at, and
    /// forgotten when they have ended.
    pub(super) fn adopt(&mut self, id: OwnerId, lives: impl Fn(OwnerId) -> bool) {
        const FEW: usize = 64;
        for _ in 0..if self.owners.len() > FEW { 2 } else { 0 } {
            match self.owners.get(self.next) {
                Some(id) if lives(*id) => self.next += 1,
                Some(_) => drop(self.owners.swap_remove(self.next)),
                None => self.next = 0,
            }
        }
        self.owners.push(id);
    }
}

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// True when the client has named the password, or needs none.
    pub(super) fn may(&self, client: usize) -> bool {
        self.plan.password.is_none() && self.plan.users.is_none()
            || self.clients[client].as_ref().is_some_and(|client| client.known)
    }

    pub(super) fn version(&self, client: usize) -> u8 {
        self.clients[client].as_ref().map_or(2, |client| client.version)
    }

    /// Commands that say nothing about locks.
    pub(super) fn courtesy(
        &mut self,
        client: usize,
        command: Command<'_>,
        verb: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        match (verb, command.len()) {
            (b"PING", 1..=2) if self.clients[client].as_ref().is_some_and(Client::only_listens) => {
                resp::push_array(out, 2);
                resp::push_bulk(out, b"pong");
                resp::push_bulk(out, command.get(1));
            }
            (b"PING", 1) => resp::push_simple(out, "PONG"),
            (b"PING", 2) | (b"ECHO", 2) => resp::push_bulk(out, command.get(1)),
            (b"PING", _) => return Err(Refusal::Arity("ping")),
            (b"ECHO", _) => return Err(Refusal::Arity("echo")),
            (b"AUTH", words @ 2..=3) => {
                let user = (words == 3).then(|| command.get(1));
                self.authenticate(client, user, command.get(words - 1))?;
                resp::push_simple(out, "OK");
            }
            (b"AUTH", _) => return Err(Refusal::Arity("auth")),
            (b"HELLO", _) => self.hello(client, command, out)?,
            (b"STAMPS", _) => self.stamp_commands(client, command, out)?,
            (b"SELECT", 2) if command.is(1, "0") => resp::push_simple(out, "OK"),
            (b"SELECT", 2) => return Err(Refusal::Database),
            (b"SELECT", _) => return Err(Refusal::Arity("select")),
            (b"INFO", _) => resp::push_bulk(out, self.info().as_bytes()),
            (b"CLIENT", _) => self.client(client, command, out)?,
            (b"COMMAND", _) if command.is(1, "COUNT") => resp::push_integer(out, 0),
            (b"COMMAND", _) if command.is(1, "DOCS") => {
                resp::push_map(out, 0, self.version(client));
            }
            (b"COMMAND", _) => resp::push_array(out, 0),
            (b"CONFIG", 3) if command.is(1, "GET") => self.config(client, command, out),
            (b"CONFIG", _) => {
                return Err(Refusal::Word(command.text(1), "CONFIG knows GET and one name"));
            }
            _ => return Err(Refusal::Unknown(command.text(0))),
        }
        Ok(())
    }

    /// What `redis-benchmark` asks for before it begins.
    fn config(&self, client: usize, command: Command<'_>, out: &mut Vec<u8>) {
        let lasting = if self.notes.keeps_everything() { "yes" } else { "no" };
        let known = [("save", ""), ("appendonly", lasting)];
        let found =
            known.iter().find(|(name, _)| command.get(2).eq_ignore_ascii_case(name.as_bytes()));
        resp::push_map(out, usize::from(found.is_some()), self.version(client));
        for word in found.into_iter().flat_map(|(name, value)| [name, value]) {
            resp::push_bulk(out, word.as_bytes());
        }
    }

    /// Without users one password is everybody's; who names none is the user `default`.
    fn authenticate(
        &mut self,
        client: usize,
        user: Option<&[u8]>,
        password: &[u8],
    ) -> Result<(), Refusal> {
        let name = user.unwrap_or(b"default");
        let (right, rights) = match (&self.plan.users, &self.plan.password) {
            (Some(users), _) => {
                let rights = users.prove(name, password);
                (rights.is_some(), rights)
            }
            (None, Some(expected)) => (same(expected, password), None),
            (None, None) => return Err(Refusal::NoPassword),
        };
        let Some(client) = &mut self.clients[client] else {
            return Ok(());
        };
        if right {
            client.known = true;
            client.rights = rights;
            client.user = if self.plan.users.is_some() { name.to_vec() } else { Vec::new() };
            if client.guesses == 0 {
                self.guesses.right(&client.peer);
            }
            return Ok(());
        }
        client.guesses += 1;
        let peer = client.peer.clone();
        self.guessed(&peer);
        Err(Refusal::WrongPassword)
    }

    /// A password was wrong: the next from there waits, and the operator is told.
    pub(super) fn guessed(&mut self, peer: &Peer) {
        const QUIET_NS: u64 = 60_000_000_000;
        self.counts.guesses += 1;
        self.guesses.wrong(peer, self.clock.now_ns());
        if self.now >= self.guesses_told_until {
            self.guesses_told_until = self.now + QUIET_NS;
            let times = self.counts.guesses - self.guesses_told;
            self.guesses_told = self.counts.guesses;
            (self.tell)(Event::Guessed(peer, times));
        }
    }

    /// True when the password of a client is not looked at before others from the same address
    /// were: it waits. So does one that has logged in, where another user has another password.
    pub(super) fn may_not_guess_yet(
        &mut self,
        client: usize,
        command: Command<'_>,
    ) -> Result<bool, Refusal> {
        let guesses = command.is(0, "AUTH") || command.len() > 2; // no HELLO that only says hello
        if self.may(client) && (self.plan.users.is_none() || !guesses) {
            return Ok(false);
        }
        let now = self.clock.now_ns();
        let Some(client) = &mut self.clients[client] else {
            return Ok(false);
        };
        if let Waits::Turn(_) = client.waits {
            return Ok(false); // it has waited
        }
        match self.guesses.turn(&client.peer, now) {
            Turn::Now => Ok(false),
            Turn::At(at) => {
                client.waits = Waits::Turn(at);
                self.wish = None;
                Ok(true)
            }
            Turn::Never => Err(Refusal::Guesses),
        }
    }

    /// `HELLO [version [AUTH user password] [SETNAME name]]`.
    fn hello(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let version = match command.get(1) {
            b"" => self.version(client),
            b"2" => 2,
            b"3" => 3,
            _ => return Err(Refusal::Protocol),
        };
        let (mut at, mut name) = (2, None);
        while at < command.len() {
            if command.is(at, "AUTH") && at + 2 < command.len() {
                self.authenticate(client, Some(command.get(at + 1)), command.get(at + 2))?;
                at += 3;
            } else if command.is(at, "SETNAME") && at + 1 < command.len() {
                name = Some(command.get(at + 1).to_vec());
                at += 2;
            } else {
                return Err(Refusal::Word(command.text(at), "AUTH user password, SETNAME name"));
            }
        }
        if !self.may(client) {
            return Err(Refusal::NoAuth);
        }
        let mut id = 0;
        if let Some(client) = &mut self.clients[client] {
            client.version = version;
            client.name = name.unwrap_or_else(|| std::mem::take(&mut client.name));
            id = client.id;
        }
        resp::push_map(out, 7, version);
        for (key, value) in [("server", "redis"), ("version", super::figures::REDIS_VERSION)] {
            resp::push_bulk(out, key.as_bytes());
            resp::push_bulk(out, value.as_bytes());
        }
        resp::push_bulk(out, b"proto");
        resp::push_integer(out, version.into());
        resp::push_bulk(out, b"id");
        resp::push_integer(out, id);
        for (key, value) in [("mode", "standalone"), ("role", self.role_name())] {
            resp::push_bulk(out, key.as_bytes());
            resp::push_bulk(out, value.as_bytes());
        }
        resp::push_bulk(out, b"modules");
        resp::push_array(out, 0);
        Ok(())
    }

    fn client(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let remedy = "CLIENT knows ID, GETNAME, SETNAME name, SETINFO name value, NO-EVICT and \
                      NO-TOUCH";
        let version = self.version(client);
        let Some(client) = &mut self.clients[client] else {
            return Ok(());
        };
        match command.len() {
            2 if command.is(1, "ID") => resp::push_integer(out, client.id),
            2 if command.is(1, "GETNAME") && client.name.is_empty() => {
                resp::push_null(out, version);
            }
            2 if command.is(1, "GETNAME") => resp::push_bulk(out, &client.name),
            3 if command.is(1, "SETNAME") => {
                client.name = command.get(2).to_vec();
                resp::push_simple(out, "OK");
            }
            // they would change nothing here
            4 if command.is(1, "SETINFO") => resp::push_simple(out, "OK"),
            3 if command.is(1, "NO-EVICT") || command.is(1, "NO-TOUCH") => {
                resp::push_simple(out, "OK");
            }
            _ => return Err(Refusal::Word(command.text(1), remedy)),
        }
        Ok(())
    }
}

/// Compares in a time that does not tell how much of it was right.
pub(super) fn same(expected: &[u8], given: &[u8]) -> bool {
    let differ = expected.iter().zip(given).fold(0, |differ, (one, other)| differ | (one ^ other));
    std::hint::black_box(differ) == 0 && expected.len() == given.len()
}
