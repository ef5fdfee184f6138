//! A run as plain text.

use plumb_measure::{ResultRecord, RunRecord, counted, show_count, show_ns};

use crate::facts;
use crate::figures::{grouped, share, with_unit};
use crate::noun::Noun;
use crate::points::Points;
use crate::table::Table;
use crate::trust::Trust;
use crate::verdict;
use crate::wrap::{NAME_WIDTH, fact, harmless};
use crate::{
    attribution, clients, delivery, host, niping, notes, parts, placement, round_trip, slowest,
    streams, tables, wrap,
};

/// Findings that are spelled out; more are counted.
const REASONS_MAX: usize = 8;

/// The record as text of `width` columns; a table that is wider stands in parts. Ends with a line end.
#[must_use]
pub fn render(record: &RunRecord, width: usize) -> String {
    let mut out = head(record, width);
    if streams::are_in(record) {
        out.push_str(&several(record, whole, width));
        if let Some((intervals, more)) = streams::intervals(record) {
            out.push_str(&format!("\n{}", whole(&intervals, width)));
            if !more.is_empty() {
                out.push_str(&wrap::paragraph("", &more, width));
            }
        }
    } else if let [only] = &record.results[..] {
        out.push_str(&single(record, only, width));
    } else if !record.results.is_empty() {
        out.push_str(&several(record, whole, width));
        out.push_str(&figures(record, width));
    }
    if let Some(table) = clients::table(record) {
        out.push_str(&format!("\n{}", whole(&table, width)));
    }
    out.push_str(&pages(record, width));
    let delivered = delivery::sentences(record);
    if !delivered.is_empty() {
        out.push('\n');
    }
    delivered.iter().for_each(|sentence| out.push_str(&fact("messages", sentence, width)));
    out.push_str(&round_trips(record, width));
    out.push_str(&whereabouts(record, width));
    let remarks = notes::of(record);
    if !remarks.is_empty() {
        out.push('\n');
        for remark in remarks {
            out.push_str(&fact("note", &remark, width));
        }
    }
    out.push('\n');
    out.push_str(&validity(record, width));
    for (name, meanwhile) in
        [("host", host::summary(record)), ("far host", host::far_summary(record))]
    {
        if !meanwhile.is_empty() {
            out.push_str(&fact(name, &meanwhile, width));
        }
    }
    for known in facts::setting(record) {
        out.push_str(&fact(&known.name, &known.value, width));
    }
    harmless(&out)
}

/// The record in some ten lines: its verdict with every finding, its times, and what stands beside
/// every figure, as text of `width` columns. Ends with a line end.
#[must_use]
pub fn summary(record: &RunRecord, width: usize) -> String {
    let mut out = head(record, width);
    if let [only] = &record.results[..] {
        let times = tables::times(record, only);
        if only.response_ns.is_some() || only.connect_ns.is_some() {
            out.push_str(&format!("\n{}", whole(&times, width)));
        }
    } else if !record.results.is_empty() {
        out.push_str(&several(record, fitted, width));
    }
    if let Some(table) = clients::table(record) {
        out.push_str(&format!("\n{}", fitted(&table, width)));
    }
    out.push_str(&round_trips(record, width));
    out.push('\n');
    // the head has the word for what nothing is found of
    if !record.validity.reasons.is_empty() || !Trust::of_run(record).is_full() {
        out.push_str(&validity(record, width));
    }
    out.push_str(&fact("placement", &setting(record), width));
    if let Some(cores) = placement::all(record) {
        out.push_str(&fact("cores", &cores, width));
    }
    out.push_str(&fact(
        "more",
        "plumb report FOLDER prints everything, as --full does at once",
        width,
    ));
    harmless(&out)
}

