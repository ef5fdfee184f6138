//! The processor time of the turns of a lock server, over as many locks as are asked for: created
//! and leased, taken as keys, listed, checked with wildcards, expired, released and removed by
//! owner, with a journal and its snapshots. Prints the longest turn of each part.
//!
//! `turns LOCKS FOLDER`: the folder is made, and has to have room for some 400 bytes a lock. The
//! loop of the engine, its sockets and what a disk makes wait are not part of it.
#![allow(clippy::print_stdout, reason = "it is a program that prints")]

use std::cell::Cell;
use std::error::Error;
use std::path::PathBuf;

use plumb_engine::clock::thread_cpu_ns;
use plumb_engine::{ConnectionId, Peer, Service as _};
use plumb_lock_server::{Event, LockServer, ServerPlan};
use plumb_lock_table::journal::{Notes, Policy};
use plumb_lock_table::table::Limits;
use plumb_measure::{Clock, Tick};
use plumb_wire::resp;

/// Commands of one turn.
const COMMANDS: usize = 64;
/// Locks of an owner that has a lease.
const EACH: u64 = 100;
const LEASE_MS: u64 = 600_000;

/// A clock that goes on by the processor time that is spent.
struct Spent(Cell<u64>);

impl Clock for &Spent {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }
}

/// A server, and what its turns cost.
struct Turns<'a> {
    server: LockServer<'a, &'a Spent>,
    clock: &'a Spent,
    conn: usize,
    part: &'static str,
    turns: u64,
    longest_ns: u64,
    total_ns: u64,
    worst_ns: u64,
}

impl Turns<'_> {
    /// One turn with these commands; what was answered.
    fn turn(&mut self, commands: &[Vec<String>]) -> Result<Vec<u8>, Box<dyn Error>> {
        let mut bytes = Vec::new();
        for words in commands {
            let words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
            resp::push_command(&mut bytes, &words);
        }
        let (mut out, mut at) = (Vec::new(), 0);
        loop {
            let before = thread_cpu_ns();
            self.server.due(self.clock.now_ns());
            if at < bytes.len() && !self.server.waits(&self.conn) {
                at += self.server.serve(&mut self.conn, &bytes[at..], &mut out).consumed;
            }
            while self.server.late_reply(&mut out).is_some() {}
            self.server.settle()?;
            let spent = thread_cpu_ns() - before;
            self.clock.0.set(self.clock.0.get() + spent.max(1));
            self.turns += 1;
            self.total_ns += spent;
            self.longest_ns = self.longest_ns.max(spent);
            if at == bytes.len() && !self.server.waits(&self.conn) {
                return Ok(out);
            }
        }
    }

    fn say(&mut self, line: &str) -> Result<Vec<u8>, Box<dyn Error>> {
        self.turn(&[words(line)])
    }

    /// Says all lines, some in each turn.
    fn say_all(&mut self, lines: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
        let mut some = Vec::with_capacity(COMMANDS);
        for line in lines {
            some.push(words(&line));
            if some.len() == COMMANDS {
                let said = self.turn(&some)?;
                some.clear();
                if let Some(at) = said.iter().position(|byte| *byte == b'-') {
                    return Err(String::from_utf8_lossy(&said[at..]).into_owned().into());
                }
            }
        }
        self.turn(&some).map(|_| ())
    }

    /// Turns without commands until nothing is left to do at once.
    fn rest(&mut self) -> Result<(), Box<dyn Error>> {
        while self.server.wake_at().is_some_and(|at| at <= self.clock.now_ns()) {
            self.turn(&[])?;
        }
        Ok(())
    }

    /// A part begins, and the one before it is told.
    fn part(&mut self, name: &'static str) {
        if self.turns > 0 {
            let us = |ns: u64| ns / 1_000;
            println!(
                "{:<34}{:>12} turns{:>10} us the longest{:>8} us the mean",
                self.part,
                self.turns,
                us(self.longest_ns),
                us(self.total_ns / self.turns)
            );
            self.worst_ns = self.worst_ns.max(self.longest_ns);
        }
        (self.part, self.turns, self.longest_ns, self.total_ns) = (name, 0, 0, 0);
    }

    fn list(&mut self) -> Result<(), Box<dyn Error>> {
        let mut cursor = String::from("0");
        loop {
            let page = self.say(&format!("LOCKS COUNT 10000 CURSOR {cursor}"))?;
            let text = String::from_utf8_lossy(&page[..page.len().min(64)]).into_owned();
            let next = text.split("\r\n").nth(1).and_then(|word| word.strip_prefix(':'));
            cursor = next.ok_or("a page has a cursor")?.to_owned();
            if cursor == "0" {
                return Ok(());
            }
        }
    }
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let locks: u64 = arguments.next().ok_or("usage: turns LOCKS FOLDER")?.parse()?;
    let folder = PathBuf::from(arguments.next().ok_or("usage: turns LOCKS FOLDER")?);
    let limits = Limits { rows: u32::try_from(locks + locks / 8 + 1_000)?, scan: 20_000 };
    let (notes, restored) = Notes::open(&folder, Policy::Interval(100_000_000), limits, 1)?;
    let plan = ServerPlan {
        limits: resp::Limits { words: 800, word_bytes: 4_096, command_bytes: 256 << 10 },
        wait_ns_max: u64::MAX >> 1,
        password: None,
        users: None,
        epoch: restored.epoch,
        grace_ns: 0,
        wall_offset: || 0,
        tick: Tick::Free,
        replication: plumb_lock_server::ReplicationPlan::default(),
    };
    let (clock, mut tell) = (Spent(Cell::new(1)), |_: Event<'_>| {});
    let mut server = LockServer::new(plan, (restored, notes), &clock, &mut tell);
    let mut conn = server.open(&Peer::Unix).map_err(|_| "it is taken")?;
    server.accepted(&mut conn, ConnectionId::new(0, 0));
    let mut turns = Turns {
        server,
        clock: &clock,
        conn,
        part: "",
        turns: 0,
        longest_ns: 0,
        total_ns: 0,
        worst_ns: 0,
    };
    play(&mut turns, locks)?;
    println!("longest turn {} us; most work of one turn {}", turns.worst_ns / 1_000, {
        turns.server.turn_work_peak()
    });
    turns.server.into_notes().close()?;
    Ok(())
}

