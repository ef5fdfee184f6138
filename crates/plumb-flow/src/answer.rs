//! What a door answers, and how it says that it does not.

use std::borrow::Cow;
use std::fmt::Write as _;

use bytes::Bytes;
use hyper::header::{
    ALLOW, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use hyper::{HeaderMap, Response, StatusCode};
use plumb_serve::Body;
use plumb_serve::negotiation::{Accept, Offer};
use quick_xml::escape::escape;

use crate::executor::{ActionTime, Timings};
use plumb_queue::{ExecutionId, QueueError};
use plumb_transaction::rows::Position;

pub(crate) const HTML: &str = "text/html; charset=utf-8";
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";
pub(crate) const JSON: &str = "application/json; charset=utf-8";
pub(crate) const XML: &str = "application/xml; charset=utf-8";
/// SOAP 1.1.
pub(crate) const SOAP: &str = "text/xml; charset=utf-8";

/// Actions whose times are told one by one: clients keep few times of an answer.
const ACTIONS_MAX: usize = 4;
/// Times that are told in all, with those within actions, of which the longest are told: clients keep
/// few times of an answer.
const TIMES_MAX: usize = 12;
/// Characters of an action's name in a header.
const ACTION_NAME_MAX: usize = 40;

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
const EXECUTION_ID: HeaderName = HeaderName::from_static("x-execution-id");
const CONTENT_TYPE_OPTIONS: HeaderName = HeaderName::from_static("x-content-type-options");

/// What a page may do: show itself, in no frame, and send its forms here.
const OWN_PAGES: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
    form-action 'self'; frame-ancestors 'none'";

/// The answer to a request.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    times: Option<Times>,
}

/// Where the time behind the door went, nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// All of it.
    whole_ns: u64,
    /// Its parts, in their order.
    parts: Vec<(Cow<'static, str>, u64)>,
}

impl Answer {
    /// One with status 200; a media type that cannot stand in a header becomes plain bytes.
    pub(crate) fn new(media_type: &str, body: impl Into<Bytes>) -> Self {
        let mut headers = HeaderMap::new();
        if media_type == HTML {
            headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(OWN_PAGES));
        }
        let media_type = HeaderValue::from_str(media_type);
        let media_type = media_type.unwrap_or(HeaderValue::from_static("application/octet-stream"));
        headers.insert(CONTENT_TYPE, media_type);
        headers.insert(CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        Self { status: StatusCode::OK, headers, body: body.into(), times: None }
    }

    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Adds a header; a value that is none is left out.
    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// Says which execution it is the answer of.
    pub(crate) fn of_execution(self, id: ExecutionId) -> Self {
        self.with(EXECUTION_ID, &id.to_string())
    }

    /// Says where the time behind the door went.
    pub(crate) fn timed(self, times: Times) -> Self {
        Self { times: Some(times), ..self }
    }

    /// Writes down where the time went: what `total_ns` leaves is that of the door. In milliseconds.
    ///
    /// # Source
    /// W3C Server Timing.
    pub(crate) fn answered_after(mut self, total_ns: u64) -> Self {
        let Some(Times { whole_ns, parts }) = self.times.take() else { return self };
        let door = (Cow::from("door"), total_ns.saturating_sub(whole_ns));
        let total = (Cow::from("total"), total_ns.max(whole_ns));
        let mut shown = String::with_capacity(64);
        for (name, ns) in [door].into_iter().chain(parts).chain([total]) {
            let comma = if shown.is_empty() { "" } else { ", " };
            let (ms, us) = (ns / 1_000_000, ns / 1_000 % 1_000);
            // a string takes whatever is written
            let _ = write!(shown, "{comma}{name};dur={ms}.{us:03}");
        }
        self.with(SERVER_TIMING, &shown)
    }

