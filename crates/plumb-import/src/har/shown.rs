//! How notes name requests: without what is secret in an address.

use super::read::Seen;

/// A request in words, without its query.
pub(super) fn what(one: &Seen<'_>) -> String {
    shown(&one.entry.request.method, &one.entry.request.url)
}

/// A request of `method` for `url` in words.
pub(super) fn shown(method: &str, url: &str) -> String {
    let url = without_user(url);
    let short: String =
        url.split(['?', '#']).next().unwrap_or_default().chars().take(100).collect();
    format!("{} {short}", method.escape_debug())
}

/// A URL without `USER:PASSWORD@`.
pub(super) fn without_user(url: &str) -> String {
    match split(url) {
        Some((scheme, _, rest)) => format!("{scheme}://{rest}"),
        None => url.to_owned(),
    }
}

/// What stands in front of the `@` of a URL.
pub(super) fn user_in(url: &str) -> Option<&str> {
    split(url).map(|(_, user, _)| user).filter(|user| !user.is_empty())
}

/// The scheme of a URL, its user, and what stands behind them; `None` for one without a user.
fn split(url: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let at = rest[..end].rfind('@')?;
    Some((scheme, &rest[..at], &rest[at + 1..]))
}
