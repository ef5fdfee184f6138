//! Limits and order of the serving loop, under a clock that stands still.

mod awaited;
mod held;
mod late;
mod lone;
mod room;
mod settle;
mod together;

use plumb_measure::Span;
use plumb_socket::{HeldTime, Peer};
use std::io::{Read as _, Write as _};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use super::{Serve, ServePlan};
use crate::channel::READS_A_TURN;
use crate::service::{Ended, Served, Service, TurnedAway};
use crate::testing::MS;
use crate::{Endpoint, EngineError, Link, Listener, Plain, Received, Stop};

fn plan() -> ServePlan {
    ServePlan {
        quit_after: Some(Span::from_ms(60_000)),
        ..ServePlan::new(10, Span::from_ms(1_000))
    }
}

/// Echoes lines and notes what happens.
#[derive(Default)]
struct Notes {
    served: Vec<(usize, usize)>,
    ended: Vec<Ended>,
    turned_away: usize,
    opened: usize,
}

impl Service for Notes {
    type Conn = usize;

    fn open(&mut self, _: &Peer) -> Result<usize, Vec<u8>> {
        self.opened += 1;
        Ok(self.opened)
    }

    fn serve(&mut self, conn: &mut usize, bytes: &[u8], _: &mut Vec<u8>) -> Served {
        let lines = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        self.served.push((*conn, bytes.len()));
        Served { consumed: lines, echo: lines, close: bytes.starts_with(b"bye") }
    }

    fn close(&mut self, _: usize, ended: Ended) {
        self.ended.push(ended);
    }

    fn turn_away(&mut self, _: &Peer, _: TurnedAway) -> Vec<u8> {
        self.turned_away += 1;
        b"full\n".to_vec()
    }
}

struct Stand {
    listener: Listener,
    endpoint: Endpoint,
    _folder: tempfile::TempDir,
}

impl Stand {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let endpoint = Endpoint::Unix(folder.path().join("socket"));
        let listener = Listener::bind(&endpoint).unwrap();
        Self { listener, endpoint, _folder: folder }
    }

    fn connect(&self) -> UnixStream {
        let Endpoint::Unix(path) = &self.endpoint else { panic!("unix") };
        let stream = UnixStream::connect(path).unwrap();
        stream.set_nonblocking(true).unwrap();
        stream
    }

    /// Serves until the server quits by itself; `peer` is called whenever it waits.
    fn serve(
        &self,
        plan: &ServePlan,
        service: &mut impl Service,
        peer: impl FnMut(u64) -> Option<u64> + 'static,
    ) -> HeldTime {
        let time = HeldTime::with(peer);
        serve(plan, &self.listener, service, time.clone()).unwrap();
        time
    }
}

/// Serves until the server quits by itself, or cannot go on.
fn serve(
    plan: &ServePlan,
    listener: &Listener,
    service: &mut impl Service,
    time: HeldTime,
) -> Result<(), EngineError> {
    let stop = Stop::new().unwrap();
    let listeners = std::slice::from_ref(listener);
    let dialled = |_: &_| Plain::default();
    Serve::new(plan, listeners, service, (&Plain::default, &dialled), time, &stop)?.run()
}

fn said(stream: &mut UnixStream) -> String {
    let mut text = [0; 4096];
    let count = stream.read(&mut text).unwrap_or(0);
    String::from_utf8(text[..count].to_vec()).unwrap()
}

#[test]
fn lines_come_back_whatever_pieces_they_come_in() {
    let stand = Stand::new();
    let mut client = stand.connect();
    let mut script = ["ha", "lf\nthree\none", " more\n"].into_iter();
    let mut service = Notes::default();
    let (tell, told) = std::sync::mpsc::channel();
    stand.serve(&plan(), &mut service, move |_| {
        if let Some(piece) = script.next() {
            client.write_all(piece.as_bytes()).unwrap();
        }
        tell.send(said(&mut client)).unwrap();
        None
    });
    let all: String = told.iter().collect();
    assert_eq!(all, "half\nthree\none more\n");
    assert_eq!(service.ended, [Ended::Stopped]);
}

/// Serves one line a turn.
#[derive(Default)]
struct Turns {
    opened: usize,
    served: Vec<u8>,
}

impl Service for Turns {
    type Conn = usize;

    const SETTLES: bool = true;

    fn open(&mut self, _: &Peer) -> Result<usize, Vec<u8>> {
        self.opened += 1;
        Ok(self.opened)
    }

    fn serve(&mut self, _: &mut usize, bytes: &[u8], out: &mut Vec<u8>) -> Served {
        let consumed = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.served.extend(bytes[..consumed].first());
        out.extend_from_slice(&bytes[..consumed]);
        Served { consumed, ..Served::default() }
    }

    fn yields(&self, _: &usize) -> bool {
        true
    }

    fn close(&mut self, _: usize, _: Ended) {}
}

