//! The integration runtime: messages go through transactions, documents become rows.

pub mod rows;
pub mod transaction;
