//! Who asks: credentials for `base`, or a token as a variable.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plumb_draft::Login;
use plumb_draft::note::Place;
use plumb_draft::template::literal;
use plumb_scenario::har::Pair;
use plumb_wire::http::Url;
use plumb_wire::percent::decoded;
use plumb_wire::secret::MASK;

use super::convert::Importer;
use super::headers::header;
use super::read::Seen;
use super::shown::user_in;

const HEADER: &str = "authorization";

impl Importer<'_> {
    /// The header `pair`, as it is sent; of Basic nothing, as the scenario has `credentials`.
    pub(super) fn authorization(
        &mut self,
        one: &Seen<'_>,
        at_base: bool,
        pair: &Pair,
    ) -> Option<(String, String)> {
        let (scheme, secret) = scheme(&pair.value);
        match scheme.to_ascii_lowercase().as_str() {
            "basic" => self.basic(one, at_base, ("header Authorization", login(secret))),
            "bearer" => {
                let token = self.secrets.template("token", secret.trim(), "");
                return Some((pair.name.clone(), format!("{} {token}", literal(scheme))));
            }
            _ => {
                let why = "only Basic and Bearer are sent";
                self.draft.notes.add(Place::Entry(one.number), "header Authorization", why);
            }
        }
        None
    }

    /// Takes the user and the password in an address (`http://USER:PASSWORD@HOST`), which stand for those of
    /// Basic, where no header says who asks.
    pub(super) fn user_of_address(&mut self, one: &Seen<'_>, at_base: bool) {
        let request = &one.entry.request;
        let Some(written) = user_in(&request.url) else { return };
        if header(&request.headers, HEADER).is_some() {
            return;
        }
        let (user, password) = written.split_once(':').unwrap_or((written, ""));
        let login = decoded(user).zip(decoded(password));
        let login = login.filter(|_| password != MASK);
        let login = login.and_then(|(user, password)| Login::new(&user, &password));
        self.basic(one, at_base, ("user in the address", login));
    }

    /// Has the scenario ask as `login`, which `what` says; `None`: as somebody who cannot be read there.
    fn basic(&mut self, one: &Seen<'_>, at_base: bool, (what, login): (&str, Option<Login>)) {
        let place = Place::Entry(one.number);
        if !at_base {
            let why = "credentials go to `base` alone; add the header where they are meant";
            self.draft.notes.add(place, what, why);
            return;
        }
        let login = login.unwrap_or_else(Login::hidden);
        match &self.draft.login {
            Some(known) if *known == login || login.is_hidden() => {}
            Some(known) if !known.is_hidden() => {
                self.draft.notes.add(place, what, "another user than before");
            }
            None | Some(_) => self.draft.login = Some(login),
        }
    }
}

/// True where a user of the scenario says with the request of `one` who it is, too.
pub(super) fn is_carried(one: &Seen<'_>, base: &Url) -> bool {
    let value = header(&one.entry.request.headers, HEADER);
    value.is_some_and(|value| match scheme(value).0.to_ascii_lowercase().as_str() {
        "basic" => one.url.same_origin(base),
        scheme => scheme == "bearer",
    })
}

fn scheme(value: &str) -> (&str, &str) {
    value.trim().split_once(' ').unwrap_or((value, ""))
}

fn login(encoded: &str) -> Option<Login> {
    let text = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    Login::new(user, password)
}

#[cfg(test)]
mod tests {
    use plumb_draft::{Draft, Source};

    use crate::ImportOptions;
    use crate::har;

    /// The draft of requests for `/` at these addresses, with these headers and statuses.
    fn drafted(entries: &[(&str, &str, u16)]) -> Draft {
        let entry = |(second, (url, authorization, status)): (usize, &(&str, &str, u16))| {
            let headers = match *authorization {
                "" => serde_json::json!([]),
                value => serde_json::json!([{"name": "Authorization", "value": value}]),
            };
            serde_json::json!({
                "startedDateTime": format!("2026-03-02T09:00:{second:02}Z"),
                "time": 1,
                "request": {"method": "GET", "url": url, "headers": headers},
                "response": {"status": status, "content": {}},
                "timings": {"send": 0, "wait": 0, "receive": 0},
            })
        };
        let entries: Vec<_> = entries.iter().enumerate().map(entry).collect();
        let creator = serde_json::json!({"name": "t", "version": "1"});
        let har =
            serde_json::json!({"log": {"version": "1.2", "creator": creator, "entries": entries}});
        let source = Source { path: "a.har".into(), text: har.to_string() };
        har::import(&source, &ImportOptions::of("a.har")).unwrap_or_else(|error| panic!("{error}"))
    }

    fn notes(draft: &Draft) -> Vec<String> {
        draft.notes.sorted().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_masked_user_has_credentials_to_be_filled_in() {
        let draft = drafted(&[
            ("http://h/", "", 401),
            ("http://h/", "Basic MASKED", 200),
            ("http://h/", "Basic MASKED", 200),
        ]);
        assert!(draft.login.as_ref().is_some_and(plumb_draft::Login::is_hidden));
        assert_eq!(draft.notes.changes(), 0, "{:?}", notes(&draft));
        assert_eq!(draft.file.scenario[0].step.len(), 2, "the challenge has no part in it");
    }

    #[test]
    fn a_user_who_is_written_out_counts_more_than_a_masked_one() {
        let draft = drafted(&[
            ("http://h/", "Basic MASKED", 200),
            ("http://h/", "Basic Ym9iOnB3", 200),
            ("http://h/", "Basic YW5uOnB3", 200),
        ]);
        assert_eq!(draft.login.as_ref().map(|login| login.user.as_str()), Some("bob"));
        assert_eq!(notes(&draft), ["entry 3: header Authorization: another user than before"]);
    }

    #[test]
    fn a_user_in_an_address_asks_as_one_of_basic() {
        let draft = drafted(&[("http://bob:p%40w@h/", "", 200)]);
        let login = draft.login.as_ref().unwrap();
        assert_eq!((login.user.as_str(), login.password.as_str()), ("bob", "p@w"));
        assert!(drafted(&[("http://bob@h/", "", 200)]).login.is_some());
        let told = drafted(&[("http://bob:pw@h/", "Basic YW5uOnB3", 200)]);
        assert_eq!(told.login.map(|login| login.user).as_deref(), Some("ann"));
    }

    #[test]
    fn a_challenge_stays_where_nobody_answers_it_in_the_load() {
        let draft = drafted(&[("http://h/", "", 401), ("http://h/", "NTLM abc", 200)]);
        assert_eq!(draft.file.scenario[0].step.len(), 2);
        assert!(draft.login.is_none());
    }
}
