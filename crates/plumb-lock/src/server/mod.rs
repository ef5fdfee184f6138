//! The lock server: commands in, replies out, over any number of connections.
//!
//! One thread owns the table. A command that cannot be granted at once and says `WAIT` is tried
//! again when the lock it met is gone, and answered at the latest when its time is over.

mod connection;
mod enqueue;
mod figures;
mod keys;
mod listing;
mod lives;
mod refusal;
mod scrape;
mod script;
mod terms;
mod words;

use std::collections::VecDeque;
use std::fmt;
use std::io;

use plumb_engine::{ConnectionId, Ended, Peer, Served, Service, TurnedAway};
use plumb_measure::{Clock, Tick};
use plumb_wire::resp::{self, Words};

use crate::journal::{Notes, Restored};
use crate::table::{LockId, OwnerId, Part, Rules, Scope, Sound, Table};
use connection::Client;
use lives::{Key, Life, Lives, NEVER, Over};
use refusal::Refusal;
use script::Scripts;
use words::Command;

/// What the server allows, and who it is.
#[derive(Clone, Debug)]
pub struct ServerPlan {
    /// Limits of one command.
    pub limits: resp::Limits,
    /// The longest `WAIT`, nanoseconds.
    pub wait_ns_max: u64,
    /// Clients must name it before anything else; `None`: nobody is asked.
    pub password: Option<Vec<u8>>,
    /// Tells clients that locks were lost: it is another number then.
    pub epoch: u64,
    /// How long after a restart an owner without a lease may come back, nanoseconds.
    pub grace_ns: u64,
    /// Wall clock less monotonic clock, nanoseconds.
    pub wall_offset_ns: u64,
    /// What the loop that serves does about its processor's tick, as clients are told.
    pub tick: Tick,
}

/// Something the operator of a server wants to know.
#[derive(Debug)]
pub enum Event<'a> {
    /// A client was not taken.
    TurnedAway(&'a Peer, TurnedAway),
    /// The kernel hands over no more connections for the moment.
    CannotAccept(&'a io::Error),
    /// The handshake of a client over TLS failed.
    Unsecured(&'a Peer, &'a io::Error),
    /// A client sent what is no RESP.
    Malformed(&'a Peer, resp::Malformed),
    /// The table is full; told at most once a minute.
    Full(&'static str),
}

impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TurnedAway(peer, why) => write!(f, "client from {peer} turned away: {why}"),
            Self::CannotAccept(error) => {
                write!(f, "cannot accept connections for the moment: {error}")
            }
            Self::Unsecured(peer, error) => write!(f, "client from {peer} {error}"),
            Self::Malformed(peer, malformed) => write!(f, "client from {peer}: {malformed}"),
            Self::Full(part) => write!(f, "the lock table holds no more {part}"),
        }
    }
}

/// What was done so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    commands: u64,
    granted: u64,
    rejected: u64,
    errors: u64,
    dequeues: u64,
    clears: u64,
    inherits: u64,
    removals: u64,
    expired: u64,
    reports: u64,
    waited: u64,
}

/// A command that waits for a lock.
#[derive(Debug)]
struct Waiter {
    client: usize,
    until: u64,
    met: LockId,
    /// Its owner, if that held something already.
    owner: Option<OwnerId>,
    /// What its owner held has ended meanwhile, and nobody had asked for that.
    lost: bool,
    command: Vec<u8>,
}

/// The lock server as a service of the engine. Its table decides by the rules `R`.
pub struct LockServer<'a, C, R = Sound> {
    plan: ServerPlan,
    table: Table<R>,
    notes: Notes,
    lives: Lives,
    scripts: Scripts,
    clients: Vec<Option<Client>>,
    free: Vec<usize>,
    connections_so_far: u64,
    waiters: VecDeque<Waiter>,
    counts: Counts,
    clock: C,
    now: u64,
    started: u64,
    /// The last command looked at many locks: others come first now.
    looked: bool,
    /// Nobody is told again of a full table before this moment, nanoseconds.
    full_told_until: u64,
    words: Words,
    tell: &'a mut (dyn FnMut(Event<'_>) + Send),
}

