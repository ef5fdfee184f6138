//! What happens to a request: where it goes, what is seen of it, and what comes back.

mod passage;

use std::convert::Infallible;
use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Span};
use plumb_wire::http::Scheme;
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

use super::exchange::{AnswerTime, Answered, Asked, ConnectTimes, Exchange, Sent};
use super::hops;
use super::kept::{Kept, Room};
use super::ledger::{Ledger, Underway};
use super::present::Present;
use super::tap::{Outgoing, Returning};
use super::upstream::{Origin, Reach, Unreachable, Upstream};
use super::{Authority, Intercept};

/// What a client is sent.
pub(crate) type Answer = Response<Either<Full<Bytes>, Returning>>;

/// What all connections share.
#[derive(Debug)]
pub(crate) struct ProxyState {
    pub(crate) ledger: Ledger,
    pub(crate) reach: Reach,
    pub(crate) intercept: Vec<Intercept>,
    /// There is one as soon as a host is to be opened.
    pub(crate) authority: Option<Authority>,
    pub(crate) room: Room,
    /// Bytes of a body that are kept.
    pub(crate) keep_body: usize,
    /// How long anything may stand still.
    pub(crate) timeout: Span,
}

impl ProxyState {
    /// How long anything may stand still.
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_nanos(self.timeout.ns())
    }
}

/// What serves the requests of one connection.
#[derive(Debug)]
pub(crate) struct ConnectionHandler {
    pub(crate) state: Arc<ProxyState>,
    /// The server that everything on this connection is for: inside of a tunnel.
    inside: Option<Origin>,
    /// The client speaks HTTP/2, so that a server may be spoken to in it.
    speaks_http2: bool,
    /// The connection of the last request, for the next one.
    upstream: Mutex<Option<Upstream>>,
    pub(crate) present: Arc<Present>,
    /// True once the proxy is to stop.
    pub(crate) stop: watch::Receiver<bool>,
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
enum NoAnswer {
    /// There is no connection to its server.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// The connection broke before an answer came.
    #[error("{place} gave no answer: {cause}")]
    Broken { place: String, cause: hyper::Error },
    /// The client left before it had sent all of its request, or sends no more.
    #[error("the client did not send all of its request: {why}")]
    Unfinished { why: String },
    /// No answer came in time.
    #[error("{place} gave no answer within {patience} (--timeout)")]
    Late { place: String, patience: Span },
}

impl ConnectionHandler {
    /// A handler for one connection.
    pub(crate) fn new(
        state: Arc<ProxyState>,
        present: Arc<Present>,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self { state, inside: None, speaks_http2: false, upstream: Mutex::default(), present, stop }
    }

    /// The handler inside of a tunnel to `origin`.
    pub(crate) fn inside(&self, origin: Origin) -> Self {
        let (state, present) = (Arc::clone(&self.state), Arc::clone(&self.present));
        Self { inside: Some(origin), ..Self::new(state, present, self.stop.clone()) }
    }

    /// The same for a client that speaks HTTP/2.
    fn in_http2(self) -> Self {
        Self { speaks_http2: true, ..self }
    }

    /// The answer to one request.
    pub(crate) async fn serve(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Answer, Infallible> {
        if request.method() == Method::CONNECT {
            return Ok(self.connect(request).await);
        }
        Ok(match self.origin(request.uri()) {
            Ok(origin) => self.forward(origin, request).await,
            Err(complaint) => {
                let (method, uri) = (request.method(), shown(request.uri()));
                self.state.ledger.tell(format!("{method} {uri} refused: {complaint}"));
                refusal(StatusCode::BAD_REQUEST, complaint)
            }
        })
    }

    /// The server that a request is for.
    fn origin(&self, uri: &Uri) -> Result<Origin, &'static str> {
        if let Some(inside) = &self.inside {
            return Ok(inside.clone());
        }
        match uri.scheme_str() {
            // a WebSocket is asked for over HTTP
            Some("http" | "ws") => origin_of(uri, Scheme::Http),
            Some(_) => Err("this proxy forwards http only; other schemes go through CONNECT"),
            None => Err("this is the recording proxy of plumb: name it to a client as its proxy"),
        }
    }

