//! From the blocks of an interleaved experiment to a comparison.

use std::path::Path;

use plumb_comparison::{
    COMPARISON_SCHEMA, Comparison, Contrast, Design, DesignKind, Difference, LeftOut, Variant,
};
use plumb_measure::{AcceptedLoad, Program, RunRecord};

use super::cell::{Cell, Found};
use super::differences::{differences, shared};
use super::origin;
use super::variant_blocks::{Experiment, FailedBlock, VariantBlocks};
use super::warnings::{JudgedCells, imprecise, warnings};
use crate::LabError;
use crate::block::Block;
use crate::contrast::{FailedRounds, Judged, Tests, Withdrawn, judge};
use crate::experiment::OrderRecord;
use crate::sentence::{Around, sentence};
use crate::tick::{TickOf, same_tick};

impl VariantBlocks {
    /// The variants of `order` with their blocks, read from the experiment in `folder`.
    ///
    /// # Errors
    /// [`LabError::Folder`] when a block that did not fail cannot be read, [`LabError::Stray`] when
    /// a block belongs to no variant or cell, [`LabError::Origin`] when one was not measured where
    /// the others of its variant were, or is not the one that the experiment took.
    pub fn read(order: &OrderRecord, folder: &Path) -> Result<Vec<Self>, LabError> {
        let mut variants = Self::of(order);
        for (number, block) in (1..).zip(&order.blocks) {
            let (round, cell) = (block.round, block.cell);
            let variant = variants.get_mut(block.variant).filter(|_| cell < order.cells.len());
            let Some(variant) = variant else {
                return Err(LabError::Stray(format!(
                    "a block belongs to variant {} in cell {cell}, and there are {} and {}",
                    block.variant,
                    order.variants.len(),
                    order.cells.len()
                )));
            };
            match &block.failed {
                Some(reason) => {
                    let (failure, reason) = (block.failure, reason.clone());
                    variant.failed.push(FailedBlock { round, cell, failure, reason });
                }
                None => {
                    let path = folder.join(&block.folder);
                    variant.blocks.push(Block::read(&path, block.turn(), (round, number))?);
                }
            }
        }
        origin::check(order, folder, &variants)?;
        Ok(variants)
    }
}

/// Compares the variants of an interleaved experiment; the first is the baseline.
///
/// # Errors
/// [`LabError::Mismatch`] when the variants do not measure the same kind of thing in a cell.
pub fn interleaved(
    plumb: &Program,
    compared: String,
    experiment: &Experiment,
    variants: &[VariantBlocks],
) -> Result<Comparison, LabError> {
    (0..experiment.cells.len()).try_for_each(|cell| same_tick_in(cell, variants))?;
    let cells: Vec<Cell<'_>> = (0..experiment.cells.len())
        .map(|number| Cell::of(experiment, number, variants))
        .collect::<Result<_, _>>()?;
    let (mut found, mut in_cells) = (Vec::new(), Vec::new());
    for cell in &cells {
        let of_cell = cell.contrasts(variants)?;
        in_cells.push(of_cell.len());
        found.extend(of_cell);
    }
    let blocks = cells.iter().flat_map(|cell| cell.sound.iter().flatten());
    let accepted_load = AcceptedLoad::of(blocks.map(|block| &block.record));
    let (contrasts, tests) = judged(found, experiment, accepted_load);
    let complete = cells.iter().flat_map(Cell::pairs).map(|(_, pairs)| pairs).min().unwrap_or(0);
    let judged = JudgedCells { contrasts: &contrasts, in_cells: &in_cells, tests };
    let warnings = warnings(experiment, variants, &cells, judged);
    let mut comparison = Comparison {
        schema: COMPARISON_SCHEMA.into(),
        plumb: plumb.clone(),
        compared,
        design: Design {
            kind: DesignKind::Interleaved,
            seed: Some(experiment.seed),
            rounds: experiment.rounds,
            complete_rounds: complete,
            tests: Some(tests.count),
            rounds_needed: Some(tests.needed),
            cut_short: experiment.cut_short.clone(),
            margin: experiment.margin,
        },
        variants: variants
            .iter()
            .enumerate()
            .map(|(number, variant)| described(experiment, &cells, number, variant))
            .collect(),
        differences: all_differences(&cells, variants),
        shared: shared(&cells.iter().flat_map(Cell::known).collect::<Vec<_>>()),
        accepted_load,
        warnings,
        contrasts,
    };
    let wide = imprecise(experiment, variants, comparison.widest_half());
    comparison.warnings.extend(wide);
    Ok(comparison)
}

