//! Who gives locks out when a majority of witnesses decides that.
//!
//! What is here is pure: no I/O, and the time is told. A [`Witness`] keeps one [`Register`]: which
//! server gives locks out, and which replica has everything, so that it may follow. A server has its
//! [`Election`]. They agree as in Paxos: a server asks a majority for a promise under a ballot of its
//! own, learns from their registers whether it may have the part, and has the part once a majority
//! keeps what it says. Witnesses have no clock.
//!
//! # Source
//! Lamport: Paxos made simple, sections 2.2 and 2.3. The register is one value that its owner may
//! write again under the same ballot (`round`).

mod candidate;
mod register;
mod store;
mod witness;

pub use candidate::{Election, ElectionPlan, Outcome, Standing};
pub use register::{Answer, Ballot, NoAnswer, NoRequest, Register, Request};
pub use store::{FileStore, Store, StoreError, identity_in};
pub use witness::Witness;

/// The version of what witnesses are asked.
pub const VERSION: u64 = 1;