    async fn forward(&self, origin: Origin, mut request: Request<Incoming>) -> Answer {
        let state = &self.state;
        let upgrade =
            hops::asks_for_upgrade(request.headers()).then(|| hyper::upgrade::on(&mut request));
        let (mut head, body) = request.into_parts();
        hops::adapt(&mut head.headers, &origin, upgrade.is_some());
        let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
        let asked = Asked {
            method: head.method.clone(),
            url: format!("{}{target}", origin.start()),
            version: head.version,
            headers: head.headers.clone(),
        };
        let kept = || Kept::new(&state.room, state.keep_body);
        let sent = Sent::new(kept());
        let mut underway =
            Underway::new(Exchange::begin(asked, sent.clone(), kept()), &state.ledger);
        let outgoing = Outgoing::new(body, state.patience(), sent.clone());
        let request = Request::from_parts(head, outgoing);
        match self.ask(&origin, request, &sent, &mut underway).await {
            Ok(response) => self.pass_back(response, underway, upgrade),
            Err(problem) => {
                let status = match problem {
                    NoAnswer::Late { .. } | NoAnswer::Unreachable(Unreachable::Late { .. }) => {
                        StatusCode::GATEWAY_TIMEOUT
                    }
                    NoAnswer::Unreachable(_) | NoAnswer::Broken { .. } => StatusCode::BAD_GATEWAY,
                    NoAnswer::Unfinished { .. } => StatusCode::BAD_REQUEST,
                };
                underway.end(Some(problem.to_string()));
                refusal(status, &problem.to_string())
            }
        }
    }

    /// Connects before anything is asked, and tells whether the server speaks HTTP/2: false also where
    /// it cannot be reached, which the first request will tell.
    async fn finds_http2(&self) -> bool {
        let Some(origin) = &self.inside else { return false };
        let mut place = self.upstream.lock().await;
        *place = self.state.reach.open(origin, true).await.ok().map(|(upstream, _)| upstream);
        place.as_ref().is_some_and(Upstream::is_http2)
    }

    /// The head of the answer, over the connection of the last request or a new one.
    async fn ask(
        &self,
        origin: &Origin,
        request: Request<Outgoing>,
        sent: &Sent,
        underway: &mut Underway,
    ) -> Result<Response<Incoming>, NoAnswer> {
        let (upstream, way) = self.connection(origin, false).await?;
        let first = self.over(upstream, way, request, sent, underway).await;
        let again = match first {
            Ok(response) => return Ok(response),
            Err((problem, _)) if way.is_some() => return Err(problem),
            // the server may have closed it just then
            Err((problem, again)) => again.ok_or(problem)?,
        };
        let (upstream, way) = self.connection(origin, true).await?;
        let second = self.over(upstream, way, again, sent, underway).await;
        second.map_err(|(problem, _)| problem)
    }

    /// The answer to a request over `upstream`, which stands there for the next one. With a problem
    /// the request comes back where it may be sent again.
    async fn over(
        &self,
        mut upstream: Upstream,
        way: Option<ConnectTimes>,
        mut request: Request<Outgoing>,
        sent: &Sent,
        underway: &mut Underway,
    ) -> Result<Response<Incoming>, (NoAnswer, Option<Request<Outgoing>>)> {
        upstream.fit(&mut request);
        underway.note(|exchange| exchange.leaves(upstream.port, way, &request));
        let spare = again(&request);
        match self.send(&mut upstream, request, sent).await {
            Ok(response) => {
                if !upstream.is_http2() {
                    *self.upstream.lock().await = Some(upstream);
                }
                Ok(response)
            }
            Err((problem @ NoAnswer::Broken { .. }, unsent)) => Err((problem, unsent.or(spare))),
            // of one that is late the server has the request
            Err((problem, unsent)) => Err((problem, unsent)),
        }
    }

