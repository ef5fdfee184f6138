//! A time-out for call after call that costs a call next to nothing.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Span};
use tokio::time::{Sleep, sleep};

/// Waits for one call at a time, and not for ever. Its timer is set when it has gone off, not for
/// every call: one that goes off for a call that is over is set again for what the present call
/// has left.
#[derive(Debug)]
pub(crate) struct Patience {
    limit_ns: u64,
    timer: Pin<Box<Sleep>>,
}

impl Patience {
    /// Calls may take `limit`. Made within the runtime.
    pub(crate) fn new(limit: Span) -> Self {
        Self { limit_ns: limit.ns(), timer: Box::pin(sleep(Duration::from_nanos(limit.ns()))) }
    }

    /// What comes of `call`, which began at `began_ns` on the monotonic clock; `None` when it took
    /// too long.
    pub(crate) async fn with<T>(
        &mut self,
        began_ns: u64,
        call: impl Future<Output = T>,
    ) -> Option<T> {
        let mut call = pin!(call);
        poll_fn(|context| {
            if let Poll::Ready(done) = call.as_mut().poll(context) {
                return Poll::Ready(Some(done));
            }
            while self.timer.as_mut().poll(context).is_ready() {
                let spent_ns = MonotonicClock.now_ns().saturating_sub(began_ns);
                if spent_ns >= self.limit_ns {
                    return Poll::Ready(None);
                }
                self.timer.set(sleep(Duration::from_nanos(self.limit_ns - spent_ns)));
            }
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};

    #[test]
    fn a_call_in_time_is_answered_and_one_that_began_too_long_ago_is_given_up() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let limit = Span::from_ms(5);
            let mut patience = Patience::new(limit);
            let now = MonotonicClock.now_ns();
            assert_eq!(patience.with(now, ready(7)).await, Some(7));
            assert_eq!(patience.with(now, pending::<u8>()).await, None);
            // the timer is set again, for the next call
            assert_eq!(patience.with(MonotonicClock.now_ns(), pending::<u8>()).await, None);
            assert!(MonotonicClock.now_ns() >= now + 2 * limit.ns());
        });
    }
}
