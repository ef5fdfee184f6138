//! The doors: requests come in, are read once, and go where their path leads.

mod caller;
mod classic;
mod document;
mod names;
mod parameters;
mod soap;
mod submit;

use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use hyper::{HeaderMap, Method, Response, StatusCode};
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{ByteSize, Clock as _, Span};
use plumb_serve::{Body, ConnectionLimits, Counters, HttpService, Peer, ReadError, Request};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::caller::{LogOn, refuse_other_sites};
use self::classic::ClassicCall;
use self::document::{Document, Form};
use self::names::OwnNames;
use self::parameters::Pairs;
use self::submit::{Keys, Order};
use crate::answer::{Answer, ErrorForm, Failure, HTML};
use crate::config::{Config, RouteConfig};
use crate::executor::Executor;
use crate::manager::{Manager, MetricsView, Others, View};
use crate::route::{ManagerPath, Route, nothing_at};
use crate::siblings::{Queues, Siblings};
use plumb_queue::ExecutionId;
use plumb_serve::Log;

/// Memory for documents is set aside in pieces of this many bytes.
const PIECE: u64 = 1 << 10;
/// Larger documents are gone through on a thread of their own: they would hold up the others.
const LARGE: usize = 256 << 10;

/// Smaller documents are copied out of the buffer that they came in, which its connection then uses
/// again instead of a new one while they wait for the disk.
const COPIED: usize = 4 << 10;

/// The longest form of the transaction manager, bytes: it holds a few words.
const FORM_BYTES_MAX: u64 = 64 << 10;

/// A request that has come in whole.
struct Asked {
    request: Request,
    /// What is set aside for its document.
    memory: OwnedSemaphorePermit,
}

/// What is served.
pub(crate) struct Site {
    executor: Arc<Executor>,
    manager: Arc<Manager>,
    log: Arc<Log>,
    log_on: LogOn,
    /// By which it is asked where nobody has to log on.
    names: OwnNames,
    limits: ConnectionLimits,
    counters: Arc<Counters>,
    routes: Vec<RouteConfig>,
    body_size: ByteSize,
    stall: Span,
    memory: Arc<Semaphore>,
    siblings: Option<Siblings>,
}

impl HttpService for Site {
    async fn answer(&self, request: hyper::Request<Incoming>, peer: Peer) -> Response<Body> {
        let began_ns = MonotonicClock.now_ns();
        self.counters.requests();
        let route = Route::of(request.uri().path());
        let form = route.error_form().unwrap_or_else(|| ErrorForm::of(request.headers()));
        if self.log_on.is_open()
            && let Err(failure) = self.names.check(request.headers(), peer)
        {
            return form.answer(&failure).into_response();
        }
        if let Some(siblings) = &self.siblings
            && let Some(node) = siblings.other(&request, &route, peer)
        {
            let passed_on = siblings.pass_on(request, node).await;
            return passed_on.unwrap_or_else(|failure| form.answer(&failure).into_response());
        }
        let done = self.take(request, peer, route).await;
        let answer = done.unwrap_or_else(|failure| form.answer(&failure));
        answer.answered_after(MonotonicClock.now_ns() - began_ns).into_response()
    }

    /// Whoever looks after the server gets in, whatever the others do.
    fn is_urgent(&self, request: &hyper::Request<Incoming>) -> bool {
        matches!(Route::of(request.uri().path()), Route::Manager(_) | Route::Metrics)
    }

