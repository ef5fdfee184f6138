//! The client half of streams of datagrams: all of one result, from the first hello to the last
//! account.

use std::sync::Barrier;
use std::thread;

use plumb_engine::clock::{self, MonotonicClock};
use plumb_engine::{Sampler, Stop, ThreadContext};
use plumb_measure::statistics::SplitMix64;
use plumb_measure::{
    BitRate, Clock as _, DatagramFlow, GapClass, OneWay, StreamFigures, Transports, real,
};
use plumb_wire::datagram::{Account, Ask, Begin, GAP_BINS, Sending};

use super::receiver::{CameIn, Coming};
use super::sender::{SendGauge, send_paced};
use super::talk::DatagramTalk;
use crate::NetError;
use crate::carriage::{Delivery, Opening, StreamPlan};
use crate::intervals::{Intervals, Seen};

/// How often it is looked whether more has come.
const ASK_AGAIN_NS: u64 = 20_000_000;

/// Places of what this side sends, and what it receives.
const SENDS: usize = 0;
const RECEIVES: usize = 1;

/// Streams of datagrams.
#[derive(Clone, Debug)]
pub(crate) struct DatagramCarriage<'a> {
    pub(crate) plan: StreamPlan<'a>,
    /// Of all streams of one direction together, those of other processes included.
    pub(crate) rate: BitRate,
    pub(crate) never_fragment: bool,
}

/// A stream that the client sends.
struct Going {
    talk: DatagramTalk,
    key: u64,
    gauge: SendGauge,
}

/// The server knows all of it.
struct Ready {
    control: DatagramTalk,
    going: Vec<Going>,
    coming: Vec<Coming>,
    transports: Transports,
}

/// How the threads of this side ended.
#[derive(Default)]
struct Ends {
    cpu_ns: u64,
    /// Streams that broke: those that this side sends, and those that it receives.
    broken: [u64; 2],
    trouble: Option<String>,
    came: Vec<CameIn>,
}

