//! Steps that wait for a work process, first come, first served.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::oneshot;

use crate::answer::Answer;
use crate::asked::Asked;

/// A step that waits.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) asked: Asked,
    pub(crate) reply: oneshot::Sender<Answer>,
    /// True when it found every work process taken.
    pub(crate) crowded: bool,
}

impl Job {
    pub(crate) fn new(asked: Asked, reply: oneshot::Sender<Answer>) -> Self {
        Self { asked, reply, crowded: false }
    }
}

/// The steps that wait at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) steps: u64,
    /// How long all of them together have been waiting, each as far as it falls into the window.
    pub(crate) sum_ns: u64,
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
    pub(crate) fn put(&self, mut job: Job) -> Result<(), Refused> {
        let mut state = self.lock();
        if state.closed || state.waiting.len() >= state.figures.limit {
            state.figures.refused += 1;
            return Err(Refused);
        }
        let free = state.idle + state.woken;
        job.crowded = state.waiting.len() >= free;
        state.figures.crowded += u64::from(job.crowded);
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

    /// Who waits at `now_ns`, in the window that began at `since_ns`.
    pub(crate) fn waiting(&self, since_ns: u64, now_ns: u64) -> Waiting {
        let state = self.lock();
        let mut all = Waiting::default();
        for job in state.waiting.iter().filter(|job| !job.reply.is_closed()) {
            let arrived_ns = job.asked.arrived_ns;
            all.steps += 1;
            all.sum_ns += now_ns.saturating_sub(arrived_ns.max(since_ns));
            all.longest_ns = all.longest_ns.max(now_ns.saturating_sub(arrived_ns));
        }
        all
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
        (Job::new(Asked::new(hyper::Method::GET, path), reply), receiver)
    }

    #[test]
    fn steps_come_out_in_the_order_in_which_they_came() {
        let queue = Queue::new(2);
        let (first, _kept) = job("/1");
        let (second, _kept_too) = job("/2");
        queue.put(first).unwrap();
        queue.put(second).unwrap();
        assert_eq!(queue.put(job("/3").0), Err(Refused));
        assert_eq!(queue.take().unwrap().asked.request.path(), "/1");
        assert_eq!(queue.take().unwrap().asked.request.path(), "/2");
        let figures = queue.figures();
        assert_eq!((figures.length, figures.length_max, figures.refused), (0, 2, 1));
        assert_eq!(figures.crowded, 2, "there is no work process at all");
    }

    #[test]
    fn those_that_wait_count_with_their_time_in_the_window() {
        let queue = Queue::new(5);
        let (gone, receiver) = job("/gone");
        drop(receiver);
        let (mut old, _kept) = job("/old");
        let (mut new, _kept_too) = job("/new");
        (old.asked.arrived_ns, new.asked.arrived_ns) = (10, 150);
        for job in [gone, old, new] {
            queue.put(job).unwrap();
        }
        let expected = Waiting { steps: 2, sum_ns: 150, longest_ns: 190 };
        assert_eq!(queue.waiting(100, 200), expected);
    }

    #[test]
    fn a_step_whose_client_is_gone_is_left_out() {
        let queue = Queue::new(5);
        let (gone, receiver) = job("/gone");
        drop(receiver);
        let (there, _kept) = job("/there");
        queue.put(gone).unwrap();
        queue.put(there).unwrap();
        assert_eq!(queue.take().unwrap().asked.request.path(), "/there");
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
