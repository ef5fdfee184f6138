//! From the blocks of an interleaved experiment to a comparison.

use std::path::Path;

use plumb_measure::{
    Better, COMPARISON_SCHEMA, Comparison, Contrast, Design, DesignKind, Endpoint, LeftOut,
    Program, Role, RunRecord, Variant, statistics,
};

use super::differences::{differences, same_kind};
use super::points::{Labels, common_labels, in_order, matched};
use crate::block::{Block, Point};
use crate::contrast::{Detail, Pair, Question, contrast, verdict};
use crate::driver::drivers_warning;
use crate::experiment::{OrderRecord, VariantRecord};
use crate::sentence::sentence;
use crate::{Faults, LabError};

/// Pairs below which no two-sided test at 5 % can find anything.
pub const PAIRS_MIN: u64 = 6;
/// A variant of an interleaved experiment.
#[derive(Clone, Debug)]
pub struct VariantBlocks {
    /// Its name.
    pub name: String,
    /// What was run, as one line.
    pub command: String,
    /// Its blocks, in order of time.
    pub blocks: Vec<Block>,
    /// Blocks that came to nothing: their rounds and why.
    pub failed: Vec<LeftOut>,
}

/// What is known of an interleaved experiment beside its blocks.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Seed of the order.
    pub seed: u64,
    /// Rounds begun.
    pub rounds: u64,
    /// Why it ended before its plan.
    pub cut_short: Option<String>,
    /// Effects within this share count as none.
    pub margin: Option<f64>,
    /// What becomes of blocks with faults.
    pub faults: Faults,
    /// Which way a figure that commands print is good.
    pub figure: Better,
    /// How much of it is worked out.
    pub detail: Detail,
}

impl Experiment {
    /// What `order` says of its experiment.
    #[must_use]
    pub fn of(order: &OrderRecord, faults: Faults) -> Self {
        Self {
            seed: order.seed,
            rounds: order.rounds(),
            cut_short: order.cut_short.clone(),
            margin: order.margin,
            faults,
            figure: order.figure,
            detail: Detail::All,
        }
    }
}

impl VariantBlocks {
    /// The variants of `order`, without their blocks.
    #[must_use]
    pub fn of(order: &OrderRecord) -> Vec<Self> {
        let empty = |variant: &VariantRecord| Self {
            name: variant.name.clone(),
            command: variant.command.clone(),
            blocks: Vec::new(),
            failed: Vec::new(),
        };
        order.variants.iter().map(empty).collect()
    }

    /// The variants of `order` with their blocks, read from the experiment in `folder`.
    ///
    /// # Errors
    /// [`LabError::Folder`] when a block that did not fail cannot be read.
    pub fn read(order: &OrderRecord, folder: &Path) -> Result<Vec<Self>, LabError> {
        let mut variants = Self::of(order);
        for block in &order.blocks {
            let Some(variant) = variants.get_mut(block.variant) else {
                return Err(LabError::Mismatch(format!(
                    "a block belongs to variant {}, and there are {}",
                    block.variant,
                    order.variants.len()
                )));
            };
            match &block.failed {
                Some(reason) => {
                    variant.failed.push(LeftOut { round: block.round, reason: reason.clone() });
                }
                None => {
                    let path = folder.join(&block.folder);
                    variant.blocks.push(Block::read(&path, block.variant, block.round)?);
                }
            }
        }
        Ok(variants)
    }
}

