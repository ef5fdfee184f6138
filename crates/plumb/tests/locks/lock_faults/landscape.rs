//! Two lock servers and their witnesses as processes, and what is done to them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use plumb_wire::resp;
use rustix::process::Signal;
use tempfile::TempDir;

use super::disk::{self, Disk};
use super::link::Network;
use super::player::{LIMITS, moment, take_over};
use crate::kit::locks::{Client, number};
use crate::kit::{self, Program};
use crate::linear::Event;
use crate::linear::call::{Call, ledger};
use crate::model::Row;
use crate::numbers::Numbers;

/// The replica is away after so long, and asks for its primary's place after three quarters.
const TIMEOUT_NS: u64 = 800_000_000;
/// A server that is stopped does not answer within this.
const QUESTION: Duration = Duration::from_millis(300);

/// A process, or the place for one.
struct Node {
    address: String,
    program: Option<Program>,
    /// It is stopped until then, nanoseconds.
    stopped: u64,
    /// It is started again then.
    start_at: u64,
}

pub(super) struct Landscape {
    folder: TempDir,
    network: Arc<Network>,
    nodes: Vec<Node>,
    disks: Vec<Disk>,
    without: &'static str,
    numbers: Numbers,
    primary: usize,
    /// When each round began.
    rounds: Vec<u64>,
    pub(super) takeovers: Vec<Event>,
    pub(super) troubles: u64,
}

impl Landscape {
    /// `host` is an address of this machine that nobody else uses.
    pub(super) fn start(host: &str, seed: u64, lies: bool) -> Self {
        let mut numbers = Numbers::new(seed);
        let witnesses = if seed.is_multiple_of(3) { 1 } else { 3 };
        let without = numbers.one(&["stop", "continue"]);
        let folder = disk::folder();
        let network = Network::new(2 + witnesses, lies);
        let node = |at| {
            let address = format!("{host}:{}", 3200 + at);
            Node { address, program: None, stopped: 0, start_at: 0 }
        };
        let nodes: Vec<Node> = (0..2 + witnesses).map(node).collect();
        for from in 0..2 {
            for to in (0..nodes.len()).filter(|to| *to != from) {
                network.link((from, to), &door(host, from, to), nodes[to].address.clone());
            }
        }
        let disks = if seed.is_multiple_of(4) { Disk::two(folder.path()) } else { Vec::new() };
        let (rounds, takeovers) = (vec![0], Vec::new());
        let mut all = Self {
            folder,
            network,
            nodes,
            disks,
            without,
            numbers,
            primary: 0,
            rounds,
            takeovers,
            troubles: 0,
        };
        (2..2 + witnesses).for_each(|at| all.run(at, None));
        all.run(0, None);
        all.run(1, Some(0));
        all
    }

    /// Waits until both have everything; the beginning of the history: from which number on locks
    /// are numbered.
    pub(super) fn settle(&mut self, moments: &AtomicU64) {
        let fence = kit::until(|| {
            self.read_logs(moments);
            self.pass();
            self.takeovers.clear(); // a busy machine may look like one that is gone
            let fence = self.first_fence()?;
            self.read_logs(moments);
            self.takeovers.is_empty().then_some(fence)
        });
        let when = (moment(moments), moment(moments));
        self.takeovers.push(take_over(usize::MAX, fence, when));
    }

    fn first_fence(&self) -> Option<u64> {
        let replica = 1 - self.primary;
        self.figure(replica, "in_sync").filter(|in_sync| *in_sync == 1)?;
        let mut client = Client::connect(&self.nodes[self.primary].address).ok()?;
        let fence = number(&client.ask("ENQ first KEEP E T 0").ok()?)?;
        let released = number(&client.ask("DEQALL first").ok()?)?;
        (released == 1).then_some(fence + 1)
    }

    pub(super) fn servers(&self) -> [String; 2] {
        [self.nodes[0].address.clone(), self.nodes[1].address.clone()]
    }

