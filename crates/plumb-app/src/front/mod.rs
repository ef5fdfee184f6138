//! The front: connections, limits, the cache, and the way to a work process and back.

mod batch;
mod dispatch;
mod timing;

use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, LOCATION};
use hyper::{HeaderMap, Method, Response, StatusCode};
use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use plumb_serve::conditional::has_already;
use plumb_serve::{Body, ConnectionLimits, Counters, HttpService, Peer};

use self::dispatch::Dispatch;
use self::timing::SERVER_TIMING;
use crate::answer::{Answer, Failure, HTML, JSON, TEXT, Timings};
use crate::asked::Target;
use crate::instance::Instance;
use crate::route::{Route, View};
use crate::status;

/// What stands in the place of parts of the time that did not take any.
const CACHE_TIMING: HeaderValue = HeaderValue::from_static("cache;desc=\"hit\"");
/// The same of what the front answers without a cache.
const OWN_TIMING: HeaderValue = HeaderValue::from_static("front;desc=\"answered itself\"");
/// How long others may keep an image before they ask again, seconds.
const IMAGE_AGE: HeaderValue = HeaderValue::from_static("public, max-age=86400");

/// The front of a server.
#[derive(Debug)]
pub(crate) struct Front {
    instance: Arc<Instance>,
    limits: ConnectionLimits,
    dispatch: Arc<Dispatch>,
}

impl HttpService for Front {
    fn begin(&self) {
        let dispatcher = Arc::clone(&self.instance.dispatcher);
        tokio::spawn(async move { dispatcher.answers.pass_on().await });
        let dispatch = Arc::clone(&self.dispatch);
        tokio::spawn(async move { dispatch.wake().await });
    }

    async fn answer(&self, request: hyper::Request<Incoming>, peer: Peer) -> Response<Body> {
        let arrived_ns = MonotonicClock.now_ns();
        self.instance.counters.requests();
        let (method, headers) = (request.method(), request.headers());
        let Target { route, errors, wrong } = Target::of(request.uri(), headers);
        if let Some(hit) = self.cached(&route, method, headers) {
            return hit;
        }
        if let Some(wrong) = wrong {
            return own_response(errors.answer(&wrong));
        }
        if let Some(answer) = self.own(&route, method, headers, peer) {
            return own_response(answer);
        }
        if let (Route::Batch(service), &Method::POST) = (&route, method) {
            // behind a pointer: every answer would have room for it
            let begun = Box::pin(batch::answer(&self.dispatch, request, peer, *service)).await;
            return begun.unwrap_or_else(|failure| own_response(errors.answer(&failure)));
        }
        let query = request.uri().query().unwrap_or("");
        let statistics = timing::asks_for_statistics(headers, query);
        let image = match &route {
            Route::Image(name) => Some(name.clone()),
            _ => None,
        };
        let done = self.dispatch.take(request, peer, route, errors).await;
        let mut answer = done.unwrap_or_else(|failure| errors.answer(&failure));
        if let (true, StatusCode::OK, Some(name)) = (answer.keep, answer.status, image) {
            self.instance.cache.keep(name, &answer);
        }
        let total_ns = MonotonicClock.now_ns().saturating_sub(arrived_ns);
        let timings = Timings { total_ns, ..std::mem::take(&mut answer.timings) };
        let mut response = response(answer);
        response.headers_mut().extend(timing::headers(&timings, statistics));
        response
    }

    /// Whoever looks after the server gets in, whatever the others do.
    fn is_urgent(&self, request: &hyper::Request<Incoming>) -> bool {
        matches!(Route::of(request.uri().path()), Route::Status(_))
    }

    fn limits(&self) -> &ConnectionLimits {
        &self.limits
    }

    fn counters(&self) -> &Counters {
        &self.instance.counters
    }

    fn tell(&self, event: String) {
        self.instance.log.tell(event);
    }

    fn left(&self, connection: u64) {
        self.instance.services.log_ons.left(connection);
    }
}

impl Front {
    pub(crate) fn new(instance: Arc<Instance>) -> Self {
        let limits = instance.config.door_limits();
        Self { dispatch: Arc::new(Dispatch::new(Arc::clone(&instance))), instance, limits }
    }

    /// What the cache has for a request.
    fn cached(
        &self,
        route: &Route,
        method: &Method,
        headers: &HeaderMap,
    ) -> Option<Response<Body>> {
        let Route::Image(name) = route else { return None };
        if method != Method::GET && method != Method::HEAD {
            return None;
        }
        let found = self.instance.cache.find(name)?;
        let tag = found.tag.to_str().unwrap_or_default();
        let fresh = has_already(headers, tag);
        let body = if fresh { Bytes::new() } else { found.body.clone() };
        let mut response = Response::new(Body::whole(body));
        if fresh {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            response.headers_mut().insert(CONTENT_TYPE, found.content_type.clone());
        }
        let headers = response.headers_mut();
        headers.insert(ETAG, found.tag.clone());
        headers.insert(CACHE_CONTROL, IMAGE_AGE);
        headers.insert(SERVER_TIMING, CACHE_TIMING);
        Some(response)
    }

    /// What the front answers itself, so that it answers when every work process is busy.
    fn own(
        &self,
        route: &Route,
        method: &Method,
        headers: &HeaderMap,
        peer: Peer,
    ) -> Option<Answer> {
        let get = method == Method::GET || method == Method::HEAD;
        let known = || self.instance.services.accounts.user(headers).is_some();
        Some(match route {
            Route::Home | Route::Status(_) if !get => refused("GET"),
            Route::Home => {
                Answer::new(TEXT, "").with_status(StatusCode::FOUND).with(LOCATION, "/status")
            }
            // what there is to see is nobody's business who comes from elsewhere
            Route::Status(_) if !peer.is_local() && !known() => Failure::unauthorized().plain(),
            Route::Status(view) => self.view(*view),
            Route::ResetBuffers if method != Method::POST => refused("POST"),
            Route::ResetBuffers if !known() => Failure::unauthorized().plain(),
            Route::ResetBuffers => {
                self.instance.services.buffer.reset();
                self.instance.services.records.reset();
                Answer::new(TEXT, "the program buffer is empty\n")
            }
            Route::Image(_)
            | Route::Page { .. }
            | Route::Flights(..)
            | Route::Batch(_)
            | Route::Changes(..)
            | Route::Compact(_)
            | Route::Sales(_)
            | Route::Confirmations
            | Route::LogOff
            | Route::Nowhere => return None,
        })
    }

    fn view(&self, view: View) -> Answer {
        let status = status::Status::of(&self.instance, self.dispatch.memory.figures());
        let answer = match view {
            View::Page => Answer::new(HTML, status::html(&status)),
            View::Json => Answer::new(JSON, status::json(&status)),
            View::Metrics => {
                Answer::new(plumb_wire::prometheus::CONTENT_TYPE, status::metrics(&status))
            }
        };
        answer.with(CACHE_CONTROL, "no-store")
    }
}

fn refused(allow: &str) -> Answer {
    let failure = Failure::new(StatusCode::METHOD_NOT_ALLOWED, format!("use {allow}"));
    failure.plain().with(ALLOW, allow)
}

/// An answer that took no work process.
fn own_response(answer: Answer) -> Response<Body> {
    let mut response = response(answer);
    response.headers_mut().insert(SERVER_TIMING, OWN_TIMING);
    response
}

fn response(answer: Answer) -> Response<Body> {
    let mut response = Response::new(Body::whole(answer.body));
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    for (name, value) in answer.headers {
        headers.append(name, value);
    }
    response
}
