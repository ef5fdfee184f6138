//! How the transaction of a unit of work ends, and what becomes of its messages.

use plumb_serve::database::{DatabaseError, Dialect, Statement, Stopped};

use super::super::insert::joined;
use super::super::pool::Lease;
use super::batch::by_member;
use super::{Member, Share};
use plumb_queue::ExecutionId;
use plumb_transaction::OutsideError;

impl Share {
    pub(super) fn commit_recorded(&mut self) {
        self.flush();
        let Some(lease) = &mut self.lease else { return };
        let done = lease.commit();
        if done.is_ok() {
            self.server.forget(lease);
        }
        self.give_back();
        match done {
            Ok(()) => {}
            Err(
                error @ (DatabaseError::Refused(_)
                | DatabaseError::Nul
                | DatabaseError::RolledBack(_)),
            ) => self.refused_at_commit(&error),
            Err(error) => self.find_out(&error),
        }
    }

    /// What only the end of the transaction refused is put down to no message, unless there is one.
    fn refused_at_commit(&mut self, error: &DatabaseError) {
        let error = self.server.outside(error, "COMMIT");
        let mut alive: Vec<&mut Member> =
            self.members.iter_mut().filter(|member| member.ended.is_none()).collect();
        if let [one] = &mut *alive {
            one.ended = Some(error);
            return;
        }
        for member in &alive {
            self.server.leave_alone(member.id);
        }
        let problem = format!("{error}; of several messages, so each is done alone next time");
        self.lost = Some(OutsideError::Lost(problem));
    }

    /// The connection was lost at the end of the transaction: what became of it stands in the
    /// database.
    fn find_out(&mut self, error: &DatabaseError) {
        let alive = self.members.iter_mut().filter(|member| member.ended.is_none());
        let mut alive: Vec<&mut Member> = alive.collect();
        let ids: Vec<ExecutionId> = alive.iter().map(|member| member.id).collect();
        let said = self.server.pool.said(error);
        match self.server.find(&self.origin, &ids) {
            Ok(done) => {
                for member in alive.iter_mut().filter(|member| done.contains(&member.id)) {
                    member.ended = Some(OutsideError::DoneBefore);
                }
                self.lost = Some(OutsideError::Lost(format!("{said}; nothing was committed")));
            }
            Err(asked) => {
                let problem = format!("{said}; and nobody says what was committed: {asked}");
                self.lost = Some(OutsideError::Lost(problem));
            }
        }
    }

    pub(super) fn commit_direct(&mut self) {
        let Some(member) = self.members.len().checked_sub(1) else { return };
        if self.lease.is_none() && !self.own {
            return self.commit_before(self.members.len());
        }
        if self.members[member].ended.is_some() || self.lost.is_some() {
            self.give_back();
            return;
        }
        if self.run_own(member).is_err() {
            return;
        }
        let Some(lease) = &mut self.lease else { return };
        let done = lease.commit();
        self.give_back();
        if let Err(error) = done {
            self.members[member].ended = Some(self.unknown(&error, "COMMIT"));
        }
    }

    /// Commits what waits of the members before `member`, which is one exchange with the database.
    /// When it is refused, each of them is committed by itself.
    pub(super) fn commit_before(&mut self, member: usize) {
        let own = self.pending.iter().position(|(of, _)| *of >= member);
        let rest = own.map_or(Vec::new(), |at| self.pending.split_off(at));
        let groups = by_member(std::mem::replace(&mut self.pending, rest));
        if groups.is_empty() {
            return;
        }
        let mut lease = match self.server.pool.take() {
            Ok(lease) => lease,
            Err(error) => {
                return groups.iter().for_each(|(of, _)| self.end(*of, Err(error.clone())));
            }
        };
        let mut all: Vec<Statement> =
            groups.iter().flat_map(|(_, statements)| statements.iter().cloned()).collect();
        if lease.dialect() == Dialect::Postgres {
            all = joined(&all).0;
        }
        match lease.all_committed(&all) {
            Ok(()) => groups.iter().for_each(|(of, _)| self.end(*of, Ok(()))),
            Err(Stopped { error, .. })
                if !matches!(error, DatabaseError::Lost(_) | DatabaseError::Silent(_))
                    && (groups.len() > 1 || all.len() < groups[0].1.len()) =>
            {
                for (of, statements) in &groups {
                    let done = self.committed(&mut lease, statements);
                    self.end(*of, done);
                }
            }
            Err(stopped) => {
                let text = all.get(stopped.at).map_or("COMMIT", |statement| &statement.text);
                let error = self.unknown(&stopped.error, text);
                groups.iter().for_each(|(of, _)| self.end(*of, Err(error.clone())));
            }
        }
        self.times = self.times.and(lease.times());
    }

    /// Does `statements` in a transaction of their own.
    fn committed(&self, lease: &mut Lease, statements: &[Statement]) -> Result<(), OutsideError> {
        lease.all_committed(statements).map_err(|Stopped { at, error }| {
            let text = statements.get(at).map_or("COMMIT", |statement| &statement.text);
            self.unknown(&error, text)
        })
    }

    /// What the database said of the statement `text`. A connection that was lost with the end of a
    /// transaction leaves that open.
    fn unknown(&self, error: &DatabaseError, text: &str) -> OutsideError {
        let is_open = matches!(error, DatabaseError::Lost(_) | DatabaseError::Silent(_));
        match self.server.outside(error, text) {
            OutsideError::Lost(said) if is_open => {
                OutsideError::Lost(format!("{said}; whether it was committed is not known"))
            }
            other => other,
        }
    }

    fn end(&mut self, member: usize, ended: Result<(), OutsideError>) {
        self.members[member].committed = ended.is_ok();
        self.members[member].ended = ended.err();
    }
}