impl DatagramCarriage<'_> {
    /// Carries the streams to their end, or until `stop` is asked.
    ///
    /// # Errors
    /// When they cannot begin. What breaks later is counted.
    pub(crate) fn run(&self, sampler: &mut dyn Sampler, stop: &Stop) -> Result<Delivery, NetError> {
        let (opening, never_fragment) = (self.plan.opening(), self.never_fragment);
        let mut ready = stop.unless_asked(move || connect(&opening, never_fragment))??;
        // what all streams share is told with any of them; nobody is asked between gate and start
        let one = &ready.going[..ready.going.len().min(1)];
        let before = accounts(&mut ready.control, one, false)?;
        if let Some(gate) = self.plan.gate {
            gate.pass(stop)?;
        }
        sampler.begin(ready.transports.first());
        let start = Barrier::new(ready.going.len() + ready.coming.len() + 1);
        let Ready { control, going, coming, transports } = &mut ready;
        let mut ends = Ends::default();
        let mut intervals = Intervals::default();
        let (mut began_ns, mut carried_ns) = (0, 0);
        thread::scope(|scope| {
            let senders: Vec<_> = going
                .iter()
                .enumerate()
                .map(|(number, going)| {
                    let start = &start;
                    scope.spawn(move || {
                        let settled = self.settle(number);
                        start.wait();
                        settled.and_then(|()| self.send(going, stop))
                    })
                })
                .collect();
            let receivers: Vec<_> = coming
                .iter()
                .enumerate()
                .map(|(number, coming)| {
                    let start = &start;
                    scope.spawn(move || {
                        let settled = self.settle(number);
                        start.wait();
                        coming.receive(settled, self.sending(), self.plan.patience, stop)
                    })
                })
                .collect();
            start.wait();
            began_ns = MonotonicClock.now_ns();
            intervals = self.watch(began_ns, control, going, coming, sampler, stop);
            // what follows is waiting for what is still under way
            carried_ns = MonotonicClock.now_ns().saturating_sub(began_ns);
            for sender in senders {
                let ended = sender.join().unwrap_or_else(|_| Err("a thread panicked".into()));
                ends.broken[SENDS] += u64::from(ended.is_err());
                ends.trouble = ended.err().or(ends.trouble.take());
            }
            ends.came = receivers.into_iter().filter_map(|it| it.join().ok()).collect();
        });
        let carried_ns = carried_ns.min(self.plan.length.ns());
        ends.cpu_ns = going.iter().map(|going| going.gauge.cpu_ns()).sum();
        let to_server = self.plan.direction.to_server().then(|| {
            let accounts = last_accounts(control, going);
            self.went(accounts, going, &before, &mut ends, carried_ns)
        });
        let from_server =
            self.plan.direction.from_server().then(|| self.came(&mut ends, carried_ns));
        let figures = StreamFigures {
            streams: self.plan.streams as u64,
            to_server,
            from_server,
            client_cpu_ns: ends.cpu_ns,
            server_cpu_ns: ends.came.iter().map(|came| came.server_cpu_ns).sum(),
            intervals: intervals.list,
        }
        .with_what_intervals_know();
        let transports = std::mem::take(transports);
        // a stream that goes both ways is one stream
        let broken = ends.broken.into_iter().max().unwrap_or(0);
        Ok(Delivery { figures, began_ns, broken, trouble: ends.trouble, transports })
    }

    /// What the sender of one stream is to send.
    fn sending(&self) -> Sending {
        let every_ns = self.rate.time_of((self.plan.bytes * self.plan.of) as u64).max(1);
        let bytes = u32::try_from(self.plan.bytes).unwrap_or(u32::MAX);
        Sending { bytes, every_ns, length_ns: self.plan.length.ns() }
    }

    /// Puts the thread of stream `number` where it belongs.
    fn settle(&self, number: usize) -> Result<(), String> {
        ThreadContext { cpu: self.plan.cpu(number), netns: None }
            .settle()
            .map_err(|error| error.to_string())
    }

    fn send(&self, going: &Going, stop: &Stop) -> Result<(), String> {
        let hand_over = |datagram: &[u8]| going.talk.socket.send(datagram);
        send_paced(self.sending(), going.talk.token, &going.gauge, (stop, |_| true), hand_over)
            .map_err(|error| error.to_string())
    }

    /// Looks on until the time is over; what was received in each interval.
    fn watch(
        &self,
        began_ns: u64,
        control: &mut DatagramTalk,
        going: &[Going],
        coming: &[Coming],
        sampler: &mut dyn Sampler,
        stop: &Stop,
    ) -> Intervals {
        let mut asks = self.plan.direction.to_server();
        let here = || {
            self.plan.direction.from_server().then(|| Seen {
                at_ns: MonotonicClock.now_ns(),
                bytes: coming.iter().map(Coming::bytes).sum(),
                lost: Some(coming.iter().map(Coming::lost).sum()),
            })
        };
        let there = || {
            let seen = asks.then(|| accounts(control, going, false)).and_then(Result::ok);
            asks &= seen.is_some(); // a server that does not answer is not asked again
            seen.map(|accounts| Seen {
                at_ns: accounts.iter().map(|account| account.now_ns).max().unwrap_or(0),
                bytes: accounts.iter().map(|account| account.bytes).sum(),
                lost: Some(accounts.iter().map(|account| account.lost).sum()),
            })
        };
        let over =
            || going.iter().all(|going| going.gauge.over()) && coming.iter().all(Coming::over);
        self.plan.watch(began_ns, (sampler, stop), (here, there), over)
    }

    /// What went to the server, as far as it has told; `before` anything went.
    fn went(
        &self,
        accounts: Result<Vec<Account>, String>,
        going: &[Going],
        before: &[Account],
        ends: &mut Ends,
        carried_ns: u64,
    ) -> OneWay {
        match accounts {
            Ok(accounts) => {
                let sent = |going: &Going| (going.gauge.sent(), going.gauge.unsent());
                let overflowed = overflow(before).zip(overflow(&accounts));
                let overflowed = overflowed.map(|(before, after)| after.saturating_sub(before));
                self.way(&accounts, going.iter().map(sent).collect(), overflowed, carried_ns)
            }
            Err(lost) => {
                ends.broken[SENDS] = self.plan.streams as u64;
                ends.trouble = Some(lost);
                let sent: u64 = going.iter().map(|going| going.gauge.sent()).sum();
                OneWay::new(sent * self.plan.bytes as u64, 0, 0)
            }
        }
    }

    /// What came from the server.
    fn came(&self, ends: &mut Ends, carried_ns: u64) -> OneWay {
        for came in &mut ends.came {
            ends.cpu_ns += came.cpu_ns;
            ends.broken[RECEIVES] += u64::from(came.trouble.is_some());
            ends.trouble = came.trouble.take().or(ends.trouble.take());
        }
        let accounts: Vec<Account> = ends.came.iter().map(|came| came.account).collect();
        let sent = ends.came.iter().map(|came| (came.account.sent, came.unsent)).collect();
        // each stream has a socket of its own
        let overflowed = ends.came.iter().map(|came| came.overflowed).sum();
        let way = self.way(&accounts, sent, overflowed, carried_ns);
        // what is lost is known where every sender has said how many it sent
        let datagrams = way.datagrams.filter(|_| ends.came.iter().all(|came| came.is_told));
        OneWay { datagrams, ..way }
    }

    /// One direction: the `accounts` of its receiver, what was `sent` and what was not.
    fn way(
        &self,
        accounts: &[Account],
        sent: Vec<(u64, u64)>,
        overflowed: Option<u64>,
        carried_ns: u64,
    ) -> OneWay {
        let mut flow = DatagramFlow::default();
        for (account, (sent, unsent)) in accounts.iter().zip(sent) {
            let mut one = flow_of(account, sent, unsent);
            one.set_sent_rate(self.plan.bytes as u64, carried_ns);
            flow.merge(&one);
        }
        flow.overflowed = overflowed;
        let (own, all) = (self.plan.streams as u64, self.plan.of as u64);
        flow.asked_bits_per_s = real(self.rate.per_s()) * real(own) / real(all.max(1));
        let first = accounts.iter().map(|it| it.first_ns).filter(|at| *at > 0).min().unwrap_or(0);
        let last = accounts.iter().map(|account| account.last_ns).max().unwrap_or(0);
        let received = accounts.iter().map(|account| account.bytes).sum();
        // the last datagram takes its time as those before it did
        let every_ns = if first > 0 { self.sending().every_ns } else { 0 };
        let span_ns = last.saturating_sub(first).saturating_add(every_ns);
        let sent_bytes = flow.sent * self.plan.bytes as u64;
        OneWay { datagrams: Some(flow), ..OneWay::new(sent_bytes, received, span_ns) }
    }
}

