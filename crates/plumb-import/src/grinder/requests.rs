//! The tests of the HTTP plug-in: `grinder.test0.parameter.url` and what belongs to it.

use std::collections::{BTreeMap, BTreeSet};

use plumb_draft::body::masked_target;
use plumb_draft::header::{is_left_out, is_sendable};
use plumb_draft::note::Place;
use plumb_draft::origin::{Origins, WantedServers, elsewhere, server_in_step};
use plumb_draft::template::{literal, variable, variable_name};
use plumb_draft::wait::Sequence;
use plumb_draft::{DraftStep, Login, SourceError};
use plumb_scenario::file::placed;
use plumb_scenario::file::{Check, Step};
use plumb_wire::http::Url;
use plumb_wire::secret::is_secret;

use super::Importer;
use super::properties::Property;

/// A request of the list, with its number.
#[derive(Debug)]
pub(super) struct Test {
    number: u64,
    url: Url,
    line: usize,
}

impl Importer {
    /// The tests that name a URL, in the order of their numbers.
    pub(super) fn tests(&mut self) -> Vec<Test> {
        let numbers: BTreeSet<u64> = self.all.keys().filter_map(|key| number_of(key)).collect();
        let mut tests = Vec::new();
        for number in numbers {
            let Some(property) = self.take(&format!("grinder.test{number}.parameter.url")) else {
                continue; // its other properties are named with the rest
            };
            match Url::parse(property.value.trim()) {
                Ok(url) => tests.push(Test { number, url, line: property.line }),
                Err(error) => {
                    self.leave_out(number);
                    self.note(&property, &format!("{error}; its request is left out"));
                }
            }
        }
        tests
    }

    /// The server that is asked most, or that of `--base`, and the others.
    pub(super) fn servers(
        &mut self,
        tests: &[Test],
        wanted: WantedServers<'_>,
    ) -> Result<(Option<Url>, Vec<Url>), SourceError> {
        let mut origins = Origins::default();
        tests.iter().for_each(|test| origins.count(&test.url));
        let base = match tests.is_empty() {
            true => wanted.base.cloned(),
            false => origins.main(wanted)?.cloned(),
        };
        let named = |base: &Url| origins.name(base, wanted, &mut self.draft);
        let hosts = base.as_ref().map_or_else(Vec::new, named);
        Ok((base, hosts))
    }

    /// The steps of the tests that `base` and `hosts` are asked.
    pub(super) fn steps(
        &mut self,
        tests: &[Test],
        base: Option<&Url>,
        hosts: &[Url],
    ) -> Vec<DraftStep> {
        let mut sequence = Sequence::default();
        for test in tests {
            let server =
                base.map_or(Some(String::new()), |base| server_in_step(&test.url, base, hosts));
            let Some(server) = server else {
                self.leave_out(test.number);
                let what = format!("grinder.test{}", test.number);
                self.draft.notes.add(Place::Line(test.line), what, elsewhere(&test.url));
                continue;
            };
            let step = self.step(test, &server);
            let sleep = self.number(&[&format!("grinder.test{}.sleepTime", test.number)]);
            let wait = sleep.and_then(|sleep| self.sleep(sleep));
            sequence.push(step, wait);
        }
        sequence.take()
    }

    fn step(&mut self, test: &Test, server: &str) -> DraftStep {
        let of = |name: &str| format!("grinder.test{}.{name}", test.number);
        let post = self.take(&of("parameter.post"));
        let method = if post.is_some() { "POST" } else { "GET" };
        let name = match self.take(&of("description")).filter(|text| !text.value.trim().is_empty())
        {
            Some(description) => self.labels.unique(&description.value),
            None => self.labels.of_request(method, test.url.target()),
        };
        let mut step = Step { name: Some(placed(name)), ..Step::default() };
        let target = masked_target(test.url.target(), &mut self.secrets);
        let target = format!("{server}{}", self.without_beans(target, test.line));
        match post {
            None => step.get = Some(placed(target)),
            Some(post) => {
                step.path = Some(placed(target));
                step.body_file = Some(placed(post.value.trim().into()));
            }
        }
        step.headers = self.headers(test).into_iter().collect();
        if let Some(text) = self.take(&of("parameter.ok")) {
            if self.has_beans() && text.value.contains('<') && text.value.contains('>') {
                self.note(&text, "a text with a string of the bean is not looked for");
            } else if !text.value.is_empty() {
                let contains = vec![literal(&text.value)];
                step.check = Some(placed(Check { contains, ..Check::default() }));
            }
        }
        if server.is_empty() {
            self.take_login(test); // credentials go to the base alone
        }
        let mut draft = DraftStep::around(step, Vec::new());
        draft.remarks.push(format!("grinder.test{}, line {}", test.number, test.line));
        draft
    }

