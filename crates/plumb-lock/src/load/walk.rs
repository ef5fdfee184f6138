//! Verification: the locks of the server under the name of `create` against what `create` took.
//!
//! Both sides make a [`Digest`] of theirs, the server part by part, so that others are served in
//! between. Only when the digests differ are the locks listed, page by page, to say which of them
//! is wrong.

use plumb_lock_server::digest::{self, Digest, Digester, KEY_BYTES};
use plumb_lock_table::table::{Held, Lock};
use plumb_measure::FailureKind;
use plumb_wire::resp::{self, Items, Reply};

use super::probe::shown;
use super::script::{FILL_NAME, fill_argument, fill_owner};
use crate::dialogue::{Dialogue, Heard};

/// Locks of one page: it comes with one read, so that it is looked through once, and others wait
/// for it far less than a millisecond.
const PAGE: &str = "400";

/// Walks once over the table; and a second time, lock by lock, when something is wrong.
#[derive(Clone, Debug)]
pub(crate) struct TableWalk {
    locks: usize,
    owners: Vec<String>,
    key: [u8; KEY_BYTES],
    phase: Phase,
    cursor: u64,
    found: u64,
    /// Locks that were not to be there.
    beyond: Flaws,
    /// Those that were, with other counters.
    counted_otherwise: Flaws,
}

/// Locks with which something is wrong.
#[derive(Clone, Debug, Default)]
struct Flaws {
    count: u64,
    /// What is wrong with the first.
    first: String,
}

impl Flaws {
    fn note(&mut self, how: impl FnOnce() -> String) {
        self.count += 1;
        if self.count == 1 {
            self.first = how();
        }
    }

    /// All of them in words, if there is any.
    fn told(&self) -> Option<String> {
        match self.count {
            0 => None,
            1 => Some(self.first.clone()),
            more => Some(format!("{}, and {} more of that kind", self.first, more - 1)),
        }
    }
}

/// What the next answer is.
#[derive(Clone, Debug)]
enum Phase {
    /// A part of the digest; what came before it.
    Digest(Digest),
    /// A page of locks; which were found, owner by owner.
    List(Vec<bool>),
    Over,
}

impl TableWalk {
    /// Of so many `owners` with so many `locks` each. The `key` is drawn anew for each
    /// verification.
    pub(crate) fn new((owners, locks): (usize, usize), key: [u8; KEY_BYTES]) -> Self {
        Self {
            locks,
            owners: (0..owners).map(fill_owner).collect(),
            key,
            phase: Phase::Digest(Digest::default()),
            cursor: 0,
            found: 0,
            beyond: Flaws::default(),
            counted_otherwise: Flaws::default(),
        }
    }

    /// Locks that were found as they were expected.
    pub(crate) fn found(&self) -> u64 {
        self.found
    }

    /// Locks that were found under the name and not expected.
    pub(crate) fn beyond(&self) -> u64 {
        self.beyond.count
    }

    /// What `create` took.
    fn expected(&self) -> Digest {
        let (mut digester, mut expected) = (Digester::new(&self.key), Digest::default());
        for (at, owner) in self.owners.iter().enumerate() {
            for number in 0..self.locks {
                let lock = Lock {
                    owner: owner.as_bytes(),
                    user: b"",
                    since_ms: 0,
                    name: FILL_NAME.as_bytes(),
                    argument: &fill_argument(at, number),
                    mode: Held::E,
                    dialog: 0,
                    update: 1,
                    backup: false,
                    fence: 0,
                };
                digester.add(&mut expected, &lock);
            }
        }
        expected
    }

