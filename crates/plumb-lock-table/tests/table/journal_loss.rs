//! What was acknowledged and is missing is noticed, however it was cut off; nothing is written to
//! files that nobody will find.

use std::fs;
use std::path::{Path, PathBuf};

use plumb_lock_table::journal::{
    Kind, Lasting, Loss, Notes, Pace, Policy, Restored, files, outlook, repair,
};
use plumb_lock_table::table::{Element, Limits, Mode, Request, Scope, Table};
use tempfile::{TempDir, tempdir};

const LIMITS: Limits = Limits { rows: 10_000, scan: 1_000 };
/// Later than any fence number of these tests.
const WALL_US: u64 = 1_700_000_000_000_000;

fn open(folder: &Path, wall_us: u64) -> (Notes, Restored) {
    Notes::open(folder, Policy::Always, LIMITS, wall_us).expect("it can be read")
}

fn take(table: &mut Table, notes: &mut Notes, owner: &str, argument: u64) -> u64 {
    let argument = argument.to_string();
    let element = [Element { mode: Mode::E, name: b"T", argument: argument.as_bytes() }];
    let (user, since_ms, scope) = (&b""[..], 7, Scope::Both);
    let request =
        Request { owner: owner.as_bytes(), user, since_ms, scope, elements: &element[..] };
    table.enqueue(&request, notes).expect("it is sound");
    table.next_fence()
}

fn newest(folder: &Path, kind: Kind) -> PathBuf {
    let all = files(folder).expect("it can be read");
    all.into_iter().rfind(|file| file.1 == kind).expect("there is one").2
}

/// A server that went without a word, behind so many locks: its folder, epoch and next fence
/// number.
fn left_behind(locks: u64) -> (TempDir, u64, u64) {
    let folder = tempdir().expect("a temporary folder");
    let (mut notes, restored) = open(folder.path(), 5);
    let mut table = restored.table;
    for argument in 0..locks {
        take(&mut table, &mut notes, "a", argument);
        notes.settle(0, &table).expect("it can be written");
    }
    (folder, restored.epoch, table.next_fence())
}

/// Starts again after `cut` and holds it against what must be so.
fn is_noticed(locks: u64, cut: impl Fn(&Path)) -> Loss {
    let (folder, epoch, fence) = left_behind(locks);
    cut(folder.path());
    let before = outlook(folder.path()).expect("it can be read");
    assert!(!before.complete && before.lost.is_some(), "{before:?}");
    let (notes, restored) = open(folder.path(), WALL_US);
    let lost = restored.lost.expect("it is missed");
    assert_eq!(Some(lost), before.lost);
    assert!(restored.epoch > epoch, "clients are told");
    assert!(restored.table.next_fence() >= fence, "{} again", restored.table.next_fence());
    drop(notes);
    let (_, again) = open(folder.path(), WALL_US + 1);
    assert_eq!((again.lost, again.epoch), (None, restored.epoch), "it is said once");
    lost
}

#[test]
fn an_emptied_journal_beside_its_snapshot_begins_a_new_epoch() {
    let emptied = is_noticed(3, |folder| {
        fs::write(newest(folder, Kind::Journal), []).expect("it can be written");
    });
    assert!(matches!(emptied, Loss::Cut { bytes: 0, .. }), "{emptied:?}");
    let removed = is_noticed(3, |folder| {
        fs::remove_file(newest(folder, Kind::Journal)).expect("it can be removed");
    });
    assert!(matches!(removed, Loss::Cut { bytes: 0, .. }), "{removed:?}");
    let everything = is_noticed(3, |folder| {
        for (_, _, path) in files(folder).expect("it can be read") {
            fs::remove_file(path).expect("it can be removed");
        }
    });
    assert!(matches!(everything, Loss::Cut { bytes: 0, .. }), "{everything:?}");
}

#[test]
fn bits_that_flip_in_the_last_bytes_are_no_torn_end() {
    for flipped in [&[1, 2][..], &[1], &[2], &[9]] {
        let lost = is_noticed(3, |folder| {
            let journal = newest(folder, Kind::Journal);
            let mut bytes = fs::read(&journal).expect("it is there");
            for back in flipped {
                let at = bytes.len() - back;
                bytes[at] ^= 0x10;
            }
            fs::write(&journal, bytes).expect("it can be written");
        });
        assert!(matches!(lost, Loss::Cut { .. }), "{lost:?}");
    }
}

#[test]
fn a_journal_that_is_shorter_than_acknowledged_is_noticed_wherever_it_was_cut() {
    const CUTS: usize = 40;
    for part in 0..CUTS {
        is_noticed(5, |folder| {
            let journal = newest(folder, Kind::Journal);
            let bytes = fs::read(&journal).expect("it is there");
            fs::write(&journal, &bytes[..bytes.len() * part / CUTS]).expect("it can be written");
        });
    }
}

