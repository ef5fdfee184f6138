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
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => url.to_owned(),
    }
}
