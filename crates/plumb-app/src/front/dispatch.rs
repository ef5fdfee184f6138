//! The way of a request to a work process, and of its answer back.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::body::Incoming;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use plumb_serve::memory::Memory;
use plumb_serve::{Gauge, Peer, ReadError, Request};
use tokio::sync::{Notify, Semaphore, SemaphorePermit, oneshot};

use crate::answer::{Answer, Failure};
use crate::asked::Asked;
use crate::dispatcher::Job;
use crate::instance::Instance;
use crate::priority::Priority;
use crate::route::{ErrorForm, Route};
use crate::services::bytes;

/// The way, with its limit of requests under way.
#[derive(Debug)]
pub(super) struct Dispatch {
    pub(super) instance: Arc<Instance>,
    /// What answers of batches may take.
    pub(super) memory: Memory,
    places: Semaphore,
    /// A work process is to be woken.
    wanted: Notify,
}

impl Dispatch {
    pub(super) fn new(instance: Arc<Instance>) -> Self {
        let places = Semaphore::new(instance.config.front.requests);
        let memory = Memory::new(bytes(instance.config.front.batch_memory));
        Self { instance, memory, places, wanted: Notify::new() }
    }

    /// Wakes work processes. As a task of its own it comes behind all that are ready: of requests
    /// that come together, the last is in the queue before another thread takes the processor for
    /// the first.
    pub(super) async fn wake(&self) {
        loop {
            self.wanted.notified().await;
            self.instance.dispatcher.queue.wake();
        }
    }

    /// Reads a request whole and has it answered.
    ///
    /// # Errors
    /// [`Failure`] when it does not come in whole, or a limit is reached.
    pub(super) async fn take(
        &self,
        request: hyper::Request<Incoming>,
        peer: Peer,
        route: Route,
        errors: ErrorForm,
    ) -> Result<Answer, Failure> {
        let place = self.place().await?;
        let front = &self.instance.config.front;
        let read = Request::read(request, peer, front.body_size, front.stall).await;
        let request = read.map_err(|error| self.unread(error))?;
        let answer = self.queue(request, route, errors).await;
        drop(place);
        answer
    }

    /// Has a request answered that is whole already.
    ///
    /// # Errors
    /// [`Failure`] when a limit is reached.
    pub(super) async fn give(
        &self,
        request: Request,
        route: Route,
        errors: ErrorForm,
    ) -> Result<Answer, Failure> {
        let place = self.place().await?;
        let answer = self.queue(request, route, errors).await;
        drop(place);
        answer
    }

    async fn queue(
        &self,
        request: Request,
        route: Route,
        errors: ErrorForm,
    ) -> Result<Answer, Failure> {
        let (reply, answer) = oneshot::channel();
        let config = &self.instance.config.dispatcher;
        let priority = Priority::of(config, request.path(), &request.head.headers);
        let arrived_ns = MonotonicClock.now_ns();
        let asked = Asked { request, route, errors, priority, arrived_ns };
        let put = self.instance.dispatcher.queue.put(Job::new(asked, reply)).map_err(|_| {
            Failure::busy("as many steps wait for a work process as may (dispatcher.queue)")
        });
        if put? {
            self.wanted.notify_one();
        }
        let answer = self.instance.dispatcher.queue.answer(answer).await;
        answer.ok_or_else(|| Failure::busy("the server stops"))
    }

    /// Waits for the right to be under way.
    async fn place(&self) -> Result<SemaphorePermit<'_>, Failure> {
        if let Ok(place) = self.places.try_acquire() {
            return Ok(place);
        }
        let counters = &self.instance.counters;
        if !counters.waiting.enter(self.instance.config.front.queue as u64) {
            counters.turned_away();
            return Err(Failure::busy("as many requests wait as may (front.queue)"));
        }
        let waits = Waits(&counters.waiting);
        let place = self.places.acquire().await;
        drop(waits);
        place.map_err(|_| Failure::busy("the server stops"))
    }

    /// Counts a request that did not come in whole, and says why.
    pub(super) fn unread(&self, error: ReadError) -> Failure {
        let counters = &self.instance.counters;
        match error {
            ReadError::TooLarge(_) => {
                counters.oversized();
                let text = format!("{error} (front.body-size)");
                Failure::new(StatusCode::PAYLOAD_TOO_LARGE, text)
            }
            ReadError::Malformed => Failure::bad_request(error.to_string()),
            ReadError::Late => {
                counters.slow();
                Failure::new(StatusCode::REQUEST_TIMEOUT, format!("{error} (front.stall)"))
            }
        }
    }
}

/// Counted as waiting until it is dropped, which the end of the connection does, too.
struct Waits<'a>(&'a Gauge);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}
