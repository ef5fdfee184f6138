//! Statements against real databases: where their time goes, what stands on the way, what is refused.

#[path = "../kit/mod.rs"]
mod kit;

mod certificates;
mod flow_rows;
mod ping;
mod pooler;
mod read_only;
