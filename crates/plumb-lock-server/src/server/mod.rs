//! The lock server: commands in, replies out, over any number of connections.
//!
//! One thread owns the table. A command that cannot be granted at once and says `WAIT` is tried
//! again when the lock it met is gone, and answered at the latest when its time is over. What
//! takes long is done in slices: nobody is held up by what somebody else has asked for.

mod beyond;
mod care;
mod channels;
mod connection;
mod dispatch;
mod enqueue;
mod figures;
mod follow;
mod guesses;
mod keys;
mod listing;
mod lives;
mod mark;
mod notices;
mod refusal;
mod removal;
mod replicate;
mod rights;
mod role;
mod scrape;
mod service;
mod stamps;
mod standing;
mod terms;
mod told;
mod waiters;
mod waiting;
mod words;

use std::fmt;
use std::io;

use plumb_engine::{Peer, TurnedAway};
use plumb_measure::{Clock, Tick};
use plumb_wire::resp::{self, Words};

use crate::plain::plain;
use crate::users::Users;
use channels::Channels;
use connection::Client;
use guesses::Guesses;
use keys::{Latches, Scripts, UnknownScripts};
use lives::{Key, Life, Lives, NEVER};
use plumb_lock_table::journal::{self, Notes, Restored};
use plumb_lock_table::table::{OwnerId, Rules, Sound, Table, TablePart};
use refusal::Refusal;
use removal::Search;
pub use rights::Audited;
pub use role::ReplicationPlan;
use role::{Replicated, Role, held_of};
pub use told::{Alone, Told};
use waiters::{Waiters, Wish};

/// What the server allows, and who it is.
#[derive(Clone, Debug)]
pub struct ServerPlan {
    /// Limits of one command.
    pub limits: resp::Limits,
    /// The longest `WAIT`, nanoseconds.
    pub wait_ns_max: u64,
    /// Clients must name it before anything else; `None`: nobody is asked.
    pub password: Option<Vec<u8>>,
    /// Clients must log in as one of these, and may do what it may; `None`: all may do everything.
    pub users: Option<Users>,
    /// Tells clients that locks were lost: it is another number then.
    pub epoch: u64,
    /// How long after a restart an owner without a lease may come back, nanoseconds.
    pub grace_ns: u64,
    /// Tells the wall clock less the monotonic clock, nanoseconds. It is asked again and again: the
    /// wall clock may be set while the server runs.
    pub wall_offset: fn() -> u64,
    /// What the loop that serves does about its processor's tick, as clients are told.
    pub tick: Tick,
    /// Whether it is one of two.
    pub replication: ReplicationPlan,
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
    /// The script with this SHA-1 is not known, and was called for this lock; told once for each script.
    UnknownScript(&'a str, &'a str),
    /// Passwords were wrong, so many since the last time; told at most once a minute.
    Guessed(&'a Peer, u64),
    /// What becomes of the other one of two servers.
    Replication(Told<'a>),
    /// Somebody did what only few may.
    Audited(Audited<'a>),
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
            Self::UnknownScript(script, lock) => write!(
                f,
                "script {script} is not one of the known lock scripts, and was called for the lock `{}`: that \
                 lock ends with its time, whether the script was to renew or to release it; see \"not usable\" \
                 in docs/lock.md (told once for each script)",
                plain(lock)
            ),
            Self::Audited(audited) => audited.fmt(f),
            Self::Replication(told) => told.fmt(f),
            Self::Guessed(peer, 1) => write!(f, "wrong password from {peer}"),
            Self::Guessed(peer, times) => {
                write!(f, "wrong password {times} times, the last time from {peer}")
            }
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
    guesses: u64,
    /// Owners and keys that ended by themselves, and requests that were tried again.
    cared: u64,
}

/// The work of one turn of the loop that serves.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    /// All work when it began.
    began: u64,
    /// The most of one turn.
    peak: u64,
    /// Its number, from one.
    number: u64,
}

/// The lock server as a service of the engine. Its table decides by the rules `R`.
pub struct LockServer<'a, C, R = Sound> {
    plan: ServerPlan,
    table: Table<R>,
    notes: Notes,
    lives: Lives,
    scripts: Scripts,
    unknown_scripts: UnknownScripts,
    latches: Latches,
    channels: Channels,
    awaited: notices::Awaited,
    clients: Vec<Option<Client>>,
    free: Vec<usize>,
    connections_so_far: u64,
    waiters: Waiters,
    /// Waiting requests that were tried in this turn.
    tried: u32,
    /// What the last command that has to wait waits for; `None`: no lock.
    wish: Option<Wish>,
    searches: Vec<Search>,
    /// Owners whose connections are gone.
    left: Vec<Vec<OwnerId>>,
    replicated: Replicated,
    guesses: Guesses,
    /// Wrong passwords that the operator was told of, and when others are told, nanoseconds.
    guesses_told: u64,
    guesses_told_until: u64,
    counts: Counts,
    clock: C,
    now: u64,
    /// Wall clock less monotonic clock, and when it was asked for, nanoseconds.
    wall_offset_ns: u64,
    wall_asked_at: u64,
    started: u64,
    /// The last command looked at many locks: others come first now.
    looked: bool,
    /// Times of owners or keys are over that have not ended yet.
    behind: bool,
    turn: Turn,
    /// Nobody is told again of a full table before this moment, nanoseconds.
    full_told_until: u64,
    words: Words,
    tell: &'a mut (dyn FnMut(Event<'_>) + Send),
}

