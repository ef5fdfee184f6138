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
                    match queues {
                        Queues::Own => self.executions.extend(other.executions),
                        Queues::Shared => {} // they are the same
                    }
                }
                Err(problem) => {
                    self.nodes.push(NodeState { node, known: NodeKnown::Missing { problem } });
                }
            }
        }
        self.nodes.sort_unstable_by_key(|it| it.node);
        // ids have the time in front
        self.executions.sort_unstable_by(|a, b| b.id.cmp(&a.id));
        self.executions.truncate(most);
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
