//! Whoever waits is granted as soon as that can be, first come, first served, and nobody else is
//! looked at for it.

use std::cell::Cell;

use plumb_engine::{ConnectionId, Ended, Peer, Service as _};
use plumb_lock_server::{Event, LockServer, ServerPlan};
use plumb_lock_table::journal::{Notes, Restored};
use plumb_lock_table::table::Limits;
use plumb_measure::Clock;
use plumb_wire::resp;

use crate::numbers::Numbers;

/// A clock that moves when it is told to.
#[derive(Default)]
pub(crate) struct Still(Cell<u64>);

impl Clock for &Still {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }
}

impl Still {
    pub(crate) fn set(&self, ns: u64) {
        self.0.set(ns);
    }

    pub(crate) fn now_ns_now(&self) -> u64 {
        self.0.get()
    }
}

type Tell<'a> = dyn FnMut(Event<'_>) + Send + 'a;

/// A server whose turns are told one by one.
pub(crate) struct Bench<'a> {
    pub(crate) server: LockServer<'a, &'a Still>,
    pub(crate) clock: &'a Still,
    seats: Vec<ConnectionId>,
    /// Who was answered late, in this order, and how.
    pub(crate) late: Vec<(usize, Vec<u8>)>,
}

/// Without a password and a journal; a client may wait as long as it likes.
pub(crate) fn plan() -> ServerPlan {
    ServerPlan {
        limits: resp::Limits { words: 800, word_bytes: 4_096, command_bytes: 256 << 10 },
        wait_ns_max: u64::MAX >> 1,
        password: None,
        users: None,
        epoch: 1,
        grace_ns: 0,
        wall_offset: || 0,
        tick: plumb_measure::Tick::Free,
        replication: plumb_lock_server::ReplicationPlan::default(),
    }
}

impl<'a> Bench<'a> {
    pub(crate) fn new(
        plan: ServerPlan,
        limits: Limits,
        clock: &'a Still,
        tell: &'a mut Tell<'a>,
    ) -> Self {
        Self::restored(plan, (Restored::empty(limits), Notes::none()), clock, tell)
    }

    pub(crate) fn restored(
        plan: ServerPlan,
        start: (Restored, Notes),
        clock: &'a Still,
        tell: &'a mut Tell<'a>,
    ) -> Self {
        let server = LockServer::new(plan, start, clock, tell);
        Self { server, clock, seats: Vec::new(), late: Vec::new() }
    }

    /// A client more; its number, from zero.
    pub(crate) fn client(&mut self) -> usize {
        let mut conn = self.server.open(&Peer::Unix).expect("everybody is taken");
        let seat = ConnectionId::new(conn, 0);
        self.server.accepted(&mut conn, seat);
        if self.seats.len() <= conn {
            self.seats.push(seat);
        }
        conn
    }

    /// Says a line; what is answered at once.
    pub(crate) fn say(&mut self, client: usize, line: &str) -> String {
        let (mut conn, mut out) = (client, Vec::new());
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let mut bytes = Vec::new();
        resp::push_command(&mut bytes, &words);
        let served = self.server.serve(&mut conn, &bytes, &mut out);
        assert!(served.consumed == bytes.len(), "{line}");
        String::from_utf8_lossy(&out).into_owned()
    }

    /// One turn of the loop; how many were answered late in it.
    pub(crate) fn turn(&mut self) -> usize {
        self.server.due(self.clock.now_ns());
        let before = self.late.len();
        let mut out = Vec::new();
        while let Some(seat) = self.server.late_reply(&mut out) {
            let client = self.seats.iter().position(|it| *it == seat).expect("it sits");
            self.late.push((client, std::mem::take(&mut out)));
        }
        self.server.settle().expect("nothing is written");
        self.late.len() - before
    }

    /// Turns until nothing is left to do; how many.
    pub(crate) fn rest(&mut self) -> usize {
        let mut turns = 0;
        loop {
            self.turn();
            if self.rest_is_over() {
                return turns;
            }
            turns += 1;
            assert!(turns < 100_000, "it never rests");
        }
    }

    /// True when nothing is left to do at once.
    pub(crate) fn rest_is_over(&self) -> bool {
        self.server.wake_at().is_none_or(|at| at > self.clock.now_ns())
    }

    /// One client that has the lock `X T hot`, and `count` that ask for `wish` and wait for it.
    fn crowd(&mut self, count: usize, wish: &str) -> (usize, Vec<usize>) {
        let holder = self.client();
        self.say(holder, "ENQ holder X T hot");
        let waiting: Vec<usize> = (0..count).map(|_| self.client()).collect();
        for client in &waiting {
            assert_eq!(self.say(*client, &format!("ENQ o{client} {wish}")), "", "{wish}");
        }
        (holder, waiting)
    }

    pub(crate) fn pass(&mut self, ns: u64) {
        self.clock.0.set(self.clock.0.get() + ns);
    }
}

const LIMITS: Limits = Limits { rows: 100_000, scan: 1_000_000 };

