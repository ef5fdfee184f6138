//! The client half of streams: all of one result, from the first connection to the last count.

use std::os::fd::OwnedFd;
use std::panic::resume_unwind;
use std::sync::Barrier;
use std::thread;

use plumb_engine::clock::{self, MonotonicClock};
use plumb_engine::{Endpoint, Gate, Sampler, Stop, ThreadContext};
use plumb_measure::statistics::SplitMix64;
use plumb_measure::{
    Clock as _, OneWay, Span, StreamFigures, StreamInterval, Transport, Transports,
};
use plumb_wire::extension::{Answer, Carried, Direction, Request, Stream};
use rustix::net::{Shutdown, shutdown};

use crate::NetError;
use crate::intervals::{self, Boundaries, Intervals, Seen};
use crate::pump::{self, Gauge, StreamSide};
use crate::talk::{Talk, TalkError};

/// How often the server is asked whether it has booked every stream that is over.
const ASK_AGAIN: Span = Span::from_ms(2);

/// What is to be carried over streams, of bytes or of datagrams.
#[derive(Clone, Debug)]
pub(crate) struct StreamPlan<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) direction: Direction,
    pub(crate) streams: usize,
    /// Streams of all processes that carry together.
    pub(crate) of: usize,
    /// Bytes handed to the kernel at once: a datagram, where those are sent.
    pub(crate) bytes: usize,
    pub(crate) length: Span,
    pub(crate) interval: Span,
    pub(crate) patience: Span,
    /// Processors of the streams, one a stream in turn.
    pub(crate) pin: &'a [usize],
    /// Where it waits for its controller, once the server knows all streams.
    pub(crate) gate: Option<&'a Gate>,
}

impl StreamPlan<'_> {
    /// Looks on from `began_ns` until the time is over, or all is `over` before; what was received in
    /// each interval, by `looks` at this side and the other one.
    pub(crate) fn watch(
        &self,
        began_ns: u64,
        (sampler, stop): (&mut dyn Sampler, &Stop),
        looks: (impl Fn() -> Option<Seen>, impl FnMut() -> Option<Seen>),
        over: impl Fn() -> bool,
    ) -> Intervals {
        let boundaries = Boundaries {
            began_ns,
            until_ns: self.until_ns(began_ns),
            every_ns: self.interval.ns(),
        };
        let wait = |until_ns: u64| {
            let enough = stop.wait_until(until_ns).unwrap_or(true);
            if !enough {
                sampler.tick();
            }
            enough
        };
        intervals::watch(&boundaries, &MonotonicClock, wait, looks, over)
    }

    fn until_ns(&self, began_ns: u64) -> u64 {
        began_ns.saturating_add(self.length.ns())
    }

    /// What the connections of all streams are made of.
    pub(crate) fn opening(&self) -> Opening {
        let &Self { endpoint, direction, streams, patience, .. } = self;
        Opening { endpoint: endpoint.clone(), direction, streams, patience }
    }

    /// The processor of stream `number`, where they are named.
    pub(crate) fn cpu(&self, number: usize) -> Option<usize> {
        self.pin.get(number % self.pin.len().max(1)).copied()
    }
}

/// What the connections of all streams are made of, for a thread that is left alone when somebody asks to
/// stop: a server may take them and say nothing.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub(crate) endpoint: Endpoint,
    pub(crate) direction: Direction,
    pub(crate) streams: usize,
    pub(crate) patience: Span,
}

impl Opening {
    /// What comes of opening each stream by its number, all at the same time: on a long way the first would wait too long
    /// for the last.
    pub(crate) fn open_all<T: Send>(&self, open: impl Fn(usize) -> T + Sync) -> Vec<T> {
        thread::scope(|scope| {
            let open = &open;
            let threads: Vec<_> =
                (0..self.streams).map(|number| scope.spawn(move || open(number))).collect();
            let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
            joined.map(|opened| opened.unwrap_or_else(|panic| resume_unwind(panic))).collect()
        })
    }

    fn connect(&self) -> Result<Ready, NetError> {
        let told = |error| NetError::talk(&self.endpoint, error);
        let token = SplitMix64::new(clock::wall_ns()).next_u64();
        let mut control = Talk::open(&self.endpoint, self.patience).map_err(told)?;
        control.ask(Request::Carried(token)).map_err(told)?;
        let stream = Stream { direction: self.direction, token };
        let mut ready =
            Ready { control, token, sockets: Vec::new(), transports: Transports::default() };
        for opened in self.open_all(|_| self.open(stream)) {
            let (socket, transport) = opened.map_err(told)?;
            ready.sockets.push(socket);
            ready.transports.add(&transport, 1);
        }
        Ok(ready)
    }

