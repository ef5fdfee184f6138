//! What the runs say, in sentences that each lead to the figure they rest on.

use plumb_comparison::Contrast;
use plumb_folder::FoundExperiment;
use plumb_measure::show_ns;

use super::cell::Cell;
use super::kind::RunGroup;
use super::{Collection, counted};
use crate::comparison;
use crate::figures::{grouped, per_second, real, with_unit};
use crate::noun::capitalised;
use crate::trust::Trust;

/// A sentence and where its figures stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) text: String,
    /// The `id` of an element of the page.
    pub(super) anchor: String,
}

/// Kinds that have sentences of their own.
const KINDS_MAX: usize = 4;
/// Experiments that have sentences of their own.
const EXPERIMENTS_MAX: usize = 4;
/// Contrasts of an experiment that have a sentence each.
const CONTRASTS_MAX: usize = 3;
/// Series whose growth is told.
const SERIES_MAX: usize = 2;

/// What becomes of runs that are not valid, without an end.
pub(super) const NO_PART: &str = "What is not valid is marked; its operations, failures and dropped \
     work are counted, and it has no part in any other figure over several runs";

/// Where on the page something stands.
pub(super) const VALIDITY: &str = "validity";
pub(super) const UNREAD: &str = "not-shown";

/// The section of a kind, counted from zero, or of a part of it.
pub(super) fn of_kind(number: usize, part: &str) -> String {
    format!("kind-{}-{part}", number + 1)
}

/// The section of an experiment, counted from zero.
pub(super) fn of_experiment(number: usize) -> String {
    format!("experiment-{}", number + 1)
}

impl Claim {
    fn new(text: impl Into<String>, anchor: impl Into<String>) -> Self {
        Self { text: text.into(), anchor: anchor.into() }
    }

    /// Every sentence, what takes figures away first.
    pub(super) fn all(collection: &Collection) -> Vec<Self> {
        let mut claims: Vec<Self> =
            verdicts(collection).into_iter().map(|text| Self::new(text, VALIDITY)).collect();
        if !collection.unread.is_empty() {
            claims.push(Self::new(unread(collection.unread.len()), UNREAD));
        }
        for (number, found) in collection.experiments.iter().enumerate().take(EXPERIMENTS_MAX) {
            let texts = of_one_experiment(found);
            claims.extend(texts.into_iter().map(|text| Self::new(text, of_experiment(number))));
        }
        for (number, kind) in collection.kinds.iter().enumerate().take(KINDS_MAX) {
            claims.extend(of_one_kind(kind, number, &whose(kind, &collection.kinds)));
        }
        claims
    }
}

/// What the runs are; `None` where experiments alone were looked for and found.
fn verdicts(collection: &Collection) -> Option<String> {
    let all = collection.entries.len();
    let some_unread = !collection.unread.is_empty();
    if all == 0 {
        return some_unread.then(|| "No run could be shown.".into());
    }
    let [(_, valid), (_, throughput), (_, unchecked), (_, invalid)] = collection.verdicts();
    let (mut words, mut behind) = (Vec::new(), String::new());
    let raised = collection.raised().map_or_else(String::new, |raised| format!(", {raised}"));
    if valid == all {
        let which = match (all, some_unread) {
            (1, false) => "The run is",
            (1, true) => "The run that could be shown is",
            (_, false) => "All runs are",
            (_, true) => "All runs that could be shown are",
        };
        return Some(format!("{which} valid ({}){raised}.", counted(all, "run")));
    }
    if valid > 0 {
        words.push(format!("{} valid", grouped(valid as u64)));
    }
    if throughput > 0 {
        words.push(format!("{} without a latency that may be quoted", grouped(throughput as u64)));
    }
    if unchecked > 0 {
        words.push(format!("{} not checked", grouped(unchecked as u64)));
    }
    if invalid > 0 {
        words.push(format!("{} invalid as a whole or in part", grouped(invalid as u64)));
        behind = format!(" {NO_PART}.");
    }
    Some(format!("Of {}: {}{raised}.{behind}", counted(all, "run"), words.join(", ")))
}

fn unread(count: usize) -> String {
    match count {
        1 => "One folder or block could not be shown; the reason stands beside it.".into(),
        n => format!(
            "{} folders or blocks could not be shown; the reason stands beside each.",
            grouped(n as u64)
        ),
    }
}

