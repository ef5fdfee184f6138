//! Many runs as plain text.

use super::Collection;
use super::claim::Claim;
use super::tables::{self, Cut};
use crate::trust::Trust;
use crate::wrap::{fact, harmless, paragraph};

/// Rows of a table in a terminal; of more the first and the last are shown.
const ROWS_MAX: usize = 40;
/// Runs that are not valid and are named.
const INVALID_MAX: usize = 8;
/// Things that could not be shown and are named.
const UNREAD_MAX: usize = 8;

/// The collection as text of `width` columns. Ends with a line end.
#[must_use]
pub fn render(collection: &Collection, width: usize) -> String {
    let mut out = format!("{}\n{}\n\n", collection.title(), collection.period());
    for claim in Claim::all(collection) {
        out += &paragraph("- ", &claim.text, width);
    }
    out += &doubts(collection, width);
    for kind in &collection.kinds {
        out += &format!("\n{}\n", kind.name());
        out += &paragraph("", &tables::about(kind, collection), width);
        out += &fitted(tables::cells(kind), width);
    }
    out += "\nRuns\n";
    out += &fitted(tables::runs(collection), width);
    harmless(&out)
}

fn doubts(collection: &Collection, width: usize) -> String {
    let mut out = String::new();
    let doubtful: Vec<_> =
        collection.entries.iter().filter(|run| run.trust != Trust::Full).collect();
    if !doubtful.is_empty() {
        out.push('\n');
    }
    for run in doubtful.iter().take(INVALID_MAX) {
        let cause = run.findings.first().map_or("it has no result", |finding| &finding.text);
        out += &fact(run.trust.short(), &format!("{}: {cause}", run.name()), width);
    }
    if doubtful.len() > INVALID_MAX {
        out += &fact("", &format!("and {} more", doubtful.len() - INVALID_MAX), width);
    }
    if !collection.unread.is_empty() {
        out.push('\n');
    }
    for one in collection.unread.iter().take(UNREAD_MAX) {
        out += &fact("not shown", &format!("{}: {}; {}", one.place, one.reason, one.remedy), width);
    }
    if collection.unread.len() > UNREAD_MAX {
        out += &fact("", &format!("and {} more", collection.unread.len() - UNREAD_MAX), width);
    }
    out
}

/// The table as far as a screen takes it, and what did not fit.
fn fitted(cut: Cut, width: usize) -> String {
    let Cut { mut table, whole } = cut;
    if table.rows.len() > ROWS_MAX {
        table.rows.drain(ROWS_MAX / 2..table.rows.len() - ROWS_MAX / 2);
    }
    let shown = table.rows.len();
    let (mut text, dropped) = table.text(width);
    let mut notes = Vec::new();
    if shown < whole {
        notes.push(format!("{shown} of {whole} rows, from both ends"));
    }
    if !dropped.is_empty() {
        notes.push(format!("not shown for width: {} (--markdown has them)", dropped.join(", ")));
    }
    if !notes.is_empty() {
        text += &paragraph("", &notes.join("; "), width);
    }
    text
}
