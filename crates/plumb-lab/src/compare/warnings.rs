//! What the reader of a comparison must know before its figures.

use plumb_measure::{Contrast, RunRecord};

use super::cell::Cell;
use super::interleaved::{Experiment, PAIRS_MIN, VariantBlocks};
use crate::Faults;
use crate::block::Block;
use crate::contrast::pairs_needed;
use crate::driver::drivers_warning;

/// Every warning, in sentences.
pub(super) fn warnings(
    experiment: &Experiment,
    variants: &[VariantBlocks],
    cells: &[Cell<'_>],
    contrasts: &[Contrast],
) -> Vec<String> {
    let mut warnings = few_pairs(experiment, cells);
    warnings.extend(too_many_contrasts(cells, contrasts));
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
    if experiment.faults == Faults::Accept {
        let faults = variants.iter().flat_map(|it| &it.blocks).filter_map(Block::fault).count();
        if faults > 0 {
            warnings
                .push(format!("{faults} blocks with faults count, as asked (--accept-invalid)."));
        }
    }
    warnings
}

/// Where too few pairs are complete for a verdict.
fn few_pairs(experiment: &Experiment, cells: &[Cell<'_>]) -> Vec<String> {
    let all: Vec<u64> = cells.iter().flat_map(Cell::pairs).collect();
    let few = all.iter().filter(|pairs| **pairs < PAIRS_MIN).count();
    let fewest = all.iter().copied().min().unwrap_or(0);
    let why = format!(
        "with fewer than {PAIRS_MIN} pairs no exact test at 5 % can find anything, so there is no \
         verdict"
    );
    match (all.len(), few) {
        (all, few) if all == few => {
            vec![format!("Only {fewest} of {} rounds are complete; {why}.", experiment.rounds)]
        }
        (_, 0) => Vec::new(),
        (all, few) => vec![format!(
            "In {few} of {all} places fewer than {PAIRS_MIN} of {} rounds are complete, {fewest} in \
             the worst; {why} there.",
            experiment.rounds
        )],
    }
}

/// Where there are enough pairs for one contrast, but not for so many.
fn too_many_contrasts(cells: &[Cell<'_>], contrasts: &[Contrast]) -> Option<String> {
    let tested = contrasts.iter().filter(|it| it.endpoints.iter().any(|it| it.p.is_some()));
    let (tested, pairs) = (tested.count(), cells.iter().flat_map(Cell::pairs).min()?);
    let needed = pairs_needed(tested);
    (pairs >= PAIRS_MIN && pairs < needed).then(|| {
        format!(
            "With {pairs} pairs no difference, however large, can be shown in {tested} contrasts at \
             once: their adjusted p stays above 5 %. Take {needed} rounds or more."
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
