//! A disk without room: messages are refused, settlements, retries and drops are not, and it goes on
//! when there is room again.
//!
//! The disk is a file system of 12 MiB in memory, in a mount namespace of a child process.

use std::fs::{self, File};
use std::io::Write as _;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::super::inbox::Change;
use super::super::super::{Claimed, ExecutionId, State};
use super::*;

const FOLDER: &str = "PLUMB_QUEUE_TEST_SMALL_DISK";

#[test]
fn a_full_disk_refuses_and_drains_when_there_is_room() {
    child("on_the_small_disk");
}

#[test]
fn retries_and_drops_of_any_number_hold_nothing_up_on_a_full_disk() {
    child("retried_and_dropped_on_the_small_disk");
}

#[test]
fn what_was_held_back_is_used_by_retries_and_drops_and_not_taken_again_before() {
    child("retried_and_dropped_where_the_reserve_is_held");
}

#[test]
fn one_for_which_there_is_no_room_has_no_others_written_one_by_one() {
    child("settled_beside_one_that_does_not_fit");
}

/// Runs the test `name` on a disk of its own, and ends it where it does not end.
fn child(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=12m tmpfs \"$1\" || exit 77; exec timeout 120 \"$2\" --exact \
                  sqlite::tests::full_disk::\"$3\" --nocapture";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .arg(name)
        .env(FOLDER, folder.path())
        .output();
    let Ok(output) = output else {
        not_tried("unshare is not installed");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) || said.contains("unshare:") {
        not_tried(format!("this system mounts no file system for an ordinary process: {said}"));
        return;
    }
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && out.contains("the disk was full"), "{said}{out}");
}

/// The child, where the environment says so; as a test of its own it has nothing to do.
#[test]
fn on_the_small_disk() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let folder = Path::new(&folder);
    let clock = HeldClock::new();
    let small = QueueLimits { log_bytes: 1 << 20, reserve_bytes: 2 << 20, ..limits() };
    let queue = SqliteQueue::open(folder, small, clock.clone()).unwrap();
    let body = "x".repeat(10_000);
    let accepted = fill_up(&queue, &body);
    fill(folder);
    assert!(accept(&queue, message("orders", &body)).is_err(), "nothing has changed");
    // settlements of every kind are taken without any room but the reserve
    let mut settled = 0;
    while let claimed @ [_, ..] = &claim(&queue, 50)[..] {
        for (number, one) in claimed.iter().enumerate() {
            let ending = if number % 20 == 0 { dead() } else { Ending::Done };
            settle(&queue, one.id, ending);
            settled += 1;
        }
    }
    assert_eq!(settled, accepted.len());
    assert_eq!(queue.figures().waiting, 0);
    fs::remove_file(folder.join("filler")).unwrap();
    clock.pass(2_000); // it looks for room once a second
    let again = accept(&queue, message("orders", &body)).unwrap();
    let dead = queue.figures().failed;
    drop(queue);
    let queue = open(folder, &clock);
    assert_eq!((queue.figures().waiting, queue.figures().failed), (1, dead));
    assert_eq!(claim(&queue, 10)[0].id, again.id);
}

/// Another child.
#[test]
fn retried_and_dropped_on_the_small_disk() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let folder = Path::new(&folder);
    let clock = HeldClock::new();
    let small = QueueLimits { log_bytes: 256 << 10, reserve_bytes: 4 << 20, ..limits() };
    let queue = SqliteQueue::open(folder, small, clock.clone()).unwrap();
    let under_way = accept(&queue, message("others", "x")).unwrap().id;
    assert_eq!(claim(&queue, 1)[0].id, under_way);
    let body = "x".repeat(50_000);
    let accepted = fill_up(&queue, &body).len();
    while let claimed @ [_, ..] = &claim(&queue, 10)[..] {
        let ended = |one: &Claimed| Settled { id: one.id, ending: dead(), kept: None };
        queue.settle(claimed.iter().map(ended).collect()).unwrap();
        flush(&queue);
    }
    let all = Filter { state: Some(State::Failed), most: usize::MAX, ..Filter::default() };
    let retried = queue.retry(&all).unwrap();
    assert_eq!(retried, accepted as u64);
    settle(&queue, under_way, Ending::Done);
    assert_eq!((queue.figures().waiting, queue.figures().failed), (retried, 0));
    fill(folder);
    let waiting = Filter { state: None, ..all };
    assert_eq!(queue.forget(&waiting).unwrap(), retried);
    assert_eq!(queue.figures().waiting, 0);
    fs::remove_file(folder.join("filler")).unwrap();
    clock.pass(2_000);
    accept(&queue, message("orders", &body)).unwrap();
}

