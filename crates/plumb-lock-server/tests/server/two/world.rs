//! The wires between two servers and their clients, and what happens to them.

use std::collections::{BTreeMap, VecDeque};

use plumb_lock_pair::replication::Without;
use plumb_lock_table::journal::Policy;
use plumb_lock_table::table::{Fault, Limits};
use plumb_wire::resp;

use super::Land;
use super::kept::{Kept, beginning};
use super::mishaps::MixUp;
use super::node::{Did, Disk, Node, WALL_NS};
use super::player::Player;
use crate::clients::plant;
use crate::linear::Event;
use crate::linear::call::{Call, Reply, ledger};
use crate::model::Row;
use crate::numbers::Numbers;
use crate::waiting::Still;

pub(super) const ROOM: u32 = 1_000;
const PLAYERS: usize = 3;
const CALLS: u64 = 3;
const ROUNDS: u64 = 16;
pub(super) const MS: u64 = 1_000_000;
/// More turns than any history takes that goes on at all.
const TURNS_MAX: u64 = 200_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A connection of a server.
    Node(usize, usize),
    Player(usize),
}

pub(super) enum Payload {
    Connect,
    Bytes(Vec<u8>),
    Close,
}

/// A connection: what is under way from either end to the other, and when it gets there.
pub(super) struct Pipe {
    pub(super) ends: [End; 2],
    wires: [VecDeque<(u64, Payload)>; 2],
}

pub(super) struct World {
    pub(super) clock: &'static Still,
    pub(super) now: u64,
    pub(super) fault: Option<Fault>,
    pub(super) numbers: Numbers,
    pub(super) without: Without,
    /// Two servers, and behind them their witnesses.
    pub(super) nodes: Vec<Option<Node<'static>>>,
    /// What witnesses keep over their end.
    pub(super) disks: Vec<Disk>,
    /// Until when a server is stopped, nanoseconds.
    pub(super) stopped: Vec<u64>,
    /// How long the disk of a server takes in its next turn, nanoseconds.
    pub(super) slow: Vec<u64>,
    /// Until when nothing comes through from this server to that one.
    pub(super) cut: Vec<Vec<u64>>,
    pub(super) pipes: BTreeMap<usize, Pipe>,
    pub(super) pipes_so_far: usize,
    pub(super) players: Vec<Player>,
    pub(super) primary: usize,
    pub(super) events: Vec<Event>,
    pub(super) moment: u64,
    /// When a server was promoted last.
    pub(super) promoted_at: u64,
    pub(super) promotions: u64,
    /// A server that is down is started again then.
    pub(super) start_at: Option<u64>,
    pub(super) promote_at: Option<u64>,
    pub(super) next_trouble: u64,
    /// When somebody looks next whether a server was replaced.
    pub(super) look_at: u64,
    /// What outlives the servers, if they keep anything.
    pub(super) kept: Option<Kept>,
    /// The moment at which a server was started last with what it kept.
    pub(super) born: [u64; 2],
}

impl World {
    pub(super) fn new(seed: u64, fault: Option<Fault>, land: Land) -> Self {
        let Land { witnesses, journals } = land;
        plant(fault);
        let clock: &'static Still = Box::leak(Box::new(Still::default()));
        let mut numbers = Numbers::new(seed);
        let without = numbers.one(&[Without::Stop, Without::Continue]);
        let policies = match journals && witnesses == 0 {
            true => [(); 2].map(|()| numbers.one(&[Policy::Always, Policy::Interval(MS)])),
            false => [Policy::Always; 2],
        };
        let alone = journals && witnesses == 0 && without == Without::Continue;
        let mix_up = match alone && numbers.below(4) == 0 {
            true => MixUp::At(MS + numbers.below(200 * MS)),
            false => MixUp::No,
        };
        let mut world = Self {
            clock,
            now: MS,
            fault,
            numbers,
            without,
            nodes: (0..2 + witnesses).map(|_| None).collect(),
            disks: Vec::new(),
            stopped: vec![0; 2 + witnesses],
            slow: vec![0; 2 + witnesses],
            cut: vec![vec![0; 2 + witnesses]; 2 + witnesses],
            pipes: BTreeMap::new(),
            pipes_so_far: 0,
            players: Vec::new(),
            primary: 0,
            events: Vec::new(),
            moment: 1,
            promoted_at: 0,
            promotions: 0,
            start_at: None,
            promote_at: None,
            next_trouble: 0,
            look_at: 0,
            kept: journals.then(|| Kept::new(policies, mix_up)),
            born: [0; 2],
        };
        for at in 0..PLAYERS {
            let depth = world.numbers.one(&[1, 1, 2]);
            world.players.push(Player::new(seed * 100 + at as u64, depth));
        }
        clock.set(world.now);
        world.disks = (0..witnesses).map(|_| Disk::default()).collect();
        (0..witnesses).for_each(|at| world.start_witness(at));
        world.start(0, None);
        if mix_up == MixUp::No {
            world.start(1, Some(0));
        }
        world
    }

