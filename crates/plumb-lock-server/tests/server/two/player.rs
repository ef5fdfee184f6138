//! A client of two servers, who goes to the other when one does not serve.

use std::collections::VecDeque;

use plumb_wire::resp;

use super::world::{End, MS, Payload, World};
use crate::linear::Event;
use crate::linear::call::{Call, Reply};
use crate::linear::chooser::Chooser;

const LIMITS: resp::ReplyLimits = resp::ReplyLimits { bytes: 1 << 20, items: 10_000 };

pub(super) struct Player {
    pub(super) chooser: Chooser,
    /// Which server it asks.
    pub(super) target: usize,
    /// Its connection, and the moment at which it was made.
    pub(super) pipe: Option<usize>,
    pub(super) connected: u64,
    pub(super) inbox: Vec<u8>,
    /// What it asked and was not answered, and when, in that order.
    pub(super) calls: VecDeque<(Call, u64)>,
    /// So many calls may be under way at the same time.
    pub(super) depth: usize,
    /// It goes to the other server once everything was answered.
    pub(super) leaves: bool,
    /// Calls until the next pause of all.
    pub(super) left: u64,
    /// It asks nothing before this moment, nanoseconds.
    pub(super) rests_until: u64,
}

impl Player {
    pub(super) fn new(seed: u64, depth: usize) -> Self {
        Self {
            chooser: Chooser::new(seed),
            target: 0,
            pipe: None,
            connected: 0,
            inbox: Vec::new(),
            calls: VecDeque::new(),
            depth,
            leaves: false,
            left: 0,
            rests_until: 0,
        }
    }

    /// What it was answered, once that is there.
    pub(super) fn answer(&mut self) -> Option<Reply> {
        self.calls.front()?;
        let (found, taken) = resp::reply(&self.inbox, &LIMITS).expect("it is RESP")?;
        let reply = Reply::of(found);
        self.inbox.drain(..taken);
        Some(reply)
    }

    pub(super) fn is_done(&self) -> bool {
        self.left == 0 && self.calls.is_empty()
    }
}

impl World {
    /// The connection of a player is gone.
    pub(super) fn lost(&mut self, at: usize) {
        let player = &mut self.players[at];
        (player.pipe, player.inbox) = (None, Vec::new());
        let asked_of = player.target;
        player.target = 1 - player.target;
        player.rests_until = self.now + MS;
        player.leaves = false;
        let calls = std::mem::take(&mut player.calls);
        // one that was replaced does nothing that counts from then on, nor does one that was killed
        let born = self.born[asked_of];
        let over = match asked_of == self.primary {
            false => Some(self.promoted_at),
            true => Some(born).filter(|born| *born > self.players[at].connected),
        };
        for (call, asked) in calls {
            if over.is_some_and(|over| asked > over) {
                continue;
            }
            let answered = over.unwrap_or(u64::MAX);
            let reply = Reply::Unknown;
            self.events.push(Event { client: at, call, reply, asked, answered });
        }
    }

    pub(super) fn play_one(&mut self, at: usize) {
        while self.now >= self.players[at].rests_until
            && let Some(reply) = self.players[at].answer()
        {
            self.answered(at, reply);
        }
        if self.players[at].leaves && self.players[at].calls.is_empty() {
            self.leave(at);
        }
        while self.now >= self.players[at].rests_until
            && self.players[at].left > 0
            && self.players[at].calls.len() < self.players[at].depth
            && !self.players[at].leaves
        {
            let Some(pipe) = self.players[at].pipe else {
                return self.connect_player(at);
            };
            self.ask(at, pipe);
        }
    }

    fn ask(&mut self, at: usize, pipe: usize) {
        let player = &mut self.players[at];
        let call = player.chooser.next_call();
        player.left -= 1;
        let mut words = call.words();
        if self.has_witnesses() && [&b"ENQ"[..], b"PROMOTE"].contains(&&*words[0]) {
            // whoever leaves a server that waits for its witnesses loses nothing with its connection
            words.insert(2, b"KEEP".to_vec());
        }
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let mut bytes = Vec::new();
        resp::push_command(&mut bytes, &words);
        let asked = self.next_moment();
        self.players[at].calls.push_back((call, asked));
        self.send(pipe, 0, Payload::Bytes(bytes));
    }

    fn answered(&mut self, at: usize, reply: Reply) {
        let Some((call, asked)) = self.players[at].calls.pop_front() else { return };
        if let Reply::Other(text) = &reply
            && (text.starts_with("READONLY") || text.starts_with("NOREPLICAS"))
        {
            let elected = self.has_witnesses();
            // nothing was done: once more, of the other one if this one never will
            let player = &mut self.players[at];
            player.left += 1;
            player.rests_until = self.now + 5 * MS;
            // among witnesses one that waits may have been replaced without its knowing
            player.leaves |= text.starts_with("READONLY") || elected;
            return;
        }
        // it serves by now, and what it gave out may live with the connection
        self.players[at].leaves = false;
        self.players[at].chooser.note(&call, &reply);
        let answered = self.next_moment();
        self.events.push(Event { client: at, call, reply, asked, answered });
    }

    fn leave(&mut self, at: usize) {
        let player = &mut self.players[at];
        player.leaves = false;
        if let Some(number) = player.pipe.take() {
            player.target = 1 - player.target;
            self.send(number, 0, Payload::Close);
        }
    }

    fn connect_player(&mut self, at: usize) {
        let target = self.players[at].target;
        if self.nodes[target].is_none() {
            let player = &mut self.players[at];
            player.target = 1 - target;
            player.rests_until = self.now + MS;
            return;
        }
        let uid = 2 * (self.pipes_so_far + 1);
        let number = self.connect([End::Player(at), End::Node(target, uid)]);
        if let Some(node) = &mut self.nodes[target] {
            node.accept(uid);
        }
        let connected = self.next_moment();
        (self.players[at].pipe, self.players[at].connected) = (Some(number), connected);
    }
}
