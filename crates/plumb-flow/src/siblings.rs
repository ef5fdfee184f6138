//! The nodes of a server: which of them a request is for.

use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use plumb_measure::Span;
use plumb_serve::nodes::{NODES_MAX, NodeNumber, forward};
use plumb_serve::{Body, Peer};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::FlowError;
use crate::answer::Failure;
use crate::route::{IDEMPOTENCY_KEY, ManagerPath, ORDER_KEY, Route};

/// Says that a request comes from another node.
const PASSED_ON: HeaderName = HeaderName::from_static("plumb-node");
/// Beyond the time of any transaction whose caller waits.
const PATIENCE: Span = Span::from_ms(3_600_000);
/// Figures and lists are there within this.
const SHORT_PATIENCE: Span = Span::from_ms(30_000);
/// Bytes of an answer that is passed on: a message, as the manager shows it, and more.
const ANSWER_MAX: usize = 64 << 20;

/// What another node says.
#[derive(Clone, Debug)]
pub(crate) struct FromNode {
    /// Its number.
    pub(crate) node: u16,
    /// Its document, or why there is none.
    pub(crate) answer: Result<Value, String>,
}

/// The nodes of which this is one. Where each has a queue of its own, a message is with the node that
/// its id names, and messages of one key go to one node.
#[derive(Clone, Debug)]
pub(crate) struct Siblings {
    own: NodeNumber,
    /// The folder with the folders of all nodes.
    folder: PathBuf,
    queues: Queues,
}

/// Whose the queues of nodes are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Queues {
    /// Each has its own.
    #[default]
    Own,
    /// All share one: any of them can answer for it.
    Shared,
}

impl Siblings {
    pub(crate) fn new(own: NodeNumber, folder: &Path, queues: Queues) -> Self {
        Self { own, folder: folder.into(), queues }
    }

    /// Whose their queues are.
    pub(crate) fn queues(&self) -> Queues {
        self.queues
    }

    /// The node that has to answer a request, when it is another.
    pub(crate) fn other(
        &self,
        request: &Request<Incoming>,
        route: &Route,
        peer: Peer,
    ) -> Option<u16> {
        let found = match route {
            Route::Execution(id) | Route::Manager(ManagerPath::Execution(id)) => Some(id.node()),
            Route::Runner(_) | Route::Classic | Route::Soap(_) | Route::Messages
                if request.method() == Method::POST =>
            {
                self.of_keys(request.headers())
            }
            _ => None,
        };
        if self.queues == Queues::Shared {
            return None;
        }
        let well = |node: &u16| (1..=self.own.count).contains(node) && *node != self.own.number;
        found.filter(well).filter(|_| !Self::is_passed_on(request, peer))
    }

    /// Messages that must not overtake each other, or not be done twice, meet at one node.
    fn of_keys(&self, headers: &HeaderMap) -> Option<u16> {
        let key = headers.get(ORDER_KEY).or_else(|| headers.get(IDEMPOTENCY_KEY))?;
        let digest = ring::digest::digest(&ring::digest::SHA256, key.as_bytes());
        let (number, _) = digest.as_ref().split_first_chunk::<8>()?;
        let node = u64::from_be_bytes(*number) % u64::from(self.own.count) + 1;
        u16::try_from(node).ok()
    }

    /// True for a request that another node asks: it is about this one alone.
    pub(crate) fn is_passed_on(request: &Request<Incoming>, peer: Peer) -> bool {
        peer.address.is_none() && request.headers().contains_key(PASSED_ON)
    }

    /// Asks all other nodes the same as a client asks with `headers`, in JSON; what each answers.
    pub(crate) async fn ask_all(
        &self,
        target: &str,
        form: Option<Bytes>,
        headers: &HeaderMap,
    ) -> Vec<FromNode> {
        let others = (1..=self.own.count).filter(|node| *node != self.own.number);
        let mut asked = JoinSet::new();
        for node in others {
            let mut request = Request::builder().uri(target).header(ACCEPT, "application/json");
            request = request.header(PASSED_ON, self.own.number).header(HOST, "localhost");
            if let Some(words) = headers.get(AUTHORIZATION) {
                request = request.header(AUTHORIZATION, words);
            }
            if form.is_some() {
                request = request.method(Method::POST);
                request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
            }
            let request = request.body(Body::whole(form.clone().unwrap_or_default()));
            let door = door(&self.folder, node);
            asked.spawn(async move {
                let asked = match request {
                    Ok(request) => forward(request, &door, ANSWER_MAX, SHORT_PATIENCE).await,
                    Err(error) => Err(io::Error::other(error)),
                };
                FromNode {
                    node,
                    answer: asked
                        .map_err(|error| error.to_string())
                        .and_then(|answer| document(&answer)),
                }
            });
        }
        let mut answers = asked.join_all().await;
        answers.sort_unstable_by_key(|it| it.node);
        answers
    }

    /// Which node this is.
    pub(crate) fn own(&self) -> NodeNumber {
        self.own
    }

    /// Has `node` answer `request`.
    ///
    /// # Errors
    /// [`Failure`] while that node is not there.
    pub(crate) async fn pass_on(
        &self,
        mut request: Request<Incoming>,
        node: u16,
    ) -> Result<Response<Body>, Failure> {
        request.headers_mut().insert(PASSED_ON, HeaderValue::from(self.own.number));
        let door = door(&self.folder, node);
        let answer = forward(request, &door, ANSWER_MAX, PATIENCE).await.map_err(|error| {
            let text = format!("node {node}, which this is for, does not answer: {error}");
            Failure {
                retry_after_s: Some(1),
                ..Failure::new(StatusCode::SERVICE_UNAVAILABLE, text)
            }
        })?;
        Ok(answer.map(Body::whole))
    }
}

/// The document of an answer, or what is wrong with it.
fn document(answer: &Response<Bytes>) -> Result<Value, String> {
    let read: Result<Value, _> = serde_json::from_slice(answer.body());
    match (answer.status(), read) {
        (StatusCode::OK, Ok(read)) => Ok(read),
        (status, read) => {
            let said = read.ok().and_then(|it| Some(it["error"]["message"].as_str()?.to_owned()));
            Err(said.unwrap_or_else(|| format!("it answers {status}")))
        }
    }
}

/// The folder of the queue of a node.
pub(crate) fn folder(queue: &Path, node: u16) -> PathBuf {
    queue.join(format!("node-{node}"))
}

/// Where a node listens for the others.
pub(crate) fn door(queue: &Path, node: u16) -> PathBuf {
    folder(queue, node).join("door")
}

/// Refuses a folder whose messages `count` nodes would leave where they are; without nodes `count`
/// is 0.
///
/// # Errors
/// [`FlowError::Plan`] with what to do instead.
pub(crate) fn refuse_strangers(queue: &Path, count: u16) -> Result<(), FlowError> {
    let beyond = (count + 1..=NODES_MAX).rev().find(|node| has_messages(&folder(queue, *node)));
    if let Some(node) = beyond {
        return Err(FlowError::Plan(format!(
            "{} holds the queue of node {node}: start with --nodes {node}, or remove its folder \
             once nothing waits in it",
            queue.display()
        )));
    }
    if count > 0 && has_messages(queue) {
        return Err(FlowError::Plan(format!(
            "{} is the queue of a server without nodes: start it without --nodes, or name another \
             folder with --queue",
            queue.display()
        )));
    }
    Ok(())
}

fn has_messages(folder: &Path) -> bool {
    folder.join("queue.db").exists()
}
