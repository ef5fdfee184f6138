//! Where secrets stand in a request or an answer, found by the names of headers, fields, elements
//! and attributes; and texts with something else in their place.

mod command;
mod json;
mod multipart;
mod name;
mod quoted;
mod xml;

use std::ops::Range;

use crate::percent::form_decoded_lossy;

pub use command::{in_commands, in_header_line, masked_words};
pub use name::{is_forgery_token, is_of_log_on, is_secret};

/// What stands in the place of a secret that is not shown.
pub const MASK: &str = "MASKED";

/// The secret that a file holds in its first line. What editors of Windows write in front of it, a byte order
/// mark, is no part of it; blanks are.
#[must_use]
pub fn first_line(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text).lines().next().unwrap_or_default()
}

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The name that gives it away.
    pub name: String,
    /// Its bytes, without quotation marks.
    pub at: Range<usize>,
    /// It is a number of JSON: text in its place needs quotation marks.
    pub is_number: bool,
}

impl Found {
    fn text(name: impl Into<String>, at: Range<usize>) -> Self {
        Self { name: name.into(), at, is_number: false }
    }
}

/// How names and values are written in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// `name=value&name=value`, percent-encoded.
    Form,
    /// JSON.
    Json,
    /// XML.
    Xml,
    /// A form of several parts.
    Multipart,
    /// Anything else: nothing is found in it.
    Other,
}

impl Notation {
    /// The kind of the body `text` of the content type `mime`, which may be empty.
    pub fn of(mime: &str, text: &str) -> Self {
        let mime = mime.to_ascii_lowercase();
        let start = text.trim_start().chars().next();
        if mime.starts_with("application/x-www-form-urlencoded") {
            Self::Form
        } else if mime.starts_with("multipart/") {
            Self::Multipart
        } else if mime.contains("html") {
            Self::Other
        } else if mime.contains("json") || matches!(start, Some('{' | '[')) {
            Self::Json
        } else if mime.contains("xml") || start == Some('<') {
            Self::Xml
        } else if text.contains('=') && !text.contains(char::is_whitespace) {
            Self::Form
        } else {
            Self::Other
        }
    }

    /// The secrets of a body of this kind, in their order.
    pub fn secrets(self, text: &str) -> Vec<Found> {
        match self {
            Self::Form => in_pairs(text, 0),
            Self::Json => json::secrets(text),
            Self::Xml => xml::secrets(text),
            Self::Multipart => multipart::secrets(text),
            Self::Other => Vec::new(),
        }
    }
}

/// The secrets of a URL, or of a path with its query: who asks, in front of the host; parameters
/// of the path, of the query and of the fragment.
pub fn in_url(url: &str) -> Vec<Found> {
    let fragment = url.find('#').unwrap_or(url.len());
    let query = url[..fragment].find('?').unwrap_or(fragment);
    let mut found: Vec<Found> = in_authority(&url[..query]).into_iter().collect();
    let behind = found.first().map_or(0, |who| who.at.end);
    found.extend(in_parameters(&url[..query]).into_iter().filter(|one| one.at.start >= behind));
    for (from, until) in [(query, fragment), (fragment, url.len())] {
        found
            .extend(url.get(from + 1..until).into_iter().flat_map(|text| in_pairs(text, from + 1)));
    }
    found
}

/// `url` without its secrets, for people and records.
#[must_use]
pub fn masked_url(url: &str) -> String {
    masked(url, &in_url(url))
}

/// The secrets of the header `name`, in lower case.
pub fn in_header(name: &str, value: &str) -> Vec<Found> {
    match name {
        "cookie" => split_at(value, ';').filter_map(|at| in_cookie(name, value, at)).collect(),
        "set-cookie" => {
            let end = value.find(';').unwrap_or(value.len());
            in_cookie(name, value, 0..end).into_iter().collect()
        }
        // the scheme tells how, the rest who
        "authorization" | "proxy-authorization" => {
            let start = value.find(' ').map_or(0, |space| space + 1);
            vec![Found::text(name, start..value.len())]
        }
        "location" | "content-location" | "referer" | "refresh" => in_url(value),
        _ if is_secret(name) => vec![Found::text(name, 0..value.len())],
        _ => Vec::new(),
    }
}

