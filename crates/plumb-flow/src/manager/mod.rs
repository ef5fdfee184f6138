//! The transaction manager: what runs, waits, failed and is done, for people and for programs.

mod drain;
mod figures;
mod filter;
mod json;
mod overview;
mod page;
mod prometheus;

use std::sync::Arc;

use hyper::header::LOCATION;
use hyper::{HeaderMap, StatusCode};
use plumb_serve::Counters;
use plumb_serve::negotiation::{Accept, Offer};

use self::drain::{Drain, Pace};
use self::figures::Figures;
use self::filter::Chosen;
use self::overview::Overview;
use crate::answer::{Answer, Failure, HTML, JSON};
use crate::executor::Executor;
use crate::route::ManagerPath;
use crate::siblings::{FromNode, Queues};
use plumb_queue::ExecutionId;

/// The transaction manager of a server.
#[derive(Debug)]
pub(crate) struct Manager {
    executor: Arc<Executor>,
    counters: Arc<Counters>,
    connections: usize,
    /// How many nodes share a pace.
    nodes: u16,
    drain: Arc<Drain>,
    began: String,
}

/// What the other nodes say to the same question; nothing where there is only this one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Others {
    /// The number of this node.
    pub(crate) own: u16,
    pub(crate) queues: Queues,
    pub(crate) answers: Vec<FromNode>,
}

/// The form of what the manager shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// A page for people.
    Page,
    /// The same for programs.
    Json,
}

/// The form of the figures for a program that collects them.
#[derive(Clone, Debug)]
pub(crate) enum MetricsView {
    /// The text format of Prometheus, with what the other nodes say.
    OfAll(Others),
    /// The document of this node, for one that asks all.
    OfNode,
}

impl View {
    /// What a client with these `headers` prefers.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let page = Offer { form: Self::Page, types: &["text/html", "application/xhtml+xml"] };
        let json = Offer { form: Self::Json, types: &["application/json"] };
        Accept::of(headers).best(&[json, page]).unwrap_or(Self::Json)
    }
}

impl Manager {
    pub(crate) fn new(
        executor: Arc<Executor>,
        counters: Arc<Counters>,
        connections: usize,
        nodes: u16,
    ) -> Self {
        let began = plumb_engine::clock::utc(plumb_engine::clock::wall_ns());
        Self { executor, counters, connections, nodes, drain: Arc::default(), began }
    }

    /// What there is to see at `path`.
    ///
    /// # Errors
    /// [`Failure`] for a filter that is none, or an execution that is not there.
    pub(crate) fn look(
        &self,
        path: ManagerPath,
        query: &[(String, String)],
        view: View,
        others: Others,
    ) -> Result<Answer, Failure> {
        match path {
            ManagerPath::Overview => {
                let chosen = Chosen::read(query)?;
                let found = self.executor.queue.list(&chosen.filter)?;
                let seen = Overview::of(self.figures(), &found);
                let seen = seen.of_all(others, chosen.filter.most);
                Ok(match view {
                    View::Page => Answer::new(HTML, page::overview(&seen, &chosen)),
                    View::Json => Answer::new(JSON, serde_json::json!(seen).to_string()),
                })
            }
            ManagerPath::Execution(id) => {
                let Some(found) = self.executor.queue.find(id)? else {
                    return self.under_way(id);
                };
                Ok(match view {
                    View::Page => Answer::new(HTML, page::execution(&found)),
                    View::Json => Answer::new(JSON, json::execution(&found)),
                })
            }
            ManagerPath::Retry | ManagerPath::Drop => Err(Failure::method("POST")),
        }
    }

    /// Does what a form asks.
    ///
    /// # Errors
    /// [`Failure`] for a filter that is none, or one that says nothing.
    pub(crate) fn act(
        &self,
        path: ManagerPath,
        form: &[(String, String)],
        view: View,
        others: Others,
    ) -> Result<Answer, Failure> {
        let chosen = Chosen::read(form)?;
        chosen.is_deliberate()?;
        let (queue, filter) = (&self.executor.queue, &chosen.all());
        let (what, own) = match path {
            ManagerPath::Retry => match chosen.rate {
                Some(rate) => (
                    "retried",
                    self.drain.begin(queue, filter.clone(), Pace { rate, nodes: self.nodes })?,
                ),
                None => ("retried", queue.retry(filter)?),
            },
            ManagerPath::Drop => ("dropped", queue.forget(filter)?),
            ManagerPath::Overview | ManagerPath::Execution(_) => {
                return Err(Failure::method("GET"));
            }
        };
        let count = own + counted_elsewhere(what, own, others)?;
        Ok(match view {
            View::Json => Answer::new(JSON, serde_json::json!({ what: count }).to_string()),
            View::Page => {
                let back = format!("/manager?{}", chosen.query());
                Answer::new(HTML, "").with_status(StatusCode::SEE_OTHER).with(LOCATION, &back)
            }
        })
    }

    /// What became of one execution, for whoever has its id.
    ///
    /// # Errors
    /// [`Failure`] when it is not there.
    pub(crate) fn execution(&self, id: ExecutionId) -> Result<Answer, Failure> {
        match self.executor.queue.find(id)? {
            Some(found) => Ok(Answer::new(JSON, json::outcome(&found))),
            None => self.under_way(id),
        }
    }

    fn under_way(&self, id: ExecutionId) -> Result<Answer, Failure> {
        match self.executor.running.find(id) {
            Some(running) => Ok(Answer::new(JSON, json::under_way(id, &running).to_string())),
            None => Err(Failure::not_found(format!(
                "nothing is known of the execution {id}: it never was, or it is done and its \
                 transaction does not keep it (persist), or not so long (retention)"
            ))),
        }
    }

    /// All figures.
    #[expect(clippy::unnecessary_wraps, reason = "as whatever else is asked of the manager")]
    pub(crate) fn metrics(&self, view: MetricsView) -> Result<Answer, Failure> {
        let seen = Overview::of(self.figures(), &[]);
        Ok(match view {
            MetricsView::OfAll(others) => {
                let text = prometheus::metrics(&seen.of_all(others, 0));
                Answer::new(plumb_wire::prometheus::CONTENT_TYPE, text)
            }
            MetricsView::OfNode => Answer::new(JSON, serde_json::json!(seen).to_string()),
        })
    }

    fn figures(&self) -> Figures {
        let connections = self.counters.figures(self.connections);
        Figures::of(&self.executor, connections, self.drain.progress(), &self.began)
    }
}

/// How many executions the other nodes acted on; `own` of this one are done already.
fn counted_elsewhere(what: &str, own: u64, others: Others) -> Result<u64, Failure> {
    let mut count = 0;
    let mut problems = Vec::new();
    for FromNode { node, answer } in others.answers {
        match answer.and_then(|it| it[what].as_u64().ok_or_else(|| "it gives no count".into())) {
            Ok(more) => count += more,
            Err(problem) => problems.push(format!("node {node}: {problem}")),
        }
    }
    if problems.is_empty() {
        return Ok(count);
    }
    let text = format!("{} {what}; the rest not: {}", own + count, problems.join("; "));
    Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, text))
}