    fn limits(&self) -> &ConnectionLimits {
        &self.limits
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn tell(&self, event: String) {
        self.log.tell(event);
    }
}

impl Site {
    pub(crate) fn new(
        config: &Config,
        executor: Arc<Executor>,
        log: Arc<Log>,
        siblings: Option<Siblings>,
    ) -> Self {
        let counters = Arc::new(Counters::default());
        let connections = config.front.connections;
        let of_queues = siblings.as_ref().filter(|it| it.queues() == Queues::Own);
        let nodes = of_queues.map_or(1, |it| it.own().count);
        let manager =
            Manager::new(Arc::clone(&executor), Arc::clone(&counters), connections, nodes);
        let pieces = config.front.memory.bytes() / PIECE;
        Self {
            manager: Arc::new(manager),
            log_on: LogOn::new(config.users.clone(), config.tokens.clone()),
            names: OwnNames::new(&config.names, &config.listen),
            limits: config.connection_limits(),
            routes: config.route.clone(),
            body_size: config.front.body_size,
            stall: config.front.stall,
            memory: Arc::new(Semaphore::new(usize::try_from(pieces).unwrap_or(usize::MAX >> 3))),
            counters,
            executor,
            log,
            siblings,
        }
    }

    /// Where a request is routed.
    async fn take(
        &self,
        request: hyper::Request<Incoming>,
        peer: Peer,
        route: Route,
    ) -> Result<Answer, Failure> {
        let headers = request.headers();
        let free =
            route == Route::Metrics && peer.is_local() && self.names.check(headers, peer).is_ok();
        if !free && !self.log_on.admits(headers) {
            return Err(Failure::unauthorized());
        }
        let method = request.method().clone();
        let looks = method == Method::GET || method == Method::HEAD;
        if !looks || route == Route::Classic {
            refuse_other_sites(headers)?;
        }
        let passed_on = Siblings::is_passed_on(&request, peer);
        let siblings = self.siblings.as_ref().filter(|_| !passed_on);
        let query = parameters::query(request.uri().query().unwrap_or(""))?;
        match (&route, looks, &method) {
            (Route::Home, true, _) => {
                Ok(Answer::new(HTML, "").with_status(StatusCode::FOUND).with(LOCATION, "/manager"))
            }
            (Route::Execution(id), true, _) => self.execution(*id).await,
            (Route::Metrics, true, _) => {
                let others = others(siblings, "/metrics", None, headers).await;
                let view = if passed_on { MetricsView::OfNode } else { MetricsView::OfAll(others) };
                self.manage(move |manager| manager.metrics(view)).await
            }
            (Route::Manager(path), true, _) => {
                let (path, view) = (*path, View::of(headers));
                let target = request.uri().path_and_query().map_or("/manager", |it| it.as_str());
                let siblings = siblings.filter(|_| path == ManagerPath::Overview);
                let others = others(siblings, target, None, headers).await;
                self.manage(move |manager| manager.look(path, &query, view, others)).await
            }
            (Route::Soap(name), true, _) => {
                let version = self.executor.live.current();
                let found = version.transactions.find(name);
                let found = found.ok_or_else(|| {
                    Failure::not_found(format!("there is no transaction `{name}`"))
                })?;
                Ok(soap::wsdl(found, headers, peer))
            }
            (Route::Classic, _, &Method::GET | &Method::POST)
            | (
                Route::Runner(_) | Route::Soap(_) | Route::Messages | Route::Manager(_),
                _,
                &Method::POST,
            ) => {
                let asked = self.read(request, peer, self.most_of(&route)).await?;
                self.act(route, query, asked, siblings).await
            }
            (Route::Home | Route::Execution(_) | Route::Metrics, ..) => Err(Failure::method("GET")),
            (Route::Classic | Route::Soap(_) | Route::Manager(_), ..) => {
                Err(Failure::method("GET, POST"))
            }
            (Route::Runner(_) | Route::Messages, ..) => Err(Failure::method("POST")),
            (Route::Nowhere, ..) => Err(Failure::not_found(nothing_at(request.uri().path()))),
        }
    }

