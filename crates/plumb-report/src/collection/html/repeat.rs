//! What it takes to measure everything again.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::super::plan::{self, Plan};
use super::super::{Collection, tables};
use super::folded;
use crate::figures::{grouped, typeset};

/// Plans whose command lines stand in one block; more have a table only.
const COMMANDS_MAX: usize = 12;
/// Machines whose facts are spelled out.
const MACHINES_MAX: usize = 6;

/// Commands, what all plans share, and the machines.
pub(super) fn section(collection: &Collection) -> Markup {
    let plans: Vec<&Plan> = collection.plans.iter().collect();
    let shared = plan::shared(&plans);
    let (options, facts): (Vec<_>, Vec<_>) =
        shared.into_iter().partition(|(name, _)| name.starts_with("--"));
    html! {
        section id="repeat" {
            h2 { "To repeat it" }
            @if plans.len() <= COMMANDS_MAX {
                pre class="command" { (commands(&plans)) }
            }
            (folded("Plans, with the seeds of the order of their results", &tables::plans(collection)))
            @if !facts.is_empty() || !options.is_empty() {
                details class="machine" {
                    summary {
                        @if plans.len() > 1 { "What all plans share" } @else { "Circumstances and every option" }
                    }
                    div class="columns wide" {
                        @if !facts.is_empty() { (list(&facts, "facts")) }
                        @if !options.is_empty() { (list(&options, "facts options")) }
                    }
                }
            }
            (machines(&plans))
            @if let Some(floor) = floors(collection) {
                p class="about" { (typeset(&floor)) }
            }
        }
    }
}

fn list(facts: &[(String, String)], class: &str) -> Markup {
    html! {
        dl class=(class) { @for (name, value) in facts { dt { (name) } dd { (typeset(value)) } } }
    }
}

/// Every command line once, under the number of its plan.
fn commands(plans: &[&Plan]) -> String {
    let one_line = |text: &str| text.replace(|c: char| c.is_control(), " ");
    let lines = plans.iter().enumerate().map(|(at, plan)| {
        let runs = super::super::counted(usize::try_from(plan.runs).unwrap_or(usize::MAX), "run");
        format!("# plan {}, {runs}\n{}", at + 1, one_line(&plan.command))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The machines that drove the load, each with its facts, in the order in which they come first.
fn machines(plans: &[&Plan]) -> Markup {
    let mut machines: Vec<(&BTreeMap<String, String>, String)> = Vec::new();
    for plan in plans {
        if machines.iter().all(|(known, _)| *known != &plan.machine) {
            let name = plan.facts.get("host").cloned().unwrap_or_default();
            machines.push((&plan.machine, name));
        }
    }
    html! {
        @for (facts, name) in machines.iter().take(MACHINES_MAX) {
            details class="machine" {
                summary { "Machine " (name) }
                dl class="facts" {
                    @for (name, value) in *facts { dt { (name) } dd { (typeset(value)) } }
                }
            }
        }
        @if machines.len() > MACHINES_MAX {
            p class="note" {
                (grouped((machines.len() - MACHINES_MAX) as u64)) " more sets of facts; every run.json has its own."
            }
        }
    }
}

/// What the tool itself cost in all runs.
fn floors(collection: &Collection) -> Option<String> {
    let floors = || collection.entries.iter().filter_map(|run| run.floor_ns);
    let (low, high) = (floors().min()?, floors().max()?);
    let known = floors().count();
    Some(format!(
        "The tool's floor at the median, in {} of {} runs: {} to {}.",
        grouped(known as u64),
        grouped(collection.entries.len() as u64),
        plumb_measure::show_ns(low),
        plumb_measure::show_ns(high)
    ))
}
