//! `plumb net serve`: the echo server with its options and its log.

mod log;
mod together;

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use clap::Args;
use plumb_engine::clock::MonotonicClock;
use plumb_engine::layer::{JobError, Output, Verb, announce};
use plumb_engine::options::ServerLoopOptions;
use plumb_engine::tls::{ServerTlsOptions, TlsAcceptor};
use plumb_engine::{
    Address, DatagramPlan, DatagramSocket, HELD_TICK, Listener, Plain, ServePlan, Stop, serve,
    serve_datagrams,
};
use plumb_measure::{BitRate, ByteSize, Span, Tick, UnitError};

use self::log::{LogForm, ServeLog};
use crate::{
    DatagramServer, EchoLimits, EchoServer, Event, Extension, Farewell, Ledger, NetError, PORT,
    StreamLimits, StreamRoom, Streams,
};

/// The longest time that one message may occupy the server.
const SERVICE_NS_MAX: u64 = 1_000_000_000;

/// Memory for what is unfinished, of all clients of a server together, unless it is named: bytes.
pub const MEMORY_BYTES: usize = 256 << 20;
/// So many of the largest messages have room: one that comes in a growing buffer and goes back.
const MESSAGES_AT_LEAST: u64 = 4;

/// Lines of the log that may wait to be written before the server waits for them.
const LINES_WAITING: usize = 1_024;

/// What the echo server allows, and where it listens.
#[derive(Args, Clone, Debug)]
pub struct ServeOptions {
    /// Where to listen: HOST:PORT, smc:HOST:PORT, udp:HOST:PORT or unix:PATH, repeatable; port 0 picks
    /// a free one
    ///
    /// The default is loopback: name an address of this machine, or 0.0.0.0, to be reached from
    /// elsewhere. Over UDP nobody is answered with more than he sent, or before he has shown that
    /// answers reach him.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3298")]
    pub listen: Vec<String>,

    /// Close a client that is silent for this long; 0s: never
    #[arg(long, value_name = "TIME", default_value = "2h")]
    pub idle: Span,

    /// Close a client whose message was begun, or whose TLS handshake, does not go on for this
    /// long
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub stall: Span,

    /// Stop when no client has sent anything for this long; 0s: never
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub quit_after: Span,

    /// The largest message; a larger one is refused with NI_RTERR
    #[arg(long, value_name = "SIZE", default_value = "16MiB")]
    pub max_message: ByteSize,

    /// Memory for messages that are not complete and answers that are not taken, of all clients
    /// together: beyond it, those are closed that were silent longest [default: 256MiB, or four of
    /// the largest messages]
    #[arg(long, value_name = "SIZE")]
    pub max_memory: Option<ByteSize>,

    /// Let each message occupy the server for this long before it goes back
    ///
    /// The server computes meanwhile and hears nobody else, as a server with one processor does:
    /// a target whose speed is known.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = service_time)]
    pub service_time: Span,

    /// Whom the loop serves, and how it waits.
    #[command(flatten)]
    pub server_loop: ServerLoopOptions,

    /// Let the kernel hold back small segments (Nagle's algorithm) instead of sending each at once
    #[arg(long)]
    pub nagle: bool,

    /// Streams of `plumb net stream` carried at once, each on threads of its own
    #[arg(long, value_name = "N", default_value = "64")]
    pub max_streams: usize,

    /// What is sent over UDP to all clients together, streams of `plumb net stream --reverse`
    #[arg(long, value_name = "RATE", default_value = "1Gbit")]
    pub max_rate: BitRate,

    /// Return every message as it came, as niping does: without replies of another size, streams
    /// and totals
    #[arg(long)]
    pub echo_only: bool,

    /// Do not log who comes and goes
    #[arg(long, conflicts_with = "json")]
    pub quiet: bool,

    /// Print who comes and goes on standard output, one JSON object a line, instead of the log
    ///
    /// Clients that were connected at the same time have their sum in one of them.
    #[arg(long)]
    pub json: bool,

    /// Whether clients speak TLS.
    #[command(flatten)]
    pub tls: ServerTlsOptions,
}

