//! The blocks of one cell: a probe at one combination of the levels of all factors.

use plumb_comparison::{Better, Contrast};
use plumb_measure::{RunRecord, counted};

use super::differences::{Named, same_kind};
use super::points::{Labels, common_labels, in_order, matched};
use super::variant_blocks::{Experiment, VariantBlocks};
use crate::LabError;
use crate::block::{Block, Point};
use crate::contrast::{FailedRounds, Pair, Question, contrast};
use crate::experiment::{CellRecord, Failure};

/// A contrast, and what went wrong beside it.
pub(super) struct Found {
    pub(super) contrast: Contrast,
    /// Why the figure that was to decide does not, and switches between its variants that failed, in
    /// words without an end.
    pub(super) trouble: Option<String>,
    /// Rounds without a pair because one of both failed.
    pub(super) failed: FailedRounds,
}

/// What counts in one cell.
pub(super) struct Cell<'a> {
    experiment: &'a Experiment,
    record: &'a CellRecord,
    number: usize,
    /// The blocks that count, by variant, each in order of time.
    pub(super) sound: Vec<Vec<&'a Block>>,
}

impl<'a> Cell<'a> {
    /// The cell `number` of an experiment.
    ///
    /// # Errors
    /// [`LabError::Mismatch`] when its variants do not measure the same kind of thing.
    pub(super) fn of(
        experiment: &'a Experiment,
        number: usize,
        variants: &'a [VariantBlocks],
    ) -> Result<Self, LabError> {
        let counts = |block: &&Block| {
            block.turn.cell == number && block.left_out(experiment.faults).is_none()
        };
        let sound = variants.iter().map(|it| it.blocks.iter().filter(counts).collect()).collect();
        let cell = Self { experiment, record: &experiment.cells[number], number, sound };
        let names = variants.iter().map(|variant| variant.name.as_str());
        let samples = names.zip(cell.samples());
        let known: Vec<Named<'_>> =
            samples.filter_map(|(name, record)| Some((name, record?))).collect();
        known.iter().try_for_each(|other| same_kind(known[0], *other))?;
        Ok(cell)
    }

    /// Its name; empty when there is only one cell.
    pub(super) fn name(&self) -> String {
        self.record.name()
    }

