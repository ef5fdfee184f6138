//! How the blocks were taken, and what it takes to take them again.

use plumb_measure::{Comparison, Design, DesignKind, Variant};

use super::figures::share;
use crate::facts::Fact;
use crate::figures::grouped;

/// What stands beside every comparison.
pub(super) fn facts(comparison: &Comparison) -> Vec<Fact> {
    let design = &comparison.design;
    let mut facts = vec![Fact::new("design", kind(design)), Fact::new("rounds", rounds(design))];
    if let Some(reason) = &design.cut_short {
        facts.push(Fact::new("cut short", reason));
    }
    if let Some(seed) = design.seed {
        facts.push(Fact::new("seed", seed.to_string()));
    }
    facts.push(Fact::new("margin", margin(design)));
    facts.push(Fact::new("compared", &comparison.compared));
    let version = format!("{} ({})", comparison.plumb.version, comparison.schema);
    facts.push(Fact::new("plumb", version));
    facts.retain(|fact| !fact.value.is_empty());
    facts
}

/// The design in a few words: `12 interleaved pairs`.
pub(super) fn short(design: &Design) -> String {
    match (design.kind, design.complete_rounds) {
        (DesignKind::Interleaved, 1) => "1 interleaved pair".into(),
        (DesignKind::Interleaved, pairs) => format!("{} interleaved pairs", grouped(pairs)),
        (DesignKind::Separate, _) => "separate runs".into(),
    }
}

/// What kind of design it was, and what that means.
fn kind(design: &Design) -> &'static str {
    match design.kind {
        DesignKind::Interleaved => {
            "interleaved: every round holds each variant once, in an order drawn from the seed"
        }
        DesignKind::Separate => {
            "separate runs, one after another: what else changed between them (the machine, its \
             neighbours, caches) is part of the effect and cannot be told from the change"
        }
    }
}

fn rounds(design: &Design) -> String {
    match design.kind {
        DesignKind::Interleaved => format!(
            "{} begun, {} complete: these are the pairs",
            grouped(design.rounds),
            grouped(design.complete_rounds)
        ),
        DesignKind::Separate => "none: the runs have no pairs".into(),
    }
}

fn margin(design: &Design) -> String {
    match design.margin {
        Some(margin) => format!(
            "{} of the baseline, given beforehand: an interval within it means equivalent",
            share(margin)
        ),
        None => "none given: equivalence cannot be shown".into(),
    }
}

/// How many blocks of a variant count, and what was run.
pub(super) fn variant(variant: &Variant) -> String {
    let noun = if variant.blocks == 1 { "block" } else { "blocks" };
    let mut text = format!("{} {noun}", grouped(variant.blocks));
    if !variant.left_out.is_empty() {
        text += &format!(", {} left out", variant.left_out.len());
    }
    text
}

/// Every command under the name of its variant, as a shell takes it.
pub(super) fn commands(comparison: &Comparison) -> String {
    let one_line = |text: &str| text.replace(|c: char| c.is_control(), " ");
    let lines: Vec<String> = comparison
        .variants
        .iter()
        .map(|variant| format!("# {}\n{}", one_line(&variant.name), one_line(&variant.command)))
        .collect();
    lines.join("\n")
}
