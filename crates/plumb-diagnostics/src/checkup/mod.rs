//! The checkup of a landscape as people read it: what is wrong with it, then each layer.

mod findings;
mod html;
mod layers;
mod remarks;
mod tables;

use plumb_checkup::{
    Checkup, CheckupLayer, CheckupPart, FaultKind, LayerState, LayerVerdict, accepted_load,
};
use plumb_measure::Status;

use plumb_page::table::escaped;
use plumb_page::wrap::{NAME_WIDTH, harmless, paragraph};

pub use html::{CheckupRun, render as html, whole as html_with_runs};

/// The checkup as text of `width` columns; a table leaves out what does not fit, and says so. Ends
/// with a line end.
#[must_use]
pub fn terminal(checkup: &Checkup, width: usize) -> String {
    let mut out = paragraph("", &sentence(checkup), width);
    out += &findings::terminal(checkup, width);
    for server in servers(checkup) {
        let word = server.word();
        let gap = width.saturating_sub(server.name.chars().count() + word.chars().count()).max(2);
        out += &format!("\n{}{}{word}\n", server.name, " ".repeat(gap));
        let table = tables::parts(&server.parts);
        let (table, dropped) = table.text(width);
        out += &table;
        if !dropped.is_empty() {
            let note = format!("not shown for width: {} (--markdown has them)", dropped.join(", "));
            out += &paragraph("", &note, width);
        }
        for (name, text) in remarks::of(&server) {
            out += &paragraph(&format!("{name:<NAME_WIDTH$}  "), &text, width);
        }
    }
    let around = remarks::around(checkup);
    if !around.is_empty() {
        out.push('\n');
    }
    for (name, text) in around {
        out += &paragraph(&format!("{name:<NAME_WIDTH$}  "), &text, width);
    }
    harmless(&out)
}

/// The checkup as Markdown, to paste into a ticket.
#[must_use]
pub fn markdown(checkup: &Checkup) -> String {
    let target = escaped(&checkup.target);
    let mut out = format!("## checkup of {target}\n\n{}\n", escaped(&sentence(checkup)));
    out += &findings::markdown(checkup);
    for server in servers(checkup) {
        let table = tables::watched(&server.parts).markdown();
        out += &format!("\n### {}: {}\n\n{table}", escaped(server.name), server.word());
        out += &list(remarks::of(&server));
    }
    out + &list(remarks::around(checkup))
}

fn list(remarks: Vec<(&str, String)>) -> String {
    let lines = remarks.into_iter().map(|(name, text)| format!("- {name}: {}\n", escaped(&text)));
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// One server with its parts and what is said of it.
struct Server<'a> {
    layer: CheckupLayer,
    name: &'a str,
    parts: Vec<&'a CheckupPart>,
    verdict: Option<&'a LayerVerdict>,
    /// True when it is not the only one that is called slowest.
    shares: bool,
    /// True when a fault of it was found.
    faulty: bool,
    /// Who was busy with what is said once for all servers.
    busy: Option<String>,
}

impl Server<'_> {
    /// How it stands, in a word or two, with the limit of foreign load that was raised for it.
    fn word(&self) -> String {
        let word = self.bare_word();
        let is_judged = self.verdict.is_some_and(|verdict| verdict.state == LayerState::Judged);
        match accepted_load(self.parts.iter().copied()).filter(|_| is_judged) {
            Some(accepted) => format!("{word}, limit raised to {}", accepted.limit),
            None => word.into(),
        }
    }

    fn bare_word(&self) -> &'static str {
        match self.verdict.map_or(LayerState::Open, |verdict| verdict.state) {
            LayerState::Judged if self.faulty => "FAULT",
            LayerState::Judged => match self.verdict.is_some_and(|verdict| verdict.slowest) {
                true if self.shares => "AMONG THE SLOWEST",
                true => "SLOWEST",
                false => "VALID",
            },
            LayerState::NotValid => "NOT VALID",
            LayerState::NotChecked => "NOT CHECKED",
            LayerState::NotMeasured => "NOT MEASURED",
            LayerState::Open => "NOT FINISHED",
        }
    }
}

fn servers(checkup: &Checkup) -> Vec<Server<'_>> {
    let verdicts = &checkup.verdict.layers;
    let shares = verdicts.iter().filter(|verdict| verdict.slowest).count() > 1;
    let findings = &checkup.verdict.findings;
    let busy = findings.iter().any(|it| it.kind == FaultKind::ForeignLoad);
    let busy = busy.then(|| checkup.who_asks());
    let all = checkup.servers().into_iter();
    all.map(|(layer, name, parts)| {
        let verdict = verdicts.iter().find(|it| it.layer == layer && it.server == name);
        let faulty = findings.iter().any(|it| it.layer == Some(layer) && it.server == name);
        Server { layer, name, parts, verdict, shares, faulty, busy: busy.clone() }
    })
    .collect()
}

/// The same as they rank: those that are judged first, the slowest of them first.
fn ranked(checkup: &Checkup) -> Vec<Server<'_>> {
    let mut servers = servers(checkup);
    let layers = &checkup.verdict.layers;
    let rank = |server: &Server<'_>| {
        let same = |it: &LayerVerdict| it.layer == server.layer && it.server == server.name;
        layers.iter().position(same).unwrap_or(layers.len())
    };
    servers.sort_by_key(rank);
    servers
}

/// How it ended, when that was not its end, and what it says.
fn sentence(checkup: &Checkup) -> String {
    let ending = match checkup.status {
        Status::Complete => return checkup.verdict.sentence.clone(),
        Status::Interrupted => "The checkup was interrupted before its end.",
        Status::Running => "The checkup has not ended yet, or its process died.",
        Status::Broken => "The checkup could not come to its end.",
    };
    format!("{ending} {}", checkup.verdict.sentence)
}
