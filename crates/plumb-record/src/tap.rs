//! Bodies that pass through, and are looked at meanwhile.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use tokio::time::Sleep;

use super::exchange::Sent;
use super::ledger::Underway;

/// Why a body did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    /// The connection that it came over.
    #[error("{0}")]
    Link(#[from] hyper::Error),
    /// Nothing came for too long.
    #[error("nothing more came within --timeout")]
    Stalled,
}

/// A body whose parts must come in time.
#[derive(Debug)]
struct Timed {
    body: Incoming,
    patience: Duration,
    /// Runs while nothing comes.
    waits: Option<Pin<Box<Sleep>>>,
}

impl Timed {
    fn new(body: Incoming, patience: Duration) -> Self {
        Self { body, patience, waits: None }
    }

    fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            self.waits = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Broken::Link)));
        }
        let patience = self.patience;
        let waits = self.waits.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        ready!(waits.as_mut().poll(context));
        Poll::Ready(Some(Err(Broken::Stalled)))
    }
}

/// The body of a request on its way to the server.
#[derive(Debug)]
pub(crate) struct Outgoing {
    /// `None` when there is no body.
    body: Option<Timed>,
    sent: Sent,
}

impl Outgoing {
    /// Passes `body` on, and tells `sent` of it.
    pub(crate) fn new(body: Incoming, patience: Duration, sent: Sent) -> Self {
        let body = (!body.is_end_stream()).then(|| Timed::new(body, patience));
        if body.is_none() {
            sent.with(|sent| sent.ended = Some(MonotonicClock.now_ns()));
        }
        Self { body, sent }
    }

    /// The same request once more, for another connection; `None` where a body cannot be sent
    /// twice.
    pub(crate) fn again(&self) -> Option<Self> {
        self.body.is_none().then(|| Self { body: None, sent: self.sent.clone() })
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = ready!(body.poll_frame(context));
        let last = body.body.is_end_stream();
        self.sent.with(|sent| {
            if let Some(Ok(frame)) = &frame
                && let Some(data) = frame.data_ref()
            {
                sent.kept.push(data);
            }
            if last || frame.is_none() {
                sent.ended = Some(MonotonicClock.now_ns());
            }
        });
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(|timed| timed.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or(SizeHint::with_exact(0), |timed| timed.body.size_hint())
    }
}

/// The body of an answer on its way to the client. When it is over, however that comes, so is the
/// exchange.
#[derive(Debug)]
pub(crate) struct Returning {
    body: Timed,
    underway: Underway,
}

impl Returning {
    /// Passes `body` on, and ends `underway` behind it.
    pub(crate) fn new(body: Incoming, patience: Duration, mut underway: Underway) -> Self {
        if body.is_end_stream() {
            underway.end(None);
        }
        Self { body: Timed::new(body, patience), underway }
    }
}

impl Body for Returning {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let frame = ready!(self.body.poll_frame(context));
        match &frame {
            Some(Ok(part)) => {
                if let Some(data) = part.data_ref() {
                    self.underway.note(|exchange| exchange.received.push(data));
                }
                if self.body.body.is_end_stream() {
                    self.underway.end(None);
                }
            }
            Some(Err(broken)) => {
                let problem = format!("the body of the answer broke off: {broken}");
                self.underway.end(Some(problem));
            }
            None => self.underway.end(None),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.body.size_hint()
    }
}