fn described(
    experiment: &Experiment,
    cells: &[Cell<'_>],
    number: usize,
    variant: &VariantBlocks,
) -> Variant {
    let left_out = |round, cell, reason: String| {
        let reason = match experiment.cell_name(cell) {
            name if name.is_empty() => reason,
            name => format!("{name}: {reason}"),
        };
        LeftOut { round, reason }
    };
    let failed = variant.failed.iter().map(|it| left_out(it.round, it.cell, it.reason.clone()));
    let faulty = variant.blocks.iter().filter_map(|block| {
        Some(left_out(block.round, block.turn.cell, block.left_out(experiment.faults)?))
    });
    let mut left_out: Vec<LeftOut> = failed.chain(faulty).collect();
    left_out.sort_by_key(|it| it.round);
    Variant {
        name: variant.name.clone(),
        command: variant.command.clone(),
        same_as_baseline: variant.same_as_baseline,
        blocks: cells.iter().map(|cell| cell.sound[number].len() as u64).sum(),
        left_out,
    }
}

/// In what else the variants differ: every difference once, whatever cell shows it. Where no cell has a block
/// that counts of every variant, those that were measured tell it.
fn all_differences<'a>(cells: &[Cell<'a>], variants: &'a [VariantBlocks]) -> Vec<Difference> {
    let counting = cells.iter().map(Cell::samples);
    let mut samples: Vec<Vec<Option<&RunRecord>>> =
        counting.filter(|samples| samples.iter().all(Option::is_some)).collect();
    if samples.is_empty() {
        samples = cells.iter().map(|cell| cell.measured(variants)).collect();
    }
    let mut all: Vec<Difference> = Vec::new();
    for of_cell in samples {
        let new = differences(&of_cell).into_iter().filter(|it| !all.contains(it));
        let new: Vec<Difference> = new.collect();
        all.extend(new);
    }
    all
}

/// Adjusts the tests, draws the verdicts, and says them.
fn judged(
    found: Vec<Found>,
    experiment: &Experiment,
    accepted_load: Option<AcceptedLoad>,
) -> (Vec<Contrast>, Tests) {
    let failed: Vec<FailedRounds> = found.iter().map(|it| it.failed).collect();
    let (mut contrasts, troubles): (Vec<Contrast>, Vec<Option<String>>) =
        found.into_iter().map(|it| (it.contrast, it.trouble)).unzip();
    let mut primaries: Vec<Judged<'_>> = Vec::new();
    for (contrast, failed) in contrasts.iter_mut().zip(failed) {
        primaries.extend(contrast.endpoints.first_mut().map(|it| Judged::new(it, failed)));
    }
    let tests = judge(&mut primaries, experiment.margin);
    let mut withdrawn = primaries.iter().map(|it| it.withdrawn).collect::<Vec<_>>().into_iter();
    for (contrast, trouble) in contrasts.iter_mut().zip(troubles) {
        let has_figure = !contrast.endpoints.is_empty();
        let withdrawn = if has_figure { withdrawn.next().flatten() } else { None };
        let ended = experiment.cut_short.clone().filter(|_| !has_figure);
        let all = [trouble.or(ended), withdrawn.map(Withdrawn::words)];
        let all: Vec<String> = all.into_iter().flatten().collect();
        let trouble = (!all.is_empty()).then(|| all.join(", "));
        let around = Around { tests: Some(tests), trouble, accepted_load };
        contrast.sentence = sentence(contrast, &around);
    }
    (contrasts, tests)
}

/// Refuses an experiment whose blocks differ in the tick where they are compared: within a cell.
///
/// # Errors
/// As [`same_tick`].
fn same_tick_in(cell: usize, variants: &[VariantBlocks]) -> Result<(), LabError> {
    let blocks = variants.iter().flat_map(|variant| {
        let of_cell = variant.blocks.iter().filter(move |block| block.turn.cell == cell);
        of_cell.map(|block| TickOf::of(&variant.name, &variant.command, &block.record))
    });
    same_tick(blocks)
}
