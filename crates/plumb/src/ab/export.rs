//! What the runs of commands took, in the form that hyperfine writes and its scripts read.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use plumb_comparison::{BlockFigures, Comparison, Contrast};
use plumb_lab::COST_KEYS;
use serde::Serialize;

use super::options::AbOptions;
use super::parameter::Choice;

/// The label of a choice of parameters.
const PROBE: &str = "probe";

/// The file.
#[derive(Debug, Serialize)]
struct Export {
    results: Vec<Command>,
}

/// One command; times in seconds, memory in bytes.
#[derive(Debug, PartialEq, Serialize)]
struct Command {
    command: String,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    times: Vec<f64>,
    memory_usage_byte: Vec<f64>,
    exit_codes: Vec<i32>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<String, String>,
}

/// Writes the commands of `compared` to `path`.
pub(super) fn write(compared: &Comparison, options: &AbOptions, path: &Path) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(&of(compared, options)?)? + "\n";
    std::fs::write(path, text).with_context(|| format!("{}: cannot be written", path.display()))
}

fn of(compared: &Comparison, options: &AbOptions) -> anyhow::Result<Export> {
    let mut results: Vec<Command> = Vec::new();
    for contrast in &compared.contrasts {
        let choice = options.choice(contrast.labels.get(PROBE).map(String::as_str))?;
        for (name, side) in
            [(&contrast.baseline, baseline as Side), (&contrast.candidate, candidate as Side)]
        {
            let variant = compared.variants.iter().position(|variant| variant.name == *name);
            let command = options.command(variant.unwrap_or(0), &choice);
            // the baseline stands in the contrast of every candidate
            if let Some(one) =
                one(contrast, (command, &choice), side).filter(|it| !results.contains(it))
            {
                results.push(one);
            }
        }
    }
    Ok(Export { results })
}

type Side = fn(&BlockFigures) -> Option<f64>;

fn baseline(block: &BlockFigures) -> Option<f64> {
    block.baseline
}

fn candidate(block: &BlockFigures) -> Option<f64> {
    block.candidate
}

#[expect(clippy::cast_precision_loss, reason = "a number of runs")]
fn one(contrast: &Contrast, (command, choice): (String, &Choice), side: Side) -> Option<Command> {
    let figures = |key: &str| -> Vec<f64> {
        let endpoint = contrast.endpoints.iter().find(|endpoint| endpoint.key == key);
        endpoint.map_or_else(Vec::new, |it| it.blocks.iter().filter_map(side).collect())
    };
    let [wall, user, system, memory] = COST_KEYS.map(figures);
    let s = |all: Vec<f64>| -> Vec<f64> { all.into_iter().map(|ns| ns / 1e9).collect() };
    let (times, user, system) = (s(wall), s(user), s(system));
    let mut order = times.clone();
    order.sort_by(f64::total_cmp);
    let (min, max) = (*order.first()?, *order.last()?);
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len().max(1) as f64;
    let middle = order.len() / 2;
    let median = match order.len() % 2 {
        0 => f64::midpoint(order[middle - 1], order[middle]),
        _ => order[middle],
    };
    let squares: f64 = times.iter().map(|it| (it - mean(&times)).powi(2)).sum();
    let stddev = (times.len() > 1).then(|| (squares / (times.len() - 1) as f64).sqrt());
    Some(Command {
        command,
        mean: mean(&times),
        stddev,
        median,
        user: mean(&user),
        system: mean(&system),
        min,
        max,
        exit_codes: vec![0; times.len()], // another one ends the comparison
        times,
        memory_usage_byte: memory,
        parameters: choice.values(),
    })
}
