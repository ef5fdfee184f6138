//! Where an experiment stands, shown behind every round: drawn anew on a terminal, as plain lines
//! anywhere else.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _, Write as _};

use plumb_comparison::{Comparison, Contrast, Endpoint};
use plumb_lab::Extent;
use plumb_terminal as terminal;

use super::prediction::Prediction;
use crate::experiment::{Standing, Watcher};
use crate::progress::{self, length};

/// Lines of a terminal that are left to others.
const LINES_LEFT: usize = 3;
/// Estimates of a round that are written into a log; of more only the round is.
const LOGGED_MAX: usize = 24;

/// The state of an experiment on standard error.
pub(super) struct View {
    prediction: Prediction,
    extent: Extent,
    /// Lines that stand on the terminal.
    drawn: usize,
}

impl View {
    /// Shows an experiment of which `prediction` tells the length.
    pub(super) fn new(prediction: Prediction, extent: Extent) -> Self {
        Self { prediction, extent, drawn: 0 }
    }
}

impl Watcher for View {
    fn round(&mut self, standing: &Standing<'_>) -> anyhow::Result<()> {
        let mut lines = vec![head(&self.prediction, self.extent, standing)];
        let mut err = io::stderr();
        let estimates = estimates(&(standing.compared)()?);
        if err.is_terminal() || estimates.len() <= LOGGED_MAX {
            lines.extend(estimates);
        }
        if !err.is_terminal() {
            // whoever looked on may have gone: the experiment goes on
            let _ = lines.iter().try_for_each(|line| writeln!(err, "{line}"));
            return Ok(());
        }
        progress::clear();
        let (columns, rows) = terminal::size(&err).unwrap_or((80, 24));
        let beyond = lines.len().saturating_sub(rows.saturating_sub(LINES_LEFT).max(1));
        if beyond > 0 {
            lines.truncate(lines.len() - beyond - 1);
            lines.push(format!("  and {} more", beyond + 1));
        }
        if self.drawn > 0 {
            let _ = write!(err, "\x1b[{}A\x1b[J", self.drawn);
        }
        for line in &lines {
            let line: String = line.chars().take(columns - 1).collect();
            let _ = writeln!(err, "{line}");
        }
        self.drawn = lines.len();
        Ok(())
    }
}

/// The round, and what is left.
fn head(prediction: &Prediction, extent: Extent, standing: &Standing<'_>) -> String {
    let progress = standing.progress;
    let a_block_ns = standing.took_ns / standing.blocks.max(1);
    let left = match extent {
        Extent::Pairs(pairs) => {
            let rounds = pairs.saturating_sub(progress.complete);
            let ns = rounds.saturating_mul(prediction.blocks).saturating_mul(a_block_ns);
            let left = match rounds {
                0 => "nothing left".into(),
                _ => format!("about {} left", length(ns)),
            };
            format!("{} of {pairs} pairs complete, {left}", progress.complete)
        }
        Extent::Time(ns) => {
            format!("about {} left", length(ns.saturating_sub(progress.elapsed_ns)))
        }
        Extent::Precision(share) => {
            let now = progress
                .half_width
                .map_or_else(|| "not known yet".into(), |half| format!("{:.2} %", 100.0 * half));
            format!("until every interval is within {:.2} %, now {now}", 100.0 * share)
        }
    };
    format!("round {}, {} blocks: {left}", progress.rounds, standing.blocks)
}

/// The estimate of every contrast with its interval. A verdict is for the end: whoever stops as
/// soon as he likes what he sees sees what he likes.
fn estimates(compared: &Comparison) -> Vec<String> {
    let names: Vec<String> = names(&compared.contrasts);
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let line = |(name, contrast): (&String, &Contrast)| {
        let estimate = contrast.endpoints.first().and_then(estimate);
        format!("  {name:<width$}  {}", estimate.unwrap_or_else(|| "no pair yet".into()))
    };
    names.iter().zip(&compared.contrasts).map(line).collect()
}

fn estimate(endpoint: &Endpoint) -> Option<String> {
    let change = endpoint.change_words()?;
    Some(match endpoint.interval_words() {
        Some(interval) => format!("{change:>9}  ({interval})"),
        None => format!("{change:>9}  (no interval below six pairs)"),
    })
}

/// What tells the contrasts apart.
fn names(contrasts: &[Contrast]) -> Vec<String> {
    let value = |contrast: &Contrast, label: &str| contrast.labels.get(label).cloned();
    let labels: BTreeSet<&str> =
        contrasts.iter().flat_map(|contrast| contrast.labels.keys()).map(String::as_str).collect();
    let varies = |label: &&str| {
        let values: BTreeSet<Option<String>> =
            contrasts.iter().map(|contrast| value(contrast, label)).collect();
        values.len() > 1
    };
    let varying: Vec<&str> = labels.into_iter().filter(varies).collect();
    let name = |contrast: &Contrast| {
        let words = varying
            .iter()
            .filter_map(|label| value(contrast, label).map(|value| format!("{label} {value}")));
        words.chain([contrast.candidate.clone()]).collect::<Vec<_>>().join(", ")
    };
    contrasts.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_comparison::{Better, Checks, FigureUnit, Role};
    use plumb_lab::Progress;
    use plumb_measure::statistics::Interval;
    use std::collections::BTreeMap;

    fn contrast(size: &str, ratio: f64, interval: Option<(f64, f64)>) -> Contrast {
        let label = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        let what = ("p50", "median response time", FigureUnit::Ns, Better::Lower);
        Contrast {
            baseline: "off".into(),
            candidate: "on".into(),
            labels: BTreeMap::from([("connections", "1"), ("size", size)].map(label)),
            same_treatment: false,
            sentence: String::new(),
            endpoints: vec![Endpoint {
                role: Role::Primary,
                ratio: Some(ratio),
                interval: interval.map(|(low, high)| Interval { low, high, level: 0.95 }),
                ..Endpoint::described(what, 1.0, ratio)
            }],
            checks: Checks::default(),
            tails: Vec::new(),
        }
    }

    #[test]
    fn an_estimate_is_named_by_what_varies_and_never_judged() {
        let contrasts = [contrast("1B", 0.9, Some((0.85, 0.95))), contrast("100B", 1.25, None)];
        assert_eq!(names(&contrasts), ["size 1B, on", "size 100B, on"]);
        let said: Vec<String> =
            contrasts.iter().filter_map(|it| estimate(&it.endpoints[0])).collect();
        assert_eq!(
            said,
            ["  +10.0 %  (+5.0 to +15.0 %)", "  -25.0 %  (no interval below six pairs)"]
        );
    }

    #[test]
    fn what_is_left_is_predicted_from_the_blocks_that_were_taken() {
        let prediction = Prediction::plain(6, 10);
        let progress = Progress {
            rounds: 4,
            complete: 3,
            elapsed_ns: 48_000_000_000,
            half_width: Some(0.032),
            needed: 6,
        };
        let compared = || unreachable!("the head needs no estimate");
        let standing =
            Standing { progress, blocks: 24, took_ns: 48_000_000_000, compared: &compared };
        let head = |extent| super::head(&prediction, extent, &standing);
        assert_eq!(
            head(Extent::Pairs(5)),
            "round 4, 24 blocks: 3 of 5 pairs complete, about 24.0 s left"
        );
        assert_eq!(head(Extent::Time(60_000_000_000)), "round 4, 24 blocks: about 12.0 s left");
        assert_eq!(
            head(Extent::Precision(0.01)),
            "round 4, 24 blocks: until every interval is within 1.00 %, now 3.20 %"
        );
    }
}