impl ServeOptions {
    /// What the echo server itself allows.
    #[must_use]
    pub fn limits(&self) -> EchoLimits {
        EchoLimits {
            message_bytes_max: usize::try_from(self.max_message.bytes()).unwrap_or(usize::MAX),
            service_ns: self.service_time.ns(),
        }
    }

    /// Bytes for what is unfinished, of all clients together.
    fn memory(&self) -> usize {
        let usual =
            (MEMORY_BYTES as u64).max(self.max_message.bytes().saturating_mul(MESSAGES_AT_LEAST));
        let bytes = self.max_memory.map_or(usual, ByteSize::bytes);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Checks what no single option can know.
    ///
    /// # Errors
    /// [`NetError::Memory`] when the largest message would not fit.
    fn check(&self) -> Result<(), NetError> {
        let least = self.max_message.bytes().saturating_mul(MESSAGES_AT_LEAST);
        match (self.max_memory, ByteSize::new(least)) {
            (Some(memory), Some(least)) if memory < least => {
                return Err(NetError::Memory { memory, message: self.max_message, least });
            }
            _ => {}
        }
        let (datagrams, _) = self.addresses();
        if datagrams.is_empty() {
            return Ok(());
        }
        if self.quit_after.ns() > 0 {
            let text = "--quit-after counts what comes over connections: leave it out, or `udp:`";
            return Err(NetError::Transport(text));
        }
        if self.echo_only {
            let text =
                "--echo-only is what niping does, which knows no UDP: leave it out, or `udp:`";
            return Err(NetError::Transport(text));
        }
        Ok(())
    }

    /// Where to listen for datagrams, and where for connections.
    fn addresses(&self) -> (Vec<String>, Vec<String>) {
        let over_udp =
            |text: &String| matches!(Address::parse(text, PORT), Ok(Address::Udp { .. }));
        self.listen.iter().cloned().partition(over_udp)
    }

    /// What the loop of one socket of UDP allows.
    fn datagram_plan(&self) -> DatagramPlan {
        DatagramPlan {
            allow: self.server_loop.allow.clone(),
            spin: self.server_loop.spin,
            pin: self.server_loop.pin,
            tick: self.server_loop.tick(),
        }
    }

    fn log_form(&self) -> LogForm {
        match (self.json, self.quiet) {
            (true, _) => LogForm::Json,
            (false, true) => LogForm::Quiet,
            (false, false) => LogForm::Text,
        }
    }

    /// What the engine's loop allows.
    #[must_use]
    pub fn plan(&self) -> ServePlan {
        let unless_zero = |span: Span| (span.ns() > 0).then_some(span);
        ServePlan {
            idle: unless_zero(self.idle),
            quit_after: unless_zero(self.quit_after),
            memory: Some(self.memory()),
            nagle: self.nagle.into(),
            ..self.server_loop.plan(self.stall)
        }
    }
}

/// A time that the server may be deaf for.
fn service_time(text: &str) -> Result<Span, String> {
    let time: Span = text.parse().map_err(|error: UnitError| error.to_string())?;
    if time.ns() <= SERVICE_NS_MAX {
        Ok(time)
    } else {
        Err("the server would hear nobody for so long: at most 1s".into())
    }
}

/// The echo server as a job.
#[derive(Debug)]
pub struct Serve {
    options: ServeOptions,
}

impl Serve {
    /// A server with these options; it listens once it runs.
    #[must_use]
    pub fn new(options: ServeOptions) -> Self {
        Self { options }
    }
}

impl Verb for Serve {
    fn run(&mut self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        self.options.check()?;
        let tls = self.options.tls.acceptor(&[]).map_err(NetError::from)?;
        let (datagrams, connections) = self.options.addresses();
        let datagrams = DatagramSocket::bind_all(&datagrams, PORT)?;
        let datagrams: Vec<_> = datagrams.into_iter().map(Arc::new).collect();
        let listeners = listeners(&connections)?;
        if !self.options.json {
            announce(&listeners, out)?;
            for socket in &datagrams {
                writeln!(out, "listening on {}", socket.local())?;
            }
            out.flush()?;
        }
        let room = &self.room();
        let destination: Output<'_> = if self.options.json { &mut *out } else { &mut *log };
        thread::scope(|scope| {
            let (lines, written) = mpsc::sync_channel::<String>(LINES_WAITING);
            let log = ServeLog::new(lines, self.options.log_form());
            let overdue = log.overdue();
            let writer = scope.spawn(move || overdue.write(&written, destination));
            listeners.iter().for_each(|listener| log.listens(&listener.local().to_string()));
            datagrams.iter().for_each(|socket| log.listens(&socket.local().to_string()));
            let this: &Self = self;
            let of_datagrams: Vec<_> = datagrams
                .iter()
                .map(|socket| {
                    let log = log.clone();
                    scope.spawn(move || this.serve_datagrams(socket, room, &log, stop))
                })
                .collect();
            let mut served = this.serve(tls.as_ref(), &listeners, room, &log, stop);
            if served.is_err() {
                stop.ask(); // the others would go on without end
            }
            for thread in of_datagrams {
                let ended = thread.join().unwrap_or_else(|_| Err("a thread panicked".into()));
                served = served.and(ended);
            }
            drop(log);
            // the thread ends once everything is written
            let _ = writer.join();
            served
        })
    }
}

impl Serve {
    /// What streams may take, of all addresses together.
    fn room(&self) -> Arc<StreamRoom> {
        let (streams, rate) = (self.options.max_streams, Some(self.options.max_rate));
        Arc::new(StreamRoom::new(StreamLimits { streams, rate }))
    }

