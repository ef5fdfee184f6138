//! A recording becomes a scenario: one user who does what was seen, once.

use std::collections::BTreeMap;

use plumb_draft::body::{masked, masked_target};
use plumb_draft::header::{is_left_out, is_sendable};
use plumb_draft::note::Place;
use plumb_draft::origin::{Origins, base_of};
use plumb_draft::{
    Draft, DraftStep, Labels, Secrets, Source, SourceError, laid_out, shared_headers,
};
use plumb_measure::Span;
use plumb_scenario::file::placed;
use plumb_scenario::file::{Check, Cookies, Pairs, Redirects, Scenario, Step, Think};
use plumb_scenario::har::{Entry, Har, LOST, Param, PostData};
use plumb_wire::http::Url;
use plumb_wire::percent::form_encoded;

use super::chain;
use super::headers::{header, is_condition, joined, value};
use super::multipart::{boundary, has_lost_file, multipart};
use super::parts;
use super::read::{self, Seen};
use super::shown::{what, without_user};
use super::timeline::find_thinks;
use crate::ImportOptions;

/// Codings of content that no check looks into.
const UNREAD_CODINGS: [&str; 2] = ["br", "zstd"];
/// What is said where such a coding is asked for.
const ASKS_FOR_UNREAD: &str = "its requests take answers in br or zstd, which `contains`, `matches` and \
                               `extract` cannot look into: where you add them, take both out of \
                               Accept-Encoding";

/// How the recorder says that a body of a request was too long to be kept.
const CUT: &str = "the body of the request is not kept: longer than --keep-body";

/// What is said above the redirects of a recording.
const NOT_LED_ON: &str = "a redirect that the recording does not have, such as to a log-on page, \
                          fails its step";

/// Makes a scenario of a recording.
///
/// # Errors
/// When it is no HAR, or holds nothing that can be asked for.
pub(crate) fn import(source: &Source, options: &ImportOptions) -> Result<Draft, SourceError> {
    let har = read::har(&source.text).map_err(|cause| source.broken(cause))?;
    let mut import = Importer::new(options);
    let mut seen = Vec::new();
    for (at, entry) in har.log.entries.iter().enumerate() {
        seen.extend(import.seen(at + 1, entry).map_err(|cause| source.broken(cause))?);
    }
    seen.sort_by_key(|one| (one.start_ns, one.number));
    find_thinks(&mut seen, options.think_min);
    import.leave_internal_out(&mut seen);
    // a page is of the server that it came from, wherever the browser had its parts
    let base = origins(&seen).main(options.wanted_servers())?.cloned();
    let base = base.ok_or_else(|| {
        source.nothing("no entry was asked over http or https and answered: record a page first")
    })?;
    if !options.keep_cached {
        import.leave_cached_out(&har, &mut seen);
    }
    let hosts = origins(&seen).name(&base, options.wanted_servers(), &mut import.draft);
    import.keep_hosts(&mut seen, &base, &hosts);
    if seen.is_empty() {
        return Err(source.nothing(&format!(
            "the browser took all of {} out of its cache: import it with --keep-cached, or record \
             with an empty cache",
            base_of(&base)
        )));
    }
    import.leave_challenges_out(&mut seen, &base);
    if options.drop_static {
        import.leave_static_out(&mut seen);
    }
    chain::follow(&mut seen);
    if seen.is_empty() {
        return Err(source.nothing("nothing is left of it: import it without --drop-static"));
    }
    let nothing = || source.nothing("no request is left whose body it holds: record it again");
    import.finished(&har, &base, &seen).ok_or_else(nothing)
}

fn origins(seen: &[Seen<'_>]) -> Origins {
    let mut origins = Origins::default();
    seen.iter().for_each(|one| origins.count(&one.url));
    origins
}

/// What is collected on the way.
pub(super) struct Importer<'a> {
    pub(super) options: &'a ImportOptions,
    pub(super) draft: Draft,
    pub(super) secrets: Secrets,
    /// What is said of variables for secrets beside what they are: which answers give them.
    pub(super) secrets_given: Vec<(String, String)>,
    labels: Labels,
}