    pub(crate) fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::whole(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

impl Times {
    /// Of a message that was put into the queue: until it was on disk.
    pub(crate) fn of_flush(flush_ns: u64) -> Self {
        Self { whole_ns: flush_ns, parts: vec![("flush".into(), flush_ns)] }
    }

    /// Of a synchronous execution: the wait for a thread, its outermost actions, the commit.
    pub(crate) fn of_execution(timings: &Timings) -> Self {
        let Timings { queue_ns, execution_ns, commit_ns, commit, actions, .. } = timings;
        let mut longest: Vec<u64> = actions.iter().map(|action| action.ns).collect();
        longest.sort_unstable_by(|one, other| other.cmp(one));
        let few = actions.len() <= ACTIONS_MAX;
        // several may take as long as the last that is told
        let least_ns = if few { 0 } else { longest[ACTIONS_MAX - 2] };
        let (mut parts, mut others_ns) = (vec![(Cow::from("queue"), *queue_ns)], 0);
        let mut inside = Vec::new();
        for ActionTime { name, ns, inside: spent } in actions {
            if *ns >= least_ns && (few || parts.len() < ACTIONS_MAX) {
                let metric = metric(name);
                let below = |(name, ns): &(String, u64)| (format!("{metric}.{name}").into(), *ns);
                inside.extend(spent.iter().map(below));
                parts.push((metric.into(), *ns));
            } else {
                others_ns += ns;
            }
        }
        if !few {
            parts.push(("other-actions".into(), others_ns));
        }
        parts.push(("commit".into(), *commit_ns));
        let of_commit = commit.parts(*commit_ns);
        inside.extend(of_commit.map(|(name, ns)| (format!("commit.{name}").into(), ns)));
        inside.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        // with the door and the total
        inside.truncate(TIMES_MAX.saturating_sub(parts.len() + 2));
        parts.append(&mut inside);
        Self { whole_ns: queue_ns + execution_ns, parts }
    }
}

/// The name of an action as a header may have it.
fn metric(action: &str) -> String {
    let sound = |char: char| if char.is_ascii_alphanumeric() { char } else { '-' };
    let name: String = action.chars().map(sound).take(ACTION_NAME_MAX).collect();
    format!("action-{name}")
}

/// Why a door does not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    /// Where in the document.
    pub(crate) at: Option<Position>,
    /// When to come again, seconds.
    pub(crate) retry_after_s: Option<u64>,
    /// Methods that are allowed.
    pub(crate) allow: Option<&'static str>,
    /// The execution that failed, and where its time went.
    pub(crate) execution: Option<Box<(ExecutionId, Timings)>>,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { status, message, at: None, retry_after_s: None, allow: None, execution: None }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn unauthorized() -> Self {
        let message = "log on with a name and a password, or a token, that this server knows";
        Self::new(StatusCode::UNAUTHORIZED, message)
    }

    pub(crate) fn method(allow: &'static str) -> Self {
        let failure = Self::new(StatusCode::METHOD_NOT_ALLOWED, format!("use {allow}"));
        Self { allow: Some(allow), ..failure }
    }

    /// Nobody is free for it: come again after so many seconds.
    pub(crate) fn busy(message: impl Into<String>, retry_after_s: u64) -> Self {
        let failure = Self::new(StatusCode::SERVICE_UNAVAILABLE, message);
        Self { retry_after_s: Some(retry_after_s), ..failure }
    }

    fn in_json(&self) -> String {
        let mut error = serde_json::json!({
            "status": self.status.as_u16(),
            "message": self.message,
        });
        if let Some(at) = self.at {
            error["line"] = at.line.into();
            error["column"] = at.column.into();
        }
        if let Some((id, _)) = self.execution.as_deref() {
            error["execution"] = id.to_string().into();
        }
        serde_json::json!({ "error": error }).to_string()
    }

    fn in_xml(&self) -> String {
        let mut text = format!("<error><status>{}</status>", self.status.as_u16());
        text += &format!("<message>{}</message>", escape(plain(&self.message)));
        if let Some(at) = self.at {
            text += &format!("<line>{}</line><column>{}</column>", at.line, at.column);
        }
        if let Some((id, _)) = self.execution.as_deref() {
            text += &format!("<execution>{id}</execution>");
        }
        text + "</error>"
    }

    /// A fault of SOAP 1.1.
    ///
    /// # Source
    /// Simple Object Access Protocol 1.1, section 4.4.
    fn in_soap(&self) -> String {
        let code = if self.status.is_client_error() { "Client" } else { "Server" };
        format!(
            "<soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\"><soap:Body>\
             <soap:Fault><faultcode>soap:{code}</faultcode><faultstring>{}</faultstring><detail>{}\
             </detail></soap:Fault></soap:Body></soap:Envelope>",
            escape(plain(&self.message)),
            self.in_xml()
        )
    }
}

/// Without what no XML document may hold.
fn plain(text: &str) -> String {
    let allowed = |char: &char| *char >= ' ' || matches!(char, '\t' | '\n' | '\r');
    text.chars().filter(allowed).collect()
}

impl From<QueueError> for Failure {
    fn from(error: QueueError) -> Self {
        let message = error.to_string();
        match error {
            QueueError::Full { .. } | QueueError::FullBehind { .. } => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, message)
            }
            QueueError::Store(_) => Self::busy(message, 10),
            QueueError::Closed => Self::busy("the server stops", 10),
        }
    }
}