/// A quarter of the locks each: leased owners, keys, an owner that releases, one that is removed.
fn play(turns: &mut Turns<'_>, locks: u64) -> Result<(), Box<dyn Error>> {
    let part = locks / 4;
    turns.part("locks of leased owners created");
    turns.say_all(
        (0..part).map(|at| format!("ENQ o{} LEASE {LEASE_MS} E LEASED {at:012}", at / EACH)),
    )?;
    turns.part("keys with a time created");
    turns
        .say_all((0..part).map(|at| format!("SET key-{at:012} v{} NX PX {LEASE_MS}", at / EACH)))?;
    turns.part("locks of two owners created");
    turns.say_all((0..part).map(|at| format!("ENQ one KEEP E ONE {at:012}")))?;
    turns.say_all((0..part).map(|at| format!("ENQ two KEEP E TWO {at:012}")))?;
    turns.part("listed");
    turns.list()?;
    turns.part("first check with a wildcard");
    turns.say("CHECK other V ONE 00000000@@@@")?;
    turns.part("checks with 256 wildcards");
    let wide: String = (0..256).map(|at| format!(" E ONE 00000{at:04}@@@")).collect();
    for _ in 0..20 {
        turns.say(&format!("CHECK one{wide}"))?;
    }
    turns.part("leases and keys expired");
    turns.clock.0.set(turns.clock.0.get() + LEASE_MS * 1_000_000);
    turns.rest()?;
    turns.part("all of an owner released");
    turns.say("DEQALL one")?;
    turns.rest()?;
    turns.part("all of an owner removed");
    turns.say("REMOVE OWNER two")?;
    turns.rest()?;
    turns.part("");
    Ok(())
}
