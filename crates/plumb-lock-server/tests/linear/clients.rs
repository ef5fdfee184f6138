//! Clients that ask a lock server at the same time, over sockets, and write down what they saw.

use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_engine::{Listener, Plain, ServePlan, Stop, serve};
use plumb_lock_server::{Event as ServerTimes, LockServer, ServerPlan};
use plumb_lock_table::journal::{Notes, Restored};
use plumb_lock_table::table::{Fault, Limits, Rules};
use plumb_measure::Span;
use plumb_wire::resp;

use crate::linear::Event;
use crate::linear::call::{Call, Reply, ledger};
use crate::linear::chooser::Chooser;
use crate::model::Row;
use crate::waiting;

/// Clients at the same time, calls of each between two pauses, and pauses.
const CLIENTS: usize = 4;
const CALLS: u64 = 3;
const ROUNDS: u64 = 30;
/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(30);
/// What is read of one answer at most.
const LIMITS: resp::ReplyLimits = resp::ReplyLimits { bytes: 1 << 20, items: 100_000 };

thread_local! {
    /// The mistake that tables of this thread make.
    static PLANTED: Cell<Option<Fault>> = const { Cell::new(None) };
}

/// The rules, but for the fault that was planted into this thread.
pub(crate) struct Planted;

impl Rules for Planted {
    fn makes(fault: Fault) -> bool {
        PLANTED.get() == Some(fault)
    }
}

/// From now on tables of this thread make this mistake.
pub(crate) fn plant(fault: Option<Fault>) {
    PLANTED.set(fault);
}

/// Ends the server with the history, even one that fails.
struct Ends<'a>(&'a Stop);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.ask();
    }
}

/// Lets clients ask a server whose table has `room` and makes the mistake `fault`; what they saw,
/// and what is held in the end.
pub(crate) fn history(seed: u64, room: u32, fault: Option<Fault>) -> (Vec<Event>, Vec<Row>) {
    let stop = Stop::new().expect("descriptors are left");
    let listeners = Listener::bind_all(&["127.0.0.1:0".to_owned()], 0).expect("a free port");
    let address = listeners[0].local();
    let (moments, pause) = (AtomicU64::new(1), Barrier::new(CLIENTS));
    thread::scope(|scope| {
        let (stop, listeners) = (&stop, &listeners);
        scope.spawn(move || serve_locks(room, fault, listeners, stop));
        let _ends = Ends(stop);
        let (moments, pause, address) = (&moments, &pause, &address);
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let mut client = Client::new(address, number, seed, moments);
                scope.spawn(move || {
                    client.play(pause);
                    client
                })
            })
            .collect();
        let mut clients: Vec<Client<'_>> =
            clients.into_iter().map(|it| it.join().expect("it plays to its end")).collect();
        let ledger = clients[0].ledger(); // while all are connected: owners live with them
        (clients.into_iter().flat_map(|client| client.seen).collect(), ledger)
    })
}

fn serve_locks(room: u32, fault: Option<Fault>, listeners: &[Listener], stop: &Stop) {
    plant(fault);
    let plan = ServePlan::new(100, Span::from_ms(30_000));
    let server = ServerPlan {
        limits: resp::Limits { words: 100, word_bytes: 300, command_bytes: 10_000 },
        ..waiting::plan()
    };
    let restored = Restored::<Planted>::empty(Limits { rows: room, scan: 1_000 });
    let mut tell = |_: ServerTimes<'_>| {};
    let mut server = LockServer::new(server, (restored, Notes::none()), MonotonicClock, &mut tell);
    serve(&plan, listeners, &mut server, Plain::default, stop).expect("it serves to the end");
}

/// One client on one connection.
struct Client<'a> {
    stream: TcpStream,
    kept: Vec<u8>,
    number: usize,
    chooser: Chooser,
    moments: &'a AtomicU64,
    seen: Vec<Event>,
}

impl<'a> Client<'a> {
    fn new(address: &str, number: usize, seed: u64, moments: &'a AtomicU64) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        stream.set_nodelay(true).expect("a socket of TCP");
        let chooser = Chooser::new(seed * 1_000 + number as u64);
        Self { stream, kept: Vec::new(), number, chooser, moments, seen: vec![] }
    }

    /// Asks again and again, and pauses with all others in between.
    fn play(&mut self, pause: &Barrier) {
        for _ in 0..ROUNDS {
            pause.wait();
            for _ in 0..CALLS {
                let call = self.chooser.next_call();
                self.ask(call);
            }
        }
        pause.wait();
    }

    fn ask(&mut self, call: Call) {
        let words = call.words();
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let asked = self.moments.fetch_add(1, Ordering::SeqCst);
        let reply = self.reply(&words, Reply::of);
        let answered = self.moments.fetch_add(1, Ordering::SeqCst);
        self.chooser.note(&call, &reply);
        self.seen.push(Event { client: self.number, call, reply, asked, answered });
    }

    fn reply<T>(&mut self, words: &[&[u8]], read: impl Fn(resp::Reply<'_>) -> T) -> T {
        let mut command = Vec::new();
        resp::push_command(&mut command, words);
        self.stream.write_all(&command).expect("the server listens");
        let mut room = [0; 4096];
        loop {
            if let Some((found, taken)) = resp::reply(&self.kept, &LIMITS).expect("it is RESP") {
                let said = read(found);
                self.kept.drain(..taken);
                return said;
            }
            let length = self.stream.read(&mut room).expect("the server answers");
            assert!(length > 0, "the server hung up");
            self.kept.extend_from_slice(&room[..length]);
        }
    }

    /// Everything that is held, sorted.
    fn ledger(&mut self) -> Vec<Row> {
        self.reply(&[b"LOCKS", b"COUNT", b"10000"], ledger)
    }
}