/// `text` with [`MASK`] in the place of each secret.
pub fn masked(text: &str, found: &[Found]) -> String {
    replaced(text, found, str::to_owned, |secret| match secret.is_number {
        true => format!("\"{MASK}\""),
        false => MASK.into(),
    })
}

/// `text` with each secret replaced by what `with` makes of it, and what stands between them by
/// what `plain` makes of that.
pub fn replaced(
    text: &str,
    found: &[Found],
    plain: impl Fn(&str) -> String,
    mut with: impl FnMut(&Found) -> String,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for secret in found {
        out += &plain(&text[from..secret.at.start]);
        out += &with(secret);
        from = secret.at.end;
    }
    out + &plain(&text[from..])
}

/// `name=value&name=value`, which begins at the byte `from` of its text.
fn in_pairs(text: &str, from: usize) -> Vec<Found> {
    let pairs = split_at(text, '&').filter_map(|pair| assigned(text, pair));
    let secrets =
        pairs.map(|(name, at)| (form_decoded_lossy(name), at)).filter(|(name, _)| is_secret(name));
    secrets.map(|(name, at)| Found::text(name, from + at.start..from + at.end)).collect()
}

/// `scheme://user:password@host`
fn in_authority(before_query: &str) -> Option<Found> {
    let start = match before_query.find("://") {
        Some(at) => at + 3,
        None if before_query.starts_with("//") => 2,
        None => return None,
    };
    let end = before_query[start..].find('/').map_or(before_query.len(), |length| start + length);
    let who = before_query[start..end].rfind('@').filter(|length| *length > 0)?;
    Some(Found::text("password", start..start + who))
}

/// `/path;name=value/path`
fn in_parameters(path: &str) -> Vec<Found> {
    let parts = split_at(path, ';').skip(1).map(|part| {
        let end = path[part.clone()].find('/').map_or(part.end, |slash| part.start + slash);
        part.start..end
    });
    let pairs = parts.filter_map(|part| assigned(path, part));
    pairs.filter(|(name, _)| is_secret(name)).map(|(name, at)| Found::text(name, at)).collect()
}

/// The value of the cookie at `at`, of the header `name`.
fn in_cookie(name: &str, value: &str, at: Range<usize>) -> Option<Found> {
    let text = &value[at.clone()];
    let start = at.start + text.len() - text.trim_start().len();
    let whole = start..start + text.trim().len();
    match assigned(value, whole.clone()) {
        Some((_, at)) => Some(Found::text(name, at)),
        None if text.contains('=') || whole.is_empty() => None,
        None => Some(Found::text(name, whole)),
    }
}

/// Name and value of `name=value` at `at`; `None` without a value.
fn assigned(text: &str, at: Range<usize>) -> Option<(&str, Range<usize>)> {
    let (name, value) = text[at.clone()].split_once('=')?;
    (!value.is_empty()).then(|| (name, at.end - value.len()..at.end))
}