fn of_one_experiment(found: &FoundExperiment) -> Vec<String> {
    let Some(compared) = &found.comparison else {
        let folder = super::naming::place_of(&found.folder);
        return vec![format!(
            "The experiment {folder} was not evaluated: `plumb compare {folder}` does that."
        )];
    };
    if compared.contrasts.len() > CONTRASTS_MAX {
        return vec![comparison::counted(&compared.contrasts, compared.accepted_load)];
    }
    let named = |contrast: &Contrast| {
        let name = contrast.name();
        let said = contrast.sentence.clone();
        let alone = compared.contrasts.len() == 1 || name.is_empty() || said.contains(&name);
        capitalised(&if alone { said } else { format!("{name}: {said}") })
    };
    compared.contrasts.iter().map(named).collect()
}

/// What stands before the sentences on a kind: nothing when it is the only one.
fn whose(kind: &RunGroup, all: &[RunGroup]) -> String {
    let alike = |other: &&RunGroup| (&other.layer, &other.verb) == (&kind.layer, &kind.verb);
    match (all.len(), all.iter().filter(alike).count()) {
        (1, _) => String::new(),
        (_, 1) => format!("{} {}: ", kind.layer, kind.verb),
        _ => format!("{}: ", kind.name()),
    }
}

fn of_one_kind(kind: &RunGroup, number: usize, whose: &str) -> Vec<Claim> {
    let labels = kind.labels();
    let noun = kind.noun();
    let name = |cell: &Cell| labels.name(&cell.labels);
    let mut claims = Vec::new();
    let mut add = |text: String, part: &str| {
        let text = capitalised(&format!("{whose}{text}"));
        claims.push(Claim::new(text, of_kind(number, part)));
    };
    let medians = kind.medians();
    match (&medians[..], &kind.cells[..]) {
        ([], _) => {}
        ([(cell, median)], [_]) => {
            let p99 = cell.figures.times.map_or(0, |times| times.p99);
            let over = match cell.figures.timed {
                1 => String::new(),
                runs => format!(", medians over {runs} runs"),
            };
            let said = format!(
                "the median {} took {}, 99 % at most {}{over}.",
                noun.one,
                show_ns(*median),
                show_ns(p99)
            );
            add(said, "times");
        }
        ([(least, shortest), .., (most, longest)], _) => {
            let said = format!(
                "the median {} took from {} ({}) to {} ({}).",
                noun.one,
                show_ns(*shortest),
                name(least),
                show_ns(*longest),
                name(most)
            );
            add(said, "times");
        }
        ([(only, median)], _) => {
            let said =
                format!("the median {} took {} ({}).", noun.one, show_ns(*median), name(only));
            add(said, "times");
        }
    }
    if let Some(said) = fastest_stream(kind) {
        add(said, "table");
        if let Some(said) = machine(kind) {
            add(said, "machine");
        }
        return claims;
    }
    let rated = kind.cells.iter().filter(|cell| cell.trust().leaves_any());
    let rated = rated.filter_map(|cell| Some((cell, cell.figures.rate?)));
    if let Some((cell, rate)) = rated.max_by(|(_, a), (_, b)| a.total_cmp(b)) {
        let least = if cell.trust() == Trust::Throughput { "at least " } else { "" };
        let of = match cell.figures.rated {
            0 | 1 => String::new(),
            several => format!(", the median of {several} runs"),
        };
        let rate = format!("{least}{}{of}", per_second(rate));
        let said = match kind.cells.len() {
            1 => format!("the throughput was {rate}."),
            _ => format!("the highest throughput was {rate} ({}).", name(cell)),
        };
        add(said, "table");
    }
    for said in growth(kind) {
        add(said, "times");
    }
    if let Some(said) = agreement(kind) {
        add(said, "table");
    }
    if let Some(said) = machine(kind) {
        add(said, "machine");
    }
    claims
}

/// The highest rate of streams; `None` of other loads.
fn fastest_stream(kind: &RunGroup) -> Option<String> {
    if !kind.is_stream() {
        return None;
    }
    let labels = kind.labels();
    let valid = kind.cells.iter().filter(|cell| cell.trust().leaves_any());
    let rates = valid.flat_map(|cell| {
        let ways = cell.figures.measures.iter().filter(|figure| figure.unit == "bit/s");
        ways.map(move |figure| (cell, figure))
    });
    let (cell, most) = rates.max_by(|(_, a), (_, b)| a.value.total_cmp(&b.value))?;
    Some(format!(
        "the streams carried at most {} ({}).",
        with_unit(most.value, &most.unit),
        labels.name(&cell.labels)
    ))
}

