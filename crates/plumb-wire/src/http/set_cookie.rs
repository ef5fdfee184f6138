//! A `Set-Cookie` line, and where a cookie belongs.

/// Bytes of a line at most: a server cannot make requests grow without end.
const LINE_BYTES_MAX: usize = 4 << 10;

/// What a `Set-Cookie` line says. The last of several attributes of a kind counts.
///
/// # Source
/// RFC 6265, section 5.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetCookie<'a> {
    /// Never empty.
    pub name: &'a str,
    /// As written, quotes included.
    pub value: &'a str,
    /// Begins with a slash.
    pub path: Option<&'a str>,
    /// Without the dot at its beginning; never empty.
    pub domain: Option<&'a str>,
    /// Only over TLS.
    pub secure: bool,
    /// Seconds it lives; zero or less: it ends at once.
    pub max_age_s: Option<i64>,
    /// When it ends, as written.
    pub expires: Option<&'a str>,
}

impl<'a> SetCookie<'a> {
    /// Reads the value of the line; `None` when it holds no cookie, more than 4 KiB, or what
    /// cannot stand in a header.
    #[must_use]
    pub fn parse(line: &'a str) -> Option<Self> {
        if line.len() > LINE_BYTES_MAX || line.contains(|char: char| char.is_control()) {
            return None;
        }
        let mut parts = line.split(';').map(str::trim);
        let (name, value) = parts.next()?.split_once('=')?;
        let mut cookie = Self { name: name.trim(), value: value.trim(), ..Self::default() };
        for part in parts {
            let (attribute, value) = part.split_once('=').unwrap_or((part, ""));
            cookie.set(attribute.trim(), value.trim());
        }
        Some(cookie).filter(|cookie| !cookie.name.is_empty())
    }

    fn set(&mut self, attribute: &str, value: &'a str) {
        let is = |name: &str| attribute.eq_ignore_ascii_case(name);
        if is("path") {
            self.path = Some(value).filter(|value| value.starts_with('/'));
        } else if is("domain") {
            let domain = value.strip_prefix('.').unwrap_or(value);
            self.domain = Some(domain).filter(|domain| !domain.is_empty());
        } else if is("secure") {
            self.secure = true;
        } else if is("max-age") {
            self.max_age_s = max_age_s(value).or(self.max_age_s);
        } else if is("expires") {
            self.expires = Some(value);
        }
    }

    /// The path for which the cookie is kept, when it came with the answer to `request`.
    #[must_use]
    pub fn path_within(&self, request: &'a str) -> &'a str {
        self.path.unwrap_or_else(|| folder_of(request))
    }
}

/// A number of seconds; one with too many digits is as long as can be.
fn max_age_s(value: &str) -> Option<i64> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let longest = if value.starts_with('-') { i64::MIN } else { i64::MAX };
    Some(value.parse().unwrap_or(longest))
}

/// True when a cookie kept for the path `cookie` goes with a request for `path` (without query).
///
/// # Source
/// RFC 6265, section 5.1.4.
#[must_use]
pub fn path_matches(cookie: &str, path: &str) -> bool {
    path.strip_prefix(cookie)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || cookie.ends_with('/'))
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
    fn attributes_are_read_whatever_their_case() {
        let line = "sid = \"a=b\" ; PATH=/a; Domain=.Example.org;secure; HttpOnly; Max-age=60; \
                    expires=Sun, 06 Nov 1994 08:49:37 GMT; SameSite=Lax";
        let cookie = SetCookie {
            name: "sid",
            value: "\"a=b\"",
            path: Some("/a"),
            domain: Some("Example.org"),
            secure: true,
            max_age_s: Some(60),
            expires: Some("Sun, 06 Nov 1994 08:49:37 GMT"),
        };
        assert_eq!(SetCookie::parse(line), Some(cookie));
        let bare = SetCookie { name: "a", ..SetCookie::default() };
        assert_eq!(SetCookie::parse("a=; Path=x; Domain=; Max-Age=soon"), Some(bare));
    }

    #[test]
    fn ages_are_numbers_of_any_length() {
        let age =
            |value: &str| SetCookie::parse(&format!("a=b; Max-Age={value}")).unwrap().max_age_s;
        assert_eq!((age("0"), age("-5")), (Some(0), Some(-5)));
        assert_eq!(age(&"9".repeat(40)), Some(i64::MAX));
        assert_eq!(age(&format!("-{}", "9".repeat(40))), Some(i64::MIN));
        assert_eq!((age(""), age("+5"), age("5s"), age("-")), (None, None, None, None));
    }

    #[test]
    fn a_cookie_belongs_to_its_path_and_what_is_below() {
        let path =
            |line: &'static str, request| SetCookie::parse(line).unwrap().path_within(request);
        assert_eq!(path("a=1", "/x/y?z=/w"), "/x");
        assert_eq!(path("a=1", "/x"), "/");
        assert_eq!(path("a=1; Path=/p", "/x/y"), "/p");
        for (path, matches) in [("/a", true), ("/a/b", true), ("/ab", false), ("/", false)] {
            assert_eq!(path_matches("/a", path), matches, "{path}");
        }
        assert!(path_matches("/", "/any") && path_matches("/a/", "/a/b"));
    }
}