    /// Starts a witness, or a server, as the replica of another one if one is named.
    fn run(&mut self, at: usize, of: Option<usize>) {
        let address = self.nodes[at].address.clone();
        let host = address.rsplit_once(':').expect("it has a port").0;
        let mut words = vec!["--listen".to_owned(), address.clone()];
        if at >= 2 {
            words.extend(["--state".to_owned(), format!("state-{at}")]);
        } else {
            let timeout = format!("{}ms", TIMEOUT_NS / 1_000_000);
            words.extend(["--replica-timeout".to_owned(), timeout]);
            words.extend(["--without-replica".to_owned(), self.without.to_owned()]);
            for witness in 2..self.nodes.len() {
                words.extend(["--witness".to_owned(), door(host, at, witness)]);
            }
            if let Some(other) = of {
                words.extend(["--replica-of".to_owned(), door(host, at, other)]);
            }
            if let Some(disk) = self.disks.get(at) {
                words.extend(["--journal".to_owned(), disk.journal()]);
            }
        }
        let verb = if at >= 2 { "witness" } else { "serve" };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // whoever ends the driver from outside leaves none of them behind
        let parent = std::process::id().to_string();
        let program = Program::start_told(
            Path::new(kit::PLUMB),
            &[&["lock", verb][..], &words].concat(),
            self.folder.path(),
            &[("PLUMB_PARENT", &parent)],
        );
        let line = program.line();
        assert!(line.starts_with("listening on "), "{line}");
        self.nodes[at].program = Some(program);
        (self.nodes[at].stopped, self.nodes[at].start_at) = (0, 0);
    }

    /// A round is about to begin.
    pub(super) fn begin_round(&mut self, moments: &AtomicU64) {
        self.rounds.push(moment(moments));
    }

    /// When the round began before the one that `moment` is in.
    fn round_before(&self, moment: u64) -> u64 {
        let begun = self.rounds.partition_point(|begins| *begins <= moment);
        self.rounds[begun.saturating_sub(2)]
    }

    /// A busy machine reads late of a take-over: it came before any of its numbers was shown.
    pub(super) fn place(&self, takeover: &mut Event, seen: &[Event]) {
        let Call::TakeOver { fences } = takeover.call else { return };
        let shows = |event: &&Event| event.fence().is_some_and(|fence| fence >= fences);
        if let Some(first) = seen.iter().filter(shows).min_by_key(|event| event.answered)
            && first.answered < takeover.answered
        {
            (takeover.asked, takeover.answered) = (self.round_before(first.asked), first.answered);
        }
    }

    /// What the servers have said since the last time: who takes over, and who was replaced.
    pub(super) fn read_logs(&mut self, moments: &AtomicU64) {
        for at in 0..2 {
            while let Some(line) = self.nodes[at].program.as_ref().and_then(Program::log_now) {
                if line.contains("promoted by") {
                    let fences = line.split_once("fence numbers begin at ").expect("it says so").1;
                    let fences = fences.split(';').next().and_then(|text| text.parse().ok());
                    let fences = fences.expect("a number");
                    let when = (self.round_before(u64::MAX), moment(moments));
                    self.takeovers.push(take_over(usize::MAX, fences, when));
                    self.primary = at;
                } else if line.contains("replaced by a server with epoch") {
                    let pause = self.numbers.below(TIMEOUT_NS / 2);
                    self.kill(at, pause);
                    break;
                }
            }
        }
    }

    fn kill(&mut self, at: usize, pause: u64) {
        if let Some(program) = self.nodes[at].program.take() {
            program.signal(Signal::KILL);
            // it ends when the disk that it waits for has answered
            self.disks.get_mut(at).into_iter().for_each(Disk::thaw);
            self.nodes[at].start_at = MonotonicClock.now_ns() + pause;
        }
    }

    /// Those whose time is over go on, and those who are down are started again.
    pub(super) fn pass(&mut self) {
        let now = MonotonicClock.now_ns();
        self.disks.iter_mut().for_each(|disk| disk.pass(now));
        for at in 0..self.nodes.len() {
            let frozen = self.disks.get(at).is_some_and(Disk::is_frozen);
            let node = &mut self.nodes[at];
            match &node.program {
                Some(program) if node.stopped > 0 && now >= node.stopped => {
                    program.signal(Signal::CONT);
                    node.stopped = 0;
                }
                None if now >= node.start_at && at >= 2 => self.run(at, None),
                // the one whose locks are not here any more cannot serve: the other takes over
                None if now >= node.start_at && at != self.primary && !frozen => {
                    self.run(at, Some(self.primary));
                }
                Some(_) | None => {}
            }
        }
    }

    /// Something happens to somebody, or two things at once.
    pub(super) fn trouble(&mut self) {
        for _ in 0..1 + self.numbers.below(2) {
            self.trouble_once();
            self.troubles += 1;
        }
    }

