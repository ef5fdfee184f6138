//! What the operator is told of two servers and their witnesses.

use std::fmt;

use plumb_engine::Peer;
use plumb_lock_pair::election::Register;
use plumb_lock_pair::replication::Attached;

/// Something about two servers that the operator wants to know.
#[derive(Debug)]
pub enum Told<'a> {
    /// A replica follows.
    Follows(&'a Peer, Attached),
    /// The replica has everything.
    InSync,
    /// The replica is away.
    Suspended {
        /// Why.
        why: &'a str,
        /// Whether locks are given out all the same.
        goes_on: bool,
    },
    /// This replica has everything.
    ReplicaInSync,
    /// The primary is away.
    PrimaryLost(&'a str),
    /// This server gives locks out from now on.
    Promoted {
        /// Its epoch.
        epoch: u64,
        /// Its next fence number.
        fences: u64,
        /// Who said so.
        by: &'a str,
    },
    /// Another server has taken this one's place.
    Fenced {
        /// The epoch of that one.
        by: u64,
    },
    /// A majority of the witnesses lets this server give locks out.
    Elected(Register),
    /// A majority of the witnesses keeps that another one does.
    Outvoted(Register),
    /// This replica asks the witnesses for the place of its primary.
    Stands,
    /// This server has witnesses, and no majority of them can be asked.
    Witness {
        /// Which of them, from one.
        number: usize,
        /// What is the matter.
        why: &'a str,
    },
    /// This witness keeps another server or replica from now on.
    Kept(&'a Peer, Register),
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Follows(peer, Attached::GoesOn) => {
                write!(f, "replica {peer} follows, from where it was")
            }
            Self::Follows(peer, Attached::Snapshot) => {
                write!(f, "replica {peer} follows, and gets every lock")
            }
            Self::InSync => {
                f.write_str("replica in sync: no reply is sent before it has the locks")
            }
            Self::Suspended { why, goes_on: true } => write!(
                f,
                "replication suspended: the replica {why}; going on alone: what is locked now is \
                 lost with this server"
            ),
            Self::Suspended { why, goes_on: false } => write!(
                f,
                "replication suspended: the replica {why}; no lock is given out until it is back"
            ),
            Self::ReplicaInSync => f.write_str("in sync with the primary"),
            Self::PrimaryLost(why) => write!(f, "the primary {why}"),
            Self::Promoted { epoch, fences, by } => write!(
                f,
                "promoted by {by}: this server gives locks out under epoch {epoch}, fence numbers \
                 begin at {fences}; alone until a replica follows"
            ),
            Self::Elected(it) => write!(
                f,
                "elected in term {}: this server gives locks out under epoch {}",
                it.ballot.term, it.epoch
            ),
            Self::Outvoted(it) => write!(
                f,
                "not elected: a majority of the witnesses keeps that another server gives locks \
                 out, under epoch {}, or that locks are missing here; start this server with \
                 --replica-of that one, or promote it by force where there is none",
                it.epoch
            ),
            Self::Stands => {
                f.write_str("the primary is silent: asking the witnesses for its place")
            }
            Self::Witness { number, why } => write!(f, "witness {number} {why}"),
            Self::Kept(peer, it) => write!(
                f,
                "{peer} gives locks out in term {} under epoch {}; {}",
                it.ballot.term,
                it.epoch,
                if it.partner == 0 { "no replica may follow" } else { "its replica may follow" }
            ),
            Self::Fenced { by } => write!(
                f,
                "replaced by a server with epoch {by}: nothing is given out here any more; start \
                 this server again with --replica-of that one"
            ),
        }
    }
}
