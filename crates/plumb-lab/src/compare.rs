//! From blocks, or from separate runs, to a comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use plumb_measure::statistics::{Interval, median, shift, shift_interval};
use plumb_measure::{
    Better, BlockFigures, COMPARISON_SCHEMA, Checks, Comparison, Contrast, Design, DesignKind,
    Difference, Endpoint, FigureUnit, LeftOut, Program, ResultRecord, Role, RunRecord, Scope,
    Variant, Verdict, statistics,
};

use crate::block::{Block, Point};
use crate::contrast::{Detail, LEVEL, Pair, Question, contrast, verdict};
use crate::driver::{driver, drivers_warning};
use crate::experiment::{OrderRecord, VariantRecord};
use crate::sentence::sentence;
use crate::{Faults, LabError};

/// Pairs below which no two-sided test at 5 % can find anything.
pub const PAIRS_MIN: u64 = 6;
/// Intervals of a run that are compared at most; of more, neighbours are averaged.
const INTERVALS_MAX: usize = 100;
/// What separate runs cannot exclude.
const SEPARATE: &str = "The runs were not interleaved: whatever changed on the machine, the network \
     or the target between them is part of the difference, and no statistics can take it out. In \
     simulation this design called identical systems different in three of four cases and more. \
     Measure both in turns with `plumb ab` before you conclude anything.";

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

type Labels = BTreeMap<String, String>;

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

/// Which points belong together: those with the same labels, or the only ones.
fn matched(baseline: &[Labels], candidate: &[Labels]) -> Result<Vec<(Labels, Labels)>, LabError> {
    match (baseline, candidate) {
        ([one], [other]) => Ok(vec![(one.clone(), other.clone())]),
        (all, others) if all == others => {
            Ok(all.iter().map(|it| (it.clone(), it.clone())).collect())
        }
        (all, others) => Err(LabError::Mismatch(format!(
            "the plans have different points: {} against {}",
            listed(all),
            listed(others)
        ))),
    }
}

/// Points as people count: 300B before 10000B.
fn in_order<'a>(points: impl Iterator<Item = &'a Labels>) -> Vec<Labels> {
    let number = |value: &String| -> u64 {
        let digits: String = value.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    };
    let key = |labels: &Labels| -> Vec<(String, u64, String)> {
        labels.iter().map(|(key, value)| (key.clone(), number(value), value.clone())).collect()
    };
    let mut points: Vec<Labels> = points.cloned().collect();
    points.sort_by_key(key);
    points.dedup();
    points
}

fn listed(points: &[Labels]) -> String {
    let name = |labels: &Labels| {
        labels.iter().map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join(", ")
    };
    points.iter().map(|labels| format!("({})", name(labels))).collect::<Vec<_>>().join(" ")
}

