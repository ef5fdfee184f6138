//! A table that is read back from its journal is the table that was written, whenever the server
//! went, and however many snapshots were made meanwhile.

use crate::numbers;

use std::fs;
use std::path::{Path, PathBuf};

use numbers::Numbers;
use plumb_lock_table::journal::{
    Kind, Lasting, Notes, Pace, Policy, Restored, files, outlook, repair,
};
use plumb_lock_table::table::{Element, Limits, Mode, Request, Scope, Table};
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
    let (mut notes, restored) = Notes::open(folder, policy, LIMITS, seed).expect("it is sound");
    notes.set_pace(Pace { journal_bytes: 2_000, slice: 7 });
    let (mut table, mut numbers) = (restored.table, Numbers::new(seed));
    for _ in 0..numbers.below(3_000) {
        step(&mut numbers, &mut table, &mut notes);
        if numbers.below(3) == 0 {
            notes.settle(0, &table).expect("it is sound");
        }
    }
    notes.settle(0, &table).expect("it is sound");
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
                let opened = Notes::open(folder.path(), policy, LIMITS, seed).expect("it is sound");
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
    let open = || Notes::open(folder.path(), Policy::Always, LIMITS, 1);
    let first = open().expect("it is sound");
    assert!(open().unwrap_err().to_string().contains("in use by another server"));
    drop(first);
    assert!(open().is_ok());
}

/// Goes on until no snapshot is under way.
fn finish_snapshot(notes: &mut Notes, table: &Table) {
    while notes.snapshot_under_way() {
        notes.settle(0, table).expect("it is sound");
        std::thread::yield_now();
    }
}

