//! The integration runtime: documents in, rows out.

pub mod rows;
