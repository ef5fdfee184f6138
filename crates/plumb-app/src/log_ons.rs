//! Who has logged on over which connection.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The user who logged on last over each connection that is open, and how many did.
///
/// As with a connection that is authenticated once (of RFC, or by NTLM), whoever goes on over it as
/// the same user has logged on already; the proof is looked at each time all the same.
#[derive(Debug)]
pub(crate) struct LogOns {
    /// Connections at most.
    limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    users: BTreeMap<u64, String>,
    count: u64,
}

impl LogOns {
    /// Of at most so many connections at once.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// True when `user` was the last to log on over this connection.
    pub(crate) fn has(&self, connection: u64, user: &str) -> bool {
        self.lock().users.get(&connection).is_some_and(|it| it == user)
    }

    /// `user` has logged on over this connection.
    pub(crate) fn keep(&self, connection: u64, user: &str) {
        let mut state = self.lock();
        state.count += 1;
        state.users.insert(connection, user.to_owned());
        // the step of a client that has gone ends behind its connection
        while state.users.len() > self.limit {
            state.users.pop_first();
        }
    }

    /// A connection has ended.
    pub(crate) fn left(&self, connection: u64) {
        self.lock().users.remove(&connection);
    }

    /// Log-ons so far.
    pub(crate) fn count(&self) -> u64 {
        self.lock().count
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_logs_on_once_over_a_connection_and_again_after_another_user() {
        let log_ons = LogOns::new(8);
        assert!(!log_ons.has(1, "anna"));
        log_ons.keep(1, "anna");
        assert!(log_ons.has(1, "anna") && !log_ons.has(1, "ben") && !log_ons.has(2, "anna"));
        log_ons.keep(1, "ben");
        assert!(!log_ons.has(1, "anna"));
        log_ons.left(1);
        assert!(!log_ons.has(1, "ben"));
        assert_eq!(log_ons.count(), 2);
    }

    #[test]
    fn what_steps_leave_behind_their_connections_is_bounded() {
        let log_ons = LogOns::new(3);
        (0..1_000).for_each(|connection| log_ons.keep(connection, "anna"));
        assert_eq!(log_ons.lock().users.len(), 3);
        assert!(log_ons.has(999, "anna"));
    }
}