#[test]
fn a_client_that_has_had_its_turn_comes_behind_the_others() {
    let stand = Stand::new();
    let (mut one, mut two) = (stand.connect(), stand.connect());
    one.write_all(b"a\nb\nc\nunfinished").unwrap();
    two.write_all(b"d\n").unwrap();
    let mut service = Turns::default();
    let (tell, told) = std::sync::mpsc::channel();
    stand.serve(&plan(), &mut service, move |_| {
        tell.send((said(&mut one), said(&mut two))).unwrap();
        None
    });
    let (first, second): (String, String) = told.iter().unzip();
    assert_eq!((&*first, &*second), ("a\nb\nc\n", "d\n"));
    let place = service.served.iter().position(|line| *line == b'd');
    assert!(place.is_some_and(|place| place <= 1), "{:?}", service.served);
}

#[test]
fn a_client_too_many_is_told_and_the_others_are_served() {
    let stand = Stand::new();
    let mut clients: Vec<UnixStream> = (0..3).map(|_| stand.connect()).collect();
    let mut service = Notes::default();
    let (tell, told) = std::sync::mpsc::channel();
    stand.serve(&ServePlan { max_clients: 2, ..plan() }, &mut service, move |_| {
        for (number, client) in clients.iter_mut().enumerate() {
            tell.send((number, said(client))).unwrap();
        }
        None
    });
    let farewells: Vec<_> = told.iter().filter(|(_, text)| !text.is_empty()).collect();
    assert_eq!(farewells, [(2, "full\n".to_owned())]);
    assert_eq!((service.opened, service.turned_away), (2, 1));
}

#[test]
fn silence_and_half_messages_are_closed_each_in_its_time() {
    let stand = Stand::new();
    let (silent, mut half) = (stand.connect(), stand.connect());
    half.write_all(b"half a line").unwrap();
    let mut service = Notes::default();
    let plan = ServePlan { idle: Some(Span::from_ms(20_000)), ..plan() };
    let time = stand.serve(&plan, &mut service, move |_| {
        let _ = (&silent, &half);
        None
    });
    assert_eq!(service.ended, [Ended::Stalled, Ended::Idle]);
    assert!(time.now() >= 61_000 * MS, "the server quits once nobody has been heard for a minute");
}

#[test]
fn a_service_may_end_a_connection_and_the_client_hears_all_of_it() {
    let stand = Stand::new();
    let mut client = stand.connect();
    client.write_all(b"bye\n").unwrap();
    let mut service = Notes::default();
    let (tell, told) = std::sync::mpsc::channel();
    stand.serve(&plan(), &mut service, move |_| {
        tell.send(said(&mut client)).unwrap();
        None
    });
    assert_eq!(told.iter().collect::<String>(), "bye\n");
    assert_eq!(service.ended, [Ended::ByService]);
}

#[test]
fn only_allowed_addresses_are_served() {
    let listener = Listener::bind(&Endpoint::Tcp("127.0.0.1:0".parse().unwrap())).unwrap();
    let address: std::net::SocketAddr = listener.local().parse().unwrap();
    let _client = std::net::TcpStream::connect(address).unwrap();
    for (block, served) in [("127.0.0.0/8", 1), ("10.0.0.0/8", 0)] {
        let _client = std::net::TcpStream::connect(address).unwrap();
        let plan = ServePlan { allow: vec![block.parse().unwrap()], ..plan() };
        let mut service = Notes::default();
        serve(&plan, &listener, &mut service, HeldTime::with(|_| None)).unwrap();
        assert_eq!(service.opened.min(1), served, "{block}");
    }
}

/// A link on which there is always more to read.
struct Endless;

impl Link for Endless {
    fn recv(&mut self, socket: BorrowedFd<'_>, into: &mut Vec<u8>) -> std::io::Result<Received> {
        let mut once = Vec::with_capacity(16);
        let greedy = Plain::default().recv(socket, &mut once).is_ok() && once.starts_with(b"more");
        if !greedy && once.is_empty() && GREEDY.get() != Some(rustix_fd(socket)) {
            return Err(std::io::ErrorKind::WouldBlock.into());
        }
        if greedy {
            GREEDY.set(Some(rustix_fd(socket)));
        }
        into.extend_from_slice(b"more\n");
        Ok(Received { bytes: 5, drained: !greedy && GREEDY.get() != Some(rustix_fd(socket)) })
    }

    fn send(&mut self, _: BorrowedFd<'_>, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(bytes.len())
    }
}

thread_local! {
    static GREEDY: std::cell::Cell<Option<i32>> = const { std::cell::Cell::new(None) };
}

fn rustix_fd(socket: BorrowedFd<'_>) -> i32 {
    use std::os::fd::AsRawFd as _;
    socket.as_raw_fd()
}

