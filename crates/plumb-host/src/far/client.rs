//! The connection to a far machine.

use std::io::{ErrorKind, Read as _, Write as _};

use plumb_engine::clock::{self, MonotonicClock};
use plumb_engine::{Address, Connection, Endpoint, EngineError, Family, SocketOptions};
use plumb_measure::{Clock as _, Span, show_ns};
use serde::de::DeserializeOwned;

use super::PORT;
use super::wire::{self, HELLO_SCHEMA, Hello, Request};
use crate::HostError;
use crate::sample::{SCHEMA, Sample};

/// An answer must be there within this.
const PATIENCE: Span = Span::from_ms(2_000);
/// The longest answer, bytes: a machine of a thousand processors needs a quarter of it.
const LINE_MAX: usize = 4 << 20;
/// A machine that answers less often than this is none to record, nanoseconds.
const EVERY_MOST_NS: u64 = 3_600_000_000_000;
/// The longest name of a machine; the kernel's own are no longer.
const NAME_MAX: usize = 64;

/// A far machine that has said what it is.
#[derive(Debug)]
pub struct FarHost {
    address: String,
    name: String,
    link: Link,
    hello: Hello,
    /// When it said so, on our monotonic clock.
    at_ns: u64,
    round_trip_ns: u64,
    clock_ahead_ns: i64,
}