    /// The connection of the last request, or a new one with the way to it, as it must be when it is
    /// to be `new`.
    async fn connection(
        &self,
        origin: &Origin,
        new: bool,
    ) -> Result<(Upstream, Option<ConnectTimes>), Unreachable> {
        let mut place = self.upstream.lock().await;
        if let Some(mut upstream) = place.take().filter(|last| !new && last.origin == *origin)
            && upstream.is_ready().await
        {
            *place = upstream.shared();
            return Ok((upstream, None));
        }
        let (upstream, way) = self.state.reach.open(origin, self.speaks_http2).await?;
        *place = upstream.shared();
        Ok((upstream, Some(way)))
    }

    /// Sends a request over `upstream`. With the problem the request comes back if nothing of it
    /// was sent.
    async fn send(
        &self,
        upstream: &mut Upstream,
        request: Request<Outgoing>,
        sent: &Sent,
    ) -> Result<Response<Incoming>, (NoAnswer, Option<Request<Outgoing>>)> {
        let place = upstream.origin.place();
        let mut answer = upstream.send(request);
        let mut time = AnswerTime::new(self.state.timeout);
        let mut left = self.state.patience();
        loop {
            match timeout(left, &mut answer).await {
                Ok(Ok(response)) => return Ok(response),
                Ok(Err(mut error)) => {
                    let unsent = error.take_message();
                    let problem = match error.into_error() {
                        cause if cause.is_user() => NoAnswer::Unfinished {
                            why: cause.source().map_or_else(String::new, ToString::to_string),
                        },
                        cause => NoAnswer::Broken { place, cause },
                    };
                    return Err((problem, unsent));
                }
                Err(_) => match sent.with(|sent| time.left(sent, MonotonicClock.now_ns())) {
                    Some(more) => left = more,
                    None => {
                        return Err((NoAnswer::Late { place, patience: self.state.timeout }, None));
                    }
                },
            }
        }
    }

    fn pass_back(
        &self,
        mut response: Response<Incoming>,
        mut underway: Underway,
        upgrade: Option<OnUpgrade>,
    ) -> Answer {
        let switched = response.status() == StatusCode::SWITCHING_PROTOCOLS;
        let server = switched.then(|| hyper::upgrade::on(&mut response));
        let (mut head, body) = response.into_parts();
        let answered = Answered {
            status: head.status,
            reason: reason(&head),
            version: head.version,
            headers: head.headers.clone(),
        };
        underway.note(|exchange| {
            exchange.moments.answered = Some(MonotonicClock.now_ns());
            exchange.answered = Some(answered);
        });
        head.version = Version::HTTP_11;
        match (server, upgrade) {
            (Some(server), Some(client)) => {
                let what = "what follows passes through and is not recorded";
                underway.end(Some(format!("the connection changes its protocol; {what}")));
                passage::join(client, server, Arc::clone(&self.present), self.stop.clone());
                Response::from_parts(head, Either::Left(Full::default()))
            }
            (Some(_), None) => {
                let words = "the server changes the protocol, and nobody asked it to";
                underway.end(Some(words.into()));
                refusal(StatusCode::BAD_GATEWAY, words)
            }
            (None, _) => {
                hops::strip(&mut head.headers);
                let patience = self.state.patience();
                let body = Returning::new(body, patience, underway);
                Response::from_parts(head, Either::Right(body))
            }
        }
    }

