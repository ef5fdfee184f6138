//! What the messages of one unit of work do at one data server: one transaction there.
//!
//! Statements whose answers nobody uses are gathered and sent together, up to [`BATCH`] of them. One
//! that is refused has its message left out: the transaction goes back to where the batch began, and
//! the others of the batch are sent again in halves. A message that needs an answer, or has more
//! statements than a batch, stands behind a savepoint of its own instead.

mod batch;
mod ending;

use std::collections::BTreeSet;
use std::sync::Arc;

use plumb_serve::database::{Answer, DatabaseError, Statement, Stopped};

use super::Origin;
use super::insert::inserts_row;
use super::pool::Lease;
use super::server::{CommitMode, DataServer};
use plumb_queue::ExecutionId;
use plumb_transaction::{OutsideError, SessionTimes};

/// Statements that are sent together at most.
pub(super) const BATCH: usize = 100;

const OUT_OF_MESSAGE: [&str; 2] =
    ["ROLLBACK TO SAVEPOINT plumb_message", "RELEASE SAVEPOINT plumb_message"];

/// One transaction at one data server.
#[derive(Debug)]
pub(super) struct Share {
    server: Arc<DataServer>,
    way: CommitMode,
    origin: Arc<Origin>,
    lease: Option<Lease>,
    /// Of the sessions that were given back.
    times: SessionTimes,
    members: Vec<Member>,
    /// Statements that wait, each with its member, in the order of the members.
    pending: Vec<(usize, Statement)>,
    /// The last member stands behind a savepoint of its own.
    own: bool,
    /// Why nothing more can be done here.
    lost: Option<OutsideError>,
}

/// A message that does something here.
#[derive(Debug)]
struct Member {
    id: ExecutionId,
    /// It does more than read.
    changes: bool,
    recorded: bool,
    /// It was committed before the others of its share.
    committed: bool,
    /// It was refused, or done before.
    ended: Option<OutsideError>,
}

impl Share {
    pub(super) fn new(server: Arc<DataServer>, way: CommitMode, origin: Arc<Origin>) -> Self {
        let (members, pending, times) = (Vec::new(), Vec::new(), SessionTimes::default());
        let (lease, own, lost) = (None, false, None);
        Self { server, way, origin, lease, times, members, pending, own, lost }
    }

    /// What of the time here was no work of the data server, so far.
    pub(super) fn times(&self) -> SessionTimes {
        self.lease.as_ref().map_or(self.times, |lease| self.times.and(lease.times()))
    }