    /// Starts a server; its next fence number.
    pub(super) fn start(&mut self, at: usize, primary: Option<usize>) -> u64 {
        let id = 1 + self.numbers.below(1 << 40);
        let primary = primary.map(|at| u16::try_from(at).expect("0 or 1"));
        let witnesses: Vec<u16> =
            (2..self.nodes.len()).map(|at| u16::try_from(at).expect("few")).collect();
        plant(self.fault);
        let kept = self.kept_of(at);
        let limits = Limits { rows: ROOM, scan: 1_000 };
        let wall_us = (self.now + WALL_NS) / 1_000;
        let journal = kept.as_ref().map(|(folder, policy)| (&**folder, *policy));
        let start = beginning(journal, limits, wall_us);
        let fences = start.0.table.next_fence();
        let numbers = (id, if kept.is_some() { 1 + at as u64 } else { 0 }); // witnesses know it again
        let part = (primary, &*witnesses);
        self.nodes[at] = Some(Node::new(self.clock, start, (self.without, numbers), part));
        fences
    }

    /// Plays all rounds to their end.
    ///
    /// # Errors
    /// How it is, when nothing goes on.
    pub(super) fn play(&mut self) -> Result<(), String> {
        for _ in 0..ROUNDS {
            self.players.iter_mut().for_each(|player| player.left = CALLS);
            self.next_trouble = self.now + self.numbers.below(10 * MS);
            let mut turns = 0;
            while !self.players.iter().all(Player::is_done)
                || self.promote_at.is_some()
                || self.both_were_killed()
                || self.nodes[self.primary].is_none()
            {
                self.turn();
                turns += 1;
                if turns == TURNS_MAX {
                    return Err(format!("nothing goes on: {}", self.told()));
                }
            }
        }
        Ok(())
    }

    /// What was seen, and what is held in the end.
    pub(super) fn history(&mut self) -> (Vec<Event>, Vec<Row>) {
        let limits = resp::ReplyLimits { bytes: 1 << 20, items: 100_000 };
        let node = self.nodes[self.primary].as_mut().expect("it serves");
        let said = node.ask("LOCKS COUNT 10000", self.fault);
        let (found, _) = resp::reply(&said, &limits).expect("it is RESP").expect("it is whole");
        (std::mem::take(&mut self.events), ledger(found))
    }

    fn turn(&mut self) {
        self.pass_time();
        self.deliver();
        for at in 0..self.nodes.len() {
            if self.now >= self.stopped[at]
                && let Some(node) = &mut self.nodes[at]
            {
                plant(self.fault);
                let disk_ns = std::mem::take(&mut self.slow[at]);
                let [before, behind] = node.turn(disk_ns);
                self.take(at, before);
                if disk_ns > 0 {
                    self.stopped[at] = self.now + disk_ns;
                }
                self.now += disk_ns;
                self.take(at, behind);
                self.now -= disk_ns;
            }
        }
        for player in 0..PLAYERS {
            self.play_one(player);
        }
        self.trouble();
    }

    /// To the next moment at which something happens.
    fn pass_time(&mut self) {
        let mut next = self.next_trouble;
        for at in [self.start_at, self.promote_at, self.kept_wakes_at()].into_iter().flatten() {
            next = next.min(at);
        }
        for player in &self.players {
            if !player.is_done() && player.calls.is_empty() {
                next = next.min(player.rests_until);
            }
        }
        for pipe in self.pipes.values() {
            for from in 0..2 {
                if let Some((at, _)) = pipe.wires[from].front() {
                    next = next.min((*at).max(self.blocked_until(pipe, from)));
                }
            }
        }
        for at in 0..self.nodes.len() {
            if let Some(wake) = self.nodes[at].as_ref().and_then(Node::wake_at) {
                next = next.min(wake.max(self.stopped[at]));
            }
        }
        let least = 1_000 + self.numbers.below(20_000);
        self.now = (self.now + least).max(next.min(self.now + 500 * MS));
        self.clock.set(self.now);
    }

    /// Until when nothing comes out of a wire.
    fn blocked_until(&self, pipe: &Pipe, from: usize) -> u64 {
        match (pipe.ends[from], pipe.ends[1 - from]) {
            (End::Node(one, _), End::Node(other, _)) => self.cut[one][other],
            _ => 0,
        }
    }

    fn deliver(&mut self) {
        let all: Vec<usize> = self.pipes.keys().copied().collect();
        for number in all {
            for from in 0..2 {
                while let Some((to, payload)) = self.next_arrival(number, from) {
                    self.arrive(number, (from, to), payload);
                }
            }
        }
    }

    /// What comes out of a wire now, and to whom.
    fn next_arrival(&mut self, number: usize, from: usize) -> Option<(End, Payload)> {
        let pipe = self.pipes.get(&number)?;
        let blocked = self.blocked_until(pipe, from);
        let to = pipe.ends[1 - from];
        let wire = &mut self.pipes.get_mut(&number)?.wires[from];
        let due = wire.front().is_some_and(|(at, _)| *at <= self.now);
        if !due || self.now < blocked {
            return None;
        }
        wire.pop_front().map(|(_, payload)| (to, payload))
    }

