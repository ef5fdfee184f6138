//! Advisory locks of PostgreSQL: `pg_try_advisory_lock` and `pg_advisory_unlock`, each a prepared
//! statement, on keys that no other client of the load uses.
//!
//! The locks are those of a session: what a client holds ends with its connection.

mod login;
mod orders;

use plumb_engine::{Next, Op, Protocol, Step, Then};
use plumb_measure::{Answer, FailureKind};
use plumb_wire::postgres::{self, Message, Report};

pub(crate) use login::Login;
use login::Progress;

use super::probe::shown;

/// What is read of one answer at most, bytes.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// The tag of what opens a connection; those below are numbers of statements.
const GREETING: u16 = 2;

/// The client half of a load on advisory locks.
#[derive(Clone, Debug)]
pub(crate) struct Advisory {
    login: Login,
    space: u64,
    complaint: Option<String>,
}

/// One client, over all its connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    number: u64,
    round: u64,
    /// The lock of this round is taken, or asked for.
    taken: bool,
}

/// The state of one connection.
#[derive(Debug, Default)]
pub(crate) struct Session {
    progress: Progress,
    /// The server has said that the login is over.
    known: bool,
    prepared: bool,
    answer: Heard,
}

/// What of an answer has come.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    value: Option<bool>,
    refused: bool,
}

impl Advisory {
    /// The keys are those of the load that is called `name`.
    pub(crate) fn new(login: Login, name: &str) -> Self {
        let digest = crc32fast::hash(name.as_bytes());
        Self { login, space: u64::from(digest >> 6), complaint: None }
    }

    /// Hears a message; the answer when it is complete.
    fn hear(&mut self, session: &mut Session, tag: u16, message: Message<'_>) -> Option<Answer> {
        match message {
            Message::Authentication(step) => match self.login.hear(&mut session.progress, &step) {
                Ok(answer_it) => answer_it.then(|| Answer::ok(0)),
                Err(complaint) => {
                    self.complaint = Some(complaint);
                    Some(Answer::failed(FailureKind::Refused))
                }
            },
            Message::Error(report) => {
                self.complaint = Some(said(&report));
                session.answer.refused = true;
                let over = report.is_fatal() || !session.known;
                over.then(|| Answer::failed(FailureKind::Refused))
            }
            Message::Row(row) => {
                session.answer.value = match row.values().next() {
                    Some(Some([1])) => Some(true),
                    Some(Some([0])) => Some(false),
                    _ => None,
                };
                None
            }
            Message::Ready => Some(self.ready(session, tag)),
            Message::Notice(_) | Message::Other(_) => None,
        }
    }

    /// Everything is answered.
    fn ready(&mut self, session: &mut Session, tag: u16) -> Answer {
        let heard = std::mem::take(&mut session.answer);
        if heard.refused {
            return Answer::failed(FailureKind::Refused);
        }
        if tag == GREETING {
            session.prepared = session.known;
            session.known = true;
            return Answer::ok(0);
        }
        match heard.value {
            Some(true) => Answer::ok(0),
            Some(false) => Answer::failed(FailureKind::Collided),
            None => {
                self.complaint = Some("answered without one boolean".into());
                Answer::failed(FailureKind::Garbled)
            }
        }
    }
}

/// The key of a client's lock: 26 bits of the load, 14 of the client and 24 of the round, so that
/// loads side by side, and what else uses such locks, hardly ever meet.
fn key(space: u64, client: &Client) -> u64 {
    space << 38 | (client.number & 0x3fff) << 24 | client.round & 0xff_ffff
}

/// An error as people read it.
fn said(report: &Report<'_>) -> String {
    format!("refused: {} ({})", shown(report.part(b'M')), shown(report.part(b'C')))
}

impl Protocol for Advisory {
    type User = Client;
    type Wire = Session;

    fn user(&mut self, number: usize) -> Client {
        Client { number: number as u64, round: 0, taken: false }
    }

    /// Logs in, then prepares both statements. A client on a new connection begins a round with
    /// another key: what it held ends with the old one, but not at once.
    fn hello(
        &mut self,
        client: &mut Client,
        session: &mut Session,
        out: &mut Vec<u8>,
    ) -> Option<Op> {
        if matches!(session.progress, Progress::Begun) {
            client.round += u64::from(std::mem::take(&mut client.taken));
        }
        let op = Op { label: 0, tag: GREETING };
        if self.login.say(&mut session.progress, out) {
            return Some(op);
        }
        if session.prepared {
            return None;
        }
        out.extend_from_slice(&self.login.orders.prepare);
        Some(op)
    }

    fn encode(&mut self, client: &mut Client, _: &mut Session, out: &mut Vec<u8>) -> Next {
        let step = u16::from(client.taken);
        self.login.orders.push_call(out, step, key(self.space, client));
        client.round += u64::from(client.taken);
        client.taken = !client.taken;
        Next::Send(Op { label: step, tag: step })
    }

    fn decode(
        &mut self,
        _: &mut Client,
        session: &mut Session,
        op: Option<Op>,
        bytes: &[u8],
        _: &mut Vec<u8>,
    ) -> Step {
        let mut consumed = 0;
        loop {
            let (message, taken) = match postgres::message(&bytes[consumed..], ANSWER_BYTES_MAX) {
                Ok(None) if op.is_none() && consumed > 0 => return Step::Aside { consumed },
                Ok(None) => return Step::Need { consumed },
                Ok(Some(read)) => read,
                Err(malformed) => {
                    self.complaint =
                        Some(format!("does not speak as PostgreSQL does: {malformed}"));
                    return Step::broken(FailureKind::Garbled, bytes.len(), None);
                }
            };
            consumed += taken;
            let tag = op.map_or(GREETING, |op| op.tag);
            if let Some(answer) = self.hear(session, tag, message) {
                let fatal = matches!(message, Message::Error(_));
                let then = if fatal || op.is_none() { Then::Close } else { Then::Keep };
                return Step::Done { consumed, answer, then };
            }
        }
    }

