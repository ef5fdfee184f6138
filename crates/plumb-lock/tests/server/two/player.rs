//! A client of two servers, who goes to the other when one does not serve.

use plumb_wire::resp;

use crate::linear::call::{Call, Reply};
use crate::linear::chooser::Chooser;

const LIMITS: resp::ReplyLimits = resp::ReplyLimits { bytes: 1 << 20, items: 10_000 };

pub(super) struct Player {
    pub(super) chooser: Chooser,
    /// Which server it asks.
    pub(super) target: usize,
    /// Its connection.
    pub(super) pipe: Option<usize>,
    pub(super) inbox: Vec<u8>,
    /// What it asked and was not answered, and when.
    pub(super) call: Option<(Call, u64)>,
    /// Calls until the next pause of all.
    pub(super) left: u64,
    /// It asks nothing before this moment, nanoseconds.
    pub(super) rests_until: u64,
}

impl Player {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            chooser: Chooser::new(seed),
            target: 0,
            pipe: None,
            inbox: Vec::new(),
            call: None,
            left: 0,
            rests_until: 0,
        }
    }

    /// What it was answered, once that is there.
    pub(super) fn answer(&mut self) -> Option<Reply> {
        let (found, taken) = resp::reply(&self.inbox, &LIMITS).expect("it is RESP")?;
        let reply = Reply::of(found);
        self.inbox.drain(..taken);
        Some(reply)
    }

    pub(super) fn is_done(&self) -> bool {
        self.left == 0 && self.call.is_none()
    }
}
