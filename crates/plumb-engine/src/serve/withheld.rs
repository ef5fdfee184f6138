//! Replies that are kept back until the service lets them go.

use std::collections::VecDeque;

use super::Client;
use crate::channel::Channel;
use crate::link::Link;
use crate::service::Service;

/// So many marks may be open for one client: it is not read before its replies have gone.
const MARKS_MAX: usize = 64;

/// What is kept back of one client, in the order of its replies: they are the last bytes that its
/// channel holds.
#[derive(Debug, Default)]
pub(super) struct Withheld(VecDeque<Part>);

/// Replies that depend on one mark.
#[derive(Debug)]
struct Part {
    bytes: usize,
    mark: u64,
}

impl Withheld {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MARKS_MAX
    }

    /// The last `bytes` that the channel holds wait until the service has settled and `mark` may be
    /// told.
    pub(super) fn push<L: Link>(&mut self, channel: &mut Channel<L>, bytes: usize, mark: u64) {
        if bytes == 0 {
            return;
        }
        channel.withhold(bytes);
        match self.0.back_mut() {
            Some(last) if last.mark == mark => last.bytes += bytes,
            _ => self.0.push_back(Part { bytes, mark }),
        }
    }

    /// Lets everything go.
    pub(super) fn release_all<L: Link>(&mut self, channel: &mut Channel<L>) {
        let bytes = self.0.drain(..).map(|part| part.bytes).sum();
        channel.release(bytes);
    }
}

impl<C, L: Link> Client<C, L> {
    /// Lets go what may be told by now; true when that is something.
    pub(super) fn release<S: Service<Conn = C>>(&mut self, service: &S, now: u64) -> bool {
        let Some(conn) = &self.conn else {
            return false;
        };
        let mut bytes = 0;
        while let Some(first) = self.withheld.0.front()
            && service.may_tell(conn, first.mark)
        {
            bytes += first.bytes;
            self.withheld.0.pop_front();
        }
        self.channel.release(bytes);
        if self.closing.is_some() && bytes > 0 {
            self.last_heard = now; // the time that it may take to read them begins
        }
        bytes > 0
    }
}
