//! The cookies of one user at one origin.

use std::fmt::Write as _;

/// Cookies kept at most, and bytes of one: a server cannot make requests grow without end.
const COOKIES_MAX: usize = 50;
const COOKIE_BYTES_MAX: usize = 4 << 10;

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
        let mut parts = line.split(';').map(str::trim);
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else {
            return false;
        };
        let fits = line.len() <= COOKIE_BYTES_MAX && !line.contains(|c: char| c.is_control());
        if name.is_empty() || !fits {
            return false;
        }
        let mut cookie =
            Cookie { name: name.into(), value: value.trim().into(), path: folder_of(path).into() };
        let mut ends = false;
        for (attribute, value) in parts.filter_map(|part| part.split_once('=')) {
            if attribute.eq_ignore_ascii_case("path") && value.starts_with('/') {
                cookie.path = value.into();
            } else if attribute.eq_ignore_ascii_case("max-age") {
                ends = value.parse::<i64>().is_ok_and(|seconds| seconds <= 0);
            }
        }
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
        for cookie in self.cookies.iter().filter(|cookie| cookie.serves(path)) {
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

impl Cookie {
    fn serves(&self, path: &str) -> bool {
        path.strip_prefix(self.path.as_str()).is_some_and(|rest| {
            rest.is_empty() || rest.starts_with('/') || self.path.ends_with('/')
        })
    }
}

/// The path of a cookie that names none: that of the request up to its last slash.
fn folder_of(path: &str) -> &str {
    let path = path.split('?').next().unwrap_or_default();
    match path.rfind('/') {
        Some(at) if at > 0 => &path[..at],
        _ => "/",
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
