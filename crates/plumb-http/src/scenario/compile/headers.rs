//! The headers of requests: which can be given, and which of several levels holds.

use plumb_scenario::file::Pairs;

use crate::request::is_token;

/// The header lines of all `levels`: of one name the last, in the place of the first.
pub(crate) fn last_of_each<'p>(
    levels: impl IntoIterator<Item = &'p Pairs>,
) -> Vec<(&'p str, &'p str)> {
    let mut lines: Vec<(&str, &str)> = Vec::new();
    for (name, value) in levels.into_iter().flatten() {
        match lines.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, known)) => *known = value,
            None => lines.push((name, value)),
        }
    }
    lines
}

/// Why a header cannot be given.
pub(crate) fn header_problem(name: &str) -> Option<&'static str> {
    if !is_token(name) {
        return Some("that is no name of a header");
    }
    match name.to_ascii_lowercase().as_str() {
        "content-length" | "transfer-encoding" => Some("the content says it: leave it out"),
        "host" => Some("base and hosts say it: leave it out"),
        "cookie" => Some("cookies that the server gives are sent by themselves: leave it out"),
        "proxy-authorization" => {
            Some("give PLUMB_PROXY_USER and PLUMB_PROXY_PASSWORD in the environment")
        }
        "expect" => Some("the content is sent at once: leave it out"),
        _ => None,
    }
}
