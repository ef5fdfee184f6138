//! Whole connections through a relay, under a clock that stands still.

use std::cell::RefCell;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::rc::Rc;

use plumb_measure::{ByteSize, Clock as _, Span};
use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};

use super::{Ends, Idle, Limit, LossPlan, PathPlan, Relay, RelayPlan, RelayTotals};
use plumb_engine::{Endpoint, HeldTime, Listener, Stop};

const MS: u64 = 1_000_000;
const DELAY: u64 = 20 * MS;

fn plan() -> RelayPlan {
    let path = PathPlan { delay_ns: DELAY, jitter_ns: 0, rate: None };
    RelayPlan {
        there: path,
        back: path,
        window: ByteSize::new(1 << 20).unwrap(),
        loss: LossPlan::default(),
        allow: Vec::new(),
        max_connections: 10,
        connect_timeout: Span::from_ms(1_000),
        for_time: Some(Span::from_ms(2_000)),
        seed: 1,
    }
}

/// A moment and what happened at it.
type Notes<T> = Rc<RefCell<Vec<(u64, T)>>>;

/// Both ends of a connection through a relay, played on the thread of the test.
struct Stand {
    listener: Listener,
    target: UnixListener,
    near: Endpoint,
    far: Endpoint,
    _folder: tempfile::TempDir,
}

impl Stand {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (near, far) = (folder.path().join("near"), folder.path().join("far"));
        let target = UnixListener::bind(&far).unwrap();
        target.set_nonblocking(true).unwrap();
        let near = Endpoint::Unix(near);
        let listener = Listener::bind(&near).unwrap();
        Self { listener, target, near, far: Endpoint::Unix(far), _folder: folder }
    }

    fn client(&self) -> UnixStream {
        let Endpoint::Unix(path) = &self.near else { panic!("unix") };
        let stream = UnixStream::connect(path).unwrap();
        stream.set_nonblocking(true).unwrap();
        stream
    }

    fn accept(&self) -> Option<UnixStream> {
        let (stream, _) = self.target.accept().ok()?;
        stream.set_nonblocking(true).unwrap();
        Some(stream)
    }

    /// Relays until the plan's time is over; `peer` is called whenever the relay waits.
    fn relay(
        &self,
        plan: &RelayPlan,
        peer: impl FnMut(u64) -> Option<u64> + 'static,
    ) -> (RelayTotals, u64) {
        let time = HeldTime::with(peer);
        let stop = Stop::new().unwrap();
        let ends = Ends {
            listeners: std::slice::from_ref(&self.listener),
            target: std::slice::from_ref(&self.far),
        };
        let mut quiet = |_: super::RelayEvent<'_>| {};
        let relay = Relay::new(plan, ends, &mut quiet, time.clone(), &stop).unwrap();
        let totals = relay.run().unwrap();
        (totals, time.now_ns())
    }
}

/// Reads what is there; `None` at the end or when it is broken.
fn read(stream: &mut UnixStream) -> Option<Vec<u8>> {
    let mut buffer = vec![0; 1 << 20];
    match stream.read(&mut buffer) {
        Ok(0) => None,
        Ok(count) => Some(buffer[..count].to_vec()),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Some(Vec::new()),
        Err(_) => None,
    }
}

/// What a stand saw happen.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Saw {
    Target(Vec<u8>),
    TargetEnd,
    Client(Vec<u8>),
    ClientEnd,
}

