//! What happens to two servers: they are killed, stopped and cut off, and the replica is promoted.

use plumb_lock_pair::replication::Without;
use plumb_lock_table::table::Fault;

use super::mishaps::MixUp;
use super::node::{Node, TIMEOUT_NS};
use super::world::{End, MS, Payload, World};

impl World {
    /// How it is, for whoever looks for what is wrong.
    pub(super) fn told(&mut self) -> String {
        let of = |node: &mut Option<Node<'_>>| node.as_mut().map(Node::replication);
        let nodes: Vec<_> = self.nodes.iter_mut().map(of).collect();
        let players: Vec<_> = self
            .players
            .iter()
            .map(|it| {
                (
                    it.target,
                    it.pipe,
                    it.calls.iter().map(|it| it.0.to_string()).collect::<Vec<_>>(),
                    it.left,
                )
            })
            .collect();
        let kept: Vec<_> =
            self.disks.iter().map(|disk| *disk.0.lock().expect("nobody panics")).collect();
        let Self { now, stopped, cut, primary, start_at, promote_at, without, .. } = self;
        format!(
            "{nodes:?} {kept:?} {players:?} primary {primary} {without:?} at {now}: stopped {stopped:?} cut \
             {cut:?} start {start_at:?} promote {promote_at:?}"
        )
    }

    pub(super) fn kill(&mut self, at: usize) {
        self.nodes[at] = None;
        let ends: Vec<(usize, usize)> = self
            .pipes
            .iter()
            .flat_map(|(number, pipe)| (0..2).map(move |side| (*number, side, pipe.ends[side])))
            .filter(|(_, _, end)| matches!(end, End::Node(node, _) if *node == at))
            .map(|(number, side, _)| (number, side))
            .collect();
        for (number, side) in ends {
            self.send(number, side, Payload::Close); // behind what was sent before
        }
        self.stopped[at] = 0;
    }

    /// Something happens to somebody, from time to time.
    pub(super) fn trouble(&mut self) {
        if self.has_witnesses() {
            return self.trouble_among_witnesses();
        }
        self.care_for_mix_up();
        if self.kept.as_ref().is_some_and(|kept| matches!(kept.mix_up, MixUp::Until(_))) {
            return;
        }
        self.care_for_both();
        if self.promote_at.is_some_and(|at| self.now >= at) {
            self.promote_at = None;
            self.promote();
        }
        if self.start_at.is_some_and(|at| self.now >= at) && self.promote_at.is_none() {
            self.start_at = None;
            for at in 0..2 {
                if self.nodes[at].is_none() {
                    self.start(at, Some(self.primary));
                    if at == 0 && self.without == Without::Continue {
                        self.await_part();
                    }
                }
            }
        }
        self.restart_who_was_replaced();
        if self.now < self.next_trouble {
            return;
        }
        self.next_trouble = self.now + self.numbers.below(60 * MS);
        let (primary, replica) = (self.primary, 1 - self.primary);
        let until = self.now + self.numbers.below(3 * TIMEOUT_NS);
        let kinds = if self.kept.is_some() { 11 } else { 8 };
        match self.numbers.below(kinds) {
            0 | 1 => self.kill_primary(),
            8 | 9 => self.kill_both(),
            10.. => self.stranger_asks(),
            2 if self.nodes[replica].is_some() && self.promote_at.is_none() => {
                self.kill(replica);
                self.start_at = Some(until);
            }
            3 => {
                self.stopped[replica] = until;
            }
            4 => {
                self.stopped[primary] = until;
                self.promote_perhaps(until);
            }
            5 => {
                self.cut[primary][replica] = until;
                self.promote_perhaps(until);
            }
            6 => {
                self.cut[replica][primary] = until;
                self.promote_perhaps(until);
            }
            7 => {
                (self.cut[0][1], self.cut[1][0]) = (until, until);
                self.promote_perhaps(until);
            }
            2 => {}
        }
    }

    /// Only a primary whose replica has everything is killed: nothing else keeps locks here.
    fn kill_primary(&mut self) {
        let (primary, replica) = (self.primary, 1 - self.primary);
        if self.promote_at.is_some() || self.stopped[replica] > self.now {
            return;
        }
        let [one, other] = [primary, replica].map(|at| {
            let node = self.nodes[at].as_mut();
            node.is_some_and(|node| node.figure("in_sync") == 1)
        });
        let planted = self.fault == Some(Fault::PromotesBehind);
        if one && other || planted && self.nodes[replica].is_some() {
            self.kill(primary);
            self.promote_at = Some(self.now + self.numbers.below(10 * MS));
            self.start_at = Some(self.now + 20 * MS + self.numbers.below(100 * MS));
        }
    }

    /// Whoever waits for a replica gives nothing out without it: it may be replaced unheard. What it
    /// answers without a change may be old then: not where clients are at both servers, as behind
    /// the end of both.
    fn promote_perhaps(&mut self, until: u64) {
        let may = self.without == Without::Stop && self.kept.is_none();
        if may && self.promote_at.is_none() && self.numbers.below(2) == 0 {
            self.promote_at = Some(self.now + self.numbers.below(until - self.now + 1));
        }
    }

    fn promote(&mut self) {
        let replica = 1 - self.primary;
        if self.nodes[self.primary].is_some() && self.stopped[replica] > self.now {
            return;
        }
        self.stopped[replica] = 0;
        let fault = self.fault;
        let Some(node) = &mut self.nodes[replica] else { return };
        let said = node.ask("REPLICA PROMOTE", fault);
        let granted = said.starts_with(b":");
        let sound = fault.is_none() || fault == Some(Fault::PromotesBehind);
        assert!(granted || self.nodes[self.primary].is_some() || !sound, "it was in sync");
    }

    /// A server that knows that it was replaced is started again as a replica.
    pub(super) fn restart_who_was_replaced(&mut self) {
        let other = 1 - self.primary;
        if self.promotions == 0 || self.now < self.stopped[other].max(self.look_at) {
            return;
        }
        self.look_at = self.now + 5 * MS;
        let replaced =
            self.nodes[other].as_mut().is_some_and(|node| node.replication() == "replaced");
        if replaced {
            self.kill(other);
            self.start_at = Some(self.now + self.numbers.below(50 * MS));
        }
    }
}
