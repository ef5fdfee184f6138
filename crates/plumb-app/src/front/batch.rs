//! `$batch` at the front: its requests become dialog steps one after the other, and its answer is
//! sent while they are done.
//!
//! A step holds its work process only while it is done. What it gives is kept until the client has
//! taken it, and only then the next step begins: a batch holds one answer at most, for which memory is
//! set aside before anything is read. A batch for which there is none waits, and is refused in the end.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST, HeaderName, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode, Uri};
use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use plumb_odata::batch::{Asks, Parser, Part};
use plumb_odata::{Change, Service, Version};
use plumb_serve::memory::{Share, held};
use plumb_serve::{Body, Gone, Peer, Pieces, ReadError, Request};
use tokio::sync::Semaphore;

use super::dispatch::Dispatch;
use super::timing::{self, SERVER_TIMING};
use crate::answer::{Answer, Failure};
use crate::asked::Target;
use crate::config::PART_MAX;
use crate::flights::parts;
use crate::route::{ErrorForm, Route};
use crate::services::bytes;
use crate::session::{COOKIE as SESSION, unguessable};

/// Headers of the batch that hold for each request within: who asks, and whom.
const OF_THE_WHOLE: [HeaderName; 3] = [AUTHORIZATION, COOKIE, HOST];

/// The name of a request, which its answer repeats.
const CONTENT_ID: HeaderName = HeaderName::from_static("content-id");

/// The answer of a part.
struct Made {
    head: Bytes,
    body: Bytes,
    /// What was asked was not done.
    failed: bool,
}

impl Made {
    fn of(head: Vec<u8>, body: Bytes, failed: bool) -> Self {
        Self { head: head.into(), body, failed }
    }
}

/// What the requests of a batch share.
#[derive(Debug)]
struct Batch {
    dispatch: Arc<Dispatch>,
    headers: HeaderMap,
    peer: Peer,
    service: Service,
    boundary: String,
    /// The form in which a part is told what is wrong that names none itself.
    errors: ErrorForm,
    /// What follows a part that fails is done as well.
    goes_on: bool,
    /// The memory of the answer that is made or sent.
    _share: Share,
}

/// The beginning of the answer to a batch for `service`; the rest of it is made as it is taken.
///
/// # Errors
/// [`Failure`] when the batch as a whole cannot be understood; a request within that fails has its
/// own answer.
pub(super) async fn answer(
    dispatch: &Arc<Dispatch>,
    request: hyper::Request<Incoming>,
    peer: Peer,
    service: Service,
) -> Result<Response<Body>, Failure> {
    let (outer, body) = request.into_parts();
    let proved = {
        let (services, now_ns) = (&dispatch.instance.services, MonotonicClock.now_ns());
        let cookie = plumb_serve::cookie(&outer.headers, SESSION);
        let open = cookie.is_some_and(|name| services.sessions.touch(name, now_ns));
        open || services.accounts.user(&outer.headers).is_some()
    };
    if !proved {
        return Err(Failure::unauthorized());
    }
    let stall = Duration::from_nanos(dispatch.instance.config.front.stall.ns());
    let share = tokio::time::timeout(stall, dispatch.memory.set_aside(PART_MAX)).await;
    let share = share
        .ok()
        .flatten()
        .ok_or_else(|| Failure::busy("as many batches are answered as may (front.batch-memory)"))?;
    let content_type = outer.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let parser = Parser::new(service, content_type.unwrap_or(""))?;
    let parts = read(dispatch, parser, body).await?;
    let mut headers = HeaderMap::new();
    for name in OF_THE_WHOLE {
        for value in outer.headers.get_all(&name) {
            headers.append(name.clone(), value.clone());
        }
    }
    // a part that cannot be read says nothing of its form, and those beside it do
    let spoken = parts.iter().map(|part| &part.headers).find(|it| it.contains_key(ACCEPT));
    let errors = ErrorForm::of(&Route::Batch(service), spoken.unwrap_or(&outer.headers), "");
    let accepted = service.version() == Version::Two; // version 4 has an answer of its own for later
    let boundary = format!("plumb-{}", unguessable());
    let content_type = format!("multipart/mixed; boundary={boundary}");
    let (pieces, body) = Body::pieces();
    let dispatch = Arc::clone(dispatch);
    let goes_on = accepted || prefers_to_go_on(&outer.headers);
    let batch =
        Batch { dispatch, headers, peer, service, boundary, errors, goes_on, _share: share };
    tokio::spawn(async move { batch.send(parts, pieces).await });
    let mut response = Response::new(body);
    *response.status_mut() = if accepted { StatusCode::ACCEPTED } else { StatusCode::OK };
    let headers = response.headers_mut();
    if let Ok(value) = content_type.parse() {
        headers.insert(CONTENT_TYPE, value);
    }
    let (name, version) = service.version().header();
    headers.insert(name, HeaderValue::from_static(version));
    headers.insert(SERVER_TIMING, HeaderValue::from_static("batch;desc=\"each part has its own\""));
    Ok(response)
}

/// True for a client of version 4 that wants what follows a part that fails to be done as well.
///
/// # Source
/// OData Version 4.0, Protocol, 8.2.8.3 (`odata.continue-on-error`) and 11.7.2.
fn prefers_to_go_on(headers: &HeaderMap) -> bool {
    let said = headers.get_all("prefer").into_iter().filter_map(|value| value.to_str().ok());
    let mut preferences = said.flat_map(|value| value.split([',', ';']));
    preferences.any(|preference| {
        let (name, value) = preference.split_once('=').unwrap_or((preference, "true"));
        let name = name.trim().to_ascii_lowercase();
        name.trim_start_matches("odata.") == "continue-on-error"
            && value.trim().trim_matches('"').eq_ignore_ascii_case("true")
    })
}