/// Plays an echo server that notes what it sees, and a client that sends `lines` one after the
/// other, each `pause` after the last came back.
fn echo(plan: &RelayPlan, lines: usize, pause: u64) -> (Vec<(u64, Saw)>, RelayTotals) {
    let stand = Rc::new(Stand::new());
    let notes: Notes<Saw> = Rc::default();
    let (played, saw) = (Rc::clone(&stand), Rc::clone(&notes));
    let mut client = stand.client();
    let mut server: Option<UnixStream> = None;
    let (mut sent, mut send_at, mut ended) = (0, 0, false);
    let peer = move |now: u64| {
        let note = |what: Saw| saw.borrow_mut().push((now, what));
        server = server.take().or_else(|| played.accept());
        if let Some(stream) = &mut server {
            match read(stream) {
                Some(bytes) if bytes.is_empty() => {}
                Some(bytes) => {
                    stream.write_all(&bytes).unwrap();
                    note(Saw::Target(bytes));
                }
                None => {
                    note(Saw::TargetEnd);
                    server = None;
                }
            }
        }
        if sent < lines && now >= send_at {
            // a connection that was cut takes nothing more
            let _ = client.write_all(b"line");
            (sent, send_at) = (sent + 1, u64::MAX);
        }
        match read(&mut client) {
            _ if ended => {}
            Some(bytes) if bytes.is_empty() => {}
            Some(bytes) => {
                note(Saw::Client(bytes));
                send_at = now + pause;
                if sent == lines {
                    client.shutdown(Shutdown::Write).unwrap();
                }
            }
            None => {
                note(Saw::ClientEnd);
                (ended, sent) = (true, lines);
            }
        }
        (send_at != u64::MAX && sent < lines).then_some(send_at)
    };
    let (totals, _) = stand.relay(plan, peer);
    let seen = notes.borrow().clone();
    (seen, totals)
}

/// The same notes with moments counted from the start of the test's clock.
fn since_start(seen: &[(u64, Saw)]) -> Vec<(u64, Saw)> {
    seen.iter().map(|(at, saw)| (at - 1_000 * MS, saw.clone())).collect()
}

#[test]
fn every_byte_and_the_end_arrive_a_delay_later_and_the_answer_another() {
    let (seen, totals) = echo(&plan(), 2, 5 * MS);
    let line = || b"line".to_vec();
    assert_eq!(
        since_start(&seen),
        [
            (DELAY, Saw::Target(line())),
            (2 * DELAY, Saw::Client(line())),
            (3 * DELAY + 5 * MS, Saw::Target(line())),
            (4 * DELAY + 5 * MS, Saw::Client(line())),
            (5 * DELAY + 5 * MS, Saw::TargetEnd),
            (6 * DELAY + 5 * MS, Saw::ClientEnd),
        ]
    );
    assert_eq!((totals.there.received, totals.there.sent), (8, 8));
    assert_eq!((totals.back.received, totals.back.sent), (8, 8));
    assert_eq!((totals.connections, totals.there.late.max()), (1, 0));
}

#[test]
fn the_two_directions_have_delays_of_their_own() {
    let mut plan = plan();
    plan.back.delay_ns = 70 * MS;
    let (seen, _) = echo(&plan, 1, 0);
    let moments: Vec<u64> = since_start(&seen).iter().map(|(at, _)| at / MS).collect();
    assert_eq!(moments, [20, 90, 110, 180]);
}

#[test]
fn jitter_is_added_to_the_delay_and_repeats_with_its_seed() {
    let mut plan = plan();
    plan.there.jitter_ns = 10 * MS;
    let once = echo(&plan, 8, 0).0;
    assert_eq!(once, echo(&plan, 8, 0).0);
    let trips: Vec<u64> = once
        .iter()
        .filter(|(_, saw)| matches!(saw, Saw::Client(_)))
        .scan(1_000 * MS, |before, (at, _)| Some(at - std::mem::replace(before, *at)))
        .collect();
    assert!(trips.iter().all(|ns| (2 * DELAY..=2 * DELAY + 10 * MS).contains(ns)), "{trips:?}");
    assert!(trips.windows(2).any(|pair| pair[0] != pair[1]), "{trips:?}");
}

#[test]
fn a_connection_is_cut_by_size_or_by_time() {
    let mut plan = plan();
    plan.loss.cut = Some(Limit::Bytes(ByteSize::new(10).unwrap()));
    let (seen, totals) = echo(&plan, 5, 0);
    let last = since_start(&seen).last().cloned();
    assert_eq!(last, Some((2 * DELAY, Saw::ClientEnd)), "{seen:?}"); // 4 there, 4 back, 4 there
    assert_eq!((totals.cut, totals.connections), (1, 1));
    plan.loss.cut = Some(Limit::After(Span::from_ms(50)));
    let (seen, totals) = echo(&plan, 5, 0);
    let ends: Vec<_> = since_start(&seen).into_iter().filter(|(at, _)| *at >= 50 * MS).collect();
    assert_eq!(ends, [(50 * MS, Saw::TargetEnd), (50 * MS, Saw::ClientEnd)]);
    assert_eq!(totals.cut, 1);
}