/// Compares the variants of an interleaved experiment; the first is the baseline.
///
/// # Errors
/// [`LabError::Mismatch`] when the variants do not measure the same kind of thing.
pub fn interleaved(
    plumb: &Program,
    compared: String,
    experiment: &Experiment,
    variants: &[VariantBlocks],
) -> Result<Comparison, LabError> {
    let sound: Vec<Vec<&Block>> = variants
        .iter()
        .map(|variant| {
            let counts =
                |block: &&Block| experiment.faults == Faults::Accept || block.fault().is_none();
            variant.blocks.iter().filter(counts).collect()
        })
        .collect();
    let samples: Vec<Option<&RunRecord>> =
        sound.iter().map(|blocks| blocks.first().map(|block| &block.record)).collect();
    let known: Vec<&RunRecord> = samples.iter().copied().flatten().collect();
    known.iter().try_for_each(|record| same_kind(known[0], record))?;
    let complete: Vec<u64> = (1..=experiment.rounds)
        .filter(|round| sound.iter().all(|blocks| blocks.iter().any(|it| it.round == *round)))
        .collect();
    let mut contrasts = Vec::new();
    for (at, candidate) in variants.iter().enumerate().skip(1) {
        for (of_baseline, of_candidate) in points(sound[0].first(), sound[at].first())? {
            let question = Question {
                baseline: variants[0].name.clone(),
                candidate: candidate.name.clone(),
                labels: common_labels(&of_baseline, &of_candidate),
                margin: experiment.margin,
                seed: experiment.seed,
                latency: latency(&sound[0]) && latency(&sound[at]),
                figure: experiment.figure,
                detail: experiment.detail,
                open: known.iter().any(|record| record.plan.load == "open"),
            };
            let pairs: Vec<Pair<'_>> = complete
                .iter()
                .filter_map(|round| {
                    Some(Pair {
                        round: *round,
                        baseline: point(&sound[0], *round, &of_baseline)?,
                        candidate: point(&sound[at], *round, &of_candidate)?,
                    })
                })
                .collect();
            contrasts.push(contrast(&question, &pairs));
        }
    }
    judge(&mut contrasts, experiment.margin);
    let mut warnings = Vec::new();
    if (complete.len() as u64) < PAIRS_MIN {
        warnings.push(format!(
            "Only {} of {} rounds are complete; with fewer than {PAIRS_MIN} pairs no exact test at \
             5 % can find anything, so there is no verdict.",
            complete.len(),
            experiment.rounds
        ));
    }
    warnings.extend(driver_warning(&sound));
    warnings.extend(drivers_warning(known.iter().copied()));
    warnings.extend(length_warning(&contrasts, &samples));
    if experiment.faults == Faults::Accept {
        let faults = variants.iter().flat_map(|it| &it.blocks).filter_map(Block::fault).count();
        if faults > 0 {
            warnings
                .push(format!("{faults} blocks with faults count, as asked (--accept-invalid)."));
        }
    }
    Ok(Comparison {
        schema: COMPARISON_SCHEMA.into(),
        plumb: plumb.clone(),
        compared,
        design: Design {
            kind: DesignKind::Interleaved,
            seed: Some(experiment.seed),
            rounds: experiment.rounds,
            complete_rounds: complete.len() as u64,
            cut_short: experiment.cut_short.clone(),
            margin: experiment.margin,
        },
        variants: variants.iter().zip(&sound).map(|(it, sound)| described(it, sound)).collect(),
        differences: differences(&samples),
        warnings,
        contrasts,
    })
}

fn described(variant: &VariantBlocks, sound: &[&Block]) -> Variant {
    let counts = |block: &&Block| sound.iter().any(|it| it.round == block.round);
    let faulty = variant
        .blocks
        .iter()
        .filter(|block| !counts(block))
        .map(|block| LeftOut { round: block.round, reason: block.fault().unwrap_or_default() });
    let mut left_out: Vec<LeftOut> = variant.failed.iter().cloned().chain(faulty).collect();
    left_out.sort_by_key(|it| it.round);
    Variant {
        name: variant.name.clone(),
        command: variant.command.clone(),
        blocks: sound.len() as u64,
        left_out,
    }
}

/// Which point of the baseline belongs to which of the candidate: the one with the same labels,
/// or the only one.
fn points(
    baseline: Option<&&Block>,
    candidate: Option<&&Block>,
) -> Result<Vec<(Labels, Labels)>, LabError> {
    let (Some(baseline), Some(candidate)) = (baseline, candidate) else {
        return Ok(vec![(Labels::new(), Labels::new())]);
    };
    let labels = |block: &Block| in_order(block.points.iter().map(|point| &point.labels));
    let (of_baseline, of_candidate) = (labels(baseline), labels(candidate));
    matched(&of_baseline, &of_candidate)
}

fn point<'a>(blocks: &[&'a Block], round: u64, labels: &Labels) -> Option<&'a Point> {
    let block = blocks.iter().find(|block| block.round == round)?;
    block.points.iter().find(|point| point.labels == *labels)
}

fn latency(blocks: &[&Block]) -> bool {
    blocks.iter().all(|block| block.record.validity.latency_valid)
}

/// Adjusts the tests, draws the verdicts, and says them.
fn judge(contrasts: &mut [Contrast], margin: Option<f64>) {
    let all: Vec<f64> = tested(contrasts).filter_map(|it| it.p).collect();
    let primary: Vec<f64> =
        tested(contrasts).filter(|it| it.role == Role::Primary).filter_map(|it| it.p).collect();
    let (mut all, mut primary) =
        (statistics::holm(&all).into_iter(), statistics::holm(&primary).into_iter());
    for contrast in contrasts {
        for endpoint in &mut contrast.endpoints {
            if endpoint.p.is_some() {
                let among_all = all.next();
                endpoint.p_adjusted =
                    if endpoint.role == Role::Primary { primary.next() } else { among_all };
            }
            if matches!(endpoint.role, Role::Primary | Role::Tested) {
                endpoint.verdict = Some(verdict(endpoint, margin));
            }
        }
        contrast.sentence = sentence(contrast);
    }
}

fn tested(contrasts: &[Contrast]) -> impl Iterator<Item = &Endpoint> {
    contrasts.iter().flat_map(|contrast| &contrast.endpoints).filter(|it| it.p.is_some())
}

fn driver_warning(sound: &[Vec<&Block>]) -> Option<String> {
    let limited = sound.iter().flatten().filter(|block| !block.record.validity.latency_valid);
    match limited.count() {
        0 => None,
        n => Some(format!(
            "In {n} blocks the load generator was the limit: response times say nothing and are \
             left out, throughput is a lower bound."
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
