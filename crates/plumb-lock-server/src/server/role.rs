//! Which of two servers gives locks out, and how that changes.

mod fence;
mod other;
pub(super) mod voting;
mod witness;

use plumb_engine::{ConnectionId, Endpoint};
use plumb_lock_pair::replication::{Hello, Primary, PrimaryPlan, Replica, Without};
use plumb_lock_table::journal::{Lives, Notes, Origin};
use plumb_lock_table::table::{Fault, Rules, Table};
use plumb_measure::Clock;
use plumb_wire::resp;

use super::connection::Purpose;
use super::refusal::Refusal;
use super::told::Told;
use super::words::Command;
use super::{Event, LockServer, lives_of};
use crate::password::Login;

use voting::Voting;
use witness::Witnessing;

/// Fence numbers that a primary may have given out unknown to its replica, if no clock says better.
const FENCES_UNKNOWN: u64 = 1_000_000;

/// What a server is told of replication.
#[derive(Clone, Debug)]
pub struct ReplicationPlan {
    /// Where its primary is; empty: it is one itself.
    pub primary: Vec<Endpoint>,
    /// What it does as a primary without a replica.
    pub without: Without,
    /// The other side is away when it is silent for so long, nanoseconds.
    pub timeout_ns: u64,
    /// Bytes of batches that are kept for a replica that comes back.
    pub backlog_bytes: u64,
    /// A number that no other server and no other start has.
    pub id: u64,
    /// How it makes itself known to the other server, and to witnesses.
    pub login: Option<Login>,
    /// Where its witnesses are: all addresses of each. None: a person decides.
    pub witnesses: Vec<Vec<Endpoint>>,
    /// A number that it keeps as long as it keeps every lock; 0: it keeps none over a restart.
    pub identity: u64,
}

impl Default for ReplicationPlan {
    fn default() -> Self {
        Self {
            primary: Vec::new(),
            without: Without::Continue,
            timeout_ns: 2_000_000_000,
            backlog_bytes: 16 << 20,
            id: 1,
            login: None,
            witnesses: Vec::new(),
            identity: 0,
        }
    }
}

/// What a server is.
#[derive(Debug)]
pub(super) enum Role {
    /// It gives locks out.
    Primary(Primary),
    /// It has what its primary has.
    Replica(Replica),
    /// It was a primary until one with this epoch took its place. 0: it was started as one with a
    /// part of the locks of a server that it followed.
    Fenced { by: u64 },
    /// It keeps who gives locks out, and no lock.
    Witness(Witnessing),
}

/// The state of replication beside the table.
#[derive(Debug)]
pub(super) struct Replicated {
    pub(super) plan: ReplicationPlan,
    pub(super) role: Role,
    /// What it has to do with witnesses, if it has any.
    pub(super) voting: Option<Voting>,
    /// The connection to the other server, whoever made it.
    pub(super) link: Option<ConnectionId>,
    /// Connections that are to be closed.
    pub(super) drops: Vec<ConnectionId>,
    /// Where the next slice of a snapshot begins.
    pub(super) cursor: u32,
    /// The replica was told something in this turn.
    pub(super) said: bool,
    /// The command served last shows what is locked.
    pub(super) shows: bool,
    /// Of a replica: how long owners and keys live.
    pub(super) lives: Lives,
    /// The connection to the other server that is made, or stands, and since when, nanoseconds.
    dialled: Option<(usize, u64)>,
    dial_at: u64,
    dials: usize,
    pub(super) promotions: u64,
    /// The epoch that counts when another server says that it has taken this one's place, or that
    /// it has locks: of those up to this one, none that was given out is missing here.
    pub(super) origin: u64,
    /// Of locks of its own origin some may be missing here.
    pub(super) lacks: bool,
    /// Somebody has decided for this server's own epoch since it was started.
    pub(super) decided: bool,
    /// The newest epoch of a server that has given way to this one.
    yielded: u64,
    /// Until when this server counts as one of two that give locks out, nanoseconds.
    pub(super) contested_until: u64,
    /// When this server was promoted last, milliseconds since 1970; 0: never.
    pub(super) promoted_ms: u64,
    /// What was said of the primary last, so that it is not said again and again.
    pub(super) complaint: String,
}