    /// The first run that counts of each variant.
    pub(super) fn samples(&self) -> Vec<Option<&'a RunRecord>> {
        self.sound.iter().map(|blocks| blocks.first().map(|block| &block.record)).collect()
    }

    /// The first run of each variant: that counts, or was measured.
    pub(super) fn measured(&self, variants: &'a [VariantBlocks]) -> Vec<Option<&'a RunRecord>> {
        let first = |variant: &'a VariantBlocks| {
            let mut blocks = variant.blocks.iter().filter(|it| it.turn.cell == self.number);
            blocks.next().map(|block| &block.record)
        };
        let sound = self.samples().into_iter();
        sound.zip(variants).map(|(sound, variant)| sound.or_else(|| first(variant))).collect()
    }

    /// Those that there are.
    pub(super) fn known(&self) -> Vec<&'a RunRecord> {
        self.samples().into_iter().flatten().collect()
    }

    /// The number of each candidate that has any block, and how many pairs it has.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (usize, u64)> {
        let candidates = self.sound.iter().enumerate().skip(1);
        let measured = candidates.filter(|(_, blocks)| !blocks.is_empty());
        measured.map(|(number, blocks)| (number, self.rounds_with(blocks).count() as u64))
    }

    /// True when the baseline and a candidate count in one round.
    pub(super) fn has_pairs(&self) -> bool {
        self.pairs().any(|(_, pairs)| pairs > 0)
    }

    /// Rounds in which the baseline and one of `candidate` count.
    fn rounds_with(&self, candidate: &[&'a Block]) -> impl Iterator<Item = u64> {
        let rounds = candidate.iter().map(|block| block.round);
        rounds.filter(|round| self.sound[0].iter().any(|block| block.round == *round))
    }

    /// One contrast a candidate and a point.
    pub(super) fn contrasts(&self, variants: &[VariantBlocks]) -> Result<Vec<Found>, LabError> {
        let mut found = Vec::new();
        for (at, candidate) in variants.iter().enumerate().skip(1) {
            let of = |number: usize| {
                let first: Option<&&Block> = self.sound[number].first();
                first.map(|block| (variants[number].name.as_str(), *block))
            };
            let points = points(of(0), of(at))?;
            for (of_baseline, of_candidate) in &points {
                let pairs: Vec<Pair<'_>> = self
                    .rounds_with(&self.sound[at])
                    .filter_map(|round| {
                        let (before, baseline) = point(&self.sound[0], round, of_baseline)?;
                        let (number, candidate) = point(&self.sound[at], round, of_candidate)?;
                        Some(Pair { round, baseline, candidate, candidate_first: number < before })
                    })
                    .collect();
                let labels =
                    self.labels(common_labels(of_baseline, of_candidate), points.len() > 1);
                let question = self.question(variants, candidate, at, labels);
                let contrast = contrast(&question, &pairs);
                let troubles = [
                    question.unanswered(&contrast),
                    self.failed_switches(&[&variants[0], candidate]),
                    self.left_out(variants, &[0, at]),
                    self.failed_blocks(&[&variants[0], candidate]),
                    self.failed_under_load(&[&variants[0], candidate]),
                ];
                let troubles: Vec<String> = troubles.into_iter().flatten().collect();
                let trouble = (!troubles.is_empty()).then(|| troubles.join(", "));
                let failed = FailedRounds {
                    baseline: self.failed_alone(&variants[0], &self.sound[at]),
                    candidate: self.failed_alone(candidate, &self.sound[0]),
                };
                found.push(Found { contrast, trouble, failed });
            }
        }
        Ok(found)
    }

    /// Of which of `variants`, by their numbers, no block counts in this cell although some were measured,
    /// with the first reason of each.
    fn left_out(&self, variants: &[VariantBlocks], numbers: &[usize]) -> Option<String> {
        let of = |number: &usize| {
            let variant = &variants[*number];
            let (count, reason) = self.none_counts(*number, variant)?;
            let name = &variant.name;
            Some(match count {
                1 => format!("the only block of {name} does not count ({reason})"),
                _ => format!("none of the {count} blocks of {name} counts (the first: {reason})"),
            })
        };
        let all: Vec<String> = numbers.iter().filter_map(of).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// How many blocks of the `variant` of that number were measured in this cell, and why the first does
    /// not count; `None` when one counts.
    pub(super) fn none_counts(
        &self,
        number: usize,
        variant: &VariantBlocks,
    ) -> Option<(usize, String)> {
        let of_cell = || variant.blocks.iter().filter(|block| block.turn.cell == self.number);
        let first = of_cell().next().filter(|_| self.sound[number].is_empty())?;
        Some((of_cell().count(), first.left_out(self.experiment.faults)?))
    }

    /// Which switches to `variants` failed in this cell, with the last cause of each.
    fn failed_switches(&self, variants: &[&VariantBlocks]) -> Option<String> {
        let of = |variant: &&VariantBlocks| {
            let failed = variant.failed.iter().filter(|it| it.cell == self.number);
            let failed = failed.filter(|it| it.failure == Some(Failure::Switch));
            let reasons: Vec<&str> = failed.map(|it| it.reason.as_str()).collect();
            let last = reasons.last()?;
            let times = counted(reasons.len() as u64, "time");
            Some(format!("switching to {} failed {times} ({last})", variant.name))
        };
        let all: Vec<String> = variants.iter().filter_map(of).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// The rounds in which operations of the `variant` failed so that its block does not count, or its
    /// measurement as a whole. A block that met too much foreign load is left out whatever the target did in
    /// it, so it is none: others have chosen it, and not what the variant did.
    fn failed_rounds(&self, variant: &VariantBlocks) -> Vec<u64> {
        let broken = self.broken(variant).filter(|block| !block.is_crowded());
        let failed = variant
            .failed
            .iter()
            .filter(|it| it.cell == self.number && it.failure == Some(Failure::Measurement));
        broken.map(|block| block.round).chain(failed.map(|it| it.round)).collect()
    }

    /// The blocks of the `variant` in which operations failed and that do not count, for whatever reason.
    fn broken<'b>(&self, variant: &'b VariantBlocks) -> impl Iterator<Item = &'b Block> {
        variant.blocks.iter().filter(|block| {
            block.turn.cell == self.number
                && block.is_failed_by_target()
                && block.left_out(self.experiment.faults).is_some()
        })
    }

    /// How many blocks of the `variant` were taken in this cell, those included that came to nothing.
    fn taken(&self, variant: &VariantBlocks) -> usize {
        let measured = variant.blocks.iter().filter(|it| it.turn.cell == self.number).count();
        measured + variant.failed.iter().filter(|it| it.cell == self.number).count()
    }

    /// In how many rounds the `variant` failed while the block of the `other` counts.
    fn failed_alone(&self, variant: &VariantBlocks, other: &[&Block]) -> usize {
        let counts = |round: &u64| other.iter().any(|block| block.round == *round);
        self.failed_rounds(variant).iter().filter(|round| counts(round)).count()
    }

    /// How many blocks of each of the `variants` failed, where only some did.
    fn failed_blocks(&self, variants: &[&VariantBlocks]) -> Option<String> {
        let of = |variant: &&VariantBlocks| {
            let (failed, taken) = (self.failed_rounds(variant).len(), self.taken(variant));
            (failed > 0 && failed < taken).then(|| {
                format!(
                    "{} failed in {failed} of its {} and these count in no figure",
                    variant.name,
                    counted(taken as u64, "block")
                )
            })
        };
        let all: Vec<String> = variants.iter().filter_map(of).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// How many blocks of each of the `variants` failed and met too much foreign load, where only some did: that
    /// load can be the failure's own, such as a dump of memory or a restart.
    fn failed_under_load(&self, variants: &[&VariantBlocks]) -> Option<String> {
        let of = |variant: &&VariantBlocks| {
            let failed = self.broken(variant).filter(|block| block.is_crowded()).count();
            let taken = self.taken(variant);
            (failed > 0 && failed < taken).then(|| {
                format!(
                    "{failed} of the {} of {} failed under foreign load, which counts as no failure of it",
                    counted(taken as u64, "block"),
                    variant.name
                )
            })
        };
        let all: Vec<String> = variants.iter().filter_map(of).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    fn question(
        &self,
        variants: &[VariantBlocks],
        candidate: &VariantBlocks,
        at: usize,
        labels: Labels,
    ) -> Question {
        Question {
            baseline: variants[0].name.clone(),
            candidate: candidate.name.clone(),
            labels,
            margin: self.experiment.margin,
            seed: self.experiment.seed,
            latency: latency(&self.sound[0]) && latency(&self.sound[at]),
            figure: self.record.figure.clone(),
            better: self.record.better.unwrap_or(Better::Lower),
            detail: self.experiment.detail,
            same_treatment: candidate.same_as_baseline,
            open: self.known().iter().any(|record| record.plan.load == "open"),
        }
    }

    /// The labels of a point and of the cell. A level stands as it was written, unless the point
    /// is one of several that differ in it.
    fn labels(&self, point: Labels, several_points: bool) -> Labels {
        let mut labels = point;
        for (name, level) in &self.record.labels {
            let clashes = several_points && labels.get(name).is_some_and(|own| own != level);
            let name = if clashes { format!("factor {name}") } else { name.clone() };
            labels.insert(name, level.clone());
        }
        labels
    }
}

/// Which point of the baseline belongs to which of the candidate: the one with the same labels,
/// or the only one.
fn points(
    baseline: Option<(&str, &Block)>,
    candidate: Option<(&str, &Block)>,
) -> Result<Vec<(Labels, Labels)>, LabError> {
    let (Some(baseline), Some(candidate)) = (baseline, candidate) else {
        return Ok(vec![(Labels::new(), Labels::new())]);
    };
    let labels = |block: &Block| in_order(block.points.iter().map(|point| &point.labels));
    matched((baseline.0, &labels(baseline.1)), (candidate.0, &labels(candidate.1)))
}

/// The point with these `labels` in the block of `round`, and the number of that block.
fn point<'a>(blocks: &[&'a Block], round: u64, labels: &Labels) -> Option<(u64, &'a Point)> {
    let block = blocks.iter().find(|block| block.round == round)?;
    Some((block.number, block.points.iter().find(|point| point.labels == *labels)?))
}

