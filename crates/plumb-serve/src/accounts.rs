//! Who may log on, by the Basic scheme of HTTP.
//!
//! # Source
//! RFC 7617.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;

/// Names and passwords.
#[derive(Clone)]
pub struct Accounts(BTreeMap<String, String>);

impl std::fmt::Debug for Accounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish() // and no password
    }
}

impl Accounts {
    /// These, by name.
    #[must_use]
    pub fn new(accounts: BTreeMap<String, String>) -> Self {
        Self(accounts)
    }

    /// The user that `headers` prove.
    #[must_use]
    pub fn user(&self, headers: &HeaderMap) -> Option<&str> {
        let words = headers.get(AUTHORIZATION)?.to_str().ok()?;
        let (scheme, code) = words.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let decoded = String::from_utf8(STANDARD.decode(code.trim()).ok()?).ok()?;
        let (name, password) = decoded.split_once(':')?;
        let (name, expected) = self.0.get_key_value(name)?;
        equal(password.as_bytes(), expected.as_bytes()).then_some(name.as_str())
    }
}

/// The value of the header that proves who somebody is.
#[must_use]
pub fn authorization(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// Whether two texts are equal, in a time that does not say how far.
#[must_use]
pub fn equal(a: &[u8], b: &[u8]) -> bool {
    let differing = a.iter().zip(b).fold(0, |bits, (a, b)| bits | (a ^ b));
    std::hint::black_box(differing) == 0 && a.len() == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(header: &str) -> Option<String> {
        let accounts = Accounts::new(BTreeMap::from([("anna".into(), "se:cret".into())]));
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, header.parse().unwrap());
        accounts.user(&headers).map(str::to_owned)
    }

    #[test]
    fn only_the_right_password_proves_a_user() {
        assert_eq!(user(&authorization("anna", "se:cret")).as_deref(), Some("anna"));
        assert_eq!(user(&authorization("anna", "se:cre")), None);
        assert_eq!(user(&authorization("anna", "se:cret!")), None);
        assert_eq!(user(&authorization("ben", "se:cret")), None);
    }

    #[test]
    fn what_is_no_basic_authorization_proves_nobody() {
        for header in ["Basic", "Basic !!!", "Bearer YW5uYTpzZTpjcmV0", "Basic YW5uYQ=="] {
            assert_eq!(user(header), None, "{header}");
        }
        assert!(user(&authorization("anna", "se:cret").replace("Basic", "bAsIc")).is_some());
    }
}
