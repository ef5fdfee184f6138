//! Both servers keep journals: they may be killed at the same time, and are started again in the roles
//! that they are configured with, whoever was promoted meanwhile.

use std::path::Path;

use plumb_lock_pair::replication::Without;
use plumb_lock_table::journal::{Notes, Policy, Restored};
use plumb_lock_table::table::{Change, Limits};
use tempfile::TempDir;

use super::node::TIMEOUT_NS;
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
    killed: u64,
    pub(super) killed_promoted: u64,
}

impl Kept {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { folder, start_at: None, look_at: None, killed: 0, killed_promoted: 0 }
    }
}

/// What a server begins with: what its journal holds, if it keeps one.
pub(super) fn beginning(
    folder: Option<&Path>,
    limits: Limits,
    wall_us: u64,
) -> (Restored<Planted>, Notes) {
    let mut own = Restored::<Planted>::empty(limits);
    let Some(folder) = folder else {
        return (own, Notes::none());
    };
    let opened = Notes::open(folder, Policy::Always, limits, wall_us);
    let (notes, restored) = opened.expect("nobody else has it");
    let locks = restored.table.locks().map(Change::Lock);
    own.table.apply(locks).expect("they were held at the same time");
    own.table.raise_fence(restored.table.next_fence());
    (own.epoch, own.origin, own.lives) = (restored.epoch, restored.origin, restored.lives);
    (own, notes)
}

impl World {
    /// Where the journal of a server is, and the number by which witnesses know it again.
    pub(super) fn kept_of(&self, at: usize) -> Option<(std::path::PathBuf, u64)> {
        let kept = self.kept.as_ref()?;
        Some((kept.folder.path().join(at.to_string()), 1 + at as u64))
    }

    /// True while both servers are down, or nobody has looked yet what has become of them.
    pub(super) fn both_were_killed(&self) -> bool {
        let waits = |kept: &Kept| kept.start_at.is_some() || kept.look_at.is_some();
        self.kept.as_ref().is_some_and(waits)
    }

    /// The next moment at which something is done about servers that were killed, nanoseconds.
    pub(super) fn kept_wakes_at(&self) -> Option<u64> {
        let kept = self.kept.as_ref()?;
        kept.start_at.or(kept.look_at)
    }

    /// Both servers are killed, one shortly before the other or at the same time.
    pub(super) fn kill_both(&mut self) {
        // one that goes on alone gives locks out until it is told: they would be held twice
        let told_late = self.without == Without::Continue && !self.has_witnesses();
        let ready = self.nodes[self.primary].is_some() && self.promote_at.is_none();
        let often = self.kept.as_ref().is_none_or(|kept| kept.killed == KILLS_MAX);
        let told_late = told_late && self.primary != CONFIGURED;
        if !ready || self.both_were_killed() || told_late || often {
            return;
        }
        for at in 0..2 {
            self.kill(at);
        }
        self.start_at = self.start_at.filter(|_| self.has_witnesses());
        let at = self.now + self.numbers.below(50 * MS);
        let promoted = u64::from(self.primary != CONFIGURED);
        if let Some(kept) = &mut self.kept {
            kept.start_at = Some(at);
            kept.killed += 1;
            kept.killed_promoted += promoted;
        }
    }

    /// Starts both in their configured roles, and has a person promote that which gave locks out,
    /// if it does not do so by itself.
    pub(super) fn care_for_both(&mut self) {
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
        let (fault, now) = (self.fault, self.now);
        // one that waits for its replica may not be forced: that may be promoted
        if let Some(node) = &mut self.nodes[self.primary]
            && (node.figure("primary") == 0 || node.replication() == "not-elected")
        {
            self.stopped[self.primary] = self.stopped[self.primary].min(now);
            let said = node.ask("REPLICA PROMOTE FORCE", fault);
            assert!(said.starts_with(b":"), "{}", String::from_utf8_lossy(&said));
        }
    }
}
