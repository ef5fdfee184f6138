//! The statement that the thread of a session has its driver execute, so that another thread can have it
//! cancelled.
#![expect(unsafe_code, reason = "no safe crate cancels a statement of another thread")]

use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use odbc_api::handles::{Statement as _, StatementImpl};
use odbc_api::sys::{HStmt, SQLCancel};
use odbc_api::{Connection, Error, Preallocated};

/// The address of the statement that is under way, if one is.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnderWay(Arc<Mutex<Option<usize>>>);

impl UnderWay {
    /// What `work` makes of `statement`, which others may cancel meanwhile.
    pub(crate) fn with<T>(&self, statement: HStmt, work: impl FnOnce() -> T) -> T {
        *self.lock() = Some(statement.0.expose_provenance());
        let _ended = Ended(self);
        work()
    }

    /// True while one is.
    pub(crate) fn is_one(&self) -> bool {
        self.lock().is_some()
    }

    /// Has the driver give up the statement that is under way. It may take the driver a while to tell its
    /// server, and the statement goes on until it has.
    ///
    /// # Source
    /// ODBC Programmer's Reference, `SQLCancel`: a function that runs on a statement in another thread.
    pub(crate) fn cancel(&self) {
        let under_way = self.lock();
        let Some(address) = *under_way else { return };
        let statement = HStmt(ptr::with_exposed_provenance_mut(address));
        // SAFETY: the statement is valid until its thread takes it out of the lock, which is held here; this
        // function is the one that may be called while another runs on the same statement.
        let _ = unsafe { SQLCancel(statement) }; // a driver that refuses leaves the statement to itself
    }

    fn lock(&self) -> MutexGuard<'_, Option<usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the statement out of the lock, where the work panicked, too: the statement is freed then.
struct Ended<'u>(&'u UnderWay);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

/// A statement of `connection` for texts, and its handle.
///
/// # Errors
/// What the driver says.
pub(crate) fn preallocated<'c>(
    connection: &'c Connection<'static>,
) -> Result<(Preallocated<StatementImpl<'c>>, HStmt), Error> {
    let statement = connection.preallocate()?.into_handle();
    let handle = statement.as_sys();
    // SAFETY: it was allocated here, and nothing was bound to it or prepared.
    Ok((unsafe { Preallocated::new(statement) }, handle))
}
