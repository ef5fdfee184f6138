//! Locks of a dialog step, taken from the lock server before anything is read.
//!
//! Locks belong to an owner that lives for one step and to the connection that took them: a work
//! process that breaks off leaves none behind.

use std::io::{self, BufRead as _, Read as _, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::StatusCode;
use plumb_engine::Address;
use plumb_serve::link::{Connection, Link, Links};

use crate::AppError;
use crate::answer::Failure;
use crate::config::LocksConfig;

/// The port of a lock server that names none.
const PORT: u16 = 3200;
/// Connections to it: a work process needs one at a time, and there are at most so many of them.
const CONNECTIONS: usize = 1_000;
/// Bytes of a text in an answer, and texts of one answer.
const TEXT_MAX: usize = 4096;
const PARTS_MAX: usize = 64;

/// The way to the lock server.
#[derive(Debug)]
pub(crate) struct LockPlan {
    links: Links,
    /// What makes our owners differ from those of other servers.
    prefix: String,
    owners: AtomicU64,
}

/// One lock: mode, name, argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lock {
    mode: &'static str,
    name: &'static str,
    argument: String,
}

pub(crate) fn customer(customer: &str) -> Lock {
    Lock { mode: "E", name: "KNA1", argument: customer.into() }
}

pub(crate) fn order(number: i64) -> Lock {
    Lock { mode: "E", name: "VBAK", argument: format!("{number:010}") }
}

pub(crate) fn delivery(number: i64) -> Lock {
    Lock { mode: "E", name: "LIKP", argument: format!("{number:010}") }
}

pub(crate) fn material(material: &str) -> Lock {
    Lock { mode: "E", name: "MBEW", argument: material.into() }
}

pub(crate) fn shared_material(material: &str) -> Lock {
    Lock { mode: "S", name: "MARA", argument: material.into() }
}

/// Locks that are held until they are released, or the step ends.
#[derive(Debug)]
pub(crate) struct Held<'a>(Option<(Link<'a>, String)>);

impl LockPlan {
    /// The way that `config` describes; nothing is connected yet.
    ///
    /// # Errors
    /// [`AppError`] when its address is none.
    pub(crate) fn new(config: &LocksConfig) -> Result<Self, AppError> {
        let address = Address::parse(&config.server, PORT)?;
        if matches!(address, Address::Unix(_)) {
            let problem = "locks.server is HOST:PORT, not a socket file".to_owned();
            return Err(AppError::Plan(problem));
        }
        let host = address.to_string();
        let prefix = format!("plumb-app-{}", std::process::id());
        let links = Links::new(host, config.timeout, CONNECTIONS);
        Ok(Self { links, prefix, owners: AtomicU64::new(0) })
    }
}

/// Takes `locks` for `user`, all or none; without a lock server nothing is taken.
///
/// # Errors
/// [`Failure`] with status 423 and the holder when one of them is held, with 503 when the lock
/// server does not answer.
pub(crate) fn enqueue<'a>(
    plan: Option<&'a LockPlan>,
    user: &str,
    locks: &[Lock],
) -> Result<Held<'a>, Failure> {
    let Some(plan) = plan else { return Ok(Held(None)) };
    let mut link = plan.links.take().ok_or_else(|| Failure::busy("too many steps take locks"))?;
    let owner = format!("{}-{}", plan.prefix, plan.owners.fetch_add(1, Ordering::Relaxed));
    let mut words = vec!["ENQ", owner.as_str(), "USER", user];
    for lock in locks {
        words.extend([lock.mode, lock.name, lock.argument.as_str()]);
    }
    let reply = link.ask(|connection| exchange(connection, &words));
    match reply.map_err(|error| unreachable(plan.links.host(), &error))? {
        Reply::Number(_) => Ok(Held(Some((link, owner)))),
        Reply::Parts(parts) => Err(held(&parts, locks)),
        Reply::Error(text) => Err(Failure::busy(format!("the lock server refuses: {text}"))),
    }
}

impl Held<'_> {
    /// Gives the locks back.
    ///
    /// # Errors
    /// [`Failure`] when the lock server does not answer: it will end them with the connection.
    pub(crate) fn release(mut self) -> Result<(), Failure> {
        let Some((mut link, owner)) = self.0.take() else { return Ok(()) };
        let host = link.host().to_owned();
        match link.ask_once(|connection| exchange(connection, &["DEQALL", &owner])) {
            Ok(Reply::Number(_)) => Ok(()),
            Ok(Reply::Error(text)) => {
                link.discard();
                Err(Failure::busy(format!("the lock server refuses: {text}")))
            }
            Ok(Reply::Parts(_)) => {
                link.discard();
                Err(Failure::busy("the lock server answers DEQALL with a list"))
            }
            Err(error) => Err(unreachable(&host, &error)),
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some((link, _)) = &mut self.0 {
            link.discard(); // its locks end with the connection
        }
    }
}