    /// Gives the session back, which undoes what is open.
    fn give_back(&mut self) {
        if let Some(lease) = self.lease.take() {
            self.times = self.times.and(lease.times());
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.server.pool.plan().name
    }

    /// A statement of the message `id` that may be done later.
    pub(super) fn later(
        &mut self,
        id: ExecutionId,
        statement: Statement,
    ) -> Result<(), OutsideError> {
        if self.way == CommitMode::Trial {
            return self.ask(id, &statement, true).map(|_| ());
        }
        let member = self.member(id);
        self.members[member].changes = true;
        if self.is_done_before(member)? {
            return Ok(());
        }
        self.pending.push((member, statement));
        if self.pending.len() >= BATCH {
            if !self.own {
                self.flush_before(member);
            }
            if self.own || self.pending.len() >= BATCH {
                self.isolate(member)?;
            }
        }
        self.is_done_before(member).map(|_| ())
    }

    /// Another statement whose answer nobody uses only joins those that wait.
    pub(super) fn only_gathers(&self) -> bool {
        self.pending.len() + 1 < BATCH
    }

    /// A statement of the message `id` whose answer is needed now.
    pub(super) fn ask(
        &mut self,
        id: ExecutionId,
        statement: &Statement,
        changes: bool,
    ) -> Result<Answer, OutsideError> {
        let member = self.member(id);
        self.members[member].changes |= changes;
        self.isolate(member)?;
        if self.is_done_before(member)? && changes {
            return Err(OutsideError::DoneBefore);
        }
        let asked = self.lease()?.ask(statement);
        asked.map_err(|error| self.refuse_own(member, &error, &statement.text))
    }

    /// Gives the message `id` a savepoint of its own, with what it has done so far behind it.
    pub(super) fn stand_alone(&mut self, id: ExecutionId) -> Result<(), OutsideError> {
        let member = self.member(id);
        self.isolate(member)
    }

    /// Commits what waits of the messages before `id`, which is directly committed itself.
    pub(super) fn commit_others(&mut self, id: ExecutionId) {
        let member = self.member(id);
        self.commit_before(member);
    }

    /// The message `id` has done all it does; what becomes of it is known if it stands alone.
    pub(super) fn finish(&mut self, id: ExecutionId) -> Result<(), OutsideError> {
        match self.last(id) {
            Some(member) if self.own && self.way == CommitMode::Recorded => {
                self.run_own(member)?;
                self.is_done_before(member).map(|_| ())
            }
            Some(member) => self.is_done_before(member).map(|_| ()),
            None => Ok(()),
        }
    }

    /// The message under way is finished everywhere: it shares the fate of the others.
    pub(super) fn release(&mut self) {
        if self.own && self.way == CommitMode::Recorded {
            self.own = false;
            // when this fails the share is lost, which its members are told
            let _ = self.in_order(&["RELEASE SAVEPOINT plumb_message"]);
        }
    }

    /// Undoes what the message `id`, which came last, has done.
    pub(super) fn undo(&mut self, id: ExecutionId) {
        let Some(member) = self.last(id) else { return };
        self.pending.retain(|(of, _)| *of != member);
        self.members.pop();
        match (self.way, self.own) {
            (CommitMode::Recorded, true) => {
                self.own = false;
                // when this fails the share is lost, and nothing is committed
                let _ = self.in_order(&OUT_OF_MESSAGE);
            }
            (CommitMode::Recorded, false) => {}
            (CommitMode::Direct | CommitMode::Trial, _) => {
                self.own = false;
                self.give_back();
            }
        }
    }

    /// Ends the transaction; how that went for each message, in their order.
    pub(super) fn commit(&mut self) -> Vec<(ExecutionId, Result<(), OutsideError>)> {
        match self.way {
            CommitMode::Recorded => self.commit_recorded(),
            CommitMode::Direct => self.commit_direct(),
            CommitMode::Trial => self.give_back(),
        }
        let lost = self.lost.take();
        let ended = |member: Member| match (member.ended, &lost) {
            (Some(OutsideError::DoneBefore), _) => Ok(()),
            (Some(refused), _) => Err(refused),
            (None, Some(lost)) if !member.committed => Err(lost.clone()),
            (None, _) => Ok(()),
        };
        let members = std::mem::take(&mut self.members);
        members.into_iter().map(|member| (member.id, ended(member))).collect()
    }

    /// Sends what waits, so that whatever is refused is known.
    pub(super) fn flush(&mut self) {
        if self.way == CommitMode::Recorded {
            self.flush_before(self.members.len());
        }
    }

    /// Nothing is committed here, because of what happened elsewhere.
    pub(super) fn give_up(&mut self, problem: &str) {
        self.lose(OutsideError::Lost(problem.into()));
    }

    /// Whether another message may be committed together with those that wait here: all of them only
    /// insert rows, so that none waits for what another one holds.
    pub(super) fn takes_more(&self) -> bool {
        let (first, rest) = (self.lease.is_none() && self.lost.is_none(), &self.pending);
        first
            && !self.own
            && !rest.is_empty()
            && rest.len() < BATCH
            && rest.iter().all(|(_, statement)| inserts_row(&statement.text))
    }

    fn member(&mut self, id: ExecutionId) -> usize {
        if let Some(last) = self.last(id) {
            return last;
        }
        self.members.push(Member {
            id,
            changes: false,
            recorded: false,
            committed: false,
            ended: None,
        });
        self.members.len() - 1
    }

    /// The last member, if it is this message.
    fn last(&self, id: ExecutionId) -> Option<usize> {
        let last = self.members.last().filter(|member| member.id == id);
        last.map(|_| self.members.len() - 1)
    }

    fn is_done_before(&self, member: usize) -> Result<bool, OutsideError> {
        match (&self.members[member].ended, &self.lost) {
            (Some(OutsideError::DoneBefore), _) => Ok(true),
            (Some(refused), _) => Err(refused.clone()),
            (None, Some(lost)) => Err(lost.clone()),
            (None, None) => Ok(false),
        }
    }

    /// The session, in a transaction.
    fn lease(&mut self) -> Result<&mut Lease, OutsideError> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        if self.lease.is_none() {
            match self.server.begun(self.way) {
                Ok(lease) => self.lease = Some(lease),
                Err(error) => {
                    self.lose(error.clone());
                    return Err(error);
                }
            }
        }
        self.lease.as_mut().ok_or_else(|| OutsideError::Lost("no session".into()))
    }

