//! Requests: where they go, what they send, what holds for them.

use std::collections::{BTreeMap, BTreeSet};

use plumb_draft::DraftStep;
use plumb_draft::body::masked_target_template;
use plumb_draft::header::{is_left_out, is_sendable};
use plumb_draft::origin::{elsewhere, server_in_step};
use plumb_scenario::extract::Extractor;
use plumb_scenario::file::placed;
use plumb_scenario::file::{Check, Extract, Pairs, Redirects, Step, Think};
use plumb_scenario::placeholder::{Piece, pieces};
use plumb_scenario::variables::Names;
use plumb_wire::http::Url;
use plumb_wire::secret::is_secret;

use super::arguments::{Letters, has_form, is_raw};
use super::element::Element;
use super::scope::{Role, Scope, role};
use super::upload::{BODIES, is_form, unsendable, whole_file};
use super::{Importer, TimeLimit, assertion, extractor, timer};

/// Switches of a request that have no equivalent, with what they would do.
const SWITCHES: [(&str, &str); 2] = [
    ("HTTPSampler.md5", "no checksum is made of the answer"),
    ("HTTPSampler.monitor", "nothing is monitored"),
];
/// Properties of a request that have no equivalent when they hold something.
const SETTINGS: [(&str, &str); 2] = [
    ("HTTPSampler.proxyHost", "a proxy is an option of the load"),
    ("HTTPSampler.ipSource", "the source address is not chosen"),
];

/// The content types that JMeter gives a form, and a body that is written out; their charset is that of
/// the request.
const FORM: &str = "application/x-www-form-urlencoded";
const TEXT: &str = "text/plain";
/// Methods whose arguments are the query, unless the path is a whole address; those of others that have
/// no body are not sent.
const QUERIES: [&str; 3] = ["GET", "DELETE", "OPTIONS"];

/// The server of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Server {
    /// It is known before the load.
    Known(Url),
    /// It is named by what only the load knows.
    Later(String),
    /// None is named.
    Unnamed,
}

