//! One remote, as the controller knows it.

use std::sync::mpsc::Sender;

use plumb_measure::RunRecord;

use super::kept::KeptFiles;
use crate::message::{Hello, Order};
use crate::offset::{ClockExchange, ClockOffset};

/// A remote, as the controller knows it.
#[derive(Debug)]
pub(super) struct Remote {
    pub(super) hello: Hello,
    pub(super) orders: Sender<Order>,
    /// What its clock said when it was asked last.
    pub(super) exchanges: Vec<ClockExchange>,
    pub(super) offset: ClockOffset,
    /// When it was heard last, on the monotonic clock.
    pub(super) heard_ns: u64,
    pub(super) state: State,
    /// Files that belong to the record of its part.
    pub(super) kept: KeptFiles,
}

#[derive(Debug)]
pub(super) enum State {
    There,
    /// Why it is not.
    Lost(String),
    /// The run is over.
    Done(Option<Box<RunRecord>>),
}

impl Remote {
    /// Sends it an order.
    pub(super) fn ask(&self, order: Order) {
        let _ = self.orders.send(order); // one that is gone is noticed where it is read
    }
}
