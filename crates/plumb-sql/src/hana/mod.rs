//! SAP HANA's protocol.

pub mod proof;
pub mod wire;

#[cfg(test)]
mod tests;