    /// Does what a request asks that has come in whole.
    async fn act(
        &self,
        route: Route,
        query: Pairs,
        asked: Asked,
        siblings: Option<&Siblings>,
    ) -> Result<Answer, Failure> {
        match route {
            Route::Runner(name) => self.run(name, query, asked).await,
            Route::Classic => self.run_classic(query, asked).await,
            Route::Messages => self.pass_on(query, asked).await,
            Route::Manager(path) => {
                let request = &asked.request;
                let form = std::str::from_utf8(&request.body)
                    .map_err(|_| Failure::bad_request("the form is not UTF-8"))?;
                let form = parameters::form(form)?;
                let view = View::of(request.headers());
                let body = Some(request.body.clone());
                // what is done with a shared queue is done once
                let siblings = siblings.filter(|it| it.queues() == Queues::Own);
                let others = others(siblings, path.target(), body, request.headers()).await;
                self.manage(move |manager| manager.act(path, &form, view, others)).await
            }
            Route::Soap(name) => self.run_service(&name, asked).await,
            Route::Home | Route::Execution(_) | Route::Metrics | Route::Nowhere => {
                Err(Failure::not_found("there is nothing at this path"))
            }
        }
    }

    async fn run(
        &self,
        transaction: String,
        mut query: Pairs,
        asked: Asked,
    ) -> Result<Answer, Failure> {
        let Asked { request, memory } = asked;
        let mode = parameters::take_mode(&mut query)?;
        let keys = Keys::of(request.headers())?;
        let document = checked(content_type(request.headers()), request.body.clone()).await?;
        let order = Order { transaction, mode, parameters: query, document, keys };
        Ok(self.executor.submit(order, memory).await?.answer())
    }

    async fn run_classic(&self, query: Pairs, asked: Asked) -> Result<Answer, Failure> {
        let Asked { request, memory } = asked;
        let keys = Keys::of(request.headers())?;
        let (kind, body) = (content_type(request.headers()).to_owned(), request.body);
        let large = body.len() > LARGE;
        let call = aside(large, move || ClassicCall::read(query, &kind, body, keys)).await?;
        let (order, media_type) = call.into_parts();
        let answer = self.executor.submit(order, memory).await?.answer();
        Ok(ClassicCall::named(media_type, answer))
    }

    async fn run_service(&self, name: &str, asked: Asked) -> Result<Answer, Failure> {
        let Asked { request, memory } = asked;
        let keys = Keys::of(request.headers())?;
        let (kind, body) = (content_type(request.headers()).to_owned(), request.body);
        let (large, of) = (body.len() > LARGE, name.to_owned());
        let order = aside(large, move || soap::read(&of, &kind, body, keys)).await?;
        Ok(soap::answer(name, self.executor.submit(order, memory).await?))
    }

    /// A message that names no transaction.
    async fn pass_on(&self, mut query: Pairs, asked: Asked) -> Result<Answer, Failure> {
        let Asked { request, memory } = asked;
        let mode = parameters::take_mode(&mut query)?;
        let keys = Keys::of(request.headers())?;
        let form = Form::of(content_type(request.headers()), &request.body)?;
        let body = request.body.clone();
        let large = body.len() > LARGE;
        let (document, facts) = aside(large, move || Document::check_message(form, body)).await?;
        let header = |name: &str| Some(request.headers().get(name)?.to_str().ok()?.to_owned());
        let version = self.executor.live.current();
        let routed = self.routes.iter().find(|route| route.accepts().fits(&facts, &header));
        let transaction = routed.map(|route| route.transaction.clone()).or_else(|| {
            let mut all = version.transactions.all();
            let takes = all.find(|it| it.accepts.iter().any(|one| one.fits(&facts, &header)));
            takes.map(|it| it.name.to_string())
        });
        let Some(transaction) = transaction else {
            let shown: String = facts.element.chars().take(80).collect();
            return Err(Failure::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                format!(
                    "no transaction takes a message with the element `{shown}`: name it in \
                     `accepts` of a transaction, or in a [[route]] of the settings"
                ),
            ));
        };
        let order = Order { transaction, mode, parameters: query, document, keys };
        Ok(self.executor.submit(order, memory).await?.answer())
    }

    /// What became of an execution.
    async fn execution(&self, id: ExecutionId) -> Result<Answer, Failure> {
        self.manage(move |manager| manager.execution(id)).await
    }

