//! A power failure: of what was written since the last flush the disk has any part.
//!
//! The writer stands still after each commit and each checkpoint while the database and its log are
//! copied. Between two copies the disk may have got any of the changed blocks of 512 bytes, in any
//! order, of either file, and either length. The header of a log that begins anew is there before
//! anything behind it: `SQLite` flushes it first; and a log is cut off behind a flush of the database. From such images the queue is opened again. What is simulated is a disk that keeps its word about flushes and writes blocks whole;
//! one that acknowledges a flush and loses it is not.

use std::collections::HashSet;
use std::fs;
use std::sync::Mutex;

use proptest::prelude::*;

use super::hook::Sure;
use super::*;

const BLOCK: usize = 512;
const FILES: [&str; 2] = ["queue.db", "queue.db-wal"];

/// What was on disk at one moment, and what everybody could know then.
#[derive(Clone, Debug, Default)]
struct Image {
    files: [Vec<u8>; 2],
    accepted: HashSet<u64>,
    done: HashSet<u64>,
}

/// A load, and the disk after each of its flushes.
fn recorded(folder: &Path) -> Vec<Image> {
    let clock = HeldClock::new();
    let small = QueueLimits { log_bytes: 200 << 10, ..limits() };
    let (shared, mut writer) = SqliteQueue::prepared(folder, 0, small, clock.clone()).unwrap();
    let images = Arc::new(Mutex::new(vec![image(folder)]));
    let (kept, path) = (Arc::clone(&images), folder.to_owned());
    writer.hook.set(move |sure| {
        let mut images = kept.lock().unwrap();
        let next = next_image(images.last().unwrap(), &path, sure);
        images.push(next);
    });
    let queue = SqliteQueue::begun((shared, writer), folder).unwrap();
    for round in 0..30_usize {
        let waits: Vec<_> = (0..=round % 5)
            .map(|number| {
                let body = "x".repeat(1_000 * (1 + (round * 7 + number * 3) % 20));
                queue.accept(message(["orders", "stocks"][number % 2], &body))
            })
            .collect();
        waits.into_iter().for_each(|wait| assert!(wait.blocking_recv().unwrap().is_ok()));
        for (number, claimed) in claim(&queue, round % 4).into_iter().enumerate() {
            let ending =
                [Ending::Done, Ending::Done, again(5), dead()][(round + number) % 4].clone();
            settle(&queue, claimed.id, ending);
        }
        clock.pass(2);
    }
    drop(queue);
    Arc::into_inner(images).unwrap().into_inner().unwrap()
}

fn image(folder: &Path) -> Image {
    let files = FILES.map(|name| fs::read(folder.join(name)).unwrap_or_default());
    Image { files, ..Image::default() }
}

fn next_image(before: &Image, folder: &Path, sure: Sure) -> Image {
    let mut next = Image { files: image(folder).files, ..before.clone() };
    next.accepted.extend(sure.accepted);
    next.done.extend(sure.done);
    next
}

/// What the disk has of a file when it has some of the blocks that changed.
fn torn(before: &[u8], after: &[u8], grown: bool, mut has: impl FnMut() -> bool) -> Vec<u8> {
    let mut disk = before.to_vec();
    if grown {
        disk.resize(after.len(), 0);
    }
    for (place, block) in after.chunks(BLOCK).enumerate() {
        let from = place * BLOCK;
        let changed = before.get(from..from + block.len()) != Some(block);
        if changed && from + block.len() <= disk.len() && has() {
            disk[from..from + block.len()].copy_from_slice(block);
        }
    }
    disk
}

/// The log with the header of the next one, where that is another one.
fn with_header(before: &[u8], after: &[u8]) -> Option<Vec<u8>> {
    const HEADER: usize = 32;
    let (old, new) = (before.get(..HEADER)?, after.get(..HEADER)?);
    (old != new).then(|| [new, &before[HEADER..]].concat())
}

/// Opens the queue on `files`: all that was sure before is there, and nothing that was done.
fn check(files: &[Vec<u8>; 2], before: &Image, after: &Image) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in FILES.iter().zip(files) {
        if !bytes.is_empty() {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
    }
    let queue = SqliteQueue::open(folder.path(), limits(), HeldClock::new());
    let queue = queue.map_err(|error| TestCaseError::fail(error.to_string()))?;
    let all = Filter { most: usize::MAX, ..Filter::default() };
    let found: Vec<u64> = queue.list(&all).unwrap().iter().map(|one| one.id.0).collect();
    let once: HashSet<u64> = found.iter().copied().collect();
    prop_assert_eq!(found.len(), once.len());
    for id in before.accepted.difference(&after.done) {
        prop_assert!(once.contains(id), "{id} is lost");
    }
    for id in &once {
        prop_assert!(!before.done.contains(id), "{id} came back");
        prop_assert!(after.accepted.contains(id), "nobody sent {id}");
    }
    Ok(())
}

#[test]
fn what_was_acknowledged_survives_any_part_of_the_writes_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let images = recorded(folder.path());
    assert!(images.len() > 60 && images.last().unwrap().accepted.len() > 60);
    let moved = images.windows(2).filter(|pair| pair[0].files[0] != pair[1].files[0]).count();
    assert!(moved > 3, "the log was to be moved into the database, and was so {moved} times");
    for pair in images.windows(2) {
        check(&pair[1].files, &pair[1], &pair[1]).unwrap();
    }
    let cases = std::env::var("PLUMB_QUEUE_TEARS").map_or(150, |cases| cases.parse().unwrap());
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let case = (0..images.len() - 1, any::<[bool; 2]>(), 0..=100_u8, any::<u64>());
    runner
        .run(&case, |(place, grown, percent, seed)| {
            let (before, after) = (&images[place], &images[place + 1]);
            let mut random = seed | 1;
            let mut has = || {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                random % 100 < u64::from(percent)
            };
            if after.files[1].len() < before.files[1].len() {
                // a log is cut off only when the database is flushed
                let database = torn(&before.files[0], &after.files[0], grown[0], &mut has);
                return check(&[database, before.files[1].clone()], before, after);
            }
            let begun = with_header(&before.files[1], &after.files[1]);
            let log = match begun {
                Some(begun) if seed % 4 == 0 => begun, // no further than that
                begun => {
                    let before = begun.as_ref().unwrap_or(&before.files[1]);
                    torn(before, &after.files[1], grown[1], &mut has)
                }
            };
            let database = torn(&before.files[0], &after.files[0], grown[0], &mut has);
            let files = [database, log];
            check(&files, before, after)
        })
        .unwrap();
}
