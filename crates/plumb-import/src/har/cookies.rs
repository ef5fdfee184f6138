//! Cookies of a recording: their names, never their values.

use std::collections::BTreeSet;

use plumb_draft::note::Place;
use plumb_scenario::har::Entry;

use super::convert::Importer;
use super::read::Seen;

impl Importer<'_> {
    /// Cookies from before the recording: the users of the scenario begin without them.
    pub(super) fn name_old_cookies(&mut self, seen: &[Seen<'_>]) {
        let mut set = BTreeSet::new();
        let mut named = BTreeSet::new();
        let entries = seen.iter().flat_map(|one| one.entries().map(|entry| (one.number, entry)));
        for (number, entry) in entries {
            for name in cookies_sent(entry) {
                if !set.contains(&name) && named.insert(name.clone()) {
                    let why = "it was there before the recording; users begin without cookies";
                    let what = format!("cookie {}", name.escape_debug());
                    self.draft.notes.add(Place::Entry(number), what, why);
                }
            }
            set.extend(cookies_set(entry));
        }
    }
}

fn cookies_sent(entry: &Entry) -> Vec<String> {
    let lines = entry.request.headers.iter().filter(|p| p.name.eq_ignore_ascii_case("cookie"));
    let in_headers = lines
        .flat_map(|pair| pair.value.split(';'))
        .filter_map(|cookie| cookie.split_once('=').map(|(name, _)| name.trim().to_owned()));
    in_headers.chain(entry.request.cookies.iter().map(|cookie| cookie.name.clone())).collect()
}

fn cookies_set(entry: &Entry) -> Vec<String> {
    let lines = entry.response.headers.iter();
    let in_headers = lines
        .filter(|pair| pair.name.eq_ignore_ascii_case("set-cookie"))
        .flat_map(|pair| pair.value.lines())
        .filter_map(|line| line.split_once('=').map(|(name, _)| name.trim().to_owned()));
    in_headers.chain(entry.response.cookies.iter().map(|cookie| cookie.name.clone())).collect()
}
