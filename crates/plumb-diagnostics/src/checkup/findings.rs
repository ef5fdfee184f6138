//! What is wrong, ranked: what it costs a user, what shows it, what to do next.

use maud::{Markup, html};
use plumb_checkup::{Checkup, CheckupFinding, FaultCost};
use plumb_measure::show_ns;

use plumb_page::figures::{real, typeset};
use plumb_page::table::{end_of, escaped};
use plumb_page::wrap::{NAME_WIDTH, paragraph};

/// Characters of an operation: that of a page is its path.
const NAME_MAX: usize = 40;

/// The findings below the first sentence, which has the evidence of the first one.
pub(super) fn terminal(checkup: &Checkup, width: usize) -> String {
    let mut out = String::new();
    for (at, finding) in checkup.verdict.findings.iter().enumerate() {
        let head = format!("{} {}", at + 1, finding.kind.name());
        let said = match (at, finding.cost) {
            (0, _) => heading(finding), // its evidence is the first sentence
            (_, None) => finding.evidence.clone(),
            (_, Some(_)) => format!("{}. {}", heading(finding), finding.evidence),
        };
        out += &format!("\n{}", paragraph(&format!("{head:<NAME_WIDTH$}  "), &said, width));
        out += &paragraph(&format!("{:<NAME_WIDTH$}  ", "next"), &finding.next, width);
    }
    out
}

/// The findings as a list.
pub(super) fn markdown(checkup: &Checkup) -> String {
    let lines = checkup.verdict.findings.iter().enumerate().map(|(at, finding)| {
        let number = at + 1;
        let head = format!("{}, {}", finding.kind.name(), heading(finding));
        let text = format!("{} Next: {}", finding.evidence, finding.next);
        format!("{number}. **{}**: {}\n", escaped(&head), escaped(&text))
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// The findings, each with a bar that shows its share of the operation.
pub(super) fn section(checkup: &Checkup) -> Markup {
    let findings = &checkup.verdict.findings;
    html! {
        @if !findings.is_empty() {
            section {
                h2 { "What is wrong, and what it costs a user" }
                ol class="faults" {
                    @for finding in findings {
                        li {
                            h3 { (typeset(&format!("{}: {}", finding.kind.name(), finding.server))) }
                            @if let Some(cost) = finding.cost {
                                p class="cost" {
                                    span class="track" { span class="share" style=(share(cost)) {} }
                                    " " (typeset(&of_whole(finding, cost)))
                                }
                            }
                            p { (typeset(&finding.evidence)) }
                            p class="next" { strong { "Next: " } (typeset(&finding.next)) }
                        }
                    }
                }
                @if findings.iter().filter(|finding| finding.cost.is_some()).count() > 1 {
                    p class="note" { "Costs overlap: they do not add up." }
                }
            }
        }
    }
}

/// Whose fault it is, and what it costs.
fn heading(finding: &CheckupFinding) -> String {
    match finding.cost {
        Some(cost) => format!("{}: {}", finding.server, of_whole(finding, cost)),
        None => finding.server.clone(),
    }
}

/// `49.5 ms of the 55.0 ms that a flight list takes (49.1 ms to 49.9 ms)`.
fn of_whole(finding: &CheckupFinding, cost: FaultCost) -> String {
    let mean = if cost.of.are_all() { "" } else { " at the mean" };
    format!(
        "{} of the {} that {} takes{mean}{} ({} to {})",
        show_ns(cost.ns),
        show_ns(cost.whole_ns),
        finding
            .operation
            .as_deref()
            .map_or_else(|| "an operation".into(), |it| end_of(it, NAME_MAX)),
        cost.of.whose(),
        show_ns(cost.low_ns),
        show_ns(cost.high_ns)
    )
}

fn share(cost: FaultCost) -> String {
    format!("width: {:.1}%", 100.0 * real(cost.ns) / real(cost.whole_ns.max(1)))
}
