//! The lock table against a model, and its journal against loss, damage and any bytes.

#[path = "../../../plumb-wire/tests/cases/mod.rs"]
mod cases;
#[path = "../model/mod.rs"]
mod model;
#[path = "../numbers/mod.rs"]
mod numbers;

mod counters;
mod fuzz_journal;
mod histories;
mod journal;
mod journal_loss;
mod journal_origin;
