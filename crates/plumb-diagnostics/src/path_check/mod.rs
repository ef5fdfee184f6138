//! The check of a network path as people read it: a sentence for each test, then its figures.

mod html;
mod sizes;
mod tables;

use plumb_checkup::{Judgement, PathCheck, PathVerdict};

use plumb_page::table::escaped;
use plumb_page::wrap::{fact, harmless, paragraph};

pub use html::render as html;

/// The check as text of `width` columns. Ends with a line end.
#[must_use]
pub fn terminal(check: &PathCheck, width: usize) -> String {
    let mut out = format!("{}\n\n", title(check));
    for verdict in check.verdicts() {
        let text = format!("{}: {}", verdict.judgement.word(), verdict.sentence);
        out += &fact(verdict.test.name(), &text, width);
    }
    out += &check.accepted_load().map_or_else(String::new, |it| fact("load", &it.words(), width));
    let (table, _) = tables::parts(check).text(width);
    out += &format!("\n{table}");
    if let Some(left) = left(check) {
        out += &format!("\n{}", paragraph("", &left, width));
    }
    harmless(&out)
}

/// The check as Markdown, to paste into a ticket.
#[must_use]
pub fn markdown(check: &PathCheck) -> String {
    let mut out = format!("## {}\n\n", escaped(&title(check)));
    for PathVerdict { test, judgement, sentence } in check.verdicts() {
        out += &format!("- **{}**: {}: {}\n", test.name(), judgement.word(), escaped(&sentence));
    }
    if let Some(accepted) = check.accepted_load() {
        out += &format!("- **load**: {}\n", accepted.words());
    }
    out += &format!("\n{}", tables::parts(check).markdown());
    if let Some(left) = left(check) {
        out += &format!("\n{left}\n");
    }
    out
}

fn title(check: &PathCheck) -> String {
    format!("net check {}: {}", check.target, heading(check))
}

/// The whole check in a word or two.
fn heading(check: &PathCheck) -> &'static str {
    let worst = check.worst();
    let unfinished = check.parts.iter().any(|part| part.outcome.is_none());
    match worst {
        Judgement::Bad => Judgement::Bad.word(),
        _ if unfinished => "NOT FINISHED",
        _ => worst.word(),
    }
}

/// Which tests came to which word, the gravest first: `BAD: idle. FINE: throughput, sizes.`
fn summary(check: &PathCheck) -> String {
    let verdicts = check.verdicts();
    let words =
        [Judgement::Bad, Judgement::Look, Judgement::Open, Judgement::Untold, Judgement::Fine];
    let said = words.into_iter().filter_map(|word| {
        let judged = verdicts.iter().filter(|verdict| verdict.judgement == word);
        let names: Vec<&str> = judged.map(|verdict| verdict.test.name()).collect();
        (!names.is_empty()).then(|| format!("{}: {}.", word.word(), names.join(", ")))
    });
    let said = said.collect::<Vec<_>>().join(" ");
    check.accepted_load().map_or(said.clone(), |it| it.beside(&said))
}

/// What is still to come, and how.
fn left(check: &PathCheck) -> Option<String> {
    let open = check.parts.iter().filter(|part| part.outcome.is_none()).count();
    (open > 0).then(|| {
        format!(
            "{open} of {} parts are not measured: plumb net check --resume DIR goes on with them.",
            check.parts.len()
        )
    })
}
