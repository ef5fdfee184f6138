//! Who filled the table: its largest holders, looked for when it is full.
//!
//! A small table is looked through at once, a large one in slices.

use super::Table;
use super::rules::Rules;
use super::slab::NONE;
use super::usage::{Overflow, TablePart, Top};

/// Rows that are looked through at once.
const AT_ONCE: u32 = 4_096;

/// A look through the rows of owners and arguments.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Rows that were looked at.
    at: u32,
    owners: Top,
    arguments: Top,
}

impl<R: Rules> Table<R> {
    /// A request found no room. The last overflows are kept, those of the same part between which
    /// hardly anything was released as one.
    pub(super) fn overflow(&mut self, part: TablePart, at_ms: u64) {
        self.overflows.count += 1;
        let number = self.overflows.count;
        if self.overflows.rest > 0
            && let Some(last) = self.overflows.last.back_mut()
            && last.part == part
        {
            (last.number, last.at_ms) = (number, at_ms);
            return;
        }
        self.overflows.rest = self.limits.rows / 64 + 1;
        let (owners, arguments) = (Vec::new(), Vec::new());
        self.overflows.push(Overflow { number, at_ms, part, owners, arguments });
        self.survey = Some(Survey::default());
        if self.rows_to_survey() <= AT_ONCE {
            self.go_on_surveying(AT_ONCE);
        }
    }

    /// True while something is left that is done in slices.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.is_reaping() || self.is_ordering() || self.is_surveying()
    }

    /// True while the largest holders are looked for.
    #[must_use]
    pub fn is_surveying(&self) -> bool {
        self.survey.is_some()
    }

    fn rows_to_survey(&self) -> u32 {
        self.owners.rows.end().max(self.granules.rows.end())
    }

    /// Looks through at most so many rows more of owners, and of arguments, for those that hold
    /// most.
    pub fn go_on_surveying(&mut self, rows: u32) {
        let Some(mut survey) = self.survey.take() else {
            return;
        };
        let all = self.rows_to_survey();
        let end = all.min(survey.at.saturating_add(rows));
        for at in survey.at..end {
            self.see_owner(at, &mut survey.owners);
            self.see_argument(at, &mut survey.arguments);
        }
        self.work_done(end - survey.at);
        survey.at = end;
        if end < all {
            self.survey = Some(survey);
        } else if let Some(last) = self.overflows.last.back_mut() {
            last.owners = survey.owners.holders;
            last.arguments = survey.arguments.holders;
        }
    }

    fn see_owner(&self, at: u32, top: &mut Top) {
        if let Some(row) = self.owners.rows.get(at)
            && row.count > 0
            && !row.dying
        {
            top.see(row.count, || row.name().to_vec());
        }
    }

    fn see_argument(&self, at: u32, top: &mut Top) {
        if let Some(row) = self.granules.rows.get(at)
            && row.name != NONE
        {
            let name = self.names.rows[row.name].text();
            top.see(row.count, || [name, b" ", self.granules.argument(at)].concat());
        }
    }
}
