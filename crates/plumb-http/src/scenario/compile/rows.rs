//! The rows of redirects and challenges.

use super::{Compiler, Row, number};
use crate::scenario::program::{HOP_ROWS, HopRows};

impl Compiler<'_> {
    /// Adds the rows of redirects behind those of all steps, and those of steps with their redirects
    /// behind the groups. Says how many rows and groups there were before.
    pub(crate) fn add_hop_rows(&mut self) -> (usize, usize) {
        let before = (self.rows.len(), self.groups.len());
        for (row, challenged) in &self.redirected {
            let step = self.rows[usize::from(*row)].clone();
            let called =
                |words: &str| Row { name: format!("{} ({words})", step.name), ..step.clone() };
            let hop = |hop: u16| match hop {
                HOP_ROWS => called(&format!("redirect {hop} and later")),
                _ => called(&format!("redirect {hop}")),
            };
            let (first, whole) = (number(self.rows.len()), number(self.groups.len()));
            let rows = HopRows { first, challenge: challenged.then_some(first + HOP_ROWS), whole };
            self.rows.extend((1..=HOP_ROWS).map(hop));
            self.rows.extend(challenged.then(|| called("challenge")));
            self.groups.push(called(if *challenged {
                "with what led to it"
            } else {
                "with redirects"
            }));
            let steps = self.steps.iter_mut().filter(|step| step.row == *row);
            steps.for_each(|step| step.hop_rows = Some(rows));
        }
        before
    }
}
