//! What of a recording is asked for again.

use std::collections::{BTreeMap, BTreeSet};

use plumb_draft::note::Place;
use plumb_draft::origin::{base_of, server_in_step};
use plumb_scenario::har::{Entry, Har, Response};
use plumb_wire::http::Url;

use super::authorization::is_carried;
use super::chain::is_led_to;
use super::convert::Importer;
use super::headers::header;
use super::parts::is_static;
use super::read::{Seen, times};
use super::shown::{shown, what, without_user};
use super::timeline::{keep, remove};
use crate::counted;

impl Importer<'_> {
    /// An entry that can be asked for again; one that cannot is named.
    pub(super) fn seen<'e>(
        &mut self,
        number: usize,
        entry: &'e Entry,
    ) -> Result<Option<Seen<'e>>, String> {
        let times = times(entry).map_err(|cause| format!("entry {number}: {cause}"))?;
        let request = &entry.request;
        let what = shown(&request.method, &request.url);
        let refused = match Url::parse(&without_user(&request.url)) {
            Err(_) => Some("its address is not asked for over HTTP"),
            Ok(_) if request.method.eq_ignore_ascii_case("CONNECT") => Some("it opened a tunnel"),
            Ok(_) if entry.response.status == 101 => Some("it became another protocol"),
            Ok(_) if !(100..1000).contains(&entry.response.status) => Some("no answer came"),
            Ok(_) if !is_method(&request.method) => Some("its method cannot be sent"),
            Ok(url) => return Ok(Some(Seen::new((number, entry), url, times))),
        };
        if let Some(why) = refused {
            self.draft.notes.add(Place::Entry(number), what, why);
        }
        Ok(None)
    }

    /// Leaves out redirects that the browser made itself. One to which an answer led stays: the load is
    /// led there, too, and asks.
    pub(super) fn leave_internal_out(&mut self, seen: &mut Vec<Seen<'_>>) {
        let mut at = 0;
        while at < seen.len() {
            let one = &seen[at];
            let (place, said) = (Place::Entry(one.number), what(one));
            if !is_internal(&one.entry.response) {
                at += 1;
            } else if is_led_to(seen, at) {
                let why = "the browser led on by itself, where the load asks the server";
                self.draft.notes.add(place, said, why);
                at += 1;
            } else {
                let said = format!("{said}: the browser led on by itself, and asked no server");
                self.draft.notes.add_no_part(place, said);
                remove(seen, at);
            }
        }
    }

    /// Leaves out what the browser took out of its cache. One to which an answer led stays: the load is
    /// led there, too, and asks.
    pub(super) fn leave_cached_out(&mut self, har: &Har, seen: &mut Vec<Seen<'_>>) {
        let came = |entry: &Entry| entry.response.transfer_size.is_some_and(|bytes| bytes > 0);
        let sizes = match har.log.entries.iter().any(came) {
            true => TransferSizes::Told,
            false => TransferSizes::NotTold,
        };
        let (mut at, mut left) = (0, 0);
        while at < seen.len() {
            let one = &seen[at];
            if is_internal(&one.entry.response) || !is_cached(one.entry, sizes) {
                at += 1;
            } else if is_led_to(seen, at) {
                let why = "the browser had it in its cache, where the load asks the server";
                self.draft.notes.add(Place::Entry(one.number), what(one), why);
                at += 1;
            } else {
                remove(seen, at);
                left += 1;
            }
        }
        if left > 0 {
            let left = counted(left, "request");
            let what = format!("{left} that the browser answered out of its cache (--keep-cached)");
            self.draft.notes.add_no_part(Place::File, what);
        }
    }

    /// Leaves out what servers were asked that are neither `base` nor one of `hosts`, and names each
    /// server once.
    pub(super) fn keep_hosts(&mut self, seen: &mut Vec<Seen<'_>>, base: &Url, hosts: &[Url]) {
        let mut others: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        keep(seen, |one| {
            let kept = server_in_step(&one.url, base, hosts).is_some();
            if !kept {
                others.entry(base_of(&one.url)).or_insert((one.number, 0)).1 += 1;
            }
            kept
        });
        let why = match self.options.one_server {
            true => "--one-server",
            false => "a load goes to 64 servers at most",
        };
        for (origin, (first, times)) in others {
            let why = format!("{} to another server; {why}", counted(times, "request"));
            self.draft.notes.add(Place::Entry(first), origin, why);
        }
    }

    /// Leaves out the first half of a challenge whose second is carried over: who asks is told with the first
    /// request.
    pub(super) fn leave_challenges_out(&mut self, seen: &mut Vec<Seen<'_>>, base: &Url) {
        let answered: BTreeSet<(String, String)> = seen
            .iter()
            .filter(|one| is_carried(one, base))
            .map(|one| (one.entry.request.method.clone(), one.url.to_string()))
            .collect();
        let notes = &mut self.draft.notes;
        keep(seen, |one| {
            let request = &one.entry.request;
            let challenge = one.entry.response.status == 401
                && header(&request.headers, "authorization").is_none()
                && answered.contains(&(request.method.clone(), one.url.to_string()));
            if challenge {
                let why = "the server asked who it is; users say so with the first request";
                notes.add_no_part(Place::Entry(one.number), format!("{}: {why}", what(one)));
            }
            !challenge
        });
    }

    pub(super) fn leave_static_out(&mut self, seen: &mut Vec<Seen<'_>>) {
        let before = seen.len();
        keep(seen, |one| !is_static(one));
        if before > seen.len() {
            let left = counted(before - seen.len(), "static file");
            self.draft.notes.add_no_part(Place::File, format!("{left} (--drop-static)"));
        }
    }
}

/// Whether a recording says how much came over the network. A writer that does not know may say 0 of
/// everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransferSizes {
    Told,
    NotTold,
}

/// True of an answer that came out of a cache of the browser, with nothing over the network: not even a
/// head, as when a server says that nothing has changed. Chromium tells size 0, too, of preflights and of
/// answers that it keeps from the page.
///
/// # Source
/// Chromium DevTools, `HARWriter` (`_fromCache`, `_transferSize`, `_error`); Playwright, `harTracer`.
fn is_cached(entry: &Entry, sizes: TransferSizes) -> bool {
    let may_be = ["GET", "HEAD"].contains(&entry.request.method.as_str()) && !entry.response.failed;
    match (entry.response.transfer_size, sizes) {
        (Some(1..), _) => false,
        (Some(0), TransferSizes::Told) if may_be => true,
        _ => entry.from_cache,
    }
}

/// True of a redirect that the browser made itself, as it knew that the server wants HTTPS, or an
/// extension asked for it.
///
/// # Source
/// Chromium, `net::RedirectUtil::SynthesizeRedirectHeaders`.
fn is_internal(response: &Response) -> bool {
    let is_said = header(&response.headers, "non-authoritative-reason").is_some()
        || response.status_text.eq_ignore_ascii_case("Internal Redirect");
    response.status == 307 && is_said
}

fn is_method(method: &str) -> bool {
    !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase())
}
