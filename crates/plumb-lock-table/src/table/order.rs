//! Putting the arguments of a name in order, for requests with wildcards.
//!
//! The first such request of a name asks for it. A small table is looked through at once, a large
//! one in slices: until then the request cannot be judged. Arguments that come and go meanwhile
//! are filed when their rows were looked at already, and found later when they were not.

use super::Table;
use super::name::{Ordered, order};
use super::rules::Rules;
use super::slab::NONE;

/// Rows that are looked through at once.
const AT_ONCE: u32 = 4_096;

impl<R: Rules> Table<R> {
    /// True when the arguments of a name are in order. They are on their way to it from now on.
    pub(super) fn is_in_order(&mut self, name: u32) -> bool {
        match &self.names.rows[name].ordered {
            Some(ordered) => ordered.until == NONE,
            None => {
                self.names.rows[name].ordered = Some(Ordered::default());
                self.unordered.push_back(name);
                if self.granules.rows.end() <= AT_ONCE && self.unordered.len() == 1 {
                    self.put_in_order(AT_ONCE);
                }
                self.names.rows[name].ordered.as_ref().is_some_and(|it| it.until == NONE)
            }
        }
    }

    /// Looks through at most so many rows more for arguments that are to be put in order; true
    /// when a name is in order by now.
    pub fn put_in_order(&mut self, rows: u32) -> bool {
        let Some(name) = self.unordered.front().copied() else {
            return false;
        };
        let Some(mut ordered) = self.names.rows[name].ordered.take() else {
            self.unordered.pop_front(); // nothing is locked under it any more
            return true;
        };
        if ordered.until == NONE {
            self.names.rows[name].ordered = Some(ordered);
            self.unordered.pop_front(); // it was asked for twice, under another name meanwhile
            return true;
        }
        let end = self.granules.rows.end();
        let until = end.min(ordered.until.saturating_add(rows));
        for at in ordered.until..until {
            let row = &self.granules.rows[at];
            if row.name == name && row.mask == NONE {
                ordered.arguments.insert((order(self.granules.argument(at)), at));
            }
        }
        self.work_done(until - ordered.until);
        let done = until == end;
        ordered.until = if done { NONE } else { until };
        self.names.rows[name].ordered = Some(ordered);
        if done {
            self.unordered.pop_front();
        }
        done
    }

    /// True while arguments are put in order.
    #[must_use]
    pub fn is_ordering(&self) -> bool {
        !self.unordered.is_empty()
    }
}