impl Importer {
    /// The step of a request with the wait in front of it; `None` when it goes elsewhere. `outer`
    /// is the scope of what stands beside it.
    pub(super) fn request<'a>(
        &mut self,
        request: &Element<'a>,
        outer: &Scope<'a>,
    ) -> Option<(DraftStep, Option<Think>)> {
        self.words.begin_request();
        let below = request.below();
        let scope = outer.with(&below);
        let server = self.server_in_step(request, &scope)?;
        let Some(method) = self.method(request, &scope) else {
            let why = "its method is not known before the load, or cannot be sent; it is left out";
            self.draft.notes.add(request.place(), request.what(), why);
            return None;
        };
        if let Some(why) = unsendable(request, &method) {
            // a request without what it uploads would be answered, and measure something else
            self.draft.notes.add(request.place(), request.what(), why);
            return None;
        }
        let letters = self.letters(request, &scope);
        if let Some(why) = self.unsendable_letters(request, &method, &letters) {
            self.draft.notes.add(request.place(), request.what(), why);
            return None;
        }
        self.name_below(request, &below);
        let set = self.configured(&below);
        self.name_settings(request, &scope);
        if server.is_empty() {
            self.name_outside(request, &scope);
        }
        let mut step = self.addressed(request, &scope, (method, &letters), &server);
        let kind = step.headers.remove("Content-Type").or_else(|| {
            let kind = if has_form(request) { FORM } else { TEXT };
            step.body.is_some().then(|| format!("{kind}; charset={}", letters.name()))
        });
        step.headers = self.headers(&scope, kind);
        if !step.parts.is_empty() {
            // their boundary is made with them
            step.headers.retain(|name, _| !name.eq_ignore_ascii_case("content-type"));
        }
        let (check, redirects) = self.check(request, &scope);
        step.redirects = redirects;
        step.resources = self.resources(request, &scope).map(placed);
        step.check = (check != Check::default()).then(|| placed(check));
        step.extract = self.extracts(&scope).into_iter().map(placed).collect();
        step.set = set;
        step.set.extend(self.words.take_stored());
        self.set.extend(step.set.keys().cloned());
        let wait = timer::wait(&scope.timers, &self.words, &mut self.draft.notes);
        let mut draft = DraftStep::around(step, Vec::new());
        draft.remarks.push(request.remark());
        Some((draft, wait))
    }

    /// What stands in front of the path of a request: nothing for one to `base`, the server for one to
    /// another. `None` for a request to one that is left out, which is named.
    fn server_in_step(&mut self, request: &Element<'_>, scope: &Scope<'_>) -> Option<String> {
        let (why, server) = match (self.server(request, scope), &self.base) {
            (Server::Known(url), Some(base)) => match server_in_step(&url, base, &self.hosts) {
                None => (elsewhere(&url), None),
                found => return found,
            },
            (Server::Later(text), _) => (
                format!("its server `{text}` is not known before the load; it goes to `base`"),
                Some(String::new()),
            ),
            (Server::Known(_) | Server::Unnamed, _) => return Some(String::new()),
        };
        self.draft.notes.add(request.place(), request.what(), why);
        server
    }

    /// The server of a request.
    pub(super) fn server(&self, request: &Element<'_>, scope: &Scope<'_>) -> Server {
        let property = |name: &str| scope.property(request, &format!("HTTPSampler.{name}"));
        let path = property("path");
        let text = match whole_address(path) {
            Some((server, _)) => server.to_owned(),
            None if property("domain").trim().is_empty() => return Server::Unnamed,
            None => {
                let scheme = match property("protocol").trim() {
                    "" => "http",
                    scheme => scheme,
                };
                let port = match property("port").trim() {
                    "" | "0" => String::new(),
                    port => format!(":{port}"),
                };
                format!("{scheme}://{}{port}", property("domain").trim())
            }
        };
        let known = self.words.known(&text);
        match known.as_deref().map(Url::parse) {
            Some(Ok(url)) => Server::Known(url),
            _ => Server::Later(without_user(&text)),
        }
    }

    /// Names what stands below a request and cannot hold for it alone.
    fn name_below(&mut self, request: &Element<'_>, below: &[Element<'_>]) {
        for element in below {
            match role(element) {
                Role::Cookies | Role::Logins | Role::Data | Role::Pacing => {
                    let why = format!("it cannot hold for {} alone", request.what());
                    self.draft.notes.add(element.place(), element.what(), why);
                }
                Role::Request
                | Role::Controller
                | Role::Action
                | Role::Group
                | Role::Setup
                | Role::Teardown => {
                    let why = "it stands below a request, where JMeter does not run it";
                    self.draft
                        .notes
                        .add_no_part(element.place(), format!("{}: {why}", element.what()));
                }
                _ => self.beside(element),
            }
        }
    }

    fn name_settings(&mut self, request: &Element<'_>, scope: &Scope<'_>) {
        let mut lost = Vec::new();
        for (name, why) in SWITCHES {
            if scope.property(request, name).trim() == "true" {
                lost.push(why);
            }
        }
        for (name, why) in SETTINGS {
            if !scope.property(request, name).trim().is_empty() {
                lost.push(why);
            }
        }
        let keeps = self.words.known(scope.property(request, "HTTPSampler.use_keepalive"));
        if keeps.is_some_and(|keeps| keeps.trim() == "true") {
            self.kept_alive += 1;
        } else {
            // where nothing is said, too
            self.closed.push((request.place(), request.what()));
        }
        if scope.defaults.iter().any(|defaults| !defaults.arguments().is_empty()) {
            lost.push("arguments of the defaults are not added");
        }
        for why in lost {
            self.draft.notes.add(request.place(), request.what(), why);
        }
        for (limit, name) in
            [(TimeLimit::Connect, "connect_timeout"), (TimeLimit::Answer, "response_timeout")]
        {
            let text = scope.property(request, &format!("HTTPSampler.{name}"));
            let ms = self.words.known(text).and_then(|text| text.trim().parse().ok());
            if let Some(ms @ 1..) = ms {
                self.timeouts.push((limit, ms, request.place()));
            }
        }
    }

    /// The method, where it is one that is sent.
    fn method(&self, request: &Element<'_>, scope: &Scope<'_>) -> Option<String> {
        let known = self.words.known(scope.property(request, "HTTPSampler.method"))?;
        match known.trim().to_ascii_uppercase() {
            empty if empty.is_empty() => Some("GET".into()),
            tunnel if tunnel == "CONNECT" => None,
            method => Some(method).filter(|text| text.bytes().all(|b| b.is_ascii_uppercase())),
        }
    }

    /// Method, server, path with query, and body.
    fn addressed(
        &mut self,
        request: &Element<'_>,
        scope: &Scope<'_>,
        (method, letters): (String, &Letters),
        server: &str,
    ) -> Step {
        let (holder, path) = scope.given(request, "HTTPSampler.path");
        let whole = whole_address(path);
        let path = whole.map_or(path.trim(), |(_, path)| path);
        if has_dots(path) {
            let why = "JMeter sends the `.` or `..` in its path as it is; here it is resolved";
            self.draft.notes.add(request.place(), request.what(), why);
        }
        let target = self.words.template(path, &holder, &mut self.draft.notes);
        let target = without_empty_parts(&target);
        let mut target = masked_target_template(&target, &mut self.secrets);
        let begins_with_variable = target.starts_with("${");
        if !target.starts_with('/') && (!begins_with_variable || !server.is_empty()) {
            target.insert(0, '/');
        }
        if begins_with_variable && !server.is_empty() {
            let why =
                "its path begins with a variable; a `/` stands in front of it, behind the server";
            self.draft.notes.add(request.place(), request.what(), why);
        }
        target.insert_str(0, server);
        let has_body = is_raw(request, &method) || BODIES.contains(&method.as_str());
        let mut step =
            Step { name: Some(placed(self.row(request, &method, path))), ..Step::default() };
        if has_body && is_form(request) {
            step.parts = self.parts(request);
        } else if let Some((file, kind)) = whole_file(request).filter(|_| has_body) {
            step.body_file = Some(placed(file));
            if !kind.is_empty() {
                step.headers.insert("Content-Type".into(), kind);
            }
        } else if has_body {
            step.body = self.body(request, letters).map(placed);
        } else if QUERIES.contains(&method.as_str()) && whole.is_none() {
            target += &self.query(request, &method, letters, &target);
        }
        if method == "GET" && step.body.is_none() {
            step.get = Some(placed(target));
        } else {
            step.path = Some(placed(target));
            let has_content =
                step.body.is_some() || step.body_file.is_some() || !step.parts.is_empty();
            let usual = method == "POST" && has_content;
            step.method = (!usual).then(|| placed(method));
        }
        step
    }

    fn row(&mut self, request: &Element<'_>, method: &str, path: &str) -> String {
        match request.name().trim() {
            "" => self.labels.of_request(method, path),
            name => self.labels.unique(name),
        }
    }

    /// The headers of all managers in scope, the nearest last; `kind` is the content type unless one of
    /// them says it.
    fn headers(&mut self, scope: &Scope<'_>, kind: Option<String>) -> Pairs {
        let mut found: BTreeMap<String, (String, String)> = BTreeMap::new();
        for manager in &scope.headers {
            let mut own = BTreeSet::new();
            for header in manager.members("HeaderManager.headers") {
                let name = header.text("Header.name").trim();
                let written = header.text("Header.value");
                let value = self.words.template(written, manager, &mut self.draft.notes);
                let plain = name.to_ascii_lowercase();
                if name.is_empty() && value.is_empty() {
                    continue; // an empty line of the window
                }
                if !own.insert(plain.clone()) {
                    let why = format!("its header {name} is sent as often as it stands; here once");
                    self.draft.notes.add(manager.place(), manager.what(), why);
                }
                if !is_sendable(name, &value) {
                    let what = format!("the header `{name}` of {}", manager.what());
                    self.draft.notes.add(manager.place(), what, "it cannot be sent");
                } else if plain == "authorization" && !value.contains("${") {
                    let scheme = value.split(' ').next().unwrap_or_default().to_owned();
                    let secret = value.get(scheme.len()..).unwrap_or_default().trim().to_owned();
                    let value = self.secrets.template("authorization", &secret, "");
                    found.insert(plain, (name.to_owned(), format!("{scheme} {value}")));
                } else if plain == "connection" && value.eq_ignore_ascii_case("keep-alive") {
                    let what = format!("the header {name} of {}", manager.what());
                    self.draft.notes.add_no_part(manager.place(), what);
                } else if is_left_out(&plain) && plain != "authorization" {
                    let why = format!("the header {name} is made by the load itself");
                    self.draft.notes.add(manager.place(), manager.what(), why);
                } else if is_secret(&plain) && !value.contains("${") {
                    let value = self.secrets.template(name, &value, "");
                    found.insert(plain, (name.to_owned(), value));
                } else {
                    found.insert(plain, (name.to_owned(), value));
                }
            }
        }
        if let Some(kind) = kind {
            found.entry("content-type".into()).or_insert(("Content-Type".into(), kind));
        }
        found.into_values().collect()
    }

    /// What is taken from the answer. An expression that a load does not read is named; its
    /// variable is then set by nothing, and no list.
    fn extracts(&mut self, scope: &Scope<'_>) -> Vec<Extract> {
        let mut sound = Vec::new();
        for element in &scope.extractors {
            let notes = &mut self.draft.notes;
            for extract in extractor::read(element, notes) {
                let name = extract.name.clone();
                let resolved = extractor::resolved(extract, element, &self.words, notes);
                match resolved.map(|it| (Extractor::new(&it, &mut Names::default()), it)) {
                    Some((Ok(_), extract)) => {
                        sound.push(extract);
                        continue;
                    }
                    Some((Err(problem), _)) => {
                        let why = format!("`{name}` is not extracted: {problem}");
                        notes.add(element.place(), element.what(), why);
                    }
                    None => {}
                }
                self.set.remove(&name);
                self.words.lists.remove(&name);
            }
        }
        sound
    }

    /// What its answer must be, and how many redirects it follows.
    fn check(&mut self, request: &Element<'_>, scope: &Scope<'_>) -> (Check, Option<Redirects>) {
        let mut check = Check::default();
        let taken = extractor::names(&scope.extractors);
        for element in &scope.assertions {
            let words = (&mut self.words, &taken[..]);
            assertion::add(&mut check, element, words, &mut self.draft.notes);
        }
        let follows = ["HTTPSampler.follow_redirects", "HTTPSampler.auto_redirects"]
            .into_iter()
            .any(|name| scope.property(request, name).trim() == "true");
        self.follows_any |= follows;
        if follows {
            assertion::follow(&mut check);
        }
        (check, (!follows).then_some(Redirects::NONE))
    }
}

