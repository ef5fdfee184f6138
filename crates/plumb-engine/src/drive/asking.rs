//! Closed load: answers first, then requests.
//!
//! Where several connections are ready at once, their answers are read one behind the other, and the
//! next requests are sent one behind the other. Reading and sending are two long ways through the
//! kernel: whoever takes turns finds neither in the cache of the processor. Answers are also read,
//! and their moments taken, before more work is made.
//!
//! With a fixed delay whoever was answered, or failed, asks when that is over.

use plumb_link::Link;
use plumb_socket::Time;

use super::Drive;
use crate::flight::Moment;
use crate::plan::Pace;
use crate::protocol::Protocol;

/// So many connections ask together: the server need not wait longer for the first of them.
const TOGETHER_MAX: usize = 32;

/// Connections whose answers were read in this pass.
#[derive(Debug, Default)]
pub(super) struct Asking {
    gathers: bool,
    connections: Vec<usize>,
}

impl<P: Protocol, L: Link, T: Time> Drive<'_, P, L, T> {
    /// Sockets were waited for: whether those that are ready ask together.
    pub(super) fn gather_asking(&mut self) {
        self.asking.gathers = !P::SCRIPTED
            && !P::MULTIPLEXED
            && !P::DATAGRAMS
            && self.pacer.is_none()
            && self.poll.found() > 1;
    }

    /// Connection `index` was answered, and looks for work: now, or together with others.
    #[inline]
    pub(super) fn answered_and_ready(&mut self, index: usize) {
        if !self.asking.gathers {
            return self.ready_for_work(index);
        }
        self.asking.connections.push(index);
        if self.asking.connections.len() == TOGETHER_MAX {
            self.ask_all();
        }
    }

    /// Everybody who was ready has been read.
    pub(super) fn ask_gathered(&mut self) {
        self.asking.gathers = false;
        self.ask_all();
    }

    fn ask_all(&mut self) {
        let mut connections = std::mem::take(&mut self.asking.connections);
        for index in connections.drain(..) {
            self.ready_for_work(index);
        }
        self.asking.connections = connections;
    }

    /// An operation has ended: with a fixed delay the next is due that much later.
    #[inline]
    pub(super) fn delay_next(&mut self, index: usize) {
        if let Pace::Delay(delay) = self.job.plan.pace {
            self.conns[index].resume_at = Moment::at(self.now + delay.ns());
        }
    }

    /// A connection stands: what was due while there was none is due now, and not late by the loop.
    pub(super) fn was_due_meanwhile(&mut self, index: usize) {
        let conn = &mut self.conns[index];
        if !P::SCRIPTED {
            conn.resume_at = conn.resume_at.get().filter(|at| *at > self.now).into();
        }
    }
}
