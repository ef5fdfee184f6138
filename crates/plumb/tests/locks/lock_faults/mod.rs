//! Two lock servers and their witnesses as processes, with clients that pipeline: they are killed,
//! stopped, cut off in either direction, and their disks stand still, also two of these at once. What
//! the clients saw has an order within time in which one table would have said the same, and what is
//! held in the end is what that table would hold.

mod disk;
mod gate;
mod landscape;
mod lie;
mod link;
mod player;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;

use crate::linear::{Event, can_be_judged, contradiction};
use crate::numbers::Numbers;
use gate::Gate;
use landscape::Landscape;
use link::LOOK;
use player::Player;

const PLAYERS: usize = 3;
const ROUNDS: u64 = 16;
/// Rows of the table of the servers: more than are ever held here.
const ROOM: usize = 1_048_576;
/// Histories that are played side by side: most of their time is waiting.
const LANES: u64 = 6;
/// Longer than anything takes that goes on at all.
const PATIENCE_NS: u64 = 90_000_000_000;

/// What a history came to.
enum Came {
    /// So many troubles and promotions, and no contradiction.
    Fine(u64, usize),
    /// Too many troubles followed each other without a pause in which nobody asks.
    Unjudged,
    /// Nobody serves any more: how it is.
    Stuck(String),
    Wrong(String),
}

/// Plays a history of this seed; `lies`: primaries are told that their replicas have what they do not
/// get.
fn play(seed: u64, lies: bool) -> Came {
    // the tests of this program play at the same time, and seeds of the same numbers
    let network = 2 * (seed / 200 % 125) + u64::from(lies);
    let host = format!("127.{}.{network}.{}", 64 + std::process::id() % 128, 1 + seed % 200);
    let (moments, gate) = (AtomicU64::new(1), Gate::default());
    let mut numbers = Numbers::new(seed ^ 0x5eed);
    let mut all = Landscape::start(&host, seed, lies);
    all.settle(&moments);
    let servers = all.servers();
    let mut players: Vec<Player<'_>> = (0..PLAYERS)
        .map(|at| {
            let depth = numbers.one(&[1, 2]);
            Player::new(at, (seed, depth), servers.clone(), &moments)
        })
        .collect();
    let stuck = thread::scope(|scope| {
        for player in &mut players {
            let gate = &gate;
            scope.spawn(move || player.play(gate));
        }
        let stuck = lead(&mut all, (&gate, &moments), &mut numbers);
        gate.end();
        stuck
    });
    if let Some(stuck) = stuck {
        return Came::Stuck(stuck);
    }
    all.heal();
    let until = MonotonicClock.now_ns() + PATIENCE_NS;
    let ledger = loop {
        all.pass();
        all.read_logs(&moments);
        if let Some(ledger) = all.ledger() {
            break ledger;
        }
        if MonotonicClock.now_ns() > until {
            return Came::Stuck(all.told());
        }
        thread::park_timeout(10 * LOOK);
    };
    let mut events = std::mem::take(&mut all.takeovers);
    let promotions = events.len() - 1;
    let seen: Vec<Event> = players.into_iter().flat_map(|player| player.seen).collect();
    events.iter_mut().skip(1).for_each(|takeover| all.place(takeover, &seen)); // behind the beginning
    events.extend(seen);
    if !can_be_judged(&events) {
        return Came::Unjudged;
    }
    match contradiction(&events, ROOM, &ledger) {
        None => Came::Fine(all.troubles, promotions),
        Some(contradiction) => Came::Wrong(contradiction),
    }
}

/// Lets the clients play their rounds while things happen; how it is when nothing goes on.
fn lead(
    all: &mut Landscape,
    (gate, moments): (&Gate, &AtomicU64),
    numbers: &mut Numbers,
) -> Option<String> {
    for _ in 0..=ROUNDS {
        let until = MonotonicClock.now_ns() + PATIENCE_NS;
        let mut strikes = MonotonicClock.now_ns() + numbers.below(4_000_000);
        let mut quiet = numbers.below(2) == 0;
        while gate.waiting() < PLAYERS {
            if !quiet && MonotonicClock.now_ns() >= strikes {
                all.trouble();
                (quiet, strikes) = (true, u64::MAX);
            }
            all.pass();
            all.read_logs(moments);
            if MonotonicClock.now_ns() > until {
                return Some(all.told());
            }
            thread::park_timeout(LOOK / 4);
        }
        all.read_logs(moments);
        all.begin_round(moments);
        gate.open();
    }
    None
}

/// How many histories: PLUMB_FAULT_SEEDS, or two hundred, from PLUMB_FAULT_SEED_FIRST on, or the first.
fn seeds() -> std::ops::Range<u64> {
    let asked = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = asked("PLUMB_FAULT_SEED_FIRST").unwrap_or(0);
    first..first + asked("PLUMB_FAULT_SEEDS").unwrap_or(200)
}

#[test]
#[ignore = "takes tens of seconds: histories of processes"]
fn a_primary_that_tells_before_its_replica_has_it_is_found() {
    const SEEDS_MAX: u64 = 24;
    let found = (0..SEEDS_MAX).find_map(|seed| match play(seed, true) {
        Came::Wrong(contradiction) => Some(contradiction),
        Came::Fine(..) | Came::Unjudged | Came::Stuck(_) => None,
    });
    assert!(found.is_some(), "none of {SEEDS_MAX} histories shows it");
}

#[test]
#[ignore = "takes minutes: hundreds of histories of processes"]
fn what_clients_of_processes_see_has_an_order_whatever_happens_to_them() {
    let (seeds, count) = (seeds(), seeds().count() as u64);
    let next = AtomicU64::new(seeds.start);
    let lane = || {
        let mut came = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::SeqCst);
            if seed >= seeds.end {
                return came;
            }
            came.push((seed, play(seed, false)));
        }
    };
    let came: Vec<(u64, Came)> = thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|_| scope.spawn(lane)).collect();
        lanes.into_iter().flat_map(|it| it.join().expect("it plays on")).collect()
    });
    let (mut troubles, mut promotions, mut unjudged, mut wrong) = (0, 0, 0, Vec::new());
    for (seed, came) in came {
        match came {
            Came::Fine(more, promoted) => {
                (troubles, promotions) = (troubles + more, promotions + promoted)
            }
            Came::Unjudged => unjudged += 1,
            Came::Stuck(how) => wrong.push(format!("seed {seed}: nothing goes on: {how}")),
            Came::Wrong(how) => wrong.push(format!("seed {seed}: {how}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {count}: {}", wrong.len(), wrong.join("\n"));
    let told = format!("{troubles} troubles, {promotions} promotions, {unjudged} not judged");
    assert!(troubles > count && 2 * promotions as u64 > count && 20 * unjudged <= count, "{told}");
}
