//! Whose locks a journal holds, and whether another server has taken this one's place.

use std::fs;
use std::path::Path;

use plumb_lock_table::journal::{Notes, Origin, Policy, Restored};
use tempfile::tempdir;

use crate::journal::open;

#[test]
fn a_start_knows_whose_locks_are_here_until_somebody_decides_for_its_own_epoch() {
    let folder = tempdir().expect("it is sound");
    for policy in [Policy::Always, Policy::Interval(1_000_000), Policy::Inherited] {
        let folder = folder.path().join(format!("{policy:?}"));
        let begin = |wall_us| open(&folder, policy, wall_us).expect("it is sound");
        let origin_behind = |wall_us, then: &dyn Fn(&mut Notes)| {
            let (mut notes, restored) = begin(wall_us);
            then(&mut notes);
            notes.settle(0, &restored.table).expect("it is sound");
            drop(notes);
            let (notes, restored) = begin(wall_us + 1);
            drop(notes);
            (restored.origin, restored.epoch)
        };
        let drawn = |(origin, epoch), expected, wall_us| {
            assert_eq!((origin, epoch), (expected, wall_us), "{policy:?}");
        };
        assert_eq!(origin_behind(10, &|_| ()).0, Origin::default(), "nobody decided for it");
        let filling = origin_behind(100, &|notes| notes.begin_filling(50));
        drawn(filling, Origin::of_replica(0), 101);
        drawn(origin_behind(200, &|notes| notes.filled(50)), Origin::of_replica(50), 201);
        // it is started again and again before it has a connection to its primary
        let kept = [300, 400].map(|wall_us| origin_behind(wall_us, &|_| ()).0);
        assert_eq!(kept, [Origin::of_replica(50); 2]);
        let (decided, epoch) = origin_behind(500, &|notes| notes.decide_for(450));
        // of what is not inherited nothing is here
        let forgets = policy == Policy::Inherited;
        let expected = if forgets { Origin::of_replica(450) } else { Origin::own(450) };
        let covers = if forgets { 449 } else { 450 };
        assert_eq!((decided, decided.covers()), (expected, covers), "{policy:?}");
        assert_eq!(epoch == 450, policy == Policy::Always);
        // what an interval may have lost begins a new epoch, which nobody has decided for
        let kept = [600, 700].map(|wall_us| origin_behind(wall_us, &|_| ()).0);
        assert_eq!(kept, [expected; 2]);
    }
}

#[test]
fn what_a_replica_has_is_no_whole_epoch_of_a_primary_though_it_stopped_in_order() {
    for policy in [Policy::Always, Policy::Interval(1_000_000)] {
        let folder = tempdir().expect("it is sound");
        let (mut notes, restored) = open(folder.path(), policy, 9).expect("it is sound");
        notes.filled(5);
        notes.settle(0, &restored.table).expect("it is sound");
        notes.close().expect("it is sound");
        let (_notes, again) = open(folder.path(), policy, 1_000).expect("it is sound");
        assert_eq!((again.epoch, again.origin.covers()), (1_000, 4), "{policy:?}");
        assert!(again.table.next_fence() >= 1_000, "its primary may have given out more");
    }
}

#[test]
fn what_a_journal_has_lost_is_not_claimed_for_its_epoch_by_this_start_or_the_next() {
    for (decided, expected) in [(5, Origin::of_replica(5)), (0, Origin::of_replica(1))] {
        let folder = tempdir().expect("it is sound");
        let (mut notes, restored) = open(folder.path(), Policy::Always, 9).expect("it is sound");
        if decided > 0 {
            notes.decide_for(decided);
        }
        notes.settle(0, &restored.table).expect("it is sound");
        notes.close().expect("it is sound");
        fs::remove_file(folder.path().join("position")).expect("it is there");
        for wall_us in [100, 200] {
            let (_notes, again) = open(folder.path(), Policy::Always, wall_us).expect("sound");
            assert_eq!(again.lost.is_some(), wall_us == 100);
            assert_eq!(again.origin, expected, "at {wall_us}");
        }
    }
}

/// Settles a journal behind this, as a server does at the end of a turn.
fn behind(folder: &Path, policy: Policy, then: impl FnOnce(&mut Notes)) {
    let (mut notes, restored) = open(folder, policy, 100).expect("it is sound");
    then(&mut notes);
    notes.settle(0, &restored.table).expect("it is sound");
}

fn started(folder: &Path, policy: Policy) -> Restored {
    open(folder, policy, 1_000).expect("it is sound").1
}

#[test]
fn a_start_that_was_cut_short_does_not_forget_that_the_server_was_replaced() {
    for policy in [Policy::Always, Policy::Interval(1_000_000), Policy::Inherited] {
        for decided in [0, 50] {
            let (folder, cut) = (tempdir().expect("it is sound"), tempdir().expect("it is sound"));
            behind(folder.path(), policy, |notes| {
                if decided > 0 {
                    notes.decide_for(decided);
                }
                notes.replaced(70);
            });
            let named = |path: &Path| path.file_name().expect("a file").to_owned();
            let files = || {
                let all = fs::read_dir(folder.path()).expect("it is there");
                all.map(|entry| entry.expect("it is there").path()).collect::<Vec<_>>()
            };
            for file in files() {
                fs::copy(&file, cut.path().join(named(&file))).expect("there is room");
            }
            drop(started(folder.path(), policy));
            // of what that start wrote, no more than the head of its journal
            let last = files().into_iter().filter(|it| it.extension() == Some("journal".as_ref()));
            let last = last.max().expect("it is there");
            let bytes = fs::read(&last).expect("it is there");
            let head = 8
                + 8
                + usize::try_from(u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]))
                    .expect("few");
            fs::write(cut.path().join(named(&last)), &bytes[..head]).expect("there is room");
            for _ in 0..2 {
                let again = started(cut.path(), policy);
                assert_eq!((again.replaced_by, again.lost), (70, None), "{policy:?} {decided}");
            }
        }
    }
}

#[test]
fn a_decision_ends_that_the_server_was_replaced_though_it_is_for_the_epoch_it_had() {
    let folder = tempdir().expect("it is sound");
    behind(folder.path(), Policy::Always, |notes| {
        notes.decide_for(50);
        notes.replaced(70);
    });
    behind(folder.path(), Policy::Always, |notes| notes.decide_for(50));
    assert_eq!(started(folder.path(), Policy::Always).replaced_by, 0);
}