    fn lose(&mut self, error: OutsideError) {
        self.lost.get_or_insert(error);
        self.give_back();
        self.pending.clear();
        self.own = false;
    }

    /// Statements that the transaction itself needs.
    fn in_order(&mut self, statements: &[&str]) -> Result<(), OutsideError> {
        let statements: Vec<_> = statements.iter().map(|text| Statement::plain(text)).collect();
        let done = self.lease()?.all(&statements);
        done.map_err(|stopped| {
            let lost = self.server.lost(&stopped.error);
            self.lose(lost.clone());
            lost
        })
    }

    fn isolate(&mut self, member: usize) -> Result<(), OutsideError> {
        if !self.own {
            self.flush_before(member);
            self.is_done_before(member)?;
            if self.way == CommitMode::Recorded {
                self.in_order(&["SAVEPOINT plumb_message"])?;
            }
            self.own = true;
        }
        self.run_own(member)
    }

    /// Does what waits of the member that stands alone.
    fn run_own(&mut self, member: usize) -> Result<(), OutsideError> {
        if self.is_done_before(member)? {
            self.pending.retain(|(of, _)| *of != member);
            return Ok(());
        }
        let needs_record = self.way == CommitMode::Recorded && self.members[member].changes;
        if needs_record && !self.members[member].recorded {
            let id = self.members[member].id;
            if self.note(&[id])?.is_empty() {
                self.members[member].ended = Some(OutsideError::DoneBefore);
                self.pending.retain(|(of, _)| *of != member);
                return Ok(());
            }
            self.members[member].recorded = true;
        }
        let statements: Vec<Statement> =
            std::mem::take(&mut self.pending).into_iter().map(|(_, statement)| statement).collect();
        if statements.is_empty() {
            return Ok(());
        }
        let done = self.lease()?.all(&statements);
        done.map_err(|Stopped { at, error }| {
            let text = statements.get(at).map_or("", |statement| &statement.text);
            self.refuse_own(member, &error, text)
        })
    }

    /// The member that stands alone failed: what it did is undone.
    fn refuse_own(&mut self, member: usize, error: &DatabaseError, text: &str) -> OutsideError {
        let is_rolled_back = matches!(error, DatabaseError::RolledBack(_));
        let error = self.server.outside(error, text);
        if matches!(error, OutsideError::Lost(_)) && !is_rolled_back {
            self.lose(error.clone());
            return error;
        }
        self.end_with(member, error.clone());
        self.own = false;
        if self.way == CommitMode::Recorded {
            let _ = self.in_order(&OUT_OF_MESSAGE);
        } else {
            self.give_back();
        }
        error
    }

    /// The member is not done here, and the others are. One that is worth trying again holds no lock of
    /// another message then.
    fn end_with(&mut self, member: usize, error: OutsideError) {
        if self.way == CommitMode::Recorded && matches!(error, OutsideError::Lost(_)) {
            self.server.leave_alone(self.members[member].id);
        }
        self.members[member].ended = Some(error);
    }

    fn note(&mut self, ids: &[ExecutionId]) -> Result<BTreeSet<ExecutionId>, OutsideError> {
        let (server, origin) = (Arc::clone(&self.server), Arc::clone(&self.origin));
        let noted = server.note(self.lease()?, &origin, ids);
        noted.map_err(|error| {
            self.server.doubt_record();
            let lost = self.server.lost(&error);
            self.lose(lost.clone());
            lost
        })
    }
}
