//! What a door answers, and how it says that it does not.

use bytes::Bytes;
use hyper::header::{
    ALLOW, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use hyper::{HeaderMap, Response, StatusCode};
use plumb_serve::Body;
use plumb_serve::negotiation::{Accept, Offer};
use quick_xml::escape::escape;

use crate::executor::Timings;
use crate::rows::Position;
use plumb_queue::{ExecutionId, QueueError};

pub(crate) const HTML: &str = "text/html; charset=utf-8";
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";
pub(crate) const JSON: &str = "application/json; charset=utf-8";
pub(crate) const XML: &str = "application/xml; charset=utf-8";
/// SOAP 1.1.
pub(crate) const SOAP: &str = "text/xml; charset=utf-8";

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
        Self { status: StatusCode::OK, headers, body: body.into() }
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

    /// Says where the time went, in milliseconds.
    ///
    /// # Source
    /// W3C Server Timing.
    pub(crate) fn timed(self, parts: &[(&str, u64)]) -> Self {
        let shown: Vec<String> = parts
            .iter()
            .map(|(name, ns)| format!("{name};dur={}.{:03}", ns / 1_000_000, ns / 1_000 % 1_000))
            .collect();
        self.with(SERVER_TIMING, &shown.join(", "))
    }

    pub(crate) fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::whole(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

/// The parts of the time of a synchronous execution, for [`Answer::timed`].
pub(crate) fn parts(timings: Timings) -> [(&'static str, u64); 3] {
    let Timings { queue_ns, execution_ns, data_ns } = timings;
    [
        ("queue", queue_ns),
        ("execution", execution_ns - data_ns.min(execution_ns)),
        ("data", data_ns),
    ]
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
            QueueError::Full { .. } => Self::new(StatusCode::TOO_MANY_REQUESTS, message),
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
            answer = answer.of_execution(*id).timed(&parts(*timings));
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
