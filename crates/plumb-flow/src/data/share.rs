//! What the messages of one unit of work do at one data server: one transaction there.
//!
//! Statements whose answers nobody uses are gathered and sent together, up to [`BATCH`] of them. One
//! that is refused has its message left out: the transaction goes back to where the batch began, and
//! the others of the batch are sent again in halves. A message that needs an answer, or has more
//! statements than a batch, stands behind a savepoint of its own instead.

mod ending;

use std::collections::BTreeSet;
use std::sync::Arc;

use plumb_serve::database::{Answer, DatabaseError, Statement, Stopped};

use super::done::DoneTable;
use super::pool::Lease;
use super::server::{DataServer, Way};
use crate::transaction::OutsideError;
use plumb_queue::ExecutionId;

/// Statements that are sent together at most.
pub(super) const BATCH: usize = 100;

const OUT_OF_MESSAGE: [&str; 2] =
    ["ROLLBACK TO SAVEPOINT plumb_message", "RELEASE SAVEPOINT plumb_message"];
const OUT_OF_BATCH: [&str; 2] =
    ["ROLLBACK TO SAVEPOINT plumb_batch", "RELEASE SAVEPOINT plumb_batch"];

/// One transaction at one data server.
#[derive(Debug)]
pub(super) struct Share {
    server: Arc<DataServer>,
    way: Way,
    lease: Option<Lease>,
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
    /// It was refused, or done before.
    ended: Option<OutsideError>,
}

/// Why a batch was not done.
enum Broken {
    /// The member's statement is refused.
    Refused(usize, OutsideError),
    Lost(OutsideError),
}

