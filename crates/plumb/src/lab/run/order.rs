//! What an experiment would do: its order and its length, and nothing measured.

use std::io::{self, Write as _};

use anyhow::Context as _;
use plumb_lab::{CellRecord, Order, Turn};
use plumb_measure::{Program, counted};
use serde::Serialize;

use super::prediction::Prediction;
use crate::experiment::{self, Plan};
use plumb_options::Form;

/// Name and version of the form of the JSON document.
const PLAN_SCHEMA: &str = "plumb.lab-plan/1";
/// Rounds that are shown to people.
const ROUNDS_SHOWN: u64 = 20;

/// Shows what `plan` would do.
pub(super) fn show(name: &str, plan: &Plan, form: Form) -> anyhow::Result<()> {
    let prediction = Prediction::of(plan);
    let text = match form {
        Form::Json => document(name, plan, &prediction)?,
        Form::Markdown | Form::Text => words(name, plan, &prediction),
    };
    io::stdout().write_all(text.as_bytes()).context("standard output cannot be written")
}

fn words(name: &str, plan: &Plan, prediction: &Prediction) -> String {
    let mut text = format!("{name}: {}\n", prediction.words(plan.extent));
    for (number, variant) in plan.variants.iter().enumerate() {
        let role = if number == 0 { ", the baseline" } else { "" };
        text += &format!("{}{role}: {}\n", variant.name, variant.command);
    }
    text += &format!("seed {}\n\n", plan.seed);
    let mut order = Order::new(plan.cells.len(), plan.variants.len(), plan.seed);
    for round in 1..=prediction.rounds.min(ROUNDS_SHOWN) {
        let mut head = format!("round {round:<3} ");
        for turns in order.next_round().chunks(plan.variants.len()) {
            text += &format!("{head}{}\n", of_cell(plan, turns));
            head = " ".repeat(head.len());
        }
    }
    match prediction.rounds.saturating_sub(ROUNDS_SHOWN) {
        0 => text,
        more => format!("{text}and {} from the same seed\n", counted(more, "more round")),
    }
}

fn of_cell(plan: &Plan, turns: &[Turn]) -> String {
    let names: Vec<&str> =
        turns.iter().map(|turn| plan.variants[turn.variant].name.as_str()).collect();
    let names = names.join(", ");
    match turns.first().map(|turn| plan.cells[turn.cell].record.name()) {
        Some(cell) if !cell.is_empty() => format!("{cell}: {names}"),
        _ => names,
    }
}

fn document(name: &str, plan: &Plan, prediction: &Prediction) -> anyhow::Result<String> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        plumb: Program,
        name: &'a str,
        seed: u64,
        rounds: u64,
        rounds_max: u64,
        predicted_ns: u64,
        remarks: &'a [String],
        variants: Vec<&'a str>,
        cells: Vec<&'a CellRecord>,
        order: Vec<PlannedBlock>,
    }
    #[derive(Serialize)]
    struct PlannedBlock {
        round: u64,
        cell: usize,
        variant: usize,
    }
    let mut order = Order::new(plan.cells.len(), plan.variants.len(), plan.seed);
    let blocks = (1..=prediction.rounds).flat_map(|round| {
        let turns = order.next_round().into_iter();
        turns.map(move |Turn { cell, variant }| PlannedBlock { round, cell, variant })
    });
    let document = Document {
        schema: PLAN_SCHEMA,
        plumb: experiment::program(),
        name,
        seed: plan.seed,
        rounds: prediction.rounds,
        rounds_max: prediction.rounds_max,
        predicted_ns: prediction.total_ns(),
        remarks: &prediction.remarks,
        order: blocks.collect(),
        variants: plan.variants.iter().map(|variant| variant.name.as_str()).collect(),
        cells: plan.cells.iter().map(|cell| &cell.record).collect(),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}