    /// Answers what comes to one `socket` of UDP.
    fn serve_datagrams(
        &self,
        socket: &Arc<DatagramSocket>,
        room: &Arc<StreamRoom>,
        log: &ServeLog,
        stop: &Stop,
    ) -> Result<(), JobError> {
        let options = &self.options;
        let service_ns = options.service_time.ns();
        let mut server = DatagramServer::new(
            MonotonicClock,
            options.server_loop.max_clients,
            service_ns,
            Arc::clone(room),
            Some(Arc::clone(socket)),
        );
        let served = serve_datagrams(&options.datagram_plan(), socket, &mut server, stop);
        log.datagrams(&socket.local().to_string(), &server.totals());
        if served.is_err() {
            stop.ask();
        }
        Ok(served?)
    }

    /// Serves `listeners` and tells `log` who comes and goes.
    fn serve(
        &self,
        tls: Option<&TlsAcceptor>,
        listeners: &[Listener],
        room: &Arc<StreamRoom>,
        log: &ServeLog,
        stop: &Stop,
    ) -> Result<(), JobError> {
        let ledger = Ledger::default();
        let farewell: Farewell = {
            let log = log.clone();
            Arc::new(move |client, served_ns, ended| {
                log.event(&Event::Closed(client, served_ns, ended));
            })
        };
        let options = &self.options;
        let streams = Streams::new(Arc::clone(room), options.stall, ledger.clone(), farewell);
        let mut tell = |event: Event<'_>| log.event(&event);
        let mut server = EchoServer::new(options.limits(), MonotonicClock, &mut tell);
        if !options.echo_only {
            let tick = options.server_loop.tick();
            server = server.with(Extension::new(ledger.clone(), streams.clone(), tick));
        }
        let plan = options.plan();
        if plan.tick == Tick::Held {
            log.note(HELD_TICK);
        }
        let served = match tls {
            None => serve(&plan, listeners, &mut server, Plain::default, stop),
            Some(tls) => serve(&plan, listeners, &mut server, || tls.link(), stop),
        };
        streams.stop();
        log.totals(&ledger.totals());
        Ok(served?)
    }
}

/// Listens on every address of `listen`.
///
/// # Errors
/// [`NetError`] names the address that cannot be listened on.
pub fn listeners(listen: &[String]) -> Result<Vec<Listener>, NetError> {
    Ok(Listener::bind_all(listen, PORT)?)
}
