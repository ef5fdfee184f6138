//! A second server that has every lock before anybody is told of it.
//!
//! What is here is pure: no I/O, and the time is told. A [`Primary`] seals what one round of
//! serving changed into a batch and says up to where clients may be told; a [`Replica`] says what
//! is to be done with what it hears. [`Frame`] is how they talk. `server/replicate.rs` connects
//! both to sockets and tables.

mod backlog;
mod follow;
mod frame;
mod stream;
mod terms;

pub use backlog::Backlog;
pub use follow::{Gap, Replica, Task};
pub use frame::{Broken, FRAME_BYTES_MAX, Frame, HEAD_BYTES};
pub use stream::{Primary, WINDOW_BYTES};
pub use terms::{Attached, Hello, PrimaryPlan, Refused, State, Without};

/// The version of the stream: servers of different versions do not follow each other.
pub const VERSION: u64 = 3;
