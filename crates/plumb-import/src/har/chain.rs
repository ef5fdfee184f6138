//! Redirects of a recording: a request and those to which its answer led are one step, which follows
//! them again.

use plumb_scenario::file::Redirects;
use plumb_scenario::har::Entry;
use plumb_wire::http::Url;

use super::headers::header;
use super::read::Seen;

/// Puts each request of `seen` into the one whose answer led to it. They stand in the order of their
/// beginnings.
pub(super) fn follow(seen: &mut Vec<Seen<'_>>) {
    let most = usize::from(Redirects::default().most());
    let mut at = 0;
    while at < seen.len() {
        while seen[at].hops.len() < most
            && let Some((url, method)) = leads_to(&seen[at])
            && let Some(next) = next(seen, at, &url, &method)
        {
            let hop = seen.remove(next);
            // in front of a hop nobody thought: see below
            seen[next - 1].think_ms = hop.think_ms;
            let first = &mut seen[at];
            first.hops.push(hop.entry);
            first.reached = hop.url;
            first.end_ns = first.end_ns.max(hop.end_ns);
        }
        at += 1;
    }
}

/// Where the last answer of `one` leads, and with which method, as browsers do.
///
/// # Source
/// RFC 9110, section 15.4; WHATWG Fetch, section 4.4.
fn leads_to(one: &Seen<'_>) -> Option<(Url, String)> {
    let entry = one.last();
    let (response, method) = (&entry.response, entry.request.method.as_str());
    let method = match response.status {
        301 | 302 if method == "POST" => "GET",
        303 if method != "HEAD" => "GET",
        301 | 302 | 303 | 307 | 308 => method,
        _ => return None,
    };
    let location = match response.redirect_url.as_str() {
        "" => header(&response.headers, "location")?,
        told => told,
    };
    Some((one.reached.join(location).ok()?, method.to_owned()))
}

/// The first request behind `at` that begins where the answer to it ends, and asks for `url`.
fn next(seen: &[Seen<'_>], at: usize, url: &Url, method: &str) -> Option<usize> {
    let behind = (at + 1..seen.len()).take_while(|next| are_at_once(&seen[at..*next]));
    behind.into_iter().find(|next| asks(&seen[*next], url, method))
}

/// True when the answer to a request before the one at `at` led to it.
pub(super) fn is_led_to(seen: &[Seen<'_>], at: usize) -> bool {
    let before = (0..at).rev().take_while(|before| are_at_once(&seen[*before..at]));
    before
        .filter_map(|before| leads_to(&seen[before]))
        .any(|(url, method)| asks(&seen[at], &url, &method))
}

/// True when nobody thought behind any of `seen`: a person who comes back to an address later was not
/// led there.
fn are_at_once(seen: &[Seen<'_>]) -> bool {
    seen.iter().all(|one| one.think_ms == 0)
}

fn asks(one: &Seen<'_>, url: &Url, method: &str) -> bool {
    one.url == *url && one.entry.request.method == method
}

/// What is said above a step that is led on: to where.
pub(super) fn remark(one: &Seen<'_>) -> Option<String> {
    let ways: Vec<String> = one.hops.iter().map(|entry| place(entry)).collect();
    (!ways.is_empty()).then(|| format!("led on to {}", ways.join(", ")))
}

/// The address of an entry without what it asks for.
fn place(entry: &Entry) -> String {
    let url = super::shown::without_user(&entry.request.url);
    url.split(['?', '#']).next().unwrap_or_default().to_owned()
}