fn latency(blocks: &[&Block]) -> bool {
    !blocks.iter().any(|block| block.is_driver_limited())
}

#[cfg(test)]
mod tests {
    use super::super::interleaved;
    use super::super::variant_blocks::FailedBlock;
    use super::*;
    use crate::fixture;
    use crate::order::Turn;
    use plumb_comparison::Verdict;
    use plumb_measure::{Finding, FindingKind, Scope, Validity};

    /// A variant with these blocks.
    fn variant(name: &str, blocks: impl Iterator<Item = Block>) -> VariantBlocks {
        VariantBlocks {
            name: name.into(),
            command: name.into(),
            same_as_baseline: false,
            blocks: blocks.collect(),
            failed: Vec::new(),
        }
    }

    /// The only contrast of these variants in fourteen rounds.
    fn contrast_of(variants: &[VariantBlocks]) -> Contrast {
        let cells = vec![CellRecord::default()];
        let experiment = Experiment { rounds: 14, cells, ..Experiment::fixture() };
        let found = interleaved(&fixture::plumb(), "now".into(), &experiment, variants).unwrap();
        found.contrasts.into_iter().next().unwrap()
    }

    /// A run of a median of so many nanoseconds of which these were found.
    fn run(ns: u64, kinds: &[FindingKind]) -> RunRecord {
        let mut run = fixture::run("closed", ns, None);
        let finding = |kind: &FindingKind| Finding {
            kind: *kind,
            scope: Scope::Everything,
            text: "found".into(),
        };
        run.validity = Validity::of(kinds.iter().map(finding));
        run
    }