/// After a restart every lease begins anew, and who lived with its connection has some grace.
fn lives_of<R: Rules>(restored: &Restored<R>, now: u64, grace_ns: u64) -> Lives {
    const MS: u64 = 1_000_000;
    let in_ms = |ms: u64| now.saturating_add(ms.saturating_mul(MS)); // a file may say anything
    let mut lives = Lives::default();
    let table = &restored.table;
    for lock in table.locks() {
        if let Some((id, _)) = table.holder(lock.name, lock.argument)
            && lock.name.is_empty()
        {
            let ms = restored.lives.keys.get(lock.argument).copied().unwrap_or(0);
            let until = if ms == 0 { NEVER } else { in_ms(ms) };
            lives.set_key(Key { lock: id, until, connection: 0 });
        }
        let Some(id) = table.owner(lock.owner) else {
            continue;
        };
        let life = match restored.lives.owners.get(lock.owner) {
            Some(0) => Life::Kept,
            Some(ms) => Life::Lease { at: in_ms(*ms), ms: *ms },
            None if lock.backup => Life::Kept,
            None => Life::Grace(now + grace_ns),
        };
        // an owner of whom something is inherited is an update, whatever else it holds
        if lock.backup || lives.of(id) != Life::Kept || !lives.knows(id) {
            lives.set(id, life);
        }
    }
    lives
}

/// What becomes of the connection after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Next,
    Wait,
    /// It is the first line of a request over HTTP.
    Page,
    Close,
}

