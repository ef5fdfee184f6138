//! What the embedded queue takes and gives a second on this disk.
//!
//!     cargo run --release -p plumb-queue --example queue -- FOLDER PRODUCERS BYTES COUNT [WINDOW]
//!
//! PRODUCERS threads have COUNT messages of BYTES accepted, each with WINDOW of them (1) under way;
//! then they wait, all of them, and are given out and settled. The disk is measured first: the
//! median time of a write of 16 KiB with its flush.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, grouped, show_ns};
use plumb_queue::{Ending, Message, Queue, QueueLimits, Settled, SqliteQueue, SystemClock};

/// Threads that settle, and messages that each takes at a time.
const WORKERS: usize = 4;
const BATCH: usize = 100;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What is measured.
#[derive(Debug)]
struct Load {
    folder: PathBuf,
    producers: u64,
    bytes: usize,
    count: u64,
    window: usize,
}

fn main() -> ExitCode {
    let told = load().and_then(|load| measure(&load));
    match told.and_then(|text| Ok(std::io::stdout().write_all(text.as_bytes())?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}"); // there is nobody else to tell
            ExitCode::from(2)
        }
    }
}

fn load() -> Result<Load, Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| words[place].parse::<u64>();
    if !(4..=5).contains(&words.len()) {
        return Err("give FOLDER PRODUCERS BYTES COUNT, and WINDOW where it is not 1".into());
    }
    Ok(Load {
        folder: words[0].clone().into(),
        producers: number(1)?.max(1),
        bytes: usize::try_from(number(2)?)?,
        count: number(3)?,
        window: words.get(4).map_or(Ok(1), |window| window.parse())?,
    })
}

fn measure(load: &Load) -> Result<String, Failure> {
    let flush_ns = flush_latency(&load.folder)?;
    let queue = SqliteQueue::open(&load.folder, QueueLimits::default(), Arc::new(SystemClock))?;
    let accept_ns = accept_all(&queue, load)?;
    let waiting = queue.figures();
    let waiting_kib = status("VmRSS")?;
    let drain_ns = drain_all(&queue)?;
    let figures = queue.figures();
    let rate = |ns: u64| grouped(load.count * 1_000_000_000 / ns.max(1));
    Ok(format!(
        "disk: a write of 16 KiB with its flush takes {}\n\
         accepts: {} of {} bytes by {} producers, {} under way each: {} a second\n\
         waiting: {} messages, {} bytes, with {} KiB of memory\n\
         drains: {} a second by {} workers, {} each time\n\
         flushes: {}, half {}, 99 % {}, 99.9 % {}, longest {}\n\
         log: {} bytes at most; memory: {} KiB at most\n",
        show_ns(flush_ns),
        grouped(load.count),
        load.bytes,
        load.producers,
        load.window,
        rate(accept_ns),
        grouped(waiting.waiting),
        grouped(waiting.waiting_bytes),
        grouped(waiting_kib),
        rate(drain_ns),
        WORKERS,
        BATCH,
        grouped(figures.flushes),
        show_ns(figures.flush_p50_ns),
        show_ns(figures.flush_p99_ns),
        show_ns(figures.flush_p999_ns),
        show_ns(figures.flush_max_ns),
        grouped(figures.log_max_bytes),
        grouped(status("VmHWM")?),
    ))
}

/// The median of 200 writes with their flushes, nanoseconds.
fn flush_latency(folder: &Path) -> Result<u64, Failure> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join("flush");
    let file = File::create(&path)?;
    let mut times = Vec::new();
    for number in 0..200_u64 {
        let began_ns = MonotonicClock.now_ns();
        file.write_all_at(&[1; 16_384], number * 16_384)?;
        file.sync_data()?;
        times.push(MonotonicClock.now_ns() - began_ns);
    }
    std::fs::remove_file(path)?;
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

/// How long it takes until all are on disk, nanoseconds.
fn accept_all(queue: &SqliteQueue, load: &Load) -> Result<u64, Failure> {
    let left = AtomicU64::new(load.count);
    let one = Message {
        transaction: "load".into(),
        parameters: Vec::new(),
        media_type: "application/xml".into(),
        body: vec![b'x'; load.bytes].into(),
        order_key: None,
        idempotency_key: None,
    };
    let take =
        || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
    let produce = || -> Result<(), Failure> {
        let mut under_way = VecDeque::new();
        while take().is_ok() {
            under_way.push_back(queue.accept(one.clone()));
            if under_way.len() >= load.window.max(1)
                && let Some(oldest) = under_way.pop_front()
            {
                oldest.blocking_recv()??;
            }
        }
        for last in under_way {
            last.blocking_recv()??;
        }
        Ok(())
    };
    let began_ns = MonotonicClock.now_ns();
    std::thread::scope(|scope| {
        let producers: Vec<_> = (0..load.producers).map(|_| scope.spawn(produce)).collect();
        producers.into_iter().try_for_each(|one| one.join().map_err(|_| "a producer panicked")?)
    })?;
    Ok(MonotonicClock.now_ns() - began_ns)
}

/// How long it takes until none is left on disk, nanoseconds.
fn drain_all(queue: &SqliteQueue) -> Result<u64, Failure> {
    let work = || -> Result<(), Failure> {
        loop {
            let claimed = queue.claim(BATCH, Duration::from_millis(10))?;
            if claimed.is_empty() && queue.figures().waiting == 0 {
                return Ok(());
            }
            let done = |id| Settled { id, ending: Ending::Done, kept: None };
            queue.settle(claimed.into_iter().map(|claimed| done(claimed.id)).collect())?;
        }
    };
    let began_ns = MonotonicClock.now_ns();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|one| one.join().map_err(|_| "a worker panicked")?)
    })?;
    queue.close();
    Ok(MonotonicClock.now_ns() - began_ns)
}

/// A line of what the system says of this process, KiB.
fn status(name: &str) -> Result<u64, Failure> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such line")?;
    let number = line.trim_matches(|c: char| !c.is_ascii_digit());
    Ok(number.parse()?)
}
