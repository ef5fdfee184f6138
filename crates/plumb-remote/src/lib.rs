//! One measurement on many machines.
//!
//! A *controller* has the plan, its *remotes* drive the load: each carries out its part of the same
//! command, waits with all its connections until the controller says when to begin, by the
//! remote's own clock, and hands over its records interval by interval. The controller puts them
//! together exactly ([`Assembly`]), and takes what came of each ([`Fleet`]).
//!
//! | module | question |
//! |---|---|
//! | [`message`] | what is said? |
//! | [`clock`] | what does the clock of a remote show? |
//! | [`offset`] | how far are two clocks apart? |
//! | [`files`] | which files does a command need, and who has them? |
//! | [`link`] | how does it travel? |
//! | [`nats`] | who waits in a NATS server, and how is it spoken to? |
//! | [`assembly`] | what did all of them record? |
//! | [`mod@lead`] | what do the parts of all make together? |
//! | [`start`] | did they begin together? |
//! | [`led`] | the remote: what does the controller decide? |
//! | [`fleet`] | the controller: who is there, who is lost, what came of it? |
//!
//! Either side that hears nothing of the other for five seconds takes it for gone: a remote ends
//! its load, a controller goes on with what it has and says so.

pub mod assembly;
pub mod clock;
pub mod files;
pub mod fleet;
pub mod lead;
pub mod led;
pub mod link;
pub mod message;
pub mod nats;
pub mod offset;
pub mod start;

use std::time::Duration;

pub use assembly::Assembly;
pub use clock::WallClock;
pub use files::{FileError, PlanFiles};
pub use fleet::{Fleet, RemoteError, RemotePart};
pub use lead::{Conductor, lead};
pub use led::{Carried, Led, serve};
pub use message::{Hello, Part, RunOrder};
pub use nats::{NATS_VARIABLES, Nats, NatsError, NatsTarget};
pub use offset::{ClockExchange, ClockOffset};
pub use start::CommonStart;

/// Files of a command at most.
const FILES_MAX: usize = 10_000;
/// Bytes of all files that a remote hands over of a run, at most.
const HANDED_OVER_MAX: u64 = 256 << 20;
/// How often each side says that it is there.
const ALIVE_EVERY: Duration = Duration::from_millis(500);
/// Who is silent for so long is gone, nanoseconds.
const SILENCE_NS: u64 = 5_000_000_000;