impl FarHost {
    /// Connects to the `plumb host serve` at `address`, and asks what machine it runs on.
    ///
    /// # Errors
    /// [`HostError`] when nobody answers there, or somebody else does.
    pub fn reach(address: &str) -> Result<Self, HostError> {
        let mut link = Link::connect(address)?;
        let wrong = |complaint: String| HostError::NoFarHost { address: address.into(), complaint };
        let answer = link.ask::<Hello>(Request::Hello, HELLO_SCHEMA).map_err(wrong)?;
        let hello = answer.value;
        if hello.every_ns > EVERY_MOST_NS {
            return Err(wrong("answers too seldom: start it with a shorter --every".into()));
        }
        let clock_ahead_ns = i128::from(hello.wall_ns) - i128::from(answer.wall_ns);
        Ok(Self {
            address: address.into(),
            name: printable(&hello.host).unwrap_or_else(|| address.into()),
            link,
            at_ns: answer.at_ns,
            round_trip_ns: answer.round_trip_ns,
            clock_ahead_ns: i64::try_from(clock_ahead_ns).unwrap_or(i64::MAX),
            hello,
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it answers, as the user named it.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What it said of itself.
    #[must_use]
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Time of a question and its answer, nanoseconds.
    #[must_use]
    pub fn round_trip_ns(&self) -> u64 {
        self.round_trip_ns
    }

    /// Its wall clock before ours, nanoseconds, to half the round trip.
    #[must_use]
    pub fn clock_ahead_ns(&self) -> i64 {
        self.clock_ahead_ns
    }

    /// When it said what it is, on our monotonic clock.
    pub(super) fn at_ns(&self) -> u64 {
        self.at_ns
    }

    /// A sample, placed on our clocks, and when its answer was there.
    pub(super) fn ask(&mut self, request: Request) -> Result<(Sample, u64), String> {
        let answer = self.link.ask::<Sample>(request, SCHEMA)?;
        let (wall_ns, monotonic_ns) = (answer.wall_ns, answer.at_ns);
        let received_ns = answer.at_ns.saturating_add(answer.round_trip_ns / 2);
        Ok((Sample { wall_ns, monotonic_ns, ..answer.value }, received_ns))
    }
}

/// A name as it may stand in a report; `None` when nothing is left of it.
fn printable(name: &str) -> Option<String> {
    let name: String = name.chars().filter(|c| !c.is_control()).take(NAME_MAX).collect();
    let name = name.trim().to_owned();
    (!name.is_empty()).then_some(name)
}

/// What was answered, and when.
struct Answer<T> {
    value: T,
    /// The middle between question and answer, on our monotonic clock.
    at_ns: u64,
    /// The same on our wall clock.
    wall_ns: u64,
    round_trip_ns: u64,
}

/// A connection and the line that is being read.
#[derive(Debug)]
struct Link {
    socket: Connection,
    line: Vec<u8>,
}

impl Link {
    fn connect(address: &str) -> Result<Self, EngineError> {
        let candidates = Endpoint::resolve(&Address::parse(address, PORT)?, Family::Any)?;
        let socket = Connection::open(&candidates, PATIENCE, &SocketOptions::default())?;
        socket
            .limit_calls(PATIENCE)
            .map_err(|cause| EngineError::connect(address.into(), &cause))?;
        Ok(Self { socket, line: Vec::new() })
    }

    /// Asks, and reads the answer, which ought to be of `schema`. `Err` says what the other side
    /// does instead.
    fn ask<T: DeserializeOwned>(
        &mut self,
        request: Request,
        schema: &'static str,
    ) -> Result<Answer<T>, String> {
        let sent_ns = MonotonicClock.now_ns();
        // a server that has refused us takes no request, but has said why
        let _ = self.socket.write_all(request.line());
        self.read_line(sent_ns + PATIENCE.ns())?;
        let received_ns = MonotonicClock.now_ns();
        let round_trip_ns = received_ns - sent_ns;
        let wall_ns = clock::wall_ns().saturating_sub(round_trip_ns / 2);
        let value = wire::read(&self.line, schema).map_err(|error| error.to_string())?;
        Ok(Answer { value, at_ns: sent_ns + round_trip_ns / 2, wall_ns, round_trip_ns })
    }

    fn read_line(&mut self, deadline_ns: u64) -> Result<(), String> {
        let mut bytes = [0; 16 << 10];
        self.line.clear();
        while !self.line.ends_with(b"\n") {
            match self.socket.read(&mut bytes) {
                Ok(0) => return Err("closed the connection".into()),
                Ok(count) => self.line.extend_from_slice(&bytes[..count]),
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => return Err(silent()),
                    _ => return Err(format!("broke the connection: {error}")),
                },
            }
            if self.line.len() > LINE_MAX {
                return Err(format!("sends a line of more than {} MiB", LINE_MAX >> 20));
            }
            if MonotonicClock.now_ns() > deadline_ns {
                return Err(silent());
            }
        }
        Ok(())
    }
}

fn silent() -> String {
    format!("did not answer within {}", show_ns(PATIENCE.ns()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Shutdown, TcpListener};
    use std::thread;

    /// What reaching a server says that answers with `answer` and closes.
    fn complaint(answer: &'static [u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let _ = socket.write_all(answer);
            let _ = socket.shutdown(Shutdown::Write);
            let _ = socket.read_to_end(&mut Vec::new());
        });
        let error = FarHost::reach(&address).unwrap_err().to_string();
        server.join().unwrap();
        error.strip_prefix(&format!("{address} ")).unwrap_or(&error).to_owned()
    }

    #[test]
    fn whoever_is_no_far_host_is_told_from_one_that_refuses() {
        assert!(complaint(b"HTTP/1.1 400 Bad Request\r\n\r\n").contains("something else"));
        assert!(complaint(b"{\"schema\":\"plumb.host-hello/1\"").contains("closed the connection"));
        assert!(complaint(b"").contains("closed the connection"));
        let refusal = b"{\"schema\":\"plumb.host-error/1\",\"error\":\"no room\"}\n";
        assert!(complaint(refusal).contains("refuses: no room"));
    }

    #[test]
    fn nobody_there_is_said_with_a_remedy() {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let error = FarHost::reach(&address).unwrap_err().to_string();
        assert!(error.contains(&address) && error.contains("is the server started"), "{error}");
    }

    #[test]
    fn a_name_is_printable_and_bounded() {
        assert_eq!(printable(" db7\x1b[2J\n").as_deref(), Some("db7[2J"));
        assert_eq!(printable(&"x".repeat(99)).unwrap().len(), 64);
        assert_eq!(printable("\n"), None);
    }
}
