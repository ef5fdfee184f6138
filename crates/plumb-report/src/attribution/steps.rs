//! Where the time of each step or page went: means, and what makes the slow ones slow.

use std::collections::BTreeSet;

use maud::{Markup, html};
use plumb_measure::{
    Attribution, CannotBeSplit, Estimate, PartKind, PartRecord, ResultRecord, RunRecord,
    SpanAccount, Split, TimePart, counted, show_ns,
};

use super::{percent, shown, spread, stack};
use crate::figures::{ABSENT, grouped, typeset};
use crate::parts::names;
use crate::points::Points;
use crate::sheet;
use crate::table::{Column, Table};
use crate::trust::Trust;

/// Steps that are told in words at most, those with the longest means first.
const TOLD_MAX: usize = 5;
/// A part of a smaller share is not named in words.
const NAMED: f64 = 0.05;
/// Percentiles whose intervals are worth a word: of the fewest operations.
const FEW: u64 = 40;

/// A step with its account.
struct Step<'a> {
    result: &'a ResultRecord,
    /// With the name of its result, where there are several.
    title: String,
    name: String,
    attribution: &'a Attribution,
    trust: Trust,
}

/// A whole and its parts, and what they are of.
struct Account<'a> {
    of: String,
    client: Estimate,
    parts: &'a [TimePart],
    split: Result<Split<PartKind>, CannotBeSplit>,
}

fn steps<'a>(points: &Points<'a>) -> Vec<Step<'a>> {
    let several = points.results.len() > 1;
    let of_result = |result: &&'a ResultRecord| {
        let result: &'a ResultRecord = result;
        let own = if several { format!("{}: ", points.name(result)) } else { String::new() };
        let step = move |(name, part): (String, &'a PartRecord)| {
            let by_spans = part.spans.as_ref().map(|spans| {
                let name = format!("{name}, by the spans of {}", spanned(spans));
                (name, &spans.attribution)
            });
            let own = own.clone();
            let told = part.attribution.as_ref().map(|attribution| (name, attribution));
            told.into_iter().chain(by_spans).map(move |(name, attribution)| {
                let (title, trust) = (format!("{own}{name}"), Trust::of(&result.validity));
                Step { result, title, name, attribution, trust }
            })
        };
        names(&result.parts).into_iter().zip(&result.parts).flat_map(step).collect::<Vec<_>>()
    };
    points.results.iter().flat_map(of_result).collect()
}

/// Of how many operations there are spans.
fn spanned(spans: &SpanAccount) -> String {
    let SpanAccount { traced, sample, with_spans, loose, .. } = spans;
    let of = match traced == sample {
        true => format!("{} of {} operations", grouped(*with_spans), grouped(*sample)),
        false => format!(
            "{} of {} drawn from {} operations",
            grouped(*with_spans),
            grouped(*sample),
            grouped(*traced)
        ),
    };
    match loose {
        0 => of,
        _ => format!("{of}, without {} whose parent is missing", counted(*loose, "span")),
    }
}

impl<'a> Step<'a> {
    fn accounts(&self) -> Vec<Account<'a>> {
        accounts(self.attribution)
    }
}

/// The mean, then the percentiles.
fn accounts(attribution: &Attribution) -> Vec<Account<'_>> {
    let mean = Account {
        of: "mean".into(),
        client: attribution.client,
        parts: &attribution.parts,
        split: attribution.account().map(|account| account.split),
    };
    let others = attribution.percentiles.iter().map(|account| Account {
        of: format!("p{}", account.percentile),
        client: account.client,
        parts: &account.parts,
        split: account.split(),
    });
    std::iter::once(mean).chain(others).collect()
}

fn kinds(steps: &[Step<'_>]) -> Vec<PartKind> {
    kinds_of(steps.iter().map(|step| step.attribution))
}

/// The kinds of parts that any of `attributions` has.
pub fn kinds_of<'a>(attributions: impl Iterator<Item = &'a Attribution>) -> Vec<PartKind> {
    let found: BTreeSet<PartKind> =
        attributions.flat_map(|it| &it.parts).map(|part| part.kind).collect();
    PartKind::ALL.into_iter().filter(|kind| found.contains(kind)).collect()
}

/// True when a step of the record has an account.
pub(crate) fn are_in(record: &RunRecord) -> bool {
    let mut parts = record.results.iter().flat_map(|result| &result.parts);
    parts.any(|part| part.attribution.is_some())
}