impl<'a, C: Clock, R: Rules> LockServer<'a, C, R> {
    /// A server that goes on from what was `restored`, and whose changes `notes` keeps.
    pub fn new(
        plan: ServerPlan,
        (restored, notes): (Restored<R>, Notes),
        clock: C,
        tell: &'a mut (dyn FnMut(Event<'_>) + Send),
    ) -> Self {
        let now = clock.now_ns();
        let lives = lives_of(&restored, now, plan.grace_ns);
        Self {
            plan,
            table: restored.table,
            notes,
            lives,
            scripts: Scripts::default(),
            clients: Vec::new(),
            free: Vec::new(),
            connections_so_far: 0,
            waiters: VecDeque::new(),
            counts: Counts::default(),
            clock,
            now,
            started: now,
            looked: false,
            full_told_until: 0,
            words: Words::default(),
            tell,
        }
    }

    /// What is kept of the journal, for its end.
    #[must_use]
    pub fn into_notes(self) -> Notes {
        self.notes
    }

    /// The wall clock as of the last wake, milliseconds since 1970.
    fn wall_ms(&self) -> u64 {
        self.now.wrapping_add(self.plan.wall_offset_ns) / 1_000_000
    }

    /// Serves one command.
    fn obey(&mut self, client: usize, command: Command<'_>, out: &mut Vec<u8>) -> After {
        self.counts.commands += 1;
        self.answer(client, command, out)
    }

    fn answer(&mut self, client: usize, command: Command<'_>, out: &mut Vec<u8>) -> After {
        match self.command(client, command, out) {
            Ok(after) => after,
            Err(refusal) => {
                self.counts.errors += 1;
                resp::push_error(out, refusal.to_string().as_bytes());
                After::Next
            }
        }
    }

    fn command(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<After, Refusal> {
        const LONGEST: usize = 8;
        let mut capitals = [0; LONGEST];
        let word = command.get(0);
        let Some(verb) = capitals.get_mut(..word.len()) else {
            return Err(Refusal::Unknown(command.text(0)));
        };
        verb.copy_from_slice(word);
        verb.make_ascii_uppercase();
        match &*verb {
            b"GET" if scrape::is_request(command) => return Ok(After::Page),
            b"POST" | b"HOST:" => {
                // a page in somebody's browser has sent this; what follows may be commands
                resp::push_error(out, b"ERR this is no server of pages");
                return Ok(After::Close);
            }
            _ => {}
        }
        if !self.may(client) && !matches!(&*verb, b"AUTH" | b"HELLO" | b"QUIT") {
            return Err(Refusal::NoAuth);
        }
        match &*verb {
            b"ENQ" => return self.enq(client, command, out),
            b"PROMOTE" => return self.promote(client, command, out),
            b"DEQ" => self.deq(command, out)?,
            b"DEQALL" => self.deqall(command, out)?,
            b"CHECK" => self.check(command, out)?,
            b"INHERIT" => self.inherit(command, out)?,
            b"RENEW" => self.renew(command, out)?,
            b"REMOVE" => self.remove(command, out)?,
            b"LOCKS" => self.list(command, out)?,
            b"DIGEST" => self.digest(command, out)?,
            b"COUNT" => self.count(command, out)?,
            b"LOCKSTAT" => self.lockstat(client, command, out)?,
            b"METRICS" if command.len() == 1 => {
                resp::push_bulk(out, self.metrics().as_bytes());
            }
            b"METRICS" => return Err(Refusal::Arity("metrics")),
            b"EPOCH" if command.len() == 1 => resp::push_integer(out, self.plan.epoch),
            b"EPOCH" => return Err(Refusal::Arity("epoch")),
            b"SET" => self.set(client, command, out)?,
            b"DEL" | b"UNLINK" => self.del(client, command, out)?,
            b"GET" => self.get(client, command, out)?,
            b"EXISTS" => self.exists(command, out)?,
            b"PTTL" => self.pttl(command, out)?,
            b"EVAL" | b"EVALSHA" => self.eval(command, out)?,
            b"SCRIPT" => self.script(command, out)?,
            b"QUIT" => {
                resp::push_simple(out, "OK");
                return Ok(After::Close);
            }
            _ => self.courtesy(client, command, verb, out)?,
        }
        Ok(After::Next)
    }

    /// Ends what lived until now.
    fn expire(&mut self) {
        while let Some(over) = self.lives.over(self.now) {
            let ended = match over {
                Over::Key(lock) => self.table.end(lock, &mut self.notes),
                Over::Owner(id) => self.end_owner(id),
            };
            self.counts.expired += u64::from(ended);
        }
    }

    /// What an owner holds is about to end without its asking: its requests that wait are not
    /// granted any more. Whoever reads of a grant takes the rest for held, too.
    fn lose(&mut self, id: OwnerId) {
        let waiting = self.waiters.iter_mut().filter(|waiter| waiter.owner == Some(id));
        waiting.for_each(|waiter| waiter.lost = true);
    }

    /// Ends what an owner holds without its asking; false when it holds nothing.
    fn end_owner(&mut self, id: OwnerId) -> bool {
        let Some(owner) = self.table.owner_name(id).map(<[u8]>::to_vec) else {
            return false;
        };
        self.lose(id);
        self.table.clear(&owner, Scope::Both, &mut self.notes).is_ok_and(|gone| gone > 0)
    }

    /// A request found no room.
    fn full(&mut self, part: Part) -> Refusal {
        const QUIET_NS: u64 = 60_000_000_000;
        if self.now >= self.full_told_until {
            self.full_told_until = self.now + QUIET_NS;
            (self.tell)(Event::Full(part.name()));
        }
        Refusal::Full(part)
    }

    /// Whoever waits longest is tried first.
    fn next_waiter(&self) -> Option<usize> {
        self.waiters.iter().position(|waiter| {
            waiter.lost || waiter.until <= self.now || self.table.by_id(waiter.met).is_none()
        })
    }

    /// The client waits no longer; where it sits.
    fn waited(&mut self, client: usize) -> Option<ConnectionId> {
        let client = self.clients[client].as_mut()?;
        client.waits = None;
        client.connection_id
    }
}