fn unreachable(host: &str, error: &io::Error) -> Failure {
    Failure::busy(format!("the lock server at {host} does not answer: {error}"))
}

/// Who has what was asked for: `HELD`, the number of the lock, and of its holder the owner, the
/// user, the mode, the name, the argument and the fence number.
fn held(parts: &[String], locks: &[Lock]) -> Failure {
    let part = |at: usize| parts.get(at).map_or("", String::as_str);
    let lock = part(1).parse().ok().and_then(|at: usize| locks.get(at));
    let what = lock.map_or_else(String::new, |lock| format!("{} {}", lock.name, lock.argument));
    let status = StatusCode::LOCKED;
    match part(0) {
        "HELD" => Failure::new(status, format!("{what} is held by {} ({})", part(3), part(2))),
        other => Failure::new(status, format!("{what} cannot be locked: {other}")),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Reply {
    Number(i64),
    Error(String),
    Parts(Vec<String>),
}

fn exchange(connection: &mut Connection, words: &[&str]) -> io::Result<Reply> {
    let mut request = format!("*{}\r\n", words.len());
    for word in words {
        request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    connection.get_mut().write_all(request.as_bytes())?;
    reply(connection)
}

/// A reply of RESP version 2: a number, an error, or a flat list.
fn reply(connection: &mut impl io::BufRead) -> io::Result<Reply> {
    let line = line(connection)?;
    let (kind, rest) = line.split_at_checked(1).ok_or(io::ErrorKind::UnexpectedEof)?;
    match kind {
        ":" => Ok(Reply::Number(number(rest)?)),
        "-" => Ok(Reply::Error(rest.into())),
        "*" => {
            let count = usize::try_from(number(rest)?).unwrap_or(0);
            if count > PARTS_MAX {
                return Err(io::ErrorKind::InvalidData.into());
            }
            (0..count).map(|_| part(connection)).collect::<io::Result<_>>().map(Reply::Parts)
        }
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn part(connection: &mut impl io::BufRead) -> io::Result<String> {
    let line = line(connection)?;
    let (kind, rest) = line.split_at_checked(1).ok_or(io::ErrorKind::UnexpectedEof)?;
    match kind {
        "$" => {
            let length = usize::try_from(number(rest)?).unwrap_or(0);
            if length > TEXT_MAX {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let mut bytes = vec![0; length + 2];
            connection.read_exact(&mut bytes)?;
            bytes.truncate(length);
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
        ":" | "+" => Ok(rest.into()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn line(connection: &mut impl io::BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    connection.take(TEXT_MAX as u64).read_until(b'\n', &mut line)?;
    if line.last() != Some(&b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

fn number(digits: &str) -> io::Result<i64> {
    digits.parse().map_err(|_| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;
    use std::net::TcpListener;
    use std::thread::JoinHandle;

    use plumb_measure::Span;
    use proptest::prelude::*;

    use super::*;

    /// A lock server that gives `replies`, one a command; the commands come back.
    fn server(replies: &'static [&'static str]) -> (LockPlan, JoinHandle<Vec<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap().to_string();
        let serving = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut stream = BufReader::new(stream);
            let mut commands = Vec::new();
            for answer in replies {
                match reply(&mut stream).unwrap() {
                    Reply::Parts(words) => commands.push(words),
                    other => panic!("{other:?} is no command"),
                }
                stream.get_mut().write_all(answer.as_bytes()).unwrap();
            }
            commands
        });
        let config = LocksConfig { server, timeout: Span::from_ms(30_000) };
        (LockPlan::new(&config).unwrap(), serving)
    }

    #[test]
    fn locks_are_taken_together_and_given_back() {
        let (plan, serving) = server(&[":7\r\n", ":2\r\n"]);
        let held = enqueue(Some(&plan), "anna", &[order(17), material("M-01")]).unwrap();
        held.release().unwrap();
        let commands = serving.join().unwrap();
        let owner = commands[0][1].clone();
        let expected =
            ["ENQ", &owner, "USER", "anna", "E", "VBAK", "0000000017", "E", "MBEW", "M-01"];
        assert_eq!(commands[0], expected);
        assert_eq!(commands[1], ["DEQALL", &owner]);
    }

    #[test]
    fn a_lock_server_that_refuses_or_is_gone_is_busy() {
        let (plan, serving) = server(&["-FULL the table is full\r\n"]);
        let failure = enqueue(Some(&plan), "anna", &[order(1)]).unwrap_err();
        assert!(failure.message.ends_with("FULL the table is full"), "{failure:?}");
        serving.join().unwrap();
        let failure = enqueue(Some(&plan), "anna", &[order(1)]).unwrap_err();
        assert_eq!(failure.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(enqueue(None, "anna", &[order(1)]).unwrap().release().is_ok());
    }

    proptest! {
        #[test]
        fn any_reply_is_read_or_refused(bytes: Vec<u8>) {
            let _ = reply(&mut bytes.as_slice());
        }
    }
}
