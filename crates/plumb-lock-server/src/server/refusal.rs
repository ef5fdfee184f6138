//! Why a command is refused, as clients read it.

use plumb_engine::TurnedAway;
use plumb_lock_pair::replication;
use plumb_lock_table::table::{Malformed, TablePart};

/// The kind of [`Refusal::Contested`], by which a server that was promoted knows it.
pub(super) const CONTESTED: &str = "CONTESTED";
/// The kind of [`Refusal::PromotedLater`]; the epoch follows.
pub(super) const PROMOTED_LATER: &str = "REPLACED";

/// An error reply. The first word is its kind, as clients of Redis expect.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("ERR unknown command '{0}'; see docs/lock.md for those there are")]
    Unknown(String),
    #[error("ERR wrong number of arguments for '{0}' command")]
    Arity(&'static str),
    #[error("ERR syntax error: '{0}' was not expected; {1}")]
    Word(String, &'static str),
    #[error("ERR '{0}' is not a number that fits here; {1}")]
    Number(String, &'static str),
    #[error("ERR {0}")]
    Malformed(#[from] Malformed),
    #[error("ERR the name of a lock must have 1 to 30 bytes")]
    NoName,
    #[error("FULL the lock table holds no more {}; release locks, or give the server a larger --table-size", .0.name())]
    Full(TablePart),
    #[error("LOST the server's epoch is {0}: locks of another epoch are gone; take them anew")]
    Lost(u64),
    #[error(
        "LOST what the owner held ended while it waited: its lease or its connection was over, or \
         an administrator removed it; take it anew"
    )]
    Ended,
    #[error("READONLY this server is a replica; ask its primary, {0}")]
    Replica(String),
    #[error("READONLY this server was replaced by one with epoch {0}; ask that one")]
    Replaced(u64),
    #[error(
        "READONLY this server has a part of the locks of a server that it followed, and gives none \
         out; ask that one"
    )]
    Part,
    #[error(
        "NOREPLICAS no replica has what is locked here, and this server was told to wait for one; \
         start one with --replica-of this server, or promote this server with plumb lock promote"
    )]
    NoReplicas,
    #[error(
        "NOREPLICAS no majority of the witnesses lets this server give locks out: are they there, \
         and has its replica taken over? ask again, or ask the other server"
    )]
    NoMajority,
    #[error("ERR this server is a witness: it keeps no locks; ask the lock servers")]
    IsWitness,
    #[error("ERR this server is no witness; plumb lock witness starts one")]
    NoWitness,
    #[error("{0}")]
    NoRequest(#[from] plumb_lock_pair::election::NoRequest),
    #[error(
        "ERR the witnesses of this server decide who gives locks out: stop the primary, and its \
         replica takes over; with --force this server does so at once, whatever they keep"
    )]
    Witnesses,
    #[error("ERR {0}")]
    NoReplica(#[from] replication::Refused),
    #[error(
        "ERR this replica may lack locks that somebody was granted: its primary has not said that \
         it is in sync; promote it by force only if what is missing may be lost"
    )]
    Behind,
    #[error(
        "ERR this server waits for its replica, which may have been promoted meanwhile; promote \
         this one by force only if that one is stopped or still a replica"
    )]
    Deserted,
    #[error(
        "ERR this server was replaced by one with epoch {0}, which gives locks out; promote it by \
         force only if that one is stopped"
    )]
    Superseded(u64),
    #[error(
        "ERR this server has a part of the locks of a server that it followed: start it with \
         --replica-of that one; promote it by force only if what is missing may be lost"
    )]
    PartOnly,
    #[error(
        "{CONTESTED} this server gives locks out, too, under epoch {0}, which is newer: a lock may \
         be held twice; stop one of the two, and start it again with --replica-of the other"
    )]
    Contested(u64),
    #[error(
        "{PROMOTED_LATER} {0} is the epoch under which this server was promoted, later than that one"
    )]
    PromotedLater(u64),
    #[error("ERR this server's epoch is {0}, which is newer")]
    Newer(u64),
    #[error("NOPERM this user has no permissions to run the '{0}' command: it needs +@{1}")]
    NoRight(String, &'static str),
    #[error("NOPERM this user has no permissions to lock '{0}': no pattern of its covers that")]
    Outside(String),
    #[error("NOAUTH Authentication required.")]
    NoAuth,
    #[error("WRONGPASS invalid username-password pair or user is disabled.")]
    WrongPassword,
    #[error("WRONGPASS too many passwords from this address were wrong; try again in a minute")]
    Guesses,
    #[error("ERR AUTH called without any password configured for this server.")]
    NoPassword,
    #[error("NOPROTO unsupported protocol version")]
    Protocol,
    #[error("ERR {0}")]
    NoPlace(TurnedAway),
    #[error("ERR DB index is out of range; there is only 0")]
    Database,
    #[error(
        "ERR syntax error: a lock is SET key value NX, or XX to set it again, with PX milliseconds \
         or EX seconds; nothing else can be set here"
    )]
    Set,
    #[error(
        "ERR the key has another value, which another connection has set: it is somebody's lock; \
         release it by a script that compares the value"
    )]
    OfAnother,
    #[error("WRONGTYPE Operation against a key holding the wrong kind of value")]
    WrongType,
    #[error("ERR the lock is held 65,535 times already")]
    HeldTooOften,
    #[error(
        "ERR a client may subscribe to at most {0} channels, whose names have at most {1} bytes"
    )]
    Channels(usize, usize),
    #[error(
        "ERR Can't execute '{0}': only SUBSCRIBE / UNSUBSCRIBE / PING / QUIT are allowed in this \
         context"
    )]
    Subscribed(String),
    #[error("NOSCRIPT No matching script. Please use EVAL.")]
    NoScript,
    #[error("ERR the lock would be inherited more than 65,535 times")]
    Counter,
    #[error(
        "ERR script {0} is not one of the known lock scripts, and no other is run here; see docs/lock.md"
    )]
    Script(String),
}