#[test]
fn a_release_looks_at_who_can_be_granted_and_at_nobody_else() {
    const WAITING: usize = 10_000;
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), LIMITS, &clock, &mut tell);
    let (holder, waiting) = bench.crowd(WAITING, "WAIT 600000 X T hot");
    bench.turn();
    let mut owner = "holder".to_owned();
    for client in &waiting[..200] {
        bench.say(holder, &format!("DEQ {owner} X T hot"));
        assert_eq!(bench.turn(), 1);
        assert_eq!(bench.late.last().map(|it| it.0), Some(*client), "first come, first served");
        owner = format!("o{client}");
    }
    // a release costs a command, and two requests are tried: the next, and the one behind it
    let before = bench.server.work();
    bench.say(holder, &format!("DEQ {owner} X T hot"));
    bench.turn();
    assert!(bench.server.work() - before <= 4, "{}", bench.server.work() - before);
    // ten thousand that hang up cost as many steps
    let before = bench.server.work();
    for client in &waiting[201..] {
        bench.server.close(*client, Ended::ByClient);
    }
    bench.turn();
    assert!(bench.server.work() - before < 10, "nobody is tried for it");
    assert!(bench.say(holder, "LOCKSTAT").contains("waiting\r\n:0\r\n"));
}

#[test]
fn everybody_who_shares_is_granted_in_slices_and_in_order() {
    const WAITING: usize = 3_000;
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), LIMITS, &clock, &mut tell);
    let (holder, waiting) = bench.crowd(WAITING, "WAIT 600000 S T hot");
    bench.turn();
    bench.say(holder, "DEQ holder X T hot");
    assert!(bench.turn() < WAITING, "others are served in between");
    bench.rest();
    let answered: Vec<usize> = bench.late.iter().map(|it| it.0).collect();
    assert_eq!(answered, waiting);
}

#[test]
fn times_that_are_over_together_end_in_slices() {
    const WAITING: usize = 2_000;
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), LIMITS, &clock, &mut tell);
    bench.crowd(WAITING, "WAIT 10 X T hot");
    bench.pass(10_000_000);
    assert!(bench.turn() < WAITING);
    bench.rest();
    assert_eq!(bench.late.len(), WAITING);
    assert!(bench.late.iter().all(|(_, reply)| reply.starts_with(b"*8\r\n$4\r\nHELD")));
}

/// Nobody waits whom nothing refuses: what a check says of the same request.
fn nobody_waits_in_vain(bench: &mut Bench<'_>, asks: &[Option<(String, String)>], glass: usize) {
    for (owner, locks) in asks.iter().flatten() {
        let said = bench.say(glass, &format!("CHECK {owner} {locks}"));
        assert!(said.contains("HELD") || said.contains("OWN"), "{owner} waits for {locks}: {said}");
    }
}

#[test]
fn whoever_can_be_granted_is_whatever_was_asked_for() {
    const CLIENTS: usize = 24;
    for seed in 0..40 {
        let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
        let mut bench = Bench::new(plan(), LIMITS, &clock, &mut tell);
        let mut numbers = Numbers::new(seed);
        let glass = bench.client();
        let clients: Vec<usize> = (0..CLIENTS).map(|_| bench.client()).collect();
        let mut asks: Vec<Option<(String, String)>> = vec![None; CLIENTS + 1];
        for _ in 0..400 {
            let client = clients[usize::try_from(numbers.below(CLIENTS as u64)).expect("few")];
            if asks[client].is_some() {
                continue; // it waits
            }
            let owner = numbers.one(&["a", "b", "c", "d", "e"]);
            let locks: Vec<String> = (0..numbers.one(&[1, 1, 2]))
                .map(|_| {
                    let mode = numbers.one(&["S", "E", "E", "X", "O", "V"]);
                    format!("{mode} T {}", numbers.one(&["1", "1", "2", "@", "3"]))
                })
                .collect();
            let locks = locks.join(" ");
            let line = match numbers.below(10) {
                0..6 => format!("ENQ {owner} KEEP WAIT 600000 {locks}"),
                6..8 => format!("DEQ {owner} {locks}"),
                8 => format!("DEQALL {owner}"),
                _ => format!("INHERIT {owner} {}", numbers.one(&["f", "a"])),
            };
            let said = bench.say(client, &line);
            if said.is_empty() {
                asks[client] = Some((owner.to_owned(), locks));
            }
            bench.rest();
            for (client, reply) in bench.late.drain(..) {
                assert!(!reply.is_empty());
                asks[client] = None;
            }
            nobody_waits_in_vain(&mut bench, &asks, glass);
        }
        // one after the other lets go, and in the end nobody waits
        for owner in ["a", "b", "c", "d", "e", "f"].into_iter().cycle().take(200) {
            bench.say(glass, &format!("DEQALL {owner}"));
            bench.rest();
        }
        assert!(bench.say(glass, "LOCKSTAT").contains("waiting\r\n:0\r\n"), "seed {seed}");
    }
}