/// Placement, way of waiting, clock and floor in a line or two.
fn setting(record: &RunRecord) -> String {
    let mut words = vec![record.host.placement.clone()];
    if let [only] = &record.results[..] {
        words.push(tables::waits(&only.driver));
    }
    let clock = &record.host;
    words.push(format!("reading {} costs {}", clock.clock, show_ns(clock.clock_read_ns)));
    match &record.floor {
        // the times have it
        Some(_) if matches!(&record.results[..], [only] if only.response_ns.is_some()) => {}
        Some(floor) => words.push(format!("the tool itself {}", show_ns(floor.service_ns.p50))),
        None => words.push("the tool's floor was not measured".into()),
    }
    words.join("; ")
}

/// A paragraph of `width` columns: what stands above a report in a terminal. Ends with a line end.
#[must_use]
pub fn paragraph(text: &str, width: usize) -> String {
    harmless(&wrap::paragraph("", text, width))
}

fn head(record: &RunRecord, width: usize) -> String {
    let title = verdict::title(record);
    let heading = verdict::heading(record);
    let used = title.chars().count() + heading.chars().count();
    let mut out = match width.checked_sub(used).filter(|gap| *gap >= 2) {
        Some(gap) => format!("{title}{}{heading}\n", " ".repeat(gap)),
        None => format!("{}{heading:>width$}\n", wrap::paragraph("", &title, width)),
    };
    let points = Points::of(record);
    let shared = points.shared();
    let trust = Trust::of_run(record);
    if trust != Trust::Nothing {
        out.push_str(&wrap::paragraph("", &verdict::sentence(record), width));
    }
    let about = match record.results.len() {
        0 => "no results".into(),
        // the sentence has the counts
        _ if trust == Trust::Full => String::new(),
        1 => verdict::counts(record),
        n => format!("{n} results, {}", verdict::counts(record)),
    };
    let known = [shared, about].into_iter().filter(|text| !text.is_empty());
    let joined = known.collect::<Vec<_>>().join(": ");
    if !joined.is_empty() {
        out.push_str(&wrap::paragraph("", &joined, width));
    }
    out
}

fn single(record: &RunRecord, result: &ResultRecord, width: usize) -> String {
    let mut out = String::new();
    if let Some(figures) = &result.niping {
        out.push('\n');
        out.push_str(&niping::block(figures));
    }
    let times = tables::times(record, result);
    if result.response_ns.is_some() || result.connect_ns.is_some() {
        out.push('\n');
        out.push_str(&whole(&times, width));
    }
    out.push('\n');
    if result.operations > 0 {
        out.push_str(&fact("throughput", &throughput(record, result), width));
    }
    let names = result.figures.iter().map(|figure| figure.name.chars().count());
    let widest = names.max().unwrap_or(0).max(NAME_WIDTH);
    for figure in &result.figures {
        let value = with_unit(figure.value, &figure.unit);
        let name = format!("{:<widest$}  ", figure.name);
        out.push_str(&wrap::paragraph(&name, &format!("{value} = {}", figure.formula), width));
    }
    if let Some(cpu) = result.cpu {
        out.push_str(&fact(
            "CPU",
            &host::cpu(cpu, result.host.as_ref(), result.duration_ns),
            width,
        ));
    }
    for (name, counts) in [("failures", &result.failures), ("codes", &result.codes)] {
        if !counts.is_empty() {
            let words: Vec<String> =
                counts.iter().map(|(kind, n)| format!("{kind}: {}", grouped(*n))).collect();
            out.push_str(&fact(name, &words.join(", "), width));
        }
    }
    if !result.slowest.is_empty() {
        out.push_str(&fact("slowest", &slowest::line(record), width));
    }
    out.push_str(&fact("driver", &driver(result), width));
    out
}

/// Round trips that were taken apart.
fn round_trips(record: &RunRecord, width: usize) -> String {
    let said = round_trip::sentences(record);
    let named = std::iter::once("parts").chain(std::iter::repeat(""));
    let lines: String = named.zip(&said).map(|(name, said)| fact(name, said, width)).collect();
    if said.is_empty() { lines } else { format!("\n{lines}") }
}

