//! Two threads that send a message to and fro, as plain programs do.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;

use plumb_checkup::IdleRound;
use plumb_engine::clock::MonotonicClock;
use plumb_engine::{Connection, Endpoint, HeldTick, SocketOptions, Stop, ThreadContext};
use plumb_measure::statistics::SplitMix64;
use plumb_measure::{Clock as _, Histogram, Span, Tick};

use crate::HostError;

/// Bytes of the message.
const MESSAGE_BYTES: usize = 500;
/// The two sockets must be connected within this; it takes microseconds.
const PATIENCE: Span = Span::from_ms(5_000);
/// Round trips at the beginning of each turn that are not recorded.
const WARM_UP: u32 = 50;
/// The first byte of a message whose receiver is to hold the tick while it waits for the next.
const HOLD: u8 = 1;

/// How often, and how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns {
    /// Rounds of two turns each.
    pub(super) rounds: u64,
    /// Length of a turn, nanoseconds.
    pub(super) turn_ns: u64,
    /// Seed of who is first in each round.
    pub(super) seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Exchange {
    /// Rounds that are complete.
    pub(super) rounds: Vec<IdleRound>,
    /// Round trips recorded.
    pub(super) round_trips: u64,
}

/// Exchanges messages between two threads on `processors` until all turns are over, or `stop` is
/// asked.
///
/// # Errors
/// [`HostError::IdleExchange`] when sockets cannot be made or the exchange breaks, and
/// [`HostError::Engine`] when a thread may not run where it is to.
pub(super) fn run(
    turns: Turns,
    processors: [usize; 2],
    stop: &Stop,
) -> Result<Exchange, HostError> {
    let (near, far) = pair().map_err(broken("make a pair of sockets"))?;
    let [of_near, of_far] = processors.map(|cpu| ThreadContext { cpu: Some(cpu), netns: None });
    thread::scope(|scope| {
        let echo = scope.spawn(move || {
            of_far.settle()?;
            echo(far).map_err(broken("return messages"))
        });
        // the socket goes with the thread, and with it the other one ends
        let ask = scope.spawn(move || {
            of_near.settle()?;
            ask(near, turns, stop).map_err(broken("exchange messages"))
        });
        let asked = ask.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let echoed = echo.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        // when one of them could not begin, the other says no more than that it is gone
        echoed.and(asked)
    })
}

fn broken(what: &'static str) -> impl FnOnce(io::Error) -> HostError {
    move |cause| HostError::IdleExchange { what, cause }
}

fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let there = [Endpoint::Tcp(listener.local_addr()?)];
    let near =
        Connection::open(&there, PATIENCE, &SocketOptions::default()).map_err(io::Error::other)?;
    let near = TcpStream::from(near.into_socket());
    let ours = near.local_addr()?;
    // somebody else may have been quicker to connect
    let far = loop {
        let (far, peer) = listener.accept()?;
        if peer == ours {
            break far;
        }
    };
    far.set_nodelay(true)?;
    Ok((near, far))
}

/// Returns every message until the other side is gone.
fn echo(mut socket: TcpStream) -> io::Result<()> {
    let mut message = [0; MESSAGE_BYTES];
    let mut tick = HeldTick::new()?;
    loop {
        let now = MonotonicClock.now_ns();
        if message[0] == HOLD {
            tick.hold(now);
        }
        match socket.read_exact(&mut message) {
            Ok(()) => socket.write_all(&message)?,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

fn ask(mut socket: TcpStream, turns: Turns, stop: &Stop) -> io::Result<Exchange> {
    let mut random = SplitMix64::new(turns.seed);
    let mut tick = HeldTick::new()?;
    let mut found = Exchange::default();
    for _ in 0..turns.rounds {
        let mut order = [Tick::Free, Tick::Held];
        random.shuffle(&mut order);
        let mut round = IdleRound { free_ns: 0, held_ns: 0 };
        for way in order {
            if stop.asked() {
                return Ok(found);
            }
            let times = turn(&mut socket, &mut tick, way, turns.turn_ns)?;
            found.round_trips += times.count();
            match way {
                Tick::Free => round.free_ns = times.quantile(0.5),
                Tick::Held => round.held_ns = times.quantile(0.5),
            }
        }
        found.rounds.push(round);
    }
    Ok(found)
}

/// Round trips for `turn_ns`, at least one of them recorded.
fn turn(
    socket: &mut TcpStream,
    tick: &mut HeldTick,
    way: Tick,
    turn_ns: u64,
) -> io::Result<Histogram> {
    let mut message = [0; MESSAGE_BYTES];
    message[0] = if way == Tick::Held { HOLD } else { 0 };
    let mut times = Histogram::new();
    let mut done = 0;
    let ends = MonotonicClock.now_ns() + turn_ns;
    loop {
        if way == Tick::Held {
            tick.hold(MonotonicClock.now_ns());
        }
        let began = MonotonicClock.now_ns();
        socket.write_all(&message)?;
        socket.read_exact(&mut message)?;
        let now = MonotonicClock.now_ns();
        done += 1;
        if done > WARM_UP {
            times.record(now - began);
        }
        if now >= ends && !times.is_empty() {
            return Ok(times);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A processor that this test may use.
    fn allowed() -> usize {
        let allowed = rustix::thread::sched_getaffinity(None).unwrap();
        (0..rustix::thread::CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap()
    }

    #[test]
    fn every_round_has_both_turns() {
        let stop = Stop::new().unwrap();
        let cpu = allowed();
        let turns = Turns { rounds: 3, turn_ns: 1, seed: 7 };
        let found = run(turns, [cpu, cpu], &stop).unwrap();
        assert_eq!((found.rounds.len(), found.round_trips), (3, 6));
        assert!(found.rounds.iter().all(|round| round.free_ns > 0 && round.held_ns > 0));
    }

    #[test]
    fn it_ends_when_asked_and_where_a_thread_cannot_run() {
        let stop = Stop::new().unwrap();
        let turns = Turns { rounds: 3, turn_ns: 1, seed: 7 };
        let nowhere = run(turns, [1 << 20, 1 << 20], &stop).unwrap_err().to_string();
        assert!(nowhere.contains("cannot run on processor"), "{nowhere}");
        stop.ask();
        let long = Turns { turn_ns: u64::MAX / 2, ..turns };
        let found = run(long, [allowed(), allowed()], &stop).unwrap();
        assert!(found.rounds.is_empty());
    }
}
