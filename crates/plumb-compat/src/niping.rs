//! Called as `niping`: its options, its output.

mod hidden;

use std::ffi::OsString;
use std::io::{self, Write};
use std::num::NonZeroUsize;

use clap::{ArgAction, Parser};
use plumb_engine::clock::{self, MonotonicClock};
use plumb_engine::load::{self, Stage};
use plumb_engine::options::{TransportKind, TransportOptions};
use plumb_engine::{
    Address, Endpoint, EngineError, Family, IntervalRecords, LoadPlan, Pace, Plain, Protocol,
    Sampler, ServePlan, reachable, serve,
};
use plumb_measure::{FailureKind, Failures, NipingFigures, Span, Transport, grouped};
use plumb_net::{
    EchoLimits, EchoServer, Event, MEMORY_BYTES, NetError, PORT, Probe, Routed, SIZE_MAX, listeners,
};
use plumb_report::niping::block;
use plumb_wire::ni::ReturnCode;
use plumb_wire::route::{Route, port_of};

use plumb_command::exit::{self, Unread};
use plumb_command::{Exit, signals};

/// The largest payload a server takes: what NI peers accept by default.
const LIMITS: EchoLimits = EchoLimits { message_bytes_max: 16 << 20, service_ns: 0 };
/// Before the number of a return code that the other side told.
const TOLD_CODE: &str = ", rc = ";
/// The longest wait for a round trip.
const PATIENCE: Span = Span::from_ms(60_000);

/// Network round trips as niping measures them (Plumbline's own implementation)
#[derive(Parser, Debug)]
#[command(name = "niping", disable_help_flag = true, version)]
#[command(group(clap::ArgGroup::new("mode").required(true).args(["server", "client", "test"])))]
struct Words {
    /// Start a server
    #[arg(short = 's')]
    server: bool,

    /// Start a client
    #[arg(short = 'c')]
    client: bool,

    /// Show the name and the addresses of this host
    #[arg(short = 't')]
    test: bool,

    /// Client: the server, or a route /H/router/S/3299/W/-/H/host to it; server: the address to
    /// listen on
    #[arg(short = 'H', value_name = "HOST")]
    host: Option<String>,

    /// Port of the server: a number, sapdpNN or sapgwNN
    #[arg(short = 'S', value_name = "PORT", default_value_t = PORT, value_parser = port)]
    port: u16,

    /// Payload of a message, bytes
    #[arg(short = 'B', value_name = "BYTES", default_value = "1000")]
    bytes: usize,

    /// Number of messages
    #[arg(short = 'L', value_name = "LOOPS", default_value = "10")]
    loops: u64,

    /// Delay between two messages, milliseconds
    #[arg(short = 'D', value_name = "MS", default_value = "0")]
    delay_ms: u64,

    /// Server: stop after so many idle seconds; 0: never
    #[arg(short = 'I', value_name = "SECONDS", default_value = "300")]
    idle_s: u64,

    /// Send nothing between the messages (this program never does)
    #[arg(short = 'P')]
    pause: bool,

    /// Print help
    #[arg(short = 'h', long = "help", action = ArgAction::Help)]
    help: Option<bool>,
}

/// Runs `line` as niping would.
pub fn main(line: &[OsString]) -> Exit {
    let words = match Words::try_parse_from(line) {
        Ok(words) => words,
        Err(message) if message.use_stderr() => {
            let text = message.to_string();
            let cause = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            // a closed pipe leaves nobody to tell, here and below
            let _ = writeln!(io::stdout(), "*** ERROR => {cause}; niping -h lists the options");
            return Exit::DidNotRun;
        }
        Err(help) => {
            let _ = help.print();
            return Exit::Ran;
        }
    };
    let mut out = Unread(io::stdout());
    let ran = match &words {
        Words { server: true, .. } => run_server(&words, &mut out),
        Words { client: true, .. } => hidden::passwords(&words, line)
            .and_then(|route| run_client(&words, route.as_ref(), &mut out)),
        _ => self_test(&mut out),
    };
    match ran {
        Ok(exit) => exit,
        Err(error) => {
            let _ = writeln!(out, "*** ERROR => {}", with_code(&error));
            Exit::DidNotRun
        }
    }
}

