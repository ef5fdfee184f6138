//! Both servers keep journals: they may be killed at the same time, and are started again in the roles
//! that they are configured with, whoever was promoted meanwhile.

use std::path::{Path, PathBuf};

use plumb_lock_pair::replication::Without;
use plumb_lock_table::journal::{Notes, Policy, Restored};
use plumb_lock_table::table::{Change, Limits};
use tempfile::TempDir;

use super::mishaps::{MixUp, has_part, lose, start_cut_short};
use super::node::{Node, TIMEOUT_NS, WALL_NS};
use super::world::{MS, World};
use crate::clients::Planted;

/// Both are killed at most so often in one history: of the calls that were under way nobody knows
/// whether they were done, and each doubles what may be held.
const KILLS_MAX: u64 = 3;
/// The server that is configured as the primary; the other one is its replica.
const CONFIGURED: usize = 0;

/// What outlives the servers of a world.
pub(super) struct Kept {
    folder: TempDir,
    /// When both are started again.
    start_at: Option<u64>,
    /// When somebody looks whether that which gave locks out does so again.
    look_at: Option<u64>,
    /// How often both were killed, and how often of these behind a promotion.
    pub(super) killed: u64,
    pub(super) killed_promoted: u64,
    /// When the journals of the servers are made to last.
    policies: [Policy; 2],
    pub(super) mix_up: MixUp,
    /// Both are killed as soon as the configured primary has a part of what the other one has.
    awaits_part: bool,
    /// The journal of the configured primary has lost something: the replica has everything.
    lost: bool,
}

impl Kept {
    pub(super) fn new(policies: [Policy; 2], mix_up: MixUp) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self {
            folder,
            start_at: None,
            look_at: None,
            killed: 0,
            killed_promoted: 0,
            policies,
            mix_up,
            awaits_part: false,
            lost: false,
        }
    }
}

/// What a server begins with: what its journal holds, if it keeps one.
pub(super) fn beginning(
    kept: Option<(&Path, Policy)>,
    limits: Limits,
    wall_us: u64,
) -> (Restored<Planted>, Notes) {
    let mut own = Restored::<Planted>::empty(limits);
    let Some((folder, policy)) = kept else {
        return (own, Notes::none());
    };
    let opened = Notes::open(folder, policy, limits, wall_us);
    let (notes, restored) = opened.expect("nobody else has it");
    let locks = restored.table.locks().map(Change::Lock);
    own.table.apply(locks).expect("they were held at the same time");
    own.table.raise_fence(restored.table.next_fence());
    (own.epoch, own.origin, own.lives) = (restored.epoch, restored.origin, restored.lives);
    own.replaced_by = restored.replaced_by;
    (own, notes)
}

impl World {
    /// Where the journal of a server is, and when it is made to last.
    pub(super) fn kept_of(&self, at: usize) -> Option<(PathBuf, Policy)> {
        let kept = self.kept.as_ref()?;
        Some((kept.folder.path().join(at.to_string()), kept.policies[at]))
    }

    /// True while both servers are down or have each other's roles, or nobody has looked yet what has
    /// become of them.
    pub(super) fn both_were_killed(&self) -> bool {
        let waits = |kept: &Kept| {
            let mixed_up = matches!(kept.mix_up, MixUp::Until(_));
            mixed_up || kept.start_at.is_some() || kept.look_at.is_some()
        };
        self.kept.as_ref().is_some_and(waits)
    }

    /// The next moment at which something is done about servers that were killed, nanoseconds.
    pub(super) fn kept_wakes_at(&self) -> Option<u64> {
        let kept = self.kept.as_ref()?;
        match kept.mix_up {
            MixUp::At(at) | MixUp::Until(at) => Some(at),
            MixUp::No => kept.start_at.or(kept.look_at),
        }
    }

    /// True where the configured primary gives nothing out as one from its start on.
    fn is_silent(&mut self) -> bool {
        let node = self.nodes[CONFIGURED].as_mut();
        let told = node.is_some_and(|node| node.replication() == "replaced");
        told || self.kept_of(CONFIGURED).is_some_and(|(folder, _)| has_part(&folder))
    }

