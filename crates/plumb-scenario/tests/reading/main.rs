//! What is read of scenarios and answers.

mod expressions;
mod fuzz_scenario;