fn common_labels(one: &Labels, other: &Labels) -> Labels {
    let mut common = one.clone();
    common.retain(|key, value| other.get(key) == Some(value));
    common
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

/// Refuses to compare things of different kinds.
fn same_kind(one: &RunRecord, other: &RunRecord) -> Result<(), LabError> {
    let kind = |record: &RunRecord| {
        format!("{} {} under {} load", record.plan.layer, record.plan.verb, record.plan.load)
    };
    if kind(one) == kind(other) {
        return Ok(());
    }
    Err(LabError::Mismatch(format!("{} against {}", kind(one), kind(other))))
}

/// Options and facts of the hosts in which the runs differ.
fn differences(runs: &[Option<&RunRecord>]) -> Vec<Difference> {
    let facts: Vec<BTreeMap<String, String>> =
        runs.iter().map(|run| run.map_or_else(BTreeMap::new, facts)).collect();
    let names: BTreeSet<&String> = facts.iter().flat_map(BTreeMap::keys).collect();
    names
        .into_iter()
        .map(|name| Difference {
            name: name.clone(),
            values: facts
                .iter()
                .map(|facts| facts.get(name).cloned().unwrap_or_else(|| "-".into()))
                .collect(),
        })
        .filter(|difference| difference.values.windows(2).any(|pair| pair[0] != pair[1]))
        .collect()
}

fn facts(run: &RunRecord) -> BTreeMap<String, String> {
    let mut facts: BTreeMap<String, String> = run
        .plan
        .options
        .iter()
        .filter(|(name, _)| *name != "seed") // of the order of the points only
        .map(|(name, value)| (format!("option {name}"), value.to_string().replace('"', "")))
        .collect();
    let host = &run.host;
    facts.extend(host.facts.iter().map(|(name, value)| (format!("host {name}"), value.clone())));
    let mut put = |name: &str, value: &str| facts.insert(name.into(), value.into());
    put("target", &run.target.address);
    put("target transport", run.target.transport.as_ref().map_or("-", |it| &it.kind));
    put("driver", driver(run));
    put("host name", &host.name);
    put("host kernel", &host.kernel);
    put("host processors", &host.cpus.to_string());
    put("host placement", &host.placement);
    put("host clock", &host.clock);
    put("plumb", &run.plumb.version);
    facts
}

/// A run that was not interleaved with the others.
#[derive(Clone, Debug)]
pub struct SeparateRun {
    /// As the user named it.
    pub name: String,
    /// Its record.
    pub record: RunRecord,
}

/// Compares runs that were taken one after another; the first is the baseline. Ratios and
/// intervals over the intervals of the runs are given, verdicts are not.
///
/// # Errors
/// [`LabError::Mismatch`] for runs of different kinds, [`LabError::Invalid`] for one that is not
/// valid, unless `faults` accepts it.
pub fn separate(
    plumb: &Program,
    compared: String,
    runs: &[SeparateRun],
    faults: Faults,
) -> Result<Comparison, LabError> {
    let mut warnings = vec![SEPARATE.to_owned()];
    for run in runs {
        same_kind(&runs[0].record, &run.record)?;
        let fault = run.record.validity.reasons.iter().find(|it| it.scope == Scope::Everything);
        match fault {
            Some(fault) if faults == Faults::Accept => warnings.push(format!(
                "{} is not valid ({}) and is compared all the same, as asked (--accept-invalid).",
                run.name, fault.text
            )),
            Some(fault) => {
                let (name, reason) = (run.name.clone(), fault.text.clone());
                return Err(LabError::Invalid { name, reason });
            }
            None => {}
        }
    }
    warnings.extend(drivers_warning(runs.iter().map(|run| &run.record)));
    let mut contrasts = Vec::new();
    for candidate in &runs[1..] {
        contrasts.extend(separate_contrasts(&runs[0], candidate)?);
    }
    contrasts.iter_mut().for_each(|contrast| contrast.sentence = sentence(contrast));
    let samples: Vec<Option<&RunRecord>> = runs.iter().map(|run| Some(&run.record)).collect();
    Ok(Comparison {
        schema: COMPARISON_SCHEMA.into(),
        plumb: plumb.clone(),
        compared,
        design: Design {
            kind: DesignKind::Separate,
            seed: None,
            rounds: 0,
            complete_rounds: 0,
            cut_short: None,
            margin: None,
        },
        variants: runs
            .iter()
            .map(|run| Variant {
                name: run.name.clone(),
                command: run.record.plan.command.join(" "),
                blocks: 1,
                left_out: Vec::new(),
            })
            .collect(),
        differences: differences(&samples),
        warnings,
        contrasts,
    })
}

fn separate_contrasts(
    baseline: &SeparateRun,
    candidate: &SeparateRun,
) -> Result<Vec<Contrast>, LabError> {
    let labels = |run: &SeparateRun| in_order(run.record.results.iter().map(|it| &it.labels));
    let (of_baseline, of_candidate) = (labels(baseline), labels(candidate));
    let result = |run: &SeparateRun, labels: &Labels| {
        run.record.results.iter().position(|result| result.labels == *labels)
    };
    let together: Vec<(usize, usize)> = matched(&of_baseline, &of_candidate)?
        .into_iter()
        .filter_map(|(one, other)| Some((result(baseline, &one)?, result(candidate, &other)?)))
        .collect();
    Ok(together
        .into_iter()
        .map(|(one, other)| Contrast {
            baseline: baseline.name.clone(),
            candidate: candidate.name.clone(),
            labels: common_labels(
                &baseline.record.results[one].labels,
                &candidate.record.results[other].labels,
            ),
            sentence: String::new(),
            endpoints: separate_endpoints(
                &baseline.record.results[one],
                &candidate.record.results[other],
            ),
            checks: Checks::default(),
            tails: Vec::new(),
        })
        .collect())
}

#[expect(clippy::cast_precision_loss, reason = "figures to compare, to three digits")]
fn separate_endpoints(baseline: &ResultRecord, candidate: &ResultRecord) -> Vec<Endpoint> {
    let latency = baseline.validity.latency_valid && candidate.validity.latency_valid;
    let p50 = |result: &ResultRecord| -> Vec<f64> {
        intervals(result).map(|interval| interval.p50 as f64).collect()
    };
    let rate = |result: &ResultRecord| -> Vec<f64> {
        intervals(result)
            .map(|interval| interval.operations as f64 * 1e9 / interval.duration_ns as f64)
            .collect()
    };
    let p50s = [baseline, candidate].map(|it| it.response_ns.as_ref().map(|it| it.p50 as f64));
    let rates = [baseline, candidate].map(|it| Some(it.throughput_per_s));
    let cpu = [baseline, candidate].map(|it| it.cpu.map(|it| it.client_ns_per_op as f64));
    let time = ("p50", "median response time", FigureUnit::Ns, Better::Lower);
    let throughput = ("throughput", "throughput", FigureUnit::PerSecond, Better::Higher);
    let client = ("client-cpu", "CPU per operation, client", FigureUnit::Ns, Better::Lower);
    [
        latency.then(|| separate_endpoint(time, p50s, &p50(baseline), &p50(candidate))).flatten(),
        separate_endpoint(throughput, rates, &rate(baseline), &rate(candidate)),
        separate_endpoint(client, cpu, &[], &[]),
    ]
    .into_iter()
    .flatten()
    .enumerate()
    .map(|(at, mut endpoint)| {
        if at == 0 {
            endpoint.role = Role::Primary;
            endpoint.verdict = Some(Verdict::None);
        }
        endpoint
    })
    .collect()
}

/// The intervals that are as long as the plan wanted and hold anything.
fn intervals(result: &ResultRecord) -> impl Iterator<Item = &plumb_measure::Interval> {
    let longest = result.intervals.iter().map(|it| it.duration_ns).max().unwrap_or(0);
    result.intervals.iter().filter(move |it| it.operations > 0 && it.duration_ns * 2 > longest)
}

fn separate_endpoint(
    (key, name, unit, better): (&str, &str, FigureUnit, Better),
    whole: [Option<f64>; 2],
    baseline: &[f64],
    candidate: &[f64],
) -> Option<Endpoint> {
    let [Some(of_baseline), Some(of_candidate)] = whole else {
        return None;
    };
    let (baseline, candidate) = (thinned(baseline), thinned(candidate));
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
    let (a, b) = (logs(&baseline), logs(&candidate));
    let rounds = baseline.len().max(candidate.len());
    Some(Endpoint {
        key: key.into(),
        name: name.into(),
        unit,
        better,
        role: Role::Described,
        baseline: of_baseline,
        candidate: of_candidate,
        blocks: (0..rounds)
            .map(|at| BlockFigures {
                round: at as u64 + 1,
                baseline: baseline.get(at).copied(),
                candidate: candidate.get(at).copied(),
            })
            .collect(),
        ratio: shift(&a, &b)
            .map(f64::exp)
            .or_else(|| (of_baseline > 0.0).then(|| of_candidate / of_baseline)),
        interval: shift_interval(&a, &b, LEVEL).map(|it| Interval {
            low: it.low.exp(),
            high: it.high.exp(),
            level: it.level,
        }),
        p: None,
        p_adjusted: None,
        verdict: None,
    })
}

/// At most a hundred values: the medians of neighbours.
fn thinned(values: &[f64]) -> Vec<f64> {
    let each = values.len().div_ceil(INTERVALS_MAX).max(1);
    values.chunks(each).filter_map(median).collect()
}
