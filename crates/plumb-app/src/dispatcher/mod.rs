//! The dispatcher: a queue in front of work processes, and the board that shows what they do.

pub(crate) mod board;
mod queue;
mod work_process;

pub(crate) use board::{Board, ProcessFigures, Totals};
pub(crate) use queue::{Job, Queue, QueueFigures};
pub(crate) use work_process::work;
