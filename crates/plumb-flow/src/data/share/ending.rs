//! How the transaction of a unit of work ends, and what becomes of its messages.

use plumb_serve::database::{DatabaseError, Statement, Stopped};

use super::{Member, Share};
use crate::transaction::OutsideError;
use plumb_queue::ExecutionId;

impl Share {
    pub(super) fn commit_recorded(&mut self) {
        self.flush();
        let Some(mut lease) = self.lease.take() else { return };
        match lease.commit() {
            Ok(()) => self.server.forget(&mut lease),
            Err(error @ (DatabaseError::Refused(_) | DatabaseError::Nul)) => {
                self.refused_at_commit(&error);
            }
            Err(error) => {
                drop(lease);
                self.find_out(&error);
            }
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
        match self.server.find(&ids) {
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
        if self.members[member].ended.is_some() || self.lost.is_some() {
            self.lease = None;
            return;
        }
        if self.lease.is_none() {
            return self.commit_at_once(member);
        }
        if self.run_own(member).is_err() {
            return;
        }
        let Some(mut lease) = self.lease.take() else { return };
        if let Err(error) = lease.commit() {
            let error = self.server.outside(&error, "COMMIT");
            self.members[member].ended = Some(unknown(error));
        }
    }

    /// Statements that all wait are one exchange with the database.
    fn commit_at_once(&mut self, member: usize) {
        let statements: Vec<Statement> =
            std::mem::take(&mut self.pending).into_iter().map(|(_, statement)| statement).collect();
        if statements.is_empty() {
            return;
        }
        let done = match self.server.pool.take() {
            Ok(mut lease) => lease.all_committed(&statements),
            Err(error) => return self.lose(error),
        };
        if let Err(Stopped { at, error }) = done {
            let text = statements.get(at).map_or("COMMIT", |statement| &statement.text);
            self.members[member].ended = Some(unknown(self.server.outside(&error, text)));
        }
    }
}

/// A connection that was lost with the end of a transaction leaves that open.
fn unknown(error: OutsideError) -> OutsideError {
    match error {
        OutsideError::Lost(said) => {
            OutsideError::Lost(format!("{said}; whether it was committed is not known"))
        }
        other => other,
    }
}
