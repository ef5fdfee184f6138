//! The front: connections, limits, the cache, and the way to a work process and back.

mod cache;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, IF_NONE_MATCH,
};
use hyper::{Method, Response, StatusCode};
use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use plumb_serve::{ConnectionLimits, Counters, Gauge, HttpService};
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};

pub(crate) use cache::{Cache, CacheFigures};

use crate::answer::{Answer, Failure, HTML, JSON, Timings};
use crate::dispatcher::Job;
use crate::instance::Instance;
use crate::status;
use crate::step::Request;
use crate::url::SapPath;

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
const SAP_STATISTICS: HeaderName = HeaderName::from_static("sap-statistics");
/// What stands in the place of parts of the time that did not take any.
const CACHE_TIMING: HeaderValue = HeaderValue::from_static("cache;desc=\"hit\"");
/// How long others may keep an image before they ask again, seconds.
const IMAGE_AGE: HeaderValue = HeaderValue::from_static("public, max-age=86400");

/// The front of a server.
#[derive(Debug)]
pub(crate) struct Front {
    instance: Arc<Instance>,
    limits: ConnectionLimits,
    places: Semaphore,
}

impl HttpService for Front {
    async fn answer(&self, request: hyper::Request<Incoming>) -> Response<Full<Bytes>> {
        self.instance.counters.requests();
        if let Some(hit) = self.cached(&request) {
            return hit;
        }
        if let Some(answer) = self.own(&request) {
            return response(answer, None);
        }
        let asked = asks_for_statistics(&request);
        let key = SapPath::parse(request.uri().path()).map(|path| path.rest.to_owned());
        let (answer, timings) = match self.dispatch(request).await {
            Ok(answer) => {
                let timings = answer.timings;
                (answer, timings)
            }
            Err(failure) => (failure.plain(), Timings::default()),
        };
        if let (true, StatusCode::OK, Some(key)) = (answer.keep, answer.status, key) {
            self.instance.cache.keep(key, &answer);
        }
        response(answer, Some((timings, asked)))
    }

    fn limits(&self) -> &ConnectionLimits {
        &self.limits
    }

    fn counters(&self) -> &Counters {
        &self.instance.counters
    }

    fn tell(&self, event: String) {
        self.instance.tell(event);
    }
}

impl Front {
    pub(crate) fn new(instance: Arc<Instance>) -> Self {
        let places = Semaphore::new(instance.config.front.requests);
        let limits = instance.config.door_limits();
        Self { instance, limits, places }
    }

    /// What the cache has for a request.
    fn cached(&self, request: &hyper::Request<Incoming>) -> Option<Response<Full<Bytes>>> {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return None;
        }
        let path = SapPath::parse(request.uri().path())?;
        let found = self.instance.cache.find(path.rest)?;
        let fresh = request.headers().get(IF_NONE_MATCH).is_some_and(|tag| *tag == found.tag);
        let body = if fresh { Bytes::new() } else { found.body.clone() };
        let mut response = Response::new(Full::new(body));
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
    fn own(&self, request: &hyper::Request<Incoming>) -> Option<Answer> {
        let instance = &self.instance;
        let get = request.method() == Method::GET || request.method() == Method::HEAD;
        let refused = |allow| {
            let failure = Failure::new(StatusCode::METHOD_NOT_ALLOWED, format!("use {allow}"));
            failure.plain().with(ALLOW, allow)
        };
        let page = |content_type, text: String| {
            Answer::new(content_type, text).with(CACHE_CONTROL, "no-store")
        };
        Some(match request.uri().path() {
            "/" if get => {
                let to = "/status";
                let answer = Answer::new(crate::answer::TEXT, "");
                answer.with_status(StatusCode::FOUND).with(hyper::header::LOCATION, to)
            }
            "/status" if get => page(HTML, status::html(&instance.status())),
            "/status.json" if get => page(JSON, status::json(&instance.status())),
            "/metrics" if get => {
                page(plumb_wire::prometheus::CONTENT_TYPE, status::metrics(&instance.status()))
            }
            "/status" | "/status.json" | "/metrics" => refused("GET"),
            "/programs/reset" if request.method() == Method::POST => {
                if instance.accounts.user(request.headers()).is_none() {
                    return Some(Failure::unauthorized().plain());
                }
                instance.buffer.reset();
                instance.records.reset();
                Answer::new(crate::answer::TEXT, "the program buffer is empty\n")
            }
            "/programs/reset" => refused("POST"),
            _ => return None,
        })
    }

