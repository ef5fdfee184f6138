//! From the outline of an experiment to its record, by the statistics of plumb-measure.

use plumb_comparison::{
    Better, BlockFigures, COMPARISON_SCHEMA, Checks, Comparison, Contrast, Design, DesignKind,
    Difference, Endpoint, FigureUnit, OrderEffect, Role, Tail, Variant, Verdict,
};
use plumb_measure::Program;
use plumb_measure::statistics::{
    Drift, Interval, SplitMix64, hodges_lehmann, holm, interval, median, percentile_interval,
    wilcoxon,
};

/// The outline of one contrast.
#[derive(Clone, Copy)]
pub(super) struct Sides {
    pub(super) labels: &'static [(&'static str, &'static str)],
    pub(super) candidate: &'static str,
    pub(super) base_ns: f64,
    /// Candidate over baseline of the response times.
    pub(super) ratio: f64,
    /// Noise of a block, as a share.
    pub(super) noise: f64,
    pub(super) margin: Option<f64>,
}

impl Sides {
    pub(super) fn new(ratio: f64) -> Self {
        Self {
            labels: &[],
            candidate: "candidate",
            base_ns: 14_300.0,
            ratio,
            noise: 0.012,
            margin: None,
        }
    }
}

/// What is measured: key, name, unit, which way it is good, role, and how strongly the response
/// time moves it, as an exponent of the ratio.
type Outline = (&'static str, &'static str, FigureUnit, Better, Role, f64, f64);

const OUTLINES: [Outline; 7] = [
    ("p50", "median response time", FigureUnit::Ns, Better::Lower, Role::Primary, 1.0, 1.0),
    (
        "throughput",
        "throughput",
        FigureUnit::PerSecond,
        Better::Higher,
        Role::Described,
        -0.95,
        0.0,
    ),
    (
        "client-cpu",
        "client CPU an operation",
        FigureUnit::Ns,
        Better::Lower,
        Role::Described,
        0.2,
        0.4,
    ),
    ("mean", "mean response time", FigureUnit::Ns, Better::Lower, Role::Described, 0.9, 1.1),
    ("av2", "av2", FigureUnit::Ns, Better::Lower, Role::Described, 0.95, 1.08),
    ("tr2", "tr2", FigureUnit::KbPerSecond, Better::Higher, Role::Described, -0.95, 0.0),
    ("p99", "99th percentile", FigureUnit::Ns, Better::Lower, Role::Approximate, 0.7, 2.6),
];