impl Share {
    pub(super) fn new(server: Arc<DataServer>, way: Way) -> Self {
        let (members, pending) = (Vec::new(), Vec::new());
        Self { server, way, lease: None, members, pending, own: false, lost: None }
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
        if self.way == Way::Trial {
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

    /// The message `id` has done all it does; what becomes of it is known if it stands alone.
    pub(super) fn finish(&mut self, id: ExecutionId) -> Result<(), OutsideError> {
        match self.last(id) {
            Some(member) if self.own && self.way == Way::Recorded => {
                self.run_own(member)?;
                self.is_done_before(member).map(|_| ())
            }
            Some(member) => self.is_done_before(member).map(|_| ()),
            None => Ok(()),
        }
    }

    /// The message under way is finished everywhere: it shares the fate of the others.
    pub(super) fn release(&mut self) {
        if self.own && self.way == Way::Recorded {
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
            (Way::Recorded, true) => {
                self.own = false;
                // when this fails the share is lost, and nothing is committed
                let _ = self.in_order(&OUT_OF_MESSAGE);
            }
            (Way::Recorded, false) => {}
            (Way::Direct | Way::Trial, _) => {
                self.own = false;
                self.lease = None; // which undoes what is open
            }
        }
    }

    /// Ends the transaction; how that went for each message, in their order.
    pub(super) fn commit(mut self) -> Vec<(ExecutionId, Result<(), OutsideError>)> {
        match self.way {
            Way::Recorded => self.commit_recorded(),
            Way::Direct => self.commit_direct(),
            Way::Trial => self.lease = None,
        }
        let lost = self.lost.take();
        let ended = |member: Member| match (member.ended, &lost) {
            (Some(OutsideError::DoneBefore), _) => Ok(()),
            (Some(refused), _) => Err(refused),
            (None, Some(lost)) => Err(lost.clone()),
            (None, None) => Ok(()),
        };
        self.members.into_iter().map(|member| (member.id, ended(member))).collect()
    }

    /// Sends what waits, so that whatever is refused is known.
    pub(super) fn flush(&mut self) {
        if self.way == Way::Recorded {
            self.flush_before(self.members.len());
        }
    }

    /// Nothing is committed here, because of what happened elsewhere.
    pub(super) fn give_up(&mut self, problem: &str) {
        self.lose(OutsideError::Lost(problem.into()));
    }

    fn member(&mut self, id: ExecutionId) -> usize {
        if let Some(last) = self.last(id) {
            return last;
        }
        self.members.push(Member { id, changes: false, recorded: false, ended: None });
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
        self.lease = None;
        self.pending.clear();
        self.own = false;
    }

    /// Statements that the transaction itself needs.
    fn in_order(&mut self, statements: &[&str]) -> Result<(), OutsideError> {
        let statements: Vec<_> = statements.iter().map(|text| Statement::plain(text)).collect();
        let done = self.lease()?.all(&statements);
        done.map_err(|stopped| {
            let lost = OutsideError::Lost(self.server.pool.said(&stopped.error));
            self.lose(lost.clone());
            lost
        })
    }

    fn isolate(&mut self, member: usize) -> Result<(), OutsideError> {
        if !self.own {
            self.flush_before(member);
            self.is_done_before(member)?;
            if self.way == Way::Recorded {
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
        let needs_record = self.way == Way::Recorded && self.members[member].changes;
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
        let error = self.server.outside(error, text);
        if matches!(error, OutsideError::Lost(_)) {
            self.lose(error.clone());
            return error;
        }
        self.members[member].ended = Some(error.clone());
        self.own = false;
        if self.way == Way::Recorded {
            let _ = self.in_order(&OUT_OF_MESSAGE);
        } else {
            self.lease = None;
        }
        error
    }

    fn note(&mut self, ids: &[ExecutionId]) -> Result<BTreeSet<ExecutionId>, OutsideError> {
        let noted = DoneTable::note(self.lease()?, ids);
        noted.map_err(|error| {
            let lost = OutsideError::Lost(self.server.pool.said(&error));
            self.lose(lost.clone());
            lost
        })
    }

    /// Does what waits of the members before `member`. Those that are refused are left out.
    fn flush_before(&mut self, member: usize) {
        let own = self.pending.iter().position(|(of, _)| *of >= member);
        let rest = own.map_or(Vec::new(), |at| self.pending.split_off(at));
        let waiting = std::mem::replace(&mut self.pending, rest);
        let mut groups: Vec<(usize, Vec<Statement>)> = Vec::new();
        for (of, statement) in waiting {
            match groups.last_mut() {
                Some((last, statements)) if *last == of => statements.push(statement),
                _ => groups.push((of, vec![statement])),
            }
        }
        let mut left: Vec<_> = std::iter::once(0..groups.len()).collect();
        while let Some(range) = left.pop() {
            let from = range.start;
            match self.attempt(&groups[range.clone()]) {
                Ok(()) => {}
                Err(Broken::Lost(error)) => return self.lose(error),
                Err(Broken::Refused(at, error)) => {
                    let bad = from + at;
                    self.members[groups[bad].0].ended = Some(error);
                    let middle = (bad + 1 + range.end) / 2;
                    // the last is the next: members stay in their order
                    left.extend([middle..range.end, bad + 1..middle, from..bad]);
                }
            }
        }
    }

    /// Does the statements of `groups`, all or none.
    fn attempt(&mut self, groups: &[(usize, Vec<Statement>)]) -> Result<(), Broken> {
        let groups: Vec<_> = groups.iter().enumerate().collect();
        let mut ids: Vec<_> = groups.iter().map(|(_, (of, _))| self.members[*of].id).collect();
        if ids.is_empty() {
            return Ok(());
        }
        ids.sort_unstable();
        self.in_order(&["SAVEPOINT plumb_batch"]).map_err(Broken::Lost)?;
        let new = self.note(&ids).map_err(Broken::Lost)?;
        let (mut statements, mut places) = (Vec::new(), Vec::new());
        for (at, (of, own)) in groups {
            let member = &mut self.members[*of];
            if new.contains(&member.id) {
                statements.extend_from_slice(own);
                places.resize(statements.len(), at);
            } else {
                member.ended = Some(OutsideError::DoneBefore);
            }
        }
        statements.push(Statement::plain("RELEASE SAVEPOINT plumb_batch"));
        let done = self.lease().map_err(Broken::Lost)?.all(&statements);
        let Err(Stopped { at, error }) = done else { return Ok(()) };
        let error = self.server.outside(&error, &statements[at].text);
        match (places.get(at), &error) {
            (Some(group), OutsideError::Refused(_)) => {
                self.in_order(&OUT_OF_BATCH).map_err(Broken::Lost)?;
                Err(Broken::Refused(*group, error))
            }
            _ => Err(Broken::Lost(error)),
        }
    }
}
