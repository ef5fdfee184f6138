//! How the blocks were taken, and what it takes to take them again.

use plumb_comparison::{Comparison, Design, DesignKind, Variant};
use plumb_measure::counted;

use super::figures::share;
use crate::facts::Fact;
use crate::figures::grouped;

/// Circumstances that are asked for first, by their keys in the record, with their names.
const CIRCUMSTANCES: [(&str, &str); 8] = [
    ("host name", "host"),
    ("host processors", "processors"),
    ("host kernel", "kernel"),
    ("host placement", "placement"),
    ("host clock", "clock"),
    ("target transport", "transport"),
    ("driver", "driver"),
    ("tool's floor", "tool's floor"),
];

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
    facts.push(Fact::new("tests", tests(design)));
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

/// How many tests pay for each other, and what that takes.
fn tests(design: &Design) -> String {
    let (Some(count), Some(needed)) = (design.tests, design.rounds_needed) else {
        return String::new();
    };
    let what = match count {
        0 => return "none: there is no pair".into(),
        1 => "1 primary figure; a difference".into(),
        count => format!("{} primary figures; a difference in each", grouped(count)),
    };
    format!("{what} can be shown with {} complete rounds or more", grouped(needed))
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
    let mut text = counted(variant.blocks, "block");
    if !variant.left_out.is_empty() {
        text += &format!(", {} left out", variant.left_out.len());
    }
    text
}

/// What all variants were measured under: what a reader asks for first.
pub(super) fn circumstances(comparison: &Comparison) -> Vec<Fact> {
    let known = CIRCUMSTANCES.iter().filter_map(|(key, name)| {
        let value = comparison.shared.get(*key).filter(|value| *value != "-")?;
        Some(Fact::new(*name, value))
    });
    let accepted = comparison.accepted_load.map(|it| Fact::new("foreign load", it.circumstance()));
    known.chain(accepted).collect()
}

/// What else is known of the machine that all variants shared.
pub(super) fn machine(comparison: &Comparison) -> Vec<Fact> {
    let is_first = |key: &str| CIRCUMSTANCES.iter().any(|(first, _)| *first == key);
    let rest = comparison.shared.iter().filter(|(key, _)| !is_first(key));
    rest.map(|(key, value)| Fact::new(key.trim_start_matches("host ").to_owned(), value)).collect()
}

/// What measures all of it again, then every command under the name of its variant, as a shell
/// takes it.
pub(super) fn commands(comparison: &Comparison) -> String {
    let one_line = |text: &str| text.replace(|c: char| c.is_control(), " ");
    let whole = match comparison.design.kind {
        DesignKind::Interleaved => Some(
            "# all of it; DIR is the folder of the experiment\nplumb lab run DIR/experiment.toml",
        ),
        DesignKind::Separate => None,
    };
    let variants = comparison
        .variants
        .iter()
        .map(|variant| format!("# {}\n{}", one_line(&variant.name), one_line(&variant.command)));
    whole.map(str::to_owned).into_iter().chain(variants).collect::<Vec<_>>().join("\n")
}
