//! Verification: every lock of the server under the name of `create`, page by page, against what
//! `create` took.

use plumb_engine::{Next, Op, Protocol, Step, Then};
use plumb_measure::{Answer, FailureKind};
use plumb_wire::resp::{self, Items, Reply};

use super::probe::{LIMITS, shown};
use super::script::{FILL_NAME, fill_owner};

/// Locks of one page: it comes with one read, so that it is looked through once, and others wait
/// for it far less than a millisecond.
const PAGE: &str = "400";

/// Walks once over all pages.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    password: Option<Vec<u8>>,
    locks: usize,
    owners: Vec<String>,
    /// Which locks were found, owner by owner.
    seen: Vec<bool>,
    found: u64,
    cursor: u64,
    over: bool,
    complaint: Option<String>,
}

const HELLO: u16 = 1;

impl Walk {
    pub(crate) fn new(owners: usize, locks: usize, password: Option<Vec<u8>>) -> Self {
        Self {
            password,
            locks,
            owners: (0..owners).map(fill_owner).collect(),
            seen: vec![false; owners * locks],
            found: 0,
            cursor: 0,
            over: false,
            complaint: None,
        }
    }

    /// Locks that were found and expected.
    pub(crate) fn found(&self) -> u64 {
        self.found
    }

    fn page(&mut self, reply: Reply<'_>) -> Result<(), String> {
        let Reply::Array(mut parts) = reply else {
            return Err(match reply {
                Reply::Error(text) => format!("refused: {}", shown(text)),
                _ => "is no lock server of plumb".into(),
            });
        };
        let (Some(Reply::Integer(cursor)), Some(Reply::Array(locks))) =
            (parts.next(), parts.next())
        else {
            return Err("is no lock server of plumb".into());
        };
        self.cursor = u64::try_from(cursor).unwrap_or(0);
        for lock in locks {
            if let Reply::Array(fields) = lock {
                self.lock(fields)?;
            }
        }
        self.over = self.cursor == 0;
        if self.over && self.found < self.seen.len() as u64 {
            let (found, all) = (self.found, self.seen.len());
            return Err(format!("holds {found} of the {all} locks that were to be there"));
        }
        Ok(())
    }

    /// Owner, user, since, name, argument, mode and more.
    fn lock(&mut self, mut fields: Items<'_>) -> Result<(), String> {
        let (Some(Reply::Bulk(owner)), Some(Reply::Bulk(argument)), Some(Reply::Bulk(mode))) =
            (fields.next(), fields.nth(3), fields.next())
        else {
            return Err("described a lock otherwise than a lock server of plumb does".into());
        };
        let place = place(argument).filter(|(at, number)| {
            *number < self.locks
                && self.owners.get(*at).is_some_and(|known| known.as_bytes() == owner)
        });
        let Some((at, number)) = place.filter(|_| mode == b"E") else {
            let (owner, argument) = (shown(owner), shown(argument));
            return Err(format!("holds a lock that was not to be there: {owner} {argument}"));
        };
        if std::mem::replace(&mut self.seen[at * self.locks + number], true) {
            return Err(format!("listed a lock twice: {}", shown(argument)));
        }
        self.found += 1;
        Ok(())
    }
}

/// Owner and number of the lock with this argument: four digits, and eight.
fn place(argument: &[u8]) -> Option<(usize, usize)> {
    let (owner, number) = argument.split_at_checked(4)?;
    let number = (number.len() == 8).then_some(number)?;
    let value = |digits: &[u8]| {
        digits.iter().try_fold(0_usize, |sum, digit| {
            digit.is_ascii_digit().then(|| sum * 10 + usize::from(digit - b'0'))
        })
    };
    Some((value(owner)?, value(number)?))
}

impl Protocol for Walk {
    type User = ();
    type Wire = ();

    fn user(&mut self, _: usize) {}

    fn hello(&mut self, (): &mut (), (): &mut (), out: &mut Vec<u8>) -> Option<Op> {
        let password = self.password.take()?; // there is one connection
        resp::push_command(out, &[b"AUTH", &password]);
        Some(Op { label: 0, tag: HELLO })
    }

