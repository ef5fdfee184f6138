//! Who logs on no more: users whose password a server has refused.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plumb_measure::{Finding, FindingKind, Scope};

/// The users and passwords that servers refused, of all threads and points of a load. Nobody sends them
/// again: many systems lock a user after a few wrong passwords. They are never shown.
#[derive(Clone, Default)]
pub struct RefusedLogOns(Arc<Known>);

#[derive(Default)]
struct Known {
    any: AtomicBool,
    refusals: Mutex<Vec<Refusal>>,
}

/// A user and a password that a server refused.
#[derive(Clone)]
struct Refusal {
    /// The number of the server.
    route: u16,
    /// Both as a line of Basic has them.
    authorization: String,
    words: String,
}

impl fmt::Debug for RefusedLogOns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RefusedLogOns(..)")
    }
}

impl RefusedLogOns {
    /// Notes that `server`, which has the number `route`, answered 401 to the user and the password of
    /// `authorization`, proved by `scheme`: who was refused, in words. `None` where that names no user.
    pub fn add(
        &self,
        (route, server): (u16, &str),
        authorization: &str,
        scheme: &str,
    ) -> Option<String> {
        let user = user_of(authorization)?;
        let words = format!("{server} answered 401 to user {} ({scheme})", user.escape_debug());
        let mut refusals = self.0.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if !refusals.iter().any(|it| it.is(route, authorization)) {
            let authorization = authorization.to_owned();
            refusals.push(Refusal { route, authorization, words: words.clone() });
            self.0.any.store(true, Ordering::Release);
        }
        Some(words)
    }

    /// True where anybody was refused.
    #[must_use]
    pub fn any(&self) -> bool {
        self.0.any.load(Ordering::Acquire)
    }

    /// Who was refused, in words, where the server `route` refused `authorization`.
    #[must_use]
    pub fn find(&self, route: u16, authorization: &str) -> Option<String> {
        self.all().into_iter().find(|it| it.is(route, authorization)).map(|it| it.words)
    }

    /// What is said of each in the verdict on the load.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let finding = |refusal: Refusal| Finding {
            kind: FindingKind::CutShort,
            scope: Scope::Everything,
            text: format!(
                "{}, who logs on no more: many systems lock a user after a few wrong passwords; give \
                 the right one, or check = {{ status = \"401\" }} where that answer is wanted",
                refusal.words
            ),
        };
        self.all().into_iter().map(finding).collect()
    }

    fn all(&self) -> Vec<Refusal> {
        self.0.refusals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Refusal {
    fn is(&self, route: u16, authorization: &str) -> bool {
        self.route == route && self.authorization == authorization
    }
}

/// The user of an `Authorization` line of Basic; `None` of any other, such as a token.
///
/// # Source
/// RFC 7617, section 2.
fn user_of(authorization: &str) -> Option<String> {
    let (scheme, proof) = authorization.split_once(' ')?;
    let both =
        STANDARD.decode(proof.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
    let both = String::from_utf8_lossy(&both);
    both.split_once(':').map(|(user, _)| user.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_named_and_its_password_is_not() {
        let refused = RefusedLogOns::default();
        assert!(!refused.any());
        let demo = "Basic REVNTzpvcGVuLXNlc2FtZQ==";
        let server = (0, "http://h:1");
        assert_eq!(
            refused.add(server, demo, "Basic").as_deref(),
            Some("http://h:1 answered 401 to user DEMO (Basic)")
        );
        refused.add(server, demo, "Basic");
        assert!(refused.any() && refused.find(0, demo).is_some());
        assert_eq!(refused.find(1, demo), None, "another server");
        assert_eq!(refused.find(0, "Basic REVNTzpkZW1v"), None, "another password");
        let said = format!("{:?} {refused:?}", refused.findings());
        assert_eq!(refused.findings().len(), 1);
        assert!(!said.contains("sesame") && !said.contains("REVNTz"), "{said}");
    }

    #[test]
    fn tokens_and_what_nobody_can_read_name_no_user() {
        for line in ["Bearer REVNTzpkZW1v", "Basic MASKED", "Basic", "", "Basic REVNTw=="] {
            assert_eq!(user_of(line), None, "{line}");
        }
    }
}