    /// Asks the manager, which may have to read from a disk.
    async fn manage(
        &self,
        ask: impl FnOnce(&Arc<Manager>) -> Result<Answer, Failure> + Send + 'static,
    ) -> Result<Answer, Failure> {
        let manager = Arc::clone(&self.manager);
        let asked = tokio::task::spawn_blocking(move || ask(&manager)).await;
        let answer = asked.unwrap_or_else(|_| {
            Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "the manager broke off"))
        });
        Ok(answer?.with(CACHE_CONTROL, "no-store"))
    }

    /// How large the body of a request may be.
    fn most_of(&self, route: &Route) -> ByteSize {
        let form = ByteSize::new(FORM_BYTES_MAX).filter(|_| matches!(route, Route::Manager(_)));
        form.map_or(self.body_size, |form| form.min(self.body_size))
    }

    /// A request with its whole body, of at most `most` bytes.
    async fn read(
        &self,
        request: hyper::Request<Incoming>,
        peer: Peer,
        most: ByteSize,
    ) -> Result<Asked, Failure> {
        document::refuse_coded(request.headers())?;
        let length = request.headers().get(CONTENT_LENGTH).and_then(|it| it.to_str().ok());
        let said = length.and_then(|digits| digits.parse::<u64>().ok());
        let chunked = request.headers().contains_key(hyper::header::TRANSFER_ENCODING);
        let bytes = match said {
            Some(bytes) if bytes > most.bytes() => {
                let most = usize::try_from(most.bytes()).unwrap_or(usize::MAX);
                return Err(self.unread(ReadError::TooLarge(most)));
            }
            Some(bytes) => bytes,
            None if chunked => most.bytes(),
            None => 0,
        };
        let pieces = u32::try_from(bytes.div_ceil(PIECE)).unwrap_or(u32::MAX);
        let patience = std::time::Duration::from_nanos(self.stall.ns());
        let waiting = self.counters.waiting.enter(u64::MAX);
        let memory = Arc::clone(&self.memory).acquire_many_owned(pieces);
        let memory = tokio::time::timeout(patience, memory).await;
        if waiting {
            self.counters.waiting.leave();
        }
        let Ok(Ok(memory)) = memory else {
            self.counters.turned_away();
            let message = "documents that are read or waited for take all memory (front.memory)";
            return Err(Failure::busy(message, self.executor.come_again_s()));
        };
        let read = Request::read(request, peer, most, self.stall).await;
        let mut request = read.map_err(|error| self.unread(error))?;
        if request.body.len() <= COPIED {
            request.body = Bytes::copy_from_slice(&request.body);
        }
        Ok(Asked { request, memory })
    }

    /// Counts a request that did not come in whole, and says why.
    fn unread(&self, error: ReadError) -> Failure {
        match error {
            ReadError::TooLarge(most) => {
                self.counters.oversized();
                let is_set = most as u64 == self.body_size.bytes();
                let text = format!("{error}{}", if is_set { " (front.body-size)" } else { "" });
                Failure::new(StatusCode::PAYLOAD_TOO_LARGE, text)
            }
            ReadError::Malformed => Failure::bad_request(error.to_string()),
            ReadError::Late => {
                self.counters.slow();
                Failure::new(StatusCode::REQUEST_TIMEOUT, format!("{error} (front.stall)"))
            }
        }
    }
}

/// What the other nodes say to the same question.
async fn others(
    siblings: Option<&Siblings>,
    target: &str,
    form: Option<Bytes>,
    headers: &HeaderMap,
) -> Others {
    let Some(siblings) = siblings else { return Others::default() };
    let answers = siblings.ask_all(target, form, headers).await;
    Others { own: siblings.own().number, queues: siblings.queues(), answers }
}

fn content_type(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("")
}

/// A document whose form and whose well-formedness are known.
async fn checked(content_type: &str, body: Bytes) -> Result<Document, Failure> {
    let form = if body.is_empty() { Form::Xml } else { Form::of(content_type, &body)? };
    aside(body.len() > LARGE, move || Document::check(form, body)).await
}

/// Does `work` on a thread of its own when it is `large`.
async fn aside<T: Send + 'static>(
    large: bool,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    if !large {
        return work();
    }
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| {
        Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "the document was not read"))
    })
}