/// Reads the requests of a batch as they come in.
async fn read(
    dispatch: &Dispatch,
    mut parser: Parser,
    body: Incoming,
) -> Result<Vec<Part>, Failure> {
    let front = &dispatch.instance.config.front;
    let most = bytes(front.body_size);
    let mut body = Limited::new(body, most);
    let reading = async {
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                let large = error.is::<LengthLimitError>();
                let why = if large { ReadError::TooLarge(most) } else { ReadError::Malformed };
                dispatch.unread(why)
            })?;
            if let Some(bytes) = frame.data_ref() {
                parser.take(bytes)?;
            }
        }
        Ok::<(), Failure>(())
    };
    match tokio::time::timeout(Duration::from_nanos(front.stall.ns()), reading).await {
        Ok(read) => read?,
        Err(_) => return Err(dispatch.unread(ReadError::Late)),
    }
    Ok(parser.finish()?)
}

impl Batch {
    /// Makes and sends the answers of `parts`, as fast as the client takes them.
    async fn send(self, parts: Vec<Part>, pieces: Pieces) {
        let turn = Arc::new(Semaphore::new(1));
        for part in parts {
            let made = tokio::select! {
                made = self.make(part, &turn) => made,
                () = pieces.gone() => return,
            };
            let Some(made) = made else { return };
            let Made { head, body, failed } = made;
            if self.pass_on(&pieces, head, body).await.is_err() {
                return;
            }
            if failed && !self.goes_on {
                break;
            }
        }
        // whoever is gone hears nothing
        if pieces.send(parts::tail(&self.boundary).into()).await.is_ok() {
            let _ = pieces.end().await;
        }
    }

    async fn pass_on(&self, pieces: &Pieces, head: Bytes, body: Bytes) -> Result<(), Gone> {
        pieces.send(head).await?;
        pieces.send(body).await?;
        pieces.send(Bytes::from_static(b"\r\n")).await
    }

    /// The answer of a part, once the client has taken the one before it;
    /// `None` when the server stops.
    async fn make(&self, part: Part, turn: &Arc<Semaphore>) -> Option<Made> {
        let turn = Arc::clone(turn).acquire_owned().await.ok()?;
        let Part { name, asks, headers } = part;
        // some clients name the part, some the request within
        let inner_name = headers.get(CONTENT_ID).cloned();
        let mut answer = match asks {
            Ok(Asks::Read(uri)) => self.step(uri, headers).await,
            Ok(Asks::Changes(changes)) => {
                let done = self.changes(changes).await;
                if done.status.is_success() {
                    let head = parts::head_of_set(&self.boundary, name.as_deref(), &done);
                    return Some(Made::of(head, held(done.body, turn), false));
                }
                done
            }
            Err(refusal) => self.errors.answer(&refusal.into()),
        };
        answer.headers.extend(inner_name.map(|name| (CONTENT_ID, name)));
        let head = parts::head(&self.boundary, name.as_deref(), &answer);
        let failed = answer.status.is_client_error() || answer.status.is_server_error();
        Some(Made::of(head, held(answer.body, turn), failed))
    }

    /// Has a set of changes done as one step, in one transaction. A set that is not done has one answer,
    /// in the form of its first change.
    async fn changes(&self, changes: Vec<Change>) -> Answer {
        let spoken =
            changes.iter().map(|change| &change.headers).find(|it| it.contains_key(ACCEPT));
        let form = |headers| ErrorForm::of(&Route::Batch(self.service), headers, "");
        let errors = spoken.map_or(self.errors, form);
        let mut request = hyper::Request::new(());
        let root = format!("/sap{}/$batch", self.service.root());
        *request.uri_mut() = root.parse().unwrap_or_default();
        *request.headers_mut() = self.headers.clone();
        let (head, ()) = request.into_parts();
        let request = Request { head, body: Bytes::new(), peer: self.peer };
        let done = self.dispatch.give(request, Route::Changes(self.service, changes), errors).await;
        done.unwrap_or_else(|failure| errors.answer(&failure))
    }

    /// Has a request within answered as a step of its own.
    async fn step(&self, uri: Uri, headers: HeaderMap) -> Answer {
        let mut request = hyper::Request::new(());
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        let (mut head, ()) = request.into_parts();
        for (name, value) in &self.headers {
            head.headers.append(name.clone(), value.clone());
        }
        let Target { route, errors, wrong } = Target::of(&head.uri, &head.headers);
        if let Some(failure) = wrong {
            return errors.answer(&failure);
        }
        let query = head.uri.query().unwrap_or("");
        let statistics = timing::asks_for_statistics(&head.headers, query);
        let request = Request { head, body: Bytes::new(), peer: self.peer };
        let done = self.dispatch.give(request, route, errors).await;
        let mut answer = match done {
            Ok(answer) => answer,
            Err(failure) => errors.answer(&failure),
        };
        if answer.body.len() > PART_MAX {
            let text = format!(
                "an answer within a batch has at most {PART_MAX} bytes: ask for it alone, or for \
                 fewer with $top"
            );
            answer = errors.answer(&Failure::new(StatusCode::PAYLOAD_TOO_LARGE, text));
        }
        answer.headers.extend(timing::headers(&answer.timings, statistics));
        answer
    }
}
