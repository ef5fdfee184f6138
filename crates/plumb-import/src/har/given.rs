//! What an answer gave and a later request sends: a load that sends it as it was recorded asks for what is
//! there no more, or for one thing over and over.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plumb_draft::header::is_left_out;
use plumb_draft::note::Place;
use plumb_scenario::har::{Content, Entry, Har, PostData, Response};
use plumb_wire::percent::{decoded, form_decoded};
use plumb_wire::secret::MASK;

use super::convert::Importer;
use super::headers::is_condition;
use super::parts::is_static;
use super::read::Seen;
use super::shown::{shown, what};

/// Characters of a value, and digits of a number, from which on it is hardly there by chance.
const VALUE_MIN: usize = 6;
const NUMBER_MIN: usize = 4;
/// Characters that are shown of a value, and of what stands in front of it.
const SHOWN_CHARS: usize = 16;
const BEFORE_CHARS: usize = 80;
/// Values of a request that are named.
const NAMED_MAX: usize = 5;
/// Headers that say what a client is and where it stands; beside them those that begin with `sec-` or `accept`.
const OF_CLIENT: [&str; 5] = ["user-agent", "referer", "origin", "content-type", "priority"];

/// Where an answer holds a value.
struct Source<'a> {
    entry: &'a Entry,
    place: String,
}

impl Importer<'_> {
    /// Names what the requests of `seen` send as it was recorded, although an earlier answer gave it, and
    /// says of each secret which answer holds it.
    pub(super) fn name_given(&mut self, har: &Har, seen: &[Seen<'_>]) {
        let number = |entry: &Entry| {
            har.log.entries.iter().position(|one| std::ptr::eq(one, entry)).map_or(0, |at| at + 1)
        };
        let secrets: Vec<(String, String)> = self.secrets.found().collect();
        let mut sent: HashMap<String, usize> = HashMap::new();
        for (at, one) in seen.iter().enumerate().filter(|(_, one)| !is_static(one)) {
            for value in values(one) {
                let is_secret = secrets.iter().any(|(_, secret)| secret.contains(&value));
                if value != MASK && !is_secret {
                    sent.entry(value).or_insert(at);
                }
            }
        }
        for (at, given) in given(&sent, seen) {
            let more = given.len().saturating_sub(NAMED_MAX);
            let mut words: Vec<String> = given
                .iter()
                .take(NAMED_MAX)
                .map(|(value, source)| {
                    let (value, place) = (cut(value), &source.place);
                    format!(
                        "`{value}` comes from the answer of entry {}, {place}",
                        number(source.entry)
                    )
                })
                .collect();
            words.extend((more > 0).then(|| format!("so do {more} more")));
            let why = format!("{}; it is sent as recorded: extract it there", words.join("; "));
            self.draft.notes.add(Place::Entry(seen[at].number), what(&seen[at]), why);
        }
        for (variable, value) in &secrets {
            if let Some(source) = holder(value, seen) {
                let request = &source.entry.request;
                let request = shown(&request.method, &request.url);
                let (number, place) = (number(source.entry), source.place);
                let remark = format!("the answer of entry {number}, {request}, gives it, {place}");
                self.secrets_given.push((variable.clone(), remark));
            }
        }
    }
}

/// The values of `sent`, each with the request that sends it first, which an answer before that holds; by
/// request.
fn given<'a, 'v>(
    sent: &'v HashMap<String, usize>,
    seen: &[Seen<'a>],
) -> BTreeMap<usize, BTreeMap<&'v str, Source<'a>>> {
    let mut found: BTreeMap<usize, BTreeMap<&str, Source<'_>>> = BTreeMap::new();
    for (at, one) in seen.iter().enumerate().filter(|(_, one)| !is_static(one)) {
        for entry in one.entries() {
            let is_json = entry.response.content.mime_type.to_ascii_lowercase().contains("json");
            for (text, header) in texts(&entry.response) {
                for (begin, run) in runs(&text) {
                    let Some((value, first)) = sent.get_key_value(run) else { continue };
                    let is_before = at < *first && one.end_ns <= seen[*first].start_ns;
                    if is_before && (is_json || run.len() >= VALUE_MIN) {
                        let place = || place(header, &text[..begin]);
                        let of_request = found.entry(*first).or_default();
                        of_request.entry(value).or_insert_with(|| Source { entry, place: place() });
                    }
                }
            }
        }
    }
    found
}

/// The first answer that holds the secret `value`, as it is or decoded.
fn holder<'a>(value: &str, seen: &[Seen<'a>]) -> Option<Source<'a>> {
    if value.len() < VALUE_MIN || value == MASK {
        return None;
    }
    let plain = form_decoded(value).unwrap_or(Cow::Borrowed(value));
    seen.iter().flat_map(Seen::entries).find_map(|entry| {
        texts(&entry.response).find_map(|(text, header)| {
            let begin = text.find(value).or_else(|| text.find(&*plain))?;
            Some(Source { entry, place: place(header, &text[..begin]) })
        })
    })
}