/// True of a path with a part that leads up, or nowhere.
fn has_dots(path: &str) -> bool {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    path.split('/').any(|part| matches!(part, "." | ".."))
}

/// The path in the template `target` without its empty parts but the last, as JMeter sends it.
///
/// # Source
/// Apache HttpClient 4.5.14, `URIUtils.rewriteURI`.
fn without_empty_parts(target: &str) -> String {
    let mut out = String::new();
    let mut in_path = true;
    for piece in pieces(target) {
        match piece {
            Piece::Text(text) => {
                for c in text.chars() {
                    in_path &= !matches!(c, '?' | '#');
                    if !(in_path && c == '/' && out.ends_with('/')) {
                        out.push(c);
                    }
                }
            }
            Piece::Placeholder(inner) => out += &format!("${{{inner}}}"),
        }
    }
    out
}

/// `scheme://server` and the rest of a path that is a whole address.
pub(super) fn whole_address(path: &str) -> Option<(&str, &str)> {
    let path = path.trim();
    let scheme = path.split_once("://").map(|(scheme, _)| scheme)?;
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return None;
    }
    let start = scheme.len() + 3;
    let end = path[start..].find(['/', '?', '#']).map_or(path.len(), |at| start + at);
    Some(path.split_at(end))
}

fn without_user(text: &str) -> String {
    text.rsplit_once('@').map_or(text, |(_, host)| host).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_be_a_whole_address() {
        assert_eq!(whole_address("https://a:1/b?c"), Some(("https://a:1", "/b?c")));
        assert_eq!(whole_address("HTTP://${h}"), Some(("HTTP://${h}", "")));
        assert_eq!(whole_address("/b?u=http://x"), None);
    }

    #[test]
    fn a_path_is_sent_as_jmeter_sends_it() {
        for (target, expected) in [
            ("//a///b//", "/a/b/"),
            ("/a//b?u=http://x", "/a/b?u=http://x"),
            ("/a//${base64(x//y)}//b$${c//d", "/a/${base64(x//y)}/b$${c/d"),
            ("${path}/a", "${path}/a"),
        ] {
            assert_eq!(without_empty_parts(target), expected);
        }
        assert!(has_dots("/a/../b") && has_dots("./a") && !has_dots("/a..b/c?d=/../"));
    }
}
