//! The streams of a server: each on threads of its own, so that none holds up the other clients.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use plumb_engine::Ended;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Span};
use plumb_wire::extension::{Carried, ClientTotals, Stream, Traffic};
use rustix::net::{Shutdown, shutdown};

use crate::client::Client;
use crate::ledger::Ledger;
use crate::pump::{self, Gauge, StreamSide};
use crate::room::StreamRoom;

/// Bytes that the server sends at once.
const SEND_BYTES: usize = 256 << 10;
/// Pauses, each of which would end a stream, that one may take before it begins: its client begins with
/// all of its streams at once, when the last of them stands and a controller lets it.
const FIRST_SILENCES: u32 = 10;
/// Tokens whose figures are kept.
const TOKENS_MAX: usize = 256;
/// How long a server that stops waits for its streams to notice.
const GOODBYE: Duration = Duration::from_secs(1);

/// Told that a client whose stream is over was connected for so many nanoseconds.
pub type Farewell = Arc<dyn Fn(&Client, u64, Ended) + Send + Sync>;

/// What a thread of its own does.
type Task = Box<dyn FnOnce() + Send>;

/// Starts a thread.
///
/// # Errors
/// The kernel has no thread to give.
fn start(task: Task) -> io::Result<()> {
    thread::Builder::new().spawn(task).map(drop)
}

/// The streams that a server carries over connections, as far as there is room.
#[derive(Clone)]
pub struct Streams {
    room: Arc<StreamRoom>,
    patience: Span,
    ledger: Ledger,
    farewell: Farewell,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    live: usize,
    /// By the number of the client.
    sockets: BTreeMap<u64, Arc<OwnedFd>>,
    tokens: VecDeque<Tally>,
}

/// What the streams of one token have carried.
#[derive(Debug, Default)]
struct Tally {
    token: u64,
    /// Of the streams that are over; `began` is of all.
    past: Carried,
    live: Vec<Arc<Gauge>>,
}