/// The headers of an answer, each with its name, and its content.
fn texts(response: &Response) -> impl Iterator<Item = (Cow<'_, str>, Option<&str>)> {
    let headers = response.headers.iter();
    let headers = headers.map(|pair| (Cow::Borrowed(&*pair.value), Some(&*pair.name)));
    headers.chain(content(&response.content).map(|text| (text, None)))
}

fn content(content: &Content) -> Option<Cow<'_, str>> {
    let text = content.text.as_deref()?;
    match content.encoding.as_deref() {
        Some("base64") => Some(String::from_utf8(STANDARD.decode(text).ok()?).ok()?.into()),
        _ => Some(text.into()),
    }
}

/// In words, where a value stands with `before` in front of it.
fn place(header: Option<&str>, before: &str) -> String {
    if let Some(name) = header {
        return format!("header {name}");
    }
    let from = before.rfind(['{', '[', ',', ';', '<', '&', '\n']).unwrap_or(0);
    let last = before[from..].trim_start_matches(['{', '[', ',', ';', '&', '\n', ' ']);
    let skipped = last.chars().count().saturating_sub(BEFORE_CHARS);
    format!("behind `{}`", last.chars().skip(skipped).collect::<String>())
}

/// What a request sends that may be the number or the key of a thing.
fn values(one: &Seen<'_>) -> Vec<String> {
    let request = &one.entry.request;
    let mut texts: Vec<String> = Vec::new();
    let (path, query) = one.url.target().split_once('?').unwrap_or((one.url.target(), ""));
    texts.push(decoded(path).unwrap_or(Cow::Borrowed(path)).into_owned());
    texts.extend(values_of_form(query));
    let headers = request.headers.iter().filter(|pair| is_of_data(&pair.name));
    texts.extend(headers.map(|pair| pair.value.clone()));
    texts.extend(request.post_data.iter().flat_map(values_of_body));
    let runs = texts.iter().flat_map(|text| runs(text)).map(|(_, run)| run);
    runs.filter(|run| is_key(run)).map(str::to_owned).collect()
}

fn values_of_body(data: &PostData) -> Vec<String> {
    let kind = data.mime_type.to_ascii_lowercase();
    if data.text.is_empty() {
        return data.params.iter().map(|param| param.value.clone()).collect();
    }
    if kind.contains("x-www-form-urlencoded") {
        return values_of_form(&data.text).collect();
    }
    match serde_json::from_str(&data.text) {
        Ok(value) if kind.contains("json") => leaves(value),
        _ => vec![data.text.clone()],
    }
}

fn values_of_form(text: &str) -> impl Iterator<Item = String> {
    let values = text.split('&').map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
    values.map(|value| form_decoded(value).unwrap_or(Cow::Borrowed(value)).into_owned())
}

/// The texts and numbers in a document.
fn leaves(value: serde_json::Value) -> Vec<String> {
    use serde_json::Value::{Array, Bool, Null, Number, Object, String};
    let (mut open, mut leaves) = (vec![value], Vec::new());
    while let Some(value) = open.pop() {
        match value {
            Array(all) => open.extend(all),
            Object(all) => open.extend(all.into_iter().map(|(_, value)| value)),
            String(text) => leaves.push(text),
            Number(number) => leaves.push(number.to_string()),
            Null | Bool(_) => {}
        }
    }
    leaves
}

/// True of a header that is not of the client, its connection or its cache.
fn is_of_data(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let of_client =
        OF_CLIENT.contains(&&*lower) || lower.starts_with("sec-") || lower.starts_with("accept");
    !of_client && !is_left_out(&lower) && !is_condition(&lower)
}

/// Letters, digits, `_` and `-` that stand together, each with the byte at which they begin.
fn runs(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    let is_other = |it: char| !it.is_ascii_alphanumeric() && it != '_' && it != '-';
    text.split_inclusive(is_other).map(move |piece| {
        let begin = next;
        next += piece.len();
        (begin, piece.trim_end_matches(is_other))
    })
}

