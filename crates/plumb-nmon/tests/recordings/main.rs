//! Recordings, written and read, right and wrong.
#![allow(
    clippy::float_cmp,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on should end, and its figures are exact"
)]

mod files;
mod fuzz;
mod interop;
mod kit;
mod perfmon;
mod writer;