/// Where the parts between `mark` stand.
fn split_at(text: &str, mark: char) -> impl Iterator<Item = Range<usize>> {
    text.split(mark).scan(0, move |from, part| {
        let at = *from..*from + part.len();
        *from = at.end + mark.len_utf8();
        Some(at)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header(name: &str, value: &str) -> String {
        masked(value, &in_header(name, value))
    }

    fn body(mime: &str, text: &str) -> String {
        masked(text, &Notation::of(mime, text).secrets(text))
    }

    fn url(text: &str) -> String {
        masked(text, &in_url(text))
    }

    #[test]
    fn headers_keep_what_is_no_secret() {
        assert_eq!(header("cookie", "a=1; b=x=y;c="), "a=MASKED; b=MASKED;c=");
        assert_eq!(header("cookie", "lonely"), "MASKED");
        assert_eq!(
            header("set-cookie", "sid=77; Path=/; HttpOnly"),
            "sid=MASKED; Path=/; HttpOnly"
        );
        assert_eq!(header("authorization", "Basic ZGVtbw=="), "Basic MASKED");
        assert_eq!(header("authorization", "ZGVtbw=="), "MASKED");
        assert_eq!(header("authentication", "Bearer x"), "MASKED");
        assert_eq!(header("mysapsso2", "AjEx"), "MASKED");
        assert_eq!(header("x-auth-token", "77"), "MASKED");
        assert_eq!(
            header("location", "/in?token=7&a=1#id_token=8"),
            "/in?token=MASKED&a=1#id_token=MASKED"
        );
        assert_eq!(header("accept", "*/*"), "*/*");
    }

    #[test]
    fn forms_and_urls_keep_their_encoding() {
        let form = |text| body("application/x-www-form-urlencoded", text);
        assert_eq!(form("user=a%20b&pass%77ord=x+y&c"), "user=a%20b&pass%77ord=MASKED&c");
        assert_eq!(form("password="), "password=");
        assert_eq!(url("http://h/p?pwd=1"), "http://h/p?pwd=MASKED");
        assert_eq!(url("/p?db_pass=1&a=2&db_pass=3"), "/p?db_pass=MASKED&a=2&db_pass=MASKED");
        assert_eq!(url("/a;jsessionid=77;x=1/b?c=d#"), "/a;jsessionid=MASKED;x=1/b?c=d#");
        assert_eq!(url("?"), "?");
        for (whole, shown) in [
            ("http://me:pw@h/x?a=1", "http://MASKED@h/x?a=1"),
            ("//me:p;pin=1@h/x", "//MASKED@h/x"),
            ("https://h/x@y", "https://h/x@y"),
            ("https://h/cb?code=1&state=2&sig=3", "https://h/cb?code=MASKED&state=2&sig=MASKED"),
        ] {
            assert_eq!(url(whole), shown);
        }
    }

    #[test]
    fn a_file_holds_a_secret_in_its_first_line() {
        for text in ["s 1 \n", "s 1 \r\nmore\n", "\u{feff}s 1 "] {
            assert_eq!(first_line(text), "s 1 ");
        }
        assert_eq!((first_line(""), first_line("\u{feff}\nmore")), ("", ""));
    }

    #[test]
    fn bodies_are_read_as_their_type_says() {
        assert_eq!(body("application/x-www-form-urlencoded", "pin=1&a=2"), "pin=MASKED&a=2");
        assert_eq!(body("application/json; charset=utf-8", "{\"pin\":1}"), "{\"pin\":\"MASKED\"}");
        assert_eq!(body("text/plain", "[{\"pwd\": \"x\"}]"), "[{\"pwd\": \"MASKED\"}]");
        assert_eq!(body("", "<pin>1</pin>"), "<pin>MASKED</pin>");
        assert_eq!(body("text/html", "<p>password=1"), "<p>password=1");
        assert_eq!(body("", "pin=1"), "pin=MASKED");
        assert_eq!(body("", "pin = 1"), "pin = 1");
    }

    proptest! {
        #[test]
        fn any_text_is_masked_once_and_for_all(
            text in r#"(\PC|[;&=?#<>/"\r\n-]|password=|name="pwd"|Content-Disposition: x){0,40}"#,
        ) {
            for kind in [Notation::Form, Notation::Json, Notation::Xml, Notation::Multipart] {
                let mask = |text: &str| masked(text, &kind.secrets(text));
                let once = mask(&text);
                prop_assert_eq!(mask(&once), once, "{:?}", kind);
            }
            for name in ["cookie", "authentication", "set-cookie", "authorization", "location", "x-token", "accept"] {
                let once = header(name, &text);
                prop_assert_eq!(header(name, &once), once);
            }
            prop_assert_eq!(url(&url(&text)), url(&text));
        }
    }
}