fn run_client(words: &Words, route: Option<&Route>, out: &mut impl Write) -> anyhow::Result<Exit> {
    let host = match route {
        Some(route) => route.router()?,
        None => words.host(),
    };
    anyhow::ensure!(words.bytes > 0, "-B 0 measures nothing; write -B 1 or more");
    anyhow::ensure!(words.bytes as u64 <= SIZE_MAX, "-B takes at most {SIZE_MAX} bytes");
    anyhow::ensure!(words.loops > 0, "-L 0 measures nothing; write -L 1 or more");
    let plan = words.plan();
    plan.check()?;
    let stop = signals::stop()?;
    let transport = TransportOptions { transport: TransportKind::Tcp, v4: false, v6: false };
    let mut candidates = transport.endpoints(&host, words.port)?;
    candidates.sort_by_key(|endpoint| !matches!(endpoint, Endpoint::Tcp(ip) if ip.is_ipv4()));
    let endpoint = reachable(&candidates, PATIENCE, &stop)?;
    let mut lines = Lines { out, trouble: None };
    let mut stage =
        Stage { endpoint: &endpoint, stop: &stop, samplers: &mut [&mut lines], gate: None };
    let probe = || Routed::new(route.cloned(), Probe::new(words.bytes));
    let load = load::run(&plan, &mut stage, 1, probe, Plain::default)?;
    if let Some(trouble) = lines.trouble {
        return Err(trouble.into());
    }
    let complaint = load.protocols.iter().find_map(Protocol::complaint);
    let recorder = &load.recorder;
    let done = recorder.operations();
    writeln!(out, "{}", clock::ctime(clock::wall_ns()))?;
    writeln!(out, "send and receive {done} messages (len {})\n", words.bytes)?;
    let round_trips = recorder.rows().first().map(|row| &row.service);
    let figures = round_trips.and_then(|times| NipingFigures::of(times, words.bytes as u64));
    if let Some(figures) = figures {
        write!(out, "{}", block(&figures))?;
    }
    let failures = recorder.failures();
    let whole = format!("{done} of {} messages came back", words.loops);
    if !failures.is_empty() {
        let complaint = complaint.as_deref();
        writeln!(out, "*** ERROR => {whole}; {}", failed(&failures, complaint))?;
        return Ok(Exit::Finding);
    }
    if done < words.loops {
        let (why, exit) = match stop.asked() {
            true => ("interrupted", Exit::Interrupted),
            false => ("not all were sent", Exit::Finding),
        };
        writeln!(out, "*** ERROR => {whole}: {why}")?;
        return Ok(exit);
    }
    Ok(Exit::Ran)
}

/// The failures of a run by their kinds, with one code of NI: that of the other side where its first
/// `complaint` has one.
fn failed(failures: &Failures, complaint: Option<&str>) -> String {
    let kinds: Vec<String> =
        failures.iter().map(|(kind, n)| format!("{} {}", grouped(n), kind.name())).collect();
    let most = failures.iter().max_by_key(|(_, n)| *n).map(|(kind, _)| kind);
    let code = format!(" ({})", return_code(most.unwrap_or(FailureKind::Closed)));
    let (complaint, code) = match complaint {
        Some(text) if text.contains(TOLD_CODE) => (format!(": {text}"), String::new()),
        Some(text) => (format!(": {text}"), code),
        None => (String::new(), code),
    };
    format!("failures: {}{complaint}{code}", kinds.join(", "))
}

/// A port by number, or by the service names that SAP's instances use.
fn port(text: &str) -> Result<u16, String> {
    port_of(text).ok_or_else(|| "expected a port from 0 to 65535, sapdpNN or sapgwNN".into())
}

