//! Who may ask.
//!
//! On loopback a secret token stands in the fragment of the address that is printed, which no browser
//! sends: a script exchanges it for a session, whose cookie other sites cannot make a browser send. On
//! an address that others reach it is a password, over TLS. `Host` must name this server, so that a
//! foreign name that was made to point here is refused; `Origin`, where it is sent, must be the same,
//! and what changes something must send it.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use hyper::HeaderMap;
use hyper::header::{HOST, ORIGIN};
use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use plumb_serve::accounts::equal;
use plumb_serve::cookie;
use ring::rand::{SecureRandom as _, SystemRandom};

/// Browsers that are logged on at once; the longest is logged off by one more.
const SESSIONS_MAX: usize = 64;
/// Wrong secrets that are looked at within [`WINDOW_NS`].
const WRONG_MAX: u32 = 20;
const WINDOW_NS: u64 = 60_000_000_000;

/// How somebody proves that they may ask.
#[derive(Clone)]
pub(crate) enum Secret {
    /// What stands in the fragment of the address.
    Token(String),
    /// What is typed.
    Password(String),
}

// whoever reads a log does not read secrets
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Token(_) => "Token",
            Self::Password(_) => "Password",
        })
    }
}

/// Who may ask, and who has proven it.
#[derive(Debug)]
pub(crate) struct Access {
    secret: Secret,
    /// Every `Host` that is this server, in small letters.
    hosts: Vec<String>,
    tls: bool,
    cookie: String,
    sessions: Mutex<VecDeque<String>>,
    wrong: Mutex<Wrong>,
}

/// Wrong secrets lately.
#[derive(Debug, Default)]
struct Wrong {
    since_ns: u64,
    count: u32,
}

/// Why somebody gets no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoSession {
    /// Another secret is the right one.
    Wrong,
    /// Too many tried.
    TooMany,
}

impl Access {
    pub(crate) fn new(secret: Secret, hosts: &[String], tls: bool, port: u16) -> Self {
        let hosts = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        // cookies know no ports: two servers of one host would take each other's
        let cookie = format!("plumb-ui-{port}");
        Self { secret, hosts, tls, cookie, sessions: Mutex::default(), wrong: Mutex::default() }
    }

    /// True when a request is for this server, and from a page of it if it says from where.
    pub(crate) fn is_meant(&self, headers: &HeaderMap) -> bool {
        let Some(host) = text(headers, HOST.as_str()) else { return false };
        if !self.hosts.contains(&host) {
            return false;
        }
        !headers.contains_key(ORIGIN) || self.is_own(headers)
    }

    /// True when a request says that a page of this server makes it.
    pub(crate) fn is_own(&self, headers: &HeaderMap) -> bool {
        let scheme = if self.tls { "https" } else { "http" };
        match (text(headers, ORIGIN.as_str()), text(headers, HOST.as_str())) {
            (Some(origin), Some(host)) => origin == format!("{scheme}://{host}"),
            _ => false,
        }
    }

    /// True when a password is asked for.
    pub(crate) fn asks_for_password(&self) -> bool {
        matches!(self.secret, Secret::Password(_))
    }

    /// True for a browser that is logged on.
    pub(crate) fn knows(&self, headers: &HeaderMap) -> bool {
        let Some(shown) = cookie(headers, &self.cookie) else { return false };
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        // all of them, whichever it is
        sessions.iter().fold(false, |known, it| equal(it.as_bytes(), shown.as_bytes()) | known)
    }

    /// A session for whoever shows the secret: the value of `Set-Cookie`.
    ///
    /// # Errors
    /// [`NoSession`]; a system without random numbers lets nobody in.
    pub(crate) fn log_on(&self, shown: &str) -> Result<String, NoSession> {
        let secret = match &self.secret {
            Secret::Token(secret) | Secret::Password(secret) => secret,
        };
        self.admit()?;
        if !equal(shown.as_bytes(), secret.as_bytes()) {
            self.wrong.lock().unwrap_or_else(PoisonError::into_inner).count += 1;
            return Err(NoSession::Wrong);
        }
        let session = random_text().ok_or(NoSession::Wrong)?;
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() == SESSIONS_MAX {
            sessions.pop_front();
        }
        sessions.push_back(session.clone());
        let secure = if self.tls { "; Secure" } else { "" };
        Ok(format!("{}={session}; Path=/; HttpOnly; SameSite=Strict{secure}", self.cookie))
    }

