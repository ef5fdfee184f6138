//! URLs as a client of HTTP needs them.

use std::fmt;

use crate::percent::visible;
use crate::secret::masked_url;

/// Bytes of a URL that are read at most.
const URL_BYTES_MAX: usize = 8 << 10;
/// What host and port end before.
const ENDS_AUTHORITY: [char; 3] = ['/', '?', '#'];

/// Why a text is no URL that can be asked for. No message repeats a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Another scheme, or none.
    #[error("`{text}` is no URL: write http://HOST/PATH or https://HOST/PATH")]
    Scheme {
        /// As given, without what stands before an `@`.
        text: String,
    },
    /// The URL carries a user or a password.
    #[error(
        "the URL of {host} holds a user or a password, which would stand in histories and reports: \
         leave it out"
    )]
    Credentials {
        /// The host it names.
        host: String,
    },
    /// No host, or one that cannot be.
    #[error("`{text}` names no host: write http://HOST/PATH or https://HOST/PATH")]
    Host {
        /// As given.
        text: String,
    },
    /// No port.
    #[error("`{text}` names no port from 1 to 65535")]
    Port {
        /// As given.
        text: String,
    },
    /// Line ends or other control characters, or too long.
    #[error("the URL is longer than {} KiB, or holds control characters", URL_BYTES_MAX >> 10)]
    Text,
}

impl UrlError {
    /// What is wrong; of a URL that names who asks, with `where_else` that may be said.
    #[must_use]
    pub fn with_credentials(&self, where_else: &str) -> String {
        match self {
            Self::Credentials { .. } => format!("{self}, and {where_else}"),
            _ => self.to_string(),
        }
    }
}

/// How the bytes travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// As they are.
    Http,
    /// Over TLS.
    Https,
}

impl Scheme {
    /// The port when none is named.
    #[must_use]
    pub fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// An absolute URL of the scheme `http` or `https`, without fragment and without user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    scheme: Scheme,
    /// Without the brackets of IPv6.
    host: String,
    port: u16,
    /// Path and query; begins with `/`.
    target: String,
}

impl Url {
    /// Reads a URL. Spaces and bytes beyond ASCII in path and query are percent-encoded; nothing
    /// else is changed, so that a path such as `/sap(bD1lbg==)/page` is asked for as it stands.
    ///
    /// # Errors
    /// [`UrlError`] says what is wrong, and what to write instead.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        check(text)?;
        let (scheme, rest) = split_scheme(text).ok_or_else(|| UrlError::Scheme {
            text: masked_url(text.rsplit_once('@').map_or(text, |(_, host)| host)),
        })?;
        Self::with_authority(scheme, rest)
    }

    /// What `reference`, found at this URL, stands for: a `Location` line, absolute or relative.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    ///
    /// # Source
    /// RFC 3986, section 5.
    pub fn join(&self, reference: &str) -> Result<Self, UrlError> {
        check(reference)?;
        if split_scheme(reference).is_some() || has_scheme(reference) {
            return Self::parse(reference);
        }
        if let Some(rest) = reference.strip_prefix("//") {
            return Self::with_authority(self.scheme, rest);
        }
        let reference = reference.split('#').next().unwrap_or_default();
        let own_path = self.target.split('?').next().unwrap_or_default();
        let target = match reference.chars().next() {
            None => self.target.clone(),
            Some('?') => format!("{own_path}{reference}"),
            Some('/') => without_dots(reference),
            Some(_) => {
                let folder = own_path.rfind('/').map_or("/", |at| &own_path[..=at]);
                without_dots(&format!("{folder}{reference}"))
            }
        };
        Ok(Self { target: visible(&target), ..self.clone() })
    }

    /// Everything behind `scheme://`.
    fn with_authority(scheme: Scheme, rest: &str) -> Result<Self, UrlError> {
        let end = rest.find(ENDS_AUTHORITY).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        if let Some((_, host)) = authority.rsplit_once('@') {
            return Err(UrlError::Credentials { host: host.into() });
        }
        Self::of_parts(scheme, authority, target).map_err(|error| match target.rsplit_once('@') {
            // what is no host may be a user, and a password with one of these signs in it
            Some((_, behind)) => {
                let host = behind.split(ENDS_AUTHORITY).next().unwrap_or_default();
                UrlError::Credentials { host: host.into() }
            }
            None => error,
        })
    }

    fn of_parts(scheme: Scheme, authority: &str, target: &str) -> Result<Self, UrlError> {
        let (host, port) = split_port(authority)?;
        let sound = |c: char| c.is_ascii_alphanumeric() || "-._~:%".contains(c);
        if host.is_empty() || !host.chars().all(sound) {
            return Err(UrlError::Host { text: authority.into() });
        }
        let port = match port {
            None => scheme.port(),
            Some(digits) => digits
                .parse()
                .ok()
                .filter(|port| *port > 0)
                .ok_or_else(|| UrlError::Port { text: authority.into() })?,
        };
        let target = target.split('#').next().unwrap_or_default();
        let target =
            if target.starts_with('/') { visible(target) } else { visible(&format!("/{target}")) };
        Ok(Self { scheme, host: host.to_ascii_lowercase(), port, target })
    }

    /// How the bytes travel.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The host by name or number, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Path and query, as a request line has them.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Host and port as a `Host` line has them.
    #[must_use]
    pub fn authority(&self) -> String {
        if self.port == self.scheme.port() { self.bracketed() } else { self.host_and_port() }
    }

    /// Host and port, always both, as `CONNECT` has them.
    #[must_use]
    pub fn host_and_port(&self) -> String {
        format!("{}:{}", self.bracketed(), self.port)
    }

    /// The host, a number of IPv6 in brackets.
    fn bracketed(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() }
    }

    /// The URL without its secrets, for people and records.
    #[must_use]
    pub fn masked(&self) -> String {
        masked_url(&self.to_string())
    }

    /// True when `other` is served by the same server over the same kind of connection.
    #[must_use]
    pub fn same_origin(&self, other: &Self) -> bool {
        (self.scheme, &self.host, self.port) == (other.scheme, &other.host, other.port)
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme.name(), self.authority(), self.target)
    }
}