    fn encode(&mut self, (): &mut (), (): &mut (), out: &mut Vec<u8>) -> Next {
        if self.over {
            return Next::Finish;
        }
        let cursor = self.cursor.to_string();
        let words = ["LOCKS", "NAME", FILL_NAME, "CURSOR", &cursor, "COUNT", PAGE];
        resp::push_command(out, &words.map(str::as_bytes));
        Next::Send(Op { label: 0, tag: 0 })
    }

    fn decode(
        &mut self,
        (): &mut (),
        (): &mut (),
        op: Option<Op>,
        bytes: &[u8],
        _: &mut Vec<u8>,
    ) -> Step {
        let (reply, consumed) = match resp::reply(bytes, &LIMITS) {
            Ok(None) => return Step::Need { consumed: 0 },
            Ok(Some(read)) => read,
            Err(malformed) => {
                self.complaint = Some(format!("does not speak RESP: {malformed}"));
                let answer = Answer::failed(FailureKind::Garbled);
                return Step::Done { consumed: bytes.len(), answer, then: Then::Close };
            }
        };
        let judged = match (op, reply) {
            (Some(Op { tag: HELLO, .. }), Reply::Error(text)) => {
                Err(format!("refused: {}", shown(text)))
            }
            (Some(Op { tag: HELLO, .. }), _) => Ok(()),
            _ => self.page(reply),
        };
        let answer = match judged {
            Ok(()) => Answer::ok(consumed as u64),
            Err(complaint) => {
                self.complaint = Some(complaint);
                self.over = true;
                Answer::failed(FailureKind::Collided)
            }
        };
        Step::Done { consumed, answer, then: Then::Keep }
    }

    fn complaint(&self) -> Option<String> {
        self.complaint.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_wire::resp::{push_array, push_bulk, push_integer};

    fn page(cursor: u64, locks: &[(&str, &str)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        push_array(&mut bytes, 2);
        push_integer(&mut bytes, cursor);
        push_array(&mut bytes, locks.len());
        for (owner, argument) in locks {
            push_array(&mut bytes, 10);
            for word in [owner, "", "0", FILL_NAME, argument, "E", "0", "1", "0", "1"] {
                push_bulk(&mut bytes, word.as_bytes());
            }
        }
        bytes
    }

    fn walked(pages: &[Vec<u8>]) -> (Walk, Vec<bool>) {
        let mut walk = Walk::new(2, 2, None);
        let mut good = Vec::new();
        for page in pages {
            let Next::Send(op) = walk.encode(&mut (), &mut (), &mut Vec::new()) else {
                panic!("there is another page");
            };
            let step = walk.decode(&mut (), &mut (), Some(op), page, &mut Vec::new());
            let Step::Done { answer, .. } = step else { panic!("{step:?}") };
            good.push(answer.outcome == plumb_measure::Outcome::Ok);
        }
        assert_eq!(walk.encode(&mut (), &mut (), &mut Vec::new()), Next::Finish);
        (walk, good)
    }

    #[test]
    fn every_lock_must_be_there_once() {
        const ALL: [(&str, &str); 4] = [
            ("plumb-fill-0000", "000000000000"),
            ("plumb-fill-0000", "000000000001"),
            ("plumb-fill-0001", "000100000000"),
            ("plumb-fill-0001", "000100000001"),
        ];
        let (walk, good) = walked(&[page(7, &ALL[..3]), page(0, &ALL[3..])]);
        assert_eq!((walk.found(), good), (4, vec![true, true]));
        let refused = |locks: &[(&str, &str)]| {
            let (walk, good) = walked(&[page(0, locks)]);
            assert_eq!(good, [false]);
            walk.complaint().unwrap()
        };
        assert!(refused(&ALL[..3]).contains("3 of the 4"));
        assert!(refused(&[ALL[0], ALL[0]]).contains("twice"));
        assert!(refused(&[("plumb-fill-0001", ALL[0].1)]).contains("not to be there"));
        assert!(refused(&[(ALL[0].0, "000000000002")]).contains("not to be there"));
    }
}