    fn trouble_once(&mut self) {
        let count = self.nodes.len();
        let mut any =
            |limit: usize| usize::try_from(self.numbers.below(limit as u64)).expect("few");
        let (one, other, kind) = (any(count), any(count), any(9));
        let [pause, time] = [0; 2].map(|_: u64| self.numbers.below(2 * TIMEOUT_NS));
        let until = MonotonicClock.now_ns() + time;
        match kind {
            0 | 1 => self.kill_primary_of_two(pause),
            // with both of them everything would be lost
            2 if self.figure(self.primary, "gives_out") == Some(1) => {
                self.kill(1 - self.primary, pause);
            }
            3 if one >= 2 => self.kill(one, pause),
            4 => {
                if let Some(program) = &self.nodes[one].program {
                    program.signal(Signal::STOP);
                    self.nodes[one].stopped = until;
                }
            }
            5 => self.network.cut(one, other, until),
            6 => {
                self.network.cut(one, other, until);
                self.network.cut(other, one, until);
            }
            7 => {
                for it in 0..count {
                    self.network.cut(one, it, until);
                    self.network.cut(it, one, until);
                }
            }
            _ => {
                if let Some(disk) = self.disks.get_mut(one % 2) {
                    disk.freeze(until);
                }
            }
        }
    }

    /// Nothing is lost with the primary where the replica has everything and may follow: nothing but
    /// these two keeps locks here.
    fn kill_primary_of_two(&mut self, pause: u64) {
        let in_sync = (0..2).all(|at| self.figure(at, "in_sync") == Some(1));
        let agree = self.figure(self.primary, "witnesses_agree").unwrap_or(0);
        let most = 2 * agree > self.nodes.len() as u64 - 2;
        if in_sync && most {
            self.kill(self.primary, pause);
        }
    }

    /// A figure of a server, if that answers.
    fn figure(&self, at: usize, name: &str) -> Option<u64> {
        let node = &self.nodes[at];
        node.program.as_ref().filter(|_| node.stopped == 0)?;
        let mut stream = TcpStream::connect(&node.address).ok()?;
        stream.set_read_timeout(Some(QUESTION)).ok()?;
        stream.write_all(b"INFO\r\n").ok()?;
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        let line = lines.take(500).find(|line| line.starts_with(&format!("{name}:")))?;
        line.split_once(':')?.1.trim_end().parse().ok()
    }

    /// All troubles are over.
    pub(super) fn heal(&mut self) {
        self.network.heal();
        self.disks.iter_mut().for_each(Disk::thaw);
        for node in &mut self.nodes {
            (node.stopped, node.start_at) = (node.stopped.min(1), 0);
        }
        self.pass();
    }

    /// What is held, as the primary says; `None` when it does not answer.
    pub(super) fn ledger(&self) -> Option<Vec<Row>> {
        if self.figure(self.primary, "gives_out") != Some(1) {
            return None;
        }
        let mut stream = TcpStream::connect(&self.nodes[self.primary].address).ok()?;
        stream.set_read_timeout(Some(QUESTION)).ok()?;
        stream.write_all(b"LOCKS COUNT 10000\r\n").ok()?;
        let (mut text, mut room) = (Vec::new(), [0; 4096]);
        loop {
            if let Some((found, _)) = resp::reply(&text, &LIMITS).ok()? {
                return matches!(found, resp::Reply::Array(_)).then(|| ledger(found));
            }
            let count = std::io::Read::read(&mut stream, &mut room).ok().filter(|it| *it > 0)?;
            text.extend_from_slice(&room[..count]);
        }
    }

    /// How it is, for whoever looks for what is wrong.
    pub(super) fn told(&self) -> String {
        let of = |at: usize| {
            let figures = ["in_sync", "gives_out", "witnesses_agree"];
            figures.map(|name| self.figure(at, name))
        };
        format!("primary {} {} {:?} {:?}", self.primary, self.without, of(0), of(1))
    }
}

impl Drop for Landscape {
    fn drop(&mut self) {
        self.disks.iter_mut().for_each(Disk::let_go);
        self.nodes.iter_mut().for_each(|node| node.program = None);
        self.network.close();
    }
}

/// Where a node finds another.
fn door(host: &str, from: usize, to: usize) -> String {
    format!("{host}:{}", 3300 + 10 * from + to)
}