    /// The verdict and the sentence on a candidate that is faster where nothing was found, in other rounds
    /// these `kinds`.
    fn said(kinds: &[FindingKind], fails: fn(u64) -> bool) -> (Verdict, String) {
        let block =
            |variant: usize, round: u64, run| fixture::block(Turn { cell: 0, variant }, round, run);
        let old = (1..=14).map(|round| block(0, round, run(60_000 + round, &[])));
        let found = |round| if fails(round) { kinds } else { &[] };
        let new = (1..=14).map(|round| block(1, round, run(40_000 + round, found(round))));
        let contrast = contrast_of(&[variant("old", old), variant("new", new)]);
        (contrast.endpoints[0].verdict.unwrap(), contrast.sentence)
    }

    #[test]
    fn a_candidate_that_fails_now_and_then_is_not_called_better_for_the_rest() {
        for kind in [FindingKind::Failures, FindingKind::Dropped] {
            let (verdict, sentence) = said(&[kind], |round| round % 7 > 3);
            assert_eq!(verdict, Verdict::None, "{kind:?}");
            let why = "new failed in 6 of its 14 blocks and these count in no figure, so it is not called \
                       better: a round that failed counts as a change for the worse of whoever failed (";
            let none = sentence.starts_with("no verdict on new: ");
            assert!(none && sentence.contains(why), "{kind:?} {sentence}");
        }
        let (verdict, sentence) = said(&[FindingKind::Failures], |round| round == 9);
        assert_eq!(verdict, Verdict::Better, "whatever that one would have been");
        assert!(sentence.contains("new failed in 1 of its 14 blocks"), "{sentence}");
        assert!(!sentence.contains("not called"), "{sentence}");
    }

    #[test]
    fn what_others_took_from_a_block_is_no_failure_of_its_variant() {
        for kinds in
            [&[FindingKind::ForeignLoad][..], &[FindingKind::ForeignLoad, FindingKind::Failures]]
        {
            let (verdict, sentence) = said(kinds, |round| round % 7 > 3);
            assert_eq!(verdict, Verdict::Better, "{kinds:?} {sentence}");
            let told = ", 6 of the 14 blocks of new failed under foreign load, which counts as no failure of it";
            assert_eq!(sentence.contains(told), kinds.len() > 1, "{sentence}");
            assert!(!sentence.replace(told, "").contains("failed"), "{sentence}");
        }
    }

    #[test]
    fn a_block_that_came_to_nothing_counts_for_its_variant_where_that_is_known() {
        let of = |failure| {
            let block = |variant: usize, round: u64, ns| {
                fixture::block(Turn { cell: 0, variant }, round, run(ns + round, &[]))
            };
            let old = (1..=14).map(|round| block(0, round, 60_000));
            let mut new = variant("new", (1..=8).map(|round| block(1, round, 40_000)));
            new.failed = (9..=14)
                .map(|round| FailedBlock { round, cell: 0, failure, reason: "gone".into() })
                .collect();
            contrast_of(&[variant("old", old), new]).endpoints[0].verdict.unwrap()
        };
        assert_eq!(of(Some(Failure::Measurement)), Verdict::None);
        assert_eq!((of(None), of(Some(Failure::Disturbed))), (Verdict::Better, Verdict::Better));
    }

    #[test]
    fn what_is_taken_second_is_told_whoever_it_is() {
        let of = |percent: u64| {
            let blocks = |variant: usize, ns: u64| {
                (1..=14).map(move |round: u64| {
                    // in even rounds the candidate has the first turn
                    let is_second = round.is_multiple_of(2) == (variant == 0);
                    let ns = if is_second { ns * percent / 100 } else { ns };
                    let number = 2 * round + u64::from(is_second);
                    let record = run(ns + 90 * (round * 7 % 5), &[]);
                    Block { number, ..fixture::block(Turn { cell: 0, variant }, round, record) }
                })
            };
            let variants = [variant("old", blocks(0, 60_000)), variant("new", blocks(1, 40_000))];
            contrast_of(&variants).checks.order.unwrap()
        };
        let slower = of(118);
        assert!(slower.p < 0.01 && (slower.ratio - 1.18).abs() < 0.01, "{slower:?}");
        let alike = of(100);
        assert!(alike.p > 0.05 && (alike.ratio - 1.0).abs() < 0.01, "{alike:?}");
    }
}
