//! Runtimes that are killed at any moment, one after the other, on one server that stays.
//!
//! A child runs [`load`] and says on its standard error what it knows. It is killed (`SIGKILL`) at
//! a seeded line; then all streams are looked into, and the next child goes on with them.
//! `PLUMB_QUEUE_KILLS` says how many are killed.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use super::*;

const PORT: &str = "PLUMB_QUEUE_TEST_PORT";
const SEED: &str = "PLUMB_QUEUE_TEST_NATS_SEED";
/// Bodies of one child; the next one begins behind them.
const BODIES: u64 = 1_000_000;
/// Names the queue.
const NAME: &str = "killed";

/// What the children said, by the word that they said: numbers of bodies.
type Told = HashMap<String, HashSet<u64>>;

#[test]
fn nothing_accepted_is_lost_and_nothing_settled_comes_back() {
    let Some(server) = Server::start() else { return };
    let kills: u64 = std::env::var("PLUMB_QUEUE_KILLS").map_or(10, |kills| kills.parse().unwrap());
    let mut told = Told::new();
    for seed in 0..kills {
        kill_one(server.process.port, seed, &mut told);
        check(&told, &found(server.process.port), seed);
    }
    let count = |what: &str| told.get(what).map_or(0, HashSet::len);
    assert!(count("settled") as u64 > kills && count("accepted") as u64 > kills);
    let counts = (count("accepted"), count("settled"));
    println!("{kills} kills: {counts:?} accepted and settled, none lost and none back");
}

/// Each message that must be there is there once, and none that must not be is.
fn check(told: &Told, found: &HashMap<u64, u32>, seed: u64) {
    let none = HashSet::new();
    let said = |what: &str| told.get(what).unwrap_or(&none);
    for (body, times) in found {
        assert_eq!(*times, 1, "seed {seed}: {body} is there {times} times");
        assert!(said("tries").contains(body), "seed {seed}: nobody sent {body}");
        assert!(!said("settled").contains(body), "seed {seed}: {body} came back");
    }
    for body in said("accepted").difference(said("settles")) {
        assert!(found.contains_key(body), "seed {seed}: {body} was accepted, and is lost");
    }
}

/// Runs a child, and kills it when it has said so many lines.
fn kill_one(port: u16, seed: u64, told: &mut Told) {
    let lines = usize::try_from(20 + mixed(seed) % 150).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "nats::tests::killed::load", "--nocapture"])
        .env(PORT, port.to_string())
        .env(SEED, seed.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut hear = |line: String| {
        if let Some((what, body)) = line.split_once(' ')
            && let Ok(body) = body.parse()
        {
            told.entry(what.to_owned()).or_default().insert(body);
        }
    };
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    said.by_ref().take(lines).for_each(|line| hear(line.unwrap()));
    child.kill().unwrap();
    // what it said before it was killed counts, and the pipe still holds it
    said.map_while(Result::ok).for_each(hear);
    let status = child.wait().unwrap();
    assert!(!status.success(), "seed {seed}: it was to be killed, and ended itself");
}

fn open(port: u16) -> NatsQueue {
    let url = format!("nats://127.0.0.1:{port}");
    let target = Target { url, name: NAME.into(), log_on: LogOn::Nobody };
    let limits = QueueLimits { bytes: 64 << 20, ..QueueLimits::default() };
    NatsQueue::open_at(&target, limits, Span::from_ms(1_000), Arc::new(SystemClock)).unwrap()
}

/// What waits or is dead, and how many times.
fn found(port: u16) -> HashMap<u64, u32> {
    let queue = open(port);
    let shared = Arc::clone(&queue.shared);
    let all = queue.wait(async move { shared.list(&Filter::default()).await }).unwrap();
    let mut found = HashMap::new();
    for (one, _) in all {
        let body = String::from_utf8(one.message.body.to_vec()).unwrap();
        *found.entry(body.trim().parse().unwrap()).or_default() += 1;
    }
    found
}

/// The child: sends and settles until the process is killed. Only where the environment says so; as
/// a test of its own it has nothing to do.
#[test]
fn load() {
    let Ok(port) = std::env::var(PORT) else { return };
    let seed: u64 = std::env::var(SEED).unwrap().parse().unwrap();
    let queue = open(port.parse().unwrap());
    let mut random = mixed(seed);
    for number in 0..BODIES {
        random = mixed(random);
        let body = (seed + 1) * BODIES + number;
        say("tries", body);
        let size = usize::try_from(random % 20_000).unwrap();
        let key = random.is_multiple_of(3).then(|| (random % 5).to_string());
        let text = format!("{body:size$}");
        let name = ["orders", "stocks"][usize::from(random.is_multiple_of(7))];
        accept(&queue, Message { order_key: key, ..message(name, &text) }).unwrap();
        say("accepted", body);
        let claimed = claim(&queue, usize::try_from(random % 4).unwrap());
        let mut settled = Vec::new();
        for one in claimed {
            random = mixed(random);
            let body = String::from_utf8(one.message.body.to_vec()).unwrap();
            let body = body.trim().parse().unwrap();
            let ending = match random % 8 {
                0 => again(random % 3),
                1 => dead(),
                _ => Ending::Done,
            };
            if ending == Ending::Done {
                say("settles", body);
                settled.push(body);
            }
            queue.settle(vec![Settled { id: one.id, ending, kept: None }]).unwrap();
        }
        flush(&queue);
        settled.into_iter().for_each(|body| say("settled", body));
    }
}

/// One line, in one write.
fn say(what: &str, body: u64) {
    std::io::stderr().write_all(format!("{what} {body}\n").as_bytes()).unwrap();
}

/// SplitMix64.
fn mixed(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
