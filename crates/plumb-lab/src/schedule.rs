//! What of an experiment is still to be taken, from what became of its blocks so far.

use std::collections::BTreeSet;

use crate::experiment::{Extent, Failure};
use crate::order::Turn;

/// A block that failed so often and never worked, or of which nothing came but answers that were wrong, is
/// not tried again.
pub const FAILURES_MAX: u64 = 3;

/// An experiment of which the first so many blocks all met foreign load ends: so would the others.
pub const CROWDED_MAX: u64 = 6;

/// What became of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockStatus {
    /// It counts.
    Sound,
    /// It was measured and does not count.
    Faulty,
    /// It was measured and does not count because its operations failed, or their answers were wrong.
    Broken,
    /// It was measured and does not count because of foreign load.
    Crowded,
    /// It came to nothing for a moment: another time it may work.
    Disturbed,
    /// Its measurement came to nothing.
    Failed,
    /// The system could not be switched to its variant.
    NotSwitched,
}

impl From<Failure> for BlockStatus {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Disturbed => Self::Disturbed,
            Failure::Measurement => Self::Failed,
            Failure::Switch => Self::NotSwitched,
        }
    }
}

/// What is known of one variant in one cell.
#[derive(Clone, Debug, Default)]
struct Tally {
    /// Rounds in which its block counts.
    sound: BTreeSet<u64>,
    failures: u64,
    worked: bool,
}

/// The schedule of an experiment. It depends on the statuses of the blocks alone, so that an experiment
/// that was interrupted goes on as it would have.
#[derive(Clone, Debug)]
pub struct Schedule {
    variants: usize,
    taken: BTreeSet<(u64, Turn)>,
    /// By cell, then by variant.
    tallies: Vec<Vec<Tally>>,
    /// By variant, over all cells: failed switches, until one worked.
    switches: Vec<Option<u64>>,
    /// Blocks that met foreign load, until one was measured without.
    crowded: Option<u64>,
}

impl Schedule {
    /// Nothing is taken yet of `cells` cells with `variants` variants each.
    #[must_use]
    pub fn new(cells: usize, variants: usize) -> Self {
        Self {
            variants,
            taken: BTreeSet::new(),
            tallies: vec![vec![Tally::default(); variants]; cells],
            switches: vec![Some(0); variants],
            crowded: Some(0),
        }
    }

    /// The same schedule when somebody goes on with it: the foreign load may be gone.
    #[must_use]
    pub fn resumed(self) -> Self {
        Self { crowded: Some(0), ..self }
    }

    /// A block of `round`, from one, was taken.
    pub fn took(&mut self, round: u64, turn: Turn, status: BlockStatus) {
        self.taken.insert((round, turn));
        let tally = &mut self.tallies[turn.cell][turn.variant];
        let switches = &mut self.switches[turn.variant];
        match status {
            BlockStatus::Sound | BlockStatus::Faulty | BlockStatus::Crowded => tally.worked = true,
            BlockStatus::Broken | BlockStatus::Failed => tally.failures += 1,
            BlockStatus::NotSwitched => *switches = switches.map(|failures| failures + 1),
            BlockStatus::Disturbed => {}
        }
        match status {
            BlockStatus::Sound | BlockStatus::Faulty | BlockStatus::Broken => self.crowded = None,
            BlockStatus::Crowded => self.crowded = self.crowded.map(|blocks| blocks + 1),
            BlockStatus::Disturbed | BlockStatus::Failed | BlockStatus::NotSwitched => {}
        }
        if status == BlockStatus::Sound {
            tally.sound.insert(round);
        }
        if !matches!(status, BlockStatus::NotSwitched | BlockStatus::Disturbed) {
            *switches = None;
        }
    }

    /// True when the block is taken.
    #[must_use]
    pub fn has(&self, round: u64, turn: Turn) -> bool {
        self.taken.contains(&(round, turn))
    }

    /// True when further blocks of it are of no use: it fails again and again, or what it would be
    /// compared with does.
    #[must_use]
    pub fn given_up(&self, turn: Turn) -> bool {
        let never = |variant| self.never_works(Turn { variant, ..turn });
        never(0) || never(turn.variant) || (1..self.variants).all(never)
    }

    /// True when it failed [`FAILURES_MAX`] times and never worked.
    #[must_use]
    pub fn never_works(&self, turn: Turn) -> bool {
        let tally = &self.tallies[turn.cell][turn.variant];
        let switches = self.switches[turn.variant].unwrap_or(0);
        switches >= FAILURES_MAX || !tally.worked && tally.failures >= FAILURES_MAX
    }

