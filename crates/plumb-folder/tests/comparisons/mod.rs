//! Comparisons as the experiments write them, made from seeded noise so that they never change.
#![allow(dead_code, reason = "each test takes the comparisons that it needs")]

mod build;

use plumb_comparison::{Comparison, DesignKind, LeftOut};
use plumb_measure::statistics::Drift;

use build::{Sides, compared, difference, verdict_words};

/// Every comparison below under the name of its golden files.
pub(crate) fn all() -> Vec<(&'static str, Comparison)> {
    vec![
        ("better", better()),
        ("no-difference", no_difference()),
        ("equivalent", equivalent()),
        ("several", several()),
        ("cells", cells()),
        ("separate", separate()),
        ("too-few", too_few()),
    ]
}

/// Twelve pairs, a change that helps everywhere; one round lost a block.
pub(crate) fn better() -> Comparison {
    let mut comparison = compared(
        &[Sides { labels: &[("connections", "1"), ("size", "1000B")], ..Sides::new(0.852) }],
        12,
    );
    comparison.design.rounds = 13;
    comparison.variants[1].left_out.push(LeftOut {
        round: 4,
        reason: "foreign load: other processes used 31 % of all cores".into(),
    });
    comparison.differences = vec![
        difference("option transport", &["tcp", "unix"]),
        difference("target", &["127.0.0.1:3298", "/run/plumb/echo.sock"]),
    ];
    comparison
}

/// Ten pairs of the same thing.
pub(crate) fn no_difference() -> Comparison {
    let sides = Sides { noise: 0.03, ..Sides::new(1.002) };
    let mut comparison = compared(&[sides], 10);
    comparison.contrasts[0].checks.drift =
        Some(Drift { change: 0.061, correlation: 0.88, p: 0.0021 });
    comparison.contrasts[0].checks.remarks = vec![
        "the baseline drifted by 6.1 %, more than the effect: the pairs take it out, separate \
         runs would have shown it as an effect."
            .into(),
    ];
    comparison
}

/// Twelve pairs within a margin given beforehand.
pub(crate) fn equivalent() -> Comparison {
    let mut comparison =
        compared(&[Sides { noise: 0.004, margin: Some(0.02), ..Sides::new(0.998) }], 12);
    comparison.contrasts[0].checks.without_first = Some(0.999);
    comparison.contrasts[0].checks.remarks = vec![
        "The first pair lies outside the range of all others, as when something was still cold. \
         Nothing is deleted; without it the change would be +0.10 %."
            .into(),
    ];
    comparison
}

/// Three sizes with two candidates each.
pub(crate) fn several() -> Comparison {
    let mut sides = Vec::new();
    for (at, size) in ["500B", "1000B", "64KiB"].into_iter().enumerate() {
        let labels: &[(&str, &str)] = match size {
            "500B" => &[("connections", "1"), ("size", "500B")],
            "1000B" => &[("connections", "1"), ("size", "1000B")],
            _ => &[("connections", "1"), ("size", "64KiB")],
        };
        let base_ns = [10_900.0, 11_200.0, 30_400.0][at];
        let first =
            Sides { labels, base_ns, candidate: "unix", ..Sides::new([0.80, 0.82, 0.97][at]) };
        let second =
            Sides { labels, base_ns, candidate: "smc", ..Sides::new([1.06, 1.0, 0.71][at]) };
        sides.extend([first, second]);
    }
    let mut comparison = compared(&sides, 12);
    comparison.differences = vec![difference("option transport", &["tcp", "unix", "smc"])];
    comparison
}

/// An experiment: two probes over two factors, of which the second knows only one, two candidates;
/// one of them could not be measured in a cell.
pub(crate) fn cells() -> Comparison {
    let points: [&[(&str, &str)]; 6] = [
        &[("probe", "trip"), ("size", "100B"), ("users", "1")],
        &[("probe", "trip"), ("size", "100B"), ("users", "10")],
        &[("probe", "trip"), ("size", "64KiB"), ("users", "1")],
        &[("probe", "trip"), ("size", "64KiB"), ("users", "10")],
        &[("probe", "page"), ("users", "1")],
        &[("probe", "page"), ("users", "10")],
    ];
    let mut sides = Vec::new();
    for (labels, base_ns) in points.into_iter().zip([11e3, 48e3, 31e3, 290e3, 1.2e6, 7.4e6]) {
        let ratio = 1.0 - base_ns / 1e7;
        sides.push(Sides { labels, base_ns, candidate: "pool of 20", ..Sides::new(ratio) });
        sides.push(Sides { labels, base_ns, candidate: "pool of 5", ..Sides::new(1.0 / ratio) });
    }
    let mut comparison = compared(&sides, 14);
    comparison.contrasts[7].endpoints.clear();
    comparison.contrasts[7].tails.clear();
    comparison.contrasts[7].sentence = "no figure that both have could be compared.".into();
    comparison.warnings =
        vec!["size 64KiB, users 10: pool of 5 could not be measured: no such pool.".into()];
    comparison
}

/// Two runs, one after the other.
pub(crate) fn separate() -> Comparison {
    let mut comparison = compared(&[Sides { noise: 0.02, ..Sides::new(0.93) }], 20);
    comparison.design.kind = DesignKind::Separate;
    comparison.design.seed = None;
    comparison.design.tests = None;
    comparison.design.rounds_needed = None;
    comparison.design.rounds = 0;
    comparison.design.complete_rounds = 0;
    for endpoint in comparison.contrasts.iter_mut().flat_map(|it| &mut it.endpoints) {
        endpoint.ratio = Some(endpoint.candidate / endpoint.baseline);
    }
    comparison.warnings = vec![
        "The runs were not interleaved: whatever changed between 09:12 and 09:31 (clock rate, \
         neighbours, caches) is part of the effect. Run plumb lab for a proof."
            .into(),
        "The runs were made by plumb 0.1.0 and 0.1.1.".into(),
    ];
    comparison.differences = vec![
        difference("plumb", &["0.1.0", "0.1.1"]),
        difference(
            "host kernel",
            &["Linux 6.12.41-2-default #1 SMP PREEMPT_DYNAMIC", "Linux 6.17.3-1-default #1 SMP"],
        ),
    ];
    comparison
}

/// Three pairs: an estimate, no interval, no verdict.
pub(crate) fn too_few() -> Comparison {
    let mut comparison = compared(&[Sides::new(0.9)], 3);
    comparison.design.rounds = 4;
    comparison.design.cut_short = Some("interrupted in round 4 of 10".into());
    let words = verdict_words(&comparison.contrasts[0]);
    comparison.contrasts[0].sentence = format!("{words} Six pairs are the least.");
    comparison
}