    /// A connection for `stream`, and what it really uses.
    fn open(&self, stream: Stream) -> Result<(OwnedFd, Transport), TalkError> {
        let mut talk = Talk::open(&self.endpoint, self.patience)?;
        talk.ask(Request::Stream(stream))?;
        let transport = talk.transport()?;
        Ok((talk.into_socket(), transport))
    }
}

/// Streams of bytes over connections.
#[derive(Clone, Debug)]
pub(crate) struct Carriage<'a> {
    pub(crate) plan: StreamPlan<'a>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) figures: StreamFigures,
    /// Start, nanoseconds on the monotonic clock.
    pub(crate) began_ns: u64,
    /// Streams that broke, as either side saw it, with the last cause that this side knows.
    pub(crate) broken: u64,
    pub(crate) trouble: Option<String>,
    /// What the streams really used.
    pub(crate) transports: Transports,
}

/// All connections of a result, ready to carry.
struct Ready {
    control: Talk,
    token: u64,
    sockets: Vec<OwnedFd>,
    transports: Transports,
}

impl Carriage<'_> {
    /// Carries the streams to their end, or until `stop` is asked.
    ///
    /// # Errors
    /// When they cannot begin. What breaks later is counted.
    pub(crate) fn run(&self, sampler: &mut dyn Sampler, stop: &Stop) -> Result<Delivery, NetError> {
        let opening = self.plan.opening();
        let mut ready = stop.unless_asked(move || opening.connect())??;
        if let Some(gate) = self.plan.gate {
            gate.pass(stop)?;
        }
        sampler.begin(ready.transports.first());
        let gauges: Vec<Gauge> = ready.sockets.iter().map(|_| Gauge::default()).collect();
        let start = Barrier::new(ready.sockets.len() + 1);
        let watched = Stop::new()?;
        let mut intervals = Intervals::default();
        let mut began_ns = 0;
        let carried: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (ready.sockets.iter().zip(&gauges).enumerate())
                .map(|(number, (socket, gauge))| {
                    let start = &start;
                    scope.spawn(move || {
                        start.wait();
                        self.carry(number, socket, gauge)
                    })
                })
                .collect();
            start.wait();
            began_ns = MonotonicClock.now_ns();
            let (sockets, gauges, watched) = (&ready.sockets, &gauges, &watched);
            // whoever looks on may wait for an answer when the time is over
            scope.spawn(move || {
                let _ = watched.wait_until(self.plan.until_ns(began_ns));
                self.end(sockets, gauges);
            });
            intervals =
                self.watch(began_ns, gauges, &mut ready.control, ready.token, sampler, stop);
            watched.ask();
            threads.into_iter().map(thread::ScopedJoinHandle::join).collect()
        });
        let mut sum = Sum::default();
        carried.into_iter().for_each(|carried| sum.add(carried));
        let server = match self.settle(&mut ready) {
            Ok(server) => server,
            Err(lost) => {
                sum.broken = self.plan.streams as u64;
                sum.trouble = Some(lost.to_string());
                Carried::default()
            }
        };
        Ok(Delivery {
            figures: self.figures(&gauges, &sum, &server, intervals.list),
            began_ns,
            broken: sum.broken.max(u64::from(server.broken)),
            trouble: sum.trouble,
            transports: ready.transports,
        })
    }

    /// Lets all streams end.
    fn end(&self, sockets: &[OwnedFd], gauges: &[Gauge]) {
        gauges.iter().for_each(Gauge::end);
        if !self.plan.direction.to_server() {
            // who only receives says with the end of its own side that it is enough
            for socket in sockets {
                let _ = shutdown(socket, Shutdown::Write);
            }
        }
    }

    fn carry(&self, number: usize, socket: &OwnedFd, gauge: &Gauge) -> pump::Carried {
        let part = StreamSide {
            sends: self.plan.direction.to_server().then_some(self.plan.bytes),
            receives: self.plan.direction.from_server(),
            first_silences: 1,
        };
        let settled = ThreadContext { cpu: self.plan.cpu(number), netns: None }
            .settle()
            .map_err(std::io::Error::other)
            .and_then(|()| pump::make_patient(socket, self.plan.patience))
            // the server sends from the moment on that it knows of a stream
            .and_then(|()| gauge.leave_out_unread(socket));
        match settled {
            Ok(()) => pump::carry(socket, part, gauge),
            Err(trouble) => {
                let _ = shutdown(socket, Shutdown::Both);
                pump::Carried { trouble: Some(trouble), ..pump::Carried::default() }
            }
        }
    }

    /// Looks on until the time is over; what was received in each interval.
    fn watch(
        &self,
        began_ns: u64,
        gauges: &[Gauge],
        control: &mut Talk,
        token: u64,
        sampler: &mut dyn Sampler,
        stop: &Stop,
    ) -> Intervals {
        let mut asks = self.plan.direction.to_server();
        let here = || {
            self.plan.direction.from_server().then(|| Seen {
                at_ns: MonotonicClock.now_ns(),
                bytes: gauges.iter().map(Gauge::received).sum(),
                lost: None,
            })
        };
        let there = || {
            let seen = asks.then(|| carried(control, token)).and_then(Result::ok);
            asks &= seen.is_some(); // a server that does not answer is not asked again
            seen.map(|seen| Seen { at_ns: seen.now_ns, bytes: seen.bytes_in, lost: None })
        };
        let over = || gauges.iter().all(Gauge::over);
        self.plan.watch(began_ns, (sampler, stop), (here, there), over)
    }

    /// What the server has counted, once it has booked every stream.
    fn settle(&self, ready: &mut Ready) -> Result<Carried, NetError> {
        let told = |error| NetError::talk(self.plan.endpoint, error);
        let patience_until = MonotonicClock.now_ns() + self.plan.patience.ns();
        let pause = Stop::new()?; // who wants to stop wants the counts all the same
        loop {
            let seen = self.carried_surely(&mut ready.control, ready.token).map_err(told)?;
            let now = MonotonicClock.now_ns();
            if seen.ended >= seen.began || now >= patience_until {
                return Ok(seen);
            }
            pause.wait_until(now + ASK_AGAIN.ns())?;
        }
    }

    /// What the server has counted so far, asked over another connection where this one is lost: nothing
    /// may have gone over it for as long as the streams lasted.
    fn carried_surely(&self, control: &mut Talk, token: u64) -> Result<Carried, TalkError> {
        carried(control, token).or_else(|lost| {
            *control = Talk::open(self.plan.endpoint, self.plan.patience).map_err(|_| lost)?;
            carried(control, token)
        })
    }

    fn figures(
        &self,
        gauges: &[Gauge],
        sum: &Sum,
        server: &Carried,
        intervals: Vec<StreamInterval>,
    ) -> StreamFigures {
        let total = |of: fn(&Gauge) -> u64| gauges.iter().map(of).sum::<u64>();
        let span = |first: u64, last: u64| if first == 0 { 0 } else { last.saturating_sub(first) };
        let tcp = matches!(self.plan.endpoint, Endpoint::Tcp(_));
        let to_server = self.plan.direction.to_server().then(|| OneWay {
            retransmits: tcp.then_some(sum.retransmits),
            ..OneWay::new(
                total(Gauge::sent),
                server.bytes_in,
                span(server.first_ns, server.last_ns),
            )
        });
        let from_server = self.plan.direction.from_server().then(|| {
            let first = gauges.iter().map(Gauge::first_ns).filter(|at| *at > 0).min();
            let last = gauges.iter().map(Gauge::last_ns).max();
            OneWay {
                retransmits: tcp.then_some(server.retransmits),
                ..OneWay::new(
                    server.bytes_out.saturating_sub(total(Gauge::early)),
                    total(Gauge::received),
                    span(first.unwrap_or(0), last.unwrap_or(0)),
                )
            }
        });
        StreamFigures {
            streams: self.plan.streams as u64,
            to_server,
            from_server,
            client_cpu_ns: sum.cpu_ns,
            server_cpu_ns: server.cpu.user_ns + server.cpu.system_ns,
            intervals,
        }
        .with_what_intervals_know()
    }
}

fn carried(control: &mut Talk, token: u64) -> Result<Carried, TalkError> {
    match control.ask(Request::Carried(token))? {
        Answer::Carried(carried) => Ok(carried),
        _ => Err(TalkError::PlainEcho),
    }
}

/// What this side's threads did.
#[derive(Debug, Default)]
struct Sum {
    cpu_ns: u64,
    retransmits: u64,
    broken: u64,
    trouble: Option<String>,
}

impl Sum {
    fn add(&mut self, carried: thread::Result<pump::Carried>) {
        let Ok(carried) = carried else {
            self.broken += 1;
            return;
        };
        self.cpu_ns += carried.cpu.user_ns + carried.cpu.system_ns;
        self.retransmits += carried.retransmits;
        if let Some(trouble) = carried.trouble {
            self.broken += 1;
            self.trouble = Some(trouble.to_string());
        }
    }
}

#[cfg(test)]
mod tests;