    /// The configured primary was started as a replica where clients would be told of what it gives
    /// out as a primary.
    pub(super) fn await_part(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept.awaits_part = true;
        }
    }

    /// Kills both once the configured primary has a part of what its primary has.
    fn care_for_part(&mut self) {
        let awaits = self.kept.as_ref().is_some_and(|kept| kept.awaits_part);
        let [Some(one), Some(other)] = &mut self.nodes[..2] else { return };
        if !awaits || one.figure("epoch") != other.figure("epoch") {
            return;
        }
        if let Some(kept) = &mut self.kept {
            kept.awaits_part = false;
        }
        if one.replication() == "filling" && self.is_silent() {
            self.kill_both();
        }
    }

    /// Both servers are killed, one shortly before the other or at the same time.
    pub(super) fn kill_both(&mut self) {
        // one that goes on alone gives locks out until it is told: they would be held twice
        let told_late = self.without == Without::Continue && !self.has_witnesses();
        let ready = self.nodes[self.primary].is_some() && self.promote_at.is_none();
        let often = self.kept.as_ref().is_none_or(|kept| kept.killed == KILLS_MAX);
        let mixed_up = self.kept.as_ref().is_some_and(|kept| kept.mix_up != MixUp::No);
        if !ready || self.both_were_killed() || often || mixed_up {
            return;
        }
        if told_late && self.primary != CONFIGURED && !self.is_silent() {
            return;
        }
        let loses = self.may_lose() && self.numbers.below(2) == 0;
        for at in 0..2 {
            self.kill(at);
        }
        self.spoil(loses);
        self.start_at = self.start_at.filter(|_| self.has_witnesses());
        let at = self.now + self.numbers.below(50 * MS);
        let promoted = u64::from(self.primary != CONFIGURED);
        if let Some(kept) = &mut self.kept {
            kept.start_at = Some(at);
            // what follows a loss leaves more calls of which nobody knows
            kept.killed = if loses { KILLS_MAX } else { kept.killed + 1 };
            kept.killed_promoted += promoted;
        }
    }

    /// True where the replica has whatever the configured primary has, and that gives nothing out
    /// without it.
    fn may_lose(&mut self) -> bool {
        let stops = self.without == Without::Stop && !self.has_witnesses();
        let in_sync = |node: &mut Option<Node<'_>>| {
            node.as_mut().is_some_and(|node| node.figure("in_sync") == 1)
        };
        let here = stops && self.primary == CONFIGURED;
        here && in_sync(&mut self.nodes[0]) && in_sync(&mut self.nodes[1])
    }

    /// What happens to the journals of two servers that were killed.
    fn spoil(&mut self, loses: bool) {
        let wall_us = (self.now + WALL_NS) / 1_000;
        for at in 0..2 {
            let short = self.numbers.below(3) == 0;
            if let Some((folder, policy)) = self.kept_of(at).filter(|_| short) {
                start_cut_short(&folder, policy, wall_us);
            }
        }
        if let Some((folder, _)) = self.kept_of(CONFIGURED).filter(|_| loses) {
            lose(&folder, self.numbers.below(2) == 0, wall_us);
        }
        if let Some(kept) = &mut self.kept {
            (kept.lost, kept.awaits_part) = (loses, false);
        }
    }

    /// Starts both in their configured roles, and has a person promote that which gave locks out,
    /// if it does not do so by itself.
    pub(super) fn care_for_both(&mut self) {
        self.care_for_part();
        let Some(kept) = &mut self.kept else { return };
        if kept.start_at.is_some_and(|at| self.now >= at) {
            kept.start_at = None;
            let patience = 3 * TIMEOUT_NS + self.numbers.below(10 * TIMEOUT_NS);
            kept.look_at = Some(self.now + patience);
            let primary_first = self.numbers.below(2) == 0;
            let replica = 1 - CONFIGURED;
            if !primary_first {
                self.start(replica, Some(CONFIGURED));
            }
            let fences = self.start(CONFIGURED, None);
            if self.primary == CONFIGURED {
                self.born[CONFIGURED] = self.goes_on(fences);
            }
            if primary_first {
                self.start(replica, Some(CONFIGURED));
            }
        }
        let Some(kept) = &mut self.kept else { return };
        if kept.look_at.is_none_or(|at| self.now < at) {
            return;
        }
        kept.look_at = None;
        if std::mem::take(&mut kept.lost) {
            return self.look_at_loss();
        }
        self.force(self.primary);
    }

    /// Has the replica promoted once the log of the configured primary says so.
    fn look_at_loss(&mut self) {
        let [Some(primary), replica] = &mut self.nodes[..2] else { return };
        if primary.figure("gives_out") == 1 {
            return; // it has everything, or nobody notices anything
        }
        if primary.replication() == "replaced" && replica.is_some() {
            return self.force(1 - CONFIGURED);
        }
        let again = self.now + TIMEOUT_NS;
        if let Some(kept) = &mut self.kept {
            (kept.lost, kept.look_at) = (true, Some(again));
        }
    }

    fn force(&mut self, rightful: usize) {
        let (fault, now) = (self.fault, self.now);
        // one that waits for its replica may not be forced: that may be promoted
        if let Some(node) = &mut self.nodes[rightful]
            && (node.figure("primary") == 0 || node.replication() == "not-elected")
        {
            self.stopped[rightful] = self.stopped[rightful].min(now);
            let said = node.ask("REPLICA PROMOTE FORCE", fault);
            assert!(said.starts_with(b":"), "{}", String::from_utf8_lossy(&said));
        }
    }
}
