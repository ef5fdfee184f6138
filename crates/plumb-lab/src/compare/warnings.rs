//! What the reader of a comparison must know before its figures.

use plumb_measure::{Contrast, RunRecord};

use super::cell::Cell;
use super::variant_blocks::{Experiment, VariantBlocks};
use crate::block::{Block, BlockFault};
use crate::contrast::Tests;
use crate::driver::drivers_warning;

/// Every warning, in sentences.
pub(super) fn warnings(
    experiment: &Experiment,
    variants: &[VariantBlocks],
    cells: &[Cell<'_>],
    contrasts: &[Contrast],
    tests: Tests,
) -> Vec<String> {
    let mut warnings: Vec<String> = few_pairs(experiment, cells, tests).into_iter().collect();
    if contrasts.len() > 1 {
        warnings.extend(same_treatment(variants)); // the sentence of a single one says so
    }
    warnings.extend(not_measured(variants, cells));
    warnings.extend(driver_warning(cells));
    for cell in cells {
        let of_cell = drivers_warning(cell.known().into_iter());
        let of_cell = of_cell.into_iter().chain(length_warning(contrasts, &cell.samples()));
        let of_cell = of_cell.map(|text| match cell.name() {
            name if name.is_empty() => text,
            name => format!("{name}: {text}"),
        });
        warnings.extend(of_cell);
    }
    warnings.extend(accepted(experiment, variants));
    warnings
}

/// Blocks that count only because that was asked for.
fn accepted(experiment: &Experiment, variants: &[VariantBlocks]) -> Vec<String> {
    let admitted = |block: &&Block| block.left_out(experiment.faults).is_none();
    let blocks = variants.iter().flat_map(|it| &it.blocks).filter(admitted);
    let (mut invalid, mut unchecked) = (0, 0);
    for fault in blocks.filter_map(Block::fault) {
        match fault {
            BlockFault::Invalid(_) => invalid += 1,
            BlockFault::Unchecked(_) => unchecked += 1,
        }
    }
    let said = |count: usize, one: &str, many: &str, rest: &str| {
        let noun = if count == 1 { one } else { many };
        (count > 0).then(|| format!("{count} {noun}, as asked ({rest})."))
    };
    let faults = "blocks with faults count";
    let not_checked = "blocks whose validity is not checked count";
    [
        said(invalid, "block with faults counts", faults, "--accept-invalid"),
        said(
            unchecked,
            "block whose validity is not checked counts",
            not_checked,
            "--accept-unchecked",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Where too few pairs are complete to show a difference in every primary figure.
fn few_pairs(experiment: &Experiment, cells: &[Cell<'_>], tests: Tests) -> Option<String> {
    let all: Vec<u64> = cells.iter().flat_map(Cell::pairs).collect();
    let few = all.iter().filter(|pairs| **pairs < tests.needed).count();
    let fewest = all.iter().copied().min().unwrap_or(0);
    if few == 0 && !all.is_empty() {
        return None;
    }
    let place = match (few, all.len()) {
        (few, all) if few == all => String::new(),
        (few, all) => format!("In {few} of {all} places: "),
    };
    let at_once = match tests.count {
        0 | 1 => String::new(),
        count => format!(" in {count} tests at once"),
    };
    Some(format!(
        "{place}{fewest} of {} rounds are complete, and with fewer than {} no exact test at \
         5 % can show a difference{at_once}, however large. Take {} rounds or more.",
        experiment.rounds, tests.needed, tests.needed
    ))
}

/// Candidates that are the baseline under another name.
fn same_treatment(variants: &[VariantBlocks]) -> Option<String> {
    let (baseline, candidates) = variants.split_first()?;
    let same: Vec<&str> = candidates
        .iter()
        .filter(|candidate| candidate.same_as_baseline)
        .map(|candidate| candidate.name.as_str())
        .collect();
    (!same.is_empty()).then(|| {
        let verb = if same.len() == 1 { "has" } else { "have" };
        format!(
            "A/A comparison: {} {verb} the commands and settings of {}. What differs is the noise of \
             this machine; the interval says which effects it would hide.",
            same.join(", "),
            baseline.name
        )
    })
}

/// Variants of which no block counts, anywhere or in some cells.
fn not_measured(variants: &[VariantBlocks], cells: &[Cell<'_>]) -> Vec<String> {
    let mut warnings = Vec::new();
    for (number, variant) in variants.iter().enumerate() {
        let last = |cell: Option<usize>| {
            let failed = variant.failed.iter().rev();
            failed.filter(|it| cell.is_none_or(|cell| it.cell == cell)).map(|it| &it.reason).next()
        };
        let is_empty = |cell: &Cell<'_>| cell.sound[number].is_empty();
        if cells.iter().all(is_empty) {
            warnings.extend(
                last(None).map(|why| format!("{} could not be measured: {why}.", variant.name)),
            );
            continue;
        }
        for (at, cell) in cells.iter().enumerate().filter(|(_, cell)| is_empty(cell)) {
            warnings.extend(last(Some(at)).map(|why| {
                format!("{}: {} could not be measured: {why}.", cell.name(), variant.name)
            }));
        }
    }
    warnings
}

fn driver_warning(cells: &[Cell<'_>]) -> Option<String> {
    let blocks = cells.iter().flat_map(|cell| cell.sound.iter().flatten());
    match blocks.filter(|block| block.is_driver_limited()).count() {
        0 => None,
        n => Some(format!(
            "In {n} {} the load generator was the limit: response times say nothing and are left \
             out, throughput is a lower bound.",
            if n == 1 { "block" } else { "blocks" }
        )),
    }
}

fn length_warning(contrasts: &[Contrast], samples: &[Option<&RunRecord>]) -> Option<String> {
    let length = |record: &RunRecord| {
        record.results.first().and_then(|result| result.length).map(|length| length.p50)
    };
    let lengths: Vec<u64> = samples.iter().flatten().filter_map(|record| length(record)).collect();
    let differ = lengths.windows(2).any(|pair| pair[0] != pair[1]);
    let single = contrasts.iter().all(|contrast| !contrast.labels.contains_key("size"));
    (differ && single).then(|| {
        let all: Vec<String> = lengths.iter().map(u64::to_string).collect();
        format!(
            "The answers differ in length ({} bytes): that is part of the difference.",
            all.join(" against ")
        )
    })
}
