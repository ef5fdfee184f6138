//! Open load: what is due, and what waits for a free connection.

use plumb_link::Link;
use plumb_measure::user_schedule::Calendar;

use super::Drive;
use crate::protocol::Protocol;
use plumb_measure::Pacer;
use plumb_socket::Time;

/// Due operations that are remembered: 8 MB of due times.
const BACKLOG_MAX: usize = 1 << 20;

/// When work is due that does not wait for answers.
#[derive(Debug)]
pub(super) enum Dues {
    /// Operations of a constant rate.
    Pacer(Pacer),
    /// Scripts.
    Calendar(Calendar),
}

impl Dues {
    pub(super) fn next_due(&self) -> u64 {
        match self {
            Self::Pacer(pacer) => pacer.next_due(),
            Self::Calendar(calendar) => calendar.next_due(),
        }
    }

    pub(super) fn take(&mut self, now: u64) -> Option<u64> {
        match self {
            Self::Pacer(pacer) => pacer.take(now),
            Self::Calendar(calendar) => calendar.take(now),
        }
    }

    pub(super) fn skip(&mut self, now: u64) -> u64 {
        match self {
            Self::Pacer(pacer) => pacer.skip(now),
            Self::Calendar(calendar) => calendar.skip(now),
        }
    }
}

impl<P: Protocol, L: Link, T: Time> Drive<'_, P, L, T> {
    /// Open load: begins what is due on the connections that are free.
    pub(super) fn release_due(&mut self) {
        let Some(mut pacer) = self.pacer.take() else {
            return;
        };
        while self.backlog.len() < BACKLOG_MAX
            && self.may_begin(pacer.next_due())
            && let Some(due) = pacer.take(self.now)
        {
            self.begun += u64::from(self.counts(due));
            self.backlog.push_back(due);
        }
        if self.backlog.len() == BACKLOG_MAX {
            self.drop_due(&mut pacer);
        }
        self.pacer = Some(pacer);
        self.work_off_backlog();
    }

    /// A rate far beyond reach: what is due beside a full backlog is dropped at once, so that
    /// neither memory nor the loop drowns in it.
    fn drop_due(&mut self, pacer: &mut Dues) {
        let first = pacer.next_due();
        let Some(window) = self.window.filter(|_| self.may_begin(first)) else {
            return;
        };
        if first < window.from {
            pacer.skip(self.now.min(window.from - 1)); // the warm-up counts nothing
            return;
        }
        let last = window.until.map_or(self.now, |until| self.now.min(until - 1));
        let missed = pacer.skip(last);
        let left = window.count.map_or(missed, |count| missed.min(count - self.begun));
        self.begun += left;
        self.recorder.dropped += left;
    }

    pub(super) fn work_off_backlog(&mut self) {
        while let Some(due) = self.backlog.front().copied() {
            let late = self.now.saturating_sub(due) > self.job.plan.operation_timeout.ns();
            if !late {
                let Some(index) = self.take_free() else {
                    self.starved = self.backlog.len();
                    return;
                };
                self.begin_due(index, due);
            } else if self.counts(due) {
                self.recorder.dropped += 1;
            }
            self.backlog.pop_front();
            self.starved = self.starved.saturating_sub(1);
        }
    }
}
