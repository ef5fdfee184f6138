//! Steps that wait for a work process: dialog before background, and those of a kind first come, first
//! served.
//!
//! Neither kind takes everything. Background steps never have more work processes at once than are
//! left to them, and of the steps that begin while both kinds wait a share is theirs.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::oneshot::{self, error::TryRecvError};

use crate::answer::Answer;
use crate::asked::Asked;
use crate::config::DispatcherConfig;
use crate::priority::Priority;

/// A step that waits.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) asked: Asked,
    pub(crate) reply: oneshot::Sender<Answer>,
    pub(crate) found: Found,
    /// True when others waited behind it as it began.
    pub(crate) more: bool,
}

/// What a step found when it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Found {
    /// A work process that takes it at once.
    #[default]
    Free,
    /// Every work process taken.
    Taken,
    /// A free work process, but as many background steps before it as may run at once, and it is one.
    Limit,
}

impl Job {
    pub(crate) fn new(asked: Asked, reply: oneshot::Sender<Answer>) -> Self {
        Self { asked, reply, found: Found::Free, more: false }
    }
}

/// The steps that wait at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) steps: u64,
    /// Those of them that wait for other background steps.
    pub(crate) limited: u64,
    /// How long all of them together have been waiting, each as far as it falls into the window.
    pub(crate) sum_ns: u64,
    pub(crate) limited_ns: u64,
    /// How long the first of them has been waiting.
    pub(crate) longest_ns: u64,
}

/// The queue of the dispatcher.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Debug)]
struct State {
    dialog: VecDeque<Job>,
    background: VecDeque<Job>,
    /// What background steps are owed of those that began while both kinds waited, in hundredths of
    /// a step.
    owed: u32,
    /// Work processes that wait and have not been woken yet.
    idle: usize,
    /// Work processes that were woken and have not looked yet.
    woken: usize,
    closed: bool,
    figures: QueueFigures,
}

/// How many steps wait and waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct QueueFigures {
    /// Steps of one kind that may wait.
    pub(crate) limit: usize,
    /// Steps that wait now.
    pub(crate) length: usize,
    /// The most that waited.
    pub(crate) length_max: usize,
    /// Steps that found every work process taken that they may have.
    pub(crate) crowded: u64,
    /// Steps refused because of the limit.
    pub(crate) refused: u64,
    /// Steps whose client had gone before a work process was free.
    pub(crate) abandoned: u64,
    /// Those of them that are background steps.
    pub(crate) background: BackgroundFigures,
}

/// Background steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct BackgroundFigures {
    /// Work processes that they may have at once.
    pub(crate) processes: usize,
    /// Of the steps that begin while dialog steps wait, too, so many in a hundred are theirs.
    pub(crate) share_percent: u32,
    /// Steps that wait now.
    pub(crate) length: usize,
    /// The most that waited.
    pub(crate) length_max: usize,
    /// Steps that work processes have now.
    pub(crate) running: usize,
    /// Steps that have begun.
    pub(crate) begun: u64,
    /// Steps refused because of the limit.
    pub(crate) refused: u64,
}

/// The queue takes no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused;

impl State {
    fn waiting(&self) -> usize {
        self.dialog.len() + self.background.len()
    }

    /// True when a work process would take a background step.
    fn background_may_begin(&self) -> bool {
        let background = &self.figures.background;
        let free = self.closed || background.running < background.processes;
        free && !self.background.is_empty()
    }

    /// True when a work process would take a step.
    fn may_begin(&self) -> bool {
        !self.dialog.is_empty() || self.background_may_begin()
    }

    /// True when a work process is to be woken, which is so unless one is on its way: that one wakes
    /// the next if it leaves any behind. So a process that is busy with short steps goes on with the
    /// next, where one wake a step would have each step done by another thread.
    fn wants_another(&self) -> bool {
        self.may_begin() && self.idle > 0 && self.woken == 0
    }

    /// What a step of this priority finds that comes now.
    fn found(&self, priority: Priority) -> Found {
        let BackgroundFigures { processes, running, .. } = self.figures.background;
        let left = processes.saturating_sub(running);
        // background steps that may not begin stand in nobody's way
        let before = self.dialog.len() + self.background.len().min(left);
        if before >= self.idle + self.woken {
            return Found::Taken;
        }
        let limited = priority == Priority::Background && self.background.len() >= left;
        if limited { Found::Limit } else { Found::Free }
    }

    /// The step whose turn it is.
    fn next(&mut self) -> Option<Job> {
        const ONE: u32 = 100;
        let background = self.background_may_begin();
        if background && !self.dialog.is_empty() {
            self.owed += self.figures.background.share_percent;
        }
        if background && (self.dialog.is_empty() || self.owed >= ONE) {
            self.owed = self.owed.saturating_sub(ONE);
            return self.background.pop_front();
        }
        self.dialog.pop_front()
    }
}