/// The parts of each step: a row for its mean and for each percentile; `None` without any.
pub(crate) fn table(record: &RunRecord) -> Option<Table> {
    let points = Points::of(record);
    let steps = steps(&points);
    let kinds = kinds(&steps);
    let mut columns = points.columns();
    columns.extend([Column::words("step"), Column::words("of"), Column::figure("count")]);
    columns.push(Column::latency("client"));
    columns.extend(kinds.iter().map(|kind| Column::latency(shown(*kind))));
    let mut table = Table::new(columns);
    for step in &steps {
        for account in step.accounts() {
            let mut row = points.cells(step.result);
            row.extend([step.name.clone(), account.of, grouped(account.client.count)]);
            row.push(spread(account.client));
            let time = |kind: &PartKind| account.parts.iter().find(|part| part.kind == *kind);
            let cell =
                |part: Option<&TimePart>| part.map_or_else(|| ABSENT.into(), |it| spread(it.time));
            row.extend(kinds.iter().map(|kind| cell(time(kind))));
            table.push_trusted(row, step.trust);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

/// A sentence for each of the steps with the longest means: which parts they have, and which make
/// the slow ones slow.
pub(crate) fn sentences(record: &RunRecord) -> Vec<(String, String)> {
    let points = Points::of(record);
    let mut steps = steps(&points);
    steps.sort_by_key(|step| std::cmp::Reverse(step.attribution.client.mean_ns));
    let more = steps.len().saturating_sub(TOLD_MAX);
    let mut said: Vec<(String, String)> =
        steps.iter().take(TOLD_MAX).map(|step| (step.title.clone(), sentence(step))).collect();
    if more > 0 {
        let text = format!("{more} more with shorter means stand in the report");
        said.push((String::new(), text));
    }
    said
}

fn sentence(step: &Step<'_>) -> String {
    let accounts = step.accounts();
    let mean = &accounts[0]; // the first is always there
    let split = match &mean.split {
        Ok(split) => split,
        Err(reason) => return format!("{} cannot be split: {reason}", time(mean.client)),
    };
    let mut text = format!("mean {}: {}", time(mean.client), shares(split));
    if let Some((slow, Ok(split))) = accounts.last().map(|it| (it, &it.split))
        && accounts.len() > 1
    {
        text += &format!("; around {} {}: {}", slow.of, time(slow.client), shares(split));
        text += &grown(&accounts);
    }
    text
}

/// Which part makes the slow operations slow: the one that is most longer than in the median ones.
fn grown(accounts: &[Account<'_>]) -> String {
    let (Some(middle), Some(slow)) = (accounts.get(1), accounts.last()) else {
        return String::new();
    };
    if accounts.len() < 3 {
        return String::new();
    }
    let in_middle = |kind: PartKind| {
        let part = middle.parts.iter().find(|part| part.kind == kind);
        part.map_or(Estimate::exact(0, middle.client.count), |part| part.time)
    };
    let longer = slow.parts.iter().map(|part| (part.kind, part.time.less(&[in_middle(part.kind)])));
    let Some((kind, more)) = longer.max_by_key(|(_, more)| more.mean_ns) else {
        return String::new();
    };
    let all = slow.client.less(&[middle.client]).mean_ns;
    match more.low_ns() {
        // most of the difference, and more than is not known of it
        Some(low_ns) if low_ns > 0 && more.mean_ns > all / 2 => {
            format!(
                ". What makes them slow: {}, {} more than at the median",
                shown(kind),
                time(more)
            )
        }
        _ => String::new(),
    }
}

fn time(estimate: Estimate) -> String {
    show_ns(estimate.mean_ns.unsigned_abs())
}

fn shares(split: &Split<PartKind>) -> String {
    let mut parts: Vec<_> = split.all().filter(|part| part.share >= NAMED).collect();
    parts.sort_by(|one, other| other.share.total_cmp(&one.share));
    let words = parts.into_iter().map(|part| format!("{} {}", percent(part.share), shown(part.of)));
    words.collect::<Vec<_>>().join(", ")
}

/// The picture of every step.
pub(crate) fn section(record: &RunRecord) -> Markup {
    let points = Points::of(record);
    let steps = steps(&points);
    let Some(table) = table(record) else { return html! {} };
    html! {
        section {
            h2 { "Where the time of each step went" }
            (stack::legend(&kinds(&steps)))
            @for step in &steps { (drawn(step)) }
            p class="about" {
                "Every bar is as long as its own whole, from the due time to the last byte. Mean: of all "
                "correct answers. p50, p95, p99: means of the operations in the band of times of that "
                "percentile, an eighth wide, and of its neighbours where there are fewer than "
                (FEW) ". Hatched is what nobody measured. In the examples the parts of the server stand "
                "in their usual order: servers tell how long they took, not when they began."
                @if record.results.iter().flat_map(|it| &it.parts).any(|part| part.spans.is_some()) {
                    " By spans: each without those below it, of a random sample of the traced operations; "
                    "an operation without spans is in what nobody measured. Spans of different clocks are "
                    "never placed beside each other, and what goes on after the first byte is no part."
                }
            }
            details {
                summary { "The figures of the bars, with half of the 95 % interval" }
                (sheet::table("Means of the parts, one row a bar", &table))
                dl class="formulas" {
                    @for (kind, how) in hows(&steps) { dt { (shown(kind)) } dd { (how) } }
                }
            }
            @if let Some(table) = readings(&points, &steps) {
                h3 { "Told one by one" }
                (sheet::table("One row a time that the server tells", &table))
            }
        }
    }
}

/// What servers tell one by one where the parts put several together; `None` without any.
fn readings(points: &Points<'_>, steps: &[Step<'_>]) -> Option<Table> {
    let mut columns = points.columns();
    columns.extend([Column::words("step"), Column::words("time"), Column::latency("mean")]);
    columns.push(Column::words("what it is"));
    let mut table = Table::new(columns);
    for step in steps {
        for reading in &step.attribution.readings {
            let mut row = points.cells(step.result);
            row.extend([step.name.clone(), reading.source.clone()]);
            row.push(reading.mean_ns.map_or_else(|| ABSENT.into(), show_ns));
            row.push(reading.about.clone());
            table.push_trusted(row, step.trust);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

fn drawn(step: &Step<'_>) -> Markup {
    picture(&step.title, step.attribution, step.trust)
}

/// The bars of one operation, and a typical and a slow one as they went.
pub(crate) fn picture(title: &str, attribution: &Attribution, trust: Trust) -> Markup {
    let doubt = !trust.is_full();
    let accounts = accounts(attribution);
    html! {
        div class="stack" {
            h3 { (title) @if doubt { " (" (trust.denial()) ")" } }
            @for account in &accounts {
                @match &account.split {
                    Ok(split) => { (stack::bar(&account.of, split, doubt)) }
                    Err(reason) => { p { (account.of) " cannot be split: " (typeset(&reason.to_string())) } }
                }
            }
            @if !attribution.examples.is_empty() && accounts[0].split.is_ok() {
                div class="falls" {
                    @for example in &attribution.examples {
                        (stack::waterfall(&titled(example.percentile), example, doubt))
                    }
                }
            }
        }
    }
}

/// One bar of the means alone, where the page of the run has the rest.
#[must_use]
pub fn brief(title: &str, attribution: &Attribution, trust: Trust) -> Markup {
    let accounts = accounts(attribution);
    html! {
        div class="stack" {
            h3 { (title) @if !trust.is_full() { " (" (trust.denial()) ")" } }
            @match &accounts[0].split {
                Ok(split) => { (stack::bar(&accounts[0].of, split, !trust.is_full())) }
                Err(reason) => { p { (accounts[0].of) " cannot be split: " (typeset(&reason.to_string())) } }
            }
        }
    }
}

fn titled(percentile: u8) -> String {
    match percentile {
        50 => "One typical operation, near the median".into(),
        slow => format!("One slow operation, near p{slow}"),
    }
}

/// How each kind of part was measured: each way once.
fn hows<'a>(steps: &[Step<'a>]) -> Vec<(PartKind, &'a str)> {
    let mut found: Vec<(PartKind, &str)> = Vec::new();
    for kind in PartKind::ALL {
        let parts = steps.iter().flat_map(|step| &step.attribution.parts);
        for part in parts.filter(|part| part.kind == kind) {
            if !found.contains(&(kind, part.how.as_str())) {
                found.push((kind, &part.how));
            }
        }
    }
    found
}