#[test]
fn refused_connections_never_reach_the_target() {
    let mut plan = plan();
    plan.loss.refuse = Some("100%".parse().unwrap());
    let (seen, totals) = echo(&plan, 1, 0);
    assert_eq!(since_start(&seen), [(0, Saw::ClientEnd)]);
    assert_eq!((totals.refused, totals.connections), (1, 0));
}

#[test]
fn an_idle_connection_is_forgotten_without_a_word() {
    let mut plan = plan();
    plan.loss.idle = Some((Span::from_ms(200), Idle::Forget));
    let (seen, totals) = echo(&plan, 2, 500 * MS);
    let line = b"line".to_vec();
    let first = [(DELAY, Saw::Target(line.clone())), (2 * DELAY, Saw::Client(line))];
    assert_eq!(since_start(&seen)[..2], first);
    // nothing more until the relay itself stops
    assert!(seen[2..].iter().all(|(at, _)| *at >= 3_000 * MS), "{seen:?}");
    assert_eq!((totals.idle, totals.there.received), (1, 4));
}

#[test]
fn a_connection_that_is_forgotten_is_in_no_other_count() {
    let mut plan = plan();
    plan.loss.idle = Some((Span::from_ms(200), Idle::Forget));
    plan.loss.cut = Some(Limit::After(Span::from_ms(500)));
    let (seen, totals) = echo(&plan, 2, 1_000 * MS);
    assert!(seen[2..].iter().all(|(at, _)| *at >= 3_000 * MS), "{seen:?}");
    assert_eq!((totals.connections, totals.idle, totals.cut), (1, 1, 0));
}

/// An address whose queue of connections is full: it answers nobody, and does not refuse.
fn busy() -> (OwnedFd, TcpStream, Endpoint) {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    listen(&socket, 0).unwrap();
    let address = SocketAddr::try_from(getsockname(&socket).unwrap()).unwrap();
    let one = TcpStream::connect(address).unwrap();
    (socket, one, Endpoint::Tcp(address))
}

#[test]
fn a_connection_that_is_forgotten_before_it_reached_the_target_is_unreachable_to_nobody() {
    let (_listener, _one, far) = busy();
    let stand = Stand { far, ..Stand::new() };
    let mut client = stand.client();
    let mut plan = plan();
    plan.loss.idle = Some((Span::from_ms(200), Idle::Forget));
    let gone = Rc::new(RefCell::new(false));
    let seen = Rc::clone(&gone);
    let (totals, _) = stand.relay(&plan, move |_| {
        *seen.borrow_mut() |= read(&mut client).is_none();
        None
    });
    assert_eq!((totals.connections, totals.idle, totals.unreachable), (1, 1, 0));
    assert!(!*gone.borrow(), "nobody is told");
}

#[test]
fn an_idle_connection_is_reset_on_both_sides() {
    let mut plan = plan();
    plan.loss.idle = Some((Span::from_ms(200), Idle::Reset));
    let (seen, totals) = echo(&plan, 2, 500 * MS);
    let ends: Vec<_> = since_start(&seen).split_off(2);
    let at = DELAY + 200 * MS; // the answer came in when the target gave it
    assert_eq!(ends, [(at, Saw::TargetEnd), (at, Saw::ClientEnd)]);
    assert_eq!(totals.idle, 1);
}

#[test]
fn talk_keeps_a_connection_from_being_idle() {
    let mut plan = plan();
    plan.loss.idle = Some((Span::from_ms(200), Idle::Reset));
    let (seen, totals) = echo(&plan, 6, 150 * MS);
    let answers = seen.iter().filter(|(_, saw)| matches!(saw, Saw::Client(_))).count();
    assert_eq!((answers, totals.idle), (6, 0));
}