    fn answer(&mut self, reply: Reply<'_>) -> Result<(), String> {
        let Reply::Array(mut parts) = reply else {
            return Err(match reply {
                Reply::Error(text) => format!("refused: {}", shown(text)),
                _ => "is no lock server of plumb".into(),
            });
        };
        let Some(Reply::Integer(cursor)) = parts.next() else {
            return Err("is no lock server of plumb".into());
        };
        self.cursor = u64::try_from(cursor).unwrap_or(0);
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Digest(before) => self.part(before, parts),
            Phase::List(seen) => self.page(seen, parts),
            Phase::Over => Ok(()),
        }
    }

    /// A part of the server's digest. After the last one the two are compared.
    fn part(&mut self, before: Digest, mut parts: Items<'_>) -> Result<(), String> {
        let (Some(Reply::Integer(locks)), Some(Reply::Bulk(sum))) = (parts.next(), parts.next())
        else {
            return Err("is no lock server of plumb".into());
        };
        let part = u64::try_from(locks).ok().zip(digest::u128_of(sum));
        let Some((locks, sum)) = part else {
            return Err("summed its locks up otherwise than a lock server of plumb does".into());
        };
        let digest = before.and(Digest { locks, sum });
        if self.cursor > 0 {
            self.phase = Phase::Digest(digest);
        } else if digest == self.expected() {
            self.found = digest.locks;
        } else {
            self.phase = Phase::List(vec![false; self.owners.len() * self.locks]);
        }
        Ok(())
    }

    /// A page of locks, which are not what was expected, or were not a moment ago.
    fn page(&mut self, mut seen: Vec<bool>, mut parts: Items<'_>) -> Result<(), String> {
        let Some(Reply::Array(locks)) = parts.next() else {
            return Err("is no lock server of plumb".into());
        };
        for lock in locks {
            if let Reply::Array(fields) = lock {
                self.lock(&mut seen, fields)?;
            }
        }
        if self.cursor > 0 {
            self.phase = Phase::List(seen);
            return Ok(());
        }
        let missing = seen.iter().filter(|seen| !**seen).count();
        let missing = (missing > 0)
            .then(|| format!("lacks {missing} of the {} locks that were to be there", seen.len()));
        let told = [self.beyond.told(), self.counted_otherwise.told(), missing];
        let told: Vec<String> = told.into_iter().flatten().collect();
        Err(if told.is_empty() {
            "changed its locks while they were verified, or holds one more than once".into()
        } else {
            told.join("; ")
        })
    }

    /// Owner, user, since, name, argument, mode, counters, whether it is inherited, and more.
    fn lock(&mut self, seen: &mut [bool], mut fields: Items<'_>) -> Result<(), String> {
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
            self.beyond
                .note(|| format!("holds a lock that was not to be there: {owner} {argument}"));
            return Ok(());
        };
        if std::mem::replace(&mut seen[at * self.locks + number], true) {
            self.beyond.note(|| format!("listed a lock twice: {}", shown(argument)));
            return Ok(());
        }
        let [dialog, update, inherited] = [(); 3].map(|()| match fields.next() {
            Some(Reply::Integer(value)) => value,
            _ => -1,
        });
        if (dialog, update, inherited) == (0, 1, 0) {
            self.found += 1;
            return Ok(());
        }
        self.counted_otherwise.note(|| {
            let (owner, argument) = (shown(owner), shown(argument));
            let whose = if inherited == 1 { ", inherited" } else { "" };
            format!("has {owner} {argument} with counters {dialog}/{update}{whose}, not 0/1")
        });
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

impl Dialogue for TableWalk {
    fn ask(&mut self, out: &mut Vec<u8>) -> bool {
        let cursor = self.cursor.to_string();
        match &self.phase {
            Phase::Over => return false,
            Phase::Digest(_) => {
                let key = format!("{:032x}", u128::from_be_bytes(self.key));
                let words = ["DIGEST", &key, "NAME", FILL_NAME, "CURSOR", &cursor];
                resp::push_command(out, &words.map(str::as_bytes));
            }
            Phase::List(_) => {
                let words = ["LOCKS", "NAME", FILL_NAME, "CURSOR", &cursor, "COUNT", PAGE];
                resp::push_command(out, &words.map(str::as_bytes));
            }
        }
        true
    }