    fn headers(&mut self, test: &Test) -> BTreeMap<String, String> {
        let prefix = format!("grinder.test{}.parameter.header.", test.number);
        let own: Vec<Property> = self
            .all
            .values()
            .filter(|property| property.key.starts_with(&prefix))
            .cloned()
            .collect();
        let mut headers = BTreeMap::new();
        for property in own {
            self.seen.insert(property.key.clone());
            let name = &property.key[prefix.len()..];
            let lower = name.to_ascii_lowercase();
            if !is_sendable(name, &property.value) {
                self.note(&property, "it cannot be sent");
            } else if lower == "authorization" {
                let (scheme, secret) =
                    property.value.split_once(' ').unwrap_or((&property.value, ""));
                let value = self.secrets.template("authorization", secret, "");
                headers.insert(name.to_owned(), format!("{} {value}", literal(scheme)));
            } else if is_left_out(&lower) {
                self.note(&property, "the load itself makes this header");
            } else if is_secret(&lower) {
                let value = self.secrets.template(name, &property.value, "");
                headers.insert(name.to_owned(), value);
            } else {
                let value = self.without_beans(literal(&property.value), property.line);
                headers.insert(name.to_owned(), value);
            }
        }
        headers
    }

    fn take_login(&mut self, test: &Test) {
        let [user, password, _] = ["User", "Password", "Realm"].map(|name| {
            self.take(&format!("grinder.test{}.parameter.basicAuthentication{name}", test.number))
        });
        let (Some(user), Some(password)) = (user, password) else { return };
        let Some(login) = Login::new(&user.value, &password.value) else {
            self.note(&user, "it cannot be sent with its password");
            return;
        };
        match &self.login {
            Some(known) if *known != login => {
                self.note(
                    &user,
                    "another user than before; a scenario has one file of credentials",
                );
            }
            _ => self.login = Some(login),
        }
    }

    fn has_beans(&self) -> bool {
        self.all.contains_key("grinder.plugin.parameter.stringBean")
    }

    /// `<method>` stands for a string of the bean.
    fn without_beans(&mut self, text: String, line: usize) -> String {
        if !self.has_beans() {
            return text;
        }
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some((before, behind)) = rest.split_once('<') {
            out += before;
            let end = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            match end.filter(|end| *end > 0 && behind[*end..].starts_with('>')) {
                Some(end) => {
                    let name = variable_name(&behind[..end]);
                    let why = format!("a string of the bean; the variable `{name}` stands for it");
                    self.draft.notes.add(Place::Line(line), format!("<{}>", &behind[..end]), why);
                    out += &variable(&name);
                    self.beans.insert(name);
                    rest = &behind[end + 1..];
                }
                None => {
                    out.push('<');
                    rest = behind;
                }
            }
        }
        out + rest
    }

    /// Everything of a test that is left out is named with it.
    fn leave_out(&mut self, number: u64) {
        let prefix = format!("grinder.test{number}.");
        let own: Vec<String> =
            self.all.keys().filter(|key| key.starts_with(&prefix)).cloned().collect();
        self.seen.extend(own);
    }
}

/// The number of `grinder.testN.…`.
fn number_of(key: &str) -> Option<u64> {
    let rest = key.strip_prefix("grinder.test")?;
    rest.split_once('.')?.0.parse().ok()
}
