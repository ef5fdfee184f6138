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

/// A body on its way, and who is told of its frames.
#[derive(Debug)]
pub(crate) struct Passing<W> {
    /// `None` when there is no body.
    body: Option<Timed>,
    watcher: W,
}

/// Who is told of the frames of a body.
pub(crate) trait Watcher: Unpin {
    /// A frame has come, behind which the body may have its end; without one it has.
    fn passed(&mut self, frame: Option<&Result<Frame<Bytes>, Broken>>, is_last: bool);
}

/// The body of a request on its way to the server.
pub(crate) type Outgoing = Passing<Sent>;

/// The body of an answer on its way to the client. When it is over, however that comes, so is the
/// exchange.
pub(crate) type Returning = Passing<Underway>;

impl Outgoing {
    /// Passes `body` on, and tells `sent` of it.
    pub(crate) fn new(body: Incoming, patience: Duration, mut sent: Sent) -> Self {
        let body = (!body.is_end_stream()).then(|| Timed::new(body, patience));
        if body.is_none() {
            sent.passed(None, true);
        }
        Self { body, watcher: sent }
    }

    /// The same request once more, for another connection; `None` where a body cannot be sent
    /// twice.
    pub(crate) fn again(&self) -> Option<Self> {
        self.body.is_none().then(|| Self { body: None, watcher: self.watcher.clone() })
    }
}

impl Returning {
    /// Passes `body` on, and ends `underway` behind it.
    pub(crate) fn new(body: Incoming, patience: Duration, mut underway: Underway) -> Self {
        if body.is_end_stream() {
            underway.end(None);
        }
        Self { body: Some(Timed::new(body, patience)), watcher: underway }
    }
}

impl Watcher for Sent {
    fn passed(&mut self, frame: Option<&Result<Frame<Bytes>, Broken>>, is_last: bool) {
        self.with(|sent| {
            if let Some(data) = data_of(frame) {
                sent.kept.push(data);
            }
            if is_last {
                sent.ended = Some(MonotonicClock.now_ns());
            }
        });
    }
}

impl Watcher for Underway {
    fn passed(&mut self, frame: Option<&Result<Frame<Bytes>, Broken>>, is_last: bool) {
        if let Some(data) = data_of(frame) {
            self.note(|exchange| exchange.received.push(data));
        }
        match frame {
            Some(Err(broken)) => {
                let problem = format!("the body of the answer broke off: {broken}");
                self.end(Some(problem));
            }
            _ if is_last => self.end(None),
            _ => {}
        }
    }
}

fn data_of(frame: Option<&Result<Frame<Bytes>, Broken>>) -> Option<&Bytes> {
    frame?.as_ref().ok()?.data_ref()
}

impl<W: Watcher> Body for Passing<W> {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let this = self.get_mut();
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        let frame = ready!(body.poll_frame(context));
        this.watcher.passed(frame.as_ref(), frame.is_none() || body.body.is_end_stream());
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(|timed| timed.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or(SizeHint::with_exact(0), |timed| timed.body.size_hint())
    }
}