/// True of what is hardly a word, nor the number of a page or a year.
fn is_key(run: &str) -> bool {
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    let is_number = digits == run.len();
    let is_year = is_number && run.len() == 4 && (run.starts_with("19") || run.starts_with("20"));
    digits > 0 && (run.len() >= VALUE_MIN || (is_number && run.len() >= NUMBER_MIN && !is_year))
}

fn cut(value: &str) -> String {
    match value.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}...", &value[..end]),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use plumb_draft::{Draft, Source};

    use crate::ImportOptions;
    use crate::har;

    /// A method and a path, what is sent, and what is answered.
    type Told<'a> = (&'a str, &'a str, &'a str, &'a str);

    fn drafted(entries: &[Told<'_>]) -> Draft {
        let entry = |(second, (method, path, sent, answer)): (usize, &Told<'_>)| {
            let kind = |text: &str| match text.get(..1) {
                Some("{") => "application/json",
                Some("<") => "text/html",
                _ => "application/x-www-form-urlencoded",
            };
            let mut request =
                serde_json::json!({"method": method, "url": format!("http://h{path}")});
            if !sent.is_empty() {
                request["postData"] = serde_json::json!({"mimeType": kind(sent), "text": sent});
            }
            let content = serde_json::json!({"mimeType": kind(answer), "text": answer});
            serde_json::json!({
                "startedDateTime": format!("2026-03-02T09:00:{second:02}Z"),
                "time": 1,
                "request": request,
                "response": {"status": 200, "content": content},
                "timings": {"send": 0, "wait": 0, "receive": 0},
            })
        };
        let entries: Vec<_> = entries.iter().enumerate().map(entry).collect();
        let creator = serde_json::json!({"name": "t", "version": "1"});
        let log = serde_json::json!({"version": "1.2", "creator": creator, "entries": entries});
        let text = serde_json::json!({ "log": log }).to_string();
        let source = Source { path: "a.har".into(), text };
        har::import(&source, &ImportOptions::of("a.har")).unwrap_or_else(|error| panic!("{error}"))
    }

    fn notes(draft: &Draft) -> Vec<String> {
        draft.notes.sorted().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_an_answer_gave_and_a_request_sends_is_named() {
        let draft = drafted(&[
            ("GET", "/api/items", "", r#"{"items":[{"id":7523,"name":"a"}]}"#),
            ("POST", "/api/order", r#"{"item":7523,"qty":1}"#, r#"{"order":"ad471296cbda3e14"}"#),
            ("GET", "/api/order/ad471296cbda3e14", "", "{}"),
            ("GET", "/api/order/ad471296cbda3e14?again=1", "", "{}"),
        ]);
        let why = "it is sent as recorded: extract it there";
        let expected = [
            format!(
                "entry 2: POST http://h/api/order: `7523` comes from the answer of entry 1, behind \
                 `\"id\":`; {why}"
            ),
            format!(
                "entry 3: GET http://h/api/order/ad471296cbda3e14: `ad471296cbda3e14` comes from \
                 the answer of entry 2, behind `\"order\":\"`; {why}"
            ),
        ];
        assert_eq!(notes(&draft), expected);
        assert_eq!(draft.notes.changes(), 2);
    }

    #[test]
    fn what_the_user_said_first_and_words_and_years_are_not() {
        let draft = drafted(&[
            (
                "GET",
                "/find?text=abc12345",
                "",
                "<p>abc12345 of 2026 in London, see details-page</p>",
            ),
            ("GET", "/show/abc12345?year=2026&city=London&view=details-page", "", "<p>"),
        ]);
        assert_eq!(notes(&draft), Vec::<String>::new());
    }

    #[test]
    fn the_answer_that_gives_a_secret_is_told_beside_its_variable() {
        let field = "<input type=\"hidden\" name=\"csrf_token\" value=\"PWdYTp/+9a\">";
        let draft = drafted(&[
            ("GET", "/login", "", field),
            ("POST", "/login", "user=anna&csrf_token=PWdYTp%2F%2B9a", "{}"),
        ]);
        assert_eq!(draft.notes.changes(), 0, "{:?}", notes(&draft));
        let remarks = &draft.remarks["variables.csrf_token"];
        assert_eq!(
            remarks.last().unwrap(),
            "the answer of entry 1, GET http://h/login, gives it, behind `<input type=\"hidden\" \
             name=\"csrf_token\" value=\"`"
        );
        assert!(remarks.iter().all(|remark| !remark.contains("PWdYTp")), "{remarks:?}");
    }
}