    fn complaint(&self) -> Option<String> {
        self.complaint.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_measure::Outcome;

    const OK: &[u8] = b"R\0\0\0\x08\0\0\0\0";
    const READY: &[u8] = b"Z\0\0\0\x05I";
    const SETTING: &[u8] = b"S\0\0\0\x08a\0b\0";

    fn advisory() -> Advisory {
        let login = Login::of(|_| Some("me".into()), None).unwrap();
        Advisory { space: 5, ..Advisory::new(login, "load") }
    }

    /// The answer to what was said last.
    fn hear(load: &mut Advisory, session: &mut Session, tag: u16, bytes: &[u8]) -> Outcome {
        let (op, mut client) = (Op { label: 0, tag }, load.user(0));
        match load.decode(&mut client, session, Some(op), bytes, &mut Vec::new()) {
            Step::Done { consumed, answer, .. } => {
                assert_eq!(consumed, bytes.len());
                answer.outcome
            }
            other => panic!("{other:?}"),
        }
    }

    fn opened() -> (Advisory, Client, Session) {
        let mut load = advisory();
        let (mut client, mut session) = (load.user(3), Session::default());
        for answer in [[OK, SETTING, READY].concat(), [b"1\0\0\0\x04", READY].concat()] {
            assert!(load.hello(&mut client, &mut session, &mut Vec::new()).is_some());
            assert_eq!(hear(&mut load, &mut session, GREETING, &answer), Outcome::Ok);
        }
        assert!(load.hello(&mut client, &mut session, &mut Vec::new()).is_none());
        (load, client, session)
    }

    fn row(value: u8) -> Vec<u8> {
        let row = [b"D\0\0\0\x0b\0\x01\0\0\0\x01", &[value][..]].concat();
        [b"2\0\0\0\x04", &*row, b"C\0\0\0\x0dSELECT 1\0", READY].concat()
    }

    #[test]
    fn both_halves_of_a_pair_name_the_same_key_and_the_next_pair_another() {
        let (mut load, mut client, mut session) = opened();
        let mut keys = Vec::new();
        for expected in [0, 1, 0] {
            keys.push(key(load.space, &client));
            let mut said = Vec::new();
            let next = load.encode(&mut client, &mut session, &mut said);
            assert_eq!(next, Next::Send(Op { label: expected, tag: expected }));
            let key = keys[keys.len() - 1].to_be_bytes();
            assert!(said.windows(8).any(|here| here == key));
        }
        assert_eq!(keys, [5 << 38 | 3 << 24, 5 << 38 | 3 << 24, 5 << 38 | 3 << 24 | 1]);
    }

    #[test]
    fn every_answer_is_judged() {
        let (mut load, _, mut session) = opened();
        let mut outcome = |bytes: &[u8]| hear(&mut load, &mut session, 0, bytes);
        assert_eq!(outcome(&row(1)), Outcome::Ok);
        assert_eq!(outcome(&row(0)), Outcome::Failed(FailureKind::Collided));
        assert_eq!(outcome(READY), Outcome::Failed(FailureKind::Garbled));
        let error = b"E\0\0\0\x12C53200\0Mfull\0\0";
        assert_eq!(outcome(&[&error[..], READY].concat()), Outcome::Failed(FailureKind::Refused));
        assert_eq!(outcome(&row(1)), Outcome::Ok); // it goes on
        assert_eq!(outcome(b"HTTP/1.1 400"), Outcome::Failed(FailureKind::Garbled));
        assert!(load.complaint().unwrap().contains("does not speak as PostgreSQL"));
    }

    #[test]
    fn an_answer_in_pieces_is_put_together() {
        let (mut load, mut client, mut session) = opened();
        let (whole, mut kept) = (row(1), Vec::new());
        let op = Some(Op { label: 0, tag: 0 });
        let mut answers = Vec::new();
        for byte in &whole {
            kept.push(*byte);
            let consumed = match load.decode(&mut client, &mut session, op, &kept, &mut Vec::new())
            {
                Step::Need { consumed } => consumed,
                Step::Done { consumed, answer, .. } => {
                    answers.push(answer.outcome);
                    consumed
                }
                other => panic!("it was asked for: {other:?}"),
            };
            kept.drain(..consumed);
        }
        assert_eq!((answers, kept), (vec![Outcome::Ok], vec![]));
    }

    #[test]
    fn what_nobody_asked_for_is_heard_and_left() {
        let (mut load, mut client, mut session) = opened();
        let step = load.decode(&mut client, &mut session, None, SETTING, &mut Vec::new());
        assert_eq!(step, Step::Aside { consumed: SETTING.len() });
    }

    #[test]
    fn a_client_that_comes_back_takes_another_key() {
        let (mut load, mut client, mut session) = opened();
        load.encode(&mut client, &mut session, &mut Vec::new());
        let before = key(load.space, &client);
        load.hello(&mut client, &mut Session::default(), &mut Vec::new());
        assert_ne!(key(load.space, &client), before);
        assert!(!client.taken);
    }
}