/// The comparison of all `sides` over so many pairs.
pub(super) fn compared(sides: &[Sides], pairs: u64) -> Comparison {
    let mut random = SplitMix64::new(20_260_301);
    let mut contrasts: Vec<Contrast> =
        sides.iter().map(|sides| contrast(sides, pairs, &mut random)).collect();
    adjust(&mut contrasts);
    for (sides, contrast) in sides.iter().zip(&mut contrasts) {
        for endpoint in &mut contrast.endpoints {
            endpoint.verdict = verdict(endpoint, sides.margin);
        }
        contrast.sentence = verdict_words(contrast);
    }
    let mut names = vec!["baseline"];
    for side in sides {
        if !names.contains(&side.candidate) {
            names.push(side.candidate);
        }
    }
    let variants = names
        .iter()
        .map(|name| Variant {
            name: (*name).into(),
            command: format!("plumb net ping 127.0.0.1:3298 --for 2s --transport {name}"),
            same_as_baseline: false,
            blocks: pairs,
            left_out: Vec::new(),
        })
        .collect();
    Comparison {
        schema: COMPARISON_SCHEMA.into(),
        plumb: Program { version: "0.1.0".into() },
        compared: "2026-03-01T09:40:00Z".into(),
        design: Design {
            kind: DesignKind::Interleaved,
            seed: Some(7),
            rounds: pairs,
            complete_rounds: pairs,
            tests: Some(sides.len() as u64),
            rounds_needed: Some((6..63).find(|n| 20 * sides.len() <= 1 << (n - 1)).unwrap_or(63)),
            cut_short: None,
            margin: sides.first().and_then(|sides| sides.margin),
        },
        variants,
        differences: Vec::new(),
        shared: [
            ("driver", "plumb's own"),
            ("host clock", "CLOCK_MONOTONIC"),
            ("host cpu model", "some processor"),
            ("host memory", "24105 MiB"),
            ("host kernel", "Linux 6.12.0 x86_64"),
            ("host name", "erp1"),
            ("host placement", "not pinned"),
            ("host processors", "2"),
            ("target transport", "-"),
            ("tool's floor", "1.90 us to 2.05 us at the median"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into(),
        accepted_load: None,
        warnings: Vec::new(),
        contrasts,
    }
}

/// A difference with its value in every variant.
pub(super) fn difference(name: &str, values: &[&str]) -> Difference {
    Difference { name: name.into(), values: values.iter().map(|&value| value.into()).collect() }
}

fn contrast(sides: &Sides, pairs: u64, random: &mut SplitMix64) -> Contrast {
    let mut gauss = || (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
    let noise: Vec<(f64, f64)> =
        (0..pairs).map(|_| (sides.noise * gauss(), sides.noise * gauss())).collect();
    let endpoints = OUTLINES.into_iter().map(|outline| endpoint(sides, &noise, outline)).collect();
    Contrast {
        baseline: "baseline".into(),
        candidate: sides.candidate.into(),
        labels: sides.labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        same_treatment: false,
        sentence: String::new(),
        endpoints,
        checks: Checks {
            drift: Some(Drift { change: 0.012, correlation: 0.21, p: 0.512 }),
            effective_samples: Some(3_412.4),
            autocorrelation: Some(0.181),
            warm_up: Some(0.05),
            between_blocks: Some(sides.noise),
            within_blocks: Some(sides.noise / 5.0),
            pairs_for_one_percent: Some(9),
            without_first: None,
            order: Some(OrderEffect { ratio: 1.004, p: 0.31 }),
            remarks: Vec::new(),
        },
        tails: ["baseline", sides.candidate]
            .into_iter()
            .map(|name| Tail {
                variant: name.into(),
                operations: 1_640_000,
                max_ns: 4_210_000,
                beyond_ten_medians: 0.0031,
                response_ns: None,
            })
            .collect(),
    }
}

fn endpoint(sides: &Sides, noise: &[(f64, f64)], outline: Outline) -> Endpoint {
    let (key, name, unit, better, role, power, size) = outline;
    // figures of the same blocks move together, but not quite
    let own = if role == Role::Approximate { 4.0 } else { 1.0 };
    let base = match unit {
        FigureUnit::PerSecond => 1e9 / sides.base_ns,
        FigureUnit::KbPerSecond => 2e12 / sides.base_ns / 1024.0,
        FigureUnit::Ns | FigureUnit::Bytes | FigureUnit::Plain => sides.base_ns * size,
    };
    let sign = if better == Better::Higher { -1.0 } else { 1.0 };
    let blocks: Vec<BlockFigures> = (1..)
        .zip(noise)
        .map(|(round, (a, b))| BlockFigures {
            round,
            baseline: Some(base * (sign * own * a).exp()),
            candidate: Some(base * sides.ratio.powf(power) * (sign * own * b).exp()),
        })
        .collect();
    let side = |pick: fn(&BlockFigures) -> Option<f64>| -> f64 {
        median(&blocks.iter().filter_map(pick).collect::<Vec<f64>>()).expect("blocks")
    };
    let effects: Vec<f64> = blocks.iter().filter_map(BlockFigures::ratio).map(f64::ln).collect();
    let tested = role == Role::Primary;
    let bounds = match role {
        Role::Primary | Role::Described | Role::Tested => interval(&effects, 0.95),
        Role::Approximate if effects.len() > 5 => {
            percentile_interval(effects.len(), 2_000, 0.95, 7, |at| {
                median(&at.iter().map(|at| effects[*at]).collect::<Vec<f64>>())
            })
        }
        Role::Approximate => None,
    };
    Endpoint {
        key: key.into(),
        name: name.into(),
        unit,
        better,
        role,
        baseline: side(|block| block.baseline),
        candidate: side(|block| block.candidate),
        ratio: hodges_lehmann(&effects).map(f64::exp),
        interval: bounds.map(|found| Interval {
            low: found.low.exp(),
            high: found.high.exp(),
            level: found.level,
        }),
        p: wilcoxon(&effects).filter(|_| tested).map(|found| found.p),
        p_adjusted: None,
        verdict: None,
        intervals_of_time: None,
        lower_bound: None,
        blocks,
    }
}

fn adjust(contrasts: &mut [Contrast]) {
    let mut tested: Vec<&mut Endpoint> = contrasts
        .iter_mut()
        .flat_map(|contrast| &mut contrast.endpoints)
        .filter(|endpoint| endpoint.p.is_some())
        .collect();
    let p: Vec<f64> = tested.iter().filter_map(|endpoint| endpoint.p).collect();
    for (endpoint, adjusted) in tested.iter_mut().zip(holm(&p)) {
        endpoint.p_adjusted = Some(adjusted);
    }
}

fn verdict(endpoint: &Endpoint, margin: Option<f64>) -> Option<Verdict> {
    if endpoint.role != Role::Primary {
        return None;
    }
    let (Some(p), Some((low, high))) = (endpoint.p_adjusted, endpoint.improvement_interval())
    else {
        return Some(Verdict::Untestable);
    };
    let within = |margin: f64| low > -100.0 * margin && high < 100.0 * margin;
    Some(match (margin.is_some_and(within), p < 0.05, low > 0.0) {
        (true, _, _) => Verdict::Equivalent,
        (_, false, _) => Verdict::NoDifferenceShown,
        (_, _, true) => Verdict::Better,
        (_, _, false) => Verdict::Worse,
    })
}

/// A sentence as the comparison writes it.
pub(super) fn verdict_words(contrast: &Contrast) -> String {
    let endpoint = &contrast.endpoints[0];
    let word = endpoint.verdict.map_or("no verdict", Verdict::words);
    let change = endpoint.ratio.map_or(0.0, |ratio| endpoint.improvement(ratio));
    format!("{}: the {} changed by {change:+.1} %, {word}.", contrast.candidate, endpoint.name)
}
