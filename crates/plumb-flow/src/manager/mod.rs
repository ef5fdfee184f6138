//! The transaction manager: what runs, waits, failed and is done, for people and for programs.

mod drain;
mod figures;
mod filter;
mod json;
mod page;
mod prometheus;

use std::sync::Arc;

use hyper::header::LOCATION;
use hyper::{HeaderMap, StatusCode};
use plumb_serve::Counters;
use plumb_serve::negotiation::{Accept, Offer};

use self::drain::Drain;
use self::figures::Figures;
use self::filter::Chosen;
use crate::data::DataServers;
use crate::doors::{Answer, Failure, HTML, JSON, ManagerPath};
use crate::executor::Executor;
use plumb_queue::ExecutionId;

/// The transaction manager of a server.
#[derive(Debug)]
pub(crate) struct Manager {
    executor: Arc<Executor>,
    servers: Arc<DataServers>,
    counters: Arc<Counters>,
    connections: usize,
    drain: Arc<Drain>,
    began: String,
}

/// The form of what the manager shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// A page for people.
    Page,
    /// The same for programs.
    Json,
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
        servers: Arc<DataServers>,
        counters: Arc<Counters>,
        connections: usize,
    ) -> Self {
        let began = plumb_engine::clock::utc(plumb_engine::clock::wall_ns());
        Self { executor, servers, counters, connections, drain: Arc::default(), began }
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
    ) -> Result<Answer, Failure> {
        match path {
            ManagerPath::Overview => {
                let chosen = Chosen::read(query)?;
                let found = self.executor.queue.list(&chosen.filter)?;
                let figures = self.figures();
                let answer = match view {
                    View::Page => Answer::new(HTML, page::overview(&figures, &chosen, &found)),
                    View::Json => Answer::new(JSON, json::overview(&figures, &found)),
                };
                Ok(answer)
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
    ) -> Result<Answer, Failure> {
        let chosen = Chosen::read(form)?;
        chosen.is_deliberate()?;
        let (queue, filter) = (&self.executor.queue, &chosen.all());
        let (what, count) = match path {
            ManagerPath::Retry => match chosen.rate {
                Some(rate) => ("retried", self.drain.begin(queue, filter.clone(), rate)?),
                None => ("retried", queue.retry(filter)?),
            },
            ManagerPath::Drop => ("dropped", queue.forget(filter)?),
            ManagerPath::Overview | ManagerPath::Execution(_) => {
                return Err(Failure::method("GET"));
            }
        };
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

    /// All figures, in the text format of Prometheus.
    #[expect(clippy::unnecessary_wraps, reason = "as whatever else is asked of the manager")]
    pub(crate) fn metrics(&self) -> Result<Answer, Failure> {
        let text = prometheus::metrics(&self.figures());
        Ok(Answer::new(plumb_wire::prometheus::CONTENT_TYPE, text))
    }

    fn figures(&self) -> Figures {
        let connections = self.counters.figures(self.connections);
        Figures::of(&self.executor, &self.servers, connections, self.drain.progress(), &self.began)
    }
}
