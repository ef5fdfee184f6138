//! The records of users that are buffered.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The users whose record was read from the database. The table is buffered by its records, as
/// tables that hardly change are, until the buffers are emptied.
#[derive(Debug, Default)]
pub(crate) struct Records(Mutex<BTreeSet<String>>);

impl Records {
    /// True when the record of `user` was read.
    pub(crate) fn has(&self, user: &str) -> bool {
        self.lock().contains(user)
    }

    /// The record of `user` was read.
    pub(crate) fn keep(&self, user: &str) {
        self.lock().insert(user.to_owned());
    }

    /// Every record is read again.
    pub(crate) fn reset(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_known_until_the_buffers_are_emptied() {
        let records = Records::default();
        assert!(!records.has("anna"));
        records.keep("anna");
        assert!(records.has("anna") && !records.has("ben"));
        records.reset();
        assert!(!records.has("anna"));
    }
}
