//! One server, served by the world as the engine's loop serves it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use plumb_engine::{ConnectionId, Ended, Endpoint, Peer, Service as _};
use plumb_lock_pair::election::{Store, Witness};
use plumb_lock_pair::replication::Without;
use plumb_lock_server::{Event, LockServer, ReplicationPlan, ServerPlan, Told};
use plumb_lock_table::journal::{Notes, Restored};
use plumb_wire::resp;

use crate::clients::{Planted, plant};
use crate::waiting::{Still, plan};

/// The wall clock of the world less its clock, nanoseconds.
pub(super) const WALL_NS: u64 = 1 << 50;
/// A replica is away after so long.
pub(super) const TIMEOUT_NS: u64 = 100_000_000;

/// One end of a connection, at a server.
#[derive(Default)]
struct Seat {
    conn: usize,
    inbox: Vec<u8>,
    /// What is in the inbox is the beginning of a command.
    cut: bool,
    out: Vec<u8>,
    /// Replies that wait, each with its mark.
    withheld: VecDeque<(Vec<u8>, u64)>,
    waiting: bool,
    closing: bool,
}

/// The disk of a witness, which outlives it.
#[derive(Clone, Default)]
pub(super) struct Disk(pub(super) Arc<Mutex<Witness>>);

impl Store for Disk {
    fn keep(&mut self, witness: &Witness) -> std::io::Result<()> {
        *self.0.lock().expect("nobody panics") = *witness;
        Ok(())
    }
}

/// What a turn of a server did to the world.
pub(super) enum Did {
    Sent(usize, Vec<u8>),
    Closed(usize),
    /// A connection of its own to the server at this port.
    Dialled(usize, u16),
    /// It gives locks out now, and numbers them from here on.
    Promoted(u64),
}

pub(super) struct Node<'a> {
    pub(super) server: LockServer<'a, &'a Still, Planted>,
    clock: &'a Still,
    seats: BTreeMap<usize, Seat>,
    /// The next number of a connection; the other server has others.
    next: usize,
    promoted: &'a AtomicU64,
    /// Its number as a replica.
    pub(super) id: u64,
}

