//! What reads and writes the socket of a session, moved by whoever waits for an answer.

use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;
use plumb_serve::database::tls::Encrypted;
use tokio::runtime::Handle;
use tokio_postgres::Connection;

use crate::stream::Wire;
use plumb_serve::Arrivals;

/// What the driver has of a connection, encrypted or not.
type Driver = Connection<Wire, Encrypted<Wire>>;

/// Turns of one poll; a conversation that goes on for longer lets others have theirs.
const TURNS: u32 = 64;

/// The conversation of one session.
///
/// Nothing moves by itself: what is asked through the client goes out, and answers come in, while
/// [`Conversation::drive`] is awaited. So a call needs no second task, and when the two sides wake
/// each other within one poll, the runtime need not be asked.
pub(crate) struct Conversation {
    /// `None` once it has ended.
    open: Option<Pin<Box<Driver>>>,
    gate: Arc<Gate>,
    waker: Waker,
    arrivals: Arc<Arrivals>,
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("open", &self.open.is_some()).finish_non_exhaustive()
    }
}

impl Conversation {
    /// That of `connection`, whose bytes come as `arrivals` say.
    pub(crate) fn of(connection: Driver, arrivals: Arc<Arrivals>) -> Self {
        let gate = Arc::<Gate>::default();
        let waker = Waker::from(Arc::clone(&gate));
        Self { open: Some(Box::pin(connection)), gate, waker, arrivals }
    }

    /// Carries out `work`, which asks through the client of this conversation.
    pub(crate) async fn drive<R>(&mut self, work: impl Future<Output = R>) -> R {
        let mut work = pin!(work);
        poll_fn(|outer| {
            let gate = Arc::clone(&self.gate);
            gate.enter(outer.waker());
            let done = self.turns(work.as_mut());
            if gate.leave() {
                outer.waker().wake_by_ref();
            }
            done
        })
        .await
    }

    /// Moves both sides in turns until neither has anything for the other.
    fn turns<R>(&mut self, mut work: Pin<&mut impl Future<Output = R>>) -> Poll<R> {
        let mut context = Context::from_waker(&self.waker);
        for _ in 0..TURNS {
            self.gate.woken.store(false, Ordering::SeqCst);
            if let Poll::Ready(done) = work.as_mut().poll(&mut context) {
                return Poll::Ready(done);
            }
            if let Some(open) = &mut self.open
                && open.as_mut().poll(&mut context).is_ready()
            {
                self.open = None; // whoever asked hears of it through the client
                self.gate.woken.store(true, Ordering::SeqCst);
            }
            // who has the thread to itself waits for the answer within the next turn
            if !self.gate.woken.load(Ordering::SeqCst) && !self.arrivals.are_waited_for() {
                return Poll::Pending;
            }
        }
        Poll::Pending
    }

    /// What the server last reported of its parameter `name`; `None` when it reports none, or has gone.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.open.as_ref()?.parameter(name)
    }

    /// Ends it at once, without a farewell.
    pub(crate) fn cut(&mut self) {
        self.open = None;
    }
}

impl Drop for Conversation {
    /// Says farewell to the server, while whoever has the runtime goes on.
    fn drop(&mut self) {
        if let (Some(open), Ok(runtime)) = (self.open.take(), Handle::try_current()) {
            runtime.spawn(async {
                let _ = open.await; // the server may have ended it already
            });
        }
    }
}

/// Notes who is woken within a poll, and wakes the task outside of one.
#[derive(Default)]
struct Gate {
    inside: AtomicBool,
    woken: AtomicBool,
    task: AtomicWaker,
}

impl Gate {
    fn enter(&self, task: &Waker) {
        self.task.register(task);
        self.inside.store(true, Ordering::SeqCst);
    }

    /// True when somebody was woken and has not been polled since.
    fn leave(&self) -> bool {
        self.inside.store(false, Ordering::SeqCst);
        self.woken.swap(false, Ordering::SeqCst)
    }
}

impl Wake for Gate {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
        if !self.inside.load(Ordering::SeqCst) {
            self.task.wake();
        }
    }
}
