//! A line of an access log, in the common or the combined format or one that goes on behind them.
//!
//! # Source
//! Apache HTTP Server, "Log Files"; nginx, `ngx_http_log_module`.

use jiff::Timestamp;
use jiff::fmt::strtime;

/// Bytes of a target that are asked for again.
const TARGET_BYTES_MAX: usize = 16 << 10;

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Nanoseconds since 1970.
    pub(super) at_ns: i128,
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    pub(super) status: u16,
}

/// Why a line is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unread {
    /// No time in brackets.
    Time,
    /// No request in quotation marks.
    Request,
    /// No status behind it.
    Status,
}

impl Unread {
    /// The reason in words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Time => "no time such as [21/Nov/2026:03:16:39 +0100]",
            Self::Request => "no request such as \"GET /page HTTP/1.1\"",
            Self::Status => "no status behind the request",
        }
    }
}

/// True for a line of an access log.
pub(crate) fn is_line(text: &str) -> bool {
    read(text).is_ok()
}

/// Reads a line.
///
/// # Errors
/// [`Unread`], with what was looked for in vain.
pub(super) fn read(line: &str) -> Result<Line, Unread> {
    let (at_ns, rest) = time(line).ok_or(Unread::Time)?;
    let (request, rest) = quoted(rest).ok_or(Unread::Request)?;
    let mut words = request.split(' ');
    let (Some(method), Some(target), version) = (words.next(), words.next(), words.next()) else {
        return Err(Unread::Request);
    };
    // a server of HTTP/0.9 is asked without a version
    let known = version.is_none_or(|it| it.starts_with("HTTP/")) && words.next().is_none();
    let is_method =
        (1..=20).contains(&method.len()) && method.bytes().all(|it| it.is_ascii_uppercase());
    let target = path_of(target);
    let sound = target.len() <= TARGET_BYTES_MAX && target.bytes().all(|it| it.is_ascii_graphic());
    if !(known && is_method && sound && target.starts_with('/')) {
        return Err(Unread::Request);
    }
    let status = rest.split_ascii_whitespace().next().and_then(|text| text.parse().ok());
    let status = status.filter(|code| (100..=599).contains(code)).ok_or(Unread::Status)?;
    Ok(Line { at_ns, method: method.into(), target: target.into(), status })
}

/// The first time in brackets, and what follows it.
fn time(line: &str) -> Option<(i128, &str)> {
    let mut rest = line;
    loop {
        let (_, behind) = rest.split_once('[')?;
        let (inner, after) = behind.split_once(']')?;
        if let Some(at) = moment(inner) {
            return Some((at, after));
        }
        rest = behind;
    }
}

fn moment(text: &str) -> Option<i128> {
    let short = text.len() <= 64;
    let timestamp = |format: &str| strtime::parse(format, text).ok()?.to_timestamp().ok();
    let parsed = short
        .then(|| timestamp("%d/%b/%Y:%H:%M:%S%.f %z").or_else(|| text.parse::<Timestamp>().ok()));
    Some(parsed??.as_nanosecond())
}

/// The first text in quotation marks, without its escapes, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let (_, inner) = text.split_once('"')?;
    let mut bytes = Vec::new();
    let mut rest = inner.as_bytes();
    loop {
        match rest {
            [] => return None,
            [b'"', ..] => break,
            [b'\\', b'x', high, low, after @ ..] => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let both = digit(*high).zip(digit(*low)).map(|(high, low)| high * 16 + low);
                bytes.push(u8::try_from(both?).ok()?);
                rest = after;
            }
            [b'\\', next, after @ ..] => {
                bytes.push(*next);
                rest = after;
            }
            [next, after @ ..] => {
                bytes.push(*next);
                rest = after;
            }
        }
    }
    let behind = &inner[inner.len() - rest.len() + 1..];
    Some((String::from_utf8(bytes).ok()?, behind))
}

/// Path and query of a target; a proxy is asked for whole addresses.
fn path_of(target: &str) -> &str {
    let rest = ["http://", "https://"].iter().find_map(|scheme| target.strip_prefix(scheme));
    let path = rest.map_or(target, |rest| rest.find('/').map_or("/", |at| &rest[at..]));
    path.split('#').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(line: &str) -> Result<(i128, String, String, u16), Unread> {
        read(line).map(|it| (it.at_ns / 1_000_000, it.method, it.target, it.status))
    }

    #[test]
    fn lines_of_servers_are_read() {
        let expected =
            |ms: i128, target: &str, status| Ok((ms, "GET".to_owned(), target.to_owned(), status));
        let common =
            "10.0.0.1 - anna [21/Nov/2026:03:16:39 +0100] \"GET /a?b=c HTTP/1.1\" 200 2326";
        assert_eq!(of(common), expected(1_795_227_399_000, "/a?b=c", 200));
        for (line, wanted) in [
            (
                format!("{common} \"http://h/\" \"Mozilla/5.0 (\\\"x\\\")\" 0.012 [x]"),
                expected(1_795_227_399_000, "/a?b=c", 200),
            ),
            (format!("shop.example:443 {common}"), expected(1_795_227_399_000, "/a?b=c", 200)),
            (common.replace(":39 ", ":39.250 "), expected(1_795_227_399_250, "/a?b=c", 200)),
            (
                "::1 - - [2026-11-21T02:16:39+00:00] \"GET / HTTP/2.0\" 304 0".into(),
                expected(1_795_227_399_000, "/", 304),
            ),
            (common.replace("/a?b=c", "/\\x22a\\\\"), expected(1_795_227_399_000, "/\"a\\", 200)),
            (
                common.replace("/a?b=c HTTP/1.1", "http://other/x#top HTTP/1.1"),
                expected(1_795_227_399_000, "/x", 200),
            ),
            (common.replace("/a?b=c HTTP/1.1", "/old"), expected(1_795_227_399_000, "/old", 200)),
            (common.replace(" - anna ", " - [odd] "), expected(1_795_227_399_000, "/a?b=c", 200)),
        ] {
            assert_eq!(of(&line), wanted, "{line}");
        }
    }

    #[test]
    fn what_is_none_is_said() {
        for (line, why) in [
            ("", Unread::Time),
            ("x [yesterday] \"GET / HTTP/1.1\" 200 1", Unread::Time),
            ("x [21/Nov/2026:03:16:39 +0100] GET / 200", Unread::Request),
            ("x [21/Nov/2026:03:16:39 +0100] \"-\" 408 0", Unread::Request),
            ("x [21/Nov/2026:03:16:39 +0100] \"\\x16\\x03\\x01\" 400 0", Unread::Request),
            ("x [21/Nov/2026:03:16:39 +0100] \"OPTIONS * HTTP/1.0\" 200 0", Unread::Request),
            ("x [21/Nov/2026:03:16:39 +0100] \"GET /a b HTTP/1.0\" 200 0", Unread::Request),
            ("x [21/Nov/2026:03:16:39 +0100] \"GET / HTTP/1.1\" - 0", Unread::Status),
            ("x [21/Nov/2026:03:16:39 +0100] \"GET / HTTP/1.1", Unread::Request),
        ] {
            assert_eq!(read(line), Err(why), "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_not(text in "(\\PC|\\[|\\]|\"|\\\\x?|21/Nov/2026:03:16:39 \\+0100|GET / HTTP/1.1| 200 ){0,20}") {
            if let Ok(line) = read(&text) {
                prop_assert!(line.target.starts_with('/') && !line.target.contains([' ', '#']));
            }
        }
    }
}