impl<'a> Node<'a> {
    /// A server that begins with this, a replica of that at port `primary` if there is one. It has
    /// a number of this start and one that it keeps.
    pub(super) fn new(
        clock: &'a Still,
        start: (Restored<Planted>, Notes),
        (without, (id, identity)): (Without, (u64, u64)),
        (primary, witnesses): (Option<u16>, &[u16]),
    ) -> Self {
        // the few bytes of each are the price of a server that outlives its maker
        let promoted: &AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
        let tell = Box::leak(Box::new(move |event: Event<'_>| {
            if let Event::Replication(Told::Promoted { fences, .. }) = event {
                promoted.store(fences, Ordering::SeqCst);
            }
        }));
        let address = |port: u16| Endpoint::Tcp(([127, 0, 0, 1], port).into());
        let replication = ReplicationPlan {
            primary: primary.map(address).into_iter().collect(),
            witnesses: witnesses.iter().map(|port| vec![address(*port)]).collect(),
            without,
            timeout_ns: TIMEOUT_NS,
            backlog_bytes: 600, // little: both ways of coming back are gone
            id,
            identity,
            ..ReplicationPlan::default()
        };
        // among witnesses all owners are kept: one whose life did not get to the replica is gone with
        // the promotion; elsewhere all live with their connections
        let grace_ns = if witnesses.is_empty() { u64::MAX >> 2 } else { 0 };
        let epoch = start.0.epoch.max(1);
        let plan = ServerPlan { grace_ns, wall_offset: || WALL_NS, replication, epoch, ..plan() };
        let server = LockServer::new(plan, start, clock, tell);
        Self { server, clock, seats: BTreeMap::new(), next: 0, promoted, id }
    }

    /// A witness that goes on from what its disk holds.
    pub(super) fn witness(clock: &'a Still, disk: &Disk) -> Self {
        let kept = (*disk.0.lock().expect("nobody panics"), Box::new(disk.clone()) as Box<_>);
        let tell = Box::leak(Box::new(|_: Event<'_>| {}));
        let server = LockServer::witness(plan(), kept, clock, tell);
        let (promoted, id) = (Box::leak(Box::new(AtomicU64::new(0))), 0);
        Self { server, clock, seats: BTreeMap::new(), next: 0, promoted, id }
    }

    /// Somebody connects.
    pub(super) fn accept(&mut self, uid: usize) {
        let mut conn = self.server.open(&Peer::Unix).expect("everybody is taken");
        self.server.accepted(&mut conn, ConnectionId::new(uid, 0));
        self.seats.insert(uid, Seat { conn, ..Seat::default() });
    }

    pub(super) fn hear(&mut self, uid: usize, bytes: &[u8]) {
        if let Some(seat) = self.seats.get_mut(&uid) {
            seat.inbox.extend_from_slice(bytes);
            seat.cut = false;
        }
    }

    /// A connection that was dialled stands; what is said first.
    pub(super) fn connected(&mut self, uid: usize) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(seat) = self.seats.get_mut(&uid) {
            self.server.connected(&mut seat.conn, &mut out);
        }
        out
    }

    /// The other end is gone.
    pub(super) fn hung_up(&mut self, uid: usize) {
        if let Some(seat) = self.seats.remove(&uid) {
            self.server.close(seat.conn, Ended::ByClient);
        }
    }

    /// What an administrator on the spot is answered.
    pub(super) fn ask(
        &mut self,
        line: &str,
        fault: Option<plumb_lock_table::table::Fault>,
    ) -> Vec<u8> {
        plant(fault);
        let mut conn = self.server.open(&Peer::Unix).expect("everybody is taken");
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let (mut bytes, mut out) = (Vec::new(), Vec::new());
        resp::push_command(&mut bytes, &words);
        self.server.serve(&mut conn, &bytes, &mut out);
        self.server.close(conn, Ended::ByClient);
        out
    }

    pub(super) fn figure(&mut self, name: &str) -> u64 {
        let said = String::from_utf8(self.ask("INFO", None)).expect("text");
        let line = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|text| text.parse().ok()).expect("a figure")
    }

    pub(super) fn replication(&mut self) -> String {
        let said = String::from_utf8(self.ask("INFO", None)).expect("text");
        let line = said.lines().find_map(|line| line.strip_prefix("replication:"));
        line.expect("it is there").to_owned()
    }

    pub(super) fn wake_at(&self) -> Option<u64> {
        let busy = self.seats.values().any(Self::is_ready);
        if busy { Some(0) } else { self.server.wake_at() }
    }

    fn is_ready(seat: &Seat) -> bool {
        !seat.inbox.is_empty() && !seat.cut && !seat.waiting && !seat.closing
    }

    /// One turn, in the order of the engine's loop; `disk_ns` is how long its disk takes. What it
    /// did before, and behind that.
    pub(super) fn turn(&mut self, disk_ns: u64) -> [Vec<Did>; 2] {
        let mut did = Vec::new();
        self.server.due(self.clock.now_ns_now());
        let ready: Vec<usize> = self.seats.keys().copied().collect();
        for uid in ready {
            self.read(uid, &mut did);
        }
        self.server.due(self.clock.now_ns_now());
        let mut out = Vec::new();
        while let Some(id) = self.server.late_reply(&mut out) {
            if let Some((uid, seat)) = self.seats.iter_mut().find(|(uid, _)| id == id_of(**uid)) {
                seat.waiting = false;
                let uid = *uid;
                self.answer(uid, std::mem::take(&mut out), &mut did);
            }
            out.clear();
        }
        while let Some(id) = self.server.message(&mut out) {
            let uid = self.seats.keys().copied().find(|uid| id == id_of(*uid));
            if let Some(uid) = uid {
                self.answer(uid, std::mem::take(&mut out), &mut did);
            }
            out.clear();
        }
        while let Some(id) = self.server.push(&mut out) {
            if let Some((uid, seat)) = self.seats.iter_mut().find(|(uid, _)| id == id_of(**uid)) {
                seat.withheld.drain(..).for_each(|(reply, _)| seat.out.extend(reply));
                seat.out.append(&mut out);
                let uid = *uid;
                self.flush(uid, &mut did);
            }
            out.clear();
        }
        let before = std::mem::take(&mut did);
        let now = self.clock.now_ns_now();
        self.clock.set(now + disk_ns);
        self.settle(&mut did);
        while let Some(id) = self.server.drop_next() {
            let uid = self.seats.keys().copied().find(|uid| id == id_of(*uid));
            if let Some(uid) = uid {
                self.close(uid, &mut did);
            }
        }
        self.dial(&mut did);
        match self.promoted.swap(0, Ordering::SeqCst) {
            0 => {}
            fences => did.push(Did::Promoted(fences)),
        }
        self.clock.set(now);
        [before, did]
    }

    fn read(&mut self, uid: usize, did: &mut Vec<Did>) {
        let Some(seat) = self.seats.get_mut(&uid).filter(|seat| Self::is_ready(seat)) else {
            return;
        };
        let mut reply = Vec::new();
        while !seat.inbox.is_empty() && !seat.waiting {
            let inbox = seat.inbox.clone();
            let served = self.server.serve(&mut seat.conn, &inbox, &mut reply);
            seat.inbox.drain(..served.consumed);
            seat.waiting = self.server.waits(&seat.conn);
            seat.closing |= served.close;
            seat.cut = served.consumed == 0;
            if seat.cut || served.close {
                break;
            }
        }
        let closes = seat.closing;
        self.answer(uid, reply, did);
        if closes {
            self.close(uid, did);
        }
    }

    /// Sends a reply, or withholds it.
    fn answer(&mut self, uid: usize, reply: Vec<u8>, did: &mut Vec<Did>) {
        let Some(seat) = self.seats.get_mut(&uid) else { return };
        let mark = self.server.mark(&seat.conn);
        let told = seat.withheld.is_empty() && self.server.may_tell(&seat.conn, mark);
        if told && !self.server.unsettled() {
            seat.out.extend(reply);
            return self.flush(uid, did);
        }
        seat.withheld.push_back((reply, mark));
    }

    fn settle(&mut self, did: &mut Vec<Did>) {
        self.server.settle().expect("nothing is written");
        for uid in self.seats.keys().copied().collect::<Vec<_>>() {
            let Some(seat) = self.seats.get_mut(&uid) else { continue };
            while let Some((_, mark)) = seat.withheld.front()
                && self.server.may_tell(&seat.conn, *mark)
            {
                let reply = seat.withheld.pop_front();
                seat.out.extend(reply.into_iter().flat_map(|(reply, _)| reply));
            }
            self.flush(uid, did);
        }
    }

    fn flush(&mut self, uid: usize, did: &mut Vec<Did>) {
        if let Some(seat) = self.seats.get_mut(&uid)
            && !seat.out.is_empty()
        {
            did.push(Did::Sent(uid, std::mem::take(&mut seat.out)));
        }
    }

    fn close(&mut self, uid: usize, did: &mut Vec<Did>) {
        if let Some(seat) = self.seats.remove(&uid) {
            self.server.close(seat.conn, Ended::ByService);
            did.push(Did::Closed(uid));
        }
    }

    fn dial(&mut self, did: &mut Vec<Did>) {
        if let Some((Endpoint::Tcp(address), mut conn)) = self.server.dial() {
            self.next += 1;
            // numbers of those who are accepted are even
            let uid = 2 * self.next + 1;
            self.server.accepted(&mut conn, ConnectionId::new(uid, 0));
            self.seats.insert(uid, Seat { conn, ..Seat::default() });
            did.push(Did::Dialled(uid, address.port()));
        }
    }
}

fn id_of(uid: usize) -> ConnectionId {
    ConnectionId::new(uid, 0)
}