/// A third one.
#[test]
fn retried_and_dropped_where_the_reserve_is_held() {
    let Ok(disk) = std::env::var(FOLDER) else { return };
    let disk = Path::new(&disk);
    // without room inside the database, and with more than is held back
    for dropped in [0, 100] {
        let folder = disk.join("queue");
        let clock = HeldClock::new();
        let small = QueueLimits { log_bytes: 256 << 10, reserve_bytes: 4 << 20, ..limits() };
        let queue = SqliteQueue::open(&folder, small, clock.clone()).unwrap();
        for _ in 0..20 + dropped {
            accept(&queue, message("orders", &"x".repeat(50_000))).unwrap();
        }
        while let claimed @ [_, ..] = &claim(&queue, 10)[..] {
            claimed.iter().for_each(|one| settle(&queue, one.id, dead()));
        }
        let failed = |most| Filter { state: Some(State::Failed), most, ..Filter::default() };
        assert_eq!(queue.forget(&failed(dropped)).unwrap(), dropped as u64);
        drop(queue);
        // as another program fills the disk of a queue whose log is empty
        let opened = || {
            let queue = SqliteQueue::open(&folder, small, clock.clone()).unwrap();
            assert_eq!(fs::metadata(folder.join("queue.reserve")).unwrap().len(), 4 << 20);
            fill(disk);
            let refused = accept(&queue, message("orders", &"x".repeat(50_000))).unwrap_err();
            println!("the disk was full: {refused}");
            queue
        };
        let again = |queue: SqliteQueue| {
            drop(queue);
            fs::remove_file(disk.join("filler")).unwrap();
            opened()
        };
        let queue = opened();
        assert_eq!(queue.retry(&failed(usize::MAX)).unwrap(), 20);
        let queue = again(queue);
        let waiting = |most| Filter { state: Some(State::Waiting), ..failed(most) };
        assert_eq!(queue.forget(&waiting(10)).unwrap(), 10);
        let queue = again(queue);
        // what is asked for when the queue is closed is done before its end
        let (answer, answered) = std::sync::mpsc::channel();
        let asked = Change::Forget(waiting(usize::MAX), answer);
        queue.shared.intake.change([asked]).unwrap();
        queue.close();
        assert_eq!(answered.recv().unwrap(), Ok(10));
        drop(queue);
        fs::remove_file(disk.join("filler")).unwrap();
        fs::remove_dir_all(folder).unwrap();
    }
}

/// A fourth one.
#[test]
fn settled_beside_one_that_does_not_fit() {
    let Ok(disk) = std::env::var(FOLDER) else { return };
    let (disk, clock) = (Path::new(&disk), HeldClock::new());
    let small = QueueLimits { log_bytes: 256 << 10, reserve_bytes: 256 << 10, ..limits() };
    let (shared, mut writer) =
        SqliteQueue::prepared(&disk.join("queue"), 0, small, clock.clone()).unwrap();
    let written = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&written);
    writer.hook.set(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let queue = SqliteQueue::begun((shared, writer), disk).unwrap();
    for _ in 0..200 {
        accept(&queue, message("orders", "x")).unwrap();
    }
    let claimed = claim(&queue, 200);
    fill(disk);
    println!("the disk was full");
    let ended = claimed.iter().enumerate().map(|(number, one)| {
        let trace = if number == 1 { "x".repeat(900_000) } else { String::new() };
        Settled { id: one.id, ending: Ending::Done, kept: kept(&trace, 60_000) }
    });
    written.store(0, Ordering::SeqCst);
    queue.settle(ended.collect()).unwrap();
    flush(&queue);
    assert_eq!(queue.figures().waiting, 1);
    let written = written.load(Ordering::SeqCst);
    assert!(written < 100, "199 others were written in {written} commits and checkpoints");
    fs::remove_file(disk.join("filler")).unwrap();
    clock.pass(2_000);
    flush(&queue);
    assert_eq!(queue.figures().waiting, 0);
}

/// Messages until one is refused because the disk is full.
fn fill_up(queue: &SqliteQueue, body: &str) -> Vec<ExecutionId> {
    let mut accepted = Vec::new();
    let refused = loop {
        match accept(queue, message("orders", body)) {
            Ok(one) => accepted.push(one.id),
            Err(error) => break error,
        }
        assert!(accepted.len() < 2_000, "12 MiB were to be full");
    };
    println!("the disk was full after {}: {refused}", accepted.len());
    assert!(refused.to_string().contains("is full"), "{refused}");
    assert!(accepted.len() * body.len() > 2 << 20, "{}", accepted.len());
    accepted
}

/// Takes what room is left.
fn fill(folder: &Path) {
    let mut filler = File::create(folder.join("filler")).unwrap();
    while filler.write_all(&[0; 4_096]).is_ok() {}
}
