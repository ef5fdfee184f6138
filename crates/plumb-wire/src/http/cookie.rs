//! The cookies of one user at one origin.

use std::fmt::Write as _;

use super::set_cookie::{SetCookie, path_matches};

/// Cookies kept at most: a server cannot make requests grow without end.
const COOKIES_MAX: usize = 50;

/// What a server asked to be told again. A cookie is kept for its path, and only for as long as
/// the measurement: how long it would live is not asked, except that one which ends at once is
/// deleted.
///
/// # Source
/// RFC 6265, sections 5.1.4, 5.2 and 5.4; the domain is always the origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Jar {
    cookies: Vec<Cookie>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Cookie {
    name: String,
    value: String,
    path: String,
}

impl Jar {
    /// Takes the value of a `Set-Cookie` line of the answer to a request for `path`. True when it
    /// was one.
    pub fn take(&mut self, line: &str, path: &str) -> bool {
        let Some(set) = SetCookie::parse(line) else { return false };
        let cookie = Cookie {
            name: set.name.into(),
            value: set.value.into(),
            path: set.path_within(path).into(),
        };
        let ends = set.max_age_s.is_some_and(|seconds| seconds <= 0);
        self.cookies.retain(|known| known.name != cookie.name || known.path != cookie.path);
        if !ends && self.cookies.len() < COOKIES_MAX {
            self.cookies.push(cookie);
        }
        true
    }

    /// The value of the `Cookie` line of a request for `path`; `None` without a cookie for it.
    #[must_use]
    pub fn line(&self, path: &str) -> Option<String> {
        let path = path.split('?').next().unwrap_or_default();
        let mut line = String::new();
        for cookie in self.cookies.iter().filter(|cookie| path_matches(&cookie.path, path)) {
            let joint = if line.is_empty() { "" } else { "; " };
            let _ = write!(line, "{joint}{}={}", cookie.name, cookie.value); // cannot fail
        }
        (!line.is_empty()).then_some(line)
    }

    /// The names of the cookies, without their values.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.cookies.iter().map(|cookie| cookie.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_goes_back_to_its_path_only() {
        let mut jar = Jar::default();
        assert!(jar.take("sid=1; Path=/; HttpOnly", "/a/page"));
        assert!(jar.take("deep=2; path=/a", "/"));
        assert_eq!(jar.line("/").unwrap(), "sid=1");
        assert_eq!(jar.line("/a/x?y=/b").unwrap(), "sid=1; deep=2");
        assert_eq!(jar.line("/ab").unwrap(), "sid=1");
        assert_eq!(jar.names().collect::<Vec<_>>(), ["sid", "deep"]);
    }

    #[test]
    fn the_path_of_the_request_stands_in() {
        let mut jar = Jar::default();
        jar.take("a=1", "/sap/bc/page.htm?q=/x");
        assert_eq!(jar.line("/sap/bc/other").unwrap(), "a=1");
        assert_eq!(jar.line("/sap/"), None);
    }

    #[test]
    fn a_newer_value_takes_the_place_and_an_ended_cookie_goes() {
        let mut jar = Jar::default();
        jar.take("a=1", "/");
        jar.take("a=2", "/");
        assert_eq!(jar.line("/").unwrap(), "a=2");
        jar.take("a=; Max-Age=0", "/");
        assert_eq!(jar.line("/"), None);
    }

    #[test]
    fn what_is_no_cookie_is_not_taken() {
        let mut jar = Jar::default();
        for line in ["", "novalue", "=x", "a=b\r\nX: y", &format!("a={}", "x".repeat(5_000))] {
            assert!(!jar.take(line, "/"), "{line}");
        }
        (0..100).for_each(|n| assert!(jar.take(&format!("c{n}=1"), "/")));
        assert_eq!(jar.names().count(), COOKIES_MAX);
    }
}
