//! How large must it be?
//!
//! | question | module |
//! |---|---|
//! | what was measured? | [`ladder`]: users, throughput, times, counters |
//! | which landscape explains that? | [`model`] |
//! | how many users fit, and what do they need? | [`sizing`] |
//! | and if something were changed? | [`what_if`]: model and simulation beside each other |
//! | what does an operation pass? | [`landscape`]: stations, delays, pools |
//! | what happens when `N` users share stations? | [`network`]: closed networks, exact |
//! | how does throughput grow with users? | [`scalability`]: the Universal Scalability Law |
//! | how much does each operation or user need? | [`mod@line`]: least squares with intervals |
//! | what do so many users of a landscape see? | [`analysis`]: networks within each other |
//! | and the slowest of their operations? | [`analysis::Tail`]: 95th percentiles, as the ladder had them |
//! | and where the model is not enough? | [`simulation`]: event by event |

pub mod analysis;
mod gamma;
pub mod ladder;
pub mod landscape;
pub mod line;
pub mod model;
pub mod network;
mod normal;
pub mod scalability;
pub mod simulation;
pub mod sizing;
pub mod what_if;
