//! Figures and executions of one node, or of all nodes together.

use plumb_queue::Execution;
use serde::{Deserialize, Serialize};

use super::Others;
use super::figures::{Figures, QueueState};
use super::json::Line;
use crate::executor::CountFigures;
use crate::siblings::{FromNode, Queues};

/// Figures, and the executions that were chosen.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Overview {
    /// Of all nodes that answered.
    pub(super) figures: Figures,
    /// Each node, where there are some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) nodes: Vec<NodeState>,
    /// The newest first.
    pub(super) executions: Vec<Line>,
}

/// One of several nodes.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct NodeState {
    /// Counted from 1.
    pub(super) node: u16,
    /// What is known of it, or why nothing is.
    #[serde(flatten)]
    pub(super) known: NodeKnown,
}

/// What is known of a node.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub(super) enum NodeKnown {
    /// Its own part of the figures.
    Figures {
        began: String,
        queue: QueueState,
        /// Executions whose callers waited.
        executions: CountFigures,
        /// Executions of its queue.
        queued: CountFigures,
        /// Connections that are open.
        connections: u64,
    },
    /// Nothing: the figures are without it.
    Missing { problem: String },
}

impl Overview {
    /// Of one node.
    pub(super) fn of(figures: Figures, found: &[Execution]) -> Self {
        Self { figures, nodes: Vec::new(), executions: found.iter().map(Line::from).collect() }
    }

    /// With what the other nodes say, `most` executions at most.
    pub(super) fn of_all(mut self, Others { own, queues, answers }: Others, most: usize) -> Self {
        if answers.is_empty() {
            return self;
        }
        self.nodes.push(NodeState::of(own, &self.figures));
        for FromNode { node, answer } in answers {
            let read = answer.and_then(|document| {
                serde_json::from_value::<Self>(document).map_err(|error| error.to_string())
            });
            match read {
                Ok(other) => {
                    self.nodes.push(NodeState::of(node, &other.figures));
                    self.figures.add(other.figures, queues);
                    if queues == Queues::Own {
                        self.executions.extend(other.executions);
                    }
                }
                Err(problem) => {
                    self.nodes.push(NodeState { node, known: NodeKnown::Missing { problem } });
                }
            }
        }
        self.nodes.sort_unstable_by_key(|it| it.node);
        match queues {
            Queues::Own => {
                // ids have the time in front
                self.executions.sort_unstable_by(|a, b| b.id.cmp(&a.id));
                self.executions.truncate(most);
            }
            // those of all, in order; ids of NATS do not say that
            Queues::Shared => {}
        }
        self
    }
}

impl NodeState {
    fn of(node: u16, figures: &Figures) -> Self {
        let known = NodeKnown::Figures {
            began: figures.began.clone(),
            queue: figures.queue,
            executions: figures.executions,
            queued: figures.queued,
            connections: figures.connections.open,
        };
        Self { node, known }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What a node says that lists executions with these ids.
    fn listed(ids: &[&str]) -> Overview {
        let pool = json!({
            "now": 0, "max": 0, "limit": 1, "waited": 0, "waited_ns": 0, "refused": 0,
        });
        let counts = CountFigures::default();
        let line = |id: &&str| {
            json!({
                "id": id, "state": "failed", "transaction": "orders", "accepted": "", "bytes": 0,
                "failures": 1, "error": null, "order_key": null,
            })
        };
        let document = json!({
            "figures": {
                "schema": "plumb.flow/1",
                "began": "",
                "transactions": {
                    "folder": "", "digest": "", "names": [], "since": "", "reloads": 0,
                    "failures": 0, "problem": null,
                },
                "executions": counts,
                "queued": counts,
                "calls_waiting": 0,
                "pools": {"executions": pool, "workers": pool},
                "queue": QueueState::from(plumb_queue::QueueFigures::default()),
                "connections": plumb_serve::ConnectionFigures::default(),
                "data": [],
                "back_ends": [],
                "runtimes": [],
                "drain": null,
                "running": [],
            },
            "executions": ids.iter().map(line).collect::<Vec<_>>(),
        });
        serde_json::from_value(document).unwrap()
    }

    #[test]
    fn executions_of_nodes_are_one_list_and_those_of_a_shared_queue_stay_in_its_order() {
        let seen = |queues, own: &[&str], other: &[&str]| -> Vec<String> {
            let answer = Ok(json!(listed(other)));
            let answers = vec![FromNode { node: 2, answer }];
            let all = listed(own).of_all(Others { own: 1, queues, answers }, 3);
            all.executions.into_iter().map(|line| line.id).collect()
        };
        assert_eq!(seen(Queues::Own, &["2a", "01"], &["1b", "09"]), ["2a", "1b", "09"]);
        let shared = ["09", "2a", "01"];
        assert_eq!(seen(Queues::Shared, &shared, &shared), shared);
    }
}
