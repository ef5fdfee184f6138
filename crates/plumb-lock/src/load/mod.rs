//! The load tool: clients that take and release locks, and what that costs.
//!
//! [`script`] says what a client says, [`probe`] whether the answer is right, [`walk`] whether
//! every lock is there, [`advisory`] how PostgreSQL is asked; [`job`] measures with them, [`leftover`]
//! releases what they leave, and [`live`] looks at a server's own figures.

mod advisory;
mod facts;
mod history;
mod job;
mod leftover;
mod live;
mod options;
mod probe;
mod script;
mod walk;

pub use job::LoadJob;
pub use live::{Live, LiveOptions};
pub use options::{FillOptions, LoadVerb, PairsOptions, SalesOptions, TimedOptions};
pub(crate) use probe::{LIMITS, shown};
pub use script::{Keeper, TargetKind, Unlock};
