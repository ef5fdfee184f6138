//! Who logs on no more: users whose password a server has refused.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plumb_measure::{Finding, FindingKind, Scope, grouped};

/// Why the users ended who are counted as refused.
pub const REFUSED: &str = "a server refused the password";

/// The users and passwords that servers refused, of all threads and points of a load. Nobody sends them
/// again: many systems lock a user after a few wrong passwords. Neither is ever shown: a key may stand in
/// the place of the user.
#[derive(Clone, Default)]
pub struct RefusedLogOns(Arc<Known>);

#[derive(Default)]
struct Known {
    any: AtomicBool,
    refusals: Mutex<Refusals>,
}

#[derive(Default)]
struct Refusals {
    /// By the number of the server: a user and a password as a line of Basic has them.
    log_ons: HashMap<u16, HashSet<String>>,
    /// Log-ons by their keys, to which a step was answered otherwise than 401.
    accepted: HashSet<u64>,
    /// How many of them a server refused, by its name and the scheme.
    counts: BTreeMap<(String, String), u64>,
}

impl fmt::Debug for RefusedLogOns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RefusedLogOns(..)")
    }
}

impl RefusedLogOns {
    /// Notes that `server`, which has the number `route`, answered 401 to the user and the password of
    /// `authorization`, proved by `scheme`. False where that is no user and password.
    pub fn add(&self, (route, server): (u16, &str), authorization: &str, scheme: &str) -> bool {
        if !names_a_user(authorization) {
            return false;
        }
        let mut refusals = self.refusals();
        if refusals.log_ons.entry(route).or_default().insert(authorization.to_owned()) {
            *refusals.counts.entry((server.to_owned(), scheme.to_owned())).or_default() += 1;
            self.0.any.store(true, Ordering::Release);
        }
        true
    }

    /// Notes that a request with the log-on of `key` was answered otherwise than 401.
    pub fn accept(&self, key: u64) {
        self.refusals().accepted.insert(key);
    }

    /// True where a request with the log-on of `key` was answered otherwise than 401.
    #[must_use]
    pub fn accepts(&self, key: u64) -> bool {
        self.refusals().accepted.contains(&key)
    }

    /// True where anybody was refused.
    #[must_use]
    pub fn any(&self) -> bool {
        self.0.any.load(Ordering::Acquire)
    }

    /// True where the server `route` refused `authorization`.
    #[must_use]
    pub fn has(&self, route: u16, authorization: &str) -> bool {
        self.any()
            && self.refusals().log_ons.get(&route).is_some_and(|them| them.contains(authorization))
    }

    /// What is said in the verdict on the load, of each server and scheme.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let finding = |((server, scheme), count): (&(String, String), &u64)| {
            let (whom, right) = match count {
                1 => ("the user and the password that were given".to_owned(), "the right one"),
                _ => (format!("{} users with their passwords", grouped(*count)), "the right ones"),
            };
            let text = format!(
                "{server} answered 401 to {whom} ({scheme}), which are sent no more, since many systems \
                 lock a user after a few wrong passwords: give {right}, or \
                 check = {{ status = \"401\" }} where that answer is wanted"
            );
            Finding { kind: FindingKind::CutShort, scope: Scope::Everything, text }
        };
        self.refusals().counts.iter().map(finding).collect()
    }

    fn refusals(&self) -> MutexGuard<'_, Refusals> {
        self.0.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The key of the user and the password of `authorization` in requests of the step that has the row `row`
/// to the server `route`; `None` where that is no line of Basic. Each step has its own: a page that is
/// anybody's says nothing of a password.
#[must_use]
pub fn log_on_key((row, route): (u16, u16), authorization: &[u8]) -> Option<u64> {
    let scheme = authorization.first_chunk::<6>()?;
    scheme.eq_ignore_ascii_case(b"basic ").then(|| {
        let mut hasher = DefaultHasher::new();
        (row, route, authorization).hash(&mut hasher);
        hasher.finish()
    })
}

/// True of an `Authorization` line of Basic; false of any other, such as a token.
///
/// # Source
/// RFC 7617, section 2.
fn names_a_user(authorization: &str) -> bool {
    let Some((scheme, proof)) = authorization.split_once(' ') else { return false };
    scheme.eq_ignore_ascii_case("basic")
        && STANDARD.decode(proof.trim()).is_ok_and(|both| both.contains(&b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_users_nor_passwords_are_shown_and_a_server_is_named_once() {
        let refused = RefusedLogOns::default();
        assert!(!refused.any());
        let demo = "Basic REVNTzpvcGVuLXNlc2FtZQ==";
        let server = (0, "http://h:1");
        assert!(refused.add(server, demo, "Basic") && refused.add(server, demo, "Basic"));
        assert!(refused.any() && refused.has(0, demo));
        assert!(!refused.has(1, demo), "another server");
        assert!(!refused.has(0, "Basic REVNTzpkZW1v"), "another password");
        let said = || format!("{:?} {refused:?}", refused.findings());
        let one = "http://h:1 answered 401 to the user and the password that were given (Basic)";
        assert!(said().contains(one), "{}", said());
        refused.add(server, "Basic REVNTzpkZW1v", "Basic");
        assert_eq!(refused.findings().len(), 1);
        assert!(said().contains("401 to 2 users with their passwords (Basic)"), "{}", said());
        for secret in ["DEMO", "sesame", "REVNTz"] {
            assert!(!said().contains(secret), "{}", said());
        }
    }

    #[test]
    fn what_a_step_accepted_says_nothing_of_another() {
        let refused = RefusedLogOns::default();
        let key = |route, line: &str| log_on_key(route, line.as_bytes());
        let demo = "Basic REVNTzpkZW1v";
        let accepted = key((1, 0), demo).unwrap();
        refused.accept(accepted);
        assert!(refused.accepts(accepted));
        assert_ne!(key((2, 0), demo), Some(accepted));
        assert_ne!(key((1, 1), demo), Some(accepted));
        assert_ne!(key((1, 0), "Basic REVNTzpvcGVuLXNlc2FtZQ=="), Some(accepted));
        assert_eq!(key((1, 0), "Bearer REVNTzpkZW1v"), None);
    }

    #[test]
    fn tokens_and_what_nobody_can_read_name_no_user() {
        for line in ["Bearer REVNTzpkZW1v", "Basic MASKED", "Basic", "", "Basic REVNTw=="] {
            assert!(!names_a_user(line), "{line}");
        }
    }
}