#[test]
fn a_greedy_neighbour_has_one_turn_and_then_the_others_have_theirs() {
    let stand = Stand::new();
    let (mut greedy, mut modest) = (stand.connect(), stand.connect());
    greedy.write_all(b"more").unwrap();
    let mut service = Notes::default();
    let mut looks = 0;
    let stop = std::sync::Arc::new(Stop::new().unwrap());
    let seen = stop.clone();
    let time = HeldTime::with(move |_| {
        looks += 1;
        if looks == 3 {
            modest.write_all(b"me\n").unwrap();
        }
        if looks > 10 {
            seen.ask();
        }
        let _ = &greedy;
        None
    });
    let plan = plan();
    let listeners = std::slice::from_ref(&stand.listener);
    Serve::new(&plan, listeners, &mut service, (&|| Endless, &|_| Endless), time, &stop)
        .unwrap()
        .run()
        .unwrap();
    let mut run = 0;
    for (conn, _) in &service.served {
        run = if *conn == 1 { run + 1 } else { 0 };
        if *conn == 2 {
            return; // served although the other never stopped
        }
        assert!(run <= 11 * READS_A_TURN);
    }
    panic!("the modest client was never served");
}

/// Answers each byte with a thousand times a thousand.
#[derive(Default)]
struct Generous {
    served: usize,
    taken_over: Vec<Vec<u8>>,
}

const GIFT: usize = 1 << 20;

impl Service for Generous {
    type Conn = bool;
    const HANDS_OVER: bool = true;

    fn open(&mut self, _: &Peer) -> Result<bool, Vec<u8>> {
        Ok(false)
    }

    fn serve(&mut self, leaves: &mut bool, bytes: &[u8], out: &mut Vec<u8>) -> Served {
        if *leaves {
            return Served::default();
        }
        self.served += 1;
        *leaves = bytes[0] == b'!';
        let gift = if *leaves { 1 } else { GIFT };
        out.extend(std::iter::repeat_n(bytes[0], gift));
        Served { consumed: 1, echo: 0, close: false }
    }

    fn leaves(&self, leaves: &bool) -> bool {
        *leaves
    }

    fn hand_over(&mut self, _: bool, socket: OwnedFd, unread: Vec<u8>) {
        self.taken_over.push(unread);
        UnixStream::from(socket).write_all(b"yours").unwrap();
    }

    fn close(&mut self, _: bool, _: Ended) {}
}

#[test]
fn requests_wait_while_a_client_does_not_take_its_replies() {
    let stand = Stand::new();
    let mut client = stand.connect();
    let requests: Vec<u8> = (100..140).collect();
    client.write_all(&requests).unwrap();
    let mut service = Generous::default();
    // the client never reads: the loop waits for ever, and is stopped by its own plan
    let plan = ServePlan { stall: Span::from_ms(500), ..plan() };
    let (tell, _told) = std::sync::mpsc::channel();
    stand.serve(&plan, &mut service, move |_| {
        let _ = tell.send(client.peer_addr().is_ok()); // keeps it open
        None
    });
    assert!(service.served <= 2, "{} requests were answered to nobody", service.served);

    let mut client = stand.connect();
    client.write_all(&requests).unwrap();
    let mut service = Generous::default();
    let (tell, told) = std::sync::mpsc::channel();
    stand.serve(&plan, &mut service, move |now| {
        let mut part = vec![0; GIFT];
        let count = client.read(&mut part).unwrap_or(0);
        part.truncate(count);
        tell.send(part).unwrap();
        (count > 0).then_some(now + 1)
    });
    let all: Vec<u8> = told.iter().flatten().collect();
    let expected = requests.iter().flat_map(|byte| std::iter::repeat_n(*byte, GIFT));
    assert_eq!(all.len(), requests.len() * GIFT);
    assert!(all.into_iter().eq(expected));
}

#[test]
fn a_client_that_takes_a_long_reply_slowly_has_not_stalled() {
    let stand = Stand::new();
    let mut client = stand.connect();
    client.write_all(b"a").unwrap();
    let plan = ServePlan { stall: Span::from_ms(500), ..plan() };
    let (tell, told) = std::sync::mpsc::channel();
    let (mut left, mut next) = (GIFT, 0);
    // as much as the kernel holds, each time after a while that is within the limit
    stand.serve(&plan, &mut Generous::default(), move |now| {
        if now >= next {
            next = now + 400 * MS;
            let mut part = vec![0; GIFT];
            let count = client.read(&mut part).unwrap_or(0);
            left -= count;
            tell.send(count).unwrap();
        }
        (left > 0).then_some(next)
    });
    let parts: Vec<usize> = told.iter().filter(|count| *count > 0).collect();
    assert_eq!(parts.iter().sum::<usize>(), GIFT, "{parts:?}");
    assert!(parts.len() > 2, "it took no longer than one may be silent: {parts:?}");
}

#[test]
fn a_connection_that_leaves_the_loop_takes_along_what_was_not_served() {
    let stand = Stand::new();
    let mut client = stand.connect();
    client.write_all(b"!rest").unwrap();
    let mut service = Generous::default();
    let (tell, told) = std::sync::mpsc::channel();
    stand.serve(&plan(), &mut service, move |_| {
        tell.send(said(&mut client)).unwrap();
        None
    });
    assert_eq!(service.taken_over, [b"rest".to_vec()]);
    assert_eq!(told.iter().collect::<String>(), "!yours");
}
