//! Answers, and the headers that all of them have.

use bytes::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
    REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};
use maud::Markup;
use plumb_serve::Body;

use crate::pages::frame;

/// What a page of ours may load, run and send: what comes from here.
const OWN: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                   connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
/// What the page of a report may do beside what it says itself.
const REPORT: &str = "form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
/// What a report may load that says nothing.
const NOTHING: &str = "default-src 'none'; style-src 'unsafe-inline'";

pub(crate) const TEXT: &str = "text/plain; charset=utf-8";
pub(crate) const CSS: &str = "text/css; charset=utf-8";
pub(crate) const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
pub(crate) const EVENTS: &str = "text/event-stream";
const HTML: &str = "text/html; charset=utf-8";

/// What is answered, before it is a response.
#[derive(Debug)]
pub(crate) struct Answer {
    status: StatusCode,
    kind: &'static str,
    policy: String,
    /// `Set-Cookie`, `Location`.
    more: Vec<(HeaderName, String)>,
    body: Body,
}

impl Answer {
    fn new(status: StatusCode, kind: &'static str, body: Body) -> Self {
        Self { status, kind, policy: OWN.into(), more: Vec::new(), body }
    }

    /// A page of ours.
    pub(crate) fn page(title: &str, content: &Markup) -> Self {
        Self::whole(HTML, frame::document(title, content))
    }

    /// A whole text.
    pub(crate) fn whole(kind: &'static str, text: impl Into<Bytes>) -> Self {
        Self::new(StatusCode::OK, kind, Body::whole(text.into()))
    }

    /// The page of a report, with `bar` on top; it may do what it says itself, which is less than
    /// ours may.
    pub(crate) fn report(page: &str, bar: &Markup) -> Self {
        let own = frame::policy_of(page).unwrap_or(NOTHING);
        let policy = format!("{own}; {REPORT}");
        Self { policy, ..Self::whole(HTML, frame::with_bar(page, bar)) }
    }

    /// What goes on until somebody has gone.
    pub(crate) fn events(body: Body) -> Self {
        Self::new(StatusCode::OK, EVENTS, body)
    }

    /// The same under another status.
    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// Go and look there.
    pub(crate) fn see(place: &str) -> Self {
        let none = Self::whole(TEXT, "");
        let more = vec![(LOCATION, place.to_owned())];
        Self { more, ..none.with_status(StatusCode::SEE_OTHER) }
    }

    /// The same with a cookie.
    pub(crate) fn with_cookie(mut self, cookie: String) -> Self {
        self.more.push((SET_COOKIE, cookie));
        self
    }

    /// A page that says why there is no other.
    pub(crate) fn refused(status: StatusCode, words: &str) -> Self {
        Self::page("Not shown", &frame::refusal(words)).with_status(status)
    }

    /// The same for whoever is no browser of ours.
    pub(crate) fn plain(status: StatusCode, words: &str) -> Self {
        Self::whole(TEXT, format!("{words}\n")).with_status(status)
    }

    /// The response.
    pub(crate) fn response(self) -> Response<Body> {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.kind));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        // no other site learns of it, and forms say where they come from
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        let alone = HeaderValue::from_static("same-origin");
        headers.insert(HeaderName::from_static("cross-origin-opener-policy"), alone.clone());
        headers.insert(HeaderName::from_static("cross-origin-resource-policy"), alone);
        let more = self.more.into_iter().chain([(CONTENT_SECURITY_POLICY, self.policy)]);
        for (name, value) in more {
            // addresses are encoded, cookies and policies are ours
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.append(name, value);
            }
        }
        response
    }
}