#[test]
fn a_window_lets_through_as_much_a_round_trip() {
    let mut plan = plan();
    plan.window = ByteSize::new(1_000).unwrap();
    let stand = Rc::new(Stand::new());
    let got: Notes<usize> = Rc::default();
    let (played, notes) = (Rc::clone(&stand), Rc::clone(&got));
    let mut client = stand.client();
    client.write_all(&[7; 4_500]).unwrap();
    let mut server: Option<UnixStream> = None;
    let (totals, _) = stand.relay(&plan, move |now| {
        server = server.take().or_else(|| played.accept());
        if let Some(bytes) = server.as_mut().and_then(read).filter(|bytes| !bytes.is_empty()) {
            notes.borrow_mut().push((now - 1_000 * MS, bytes.len()));
        }
        let _ = &client; // it stays open
        None
    });
    let trip = 2 * DELAY;
    let expected = [1_000, 1_000, 1_000, 1_000, 500];
    let expected: Vec<_> =
        (0_u64..).zip(expected).map(|(trip_n, bytes)| (DELAY + trip_n * trip, bytes)).collect();
    assert_eq!(*got.borrow(), expected);
    assert_eq!(totals.there.sent, 4_500);
}

#[test]
fn a_receiver_that_does_not_read_stops_the_sender_and_memory_stays_bounded() {
    let mut plan = plan();
    plan.window = ByteSize::new(10_000).unwrap();
    let stand = Rc::new(Stand::new());
    let played = Rc::clone(&stand);
    let mut client = stand.client();
    let mut server: Option<UnixStream> = None;
    let written = Rc::new(RefCell::new(0_u64));
    let counted = Rc::clone(&written);
    let (totals, _) = stand.relay(&plan, move |now| {
        server = server.take().or_else(|| played.accept());
        while let Ok(count) = client.write(&[1; 4_096]) {
            *counted.borrow_mut() += count as u64;
        }
        (now < 2_000 * MS).then_some(now + 100 * MS)
    });
    let taken = totals.there.received;
    assert!(taken < *written.borrow(), "the sender was stopped");
    assert!(taken - totals.there.sent <= 10_000, "the window bounds what is held");
}

#[test]
fn more_connections_than_allowed_are_reset() {
    let mut plan = plan();
    plan.max_connections = 2;
    let stand = Rc::new(Stand::new());
    let mut clients: Vec<UnixStream> = (0..3).map(|_| stand.client()).collect();
    let ended = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&ended);
    let (totals, _) = stand.relay(&plan, move |now| {
        let gone = clients.iter_mut().map(|client| read(client).is_none());
        let gone: Vec<bool> = gone.collect();
        seen.borrow_mut().push((now, gone));
        None
    });
    assert_eq!((totals.connections, totals.turned_away), (2, 1));
    let early = ended
        .borrow()
        .iter()
        .any(|(at, gone)| *at < 3_000 * MS && gone.iter().filter(|gone| **gone).count() == 1);
    assert!(early, "{:?}", ended.borrow());
}

#[test]
fn a_target_that_is_not_there_resets_the_client() {
    let stand = Stand::new();
    let mut client = stand.client();
    let Endpoint::Unix(path) = &stand.far else { panic!("unix") };
    std::fs::remove_file(path).unwrap();
    let gone = Rc::new(RefCell::new(None));
    let seen = Rc::clone(&gone);
    let (totals, _) = stand.relay(&plan(), move |now| {
        if read(&mut client).is_none() {
            seen.borrow_mut().get_or_insert(now);
        }
        None
    });
    assert_eq!((totals.unreachable, totals.there.sent), (1, 0));
    assert_eq!(*gone.borrow(), Some(1_000 * MS));
}

#[test]
fn a_connection_of_which_more_comes_than_a_turn_takes_has_one_turn_at_a_time() {
    let stand = Stand::new();
    let mut client = stand.client();
    client.write_all(&[7; 40_000]).unwrap();
    let (plan, stop) = (plan(), Stop::new().unwrap());
    let ends = Ends {
        listeners: std::slice::from_ref(&stand.listener),
        target: std::slice::from_ref(&stand.far),
    };
    let mut quiet = |_: super::RelayEvent<'_>| {};
    let time = HeldTime::with(|_| None);
    let mut relay = Relay::new(&plan, ends, &mut quiet, time, &stop).unwrap();
    relay.buffer.truncate(64);
    relay.pass().unwrap(); // it is accepted
    for _ in 0..8 {
        // its bytes came, and then the other side stood: each is an event of its own
        relay.pass().unwrap();
        assert_eq!(relay.again.len(), 1);
    }
}
