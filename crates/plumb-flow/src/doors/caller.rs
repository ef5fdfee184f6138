//! Who asks, and whether a page of somebody else makes a browser ask.

use std::collections::BTreeMap;

use hyper::header::{AUTHORIZATION, HOST, HeaderName, ORIGIN};
use hyper::{HeaderMap, StatusCode};
use plumb_serve::accounts::Accounts;

use crate::answer::Failure;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Who may log on.
#[derive(Clone)]
pub(super) struct LogOn {
    accounts: Accounts,
    tokens: BTreeMap<String, String>,
    open: bool,
}

impl std::fmt::Debug for LogOn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // names, and no secret
        f.debug_struct("LogOn").field("accounts", &self.accounts).finish_non_exhaustive()
    }
}

impl LogOn {
    /// Users with passwords and others with tokens, by name; without any, everybody may come.
    pub(super) fn new(users: BTreeMap<String, String>, tokens: BTreeMap<String, String>) -> Self {
        let open = users.is_empty() && tokens.is_empty();
        Self { accounts: Accounts::new(users), tokens, open }
    }

    /// True where nobody has to log on.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// True when `headers` prove somebody, or nobody has to log on.
    pub(super) fn admits(&self, headers: &HeaderMap) -> bool {
        self.open || self.accounts.user(headers).is_some() || self.bears_token(headers)
    }

    fn bears_token(&self, headers: &HeaderMap) -> bool {
        let words = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let Some((scheme, token)) = words.and_then(|words| words.split_once(' ')) else {
            return false;
        };
        // every one is compared, so that the time says nothing of which it is
        let known = self.tokens.values().fold(false, |found, it| found | equal(it, token.trim()));
        scheme.eq_ignore_ascii_case("bearer") && known
    }
}

/// Whether two texts are equal, in a time that does not say how far.
fn equal(a: &str, b: &str) -> bool {
    let differing = a.bytes().zip(b.bytes()).fold(0, |bits, (a, b)| bits | (a ^ b));
    std::hint::black_box(differing) == 0 && a.len() == b.len()
}

/// Refuses a request that does something and that a page of another site has sent: a browser adds
/// what it knows of its user by itself.
///
/// # Errors
/// [`Failure`] with status 403.
///
/// # Source
/// Fetch Metadata Request Headers, section 2.3; RFC 6454, section 7.
pub(super) fn refuse_other_sites(headers: &HeaderMap) -> Result<(), Failure> {
    let text = |name: &HeaderName| headers.get(name).map(|it| it.to_str().unwrap_or("?"));
    let other = text(&FETCH_SITE).is_some_and(|site| !matches!(site, "same-origin" | "none"));
    let foreign = text(&ORIGIN).is_some_and(|origin| {
        let host = origin.split_once("://").map(|(_, host)| host);
        host.is_none() || host != text(&HOST)
    });
    if other || foreign {
        let message = "a page of another site asks: open the manager of this server and ask there";
        return Err(Failure::new(StatusCode::FORBIDDEN, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use plumb_serve::accounts::authorization;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_password_or_a_token_lets_in() {
        let of = |name: &str, secret: &str| BTreeMap::from([(name.to_owned(), secret.to_owned())]);
        let log_on = LogOn::new(of("anna", "secret"), of("line", "0123456789abcdef"));
        let admits = |words: &str| log_on.admits(&headers(&[("authorization", words)]));
        assert!(admits(&authorization("anna", "secret")));
        assert!(admits("Bearer 0123456789abcdef") && admits("bearer 0123456789abcdef"));
        for wrong in ["Bearer 0123456789abcde", "Bearer ", "Basic 0123456789abcdef", "Bearer"] {
            assert!(!admits(wrong), "{wrong}");
        }
        assert!(!admits(&authorization("line", "0123456789abcdef")));
        assert!(!log_on.admits(&HeaderMap::new()));
        assert!(LogOn::new(BTreeMap::new(), BTreeMap::new()).admits(&HeaderMap::new()));
        assert!(!format!("{log_on:?}").contains("secret"));
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        for fine in [
            &[][..],
            &[("host", "a:1"), ("origin", "http://a:1")],
            &[("host", "a:1"), ("sec-fetch-site", "same-origin")],
            &[("host", "a:1"), ("sec-fetch-site", "none")],
        ] {
            assert!(refuse_other_sites(&headers(fine)).is_ok(), "{fine:?}");
        }
        for wrong in [
            &[("host", "a:1"), ("origin", "http://b:1")][..],
            &[("host", "a:1"), ("origin", "null")],
            &[("origin", "http://a:1")],
            &[("host", "a:1"), ("sec-fetch-site", "cross-site")],
            &[("host", "a:1"), ("sec-fetch-site", "same-site")],
        ] {
            assert!(refuse_other_sites(&headers(wrong)).is_err(), "{wrong:?}");
        }
    }
}
