//! A table that is read back from its journal is the table that was written, whenever the server
//! went, and however many snapshots were made meanwhile.

mod numbers;

use std::path::Path;

use numbers::Numbers;
use plumb_lock::journal::{Lasting, Notes, Pace, Policy, files};
use plumb_lock::table::{Element, Limits, Mode, Request, Scope, Table};
use tempfile::tempdir;

const LIMITS: Limits = Limits { rows: 1000, scan: 1000 };

fn rows(table: &Table, inherited_only: bool) -> Vec<String> {
    let mut rows: Vec<String> = table
        .locks()
        .filter(|lock| lock.backup || !inherited_only)
        .map(|lock| format!("{lock:?}"))
        .collect();
    rows.sort();
    rows
}

fn step(numbers: &mut Numbers, table: &mut Table, notes: &mut Notes) {
    let owner = format!("owner-{}", numbers.below(5));
    let argument = format!("{:02}", numbers.below(60));
    let mode = [Mode::S, Mode::E, Mode::O, Mode::R]
        [usize::try_from(numbers.below(4)).expect("it is sound")];
    let element = [Element { mode, name: b"MARA", argument: argument.as_bytes() }];
    let scope = [Scope::Dialog, Scope::Update, Scope::Both]
        [usize::try_from(numbers.below(3)).expect("it is sound")];
    let owner = owner.as_bytes();
    match numbers.below(40) {
        0 => drop(table.clear(owner, scope, notes)),
        1 | 2 => drop(table.inherit(owner, b"update", 7, notes)),
        3..12 => drop(table.dequeue(owner, scope, &element[..], None, notes)),
        _ => {
            let elements = &element[..];
            let request = Request { owner, user: b"ann", since_ms: 7, scope, elements };
            table.enqueue(&request, notes).expect("it is sound");
        }
    }
}

/// Works on the table of a journal for a while and leaves it as a crash would; what it held.
fn live(folder: &Path, policy: Policy, seed: u64) -> (Vec<String>, u64, u64) {
    let (mut notes, restored) =
        Notes::open(folder.to_owned(), policy, LIMITS, seed).expect("it is sound");
    notes.set_pace(Pace { journal_bytes: 2_000, slice: 7 });
    let (mut table, mut numbers) = (restored.table, Numbers::new(seed));
    for _ in 0..numbers.below(3_000) {
        step(&mut numbers, &mut table, &mut notes);
        if numbers.below(3) == 0 {
            notes.settle(0, &table, restored.epoch).expect("it is sound");
        }
    }
    notes.settle(0, &table, restored.epoch).expect("it is sound");
    table.verify().expect("it is sound");
    (rows(&table, policy == Policy::Inherited), table.next_fence(), restored.epoch)
}

#[test]
fn what_was_settled_is_there_after_every_crash() {
    for policy in [Policy::Always, Policy::Interval(1_000_000), Policy::Inherited] {
        let folder = tempdir().expect("it is sound");
        let mut before: Option<(Vec<String>, u64, u64)> = None;
        for seed in 1..30 {
            if let Some((held, next_fence, epoch)) = &before {
                let opened = Notes::open(folder.path().to_owned(), policy, LIMITS, seed)
                    .expect("it is sound");
                let (_, restored) = opened;
                assert_eq!(rows(&restored.table, false), *held, "{policy:?} before {seed}");
                assert!(restored.table.next_fence() >= *next_fence, "a fence number comes again");
                assert_eq!(restored.epoch == *epoch, policy == Policy::Always, "{policy:?}");
                restored.table.verify().expect("it is sound");
            }
            before = Some(live(folder.path(), policy, seed));
        }
        let left = files(folder.path()).expect("it is sound").len();
        assert!(left <= 4, "{left} files are left");
    }
}

#[test]
fn a_folder_has_one_server_at_a_time() {
    let folder = tempdir().expect("it is sound");
    let open = || Notes::open(folder.path().to_owned(), Policy::Always, LIMITS, 1);
    let first = open().expect("it is sound");
    assert!(open().unwrap_err().to_string().contains("in use by another server"));
    drop(first);
    assert!(open().is_ok());
}

#[test]
fn how_long_an_owner_lives_is_kept_over_every_snapshot() {
    let folder = tempdir().expect("it is sound");
    let open =
        || Notes::open(folder.path().to_owned(), Policy::Always, LIMITS, 1).expect("it is sound");
    let (mut notes, restored) = open();
    notes.set_pace(Pace { journal_bytes: 500, slice: 7 });
    let (mut table, epoch) = (restored.table, restored.epoch);
    let mut take = |owner: &[u8], notes: &mut Notes| {
        let elements = &[Element { mode: Mode::S, name: b"", argument: b"key" }][..];
        let scope = Scope::Dialog;
        let request = Request { owner, user: b"", since_ms: 7, scope, elements };
        table.enqueue(&request, notes).expect("it is sound");
        notes.settle(0, &table, epoch).expect("it is sound");
    };
    take(b"kept", &mut notes);
    notes.life(Lasting::Owner(b"kept"), 0);
    notes.life(Lasting::Owner(b"other"), 10);
    notes.life_with_connection(b"other");
    notes.life(Lasting::Owner(b"leased"), 20);
    notes.life(Lasting::Key(b"key"), 30);
    take(b"leased", &mut notes);
    for _ in 0..100 {
        take(b"other", &mut notes);
    }
    let first = files(folder.path()).expect("it is sound")[0].0;
    assert!(first > 2, "no snapshot was made");
    drop(notes);
    let (_notes, restored) = open();
    let owners: Vec<_> = restored.lives.owners.into_iter().collect();
    assert_eq!(owners, [(b"kept".to_vec(), 0), (b"leased".to_vec(), 20)]);
    assert_eq!(restored.lives.keys.into_iter().collect::<Vec<_>>(), [(b"key".to_vec(), 30)]);
}

#[test]
fn an_end_in_order_keeps_the_epoch() {
    let folder = tempdir().expect("it is sound");
    let policy = Policy::Interval(1_000_000);
    let (notes, restored) =
        Notes::open(folder.path().to_owned(), policy, LIMITS, 5).expect("it is sound");
    notes.close().expect("it is sound");
    let (_, again) = Notes::open(folder.path().to_owned(), policy, LIMITS, 6).expect("it is sound");
    assert_eq!(again.epoch, restored.epoch);
}