/// After a restart every lease begins anew, and who lived with its connection has some grace.
fn lives_of<R: Rules>(
    table: &Table<R>,
    restored: &journal::Lives,
    now: u64,
    grace_ns: u64,
) -> Lives {
    const MS: u64 = 1_000_000;
    let in_ms = |ms: u64| now.saturating_add(ms.saturating_mul(MS)); // a file may say anything
    let mut lives = Lives::with_room(table.usage().owners.maximum);
    for lock in table.locks() {
        if let Some((id, _)) = table.holder(lock.name, lock.argument)
            && lock.name.is_empty()
        {
            let ms = restored.keys.get(lock.argument).copied().unwrap_or(0);
            let until = if ms == 0 { NEVER } else { in_ms(ms) };
            lives.set_key(Key { lock: id, until, connection: 0 });
        }
        let Some(id) = table.owner(lock.owner) else {
            continue;
        };
        let life = match restored.owners.get(lock.owner) {
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
    /// It waits, for what [`LockServer::wish`] says.
    Wait,
    /// It is the first line of a request over HTTP.
    Page,
    /// What follows is the stream of a replica.
    Stream,
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
        let replica = !plan.replication.primary.is_empty();
        let rows = restored.table.usage().locks.maximum;
        let held = held_of(restored.origin, &restored.table, &notes);
        let whose = (plan.epoch, restored.origin, held);
        let mut replicated = Replicated::new::<R>(plan.replication.clone(), whose, rows);
        if restored.replaced_by > 0 && !replica && replicated.voting.is_none() {
            replicated.role = Role::Fenced { by: restored.replaced_by };
        }
        let lives = if replica {
            // nothing ends here before its primary says so, or it takes that one's place
            replicated.lives = restored.lives;
            Lives::default()
        } else {
            lives_of(&restored.table, &restored.lives, now, plan.grace_ns)
        };
        Self {
            wall_offset_ns: (plan.wall_offset)(),
            wall_asked_at: now,
            plan,
            table: restored.table,
            notes,
            lives,
            scripts: Scripts::default(),
            unknown_scripts: UnknownScripts::default(),
            latches: Latches::default(),
            channels: Channels::default(),
            awaited: notices::Awaited::default(),
            clients: Vec::new(),
            free: Vec::new(),
            connections_so_far: 0,
            waiters: Waiters::default(),
            tried: 0,
            wish: None,
            searches: Vec::new(),
            left: Vec::new(),
            replicated,
            guesses: Guesses::default(),
            guesses_told: 0,
            guesses_told_until: 0,
            counts: Counts::default(),
            clock,
            now,
            started: now,
            looked: false,
            behind: false,
            turn: Turn { number: 1, ..Turn::default() },
            full_told_until: 0,
            words: Words::default(),
            tell,
        }
    }

    /// A new connection; its number.
    fn seat(&mut self, client: Client) -> usize {
        match self.free.pop() {
            Some(at) => {
                self.clients[at] = Some(client);
                at
            }
            None => {
                self.clients.push(Some(client));
                self.clients.len() - 1
            }
        }
    }

    /// What is kept of the journal, for its end.
    #[must_use]
    pub fn into_notes(self) -> Notes {
        self.notes
    }

    /// The most work of one turn of the loop so far: commands, requests tried again, owners and
    /// keys that ended, and rows beyond those of ordinary requests.
    #[must_use]
    pub fn turn_work_peak(&self) -> u64 {
        self.turn.peak.max(self.work_of_turn())
    }

    /// All work so far, in the same units.
    #[must_use]
    pub fn work(&self) -> u64 {
        self.counts.commands + self.counts.cared + self.table.worked()
    }

    fn work_of_turn(&self) -> u64 {
        self.work() - self.turn.began
    }

    /// Asks for the wall clock anew when that was a while ago.
    fn look_at_wall_clock(&mut self) {
        const AGAIN_NS: u64 = 100_000_000;
        if self.now.saturating_sub(self.wall_asked_at) >= AGAIN_NS {
            (self.wall_offset_ns, self.wall_asked_at) = ((self.plan.wall_offset)(), self.now);
        }
    }

    /// The wall clock as of the last wake, milliseconds since 1970.
    fn wall_ms(&self) -> u64 {
        self.now.wrapping_add(self.wall_offset_ns) / 1_000_000
    }

    /// A request found no room.
    fn full(&mut self, part: TablePart) -> Refusal {
        const QUIET_NS: u64 = 60_000_000_000;
        if self.now >= self.full_told_until {
            self.full_told_until = self.now + QUIET_NS;
            (self.tell)(Event::Full(part.name()));
        }
        Refusal::Full(part)
    }
}

impl<C, R> fmt::Debug for LockServer<'_, C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockServer").field("counts", &self.counts).finish_non_exhaustive()
    }
}