impl Replicated {
    /// One that goes on from an epoch with locks of this origin; `held` is what it says of them as
    /// a replica.
    pub(super) fn new<R: Rules>(
        plan: ReplicationPlan,
        (epoch, origin, held): (u64, Origin, u64),
        rows: u32,
    ) -> Self {
        let role = if !plan.primary.is_empty() {
            Role::Replica(Replica::restored(held))
        } else if origin.is_part() && !R::makes(Fault::ServesAPart) {
            Role::Fenced { by: 0 }
        } else {
            Role::Primary(Primary::new(primary_plan(&plan, rows), epoch, plan.id))
        };
        Self {
            voting: Voting::new::<R>(&plan),
            plan,
            role,
            link: None,
            drops: Vec::new(),
            cursor: 0,
            said: false,
            shows: false,
            lives: Lives::default(),
            dialled: None,
            dial_at: 0,
            dials: 0,
            promotions: 0,
            origin: origin.covers(),
            lacks: origin.of_replica,
            decided: false,
            yielded: 0,
            contested_until: 0,
            promoted_ms: 0,
            complaint: String::new(),
        }
    }
}

/// The epoch that a replica says of the locks that it was started with, of which something may be
/// missing at a primary.
pub(super) fn held_of<R: Rules>(origin: Origin, table: &Table<R>, notes: &Notes) -> u64 {
    let undecided = origin == Origin::default() && table.usage().locks.actual > 0;
    match origin.epoch {
        // what it gave out is gone, but for what was inherited
        _ if notes.keeps_inherited_only() => 0,
        _ if R::makes(Fault::ForgetsItsEpoch) => 0,
        0 if undecided && !R::makes(Fault::ForgetsWhatItGaveOut) => Hello::UNDECIDED,
        epoch => epoch,
    }
}

