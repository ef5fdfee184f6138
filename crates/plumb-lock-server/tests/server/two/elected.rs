//! What happens to two servers and their witnesses, of which nobody promotes any.

use super::node::{Node, TIMEOUT_NS};
use super::world::{MS, World};

impl World {
    /// Starts a witness, by its number among them, with what it kept.
    pub(super) fn start_witness(&mut self, number: usize) {
        self.nodes[2 + number] = Some(Node::witness(self.clock, &self.disks[number]));
    }

    pub(super) fn has_witnesses(&self) -> bool {
        self.nodes.len() > 2
    }

    /// Something happens to somebody, or two things at once, from time to time.
    pub(super) fn trouble_among_witnesses(&mut self) {
        self.care_for_both();
        self.start_who_is_down();
        self.restart_who_was_replaced();
        if self.now < self.next_trouble {
            return;
        }
        self.next_trouble = self.now + self.numbers.below(120 * MS);
        for _ in 0..1 + self.numbers.below(2) {
            self.trouble_once();
        }
    }

    fn trouble_once(&mut self) {
        let count = self.nodes.len();
        let mut any =
            |limit: usize| usize::try_from(self.numbers.below(limit as u64)).expect("few");
        let kinds = if self.kept.is_some() { 12 } else { 9 };
        let (one, other, kind) = (any(count), any(count), any(kinds));
        let until = self.now + self.numbers.below(3 * TIMEOUT_NS);
        match kind {
            0 | 1 => self.kill_primary_of_two(),
            9 | 10 => self.kill_both(),
            11.. => self.stranger_asks(),
            2 => self.kill_replica(),
            3 if one >= 2 && self.now >= self.stopped[one] => {
                self.kill(one);
                self.start_later();
            }
            4 => self.stopped[one] = self.stopped[one].max(until),
            5 => self.cut[one][other] = until,
            6 => (self.cut[one][other], self.cut[other][one]) = (until, until),
            7 => {
                for it in 0..count {
                    (self.cut[one][it], self.cut[it][one]) = (until, until);
                }
            }
            _ => self.slow[one] = self.numbers.below(2 * TIMEOUT_NS),
        }
    }

    /// Witnesses go on with what they kept; a server as the replica of whoever took its place.
    fn start_who_is_down(&mut self) {
        if self.start_at.is_none_or(|at| self.now < at) {
            return;
        }
        self.start_at = None;
        for at in 0..self.nodes.len() {
            if self.nodes[at].is_some() || at < 2 && self.both_were_killed() {
                continue;
            }
            match at {
                0 | 1 if at == self.primary => self.start_later(),
                0 | 1 => {
                    self.start(at, Some(self.primary));
                }
                _ => self.start_witness(at - 2),
            }
        }
    }

    fn start_later(&mut self) {
        self.start_at = Some(self.now + self.numbers.below(2 * TIMEOUT_NS));
    }

    /// Where the witnesses keep that the replica may follow, and it has everything, nothing is lost
    /// with the primary: nothing but the two keeps locks here.
    fn kill_primary_of_two(&mut self) {
        let (primary, replica) = (self.primary, 1 - self.primary);
        let id = self.nodes[replica].as_ref().map_or(0, |node| node.id);
        let known = |disk: &&super::node::Disk| {
            disk.0.lock().expect("nobody panics").register().partner == id
        };
        let agree = self.disks.iter().filter(known).count();
        let both = [primary, replica].map(|at| {
            let running = self.now >= self.stopped[at];
            running && self.nodes[at].as_mut().is_some_and(|node| node.figure("in_sync") == 1)
        });
        // nothing else is on its way to them
        let last = self.nodes[primary].as_mut().map_or(0, |node| node.figure("witnesses_agree"));
        let most = |count: usize| count > self.disks.len() / 2;
        if both == [true, true] && most(agree) && most(usize::try_from(last).expect("few")) {
            self.kill(primary);
            self.start_later();
        }
    }

    fn kill_replica(&mut self) {
        let (primary, replica) = (self.primary, 1 - self.primary);
        let stands = self.nodes[replica].as_mut().is_none_or(|it| it.replication() == "stands");
        if self.nodes[primary].is_some() && !stands && self.now >= self.stopped[replica] {
            self.kill(replica);
            self.start_later();
        }
    }
}
