//! The lock server, and the witness of two, as verbs of the program.
//!
//! [`plumb_lock_table`] says who may have what and what outlives the server, [`plumb_lock_pair`] what a
//! second server has of it; [`LockServer`] serves all as a [`plumb_engine::Service`]. What clients of a lock
//! server need to speak with it stands here, too: how they log in, what a set of locks sums up to
//! ([`digest`]), and what a server says of its times ([`stamps`]).

mod audit;
pub mod digest;
mod error;
mod pair;
mod password;
mod plain;
mod serve;
mod server;
pub mod stamps;
mod users;
mod witness;

pub use error::{NoUsers, ServerError};
pub use pair::{PairOptions, WithoutReplica};
pub use password::Login;
pub use plain::plain;
pub use serve::{JournalPolicy, Serve, ServeOptions};
pub use server::{Alone, Audited, Event, LockServer, ReplicationPlan, ServerPlan, Told};
pub use users::{Right, Rights, Users};
pub use witness::{Witness, WitnessOptions};

/// The port of a lock server when none is named; that of the original's first instance.
pub const PORT: u16 = 3200;

/// The port of a witness when none is named.
pub const PORT_OF_WITNESSES: u16 = 3201;
