//! A run as Markdown, to paste into a ticket.

use plumb_measure::RunRecord;

use crate::points::Points;
use crate::table::{Column, Table, escaped, fenced};
use crate::trust::Trust;
use crate::verdict;
use crate::{
    attribution, clients, delivery, facts, host, notes, parts, round_trip, slowest, streams, tables,
};

/// The record as Markdown: verdict, figures, and what it takes to repeat the run.
#[must_use]
pub fn render(record: &RunRecord) -> String {
    let mut out = format!("## {}\n\n", escaped(&verdict::title(record)));
    out +=
        &format!("**{}**: {}\n\n", verdict::heading(record), escaped(&verdict::sentence(record)));
    out += &validity(record);
    if !record.results.is_empty() {
        out += &results(record);
    }
    let remarks = notes::of(record);
    if !remarks.is_empty() {
        out += "### Notes\n\n";
        for remark in remarks {
            out += &format!("- {}\n", escaped(&remark));
        }
        out.push('\n');
    }
    out += &repeat(record);
    out
}

fn validity(record: &RunRecord) -> String {
    let mut out = String::new();
    let raised = verdict::raised(&record.validity).is_some();
    if raised || Trust::of_run(record) != Trust::Full {
        out += &format!("{}\n\n", verdict::meaning(record));
    }
    for finding in &record.validity.reasons {
        let (word, text) = verdict::reason(finding);
        out += &format!("- {word}: {}\n", escaped(text));
    }
    if !record.validity.reasons.is_empty() {
        out.push('\n');
    }
    out
}

fn results(record: &RunRecord) -> String {
    let streams = streams::are_in(record);
    let mut out = format!("### {}\n\n", if streams { "Streams" } else { "Response times" });
    let shared = Points::of(record).shared();
    if !shared.is_empty() {
        out += &format!("Measured with {}.\n\n", escaped(&shared));
    }
    out += &tables::results(record).markdown();
    if let Some((intervals, more)) = streams::intervals(record) {
        out += &format!("\n{}", intervals.markdown());
        if !more.is_empty() {
            out += &format!("\n{more}\n");
        }
    }
    if let ([only], false) = (&record.results[..], streams) {
        out += &format!("\n{}", tables::times(record, only).markdown());
    }
    let delivered = delivery::sentences(record);
    if !delivered.is_empty() {
        out += "\n### What became of the messages\n\n";
    }
    delivered.iter().for_each(|sentence| out += &format!("- {}\n", escaped(sentence)));
    out += &round_trip::markdown(record);
    out += &whereabouts(record);
    out += &steps(record);
    if !streams {
        out += &format!("\nThe tool's floor: {}.\n", escaped(&facts::floor(record)));
    }
    out.push('\n');
    for section in parts::sections(record).into_iter().chain(parts::errors(record)) {
        let (title, about) = (section.title, escaped(section.about));
        out += &format!("### {title}\n\n{about}\n\n{}\n", section.table.markdown());
    }
    for known in parts::facts(record) {
        out += &format!("- {}: {}\n", escaped(&known.name), escaped(&known.value));
    }
    if !parts::facts(record).is_empty() {
        out.push('\n');
    }
    for (title, table) in [
        ("Clients", clients::table(record)),
        ("Failures by kind", tables::failures(record)),
        ("Status codes", tables::codes(record)),
        ("Content length", tables::lengths(record)),
        ("The slowest operations", slowest::table(record)),
        ("Driver", Some(tables::driver(record))),
        ("The machine meanwhile", host::table(record)),
        ("Also measured", (!streams::are_in(record)).then(|| tables::further(record))),
    ] {
        if let Some(table) = table {
            out += &format!("### {title}\n\n{}\n", table.markdown());
        }
    }
    for (name, formula) in tables::formulas(record) {
        out += &format!("- {} = {}\n", escaped(name), escaped(formula));
    }
    if !tables::formulas(record).is_empty() {
        out.push('\n');
    }
    out
}

/// Where the time of each step went.
fn steps(record: &RunRecord) -> String {
    let Some(table) = attribution::steps::table(record) else { return String::new() };
    let mut out = String::from("\n### Where the time of each step went\n\n");
    for (name, sentence) in attribution::steps::sentences(record) {
        let said = if name.is_empty() { sentence } else { format!("{name}: {sentence}") };
        out += &format!("- {}\n", escaped(&said));
    }
    out + &format!("\n{}", table.markdown())
}

/// Where the time went, and what to look at next.
fn whereabouts(record: &RunRecord) -> String {
    let sentences = attribution::sentences(record);
    if sentences.is_empty() {
        return String::new();
    }
    let mut out = String::from("\n### Where the time went\n\n");
    for (name, sentence) in sentences {
        let said = if name.is_empty() { sentence } else { format!("{name}: {sentence}") };
        out += &format!("- {}\n", escaped(&said));
    }
    for next in attribution::advice::grouped(record) {
        out += &format!("- {}: {}\n", escaped(&next.findings.join(". ")), escaped(next.advice));
    }
    let (readings, sources) = attribution::readings(record).unzip();
    for (title, table) in [
        ("Means of the parts", attribution::parts(record)),
        ("What the server says of its own time", readings),
        ("The times behind the parts", attribution::times(record)),
    ] {
        if let Some(table) = table {
            out += &format!("\n#### {title}\n\n{}", table.markdown());
        }
    }
    let sources = sources.unwrap_or_default();
    if !sources.is_empty() {
        out.push('\n');
    }
    for (source, about) in sources {
        out += &format!("- {}: {}\n", escaped(source), escaped(about));
    }
    out
}

fn repeat(record: &RunRecord) -> String {
    let mut out = format!("### To repeat it\n\n{}\n", fenced(&facts::command(record)));
    let mut table = Table::new(vec![Column::words("what"), Column::words("value")]);
    for known in facts::repeat(record).into_iter().chain(facts::machines(record)) {
        table.push(vec![known.name.into_owned(), known.value]);
    }
    for (name, value) in facts::options(record) {
        table.push(vec![format!("--{name}"), value]);
    }
    out += &table.markdown();
    out
}