impl Queue {
    pub(crate) fn new(config: &DispatcherConfig) -> Self {
        let background = BackgroundFigures {
            processes: config.work_processes.saturating_sub(config.dialog_reserved).max(1),
            share_percent: config.background_share,
            ..BackgroundFigures::default()
        };
        let figures = QueueFigures { limit: config.queue, background, ..QueueFigures::default() };
        let (dialog, background) = (VecDeque::new(), VecDeque::new());
        let state =
            State { dialog, background, owed: 0, idle: 0, woken: 0, closed: false, figures };
        Self { state: Mutex::new(state), filled: Condvar::new() }
    }

    /// Lets `job` wait. True when a work process [is to be woken](Self::wake) for it: whoever puts several
    /// jobs does that once, behind the last of them.
    ///
    /// # Errors
    /// [`Refused`] when as many of its kind wait as may, or the server stops.
    pub(crate) fn put(&self, mut job: Job) -> Result<bool, Refused> {
        let mut state = self.lock();
        let background = job.asked.priority == Priority::Background;
        let waiting = if background { &state.background } else { &state.dialog };
        if state.closed || waiting.len() >= state.figures.limit {
            state.figures.refused += 1;
            state.figures.background.refused += u64::from(background);
            return Err(Refused);
        }
        job.found = state.found(job.asked.priority);
        state.figures.crowded += u64::from(job.found != Found::Free);
        if background {
            state.background.push_back(job);
            let length = state.background.len();
            let figures = &mut state.figures.background;
            figures.length_max = figures.length_max.max(length);
        } else {
            state.dialog.push_back(job);
        }
        state.figures.length_max = state.figures.length_max.max(state.waiting());
        Ok(state.wants_another())
    }

    /// The answer to a step that was [put](Self::put), or `None` when the server stops. Whoever no longer
    /// waits for it has the step taken out: it keeps nobody's place, and its request no memory.
    pub(crate) async fn answer(&self, answer: oneshot::Receiver<Answer>) -> Option<Answer> {
        let mut awaited = Awaited { queue: self, answer };
        (&mut awaited.answer).await.ok()
    }

    /// Waits for the next step whose client is still there; `None` once the queue is closed and
    /// empty. The work process has `ended` a step of this priority before, and does `rest` if it has to
    /// wait.
    pub(crate) fn take(&self, ended: Option<Priority>, rest: impl FnOnce()) -> Option<Job> {
        let (mut state, mut rest) = (self.lock(), Some(rest));
        if ended == Some(Priority::Background) {
            state.figures.background.running -= 1;
        }
        loop {
            while let Some(mut job) = state.next() {
                if job.reply.is_closed() {
                    state.figures.abandoned += 1;
                    continue;
                }
                if job.asked.priority == Priority::Background {
                    state.figures.background.running += 1;
                    state.figures.background.begun += 1;
                }
                job.more = state.waiting() > 0;
                self.wake_another(state);
                return Some(job);
            }
            if state.closed {
                return None;
            }
            if let Some(rest) = rest.take() {
                drop(state); // nobody who brings a step waits for that
                rest();
                state = self.lock();
                continue;
            }
            state.idle += 1;
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
            // whoever wakes although nobody woke it takes the place of one that was woken
            if state.woken > 0 {
                state.woken -= 1;
            } else {
                state.idle -= 1;
            }
        }
    }

    /// Wakes a work process for a step that waits, unless one is on its way.
    pub(crate) fn wake(&self) {
        self.wake_another(self.lock());
    }

    fn wake_another(&self, mut state: MutexGuard<'_, State>) {
        let wake = state.wants_another();
        if wake {
            state.idle -= 1;
            state.woken += 1;
        }
        drop(state);
        if wake {
            self.filled.notify_one();
        }
    }

    /// Takes no more steps; those that wait are still done.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_all();
    }

    pub(crate) fn figures(&self) -> QueueFigures {
        let state = self.lock();
        let length = state.background.len();
        let background = BackgroundFigures { length, ..state.figures.background };
        QueueFigures { length: state.waiting(), background, ..state.figures }
    }

    /// Who waits at `now_ns`, in the window that began at `since_ns`.
    pub(crate) fn waiting(&self, since_ns: u64, now_ns: u64) -> Waiting {
        let state = self.lock();
        let mut all = Waiting::default();
        let jobs = state.dialog.iter().chain(&state.background);
        for job in jobs.filter(|job| !job.reply.is_closed()) {
            let arrived_ns = job.asked.arrived_ns;
            let waited_ns = now_ns.saturating_sub(arrived_ns.max(since_ns));
            all.steps += 1;
            all.sum_ns += waited_ns;
            if job.found == Found::Limit {
                all.limited += 1;
                all.limited_ns += waited_ns;
            }
            all.longest_ns = all.longest_ns.max(now_ns.saturating_sub(arrived_ns));
        }
        all
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer that is waited for.
struct Awaited<'a> {
    queue: &'a Queue,
    answer: oneshot::Receiver<Answer>,
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        if !matches!(self.answer.try_recv(), Err(TryRecvError::Empty)) {
            return; // it was given
        }
        self.answer.close();
        let mut state = self.queue.lock();
        let State { dialog, background, figures, .. } = &mut *state;
        for jobs in [dialog, background] {
            let before = jobs.len();
            jobs.retain(|job| !job.reply.is_closed());
            figures.abandoned += (before - jobs.len()) as u64;
        }
    }
}

#[cfg(test)]
mod tests;