impl Streams {
    /// As many as `room` allows, of which none that has begun may pause for longer than `patience`. One that
    /// is sent counts as begun when more than buffers hold has been. Who
    /// has gone is written into `ledger` and told to `farewell`.
    #[must_use]
    pub fn new(room: Arc<StreamRoom>, patience: Span, ledger: Ledger, farewell: Farewell) -> Self {
        Self { room, patience, ledger, farewell, shared: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // counts stay counts, whatever became of the thread that added to them
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for one more under `token`, or why there is none.
    pub(crate) fn admit(&self, token: u64) -> Result<(), String> {
        self.room.admit_connection(MonotonicClock.now_ns())?;
        let mut state = self.state();
        state.live += 1;
        state.tally(token).past.began += 1;
        Ok(())
    }

    /// A stream that was admitted broke before it began.
    pub(crate) fn dismiss(&self, token: u64) {
        self.room.leave();
        let mut state = self.state();
        state.live -= 1;
        let past = &mut state.tally(token).past;
        past.ended += 1;
        past.broken += 1;
    }

    /// Carries an admitted stream on threads of its own, of which `unread` has come already.
    pub(crate) fn carry(&self, client: Client, stream: Stream, socket: OwnedFd, unread: &[u8]) {
        self.carry_on(client, stream, socket, unread, start);
    }

    /// [`carry`](Self::carry) on what `start` makes a thread of.
    fn carry_on(
        &self,
        client: Client,
        stream: Stream,
        socket: OwnedFd,
        unread: &[u8],
        start: fn(Task) -> io::Result<()>,
    ) {
        let gauge = Arc::new(Gauge::with(unread.len() as u64));
        let socket = Arc::new(socket);
        let mut state = self.state();
        state.sockets.insert(client.handle, Arc::clone(&socket));
        state.tally(stream.token).live.push(Arc::clone(&gauge));
        drop(state);
        let streams = self.clone();
        let (theirs, read) = (client.clone(), Arc::clone(&gauge));
        let started = start(Box::new(move || {
            let part = StreamSide {
                sends: stream.direction.from_server().then_some(SEND_BYTES),
                receives: stream.direction.to_server(),
                first_silences: FIRST_SILENCES,
            };
            let carried = match pump::make_patient(&socket, streams.patience) {
                Ok(()) => pump::carry(&socket, part, &read),
                Err(trouble) => pump::Carried { trouble: Some(trouble), ..Default::default() },
            };
            streams.over(&theirs, stream.token, &read, &carried);
        }));
        if let Err(error) = started {
            let refusal = Some(format!("no thread for its stream: {error}"));
            let carried = pump::Carried { trouble: Some(error), ..Default::default() };
            self.over(&Client { refusal, ..client }, stream.token, &gauge, &carried);
        }
    }

    /// Books a stream that is over.
    fn over(&self, client: &Client, token: u64, gauge: &Arc<Gauge>, carried: &pump::Carried) {
        let connected_ns = MonotonicClock.now_ns().saturating_sub(client.since_ns);
        let served =
            Traffic { bytes_in: gauge.received(), bytes_out: gauge.sent(), ..Traffic::default() };
        self.ledger.served(served);
        self.ledger.gone(ClientTotals {
            handle: client.handle,
            connected_ns,
            served,
            peer: client.peer.to_string(),
        });
        let (bytes, ended) = match carried.trouble {
            None => (served.bytes_in, Ended::ByClient),
            Some(_) => (served.bytes_in, Ended::Broken),
        };
        (self.farewell)(&Client { bytes, ..client.clone() }, connected_ns, ended);
        self.room.leave();
        let mut state = self.state();
        state.live -= 1;
        state.sockets.remove(&client.handle);
        state.tally(token).end(gauge, carried);
        drop(state);
        self.shared.ended.notify_all();
    }

    /// What the streams under `token` have carried until `now_ns`.
    pub(crate) fn carried(&self, token: u64, now_ns: u64) -> Carried {
        let state = self.state();
        let tally = state.tokens.iter().find(|tally| tally.token == token);
        let mut carried = tally.map(Tally::carried).unwrap_or_default();
        carried.now_ns = now_ns;
        carried
    }

    /// Ends every stream, and waits until they are.
    pub fn stop(&self) {
        let state = self.state();
        for socket in state.sockets.values() {
            // one that is over already needs no end
            let _ = shutdown(socket, Shutdown::Both);
        }
        // a thread that does not notice in time ends with the process
        drop(self.shared.ended.wait_timeout_while(state, GOODBYE, |state| state.live > 0));
    }
}

impl State {
    /// The tally of `token`, made room for if it is new.
    fn tally(&mut self, token: u64) -> &mut Tally {
        let found = self.tokens.iter().position(|tally| tally.token == token);
        let at = found.unwrap_or_else(|| {
            if self.tokens.len() >= TOKENS_MAX
                && let Some(idle) = self.tokens.iter().position(|tally| !tally.busy())
            {
                self.tokens.remove(idle);
            }
            self.tokens.push_back(Tally { token, ..Tally::default() });
            self.tokens.len() - 1
        });
        &mut self.tokens[at]
    }
}

impl Tally {
    fn busy(&self) -> bool {
        self.past.began > self.past.ended
    }

    fn end(&mut self, gauge: &Arc<Gauge>, carried: &pump::Carried) {
        self.live.retain(|other| !Arc::ptr_eq(other, gauge));
        add(&mut self.past, gauge);
        self.past.ended += 1;
        self.past.broken += u32::from(carried.trouble.is_some());
        self.past.retransmits += carried.retransmits;
        self.past.cpu.user_ns += carried.cpu.user_ns;
        self.past.cpu.system_ns += carried.cpu.system_ns;
        self.past.last_ns = self.past.last_ns.max(gauge.last_ns());
    }

    fn carried(&self) -> Carried {
        let mut carried = self.past;
        self.live.iter().for_each(|gauge| add(&mut carried, gauge));
        carried
    }
}

/// Adds the bytes of one stream, and the moment of its first.
fn add(carried: &mut Carried, gauge: &Gauge) {
    carried.bytes_in += gauge.received();
    carried.bytes_out += gauge.sent();
    carried.first_ns = match (carried.first_ns, gauge.first_ns()) {
        (0, first) | (first, 0) => first,
        (one, other) => one.min(other),
    };
}

impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").field("room", &self.room).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use plumb_wire::extension::Direction;

    use super::*;
    use crate::client::Manner;
    use crate::room::StreamLimits;

    #[test]
    fn a_client_for_which_there_is_no_thread_is_told_as_gone_and_leaves_its_room() {
        let told: Arc<Mutex<Vec<(Client, Ended)>>> = Arc::default();
        let farewell: Farewell = {
            let told = Arc::clone(&told);
            Arc::new(move |client, _, ended| {
                told.lock().unwrap().push((client.clone(), ended));
            })
        };
        let room = Arc::new(StreamRoom::new(StreamLimits { streams: 1, rate: None }));
        let ledger = Ledger::default();
        let patience = "1s".parse().unwrap();
        let streams = Streams::new(room, patience, ledger.clone(), farewell);
        let stream = Stream { token: 7, direction: Direction::ToServer };
        for handle in 1..=3 {
            streams.admit(stream.token).unwrap();
            let manner = Manner::Stream(stream);
            let client = Client { messages: 0, bytes: 0, manner, ..Client::echoed(handle) };
            let (socket, _theirs) = UnixStream::pair().unwrap();
            streams.carry_on(client, stream, socket.into(), b"begun", |_| {
                Err(io::ErrorKind::WouldBlock.into())
            });
        }
        let told = told.lock().unwrap();
        assert_eq!(told.iter().map(|(client, _)| client.handle).collect::<Vec<_>>(), [1, 2, 3]);
        for (client, ended) in &*told {
            assert_eq!(*ended, Ended::Broken);
            let why = client.refusal.as_deref().unwrap_or_default();
            assert!(why.starts_with("no thread for its stream: "), "{why}");
        }
        let carried = streams.carried(stream.token, 0);
        assert_eq!((carried.began, carried.ended, carried.broken), (3, 3, 3));
        assert_eq!((ledger.totals().gone, carried.bytes_in), (3, 15));
        let state = streams.state();
        assert!(state.sockets.is_empty() && state.live == 0, "{state:?}");
    }
}
