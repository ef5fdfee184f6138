//! Intervals of a load that several remotes drive, put together as they come.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use plumb_engine::{IntervalRecords, NotAlike};
use plumb_measure::Shape;

/// Why an interval of a part is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// It is of another plan.
    #[error("what it recorded cannot be put together with the others: {0}")]
    NotAlike(#[from] NotAlike),
    /// Its part has told an interval that starts then or later, or has ended.
    #[error("it told its intervals out of order")]
    OutOfOrder,
}

/// Puts the intervals of all parts of one load together. An interval is complete once every part
/// has passed it, or has ended. Each is added as it comes, so that what one takes does not depend
/// on how many parts there are.
#[derive(Debug)]
pub struct Assembly {
    /// The start of the first interval that each part has not passed; [`u64::MAX`] when it ended.
    passed_ns: Vec<u64>,
    /// The rows of the first interval, and so of all.
    shape: Option<Shape>,
    /// The least of them, and how many parts stand there.
    everybody_ns: u64,
    there: usize,
    /// Intervals that not everybody has passed, by their start; without figures.
    pending: BTreeMap<u64, IntervalRecords>,
}

impl Assembly {
    /// A load of so many parts.
    #[must_use]
    pub fn new(parts: usize) -> Self {
        let passed_ns = vec![0; parts];
        Self { passed_ns, shape: None, everybody_ns: 0, there: parts, pending: BTreeMap::new() }
    }

    /// Adds an interval of `part`; those of the whole that are complete now, in order.
    ///
    /// # Errors
    /// [`NotTaken`] says why nothing was added.
    pub fn add(
        &mut self,
        part: usize,
        records: IntervalRecords,
    ) -> Result<Vec<IntervalRecords>, NotTaken> {
        self.check(part, &records)?;
        self.shape = Some(records.recorder.shape());
        let start_ns = records.figures.start_ns;
        match self.pending.entry(start_ns) {
            Entry::Occupied(mut others) => others.get_mut().merge(&records)?,
            Entry::Vacant(first) => {
                first.insert(records);
            }
        }
        Ok(self.pass(part, start_ns.saturating_add(1)))
    }

    /// Whether an interval of `part` would be taken: whoever keeps it elsewhere too asks before.
    ///
    /// # Errors
    /// As those of [`add`](Self::add).
    pub fn check(&self, part: usize, records: &IntervalRecords) -> Result<(), NotTaken> {
        let start_ns = records.figures.start_ns;
        if self.passed_ns.get(part).is_none_or(|passed_ns| start_ns < *passed_ns) {
            return Err(NotTaken::OutOfOrder);
        }
        let theirs = records.recorder.shape();
        match self.shape {
            Some(mine) if mine != theirs => Err(NotAlike::Shape(mine, theirs).into()),
            _ => Ok(()),
        }
    }

    /// Nothing more comes of `part`; the intervals that are complete now, in order.
    pub fn end(&mut self, part: usize) -> Vec<IntervalRecords> {
        self.pass(part, u64::MAX)
    }

    /// `part` has passed everything before `to_ns`.
    fn pass(&mut self, part: usize, to_ns: u64) -> Vec<IntervalRecords> {
        let Some(passed_ns) = self.passed_ns.get_mut(part) else { return Vec::new() };
        let from_ns = std::mem::replace(passed_ns, to_ns);
        self.there -= usize::from(from_ns == self.everybody_ns && to_ns != from_ns);
        if self.there > 0 {
            return Vec::new(); // somebody else stands where the last one does
        }
        self.everybody_ns = self.passed_ns.iter().copied().min().unwrap_or(u64::MAX);
        self.there = self.passed_ns.iter().filter(|it| **it == self.everybody_ns).count();
        let later = self.pending.split_off(&self.everybody_ns);
        let mut complete: Vec<_> =
            std::mem::replace(&mut self.pending, later).into_values().collect();
        complete.iter_mut().for_each(IntervalRecords::summarize);
        complete
    }
}

#[cfg(test)]
mod tests {
    use plumb_measure::{Answer, Interval, Moments, Recorder};
    use proptest::prelude::*;

    use super::*;

    const EVERY_NS: u64 = 1_000;