/// What the ends of a sweep have to do with each other.
fn growth(kind: &RunGroup) -> Vec<String> {
    let labels = kind.labels();
    let Some(sweep) = kind.sweep(&labels).filter(|sweep| sweep.numbers.is_some()) else {
        return Vec::new();
    };
    let ends = sweep.series.iter().take(SERIES_MAX).filter_map(|series| {
        let valid = |cell: &&Cell| cell.trust() == Trust::Full;
        let mut places = sweep.values.iter().zip(&series.places);
        let (first, low) = places.find_map(|(value, cell)| Some((value, cell.filter(valid)?)))?;
        let (last, high) =
            places.rev().find_map(|(value, cell)| Some((value, cell.filter(valid)?)))?;
        let times = |cell: &Cell| cell.figures.times.map(|times| real(times.p50));
        let said = [
            ("the median", times(low), times(high)),
            ("the throughput", low.figures.rate, high.figures.rate),
        ];
        let said: Vec<String> = said
            .into_iter()
            .filter_map(|(what, from, to)| Some(format!("{what} {}", grew(from?, to?)?)))
            .collect();
        let name =
            if series.name.is_empty() { String::new() } else { format!("{}: ", series.name) };
        (!said.is_empty())
            .then(|| format!("{name}from {} {first} to {last} {}.", sweep.label, said.join(", ")))
    });
    ends.collect()
}

/// `grew by 12 %`, `grew 3.2-fold`; `None` of nothing.
fn grew(from: f64, to: f64) -> Option<String> {
    if !(from > 0.0 && to > 0.0) {
        return None;
    }
    Some(match to / from {
        same if (0.95..1.05).contains(&same) => "stayed within 5 %".into(),
        more if more >= 2.0 => format!("grew {}-fold", factor(more)),
        more if more >= 1.05 => format!("grew by {:.0} %", 100.0 * (more - 1.0)),
        less if less > 0.5 => format!("fell by {:.0} %", 100.0 * (1.0 - less)),
        less => format!("fell to one in {}", factor(1.0 / less)),
    })
}

fn factor(value: f64) -> String {
    if value < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// How far runs of one plan differ from each other.
fn agreement(kind: &RunGroup) -> Option<String> {
    let labels = kind.labels();
    let apart = |cell: &Cell| {
        let (low, high) = cell.figures.medians?;
        let middle = cell.figures.times?.p50;
        Some(real(high - low) / real(middle.max(1)))
    };
    let repeated = kind.cells.iter().filter(|cell| cell.trust() == Trust::Full);
    let found = repeated.filter_map(|cell| Some((cell, apart(cell)?)));
    let (cell, share) = found.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let (low, high) = cell.figures.medians?;
    let whose = if kind.cells.len() > 1 {
        format!(" ({})", labels.name(&cell.labels))
    } else {
        String::new()
    };
    Some(format!(
        "repeated runs differ by {} of their median at most: {} runs from {} to {}{whose}.",
        percent(share),
        cell.figures.timed,
        show_ns(low),
        show_ns(high),
    ))
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p < 9.95 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// A machine this busy, percent, may have been the limit.
const BUSY_PCT: f64 = 90.0;

/// What stood in the way on the machine; `None` when nothing did.
fn machine(kind: &RunGroup) -> Option<String> {
    let busiest = kind.cells.iter().filter_map(|cell| cell.figures.busiest_pct).reduce(f64::max)?;
    let swapped: u64 = kind.cells.iter().filter_map(|cell| cell.figures.swapped_pages).sum();
    let mut words = Vec::new();
    if busiest >= BUSY_PCT {
        words.push(format!("was up to {busiest:.0} % busy, and may have been the limit"));
    }
    if swapped > 0 {
        words.push(format!("swapped {}", plumb_measure::counted(swapped, "page")));
    }
    let said = words.join("; it ");
    (!words.is_empty()).then(|| format!("the machine that drove the load {said}."))
}
