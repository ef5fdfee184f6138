//! The Tabular Data Stream of SQL Server.

pub mod plan;
pub mod query;
pub mod said;
pub mod tokens;
pub mod types;
pub mod wire;

#[cfg(test)]
mod tests;