fn primary_plan(plan: &ReplicationPlan, rows: u32) -> PrimaryPlan {
    // among witnesses the primary misses its replica before that takes its place
    let timeout_ns = match plan.witnesses.len() {
        0 => plan.timeout_ns,
        _ => voting::trusted_ns(plan.timeout_ns),
    };
    PrimaryPlan {
        without: plan.without,
        timeout_ns,
        ping_ns: plan.timeout_ns / 8,
        backlog_bytes: plan.backlog_bytes,
        rows,
    }
}

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// Refuses what has to do with locks where this server may not give any out.
    pub(super) fn may_give_out(&self) -> Result<(), Refusal> {
        match &self.replicated.role {
            Role::Primary(_) if !self.is_let() => Err(Refusal::NoMajority),
            Role::Primary(primary) if primary.may_serve() => Ok(()),
            Role::Primary(_) => Err(Refusal::NoReplicas),
            Role::Replica(_) | Role::Fenced { .. } | Role::Witness(_) => Err(self.no_primary()),
        }
    }

    pub(super) fn no_primary(&self) -> Refusal {
        match &self.replicated.role {
            Role::Fenced { by: 0 } => Refusal::Part,
            Role::Fenced { by } => Refusal::Replaced(*by),
            Role::Witness(_) => Refusal::IsWitness,
            Role::Replica(_) | Role::Primary(_) => {
                let of = self.replicated.plan.primary.first();
                Refusal::Replica(of.map(ToString::to_string).unwrap_or_default())
            }
        }
    }

    /// `REPLICA STREAM ...`, `REPLICA PROMOTE [FORCE]` and `REPLICA FENCE epoch [replaced]`.
    pub(super) fn replica(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let remedy = "REPLICA knows STREAM, PROMOTE, PROMOTE FORCE and FENCE epoch [replaced]";
        match command.len() {
            2 if command.is(1, "PROMOTE") => self.promote_server("a client", false)?,
            3 if command.is(1, "PROMOTE") && command.is(2, "FORCE") => {
                self.promote_server("a client, by force", true)?;
            }
            3 | 4 if command.is(1, "FENCE") => {
                let replaced = if command.len() == 4 { command.number(3, "an epoch")? } else { 0 };
                if !self.fence(client, (command.number(2, "an epoch")?, replaced))? {
                    // the other server says so again and again
                    resp::push_integer(out, self.plan.epoch);
                    return Ok(());
                }
            }
            _ if command.is(1, "STREAM") => return self.take_replica(client, command, out),
            _ => return Err(Refusal::Word(command.text(1), remedy)),
        }
        let text = (0..command.len()).map(|at| command.text(at)).collect::<Vec<_>>().join(" ");
        self.audit(client, &text, format!("epoch {}", self.plan.epoch));
        resp::push_integer(out, self.plan.epoch);
        Ok(())
    }

    /// This server gives locks out from now on, under an epoch of its own. One that does already
    /// goes on; by force under an epoch that is newer than any promotion before, unless others have
    /// decided for the one it has.
    pub(super) fn promote_server(&mut self, by: &str, force: bool) -> Result<(), Refusal> {
        let elected = self.replicated.voting.is_some();
        let in_sync = match &self.replicated.role {
            Role::Primary(primary) if primary.may_serve() && self.is_let() => {
                let others = elected || primary.replica().is_some();
                if force && others {
                    self.decide_for(self.plan.epoch);
                }
                if !force || others {
                    return Ok(());
                }
                true
            }
            Role::Witness(_) => return Err(Refusal::IsWitness),
            Role::Fenced { .. } | Role::Primary(_) | Role::Replica(_) if elected => {
                if !force {
                    return Err(Refusal::Witnesses);
                }
                true
            }
            Role::Primary(_) if force => true,
            Role::Primary(_) => return Err(Refusal::Deserted),
            Role::Replica(replica) => replica.in_sync() || R::makes(Fault::PromotesBehind),
            Role::Fenced { .. } if force => true,
            Role::Fenced { by: 0 } => return Err(Refusal::PartOnly),
            Role::Fenced { by } => return Err(Refusal::Superseded(*by)),
        };
        if !in_sync && !force {
            return Err(Refusal::Behind);
        }
        let epoch = self.next_epoch();
        self.take_over(by, epoch);
        self.stand_by_force();
        Ok(())
    }

    /// This server's `epoch` is one that it does not give up for a promotion that knows nothing of
    /// it, also when it is started again with its journal.
    pub(super) fn decide_for(&mut self, epoch: u64) {
        (self.replicated.origin, self.replicated.decided) = (epoch, true);
        self.replicated.lacks = false;
        self.notes.decide_for(epoch);
    }

    /// Higher than any that was before.
    pub(super) fn next_epoch(&self) -> u64 {
        let by = match self.replicated.role {
            Role::Fenced { by } => by,
            Role::Primary(_) | Role::Replica(_) | Role::Witness(_) => 0,
        };
        self.wall_us().max(self.plan.epoch.max(by).saturating_add(1))
    }

    fn wall_us(&self) -> u64 {
        self.now.wrapping_add(self.wall_offset_ns) / 1_000
    }

    /// This server gives locks out under this epoch.
    pub(super) fn take_over(&mut self, by: &str, epoch: u64) {
        let fences = self.table.next_fence().saturating_add(FENCES_UNKNOWN).max(self.wall_us());
        // whatever the old primary gave out alone is below that
        self.table.raise_fence(fences);
        self.plan.epoch = epoch;
        self.decide_for(epoch);
        if let Role::Replica(_) = self.replicated.role {
            let lives = std::mem::take(&mut self.replicated.lives);
            self.lives = lives_of(&self.table, &lives, self.now, self.plan.grace_ns);
        }
        self.replicated.promotions += 1;
        self.replicated.promoted_ms = self.wall_ms();
        let stream = self.replicated.plan.id.wrapping_add(self.replicated.promotions);
        let rows = self.table.usage().locks.maximum;
        let mut primary = Primary::new(primary_plan(&self.replicated.plan, rows), epoch, stream);
        primary.go_alone();
        self.replicated.role = Role::Primary(primary);
        self.notes.note_batches(false);
        let link = self.replicated.link.take();
        if link.is_none()
            && let Some((at, _)) = self.replicated.dialled
            && let Some(client) = &mut self.clients[at]
        {
            // it was about to be followed; once the connection stands, it is told
            client.purpose = Purpose::Herald { replies: 0 };
        }
        self.replicated.drops.extend(link);
        self.replicated.dial_at = self.now;
        (self.tell)(Event::Replication(Told::Promoted { epoch, fences, by }));
    }
}