    fn arrive(&mut self, number: usize, (from, to): (usize, End), payload: Payload) {
        match (to, payload) {
            (End::Player(player), Payload::Bytes(bytes)) => {
                self.players[player].inbox.extend_from_slice(&bytes);
            }
            (End::Player(player), Payload::Close) => {
                self.pipes.remove(&number);
                // it may have left that connection already
                if self.players[player].pipe == Some(number) {
                    self.lost(player);
                }
            }
            (End::Player(_), Payload::Connect) => {}
            (End::Node(at, uid), Payload::Bytes(bytes)) => {
                if let Some(node) = &mut self.nodes[at] {
                    node.hear(uid, &bytes);
                }
            }
            (End::Node(at, uid), Payload::Close) => {
                self.pipes.remove(&number);
                if let Some(node) = &mut self.nodes[at] {
                    plant(self.fault);
                    node.hung_up(uid);
                }
            }
            (End::Node(at, uid), Payload::Connect) => match &mut self.nodes[at] {
                // the answer to who dialled: it stands
                Some(_) if from == 0 => {
                    if let Some(node) = &mut self.nodes[at] {
                        node.accept(uid);
                    }
                    self.send(number, 1, Payload::Connect);
                }
                Some(node) => {
                    let first = node.connected(uid);
                    self.send(number, 0, Payload::Bytes(first));
                }
                None => self.send(number, 1, Payload::Close),
            },
        }
    }

    /// Bytes may come in two pieces.
    pub(super) fn send(&mut self, number: usize, from: usize, payload: Payload) {
        let cuts = self.numbers.below(4) == 0;
        match payload {
            Payload::Bytes(mut bytes) if cuts && bytes.len() > 1 => {
                let at = 1 + self.numbers.below(bytes.len() as u64 - 1);
                let rest = bytes.split_off(usize::try_from(at).expect("few"));
                self.put(number, from, Payload::Bytes(bytes));
                self.put(number, from, Payload::Bytes(rest));
            }
            whole => self.put(number, from, whole),
        }
    }

    fn put(&mut self, number: usize, from: usize, payload: Payload) {
        let most = self.numbers.one(&[MS / 2, MS / 2, MS / 2, 5 * MS]);
        let delay = 20_000 + self.numbers.below(most);
        let Some(pipe) = self.pipes.get_mut(&number) else { return };
        let behind = pipe.wires[from].back().map_or(0, |(at, _)| *at);
        pipe.wires[from].push_back(((self.now + delay).max(behind), payload));
    }

    fn pipe_of(&self, end: End) -> Option<(usize, usize)> {
        self.pipes.iter().find_map(|(number, pipe)| {
            let side = pipe.ends.iter().position(|it| *it == end)?;
            Some((*number, side))
        })
    }

    pub(super) fn connect(&mut self, ends: [End; 2]) -> usize {
        self.pipes_so_far += 1;
        let wires = [VecDeque::new(), VecDeque::new()];
        self.pipes.insert(self.pipes_so_far, Pipe { ends, wires });
        self.pipes_so_far
    }

    /// What a server did.
    fn take(&mut self, at: usize, did: Vec<Did>) {
        for did in did {
            match did {
                Did::Sent(uid, bytes) => {
                    if let Some((number, side)) = self.pipe_of(End::Node(at, uid)) {
                        self.send(number, side, Payload::Bytes(bytes));
                    }
                }
                Did::Closed(uid) => {
                    if let Some((number, side)) = self.pipe_of(End::Node(at, uid)) {
                        self.send(number, side, Payload::Close);
                    }
                }
                Did::Dialled(uid, port) => {
                    let other = usize::from(port);
                    let there = End::Node(other, 2 * (self.pipes_so_far + 1));
                    let number = self.connect([End::Node(at, uid), there]);
                    self.send(number, 0, Payload::Connect);
                }
                Did::Promoted(fences) => self.took_over(at, fences),
            }
        }
    }

    fn took_over(&mut self, at: usize, fences: u64) {
        self.promoted_at = self.goes_on(fences);
        self.primary = at;
        self.promotions += 1;
    }

    /// From this moment on the server that clients are told by numbers its grants from here on.
    pub(super) fn goes_on(&mut self, fences: u64) -> u64 {
        let asked = self.next_moment();
        for event in &mut self.events {
            if event.answered == u64::MAX {
                event.answered = asked; // what the old one did not pass on is never done
            }
        }
        let (asked, answered) = (self.next_moment(), self.next_moment());
        let (call, reply) = (Call::TakeOver { fences }, Reply::Number(fences));
        self.events.push(Event { client: PLAYERS, call, reply, asked, answered });
        asked
    }

    pub(super) fn next_moment(&mut self) -> u64 {
        self.moment += 1;
        self.moment
    }
}
