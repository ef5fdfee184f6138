//! A process that is killed at any moment: what it was told to be on disk is there.
//!
//! A child runs [`load`] on a folder and says on its standard error what it knows. It is killed
//! (`SIGKILL`) at a seeded line, and the folder is looked into; then the next child goes on with
//! the same folder. `PLUMB_QUEUE_KILLS` says how many are killed.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicU64;

use super::super::super::SystemClock;
use super::*;

const FOLDER: &str = "PLUMB_QUEUE_TEST_FOLDER";
const SEED: &str = "PLUMB_QUEUE_TEST_SEED";
/// Bodies of one child; the next one begins behind them.
const BODIES: u64 = 1_000_000;

/// What the children said.
#[derive(Debug, Default)]
struct Told {
    /// Bodies that were handed over.
    tried: HashSet<u64>,
    /// Bodies whose acceptance was told.
    accepted: HashSet<u64>,
    /// Bodies whose settlement was handed over.
    settling: HashSet<u64>,
    /// Bodies whose settlement is on disk: as done, or as dead.
    settled: HashSet<u64>,
}

impl Told {
    fn hear(&mut self, line: &str) {
        let Some((what, body)) = line.split_once(' ') else { return };
        let Ok(body) = body.parse() else { return };
        match what {
            "tries" => self.tried.insert(body),
            "accepted" => self.accepted.insert(body),
            "settles" => self.settling.insert(body),
            "settled" => self.settled.insert(body),
            _ => false,
        };
    }

    /// Each message that must be there is there once, and none that must not be is.
    fn check(&self, found: &HashMap<u64, u32>, seed: u64) {
        for (body, times) in found {
            assert_eq!(*times, 1, "seed {seed}: {body} is there {times} times");
            assert!(self.tried.contains(body), "seed {seed}: nobody sent {body}");
            assert!(!self.settled.contains(body), "seed {seed}: {body} came back");
        }
        for body in self.accepted.difference(&self.settling) {
            assert!(found.contains_key(body), "seed {seed}: {body} was accepted, and is lost");
        }
    }
}

#[test]
fn nothing_accepted_is_lost_and_nothing_settled_comes_back() {
    let kills: u64 = std::env::var("PLUMB_QUEUE_KILLS").map_or(20, |kills| kills.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let mut told = Told::default();
    for seed in 0..kills {
        kill_one(folder.path(), seed, &mut told);
        told.check(&found(folder.path()), seed);
    }
    assert!(told.settled.len() as u64 > kills / 2 && told.accepted.len() as u64 > kills);
    println!(
        "{kills} kills: {} accepted, {} settled, none lost and none back",
        told.accepted.len(),
        told.settled.len()
    );
}

/// Runs a child, and kills it when it has said so many lines.
fn kill_one(folder: &Path, seed: u64, told: &mut Told) {
    let lines = 1 + mixed(seed) % 150;
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sqlite::tests::killed::load", "--nocapture"])
        .env(FOLDER, folder)
        .env(SEED, seed.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    for line in said.by_ref().take(usize::try_from(lines).unwrap()) {
        told.hear(&line.unwrap());
    }
    child.kill().unwrap();
    // what it said before it was killed counts, and the pipe still holds it
    said.map_while(Result::ok).for_each(|line| told.hear(&line));
    let status = child.wait().unwrap();
    assert!(!status.success(), "seed {seed}: it was to be killed, and ended itself");
}

/// What waits or is dead in the folder, and how many times.
fn found(folder: &Path) -> HashMap<u64, u32> {
    let later = Arc::new(HeldClock {
        wall_ms: AtomicU64::new(SystemClock.wall_ms() + 24 * 3_600_000), // all retries are due
        now_ns: AtomicU64::new(1),
    });
    let queue = SqliteQueue::open(folder, limits(), later).unwrap();
    let filter = Filter { most: usize::MAX, ..Filter::default() };
    let waiting = queue.figures().waiting;
    let mut found = HashMap::new();
    let executions = queue.list(&filter).unwrap();
    assert_eq!(executions.len() as u64, waiting + queue.figures().failed);
    for execution in executions {
        let whole = queue.find(execution.id).unwrap().unwrap();
        let body = String::from_utf8(whole.message.body.to_vec()).unwrap();
        *found.entry(body.trim().parse().unwrap()).or_default() += 1;
    }
    found
}

/// The child: two threads that send and settle until the process is killed. Only where the
/// environment says so; as a test of its own it has nothing to do.
#[test]
fn load() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let seed: u64 = std::env::var(SEED).unwrap().parse().unwrap();
    let small = QueueLimits { log_bytes: 128 << 10, ..limits() };
    let queue = SqliteQueue::open(Path::new(&folder), small, Arc::new(SystemClock)).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let queue = &queue;
            scope.spawn(move || work(queue, seed, thread));
        }
    });
}

fn work(queue: &SqliteQueue, seed: u64, thread: u64) {
    let mut random = mixed(seed * 2 + thread);
    let mut settled: Vec<String> = Vec::new();
    for number in 0..BODIES / 2 {
        random = mixed(random);
        let body = (seed + 1) * BODIES + number * 2 + thread;
        say(&format!("tries {body}"));
        let size = usize::try_from(random % 20_000).unwrap();
        let key = random.is_multiple_of(3).then(|| (random % 5).to_string());
        let text = format!("{body:size$}");
        let name = ["orders", "stocks"][usize::from(random.is_multiple_of(7))];
        let accepted = accept(queue, Message { order_key: key, ..message(name, &text) });
        assert!(!accepted.unwrap().repeated);
        // what was settled before this message was handed over is on disk with it
        settled.drain(..).for_each(|body| say(&format!("settled {body}")));
        say(&format!("accepted {body}"));
        for claimed in claim(queue, usize::try_from(random % 4).unwrap()) {
            random = mixed(random);
            let body = String::from_utf8(claimed.message.body.to_vec()).unwrap();
            let body = body.trim().to_owned();
            let (id, kept) = (claimed.id, None);
            let ending = match random % 8 {
                0 => again(random % 3),
                1 => dead(),
                _ => Ending::Done,
            };
            if ending == Ending::Done {
                say(&format!("settles {body}"));
                settled.push(body);
            }
            queue.settle(vec![Settled { id, ending, kept }]).unwrap();
        }
    }
}

/// One line, in one write.
fn say(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// SplitMix64.
fn mixed(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
