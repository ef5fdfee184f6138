//! The method, for readers who have only the report.

use plumb_comparison::{Comparison, DesignKind, Role, Verdict};

use crate::definitions::Definition;

const CHANGE: Definition = Definition {
    term: "Change",
    meaning: "An improvement of the candidate in percent of the baseline: 100 (1 - r) for times \
              and processor time, 100 (r - 1) for rates, where r is candidate over baseline. + is \
              better.",
};

const PAIRED: Definition = Definition {
    term: "Estimate and interval",
    meaning: "Each round gives one effect, ln(candidate / baseline). The estimate is \
              Hodges-Lehmann's: the median of the means of all pairs of effects, each with itself \
              too. The interval holds every effect that Wilcoxon's exact signed-rank test does not \
              reject; its level is the exact one, which can only take certain values and is at \
              least 95 %. Below six pairs there is no such interval.",
};

const UNPAIRED: Definition = Definition {
    term: "Estimate and interval",
    meaning: "The runs have no pairs. The estimate is the quotient of the figures of both whole runs. \
              Its interval comes from how each run varied from one of its intervals of time to the \
              next: of a throughput the answers in them, of a median the share of answers that were \
              no slower (Woodruff), both as ratios over ten groups of neighbouring intervals, or \
              five where neighbouring groups are alike; the two runs are put together by Zou and \
              Donner's method. It holds to about 95 %. There is none below ten intervals of time, and \
              where a run was too unsteady.",
};

const SEPARATE: Definition = Definition {
    term: "Separate runs",
    meaning: "One variant ran after the other. What changed with time, such as the machine, its \
              neighbours, its clock rate or its caches, is part of the effect and cannot be told \
              from the change, however narrow the interval is. Interleaved pairs take that away.",
};

const INTERLEAVED: Definition = Definition {
    term: "Interleaved pairs",
    meaning: "Every round holds each variant once, in an order drawn from the seed, so that a \
              change of the machine over time affects all alike. A pair is a block of a candidate \
              and one of the baseline of the same round; it counts when both are valid.",
};

const P: Definition = Definition {
    term: "p and adjusted p",
    meaning: "p is the two-sided chance of an effect at least as strong when there is none. \
              Adjusted p is Holm's, over the primary figures of all contrasts: it keeps the chance \
              of any false finding among them below the level. No other figure is tested. Intervals \
              are not adjusted.",
};

const VERDICTS: Definition = Definition {
    term: "Better, worse, no difference shown",
    meaning: "Better or worse is said of a difference that chance does not explain. No difference \
              shown is not equality: it says that these blocks could not tell, and the interval \
              says which effects remain possible.",
};

const UNTESTABLE: Definition = Definition {
    term: "Cannot be tested",
    meaning: "With so few complete rounds and so many primary figures even the smallest p that there \
              is stays above the level when it is adjusted. That says nothing about the difference.",
};

const EQUIVALENT: Definition = Definition {
    term: "Equivalent",
    meaning: "The whole interval lies within the margin that was given before the experiment.",
};

const APPROXIMATE: Definition = Definition {
    term: "Approximate",
    meaning: "A figure without rank theory, such as a high percentile: it is that of all blocks \
              together, its interval is a percentile bootstrap over whole pairs, k of them, and \
              its level holds only about.",
};

const DESCRIBED: Definition = Definition {
    term: "Not tested",
    meaning: "One figure of each contrast is the primary one, and only that is tested. The others are \
              shown with their intervals; they have no p and no verdict.",
};

const TAILS: Definition = Definition {
    term: "Beyond ten medians",
    meaning: "The share of all response time that was spent in operations that took more than ten \
              times the median. Nothing is deleted from the samples.",
};

const CHECKS: Definition = Definition {
    term: "Checks",
    meaning: "Drift: Theil's slope of the baseline's blocks over the experiment, with Spearman's \
              rank correlation. Effective samples: Geyer's initial positive sequence over the \
              batches of a block. Warm-up: MSER-5. Spread: standard deviation from block to block \
              against the standard error within one.",
};

/// The definitions that this comparison needs.
pub(super) fn of(comparison: &Comparison) -> Vec<Definition> {
    let endpoints = || comparison.contrasts.iter().flat_map(|contrast| &contrast.endpoints);
    let any = |role| endpoints().any(|endpoint| endpoint.role == role);
    let mut list = vec![CHANGE];
    list.extend(match comparison.design.kind {
        DesignKind::Interleaved => [INTERLEAVED, PAIRED],
        DesignKind::Separate => [SEPARATE, UNPAIRED],
    });
    list.extend([P, VERDICTS]);
    if endpoints().any(|endpoint| endpoint.verdict == Some(Verdict::Untestable)) {
        list.push(UNTESTABLE);
    }
    if comparison.design.margin.is_some() {
        list.push(EQUIVALENT);
    }
    if any(Role::Described) {
        list.push(DESCRIBED);
    }
    if any(Role::Approximate) {
        list.push(APPROXIMATE);
    }
    if comparison.contrasts.iter().any(|contrast| !contrast.tails.is_empty()) {
        list.push(TAILS);
    }
    list.push(CHECKS);
    list
}