/// Where the time went, and what to look at next.
fn whereabouts(record: &RunRecord, width: usize) -> String {
    let sentences = attribution::sentences(record);
    let steps = attribution::steps::sentences(record);
    if sentences.is_empty() && steps.is_empty() {
        return String::new();
    }
    let mut out = String::from("\n");
    for (name, sentence) in sentences.into_iter().chain(steps) {
        let said = if name.is_empty() { sentence } else { format!("{name}: {sentence}") };
        out.push_str(&fact("time", &said, width));
    }
    for next in attribution::advice::grouped(record) {
        let findings = next.findings.join(". ");
        out.push_str(&fact("finding", &format!("{findings}. {}", next.advice), width));
    }
    for said in attribution::told_by_server(record) {
        out.push_str(&fact("server says", &said, width));
    }
    out
}

fn throughput(record: &RunRecord, result: &ResultRecord) -> String {
    format!(
        "{} {} over {}",
        show_count(result.throughput_per_s),
        Noun::of(record).rate,
        show_ns(result.duration_ns)
    )
}

fn driver(result: &ResultRecord) -> String {
    let driver = &result.driver;
    let idle = share(driver.idle_passes, driver.passes);
    let threads = counted(driver.threads, "thread");
    let name = driver.name.as_ref().map_or_else(String::new, |name| format!("{name}, "));
    let mut text = format!("{name}{}, {threads}", tables::waits(driver));
    if driver.passes > 0 {
        text += &format!(", {idle} idle passes");
    }
    if let Some(lag) = &driver.lag_ns {
        text += &format!(", lag p99 {}", show_ns(lag.p99));
    }
    text
}

fn several(record: &RunRecord, shown: fn(&Table, usize) -> String, width: usize) -> String {
    format!("\n{}", shown(&tables::results(record), width))
}

/// The figures of the layer, and how each is reckoned.
fn figures(record: &RunRecord, width: usize) -> String {
    let Some(table) = tables::figures(record) else { return String::new() };
    let formulas = tables::formulas(record).into_iter();
    let lines = formulas.map(|(name, of)| wrap::paragraph("", &format!("{name} = {of}"), width));
    format!("\n{}{}", whole(&table, width), lines.collect::<String>())
}

/// A table with all its columns.
fn whole(table: &Table, width: usize) -> String {
    table.in_parts(width)
}

/// A table as far as it fits, and what did not.
fn fitted(table: &Table, width: usize) -> String {
    let (mut text, dropped) = table.text(width);
    if !dropped.is_empty() {
        let note = format!("not shown for width: {} (--full has them)", dropped.join(", "));
        text.push_str(&wrap::paragraph("", &note, width));
    }
    text
}

/// The parts of the loads, and how their URLs were resolved.
fn pages(record: &RunRecord, width: usize) -> String {
    let mut out = String::new();
    for section in parts::sections(record).into_iter().chain(parts::errors(record)) {
        out += &format!("\n{}\n{}", section.title, whole(&section.table, width));
    }
    let facts = parts::facts(record);
    if !facts.is_empty() {
        out.push('\n');
    }
    for known in facts {
        out += &fact(&known.name, &known.value, width);
    }
    out
}

fn validity(record: &RunRecord, width: usize) -> String {
    let trust = Trust::of_run(record);
    let mut text = format!("{}. {}", verdict::word(record), verdict::meaning(record));
    // the sentence says it of a run that proves something
    if let (Some(ending), Trust::Nothing) = (verdict::ending(record), trust) {
        text = format!("{text} {ending}");
    }
    let mut out = fact("validity", &text, width);
    let reasons = &record.validity.reasons;
    for finding in reasons.iter().take(REASONS_MAX) {
        let (word, text) = verdict::reason(finding);
        out.push_str(&fact("", &format!("{word}: {text}"), width));
    }
    if reasons.len() > REASONS_MAX {
        let more = counted((reasons.len() - REASONS_MAX) as u64, "more finding");
        out.push_str(&fact("", &format!("and {more}"), width));
    }
    out
}