    fn hear(&mut self, reply: Reply<'_>) -> Result<Heard, (FailureKind, String)> {
        let heard = self.answer(reply).map(|()| Heard::Answer);
        heard.map_err(|complaint| (FailureKind::Collided, complaint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialogue::Greeted;
    use plumb_engine::{Next, Protocol as _, Step};
    use plumb_wire::resp::{push_array, push_bulk, push_integer};

    const KEY: [u8; KEY_BYTES] = [9; KEY_BYTES];

    /// Owner, argument, mode.
    type Held = (&'static str, &'static str, &'static str);

    /// What two owners with two locks each hold after `create`.
    const ALL: [Held; 4] = [
        ("plumb-fill-0000", "000000000000", "E"),
        ("plumb-fill-0000", "000000000001", "E"),
        ("plumb-fill-0001", "000100000000", "E"),
        ("plumb-fill-0001", "000100000001", "E"),
    ];

    /// The answer to `DIGEST`.
    fn part(cursor: u64, locks: &[Held]) -> Vec<u8> {
        let (mut digester, mut digest) = (Digester::new(&KEY), Digest::default());
        for (owner, argument, mode) in locks {
            let lock = Lock {
                owner: owner.as_bytes(),
                user: b"ann",
                since_ms: 5,
                name: FILL_NAME.as_bytes(),
                argument: argument.as_bytes(),
                mode: plumb_lock_table::table::Held::parse(mode.as_bytes()[0]).unwrap(),
                dialog: 0,
                update: 1,
                backup: false,
                fence: 77,
            };
            digester.add(&mut digest, &lock);
        }
        let mut bytes = Vec::new();
        push_array(&mut bytes, 3);
        push_integer(&mut bytes, cursor);
        push_integer(&mut bytes, digest.locks);
        push_bulk(&mut bytes, format!("{:032x}", digest.sum).as_bytes());
        bytes
    }

    /// The answer to `LOCKS`.
    fn page(cursor: u64, locks: &[Held]) -> Vec<u8> {
        let counted: Vec<_> = locks.iter().map(|lock| (*lock, [0, 1, 0])).collect();
        page_of(cursor, &counted)
    }

    /// The same, each lock with its counters and whether it is inherited.
    fn page_of(cursor: u64, locks: &[(Held, [u64; 3])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        push_array(&mut bytes, 2);
        push_integer(&mut bytes, cursor);
        push_array(&mut bytes, locks.len());
        for ((owner, argument, mode), counters) in locks {
            push_array(&mut bytes, 10);
            push_bulk(&mut bytes, owner.as_bytes());
            push_bulk(&mut bytes, b"");
            push_integer(&mut bytes, 0);
            for word in [FILL_NAME, argument, mode] {
                push_bulk(&mut bytes, word.as_bytes());
            }
            counters.iter().for_each(|counter| push_integer(&mut bytes, *counter));
            push_integer(&mut bytes, 1);
        }
        bytes
    }

    fn walked(answers: &[Vec<u8>]) -> (Greeted<TableWalk>, Vec<bool>) {
        let mut walk = Greeted::new(None, TableWalk::new((2, 2), KEY));
        let mut good = Vec::new();
        for answer in answers {
            let Next::Send(op) = walk.encode(&mut (), &mut (), &mut Vec::new()) else {
                panic!("there is more to ask");
            };
            let step = walk.decode(&mut (), &mut (), Some(op), answer, &mut Vec::new());
            let Step::Done { answer, .. } = step else { panic!("{step:?}") };
            good.push(answer.outcome == plumb_measure::Outcome::Ok);
        }
        assert_eq!(walk.encode(&mut (), &mut (), &mut Vec::new()), Next::Finish);
        (walk, good)
    }

    #[test]
    fn locks_that_sum_up_to_what_create_took_are_not_listed() {
        let (walk, good) = walked(&[part(7, &ALL[..3]), part(0, &ALL[3..])]);
        assert_eq!((walk.dialogue.found(), good), (4, vec![true, true]));
    }

    #[test]
    fn what_sums_up_to_something_else_is_listed_and_named() {
        let refused = |locks: &[Held]| {
            let (walk, good) = walked(&[part(0, locks), page(0, locks)]);
            assert_eq!(good, [true, false]);
            walk.complaint().unwrap()
        };
        assert_eq!(refused(&ALL[..3]), "lacks 1 of the 4 locks that were to be there");
        let stranger = ("somebody", ALL[0].1, "S");
        let more = [&[stranger][..], &ALL, &[stranger]].concat();
        assert!(refused(&more).ends_with("somebody 000000000000, and 1 more of that kind"));
        let (walk, _) = walked(&[part(0, &more), page(7, &more[..2]), page(0, &more[2..])]);
        assert_eq!((walk.dialogue.found(), walk.dialogue.beyond()), (4, 2), "all are counted");
        let both = refused(&[stranger, ALL[0], ALL[1]]);
        assert!(both.contains("somebody") && both.contains("; lacks 2 of the 4"), "{both}");
        assert!(refused(&[ALL[0], ALL[0]]).contains("twice"));
        assert!(refused(&[("plumb-fill-0001", ALL[0].1, "E")]).contains("not to be there"));
        assert!(refused(&[(ALL[0].0, "000000000002", "E")]).contains("not to be there"));
        assert!(refused(&[(ALL[0].0, ALL[0].1, "S")]).contains("not to be there"));
        let (walk, _) = walked(&[part(0, &ALL[..1]), page(0, &ALL)]);
        assert!(walk.complaint().unwrap().contains("changed its locks"));
    }

    #[test]
    fn a_lock_with_other_counters_is_not_found_and_named() {
        for (counters, told) in [
            ([0, 2, 0], "with counters 0/2, not 0/1"),
            ([1, 0, 0], "with counters 1/0, not 0/1"),
            ([0, 1, 1], "with counters 0/1, inherited, not 0/1"),
        ] {
            let locks = [(ALL[0], counters), (ALL[1], [0, 1, 0])];
            let all = [&locks[..], &[(ALL[2], [0, 1, 0]), (ALL[3], counters)]].concat();
            let (walk, _) = walked(&[part(0, &ALL[..1]), page_of(0, &all)]);
            let expected = format!("{} {} {told}, and 1 more of that kind", ALL[0].0, ALL[0].1);
            let complaint = walk.complaint().unwrap();
            assert!(complaint.ends_with(&expected), "{complaint}");
            assert_eq!((walk.dialogue.found(), walk.dialogue.beyond()), (2, 0));
        }
    }
}