    /// Refuses everybody for the rest of a minute in which too many were wrong.
    fn admit(&self) -> Result<(), NoSession> {
        let now_ns = MonotonicClock.now_ns();
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if now_ns.saturating_sub(wrong.since_ns) > WINDOW_NS {
            *wrong = Wrong { since_ns: now_ns, count: 0 };
        }
        if wrong.count < WRONG_MAX { Ok(()) } else { Err(NoSession::TooMany) }
    }
}

/// A header that stands there once, in small letters.
fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let mut all = headers.get_all(name).iter();
    let only = all.next()?.to_str().ok()?.to_ascii_lowercase();
    all.next().is_none().then_some(only)
}

/// 256 random bits, hexadecimal.
pub(crate) fn random_text() -> Option<String> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(tls: bool) -> Access {
        let hosts = ["127.0.0.1:8000".to_owned(), "Localhost:8000".to_owned()];
        Access::new(Secret::Token("right".into()), &hosts, tls, 8000)
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_name_that_was_made_to_point_here_is_refused() {
        let access = access(false);
        for good in ["127.0.0.1:8000", "localhost:8000", "LOCALHOST:8000"] {
            assert!(access.is_meant(&headers(&[("host", good)])), "{good}");
        }
        for bad in ["evil.example:8000", "127.0.0.1", "127.0.0.1:8001", "localhost:8000.evil", ""] {
            assert!(!access.is_meant(&headers(&[("host", bad)])), "{bad}");
        }
        assert!(!access.is_meant(&HeaderMap::new()));
    }

    #[test]
    fn only_pages_of_this_server_change_something() {
        let host = ("host", "localhost:8000");
        let from = |origin| headers(&[host, ("origin", origin)]);
        let plain = access(false);
        assert!(plain.is_own(&from("http://localhost:8000")));
        assert!(!plain.is_own(&headers(&[host])));
        let others = ["http://127.0.0.1:8000", "https://localhost:8000", "null", "http://evil"];
        for origin in others {
            assert!(!plain.is_own(&from(origin)) && !plain.is_meant(&from(origin)), "{origin}");
        }
        assert!(access(true).is_own(&from("https://localhost:8000")));
    }

    #[test]
    fn a_session_is_given_for_the_secret_and_known_afterwards() {
        let access = access(true);
        let set = access.log_on("right").unwrap();
        for word in ["HttpOnly", "SameSite=Strict", "Secure"] {
            assert!(set.contains(word), "{set}");
        }
        let pair = set.split(';').next().unwrap();
        assert!(access.knows(&headers(&[("cookie", pair)])));
        assert!(!access.knows(&headers(&[("cookie", "plumb-ui-8000=")])));
        assert!(!access.knows(&headers(&[("cookie", &pair.replace("8000", "8001"))])));
        assert!(!access.knows(&HeaderMap::new()));
    }

    #[test]
    fn who_tries_too_often_is_not_heard() {
        let access = access(false);
        for wrong in ["", "righ", "right ", "Right"] {
            assert_eq!(access.log_on(wrong), Err(NoSession::Wrong), "{wrong}");
        }
        for _ in 4..WRONG_MAX {
            assert_eq!(access.log_on("wrong"), Err(NoSession::Wrong));
        }
        assert_eq!(access.log_on("right"), Err(NoSession::TooMany));
    }

    #[test]
    fn the_longest_session_ends_when_there_are_too_many() {
        let access = access(false);
        let first = access.log_on("right").unwrap();
        (0..SESSIONS_MAX).for_each(|_| drop(access.log_on("right").unwrap()));
        let pair = first.split(';').next().unwrap().to_owned();
        assert!(!access.knows(&headers(&[("cookie", &pair)])));
        assert_eq!(access.sessions.lock().unwrap().len(), SESSIONS_MAX);
    }
}
