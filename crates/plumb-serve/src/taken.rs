//! How long a client may take over an answer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

/// So many bytes of an answer, or the rest of it, are taken within the time-out.
const STRETCH: usize = 1 << 20;

/// What a client has taken of an answer that is being written, and until when it must have taken more.
pub(crate) struct Taken {
    patience: Duration,
    /// Set while the client keeps us waiting.
    until: Option<Pin<Box<Sleep>>>,
    /// Bytes since it was set.
    bytes: usize,
}

impl Taken {
    /// Nothing is being written yet; a stretch may take `patience`.
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, until: None, bytes: 0 }
    }

    /// What comes of a write: as long as the client takes nothing, the time-out as well.
    pub(crate) fn written(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match &polled {
            Poll::Ready(Ok(count)) => {
                self.bytes += count;
                if self.bytes >= STRETCH {
                    self.until = None;
                }
            }
            Poll::Ready(Err(_)) => {}
            Poll::Pending => return Poll::Ready(Err(ready!(self.wait(context)))),
        }
        polled
    }

    /// What comes of a flush, before which all was written: once it is done, nothing is left to take.
    pub(crate) fn flushed(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<()>>,
    ) -> Poll<io::Result<()>> {
        match &polled {
            Poll::Ready(_) => self.until = None,
            Poll::Pending => return Poll::Ready(Err(ready!(self.wait(context)))),
        }
        polled
    }

    fn wait(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let until = self.until.get_or_insert_with(|| {
            self.bytes = 0;
            Box::pin(sleep(self.patience))
        });
        ready!(until.as_mut().poll(context));
        Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "the answer is not taken in time"))
    }
}