impl<'a> Importer<'a> {
    fn new(options: &'a ImportOptions) -> Self {
        let (secrets, labels) = (Secrets::default(), Labels::default());
        let secrets_given = Vec::new();
        Self { options, draft: Draft::default(), secrets, secrets_given, labels }
    }

    /// The draft with everything in it; `None` when no request is left.
    fn finished(mut self, har: &Har, base: &Url, seen: &[Seen<'_>]) -> Option<Draft> {
        self.name_old_cookies(seen);
        let mut steps = self.steps(har, base, seen);
        self.name_given(har, seen);
        let headers = shared_headers(steps.iter_mut());
        if steps.is_empty() {
            return None;
        }
        let draft = &mut self.draft;
        draft.head = vec![recorded(har, seen)];
        draft.file.name = Some(format!("recording of {}", base.host()));
        draft.file.redirects = Some(Redirects::NONE);
        draft.remark("redirects", NOT_LED_ON);
        draft.remark(
            "scenario.0",
            "one user, once: raise `users`, and replace `iterations` by `for`; with a log-on that \
             you move into `login`, write cookies = \"keep\"",
        );
        if asks_for_unread(&headers) {
            draft.remark("scenario.0", ASKS_FOR_UNREAD);
        }
        let step = laid_out(steps, "scenario.0", &mut draft.remarks);
        draft.file.scenario = vec![Scenario {
            name: "recorded".into(),
            users: Some(placed(1)),
            iterations: Some(placed(1)),
            // who is logged on already is answered otherwise than in the recording
            cookies: Cookies::Clear,
            headers,
            step,
            ..Scenario::default()
        }];
        self.secrets.declare(&mut self.draft);
        for (variable, remark) in self.secrets_given {
            self.draft.remark(format!("variables.{variable}"), remark);
        }
        Some(self.draft)
    }

    /// The steps of all requests, those that are made at the same time in one.
    fn steps(&mut self, har: &Har, base: &Url, mut seen: &[Seen<'_>]) -> Vec<DraftStep> {
        let mut steps = Vec::new();
        let mut page = None;
        let mut documents = BTreeMap::new();
        while let Some(first) = seen.first() {
            let (together, rest) = seen.split_at(parts::at_once(seen));
            seen = rest;
            let pageref = &first.entry.pageref;
            let mut inner: Vec<DraftStep> =
                together.iter().filter_map(|one| self.step(base, one)).collect();
            let mut step = match inner.len() {
                0 => continue,
                1 => inner.remove(0),
                _ => {
                    let document = documents.get(pageref).map_or("a page", String::as_str);
                    let name = self.labels.unique(&format!("parts of {document}"));
                    let step = Step { parallel: Some(placed(name)), ..Step::default() };
                    DraftStep::around(step, inner)
                }
            };
            if parts::is_document(first) {
                let name = step.step.name.as_ref().map(|name| name.get_ref().clone());
                documents.extend(name.map(|name| (pageref, name)));
            }
            let think_ms = together.last().map_or(0, |last| last.think_ms);
            let think = Think::Fixed(Span::from_ms(think_ms));
            step.step.think = (think_ms > 0).then(|| placed(think));
            if page != Some(pageref) {
                page = Some(pageref);
                step.remarks.splice(0..0, page_title(har, first));
            }
            steps.push(step);
        }
        steps
    }

    /// The step of a request; `None` when its body cannot be sent as it was: without it the server would
    /// be asked something else.
    fn step(&mut self, base: &Url, one: &Seen<'_>) -> Option<DraftStep> {
        let request = &one.entry.request;
        let method = request.method.as_str();
        let body = match self.body(one) {
            Ok(body) => body,
            Err(why) => {
                let why = format!("{why}; the request is left out");
                self.draft.notes.add(Place::Entry(one.number), what(one), why);
                return None;
            }
        };
        let at_base = one.url.same_origin(base);
        let (server, label) = match at_base {
            true => (String::new(), String::new()),
            false => (base_of(&one.url), one.url.authority()),
        };
        let name = self.labels.of_request(method, &format!("{label}{}", one.url.target()));
        let target = server + &masked_target(one.url.target(), &mut self.secrets);
        if one.url.target().to_ascii_lowercase().contains(";jsessionid=") {
            let why = "its path holds a session, which is another one in each run";
            self.draft.notes.add(Place::Entry(one.number), what(one), why);
        }
        let mut step = Step {
            name: Some(placed(name)),
            headers: self.headers(one, at_base),
            redirects: chain::redirects(one),
            check: Some(placed(self.check(one, base))),
            ..Step::default()
        };
        if method == "GET" && body.is_none() {
            step.get = Some(placed(target));
        } else {
            step.path = Some(placed(target));
            let usual = method == "POST" && body.is_some();
            step.method = (!usual).then(|| placed(method.to_owned()));
        }
        step.body = body.map(placed);
        Some(DraftStep {
            remarks: chain::remark(one).into_iter().collect(),
            step,
            steps: Vec::new(),
        })
    }

    /// The body as a template.
    ///
    /// # Errors
    /// In words, when the recording does not hold what was sent.
    fn body(&mut self, one: &Seen<'_>) -> Result<Option<String>, &'static str> {
        let request = &one.entry.request;
        let none = PostData::default();
        let data = request.post_data.as_ref().unwrap_or(&none);
        let is_multipart = data.mime_type.to_ascii_lowercase().starts_with("multipart/");
        let has_files = data.params.iter().any(|param| param.file_name.is_some());
        let text = match (data.text.as_str(), boundary(&data.mime_type)) {
            ("", _) if has_files => {
                return Err("it uploads a file, which the recording does not hold");
            }
            ("", Some(boundary)) if is_multipart && !data.params.is_empty() => {
                let fields = data.params.iter();
                multipart(boundary, fields.map(|param| (param.name.as_str(), param.value.as_str())))
            }
            ("", _) if is_multipart => String::new(),
            ("", _) if !data.params.is_empty() && !is_form(&data.mime_type) => {
                return Err("the recording holds fields of its body, and not its text");
            }
            ("", _) => form_of(&data.params),
            (text, _) => text.to_owned(),
        };
        if is_multipart && has_lost_file(&text) {
            return Err("it uploads a file, which the recording does not hold");
        }
        if data.text.is_empty() && data.params.iter().any(|param| param.value == LOST) {
            return Err("the recording holds no text for a field of its body");
        }
        // a form that is made of its fields is written in ASCII, whatever they hold
        let fields = data.params.iter().filter(|_| data.text.is_empty());
        let fields = fields.flat_map(|param| [param.name.as_str(), param.value.as_str()]);
        let written = || fields.clone().chain([text.as_str()]);
        if written().any(|text| text.contains('\u{fffd}')) {
            return Err(
                "its body is not text, and the recording lost bytes of it; use `body-file`",
            );
        }
        if !written().all(str::is_ascii) && is_in_another_charset(&data.mime_type) {
            return Err("its body is not in UTF-8, as which it would be sent; use `body-file`");
        }
        let announced =
            header(&request.headers, "content-length").and_then(|it| it.trim().parse().ok());
        let was_sent = request.body_size > 0
            || is_multipart
            || !data.params.is_empty()
            || announced.is_some_and(|bytes: u64| bytes > 0);
        if text.is_empty() && was_sent {
            let was_cut = one.entry.comment.as_deref().is_some_and(|it| it.contains(CUT));
            return Err(match was_cut {
                true => {
                    "the recording does not hold its body: record it again with a larger \
                     --keep-body, or use `body-file`"
                }
                false => "the recording does not hold its body; use `body-file`",
            });
        }
        Ok((!text.is_empty()).then(|| masked(&data.mime_type, &text, &mut self.secrets)))
    }

    fn headers(&mut self, one: &Seen<'_>, at_base: bool) -> Pairs {
        let mut headers = Pairs::new();
        self.user_of_address(one, at_base);
        for (lower, pair) in joined(one.entry.request.headers.iter()) {
            if !lower.starts_with(':') && !is_sendable(&pair.name, &pair.value) {
                let what = format!("header {}", pair.name.escape_debug());
                self.draft.notes.add(Place::Entry(one.number), what, "it cannot be sent");
            } else if lower == "authorization" {
                headers.extend(self.authorization(one, at_base, &pair));
            } else if !is_left_out(&lower)
                && (self.options.keep_conditions || !is_condition(&lower))
            {
                let sent = value(&pair.name, &pair.value, &mut self.secrets);
                headers.insert(pair.name, sent);
            }
        }
        headers
    }

    fn check(&mut self, one: &Seen<'_>, base: &Url) -> Check {
        let response = &one.last().response;
        let headers = &one.last().request.headers;
        let asked_changes = headers.iter().any(|pair| is_condition(&pair.name));
        let unchanged = response.status == 304 && asked_changes && !self.options.keep_conditions;
        let status = if unchanged { 200 } else { response.status };
        let length = if self.options.check_length && !unchanged {
            let length = length_of(one.last());
            if length.is_none() {
                let why = "the recording does not say how long its answer was (--check-length)";
                self.draft.notes.add(Place::Entry(one.number), what(one), why);
            }
            length
        } else {
            None
        };
        let path = chain::end(one, base);
        Check { status: Some(status.to_string()), path, length, ..Check::default() }
    }
}

/// True of headers that take content in a coding that is not read.
fn asks_for_unread(headers: &Pairs) -> bool {
    let takes = |value: &String| {
        value.split([',', ';']).any(|coding| UNREAD_CODINGS.contains(&coding.trim()))
    };
    headers.iter().any(|(name, value)| name.eq_ignore_ascii_case("accept-encoding") && takes(value))
}

/// True when a content type names a charset that writes other than ASCII otherwise than UTF-8.
fn is_in_another_charset(mime_type: &str) -> bool {
    let charset = mime_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    });
    charset.is_some_and(|it| !["utf-8", "utf8"].iter().any(|utf8| it.eq_ignore_ascii_case(utf8)))
}

/// True of the type of a form, whose fields are all of it, and where none is told.
fn is_form(mime_type: &str) -> bool {
    let kind = mime_type.split(';').next().unwrap_or_default().trim();
    kind.is_empty() || kind.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

fn form_of(params: &[Param]) -> String {
    let pair = |pair: &Param| format!("{}={}", form_encoded(&pair.name), form_encoded(&pair.value));
    params.iter().map(pair).collect::<Vec<_>>().join("&")
}

/// Bytes of an answer as they were received, where the recording tells.
fn length_of(entry: &Entry) -> Option<u64> {
    let response = &entry.response;
    if entry.request.method == "HEAD" || matches!(response.status, 204 | 304) {
        return Some(0); // whatever the recording says of the content that they stand for
    }
    if let Some(length) = header(&response.headers, "content-length") {
        return length.trim().parse().ok();
    }
    if header(&response.headers, "content-encoding").is_none() {
        return u64::try_from(response.content.size).ok();
    }
    u64::try_from(response.body_size).ok().filter(|length| *length > 0)
}

/// The comment above the first request of a page.
fn page_title(har: &Har, one: &Seen<'_>) -> Option<String> {
    let id = one.entry.pageref.as_ref()?;
    let page = har.log.pages.iter().find(|page| page.id == *id)?;
    let title = without_user(page.title.split('?').next().unwrap_or_default());
    Some(format!("page {}", if title.is_empty() { id } else { &title }))
}

/// Whence and how much.
fn recorded(har: &Har, seen: &[Seen<'_>]) -> String {
    let creator = &har.log.creator;
    let start = seen.first().map_or("", |one| one.entry.started_date_time.as_str());
    let entries: usize = seen.iter().map(|one| one.entries().count()).sum();
    format!(
        "Recorded by {} {} at {start}: {} of {} entries.",
        creator.name,
        creator.version,
        entries,
        har.log.entries.len()
    )
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod session_tests;
#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
