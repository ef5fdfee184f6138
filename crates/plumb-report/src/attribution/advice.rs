//! What to look at next: each piece of advice once, with the findings that lead to it.

use maud::{Markup, html};
use plumb_measure::RunRecord;

use crate::figures::typeset;
use crate::points::Points;

/// A piece of advice.
pub(crate) struct Next<'a> {
    pub(crate) advice: &'a str,
    /// What leads to it, with the name of its result where there are several.
    pub(crate) findings: Vec<String>,
}

/// The advice on all results, in the order in which it comes first.
pub(crate) fn grouped(record: &RunRecord) -> Vec<Next<'_>> {
    let points = Points::of(record);
    let several = points.results.len() > 1;
    let mut all: Vec<Next<'_>> = Vec::new();
    for result in &points.results {
        for known in result.attribution.iter().flat_map(|it| &it.advice) {
            let finding = match several {
                true => format!("{}: {}", points.name(result), known.finding),
                false => known.finding.clone(),
            };
            match all.iter_mut().find(|next| next.advice == known.next) {
                Some(next) => next.findings.push(finding),
                None => all.push(Next { advice: &known.next, findings: vec![finding] }),
            }
        }
    }
    all
}

/// The same as a list.
pub(super) fn section(record: &RunRecord) -> Markup {
    let all = grouped(record);
    html! {
        @if !all.is_empty() {
            h3 { "What to look at next" }
            ol class="next" {
                @for next in &all {
                    li {
                        strong { (typeset(next.advice)) }
                        ul { @for finding in &next.findings { li { (typeset(finding)) } } }
                    }
                }
            }
        }
    }
}