/// The form of an answer that says what went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorForm {
    /// A small document in JSON.
    Json,
    /// The same in XML.
    Xml,
    /// A fault of SOAP 1.1.
    Soap,
    /// A line of text.
    Text,
}

impl ErrorForm {
    /// What a client with these `headers` prefers: what it accepts, or else the form of what it sent.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let sent = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        let json = Offer { form: Self::Json, types: &["application/json"] };
        let xml = Offer { form: Self::Xml, types: &["application/xml", "text/xml"] };
        let offers = if sent.contains("xml") { [xml, json] } else { [json, xml] };
        Accept::of(headers).best(&offers).unwrap_or(offers[0].form)
    }

    /// The answer that says `failure`.
    pub(crate) fn answer(self, failure: &Failure) -> Answer {
        let (media_type, text) = match self {
            Self::Json => (JSON, failure.in_json()),
            Self::Xml => (XML, failure.in_xml()),
            Self::Soap => (SOAP, failure.in_soap()),
            Self::Text => (TEXT, format!("{}\n", failure.message)),
        };
        // SOAP over HTTP says 500 for every fault of a message that could be read
        let status = match (self, failure.status) {
            (Self::Soap, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            (_, status) => status,
        };
        let mut answer = Answer::new(media_type, text).with_status(status);
        if let Some(seconds) = failure.retry_after_s {
            answer = answer.with(RETRY_AFTER, &seconds.to_string());
        }
        if let Some(allow) = failure.allow {
            answer = answer.with(ALLOW, allow);
        }
        if let Some((id, timings)) = failure.execution.as_deref() {
            answer = answer.of_execution(*id).timed(Times::of_execution(timings));
        }
        if failure.status == StatusCode::UNAUTHORIZED {
            answer = answer.with(WWW_AUTHENTICATE, "Basic realm=\"plumb\", charset=\"UTF-8\"");
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::ACCEPT;

    use plumb_transaction::SessionTimes;

    use super::*;

    fn form(accept: &str, sent: &str) -> ErrorForm {
        let mut headers = HeaderMap::new();
        for (name, value) in [(ACCEPT, accept), (CONTENT_TYPE, sent)] {
            if !value.is_empty() {
                headers.insert(name, value.parse().unwrap());
            }
        }
        ErrorForm::of(&headers)
    }

    #[test]
    fn errors_take_the_form_that_is_accepted_or_was_sent() {
        assert_eq!(form("application/xml", "application/json"), ErrorForm::Xml);
        assert_eq!(form("application/json", "text/xml"), ErrorForm::Json);
        assert_eq!(form("*/*", "text/xml; charset=utf-8"), ErrorForm::Xml);
        assert_eq!(form("", "application/idoc+xml"), ErrorForm::Xml);
        assert_eq!(form("", ""), ErrorForm::Json);
        assert_eq!(form("text/html", "application/json"), ErrorForm::Json);
    }

    #[test]
    fn the_time_of_an_answer_is_told_part_by_part() {
        let actions = |all: &[(&str, u64)]| Timings {
            queue_ns: 1_000,
            execution_ns: 90_000,
            commit_ns: 9_000,
            actions: all
                .iter()
                .map(|(name, ns)| ActionTime { name: (*name).into(), ns: *ns, inside: Vec::new() })
                .collect(),
            ..Timings::default()
        };
        let told = |times: Times| {
            let answer = Answer::new(TEXT, "").timed(times).answered_after(100_000);
            answer.headers[SERVER_TIMING].to_str().unwrap().to_owned()
        };
        assert_eq!(
            told(Times::of_execution(&actions(&[("rows", 20_000), ("log in line 7", 1_500)]))),
            "door;dur=0.009, queue;dur=0.001, action-rows;dur=0.020, \
             action-log-in-line-7;dur=0.001, commit;dur=0.009, total;dur=0.100"
        );
        let many: Vec<(String, u64)> = (0..9).map(|n| (format!("a{n}"), 5_000)).collect();
        let many: Vec<(&str, u64)> = many.iter().map(|(name, ns)| (name.as_str(), *ns)).collect();
        let said = told(Times::of_execution(&actions(&many)));
        assert_eq!(said.matches("action-").count(), 3, "{said}");
        assert!(said.contains("other-actions;dur=0.030"), "{said}");
        let inside = [("database", 15_000), ("database.pool", 4_000), ("backend.queue", 2_000)];
        let inside = inside.map(|(name, ns)| (name.to_owned(), ns)).to_vec();
        let mut split = actions(&[("rows", 20_000)]);
        split.actions[0].inside = inside;
        let said = told(Times::of_execution(&split));
        let expected = "commit;dur=0.009, action-rows.database;dur=0.015, \
                        action-rows.database.pool;dur=0.004, action-rows.backend.queue;dur=0.002, total";
        assert!(said.contains(expected), "{said}");
        // parts of the commit are never more than it
        let sessions = SessionTimes { pool_ns: 0, way_ns: 8_500, log_on_ns: 4_000 };
        let said = told(Times::of_execution(&Timings { commit: sessions, ..actions(&[]) }));
        assert!(said.contains("commit.wire;dur=0.005, commit.logon;dur=0.004, total"), "{said}");
        split.actions[0].inside = (0..30).map(|n| (format!("backend.n{n}"), n)).collect();
        let said = told(Times::of_execution(&split));
        assert_eq!(said.matches(";dur=").count(), TIMES_MAX, "{said}");
        assert_eq!(
            told(Times::of_flush(60_000)),
            "door;dur=0.040, flush;dur=0.060, total;dur=0.100"
        );
    }

    #[test]
    fn an_error_names_its_place_in_either_form() {
        let mut failure = Failure::bad_request("`<` \u{1} & more");
        failure.at = Some(Position { line: 3, column: 9 });
        let json = ErrorForm::Json.answer(&failure);
        let json: serde_json::Value = serde_json::from_slice(&json.body).unwrap();
        assert_eq!((&json["error"]["line"], &json["error"]["column"]), (&3.into(), &9.into()));
        for form in [ErrorForm::Xml, ErrorForm::Soap] {
            let xml = form.answer(&failure);
            let text = std::str::from_utf8(&xml.body).unwrap();
            let document = roxmltree::Document::parse(text).unwrap();
            let line = document.descendants().find(|node| node.has_tag_name("line")).unwrap();
            assert_eq!(line.text(), Some("3"), "{text}");
        }
    }
}