impl Words {
    /// Where a client connects to.
    fn host(&self) -> String {
        self.host.clone().unwrap_or_else(|| "localhost".into())
    }

    fn plan(&self) -> LoadPlan {
        let one = NonZeroUsize::MIN;
        let pace = match self.delay_ms {
            0 => Pace::AsFast,
            ms => Pace::Delay(Span::from_ms(ms)),
        };
        LoadPlan {
            pace,
            waiting: LoadPlan::suitable_waiting(one, one, pace),
            ..LoadPlan::lone(self.loops, PATIENCE)
        }
    }
}

/// Prints what niping prints when the connection stands.
struct Lines<'a, W> {
    out: &'a mut W,
    trouble: Option<io::Error>,
}

impl<W: Write> Sampler for Lines<'_, W> {
    fn begin(&mut self, _: Option<&Transport>) {
        let time = clock::ctime(clock::wall_ns());
        let printed = writeln!(self.out, "{time}\nconnect to server o.k.");
        self.trouble = printed.and_then(|()| self.out.flush()).err();
    }

    fn interval(&mut self, _: &IntervalRecords) {}
}

fn run_server(words: &Words, out: &mut (impl Write + Send)) -> anyhow::Result<Exit> {
    let stop = signals::stop()?;
    let host = words.host.as_deref().unwrap_or("127.0.0.1");
    let address = Address::Host { host: host.trim_matches(['[', ']']).into(), port: words.port };
    let listeners = listeners(&[address.to_string()])?;
    writeln!(out, "{}\nready for connect from client ...\n", clock::ctime(clock::wall_ns()))?;
    if words.port == 0 {
        listeners.iter().try_for_each(|at| writeln!(out, "listening on {}", at.local()))?;
    }
    out.flush()?;
    let plan = ServePlan {
        quit_after: (words.idle_s > 0).then_some(Span::from_ms(words.idle_s.saturating_mul(1_000))),
        memory: Some(MEMORY_BYTES),
        ..ServePlan::new(1_000, PATIENCE)
    };
    let mut tell = |event: Event<'_>| {
        let time = clock::ctime(clock::wall_ns());
        // output that cannot be written must not end the service
        let _ = match event {
            Event::Opened(client) => writeln!(
                out,
                "{time}\nconnect from host '{}', client hdl {} o.k.\n",
                host_of(&client.peer),
                client.handle
            ),
            Event::Closed(client, ..) => {
                writeln!(out, "{time}\nclient hdl {} disconnected ...\n", client.handle)
            }
            Event::TurnedAway(peer, why) => writeln!(out, "*** ERROR => {peer}: {why}"),
            Event::CannotAccept(error) => writeln!(out, "*** ERROR => cannot accept: {error}"),
        };
        let _ = out.flush();
    };
    let mut server = EchoServer::new(LIMITS, MonotonicClock, &mut tell);
    serve(&plan, &listeners, &mut server, Plain::default, &stop)?;
    Ok(Exit::Ran)
}

fn host_of(peer: &plumb_engine::Peer) -> String {
    match peer {
        plumb_engine::Peer::Ip(address) => address.ip().to_canonical().to_string(),
        plumb_engine::Peer::Unix => "unix".into(),
    }
}

fn self_test(out: &mut impl Write) -> anyhow::Result<Exit> {
    let system = rustix::system::uname();
    let name = system.nodename().to_string_lossy().into_owned();
    writeln!(out, "{}", clock::ctime(clock::wall_ns()))?;
    writeln!(out, "host name: {name}")?;
    let address = Address::Host { host: name, port: PORT };
    for endpoint in Endpoint::resolve(&address, Family::Any)? {
        if let Endpoint::Tcp(address) = endpoint {
            writeln!(out, "address:   {}", address.ip())?;
        }
    }
    Ok(Exit::Ran)
}