    /// Opens a tunnel: to ourselves for hosts that are recorded, else to the server.
    async fn connect(self: Arc<Self>, mut request: Request<Incoming>) -> Answer {
        if self.inside.is_some() {
            return refusal(
                StatusCode::METHOD_NOT_ALLOWED,
                "there is no tunnel inside of a tunnel",
            );
        }
        let origin = match origin_of(request.uri(), Scheme::Https) {
            Ok(origin) if request.uri().port_u16().is_some() => origin,
            _ => return refusal(StatusCode::BAD_REQUEST, "CONNECT wants HOST:PORT"),
        };
        let upgrade = hyper::upgrade::on(&mut request);
        let state = &self.state;
        let opened = state.intercept.iter().any(|named| named.has(&origin.host));
        if let (Some(authority), true) = (&state.authority, opened) {
            return match authority.config(&origin.host) {
                Ok(config) => {
                    tokio::spawn(passage::open(Arc::clone(&self), upgrade, origin, config));
                    Response::new(Either::Left(Full::default()))
                }
                Err(words) => {
                    state.ledger.tell(&words);
                    refusal(StatusCode::BAD_GATEWAY, &words)
                }
            };
        }
        match state.reach.through(&origin).await {
            Ok(server) => {
                state.ledger.tunnel(&origin.host);
                passage::pass(upgrade, server, Arc::clone(&self.present), self.stop.clone());
                Response::new(Either::Left(Full::default()))
            }
            Err(problem) => {
                state.ledger.tell(format!("no tunnel: {problem}"));
                refusal(StatusCode::BAD_GATEWAY, &problem.to_string())
            }
        }
    }
}

fn origin_of(uri: &Uri, scheme: Scheme) -> Result<Origin, &'static str> {
    let authority = uri.authority().ok_or("the URL names no host")?;
    if authority.as_str().contains('@') {
        return Err("the URL holds a user or a password, which belong into a header");
    }
    let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    // a port that is none is not told apart from a missing one
    let port = match authority.port_u16() {
        Some(port) if port > 0 => port,
        None if authority.as_str() == authority.host() => scheme.port(),
        _ => return Err("the URL names no port"),
    };
    if host.is_empty() { Err("the URL names no host") } else { Ok(Origin { scheme, host, port }) }
}

/// An address in a log: without its user and its query.
fn shown(uri: &Uri) -> String {
    let scheme = uri.scheme_str().map_or_else(String::new, |scheme| format!("{scheme}://"));
    format!("{scheme}{}{}", uri.host().unwrap_or_default(), uri.path())
}

/// The same request once more, where it may be sent twice: it changes nothing and has no body.
fn again(request: &Request<Outgoing>) -> Option<Request<Outgoing>> {
    if !request.method().is_safe() {
        return None;
    }
    let mut copy = Request::new(request.body().again()?);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    Some(copy)
}

/// The words behind the status.
fn reason(head: &hyper::http::response::Parts) -> String {
    match head.extensions.get::<ReasonPhrase>() {
        Some(words) => String::from_utf8_lossy(words.as_bytes()).into_owned(),
        None if head.version == Version::HTTP_2 => String::new(), // it has none
        None => head.status.canonical_reason().unwrap_or_default().into(),
    }
}

/// What the proxy itself answers.
fn refusal(status: StatusCode, words: &str) -> Answer {
    let mut response =
        Response::new(Either::Left(Full::from(format!("plumb http record: {words}\n"))));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_in_the_log_has_neither_user_nor_query() {
        for (uri, expected) in [
            ("ftp://me:pw@erp/a@b?token=1", "ftp://erp/a@b"),
            ("/direct?token=1", "/direct"),
            ("http://erp", "http://erp/"),
        ] {
            assert_eq!(shown(&uri.parse().unwrap()), expected);
        }
    }

    #[test]
    fn a_request_names_its_server() {
        let place =
            |uri: &str| origin_of(&uri.parse().unwrap(), Scheme::Http).map(|origin| origin.place());
        assert_eq!(place("http://ERP/x"), Ok("erp:80".into()));
        assert_eq!(place("http://[::1]:8000/"), Ok("[::1]:8000".into()));
        assert_eq!(place("erp:443"), Ok("erp:443".into()));
        assert_eq!(place("ws://erp/x"), Ok("erp:80".into()));
        for wrong in ["/x", "http://demo:demo@erp/", "http://erp:0/", "http://erp:99999/"] {
            assert!(place(wrong).is_err(), "{wrong}");
        }
    }
}
