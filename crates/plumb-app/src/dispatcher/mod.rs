//! The dispatcher: a queue in front of work processes, and the board that shows what they do.

mod answers;
pub(crate) mod board;
mod queue;
mod recent;
mod work_process;

pub(crate) use answers::Answers;
pub(crate) use board::{Board, ProcessFigures, Totals, UnderWay};
pub(crate) use queue::{Job, Queue, QueueFigures, Waiting};
pub(crate) use recent::{Recent, Sums};
pub(crate) use work_process::work;

use crate::config::DispatcherConfig;
use crate::database::DatabaseTarget;

/// What the front and all work processes share.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    pub(crate) queue: Queue,
    pub(crate) board: Board,
    pub(crate) answers: Answers,
    /// Where work processes log on.
    pub(crate) target: DatabaseTarget,
}

impl Dispatcher {
    /// An empty queue in front of work processes that have done nothing yet.
    pub(crate) fn new(config: &DispatcherConfig, target: DatabaseTarget) -> Self {
        let board = Board::new(config.work_processes);
        Self { queue: Queue::new(config), board, answers: Answers::new(), target }
    }
}