/// What happened, with one code of NI: that of the other side where it told one.
fn with_code(error: &anyhow::Error) -> String {
    let said = exit::said(error);
    if said.contains(TOLD_CODE) { said } else { format!("{said}{}", code_of(error)) }
}

/// NI's name for what happened, where it has one.
fn code_of(error: &anyhow::Error) -> String {
    let engine = error.downcast_ref::<EngineError>().or_else(|| {
        error.downcast_ref::<NetError>().and_then(|error| match error {
            NetError::Engine(engine) => Some(engine),
            _ => None,
        })
    });
    let code = match engine {
        Some(EngineError::Resolve { .. }) => ReturnCode::HOST_UNKNOWN,
        Some(EngineError::Connect { kind, .. } | EngineError::Greeting { kind, .. }) => {
            return_code(*kind)
        }
        _ => return String::new(),
    };
    format!(" ({code})")
}

fn return_code(kind: FailureKind) -> ReturnCode {
    match kind {
        FailureKind::ConnectRefused | FailureKind::ConnectFailed | FailureKind::Refused => {
            ReturnCode::CONN_REFUSED
        }
        FailureKind::ConnectTimedOut | FailureKind::TimedOut | FailureKind::Lost => {
            ReturnCode::TIMEOUT
        }
        FailureKind::HandshakeFailed
        | FailureKind::UnexpectedStatus
        | FailureKind::Garbled
        | FailureKind::HeadTooLarge
        | FailureKind::BodyTooLarge
        | FailureKind::Closed
        | FailureKind::Reset
        | FailureKind::Collided
        | FailureKind::CheckFailed
        | FailureKind::NothingExtracted
        | FailureKind::Late
        | FailureKind::NotSent
        | FailureKind::StreamRefused
        | FailureKind::StreamReset
        | FailureKind::ConnectionError
        | FailureKind::Unasked => ReturnCode::CONN_BROKEN,
    }
}

#[cfg(test)]
mod tests {
    use plumb_measure::Tick;

    use super::*;

    #[test]
    fn failures_are_counted_and_carry_the_code_that_was_told() {
        let mut failures = Failures::default();
        failures.add(FailureKind::Reset, 2);
        assert_eq!(failed(&failures, None), "failures: 2 reset (NIECONN_BROKEN, rc = -6)");
        let complaint = "sent back other bytes";
        failures.add(FailureKind::Garbled, 1);
        let text = "failures: 1 garbled, 2 reset: sent back other bytes (NIECONN_BROKEN, rc = -6)";
        assert_eq!(failed(&failures, Some(complaint)), text);
        let mut refused = Failures::default();
        refused.count(FailureKind::Refused);
        let told = "refused: broken by test (NIECONN_BROKEN, rc = -6); see the log of the server";
        assert_eq!(failed(&refused, Some(told)), format!("failures: 1 refused: {told}"));
    }

    #[test]
    fn an_error_carries_one_code() {
        let greeting = |complaint: &str| {
            anyhow::Error::from(EngineError::Greeting {
                address: "router:3299".into(),
                complaint: complaint.into(),
                kind: FailureKind::Refused,
            })
        };
        let told = "refuses: route denied (NIEROUT_PERM_DENIED, rc = -94)";
        assert_eq!(with_code(&greeting(told)), format!("router:3299 {told}"));
        let own = with_code(&greeting("is silent"));
        assert_eq!(own, "router:3299 is silent (NIECONN_REFUSED, rc = -10)");
    }

    #[test]
    fn a_client_leaves_the_tick_alone_with_or_without_a_delay() {
        for words in [&["niping", "-c"][..], &["niping", "-c", "-D", "5"]] {
            assert_eq!(Words::try_parse_from(words).unwrap().plan().tick, Tick::Free);
        }
        assert!(Words::try_parse_from(["niping", "-c", "--hold-tick"]).is_err());
    }
}
