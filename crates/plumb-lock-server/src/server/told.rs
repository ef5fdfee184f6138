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
        then: Alone,
    },
    /// The replica is away, and a majority of the witnesses keeps that none may follow.
    LetAlone,
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
        /// The epoch of that one; 0: this one has a part of the locks of a server that it followed.
        by: u64,
    },
    /// A replica has locks of an epoch of which some may be missing here.
    ReplicaIsNewer {
        /// Where it is.
        peer: &'a Peer,
        /// That epoch.
        epoch: u64,
    },
    /// The server whose place this one took was started again as a primary, under a newer epoch,
    /// and has given way.
    StartedAgain {
        /// That epoch.
        epoch: u64,
    },
    /// The server there gives locks out, too, and neither gives way.
    Contested(&'a Peer),
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

/// What a primary does whose replica is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alone {
    /// It gives locks out all the same.
    GoesOn,
    /// It will, once a majority of the witnesses keeps that nobody takes its place meanwhile.
    AsksWitnesses,
    /// It gives none out.
    Waits,
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
            Self::Suspended { why, then: Alone::GoesOn } => write!(
                f,
                "replication suspended: the replica {why}; going on alone: what is locked now is \
                 lost with this server"
            ),
            Self::Suspended { why, then: Alone::AsksWitnesses } => write!(
                f,
                "replication suspended: the replica {why}; asking the witnesses whether to go on \
                 alone: no lock is given out until a majority of them agrees"
            ),
            Self::Suspended { why, then: Alone::Waits } => write!(
                f,
                "replication suspended: the replica {why}; no lock is given out until it is back"
            ),
            Self::LetAlone => f.write_str(
                "a majority of the witnesses agrees: going on alone: what is locked now is lost \
                 with this server",
            ),
            Self::ReplicaIsNewer { peer, epoch } => write!(
                f,
                "the replica {peer} has locks of epoch {epoch}, of which some may be missing here: \
                 nothing is given out here any more; promote that one by force, and start this \
                 server with --replica-of it"
            ),
            Self::StartedAgain { epoch } => write!(
                f,
                "the server whose place this one took was started again as a primary, under epoch \
                 {epoch}: it was told, and gives nothing out; start it with --replica-of this one"
            ),
            Self::Contested(peer) => write!(
                f,
                "ATTENTION: the server at {peer} gives locks out, too, and a lock may be held twice: \
                 stop one of the two, and start it again with --replica-of the other"
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
                "elected in term {}, under epoch {}: no other server gives locks out",
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
                "{peer} was elected in term {}, under epoch {}; {}",
                it.ballot.term,
                it.epoch,
                if it.partner == 0 { "no replica may follow" } else { "its replica may follow" }
            ),
            Self::Fenced { by: 0 } => f.write_str(
                "a part of the locks of a server that this one followed: nothing is given out here; \
                 start this server again with --replica-of that one",
            ),
            Self::Fenced { by } => write!(
                f,
                "replaced by a server with epoch {by}: nothing is given out here any more; start \
                 this server again with --replica-of that one"
            ),
        }
    }
}