fn check(text: &str) -> Result<(), UrlError> {
    let sound = text.len() <= URL_BYTES_MAX && !text.contains(|c: char| c.is_control());
    if sound { Ok(()) } else { Err(UrlError::Text) }
}

fn split_scheme(text: &str) -> Option<(Scheme, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    [Scheme::Http, Scheme::Https]
        .into_iter()
        .find(|known| scheme.eq_ignore_ascii_case(known.name()))
        .map(|known| (known, rest))
}

/// True for `ftp://host` and `mailto:x`, false for a relative path with a colon in it.
fn has_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

fn split_port(authority: &str) -> Result<(&str, Option<&str>), UrlError> {
    let wrong = || UrlError::Host { text: authority.into() };
    if let Some(inner) = authority.strip_prefix('[') {
        let (host, behind) = inner.split_once(']').ok_or_else(wrong)?;
        return match behind.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if behind.is_empty() => Ok((host, None)),
            None => Err(wrong()),
        };
    }
    match authority.split_once(':') {
        Some((_, port)) if port.contains(':') => Err(wrong()),
        Some((host, "")) => Ok((host, None)),
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((authority, None)),
    }
}

/// A path without its `.` and `..` segments; the query is left alone.
fn without_dots(target: &str) -> String {
    let (path, query) = match target.find('?') {
        Some(at) => target.split_at(at),
        None => (target, ""),
    };
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    for (at, segment) in segments.iter().enumerate() {
        let last = at + 1 == segments.len();
        match *segment {
            "." | ".." => {
                if *segment == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            other => kept.push(other),
        }
    }
    format!("/{}{query}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_url_has_its_parts_and_is_written_again() {
        let page = url("HTTP://Db1:8000/sap(bD1lbiZjPTAwMA==)/bc/page.htm?a=b#top");
        assert_eq!((page.host(), page.port()), ("db1", 8000));
        assert_eq!(page.target(), "/sap(bD1lbiZjPTAwMA==)/bc/page.htm?a=b");
        assert_eq!(page.to_string(), "http://db1:8000/sap(bD1lbiZjPTAwMA==)/bc/page.htm?a=b");
        assert_eq!(url("https://[::1]").to_string(), "https://[::1]/");
        assert_eq!(url("http://h?q=a b\u{e9}").target(), "/?q=a%20b%C3%A9");
        assert_eq!(url("http://h:80/").authority(), "h");
    }

    #[test]
    fn a_user_in_a_url_is_refused_without_repeating_it() {
        for text in [
            "http://me:secret@host/",
            "https://me@host:1/x",
            "me:secret@host",
            "http://me:secret/more@host/",
            "http://me:secret?more@host",
            "https://me:secret:x#more@host:1/x",
        ] {
            let error = Url::parse(text).unwrap_err().to_string();
            assert!(!error.contains("secret") && !error.contains("me@"), "{error}");
        }
        let error = Url::parse("http://me:secret@host/").unwrap_err();
        assert_eq!(error, UrlError::Credentials { host: "host".into() });
        let advised = error.with_credentials("set PLUMB_X");
        assert!(advised.ends_with("leave it out, and set PLUMB_X"), "{advised}");
        let error = Url::parse("http://me:sec/ret@host/x").unwrap_err();
        assert_eq!(error, UrlError::Credentials { host: "host".into() });
        assert_eq!(url("http://h:80/x@y").target(), "/x@y");
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for text in [
            "",
            "host",
            "ftp://host/",
            "http://",
            "http:///x",
            "http://h:0/",
            "http://h:x/",
            "http://a b/",
            "http://h/\r\nX: y",
            "http://[::1/",
            "http://::1/",
        ] {
            assert!(Url::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn references_are_joined_as_the_standard_says() {
        let base = url("http://a/b/c/d;p?q");
        for (reference, expected) in [
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g/"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y#s", "http://a/b/c/g?y"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
            ("/sap(bD1lbg==)/x", "http://a/sap(bD1lbg==)/x"),
            ("https://b:1/x", "https://b:1/x"),
        ] {
            assert_eq!(base.join(reference).unwrap().to_string(), expected, "{reference}");
        }
        assert!(base.join("ftp://x/").is_err());
        assert!(base.join("http://me:pw@x/").is_err());
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        assert!(url("http://a/x").same_origin(&url("http://A:80/y")));
        assert!(!url("http://a/").same_origin(&url("https://a/")));
        assert!(!url("http://a/").same_origin(&url("http://a:8080/")));
    }

    #[test]
    fn secrets_of_a_url_are_not_shown() {
        assert_eq!(url("http://a/x?sig=7&b=1").masked(), "http://a/x?sig=MASKED&b=1");
        let error = Url::parse("ftp://a/x?token=s3cret").unwrap_err().to_string();
        assert!(error.contains("ftp://a/x?token=MASKED"), "{error}");
    }
}
