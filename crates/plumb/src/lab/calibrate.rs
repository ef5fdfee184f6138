//! `plumb lab calibrate`: what experiments on this machine can show.

use anyhow::bail;
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use plumb_command::{Exit, exit, signals};
use plumb_comparison::Comparison;
use plumb_engine::clock;
use plumb_engine::options::OutputOptions;
use plumb_experiment::{ExperimentFile, ProbeSection, VariantSection, unplaced};
use plumb_folder::read_order;
use plumb_lab::{Calibration, OrderRecord, PAIRS, calibrate, effects};
use plumb_measure::{Program, Span, counted};
use serde::Serialize;

use crate::experiment::{self, Overrides};
use crate::loopback::with_echo_server;

/// Name and version of the form of the JSON document.
const CALIBRATION_SCHEMA: &str = "plumb.calibration/1";

#[derive(Args, Clone, Debug)]
struct CalibrateOptions {
    /// The command of both variants, without `plumb` itself [default: net ping of an echo
    /// server on loopback]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,

    /// How long to measure
    #[arg(long, value_name = "TIME", default_value = "2m")]
    time: Span,

    /// Length of a block
    #[arg(long, value_name = "TIME", default_value = "300ms")]
    block: Span,

    /// Seed of the order within the rounds
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,

    #[command(flatten)]
    output: OutputOptions,
}

/// The command line of `plumb lab calibrate`.
pub(super) fn command() -> Command {
    CalibrateOptions::augment_args(Command::new("calibrate"))
        .about("Measure equal variants: false positives, and the smallest difference")
        .long_about(
            "Measures two variants that are the same, many times, and prints how often this \
             machine calls them different, and the smallest difference that it can show with so \
             many pairs.",
        )
}

/// Does what `words` name.
pub(super) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let options = CalibrateOptions::from_arg_matches(words)?;
    match &options.command {
        Some(command) => calibrate_with(command, &options),
        None => with_echo_server(|address| {
            calibrate_with(&format!("net ping {address} --size 1000B"), &options)
        }),
    }
}

/// Two variants that are the same.
fn file(command: &str, options: &CalibrateOptions) -> ExperimentFile {
    let variant = |name: &str| VariantSection::called(name);
    ExperimentFile {
        seed: Some(options.seed),
        time: Some(unplaced(options.time)),
        block: Some(unplaced(options.block)),
        variant: vec![variant("one"), variant("the same")],
        probe: vec![ProbeSection {
            run: Some(unplaced(command.replace("${", "$${"))),
            ..ProbeSection::default()
        }],
        ..ExperimentFile::default()
    }
}

fn calibrate_with(command: &str, options: &CalibrateOptions) -> anyhow::Result<Exit> {
    let file = file(command, options);
    let overrides = Overrides { host: options.output.host.clone(), ..Overrides::default() };
    let stop = signals::stop()?;
    let place = (options.output.out.as_deref(), "calibrate");
    let (compared, folder) = experiment::take(&file, overrides, place, &stop)?;
    let Some(calibration) = calibrate(&primary_effects(&compared)) else {
        if stop.asked() {
            exit::note(&format!(
                "interrupted with {} of the {PAIRS} that are needed: nothing is said of this machine; \
                 what was measured stays in {}",
                counted(compared.design.complete_rounds, "complete pair"),
                folder.path().display()
            ));
            return Ok(Exit::Interrupted);
        }
        bail!(
            "{} gave {} complete pairs; at least {PAIRS} are needed: give more --time",
            options.time,
            compared.design.complete_rounds
        );
    };
    let round_ns = round_ns(&OrderRecord::from_json(&read_order(folder.path())?)?);
    print(&calibration, command, round_ns, &options.output)?;
    if !stop.asked() {
        return Ok(Exit::Ran);
    }
    let pairs = counted(compared.design.complete_rounds, "pair");
    exit::note(&format!("interrupted; judged by the {pairs} that were complete, which stands"));
    Ok(Exit::Interrupted)
}

/// The effects of the primary figure, in order of time.
fn primary_effects(compared: &Comparison) -> Vec<f64> {
    let primary = compared.contrasts.first().and_then(|contrast| contrast.endpoints.first());
    primary.map_or_else(Vec::new, |endpoint| effects(&endpoint.blocks))
}

/// How long a round took; the last one may have been interrupted.
fn round_ns(order: &OrderRecord) -> u64 {
    let (blocks, in_a_round) = (order.blocks.len() as u64, order.variants.len() as u64);
    order.took_ns() * in_a_round / blocks.max(1)
}

fn print(
    calibration: &Calibration,
    command: &str,
    round_ns: u64,
    output: &OutputOptions,
) -> anyhow::Result<()> {
    let text = if output.json {
        #[derive(Serialize)]
        struct Document<'a> {
            schema: &'static str,
            plumb: Program,
            calibrated: String,
            command: &'a str,
            round_ns: u64,
            #[serde(flatten)]
            calibration: &'a Calibration,
        }
        let document = Document {
            schema: CALIBRATION_SCHEMA,
            plumb: experiment::program(),
            calibrated: clock::utc(clock::wall_ns()),
            command,
            round_ns,
            calibration,
        };
        serde_json::to_string_pretty(&document)? + "\n"
    } else {
        in_words(calibration, command, round_ns, output.markdown)
    };
    exit::print(&text)
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn in_words(calibration: &Calibration, command: &str, round_ns: u64, markdown: bool) -> String {
    let Calibration { pairs, experiments, false_positives, share, effect, .. } = calibration;
    let mut text = format!(
        "Two variants that are the same (`{command}`), {pairs} pairs.\n\n\
         Called different, at the 5 % level: {false_positives} of {experiments} experiments of \
         {PAIRS} pairs\n(95 % interval of the true share: {:.1}..{:.1} %).\n\
         Over all pairs the second measured {:+.2} % against the first.\n\n\
         The smallest difference that is found in 8 of 10 such experiments:\n\n",
        100.0 * share.0,
        100.0 * share.1,
        100.0 * (effect - 1.0),
    );
    let (head, bar) = if markdown {
        ("| pairs | time | difference |\n|---:|---:|---:|\n", "| ")
    } else {
        ("  pairs      time  difference\n", "")
    };
    text += head;
    for row in &calibration.smallest {
        let seconds = row.pairs as f64 * round_ns as f64 / 1e9;
        let percent = 100.0 * row.difference;
        text += &if markdown {
            format!("{bar}{} | {seconds:.0} s | {percent:.2} % |\n", row.pairs)
        } else {
            format!("{:>7}  {seconds:>6.0} s  {percent:>8.2} %\n", row.pairs)
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_as_long_as_its_blocks_took() {
        let block = |round: u64| serde_json::json!({ "round": round, "variant": 0, "folder": "b", "took_ns": 500 });
        let variant = serde_json::json!({ "name": "one", "command": "c" });
        let order = serde_json::json!({
            "schema": plumb_lab::ORDER_SCHEMA,
            "plumb": { "version": "1" },
            "started": "2026-11-21T08:30:48Z",
            "seed": 1,
            "cells": [{ "labels": {} }],
            "variants": [variant, variant],
            "blocks": [block(1), block(1), block(2)], // the second round was interrupted
        });
        let order = OrderRecord::from_json(&order.to_string()).unwrap();
        assert_eq!(round_ns(&order), 1_000);
    }
}