#[test]
fn what_was_acknowledged_and_cannot_be_read_stays_beside_the_journal() {
    let (folder, ..) = left_behind(3);
    let journal = newest(folder.path(), Kind::Journal);
    let mut bytes = fs::read(&journal).expect("it is there");
    let at = bytes.len() - 1;
    bytes[at] ^= 1;
    fs::write(&journal, &bytes).expect("it can be written");
    let (_notes, restored) = open(folder.path(), WALL_US);
    assert_eq!(restored.table.usage().locks.actual, 2);
    let aside = fs::read(journal.with_extension("journal.cut")).expect("it was kept");
    assert!(bytes.ends_with(&aside) && !aside.is_empty());
}

#[test]
fn a_position_that_is_missing_or_damaged_means_that_something_may_be() {
    let missing = is_noticed(2, |folder| {
        fs::remove_file(folder.join("position")).expect("it can be removed");
    });
    assert_eq!(missing, Loss::NoPosition);
    let damaged = is_noticed(2, |folder| {
        let mut bytes = fs::read(folder.join("position")).expect("it is there");
        bytes[20] ^= 1;
        fs::write(folder.join("position"), bytes).expect("it can be written");
    });
    assert_eq!(damaged, Loss::NoPosition);
}

#[test]
fn a_crash_alone_is_no_loss() {
    let (folder, epoch, _) = left_behind(4);
    // a batch that was begun and not finished: nobody was told of it
    let journal = newest(folder.path(), Kind::Journal);
    let mut bytes = fs::read(&journal).expect("it is there");
    let whole = bytes.len();
    bytes.extend_from_within(whole - 40..whole - 20);
    fs::write(&journal, bytes).expect("it can be written");
    let (_notes, restored) = open(folder.path(), WALL_US);
    assert_eq!((restored.lost, restored.epoch), (None, epoch));
    assert_eq!(restored.torn_bytes, 20);
    assert_eq!(restored.table.usage().locks.actual, 4);
}

#[test]
fn a_repair_does_not_hide_what_was_cut() {
    let (folder, epoch, _) = left_behind(4);
    let journal = newest(folder.path(), Kind::Journal);
    let bytes = fs::read(&journal).expect("it is there");
    fs::write(&journal, &bytes[..bytes.len() - 3]).expect("it can be written");
    repair(folder.path()).expect("it can be mended");
    let (_, restored) = open(folder.path(), WALL_US);
    assert!(restored.epoch > epoch && restored.lost.is_some());
}

/// A folder with two journals, as a start leaves it that was cut short before its snapshot was
/// complete; the first of the two, its epoch and the next fence number.
fn two_journals() -> (TempDir, PathBuf, u64, u64) {
    let (folder, epoch, fence) = left_behind(3);
    let first = newest(folder.path(), Kind::Journal);
    let read = |path: PathBuf| (fs::read(&path).expect("it is there"), path);
    let old: Vec<_> =
        files(folder.path()).expect("it can be read").into_iter().map(|it| read(it.2)).collect();
    drop(open(folder.path(), 6));
    fs::remove_file(newest(folder.path(), Kind::Snapshot)).expect("it can be removed");
    old.iter().for_each(|(bytes, path)| fs::write(path, bytes).expect("it can be written"));
    (folder, first, epoch, fence)
}

#[test]
fn a_journal_that_others_follow_and_that_was_cut_between_two_batches_is_noticed() {
    let (folder, _, epoch, _) = two_journals();
    let (_, restored) = open(folder.path(), 7);
    assert_eq!((restored.lost, restored.epoch), (None, epoch), "all is there");
    let (folder, first, epoch, fence) = two_journals();
    let whole = fs::read(&first).expect("it is there");
    let mark = &whole[whole.len() - 9..]; // closes a batch
    let earlier = (0..whole.len()).rev().find(|at| whole[..*at].ends_with(mark));
    fs::write(&first, &whole[..earlier.expect("an earlier batch")]).expect("it can be written");
    let (_, restored) = open(folder.path(), WALL_US);
    assert!(matches!(restored.lost, Some(Loss::Cut { .. })), "{:?}", restored.lost);
    assert!(restored.epoch > epoch && restored.table.next_fence() >= fence);
}

