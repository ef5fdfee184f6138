//! Sessions of databases over ODBC. A driver blocks whoever calls it, so each session has a thread of
//! its own, which answers one call after the other.
//!
//! Drivers are shared libraries, which a static program cannot load: without the feature `driver` there
//! is nothing here.

#[cfg(feature = "driver")]
mod answer;
#[cfg(feature = "driver")]
mod session;
#[cfg(feature = "driver")]
mod trouble;
#[cfg(feature = "driver")]
mod under_way;

#[cfg(feature = "driver")]
pub use answer::Brought;
#[cfg(feature = "driver")]
pub use session::{NotOpened, Opening, Session, Threads};
#[cfg(feature = "driver")]
pub use trouble::Trouble;