#[test]
fn how_long_an_owner_lives_is_kept_over_every_snapshot() {
    let folder = tempdir().expect("it is sound");
    let open = || Notes::open(folder.path(), Policy::Always, LIMITS, 1).expect("it is sound");
    let (mut notes, restored) = open();
    notes.set_pace(Pace { journal_bytes: 500, slice: 7 });
    let mut table = restored.table;
    let mut take = |owner: &[u8], notes: &mut Notes| {
        let elements = &[Element { mode: Mode::S, name: b"", argument: b"key" }][..];
        let scope = Scope::Dialog;
        let request = Request { owner, user: b"", since_ms: 7, scope, elements };
        table.enqueue(&request, notes).expect("it is sound");
        notes.settle(0, &table).expect("it is sound");
        finish_snapshot(notes, &table);
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
fn an_owner_that_was_kept_and_is_not_any_more_is_not_after_a_snapshot_that_was_made_meanwhile() {
    let folder = tempdir().expect("it is sound");
    let open = || Notes::open(folder.path(), Policy::Always, LIMITS, 1).expect("it is sound");
    let (mut notes, restored) = open();
    notes.set_pace(Pace { journal_bytes: 500, slice: 7 });
    let (mut table, mut numbers) = (restored.table, Numbers::new(5));
    while notes.wake_at() != Some(0) {
        step(&mut numbers, &mut table, &mut notes);
        notes.settle(0, &table).expect("it is sound");
    }
    notes.set_pace(Pace::default());
    let take = |table: &mut Table, notes: &mut Notes| {
        let elements = &[Element { mode: Mode::S, name: b"T", argument: b"1" }][..];
        let scope = Scope::Update;
        let request = Request { owner: b"o", user: b"", since_ms: 7, scope, elements };
        table.enqueue(&request, notes).expect("it is sound");
    };
    take(&mut table, &mut notes);
    notes.life(Lasting::Owner(b"o"), 0);
    table.clear(b"o", Scope::Both, &mut notes).expect("it is sound");
    finish_snapshot(&mut notes, &table);
    take(&mut table, &mut notes);
    notes.life_with_connection(b"o");
    notes.settle(0, &table).expect("it is sound");
    drop(notes);
    let (_notes, restored) = open();
    assert!(restored.table.owner(b"o").is_some() && restored.lives.owners.is_empty());
}

#[test]
fn an_owner_that_was_kept_and_is_not_any_more_is_not_after_a_snapshot_that_was_never_finished() {
    let folder = tempdir().expect("it is sound");
    let open = || Notes::open(folder.path(), Policy::Always, LIMITS, 1).expect("it is sound");
    let (mut notes, restored) = open();
    let (mut table, mut numbers) = (restored.table, Numbers::new(5));
    let take = |table: &mut Table, notes: &mut Notes, [owner, name, argument]: [&[u8]; 3]| {
        let elements = &[Element { mode: Mode::S, name, argument }][..];
        let scope = Scope::Update;
        let request = Request { owner, user: b"", since_ms: 7, scope, elements };
        table.enqueue(&request, notes).expect("it is sound");
    };
    // keys enough that a snapshot takes many turns behind the owners
    for key in 0..100 {
        notes.life(Lasting::Key(format!("key-{key}").as_bytes()), 30);
    }
    notes.life(Lasting::Owner(b"o"), 0);
    take(&mut table, &mut notes, [b"o", b"T", b"1"]);
    table.clear(b"o", Scope::Both, &mut notes).expect("it is sound");
    take(&mut table, &mut notes, [b"k", b"", b"key-0"]);
    notes.set_pace(Pace { journal_bytes: 500, slice: 2 });
    while notes.wake_at() != Some(0) {
        step(&mut numbers, &mut table, &mut notes);
        notes.settle(0, &table).expect("it is sound");
    }
    // the owners are through once the first time to live of a key is
    let snapshot = newest(folder.path(), Kind::Snapshot);
    let time = [&30_u64.to_le_bytes()[..], &[5], b"key-0"].concat();
    let has_a_key = || {
        let bytes = fs::read(&snapshot).expect("it is there");
        bytes.windows(time.len()).any(|it| it == time)
    };
    for _ in 0..LIMITS.rows {
        notes.settle(0, &table).expect("it is sound");
        if has_a_key() {
            break;
        }
    }
    assert!(has_a_key() && notes.wake_at() == Some(0), "a snapshot is written");
    take(&mut table, &mut notes, [b"o", b"T", b"2"]);
    notes.life_with_connection(b"o");
    notes.settle(0, &table).expect("it is sound");
    drop(notes);
    let (_notes, restored) = open();
    assert!(restored.table.owner(b"o").is_some());
    assert_eq!(restored.lives.owners.get(&b"o"[..]), None);
}

#[test]
fn a_start_has_the_last_epoch_and_with_something_missing_one_above_the_highest() {
    for (cut, epoch) in [(0, 5), (1, 10)] {
        let folder = tempdir().expect("it is sound");
        let (mut notes, restored) = open(folder.path(), Policy::Always, 9).expect("it is sound");
        assert_eq!(restored.epoch, 9);
        notes.decide_for(5); // an older one than it began with
        notes.settle(0, &restored.table).expect("it is sound");
        drop(notes);
        let journal = newest(folder.path(), Kind::Journal);
        let bytes = fs::read(&journal).expect("it is there");
        fs::write(&journal, &bytes[..bytes.len() - cut]).expect("it can be written");
        let (_notes, again) = open(folder.path(), Policy::Always, 1).expect("it is sound");
        assert_eq!(again.epoch, epoch, "{cut} bytes are missing");
    }
}

#[test]
fn an_end_in_order_keeps_the_epoch() {
    let folder = tempdir().expect("it is sound");
    let policy = Policy::Interval(1_000_000);
    let (notes, restored) = Notes::open(folder.path(), policy, LIMITS, 5).expect("it is sound");
    notes.close().expect("it is sound");
    let (_, again) = Notes::open(folder.path(), policy, LIMITS, 6).expect("it is sound");
    assert_eq!(again.epoch, restored.epoch);
}

#[test]
fn an_end_in_order_keeps_the_epoch_while_a_snapshot_is_written() {
    let folder = tempdir().expect("it is sound");
    let policy = Policy::Interval(1_000_000);
    let (mut notes, restored) = open(folder.path(), policy, 5).expect("it is sound");
    notes.set_pace(Pace { journal_bytes: 500, slice: 1 });
    let (mut table, mut numbers) = (restored.table, Numbers::new(5));
    while notes.wake_at() != Some(0) {
        step(&mut numbers, &mut table, &mut notes);
        notes.settle(0, &table).expect("it is sound");
    }
    notes.close().expect("it is sound");
    let (_, again) = open(folder.path(), policy, 6).expect("it is sound");
    assert_eq!(again.epoch, restored.epoch);
    assert_eq!(rows(&again.table, false), rows(&table, false));
}

pub(crate) fn open(
    folder: &Path,
    policy: Policy,
    wall_us: u64,
) -> Result<(Notes, Restored), plumb_lock_table::journal::JournalError> {
    Notes::open(folder, policy, LIMITS, wall_us)
}

/// The newest file of this kind.
fn newest(folder: &Path, kind: Kind) -> PathBuf {
    let mut all = files(folder).expect("it is sound").into_iter();
    all.rfind(|file| file.1 == kind).expect("there is one").2
}

/// A journal without a second snapshot: its bytes, how long it was after each batch, and what was
/// held then.
fn written(folder: &Path, policy: Policy, seed: u64) -> (Vec<u8>, Vec<(usize, Vec<String>)>) {
    let (mut notes, restored) = open(folder, policy, seed).expect("it is sound");
    let (mut table, mut numbers) = (restored.table, Numbers::new(seed));
    let file = newest(folder, Kind::Journal);
    let mut batches = Vec::new();
    for _ in 0..150 {
        let length = fs::metadata(&file).expect("it is there").len();
        let length = usize::try_from(length).expect("it is short");
        batches.push((length, rows(&table, policy == Policy::Inherited)));
        for _ in 0..=numbers.below(3) {
            step(&mut numbers, &mut table, &mut notes);
        }
        notes.settle(0, &table).expect("it is sound");
    }
    (fs::read(&file).expect("it is there"), batches)
}

#[test]
fn whatever_a_crash_leaves_of_a_journal_no_batch_is_there_in_part() {
    const CUTS: u64 = 200;
    for (policy, seed) in [(Policy::Always, 1), (Policy::Interval(1), 2), (Policy::Inherited, 3)] {
        let folder = tempdir().expect("it is sound");
        let (bytes, batches) = written(folder.path(), policy, seed);
        let snapshot = newest(folder.path(), Kind::Snapshot);
        let journal = newest(folder.path(), Kind::Journal);
        let mut numbers = Numbers::new(seed);
        let first = batches[0].0;
        for _ in 0..CUTS {
            let left = (bytes.len() - first) as u64;
            let cut = first + usize::try_from(numbers.below(left)).expect("it is short");
            let copy = tempdir().expect("it is sound");
            let place = |file: &Path| copy.path().join(file.file_name().expect("a file"));
            fs::copy(&snapshot, place(&snapshot)).expect("it is sound");
            fs::write(place(&journal), &bytes[..cut]).expect("it is sound");
            let (_, restored) = open(copy.path(), policy, 9).expect("a crash is no damage");
            let held = batches.iter().rev().find(|(length, _)| *length <= cut);
            let (_, held) = held.expect("the first one is shorter");
            assert_eq!(rows(&restored.table, false), *held, "{policy:?} cut at {cut}");
            restored.table.verify().expect("it is sound");
        }
    }
}

/// A folder whose only file of this `kind` has a bit turned in the middle; its next fence number,
/// and how many locks were held.
fn damaged(kind: Kind, seed: u64) -> (tempfile::TempDir, u64, usize) {
    let folder = tempdir().expect("it is sound");
    written(folder.path(), Policy::Always, seed);
    let (notes, restored) = open(folder.path(), Policy::Always, seed).expect("it is sound");
    drop(notes);
    let held = rows(&restored.table, false).len();
    let file = newest(folder.path(), kind);
    let mut bytes = fs::read(&file).expect("it is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&file, bytes).expect("it can be written");
    (folder, restored.table.next_fence(), held)
}

#[test]
fn a_repair_that_loses_something_begins_a_new_epoch_and_new_fence_numbers() {
    const WALL_US: u64 = 1_700_000_000_000_000;
    for kind in [Kind::Snapshot, Kind::Journal] {
        let (folder, fence, held) = damaged(kind, 7);
        let before = outlook(folder.path());
        assert!(before.is_err() && open(folder.path(), Policy::Always, WALL_US).is_err());
        let mended = repair(folder.path()).expect("it is sound");
        assert_eq!(mended.len(), 1, "{mended:?}");
        let after = outlook(folder.path()).expect("a start goes on from here");
        assert!(!after.complete);
        let lost = held - after.locks as usize;
        assert_eq!(lost > 0, kind == Kind::Snapshot, "{lost} of {held}");
        assert!(repair(folder.path()).expect("it is sound").is_empty(), "nothing is left to do");
        let (_, restored) = open(folder.path(), Policy::Always, WALL_US).expect("it is sound");
        assert!(restored.epoch >= WALL_US);
        assert!(restored.table.next_fence() >= WALL_US.max(fence));
    }
}

#[test]
fn a_journal_that_is_in_use_is_not_repaired_and_one_that_is_not_there_is_no_journal() {
    let folder = tempdir().expect("it is sound");
    let nothing = repair(folder.path()).unwrap_err().to_string();
    assert!(nothing.contains("no files of a journal"), "{nothing}");
    let in_use = open(folder.path(), Policy::Always, 1).expect("it is sound");
    assert!(repair(folder.path()).unwrap_err().to_string().contains("in use by another server"));
    drop(in_use);
    assert!(repair(folder.path()).expect("it is sound").is_empty());
}

#[test]
fn a_damaged_snapshot_is_not_taken_for_a_first_start() {
    let folder = tempdir().expect("it is sound");
    written(folder.path(), Policy::Always, 4);
    let snapshot = newest(folder.path(), Kind::Snapshot);
    let bytes = fs::read(&snapshot).expect("it is there");
    fs::write(&snapshot, &bytes[..bytes.len() - 1]).expect("it can be written");
    let refused = open(folder.path(), Policy::Always, 5).unwrap_err().to_string();
    assert!(refused.contains("no complete snapshot"), "{refused}");
}
