//! Redirects of a recording: a request and those to which its answer led are one step, which follows
//! them again.

use std::collections::BTreeSet;

use plumb_draft::origin::base_of;
use plumb_scenario::answer::path_of;
use plumb_scenario::file::Redirects;
use plumb_scenario::har::Entry;
use plumb_wire::http::Url;

use super::headers::header;
use super::read::Seen;
use super::timeline::remove;
use crate::path_part::{opened, shape};

/// Puts each request of `seen` into the one whose answer led to it. They stand in the order of their
/// beginnings. Of redirects whose end was not recorded each stays what it was: a step that expects a
/// redirect follows none.
pub(super) fn follow(seen: &mut Vec<Seen<'_>>) {
    let mut asked = BTreeSet::new();
    let mut at = 0;
    while at < seen.len() {
        asked.extend(path_of(seen[at].url.target()).split('/').map(str::to_owned));
        let mut way = way(seen, at).unwrap_or_default();
        for hop in &way {
            let (entry, url, end_ns) =
                (seen[*hop].entry, seen[*hop].url.clone(), seen[*hop].end_ns);
            let first = &mut seen[at];
            first.hops.push(entry);
            first.reached = url;
            first.end_ns = first.end_ns.max(end_ns);
            first.end = pattern(&first.reached, &asked);
        }
        way.sort_unstable();
        way.iter().rev().for_each(|hop| remove(seen, *hop));
        at += 1;
    }
}

/// The requests to which the answer to the one at `at` led, one after the other; `None` where the last of
/// them led to one that is not there or cannot be asked for, or there are more than a step follows.
fn way(seen: &[Seen<'_>], at: usize) -> Option<Vec<usize>> {
    let mut way: Vec<usize> = Vec::new();
    while let Some((url, method)) = leads_to(&seen[way.last().copied().unwrap_or(at)]) {
        let is_new = |next: &usize| !way.contains(next);
        let next = (at + 1..seen.len())
            .take_while(|next| are_at_once(&seen[at..*next]))
            .filter(is_new)
            .find(|next| asks(&seen[*next], &url, &method))?;
        way.push(next);
        if way.len() > usize::from(Redirects::MOST.most()) {
            return None;
        }
    }
    let last = seen[way.last().copied().unwrap_or(at)].last();
    method_behind(last).is_none().then_some(way)
}

/// The method with which browsers follow the answer of `entry`, where it is a redirect.
///
/// # Source
/// RFC 9110, section 15.4; WHATWG Fetch, section 4.4.
fn method_behind(entry: &Entry) -> Option<&str> {
    let method = entry.request.method.as_str();
    match entry.response.status {
        301 | 302 if method == "POST" => Some("GET"),
        303 if method != "HEAD" => Some("GET"),
        301 | 302 | 303 | 307 | 308 => Some(method),
        _ => None,
    }
}

/// Where the last answer of `one` leads, and with which method; `None` where it leads nowhere, or to what
/// cannot be asked for over HTTP.
fn leads_to(one: &Seen<'_>) -> Option<(Url, String)> {
    let entry = one.last();
    let response = &entry.response;
    let method = method_behind(entry)?;
    let location = match response.redirect_url.as_str() {
        "" => header(&response.headers, "location")?,
        told => told,
    };
    Some((one.reached.join(location).ok()?, method.to_owned()))
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

/// How many redirects a step follows; `None` where none was followed, as the file says.
pub(super) fn redirects(one: &Seen<'_>) -> Option<Redirects> {
    (!one.hops.is_empty()).then(|| Redirects::at_most(one.hops.len() as u64))
}

/// The path of `end`, in which parts that may be other ones the next time, such as the number of what was
/// made, are open. What is among the parts that were `asked` for before is nothing new, unless it is
/// plainly a number or a key.
fn pattern(end: &Url, asked: &BTreeSet<String>) -> String {
    let part = |part: &str| match shape(part) {
        shape if shape == part && !asked.contains(part) => opened(part),
        shape => shape,
    };
    path_of(end.target()).split('/').map(part).collect::<Vec<_>>().join("/")
}

/// The address at which redirects must end, of a server that is not `base` with that.
pub(super) fn end(one: &Seen<'_>, base: &Url) -> Option<String> {
    let end = one.hops.last().map(|_| &one.reached)?;
    Some(if end.same_origin(base) { one.end.clone() } else { base_of(end) + &one.end })
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
