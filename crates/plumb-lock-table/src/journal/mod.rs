//! The journal: which changes of the table outlive the server.
//!
//! [`Notes`] takes the changes as they are made and writes them down before anybody is told of
//! them. A restart reads the last complete snapshot and what was written since, begins a snapshot
//! of its own, and only then removes what it has read.

mod error;
mod files;
mod folder;
mod loss;
mod notes;
mod origin;
mod place;
mod position;
mod record;
mod restore;
mod snapshot;
mod tool;

pub use error::JournalError;
pub use files::{Pace, Policy};
pub use folder::{Kind, Records, files};
pub use loss::Loss;
pub use notes::{Lasting, Notes};
pub use origin::Origin;
pub use position::Position;
pub use record::{MAGIC, NoRecord, Record};
pub use restore::{Lives, Restored};
pub use tool::{Outlook, Report, dump, outlook, repair, verify};