/// Opens all that streams of datagrams go over, which may `never_fragment`.
fn connect(opening: &Opening, never_fragment: bool) -> Result<Ready, NetError> {
    let &Opening { ref endpoint, direction, streams, patience } = opening;
    let open = || DatagramTalk::open(endpoint, patience, never_fragment);
    let mut keys = SplitMix64::new(clock::wall_ns());
    let keys: Vec<u64> = (0..2 * streams).map(|_| keys.next_u64()).collect();
    let mut control = open()?;
    let mut transports = Transports::default();
    let mut note = |talk: &DatagramTalk| {
        if let Ok(transport) = talk.socket.transport(endpoint) {
            transports.add(&transport, 1);
        }
    };
    let (mut going, mut coming) = (Vec::new(), Vec::new());
    if direction.to_server() {
        let begin = |number: usize| {
            let (mut talk, key) = (open()?, keys[number]);
            talk.begin(Begin { key, from_server: None })?;
            Ok(Going { talk, key, gauge: SendGauge::default() })
        };
        let mut refused = None;
        for begun in opening.open_all(begin) {
            match begun {
                Ok(begun) => {
                    note(&begun.talk);
                    going.push(begun);
                }
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        if let Some(refused) = refused {
            // those that have begun must not take the place of others
            let _ = accounts(&mut control, &going, true);
            return Err(refused);
        }
    }
    if direction.from_server() {
        let keys = &keys[streams..];
        let open = |number: usize| open().map(|talk| Coming::new(talk, keys[number]));
        for opened in opening.open_all(open) {
            let opened = opened?;
            note(opened.talk());
            coming.push(opened);
        }
    }
    Ok(Ready { control, going, coming, transports })
}

/// What the server has counted once everything that was sent has come, or no more comes.
fn last_accounts(control: &mut DatagramTalk, going: &[Going]) -> Result<Vec<Account>, String> {
    let settle_ns = control.settle_ns();
    let pause = Stop::new().map_err(|error| error.to_string())?;
    let mut last = (0, MonotonicClock.now_ns());
    loop {
        let seen = accounts(control, going, true).map_err(|lost| lost.to_string())?;
        let came: u64 = seen.iter().map(|account| account.received).sum();
        let now = MonotonicClock.now_ns();
        if came > last.0 {
            last = (came, now);
        }
        let missing: u64 = seen.iter().map(|account| account.lost).sum();
        if missing == 0 || now >= last.1 + settle_ns {
            return Ok(seen);
        }
        // who wants to stop wants the counts all the same
        if pause.wait_until(now + ASK_AGAIN_NS).is_err() {
            return Ok(seen);
        }
    }
}

/// What the server says of each stream; it is told what was sent of those that have `ended`.
fn accounts(
    control: &mut DatagramTalk,
    going: &[Going],
    ended: bool,
) -> Result<Vec<Account>, NetError> {
    let ask = |going: &Going| Ask { key: going.key, ended: ended.then(|| going.gauge.sent()) };
    control.accounts(&going.iter().map(ask).collect::<Vec<_>>())
}

/// What a server's socket dropped, which all streams share.
fn overflow(accounts: &[Account]) -> Option<u64> {
    accounts.iter().map(|account| account.overflowed).max()
}

fn flow_of(account: &Account, sent: u64, unsent: u64) -> DatagramFlow {
    let class = |(bin, runs): (usize, &u64)| {
        let to = (bin + 1 < GAP_BINS).then_some(1_u64 << bin);
        let from = if bin == 0 { 1 } else { (1_u64 << (bin - 1)) + 1 };
        (*runs > 0).then_some(GapClass { from, to, runs: *runs })
    };
    DatagramFlow {
        sent,
        unsent,
        received: account.received,
        lost: sent.saturating_sub(account.received),
        reordered: account.reordered,
        duplicates: account.duplicates,
        too_late: account.too_late,
        jitter_ns: account.jitter_ns,
        jitter_max_ns: account.jitter_max_ns,
        gap_max: account.gap_max,
        gaps: account.gaps.iter().enumerate().filter_map(class).collect(),
        ..DatagramFlow::default()
    }
}

#[cfg(test)]
mod tests;