    /// Takes a request to a work process, and waits for its answer.
    async fn dispatch(&self, request: hyper::Request<Incoming>) -> Result<Answer, Failure> {
        let _place = self.place().await?;
        let request = self.read(request).await?;
        let (reply, answer) = oneshot::channel();
        let job = Job { request, queued_ns: MonotonicClock.now_ns(), reply };
        self.instance.queue.put(job).map_err(|_| {
            Failure::busy("as many steps wait for a work process as may (dispatcher.queue)")
        })?;
        answer.await.map_err(|_| Failure::busy("the server stops"))
    }

    async fn place(&self) -> Result<SemaphorePermit<'_>, Failure> {
        if let Ok(place) = self.places.try_acquire() {
            return Ok(place);
        }
        let counters = &self.instance.counters;
        if !counters.waiting.enter(self.instance.config.front.queue as u64) {
            counters.turned_away();
            return Err(Failure::busy("as many requests wait as may (front.queue)"));
        }
        let waits = Waits(&counters.waiting);
        let place = self.places.acquire().await;
        drop(waits);
        place.map_err(|_| Failure::busy("the server stops"))
    }

    async fn read(&self, request: hyper::Request<Incoming>) -> Result<Request, Failure> {
        let front = &self.instance.config.front;
        let tls = self.instance.config.tls.is_some();
        let (head, body) = request.into_parts();
        if hyper::body::Body::is_end_stream(&body) {
            return Ok(Request { head, body: Bytes::new(), tls });
        }
        let most = usize::try_from(front.body_size.bytes()).unwrap_or(usize::MAX);
        let read = Limited::new(body, most).collect();
        match tokio::time::timeout(Duration::from_nanos(front.stall.ns()), read).await {
            Ok(Ok(body)) => Ok(Request { head, body: body.to_bytes(), tls }),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                self.instance.counters.oversized();
                let text = format!("a body has at most {most} bytes here (front.body-size)");
                Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, text))
            }
            Ok(Err(_)) => Err(Failure::bad_request("the body is cut or badly framed")),
            Err(_) => {
                self.instance.counters.slow();
                let text = "the body did not arrive in time (front.stall)";
                Err(Failure::new(StatusCode::REQUEST_TIMEOUT, text))
            }
        }
    }
}

/// Counted as waiting until it is dropped, which the end of the connection does, too.
struct Waits<'a>(&'a Gauge);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

fn asks_for_statistics(request: &hyper::Request<Incoming>) -> bool {
    let header = request.headers().get(SAP_STATISTICS);
    let query = request.uri().query().unwrap_or("");
    header.is_some_and(|value| value == "true")
        || query.split('&').any(|pair| pair == "sap-statistics=true")
}

fn response(answer: Answer, timed: Option<(Timings, bool)>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(answer.body));
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    for (name, value) in answer.headers {
        headers.append(name, value);
    }
    if let Some((timings, statistics)) = timed {
        put(headers, SERVER_TIMING, &server_timing(&timings));
        if statistics {
            put(headers, SAP_STATISTICS, &sap_statistics(&timings));
        }
    } else {
        headers.insert(SERVER_TIMING, HeaderValue::from_static("front;desc=\"answered itself\""));
    }
    response
}

fn put(headers: &mut hyper::HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// Milliseconds, as browsers show them.
///
/// # Source
/// W3C Server Timing.
fn server_timing(timings: &Timings) -> String {
    let parts = [
        ("queue", timings.queue_ns),
        ("load", timings.load_ns),
        ("database", timings.database_ns),
        ("render", timings.render_ns),
    ];
    let mut text = String::with_capacity(80);
    for (name, ns) in parts {
        let separator = if text.is_empty() { "" } else { ", " };
        // a String takes everything
        let _ = write!(text, "{separator}{name};dur={}.{:03}", ns / 1_000_000, ns / 1_000 % 1_000);
    }
    text
}

/// Whole milliseconds: all of it, what the front half did, and the database.
fn sap_statistics(timings: &Timings) -> String {
    let ms = |ns: u64| (ns + 500_000) / 1_000_000;
    let total_ns = timings.queue_ns + timings.service_ns();
    format!(
        "total={},queue={},load={},db={},render={}",
        ms(total_ns),
        ms(timings.queue_ns),
        ms(timings.load_ns),
        ms(timings.database_ns),
        ms(timings.render_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timings_are_written_in_milliseconds() {
        let timings =
            Timings { queue_ns: 12_345_678, load_ns: 0, database_ns: 999_999, render_ns: 1_000 };
        let text = "queue;dur=12.345, load;dur=0.000, database;dur=0.999, render;dur=0.001";
        assert_eq!(server_timing(&timings), text);
        assert_eq!(sap_statistics(&timings), "total=13,queue=12,load=0,db=1,render=0");
    }
}
