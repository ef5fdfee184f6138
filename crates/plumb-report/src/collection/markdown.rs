//! Many runs as Markdown, to paste into a ticket.

use super::Collection;
use super::claim::Claim;
use super::tables::{self, Cut};
use crate::comparison;
use crate::table::{escaped, fenced};
use crate::trust::Trust;
use crate::verdict;

/// Rows of a table that a ticket still takes.
const ROWS_MAX: usize = 100;
/// Runs that are not valid and are named.
const INVALID_MAX: usize = 30;

/// The collection as Markdown: what the runs say, verdicts, figures, and what repeats them.
#[must_use]
pub fn render(collection: &Collection) -> String {
    let mut out = format!("## {}\n\n", escaped(&collection.title()));
    for claim in Claim::all(collection) {
        out += &format!("- {}\n", escaped(&claim.text));
    }
    out.push('\n');
    out += &doubts(collection);
    if let Some(cut) = tables::unread(collection) {
        out += &format!("### Not shown\n\n{}\n", limited(cut));
    }
    for found in &collection.experiments {
        let text = found.comparison.as_ref().map(comparison::markdown);
        out += &text.unwrap_or_default();
        out.push('\n');
    }
    for kind in &collection.kinds {
        let about = escaped(&tables::about(kind, collection));
        out += &format!("### {}\n\n{about}\n\n", escaped(&kind.name()));
        out += &limited(tables::cells(kind));
        if let Some(cut) = tables::machine(kind) {
            out += &format!("\n#### The machine meanwhile\n\n{}", limited(cut));
        }
        let plans: Vec<_> = kind.plans.iter().map(|at| &collection.plans[*at]).collect();
        if let Some(table) = tables::differences(&plans) {
            out += &format!("\n#### What the plans differ in\n\n{}", table.markdown());
        }
        out.push('\n');
    }
    out += &format!("### Runs\n\n{}\n", limited(tables::runs(collection)));
    out += "### To repeat it\n\n";
    match &collection.plans[..] {
        [only] => out += &fenced(&only.command),
        _ => out += &limited(tables::plans(collection)),
    }
    out
}

fn doubts(collection: &Collection) -> String {
    let mut out = String::new();
    let doubtful = collection.entries.iter().filter(|run| run.trust != Trust::Full);
    for run in doubtful.take(INVALID_MAX) {
        let causes: Vec<&str> = run.findings.iter().map(|it| verdict::reason(it).1).collect();
        out += &format!(
            "- **{}** {}: {}\n",
            run.trust.short(),
            escaped(&run.name()),
            escaped(&causes.join("; "))
        );
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// The table as far as a ticket takes it, and what is left out.
fn limited(cut: Cut) -> String {
    let Cut { mut table, whole } = cut;
    table.rows.truncate(ROWS_MAX);
    let shown = table.rows.len();
    let mut text = table.markdown();
    if shown < whole {
        text += &format!("\n{shown} of {whole} rows.\n");
    }
    text
}