    /// True when every block so far, and at least [`CROWDED_MAX`] of them, met foreign load.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        self.crowded.is_some_and(|blocks| blocks >= CROWDED_MAX)
    }

    /// True when no candidate is left to compare with the baseline.
    #[must_use]
    pub fn is_hopeless(&self) -> bool {
        self.candidates().next().is_none()
    }

    /// The fewest pairs of any candidate in the rounds up to `last`; those that were given up left
    /// aside.
    #[must_use]
    pub fn complete(&self, last: u64) -> u64 {
        self.candidates().map(|turn| self.pairs(turn, last)).min().unwrap_or(0)
    }

    /// Of the blocks of `round` those that are wanted. When the pairs that were asked for are due
    /// and some are lacking, a further round holds only the cells that lack some.
    #[must_use]
    pub fn wanted(&self, turns: Vec<Turn>, round: u64, extent: Extent) -> Vec<Turn> {
        let lacks = |cell| match extent {
            Extent::Pairs(pairs) if round > pairs => self
                .candidates()
                .filter(|turn| turn.cell == cell)
                .any(|turn| self.pairs(turn, round - 1) < pairs),
            Extent::Pairs(_) | Extent::Time(_) | Extent::Precision(_) => true,
        };
        turns.into_iter().filter(|turn| lacks(turn.cell)).collect()
    }

    /// Every candidate in every cell that was not given up.
    fn candidates(&self) -> impl Iterator<Item = Turn> {
        (0..self.tallies.len())
            .flat_map(|cell| (1..self.variants).map(move |variant| Turn { cell, variant }))
            .filter(|turn| !self.given_up(*turn))
    }

    /// Rounds up to `last` in which the block and that of the baseline count.
    fn pairs(&self, turn: Turn, last: u64) -> u64 {
        let of = |variant: usize| &self.tallies[turn.cell][variant].sound;
        of(0).intersection(of(turn.variant)).filter(|round| **round <= last).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn turn(cell: usize, variant: usize) -> Turn {
        Turn { cell, variant }
    }

    fn every(cells: usize, variants: usize) -> Vec<Turn> {
        (0..cells).flat_map(|cell| (0..variants).map(move |it| turn(cell, it))).collect()
    }

    #[test]
    fn pairs_need_both_blocks_and_the_fewest_count() {
        let mut schedule = Schedule::new(2, 2);
        for round in 1..=3 {
            for turn in every(2, 2) {
                let status = if round == 2 && turn.cell == 1 {
                    BlockStatus::Faulty
                } else {
                    BlockStatus::Sound
                };
                schedule.took(round, turn, status);
            }
        }
        assert_eq!((schedule.complete(3), schedule.complete(2), schedule.complete(1)), (2, 1, 1));
        assert!(schedule.has(3, turn(1, 1)) && !schedule.has(4, turn(1, 1)));
    }

    #[test]
    fn a_round_behind_the_last_holds_only_cells_that_lack_pairs() {
        let mut schedule = Schedule::new(2, 2);
        for turn in every(2, 2) {
            let status =
                if turn == self::turn(1, 0) { BlockStatus::Disturbed } else { BlockStatus::Sound };
            schedule.took(1, turn, status);
        }
        let wanted = |extent| schedule.wanted(every(2, 2), 2, extent);
        assert_eq!(wanted(Extent::Pairs(1)), [turn(1, 0), turn(1, 1)]);
        assert_eq!(wanted(Extent::Pairs(2)), every(2, 2));
        assert_eq!(wanted(Extent::Time(1)), every(2, 2));
    }

    #[test]
    fn what_never_works_is_given_up_and_the_rest_goes_on() {
        let mut schedule = Schedule::new(2, 3);
        for round in 1..=FAILURES_MAX {
            assert!(!schedule.given_up(turn(0, 2)));
            schedule.took(round, turn(0, 2), BlockStatus::Failed);
        }
        assert!(schedule.given_up(turn(0, 2)));
        assert!(!schedule.given_up(turn(0, 0)) && !schedule.given_up(turn(1, 2)));
        for round in 1..=FAILURES_MAX {
            schedule.took(round, turn(0, 1), BlockStatus::Failed);
        }
        assert!(schedule.given_up(turn(0, 0)), "nothing is left to compare it with");
        assert!(!schedule.is_hopeless());
    }

    #[test]
    fn a_variant_whose_answers_are_all_wrong_is_given_up_unless_it_worked_once() {
        let took = |statuses: &[BlockStatus]| {
            let mut schedule = Schedule::new(1, 2);
            for (round, status) in (1..).zip(statuses) {
                schedule.took(round, turn(0, 1), *status);
            }
            schedule
        };
        let broken = [BlockStatus::Broken; 3];
        assert!(!took(&broken[1..]).given_up(turn(0, 1)));
        assert!(took(&broken).given_up(turn(0, 1)) && took(&broken).is_hopeless());
        for worked in [BlockStatus::Sound, BlockStatus::Faulty, BlockStatus::Crowded] {
            let mut statuses = vec![worked];
            statuses.extend(broken);
            assert!(!took(&statuses).given_up(turn(0, 1)), "{worked:?}");
        }
    }

    #[test]
    fn foreign_load_in_every_block_ends_it_and_in_some_does_not() {
        let crowd = |schedule: &mut Schedule, blocks: u64| {
            for round in 1..=blocks {
                assert!(!schedule.is_crowded());
                schedule.took(round, turn(0, 0), BlockStatus::Crowded);
            }
        };
        let mut schedule = Schedule::new(1, 2);
        crowd(&mut schedule, CROWDED_MAX);
        assert!(schedule.is_crowded() && !schedule.is_hopeless());
        let mut schedule = schedule.resumed();
        schedule.took(9, turn(0, 1), BlockStatus::Sound);
        crowd(&mut schedule, 3 * CROWDED_MAX);
        assert!(!schedule.is_crowded(), "one was measured without");
    }

    #[test]
    fn a_variant_that_cannot_be_switched_to_is_given_up_in_every_cell() {
        let mut schedule = Schedule::new(4, 2);
        for cell in 0..3 {
            schedule.took(1, turn(cell, 1), BlockStatus::NotSwitched);
        }
        assert!(schedule.given_up(turn(3, 1)) && schedule.is_hopeless());
    }

    #[test]
    fn what_worked_once_or_was_only_disturbed_is_tried_again() {
        let mut schedule = Schedule::new(1, 2);
        for round in 1..=9 {
            schedule.took(round, turn(0, 1), BlockStatus::Disturbed);
        }
        assert!(!schedule.given_up(turn(0, 1)));
        schedule.took(10, turn(0, 1), BlockStatus::Faulty);
        for round in 11..=19 {
            let status =
                if round % 2 == 0 { BlockStatus::Failed } else { BlockStatus::NotSwitched };
            schedule.took(round, turn(0, 1), status);
        }
        assert!(!schedule.given_up(turn(0, 1)));
    }
}
