//! How what waits of several messages is sent together, and who is left out when one is refused.

use plumb_serve::database::{DatabaseError, Dialect, Statement, Stopped};

use super::super::insert::joined;
use super::super::server::CommitMode;
use super::Share;
use plumb_transaction::OutsideError;

const OUT_OF_BATCH: [&str; 2] =
    ["ROLLBACK TO SAVEPOINT plumb_batch", "RELEASE SAVEPOINT plumb_batch"];

/// Why a batch was not done.
enum Broken {
    /// The member's statement is refused, or what was done was given up for another transaction while
    /// it waited for that.
    Refused(usize, OutsideError),
    Lost(OutsideError),
}

/// What is done behind a savepoint: the statements of the messages that were not done before.
struct Batch {
    statements: Vec<Statement>,
    /// The group that each of them is of.
    groups: Vec<usize>,
}

impl Share {
    /// Does what waits of the members before `member`. Those that are refused are left out.
    pub(super) fn flush_before(&mut self, member: usize) {
        if self.way == CommitMode::Direct {
            return self.commit_before(member);
        }
        let own = self.pending.iter().position(|(of, _)| *of >= member);
        let rest = own.map_or(Vec::new(), |at| self.pending.split_off(at));
        let waiting = std::mem::replace(&mut self.pending, rest);
        let groups = by_member(waiting);
        let mut left: Vec<_> = std::iter::once(0..groups.len()).collect();
        while let Some(range) = left.pop() {
            let from = range.start;
            match self.attempt(&groups[range.clone()]) {
                Ok(()) => {}
                Err(Broken::Lost(error)) => return self.lose(error),
                Err(Broken::Refused(at, error)) => {
                    let bad = from + at;
                    self.end_with(groups[bad].0, error);
                    let middle = (bad + 1 + range.end) / 2;
                    // the last is the next: members stay in their order
                    left.extend([middle..range.end, bad + 1..middle, from..bad]);
                }
            }
        }
    }

    /// Does the statements of `groups`, all or none. Rows of one table go in together; when one of
    /// them is refused, they go in one by one, so that it is known which.
    fn attempt(&mut self, groups: &[(usize, Vec<Statement>)]) -> Result<(), Broken> {
        if groups.is_empty() {
            return Ok(());
        }
        let mut batch = self.begin_batch(groups).map_err(Broken::Lost)?;
        let release = Statement::plain("RELEASE SAVEPOINT plumb_batch");
        let lease = self.lease().map_err(Broken::Lost)?;
        // another database does a row as fast as it binds it
        if lease.dialect() == Dialect::Postgres {
            let (mut rows, counts) = joined(&batch.statements);
            rows.push(release.clone());
            match lease.all(&rows) {
                Ok(()) => return Ok(()),
                Err(Stopped { at, error }) if counts.get(at).is_some_and(|count| *count > 1) => {
                    if matches!(error, DatabaseError::Lost(_) | DatabaseError::Silent(_)) {
                        return Err(Broken::Lost(self.server.outside(&error, &rows[at].text)));
                    }
                    self.in_order(&OUT_OF_BATCH).map_err(Broken::Lost)?;
                    // who had to wait for the savepoint may have done some of them meanwhile
                    batch = self.begin_batch(groups).map_err(Broken::Lost)?;
                }
                Err(Stopped { at, error }) => {
                    let at = counts.iter().take(at).sum::<usize>();
                    return Err(self.broken(&batch, at, &error));
                }
            }
        }
        batch.statements.push(release);
        let done = self.lease().map_err(Broken::Lost)?.all(&batch.statements);
        done.map_err(|Stopped { at, error }| self.broken(&batch, at, &error))
    }

    /// Takes note of the messages of `groups` behind a savepoint; what is to be done there of them.
    fn begin_batch(&mut self, groups: &[(usize, Vec<Statement>)]) -> Result<Batch, OutsideError> {
        let mut ids: Vec<_> = groups.iter().map(|(of, _)| self.members[*of].id).collect();
        ids.sort_unstable();
        self.in_order(&["SAVEPOINT plumb_batch"])?;
        let new = self.note(&ids)?;
        let mut batch = Batch { statements: Vec::new(), groups: Vec::new() };
        for (at, (of, own)) in groups.iter().enumerate() {
            let member = &mut self.members[*of];
            if new.contains(&member.id) {
                batch.statements.extend_from_slice(own);
                batch.groups.resize(batch.statements.len(), at);
            } else {
                member.ended = Some(OutsideError::DoneBefore);
            }
        }
        Ok(batch)
    }

    /// Whom the refusal of the statement `at` of a batch concerns, which is undone.
    fn broken(&mut self, batch: &Batch, at: usize, error: &DatabaseError) -> Broken {
        let text =
            batch.statements.get(at).map_or("RELEASE SAVEPOINT", |statement| &statement.text);
        let is_rolled_back = matches!(error, DatabaseError::RolledBack(_));
        let error = self.server.outside(error, text);
        let is_its_own = is_rolled_back || matches!(error, OutsideError::Refused(_));
        match batch.groups.get(at).filter(|_| is_its_own) {
            Some(group) => match self.in_order(&OUT_OF_BATCH) {
                Ok(()) => Broken::Refused(*group, error),
                Err(lost) => Broken::Lost(lost),
            },
            None => Broken::Lost(error),
        }
    }
}

/// Statements by their members, in their order.
pub(super) fn by_member(waiting: Vec<(usize, Statement)>) -> Vec<(usize, Vec<Statement>)> {
    let mut groups: Vec<(usize, Vec<Statement>)> = Vec::new();
    for (of, statement) in waiting {
        match groups.last_mut() {
            Some((last, statements)) if *last == of => statements.push(statement),
            _ => groups.push((of, vec![statement])),
        }
    }
    groups
}
