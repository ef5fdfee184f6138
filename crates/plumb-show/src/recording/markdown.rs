//! Recordings as Markdown, to paste into a ticket.

use plumb_page::table::{Column, Table, escaped};

use super::{Recording, Recordings, Remark, counted, tables};

/// The recordings as Markdown: what several have side by side, and of each verdict, counters, totals, and what was wrong with the file.
#[must_use]
pub fn render(recordings: &Recordings) -> String {
    let together = recordings.together.as_ref().map(|together| {
        let doubt = |it: &String| format!("**NOT CONSISTENT**: {}\n\n", escaped(it));
        let doubts: String = together.doubts.iter().map(doubt).collect();
        format!("## Side by side\n\n{doubts}{}", tables::together(together).markdown())
    });
    together.into_iter().chain(recordings.list.iter().map(one)).collect::<Vec<_>>().join("\n")
}

fn one(recording: &Recording) -> String {
    let mut out = format!("## {}\n\n", escaped(&recording.host));
    out += &format!("{}: {}\n\n", escaped(&recording.file), escaped(&recording.about));
    let (word, _, meaning) = recording.check.verdict();
    out += &format!("**{word}**: {meaning}\n");
    out += &remarks(&recording.check.findings, recording.check.left_out);
    if !recording.counters.is_empty() {
        out += &format!("\n### Counters\n\n{}", tables::counters(recording).markdown());
    }
    if !recording.totals.is_empty() {
        out.push('\n');
    }
    for total in &recording.totals {
        out += &format!("- {}: {}\n", escaped(&total.name), escaped(&total.value));
    }
    if !recording.commands.is_empty() {
        out += &format!("\n### Commands\n\n{}", tables::commands(recording).markdown());
    }
    if recording.troubles_all() > 0 {
        out += "\n### Troubles of the file\n";
        out += &remarks(&recording.troubles, recording.troubles_left_out);
    }
    if !recording.facts.is_empty() {
        let mut table = Table::new(vec![Column::words("what"), Column::words("value")]);
        for fact in &recording.facts {
            table.push(vec![fact.name.clone(), fact.value.clone()]);
        }
        out += &format!("\n### The host and its recording\n\n{}", table.markdown());
    }
    out
}

fn remarks(all: &[Remark], left_out: u64) -> String {
    let mut out = String::new();
    for remark in all {
        out += &format!("\n- line {}: {}", remark.line, escaped(&remark.text));
    }
    if left_out > 0 {
        out += &format!("\n- and {} more", counted(left_out, "message"));
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}
