//! What goes wrong with journals and with those who start servers: a journal loses its end, a start is
//! cut short, servers are started in each other's roles, a stranger asks to follow.

use std::fs;
use std::path::{Path, PathBuf};

use plumb_lock_pair::replication::{VERSION, Without};
use plumb_lock_table::journal::{Notes, Policy};
use plumb_lock_table::table::Limits;
use tempfile::TempDir;

use super::node::{TIMEOUT_NS, WALL_NS};
use super::world::{MS, ROOM, World};

/// What a file of a journal begins with, and what a record has in front of its body, bytes.
const HEAD_BYTES: usize = 8;
const LIMITS: Limits = Limits { rows: ROOM, scan: 1_000 };

/// A server that has only ever been alone is started as the replica of an empty one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MixUp {
    /// That does not happen, or is over.
    No,
    /// It will at this moment; until then the other server is not there.
    At(u64),
    /// It has; at this moment somebody notices.
    Until(u64),
}

/// True for a journal of no more than a part of the locks of another server.
pub(super) fn has_part(folder: &Path) -> bool {
    let copy = copy_of(folder);
    let opened = Notes::open(copy.path(), Policy::Always, LIMITS, 1);
    opened.expect("nobody else has it").1.origin.is_part()
}

/// A start is killed once it has made its journal, before it has said in it what was before.
pub(super) fn start_cut_short(folder: &Path, policy: Policy, wall_us: u64) {
    let copy = copy_of(folder);
    drop(Notes::open(copy.path(), policy, LIMITS, wall_us).expect("nobody else has it"));
    let last = last_journal(copy.path());
    let there = folder.join(last.file_name().expect("a file"));
    fs::write(there, begun(&last)).expect("there is room");
}

/// A journal loses all that was written since its last start, or is kept for what was inherited alone.
pub(super) fn lose(folder: &Path, kept: bool, wall_us: u64) {
    if kept {
        let last = last_journal(folder);
        fs::write(&last, begun(&last)).expect("there is room");
    } else {
        drop(Notes::open(folder, Policy::Inherited, LIMITS, wall_us).expect("nobody has it"));
    }
}

/// What a journal has with its first record.
fn begun(journal: &Path) -> Vec<u8> {
    let mut bytes = fs::read(journal).expect("it is there");
    let length = bytes[HEAD_BYTES..].first_chunk().map(|four| u32::from_le_bytes(*four));
    let length = usize::try_from(length.expect("a record")).expect("few");
    bytes.truncate(2 * HEAD_BYTES + length);
    bytes
}

fn last_journal(folder: &Path) -> PathBuf {
    let journals = files(folder).into_iter();
    let journals = journals.filter(|file| file.extension() == Some("journal".as_ref()));
    journals.max().expect("there is one")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("it is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    paths.filter(|path| path.is_file()).collect()
}

fn copy_of(folder: &Path) -> TempDir {
    let copy = tempfile::tempdir().expect("a temporary folder");
    for file in files(folder) {
        fs::copy(&file, copy.path().join(file.file_name().expect("a file"))).expect("room");
    }
    copy
}

impl World {
    /// A server of another pair, with locks of a newer epoch than any here, asks to follow while the
    /// replica has everything.
    pub(super) fn stranger_asks(&mut self) {
        let epoch = (self.now + WALL_NS) / 1_000 + 1_000_000_000;
        let [primary, replica] = [self.primary, 1 - self.primary].map(|at| {
            let running = self.now >= self.stopped[at];
            running && self.nodes[at].as_mut().is_some_and(|node| node.figure("in_sync") == 1)
        });
        let fault = self.fault;
        if primary
            && replica
            && let Some(node) = &mut self.nodes[self.primary]
        {
            node.ask(&format!("REPLICA STREAM {VERSION} {ROOM} 7 {epoch} 0 0"), fault);
        }
    }

    /// Whoever has only been alone is started as the replica of the empty one, and later as before.
    pub(super) fn care_for_mix_up(&mut self) {
        let now = self.now;
        match self.kept.as_ref().map_or(MixUp::No, |kept| kept.mix_up) {
            MixUp::At(at) if now >= at => {
                if self.nodes[0].as_mut().is_none_or(|node| node.figure("locks") == 0) {
                    return self.mix_up(MixUp::At(now + MS)); // there is nothing to lose
                }
                self.kill(0);
                // what both give out is held twice; this one waits for its replica
                let without = std::mem::replace(&mut self.without, Without::Stop);
                self.start(1, None);
                self.start(0, Some(1));
                self.without = without;
                let until = now + 5 * TIMEOUT_NS + self.numbers.below(5 * TIMEOUT_NS);
                self.mix_up(MixUp::Until(until));
            }
            MixUp::Until(at) if now >= at => {
                self.mix_up(MixUp::No);
                if self.nodes[1].as_mut().is_some_and(|node| node.figure("gives_out") == 1) {
                    self.primary = 1; // nobody notices anything
                    return;
                }
                self.kill(0);
                self.kill(1);
                let fences = self.start(0, None);
                self.born[0] = self.goes_on(fences);
                self.start(1, Some(0));
            }
            MixUp::No | MixUp::At(_) | MixUp::Until(_) => {}
        }
    }

    pub(super) fn mix_up(&mut self, mix_up: MixUp) {
        if let Some(kept) = &mut self.kept {
            kept.mix_up = mix_up;
            kept.killed += u64::from(!matches!(mix_up, MixUp::At(_))); // both are
        }
    }
}