impl<C: Clock, R: Rules> Service for LockServer<'_, C, R> {
    type Conn = usize;

    const SETTLES: bool = true;
    const WAITS: bool = true;

    fn open(&mut self, peer: &Peer) -> Result<usize, Vec<u8>> {
        self.connections_so_far += 1;
        let client = Client::new(self.connections_so_far, peer.clone());
        Ok(match self.free.pop() {
            Some(at) => {
                self.clients[at] = Some(client);
                at
            }
            None => {
                self.clients.push(Some(client));
                self.clients.len() - 1
            }
        })
    }

    fn accepted(&mut self, conn: &mut usize, connection_id: ConnectionId) {
        if let Some(client) = &mut self.clients[*conn] {
            client.connection_id = Some(connection_id);
        }
    }

    fn serve(&mut self, conn: &mut usize, bytes: &[u8], out: &mut Vec<u8>) -> Served {
        let mut words = std::mem::take(&mut self.words);
        let mut served = Served::default();
        self.looked = false;
        while !self.looked {
            let rest = &bytes[served.consumed..];
            match resp::command(rest, &self.plan.limits, &mut words) {
                Ok(None) => break,
                Ok(Some(taken)) => {
                    served.consumed += taken;
                    if words.is_empty() {
                        continue;
                    }
                    let command = Command { bytes: rest, words: &words };
                    match self.obey(*conn, command, out) {
                        After::Next => {}
                        After::Wait => {
                            let owner = self.table.owner(command.get(1));
                            self.keep_waiting(*conn, owner, &rest[..taken]);
                            break;
                        }
                        After::Page => {
                            served = self.page(rest, served.consumed - taken, out);
                            break;
                        }
                        After::Close => {
                            served.close = true;
                            break;
                        }
                    }
                }
                Err(malformed) => {
                    resp::push_error(out, format!("ERR {malformed}").as_bytes());
                    if let Some(client) = &self.clients[*conn] {
                        (self.tell)(Event::Malformed(&client.peer, malformed));
                    }
                    served.close = true;
                    break;
                }
            }
        }
        self.words = words;
        served
    }

    fn waits(&self, conn: &usize) -> bool {
        self.clients[*conn].as_ref().is_some_and(|client| client.waits.is_some())
    }

    fn yields(&self, _: &usize) -> bool {
        self.looked
    }

    fn unsettled(&self) -> bool {
        self.notes.unsettled(&self.table)
    }

    fn wake_at(&self) -> Option<u64> {
        let waits = self.waiters.iter().map(|waiter| waiter.until).min();
        [waits, self.lives.next(), self.notes.wake_at()].into_iter().flatten().min()
    }

    fn due(&mut self, now: u64) {
        self.now = now;
        self.expire();
    }

    fn late_reply(&mut self, out: &mut Vec<u8>) -> Option<ConnectionId> {
        while let Some(at) = self.next_waiter() {
            let Some(waiter) = self.waiters.remove(at) else {
                break;
            };
            let client = waiter.client;
            if waiter.lost {
                self.counts.errors += 1;
                resp::push_error(out, Refusal::Ended.to_string().as_bytes());
                return self.waited(client);
            }
            let mut words = Words::default();
            let read = resp::command(&waiter.command, &self.plan.limits, &mut words);
            debug_assert!(matches!(read, Ok(Some(_))), "it was read before");
            let command = Command { bytes: &waiter.command, words: &words };
            match self.answer(client, command, out) {
                After::Wait => {
                    let met = self.clients[client].as_ref().and_then(|client| client.waits);
                    if let Some((_, met)) = met {
                        // it keeps its place, and its time
                        self.waiters.insert(at, Waiter { met, ..waiter });
                    }
                }
                After::Next | After::Page | After::Close => return self.waited(client),
            }
        }
        None
    }

    fn settle(&mut self) -> io::Result<()> {
        self.notes.settle(self.now, &self.table, self.plan.epoch)
    }

    fn unsecured(&mut self, conn: &mut usize, error: &io::Error) {
        if let Some(client) = &self.clients[*conn] {
            (self.tell)(Event::Unsecured(&client.peer, error));
        }
    }

    fn close(&mut self, conn: usize, _: Ended) {
        let Some(client) = self.clients[conn].take() else {
            return;
        };
        self.free.push(conn);
        self.waiters.retain(|waiter| waiter.client != conn);
        for id in client.owners {
            if self.lives.of(id) != Life::Connection {
                continue;
            }
            self.counts.expired += u64::from(self.end_owner(id));
        }
    }

    fn turn_away(&mut self, peer: &Peer, why: TurnedAway) -> Vec<u8> {
        (self.tell)(Event::TurnedAway(peer, why));
        let mut farewell = Vec::new();
        resp::push_error(&mut farewell, format!("ERR {why}").as_bytes());
        farewell
    }

    fn cannot_accept(&mut self, error: &io::Error) {
        (self.tell)(Event::CannotAccept(error));
    }
}

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    fn keep_waiting(&mut self, client: usize, owner: Option<OwnerId>, command: &[u8]) {
        let waits = self.clients[client].as_ref().and_then(|client| client.waits);
        if let Some((until, met)) = waits {
            self.counts.waited += 1;
            let (lost, command) = (false, command.to_vec());
            self.waiters.push_back(Waiter { client, until, met, owner, lost, command });
        }
    }
}

impl<C, R> fmt::Debug for LockServer<'_, C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockServer").field("counts", &self.counts).finish_non_exhaustive()
    }
}