    /// The operations of one part in one interval: its response times.
    fn records(number: u64, times: &[u64]) -> IntervalRecords {
        let mut recorder = Recorder::new(Shape::from(1));
        for last in times {
            recorder.record(0, Moments { due: 0, sent: 0, first: 0, last: *last }, Answer::ok(1));
        }
        let figures =
            Interval { start_ns: number * EVERY_NS, duration_ns: EVERY_NS, ..Interval::default() };
        IntervalRecords { began_ns: 5, figures, recorder, drivers: vec![(0, 1)], users: 1 }
    }

    #[test]
    fn an_interval_is_complete_when_everybody_has_passed_it() {
        let mut all = Assembly::new(2);
        assert_eq!(all.add(0, records(0, &[10])).unwrap(), []);
        assert_eq!(all.add(0, records(1, &[11])).unwrap(), []);
        let complete = all.add(1, records(0, &[20, 30])).unwrap();
        assert_eq!(complete.len(), 1);
        let figures = complete[0].figures;
        assert_eq!((figures.start_ns, figures.operations, figures.max), (0, 3, 30));
        assert_eq!(complete[0].drivers.len(), 2);
        // the second has ended: what the first had alone is what there was
        let rest = all.end(1);
        assert_eq!(rest.iter().map(|it| it.figures.start_ns).collect::<Vec<_>>(), [EVERY_NS]);
        assert_eq!(all.end(0), []);
    }

    #[test]
    fn a_part_that_was_lost_holds_nobody_up() {
        let mut all = Assembly::new(3);
        assert_eq!(all.add(0, records(0, &[1])).unwrap(), []);
        assert_eq!(all.end(2), []);
        assert_eq!(all.add(1, records(0, &[2])).unwrap().len(), 1);
    }

    #[test]
    fn another_plan_is_refused() {
        let mut all = Assembly::new(2);
        all.add(0, records(0, &[1])).unwrap();
        let mut other = records(0, &[1]);
        other.recorder = Recorder::new(Shape::from(2));
        assert!(matches!(all.add(1, other), Err(NotTaken::NotAlike(_))));
        assert_eq!(all.end(1)[0].recorder.operations(), 1);
    }

    #[test]
    fn what_a_part_told_already_is_not_taken_again() {
        let mut all = Assembly::new(2);
        all.add(0, records(0, &[1])).unwrap();
        all.add(0, records(2, &[2])).unwrap();
        for again in [0, 1, 2] {
            assert_eq!(all.add(0, records(again, &[3])), Err(NotTaken::OutOfOrder));
        }
        assert_eq!(all.add(7, records(3, &[3])), Err(NotTaken::OutOfOrder));
        all.end(0);
        assert_eq!(all.add(0, records(4, &[3])), Err(NotTaken::OutOfOrder));
        let counts = all.end(1).into_iter().map(|it| it.figures.operations);
        assert_eq!(counts.collect::<Vec<_>>(), [1, 1]);
    }

    proptest! {
        /// However the parts come in, each interval comes out once, in order, with all there was.
        #[test]
        fn nothing_is_lost_and_nothing_counted_twice(
            parts in prop::collection::vec(prop::collection::vec(1_u64..1_000_000, 0..6), 1..5),
            turns in prop::collection::vec(any::<u8>(), 40),
        ) {
            let mut all = Assembly::new(parts.len());
            let mut at = vec![0_usize; parts.len()];
            let mut out = Vec::new();
            let mut left: Vec<usize> = (0..parts.len()).collect();
            for turn in turns.iter().copied().chain(std::iter::repeat(0)) {
                if left.is_empty() {
                    break;
                }
                let part = left[usize::from(turn) % left.len()];
                match parts[part].get(at[part]) {
                    Some(time) => out.extend(all.add(part, records(at[part] as u64, &[*time])).unwrap()),
                    None => {
                        out.extend(all.end(part));
                        left.retain(|it| *it != part);
                    }
                }
                at[part] += 1;
            }
            let starts: Vec<u64> = out.iter().map(|it| it.figures.start_ns).collect();
            prop_assert!(starts.is_sorted_by(|one, two| one < two), "{starts:?}");
            let mut whole = Recorder::new(Shape::from(1));
            for last in parts.iter().flatten() {
                whole.record(0, Moments { due: 0, sent: 0, first: 0, last: *last }, Answer::ok(1));
            }
            let mut merged = Recorder::new(Shape::from(1));
            out.iter().for_each(|it| merged.merge(&it.recorder));
            prop_assert_eq!(&merged.rows()[0].response, &whole.rows()[0].response);
            prop_assert_eq!(merged.operations(), whole.operations());
        }
    }
}