#[test]
fn a_folder_that_goes_while_the_server_runs_is_noticed_before_anything_is_acknowledged() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 4] = [
        ("was removed", |folder| fs::remove_dir_all(folder).expect("it can be removed")),
        ("was removed", |folder| {
            fs::rename(folder, folder.with_extension("aside")).expect("it can be moved");
        }),
        ("was replaced", |folder| {
            let name = newest(folder, Kind::Journal);
            fs::remove_dir_all(folder).expect("it can be removed");
            fs::create_dir(folder).expect("it can be made");
            fs::write(name, "another").expect("it can be written");
        }),
        ("was changed", |folder| {
            fs::write(newest(folder, Kind::Journal), []).expect("it can be written");
        }),
    ];
    for (said, change) in changes {
        let base = tempdir().expect("a temporary folder");
        let folder = base.path().join("journal");
        let (mut notes, restored) = open(&folder, 5);
        let mut table = restored.table;
        take(&mut table, &mut notes, "a", 1);
        notes.settle(0, &table).expect("it is there");
        change(&folder);
        take(&mut table, &mut notes, "a", 2);
        let refused = notes.settle(0, &table).expect_err("it is gone").to_string();
        assert!(refused.contains(said) && refused.contains("nothing more"), "{refused}");
        // nobody else takes the path while this server is there
        fs::create_dir_all(&folder).expect("it can be made");
        let other = Notes::open(&folder, Policy::Always, LIMITS, 6).expect_err("it is taken");
        assert!(other.to_string().contains("in use by another server"), "{other}");
    }
}

#[test]
fn a_server_with_nothing_to_write_looks_for_its_folder_now_and_then() {
    let base = tempdir().expect("a temporary folder");
    let folder = base.path().join("journal");
    let (mut notes, restored) = open(&folder, 5);
    notes.settle(0, &restored.table).expect("it is there");
    let at = notes.wake_at().expect("it wakes by itself");
    fs::remove_dir_all(&folder).expect("it can be removed");
    notes.settle(at - 1, &restored.table).expect("it did not look");
    notes.settle(at, &restored.table).expect_err("it is gone");
}

#[test]
fn a_turn_over_writes_lives_in_slices_and_does_not_count_them_as_changes() {
    const KEYS: u64 = 5_000;
    const SLICE: u32 = 100;
    let folder = tempdir().expect("a temporary folder");
    let (mut notes, restored) = open(folder.path(), 5);
    let mut table = restored.table;
    for key in 0..KEYS {
        let name = format!("key-{key}");
        let element = [Element { mode: Mode::X, name: b"", argument: name.as_bytes() }];
        let (user, since_ms, scope) = (&b""[..], 7, Scope::Dialog);
        let owner = format!("o{}", key % 50);
        let owner = owner.as_bytes();
        let request = Request { owner, user, since_ms, scope, elements: &element[..] };
        table.enqueue(&request, &mut notes).expect("it is sound");
        notes.life(Lasting::Owner(owner), 0);
        notes.life(Lasting::Key(name.as_bytes()), 1_000 + key);
    }
    notes.settle(0, &table).expect("it can be written");
    // from here on a journal of a hundred bytes is followed by a snapshot
    notes.set_pace(Pace { journal_bytes: 100, slice: SLICE });
    let folder_bytes = || -> u64 {
        let all = files(folder.path()).expect("it can be read").into_iter();
        all.map(|file| fs::metadata(file.2).expect("it is there").len()).sum()
    };
    let first = newest(folder.path(), Kind::Journal);
    notes.settle(0, &table).expect("it can be written");
    let second = newest(folder.path(), Kind::Journal);
    assert_ne!(first, second, "it turned over");
    let begun = fs::metadata(&second).expect("it is there").len();
    assert!(begun < 200, "{begun} bytes at the beginning of a journal");
    let mut slices = 0;
    let mut before = folder_bytes();
    while notes.wake_at() == Some(0) {
        notes.settle(0, &table).expect("it can be written");
        let after = folder_bytes();
        // a lock takes less than 100 bytes here, a life less
        assert!(after.saturating_sub(before) < 100 * u64::from(SLICE), "{}", after - before);
        (slices, before) = (slices + 1, after);
    }
    assert!(slices > 2 * KEYS / u64::from(SLICE), "{slices} slices");
    while notes.snapshot_under_way() {
        notes.settle(0, &table).expect("it can be written");
        std::thread::yield_now();
    }
    // a few changes more than the hundred bytes are less than the last snapshot
    for argument in 0..5 {
        take(&mut table, &mut notes, "a", argument);
        notes.settle(0, &table).expect("it can be written");
    }
    assert_eq!(newest(folder.path(), Kind::Journal), second, "no other turn-over followed");
    drop(notes);
    let (_, again) = open(folder.path(), 6);
    assert_eq!(again.lives.keys.len() as u64, KEYS);
    assert_eq!(again.lives.owners.len(), 50);
    assert_eq!(again.table.usage().locks.actual, table.usage().locks.actual);
}
