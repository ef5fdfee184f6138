//! What the reader of a comparison must know before its figures.

use plumb_comparison::{Contrast, Verdict};
use plumb_measure::{RunRecord, counted};

use super::cell::Cell;
use super::variant_blocks::{Experiment, VariantBlocks};
use crate::block::{Block, BlockFault};
use crate::contrast::Tests;
use crate::driver::drivers_warning;
use crate::experiment::{Extent, PRECISION_ROUNDS_MAX};

/// The contrasts of all cells after their tests.
#[derive(Clone, Copy)]
pub(super) struct JudgedCells<'a> {
    /// In the order of the cells.
    pub(super) contrasts: &'a [Contrast],
    /// How many of them each cell has.
    pub(super) in_cells: &'a [usize],
    /// The tests they were, taken together.
    pub(super) tests: Tests,
}

impl<'a> JudgedCells<'a> {
    /// Those of each cell.
    fn by_cell(self) -> impl Iterator<Item = &'a [Contrast]> {
        let mut rest = self.contrasts;
        self.in_cells.iter().map(move |count| {
            let (of_cell, others) = rest.split_at(*count);
            rest = others;
            of_cell
        })
    }
}

/// Every warning, in sentences.
pub(super) fn warnings(
    experiment: &Experiment,
    variants: &[VariantBlocks],
    cells: &[Cell<'_>],
    judged: JudgedCells<'_>,
) -> Vec<String> {
    let not_measured = not_measured(variants, cells);
    let few = few_pairs(experiment, variants, cells, judged);
    // what never counts is not mended by more rounds
    let few = few.filter(|_| not_measured.is_empty() || cells.iter().any(Cell::has_pairs));
    let mut warnings: Vec<String> = few.into_iter().collect();
    let JudgedCells { contrasts, .. } = judged;
    if contrasts.len() > 1 {
        warnings.extend(same_treatment(variants)); // the sentence of a single one says so
    }
    warnings.extend(not_measured);
    warnings.extend(driver_warnings(variants, cells));
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

/// Where too few pairs are complete to show a difference in every primary figure, and none was shown.
/// A place is a candidate in a cell; one in which no block of the candidate counts is told of by itself.
fn few_pairs(
    experiment: &Experiment,
    variants: &[VariantBlocks],
    cells: &[Cell<'_>],
    judged: JudgedCells<'_>,
) -> Option<String> {
    let Tests { count, needed } = judged.tests;
    let mut places = 0;
    let mut few = Vec::new();
    for (cell, contrasts) in cells.iter().zip(judged.by_cell()) {
        for (number, pairs) in cell.pairs() {
            places += 1;
            let mut of_place = contrasts.iter().filter(|it| it.candidate == variants[number].name);
            if pairs < needed && of_place.any(is_left_open) {
                few.push(pairs);
            }
        }
    }
    if few.is_empty() && places > 0 {
        return None;
    }
    let place = match few.len() {
        all if all == places => String::new(),
        few => format!("In {few} of {places} places: "),
    };
    let cannot = match count {
        0 | 1 => "no exact test at 5 % can show a difference".into(),
        count => format!("a difference in each of {count} exact tests at 5 % cannot be shown"),
    };
    let remedy = match experiment.rounds < needed {
        true => format!("Take {needed} rounds or more."),
        false => "Mend what leaves the others out, or take more rounds.".into(),
    };
    Some(format!(
        "{place}{} of {} rounds are complete, and with fewer than {needed} {cannot}, however large. \
         {remedy}",
        few.iter().min().unwrap_or(&0),
        experiment.rounds,
    ))
}

/// Where an experiment that was to end with a precision ended because it had rounds enough; `half` is
/// the widest half of an interval of a primary figure, as a share.
pub(super) fn imprecise(
    experiment: &Experiment,
    variants: &[VariantBlocks],
    half: Option<f64>,
) -> Option<String> {
    let Some(Extent::Precision(share)) = experiment.extent else { return None };
    let last_is_over = (0..experiment.cells.len())
        .all(|cell| variants.iter().all(|it| it.has_taken(cell, experiment.rounds)));
    let given_up = experiment.cut_short.is_none() && experiment.rounds >= PRECISION_ROUNDS_MAX;
    let given_up = given_up && last_is_over;
    if !given_up || half.is_some_and(|half| half <= share) {
        return None;
    }
    let reach = match half {
        Some(half) => format!("the widest interval reaches {:.2} % to either side", 100.0 * half),
        None => "not every primary figure has an interval".into(),
    };
    Some(format!(
        "The precision of {} % that was asked for was not reached in {} rounds, the most that are taken \
         for one: {reach}. Longer blocks or a quieter machine narrow it.",
        (share * 1e8).round() / 1e6,
        experiment.rounds,
    ))
}

/// True where more pairs could have answered what these did not.
fn is_left_open(contrast: &Contrast) -> bool {
    let verdict = contrast.endpoints.first().and_then(|primary| primary.verdict);
    matches!(verdict, None | Some(Verdict::None | Verdict::Untestable))
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
        let is_empty = |cell: &Cell<'_>| cell.sound[number].is_empty();
        if cells.iter().all(is_empty) {
            let last = variant.failed.last().map(|it| it.reason.clone());
            let why = last
                .or_else(|| cells.iter().find_map(|it| Some(it.none_counts(number, variant)?.1)));
            warnings
                .extend(why.map(|why| format!("{} could not be measured: {why}.", variant.name)));
            continue;
        }
        for (at, cell) in cells.iter().enumerate().filter(|(_, cell)| is_empty(cell)) {
            let last = variant.failed.iter().rev().find(|it| it.cell == at);
            let why = last.map(|it| it.reason.clone());
            let why = why.or_else(|| Some(cell.none_counts(number, variant)?.1));
            warnings.extend(why.map(|why| {
                format!("{}: {} could not be measured: {why}.", cell.name(), variant.name)
            }));
        }
    }
    warnings
}

/// Variants whose response times say nothing, and in which cells.
fn driver_warnings(variants: &[VariantBlocks], cells: &[Cell<'_>]) -> Vec<String> {
    let limited = |cell: &Cell<'_>, number: usize| {
        cell.sound[number].iter().filter(|block| block.is_driver_limited()).count()
    };
    let of_variant = |(number, variant): (usize, &VariantBlocks)| {
        let blocks: usize = cells.iter().map(|cell| limited(cell, number)).sum();
        let places: Vec<String> =
            cells.iter().filter(|cell| limited(cell, number) > 0).map(Cell::name).collect();
        let place = match places.len() {
            all if all == cells.len() => String::new(),
            _ => format!(" ({})", places.join("; ")),
        };
        (blocks > 0).then(|| {
            format!(
                "In {} of {}{place} the load generator was the limit: response times say nothing \
                 there and are left out of every contrast with it, throughput is a lower bound.",
                counted(blocks as u64, "block"),
                variant.name
            )
        })
    };
    variants.iter().enumerate().filter_map(of_variant).collect()
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

#[cfg(test)]
mod tests {
    use plumb_comparison::Comparison;

    use super::super::interleaved;
    use crate::experiment::CellRecord;
    use crate::fixture::{self, LIMITED};
    use crate::order::Turn;
    use plumb_measure::{FindingKind, Scope};

    use super::*;

    fn variant(name: &str, blocks: Vec<Block>) -> VariantBlocks {
        VariantBlocks {
            name: name.into(),
            command: name.into(),
            same_as_baseline: false,
            blocks,
            failed: Vec::new(),
        }
    }

    /// `variants` in cells of these `sizes`, ten rounds of each begun.
    fn compared(sizes: &[&str], variants: &[VariantBlocks]) -> Comparison {
        let cell = |size: &&str| CellRecord {
            labels: [("size".to_owned(), (*size).to_owned())].into(),
            ..CellRecord::default()
        };
        let cells = sizes.iter().map(cell).collect();
        let experiment = Experiment { cells, ..Experiment::fixture() };
        interleaved(&fixture::plumb(), "now".into(), &experiment, variants).unwrap()
    }

    /// A block of each of these medians, in rounds that follow each other in cell 0.
    fn blocks(variant: usize, medians: impl IntoIterator<Item = u64>) -> Vec<Block> {
        let turn = Turn { cell: 0, variant };
        let rounds = (1..).zip(medians);
        rounds.map(|(at, ns)| fixture::block(turn, at, fixture::run("closed", ns, None))).collect()
    }

    fn verdicts(compared: &Comparison) -> Vec<Option<Verdict>> {
        compared.contrasts.iter().map(|it| it.endpoints[0].verdict).collect()
    }

    fn few(compared: &Comparison) -> Vec<&String> {
        compared.warnings.iter().filter(|it| it.contains("rounds are complete")).collect()
    }

    #[test]
    fn rounds_are_too_few_only_where_no_verdict_came_of_them() {
        let of = |b: [u64; 10]| {
            let a = variant("a", blocks(0, [10_000; 10]));
            let c = variant("c", blocks(2, [20_000; 6]));
            compared(&["1B"], &[a, variant("b", blocks(1, b)), c])
        };
        // the other test is shown first, and leaves the level to the six pairs
        let both = of([30_000; 10]);
        assert_eq!(verdicts(&both), [Some(Verdict::Worse); 2]);
        assert_eq!(few(&both), [""; 0]);
        let mixed = [9_000, 11_500, 8_000, 12_500, 7_000, 13_500, 6_000, 14_500, 5_000, 15_500];
        let one = of(mixed);
        assert_eq!(verdicts(&one)[1], Some(Verdict::Untestable));
        assert_eq!(
            few(&one),
            [
                "In 1 of 2 places: 6 of 10 rounds are complete, and with fewer than 7 a difference in \
              each of 2 exact tests at 5 % cannot be shown, however large. Mend what leaves the others \
              out, or take more rounds."
            ]
        );
    }

    #[test]
    fn a_precision_that_was_given_up_is_said() {
        let asked = |share, rounds| Experiment {
            seed: 1,
            rounds,
            extent: Some(Extent::Precision(share)),
            cells: vec![CellRecord::default()],
            cut_short: None,
            margin: None,
            faults: crate::Faults::default(),
            detail: crate::Detail::All,
        };
        let variants = [
            variant("a", blocks(0, (0..200).map(|at| 10_000 + at % 7))),
            variant("b", blocks(1, (0..200).map(|at| 10_000 + 31 * (at % 11)))),
        ];
        let given_up = |experiment: &Experiment| {
            let found =
                interleaved(&fixture::plumb(), "now".into(), experiment, &variants).unwrap();
            found.warnings.into_iter().find(|it| it.contains("The precision of"))
        };
        let said = given_up(&asked(0.000_1, 200)).expect("some % are left");
        assert!(
            said.contains("of 0.01 % that was asked for was not reached in 200 rounds"),
            "{said}"
        );
        assert!(said.contains(" % to either side"), "{said}");
        assert_eq!(given_up(&asked(0.1, 200)), None, "reached");
        assert_eq!(given_up(&asked(0.000_1, 199)), None, "it goes on");
        let interrupted =
            Experiment { cut_short: Some("interrupted".into()), ..asked(0.000_1, 200) };
        assert_eq!(given_up(&interrupted), None, "it ended for another reason");
        let [baseline, mut candidate] = variants;
        candidate.blocks.pop();
        let under_way = [baseline, candidate];
        let experiment = asked(0.000_1, 200);
        let found = interleaved(&fixture::plumb(), "now".into(), &experiment, &under_way).unwrap();
        let said = found.warnings.iter().any(|it| it.contains("The precision of"));
        assert!(!said, "the last round is under way: {:?}", found.warnings);
    }

    #[test]
    fn a_variant_of_which_nothing_counts_says_why_and_not_to_take_more_rounds() {
        let wrong = Some((FindingKind::UnexpectedStatus, Scope::Everything));
        let of = |variant: usize, found| -> Vec<Block> {
            let turn = Turn { cell: 0, variant };
            let run = |round| {
                let mut run = fixture::run("closed", 10_000, found);
                run.plan.options.insert("url".into(), ["a", "b"][variant].into());
                fixture::block(turn, round, run)
            };
            (1..=10).map(run).collect()
        };
        let broken = compared(&["1B"], &[variant("a", of(0, None)), variant("b", of(1, wrong))]);
        assert_eq!(few(&broken), [""; 0]);
        assert_eq!(broken.warnings, ["b could not be measured: found."]);
        let [differs] = &broken.differences[..] else { panic!("{:?}", broken.differences) };
        assert_eq!(
            (&differs.name[..], &differs.values[..]),
            ("option url", &["a".into(), "b".into()][..])
        );
        assert_eq!(
            broken.contrasts[0].sentence,
            "At size 1B: none of the 10 blocks of b counts (the first: found): b cannot be compared with \
             a: there is no figure of a pair of both."
        );
        let mut one = of(0, wrong);
        one.truncate(1);
        let both = compared(&["1B"], &[variant("a", one), variant("b", of(1, wrong))]);
        assert_eq!(few(&both), [""; 0]);
        let said = &both.contrasts[0].sentence;
        assert!(
            said.contains("the only block of a does not count (found), none of the 10"),
            "{said}"
        );
        let none = compared(&["1B"], &[variant("a", of(0, None)), variant("b", Vec::new())]);
        assert_eq!(few(&none).len(), 1);
    }

    #[test]
    fn the_limit_of_the_driver_is_said_of_the_variant_and_the_cell_that_met_it() {
        let of = |variant: usize, limited: Option<usize>| -> Vec<Block> {
            let block = |cell: usize| {
                let found = limited.filter(|it| *it == cell).map(|_| LIMITED);
                let run = fixture::run("closed", 10_000, found);
                fixture::block(Turn { cell, variant }, 1, run)
            };
            vec![block(0), block(1)]
        };
        let variants =
            [variant("a", of(0, None)), variant("b", of(1, None)), variant("c", of(2, Some(1)))];
        let compared = compared(&["1B", "500B"], &variants);
        let decides: Vec<&str> =
            compared.contrasts.iter().map(|it| it.endpoints[0].key.as_str()).collect();
        assert_eq!(decides, ["p50", "p50", "p50", "throughput"]);
        let said: Vec<&String> =
            compared.warnings.iter().filter(|it| it.contains("was the limit")).collect();
        assert_eq!(
            said,
            ["In 1 block of c (size 500B) the load generator was the limit: response times say \
              nothing there and are left out of every contrast with it, throughput is a lower bound."]
        );
    }
}
