//! Steps that wait for a work process, first come, first served.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::oneshot;

use crate::answer::Answer;
use crate::step::Request;

/// A step that waits.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) request: Request,
    /// When it began to wait, on the monotonic clock.
    pub(crate) queued_ns: u64,
    pub(crate) reply: oneshot::Sender<Answer>,
}

/// The queue of the dispatcher.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Debug)]
struct State {
    waiting: VecDeque<Job>,
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
    /// Steps that may wait.
    pub(crate) limit: usize,
    /// Steps that wait now.
    pub(crate) length: usize,
    /// The most that waited.
    pub(crate) length_max: usize,
    /// Steps that found every work process taken.
    pub(crate) crowded: u64,
    /// Steps refused because of the limit.
    pub(crate) refused: u64,
    /// Steps whose client had gone before a work process was free.
    pub(crate) abandoned: u64,
}

/// The queue takes no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused;

impl Queue {
    pub(crate) fn new(limit: usize) -> Self {
        let figures = QueueFigures { limit, ..QueueFigures::default() };
        let state = State { waiting: VecDeque::new(), idle: 0, woken: 0, closed: false, figures };
        Self { state: Mutex::new(state), filled: Condvar::new() }
    }

    /// Lets `job` wait.
    ///
    /// # Errors
    /// [`Refused`] when as many wait as may, or the server stops.
    pub(crate) fn put(&self, job: Job) -> Result<(), Refused> {
        let mut state = self.lock();
        if state.closed || state.waiting.len() >= state.figures.limit {
            state.figures.refused += 1;
            return Err(Refused);
        }
        let free = state.idle + state.woken;
        state.figures.crowded += u64::from(state.waiting.len() >= free);
        state.waiting.push_back(job);
        state.figures.length_max = state.figures.length_max.max(state.waiting.len());
        self.wake(state);
        Ok(())
    }

    /// Waits for the next step whose client is still there; `None` once the queue is closed and
    /// empty.
    pub(crate) fn take(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            while let Some(job) = state.waiting.pop_front() {
                if !job.reply.is_closed() {
                    self.wake(state);
                    return Some(job);
                }
                state.figures.abandoned += 1;
            }
            if state.closed {
                return None;
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

    /// Wakes a work process for a step that waits, unless one is on its way: that one wakes the
    /// next if it leaves any behind. So a process that is busy with short steps goes on with the
    /// next, where one wake a step would have each step done by another thread.
    fn wake(&self, mut state: MutexGuard<'_, State>) {
        let wake = !state.waiting.is_empty() && state.idle > 0 && state.woken == 0;
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
        QueueFigures { length: state.waiting.len(), ..state.figures }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(path: &str) -> (Job, oneshot::Receiver<Answer>) {
        let (reply, receiver) = oneshot::channel();
        (Job { request: Request::get(path), queued_ns: 0, reply }, receiver)
    }

    #[test]
    fn steps_come_out_in_the_order_in_which_they_came() {
        let queue = Queue::new(2);
        let (first, _kept) = job("/1");
        let (second, _kept_too) = job("/2");
        queue.put(first).unwrap();
        queue.put(second).unwrap();
        assert_eq!(queue.put(job("/3").0), Err(Refused));
        assert_eq!(queue.take().unwrap().request.path(), "/1");
        assert_eq!(queue.take().unwrap().request.path(), "/2");
        let figures = queue.figures();
        assert_eq!((figures.length, figures.length_max, figures.refused), (0, 2, 1));
        assert_eq!(figures.crowded, 2, "there is no work process at all");
    }

    #[test]
    fn a_step_whose_client_is_gone_is_left_out() {
        let queue = Queue::new(5);
        let (gone, receiver) = job("/gone");
        drop(receiver);
        let (there, _kept) = job("/there");
        queue.put(gone).unwrap();
        queue.put(there).unwrap();
        assert_eq!(queue.take().unwrap().request.path(), "/there");
        assert_eq!(queue.figures().abandoned, 1);
    }

    #[test]
    fn every_step_finds_a_process_that_waits() {
        let queue = Queue::new(1_000);
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    while let Some(job) = queue.take() {
                        let _ = job.reply.send(Answer::new(crate::answer::TEXT, ""));
                    }
                });
            }
            for _ in 0..2_000 {
                let (first, first_done) = job("/1");
                let (second, second_done) = job("/2");
                queue.put(first).unwrap();
                queue.put(second).unwrap();
                // a step that nobody took would be waited for without end
                first_done.blocking_recv().unwrap();
                second_done.blocking_recv().unwrap();
            }
            queue.close();
        });
        assert_eq!(queue.figures().length, 0);
    }

    #[test]
    fn steps_that_come_at_once_are_done_at_once() {
        let queue = Queue::new(1_000);
        let all_together = std::sync::Barrier::new(4);
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    while let Some(job) = queue.take() {
                        all_together.wait(); // a step that waits behind another one would never end
                        let _ = job.reply.send(Answer::new(crate::answer::TEXT, ""));
                    }
                });
            }
            for _ in 0..500 {
                let jobs = [job("/1"), job("/2"), job("/3"), job("/4")];
                let done = jobs.map(|(job, done)| {
                    queue.put(job).unwrap();
                    done
                });
                for done in done {
                    done.blocking_recv().unwrap();
                }
            }
            queue.close();
        });
    }

    #[test]
    fn a_closed_queue_is_emptied_and_ends() {
        let queue = Queue::new(5);
        let (last, _kept) = job("/last");
        queue.put(last).unwrap();
        queue.close();
        assert!(queue.put(job("/late").0).is_err());
        assert!(queue.take().is_some());
        assert!(queue.take().is_none());
    }
}
