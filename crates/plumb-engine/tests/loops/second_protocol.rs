//! A second protocol, quite unlike NI, written against the public interface only: it logs in, asks
//! of several kinds, pauses, is answered by bodies that run until the connection is closed, gets
//! bytes nobody asked for, and ends. Nothing of the engine knows it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should end")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroUsize;
use std::thread;

use plumb_engine::{
    Ending, Endpoint, EngineError, LoadPlan, LoadResult, Next, Op, Pace, Plain, Protocol, Stage,
    Step, Stop, Then, load,
};
use plumb_measure::{Answer, FailureKind, Span};

const GET: u16 = 0;
const STREAM: u16 = 1;

/// `USER n`, then in turn `GET` (answered by a status and a length) and `STREAM` (answered until
/// the connection closes); a pause after every fourth request; `BYE` never comes: it just ends.
#[derive(Default)]
struct Counter {
    password_is_wrong: bool,
}

struct Script {
    number: usize,
    asked: u32,
    rounds: u32,
    paused: bool,
}

#[derive(Default)]
struct Wire {
    logged_in: bool,
    body: u64,
}

impl Protocol for Counter {
    type User = Script;
    type Wire = Wire;

    fn user(&mut self, number: usize) -> Script {
        Script { number, asked: 0, rounds: 6, paused: false }
    }

    fn hello(&mut self, user: &mut Script, wire: &mut Wire, out: &mut Vec<u8>) -> Option<Op> {
        if std::mem::replace(&mut wire.logged_in, true) {
            return None;
        }
        let name = if self.password_is_wrong { "nobody".into() } else { user.number.to_string() };
        writeln!(out, "USER {name}").unwrap();
        Some(Op { label: GET, tag: 99 })
    }

    fn encode(&mut self, user: &mut Script, _: &mut Wire, out: &mut Vec<u8>) -> Next {
        if user.asked == user.rounds {
            return Next::Finish;
        }
        if user.asked == 4 && !std::mem::replace(&mut user.paused, true) {
            return Next::Pause(1_000_000);
        }
        user.asked += 1;
        let label = if user.asked.is_multiple_of(3) { STREAM } else { GET };
        writeln!(out, "{}", if label == GET { "GET" } else { "STREAM" }).unwrap();
        Next::Send(Op { label, tag: label })
    }

    fn decode(
        &mut self,
        _: &mut Script,
        wire: &mut Wire,
        op: Option<Op>,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Step {
        if op.is_some_and(|op| op.tag == STREAM) {
            wire.body += bytes.len() as u64;
            return Step::Need { consumed: bytes.len() };
        }
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            return Step::Need { consumed: 0 };
        };
        let consumed = end + 1;
        match &bytes[..end] {
            b"ARE YOU THERE" => {
                out.extend_from_slice(b"YES\n");
                Step::Aside { consumed }
            }
            b"OK" => Step::Done {
                consumed,
                answer: Answer { code: Some(200), ..Answer::ok(2) },
                then: Then::Keep,
            },
            _ => Step::Done {
                consumed,
                answer: Answer::failed(FailureKind::Refused),
                then: Then::Close,
            },
        }
    }

    fn eof(&mut self, _: &mut Script, wire: &mut Wire, op: Op) -> Answer {
        if op.tag == STREAM { Answer::ok(wire.body) } else { Answer::failed(FailureKind::Closed) }
    }

    fn complaint(&self) -> Option<String> {
        Some("refused the user; check the name".into())
    }
}

/// Serves the protocol, one thread a connection; ends with the process.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || converse(stream));
        }
    });
    address
}

fn converse(mut stream: TcpStream) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    while let Some(Ok(line)) = lines.next() {
        match line.as_str() {
            "USER nobody" => stream.write_all(b"NO\n")?,
            "STREAM" => return stream.write_all(b"some of it, some more of it"),
            "GET" => {
                stream.write_all(b"ARE YOU THERE\n")?;
                assert_eq!(lines.next().unwrap()?, "YES");
                stream.write_all(b"OK\n")?;
            }
            _ => stream.write_all(b"OK\n")?,
        }
    }
    Ok(())
}

fn run(
    connections: usize,
    threads: usize,
    protocol: fn() -> Counter,
) -> Result<LoadResult<Counter>, EngineError> {
    let connections = NonZeroUsize::new(connections).unwrap();
    let plan = LoadPlan {
        connections,
        threads: NonZeroUsize::new(threads).unwrap(),
        waiting: LoadPlan::suitable_waiting(connections, NonZeroUsize::MIN, Pace::AsFast),
        ..LoadPlan::lone(1_000_000, Span::from_ms(5_000)) // the users end it
    };
    let endpoint = Endpoint::Tcp(server());
    let stop = Stop::new().unwrap();
    let mut stage = Stage { endpoint: &endpoint, stop: &stop, samplers: &mut [], gate: None };
    load::run(&plan, &mut stage, 2, protocol, Plain::default)
}

#[test]
fn a_login_a_script_and_bodies_until_the_close_need_nothing_of_the_engine() {
    for (connections, threads) in [(1, 1), (5, 2)] {
        let load = run(connections, threads, Counter::default).unwrap();
        let users = connections as u64;
        let rows = load.recorder.rows();
        assert_eq!(load.ending, Ending::Complete);
        assert_eq!(load.recorder.failures().total(), 0);
        assert_eq!(rows[usize::from(GET)].response.count(), 4 * users);
        assert_eq!(rows[usize::from(STREAM)].response.count(), 2 * users);
        assert_eq!(rows[usize::from(GET)].codes.iter().collect::<Vec<_>>(), [(200, 4 * users)]);
        assert_eq!(rows[usize::from(STREAM)].lengths.histogram().count(), 2 * users);
        // a stream ends its connection: two more than the first, but the last need not be made
        assert!(load.recorder.connect.count() >= 2 * users);
        assert_eq!(load.protocols.len(), threads);
    }
}

#[test]
fn a_login_that_is_refused_is_an_error_with_the_protocols_own_words() {
    let error = run(1, 1, || Counter { password_is_wrong: true }).err().unwrap().to_string();
    assert!(error.ends_with("refused the user; check the name"), "{error}");
}
